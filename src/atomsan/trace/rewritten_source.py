"""Base of the event sources that rewrite another source, and the map from their events to the original ones."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np

from atomsan.trace.events import Batch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from atomsan.errors import Place
    from atomsan.types import EventSource

    # The columns of the new batch, and for each of its rows the row of the original batch that it comes from.
    RewrittenColumns = tuple[
        NDArray[np.uint32], NDArray[np.uint8], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]
    ]


class RewrittenSource:
    """What every rewriting source has: the original's symbols and meta, and the places of its events."""

    def __init__(self, source: EventSource) -> None:
        self.source = source
        self.symbols = source.symbols
        self.meta = source.meta
        self._map = EventMap()

    def place(self, event: int) -> Place:
        """Where an event stands in the input; an inserted event has the place of the event it was inserted at."""
        return self.source.place(self._map.original(event))

    def fraction(self) -> float | None:
        """How much of the input was read so far, from 0 to 1, if that is known."""
        fraction: float | None = self.source.fraction() if hasattr(self.source, "fraction") else None
        return fraction

    def close(self) -> None:
        """Close the original source. It does so by itself after its last batch."""
        if hasattr(self.source, "close"):
            self.source.close()

    def _rewritten_batch(self, first: int, original: Batch, columns: RewrittenColumns) -> Batch:
        """The batch, from event `first` on, that was made from an original one."""
        thread, op, target, site, index = columns
        self._map.add(first, original.first, index)
        return Batch.frozen(first, thread, op, target, site, original.dead)


class EventMap:
    """Maps event numbers of a rewritten source to those of its original. Memory follows the changes, not the trace."""

    def __init__(self) -> None:
        # Event _rewritten[i] is event _original[i] of the original; the numbers run in step up to the next entry.
        self._rewritten = array("Q", [0])
        self._original = array("Q", [0])

    def add(self, first: int, original_first: int, index: NDArray[np.int64]) -> None:
        """Add a batch that starts at `first`: its row i is row `index[i]` of the batch at `original_first`."""
        if not len(index):
            return
        rows = np.concatenate(([0], np.flatnonzero(np.diff(index) != 1) + 1))
        if len(rows) == 1 and first - original_first - int(index[0]) == self._rewritten[-1] - self._original[-1]:
            return  # in step with the batches before
        self._rewritten.frombytes((first + rows).astype(np.uint64).tobytes())
        self._original.frombytes((original_first + index[rows]).astype(np.uint64).tobytes())

    def original(self, event: int) -> int:
        """The number that an event has in the original source."""
        at = bisect_right(self._rewritten, event) - 1
        return self._original[at] + event - self._rewritten[at]
