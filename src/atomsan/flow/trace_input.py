"""Opens any trace and applies the specification."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO, cast

from atomsan.findings.report import TraceFacts
from atomsan.source.spec import Specification, read_spec
from atomsan.trace.events import BATCH_EVENTS, Batch
from atomsan.trace.jobs import with_jobs
from atomsan.trace.meta import NOT_OVER
from atomsan.trace.reading import open_trace
from atomsan.trace.regions import AtomicRegionSource
from atomsan.trace.trace import Trace
from atomsan.trace.validation import ValidatedSource

if TYPE_CHECKING:
    from atomsan.errors import Place
    from atomsan.trace.byte_input import PathOrStream
    from atomsan.trace.jobs import JobSource
    from atomsan.trace.monitor import Monitor
    from atomsan.types import EventSource, Reopenable

    AnyTrace = Trace | str | os.PathLike[str] | BinaryIO | EventSource | Reopenable

# Events in a batch: few enough to stay in the cache from stage to stage, and to stop soon when the time is up.
CHECKED_AT_ONCE = 1 << 16


def specification_of(spec: Specification | str | os.PathLike[str] | None) -> Specification:
    """A specification, as it is or from a file; None: the default."""
    if spec is None:
        return Specification()
    return spec if isinstance(spec, Specification) else read_spec(spec)


class TraceInput:
    """A trace of any kind, under a specification. `with_jobs`: jobs of pools are threads of their own there."""

    def __init__(
        self,
        trace: AnyTrace,
        spec: Specification | str | os.PathLike[str] | None = None,
        *,
        split_all: bool = False,
        with_jobs: bool = False,
        lenient: bool = False,
        format: str | None = None,
    ) -> None:
        self._trace = trace
        self._with_jobs = with_jobs
        self.spec = specification_of(spec)
        self._split_all = split_all
        self._lenient = lenient
        self._format = format
        # what was recorded gives a source as often as one is asked for
        self.is_repeatable = isinstance(trace, Trace) or hasattr(trace, "reopened")
        """Whether the trace can be read more than once."""
        if isinstance(trace, str | os.PathLike):
            # a pipe has a path too, and can be read once
            self.is_repeatable = os.path.isfile(trace) or os.path.isdir(trace)

    def under(self, default: str) -> TraceInput:
        """The same, with another default of the specification."""
        return self._changed(self._trace, replace(self.spec, default=default))

    def in_memory(self) -> TraceInput:
        """The same, read once and kept, so that it can be read again."""
        kept = self._trace
        if not hasattr(kept, "batches"):
            kept = open_trace(cast("PathOrStream", kept), format=self._format, lenient=self._lenient)
        return self._changed(Trace.from_source(cast("EventSource", kept)), self.spec)

    def _changed(self, trace: AnyTrace, spec: Specification) -> TraceInput:
        return TraceInput(
            trace,
            spec,
            split_all=self._split_all,
            with_jobs=self._with_jobs,
            lenient=self._lenient,
            format=self._format,
        )

    def open(self, batch_events: int = BATCH_EVENTS) -> OpenedTrace:
        if hasattr(self._trace, "reopened"):
            source: EventSource = self._trace.reopened()
        elif hasattr(self._trace, "batches"):
            source = cast("EventSource", self._trace)
        else:
            source = open_trace(
                self._trace, format=self._format, lenient=self._lenient, batch_events=batch_events, lean=True
            )
        jobs = with_jobs(source) if self._with_jobs else None
        regions = AtomicRegionSource(jobs or source, self.spec.is_atomic, split_all=self._split_all)
        return OpenedTrace(source, regions, batch_events, jobs)


class OpenedTrace:
    """A source on its way to the checkers: its batches are cut where they are large."""

    def __init__(
        self, original: EventSource, source: AtomicRegionSource, batch_events: int, jobs: JobSource | None = None
    ) -> None:
        self._original = original
        self.jobs = jobs
        """What knows of the threads that are jobs of others."""
        self._source = source
        self.batch_events = batch_events
        """The largest batch. It decides how far beyond the last event of interest a trace is read, and validated."""
        self.symbols = source.symbols
        self.meta = source.meta
        self.reading = False
        """Whether it is at work on the next batch, or waits for it to come."""
        self.is_read = False
        """Whether it was read to its end."""

    def batches(self) -> Iterator[Batch]:
        self.reading = True
        for batch in self._source.batches():
            self.reading = False
            for start in range(0, len(batch), self.batch_events):
                yield batch[start : start + self.batch_events]
            self.reading = True
        self.reading, self.is_read = False, True

    @property
    def events(self) -> int:
        """How many events of the trace were read."""
        return self._source.events

    @property
    def repairs(self) -> list[str]:
        """What was dropped from a trace that is not well-formed, if that was allowed."""
        return self._original.repairs.lines() if isinstance(self._original, ValidatedSource) else []

    def place(self, event: int) -> Place:
        return self._source.place(event)

    def fraction(self) -> float | None:
        return self._source.fraction()

    @property
    def missing(self) -> str | None:
        """Why events of the run are missing, as far as is known: who reads no further does not wait for a recording."""
        is_known = self.is_read or self.meta.cut != NOT_OVER
        return self.meta.missing if is_known else None

    def close(self) -> None:
        self._source.close()

    def facts(self, transactions: int, *, is_whole: bool) -> TraceFacts:
        """What was checked: so many transactions of it, to the end of the trace or not."""
        symbols = self.symbols
        return TraceFacts(
            source=self.meta.source,
            events=self.events,
            threads=self.jobs.workers if self.jobs else len(symbols.threads),
            locks=len(symbols.locks),
            variables=len(symbols.locations),
            transactions=transactions,
            complete=self.meta.complete and is_whole,
        )

    def marked_regions(self, spec: Specification) -> set[str]:
        """The names of the regions that the user said are atomic, in the program or in the specification."""
        regions = self.symbols.regions
        named = {regions[number]: regions.get(number, "origin") for number in range(len(regions))}
        return {name for name, origin in named.items() if origin == "annotated" or spec.names(name)}


def read_through(source: OpenedTrace, monitor: Monitor, feed: Callable[[Batch], bool | None]) -> None:
    """One pass: feed the batches of a source until the monitor says stop, or `feed` returns True: it has enough."""
    with monitor.stopping(), monitor.over(source) as done:
        for batch in source.batches():
            if feed(batch):
                return
            done(batch)
            if monitor.is_over():
                return
