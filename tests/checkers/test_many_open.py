"""Many transactions open at once: the same answers, and work that does not follow the square of their number."""

from __future__ import annotations

import random

import pytest

from atomsan import TraceBuilder
from atomsan.checkers.aerodrome import AeroDromeChecker
from atomsan.checkers.davida import DavidaChecker
from atomsan.checkers.engines._violations import ViolationEngine
from atomsan.checkers.flattening import flattened
from atomsan.checkers.loop import run_checkers
from atomsan.checkers.regiontrack import RegionTrackChecker
from atomsan.trace.trace import Trace
from checkers.test_violations import built, checked, compare, lost_updates
from oracles.model import Step


def gather(tasks: int, violating: int | None = None) -> Trace:
    """Tasks of one loop write a counter, wait, and write it again: all of them, or so many. All are open at once."""
    builder = TraceBuilder()
    builder.symbols.locks.intern("loop", kind="loop")
    for k in range(tasks):
        builder.add("main", "fork", f"task{k}")
    for half in range(2):
        for k in range(tasks):
            task, location = f"task{k}", "n" if not half or violating is None or k < violating else f"own{k}"
            builder.add(task, "acquire", "loop")
            if not half:
                builder.add(task, "begin", "work")
            builder.add(task, "read", location, f"read {half}")
            builder.add(task, "write", location, f"write {half}")
            if half:
                builder.add(task, "end", "work")
            builder.add(task, "release", "loop")
    return builder.build()


def many_open(rng: random.Random) -> list[Step]:
    """Threads begin, one after the other, and end in another order; what they do meanwhile is random."""
    threads = [f"T{k}" for k in range(rng.randrange(30, 61))]
    steps = [Step("main", "fork", thread) for thread in threads if rng.random() < 0.3]
    for thread in threads:
        steps.append(Step(thread, "begin", "m"))
        if rng.random() < 0.6:
            steps += [Step(thread, "read", "x0"), Step(thread, "write", "x0")]
    for _ in range(rng.randrange(20, 90)):
        thread = rng.choice(threads)
        if rng.random() < 0.15:
            steps += [Step(thread, "end", "m"), Step(thread, "begin", "m")]
        else:
            steps.append(Step(thread, rng.choice(["read", "read", "write"]), f"x{rng.randrange(6)}"))
    rng.shuffle(threads)
    return steps + [Step(thread, "end", "m") for thread in threads]


@pytest.mark.parametrize("part", range(4))
def test_many_open_transactions_agree_with_the_definition(part: int) -> None:
    rng = random.Random(part)
    assert sum(bool(compare(many_open(rng)).pairs) for _ in range(6)) > 3


def test_ten_thousand_open_tasks_each_violate_once() -> None:
    trace = gather(10_000)
    result = checked(DavidaChecker, flattened(trace)).result
    assert (result.violations, len(result.transactions)) == (10_000, 10_000)
    assert sum(witness.count for witness in result.witnesses) == 10_000
    # the first task comes after all others, each of which was told by the one before
    assert len(result.witnesses[0].steps) == 2 * 10_000
    assert checked(RegionTrackChecker, flattened(trace)).result.violations == 10_000


def test_open_tasks_that_are_in_no_cycle_are_no_violations() -> None:
    results = run_checkers(gather(6000, violating=0), [DavidaChecker(), AeroDromeChecker()]).results
    assert [result.verdict for result in results] == ["holds", "holds"]


def test_long_walks_are_counted_up_to_a_limit() -> None:
    """Of n open tasks each has a walk of n. All violations are counted, and each has its witness."""
    few, many = (checked(DavidaChecker, flattened(gather(tasks))).result.counters for tasks in (1000, 6000))
    assert few["visited"] > 1000 * 1000
    assert few["distinct_witnesses"] == 1000
    assert 1 << 22 < many["visited"] < 2 << 22
    assert many["distinct_witnesses"] < many["witnesses"] == 6000


def test_edges_are_counted_until_too_many_transactions_are_open() -> None:
    few, many = (checked(DavidaChecker, flattened(gather(tasks))).result.counters for tasks in (100, 1000))
    assert few["largest_forest"] == 100 * 99 // 2 + 99
    assert many["largest_forest"] < 128 * 128


def test_numbers_of_ended_transactions_are_used_again_but_not_believed() -> None:
    """Long after a transaction has ended, another one has its number, which none of its readers know."""
    steps = [Step("old", "begin", "m"), Step("old", "write", "x")]
    for k in range(90):
        steps += [Step(f"T{k % 5}", op, "x" if op == "read" else "m") for op in ("begin", "read", "end")]
        if k == 12:
            steps.append(Step("old", "end", "m"))
    steps += [Step("T0", "begin", "m"), Step("T1", "write", "x"), Step("T0", "write", "y"), Step("T0", "end", "m")]
    assert compare(steps).pairs == []


@pytest.mark.parametrize("sites", [3, 9, 40])
def test_first_site_of_a_witness_is_right_however_many_there_are(sites: int) -> None:
    """Each task writes its own location somewhere else; one that has read them all writes what all read."""
    steps = [Step(f"T{k}", "begin", "m") for k in range(sites)]
    steps += [Step(f"T{k}", "write", f"x{k}") for k in range(sites)]
    steps += [Step("U", "read", f"x{k}") for k in range(sites)] + [Step("U", "write", "go")]
    steps += [Step("V", "read", "go"), Step("V", "write", "y")]
    steps += [Step(f"T{k}", "read", "y") for k in range(sites)]
    found = checked(DavidaChecker, flattened(built(steps)))
    assert [witness.steps[0].event for witness in found.result.witnesses] == list(range(sites, 2 * sites))
    assert compare(steps).pairs


def test_long_witnesses_are_grouped_by_site_when_their_steps_are_too_many() -> None:
    """Each of n locations closes a cycle of n steps: targets are told apart as long as there is room for the steps."""
    count = 3000
    steps = [Step("T0", "begin", "m"), Step("T0", "write", "x0")]
    for k in range(1, count):
        steps += [Step(f"T{k}", "read", f"x{k - 1}"), Step(f"T{k}", "write", f"x{k}")]
    steps += [Step(f"T{count - 1}", "write", f"y{k}") for k in range(300)]
    steps += [Step("T0", "read", f"y{k}") for k in range(300)]
    builder = TraceBuilder()
    for step in steps:
        builder.add(step.thread, step.op, step.target, step.op)
    engine = ViolationEngine(witnesses=True)
    for batch in flattened(builder.build()):
        engine.grow(batch.threads, batch.locations, batch.locks, batch.handovers)
        engine.feed(batch.first, batch.thread, batch.op, batch.target, batch.site)
    assert (engine.violations, engine.dropped) == (300, 0)
    assert len(engine.groups_from(80)) in range(1, 20)
    assert len(checked(DavidaChecker, flattened(lost_updates(300, 300))).result.witnesses) == 300
