"""Checks the units of work on each atomic set of a trace: the passes that `sets` and `check` share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from atomsan.checkers.atomic_sets import (
    STATUS,
    Access,
    Extract,
    Learning,
    Match,
    Method,
    SetChecking,
    Units,
    accesses_of,
    cycle_of,
    projected_witness,
    witness_of,
)
from atomsan.checkers.set_model import Declared, Layout, Marking, MeetingPoints, NameGlobs, Objects, Prefixes, SetModel
from atomsan.checkers.violating_units import ViolatingUnits
from atomsan.findings.report import SetFacts
from atomsan.flow.passes import Pass, execute
from atomsan.flow.trace_input import CHECKED_AT_ONCE, read_through
from atomsan.source.field_paths import Hop, hops
from atomsan.trace.monitor import Monitor

if TYPE_CHECKING:
    from atomsan.checkers.results import Witness
    from atomsan.checkers.violating_units import Numbers
    from atomsan.findings.finding import Finding, ShownStep
    from atomsan.flow.trace_input import TraceInput
    from atomsan.trace.events import Batch
    from atomsan.trace.meta import TraceMeta
    from atomsan.trace.symbols import SymbolTable

# So many events (25 bytes each) are kept so that a trace need not be read twice.
MOST_EXTRACTED = 1 << 23
# The set of all data.
EVERYTHING = "*"
# Of more sets than this, only those are listed that something was found in.
MOST_LISTED = 1000

Sets = Mapping[str, Iterable[str]]


class SetCheck:
    """The passes over a trace for its atomic sets, and what came of them."""

    def __init__(
        self,
        trace: TraceInput,
        monitor: Monitor,
        method: Method,
        sets: Sets | None = None,
        declared: Sets | None = None,
        *,
        only: MeetingPoints | None = None,
    ) -> None:
        """With `only`, sets are left out in which nothing can be wrong. The symbols of the trace must be complete."""
        self._trace = trace
        self._monitor = monitor
        self._method = method
        self.sets: Sets = {} if declared is not None or sets is None else sets
        """What was said of the fields of classes, if the trace is of a recorded program."""
        self.source = trace.open(CHECKED_AT_ONCE)
        layout = self._layout(sets, declared)
        self.membership = SetMembership(layout, self.source.symbols.locations)
        if self.source.meta.recorded and declared is None:
            layout = Marking(layout, trace.spec.names)
        self.model = SetModel(self.source.symbols, layout, only)
        self.learned: Learning | None = None
        """Which regions are units on which sets, where that is learned in a pass of its own."""
        self.checking: SetChecking | None = None
        self.seconds = 0.0
        self.stopped: str | None = None
        """Why the check of the sets was stopped, if it was."""

    def _layout(self, sets: Sets | None, declared: Sets | None) -> Layout:
        meta = self.source.meta
        if meta.recorded and declared is None:
            return objects_layout(meta, sets)
        return Prefixes() if sets is None else Declared(sets, declared)

    def run(self) -> SetCheck:
        start = time.monotonic()
        execute(PLAN, self, self._monitor)
        self.seconds = time.monotonic() - start
        self.stopped = self._monitor.stopped
        return self

    @property
    def transactions(self) -> int:
        first = self.learned or self.checking
        return first.transactions if first else 0

    # ---- the passes

    def learns(self) -> bool:
        """Whether it takes a pass of its own to know the units: regions are units on what their own code touches."""
        return self.model.layout.learns and self._trace.is_repeatable

    def _learn(self) -> Learning:
        learning = Learning(self.model, MOST_EXTRACTED)
        read_through(self.source, self._monitor, learning.feed)
        return learning

    def _check(self) -> SetChecking:
        if self.learned is None:
            checking = SetChecking(self.model, self._method)
            if not self._trace.is_repeatable:
                checking.violating = ViolatingUnits()
            read_through(self.source, self._monitor, checking.feed)
        else:
            checking = SetChecking(self.model, self._method, learns=False)
            self._feed_again(checking.feed)
        checking.finish()
        return checking

    def violating(self) -> Numbers:
        """(thread, number) of each transaction that has a unit of work in it that violates.

        That takes a look of its own at the sets that are broken. Where it was stopped, these are not all.
        """
        checking = self.checking
        if checking is None or not checking.broken():
            return np.zeros((0, 2), np.uint32)
        if checking.violating is not None:
            return checking.violating.transactions()
        found = ViolatingUnits(checking.broken())
        units = Units(self.model, learns=False)
        self._feed_again(lambda batch: found.feed(units.rows(batch)))
        return found.transactions()

    def _feed_again(self, feed: Callable[[Batch | Extract], None]) -> None:
        """Once more through the trace, or through what matters of it, where that was kept."""
        extracts = self.learned.extracts if self.learned else None
        if extracts is None:
            source = self._trace.open(CHECKED_AT_ONCE)
            read_through(source, self._monitor, feed)
            return
        with self._monitor.stopping():
            for extract in extracts:
                feed(extract)
                if self._monitor.is_over():
                    break

    # ---- what was found

    def findings(self) -> list[Finding]:
        """The violations, not judged yet."""
        witnesses = self.witnesses()
        if not witnesses:
            return []
        from atomsan.findings.making import TraceNames, violations_of

        return self.membership.with_sets(violations_of(witnesses, TraceNames(self.source), STATUS))

    def witnesses(self) -> list[Witness]:
        """A cycle of units for each kind of violation."""
        checking = self.checking
        if checking is None:
            return []
        found = [projected_witness(cycle, count) for cycle, count in checking.cycles()]
        # what is called back inside a unit can hide a conflict of that unit from the projection, not from the patterns
        shown = checking.has_cycle()
        hidden = {key: match for key, match in checking.examples.items() if key[0] not in shown}
        return found + self._matched(checking, hidden)

    def _matched(self, checking: SetChecking, examples: Mapping[tuple[int, int], Match]) -> list[Witness]:
        """The accesses of the first match of each pattern in each set: the trace is read again for them.

        That is not stopped by the deadline: it shows what was found before, and reads no further than that.
        """
        matches = list(examples.values())
        if not matches or not self._trace.is_repeatable:
            return []
        units = Units(self.model, learns=False)
        accesses: list[Access] = []
        last = max(match.event for match in matches)
        read = 0

        def feed(batch: Batch) -> bool:
            nonlocal read
            accesses.extend(accesses_of(matches, units.rows(batch)))
            read = batch.first + len(batch)
            return read > last

        monitor = Monitor()
        read_through(self._trace.open(CHECKED_AT_ONCE), monitor, feed)
        self._monitor.stopped = self._monitor.stopped or monitor.stopped
        counts = checking.counts
        return [
            witness_of(cycle_of(match, accesses), counts[key], ("patterns", f"pattern {match.pattern}"))
            for key, match in examples.items()
            if match.event < read
        ]

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


class SetMembership:
    """Which accesses are in one atomic set, by the layout of the sets of a trace."""

    def __init__(self, layout: Layout, locations: SymbolTable) -> None:
        self._layout = layout
        self._locations = locations

    def are_apart(self, one: ShownStep, other: ShownStep) -> bool:
        """Whether two accesses are in no set together."""
        sets_of = self._layout.sets_of
        mine, theirs = ({belongs.set for belongs in sets_of(self._locations, step.target)} for step in (one, other))
        return mine.isdisjoint(theirs)

    def with_sets(self, findings: list[Finding]) -> list[Finding]:
        """The same, with the sets that their steps are in, if there are sets that span objects."""
        if not isinstance(self._layout, Objects) or not self._layout.spans:
            return findings
        from atomsan.findings.making import in_sets

        return in_sets(findings, partial(self._layout.spanned, self._locations))


def objects_layout(meta: TraceMeta, sets: Sets | None) -> Objects:
    """The atomic sets of a recorded program: one for each object, or as classes and the user divide them."""
    return Objects(meta.classes, {**meta.sets, **(sets or {})}, meta.holders)


PLAN: Sequence[Pass[SetCheck]] = (
    Pass("learned", SetCheck._learn, needs=(SetCheck.learns,)),
    Pass("checking", SetCheck._check),
)


def unfollowed_fields(sets: Sets, meta: TraceMeta) -> list[str]:
    """Warnings: sets that go through fields of which it was not recorded what they hold."""
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
    return name in NameGlobs([hop.field]) and of_class in NameGlobs([hop.of_class])
