"""`atomsan.check`: the flow from a trace to a report, in one place for the command line and for Python.

trace -> regions under the specification -> checkers -> findings -> Report
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple

import numpy as np

from atomsan.checkers import auto
from atomsan.checkers.loop import Run, run_checkers
from atomsan.checkers.registry import CHECKERS
from atomsan.checkers.sets import Only
from atomsan.errors import InputError
from atomsan.findings.report import NamedTransactions, Report, TraceFacts, Verdict
from atomsan.flow.explaining import explained
from atomsan.flow.material import Material, is_over, is_recorded, marked_regions
from atomsan.flow.sets import EVERYTHING, SetRun, unrecorded
from atomsan.source.spec import Specification, read_spec
from atomsan.trace.events import Op
from atomsan.trace.validation import Checked
from atomsan.types import RepeatingChecker

if TYPE_CHECKING:
    from atomsan.checkers.flat import FlatBatch
    from atomsan.checkers.meeting import Meeting
    from atomsan.checkers.results import Result
    from atomsan.findings.finding import Finding
    from atomsan.findings.making import Namer
    from atomsan.flow.material import Watching
    from atomsan.trace.trace import Trace
    from atomsan.types import Checker, EventSource, Reopenable

Lens = Literal["data", "meetings"]
"""What is looked at beside the checkers: what they find on data alone, or where transactions meet."""

# Events in a batch: few enough to stay in the cache from stage to stage, and to stop soon when the time is up.
CHECKED_AT_ONCE = 1 << 16
# If one violation is enough, it pays to look for it more often.
FIRST_EVERY = 1 << 12


def check(
    trace: Trace | str | os.PathLike[str] | BinaryIO | EventSource | Reopenable,
    algorithm: str | Sequence[str] = "auto",
    spec: Specification | str | os.PathLike[str] | None = None,
    first: bool = False,
    *,
    timeout: float | None = None,
    split_at_waits: bool = False,
    lenient: bool = False,
    format: str | None = None,
    explain: bool = True,
    watching: Watching = lambda source: nullcontext(lambda batch: None),
) -> Report:
    """Was it atomic? Check a trace, of any kind, with one or several algorithms.

    `spec` says which regions are meant to be atomic. `first` stops at the first violation. After `timeout` seconds, or
    at Ctrl-C, the report has what was found so far. `explain` reads a trace that has findings again, if it can be, for
    what the checkers do not keep: a cycle that nobody is to blame for, and the locks held at the steps. `watching`
    gives a context manager around the pass over a source, whose value is called with each batch that is done.
    """
    names = expanded([algorithm] if isinstance(algorithm, str) else list(algorithm))
    rules = spec if isinstance(spec, Specification) else read_spec(spec) if spec is not None else Specification()
    material = Material(trace, rules, split_all=split_at_waits, lenient=lenient, format=format)
    beside = auto.SHOWS_CYCLES if names.with_auto and not material.again else None
    deadline = None if timeout is None else time.monotonic() + timeout
    wanted = [*names.checkers, *([beside] if beside else [])]
    # Whether data can be seen or left inconsistent is asked set by set, in passes of their own. Where the trace comes
    # only once, it is asked beside the others, and sets are told apart by the accesses of each witness.
    lens: Lens | None = None
    if "davida" in names.checkers and not (first and material.again):
        lens = "meetings" if material.again else "data"
    one = _Pass(material, wanted, first=first, deadline=deadline, lens=lens)
    one.run(watching)
    results = [result for result in one.results if result.algorithm in names.checkers]
    cycle: _Pass | None = one if beside else None
    if explain and material.again and not one.stopped and auto.lacks_a_cycle(results):
        cycle = _Pass(material, [auto.SHOWS_CYCLES], first=True, deadline=deadline)
        cycle.run(watching)
    findings = _findings(one, results)
    if not findings and _verdict(results) == "violated":
        from atomsan.findings.making import bare_cycle

        findings = _cycle(cycle) or _closings(one, results) or [bare_cycle()]
    stopped = one.stopped or (cycle.stopped if cycle else None)
    if one.is_recorded and "davida" in names.checkers:
        is_ours = _ours(one, rules)
        inside = _Inside([] if material.again else _by_the_lens(one), stopped if material.again else None)
        # a cycle of units on one set is a cycle of the transactions that they are in: without such, nothing is wrong
        if material.again and not stopped and not _serializable(results):
            inside = _inside_sets(material, rules, one.meetings, deadline, watching)
            across, stopped = _across_sets(material, findings, inside, one.meetings, is_ours, deadline, watching)
            inside.findings.extend(across)
            findings = inside.run.with_sets(findings) if inside.run else findings
        findings = _sorted_out(findings, inside, is_ours)
    if explain and not stopped and any(finding.witness for finding in findings):
        findings, stopped = explained(material, (cycle or one).source, findings, _ours(one, rules), deadline, watching)
    if one.is_recorded and material.again and _has_marked(one, rules):
        marked: list[Finding] = []
        if not stopped:
            marked, stopped = _inside_marked(material, first=first, deadline=deadline, watching=watching)
        known = {finding.id for finding in marked}
        rest = [finding for finding in findings if finding.id not in known]
        findings = [*marked, *(_left_open(rest) if stopped else rest)]
    return _report(one, names, rules, results, findings, stopped)


class Names(NamedTuple):
    """What was asked for, and the checkers that it takes."""

    shown: str
    checkers: list[str]
    with_auto: bool


def expanded(names: Sequence[str]) -> Names:
    """The checkers that these names stand for. A name that is unknown raises."""
    known = (auto.NAME, *CHECKERS)
    for name in names:
        if name not in known:
            raise InputError(f"unknown algorithm {name!r}: it is one of {', '.join(known)}")
    members = (member for name in names for member in (auto.MEMBERS if name == auto.NAME else (name,)))
    checkers = list(dict.fromkeys(members))
    return Names(", ".join(dict.fromkeys(names)), checkers, auto.NAME in names)


class FirstOnly:
    """A checker that is not fed any more once it has found a violation."""

    def __init__(self, checker: Checker) -> None:
        self.name = checker.name
        self._checker = checker

    def feed(self, batch: FlatBatch) -> bool:
        return self._checker.feed(batch) or self._checker.result("only the first was asked for").verdict == "violated"

    def result(self, stopped: str | None = None) -> Result:
        result = self._checker.result(stopped)
        if result.verdict != "violated" or not result.witnesses:
            return result
        witness = min(result.witnesses, key=lambda witness: max(step.event for step in witness.steps))
        return replace(
            result,
            violations=None if result.violations is None else 1,
            transactions=[witness.blamed] if witness.blamed else result.transactions[:1],
            witnesses=[replace(witness, count=1)],
        )


class Begins:
    """Which region each transaction is of, for checkers that name transactions and nothing else."""

    def __init__(self, *, keep: bool) -> None:
        self.transactions = 0
        self._keep = keep
        self._rows: list[tuple[Any, Any, Any]] = []

    def __call__(self, batch: FlatBatch) -> None:
        begins = batch.op == Op.BEGIN
        self.transactions += int(np.count_nonzero(begins))
        if self._keep:
            at = np.flatnonzero(begins)
            self._rows.append((batch.thread[at], batch.target[at], batch.first + at))

    def of(self, transactions: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """(region, event of the begin) of each transaction, given by thread and number."""
        if not self._rows:
            return
        thread, region, event = (np.concatenate(column) for column in zip(*self._rows, strict=True))
        order = np.argsort(thread, kind="stable")
        starts = np.searchsorted(thread[order], np.arange(int(thread.max(initial=0)) + 2))
        for number, nth in transactions:
            row = order[starts[number] + nth - 1]
            yield int(region[row]), int(event[row])


class _Pass:
    """One pass of some checkers over the material, and what came of it."""

    def __init__(
        self,
        material: Material,
        names: Sequence[str],
        *,
        first: bool,
        deadline: float | None,
        lens: Lens | None = None,
    ) -> None:
        size = FIRST_EVERY if first else CHECKED_AT_ONCE
        made = auto.made(names)
        self.source = material.open(size)
        self.is_recorded = is_recorded(self.source)
        self.meetings: Only | None = None
        self._meeting: Meeting | None = None
        if lens == "data" and self.is_recorded:
            from atomsan.checkers.lens import DataOnly

            made += map(DataOnly, auto.made(["aerodrome", "davida"])[1:])
        if lens == "meetings" and self.is_recorded:
            from atomsan.checkers.meeting import Meeting

            self._meeting = Meeting()
            made.append(self._meeting)
        self.begins = Begins(keep=not set(names) <= {*auto.MEMBERS, auto.SHOWS_CYCLES})
        self._checkers = [FirstOnly(one) if first and not isinstance(one, RepeatingChecker) else one for one in made]
        self._reopen = (lambda: material.open(size)) if material.again else None
        self._deadline = deadline
        self._run = Run([])
        self.seconds = 0.0
        self.stopped: str | None = None

    def run(self, watching: Watching) -> None:
        start = time.monotonic()
        left = None if self._deadline is None else max(0.0, self._deadline - start)
        try:
            with watching(self.source) as watch:

                def done(batch: FlatBatch) -> None:
                    self.begins(batch)
                    watch(batch)

                self._run = run_checkers(self.source, self._checkers, timeout=left, on_batch=done, reopen=self._reopen)
        finally:
            self.source.close()
            if self._meeting is not None:
                self.meetings = Only(*self._meeting.found())
                self._meeting = None
            self._checkers = []  # what they know is in the results, and the next pass can do with the memory
        self.seconds = time.monotonic() - start
        self.stopped = self._told_by_the_clock()

    def _told_by_the_clock(self) -> str | None:
        """Why the pass was stopped. To the loop, the alarm at the end of the time is an interrupt like any other."""
        stopped = self._run.stopped
        if stopped and is_over(self._deadline):
            for result in self._run.results:
                result.reason = "out of time" if result.reason == stopped else result.reason
            return "out of time"
        return stopped

    @cached_property
    def names(self) -> Namer:
        """Made when something was found: it takes all that findings are made with."""
        from atomsan.findings.making import Namer

        return Namer(self.source)

    @property
    def results(self) -> list[Result]:
        return self._run.results

    @property
    def times(self) -> dict[str, float]:
        return self._run.seconds


def _findings(run: _Pass, results: Sequence[Result]) -> list[Finding]:
    """What the checkers found. The same bug seen by several is one finding, and counts once."""
    found = [list(_findings_of(run, result)) for result in results if result.verdict == "violated"]
    if not any(found):
        return []
    from atomsan.findings.finding import merged

    shown = {finding.region for findings in found for finding in findings if finding.witness}
    kept = (finding for findings in found for finding in findings if finding.witness or finding.region not in shown)
    return sorted(merged(kept, counts=max), key=lambda finding: (finding.first_event is None, finding.first_event))


def _findings_of(run: _Pass, result: Result) -> Iterable[Finding]:
    from atomsan.findings.making import findings_of, without_witness

    if result.witnesses:
        return findings_of(result.witnesses, run.names)
    by_region: dict[int, list[int]] = {}
    for region, event in run.begins.of(result.transactions):
        by_region.setdefault(region, []).append(event)
    return [
        without_witness(run.names.region(region), len(events), run.names.event(min(events)), result.algorithm)
        for region, events in by_region.items()
    ]


def _cycle(run: _Pass | None) -> list[Finding]:
    """The one finding of a trace that is not serializable though no transaction violates."""
    from atomsan.findings.making import findings_of

    witnesses = [
        auto.as_cycle(witness)
        for result in (run.results if run else ())
        if result.algorithm == auto.SHOWS_CYCLES
        for witness in result.witnesses[:1]
    ]
    return findings_of(witnesses, run.names) if run else []


def _closings(run: _Pass, results: Sequence[Result]) -> list[Finding]:
    """Where nobody can show a cycle: the event that closes it."""
    from atomsan.findings.making import closed

    return [closed(result.closing, run.names) for result in results if result.closing][:1]


def _serializable(results: Sequence[Result]) -> bool | None:
    """Whether the trace is, as far as one of the checkers decides that."""
    return next((result.serializable for result in results if result.serializable is not None), None)


def _ours(run: _Pass, rules: Specification) -> Callable[[str], bool]:
    """Whether we chose a region of this name, and not the user."""
    marked = marked_regions(run.source, rules)
    return lambda name: name not in marked


class _Inside(NamedTuple):
    """What was found in data alone, why it was stopped if it was, and the run that knows the sets."""

    findings: list[Finding]
    stopped: str | None
    run: SetRun | None = None


def _inside_sets(
    material: Material, rules: Specification, meetings: Only | None, deadline: float | None, watching: Watching
) -> _Inside:
    """Where the data of one atomic set can be seen or left inconsistent."""
    if meetings is not None and not meetings.meeting.any():
        return _Inside([], None)
    try:
        run = SetRun(material, "projection", rules.sets or None, deadline=deadline, only=meetings)
        run.run(watching)
        return _Inside(run.findings(), run.stopped, run)
    except KeyboardInterrupt:  # between the passes
        return _Inside([], "interrupted")


def _across_sets(
    material: Material,
    findings: Sequence[Finding],
    inside: _Inside,
    meetings: Only | None,
    is_ours: Callable[[str], bool],
    deadline: float | None,
    watching: Watching,
) -> tuple[list[Finding], str | None]:
    """What is inconsistent only if all data is taken for one set; and why the look was stopped, if it was.

    That is a note. Where there are locks, the checkers show the order of these, and not what it does to which data: it
    takes a look of its own, if they have found such.
    """
    from atomsan.findings.counting import ACROSS, is_of_data, judged

    by_locks = any(is_ours(finding.region) and not is_of_data(finding) for finding in findings)
    if inside.stopped or inside.run is None or not by_locks:
        return [], inside.stopped
    one_set, by_all = {EVERYTHING: ["*"]}, {"*": [EVERYTHING]}
    try:
        run = SetRun(material, "projection", one_set, by_all, deadline=deadline, only=meetings)
        run.run(watching)
        known = {finding.id for finding in (*inside.findings, *findings)}
        found = judged(run.findings(), inside.run.are_apart)
        return [one for one in found if one.why == ACROSS and one.id not in known], run.stopped
    except KeyboardInterrupt:
        return [], "interrupted"


def _by_the_lens(run: _Pass) -> list[Finding]:
    """What was found by looking at data only."""
    from atomsan.findings.making import findings_of

    lenses = [result for result in run.results if result.algorithm == "davida, data only"]
    return [finding for lens in lenses if lens.witnesses for finding in findings_of(lens.witnesses, run.names)]


def _sorted_out(findings: list[Finding], inside: _Inside, is_ours: Callable[[str], bool]) -> list[Finding]:
    """Findings and notes of a recorded program. A note says why it is none."""
    from atomsan.findings.counting import of_different_objects, sorted_out

    are_apart = inside.run.are_apart if inside.run else of_different_objects
    found, notes = sorted_out(findings, inside.findings, is_ours, are_apart, is_settled=inside.stopped is None)
    return [*found, *notes]


def _left_open(findings: list[Finding]) -> list[Finding]:
    from atomsan.findings.counting import left_open

    return left_open(findings)


def _has_marked(run: _Pass, rules: Specification) -> bool:
    """Whether the user said of regions of a recorded program that they are atomic."""
    return bool(marked_regions(run.source, rules))


def _inside_marked(
    material: Material, *, first: bool, deadline: float | None, watching: Watching
) -> tuple[list[Finding], str | None]:
    """What is violated in the regions that the user marked, also where they lie inside regions that we chose."""
    marked = material.under("annotated")
    run = _Pass(marked, auto.MEMBERS, first=first, deadline=deadline)
    run.run(watching)
    findings = _findings(run, run.results)
    if run.stopped or not any(finding.witness for finding in findings):
        return findings, run.stopped
    return explained(marked, run.source, findings, lambda name: False, deadline, watching)


def _report(
    run: _Pass,
    names: Names,
    rules: Specification,
    results: Sequence[Result],
    findings: list[Finding],
    stopped: str | None,
) -> Report:
    symbols, meta = run.source.symbols, run.source.meta
    counting = _counting(results)
    verdict = _verdict(results)
    if verdict == "holds" and findings:
        raise AssertionError("findings, and nothing that is violated")
    original = run.source.original
    return Report(
        trace=TraceFacts(
            source=meta.source,
            events=run.source.events,
            threads=len(symbols.threads),
            locks=len(symbols.locks),
            variables=len(symbols.locations),
            transactions=run.begins.transactions,
            complete=meta.complete and run.stopped is None,
        ),
        algorithm=names.shown,
        verdict=verdict,
        serializable=_serializable(results),
        violations=counting.violations,
        transactions=NamedTransactions(counting.transactions, symbols.threads.__getitem__),
        findings=[finding for finding in findings if finding.why is None],
        notes=[finding for finding in findings if finding.why is not None],
        results={result.algorithm: _shown(result, run) for result in results},
        counters=_counters(results),
        seconds={"total": run.seconds} | {name: run.times[name] for name in names.checkers if name in run.times},
        reason=next((result.reason for result in results if result.reason), None) if verdict == "unknown" else None,
        stopped=stopped,
        repairs=original.repairs.lines() if isinstance(original, Checked) else [],
        warnings=[*meta.warnings, *(unrecorded(rules.sets, meta) if run.is_recorded else ())],
        divided={**meta.sets, **rules.sets},
        held=meta.fields,
    )


def _verdict(results: Sequence[Result]) -> Verdict:
    verdicts = {result.verdict for result in results}
    return "violated" if "violated" in verdicts else "unknown" if "unknown" in verdicts else "holds"


def _counting(results: Sequence[Result]) -> Result:
    """The result whose violations are the report's: of the one that finds all of them, where there is one."""
    for name in ("davida", "regiontrack"):
        for result in results:
            if result.algorithm == name and result.violations is not None:
                return result
    return next((result for result in results if result.violations is not None), results[0])


def _counters(results: Sequence[Result]) -> dict[str, int]:
    if len(results) == 1:
        return dict(results[0].counters)
    return {f"{result.algorithm}.{name}": count for result in results for name, count in result.counters.items()}


def _shown(result: Result, run: _Pass) -> dict[str, Any]:
    return {
        "verdict": result.verdict,
        "serializable": result.serializable,
        "violations": result.violations,
        "violating_transactions": len(result.transactions),
        "first_event": None if result.first_event is None else run.names.event(result.first_event)[0],
        "reason": result.reason,
        "counters": dict(result.counters),
    }
