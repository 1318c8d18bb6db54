"""RAPID's CSV: the meaning of lines, refused lines, and round trips."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from atomsan.errors import OutputError
from atomsan.trace._csv import CsvParser
from atomsan.trace.events import Event, Op
from atomsan.trace.formats.csv import CsvWriter
from atomsan.trace.symbols import Symbols
from parsing import batch_of, event_lists, feed, mutated, written


def read(text: str) -> list[Event]:
    events, _, error = feed(CsvParser, text.encode())
    assert error is None
    return events


def refused(text: str) -> str:
    _, _, error = feed(CsvParser, text.encode())
    assert error is not None
    return error


def test_example_of_rapid() -> None:
    assert read("r(V123),,\n,w(V234.23[0]),\nfork(T2),,\n,,acq(L34)\n,,rel(L34)\njoin(T2),,\n") == [
        Event("T0", Op.READ, "V123"),
        Event("T1", Op.WRITE, "V234.23[0]"),
        Event("T0", Op.FORK, "T2"),
        Event("T2", Op.ACQUIRE, "L34"),
        Event("T2", Op.RELEASE, "L34"),
        Event("T0", Op.JOIN, "T2"),
    ]


@pytest.mark.parametrize(
    ("word", "op"),
    [(op.short, op) for op in Op] + [("start", Op.FORK), ("enter", Op.BEGIN), ("exit", Op.END)],
)
def test_spellings_of_operations(word: str, op: Op) -> None:
    assert read(f",{word}(x),\n") == [Event("T1", op, "x")]


def test_sync_is_a_read_and_a_write_under_a_lock() -> None:
    lock = "VARLOCK-z-KCOLRAV"
    assert read(",,,,sync(z),,\n") == [
        Event("T4", Op.ACQUIRE, lock),
        Event("T4", Op.READ, "z"),
        Event("T4", Op.WRITE, "z"),
        Event("T4", Op.RELEASE, lock),
    ]


@pytest.mark.parametrize("cell", ["begin()", "begin", "enter()", "enter"])
def test_region_without_a_name(cell: str) -> None:
    assert read(f",{cell},\n") == [Event("T1", Op.BEGIN, "")]


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        ("r(f(x,y))", "f(x,y)"),
        ("r(a,b)", "a,b"),
        ("r(a)b)", "a)b"),
        ("r(a))", "a)"),
        ("r(()", "("),
        ("r(())", "()"),
        ("r(héé 𝄞)", "héé 𝄞"),
        ("r(a%2Cb%25)", "a,b%"),
        ("r(100%)", "100%"),
        ("begin(Foo.bar(II)V)", "Foo.bar(II)V"),
        ("r(a|b)", "a|b"),
        (f"r({'x' * 5000})", "x" * 5000),
    ],
)
@pytest.mark.parametrize("after", ["", ",", ",,,,,,,,,,,,", "\r", ",\r"])
def test_names(cell: str, name: str, after: str) -> None:
    (event,) = read(f",,{cell}{after}\n")
    assert (event.thread, event.target) == ("T2", name)


def test_blank_lines_and_line_ends() -> None:
    assert feed(CsvParser, b"\n  \nr(x)\r\n\r\nsync(y),\n,w(x)").lines == [3, 5, 5, 5, 5, 6]


def test_many_columns() -> None:
    text = "".join("," * column + "w(x)" + "," * (999 - column) + "\n" for column in (999, 0, 500, 999))
    assert [event.thread for event in read(text)] == ["T999", "T0", "T500", "T999"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (",,,", "no column is filled"),
        ("r(x),w(y)", "more than one column is filled: r(x),w(y)"),
        ("r(x),,,y", "more than one column is filled: r(x),,,y"),
        ("r(x),foo)", "more than one column is filled: r(x),foo)"),
        ("begin,w(y)", "more than one column is filled: begin,w(y)"),
        ("begin(),end()", "more than one column is filled: begin(),end()"),
        ("r(x)y", "expected r(target), found r(x)y"),
        (",r(x", "expected r(target), found r(x"),
        (",r,", "expected r(target), found r,"),
        ("sync", "expected sync(target), found sync"),
        ("r()", "r() has no target"),
        ("fork(),", "fork() has no target"),
        ("sync()", "sync() has no target"),
        (
            ",read(x)",
            "unknown operation 'read': it is one of r, w, acq, rel, fork, join, begin, end, post, take, sync",
        ),
        (
            "(x)",
            "unknown operation '': it is one of r, w, acq, rel, fork, join, begin, end, post, take, sync",
        ),
        (
            " r(x)",
            "unknown operation ' r': it is one of r, w, acq, rel, fork, join, begin, end, post, take, sync",
        ),
        (
            "x)",
            "unknown operation 'x)': it is one of r, w, acq, rel, fork, join, begin, end, post, take, sync",
        ),
        ("r(\0)", "the line holds a NUL byte"),
        ("r(%00)", "a name holds an escaped NUL: %00"),
    ],
)
def test_refusals(line: str, message: str) -> None:
    assert refused(f"w(x)\n\n{line}\nw(y)\n") == f"line 3: {message}"
    assert read("w(x)\n") == feed(CsvParser, f"w(x)\n\n{line}\nw(y)\n".encode()).events


def test_name_that_is_not_utf8_is_refused() -> None:
    assert feed(CsvParser, b"w(x)\nr(\xff)\n").error == "line 2: a name is not valid UTF-8: \\xff"


def test_sync_that_does_not_fit_goes_to_the_next_batch() -> None:
    text = b"r(a)\nsync(b)\nr(c)\nsync(d)\n"
    assert feed(CsvParser, text, room=4) == feed(CsvParser, text)


def test_batch_smaller_than_a_sync_is_refused() -> None:
    with pytest.raises(ValueError, match="room"):
        CsvParser(Symbols(), 3)


def test_written_lines() -> None:
    events = [
        Event("main", Op.FORK, "child", "x.py:1"),
        Event("child", Op.BEGIN, ""),
        Event("child", Op.WRITE, "a,b|c)"),
        Event("main", Op.JOIN, "child"),
    ]
    text = written(lambda stream, symbols: CsvWriter(stream, symbols, 3), events)
    assert text.decode().splitlines() == ["fork(T1),,", ",begin(),", ",w(a%2Cb|c)),", "join(T1),,"]


def test_thread_without_a_column_raises() -> None:
    with pytest.raises(ValueError, match="event 1 has a number that no symbol has"):
        written(
            lambda stream, symbols: CsvWriter(stream, symbols, 1),
            [Event("a", Op.READ, "x"), Event("b", Op.READ, "x")],
        )


def test_location_without_a_name_cannot_be_written() -> None:
    with pytest.raises(OutputError, match="number 0 of the locations has no name"):
        written(lambda stream, symbols: CsvWriter(stream, symbols, 1), [Event("a", Op.READ, "")])


@given(event_lists(), st.integers(0, 3), st.integers(0, 30))
@example([Event("a", Op.READ, "),w(y"), Event("b", Op.READ, "%2C")], 0, 1)
def test_written_text_can_be_read(events: list[Event], spare: int, cut: int) -> None:
    symbols = Symbols()
    batch_of(events, symbols)
    column = {name: f"T{number}" for number, name in enumerate(symbols.threads)}
    columns = max(1, len(column)) + spare

    text = written(lambda stream, symbols: CsvWriter(stream, symbols, columns), events, cut)
    assert all(line.count(b",") == columns - 1 for line in text.splitlines() if b"," in line)
    assert feed(CsvParser, text).error is None
    assert feed(CsvParser, text).events == [
        Event(column[thread], op, column[target] if op in (Op.FORK, Op.JOIN) else target)
        for thread, op, target, _ in events
    ]


VALID = b"r(V1),,\n,w(a,b),\n,,sync(z)\nbegin(),,\nend,,\n,acq(L),\n,rel(L),\n\nfork(T1),,\r\n,,post(h(1))\n"


@given(st.randoms(use_true_random=False))
def test_any_text_is_read_or_refused_in_any_batches(rng: random.Random) -> None:
    text = mutated(VALID, rng) if rng.random() < 0.8 else rng.randbytes(rng.randrange(200))
    assert feed(CsvParser, text, room=rng.randint(4, 8), cuts=rng) == feed(CsvParser, text)
