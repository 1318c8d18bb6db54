"""RAPID's STD text: `thread|op(target)|site`, one event a line.

As in RAPID, with these additions: `post` and `take`; percent escapes for characters that a name cannot contain;
`-` as the site of an event that has none; blank lines are skipped. A region without a name is written
`begin()`, as RAPID writes every region, and read in that form or as a bare `begin`.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from typing import TYPE_CHECKING, BinaryIO

from atomsan.errors import InputError, OutputError, shown
from atomsan.trace.escapes import escape
from atomsan.trace.events import SHORT, Op, SymbolKind

if TYPE_CHECKING:
    from atomsan.trace.events import Batch
    from atomsan.trace.symbols import Symbols

_SIGNS = b"|\n\r%\0"

_OP = re.compile(rb"(?P<op>[^(]*)(?:\((?P<target>.*)\))?", re.DOTALL)
_OPS = {op.short.encode(): op for op in Op}


def std_line(line: bytes, number: int) -> tuple[bytes, Op, bytes, bytes] | None:
    """The fields of one line (without its newline), still escaped; None for a blank line."""
    line = line.removesuffix(b"\r")
    if not line.strip():
        return None
    fields = line.split(b"|")
    if len(fields) != 3:
        count = f"{len(fields)} field{'s' * (len(fields) > 1)}"
        raise InputError(f"expected thread|op(target)|site, found {count}: {shown(line)}", line=number)
    thread, call, site = fields
    op, target = _operation(call, number)
    if not thread:
        raise InputError(f"the thread has no name: {shown(line)}", line=number)
    if not site:
        raise InputError(f"the site is empty (write - for none): {shown(line)}", line=number)
    return thread, op, target, site


def _operation(call: bytes, number: int) -> tuple[Op, bytes]:
    match = _OP.fullmatch(call)
    op = _OPS.get(match["op"]) if match else _OPS.get(call.partition(b"(")[0])
    if op is None:
        raise InputError(
            f"unknown operation {shown(call.partition(b'(')[0])!r}: it is one of {', '.join(SHORT.values())}",
            line=number,
        )
    may_be_nameless = op in (Op.BEGIN, Op.END)
    if match is None or (match["target"] is None and not may_be_nameless):
        raise InputError(f"expected {op.short}(target), found {shown(call)}", line=number)
    target = match["target"] or b""
    if not target and not may_be_nameless:
        raise InputError(f"{op.short}() has no target", line=number)
    return op, target


class StdWriter:
    """Writes batches as lines of STD."""

    def __init__(self, stream: BinaryIO, symbols: Symbols) -> None:
        from atomsan.trace._write import LineWriter

        self._symbols = symbols
        self._lines = LineWriter(stream, symbols, _SIGNS + BOM_UTF8[:1], self._spelled)

    def write(self, batch: Batch) -> None:
        self._lines.write(batch)

    def finish(self) -> None:
        self._lines.flush()

    def _spelled(self, kind: SymbolKind, number: int, name: bytes) -> bytes:
        if kind == "sites":
            name = name or self._position(number)
            return escape(name, _SIGNS + b"-") if name == b"-" else escape(name, _SIGNS) or b"-"
        if not name and kind != "regions":
            raise OutputError(f"number {number} of the {kind} has no name, which STD cannot carry")
        if name.startswith(BOM_UTF8):  # at the start of a file it would be skipped, and the name would lose it
            return b"%EF%BB%BF" + escape(name.removeprefix(BOM_UTF8), _SIGNS)
        return escape(name, _SIGNS)

    def _position(self, number: int) -> bytes:
        """file:line:column of a site, as far as known."""
        parts = [self._symbols.sites.get(number, field) for field in ("file", "line", "column")]
        known = parts[: parts.index(None)] if None in parts else parts
        return ":".join(map(str, known)).encode()
