"""The tape: keeps the batches of a recording in memory, or in a bundle on disk that can be read at any moment."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from atomsan.errors import OutputError, Place
from atomsan.trace.bundle_files import remove_bundle
from atomsan.trace.events import Batch
from atomsan.trace.insertions import with_insertions
from atomsan.trace.output_paths import RecordingOutput, new_directory, output_errors, output_format
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
    the end. Without one, a bundle in a temporary directory takes what does not fit into memory; it is removed when
    nobody has the tape any more, if not before. Nobody else writes to the path until the tape is finished or closed;
    with `output`, until the caller says so. `on_full` is told if there is no room for more in the temporary directory:
    then the tape ends.
    """

    def __init__(
        self,
        symbols: Symbols,
        meta: TraceMeta,
        path: str | os.PathLike[str] | None = None,
        *,
        force: bool = False,
        output: RecordingOutput | None = None,
        most_in_memory: int = MOST_IN_MEMORY,
        flush_seconds: float = FLUSH_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        on_full: Callable[[str], None] | None = None,
    ) -> None:
        self.symbols = symbols
        self.meta = meta
        self.events = 0
        self._path = None if path is None else os.fspath(path)
        self._most_in_memory = most_in_memory
        self._flush_seconds = flush_seconds
        self._clock = clock
        self._last_flush = clock()
        self._pending: list[Batch] = []
        self._pending_events = 0
        # events that are on disk
        self._stored = 0
        # all of them, and how many arrays of them are on disk
        self._insertions: list[NDArray[Any]] = []
        self._inserted = 0
        # None: too much for memory, it is on disk
        self._kept: list[Batch] | None = []
        self._writer: BundleWriter | None = None
        self._directory: Path | None = None
        self._remove_temporary: Callable[[], object] | None = None
        self._is_finished = False
        self._on_full = on_full
        self._is_full = False
        self._output = output
        self._is_output_ours = output is None and self._path is not None
        if self._path is not None:
            self._output = output = output or RecordingOutput(self._path, force=force)
            if output.room is not None:
                try:
                    self._start_bundle(output.room)
                except BaseException:
                    self._release()
                    raise

    def write(self, batch: Batch) -> None:
        if self._is_full:
            return
        self._pending.append(batch)
        self._pending_events += len(batch)
        self.events += len(batch)
        if self._pending_events >= _SMALL:
            self.flush()
        else:
            self._flush_if_due()

    def insert(self, insertions: NDArray[Any]) -> None:
        if self._is_full:
            return
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
        if self._is_full:
            return
        try:
            self._flush()
        except OutputError as error:
            is_asked_for = self._writer is not None and self._remove_temporary is None
            if is_asked_for or self._on_full is None:
                raise
            self._end_here()
            why = _said(error)
            self._on_full(f"recording stopped after {self.events} events: no room for more in {why} (TMPDIR)")

    def _flush(self) -> None:
        self._last_flush = self._clock()
        if self._pending:
            batch = _joined(self._pending)
            self._pending, self._pending_events = [], 0
            if self._kept is not None:
                self._kept.append(batch)
            if self._writer is not None:
                with output_errors(str(self._directory)):
                    self._writer.write(batch)
                self._stored += len(batch)
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
        try:
            self.flush()
            self._is_finished = True
            if self._writer is not None and not self._is_full:
                with output_errors(str(self._directory)):
                    self._writer.finish()
            if self._path is not None and output_format(self._path) != "bundle":
                write_trace(self._with_all_symbols(), self._path, claimed=self._output)
        finally:
            self._release()

    def put_away(self) -> None:
        """Nobody asks for it soon: if it is on disk, all names of locations leave memory."""
        if not self._is_full:
            self._forget_symbols(latest=0)

    def reopened(self) -> EventSource:
        """The events so far, to be checked. Each call gives a new one."""
        self.flush()
        if self._kept is not None:
            return _Kept(list(self._kept), list(self._insertions), self.symbols, self.meta)
        from atomsan.trace.bundle import BundleSource

        assert self._directory is not None
        return self._source_of(BundleSource(self._directory, self.symbols, owner=self))

    def _with_all_symbols(self) -> EventSource:
        """The same for a writer, which wants the names in memory."""
        if not self.symbols.locations.leaves_memory:
            return self.reopened()
        from atomsan.trace.bundle import BundleSource

        self.flush()
        assert self._directory is not None
        return self._source_of(BundleSource(self._directory, owner=self))

    def _source_of(self, source: BundleSource) -> EventSource:
        if self._is_full:  # there may have been no room for the metadata either
            source.meta = replace(self.meta, format=source.meta.format, warnings=[])
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
        if self._remove_temporary is not None:
            self._remove_temporary()
        self._release()

    def _release(self) -> None:
        if self._output is not None and self._is_output_ours:
            self._output.release()

    def discard(self) -> None:
        """Close, and leave nothing behind under the path that was given."""
        if self._writer is not None and not self._is_finished:
            self._writer.close()
        self._is_finished = True
        if self._directory is not None:
            with suppress(OSError):
                remove_bundle(self._directory)
        self.close()

    def __enter__(self) -> Tape:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _leave_memory(self, kept: list[Batch]) -> None:
        if self._writer is None:
            with output_errors("the temporary directory"):
                temporary = tempfile.mkdtemp(prefix="atomsan-")
            self._remove_temporary = weakref.finalize(self, _remove, temporary, os.getpid())
            self._start_bundle(new_directory(Path(temporary) / "recording.atomtrace"))
            assert self._writer is not None
            with output_errors(str(self._directory)):
                for batch in kept:
                    self._writer.write(batch)
                self._writer.insert(self._insertions)
            self._stored = sum(map(len, kept))
            self._inserted = len(self._insertions)
        self._kept = None

    def _end_here(self) -> None:
        """There is no room for more in the temporary directory. What was kept by now stays where it is."""
        self._is_full = True
        self._pending, self._pending_events = [], 0
        if self._writer is not None:
            with suppress(OSError):
                self._writer.close()
        if self._kept is not None:  # that is all in memory
            self._writer = self._directory = None
            if self._remove_temporary is not None:
                self._remove_temporary()
            self._stored = sum(map(len, self._kept))
        else:
            del self._insertions[self._inserted :]
        self.events = self._stored + sum(map(len, self._insertions))

    def _start_bundle(self, directory: Path) -> None:
        from atomsan.trace.bundle import BundleWriter

        with output_errors(str(directory)):
            self._writer = BundleWriter(directory, self.symbols, self.meta)
        self._directory = directory


def _said(error: OutputError) -> str:
    """`/tmp: No space left on device`. The names inside the temporary directory mean nothing."""
    number = getattr(error.__cause__, "errno", None)
    return f"{tempfile.gettempdir()}: {os.strerror(number) if number else error}"


def _remove(directory: str, process: int) -> None:
    """Remove a temporary directory of this process. One that was forked comes here too when it ends."""
    if os.getpid() == process:
        shutil.rmtree(directory, ignore_errors=True)


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
