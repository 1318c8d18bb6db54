"""Arrow schemas and conversions shared by the bundle and the Parquet archive: events, symbol tables, metadata."""

from __future__ import annotations

import io
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from atomsan import __version__
from atomsan.errors import InputError
from atomsan.trace.events import MAX_SYMBOLS
from atomsan.trace.meta import TraceMeta
from atomsan.trace.symbols import FIELDS, SYMBOL_KINDS, Symbols, SymbolTable

if TYPE_CHECKING:
    from atomsan.trace.events import Batch, SymbolKind

STORAGE_FORMAT = "atomtrace/2"

# The tables that a format does not have yet, by the formats that can be read.
_MISSING_TABLES: dict[str, frozenset[SymbolKind]] = {
    "atomtrace/1": frozenset({"functions"}),
    STORAGE_FORMAT: frozenset(),
}

EVENT_SCHEMA = pa.schema(
    [
        pa.field("thread", pa.uint32(), nullable=False),
        pa.field("op", pa.uint8(), nullable=False),
        pa.field("target", pa.uint32(), nullable=False),
        pa.field("site", pa.uint32(), nullable=False),
    ]
)

INSERTION_SCHEMA = pa.schema([pa.field("position", pa.uint64(), nullable=False), *EVENT_SCHEMA])

# Locations that no event accesses any more, after so many events (without insertions): their objects are gone. Whoever
# does not know them needs more memory, and nothing else.
DEAD_SCHEMA = pa.schema(
    [
        pa.field("after", pa.uint64(), nullable=False),
        pa.field("first", pa.uint32(), nullable=False),
        pa.field("count", pa.uint32(), nullable=False),
    ]
)

_ARROW = {str: pa.utf8(), int: pa.uint32()}

# A record batch of names stays far below the 2 GiB that 32-bit offsets can reach, and is quickly read for one of them.
_SYMBOLS_A_BATCH = 1 << 16


def output_file(path: Path) -> pa.NativeFile:
    """A new file."""
    return pa.OSFile(str(path), "wb") if _is_utf8(path) else pa.PythonFile(path.open("wb"), "w")


def input_file(path: Path, opened: io.FileIO | None = None) -> pa.NativeFile:
    """A file, which may be `opened`. Arrow's own files are faster than Python's, but take names in UTF-8 only."""
    if _is_utf8(path):
        return pa.OSFile(str(path), "rb")
    return pa.PythonFile(io.BufferedReader(opened) if opened else path.open("rb"), "r")


def _is_utf8(path: Path) -> bool:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def stored_name(kind: SymbolKind) -> str:
    """The name of a symbol table in a bundle or archive: these call locations `variables`."""
    return "variables" if kind == "locations" else kind


def table_schema(kind: SymbolKind) -> pa.Schema:
    """The columns of a symbol table: the name, then the fields of its kind."""
    fields = [pa.field("name", pa.utf8(), nullable=False)]
    fields += [pa.field(field, _ARROW[type_]) for field, type_ in FIELDS[kind].items()]
    return pa.schema(fields)


def event_record_batch(batch: Batch) -> pa.RecordBatch:
    """A batch of events as a record batch."""
    columns = [pa.array(column) for column in (batch.thread, batch.op, batch.target, batch.site)]
    return pa.RecordBatch.from_arrays(columns, schema=EVENT_SCHEMA)


def symbol_record_batches(table: SymbolTable, first: int = 0) -> Iterator[pa.RecordBatch]:
    """The symbols from number `first` on as record batches; numbered sites are left out."""
    for start in range(max(first, table.names.numbered_count), len(table), _SYMBOLS_A_BATCH):
        yield _symbol_record_batch(table, start, min(len(table), start + _SYMBOLS_A_BATCH))


def _symbol_record_batch(table: SymbolTable, start: int, stop: int) -> pa.RecordBatch:
    offsets, data = table.names.stored(start, stop)
    names = pa.StringArray.from_buffers(stop - start, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data))
    columns = [names]
    for field, type_ in FIELDS[table.kind].items():
        values = table.values(field, start, stop)
        if any(value is not None for value in values):
            values += [None] * (stop - start - len(values))
            columns.append(_array(values, type_))
        else:
            columns.append(pa.nulls(stop - start, _ARROW[type_]))
    return pa.RecordBatch.from_arrays(columns, schema=table_schema(table.kind))


def _array(values: list[Any], type_: type) -> pa.Array:
    try:
        return pa.array(values, _ARROW[type_])
    except UnicodeEncodeError:  # who made the trace in Python gave a text that is none in UTF-8
        return pa.array([one and one.encode(errors="backslashreplace").decode() for one in values], _ARROW[type_])


def append_symbols(table: SymbolTable, batch: pa.RecordBatch) -> None:
    """Append the symbols of a record batch to a table."""
    names = batch.column("name")
    start = len(table)
    raw = _checked_names(names)
    raw_offsets = names.buffers()[1]
    offsets = np.frombuffer(raw_offsets, np.int32)[names.offset : names.offset + len(names) + 1].astype(np.uint64)
    table.names.extend(offsets, raw)
    for field in FIELDS[table.kind]:
        if field in batch.schema.names and batch.column(field).null_count < len(batch):
            if table.names.numbered_count:
                raise ValueError("numbered sites have no fields")
            column = table.columns.setdefault(field, [])
            column.extend([None] * (start - len(column)))
            column.extend(batch.column(field).to_pylist())


def leave_out_symbols(table: SymbolTable, batch: pa.RecordBatch) -> None:
    """As `append_symbols`, for a table whose rows are read from where they are."""
    _checked_names(batch.column("name"))
    table.names.skip(len(batch))
    if "object" in batch.schema.names:
        table.note_globals(batch.column("object").to_pylist(), lambda row: str(batch.column("name")[row]))
    for field in FIELDS[table.kind]:
        if field in batch.schema.names and batch.column(field).null_count < len(batch):
            table.columns.setdefault(field, [])


def _checked_names(names: pa.StringArray) -> bytes:
    """The names in one text."""
    if names.null_count:
        raise ValueError("a name is null")
    data = names.buffers()[2]
    raw = data.to_pybytes() if data is not None else b""
    if b"\0" in raw:
        raise ValueError("a name holds a NUL")
    return raw


def check_schema(found: pa.Schema, wanted: pa.Schema, source: str) -> None:
    """Refuse a schema that lacks a column or has it with another type; nullable columns may be missing."""
    for field in wanted:
        at = found.get_field_index(field.name)
        if at < 0 and field.nullable:
            continue  # written by a version that did not have this column
        if at < 0 or found.field(at).type != field.type:
            raise InputError(
                f"a foreign schema: expected a column {field.name} of type {field.type},"
                f" found {found.field(at).type if at >= 0 else 'none'}",
                source=source,
            )


_META_TYPES: dict[str, Any] = {
    "complete": bool,
    "cut": str | None,
    "recorded": bool | None,
    "events": int | None,
    "program": str | None,
    "command_line": list | None,
    "platform": str | None,
    "seconds": int | float | None,
    "classes": dict | None,
    "sets": dict | None,
    "fields": dict | None,
    "holders": dict | None,
    "followed": dict | None,
    "gaps": list | None,
    "unfollowed": list | None,
    "numbered_sites": dict | None,
}


def _platform() -> str:
    """System, release and machine; `platform.platform` would start a process to get the processor's name."""
    return "-".join(part for part in (platform.system(), platform.release(), platform.machine()) if part)


def meta_to_json(
    meta: TraceMeta, symbols: Symbols, events: int, *, complete: bool, is_growing: bool = False
) -> dict[str, Any]:
    """The metadata of a trace, as the content of `meta.json`. `is_growing`: more of it will come."""
    sites = symbols.sites.names
    content = {
        "format": STORAGE_FORMAT,
        "complete": complete,
        "cut": None if complete or is_growing else meta.cut,
        "recorded": meta.recorded,
        "events": events if complete else None,
        "program": meta.program,
        "command_line": meta.command_line,
        "platform": meta.platform or _platform(),
        "seconds": meta.seconds,
        "classes": meta.classes,
        "sets": meta.sets,
        "fields": meta.fields,
        "holders": meta.holders,
        "followed": meta.followed,
        "gaps": meta.gaps,
        "unfollowed": meta.unfollowed,
        "source": meta.source,
        "tool": f"atomsan {__version__}",
    }
    if sites.numbered_count:
        # Sites named first, first + 1, ... have no rows in the table of sites: they come before its rows.
        content["numbered_sites"] = {"first": sites.numbered_first, "count": sites.numbered_count}
    return content


def stored_tables(content: Any) -> list[SymbolKind]:
    """The symbol tables that are stored beside this content of `meta.json`, which `meta_from_json` has accepted."""
    missing = _MISSING_TABLES[content["format"]]
    return [kind for kind in SYMBOL_KINDS if kind not in missing]


def meta_from_json(content: Any, symbols: Symbols, format: str, source: str) -> TraceMeta:
    """The reverse of `meta_to_json`; numbered sites go into `symbols`."""
    if not isinstance(content, dict) or not isinstance(content.get("format"), str):
        raise InputError("does not say which format it has", source=source)
    if content["format"] not in _MISSING_TABLES:
        known_formats = " and ".join(map(repr, _MISSING_TABLES))
        raise InputError(
            f"has the format {content['format'][:60]!r}; this version reads {known_formats}", source=source
        )
    known: dict[str, Any] = {key: content.get(key) for key in _META_TYPES}
    for key, type_ in _META_TYPES.items():
        if not isinstance(known[key], type_):
            raise InputError(f"{key!r} has a wrong type", source=source)
    for key in ("events", "seconds"):
        if known[key] is not None and not 0 <= known[key] < float("inf"):
            raise InputError(f"{key!r} is out of range", source=source)
    for key in ("classes", "sets", "fields", "holders", "followed"):
        known[key] = _dict_of_lists(key, known[key] or {}, source)
    for key in ("gaps", "unfollowed"):
        known[key] = _list_of_texts(key, known[key] or [], source)
    known["recorded"] = bool(known["recorded"])
    numbered = known.pop("numbered_sites")
    if numbered is not None:
        limits = {"first": 1 << 40, "count": MAX_SYMBOLS + 1}
        if not all(isinstance(numbered.get(key), int) and 0 <= numbered[key] < limit for key, limit in limits.items()):
            raise InputError("'numbered_sites' is wrong", source=source)
        symbols.sites.names.number_from(numbered["first"], numbered["count"])
    known["cut"] = None if known["complete"] else known["cut"]
    warnings = [*known["unfollowed"], *known["gaps"], *([known["cut"]] if known["cut"] else [])]
    return TraceMeta(source, format, warnings=warnings, **known)


def _dict_of_lists(key: str, content: dict[Any, Any], source: str) -> dict[str, list[str]]:
    for names in content.values():
        _list_of_texts(key, names, source)
    return content


def _list_of_texts(key: str, content: Any, source: str) -> list[str]:
    if not isinstance(content, list) or not all(isinstance(text, str) for text in content):
        raise InputError(f"{key!r} is wrong", source=source)
    return content


def first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
