"""Reads and writes archives: a whole trace in one Parquet file, little more than half the size of a bundle.

The rows are the events, so any Parquet reader can open them. The symbol tables are in the file's key-value metadata,
each as a compressed Arrow stream under `atomsan.threads`, `atomsan.variables`, ..., and the content of a bundle's
`meta.json` under `atomsan.meta`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from atomsan.errors import InputError, Place
from atomsan.trace.arrow import (
    EVENT_SCHEMA,
    append_symbols,
    check_schema,
    event_record_batch,
    first_line,
    input_file,
    meta_from_json,
    meta_to_json,
    output_file,
    stored_name,
    stored_tables,
    symbol_record_batches,
    table_schema,
)
from atomsan.trace.arrow_sizes import KeptSizes, StreamCutError, messages
from atomsan.trace.events import BATCH_EVENTS, Batch, SymbolKind
from atomsan.trace.memory import TooLargeError, check_room_for_json
from atomsan.trace.meta import CUT_SHORT, TraceMeta
from atomsan.trace.parquet_sizes import check_pages
from atomsan.trace.regions import was_recorded
from atomsan.trace.symbols import SYMBOL_KINDS, Symbols, SymbolTable

_META_KEY = b"atomsan.meta"

# Hundreds of millions of names are legal metadata here, so the reader's limit on the length of texts is raised. A list
# is allocated as long as it claims to be, and has a row for each batch at most.
_MOST_TEXT = (1 << 31) - 1
_MOST_ROWS = 1 << 20


def _table_key(kind: SymbolKind) -> bytes:
    return b"atomsan." + stored_name(kind).encode()


class ParquetWriter:
    """Writes an archive batch by batch; the symbol tables follow at the end."""

    def __init__(self, path: Path, symbols: Symbols, meta: TraceMeta) -> None:
        self._symbols = symbols
        self._meta = meta
        self._events = 0
        self._file = output_file(path)
        self._writer = pq.ParquetWriter(
            self._file,
            EVENT_SCHEMA,
            compression="zstd",
            use_dictionary=False,
            column_encoding=dict.fromkeys(("thread", "target", "site"), "DELTA_BINARY_PACKED"),
        )

    def write(self, batch: Batch) -> None:
        self._writer.write_batch(event_record_batch(batch), row_group_size=BATCH_EVENTS)
        self._events += len(batch)

    def finish(self) -> None:
        content = meta_to_json(self._meta, self._symbols, self._events, complete=self._meta.complete)
        metadata = {_META_KEY: json.dumps(content).encode()}
        metadata |= {_table_key(kind): _pack(self._symbols.table(kind)) for kind in SYMBOL_KINDS}
        self._writer.add_key_value_metadata(metadata)
        self.close()

    def close(self) -> None:
        self._writer.close()
        self._file.close()


class ParquetSource:
    """The batches of an archive."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._kept = KeptSizes()
        self.symbols = Symbols()
        try:
            self._source = input_file(Path(path))
            self._file = pq.ParquetFile(
                self._source,
                thrift_string_size_limit=_MOST_TEXT,
                thrift_container_size_limit=_MOST_ROWS,
            )
            metadata = self._file.metadata.metadata or {}
        except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
            raise InputError(f"a cut or damaged Parquet file: {first_line(error)}", source=path) from error
        check_schema(self._file.schema_arrow, EVENT_SCHEMA, path)
        if _META_KEY not in metadata:
            raise InputError("a Parquet file, but not a trace archive (it has no atomsan.meta)", source=path)
        try:
            check_room_for_json(len(metadata[_META_KEY]), path)
            content = json.loads(metadata[_META_KEY])
        except (ValueError, RecursionError) as error:
            raise InputError(f"its metadata is not valid JSON: {first_line(error)}", source=path) from error
        self.meta = meta_from_json(content, self.symbols, "parquet", path)
        for kind in stored_tables(content):
            self._unpack(self.symbols.table(kind), metadata.get(_table_key(kind), b""))
        self.meta.recorded = self.meta.recorded or was_recorded(self.symbols)
        if not self.meta.complete and self.meta.cut is None:
            self.meta.cut = f"{CUT_SHORT} before it was archived"
            self.meta.warnings.append(self.meta.cut)

    def batches(self) -> Iterator[Batch]:
        given = 0
        try:
            self._check_pages()
            for batch in self._file.iter_batches(BATCH_EVENTS, columns=EVENT_SCHEMA.names):
                if any(column.null_count for column in batch.columns):
                    raise InputError("an event has a null", source=self._path)
                yield Batch(given, *(column.to_numpy() for column in batch.columns))
                given += len(batch)
            if self.meta.events is not None and given != self.meta.events:
                self.meta.complete = False
                self.meta.cut = f"it has {given} events, and says it has {self.meta.events}"
                self.meta.warnings.append(self.meta.cut)
        except InputError as error:
            error.set_source(self._path)
            raise
        except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
            raise InputError(f"cut or damaged after event {given}: {first_line(error)}", source=self._path) from error
        finally:
            self.close()

    def _check_pages(self) -> None:
        with open(self._path, "rb", buffering=0) as file:
            check_pages(lambda at, count: os.pread(file.fileno(), count, at), self._file.metadata, EVENT_SCHEMA.names)

    def place(self, event: int) -> Place:
        return Place(self._path, None, event)

    def close(self) -> None:
        self._file.close()
        self._source.close()

    def _unpack(self, table: SymbolTable, packed: bytes) -> None:
        try:
            at = 0
            for message in messages(lambda at, count: packed[at : at + count], len(packed)):
                self._kept.add(message.end - at, message.unpacked)
                at = message.end
            with pa.ipc.open_stream(packed) as stream:
                check_schema(stream.schema, table_schema(table.kind), self._path)
                for batch in stream:
                    batch.validate(full=True)
                    append_symbols(table, batch)
        except StreamCutError:
            raise InputError(f"its table of {table.kind} is cut", source=self._path) from None
        except TooLargeError as error:
            error.set_source(self._path)
            raise
        except InputError as error:
            raise InputError(f"its table of {table.kind} is damaged: {error.message}", source=self._path) from error
        except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
            raise InputError(f"its table of {table.kind} is damaged: {first_line(error)}", source=self._path) from error


def _pack(table: SymbolTable) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table_schema(table.kind), options=options) as stream:
        for batch in symbol_record_batches(table):
            stream.write_batch(batch)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed
