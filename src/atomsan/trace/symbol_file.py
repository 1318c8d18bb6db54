"""Symbol files: the rows of a symbol table as a stream of Arrow, written as they come and read again one by one.

A bundle has one for each table. While a program is recorded, its objects die, and their names are of no use to the
recording; so once written, rows leave memory (`SymbolTable.leave_memory`), and who still asks for one finds it here. So
does who checks a stored trace.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from atomsan.errors import InputError
from atomsan.trace.arrow import (
    check_schema,
    first_line,
    input_file,
    output_file,
    symbol_record_batches,
    table_schema,
)
from atomsan.trace.arrow_sizes import StreamCutError, check_message
from atomsan.trace.bundle_files import opened
from atomsan.trace.memory import TooLargeError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from atomsan.trace.events import SymbolKind
    from atomsan.trace.symbols import SymbolTable

# So many record batches are kept for the next question.
MOST_READ = 8


class StoredSymbols:
    """Rows that stand in a file at `path`, by the record batches that were added so far."""

    def __init__(self, path: Path, kind: SymbolKind) -> None:
        self.path = path
        self.kind: SymbolKind = kind
        self._firsts, self._offsets = array("Q"), array("Q")
        """Of each record batch: its first symbol, and where it stands in the file."""
        self._count = 0
        self._read: OrderedDict[int, pa.RecordBatch] = OrderedDict()

    def add(self, offset: int, rows: int) -> None:
        """One more record batch is there."""
        self._firsts.append(self._count)
        self._offsets.append(offset)
        self._count += rows

    def write(self, table: SymbolTable) -> None:
        """They are written already."""

    def value(self, number: int, field: str) -> Any:
        """A column of a row: its `name`, or a field."""
        return self.values((number,), field)[0]

    def values(self, numbers: Sequence[int], field: str) -> list[Any]:
        """The same of several rows, whose numbers ascend."""
        found: list[Any] = []
        start = 0
        while start < len(numbers):
            at = bisect_right(self._firsts, numbers[start]) - 1
            batch, first = self._batch(at), self._firsts[at]
            stop = bisect_left(numbers, first + len(batch), start)
            if field in batch.schema.names:
                rows = pa.array([number - first for number in numbers[start:stop]], pa.uint32())
                found += batch.column(field).take(rows).to_pylist()
            else:  # a file of a version that did not have this column
                found += [None] * (stop - start)
            start = stop
        return found

    def _batch(self, at: int) -> pa.RecordBatch:
        batch = self._read.pop(at, None)
        if batch is None:
            try:
                batch = self._batch_at(self._offsets[at], self._rows_of(at))
            except TooLargeError as error:
                error.set_source(str(self.path))
                raise
            except InputError as error:
                raise InputError(f"batch {at} is damaged: {error.message}", source=str(self.path)) from error
            except (pa.ArrowException, OSError, ValueError, MemoryError, StopIteration, StreamCutError) as error:
                why = first_line(error) or "the file has been cut"
                raise InputError(f"batch {at} cannot be read again: {why}", source=str(self.path)) from error
            if len(self._read) >= MOST_READ:
                self._read.popitem(last=False)
        self._read[at] = batch
        return batch

    def _rows_of(self, at: int) -> int:
        return (self._firsts[at + 1] if at + 1 < len(self._firsts) else self._count) - self._firsts[at]

    def _batch_at(self, offset: int, rows: int) -> pa.RecordBatch:
        """It was looked at when it was added, but the file can be another one by now."""
        with opened(self.path) as raw, input_file(self.path, raw) as file:

            def read(at: int, size: int) -> bytes:
                return os.pread(raw.fileno(), size, at)

            check_message(read, file.size(), 0)
            stream = pa.ipc.open_stream(file)
            check_schema(stream.schema, table_schema(self.kind), str(self.path))
            # the schema is written with the first batch
            offset = max(offset, file.tell())
            check_message(read, file.size(), offset)
            file.seek(offset)
            batch = stream.read_next_batch()
            batch.validate(full=True)
            if len(batch) != rows or batch.column("name").null_count:
                raise InputError("it has changed")
            return batch


class SymbolFile(StoredSymbols):
    """The file of a table of one kind, which is being written."""

    def __init__(self, path: Path, kind: SymbolKind, options: pa.ipc.IpcWriteOptions | None = None) -> None:
        super().__init__(path, kind)
        self._file = output_file(path)
        self._stream = pa.ipc.new_stream(self._file, table_schema(kind), options=options or pa.ipc.IpcWriteOptions())

    def write(self, table: SymbolTable) -> None:
        """Write what is new in the table. Symbols that are numbered by a run have no rows."""
        self._count = max(self._count, table.names.numbered_count)
        for batch in symbol_record_batches(table, self._count):
            offset = self._file.tell()
            self._stream.write_batch(batch)
            self._file.flush()  # it is read by its name
            self.add(offset, len(batch))

    def finish(self) -> None:
        """Mark the end of the stream."""
        self._stream.close()

    def close(self) -> None:
        self._file.close()
