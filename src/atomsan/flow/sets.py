"""`atomsan.sets`: is each object's data consistent? Checks the units of work on each atomic set, set by set.

trace -> regions under the specification -> units and sets -> patterns, projection -> findings -> Report

The same question is the lens of `atomsan run`: in a recorded program, what counts is inside one set (DESIGN section 6).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import numpy as np

from atomsan.checkers.atomic_sets import (
    METHODS,
    MOST_MATCHES,
    NAME,
    Access,
    Extract,
    Learning,
    Match,
    Method,
    SetChecking,
    Units,
    accesses_of,
    cycle_of,
    pattern_in,
    witness_of,
)
from atomsan.checkers.results import TransactionList
from atomsan.checkers.sets import Declared, Layout, Marking, Names, Objects, Only, Prefixes, SetModel
from atomsan.checkers.violating_units import ViolatingUnits
from atomsan.errors import InputError
from atomsan.findings.report import NamedTransactions, Report, SetFacts, TraceFacts
from atomsan.flow.explaining import explained
from atomsan.flow.material import Material, is_over, is_recorded, marked_regions
from atomsan.source.field_paths import Hop, hops
from atomsan.source.spec import Specification, read_spec
from atomsan.trace.validation import Checked

if TYPE_CHECKING:
    from atomsan.checkers.results import Witness
    from atomsan.checkers.violating_units import Numbers
    from atomsan.findings.finding import Finding, ShownStep
    from atomsan.flow.material import Opened, Watching
    from atomsan.trace.events import Batch
    from atomsan.trace.meta import TraceMeta
    from atomsan.trace.trace import Trace
    from atomsan.types import EventSource, Reopenable

AT_ONCE = 1 << 16
# So many events (25 bytes each) are kept so that a trace need not be read twice.
MOST_EXTRACTED = 1 << 23
# The set of all data, for the regions that the user marked: in these, every violation counts.
EVERYTHING = "*"
# Of more sets than this, only those are listed that something was found in.
MOST_LISTED = 1000

Sets = Mapping[str, Iterable[str]]


def sets(
    trace: Trace | str | os.PathLike[str] | BinaryIO | EventSource | Reopenable,
    sets: Sets | None = None,
    declared: Sets | None = None,
    *,
    method: Method = "both",
    spec: Specification | str | os.PathLike[str] | None = None,
    timeout: float | None = None,
    split_at_waits: bool = False,
    lenient: bool = False,
    format: str | None = None,
    explain: bool = True,
    watching: Watching = lambda source: nullcontext(lambda batch: None),
) -> Report:
    """Is each atomic set seen and left consistent? Checks a trace, of any kind, set by set.

    In the regions of a recorded program that the user marked as atomic, all data is one more set, `*`.

    `sets` are the locations of each set, by name or glob; of a recorded program, the fields of a class. `declared` are
    the sets that each region is a unit of work on: None means every region on every set, and a region that is not
    listed is on none. Without `sets` the specification may have some; else the sets of a recorded program are its
    objects, and those of other traces are what stands before the last dot of their locations' names.
    """
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}: it is one of {', '.join(METHODS)}")
    rules = spec if isinstance(spec, Specification) else read_spec(spec) if spec is not None else Specification()
    material = Material(trace, rules, split_all=split_at_waits, lenient=lenient, format=format)
    deadline = None if timeout is None else time.monotonic() + timeout
    run = SetRun(material, method, sets if sets is not None else rules.sets or None, declared, deadline=deadline)
    run.run(watching)
    findings, stopped = run.findings(), run.stopped
    marked = marked_regions(run.source, rules) if run.is_recorded and declared is None else set()
    of_marked: SetRun | None = None
    if marked and material.again and not stopped:
        everything = {EVERYTHING: ["*"]}
        of_marked = SetRun(material, method, everything, {name: [EVERYTHING] for name in marked}, deadline=deadline)
        of_marked.run(watching)
        found, stopped = of_marked.findings(judge=False), of_marked.stopped
        known = {finding.id for finding in found}
        findings = [*found, *(finding for finding in findings if finding.id not in known)]
    if explain and not stopped and any(finding.witness for finding in findings):

        def is_ours(name: str) -> bool:
            return run.is_recorded and name not in marked

        findings, stopped = explained(material, run.source, findings, is_ours, deadline, watching)
    violating = np.zeros((0, 2), np.uint32)
    for one in (run, of_marked):
        if one is not None and not (stopped and material.again):
            found_in, stopped_in = one.violating(watching)
            violating, stopped = np.concatenate([violating, found_in]), stopped or stopped_in
    return _report(run, of_marked, rules, findings, violating, stopped)


class SetRun:
    """The passes over a trace, and what came of them."""

    def __init__(
        self,
        material: Material,
        method: Method,
        sets: Sets | None = None,
        declared: Sets | None = None,
        *,
        deadline: float | None = None,
        only: Only | None = None,
    ) -> None:
        """With `only`, sets are left out in which nothing can be wrong. The symbols of the trace must be complete."""
        self._material = material
        self._method = method
        self.sets: Sets = {} if declared is not None or sets is None else sets
        """What was said of the fields of classes, if the trace is of a recorded program."""
        self._deadline = deadline
        self.source = material.open(AT_ONCE)
        self.is_recorded = is_recorded(self.source)
        layout = self._layout(sets, declared)
        self._objects = layout if isinstance(layout, Objects) else None
        if self.is_recorded and declared is None:
            layout = Marking(layout, material.spec.names)
        self.model = SetModel(self.source.symbols, layout, only)
        self.checking: SetChecking | None = None
        self.transactions = 0
        self._extracts: Sequence[Extract] | None = None
        """What matters of the trace, where that was kept."""
        self.seconds = 0.0
        self.stopped: str | None = None

    def _layout(self, sets: Sets | None, declared: Sets | None) -> Layout:
        if self.is_recorded and declared is None:
            meta = self.source.meta
            return Objects(meta.classes, {**meta.sets, **(sets or {})}, meta.holders)
        return Prefixes() if sets is None else Declared(sets, declared)

    def run(self, watching: Watching) -> None:
        start = time.monotonic()
        if self.model.layout.learns and self._material.again:
            self._learn_and_check(watching)
        else:
            self.checking = SetChecking(self.model, self._method)
            if not self._material.again:
                self.checking.violating = ViolatingUnits()
            self._pass(self.source, self.checking, watching)
            self.transactions = self.checking.transactions
        self.seconds = time.monotonic() - start

    def _learn_and_check(self, watching: Watching) -> None:
        learning = Learning(self.model, MOST_EXTRACTED)
        self._pass(self.source, learning, watching)
        self.transactions = learning.transactions
        if self.stopped is not None:
            return
        self.checking = SetChecking(self.model, self._method, learns=False)
        if learning.extracts is None:
            self.source = self._material.open(AT_ONCE)
            self._pass(self.source, self.checking, watching)
            return
        self._extracts = learning.extracts
        with self._stopping():
            for extract in self._extracts:
                self.checking.feed(extract)
                if self._is_over():
                    break
        self.checking.finish()

    def violating(self, watching: Watching) -> tuple[Numbers, str | None]:
        """(thread, number) of each transaction that has a unit of work in it that violates.

        That takes a look of its own at the sets that are broken. Where it was stopped, these are not all.
        """
        checking = self.checking
        if checking is None or not checking.broken():
            return np.zeros((0, 2), np.uint32), None
        if checking.violating is not None:
            return checking.violating.transactions(), None
        checked, self.stopped = self.stopped, None
        found = ViolatingUnits(checking.broken())
        units = Units(self.model, learns=False)
        if self._extracts is None:
            self._pass(self._material.open(AT_ONCE), _Finding(units, found), watching)
        else:
            with self._stopping():
                for extract in self._extracts:
                    found.feed(units.rows(extract))
                    if self._is_over():
                        break
        # what was said of the sets before stays as it is
        stopped, self.stopped = self.stopped, checked
        return found.transactions(), stopped

    def _pass(self, source: Opened, taker: SetChecking | Learning | _Finding, watching: Watching) -> None:
        try:
            with self._stopping(), watching(source) as watch:
                for batch in source.batches():
                    taker.feed(batch)
                    watch(batch)
                    if self._is_over():
                        break
        finally:
            source.close()
        taker.finish()

    @contextmanager
    def _stopping(self) -> Iterator[None]:
        """Ctrl-C, or the alarm at the end of the time, stops what is inside."""
        try:
            yield
        except KeyboardInterrupt:
            self.stopped = "out of time" if is_over(self._deadline) else "interrupted"

    def _is_over(self) -> bool:
        if is_over(self._deadline):
            self.stopped = "out of time"
        return self.stopped is not None

    def witnesses(self) -> list[Witness]:
        """A cycle of units for each kind of violation."""
        checking = self.checking
        if checking is None:
            return []
        found = []
        for cycle, count in checking.cycles():
            number = pattern_in(cycle)
            found.append(witness_of(cycle, count, ("projection", *([f"pattern {number}"] if number else []))))
        # what is called back inside a unit can hide a conflict of that unit from the projection, not from the patterns
        shown = checking.has_cycle()
        hidden = {key: match for key, match in checking.examples.items() if key[0] not in shown}
        return found + self._matched(checking, hidden)

    def _matched(self, checking: SetChecking, examples: Mapping[tuple[int, int], Match]) -> list[Witness]:
        """The accesses of the first match of each pattern in each set: the trace is read again for them."""
        matches = list(examples.values())
        if not matches or not self._material.again:
            return []
        source = self._material.open(AT_ONCE)
        units = Units(self.model, learns=False)
        accesses: list[Access] = []
        last = max(match.event for match in matches)
        read = 0
        try:
            with self._stopping():
                for batch in source.batches():
                    accesses += accesses_of(matches, units.rows(batch))
                    read = batch.first + len(batch)
                    if read > last:
                        break
        finally:
            source.close()
        counts = checking.counts
        return [
            witness_of(cycle_of(match, accesses), counts[key], ("patterns", f"pattern {match.pattern}"))
            for key, match in examples.items()
            if match.event < read
        ]

    def findings(self, *, judge: bool = True) -> list[Finding]:
        """What was found, as findings; of a recorded program also notes, which have a `why`, if it is to be judged."""
        witnesses = self.witnesses()
        if not witnesses:
            return []
        from atomsan.findings.counting import judged
        from atomsan.findings.making import Namer, findings_of

        findings = self.with_sets(findings_of(witnesses, Namer(self.source)))
        return judged(findings, self.are_apart) if self.is_recorded and judge else findings

    def are_apart(self, one: ShownStep, other: ShownStep) -> bool:
        """Whether two accesses are in no set together."""
        sets_of, locations = self.model.layout.sets_of, self.source.symbols.locations
        mine, theirs = ({belongs.set for belongs in sets_of(locations, step.target)} for step in (one, other))
        return mine.isdisjoint(theirs)

    def with_sets(self, findings: list[Finding]) -> list[Finding]:
        """The same, with the sets that their steps are in, if there are sets that span objects."""
        if self._objects is None or not self._objects.spans:
            return findings
        from atomsan.findings.making import in_sets

        return in_sets(findings, partial(self._objects.spanned, self.source.symbols.locations))

    def facts(self) -> dict[str, SetFacts]:
        """What there is to say of each set, by its name."""
        checking = self.checking
        if checking is None:
            return {}
        broken = set(checking.broken())
        counts: dict[int, dict[str, int]] = {}
        for (number, pattern), count in sorted(checking.counts.items()):
            counts.setdefault(number, {})[str(pattern)] = count
        capped = set(checking.capped())
        is_whole = checking.projection is not None and self.stopped is None
        listed = range(len(self.model.names)) if len(self.model.names) <= MOST_LISTED else sorted(broken)
        return {
            self.model.names[number]: SetFacts(
                counts.get(number, {}),
                False if number in broken else True if is_whole else None,
                number in capped,
            )
            for number in listed
        }


class _Finding(NamedTuple):
    """What a pass feeds that looks for the units that violate."""

    units: Units
    found: ViolatingUnits

    def feed(self, batch: Batch) -> None:
        self.found.feed(self.units.rows(batch))

    def finish(self) -> None:
        pass


def unrecorded(sets: Sets, meta: TraceMeta) -> list[str]:
    """What to warn of: sets that go through fields of which it was not recorded what they hold."""
    missing = [
        field
        for hop in hops(sets)
        if hop.field not in meta.followed.get(hop.of_class, ())
        for field in sorted(meta.fields)
        if _is_of(hop, field)
        and not any(_is_of(Hop(of_class, one), field) for of_class, fields in meta.followed.items() for one in fields)
    ]
    if not missing:
        return []
    shown = ", ".join(dict.fromkeys(missing))
    return [f"what these fields hold was not recorded, so sets end there: {shown}; record with this specification"]


def _is_of(hop: Hop, field: str) -> bool:
    """Whether a field, `Account.log`, is one that a path goes through there."""
    of_class, _, name = field.rpartition(".")
    return name in Names([hop.field]) and of_class in Names([hop.of_class])


def _report(
    run: SetRun,
    of_marked: SetRun | None,
    rules: Specification,
    findings: Sequence[Finding],
    violating: Numbers,
    stopped: str | None,
) -> Report:
    symbols, meta, checking = run.source.symbols, run.source.meta, run.checking
    facts = run.facts() | (of_marked.facts() if of_marked else {})
    patterns: dict[str, int] = {}
    for found in facts.values():
        for pattern, count in found.patterns.items():
            patterns[pattern] = patterns.get(pattern, 0) + count
    answers = {found.serializable for found in facts.values()}
    is_whole = not run.stopped and not (of_marked and of_marked.stopped)
    serializable = False if False in answers else True if is_whole and None not in answers else None
    original = run.source.original
    transactions = TransactionList(np.unique(violating, axis=0))
    return Report(
        trace=TraceFacts(
            source=meta.source,
            events=run.source.events,
            threads=len(symbols.threads),
            locks=len(symbols.locks),
            variables=len(symbols.locations),
            transactions=run.transactions,
            complete=meta.complete and run.stopped is None,
        ),
        algorithm=NAME,
        verdict="unknown" if serializable is None else "holds" if serializable else "violated",
        serializable=serializable,
        violations=sum(one.checking.violations for one in (run, of_marked) if one and one.checking),
        transactions=NamedTransactions(transactions, symbols.threads.__getitem__),
        findings=[finding for finding in findings if finding.why is None],
        notes=[finding for finding in findings if finding.why is not None],
        counters=checking.counters if checking else {},
        seconds={"total": run.seconds},
        reason=_reason(run) if serializable is None else None,
        stopped=stopped or run.stopped or (of_marked.stopped if of_marked else None),
        repairs=original.repairs.lines() if isinstance(original, Checked) else [],
        warnings=[*meta.warnings, *_caps(facts), *(unrecorded(run.sets, meta) if run.is_recorded else ())],
        divided={**meta.sets, **rules.sets} if run.is_recorded else {},
        held=meta.fields,
        patterns=dict(sorted(patterns.items(), key=lambda item: int(item[0]))),
        sets=facts,
    )


def _caps(facts: Mapping[str, SetFacts]) -> list[str]:
    """Where the number of matches is not to be taken at its word."""
    names = [name for name, found in facts.items() if found.is_capped]
    if not names:
        return []
    where = f"set {names[0]}" + (f" and {len(names) - 1:,} more" if len(names) > 1 else "")
    return [f"matches of patterns are counted up to {MOST_MATCHES:,} in a set: {where} may have more"]


def _reason(run: SetRun) -> str:
    return run.stopped or "no pattern matches, which proves nothing: the patterns are not complete, projection is"
