"""The batches as checkers get them: operations flattened, regions that are open at the end closed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from atomsan.checkers.engines._flatten import Flattener
from atomsan.trace.events import NO_SITE, Op

if TYPE_CHECKING:
    from atomsan.trace.events import Batch, Column, OpColumn
    from atomsan.trace.symbols import Symbols
    from atomsan.types import EventSource

# What is no event to the algorithms: a re-entrant acquire or release, a loop's step.
NOTHING = 10
# The begin or end of a region inside another: an event of its transaction that orders nothing.
INNER = 11


@dataclass(frozen=True, slots=True, eq=False)
class FlatBatch:
    """Events `first`, `first` + 1, ... of a trace. `op` is that of the trace, or NOTHING, or INNER.

    The counts are those of the symbol tables: every number in the columns is below them.
    """

    first: int
    thread: Column
    op: OpColumn
    target: Column
    site: Column
    threads: int
    variables: int
    locks: int
    regions: int
    handovers: int

    def __len__(self) -> int:
        return len(self.op)


def flattened(source: EventSource) -> Iterator[FlatBatch]:
    """The batches of a source, flattened, and a last one with the ends of the regions still open."""
    flattener = Flattener()
    known_locks = events = 0
    symbols = source.symbols
    for batch in source.batches():
        loops = [i for i in range(known_locks, len(symbols.locks)) if symbols.locks.get(i, "kind") == "loop"]
        known_locks = len(symbols.locks)
        flattener.grow(len(symbols.threads), known_locks, loops)
        events = batch.first + len(batch)
        yield _flat(batch, flattener.flatten(batch.thread, batch.op, batch.target), symbols)
    if open_regions := flattener.open_regions():
        yield _ends(events, open_regions, symbols)


def _flat(batch: Batch, op: OpColumn, symbols: Symbols) -> FlatBatch:
    return FlatBatch(batch.first, batch.thread, op, batch.target, batch.site, *_counts(symbols))


def _ends(first: int, open_regions: list[tuple[int, int]], symbols: Symbols) -> FlatBatch:
    """A trace that ends inside regions is treated as if they ended there."""
    thread, region = np.array(open_regions, np.uint32).T.copy()
    op = np.full(len(open_regions), Op.END, np.uint8)
    site = np.full(len(open_regions), NO_SITE, np.uint32)
    return FlatBatch(first, thread, op, region, site, *_counts(symbols))


def _counts(symbols: Symbols) -> tuple[int, int, int, int, int]:
    return (
        len(symbols.threads),
        len(symbols.variables),
        len(symbols.locks),
        len(symbols.regions),
        len(symbols.handovers),
    )
