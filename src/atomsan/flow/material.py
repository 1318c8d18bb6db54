"""What is to be checked: a trace, of any kind, as a source of events under a specification."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sized
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO, cast

from atomsan.trace.events import BATCH_EVENTS, Batch
from atomsan.trace.reading import open_trace
from atomsan.trace.regions import OURS, Regions
from atomsan.trace.trace import Trace

if TYPE_CHECKING:
    from atomsan.errors import Place
    from atomsan.source.spec import Specification
    from atomsan.types import EventSource, Reopenable

Watching = Callable[["Opened"], AbstractContextManager[Callable[[Sized], None]]]
"""A context manager around a pass over a source, whose value is called with each batch that is done."""


class Material:
    """What is to be checked, as a source under a specification; `again` says whether it can be read more than once."""

    def __init__(
        self,
        trace: Trace | str | os.PathLike[str] | BinaryIO | EventSource | Reopenable,
        spec: Specification,
        *,
        split_all: bool = False,
        lenient: bool = False,
        format: str | None = None,
    ) -> None:
        self._trace = trace
        self.spec = spec
        self._split_all = split_all
        self._lenient = lenient
        self._format = format
        # what was recorded gives a source as often as one is asked for
        self.again = isinstance(trace, Trace) or hasattr(trace, "reopened")
        if isinstance(trace, str | os.PathLike):
            # a pipe has a path too, and can be read once
            self.again = os.path.isfile(trace) or os.path.isdir(trace)

    def under(self, default: str) -> Material:
        """The same, with another default of the specification."""
        spec = replace(self.spec, default=default)
        return Material(self._trace, spec, split_all=self._split_all, lenient=self._lenient, format=self._format)

    def open(self, batch_events: int = BATCH_EVENTS) -> Opened:
        if hasattr(self._trace, "reopened"):
            source: EventSource = self._trace.reopened()
        elif hasattr(self._trace, "batches"):
            source = cast("EventSource", self._trace)
        else:
            source = open_trace(self._trace, format=self._format, lenient=self._lenient, batch_events=batch_events)
        return Opened(source, Regions(source, self.spec.is_atomic, split_all=self._split_all), batch_events)


class Opened:
    """A source on its way to the checkers: its batches are cut where they are large."""

    def __init__(self, original: EventSource, source: Regions, batch_events: int) -> None:
        self.original = original
        self._source = source
        self.batch_events = batch_events
        """The largest batch. It decides how far beyond the last event of interest a trace is read, and validated."""
        self.symbols = source.symbols
        self.meta = source.meta
        self.reading = False
        """Whether it is at work on the next batch, or waits for it to come."""

    def batches(self) -> Iterator[Batch]:
        self.reading = True
        for batch in self._source.batches():
            self.reading = False
            for start in range(0, len(batch), self.batch_events):
                yield batch[start : start + self.batch_events]
            self.reading = True
        self.reading = False

    @property
    def events(self) -> int:
        """How many events of the trace were read."""
        return self._source.events

    def place(self, event: int) -> Place:
        return self._source.place(event)

    def fraction(self) -> float | None:
        return self._source.fraction()

    def close(self) -> None:
        self._source.close()


def is_recorded(source: Opened) -> bool:
    """Whether there are regions that nobody but us said are atomic. A recording that still runs will have some."""
    regions = source.symbols.regions
    origins = {regions.get(number, "origin") for number in range(len(regions))}
    return source.meta.format == "recording" or not origins.isdisjoint(OURS)


def marked_regions(source: Opened, spec: Specification) -> set[str]:
    """The names of the regions that the user said are atomic, in the program or in the specification."""
    regions = source.symbols.regions
    named = {regions[number]: regions.get(number, "origin") for number in range(len(regions))}
    return {name for name, origin in named.items() if origin == "annotated" or spec.names(name)}


def is_over(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() >= deadline
