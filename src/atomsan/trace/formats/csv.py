"""RAPID's CSV text: one event a line, in the column of its thread; the other columns are empty: `,,r(V1),`.

The thread of column i is `T<i>`, counted from 0. Operations are spelled as in STD, or as in RAPID's own reader:
`start` for fork, `enter` and `exit` for begin and end. `sync(x)` is four events: it reads and writes x under a lock
of x's own. There are no sites.

A cell ends at the last `)` of its line, so a name may contain commas and brackets, unless a `)` that closes the
operation is followed by a comma: that would be a second cell. The writer escapes commas, and what STD escapes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, BinaryIO

from atomsan.errors import InputError, OutputError, shown
from atomsan.trace._write import LineWriter
from atomsan.trace.escapes import escape
from atomsan.trace.events import SHORT, Op, SymbolKind

if TYPE_CHECKING:
    from atomsan.trace.events import Batch
    from atomsan.trace.symbols import Symbols

_SIGNS = b",\n\r%\0"

# commas before the cell, the operation's word, (target), and the rest of the line: each may be empty
_CELL = re.compile(rb"(,*)([^(,]*)(\(.*\))?(.*)", re.DOTALL)

_WORDS: dict[bytes, Op] = {op.short.encode(): op for op in Op} | {
    b"start": Op.FORK,
    b"enter": Op.BEGIN,
    b"exit": Op.END,
}
_NAMELESS = (b"begin", b"enter", b"end", b"exit")


def csv_line(line: bytes, number: int) -> tuple[int, list[tuple[Op, bytes]]] | None:
    """The column of one line (without its newline) and its events (op, target). None for a blank line."""
    line = line.removesuffix(b"\r")
    if not line.strip():
        return None
    before, word, call, after = _CELL.findall(line)[0]
    target = call[1:-1]
    if not word + call + after:
        raise InputError("no column is filled", line=number)
    if word not in _WORDS and word != b"sync":
        raise InputError(
            f"unknown operation {shown(word)!r}: it is one of {', '.join(SHORT.values())}, sync", line=number
        )
    if (after.startswith(b",") and after.strip(b",")) or _closes_early(target):
        raise InputError(f"more than one column is filled: {shown(line)}", line=number)
    if after.strip(b",") or not (call or word in _NAMELESS):
        raise InputError(f"expected {shown(word)}(target), found {shown(line[len(before) :])}", line=number)
    if not (target or word in _NAMELESS):
        raise InputError(f"{shown(word)}() has no target", line=number)
    return len(before), _sync(target) if word == b"sync" else [(_WORDS[word], target)]


def _closes_early(target: bytes) -> bool:
    """Whether a `)` in the target closes the operation and a comma follows it."""
    depth = 1
    for sign in re.finditer(rb"[()],?", target):
        depth += 1 if sign[0].startswith(b"(") else -1
        if depth == 0 and sign[0] == b"),":
            return True
    return False


def _sync(location: bytes) -> list[tuple[Op, bytes]]:
    lock = b"VARLOCK-" + location + b"-KCOLRAV"
    return [(Op.ACQUIRE, lock), (Op.READ, location), (Op.WRITE, location), (Op.RELEASE, lock)]


class CsvWriter:
    """Writes batches as lines of CSV with `threads` columns.

    Threads are renamed after their columns, in fork and join as well, and sites are left out: CSV has no place for
    either.
    """

    def __init__(self, stream: BinaryIO, symbols: Symbols, threads: int) -> None:
        self._lines = LineWriter(stream, symbols, _SIGNS, self._spelled, columns=threads)

    def write(self, batch: Batch) -> None:
        self._lines.write(batch)

    def finish(self) -> None:
        self._lines.flush()

    def _spelled(self, kind: SymbolKind, number: int, name: bytes) -> bytes:
        if not name and kind != "regions":
            raise OutputError(f"number {number} of the {kind} has no name, which CSV cannot carry")
        return escape(name, _SIGNS)
