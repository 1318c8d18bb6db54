"""Meeting points of transactions: a set without one is serializable, so skipping it changes no verdict."""

from __future__ import annotations

import random

import atomsan
from atomsan import Specification
from atomsan.checkers.atomic_sets import Learning, Units
from atomsan.checkers.loop import run_checkers
from atomsan.checkers.meetings import MeetingFinder
from atomsan.checkers.set_model import Declared, MeetingPoints, SetModel
from atomsan.checkers.units import Rows
from atomsan.flow.set_check import SetCheck, Sets
from atomsan.flow.trace_input import TraceInput
from atomsan.trace.monitor import Monitor
from checkers.set_rows import random_case
from flow.test_sets import built


def meetings(trace: atomsan.Trace) -> MeetingPoints:
    meeting = MeetingFinder()
    run_checkers(trace, [meeting])
    return MeetingPoints(*meeting.found())


def broken(trace: atomsan.Trace, sets: Sets, declared: Sets | None, only: MeetingPoints | None) -> set[str]:
    run = SetCheck(TraceInput(trace, Specification()), Monitor(), "projection", sets, declared, only=only).run()
    assert run.checking is not None
    return {run.model.names[number] for number in run.checking.broken()}


def met(text: str) -> set[str]:
    trace = atomsan.parse(text)
    return {trace.symbols.locations[number] for number in meetings(trace).meeting.nonzero()[0].tolist()}


def test_meeting_needs_a_conflict_with_an_open_transaction() -> None:
    assert met("T:begin T:r(x) U:w(x) T:end") == {"x"}
    assert met("T:begin T:w(x) U:r(x) T:end") == {"x"}
    assert met("T:begin T:r(x) U:r(x) T:end") == set()
    assert met("T:begin T:r(x) T:end U:w(x)") == set()
    assert met("T:begin T:r(x) T:end T:begin U:w(x) T:end") == set()
    assert met("T:begin T:r(x) U:begin U:r(x) U:end V:w(x) T:end") == {"x"}  # T is not forgotten for U
    assert met("T:begin T:r(x) U:w(y) T:end") == set()


def test_skipping_sets_without_a_meeting_changes_no_verdict() -> None:
    rng = random.Random(11)
    found = left_out = 0
    for _ in range(3000):
        steps, sets, declared = random_case(rng)
        trace = built(steps)
        only = meetings(trace)
        whole = broken(trace, sets, declared, None)
        assert broken(trace, sets, declared, only) == whole, (steps, sets, declared)
        found += bool(whole)
        left_out += not only.meeting.any()
    assert found > 500
    assert left_out > 100


def test_extract_gives_the_same_rows_as_the_whole_trace() -> None:
    """Regions, units and events are the same in an extract of a trace as in the whole trace."""
    rng = random.Random(12)
    kept = whole = 0
    for _ in range(1500):
        steps, sets, declared = random_case(rng)
        trace = built(steps)
        for region in rng.sample(range(len(trace.symbols.regions)), len(trace.symbols.regions) // 2):
            trace.symbols.regions.set(region, "entered", "callback")
        model = SetModel(trace.symbols, Declared(sets, declared))
        model.grow()
        learning = Learning(model, most=1 << 20)
        for batch in trace.batches():
            learning.feed(batch)
        model = SetModel(trace.symbols, Declared(sets, declared))
        expected = [one for batch in trace.batches() for one in accesses(Units(model, learns=False).rows(batch))]
        assert learning.extracts is not None
        units = Units(model, learns=False)
        assert [one for extract in learning.extracts for one in accesses(units.rows(extract))] == expected
        kept += sum(map(len, learning.extracts))
        whole += len(steps)
    assert 0 < kept < whole


def accesses(rows: Rows) -> list[tuple[int, ...]]:
    columns = (rows.kind, rows.thread, rows.unit, rows.set, rows.location, rows.region, rows.site, rows.event)
    return [tuple(row) for row in zip(*(column.tolist() for column in columns), strict=True)]
