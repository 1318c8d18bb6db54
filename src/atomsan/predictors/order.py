"""Order: which units may run in parallel, as far as fork, join and hand-over say.

A thread's time is divided into *periods* by these events. Of each period it is known how many periods of every other
thread are over when it begins. Locks make no order here: they may be taken in any.

A job of a pool that is a thread (`trace/jobs.py`) comes after what its worker did before its first job, and whoever
joins the worker joins it, too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from atomsan.trace.events import Op

Known = dict[int, int]
"""By thread: how many of its periods are over."""


class Span(NamedTuple):
    """The time of something that a thread does, from one of its periods to another."""

    thread: int
    first: int
    last: int


class Order:
    """Feed it the events that order threads, as they come. `with_handovers`: post and take are among these.

    `posted` gives the hand-over that a take is of.
    """

    def __init__(
        self, *, with_handovers: bool = True, posted: Callable[[int], int] = lambda handover: handover
    ) -> None:
        self._with_handovers = with_handovers
        self.posted = posted
        self._starts: dict[int, list[int]] = {}
        """By thread: the events that begin its periods, but for the first one."""
        self._periods: dict[int, _Periods] = {}
        self._posted: dict[int, Known] = {}
        self._before_jobs: dict[int, Known] = {}
        """By thread of a pool: what is over when its first job begins."""
        self._jobs: dict[int, list[int]] = {}
        """And its other jobs, each a thread."""

    def begin_jobs(self, worker: int) -> None:
        """A thread of a pool takes its first job: all that it does from here on are jobs."""
        periods = self._of(worker)
        self._before_jobs[worker] = {**periods.latest, worker: periods.count}

    def begin_job(self, job: int, worker: int) -> None:
        """A job begins that a thread of a pool did, but another one could have done: before its first event."""
        self._of(job).learn(self._before_jobs[worker])
        self._jobs.setdefault(worker, []).append(job)

    def jobs_of(self, worker: int) -> Sequence[int]:
        """The threads that are jobs of a thread."""
        return self._jobs.get(worker, ())

    def add(self, thread: int, op: int, target: int, event: int) -> int:
        """The period of the thread that begins after this event."""
        self._starts.setdefault(thread, []).append(event)
        periods = self._of(thread)
        periods.begin(thread)
        if op == Op.FORK:
            self._of(target).learn(periods.latest)
        elif op == Op.JOIN:
            for one in (target, *self.jobs_of(target)):
                child = self._of(one)
                periods.learn({**child.latest, one: child.count})
        elif op == Op.POST and self._with_handovers:
            _learn(self._posted.setdefault(target, {}), periods.latest)
        elif op == Op.TAKE and self._with_handovers:
            periods.learn(self._posted.get(self.posted(target), {}))
        return periods.count - 1

    def over_before(self, thread: int, period: int, other: int) -> int:
        """How many periods of another thread are over before one of a thread begins, in every interleaving."""
        return self._of(thread).over_before(period, other)

    def over(self, thread: int, period: int) -> Mapping[int, int]:
        """By other thread: how many of its periods are over before one of a thread begins."""
        return self._of(thread).over(period)

    def period_of(self, thread: int, event: int) -> int:
        """The period of a thread that one of its events is in."""
        return bisect_right(self._starts.get(thread, []), event)

    def is_before(self, one: Span, other: Span) -> bool:
        """Whether the one is over before the other begins, in every interleaving."""
        if one.thread == other.thread:
            return one.last < other.first
        return self.over_before(other.thread, other.first, one.thread) > one.last

    def are_parallel(self, one: Span, other: Span) -> bool:
        """Whether what two different threads do may overlap."""
        return one.thread != other.thread and not self.is_before(one, other) and not self.is_before(other, one)

    def _of(self, thread: int) -> _Periods:
        return self._periods.setdefault(thread, _Periods())


class _Periods:
    """The periods of a thread. What is over is known of a period by the changes since the first one.

    A thread that joins n others has n periods, and knows n threads in the last.
    """

    def __init__(self) -> None:
        self.count = 1
        self.latest: Known = {}
        """What is known in the last one."""
        self._changes: dict[int, tuple[list[int], list[int]]] = {}
        """By other thread: the periods in which more of it was over than before, and how much."""

    def begin(self, thread: int) -> None:
        """The next period, of this thread itself."""
        self.learn({thread: self.count}, self.count)
        self.count += 1

    def learn(self, more: Known, period: int | None = None) -> None:
        period = self.count - 1 if period is None else period
        for other, over in more.items():
            if self.latest.get(other, 0) < over:
                self.latest[other] = over
                periods, counts = self._changes.setdefault(other, ([], []))
                if periods and periods[-1] == period:
                    counts[-1] = over
                else:
                    periods.append(period)
                    counts.append(over)

    def over_before(self, period: int, other: int) -> int:
        periods, counts = self._changes.get(other, ((), ()))
        changes = bisect_right(periods, period)
        return counts[changes - 1] if changes else 0

    def over(self, period: int) -> Known:
        if period == self.count - 1:
            return self.latest
        found = ((other, self.over_before(period, other)) for other in self._changes)
        return {other: over for other, over in found if over}


def _learn(known: Known, more: Known) -> None:
    for thread, periods in more.items():
        if known.get(thread, 0) < periods:
            known[thread] = periods
