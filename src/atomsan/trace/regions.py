"""Region stage: keeps the regions of a trace that are meant to be atomic, and splits them at waits.

The begin and end of every other region are dropped, so that the regions inside it become transactions, and so do the
augmented assignments around which no region is left. A wait for another thread splits the regions around it that
AtomSan chose itself: the code before and after it are different transactions. (The take of what was there before the
region began is no wait.) Regions that the user annotated or that another tool recorded stay whole, unless `split_all`.

Each region is decided once, by its name and origin; `_regions.pyx` rewrites the batches. As long as there is nothing
to drop or to split, the batches pass through unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from atomsan.trace._regions import RegionRewriter
from atomsan.trace.rewritten_source import RewrittenSource

if TYPE_CHECKING:
    from atomsan.trace.events import Batch
    from atomsan.trace.symbols import Symbols, SymbolTable
    from atomsan.types import EventSource

# Origins of the regions that the recorder chose itself: nobody said that these are atomic.
CHOSEN_ORIGINS = frozenset({"function", "loop", "statement", "lock-block", "outer"})
# Those of them that are part of the code of the enclosing function.
WITHIN_FUNCTION = frozenset({"statement", "lock-block"})
# Those of a whole function.
_OF_FUNCTIONS = frozenset({"function", "outer", "annotated"})
# How a region was entered if a library called it back. The symbol table has such a region a second time.
CALLBACK = "callback"
# And if it is a generator that runs again: the same activation as when it was entered first.
RESUMED = "resumed"


def is_entered_by_call(regions: SymbolTable, number: int) -> bool:
    """Whether it is the code of a whole function that was recorded.

    The site of its begin is that of the call, if recorded code made it; the site of its end is that of the definition.
    """
    return regions.get(number, "function") is not None and regions.get(number, "origin") in _OF_FUNCTIONS


def was_recorded(symbols: Symbols) -> bool:
    """Whether regions show that AtomSan recorded the trace, for bundles written before their metadata had it."""
    regions = symbols.regions
    return any(regions.get(number, "origin") in CHOSEN_ORIGINS for number in range(len(regions)))


def all_but_outer(region: str, origin: str) -> bool:
    """The default without a specification: `outer` regions of a program are atomic only if they are named."""
    return origin != "outer"


class AtomicRegionSource(RewrittenSource):
    """The events of a source with only its atomic regions: `is_atomic(name, origin)` decides."""

    def __init__(
        self,
        source: EventSource,
        is_atomic: Callable[[str, str], bool] = all_but_outer,
        *,
        split_all: bool = False,
    ) -> None:
        super().__init__(source)
        self._is_atomic = is_atomic
        self._split_all = split_all
        self.events = 0
        """The number of events read from the source."""

    def batches(self) -> Iterator[Batch]:
        rewriter: RegionRewriter | None = None
        known = known_sites = known_handovers = 0
        given: int | None = None
        for batch in self.source.batches():
            self.events += len(batch)
            given = batch.first if given is None else given
            dropped, split = self._decide(known)
            known = len(self.symbols.regions)
            if rewriter is None and (dropped or split):
                rewriter = RegionRewriter()
            if rewriter is not None:
                rewriter.grow(len(self.symbols.threads), known)
                rewriter.mark(dropped, split)
                known_sites = self._add_sites(rewriter, known_sites)
                known_handovers = self._add_handovers(rewriter, known_handovers)
                batch = self._rewritten_batch(given, batch, rewriter.rewrite(batch))
            given += len(batch)
            if len(batch):
                yield batch

    def _add_sites(self, rewriter: RegionRewriter, known: int) -> int:
        """Tell of the sites from `known` on, if any is of an augmented assignment; returns how many are known then."""
        columns = self.symbols.sites.columns
        assignments, apart = columns.get("assignment", []), columns.get("apart", [])
        if not assignments:
            return known
        new = range(known, len(self.symbols.sites))
        rewriter.add_sites(
            [assignments[site] if site < len(assignments) else None for site in new],
            [apart[site] if site < len(apart) else None for site in new],
        )
        return len(self.symbols.sites)

    def _add_handovers(self, rewriter: RegionRewriter, known: int) -> int:
        """Tell of the hand-overs from `known` on, if any was ready; returns how many are known then."""
        ready = self.symbols.handovers.columns.get("ready", [])
        if len(ready) <= known:
            return known
        rewriter.add_handovers(ready[known:])
        return len(ready)

    def _decide(self, known: int) -> tuple[list[int], list[int]]:
        """Of the regions from number `known` on: those to drop, and those to split at waits."""
        dropped, split = [], []
        regions = self.symbols.regions
        for number in range(known, len(regions)):
            origin = regions.get(number, "origin")
            if not self._is_atomic(regions[number], origin):
                dropped.append(number)
            elif self._split_all or origin in CHOSEN_ORIGINS:
                split.append(number)
        return dropped, split
