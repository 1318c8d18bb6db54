"""The one-line notation: `T1:begin T1:r(x) T2:w(x) T1:w(x) T1:end`, a whole trace in one string.

An event is `thread:op(target)`, followed by `@site` if it has one; events are separated by whitespace. A region
need not be named: a bare `begin` opens the region without a name, and a bare `end` closes the thread's innermost
one. Characters with a meaning in the notation are percent-escaped in names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, BinaryIO

from atomsan.errors import InputError, shown
from atomsan.trace.escapes import escape, unescape
from atomsan.trace.events import OP_FROM_WORD, SHORT, Event, Op

if TYPE_CHECKING:
    from atomsan.trace.events import Batch
    from atomsan.trace.symbols import Symbols

_EVENT = re.compile(r"(?P<thread>[^:]+):(?P<op>[a-z]+)(?:\((?P<target>.*)\))?(?:@(?P<site>[^()@]+))?")

# Characters that are escaped in names: whitespace, which ends an event, and those with a meaning in the notation.
_WHITESPACE = b"\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f "
_IN_THREAD = b"%:" + _WHITESPACE
_IN_TARGET = b"%" + _WHITESPACE
_IN_SITE = b"%()@" + _WHITESPACE


def from_notation(text: str) -> Iterator[Event]:
    """The events of a text in the notation."""
    open_regions: dict[str, list[str]] = {}
    for number, token in enumerate(text.split()):
        event = _event(token, number)
        regions = open_regions.setdefault(event.thread, [])
        if event.op is Op.BEGIN:
            regions.append(event.target)
        elif event.op is Op.END:
            innermost = regions.pop() if regions else ""
            event = event._replace(target=event.target or innermost)
        yield event


def to_notation(events: Iterable[Event]) -> str:
    """Events as one line of text; `from_notation` gives them back."""
    return " ".join(map(_token, events))


def _event(token: str, number: int) -> Event:
    match = _EVENT.fullmatch(token)
    if not match:
        raise InputError(f"expected thread:op(target), found {shown(token.encode())}", event=number)
    op = OP_FROM_WORD.get(match["op"])
    if op is None:
        raise InputError(f"unknown operation {match['op']!r}: it is one of {', '.join(SHORT.values())}", event=number)
    if not match["target"] and op not in (Op.BEGIN, Op.END):
        raise InputError(f"{op.short} has no target: {shown(token.encode())}", event=number)
    try:
        thread, target, site = (
            unescape((match[field] or "").encode()).decode() for field in ("thread", "target", "site")
        )
    except UnicodeError as error:
        raise InputError(f"a name is not valid UTF-8: {shown(token.encode(errors='replace'))}", event=number) from error
    return Event(thread, op, target, site or None)


def _token(event: Event) -> str:
    target = f"({_escaped(event.target, _IN_TARGET)})" if event.target else ""
    site = f"@{_escaped(event.site, _IN_SITE)}" if event.site is not None else ""
    return f"{_escaped(event.thread, _IN_THREAD)}:{event.op.short}{target}{site}"


def _escaped(name: str, signs: bytes) -> str:
    # str.split also splits at whitespace that is not ASCII, and a byte order mark at the start is skipped.
    escaped = escape(name.encode(), signs).decode()
    return "".join(escape(c.encode(), c.encode()).decode() if c.isspace() or c == "\ufeff" else c for c in escaped)


class NotationWriter:
    """Writes a trace as one line of text."""

    def __init__(self, stream: BinaryIO, symbols: Symbols) -> None:
        self._stream = stream
        self._symbols = symbols
        self._separator = ""

    def write(self, batch: Batch) -> None:
        text = to_notation(self._symbols.event(*row) for row in batch.rows())
        self._stream.write(f"{self._separator}{text}".encode())
        self._separator = " "

    def finish(self) -> None:
        self._stream.write(b"\n")
