"""`atomsan.check`: the flow from a trace to a report, in one place for the command line and for Python.

trace -> regions under the specification -> checkers -> findings -> Report
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

import numpy as np

from atomsan.checkers import auto
from atomsan.checkers.loop import Run, run_checkers
from atomsan.checkers.registry import CHECKERS
from atomsan.errors import InputError
from atomsan.findings.report import NamedTransactions, Report, TraceFacts, Verdict
from atomsan.source.spec import Specification, read_spec
from atomsan.trace.events import BATCH_EVENTS, Batch, Op
from atomsan.trace.reading import open_trace
from atomsan.trace.regions import OURS, Regions
from atomsan.trace.trace import Trace
from atomsan.trace.validation import Checked
from atomsan.types import RepeatingChecker

if TYPE_CHECKING:
    from atomsan.checkers.flat import FlatBatch
    from atomsan.checkers.results import Result
    from atomsan.errors import Place
    from atomsan.findings.finding import Finding
    from atomsan.findings.locks import HeldAt
    from atomsan.findings.making import Namer
    from atomsan.trace.symbols import Symbols
    from atomsan.types import Checker, EventSource, Reopenable

# Events in a batch: few enough to stay in the cache from stage to stage, and to stop soon when the time is up.
CHECKED_AT_ONCE = 1 << 16
# If one violation is enough, it pays to look for it more often.
FIRST_EVERY = 1 << 12

Watching = Callable[["Opened"], AbstractContextManager[Callable[[Sized], None]]]


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
    one = _Pass(material, wanted, first=first, deadline=deadline, with_lens="davida" in names.checkers)
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
    if one.is_recorded and "davida" in names.checkers:
        findings = _sorted_out(one, findings, _ours(one, rules))
    stopped = one.stopped or (cycle.stopped if cycle else None)
    if explain and not stopped and any(finding.witness for finding in findings):
        findings, stopped = _explained(material, cycle or one, findings, _ours(one, rules), deadline, watching)
    if one.is_recorded and material.again and not stopped and _has_marked(one, rules):
        marked, stopped = _inside_marked(material, first=first, deadline=deadline, watching=watching)
        known = {finding.id for finding in marked}
        findings = [*marked, *(finding for finding in findings if finding.id not in known)]
    return _report(one, names, results, findings, stopped)


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


class Material:
    """What is to be checked, as a source under a specification; `again` says whether it can be read more than once."""

    def __init__(
        self,
        trace: Trace | str | os.PathLike[str] | BinaryIO | EventSource | Reopenable,
        spec: Specification,
        *,
        split_all: bool = False,
        lenient: bool = False,
        format: str | None = None,
    ) -> None:
        self._trace = trace
        self._spec = spec
        self._split_all = split_all
        self._lenient = lenient
        self._format = format
        # what was recorded gives a source as often as one is asked for
        self.again = isinstance(trace, Trace) or hasattr(trace, "reopened")
        if isinstance(trace, str | os.PathLike):
            # a pipe has a path too, and can be read once
            self.again = os.path.isfile(trace) or os.path.isdir(trace)

    def under(self, default: str) -> Material:
        """The same, with another default of the specification."""
        spec = replace(self._spec, default=default)
        return Material(self._trace, spec, split_all=self._split_all, lenient=self._lenient, format=self._format)

    def open(self, batch_events: int = BATCH_EVENTS) -> Opened:
        if hasattr(self._trace, "reopened"):
            source: EventSource = self._trace.reopened()
        elif hasattr(self._trace, "batches"):
            source = cast("EventSource", self._trace)
        else:
            source = open_trace(self._trace, format=self._format, lenient=self._lenient, batch_events=batch_events)
        return Opened(source, Regions(source, self._spec.is_atomic, split_all=self._split_all), batch_events)


class Opened:
    """A source on its way to the checkers: its batches are cut where they are large."""

    def __init__(self, original: EventSource, source: Regions, batch_events: int) -> None:
        self.original = original
        self._source = source
        self._most = batch_events
        self.symbols = source.symbols
        self.meta = source.meta
        self.reading = False
        """Whether it is at work on the next batch, or waits for it to come."""

    def batches(self) -> Iterator[Batch]:
        self.reading = True
        for batch in self._source.batches():
            self.reading = False
            for start in range(0, len(batch), self._most):
                yield batch[start : start + self._most]
            self.reading = True
        self.reading = False

    @property
    def events(self) -> int:
        """How many events of the trace were read."""
        return self._source.events

    def place(self, event: int) -> Place:
        return self._source.place(event)

    def fraction(self) -> float | None:
        return self._source.fraction()

    def close(self) -> None:
        self._source.close()


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
        with_lens: bool = False,
    ) -> None:
        size = FIRST_EVERY if first else CHECKED_AT_ONCE
        made = auto.made(names)
        self.size = size
        """The largest batch. It decides how far beyond the last event of interest a trace is read, and validated."""
        self.source = material.open(size)
        self.is_recorded = _is_recorded(self.source)
        if with_lens and self.is_recorded:
            from atomsan.checkers.lens import DataOnly

            made += map(DataOnly, auto.made(["aerodrome", "davida"])[1:])
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
            self._checkers = []  # what they know is in the results, and the next pass can do with the memory
        self.seconds = time.monotonic() - start
        self.stopped = self._told_by_the_clock()

    def _told_by_the_clock(self) -> str | None:
        """Why the pass was stopped. To the loop, the alarm at the end of the time is an interrupt like any other."""
        stopped = self._run.stopped
        if stopped and _is_over(self._deadline):
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


def _is_recorded(source: Opened) -> bool:
    """Whether there are regions that nobody but us said are atomic. A recording that still runs will have some."""
    regions = source.symbols.regions
    origins = {regions.get(number, "origin") for number in range(len(regions))}
    return source.meta.format == "recording" or not origins.isdisjoint(OURS)


def _ours(run: _Pass, rules: Specification) -> Callable[[str], bool]:
    """Whether we chose a region of this name, and not the user."""
    regions = run.source.symbols.regions
    annotated = {regions[number] for number in range(len(regions)) if regions.get(number, "origin") == "annotated"}
    return lambda name: name not in annotated and not rules.names(name)


def _sorted_out(run: _Pass, findings: list[Finding], is_ours: Callable[[str], bool]) -> list[Finding]:
    """Findings and notes of a recorded program. A note says why it is none."""
    from atomsan.findings.counting import sorted_out
    from atomsan.findings.making import findings_of

    (lens,) = (result for result in run.results if result.algorithm == "davida, data only")
    of_data = findings_of(lens.witnesses, run.names) if lens.witnesses else []
    found, notes = sorted_out(findings, of_data, is_ours)
    return [*found, *notes]


def _has_marked(run: _Pass, rules: Specification) -> bool:
    """Whether the user said of regions of a recorded program that they are atomic."""
    regions, is_ours = run.source.symbols.regions, _ours(run, rules)
    return any(not is_ours(regions[number]) for number in range(len(regions)))


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
    return _explained(marked, run, findings, lambda name: False, deadline, watching)


def _explained(
    material: Material,
    run: _Pass,
    findings: list[Finding],
    is_ours: Callable[[str], bool],
    deadline: float | None,
    watching: Watching,
) -> tuple[list[Finding], str | None]:
    """The findings with what is around their steps, as far as the trace can be read again; why not, if stopped."""
    from atomsan.findings.locks import HeldAt, has_locks, with_locks, without_locks

    if not run.is_recorded and not has_locks(run.source.symbols):
        return without_locks(findings), None
    if not material.again:
        return findings, None
    held = HeldAt.steps_of(findings)
    source = material.open(run.size)
    stopped: str | None = None
    try:
        with watching(source) as watch:
            for batch in source.batches():
                if held.feed(batch, source.symbols):
                    break
                watch(batch)
                if _is_over(deadline):
                    stopped = "out of time"
                    break
    except KeyboardInterrupt:
        stopped = "out of time" if _is_over(deadline) else "interrupted"
    finally:
        source.close()
    findings = with_locks(findings, held.found)
    return (_placed(findings, held, source.symbols, is_ours) if run.is_recorded else findings), stopped


def _placed(
    findings: Sequence[Finding], held: HeldAt, symbols: Symbols, is_ours: Callable[[str], bool]
) -> list[Finding]:
    """Findings of a recorded program where they belong: in the smallest region, and among the notes if they are such.

    One that is seen in several ways is a finding if one of them is.
    """
    from atomsan.findings.counting import reconsidered
    from atomsan.findings.finding import merged
    from atomsan.findings.locks import innermost, regions_around
    from atomsan.findings.making import placed_in

    around = regions_around(held.inside, symbols)
    found: list[Finding] = []
    notes: list[Finding] = []
    for finding in findings:
        region = innermost(finding, held.inside)
        judged = reconsidered(finding, around) if is_ours(finding.region) else finding
        placed = judged if region is None else placed_in(judged, symbols.regions[region])
        (found if placed.why is None else notes).append(placed)
    ids = {finding.id for finding in found}
    return [*merged(found), *merged(note for note in notes if note.id not in ids)]


def _is_over(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() >= deadline


def _report(
    run: _Pass, names: Names, results: Sequence[Result], findings: list[Finding], stopped: str | None
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
            variables=len(symbols.variables),
            transactions=run.begins.transactions,
            complete=meta.complete and run.stopped is None,
        ),
        algorithm=names.shown,
        verdict=verdict,
        serializable=next((result.serializable for result in results if result.serializable is not None), None),
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
        warnings=list(meta.warnings),
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
