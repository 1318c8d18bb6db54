"""The latest events of a trace that comes only once, and what is predicted of them."""

from __future__ import annotations

import random

import atomsan
from atomsan import Report, Specification, Trace
from atomsan.checkers.flattening import flattened
from atomsan.flow.latest_events import LatestEvents
from atomsan.flow.prediction_beside import with_predictions
from atomsan.trace.events import Op
from read_once import ReadOnce
from strategies import random_steps

LOST = (
    "T1:begin(a) T1:acq(l) T1:r(x) T1:rel(l) T1:acq(l) T1:w(x) T1:rel(l) T1:end(a) "
    "T2:begin(a) T2:acq(l) T2:r(x) T2:rel(l) T2:acq(l) T2:w(x) T2:rel(l) T2:end(a)"
)
FIXED = (
    "T1:begin(a) T1:acq(l) T1:r(x) T1:w(x) T1:rel(l) T1:end(a) "
    "T2:begin(a) T2:acq(l) T2:r(x) T2:w(x) T2:rel(l) T2:end(a)"
)


def report(text: str, most: int = 1 << 20) -> Report:
    trace = atomsan.parse(text)
    events = LatestEvents(ReadOnce(trace, 1), most)
    return with_predictions(atomsan.check(events), events, Specification(), 20.0)


def kept(trace: Trace, most: int) -> Trace:
    events = LatestEvents(ReadOnce(trace, 1), most)
    events.finish()
    return Trace.from_source(events.kept())


def test_whole_trace_is_predicted_if_it_is_short_enough() -> None:
    found = report(LOST)
    assert [(one.region, one.status) for one in found.findings] == [("a", "predicted")]
    assert found.warnings == []
    assert report(FIXED).to_dict()["conflict_atomic"] is True


def test_nothing_is_proved_of_a_trace_that_is_too_long() -> None:
    found = report(f"{FIXED} {FIXED}", 16)
    content = found.to_dict()
    assert (content["conflict_atomic"], content["view_atomic"]) == (None, None)
    assert content["conflict_atomic_reason"] == "only the latest events of the run were looked at"
    assert content["units"] == {"kinds": 0, "proved": 0}
    (warning,) = found.warnings
    assert "without the first 8 events" in warning


def test_what_is_found_in_the_latest_events_is_so() -> None:
    found = report(f"{FIXED} {FIXED} {LOST}", 16)
    assert [(one.region, one.status) for one in found.findings] == [("a", "predicted")]
    assert found.to_dict()["conflict_atomic"] is False
    assert min(step.event for step in found.findings[0].witness) >= 24


def test_lock_that_was_acquired_before_is_held() -> None:
    """Without it, `b` could come between the accesses of `a`."""
    first = "T1:begin(a) T1:acq(l) T1:acq(l) T1:r(x) T1:w(x) T1:rel(l) T1:rel(l) T1:end(a)"
    rest = kept(atomsan.parse(f"{first} T2:begin(b) T2:acq(l) T2:w(x) T2:rel(l) T2:end(b)"), 9)
    assert rest.notation().startswith("T1:begin(a) T1:acq(l) T1:acq(l) ")
    assert atomsan.predict(rest).to_dict()["conflict_atomic"] is True


def test_kept_events_are_well_formed_and_have_their_numbers() -> None:
    rng = random.Random(3)
    for _ in range(60):
        builder = atomsan.TraceBuilder()
        for step in random_steps(rng, events=60):
            builder.add(step.thread, step.op, step.target)
        trace = builder.build()
        events = LatestEvents(ReadOnce(trace, 1), 16)
        events.finish()
        first = events.missed
        rows = {batch.first + at: row for batch in events.kept().batches() for at, row in enumerate(batch.rows())}
        assert {at: row for at, row in rows.items() if at >= first} == {
            batch.first + at: row for batch in trace[first:].batches() for at, row in enumerate(batch.rows())
        }
        assert {row[1] for at, row in rows.items() if at < first} <= {Op.BEGIN, Op.ACQUIRE}
        for _ in flattened(events.kept()):
            pass
        atomsan.predict(Trace.from_source(events.kept()), lenient=False)
