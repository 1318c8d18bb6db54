"""Turns against their definition, on generated traces; their examples; and their limits."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import numpy as np
import pytest

import atomsan
from atomsan import TraceBuilder
from atomsan.checkers.davida import DavidaChecker
from atomsan.checkers.loop import run_checkers
from atomsan.checkers.results import NO_REGION, Edge, Transaction, Witness
from atomsan.checkers.turns import TurnFinder
from atomsan.findings.making import TraceNames, findings_of
from atomsan.trace.events import Op
from atomsan.trace.trace import Trace
from oracles.turns import Access, Kind, Row, Turn, accesses, is_turn, kinds
from strategies import random_steps

Violating = set[tuple[str, int]]

EDGES = {
    ("write", "read"): Edge.WRITE_READ,
    ("read", "write"): Edge.READ_WRITE,
    ("write", "write"): Edge.WRITE_WRITE,
}


def built(rows: Iterable[Row]) -> Trace:
    builder = TraceBuilder()
    for thread, op, target, site in rows:
        builder.add(thread, op, target, site=str(site))
    return builder.build()


def found(trace: Trace, violating: Violating | None = None, cut: int = 1 << 16, most: int = 100_000) -> TurnFinder:
    rows = None
    if violating is not None:
        numbered = [(trace.symbols.threads.intern(thread), number) for thread, number in violating]
        rows = np.array(numbered, np.uint32).reshape(-1, 2)
    finder = TurnFinder(rows, most)
    for batch in trace.batches():
        for at in range(0, len(batch), cut):
            finder.feed(batch[at : at + cut])
    finder.finish()
    return finder


def turn_of(witness: Witness, by_event: dict[int, Access]) -> Turn:
    steps = [by_event[step.event] for step in witness.steps]
    return Turn(steps[0], steps[1], steps[-2], steps[-1])


def verify(witness: Witness, turn: Turn, trace: Trace) -> None:
    """The steps say of the accesses what is so, and their edges too."""
    assert is_turn(turn)
    a, r1, r2, b = turn
    between = [Edge.PROGRAM_ORDER] if r1 != r2 else []
    assert [step.edge for step in witness.steps] == [
        EDGES[a.op, r1.op],
        *between,
        EDGES[r2.op, b.op],
        Edge.PROGRAM_ORDER,
    ]
    symbols = trace.symbols
    for step, access in zip(witness.steps, [a, *([r1] if between else []), r2, b], strict=True):
        assert symbols.threads[step.thread] == access.thread
        assert symbols.locations[step.target] == access.target
        assert symbols.sites[step.site] == str(access.site)
        assert (Op(step.op).word, step.transaction) == (access.op, access.number)
        assert (access.path[0][0] if access.path else None) == (
            None if step.region == NO_REGION else symbols.regions[step.region]
        )
    assert witness.blamed == Transaction(witness.steps[0].thread, a.number)


def compare(rows: Sequence[Row], violating: Violating | None = None, cut: int = 1 << 16) -> int:
    """The number of kinds."""
    expected = kinds(rows, violating)
    trace = built(rows)
    finder = found(trace, violating, cut)
    by_event = {access.event: access for access in accesses(rows)}
    seen: dict[Kind, Witness] = {}
    for witness in finder.witnesses():
        turn = turn_of(witness, by_event)
        verify(witness, turn, trace)
        kind = turn.kind
        assert kind not in seen
        seen[kind] = witness
        assert turn in expected[kind].turns
        assert witness.count == expected[kind].count
        # folding loses no shorter example of one turn
        if turn.turns == 1 or not finder.counters["folded"]:
            assert turn.gap == expected[kind].gap
    assert seen.keys() == expected.keys()
    findings_of(finder.witnesses(), TraceNames(trace), "observed")
    return len(seen)


def random_rows(rng: random.Random, sites: int, **limits: object) -> list[Row]:
    return [Row(*step, rng.randrange(sites)) for step in random_steps(rng, **limits)]


def all_transactions(rows: Sequence[Row]) -> list[tuple[str, int]]:
    return sorted({(access.thread, access.number) for access in accesses(rows) if access.number})


@pytest.mark.parametrize(
    ("traces", "sites", "limits", "least"),
    [
        (3000, 2, {"events": 24}, 5_000),
        (1500, 4, {"events": 40, "locks": 0, "handovers": 0, "forks": False, "threads": 3, "regions": 2}, 1),
        (300, 1, {"events": 70, "locks": 0, "handovers": 0, "variables": 2, "threads": 2, "regions": 1}, 1),
    ],
)
def test_kinds_are_those_of_the_definition(traces: int, sites: int, limits: dict[str, object], least: int) -> None:
    rng = random.Random(5)
    listed = 0
    for _ in range(traces):
        rows = random_rows(rng, sites, **limits)
        violating = None
        if rng.random() < 0.4:
            everything = all_transactions(rows)
            violating = set(rng.sample(everything, rng.randint(0, len(everything))))
        listed += compare(rows, violating, cut=rng.choice([1, 3, 1 << 16]))
    print(listed)
    assert listed > least
