"""A trace held in memory: four columns, the symbols, and where it came from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, overload

import numpy as np

from atomsan.errors import Place
from atomsan.trace.events import BATCH_EVENTS, Batch, Event

if TYPE_CHECKING:
    import os

    from atomsan.trace.meta import TraceMeta
    from atomsan.trace.symbols import Symbols
    from atomsan.types import EventSource


class Trace:
    """The events of a run, in order. Immutable: a slice shares the columns and the symbols of the whole.

        trace = atomsan.load("t.std")
        len(trace), trace[0], trace[10:20]
        for event in trace.events(): ...                # with names
        for batch in trace.batches(): ...               # with numbers, in columns

    An event takes 13 bytes. `atomsan.open_trace` streams a trace that is too large for memory.
    """

    def __init__(self, columns: Batch, symbols: Symbols, meta: TraceMeta, source: EventSource | None = None) -> None:
        self._columns = columns
        self._source = source
        self.symbols = symbols
        self.meta = meta

    @classmethod
    def from_source(cls, source: EventSource) -> Trace:
        """All events of a source, in memory."""
        batches = list(source.batches())
        if len(batches) == 1:
            return cls(batches[0], source.symbols, source.meta, source)
        columns = Batch.frozen(
            0,
            np.concatenate([batch.thread for batch in batches] or [np.empty(0, np.uint32)]),
            np.concatenate([batch.op for batch in batches] or [np.empty(0, np.uint8)]),
            np.concatenate([batch.target for batch in batches] or [np.empty(0, np.uint32)]),
            np.concatenate([batch.site for batch in batches] or [np.empty(0, np.uint32)]),
        )
        return cls(columns, source.symbols, source.meta, source)

    def __len__(self) -> int:
        return len(self._columns)

    @overload
    def __getitem__(self, index: int) -> Event: ...

    @overload
    def __getitem__(self, index: slice) -> Trace: ...

    def __getitem__(self, index: int | slice) -> Event | Trace:
        if isinstance(index, slice):
            return Trace(self._columns[index], self.symbols, self.meta, self._source)
        at = range(len(self))[index]
        columns = self._columns
        return self.symbols.event(
            int(columns.thread[at]), int(columns.op[at]), int(columns.target[at]), int(columns.site[at])
        )

    def __iter__(self) -> Iterator[Event]:
        return self.events()

    def events(self) -> Iterator[Event]:
        """The events with names in place of numbers."""
        for batch in self.batches():
            for row in batch.rows():
                yield self.symbols.event(*row)

    def batches(self) -> Iterator[Batch]:
        """The columns, in batches of about a million events."""
        for start in range(0, len(self), BATCH_EVENTS):
            yield self._columns[start : start + BATCH_EVENTS]

    def place(self, event: int) -> Place:
        """Where an event stands in the input that the trace was read from."""
        return self._source.place(event) if self._source else Place(self.meta.source, None, event)

    def save(self, path: str | os.PathLike[str], *, format: str | None = None, force: bool = False) -> None:
        """Write the trace to a file, in the format of its suffix (`.atomtrace`, `.parquet`, `.std`, `.csv.gz`, ...)."""
        from atomsan.trace.writing import write_trace

        write_trace(self, path, format=format, force=force)

    def notation(self) -> str:
        """The trace in the one-line notation."""
        from atomsan.trace.formats.notation import to_notation

        return to_notation(self.events())

    def __repr__(self) -> str:
        return f"<Trace of {len(self)} events from {self.meta.source}>"
