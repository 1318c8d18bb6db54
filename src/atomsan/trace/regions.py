"""The region stage: from the regions that a trace has to those that are to be atomic.

A source in, a source out, batch by batch. The begin and end of what is not meant to be atomic are dropped, so
that the regions inside become transactions. And a wait for another thread's action splits the regions around it that we
chose ourselves: what is before it and what is after it are different transactions. What the user annotated and what
another tool recorded stays whole, unless told otherwise.

The names are looked at once for each region; the work itself is `_regions.pyx`. As long as there is nothing to drop
or to split, the batches pass through untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from atomsan.trace._regions import RegionRewriter
from atomsan.trace.event_map import EventMap
from atomsan.trace.events import Batch

if TYPE_CHECKING:
    from atomsan.errors import Place
    from atomsan.trace.symbols import Symbols
    from atomsan.types import EventSource

# The regions that we chose ourselves, in a recorded program: nobody said that these are one step.
OURS = frozenset({"function", "loop", "statement", "lock-block", "outer"})
# Those of them that are part of the code of the function around them.
PARTS = frozenset({"statement", "lock-block"})
# How a region was entered, if not by the code around it: a library called it back. The table has it twice then.
CALLBACK = "callback"


def was_recorded(symbols: Symbols) -> bool:
    """Whether regions show that AtomSan recorded the trace, for bundles written before their meta said so."""
    regions = symbols.regions
    return any(regions.get(number, "origin") in OURS for number in range(len(regions)))


def everything(region: str, origin: str) -> bool:
    """Without a specification. What is around the regions of a program (`outer`) is atomic only if somebody says so."""
    return origin != "outer"


class Regions:
    """The events of a source under a specification: `is_atomic(name, origin)` says which regions stay."""

    def __init__(
        self,
        source: EventSource,
        is_atomic: Callable[[str, str], bool] = everything,
        *,
        split_all: bool = False,
    ) -> None:
        self.source = source
        self.symbols = source.symbols
        self.meta = source.meta
        self._is_atomic = is_atomic
        self._split_all = split_all
        self.events = 0
        """How many events of the source were read."""
        self._map = EventMap()

    def batches(self) -> Iterator[Batch]:
        rewriter: RegionRewriter | None = None
        known = 0
        given: int | None = None
        for batch in self.source.batches():
            self.events += len(batch)
            given = batch.first if given is None else given
            dropped, split = self._decided(known)
            known = len(self.symbols.regions)
            if rewriter is None and (dropped or split):
                rewriter = RegionRewriter()
            if rewriter is not None:
                rewriter.grow(len(self.symbols.threads), known)
                rewriter.mark(dropped, split)
                batch = self._rewritten(rewriter, batch, given)
            given += len(batch)
            if len(batch):
                yield batch

    def _decided(self, known: int) -> tuple[list[int], list[int]]:
        """Of the regions that are new: those to be dropped, and those to be split at waits."""
        dropped, split = [], []
        regions = self.symbols.regions
        for number in range(known, len(regions)):
            origin = regions.get(number, "origin")
            if not self._is_atomic(regions[number], origin):
                dropped.append(number)
            elif self._split_all or origin in OURS:
                split.append(number)
        return dropped, split

    def _rewritten(self, rewriter: RegionRewriter, batch: Batch, given: int) -> Batch:
        thread, op, target, site, index = rewriter.rewrite(batch)
        for column in (thread, op, target, site):
            column.flags.writeable = False
        self._map.note(given, batch.first, index)
        return Batch(given, thread, op, target, site)

    def place(self, event: int) -> Place:
        """Where an event stands in the input. One that a split put in stands at the wait, or at what followed it."""
        return self.source.place(self._map.origin(event))

    def fraction(self) -> float | None:
        """How much of the input was read so far, from 0 to 1, where that can be told."""
        fraction: float | None = self.source.fraction() if hasattr(self.source, "fraction") else None
        return fraction

    def close(self) -> None:
        if hasattr(self.source, "close"):
            self.source.close()
