"""Findings, suspects and notes of recorded programs, in regions that AtomSan chose and in those that the user marks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

import pytest

import atomsan
from atomsan import Finding, Report, Specification, Trace, TraceBuilder
from atomsan.checkers.atomic_sets import SetChecking
from atomsan.findings.reasons import APPENDS as APPENDS_BETWEEN
from atomsan.findings.reasons import COMMUTES, NO_FLOW, ORDER_ONLY, UNDECIDED, UNSEEN, WHOLE, Reason
from atomsan.flow.trace_input import OpenedTrace
from atomsan.reports.text import render
from atomsan.trace.events import Batch, Event, Op
from atomsan.trace.regions import CHOSEN_ORIGINS
from atomsan.trace.symbols import Symbols

LOCKED_TWICE = "T:begin(f) T:acq(l) T:r(x) T:rel(l) U:acq(l) U:r(x) U:rel(l) T:acq(l) T:r(x) T:rel(l) T:end(f)"
LOST_UPDATE = "T:begin(f) T:acq(l) T:r(x) T:rel(l) U:acq(l) U:w(x) U:rel(l) T:acq(l) T:w(x) T:rel(l) T:end(f)"
APPENDS = "T:begin(f) T:w(x)@append U:w(x)@append T:w(x)@append T:end(f)"


class Flows:
    """Gives the functions of a hand-written trace the flow graphs of straight-line code.

    A region is a function of the same name. Each of its accesses and calls is a node, in this order. What it is called
    with goes into all of them; what one gives goes into those after it, unless `tied` is off; the function returns it.
    """

    def __init__(self, symbols: Symbols, *, tied: bool) -> None:
        self._symbols = symbols
        self._tied = tied
        self._nodes: dict[str, list[dict[str, Any]]] = {}
        self._open: dict[str, list[str]] = {}

    def site(self, event: Event) -> str | None:
        """The site of an event, in the function that runs. The trace's own name for it names the operation."""
        opened = self._open.setdefault(event.thread, [])
        kind = {Op.READ: "read", Op.WRITE: "write", Op.BEGIN: "call"}.get(event.op)
        named: dict[str, Any] = {"operation": event.site} if event.site else {}
        site = event.site
        if kind and opened:
            nodes = self._nodes[opened[-1]]
            named |= {"owner": self._symbols.functions.find(opened[-1]), "node": len(nodes)}
            site = f"{opened[-1]}:{len(nodes)}"
            nodes.append({"k": kind, "s": len(nodes), "l": [], "arms": []})
        if event.op is Op.BEGIN:
            opened.append(event.target)
            self._nodes.setdefault(event.target, [{"k": "param", "s": 0, "l": [], "arms": []}])
            function = self._symbols.functions.intern(event.target)
            self._symbols.regions.set(self._symbols.regions.intern(event.target), "function", function)
        elif event.op is Op.END:
            opened.pop()
        if site:
            self._symbols.sites.intern(site, **named)
        return site

    def store(self) -> None:
        """Put the graphs into the trace, when all events are known."""
        for name, nodes in self._nodes.items():
            last = len(nodes)
            edges = [[i, j, "v", []] for j in range(last) for i in range(j) if self._tied or i == 0]
            edges += [[i, last, "v", []] for i in range(last) if nodes[i]["k"] != "write"]
            nodes.append({"k": "return", "s": last, "l": [], "arms": []})
            function = self._symbols.functions.intern(name)
            self._symbols.functions.set(function, "summary", json.dumps({"nodes": nodes, "edges": edges}))


def recorded(
    line: str, origins: dict[str, str], *, flow: Literal["tied", "not tied", "not known"] = "tied", **field: str
) -> Trace:
    """A trace whose regions have these origins, and that says how values flow in them."""
    builder = TraceBuilder()
    for name, origin in origins.items():
        builder.symbols.regions.intern(name, origin=origin)
    builder.symbols.locations.intern("x", **field)
    flows = Flows(builder.symbols, tied=flow == "tied")
    for event in atomsan.parse(line).events():
        builder.add(event.thread, event.op, event.target, event.site if flow == "not known" else flows.site(event))
    flows.store()
    trace = builder.build()
    trace.meta.recorded = not CHOSEN_ORIGINS.isdisjoint(origins.values())
    return trace


def regions(report: Report) -> tuple[list[str], list[str]]:
    """Of findings, and of suspects and notes."""
    return [finding.region for finding in report.findings], [one.region for one in no_findings(report)]


def no_findings(report: Report) -> list[Finding]:
    return [*report.suspects, *report.notes]


def reasons(report: Report) -> set[Reason]:
    """Of suspects and notes."""
    return {Reason(one.level, one.why or "") for one in no_findings(report)}


@pytest.mark.parametrize("origin", ["foreign", "annotated"])
def test_lock_order_in_a_declared_region_is_a_finding(origin: str) -> None:
    report = atomsan.check(recorded(LOCKED_TWICE, {"f": origin}))
    assert report.verdict == "violated"
    assert regions(report) == (["f"], [])


def test_lock_order_in_a_chosen_region_is_a_note() -> None:
    report = atomsan.check(recorded(LOCKED_TWICE, {"f": "function"}))
    assert (report.verdict, report.serializable, report.violations) == ("holds", False, 1)
    assert (report.findings, report.suspects, [note.region for note in report.notes]) == ([], [], ["f"])
    assert report.notes[0].why == ORDER_ONLY.why
    assert report.to_dict()["notes"][0]["why"] == report.notes[0].why


def test_lost_update_in_a_chosen_region_is_a_finding() -> None:
    report = atomsan.check(recorded(LOST_UPDATE, {"f": "function"}))
    assert [(finding.region, finding.pattern) for finding in report.findings] == [("f", "lost update")]


@pytest.mark.parametrize("line", [LOST_UPDATE, "T:begin(f) T:r(x) U:w(x) T:w(x) T:end(f)"], ids=["locked", "unlocked"])
def test_violation_that_is_seen_in_several_ways_counts_once(line: str) -> None:
    """By the checkers, as a turn, and in all data as one set; and again in the next transaction."""
    origins = {"f": "function"}
    assert [finding.count for finding in atomsan.check(recorded(line, origins)).findings] == [1]
    twice = atomsan.check(recorded(f"{line} {line}", origins))
    assert sum(finding.count for finding in twice.findings) == 2


def test_violation_on_data_is_a_suspect_if_the_trace_does_not_say_how_values_flow() -> None:
    report = atomsan.check(recorded(LOST_UPDATE, {"f": "function"}, flow="not known"))
    assert regions(report) == ([], ["f"])
    assert reasons(report) == {UNSEEN}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (APPENDS, APPENDS_BETWEEN),
        (APPENDS.replace("@append", "@add"), COMMUTES),
        (APPENDS.replace("U:w(x)@append", "U:r(x)"), None),
    ],
    ids=["appended in between", "added to a set in between", "read in between"],
)
def test_what_others_do_between_two_changes_of_a_container(line: str, reason: Reason | None) -> None:
    """Appends may be meant to mix, elements of a set have no order, and a reader sees half of the work."""
    structure = {"class": "C.items", "field": "<structure>"}
    report = atomsan.check(recorded(line, {"f": "function"}, **structure))
    assert regions(report) == (([], ["f"]) if reason else (["f"], []))
    assert reasons(report) == ({reason} if reason else set())


def test_violation_on_the_any_key_location_is_a_suspect() -> None:
    whole = {"class": "C.items", "field": "<any key>"}
    report = atomsan.check(recorded(LOST_UPDATE, {"f": "function"}, **whole))
    assert regions(report) == ([], ["f"] * len(no_findings(report)))
    assert reasons(report) == {WHOLE}
    assert report.verdict == "holds"


def test_specification_can_mark_a_region() -> None:
    trace = recorded(LOCKED_TWICE, {"f": "function"})
    assert regions(atomsan.check(trace, spec=Specification(atomic=("f",)))) == (["f"], [])


def test_marked_region_inside_a_chosen_one_is_reported_once() -> None:
    inside = LOCKED_TWICE.replace("T:begin(f)", "T:begin(g) T:begin(f)") + " T:end(g)"
    report = atomsan.check(recorded(inside, {"g": "function", "f": "annotated"}))
    assert regions(report) == (["f"], [])  # and not also as a note on `g` around it


def test_the_innermost_region_around_both_accesses_is_named() -> None:
    line = "T:begin(g) T:begin(f) T:r(x) U:w(x) T:w(x) T:end(f) T:begin(h) T:end(h) T:end(g)"
    report = atomsan.check(recorded(line, {"g": "loop", "f": "function", "h": "function"}))
    assert regions(report) == (["f"], [])


def stopped_in(monkeypatch: pytest.MonkeyPatch, number: int, spec: Specification | None = None) -> Report:
    """The report of a check that is interrupted in one of its passes over the trace."""
    passes = 0
    batches = OpenedTrace.batches

    def stop(source: OpenedTrace) -> Iterator[Batch]:
        nonlocal passes
        passes += 1
        # the first pass is interrupted after its events, so that there is something to judge
        if passes != number or number == 1:
            yield from batches(source)
        if passes == number:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(OpenedTrace, "batches", stop)
        return atomsan.check(everything(), spec=spec)


# Bugs without and with a lock, the order of locks, appends; and in `m` inside `n` that of locks again, to be marked.
EVERYTHING = " ".join(
    [
        "T:begin(f) T:r(x) U:w(x) T:w(x) T:end(f)",
        LOST_UPDATE.replace("(f)", "(g)").replace("(x)", "(v)"),
        LOCKED_TWICE.replace("(f)", "(h)").replace("(x)", "(y)"),
        APPENDS.replace("(f)", "(k)").replace("(x)", "(s)"),
        f"T:begin(n) {LOCKED_TWICE.replace('(f)', '(m)').replace('(x)', '(z)')} T:end(n)",
    ]
)


def everything() -> Trace:
    trace = recorded(EVERYTHING, dict.fromkeys("fghkmn", "function"))
    structure = trace.symbols.locations.find("s") or 0
    trace.symbols.locations.set(structure, "field", "<structure>")
    trace.symbols.locations.set(structure, "class", "C.items")
    return trace


MARKS = Specification(atomic=("m",), default="functions")


@pytest.mark.parametrize("spec", [None, MARKS], ids=["none marked", "one marked"])
def test_nothing_is_called_harmless_because_the_check_was_stopped(
    spec: Specification | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = atomsan.check(everything(), spec=spec)
    assert whole.stopped is None
    assert set(regions(whole)[0]) == ({"f", "g"} if spec is None else {"f", "g", "m"})
    assert UNDECIDED not in reasons(whole)
    counting = {finding.id for finding in whole.findings}
    stopped = []
    for number in range(1, 10):
        report = stopped_in(monkeypatch, number, spec)
        if report.stopped is None:
            break
        stopped.append(number)
        assert report.stopped == "interrupted"
        assert not [one for one in no_findings(report) if one.id in counting and not one.is_undecided], number
        assert report.verdict == ("violated" if report.findings else "unknown"), number
    # passes: checkers, turns, all data as one set, surroundings; for a marked region the first and last once more
    assert stopped == ([1, 2, 3, 4] if spec is None else [1, 2, 3, 4, 5, 6])


@pytest.mark.parametrize("number", [2, 3, 4], ids=["turns", "all data as one set", "surroundings"])
def test_interrupt_before_anything_is_judged_leaves_undecided_suspects(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was found by then is shown. Whether it counts, is seen from what is around its steps."""
    report = stopped_in(monkeypatch, number)
    assert (report.verdict, report.findings, report.notes) == ("unknown", [], [])
    assert reasons(report) == {UNDECIDED}
    assert {suspect.region for suspect in report.suspects} == {"f", "g", "h", "k", "n"}
    text = render([report])
    assert f"({len(report.suspects)} of them undecided)" in text
    assert text.count(f": {UNDECIDED.why}  [") == 5
    in_full = render([report], with_notes=True)
    assert in_full.count(f"undecided, because {UNDECIDED.why}") == 5
    assert in_full.count(UNDECIDED.why) == len(report.suspects)
    assert "undecided" not in render([atomsan.check(everything())], with_notes=True)


@pytest.mark.parametrize("method", ["TurnFinder.feed", "TurnFinder.__init__", "TurnFinder.finish"])
def test_interrupt_while_turns_are_found_leaves_undecided_suspects(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"atomsan.checkers.turns.{method}", interrupt)
    report = atomsan.check(everything())
    assert (report.stopped, report.verdict, report.findings) == ("interrupted", "unknown", [])
    assert reasons(report) == {UNDECIDED}


def test_interrupt_while_checking_extracts_leaves_undecided_suspects(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of all data as one set reads extracts of the trace that were kept, not the trace."""
    monkeypatch.setattr(SetChecking, "feed", interrupt)
    report = atomsan.check(everything())
    assert (report.stopped, report.verdict, report.findings) == ("interrupted", "unknown", [])
    assert reasons(report) == {UNDECIDED}
    of_sets = atomsan.sets(everything())
    assert (of_sets.stopped, of_sets.verdict, of_sets.reason) == ("interrupted", "unknown", "interrupted")


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_timeout_leaves_only_undecided_suspects() -> None:
    report = atomsan.check(everything(), timeout=1e-9)
    assert report.stopped == "out of time"
    assert reasons(report) <= {UNDECIDED}


def test_transaction_numbers_are_the_same_in_every_report() -> None:
    """Transactions without an access to shared data count, too."""
    trace = recorded(
        "T:begin(e) T:end(e) T:begin(e) T:r(y) T:end(e) T:begin(f) T:begin(e) T:r(x) U:w(x) T:w(x) T:end(e) T:end(f)",
        {"e": "function", "f": "function"},
    )
    for report in (atomsan.check(trace), atomsan.sets(trace), atomsan.sets(trace, method="patterns")):
        (finding,) = report.findings
        assert {(step.thread, step.transaction) for step in finding.witness} == {("T", 3), ("U", None)}
        assert list(report.transactions) == [("T", 3)]


ACROSS = "T:begin(g) T:begin(f) T:r(x) T:end(f) U:w(x) T:begin(f) T:w(x) T:end(f) T:end(g)"


def test_two_calls_are_one_step_if_a_result_flows_from_one_to_the_other() -> None:
    origins = {"g": "function", "f": "function"}
    assert regions(atomsan.check(recorded(ACROSS, origins, flow="tied"))) == (["g"], [])
    report = atomsan.check(recorded(ACROSS, origins, flow="not tied"))
    assert regions(report) == ([], ["g"])
    assert reasons(report) == {NO_FLOW}


MARKED_INSIDE = "T:begin(f) T:begin(x) T:r(v) U:w(v) T:w(v) T:end(x) T:end(f)"


def test_violation_in_a_marked_region_is_counted_once() -> None:
    """By the sets of the program and by all data as one set: it is the same violation."""
    trace = recorded(MARKED_INSIDE, {"f": "function", "x": "annotated"})
    (finding,) = atomsan.sets(trace).findings
    assert (finding.region, finding.count) == ("x", 1)


def test_nothing_is_found_where_no_region_is_atomic() -> None:
    """Though a region that the program marks is violated: the specification says that only others are meant."""
    trace = recorded(MARKED_INSIDE, {"f": "function", "x": "annotated"})
    report = atomsan.check(trace, spec=Specification(atomic=("nothing",)))
    assert (report.verdict, report.findings, no_findings(report)) == ("holds", [], [])


def test_recorded_program_with_marked_regions_only_has_a_set_for_each_object() -> None:
    trace = recorded(
        "T:begin(f) T:r(x) U:w(x) T:w(x) T:end(f)", {"f": "annotated"}, object="C #1", field="v", **{"class": "C"}
    )
    assert set(atomsan.sets(trace).sets or ()) == {"*"}  # by names, which have no dot here
    trace.meta.recorded = True
    assert set(atomsan.sets(trace).sets or ()) == {"C #1", "*"}
