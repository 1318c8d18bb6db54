"""Violating transactions listed by `atomsan.sets`, against the definition on the projection of each set."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

import pytest

import atomsan
from atomsan import TraceBuilder
from checkers.test_projection import Case, handed_around, many_readers, many_short_units, many_threads, small
from oracles.atomic_sets import Access, Sets, projection
from oracles.loading import notation
from oracles.model import Step, normalise
from oracles.violating import violating

Listed = set[tuple[str, int]]


def by_definition(steps: Sequence[Step], sets: Sets, declared: Sets | None) -> Listed:
    """The violating transactions of each projected trace, which has only the accesses and units of one set."""
    numbers = transaction_numbers(steps)
    found: Listed = set()
    for name, locations in sets.items():
        accesses = projection(steps, locations, name, declared)
        units = list(dict.fromkeys(access.unit for access in accesses if access.unit in numbers))
        projected = list(as_trace(accesses, numbers))
        for thread, number in violating(projected):
            of_thread = [unit for unit in units if unit[0] == thread]
            found.add((thread, numbers[of_thread[number - 1]]))
    return found


def transaction_numbers(steps: Sequence[Step]) -> dict[tuple[str, int], int]:
    """Transaction numbers of regions, by the thread and place of their begin."""
    depth: dict[str, int] = {}
    begun: dict[str, int] = {}
    numbers = {}
    for place, (thread, op, *_) in enumerate(normalise(steps)):
        if op == "begin":
            begun[thread] = begun.get(thread, 0) + (depth.get(thread, 0) == 0)
            numbers[thread, place] = begun[thread]
        depth[thread] = depth.get(thread, 0) + {"begin": 1, "end": -1}.get(op, 0)
    return numbers


def as_trace(accesses: Sequence[Access], numbers: dict[tuple[str, int], int]) -> Iterator[Step]:
    """Each unit that a region opened is one region; it ends after its last access."""
    last = {access.unit: place for place, access in enumerate(accesses)}
    begun = set()
    for place, access in enumerate(accesses):
        unit, thread = access.unit, access.unit[0]
        if unit in numbers and unit not in begun:
            begun.add(unit)
            yield Step(thread, "begin", "u")
        yield Step(thread, access.op, access.location)
        if unit in numbers and last[unit] == place:
            yield Step(thread, "end", "u")


class Once:
    """A trace that can be read one time only."""

    def __init__(self, trace: atomsan.Trace) -> None:
        self.symbols, self.meta, self.place, self.batches = trace.symbols, trace.meta, trace.place, trace.batches


def built(steps: Sequence[Step]) -> atomsan.Trace:
    builder = TraceBuilder()
    for thread, op, target, *_ in steps:
        builder.add(thread, op, target)
    return builder.build()


@pytest.mark.parametrize(
    ("make", "traces", "least"),
    [
        (small, 6_000, 800),
        (many_short_units, 300, 100),
        (handed_around, 500, 50),
        (many_threads, 20, 2),
        (many_readers, 150, 20),
    ],
)
def test_listed_transactions_agree_with_the_definition(
    make: Callable[[random.Random], Case], traces: int, least: int
) -> None:
    rng = random.Random(f"violating {make.__name__}")
    with_some = without = 0
    for number in range(traces):
        steps, sets, declared = make(rng)
        trace = built(steps)
        expected = by_definition(steps, sets, declared)
        report = atomsan.sets(trace, sets, declared, method="projection", explain=False)
        assert set(report.transactions) == expected, (steps, sets, declared)
        assert list(report.transactions) == list(dict.fromkeys(report.transactions))
        with_some += bool(expected)
        # a cycle that no unit alone is to blame for
        without += report.serializable is False and not expected
        if number % 10 == 0:
            once = atomsan.sets(Once(trace), sets, declared, method="both")  # type: ignore[arg-type]
            assert set(once.transactions) == expected
    assert with_some >= least
    assert without or make is not small


def test_batch_size_does_not_change_the_listed_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    for _ in range(100):
        steps, sets, declared = many_short_units(rng)
        whole = atomsan.sets(built(steps), sets, declared)
        with monkeypatch.context() as patched:
            patched.setattr("atomsan.flow.set_check.CHECKED_AT_ONCE", 3)
            assert list(atomsan.sets(built(steps), sets, declared).transactions) == list(whole.transactions)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("T:begin(m) T:end(m) T:begin(m) T:r(x) U:w(x) T:w(x) T:end(m)", [("T", 2)]),
        # the unit is inside a region that is no unit
        ("T:begin(n) T:begin(m) T:r(x) U:w(x) T:w(x) T:end(m) T:begin(m) T:end(m) T:end(n)", [("T", 1)]),
        # two units in one transaction, which is listed once
        (
            "T:begin(n) T:begin(m) T:r(x) U:w(x) T:w(x) T:end(m) T:begin(m) T:r(x) U:w(x) T:w(x) T:end(m) T:end(n)",
            [("T", 1)],
        ),
        # both transactions violate
        ("T:begin(m) U:begin(m) T:r(x) U:w(x) T:w(x) U:w(x) U:end(m) T:end(m)", [("T", 1), ("U", 1)]),
        # not serializable, and no transaction violates
        ("T:begin(m) U:begin(m) U:r(y) T:r(x) U:w(x) T:w(y) T:end(m) U:end(m)", []),
        ("T:begin(m) T:r(x) T:end(m) U:w(x) T:begin(m) T:w(x) T:end(m)", []),
        ("T:begin(n) T:r(x) U:w(x) T:w(x) T:end(n)", []),
    ],
)
@pytest.mark.parametrize("method", ["patterns", "both"])
def test_violating_transactions_of_small_traces(line: str, expected: list[tuple[str, int]], method: str) -> None:
    steps = notation(line)
    sets, declared = {"S": ["x", "y"]}, {"m": ["S"]}
    report = atomsan.sets(built(steps), sets, declared, method=method)  # type: ignore[arg-type]
    assert list(report.transactions) == expected
    assert report.to_dict()["transactions"] == [list(one) for one in expected]
    assert by_definition(steps, sets, declared) == set(expected)


def test_witness_steps_have_their_transaction_numbers() -> None:
    line = "U:begin(n) U:end(n) T:begin(n) T:end(n) T:begin(n) T:begin(m) T:r(x) U:begin(n) U:w(x) T:w(x)"
    for method in ("patterns", "projection"):
        (finding,) = atomsan.sets(built(notation(line)), {"S": ["x"]}, {"m": ["S"]}, method=method).findings  # type: ignore[arg-type]
        assert [(step.thread, step.transaction, step.region) for step in finding.witness] == [
            *(("T", 2, "m"), ("U", 2, None), ("T", 2, "m"))
        ]


def test_interrupt_while_listing_transactions_keeps_verdicts_and_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("atomsan.flow.set_check.ViolatingUnits.feed", stop)
    trace = atomsan.parse("T:begin(f) T:r(a.x) U:w(a.x) T:w(a.x) T:end(f) T:r(b.x)")
    report = atomsan.sets(trace)
    assert (report.stopped, list(report.transactions)) == ("interrupted", [])
    assert {name: facts.serializable for name, facts in (report.sets or {}).items()} == {"a": False, "b": True}
    assert len(report.findings) == 1
