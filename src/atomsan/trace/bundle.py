"""Reads and writes bundles, the native format: a directory `NAME.atomtrace` of Arrow streams and one JSON file.

    events.arrows      thread, op, target, site; LZ4; one record batch a batch
    insertions.arrows  if there are any: position, thread, op, target, site of events that belong between others
    threads.arrows     one stream for each symbol table; row i is symbol i
    ...
    meta.json          "format": "atomtrace/2", where the trace comes from, and whether it is complete

A stream that was cut short stays readable up to the cut: symbols are written before the events that use them, and
`meta.json` has `"complete": false` until the last byte is written.

History of the format: 1, the first; 2, the table of functions, and which function a region and a site are of.
"""

from __future__ import annotations

import errno
import io
import json
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from atomsan.errors import InputError, Place
from atomsan.trace.arrow import (
    EVENT_SCHEMA,
    INSERTION_SCHEMA,
    append_symbols,
    check_schema,
    event_record_batch,
    first_line,
    meta_from_json,
    meta_to_json,
    stored_name,
    stored_tables,
    symbol_record_batches,
    table_schema,
)
from atomsan.trace.arrow_sizes import MARKER, StreamCutError, check_message
from atomsan.trace.events import Batch
from atomsan.trace.insertions import INSERTION_ROW, with_insertions
from atomsan.trace.meta import CUT_SHORT, TraceMeta
from atomsan.trace.regions import was_recorded
from atomsan.trace.symbols import SYMBOL_KINDS, Symbols

if TYPE_CHECKING:
    from atomsan.trace.events import SymbolKind

EVENTS = "events.arrows"
INSERTIONS = "insertions.arrows"
META = "meta.json"

# The metadata can be large (`holders`). Then it is not written again before this many times the time that writing it
# took, so that a recording spends only a small part of its time on it.
META_SMALL = 1 << 20
META_WAITS = 20

# Decompress in one thread: the other core validates and checks meanwhile.
_READ_OPTIONS = pa.ipc.IpcReadOptions(use_threads=False)


class BundleWriter:
    """Writes a bundle batch by batch into `directory`, which must exist and be empty.

    The bundle can be read at any moment, and stays readable if this process is killed.
    """

    def __init__(self, directory: Path, symbols: Symbols, meta: TraceMeta) -> None:
        self._directory = directory
        self._symbols = symbols
        self._meta = meta
        self._events = 0
        self._meta_text = ""
        self._meta_due = 0.0
        self._is_finished = False
        self._written = dict.fromkeys(SYMBOL_KINDS, 0)
        self._write_meta(complete=False)
        self._options = options = pa.ipc.IpcWriteOptions(compression="lz4")
        self._inserted: pa.ipc.RecordBatchStreamWriter | None = None
        self._files = [pa.OSFile(str(directory / EVENTS), "wb")]
        self._stream = pa.ipc.new_stream(self._files[0], EVENT_SCHEMA, options=options)
        self._tables = {}
        for kind in SYMBOL_KINDS:
            self._files.append(pa.OSFile(str(directory / f"{stored_name(kind)}.arrows"), "wb"))
            self._tables[kind] = pa.ipc.new_stream(self._files[-1], table_schema(kind), options=options)

    def write(self, batch: Batch) -> None:
        self._write_symbols()
        self._stream.write_batch(event_record_batch(batch))
        self._events += len(batch)

    def insert(self, insertions: Sequence[NDArray[Any]]) -> None:
        """Events that belong between those that were written."""
        for rows in insertions:
            if self._inserted is None:
                self._files.append(pa.OSFile(str(self._directory / INSERTIONS), "wb"))
                self._inserted = pa.ipc.new_stream(self._files[-1], INSERTION_SCHEMA, options=self._options)
            columns = [pa.array(rows[field.name], field.type, safe=False) for field in INSERTION_SCHEMA]
            self._inserted.write_batch(pa.RecordBatch.from_arrays(columns, schema=INSERTION_SCHEMA))
            self._events += len(rows)

    def flush(self) -> None:
        """Write the symbols and the metadata so far."""
        self._write_symbols()
        if len(self._meta_text) < META_SMALL or time.monotonic() >= self._meta_due:
            self._write_meta(complete=False)

    def finish(self) -> None:
        """Write the rest and mark the bundle as complete."""
        self._write_symbols()
        for stream in (self._stream, *self._tables.values(), self._inserted):
            if stream is not None:
                stream.close()
        self.close()
        self._is_finished = True
        self._write_meta(complete=self._meta.complete)

    def close(self) -> None:
        for file in self._files:
            file.close()

    def _write_symbols(self) -> None:
        for kind, stream in self._tables.items():
            table = self._symbols.table(kind)
            for batch in symbol_record_batches(table, self._written[kind]):
                stream.write_batch(batch)
            self._written[kind] = len(table)

    def _write_meta(self, *, complete: bool) -> None:
        start = time.monotonic()
        is_growing = not self._is_finished
        content = meta_to_json(self._meta, self._symbols, self._events, complete=complete, is_growing=is_growing)
        text = json.dumps(content, indent=1) + "\n"
        if text != self._meta_text:
            # replaced in one step, so that a reader never finds half of it
            partial = self._directory / f".{META}.partial"
            partial.write_text(text)
            os.replace(partial, self._directory / META)
            self._meta_text = text
        now = time.monotonic()
        self._meta_due = now + META_WAITS * (now - start)


class BundleSource:
    """The batches of a bundle; of one that was cut short, those before the cut.

    The process that wrote the bundle can pass its `symbols`, which are then not read again, and the `owner` of the
    directory, who removes it when nobody needs it any more.
    """

    def __init__(self, directory: Path, symbols: Symbols | None = None, *, owner: object = None) -> None:
        self._directory = directory
        self._owner = owner
        self._is_cut = False
        self.symbols = Symbols()
        content = _read_meta(directory)
        self.meta = meta_from_json(content, self.symbols, "bundle", str(directory))
        self.meta.cut = self.meta.missing
        # Of a bundle that is still being written, only what is there now: later events may use symbols not read here.
        self._events_size = None if self.meta.complete else _size(directory / EVENTS)
        # before the symbols, which know what these use
        self._insertions = self._read_insertions()
        if symbols is not None:
            self.symbols = symbols
            return
        for kind in stored_tables(content):
            self._read_table(kind)
        self.meta.recorded = self.meta.recorded or was_recorded(self.symbols)

    def batches(self) -> Iterator[Batch]:
        given = 0
        for batch in with_insertions(self._stored_batches(), self._insertions):
            yield batch
            given += len(batch)
        if self.meta.events is not None and given < self.meta.events and not self._is_cut:
            self._warn(f"{EVENTS} is cut: {given} of {self.meta.events} events are there")
        if not self._is_cut and self.meta.cut == CUT_SHORT:
            self.meta.cut = f"{CUT_SHORT}: {given} events are there"
            self._warn(self.meta.cut)

    def _stored_batches(self) -> Iterator[Batch]:
        given = 0
        for batch in self._record_batches(EVENTS, EVENT_SCHEMA):
            if len(batch):
                yield Batch(given, *(column.to_numpy() for column in batch.columns))
                given += len(batch)

    def _read_insertions(self) -> list[NDArray[Any]]:
        if not (self._directory / INSERTIONS).exists():
            return []
        found = []
        for batch in self._record_batches(INSERTIONS, INSERTION_SCHEMA):
            rows = np.empty(len(batch), INSERTION_ROW)
            for name in INSERTION_SCHEMA.names:
                rows[name] = batch.column(name).to_numpy()
            found.append(rows)
        return found

    def place(self, event: int) -> Place:
        return Place(self.meta.source, None, event)

    def _read_table(self, kind: SymbolKind) -> None:
        name = f"{stored_name(kind)}.arrows"
        try:
            for batch in self._record_batches(name, table_schema(kind)):
                append_symbols(self.symbols.table(kind), batch)
        except ValueError as error:
            raise InputError(f"damaged: {first_line(error)}", source=str(self._directory / name)) from error
        except InputError as error:
            if error.place.source is None:
                error.set_source(str(self._directory / name))
            raise

    def _warn(self, text: str) -> None:
        """Something is missing at the end of a file."""
        self._is_cut = True
        self.meta.complete = False
        self.meta.cut = self.meta.cut or text
        self.meta.warnings.append(text)

    def _record_batches(self, name: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The record batches of a stream, up to the cut if it was cut short."""
        path = self._directory / name
        try:
            with _opened(path) as raw, pa.OSFile(str(path), "rb") as file:
                if file.size() < len(MARKER):
                    self._warn(f"{name} is cut: it is empty")
                    return
                # a file without it is not a stream, and not one that was cut
                if raw.read(len(MARKER)) != MARKER:
                    raise InputError("not an Arrow stream", source=str(path))
                yield from self._stream(file, raw.fileno(), name, schema)
        except FileNotFoundError as error:
            raise InputError(f"the bundle has no {name}", source=str(self._directory)) from error
        except OSError as error:
            raise InputError(f"cannot be read: {error}", source=str(path)) from error

    def _stream(self, file: pa.NativeFile, raw: int, name: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        source = str(self._directory / name)

        def read(offset: int, size: int) -> bytes:
            return os.pread(raw, size, offset)

        try:
            check_message(read, file.size(), 0)
            stream = pa.ipc.open_stream(file, options=_READ_OPTIONS)
        except StreamCutError:
            self._warn(f"{name} is cut before its first batch")
            return
        except InputError as error:
            raise InputError(f"not an Arrow stream: {error.message}", source=source) from error
        except (pa.ArrowException, OSError, ValueError) as error:
            if _is_at_end(file):
                self._warn(f"{name} is cut before its first batch")
                return
            raise InputError(f"not an Arrow stream: {first_line(error)}", source=source) from error
        check_schema(stream.schema, schema, source)
        number = 0
        end = self._events_size if name == EVENTS else None
        while end is None or file.tell() < end:
            try:
                check_message(read, file.size(), file.tell())
                batch = stream.read_next_batch()
                batch.validate(full=True)
                batch = batch.select([name for name in schema.names if name in batch.schema.names])
            except StopIteration:
                return
            except StreamCutError:
                if file.tell() < file.size():
                    self._warn(f"{name} is cut inside batch {number}; the batches before it were read")
                return
            except InputError as error:
                raise InputError(f"batch {number} is damaged: {error.message}", source=source) from error
            except MemoryError as error:
                raise InputError(f"not enough memory for batch {number}: {first_line(error)}", source=source) from error
            except (pa.ArrowException, OSError, ValueError, KeyError) as error:
                if _is_at_end(file):
                    self._warn(f"{name} is cut inside batch {number}; the batches before it were read")
                    return
                raise InputError(f"batch {number} is damaged: {first_line(error)}", source=source) from error
            if any(not field.nullable and batch.column(field.name).null_count for field in schema):
                raise InputError(f"batch {number} is damaged: it has nulls", source=source)
            yield batch
            number += 1


@contextmanager
def _opened(path: Path) -> Iterator[io.FileIO]:
    """A file of a bundle. Nothing else: a pipe would hang, a device has no end, a link leads out of the bundle."""
    try:
        file = io.FileIO(str(path), opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK | os.O_NOFOLLOW))
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO):
            raise
        raise InputError("not a file: a bundle has no links, pipes or devices in it", source=str(path)) from error
    with file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise InputError("not a file: a bundle has no links, pipes or devices in it", source=str(path))
        yield file


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None  # reading it will say why


def _is_at_end(file: pa.NativeFile) -> bool:
    """Whether a read failed because the file ended."""
    return bool(file.tell() >= file.size())


def _read_meta(directory: Path) -> Any:
    path = directory / META
    try:
        with _opened(path) as file:
            return json.loads(file.read())
    except FileNotFoundError as error:
        raise InputError(f"a directory, but not a trace bundle (it has no {META})", source=str(directory)) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", source=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid JSON: {first_line(error)}", source=str(path)) from error
