"""Runs the text parsers and writers on strings: text to events, and events to text."""

from __future__ import annotations

import io
import random
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from hypothesis import strategies as st

from atomsan.errors import InputError
from atomsan.trace._text import TextParser
from atomsan.trace.events import NO_SITE, TARGET_KIND, Batch, Event, Op
from atomsan.trace.symbols import Symbols

# Bytes after a piece of text, which a parser may read but must ignore: they look like text of every format.
BEHIND = b"T1|r(x)|1\n,,,,,,,,w(x)),,,))))  Final  X.java:1\n@  Rd(0,x)"[:64].ljust(64, b",")

# Names with the special characters of every format.
names = st.text(
    st.sampled_from("aZ0|,()%-:#@[]. \t\r\n25é\u2028𝄞") | st.characters(exclude_characters="\0", codec="utf-8")
)


class Outcome(NamedTuple):
    """The result of parsing a text: its events, their lines, and the error after them."""

    events: list[Event]
    lines: list[int]
    error: str | None


def feed(
    parser_class: type[TextParser],
    text: bytes,
    *,
    room: int = 1 << 10,
    cuts: random.Random | None = None,
) -> Outcome:
    """Parse a text: as a whole, or with `cuts` in pieces of random length."""
    symbols = Symbols()
    parser = parser_class(symbols, room)
    batches: list[Batch] = []
    error = None
    try:
        for piece in _pieces(text, cuts):
            buffer, at = bytearray(piece + BEHIND), 0
            while at < len(piece):
                at = parser.feed(buffer, at, len(piece))
                if at < len(piece):
                    batches.append(parser.take())
        while not parser.finish():
            batches.append(parser.take())
    except InputError as found:
        error = str(found)
    batches.append(parser.take())
    events = list(named(batches, symbols))
    return Outcome(events, [parser.line_of(i) for i in range(len(events))], error)


def _pieces(text: bytes, cuts: random.Random | None) -> Iterable[bytes]:
    lines = re.findall(rb"[^\n]*\n|[^\n]+", text)
    while lines:
        count = cuts.randint(1, len(lines)) if cuts else len(lines)
        piece = b"".join(lines[:count])
        yield piece if piece.endswith(b"\n") else piece + b"\n"
        lines = lines[count:]


def named(batches: Iterable[Batch], symbols: Symbols) -> Iterable[Event]:
    first = 0
    for batch in batches:
        assert batch.first == first
        first += len(batch)
        for row in batch.rows():
            yield symbols.event(*row)


class Writer(Protocol):
    def write(self, batch: Batch) -> None: ...

    def finish(self) -> None: ...


def batch_of(events: Sequence[Event], symbols: Symbols, first: int = 0) -> Batch:
    rows = [
        (
            symbols.threads.intern(event.thread),
            event.op,
            symbols.targets(event.op).intern(event.target),
            NO_SITE if event.site is None else symbols.sites.intern(event.site),
        )
        for event in events
    ]
    thread, op, target, site = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Batch(
        first,
        np.array(thread, np.uint32),
        np.array(op, np.uint8),
        np.array(target, np.uint32),
        np.array(site, np.uint32),
    )


@st.composite
def event_lists(draw: st.DrawFn) -> list[Event]:
    """Events with any names; not a well-formed trace."""
    some = names.filter(bool)
    threads = draw(st.lists(some, min_size=1, max_size=4))
    pool = draw(st.lists(some, min_size=1, max_size=6))
    event = st.builds(
        lambda thread, op, target, nameless, site: Event(
            thread,
            op,
            "" if nameless and TARGET_KIND[op] == "regions" else target,
            site,
        ),
        st.sampled_from(threads),
        st.sampled_from(Op),
        st.sampled_from(pool),
        st.booleans(),
        st.none() | st.sampled_from(pool) | st.integers(0, 30).map(str),
    )
    return draw(st.lists(event, max_size=30))


def written(make: object, events: Sequence[Event], cut: int | None = None) -> bytes:
    """The events as a writer writes them; with `cut`, in two batches."""
    stream, symbols = io.BytesIO(), Symbols()
    writer: Writer = make(stream, symbols)  # type: ignore[operator]
    parts = [events] if cut is None else [events[:cut], events[cut:]]
    first = 0
    for part in parts:
        writer.write(batch_of(part, symbols, first))
        first += len(part)
    writer.finish()
    return stream.getvalue()


def mutated(text: bytes, rng: random.Random) -> bytes:
    """The text with a few bytes or lines changed, inserted, removed or repeated."""
    data = bytearray(text)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(5):
            case 0:
                data[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                data[at:at] = rng.choice([b"(", b")", b",", b"|", b"\n", b"\r", b"%41", b"@ ", b"\xff", b"-"])
            case 2:
                del data[at : at + rng.randint(1, 8)]
            case 3:
                other = rng.randrange(len(data) + 1)
                data[at:at] = data[other : other + rng.randint(1, 80)]
            case _:
                del data[at:]
    return bytes(data)
