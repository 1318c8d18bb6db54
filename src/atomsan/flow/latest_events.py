"""Keeps the latest events of a trace that comes only once, so that prediction can read them when it has ended.

What is kept begins somewhere in the run: the locks that are held there and the regions that are open come first, as if
they were acquired and begun at that moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atomsan.flow.window import MOST_EVENTS, Window
from atomsan.trace.events import NO_SITE, Batch, Op

if TYPE_CHECKING:
    from collections.abc import Iterator

    from atomsan.errors import Place
    from atomsan.types import EventSource

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
    """The latest events, under the numbers that they had."""

    def __init__(self, source: EventSource, window: Window) -> None:
        self._source = source
        self._window = window
        self.symbols = source.symbols
        self.meta = source.meta

    def reopened(self) -> EventSource:
        return self

    def batches(self) -> Iterator[Batch]:
        if rows := list(_beginning(self._window)):
            threads, ops, targets, sites = np.array(rows, np.uint32).T.copy()
            yield Batch.frozen(self._window.first - len(rows), threads, ops.astype(np.uint8), targets, sites)
        yield from self._window.batches()

    def place(self, event: int) -> Place:
        return self._source.place(event)


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
