"""Writes a trace to a file, in the format of its suffix.

The output gets its name only when it is complete: until then it is a temporary file in the same directory, which is
removed on any error or interrupt.
"""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO

from atomsan.errors import InputError, OutputError, printable
from atomsan.trace.events import Batch
from atomsan.trace.formats import COMPRESSIONS
from atomsan.trace.output_locks import remove_lock_files
from atomsan.trace.output_paths import (
    STANDARD_OUTPUT,
    ClaimedOutput,
    check_output,
    is_device,
    output_errors,
    output_format,
    remove_path,
)
from atomsan.trace.trace import Trace
from atomsan.types import EventSink, EventSource

# Temporary files and directories of outputs that are being written.
_partial_outputs: set[Path] = set()


def write_trace(
    source: EventSource,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    force: bool = False,
    claimed: ClaimedOutput | None = None,
    on_batch: Callable[[Batch], None] = lambda batch: None,
) -> None:
    """Write all events of a source. `path` may be `-` for standard output; `on_batch` is called after each batch.

    `claimed` is the output if the caller has it for itself already.
    """
    format = output_format(path, format)
    name = os.fspath(path)
    with output_errors(name), nullcontext() if claimed else ClaimedOutput(path, force=force):
        if format == "csv" and not isinstance(source, Trace):
            # Each thread is a column of CSV, so all threads must be known before the first line.
            with _spooled(source, name, on_batch) as spool:
                _write_batches(spool, name, format)
        else:
            _write_batches(source, name, format, on_batch=on_batch)


def _write_batches(
    source: EventSource,
    name: str,
    format: str,
    *,
    on_batch: Callable[[Batch], None] = lambda batch: None,
) -> None:
    with _open_writer(name, format, source) as writer:
        for batch in source.batches():
            writer.write(batch)
            on_batch(batch)
        writer.finish()


def write_file(path: str | os.PathLike[str], content: bytes, *, force: bool = False) -> None:
    """Write a small file that goes with a trace; it gets its name only when it is complete."""
    with output_errors(os.fspath(path)):
        check_output(path, force=force)
        with _temporary_file(Path(path)) as partial:
            partial.write_bytes(content)


@contextmanager
def _open_writer(name: str, format: str, source: EventSource) -> Iterator[EventSink]:
    """A writer whose output gets its name if the block succeeds, and is removed otherwise."""
    if name == STANDARD_OUTPUT:
        if format in ("bundle", "parquet"):
            raise InputError(f"the format {format!r} needs a file, not standard output")
        if sys.stdout is None:
            raise OutputError("standard output is closed")
        stream: Any = _Terminal(sys.stdout.buffer) if sys.stdout.isatty() else sys.stdout.buffer
        yield _text_writer(stream, format, source)
        stream.flush()
        return
    if format == "bundle":
        with _temporary_directory(Path(name)) as directory:
            yield from _bundle_writer(directory, source)
    elif format == "parquet":
        with _temporary_file(Path(name)) as path:
            yield from _parquet_writer(path, source)
    else:
        with _temporary_file(Path(name)) as path, _compressed(path, Path(name).suffix) as stream:
            yield _text_writer(stream, format, source)


class _Terminal:
    """Standard output if it is a terminal: names in a trace can hold anything, also what commands it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._rest = b""

    def write(self, piece: bytes) -> int:
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            self._write(line + b"\n")
        return len(piece)

    def flush(self) -> None:
        self._write(self._rest)
        self._rest = b""
        self._stream.flush()

    def _write(self, line: bytes) -> None:
        text = line.removesuffix(b"\n").decode(errors="backslashreplace")
        self._stream.write(printable(text).encode() + b"\n" * line.endswith(b"\n"))


def _bundle_writer(directory: Path, source: EventSource) -> Iterator[EventSink]:
    from atomsan.trace.bundle import BundleWriter

    writer = BundleWriter(directory, source.symbols, source.meta)
    with closing(writer):
        yield writer


def _parquet_writer(path: Path, source: EventSource) -> Iterator[EventSink]:
    from atomsan.trace.parquet import ParquetWriter

    writer = ParquetWriter(path, source.symbols, source.meta)
    with closing(writer):
        yield writer


def _text_writer(stream: BinaryIO, format: str, source: EventSource) -> EventSink:
    if format == "std":
        from atomsan.trace.formats.std import StdWriter

        return StdWriter(stream, source.symbols)
    if format == "csv":
        from atomsan.trace.formats.csv import CsvWriter

        return CsvWriter(stream, source.symbols, len(source.symbols.threads))
    from atomsan.trace.formats.notation import NotationWriter

    return NotationWriter(stream, source.symbols)


@contextmanager
def _spooled(source: EventSource, name: str, on_batch: Callable[[Batch], None]) -> Iterator[EventSource]:
    """The same events from a temporary bundle, which has all its symbols from the start."""
    from atomsan.trace.bundle import BundleSource

    beside = Path(name).parent if name != STANDARD_OUTPUT else None
    with tempfile.TemporaryDirectory(prefix=".atomsan-", dir=beside) as directory:
        _partial_outputs.add(Path(directory))
        try:
            bundle = Path(directory) / "spool.atomtrace"
            _write_batches(source, str(bundle), "bundle", on_batch=on_batch)
            yield BundleSource(bundle)
        finally:
            _partial_outputs.discard(Path(directory))


def remove_partial_outputs() -> None:
    """For a process that ends at once: leave nothing behind that is not complete."""
    remove_lock_files()
    for path in tuple(_partial_outputs):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                os.unlink(path)


def _permissions(mode: int) -> int:
    """The mode without the bits of the user's umask. Temporary files are private until they get their name."""
    umask = os.umask(0)
    os.umask(umask)
    return mode & ~umask


@contextmanager
def _temporary_file(path: Path) -> Iterator[Path]:
    """A temporary file that becomes `path` if the block succeeds; a device is written directly."""
    if is_device(path):
        yield path
        return
    handle, partial = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
    os.close(handle)
    _partial_outputs.add(Path(partial))
    try:
        yield Path(partial)
        os.chmod(partial, _permissions(0o666))
        os.replace(partial, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(partial)
        raise
    finally:
        _partial_outputs.discard(Path(partial))


@contextmanager
def _temporary_directory(path: Path) -> Iterator[Path]:
    """A temporary directory that becomes `path` if the block succeeds."""
    partial = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent))
    _partial_outputs.add(partial)
    try:
        yield partial
        os.chmod(partial, _permissions(0o777))
        if os.path.lexists(path):
            remove_path(path)
        os.rename(partial, path)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    finally:
        _partial_outputs.discard(partial)


@contextmanager
def _compressed(path: Path, suffix: str) -> Iterator[BinaryIO]:
    """The file opened for writing, compressed as the suffix of its final name says."""
    compression = COMPRESSIONS.get(suffix)
    with open(path, "wb", buffering=0 if compression is None else 1 << 18) as file:
        if compression == "gzip":
            # no name and no time inside: the same trace gives the same bytes
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as stream:
                yield stream  # type: ignore[misc]
        elif compression == "zstd":
            import pyarrow as pa

            with pa.CompressedOutputStream(pa.PythonFile(file, mode="w"), "zstd") as stream:
                yield stream
        else:
            yield file
