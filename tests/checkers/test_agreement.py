"""Traces too large for the oracles: checkers agree with each other and with the generator's known answer."""

import pytest

from atomsan.checkers.loop import run_checkers
from atomsan.checkers.registry import CHECKERS
from atomsan.checkers.results import Result
from atomsan.trace.generator import GeneratedSource, generate, options_for
from atomsan.trace.trace import Trace

NAMES = [name for name in CHECKERS if name != "empty"]


def results(trace: Trace) -> dict[str, Result]:
    return {name: run_checkers(trace, [CHECKERS[name].make()]).results[0] for name in NAMES}


def made(kind: str, **options: int | float) -> tuple[GeneratedSource, Trace]:
    source = generate(options_for(kind, **options))
    return source, Trace.from_source(source)


@pytest.mark.parametrize("handovers", [0, 20])
@pytest.mark.parametrize("kind", ["serializable", "violating", "long-region"])
def test_checkers_agree_with_the_generator_on_a_million_events(kind: str, handovers: int) -> None:
    source, trace = made(kind, events=1_000_000, threads=12, variables=5_000, handovers=handovers, seed=3)
    truth = source.truth
    transactions = {(name, number) for name, number in truth["transactions"]}
    for name, result in results(trace).items():
        assert result.serializable is truth["serializable"], name
        assert result.verdict == ("holds" if truth["serializable"] else "violated"), name
        if name in ("regiontrack", "davida"):
            assert result.violations == truth["violations"], name
            found = {(trace.symbols.threads[thread], number) for thread, number in result.transactions}
            assert found == transactions, name


@pytest.mark.parametrize("threads", [4, 90])
def test_checkers_agree_with_each_other_on_random_traces(threads: int) -> None:
    """The answer of a random trace is not known, but every checker must give the same."""
    _, trace = made("random", events=200_000, threads=threads, variables=300, locks=10, seed=threads)
    found = results(trace)
    assert len({result.serializable for result in found.values()}) == 1
    counts = {(found[name].violations, tuple(found[name].transactions)) for name in ("regiontrack", "davida")}
    assert len(counts) == 1
