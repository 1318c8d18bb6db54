"""Makes bundles and Parquet archives from the fuzzer's bytes (a recipe): valid ones with damage, or arbitrary ones.

A recipe is a kind (a byte) and sections separated by `SEPARATOR`. An even kind damages the parts of a valid archive:
each section is the number of a part (a byte) and the commands of `patches.patched`. An odd kind says what stands in the
parts: the events (four bytes each: thread, op, target, site), the names of the seven tables (a line each), and the
fields of the metadata in JSON; the bits of the kind add what else a foreign writer may do. Sections left out are as in
a valid archive.
"""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from atomsan.trace.arrow import EVENT_SCHEMA, STORAGE_FORMAT, stored_name, table_schema
from atomsan.trace.symbols import SYMBOL_KINDS
from fuzz.patches import SEPARATOR, patched

# What the bits of an odd kind do, apart from bit 0.
_LZ4, _WITH_NULLS, _OTHER_TYPE, _MORE_COLUMNS = 2, 4, 8, 16
_FEWER_COLUMNS, _EMPTY_BATCHES, _ONE_BATCH = 32, 64, 128

_EVENTS = bytes(
    [
        *(0, 6, 0, 0, 0, 0, 0, 1, 0, 4, 1, 255, 1, 2, 0, 2, 1, 1, 1, 3, 1, 8, 0, 4),
        *(1, 3, 0, 0, 2, 9, 0, 255, 0, 5, 1, 1, 0, 7, 0, 2),
    ]
)
_NAMES = [
    *(b"T0\nT1\nT2", b"x\na variable with a long name\n\xc3\xa9", b"lock", b"m:f"),
    *(b"m\n", b"h", b"a.py:1\n2\nc.py:3\n4\n5"),
]

# The symbol tables, in the order of `SYMBOL_KINDS`, as files and metadata keys name them.
_TABLES = tuple(map(stored_name, SYMBOL_KINDS))
_COUNT = len(_TABLES) + 2  # with the events before them, and the metadata behind

Parts = dict[str, bytes]


def recipes() -> Iterator[bytes]:
    """Seeds: complete archives of every kind, and some damaged ones."""
    whole = SEPARATOR.join([_EVENTS, *_NAMES, b"{}"])
    for bit in range(8):
        yield bytes([1 | 1 << bit]) + whole
    yield bytes([1]) + SEPARATOR.join([_EVENTS, *_NAMES[:-1], b"x", b'{"numbered_sites": {"first": 1, "count": 9}}'])
    yield b"\0"
    yield b"\2"
    for part in range(_COUNT):
        yield bytes([0, part]) + b"\x03\0\x50\0"
        yield bytes([2, part]) + b"\0\x01\0\x04abcd"


def bundle(recipe: bytes, directory: Path) -> Path:
    """The bundle that a recipe describes, in a directory that is used again and again."""
    path = directory / "fuzz.atomtrace"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    for name, content in _parts(recipe).items():
        (path / name).write_bytes(content)
    return path


def parquet(recipe: bytes, directory: Path) -> Path:
    """The same parts as a Parquet archive. Damage to the first of them hits the file, to others the tables in it."""
    parts = _parts(recipe, damaged=_TABLES)
    path = directory / "fuzz.parquet"
    path.write_bytes(_packed(parts))
    if _is_damage(recipe):
        path.write_bytes(patched(path.read_bytes(), _damage(recipe).get(0, b"")))
    return path


def _is_damage(recipe: bytes) -> bool:
    return not recipe[:1] or recipe[0] % 2 == 0


def _parts(recipe: bytes, damaged: tuple[str, ...] = ("events", *_TABLES, "meta")) -> Parts:
    """The parts of a bundle by file name: the events, the tables, the metadata."""
    if not _is_damage(recipe):
        return _made(recipe[0], recipe[1:].split(SEPARATOR))
    parts = _made(1 | (_LZ4 if recipe[:1] and recipe[0] & 2 else 0), [])
    damage = _damage(recipe)
    return {
        name: patched(content, damage.get(number, b"")) if name.partition(".")[0] in damaged else content
        for number, (name, content) in enumerate(parts.items())
    }


def _damage(recipe: bytes) -> dict[int, bytes]:
    return {section[0] % _COUNT: section[1:] for section in recipe[1:].split(SEPARATOR) if section}


def _made(kind: int, sections: list[bytes]) -> Parts:
    """Parts as the sections of a recipe say."""
    given = dict(enumerate(sections))
    options = pa.ipc.IpcWriteOptions(compression="lz4" if kind & _LZ4 else None)
    rows = given.get(0, _EVENTS)
    batches = [_event_batch(rows, kind)]
    if kind & _EMPTY_BATCHES:
        batches = [batches[0].slice(0, 0), *batches, batches[0].slice(0, 0)]
    parts = {"events.arrows": _stream(batches if kind & _ONE_BATCH else _cut(batches), options)}
    for number, table in enumerate(_TABLES, 1):
        batch = _names_batch(given.get(number, _NAMES[number - 1]), number, kind)
        parts[f"{table}.arrows"] = _stream([batch.slice(0, 0), batch] if kind & _EMPTY_BATCHES else [batch], options)
    parts["meta.json"] = _meta(given.get(_COUNT - 1, b""))
    return parts


def _event_batch(rows: bytes, kind: int) -> pa.RecordBatch:
    cells = np.frombuffer(rows[: len(rows) // 4 * 4], np.uint8).reshape(-1, 4).astype(np.uint32)
    cells[:, 2:][cells[:, 2:] == 255] = 0xFFFFFFFF
    columns: list[pa.Array] = [pa.array(cells[:, i], field.type) for i, field in enumerate(EVENT_SCHEMA)]
    return _foreign(columns, EVENT_SCHEMA.names, kind)


def _names_batch(lines: bytes, number: int, kind: int) -> pa.RecordBatch:
    names = lines.split(b"\n") if lines else []
    offsets = np.cumsum([0, *map(len, names)], dtype=np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(names))]
    schema = table_schema(SYMBOL_KINDS[number - 1])
    columns: list[pa.Array] = [pa.Array.from_buffers(pa.utf8(), len(names), buffers)]
    columns += [pa.nulls(len(names), field.type) for field in list(schema)[1:]]
    return _foreign(columns, schema.names, kind)


def _foreign(columns: list[pa.Array], names: list[str], kind: int) -> pa.RecordBatch:
    """The columns as another writer may write them."""
    size = len(columns[0])
    if kind & _WITH_NULLS and size:
        bits = np.packbits(np.arange(size) % 8 != 1, bitorder="little")
        buffers = [pa.py_buffer(bits), *columns[0].buffers()[1:]]
        columns = [pa.Array.from_buffers(columns[0].type, size, buffers), *columns[1:]]
    if kind & _OTHER_TYPE:
        columns = [*columns[:-1], pa.array([b""] * size, pa.binary())]
    if kind & _MORE_COLUMNS:
        columns, names = [*columns, pa.nulls(size)], [*names, names[0] if kind & _LZ4 else "more"]
    if kind & _FEWER_COLUMNS:
        columns, names = columns[1:], names[1:]
    if not columns:
        columns, names = [pa.nulls(size)], ["nothing"]
    return pa.RecordBatch.from_arrays(columns, names)


def _cut(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    return [piece for batch in batches for piece in (batch.slice(0, 3), batch.slice(3))]


def _stream(batches: list[pa.RecordBatch], options: pa.ipc.IpcWriteOptions) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema, options=options) as stream:
        for batch in batches:
            stream.write_batch(batch)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _meta(section: bytes) -> bytes:
    """Fields of a JSON object, put into a valid one; anything else as it is."""
    valid = {
        "format": STORAGE_FORMAT,
        "complete": True,
        "events": None,
        "program": "p",
        "command_line": ["p"],
        "seconds": 1.5,
    }
    try:
        given = json.loads(section or b"{}")
        return json.dumps(valid | given).encode()
    except (ValueError, TypeError, RecursionError):
        return section


def _packed(parts: Parts) -> bytes:
    """A Parquet file of the parts. Its events are read back from their stream, which must be whole."""
    events = pa.ipc.open_stream(parts["events.arrows"]).read_all()
    metadata = {f"atomsan.{table}".encode(): parts[f"{table}.arrows"] for table in _TABLES}
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, events.schema, compression="none") as writer:
        writer.write_table(events)
        writer.add_key_value_metadata(metadata | {b"atomsan.meta": parts["meta.json"]})
    return sink.getvalue()
