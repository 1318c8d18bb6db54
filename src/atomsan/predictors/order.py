"""Order: which units may run in parallel, as far as fork, join and hand-over say.

A thread's time is divided into *periods* by these events. Of each period it is known how many periods of every other
thread are over when it begins. Locks make no order here: they may be taken in any.
"""

from __future__ import annotations

from collections.abc import Mapping

from atomsan.trace.events import Op

Known = dict[int, int]
"""By thread: how many of its periods are over."""


class Order:
    """Feed it the events that order threads, as they come. `with_handovers`: post and take are among these."""

    def __init__(self, *, with_handovers: bool = True) -> None:
        self._with_handovers = with_handovers
        self._periods: dict[int, list[Known]] = {}
        """By thread: what is known in each of its periods."""
        self._posted: dict[int, Known] = {}

    def add(self, thread: int, op: int, target: int) -> int:
        """The period of the thread that begins after this event."""
        periods = self._of(thread)
        known = dict(periods[-1])
        known[thread] = len(periods)
        if op == Op.FORK:
            _learn(self._of(target)[0], known)
        elif op == Op.JOIN:
            child = self._of(target)
            _learn(known, child[-1])
            known[target] = len(child)
        elif op == Op.POST and self._with_handovers:
            _learn(self._posted.setdefault(target, {}), known)
        elif op == Op.TAKE and self._with_handovers:
            _learn(known, self._posted.get(target, {}))
        periods.append(known)
        return len(periods) - 1

    def over_before(self, thread: int, period: int, other: int) -> int:
        """How many periods of another thread are over before one of a thread begins, in every interleaving."""
        return self._of(thread)[period].get(other, 0)

    def over(self, thread: int, period: int) -> Mapping[int, int]:
        """By other thread: how many of its periods are over before one of a thread begins."""
        return self._of(thread)[period]

    def is_before(self, thread: int, period: int, other: int, later: int) -> bool:
        """Whether a period of a thread is over before one of another thread begins, in every interleaving."""
        if thread == other:
            return period < later
        return self.over_before(other, later, thread) > period

    def are_parallel(self, thread: int, period: int, other: int, other_period: int) -> bool:
        """Whether two periods of different threads may run in parallel."""
        return (
            thread != other
            and not self.is_before(thread, period, other, other_period)
            and not self.is_before(other, other_period, thread, period)
        )

    def _of(self, thread: int) -> list[Known]:
        return self._periods.setdefault(thread, [{}])


def _learn(known: Known, more: Known) -> None:
    for thread, periods in more.items():
        if known.get(thread, 0) < periods:
            known[thread] = periods
