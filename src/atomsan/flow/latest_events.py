"""Keeps the latest events of a trace that comes only once, so that prediction can read them when it has ended.

What is kept begins somewhere in the run: the locks that are held there and the regions that are open come first, as if
they were acquired and begun at that moment.
"""

from __future__ import annotations

import copy
from array import array
from typing import TYPE_CHECKING

import numpy as np

from atomsan.flow.window import MOST_EVENTS, Window
from atomsan.trace.events import NO_SITE, Batch, Op
from atomsan.trace.symbols import SymbolPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from atomsan.errors import Place
    from atomsan.trace.events import Column
    from atomsan.types import EventSource

# So many locations need no numbers of their own.
MOST_LOCATIONS = 1 << 20

# thread, operation, target, site
_Row = tuple[int, int, int, int]


class LatestEvents:
    """A source that can be read once. Of what was read, `kept` gives the latest events as often as one likes."""

    def __init__(self, source: EventSource, most: int = MOST_EVENTS) -> None:
        self._source = source
        self._batches = source.batches()
        self._window = Window(source.symbols, most)
        self.symbols = source.symbols
        self.meta = source.meta

    def batches(self) -> Iterator[Batch]:
        """The batches that are left."""
        for batch in self._batches:
            self._window.add(batch)
            yield batch

    def place(self, event: int) -> Place:
        return self._source.place(event)

    def finish(self) -> None:
        """Read what nobody has read."""
        for _ in self.batches():
            pass

    @property
    def missed(self) -> int:
        """How many events came before those that are kept."""
        return self._window.first

    def kept(self) -> KeptEvents:
        return KeptEvents(self, self._window)


class KeptEvents:
    """The latest events, under the numbers that they had.

    If they access few of the locations of a long run, the locations have numbers of their own here: what is made by
    location follows what is kept, and not the run.
    """

    def __init__(self, source: EventSource, window: Window, most_locations: int = MOST_LOCATIONS) -> None:
        self._source = source
        self._window = window
        self.symbols = source.symbols
        self.meta = source.meta
        self._locations: Column | None = None
        """By number here: the number in the run."""
        if len(source.symbols.locations) > most_locations:
            self._locations = _accessed(window.batches())
            self.symbols = copy.copy(source.symbols)
            numbers = array("I", self._locations.tobytes())
            self.symbols.locations = SymbolPart(source.symbols.locations, numbers)

    def reopened(self) -> EventSource:
        return self

    def batches(self) -> Iterator[Batch]:
        if rows := list(_beginning(self._window)):
            threads, ops, targets, sites = np.array(rows, np.uint32).T.copy()
            yield Batch.frozen(self._window.first - len(rows), threads, ops.astype(np.uint8), targets, sites)
        yield from map(self._renumbered, self._window.batches())

    def _renumbered(self, batch: Batch) -> Batch:
        if self._locations is None:
            return batch
        target, are_accesses = batch.target.copy(), batch.op <= Op.WRITE
        target[are_accesses] = np.searchsorted(self._locations, target[are_accesses])
        return Batch.frozen(batch.first, batch.thread, batch.op, target, batch.site)

    def place(self, event: int) -> Place:
        return self._source.place(event)


def _accessed(batches: Iterable[Batch]) -> Column:
    """The locations that are accessed, in ascending order."""
    found = [np.unique(batch.target[batch.op <= Op.WRITE]) for batch in batches]
    return np.unique(np.concatenate([np.zeros(0, np.uint32), *found]))


def _beginning(window: Window) -> Iterator[_Row]:
    """What is held and open before the oldest event: each of these began by an event that is not kept any more."""
    if not window.first:
        return
    states, threads = window.states()
    found: list[tuple[int, _Row]] = []
    for thread in range(threads):
        for region, since, site in states.opened.open(thread):
            found.append((since, (thread, Op.BEGIN, region, site)))
        for lock, since in states.locks.held(thread):
            found += [(since, (thread, Op.ACQUIRE, lock, NO_SITE))] * states.locks.depth(lock)
    yield from (row for _, row in sorted(found, key=lambda one: one[0]))
