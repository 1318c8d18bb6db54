"""The latest events of a trace that comes only once: a second look at them is possible as long as they are kept."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from atomsan.findings.surroundings import Surroundings, ThreadStates
from atomsan.trace._held import HeldLocks
from atomsan.trace._nesting import OpenRegions
from atomsan.trace.events import Batch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from atomsan.findings.surroundings import Pair
    from atomsan.trace.symbols import Symbols

# So many events are kept: 13 bytes each.
MOST_EVENTS = 1 << 21
# The state of the threads is known at the beginning of each part, so that a look need not start at the oldest.
PARTS = 8


@dataclass
class _Part:
    """Consecutive batches, and the state of the threads before the first."""

    first: int
    states: ThreadStates
    threads: int
    batches: list[Batch] = field(default_factory=list)
    events: int = 0


class Window:
    """Keeps the latest batches, in parts. The oldest part is dropped when there are more than `most` events."""

    def __init__(self, symbols: Symbols, most: int = MOST_EVENTS) -> None:
        self._symbols = symbols
        self._most = most
        self._parts: deque[_Part] = deque()
        self._events = 0
        self._now = ThreadStates(HeldLocks(), OpenRegions())

    def add(self, batch: Batch) -> None:
        now, threads = self._now, len(self._symbols.threads)
        now.locks.grow(threads, len(self._symbols.locks))
        now.opened.grow(threads)
        if not self._parts or self._parts[-1].events >= self._most // PARTS:
            self._parts.append(_Part(batch.first, ThreadStates(now.locks.copy(), now.opened.copy()), threads))
        part = self._parts[-1]
        part.batches.append(batch)
        part.events += len(batch)
        self._events += len(batch)
        now.locks.advance(batch)
        now.opened.advance(batch)
        while self._events > self._most and len(self._parts) > 1:
            self._events -= self._parts.popleft().events

    @property
    def first(self) -> int:
        """The oldest event that is kept."""
        return self._parts[0].first if self._parts else 0

    def states(self) -> tuple[ThreadStates, int]:
        """The locks held and regions open before the oldest event, and the number of threads that are known there."""
        return self._parts[0].states, self._parts[0].threads

    def opened(self) -> tuple[OpenRegions, int]:
        """The regions that are open before the oldest event, and the number of threads that are known there."""
        states, threads = self.states()
        return states.opened, threads

    def batches(self) -> Iterator[Batch]:
        return (batch for part in self._parts for batch in part.batches)

    def surroundings(self, events: set[int], pairs: set[Pair], room: int) -> Surroundings:
        """What is around some events and pairs, all of which are kept. `room` is for events between accesses."""
        oldest = min(events)
        begin = max(i for i, part in enumerate(self._parts) if part.first <= oldest)
        states = self._parts[begin].states
        start = ThreadStates(states.locks.copy(), states.opened.copy())
        found = Surroundings(events, pairs, start=start, room=room)
        for i in range(begin, len(self._parts)):
            for batch in self._parts[i].batches:
                if found.feed(batch, self._symbols):
                    return found
        return found

    def uses(self, locations: Iterable[int]) -> Surroundings:
        """Who uses these locations, and the locks, in the events that are kept."""
        oldest = self._parts[0]
        start = ThreadStates(oldest.states.locks.copy(), oldest.states.opened.copy())
        found = Surroundings(locations=locations, start=start, started=oldest.threads if oldest.first else 0)
        found.feed(_joined(list(self.batches())), self._symbols)
        found.is_partial = oldest.first > 0
        return found


def _joined(batches: list[Batch]) -> Batch:
    """As one batch, so that what is sampled does not depend on how the events came."""
    columns = ([getattr(batch, name) for batch in batches] for name in ("thread", "op", "target", "site"))
    return Batch.frozen(batches[0].first, *map(np.concatenate, columns))
