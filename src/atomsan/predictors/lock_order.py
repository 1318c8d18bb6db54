"""Potential for deadlock: cycles in the order in which threads take locks.

After Havelund's goodlock and its extensions: a cycle of locks that different threads take while they hold another is
a deadlock that can happen, unless the threads hold a common lock meanwhile (a gate), or cannot run in parallel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from atomsan.predictors.order import Order

# Longer cycles of locks are not looked for; and not more than so many steps are tried.
MOST_LOCKS = 5
MOST_STEPS = 200_000


class Wait(NamedTuple):
    """A thread takes a lock while it holds others."""

    thread: int
    period: int
    held: tuple[int, ...]
    """All that it holds, in the order of the acquires."""
    holding: int
    """One of these."""
    lock: int
    event: int
    site: int
    since: int
    """The event of the acquire of what it holds."""
    since_site: int


class LockOrder:
    """Feed it the outermost acquires of a trace."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._waits: dict[tuple[int, int, int, int, tuple[int, ...]], Wait] = {}
        self._taken: dict[tuple[int, int], tuple[int, int]] = {}
        """By thread and lock: the event and site of the last acquire."""
        self.is_complete = True
        """Whether all cycles were looked for."""

    def add(self, thread: int, period: int, held: Sequence[int], lock: int, event: int, site: int) -> None:
        for holding in held:
            key = thread, period, holding, lock, tuple(held)
            if key not in self._waits:
                since = self._taken.get((thread, holding), (event, site))
                self._waits[key] = Wait(thread, period, tuple(held), holding, lock, event, site, *since)
        self._taken[thread, lock] = event, site

    def cycles(self) -> list[list[Wait]]:
        """One cycle for each set of locks: each thread waits for what the next one holds."""
        waits = self._circular()
        by_held: dict[int, list[Wait]] = {}
        for wait in waits:
            by_held.setdefault(wait.holding, []).append(wait)
        found: dict[frozenset[int], list[Wait]] = {}
        left = MOST_STEPS
        for first in waits:
            for cycle in self._from(first, by_held):
                if cycle is not None:
                    found.setdefault(frozenset(wait.lock for wait in cycle), cycle)
                left -= 1
                if left < 0:
                    self.is_complete = False
                    return list(found.values())
        return list(found.values())

    def _circular(self) -> list[Wait]:
        """The waits that may be part of a cycle: their locks have others before and behind them, and these too."""
        waits = list(self._waits.values())
        while True:
            held, wanted = {wait.holding for wait in waits}, {wait.lock for wait in waits}
            kept = [wait for wait in waits if wait.holding in wanted and wait.lock in held]
            if len(kept) == len(waits):
                return kept
            waits = kept

    def _from(self, first: Wait, by_held: dict[int, list[Wait]]) -> Iterator[list[Wait] | None]:
        """The cycles that begin with a wait, which has the lowest lock; None for each step that leads to none."""
        paths = [[first]]
        while paths:
            path = paths.pop()
            yield None
            for wait in by_held.get(path[-1].lock, ()):
                if wait.holding < first.holding or not all(self._can_meet(wait, one) for one in path):
                    continue
                if wait.lock == first.holding:
                    yield [*path, wait]
                elif len(path) + 1 < MOST_LOCKS and wait.lock not in {one.holding for one in path}:
                    paths.append([*path, wait])
                elif len(path) + 1 >= MOST_LOCKS:
                    self.is_complete = False

    def _can_meet(self, one: Wait, other: Wait) -> bool:
        """Whether two threads can wait like this at the same time: in parallel, and with no lock held by both."""
        return self._order.are_parallel(one.thread, one.period, other.thread, other.period) and set(
            one.held
        ).isdisjoint(other.held)
