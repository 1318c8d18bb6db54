"""Potential for deadlock: cycles in the order in which threads take locks.

After Havelund's goodlock and its extensions: a cycle of locks that different threads take while they hold another is
a deadlock that can happen, unless the threads hold a common lock meanwhile (a gate), or cannot run in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from atomsan.predictors.components import strong_components
from atomsan.predictors.order import Span

if TYPE_CHECKING:
    from atomsan.predictors.order import Order

# Longer cycles of locks are not looked for; and not more than so many steps are tried.
MOST_LOCKS = 5
MOST_STEPS = 200_000
STEPS_IN_A_TICK = 100


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

    @property
    def time(self) -> Span:
        return Span(self.thread, self.period, self.period)


class LockOrder:
    """Feed it the acquires by threads that hold other locks. `tick` is called between the steps of the work."""

    def __init__(self, order: Order, tick: Callable[[], None] = lambda: None) -> None:
        self._order = order
        self._tick = tick
        self._waits: dict[tuple[int, int, int, int, tuple[int, ...]], Wait] = {}
        self.is_complete = True
        """Whether all cycles were looked for."""

    def add(
        self, thread: int, period: int, held: Sequence[tuple[int, int, int]], lock: int, event: int, site: int
    ) -> None:
        """`held`: the locks, and the event and site of the acquire of each."""
        locks = tuple(holding for holding, _, _ in held)
        for holding, since, since_site in held:
            key = thread, period, holding, lock, locks
            if key not in self._waits:
                self._waits[key] = Wait(thread, period, locks, holding, lock, event, site, since, since_site)

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
                if not left % STEPS_IN_A_TICK:
                    self._tick()
                if left < 0:
                    self.is_complete = False
                    return list(found.values())
        return list(found.values())

    def _circular(self) -> list[Wait]:
        """The waits that may be part of a cycle: their locks are in one strongly connected component of all waits."""
        edges: dict[int, set[int]] = {}
        for wait in self._waits.values():
            edges.setdefault(wait.holding, set()).add(wait.lock)
            edges.setdefault(wait.lock, set())
        component = strong_components(edges)
        return [wait for wait in self._waits.values() if component[wait.holding] == component[wait.lock]]

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
        return self._order.are_parallel(one.time, other.time) and set(one.held).isdisjoint(other.held)
