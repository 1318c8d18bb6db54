"""Insertions: events of a recording that became known after the events around them, and belong between these.

`sum(accounts)` reads the elements that somebody stores to, and which ones these are shows later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atomsan.trace.events import Batch

INSERTION_ROW = np.dtype(
    [("position", "u8"), ("thread", "u4"), ("op", "u4"), ("target", "u4"), ("site", "u4")],
)
"""`position`: the number that the event behind it has without any insertions."""


def with_insertions(batches: Iterable[Batch], insertions: Sequence[NDArray[Any]]) -> Iterator[Batch]:
    """The batches, with the insertions where they belong. Those behind the last event are not meant for these."""
    if not insertions:
        yield from batches
        return
    rows = np.concatenate(insertions)
    rows = rows[np.argsort(rows["position"], kind="stable")]
    position = rows["position"].astype(np.int64)
    first = end = start = 0
    for batch in batches:
        end += len(batch)
        stop = int(np.searchsorted(position, end))
        yield _merged(batch, first, rows[start:stop], position[start:stop] - (end - len(batch)))
        first += len(batch) + stop - start
        start = stop
    stop = int(np.searchsorted(position, end, "right"))
    if stop > start:
        empty = np.empty(0, np.uint32)
        rest = Batch(first, empty, np.empty(0, np.uint8), empty, empty)
        yield _merged(rest, first, rows[start:stop], np.zeros(stop - start, np.int64))


def _merged(batch: Batch, first: int, rows: NDArray[Any], places: NDArray[np.int64]) -> Batch:
    if not len(rows):
        return Batch(first, batch.thread, batch.op, batch.target, batch.site)
    columns = [
        np.insert(getattr(batch, name), places, rows[name].astype(getattr(batch, name).dtype))
        for name in ("thread", "op", "target", "site")
    ]
    return Batch.frozen(first, *columns)
