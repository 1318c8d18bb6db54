"""Looks at the sizes that the pages of a Parquet file claim, before Arrow allocates them.

A column of a row group is a row of pages. Each begins with a header, a struct in Thrift's compact protocol, that says
how long the page is and how long when it is unpacked. Arrow believes that, and a few kilobytes of zstd can become
gigabytes of zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from atomsan.errors import InputError
from atomsan.trace.memory import check_room

if TYPE_CHECKING:
    ReadAt = Callable[[int, int], bytes]

# Writers begin a new page after about one megabyte.
MOST_PAGE = 1 << 26

# What a page of random bytes may grow by when it is packed.
_SLACK = 1 << 16

_MOST_HEADER = 1 << 16

# The fields of a header that are looked at.
_UNPACKED_SIZE, _PACKED_SIZE = 2, 3

# Types of Thrift's compact protocol.
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_INTEGERS = (4, 5, 6)


def check_pages(read: ReadAt, metadata: Any, columns: Collection[str]) -> None:
    """Look at all pages of these columns. An `InputError` says what cannot be."""
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for number in range(row_group.num_columns):
            column = row_group.column(number)
            if column.path_in_schema in columns:
                try:
                    _check_column(read, column)
                except (IndexError, RecursionError) as error:
                    raise InputError(f"row group {group}: a page whose header is damaged") from error


def _check_column(read: ReadAt, column: Any) -> None:
    at = column.data_page_offset
    if column.has_dictionary_page and 0 < column.dictionary_page_offset < at:
        at = column.dictionary_page_offset
    check_room(column.total_compressed_size, f"a column {column.path_in_schema}")
    end = at + column.total_compressed_size
    while at < end:
        header = _Header(read(at, min(_MOST_HEADER, end - at)))
        packed, unpacked = header.sizes()
        if not 0 <= unpacked <= MOST_PAGE:
            raise InputError(f"a page that claims to unpack to {unpacked:,} bytes")
        if not 0 <= packed <= min(unpacked + _SLACK, end - at - header.at):
            raise InputError(f"a page that claims to have {packed:,} bytes")
        at += header.at + packed


class _Header:
    """A struct of Thrift, read from its first byte on. An `IndexError` says that it is damaged or too long."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self.at = 0

    def sizes(self) -> tuple[int, int]:
        """The length of the page, and that when it is unpacked. Then `at` is behind the header."""
        found = self._struct()
        return found.get(_PACKED_SIZE, -1), found.get(_UNPACKED_SIZE, -1)

    def _struct(self) -> dict[int, int]:
        """The integers among its fields, by the number of the field."""
        integers: dict[int, int] = {}
        field = 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._integer()
            kind = head & 15
            if kind in _INTEGERS:
                integers[field] = self._integer()
            elif kind not in (_TRUE, _FALSE):  # these have their value in their type
                self._skip(kind)
        return integers

    def _skip(self, kind: int) -> None:
        if kind in _INTEGERS:
            self._varint()
        elif kind in (_TRUE, _FALSE, _BYTE):
            self._move(1)
        elif kind == _DOUBLE:
            self._move(8)
        elif kind == _BINARY:
            self._move(self._varint())
        elif kind in (_LIST, _SET):
            self._skip_list()
        elif kind == _STRUCT:
            self._struct()
        else:
            raise IndexError  # a map, which no header has, or no type at all

    def _skip_list(self) -> None:
        head = self._byte()
        count = self._varint() if head >> 4 == 15 else head >> 4
        if count > len(self._raw):
            raise IndexError
        for _ in range(count):
            self._skip(head & 15)

    def _move(self, size: int) -> None:
        self.at += size
        if self.at > len(self._raw):
            raise IndexError

    def _byte(self) -> int:
        self._move(1)
        return self._raw[self.at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def _integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
