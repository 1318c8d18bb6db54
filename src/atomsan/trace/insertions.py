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


def with_insertions(
    batches: Iterable[Batch], insertions: Sequence[NDArray[Any]], *, start_at: int = 0, first: int = 0
) -> Iterator[Batch]:
    """The batches, with the insertions where they belong; others are left out.

    The first event has the number `start_at` without insertions, and `first` with those that came before.
    """
    if not insertions and start_at == first:
        yield from batches
        return
    rows = np.concatenate([np.empty(0, INSERTION_ROW), *insertions])
    rows = rows[np.argsort(rows["position"], kind="stable")]
    position = np.minimum(rows["position"], 1 << 62).astype(np.int64)
    end = start_at
    start = int(np.searchsorted(position, end))
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
        return Batch(first, batch.thread, batch.op, batch.target, batch.site, batch.dead)
    columns = [
        np.insert(getattr(batch, name), places, rows[name].astype(getattr(batch, name).dtype))
        for name in ("thread", "op", "target", "site")
    ]
    thread, op, target, site = columns
    return Batch.frozen(first, thread, op, target, site, batch.dead)
