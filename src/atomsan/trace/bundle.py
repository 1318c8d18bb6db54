"""Reads and writes bundles, the native format: a directory `NAME.atomtrace` of Arrow streams and one JSON file.

    events.arrows      thread, op, target, site; LZ4; one record batch a batch
    insertions.arrows  if there are any: position, thread, op, target, site of events that belong between others
    dead.arrows        if there are any: locations that no event accesses after so many
    threads.arrows     one stream for each symbol table; row i is symbol i
    ...
    meta.json          "format": "atomtrace/2", where the trace comes from, and whether it is complete

A stream that was cut short stays readable up to the cut: symbols are written before the events that use them, and
`meta.json` has `"complete": false` until the last byte is written.

History of the format: 1, the first; 2, the table of functions, and which function a region and a site are of.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from atomsan.errors import InputError, Place
from atomsan.trace.arrow import (
    DEAD_SCHEMA,
    EVENT_SCHEMA,
    INSERTION_SCHEMA,
    append_symbols,
    check_schema,
    event_record_batch,
    first_line,
    input_file,
    leave_out_symbols,
    meta_from_json,
    meta_to_json,
    output_file,
    stored_name,
    stored_tables,
    table_schema,
)
from atomsan.trace.arrow_sizes import MARKER, KeptSizes, StreamCutError, check_message
from atomsan.trace.bundle_files import DEAD, EVENTS, INSERTIONS, META, META_PARTIAL, opened
from atomsan.trace.events import Batch, Op
from atomsan.trace.insertions import INSERTION_ROW, with_insertions
from atomsan.trace.memory import TooLargeError, check_room_for_json
from atomsan.trace.meta import CUT_SHORT, TraceMeta
from atomsan.trace.regions import was_recorded
from atomsan.trace.symbol_file import StoredSymbols, SymbolFile
from atomsan.trace.symbols import SYMBOL_KINDS, Symbols

if TYPE_CHECKING:
    from atomsan.trace.events import Column, SymbolKind

# The metadata can be large (`holders`). Then it is not written again before this many times the time that writing it
# took, so that a recording spends only a small part of its time on it.
META_SMALL = 1 << 20
META_WAITS = 20

# Of more locations, the names are read when somebody asks for one, if that was wanted.
MOST_SYMBOLS = 1 << 18

# So many rows about dead locations are written together.
DEAD_AT_ONCE = 1 << 12

# What a location takes whose name is not in memory, at least.
_LEFT_OUT = 8

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
        self._events = self._written_events = 0
        self._meta_text = ""
        self._meta_due = 0.0
        self._is_finished = False
        self._write_meta(complete=False)
        self._options = options = pa.ipc.IpcWriteOptions(compression="lz4")
        self._inserted: pa.ipc.RecordBatchStreamWriter | None = None
        self._died: pa.ipc.RecordBatchStreamWriter | None = None
        self._dead: list[tuple[NDArray[Any], ...]] = []
        """Rows that are not written yet: nobody needs them, so they wait until there are many."""
        self._dead_rows = 0
        self._files = [output_file(directory / EVENTS)]
        self._stream = pa.ipc.new_stream(self._files[0], EVENT_SCHEMA, options=options)
        self.tables = {
            kind: SymbolFile(directory / f"{stored_name(kind)}.arrows", kind, options) for kind in SYMBOL_KINDS
        }

    def write(self, batch: Batch) -> None:
        self._write_symbols()
        self._stream.write_batch(event_record_batch(batch))
        self._events += len(batch)
        self._written_events += len(batch)
        if batch.dead is not None:
            self._note_dead(batch.dead)

    def insert(self, insertions: Sequence[NDArray[Any]]) -> None:
        """Events that belong between those that were written."""
        for rows in insertions:
            if self._inserted is None:
                self._files.append(output_file(self._directory / INSERTIONS))
                self._inserted = pa.ipc.new_stream(self._files[-1], INSERTION_SCHEMA, options=self._options)
            columns = [pa.array(rows[field.name], field.type, safe=False) for field in INSERTION_SCHEMA]
            self._inserted.write_batch(pa.RecordBatch.from_arrays(columns, schema=INSERTION_SCHEMA))
            self._events += len(rows)

    def _note_dead(self, locations: Column) -> None:
        """Locations that no event accesses after those that were written: each run of numbers is one row."""
        starts = np.append(0, np.flatnonzero(locations[1:] - locations[:-1] != 1) + 1)
        counts = np.append(starts[1:], len(locations)) - starts
        self._dead.append((np.full(len(starts), self._written_events, np.uint64), locations[starts], counts))
        self._dead_rows += len(starts)
        if self._dead_rows >= DEAD_AT_ONCE:
            self._write_dead()

    def _write_dead(self) -> None:
        if not self._dead:
            return
        if self._died is None:
            self._files.append(output_file(self._directory / DEAD))
            self._died = pa.ipc.new_stream(self._files[-1], DEAD_SCHEMA, options=self._options)
        rows = [np.concatenate(column) for column in zip(*self._dead, strict=True)]
        columns = [pa.array(column, field.type) for column, field in zip(rows, DEAD_SCHEMA, strict=True)]
        self._died.write_batch(pa.RecordBatch.from_arrays(columns, schema=DEAD_SCHEMA))
        self._dead, self._dead_rows = [], 0

    def flush(self) -> None:
        """Write the symbols and the metadata so far."""
        self._write_symbols()
        if len(self._meta_text) < META_SMALL or time.monotonic() >= self._meta_due:
            self._write_meta(complete=False)

    def finish(self) -> None:
        """Write the rest and mark the bundle as complete."""
        self._write_symbols()
        self._write_dead()
        for stream in (self._stream, self._inserted, self._died):
            if stream is not None:
                stream.close()
        for table in self.tables.values():
            table.finish()
        self.close()
        self._is_finished = True
        self._write_meta(complete=self._meta.complete)

    def close(self) -> None:
        for file in (*self._files, *self.tables.values()):
            file.close()

    def _write_symbols(self) -> None:
        for kind, file in self.tables.items():
            file.write(self._symbols.table(kind))

    def _write_meta(self, *, complete: bool) -> None:
        start = time.monotonic()
        is_growing = not self._is_finished
        content = meta_to_json(self._meta, self._symbols, self._events, complete=complete, is_growing=is_growing)
        text = json.dumps(content, indent=1) + "\n"
        if text != self._meta_text:
            # replaced in one step, so that a reader never finds half of it
            partial = self._directory / META_PARTIAL
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

    def __init__(
        self, directory: Path, symbols: Symbols | None = None, *, owner: object = None, lean: bool = False
    ) -> None:
        self._directory = directory
        self._owner = owner
        self._is_cut = False
        self._offset = 0
        """Where the record batch stands in its file that was read last."""
        self._kept = KeptSizes()
        """Of tables and insertions, which stay in memory."""
        self._is_left_out = False
        """Whether the rows of the table at hand do not."""
        self._is_own = symbols is not None
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
            self._read_table(kind, lean=lean and kind == "locations")
        self.meta.recorded = self.meta.recorded or was_recorded(self.symbols)

    def batches(self) -> Iterator[Batch]:
        given = 0
        batches = with_insertions(self._stored_batches(), self._insertions)
        for batch in batches if self._is_own else self._alive(batches):
            yield batch
            given += len(batch)
        if self.meta.events is not None and given < self.meta.events and not self._is_cut:
            self._warn(f"{EVENTS} is cut: {given} of {self.meta.events} events are there")
        if not self._is_cut and self.meta.cut == CUT_SHORT:
            self.meta.cut = f"{CUT_SHORT}: {given} events are there"
            self._warn(self.meta.cut)

    def _alive(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The batches of a stranger, who may say of a location that it is dead, and access it later."""
        is_dead: NDArray[np.bool_] | None = None
        for batch in batches:
            if is_dead is not None:
                # targets are not known to be in range: one row more is of no location
                are_wrong = is_dead.take(batch.target, mode="clip") & (batch.op <= Op.WRITE)
                if are_wrong.any():
                    event = batch.first + int(are_wrong.argmax())
                    raise InputError(
                        f"damaged: event {event} accesses a location that is dead by then",
                        source=str(self._directory / DEAD),
                    )
            yield batch
            if batch.dead is not None:
                if is_dead is None:
                    is_dead = np.zeros(len(self.symbols.locations) + 1, np.bool_)
                is_dead[batch.dead] = True

    def _stored_batches(self) -> Iterator[Batch]:
        given = 0
        batches = self._record_batches(DEAD, DEAD_SCHEMA, is_optional=True)
        dead = _Dead(batches, len(self.symbols.locations), str(self._directory / DEAD))
        for batch in self._record_batches(EVENTS, EVENT_SCHEMA):
            if len(batch):
                thread, op, target, site = (column.to_numpy() for column in batch.columns)
                yield Batch(given, thread, op, target, site, dead.up_to(given + len(batch)))
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

    def _read_table(self, kind: SymbolKind, *, lean: bool) -> None:
        name = f"{stored_name(kind)}.arrows"
        table = self.symbols.table(kind)
        rows = StoredSymbols(self._directory / name, kind)
        try:
            for batch in self._record_batches(name, table_schema(kind)):
                rows.add(self._offset, len(batch))
                if self._is_left_out:
                    self._kept.keep(_LEFT_OUT * len(batch))
                    leave_out_symbols(table, batch)
                    continue
                append_symbols(table, batch)
                if lean and len(table) > MOST_SYMBOLS:
                    table.keep_in(rows)
                    table.leave_memory(0)
                    self._is_left_out = True
        except ValueError as error:
            raise InputError(f"damaged: {first_line(error)}", source=str(self._directory / name)) from error
        except InputError as error:
            if error.place.source is None:
                error.set_source(str(self._directory / name))
            raise
        finally:
            self._is_left_out = False

    def _warn(self, text: str) -> None:
        """Something is missing at the end of a file."""
        self._is_cut = True
        self.meta.complete = False
        self.meta.cut = self.meta.cut or text
        self.meta.warnings.append(text)

    def _record_batches(self, name: str, schema: pa.Schema, *, is_optional: bool = False) -> Iterator[pa.RecordBatch]:
        """The record batches of a stream, up to the cut if it was cut short. Of one that is optional nobody is told."""
        path = self._directory / name
        warn = _untold if is_optional else self._warn
        if is_optional and not os.path.lexists(path):
            return
        try:
            with opened(path) as raw, input_file(path, raw) as file:
                if file.size() < len(MARKER):
                    warn(f"{name} is cut: it is empty")
                    return
                # a file without it is not a stream, and not one that was cut
                if os.pread(raw.fileno(), len(MARKER), 0) != MARKER:
                    raise InputError("not an Arrow stream", source=str(path))
                yield from self._stream(file, raw.fileno(), name, schema, warn)
        except FileNotFoundError as error:
            raise InputError(f"the bundle has no {name}", source=str(self._directory)) from error
        except OSError as error:
            raise InputError(f"cannot be read: {error}", source=str(path)) from error

    def _stream(
        self, file: pa.NativeFile, raw: int, name: str, schema: pa.Schema, warn: Callable[[str], None]
    ) -> Iterator[pa.RecordBatch]:
        source = str(self._directory / name)

        def read(offset: int, size: int) -> bytes:
            return os.pread(raw, size, offset)

        try:
            check_message(read, file.size(), 0)
            stream = pa.ipc.open_stream(file, options=_READ_OPTIONS)
        except StreamCutError:
            warn(f"{name} is cut before its first batch")
            return
        except InputError as error:
            raise InputError(f"not an Arrow stream: {error.message}", source=source) from error
        except (pa.ArrowException, OSError, ValueError) as error:
            if _is_at_end(file):
                warn(f"{name} is cut before its first batch")
                return
            raise InputError(f"not an Arrow stream: {first_line(error)}", source=source) from error
        check_schema(stream.schema, schema, source)
        number = 0
        end = self._events_size if name == EVENTS else None
        while end is None or file.tell() < end:
            try:
                self._offset = file.tell()
                message = check_message(read, file.size(), self._offset)
                if name not in (EVENTS, DEAD):
                    kept = 0 if self._is_left_out else message.unpacked
                    self._kept.add(message.end - self._offset, message.unpacked, kept)
                batch = stream.read_next_batch()
                batch.validate(full=True)
                batch = batch.select([name for name in schema.names if name in batch.schema.names])
            except StopIteration:
                return
            except StreamCutError:
                if file.tell() < file.size():
                    warn(f"{name} is cut inside batch {number}; the batches before it were read")
                return
            except TooLargeError as error:
                error.set_source(source)
                raise
            except InputError as error:
                raise InputError(f"batch {number} is damaged: {error.message}", source=source) from error
            except MemoryError as error:
                raise InputError(f"not enough memory for batch {number}: {first_line(error)}", source=source) from error
            except (pa.ArrowException, OSError, ValueError, KeyError) as error:
                if _is_at_end(file):
                    warn(f"{name} is cut inside batch {number}; the batches before it were read")
                    return
                raise InputError(f"batch {number} is damaged: {first_line(error)}", source=source) from error
            if any(not field.nullable and batch.column(field.name).null_count for field in schema):
                raise InputError(f"batch {number} is damaged: it has nulls", source=source)
            yield batch
            number += 1


class _Dead:
    """Takes from a stream of dead locations those that are dead after so many events: each location dies once."""

    def __init__(self, batches: Iterator[pa.RecordBatch], locations: int, source: str) -> None:
        self._source = source
        self._batches = batches
        self._next: pa.RecordBatch | None = next(batches, None)
        self._locations = self._left = locations
        self._is_dead: NDArray[np.bool_] | None = None

    def up_to(self, events: int) -> Column | None:
        found = []
        while self._next is not None:
            here = int(np.searchsorted(self._next.column("after").to_numpy(), events, side="right"))
            first, count = (self._next.column(name).to_numpy()[:here].astype(np.int64) for name in ("first", "count"))
            self._check(first, count)
            ends = np.cumsum(count)
            dead = np.arange(int(count.sum())) + np.repeat(first - ends + count, count)
            if self._is_dead is None:
                self._is_dead = np.zeros(self._locations, np.bool_)
            if self._is_dead[dead].any():
                raise self._damaged("a location dies in it twice")
            self._is_dead[dead] = True
            if len(dead):
                found.append(dead.astype(np.uint32))
            if here < len(self._next):
                self._next = self._next.slice(here)
                break
            self._next = next(self._batches, None)
        return np.concatenate(found) if found else None

    def _check(self, first: NDArray[np.int64], count: NDArray[np.int64]) -> None:
        """Before memory is taken for them."""
        self._left -= int(count.sum())
        if self._left < 0:
            raise self._damaged("more locations die in it than there are")
        if (first + count).max(initial=0) > self._locations:
            raise self._damaged("a location dies in it that there is not")
        order = np.argsort(first, kind="stable")
        if (first[order][1:] < (first + count)[order][:-1]).any():
            raise self._damaged("a location dies in it twice")

    def _damaged(self, what: str) -> InputError:
        return InputError(f"damaged: {what}", source=self._source)


def _untold(text: str) -> None:
    """What is missing is of no interest."""


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
        with opened(path) as file:
            check_room_for_json(os.fstat(file.fileno()).st_size, str(path))
            return json.loads(file.read())
    except FileNotFoundError as error:
        raise InputError(f"a directory, but not a trace bundle (it has no {META})", source=str(directory)) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", source=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid JSON: {first_line(error)}", source=str(path)) from error
