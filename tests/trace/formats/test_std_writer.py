"""Writing STD: every name can be read back, and canonical text is rewritten byte for byte."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from atomsan.errors import OutputError
from atomsan.trace._std import StdParser
from atomsan.trace.events import Batch, Event, Op
from atomsan.trace.formats.std import StdWriter
from atomsan.trace.symbols import Symbols
from parsing import batch_of, event_lists, feed, written


def lines(*events: Event) -> list[str]:
    return written(StdWriter, events).decode().splitlines()


@pytest.mark.parametrize("op", list(Op))
def test_operations(op: Op) -> None:
    assert lines(Event("T1", op, "x", "12")) == [f"T1|{op.short}(x)|12"]


def test_special_characters_in_names_are_escaped() -> None:
    assert lines(Event("a|b", Op.WRITE, "(50%)\n\r", "é,-")) == ["a%7Cb|w((50%25)%0A%0D)|é,-"]


@pytest.mark.parametrize(
    ("site", "text"), [(None, "-"), ("-", "%2D"), ("--", "--"), ("0", "0"), ("app.py:12:8", "app.py:12:8")]
)
def test_sites(site: str | None, text: str) -> None:
    assert lines(Event("T1", Op.READ, "x", site)) == [f"T1|r(x)|{text}"]


def test_region_without_a_name() -> None:
    assert lines(Event("T1", Op.BEGIN, ""), Event("T1", Op.END, "")) == ["T1|begin()|-", "T1|end()|-"]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"file": "a|b.py", "line": 3, "column": 4}, "a%7Cb.py:3:4"),
        ({"file": "b.py", "line": 3}, "b.py:3"),
        ({"file": "b.py"}, "b.py"),
        ({}, "-"),
    ],
)
def test_site_without_a_name_is_written_as_its_position(fields: dict[str, str | int], text: str) -> None:
    stream, symbols = io.BytesIO(), Symbols()
    symbols.sites.intern("", **fields)
    writer = StdWriter(stream, symbols)
    writer.write(batch_of([Event("T1", Op.READ, "x", "")], symbols))
    writer.finish()
    assert stream.getvalue().decode() == f"T1|r(x)|{text}\n"


@pytest.mark.parametrize("event", [Event("", Op.READ, "x"), Event("T1", Op.READ, ""), Event("T1", Op.POST, "")])
def test_other_names_cannot_be_empty(event: Event) -> None:
    with pytest.raises(OutputError, match="has no name, which STD cannot carry"):
        lines(event)


@pytest.mark.parametrize("row", [(1, 0, 0), (0, 10, 0), (0, 0, 1), (0, 2, 0)])
def test_number_without_a_symbol_raises(row: tuple[int, int, int]) -> None:
    symbols = Symbols()
    batch = batch_of([Event("T1", Op.READ, "x")], symbols)
    thread, op, target = (np.array([number], np.uint32) for number in row)
    with pytest.raises(ValueError, match="event 7 has a number that no symbol has"):
        StdWriter(io.BytesIO(), symbols).write(Batch(7, thread, op.astype(np.uint8), target, batch.site))


def test_long_names_and_many_events() -> None:
    events = [Event("T" * 3000, Op.WRITE, "x" * 70_000, "s" * 900)] * 50 + [Event("T1", Op.READ, "y", "1")] * 70_000
    text = written(StdWriter, events, 51)
    assert len(text) == 50 * (3000 + 70_000 + 900 + 6) + 70_000 * 10
    assert text.endswith(b"T1|r(y)|1\n" * 70_000)


CANONICAL = b"""T0|begin()|1
T0|r(V1)|2
T0|w(f(x)[0])|3
main thread|acq(a%7Cb%25)|-
main thread|rel(a%7Cb%25)|app.py:12:8
T0|fork(T\xc3\xa9)|%2D
T0|join(T\xc3\xa9)|99999999999
T0|post(h,1)|007
T0|take(h,1)|4
T0|end()|4
"""


def test_canonical_text_is_rewritten_byte_for_byte() -> None:
    numbers = b"".join(b"T%d|r(V%d)|%d\n" % (i % 3, i % 7, i + 5) for i in range(500))
    for text in (CANONICAL, numbers, numbers + CANONICAL, CANONICAL + numbers):
        assert written(StdWriter, feed(StdParser, text).events) == text
        assert rewritten(text) == text


def rewritten(text: bytes) -> bytes:
    """The text read and written batch by batch, while the symbols grow."""
    stream, symbols = io.BytesIO(), Symbols()
    parser, writer, at = StdParser(symbols, 7), StdWriter(stream, symbols), 0
    while at < len(text):
        at = parser.feed(bytearray(text + bytes(64)), at, len(text))
        writer.write(parser.take())
    writer.finish()
    return stream.getvalue()


@given(event_lists(), st.integers(0, 30))
@example([Event("|", Op.READ, ")|", "-"), Event("%7C", Op.BEGIN, "", "%")], 1)
def test_written_text_can_be_read(events: list[Event], cut: int) -> None:
    text = written(StdWriter, events, cut)
    outcome = feed(StdParser, text)
    assert outcome.error is None
    assert outcome.events == events
    assert written(StdWriter, outcome.events) == text
