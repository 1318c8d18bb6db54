"""Temporary symbols: rows of a symbol table that are in memory no more, where no trace is stored that has them.

The file has no name, so nothing is left of it however the process ends. Rows are packed together as they come and read
again one by one: most are names of dead objects, which nobody asks for. No Arrow, whose code and pools take as much
memory as all the rest of a live check.
"""

from __future__ import annotations

import marshal
import os
import tempfile
import weakref
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from atomsan.trace.output_paths import output_errors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from atomsan.trace.symbols import SymbolTable

# Rows that are packed together, and how many packs stay for the next question.
PACKED = 1 << 13
MOST_READ = 2

# By field: the values. Names are one text, and where each begins.
Pack = dict[str, Any]


class TemporarySymbols:
    """The rows of one table, which it writes as `SymbolTable.leave_memory` says."""

    def __init__(self) -> None:
        self._directory = tempfile.gettempdir()
        with output_errors(self._directory):
            self._file, path = tempfile.mkstemp(prefix="atomsan-")
            os.unlink(path)
        self._end = weakref.finalize(self, os.close, self._file)
        self._written = 0
        self._firsts, self._offsets = array("Q"), array("Q", [0])
        """Of each pack: its first symbol, and where it begins; the last offset is the end of the file."""
        self._read: OrderedDict[int, Pack] = OrderedDict()

    def write(self, table: SymbolTable) -> None:
        """Write what is new in the table."""
        for start in range(self._written, len(table), PACKED):
            stop = min(start + PACKED, len(table))
            offsets, names = table.names.stored(start, stop)
            pack: Pack = {field: table.values(field, start, stop) for field in table.columns}
            pack["name"] = names, offsets.astype(np.uint32).tobytes()
            packed = zlib.compress(marshal.dumps(pack), 1)
            with output_errors(self._directory):
                _write(self._file, packed, self._offsets[-1])
            self._firsts.append(start)
            self._offsets.append(self._offsets[-1] + len(packed))
            self._written = stop

    def value(self, number: int, field: str) -> Any:
        """A column of a row that was written: its `name`, or a field."""
        return self.values((number,), field)[0]

    def values(self, numbers: Sequence[int], field: str) -> list[Any]:
        """The same of several rows, whose numbers ascend."""
        found: list[Any] = []
        start = 0
        while start < len(numbers):
            at = bisect_right(self._firsts, numbers[start]) - 1
            end = self._firsts[at + 1] if at + 1 < len(self._firsts) else self._written
            stop = bisect_left(numbers, end, start)
            rows = (number - self._firsts[at] for number in numbers[start:stop])
            found += _names(self._pack(at), rows) if field == "name" else _column(self._pack(at), field, rows)
            start = stop
        return found

    def _pack(self, at: int) -> Pack:
        pack = self._read.pop(at, None)
        if pack is None:
            offset = self._offsets[at]
            pack = marshal.loads(zlib.decompress(os.pread(self._file, self._offsets[at + 1] - offset, offset)))
            if len(self._read) >= MOST_READ:
                self._read.popitem(last=False)
        self._read[at] = pack
        return pack


def _names(pack: Pack, rows: Iterator[int]) -> list[str]:
    names, raw = pack["name"]
    offsets = np.frombuffer(raw, np.uint32)
    return [names[offsets[row] : offsets[row + 1]].decode() for row in rows]


def _column(pack: Pack, field: str, rows: Iterator[int]) -> list[Any]:
    column = pack.get(field, ())
    return [column[row] if row < len(column) else None for row in rows]


def _write(file: int, data: bytes, offset: int) -> None:
    left = memoryview(data)
    while left:
        written = os.pwrite(file, left, offset)
        left, offset = left[written:], offset + written
