"""What counts in a recorded program: regions that we chose ourselves, and those that the user marked."""

from __future__ import annotations

import pytest

import atomsan
from atomsan import Report, Specification, Trace, TraceBuilder

LOCKED_TWICE = "T:begin(f) T:acq(l) T:r(x) T:rel(l) U:acq(l) U:r(x) U:rel(l) T:acq(l) T:r(x) T:rel(l) T:end(f)"
LOST_UPDATE = "T:begin(f) T:acq(l) T:r(x) T:rel(l) U:acq(l) U:w(x) U:rel(l) T:acq(l) T:w(x) T:rel(l) T:end(f)"
APPENDS = "T:begin(f) T:w(x)@a U:w(x)@a T:w(x)@a T:end(f)"


def recorded(line: str, origins: dict[str, str], **field: str) -> Trace:
    """A trace whose regions have these origins."""
    builder = TraceBuilder()
    for name, origin in origins.items():
        builder.symbols.regions.intern(name, origin=origin)
    builder.symbols.variables.intern("x", **field)
    builder.symbols.sites.intern("a", operation="append")
    for event in atomsan.parse(line).events():
        builder.add(event.thread, event.op.short, event.target, event.site)
    return builder.build()


def regions(report: Report) -> tuple[list[str], list[str]]:
    return [finding.region for finding in report.findings], [note.region for note in report.notes]


@pytest.mark.parametrize("origin", ["foreign", "annotated"])
def test_where_somebody_said_so_locks_count(origin: str) -> None:
    report = atomsan.check(recorded(LOCKED_TWICE, {"f": origin}))
    assert report.verdict == "violated"
    assert regions(report) == (["f"], [])


def test_in_a_region_of_ours_the_order_of_locks_is_a_note() -> None:
    report = atomsan.check(recorded(LOCKED_TWICE, {"f": "function"}))
    assert report.verdict == "violated"
    assert regions(report) == ([], ["f"])
    assert "locks" in (report.notes[0].why or "")
    assert report.to_dict()["notes"][0]["why"] == report.notes[0].why


def test_data_is_a_finding() -> None:
    report = atomsan.check(recorded(LOST_UPDATE, {"f": "function"}))
    assert [(finding.region, finding.pattern) for finding in report.findings] == [("f", "lost update")]


def test_appends_commute() -> None:
    structure = {"class": "C.items", "field": "<structure>"}
    assert regions(atomsan.check(recorded(APPENDS, {"f": "function"}, **structure))) == ([], ["f"])
    element = {"class": "C.items", "field": "[...]"}
    assert regions(atomsan.check(recorded(APPENDS, {"f": "function"}, **element))) == (["f"], [])


def test_a_key_that_stands_for_all_is_a_note() -> None:
    whole = {"class": "C.items", "field": "<any key>"}
    assert regions(atomsan.check(recorded(LOST_UPDATE, {"f": "function"}, **whole)))[0] == []


def test_the_specification_marks_too() -> None:
    trace = recorded(LOCKED_TWICE, {"f": "function"})
    assert regions(atomsan.check(trace, spec=Specification(atomic=("f",)))) == (["f"], [])


def test_a_marked_region_inside_one_of_ours() -> None:
    inside = LOCKED_TWICE.replace("T:begin(f)", "T:begin(g) T:begin(f)") + " T:end(g)"
    report = atomsan.check(recorded(inside, {"g": "function", "f": "annotated"}))
    assert regions(report) == (["f"], [])  # and not once more as a note on `g`, which has it inside


def test_the_innermost_region_around_both_accesses_is_named() -> None:
    line = "T:begin(g) T:begin(f) T:r(x) U:w(x) T:w(x) T:end(f) T:begin(h) T:end(h) T:end(g)"
    report = atomsan.check(recorded(line, {"g": "loop", "f": "function", "h": "function"}))
    assert regions(report) == (["f"], [])


ACROSS = "T:begin(g) T:begin(f) T:r(x) T:end(f) U:w(x) T:begin(f) T:w(x) T:end(f) T:end(g)"


@pytest.mark.parametrize(("flow", "expected"), [("account", (["g"], [])), (None, ([], ["g"]))])
def test_two_calls_are_one_step_if_a_result_flows_from_one_to_the_other(
    flow: str | None, expected: tuple[list[str], list[str]]
) -> None:
    trace = recorded(ACROSS, {"g": "function", "f": "function"})
    trace.symbols.regions.set(trace.symbols.regions.find("g") or 0, "flow", flow)
    assert regions(atomsan.check(trace)) == expected
