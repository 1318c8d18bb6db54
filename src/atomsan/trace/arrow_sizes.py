"""Looks at the sizes that an Arrow stream claims, before Arrow allocates them.

A stream is a row of messages: a marker, the length of the metadata, the metadata, a body. The metadata is a flatbuffer
that tells the length of the body and where in it each buffer is; a compressed buffer begins with its length when it is
unpacked. Arrow believes all of these. Here, a body has to be in the file, buffers must not overlap, none may unpack to
more than its compression can do, and all of a message has to fit into the memory that may be taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct, error
from typing import NamedTuple

from atomsan.errors import InputError
from atomsan.trace.memory import check_room

MARKER = b"\xff\xff\xff\xff"

_RECORD_BATCH = 3
_SCHEMA = 1
_LZ4, _ZSTD = 0, 1
# By codec: how many times its length a buffer may unpack to, and how many bytes whatever its length is. LZ4 can do no
# more by its format; of Zstandard, a column of a million equal names becomes a few bytes.
_MOST_UNPACKED = {_LZ4: (255, 0), _ZSTD: (1000, 1 << 26)}
# The same for all that is kept of a trace.
_MOST_KEPT, _ALWAYS_KEPT = 1000, 1 << 28
# A table of symbols has a dozen columns, of at most three buffers each.
_MOST_BUFFERS = 256
# What describes these has some kilobytes; in a file with holes, gigabytes of zeros can stand in its place.
_MOST_METADATA = 1 << 20

_INT32, _UINT32, _UINT16, _INT64 = Struct("<i"), Struct("<I"), Struct("<H"), Struct("<q")
_BUFFER = Struct("<qq")

ReadAt = Callable[[int, int], bytes]
"""The bytes at an offset, fewer at the end."""


class StreamCutError(Exception):
    """The stream ends inside a message."""


class Message(NamedTuple):
    """Where a message ends, and what it is; it is the last one if it is `is_end`."""

    end: int
    is_end: bool
    unpacked: int = 0
    """How many bytes its body has when it is unpacked."""


class KeptSizes:
    """What is kept of the messages of one or more streams: how many bytes they have, and have when unpacked.

    A column of equal texts becomes next to nothing. All of a trace's tables together do not: they have names in them.
    """

    def __init__(self) -> None:
        self._packed = self._unpacked = self._kept = 0

    def add(self, packed: int, unpacked: int, kept: int | None = None) -> None:
        """One more message, of which all or so much is kept. An `InputError` says that they are too large."""
        self._packed += packed
        self._unpacked += unpacked
        if self._unpacked > max(_MOST_KEPT * self._packed, _ALWAYS_KEPT):
            raise InputError(f"tables of {self._packed:,} bytes that claim to unpack to {self._unpacked:,}")
        self.keep(unpacked if kept is None else kept)

    def keep(self, size: int) -> None:
        """So many bytes more are kept."""
        self._kept += size
        check_room(self._kept, "tables")


def messages(read: ReadAt, size: int) -> Iterator[Message]:
    """All messages of a stream, each looked at."""
    at, is_end = 0, False
    while not is_end:
        found = check_message(read, size, at)
        yield found
        at, is_end, _ = found


def check_message(read: ReadAt, size: int, offset: int) -> Message:
    """Look at the message at an offset in a stream of `size` bytes. An `InputError` says what cannot be."""
    head = read(offset, 8)
    if len(head) < 8:
        raise StreamCutError
    if head[:4] != MARKER:
        raise InputError("not an Arrow message")
    length = _UINT32.unpack_from(head, 4)[0]
    if not length:
        return Message(offset + 8, is_end=True)
    body = offset + 8 + length
    if body > size:
        raise StreamCutError
    if length > _MOST_METADATA:
        raise InputError(f"a message with {length:,} bytes of metadata")
    unpacked = 0
    try:
        kind, table, body_length = _message(_Table.root(read(offset + 8, length)))
        if body_length < 0:
            raise InputError("a body of negative length")
        if body + body_length > size:
            raise StreamCutError
        if kind == _RECORD_BATCH and table is not None:
            unpacked = _check_buffers(table, body_length, lambda at, count: read(body + at, count))
        elif kind != _SCHEMA:
            raise InputError("a message that is neither a schema nor rows")
    except (error, IndexError) as problem:
        raise InputError("a message whose metadata is damaged") from problem
    check_room(max(unpacked, body_length), "a message")
    return Message(body + body_length, is_end=False, unpacked=unpacked)


def _message(table: _Table) -> tuple[int, _Table | None, int]:
    kind = table.at(1)
    length = table.at(3)
    return (
        0 if kind is None else table.raw[kind],
        table.table(2),
        0 if length is None else _INT64.unpack_from(table.raw, length)[0],
    )


def _check_buffers(batch: _Table, body_length: int, read: ReadAt) -> int:
    """How many bytes they have together when they are unpacked."""
    compression = batch.table(3)
    times = fine = None
    if compression is not None:
        codec = compression.at(0)
        limits = _MOST_UNPACKED.get(_LZ4 if codec is None else compression.raw[codec])
        if limits is None:
            raise InputError("a compression that is not known")
        times, fine = limits
    end = total = 0
    for number, (offset, length) in enumerate(batch.structs(2, _BUFFER)):
        if number == _MOST_BUFFERS:
            raise InputError(f"more than {_MOST_BUFFERS} buffers in one message")
        if length < 0 or (length and (offset < end or offset + length > body_length)):
            raise InputError("buffers that overlap, or are not in their message")
        if length:
            end = offset + length
        if times is not None and fine is not None and length >= _INT64.size:
            unpacked = _INT64.unpack(read(offset, _INT64.size))[0]
            if unpacked > max(times * length, fine):
                raise InputError(f"a buffer of {length:,} bytes that claims to unpack to {unpacked:,}")
            total += max(unpacked, 0)
        total += length
    return total


class _Table(NamedTuple):
    """A table of a flatbuffer: `place` is where it begins. Fields are found through its vtable."""

    raw: bytes
    place: int

    @classmethod
    def root(cls, raw: bytes) -> _Table:
        return cls(raw, _UINT32.unpack_from(raw)[0])

    def at(self, field: int) -> int | None:
        """Where a field is, if it is there."""
        vtable = self.place - _INT32.unpack_from(self.raw, self.place)[0]
        if vtable < 0:
            raise IndexError
        if 4 + 2 * field >= _UINT16.unpack_from(self.raw, vtable)[0]:
            return None
        offset = _UINT16.unpack_from(self.raw, vtable + 4 + 2 * field)[0]
        return self.place + offset if offset else None

    def table(self, field: int) -> _Table | None:
        at = self.at(field)
        return None if at is None else _Table(self.raw, at + _UINT32.unpack_from(self.raw, at)[0])

    def structs(self, field: int, struct: Struct) -> Iterator[tuple[int, int]]:
        at = self.at(field)
        if at is None:
            return
        vector = at + _UINT32.unpack_from(self.raw, at)[0]
        count = _UINT32.unpack_from(self.raw, vector)[0]
        for number in range(count):
            one, other = struct.unpack_from(self.raw, vector + 4 + number * struct.size)
            yield one, other
