"""DoubleChecker against the oracle, and its filter against all cycles of a trace."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import numpy as np
import pytest

import atomsan
from atomsan.checkers.doublechecker import DoubleChecker
from atomsan.checkers.engines._velodrome import Projection, Velodrome
from atomsan.checkers.flattening import flattened
from atomsan.checkers.loop import ONCE, run_checkers
from atomsan.checkers.results import Result, Transaction
from atomsan.checkers.velodrome import VelodromeChecker, feed_engine
from atomsan.trace.generator import generate, options_for
from atomsan.trace.monitor import Monitor
from atomsan.trace.trace import Trace
from checkers.test_velodrome import built, cut, golden, sizes, stirred, verify
from oracles import model, serializability
from strategies import random_steps


def check(trace: Trace, bits: int = 16) -> Result:
    return run_checkers(trace, [DoubleChecker(bits)]).results[0]


@pytest.mark.parametrize(
    ("line", "bits", "serializable", "kept"),
    [
        ("T:begin T:r(x) U:w(x) T:w(x) T:end V:begin V:r(x) V:end", 16, False, 5),
        ("T:begin T:r(x) U:w(x) T:end", 16, True, 0),
        ("T:begin T:r(x) T:end U:w(x) T:begin T:w(x) T:end", 16, True, 0),
        # x and z share one of two buckets
        ("T:begin T:r(x) T:r(y) T:end T:begin T:r(x) U:w(z) T:w(x) T:end", 1, True, 5),
        # events outside regions that share a node are kept together
        ("T:begin T:w(x) U:r(x) U:r(y) U:w(z) T:w(z) T:end", 16, False, 7),
    ],
)
def test_verdict_and_kept_events_of_small_traces(line: str, bits: int, serializable: bool, kept: int) -> None:
    result = check(atomsan.parse(line), bits)
    assert result.serializable == serializable
    assert result.counters["kept_events"] == kept


def test_dropped_regions_count_in_transaction_numbers() -> None:
    result = check(atomsan.parse("T:begin T:end T:begin T:r(x) U:w(x) T:w(x) T:end"))
    assert result.counters["kept_transactions"] == 1
    assert result.transactions == [Transaction(0, 2)]


def test_golden_traces_give_the_expected_verdicts() -> None:
    for found, serializable in golden():
        result = check(built(found))
        assert result.verdict == ("holds" if serializable else "violated")
        verify(found, result)


def test_random_traces_agree_with_the_definition() -> None:
    rng = random.Random(7)
    seen: Counter[str] = Counter()
    for _ in range(6000):
        found = random_steps(rng, **sizes(rng))
        result = check(built(found), rng.choice([1, 2, 16]))
        assert result.serializable == serializability.serializable(found)
        verify(found, result)
        seen[result.verdict] += 1
        seen["kept in vain"] += bool(result.serializable and result.counters["kept_events"])
    assert seen["holds"] > 3000
    assert seen["violated"] > 1000
    assert seen["kept in vain"] > 20


# ---- the filter


def on_cycles(found: list[model.Step]) -> set[int]:
    """The events (as indices of steps) of all transactions that are on a cycle of direct conflicts."""
    events = model.normalise(found)
    transactions = model.transactions(events)
    owner = model.owners(transactions)
    graph: serializability.Graph = {node: set() for node in range(len(transactions))}
    for first, second in itertools.combinations(range(len(events)), 2):
        if owner[first] != owner[second] and model.conflict(events[first], events[second]):
            graph[owner[first]].add(owner[second])
    cyclic = [node for node in graph if node in serializability.reachable(graph, node)]
    origins = (events[place].origin for node in cyclic for place in transactions[node].events)
    return {origin for origin in origins if origin is not None}


def kept(trace: Trace, bits: int, gap_bits: int = 32) -> set[int]:
    """The events that pass the filter."""
    engine = Velodrome(contract=True, bucket_bits=bits, gap_bits=gap_bits)
    for batch in flattened(trace):
        assert not feed_engine(engine, batch, batch.op)
    threads = [event.thread for event in trace.events()]
    columns = (column.tolist() for column in engine.kept())
    return {
        event
        for thread, first, last in zip(*columns, strict=True)
        for event in range(first, min(last + 1, len(trace)))
        if threads[event] == trace.symbols.threads[thread]
    }


def test_every_event_on_a_cycle_passes_the_filter() -> None:
    rng = random.Random(8)
    cyclic = passed = events = 0
    for _ in range(2000):
        found = random_steps(rng, **sizes(rng))
        trace = built(found)
        needed, left = on_cycles(found), kept(trace, rng.choice([1, 2, 16]))
        assert needed <= left
        cyclic, passed, events = cyclic + len(needed), passed + len(left), events + len(found)
    assert 0 < cyclic <= passed < 1.3 * cyclic < events


def test_filter_keeps_every_cycle_of_large_graphs() -> None:
    """Larger graphs, whose topological order must be repaired while cycles are contracted to one node."""
    rng = random.Random(9)
    mixed = 0
    for number in range(40):
        found = stirred(rng, 12, 50, 40)
        for at in rng.sample(range(len(found)), 2):
            found.insert(at, model.Step(found[at].thread, "write", f"x{rng.randrange(40)}"))
        trace = built(found)
        needed, left = on_cycles(found), kept(trace, 8 if number % 2 else 16, gap_bits=rng.choice([2, 32]))
        assert needed <= left
        assert check(trace, 4).serializable == (not needed)
        mixed += 0 < len(needed) < len(found) / 2
    assert mixed > 5


def test_projection_keeps_the_given_runs_and_marks_skipped_begins() -> None:
    runs = np.array([1, 0, 0], np.uint32), np.array([4, 9, 2], np.uint64), np.array([6, 12, 5], np.uint64)
    projection = Projection(*runs)
    projection.grow(3)
    threads = np.array([0, 1, 2] * 5, np.uint32)
    ops = np.array([6, 0, 0] * 5, np.uint8)  # thread 0 begins, the others read
    out = projection.project(0, threads, ops).tolist()
    assert [i for i, op in enumerate(out) if op < 10] == [3, 4, 9, 12]
    assert [i for i, op in enumerate(out) if op == 12] == [0, 6]
    assert (projection.transactions, projection.events) == (3, 4)


# ---- two passes


def test_verdict_is_unknown_if_the_source_cannot_be_reopened() -> None:
    violating = options_for("violating", events=20_000, violations=1)
    result = run_checkers(generate(violating), [DoubleChecker()]).results[0]
    assert (result.verdict, result.reason) == ("unknown", ONCE)
    result = run_checkers(generate(violating), [DoubleChecker()], reopen=lambda: generate(violating)).results[0]
    assert result.verdict == "violated"


def test_one_pass_is_enough_if_the_filter_keeps_nothing() -> None:
    source = generate(options_for("serializable", events=20_000, variables=100))
    assert run_checkers(source, [DoubleChecker()]).results[0].verdict == "holds"


def test_runs_beside_a_one_pass_checker() -> None:
    run = run_checkers(atomsan.parse("T:begin T:r(x) U:w(x) T:w(x) T:end"), [VelodromeChecker(), DoubleChecker()])
    assert [result.verdict for result in run.results] == ["violated", "violated"]
    assert run.results[0].witnesses == run.results[1].witnesses
    assert run.events == 5


def test_timeout_in_the_first_pass_gives_unknown() -> None:
    result = run_checkers(
        atomsan.parse("T:begin T:r(x) U:w(x) T:w(x) T:end"), [DoubleChecker()], Monitor(timeout=0)
    ).results[0]
    assert (result.verdict, result.reason) == ("unknown", "out of time")


def test_batch_size_does_not_change_the_result() -> None:
    rng = random.Random(10)
    for _ in range(200):
        trace = built(random_steps(rng))
        whole = check(trace)
        for size in (1, 2, 7):
            checker = DoubleChecker()
            batches = [part for batch in flattened(trace) for part in cut(batch, size)]
            assert not any(map(checker.feed, batches))
            if checker.again():
                any(map(checker.feed, batches))
            result = checker.result()
            assert (result.verdict, result.witnesses) == (whole.verdict, whole.witnesses)


def test_memory_of_the_filter_stays_bounded() -> None:
    options = options_for("serializable", events=500_000, threads=8, variables=50_000)
    checker = DoubleChecker()
    assert run_checkers(generate(options), [checker], reopen=lambda: generate(options)).results[0].verdict == "holds"
    assert checker.filter.most_live < 1000
    assert checker.counters()["kept_events"] < 50_000
