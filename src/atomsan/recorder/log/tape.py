"""The tape: keeps the batches of a recording in memory, or in a bundle on disk that can be read at any moment."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from atomsan.errors import Place
from atomsan.trace.events import Batch
from atomsan.trace.insertions import with_insertions
from atomsan.trace.output_paths import new_directory, output_errors, output_format, prepare_output
from atomsan.trace.writing import write_trace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from atomsan.trace.bundle import BundleSource, BundleWriter
    from atomsan.trace.meta import TraceMeta
    from atomsan.trace.symbols import Symbols
    from atomsan.types import EventSource

# A recording of up to so many events is checked from memory (13 bytes an event).
MOST_IN_MEMORY = 4 << 20

# And of so many locations, which take some hundred bytes each. Of more, the names of the latest are in memory.
MOST_SYMBOLS = 1 << 18
LATEST_SYMBOLS = 1 << 16

# What a recording that is killed can lose.
FLUSH_SECONDS = 1.0

# Batches smaller than this are put together before they are kept.
_SMALL = 1 << 17


class Tape:
    """Takes the batches of a recording.

    With a `path` that names a bundle, the bundle is there from the beginning and grows; another format is written at
    the end. Without one, a bundle in a temporary directory takes what does not fit into memory. `room` is the directory
    of the bundle, if it was made already (`prepare_output`).
    """

    def __init__(
        self,
        symbols: Symbols,
        meta: TraceMeta,
        path: str | os.PathLike[str] | None = None,
        *,
        force: bool = False,
        room: Path | None = None,
        most_in_memory: int = MOST_IN_MEMORY,
        flush_seconds: float = FLUSH_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.symbols = symbols
        self.meta = meta
        self.events = 0
        self._path = None if path is None else os.fspath(path)
        self._force = force
        self._most_in_memory = most_in_memory
        self._flush_seconds = flush_seconds
        self._clock = clock
        self._last_flush = clock()
        self._pending: list[Batch] = []
        self._pending_events = 0
        # all of them, and how many arrays of them are on disk
        self._insertions: list[NDArray[Any]] = []
        self._inserted = 0
        # None: too much for memory, it is on disk
        self._kept: list[Batch] | None = []
        self._writer: BundleWriter | None = None
        self._directory: Path | None = None
        self._temporary: Path | None = None
        self._is_finished = False
        if self._path is not None:
            room = room or prepare_output(self._path, force=force)
            if room is not None:
                self._start_bundle(room)

    def write(self, batch: Batch) -> None:
        self._pending.append(batch)
        self._pending_events += len(batch)
        self.events += len(batch)
        if self._pending_events >= _SMALL:
            self.flush()
        else:
            self._flush_if_due()

    def insert(self, insertions: NDArray[Any]) -> None:
        self._insertions.append(insertions)
        self.events += len(insertions)

    def idle(self) -> None:
        """Nothing comes for now: what came before should not wait for it."""
        self._flush_if_due()

    def _flush_if_due(self) -> None:
        if self._pending and self._writer is not None and self._clock() - self._last_flush >= self._flush_seconds:
            self.flush()

    def flush(self) -> None:
        """Keep everything so far where it can be read."""
        self._last_flush = self._clock()
        if self._pending:
            batch = _joined(self._pending)
            self._pending, self._pending_events = [], 0
            if self._kept is not None:
                self._kept.append(batch)
            if self._writer is not None:
                with output_errors(str(self._directory)):
                    self._writer.write(batch)
        if self._writer is not None:
            with output_errors(str(self._directory)):
                self._writer.insert(self._insertions[self._inserted :])
            self._inserted = len(self._insertions)
        is_large = self.events > self._most_in_memory or len(self.symbols.locations) > MOST_SYMBOLS
        if self._kept is not None and is_large:
            self._leave_memory(self._kept)
        if self._writer is not None and not self._is_finished:
            with output_errors(str(self._directory)):
                self._writer.flush()
            self._forget_symbols()

    def _forget_symbols(self, latest: int = LATEST_SYMBOLS) -> None:
        """What is in the bundle need not be in memory: most of it are names of objects that are dead."""
        locations = self.symbols.locations
        if self._writer is not None and self._kept is None and len(locations) > latest:
            if not locations.leaves_memory:
                locations.keep_in(self._writer.tables[locations.kind])
            with output_errors(str(self._directory)):
                locations.leave_memory(latest)

    def finish(self) -> None:
        """Nothing more comes. `meta` is final now."""
        if self._is_finished:
            return
        self.flush()
        self._is_finished = True
        if self._writer is not None:
            with output_errors(str(self._directory)):
                self._writer.finish()
        if self._path is not None and output_format(self._path) != "bundle":
            write_trace(self._with_all_symbols(), self._path, force=self._force)

    def put_away(self) -> None:
        """Nobody asks for it soon: if it is on disk, all names of locations leave memory."""
        self._forget_symbols(latest=0)

    def reopened(self) -> EventSource:
        """The events so far, to be checked. Each call gives a new one."""
        self.flush()
        if self._kept is not None:
            return _Kept(list(self._kept), list(self._insertions), self.symbols, self.meta)
        from atomsan.trace.bundle import BundleSource

        assert self._directory is not None
        return self._source_of(BundleSource(self._directory, self.symbols))

    def _with_all_symbols(self) -> EventSource:
        """The same for a writer, which wants the names in memory."""
        if not self.symbols.locations.leaves_memory:
            return self.reopened()
        from atomsan.trace.bundle import BundleSource

        self.flush()
        assert self._directory is not None
        return self._source_of(BundleSource(self._directory))

    def _source_of(self, source: BundleSource) -> EventSource:
        # what is on disk for lack of memory has no name that means anything
        source.meta.source = self.meta.source
        # a bundle stores only some of the warnings
        known = self.meta.warnings
        source.meta.warnings = [*known, *(text for text in source.meta.warnings if text not in known)]
        return source

    def batches(self) -> Iterator[Batch]:
        """The events so far: a tape is an event source itself, which can be read again and again."""
        yield from self.reopened().batches()

    def place(self, event: int) -> Place:
        return Place(self.meta.source, None, event)

    def save(self, path: str | os.PathLike[str], *, format: str | None = None, force: bool = False) -> None:
        """Write the events so far to a file, in the format of its suffix."""
        write_trace(self._with_all_symbols(), path, format=format, force=force)

    def close(self) -> None:
        """Remove what was only put on disk for lack of memory."""
        if self._writer is not None and not self._is_finished:
            self._writer.close()
        self._is_finished = True
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    def discard(self) -> None:
        """Close, and leave nothing behind under the path that was given."""
        self.close()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)

    def __enter__(self) -> Tape:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _leave_memory(self, kept: list[Batch]) -> None:
        if self._writer is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="atomsan-"))
            self._start_bundle(new_directory(self._temporary / "recording.atomtrace"))
            assert self._writer is not None
            with output_errors(str(self._directory)):
                for batch in kept:
                    self._writer.write(batch)
                self._writer.insert(self._insertions)
            self._inserted = len(self._insertions)
        self._kept = None

    def _start_bundle(self, directory: Path) -> None:
        from atomsan.trace.bundle import BundleWriter

        with output_errors(str(directory)):
            self._writer = BundleWriter(directory, self.symbols, self.meta)
        self._directory = directory


class _Kept:
    """Batches in memory, as an event source."""

    def __init__(self, batches: list[Batch], insertions: list[NDArray[Any]], symbols: Symbols, meta: TraceMeta) -> None:
        self._batches = batches
        self._insertions = insertions
        self.symbols = symbols
        self.meta = meta

    def batches(self) -> Iterator[Batch]:
        yield from with_insertions(self._batches, self._insertions)

    def place(self, event: int) -> Place:
        return Place(self.meta.source, None, event)


def _joined(batches: list[Batch]) -> Batch:
    if len(batches) == 1:
        return batches[0]
    columns = (
        np.concatenate([batch.thread for batch in batches]),
        np.concatenate([batch.op for batch in batches]),
        np.concatenate([batch.target for batch in batches]),
        np.concatenate([batch.site for batch in batches]),
    )
    for column in columns:
        column.flags.writeable = False
    dead = [batch.dead for batch in batches if batch.dead is not None]
    return Batch(batches[0].first, *columns, dead=np.concatenate(dead) if dead else None)
