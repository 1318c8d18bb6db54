"""Parsing STD: accepted and refused lines, and agreement with a plain Python parser."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import atomsan
from atomsan import InputError
from atomsan.trace.events import SHORT, Event, Op
from atomsan.trace.formats.std import std_line
from atomsan.trace.reading import MAX_LINE, open_trace


def events(text: str | bytes, **options: object) -> list[Event]:
    return list(atomsan.parse(text, format="std", **options).events())


def test_one_of_each_operation() -> None:
    text = (
        "T0|fork(T1)|1\nT0|begin(m)|2\nT0|acq(l)|3\nT0|r(x)|4\nT0|w(x)|5\nT0|rel(l)|6\nT0|post(h)|7\n"
        "T0|end(m)|8\nT1|take(h)|9\nT0|join(T1)|10\n"
    )
    expected = "fork T1, begin m, acquire l, read x, write x, release l, post h, end m, take h, join T1"
    assert ", ".join(f"{event.op.word} {event.target}" for event in events(text)) == expected
    assert [event.site for event in events(text)] == [str(i) for i in range(1, 11)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("\n\n", []),
        ("T|r(x)|1", [Event("T", Op.READ, "x", "1")]),
        ("T|r(x)|1\r\nT|w(x)|2\r\n", [Event("T", Op.READ, "x", "1"), Event("T", Op.WRITE, "x", "2")]),
        ("\ufeffT|r(x)|1\n", [Event("T", Op.READ, "x", "1")]),
        ("T|r(x)|1\n\n\nT|r(x)|1\n", 2 * [Event("T", Op.READ, "x", "1")]),
        ("T|r(a(b)[1]).c)|1\n", [Event("T", Op.READ, "a(b)[1]).c", "1")]),
        ("Fäden 線|r(größe[é])|datei.py:3\n", [Event("Fäden 線", Op.READ, "größe[é]", "datei.py:3")]),
        ("T|r(a%7Cb%0A%25)|1\n", [Event("T", Op.READ, "a|b\n%", "1")]),
        ("T|r(x)|-\n", [Event("T", Op.READ, "x", None)]),
        ("T|r(x)|%2D\n", [Event("T", Op.READ, "x", "-")]),
        ("T|begin|1\nT|end()|2\n", [Event("T", Op.BEGIN, "", "1"), Event("T", Op.END, "", "2")]),
        ("T|begin(m)|1\nT|end|2\n", [Event("T", Op.BEGIN, "m", "1"), Event("T", Op.END, "", "2")]),
    ],
)
def test_accepted(text: str, expected: list[Event]) -> None:
    assert events(text) == expected


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (b"T|r(x)|1\nT|r(\xff)|1\n", 2, "not valid UTF-8"),
        (b"T|r(x)|1\nT|r(a\0b)|1\n", 2, "NUL"),
        (b"\0", 1, "NUL"),
        (b"T|foo(x)|1\n", 1, "unknown operation 'foo'"),
        (b"T|R(x)|1\n", 1, "unknown operation 'R'"),
        (b"T|r(x)|1\nT|r(x)\n", 2, "found 2 fields"),
        (b"T|r(x)|1|2\n", 1, "found 4 fields"),
        (b"just words\n", 1, "found 1 field"),
        (b"|r(x)|1\n", 1, "the thread has no name"),
        (b"T|r()|1\n", 1, "has no target"),
        (b"T|r(x)|\n", 1, "the site is empty"),
        (b"T|r|1\n", 1, r"expected r\(target\)"),
        (b"T|r(x|1\n", 1, r"expected r\(target\)"),
        (b"T|r(x)y|1\n", 1, r"expected r\(target\)"),
        (b"T|r(x)|1\n" * 100 + b"T|rel(l)|1\n", 101, "T releases lock l, which nobody holds"),
        (b"T|rel(l)|1\nbroken\n", 1, "nobody holds"),
    ],
)
def test_refused_with_line_and_reason(text: bytes, line: int, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        events(text)
    assert caught.value.line == line
    assert str(caught.value).startswith(f"the text:{line}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("size", [MAX_LINE + 1, 3 * MAX_LINE])
def test_too_long_line_is_refused(size: int) -> None:
    with pytest.raises(InputError, match="longer than") as caught:
        events(b"T|r(x)|1\nT|r(" + b"x" * size + b")|1\n")
    assert caught.value.line == 2


def test_very_long_name_is_read() -> None:
    name = "x" * 900_000
    assert events(f"T|r({name})|1\nT|w({name})|1\n")[1].target == name


def test_line_counts_around_the_group_and_window_sizes() -> None:
    for count in (1, 63, 64, 65, 127, 128, 129, 1000, 1999, 5000):
        text = "".join(f"T{i % 3}|r(V{i % 17})|{i}\n" for i in range(count))
        assert events(text) == [Event(f"T{i % 3}", Op.READ, f"V{i % 17}", str(i)) for i in range(count)]


def test_threads_are_numbered_in_the_order_of_the_text() -> None:
    trace = atomsan.parse("".join(f"T{i}|fork(C{i})|1\n" for i in range(100)), format="std")
    assert list(trace.symbols.threads) == [f"{kind}{i}" for i in range(100) for kind in "TC"]


names = st.text(st.characters(exclude_characters="\0\r\n|%", exclude_categories=["Cs"]), min_size=1, max_size=20)
odd_lines = st.sampled_from(["", "  ", "T|begin|3", "T|r(%41)|1", "T|r(100%)|x%20y", "é|w(\u7dda)|\u00fc"])
plain_lines = st.builds(
    lambda thread, op, target, site: f"{thread}|{op}({target})|{site}",
    names.filter(lambda name: name.strip()),
    st.sampled_from(["r", "w", "post", "take", "begin"]),
    names,
    names,
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(plain_lines, odd_lines), max_size=200), st.integers(1, 40), st.booleans())
def test_parser_agrees_with_a_plain_python_parser(lines: list[str], batch_events: int, crlf: bool) -> None:
    """Parsing in groups of lines gives the same events as line by line, in any batches."""
    text = ("\r\n" if crlf else "\n").join(lines)
    source = open_trace(io.BytesIO(text.encode()), format="std", batch_events=batch_events)
    found = []
    for batch in source.batches():
        assert len(batch) <= batch_events
        assert batch.first == len(found)
        found += [source.symbols.event(*row) for row in batch.rows()]
    assert found == list(parsed_in_python(lines))


def parsed_in_python(lines: list[str]) -> list[Event]:
    from atomsan.trace.escapes import unescape

    read = []
    for number, line in enumerate(lines):
        fields = std_line(line.encode(), number)
        if fields is not None:
            thread, op, target, site = fields
            name = None if site == b"-" else unescape(site).decode()
            read.append(Event(unescape(thread).decode(), op, unescape(target).decode(), name))
    return read


@settings(max_examples=500, deadline=None)
@given(st.one_of(st.binary(max_size=200), st.text("Tr|()w\n\r%0ébeginacq-", max_size=120).map(str.encode)))
def test_any_bytes_are_read_or_refused(text: bytes) -> None:
    try:
        events(text)
    except InputError as error:
        assert "\n" not in str(error)


def test_operation_spellings_are_those_of_the_table() -> None:
    for op, word in SHORT.items():
        line = f"T|{word}(x)|1".encode()
        assert std_line(line, 1) == (b"T", op, b"x", b"1")
