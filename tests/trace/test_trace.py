"""A trace in memory, its slices, and the trace builder."""

import pytest

import atomsan
from atomsan import InputError, TraceBuilder
from atomsan.trace.events import Event, Op

LINE = "T1:begin(m) T1:r(x)@a.py:3 T2:w(x) T1:w(x) T1:end(m)"


def test_events_have_names() -> None:
    trace = atomsan.parse(LINE)
    assert len(trace) == 5
    assert trace[1] == Event("T1", Op.READ, "x", "a.py:3")
    assert trace[-1] == Event("T1", Op.END, "m", None)
    assert [event.thread for event in trace] == ["T1", "T1", "T2", "T1", "T1"]
    with pytest.raises(IndexError):
        trace[5]


def test_slice_shares_columns_and_symbols() -> None:
    trace = atomsan.parse(LINE)
    part = trace[1:4]
    assert part.notation() == "T1:r(x)@a.py:3 T2:w(x) T1:w(x)"
    assert part[1:].notation() == "T2:w(x) T1:w(x)"
    assert part.symbols is trace.symbols
    with pytest.raises(ValueError, match="step"):
        trace[::2]


def test_columns_are_read_only() -> None:
    for trace in (atomsan.parse(LINE), atomsan.parse("T|r(x)|1\n", format="std")):
        for batch in trace.batches():
            for column in (batch.thread, batch.op, batch.target, batch.site):
                with pytest.raises(ValueError, match="read-only"):
                    column[0] = 0


def test_site_names_are_split_into_file_line_and_column() -> None:
    trace = atomsan.parse(LINE)
    assert trace.symbols.sites.site(0) == ("a.py:3", "a.py", 3, *[None] * 7)
    for name, parts in {
        "12": (None, None, None),
        "a.py:3:14": ("a.py", 3, 14),
        r"C:\x\a.py:3": (r"C:\x\a.py", 3, None),
        "12:13": (None, None, None),
        "nowhere": (None, None, None),
    }.items():
        table = TraceBuilder().symbols.sites
        site = table.site(table.intern(name))
        assert (site.file, site.line, site.column) == parts


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (("T", "jump", "x"), "event 0: unknown operation 'jump'"),
        (("", "r", "x"), "event 0: a name is empty"),
        (("T", "r", ""), "event 0: a name is empty"),
        (("T", "r", "\ud800"), "event 0: a name is not valid Unicode"),
        (("T", "r", "a\0b"), "NUL"),
    ],
)
def test_builder_refuses_names_that_no_format_can_store(event: tuple[str, str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TraceBuilder().add(*event)


def test_unknown_field_raises_key_error() -> None:
    with pytest.raises(KeyError, match="colour"):
        TraceBuilder().symbols.locks.intern("l", colour="red")


def test_more_symbols_than_the_limit_are_refused() -> None:
    from atomsan.trace._std import StdParser
    from atomsan.trace.symbols import Symbols

    for text, line in ((b"T1|r(x)|1\nT2|r(x)|1\nT3|r(x)|1\n", 3), (b"T|r(x)|1\nT|r(y)|1\nT|r(z)|1\n", 3),
                       (b"T|r(x)|a\nT|r(x)|b\nT|r(x)|c\n", 3), (b"T|r(x)|1\nT|r(x)|2\nT|r(x)|3\n", 3),
                       (b"T|fork(U)|1\nT|fork(V)|1\n", 2)):  # fmt: skip
        parser = StdParser(Symbols(limit=2), 100)
        with pytest.raises(InputError, match="more than 2 different names") as caught:
            parser.feed(bytearray(text + bytes(64)), 0, len(text))
        assert caught.value.line == line
        assert parser.filled == line - 1
