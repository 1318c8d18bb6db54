"""Runs checkers in one pass over a trace; counts transactions and collects evidence for judging beside them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from atomsan.checkers.loop import Answers, run_checkers
from atomsan.checkers.registry import Capability, chosen, made
from atomsan.checkers.set_model import MeetingPoints
from atomsan.flow.trace_input import CHECKED_AT_ONCE
from atomsan.trace.events import Op
from atomsan.types import RepeatingChecker, WitnessingChecker

if TYPE_CHECKING:
    from atomsan.checkers.flattening import FlatBatch
    from atomsan.checkers.meetings import MeetingFinder
    from atomsan.checkers.registry import Entry
    from atomsan.checkers.results import Result
    from atomsan.findings.making import TraceNames
    from atomsan.flow.live_evidence import LiveEvidence
    from atomsan.flow.trace_input import TraceInput
    from atomsan.trace.monitor import Monitor
    from atomsan.types import Checker

# If one violation is enough, it pays to look for it more often.
FIRST_EVERY = 1 << 12


class CheckerPass:
    """Feeds some checkers in one pass. In a recorded program, the data that violations are judged by is collected.

    Where the trace can be read again (`with_meetings`), that is where transactions meet: data is checked there, in
    passes of their own. Where it cannot (`with_evidence`), all of it is collected in this pass, from a window of the
    latest events, and a checker that sees accesses only knows the transactions that are too long for that.
    """

    def __init__(
        self,
        trace: TraceInput,
        monitor: Monitor,
        entries: Sequence[Entry],
        *,
        first: bool,
        beside: Entry | None = None,
        with_meetings: bool = False,
        with_evidence: bool = False,
        with_begins: bool = False,
    ) -> None:
        """`beside` is a checker that nobody asked for, fed in the same pass.

        `begins` knows the regions of transactions where a checker only names these, or `with_begins`.
        """
        size = FIRST_EVERY if first else CHECKED_AT_ONCE
        self._trace = trace
        self._monitor = monitor
        self._entries = entries
        self.source = trace.open(size)
        self._checkers: list[Checker] = made([*entries, *([beside] if beside else [])])
        is_recorded = self.source.meta.recorded
        self._has_beside = beside is not None
        self.evidence: LiveEvidence | None = None
        """What violations are judged by, where the trace comes only once."""
        if with_evidence and is_recorded:
            self._add_evidence()
        self._meeting: MeetingFinder | None = None
        if with_meetings and is_recorded:
            from atomsan.checkers.meetings import MeetingFinder

            self._meeting = MeetingFinder()
            self._checkers.append(self._meeting)
        if first:
            self._checkers = [one if isinstance(one, RepeatingChecker) else FirstOnly(one) for one in self._checkers]
        names_only = (one.can(Capability.VIOLATIONS) and not one.can(Capability.WITNESSES) for one in entries)
        self.begins = Begins(keep=with_begins or any(names_only))
        self._answers = Answers([])
        self.meetings: MeetingPoints | None = None
        """Where transactions of different threads meet, if that was collected."""
        self.seconds = 0.0
        self.stopped: str | None = None

    def _add_evidence(self) -> None:
        from atomsan.checkers.data_only import DataOnly
        from atomsan.flow.live_evidence import LiveEvidence

        violating = next(checker for checker in self._checkers if isinstance(checker, WitnessingChecker))
        beside = self._checkers[len(self._entries)] if self._has_beside else None
        self.evidence = LiveEvidence(self.source.symbols, violating, beside)
        finder = chosen(Capability.VIOLATIONS, Capability.WITNESSES, Capability.LEAN)
        self._checkers.append(DataOnly(finder.make(serializability=False)))

    def run(self) -> CheckerPass:
        start = time.monotonic()
        size = self.source.batch_events
        reopen = (lambda: self._trace.open(size)) if self._trace.is_repeatable else None
        try:
            self._answers = run_checkers(
                self.source,
                self._checkers,
                self._monitor,
                on_batch=self.begins,
                on_checked=self.evidence.feed if self.evidence else lambda batch: None,
                reopen=reopen,
            )
            if self.evidence is not None:
                with self._monitor.stopping():
                    self.evidence.finish()
        finally:
            if self._meeting is not None:
                self.meetings = MeetingPoints(*self._meeting.found())
                self._meeting = None
            self._checkers = []  # what they know is in the results, and the next pass can do with the memory
        self.seconds = time.monotonic() - start
        self.stopped = self._monitor.stopped
        return self

    @property
    def results(self) -> list[tuple[Entry, Result]]:
        """The answer of each checker that was asked for."""
        return list(zip(self._entries, self._answers.results, strict=False))

    @property
    def beside(self) -> Result | None:
        """The answer of the checker that was fed beside these, if there was one."""
        return self._answers.results[len(self._entries)] if self._has_beside else None

    @property
    def on_data_only(self) -> Result | None:
        """The answer of the checker that sees accesses only, if there was one."""
        return self._answers.results[len(self._entries) + self._has_beside] if self.evidence else None

    @property
    def times(self) -> dict[str, float]:
        return self._answers.seconds

    @cached_property
    def names(self) -> TraceNames:
        """Made when something was found: it takes all that findings are made with."""
        from atomsan.findings.making import TraceNames

        return TraceNames(self.source)


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
    """Counts transactions, and with `keep` knows the region of each, for checkers that only name transactions."""

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
