"""Counts the events, symbols and transactions of a trace, for `atomsan stats`. `_count.pyx` does the counting.

History of the JSON: atomsan-stats/1, the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from atomsan import __version__
from atomsan.trace._count import Counter
from atomsan.trace.events import Op
from atomsan.trace.regions import is_entered_by_call

if TYPE_CHECKING:
    from atomsan.trace.events import Batch
    from atomsan.types import EventSource

SCHEMA = "atomsan-stats/1"


@dataclass(frozen=True, kw_only=True)
class LongestRegion:
    """The transaction with the most events of its thread between its begin and its end."""

    events: int
    region: str
    thread: str
    first_event: int
    """The event of its begin."""
    place: str
    """Where that event stands in the input: `t.std:12`."""
    site: str | None
    """The site of that event, if known; of a function, where it is defined."""
    ended: bool


@dataclass(frozen=True, kw_only=True)
class Stats:
    """The counts of a trace. Only symbols that an event uses are counted."""

    source: str
    format: str
    complete: bool
    by_op: dict[Op, int]
    threads: int
    locks: int
    locations: int
    shared_locations: int
    """Accessed by two or more threads."""
    regions: int
    handovers: int
    transactions: int
    unary_transactions: int
    longest_region: LongestRegion | None
    seconds: float | None

    @property
    def events(self) -> int:
        return sum(self.by_op.values())

    @property
    def events_per_second(self) -> float | None:
        """Rate of the recorded run, if the trace has its duration."""
        return self.events / self.seconds if self.seconds else None

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `atomsan stats`, where locations are `variables`. `trace` is as in the other reports."""
        return {
            "schema": SCHEMA,
            "tool": {"name": "atomsan", "version": __version__},
            "trace": {
                "source": self.source,
                "events": self.events,
                "threads": self.threads,
                "locks": self.locks,
                "variables": self.locations,
                "transactions": self.transactions,
                "complete": self.complete,
            },
            "format": self.format,
            "events": {op.word: count for op, count in self.by_op.items()},
            "shared_variables": self.shared_locations,
            "regions": self.regions,
            "handovers": self.handovers,
            "unary_transactions": self.unary_transactions,
            "longest_region": vars(self.longest_region) if self.longest_region else None,
            "seconds": self.seconds,
            "events_per_second": self.events_per_second,
        }


class StatsCounter:
    """Counts the batches of a source; `result` can be taken at any time."""

    def __init__(self, source: EventSource) -> None:
        self._source = source
        self._counter = Counter()
        self._cut = False

    def add(self, batch: Batch) -> None:
        self._counter.add(self._source.symbols, batch)

    def stop(self) -> None:
        """Mark the counts as incomplete: the rest of the trace is not counted."""
        self._cut = True

    def result(self) -> Stats:
        meta = self._source.meta
        locations, locks, threads, regions, handovers = self._counter.symbols_seen
        return Stats(
            source=meta.source,
            format=meta.format,
            complete=meta.complete and not self._cut,
            by_op=dict(zip(Op, self._counter.by_op, strict=True)),
            threads=threads,
            locks=locks,
            locations=locations,
            shared_locations=self._counter.shared,
            regions=regions,
            handovers=handovers,
            transactions=self._counter.transactions,
            unary_transactions=self._counter.unary,
            longest_region=self._longest_region(),
            seconds=meta.seconds,
        )

    def _longest_region(self) -> LongestRegion | None:
        found = self._counter.longest_region()
        if found is None:
            return None
        events, thread, region, first, site, end_site = found
        sites, regions = self._source.symbols.sites, self._source.symbols.regions
        if end_site is not None and end_site < len(sites) and is_entered_by_call(regions, region):
            site = end_site  # its begin has the site of the call
        return LongestRegion(
            events=events,
            region=regions[region],
            thread=self._source.symbols.threads[thread],
            first_event=first,
            place=str(self._source.place(first)),
            site=sites[site] if site < len(sites) else None,
            ended=end_site is not None,
        )


def count(source: EventSource, on_batch: Callable[[Batch], None] = lambda batch: None) -> Stats:
    """Count all events of a source; `on_batch` is called after each batch."""
    counter = StatsCounter(source)
    for batch in source.batches():
        counter.add(batch)
        on_batch(batch)
    return counter.result()
