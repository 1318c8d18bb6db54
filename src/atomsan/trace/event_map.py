"""Where the events of a rewritten source stand in the source that it was made from."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class EventMap:
    """Event numbers here to event numbers there. It grows with what was changed, not with the trace."""

    def __init__(self) -> None:
        # Event _here[i] of this source is event _there[i] of the other; they run in step up to the next entry.
        self._here = array("Q", [0])
        self._there = array("Q", [0])

    def note(self, here: int, there: int, index: NDArray[np.int64]) -> None:
        """Add a batch from `here` on, made from one from `there` on: its row i is the other's row `index[i]`."""
        if not len(index):
            return
        rows = np.concatenate(([0], np.flatnonzero(np.diff(index) != 1) + 1))
        if len(rows) == 1 and here - there - int(index[0]) == self._here[-1] - self._there[-1]:
            return  # in step with what came before
        self._here.frombytes((here + rows).astype(np.uint64).tobytes())
        self._there.frombytes((there + index[rows]).astype(np.uint64).tobytes())

    def origin(self, event: int) -> int:
        """The number that an event has in the other source."""
        at = bisect_right(self._here, event) - 1
        return self._there[at] + event - self._here[at]
