"""The one-line notation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import atomsan
from atomsan import InputError
from atomsan.trace.events import Event, Op
from atomsan.trace.formats.notation import from_notation, to_notation

LINE = "T1:begin T1:r(x) T2:w(x) T1:w(x) T1:end"


def test_documented_example() -> None:
    assert atomsan.parse(LINE).notation() == LINE


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("T1:r(x)@app.py:12:3", Event("T1", Op.READ, "x", "app.py:12:3")),
        ("T1:read(x)", Event("T1", Op.READ, "x")),
        ("main:acq(self.lock[0](a))", Event("main", Op.ACQUIRE, "self.lock[0](a)")),
        ("T1:r(@05.x)@A.java:1", Event("T1", Op.READ, "@05.x", "A.java:1")),
        ("T%3A1:r(a%20b)", Event("T:1", Op.READ, "a b")),
    ],
)
def test_one_event(text: str, event: Event) -> None:
    assert list(from_notation(text)) == [event]


def test_bare_end_closes_the_innermost_region() -> None:
    targets = [event.target for event in from_notation("T:begin(a) T:begin(b) T:end T:end")]
    assert targets == ["a", "b", "b", "a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("T1:r(x) nonsense", "event 1: expected thread:op"),
        ("T1:jump(x)", "event 0: unknown operation 'jump'"),
        ("T1:r()", "event 0: r has no target"),
        (":r(x)", "event 0: expected thread:op"),
        ("T1:r(%FF)", "event 0: a name is not valid UTF-8"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        atomsan.parse(text)


names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=12)
any_events = st.builds(Event, names, st.sampled_from([op for op in Op if op != Op.END]), names, st.none() | names)


@given(st.lists(any_events, max_size=20))
def test_written_notation_is_read_back(events: list[Event]) -> None:
    assert list(from_notation(to_notation(events))) == events
