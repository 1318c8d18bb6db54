"""Flattens batches for the checkers: masks re-entrant lock operations and nested regions, and ends regions left open.

`engines/_flatten.pyx` does the masking.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from atomsan.checkers.engines._flatten import Flattener
from atomsan.trace.events import NO_SITE, Batch, Op

if TYPE_CHECKING:
    from atomsan.trace.events import Column, OpColumn
    from atomsan.trace.symbols import Symbols
    from atomsan.types import EventSource

# What is no event to the algorithms: a re-entrant acquire or release, a loop's step.
NOTHING = 10
# The begin or end of a region inside another: an event of its transaction that orders nothing.
INNER = 11


@dataclass(frozen=True, slots=True, eq=False)
class FlatBatch:
    """Events `first`, `first` + 1, ... of a trace. `op` is that of the trace, or NOTHING, or INNER.

    `original` has the operations of the trace, for those that need inner regions and re-entrant locks. An event that
    the trace does not have is NOTHING there.
    The counts are those of the symbol tables: every number in the columns is below them.
    """

    first: int
    thread: Column
    op: OpColumn
    target: Column
    site: Column
    threads: int
    locations: int
    locks: int
    regions: int
    handovers: int
    original: OpColumn
    dead: Column | None = None
    """Locations that no later event accesses, as `Batch` has them."""

    def __len__(self) -> int:
        return len(self.op)

    def unflattened(self) -> Batch:
        """The same events as the trace has them."""
        return Batch(self.first, self.thread, self.original, self.target, self.site, self.dead)


class Noted(NamedTuple):
    """A batch, and what the symbol tables said when it came: they grow while the source reads on."""

    batch: Batch
    counts: tuple[int, int, int, int, int]
    loops: list[int]
    """Locks of kind `loop` that are new with this batch."""


class Flattening:
    """Flattens the batches of one source, in order: `note` each where the source is read, `flat` it in any thread."""

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self._flattener = Flattener()
        self._known_locks = 0
        self._events = 0

    def note(self, batch: Batch) -> Noted:
        locks, known = self._symbols.locks, self._known_locks
        self._known_locks = len(locks)
        new_kinds = islice(locks.columns.get("kind", ()), known, self._known_locks)
        loops = [lock for lock, kind in enumerate(new_kinds, known) if kind == "loop"]
        return Noted(batch, _counts(self._symbols), loops)

    def flat(self, noted: Noted) -> FlatBatch:
        batch, counts, loops = noted
        threads, _, locks, _, _ = counts
        self._flattener.grow(threads, locks, loops)
        self._events = batch.first + len(batch)
        op = self._flattener.flatten(batch.thread, batch.op, batch.target)
        return FlatBatch(batch.first, batch.thread, op, batch.target, batch.site, *counts, batch.op, batch.dead)

    def ends(self) -> FlatBatch | None:
        """After the last batch: the ends of the regions that are still open."""
        open_regions = self._flattener.open_regions()
        return _ends(self._events, open_regions, self._symbols) if open_regions else None


def flattened(source: EventSource) -> Iterator[FlatBatch]:
    """The batches of a source, flattened, and a last one with the ends of the regions still open."""
    flattening = Flattening(source.symbols)
    for batch in source.batches():
        yield flattening.flat(flattening.note(batch))
    if ends := flattening.ends():
        yield ends


def _ends(first: int, open_regions: list[tuple[int, int]], symbols: Symbols) -> FlatBatch:
    """A trace that ends inside regions is treated as if they ended there."""
    thread, region = np.array(open_regions, np.uint32).T.copy()
    op = np.full(len(open_regions), Op.END, np.uint8)
    site = np.full(len(open_regions), NO_SITE, np.uint32)
    original = np.full(len(open_regions), NOTHING, np.uint8)
    return FlatBatch(first, thread, op, region, site, *_counts(symbols), original)


def _counts(symbols: Symbols) -> tuple[int, int, int, int, int]:
    return (
        len(symbols.threads),
        len(symbols.locations),
        len(symbols.locks),
        len(symbols.regions),
        len(symbols.handovers),
    )
