"""The binary log of the Davida and RegionTrack tools."""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atomsan.errors import InputError
from atomsan.trace.byte_input import ByteInput
from atomsan.trace.events import Batch, Event, Op
from atomsan.trace.formats.davida import _CHUNK, davida_batches
from atomsan.trace.symbols import Symbols
from parsing import named

OPS = {20: Op.BEGIN, 21: Op.END, 22: Op.READ, 23: Op.WRITE, 24: Op.ACQUIRE, 25: Op.RELEASE}
LETTERS = {20: "m", 21: "m", 22: "V", 23: "V", 24: "L", 25: "L"}

int32 = st.integers(-(2**31), 2**31 - 1) | st.integers(-3, 3)
triples = st.lists(st.tuples(int32, st.sampled_from(list(OPS)), int32), max_size=40)


def log(events: Sequence[tuple[int, int, int]]) -> bytes:
    return b"".join(struct.pack(">iii", *event) for event in events)


def read(data: bytes, batch_events: int = 1 << 20) -> tuple[list[Event], str | None]:
    """The events, and the error after them."""
    symbols = Symbols()
    given_out: list[Batch] = []
    error = None
    try:
        given_out.extend(davida_batches(ByteInput(io.BytesIO(data)), symbols, batch_events))
    except InputError as found:
        error = str(found)
    return list(named(given_out, symbols)), error


def test_names_are_made_of_the_kind_and_the_number() -> None:
    data = log([(5, 20, 17), (5, 24, 3), (6, 22, 99), (6, 23, -7), (5, 25, 3), (5, 21, 17), (-1, 22, -(2**31))])
    assert read(data) == (
        [
            Event("T5", Op.BEGIN, "m17"),
            Event("T5", Op.ACQUIRE, "L3"),
            Event("T6", Op.READ, "V99"),
            Event("T6", Op.WRITE, "V-7"),
            Event("T5", Op.RELEASE, "L3"),
            Event("T5", Op.END, "m17"),
            Event("T-1", Op.READ, "V-2147483648"),
        ],
        None,
    )


def test_empty_log() -> None:
    assert read(b"") == ([], None)


@pytest.mark.parametrize("op", [19, 26, 0, -1, 2**31 - 1, -(2**31)])
def test_unknown_operation_is_refused_after_the_events_before_it(op: int) -> None:
    events, error = read(log([(1, 22, 1), (1, 22, 2), (1, op, 3), (1, 22, 4)]), batch_events=1)
    assert error == f"event 2: {op} is no operation: it is one of 20 to 25"
    assert [event.target for event in events] == ["V1", "V2"]


@pytest.mark.parametrize("left", range(1, 12))
def test_log_cut_inside_an_event_is_refused(left: int) -> None:
    events, error = read(log([(1, 22, 1), (1, 23, 2)])[: 12 + left])
    assert error == "event 1: the log is cut inside this event"
    assert len(events) == 1


@given(triples, st.integers(1, 10))
def test_events_are_read_in_any_batches(events: list[tuple[int, int, int]], batch_events: int) -> None:
    assert read(log(events), batch_events) == (
        [Event(f"T{thread}", OPS[op], f"{LETTERS[op]}{target}") for thread, op, target in events],
        None,
    )


def test_symbols_are_numbered_in_the_order_of_the_log() -> None:
    symbols = Symbols()
    data = log([(thread % 3, 22, 7 * thread % 11) for thread in range(50)])
    for _ in davida_batches(ByteInput(io.BytesIO(data)), symbols, 7):
        pass
    assert list(symbols.threads) == ["T0", "T1", "T2"]
    assert list(symbols.locations) == [f"V{7 * thread % 11}" for thread in range(11)]


@pytest.mark.parametrize("left", [0, 5])
def test_log_larger_than_a_buffer(left: int) -> None:
    count = 2 * _CHUNK // 12 + 3
    data = log([(1, 22, 1)]) * count + bytes(left)
    source = davida_batches(ByteInput(io.BytesIO(data)), Symbols(), count)
    assert len(next(source)) == count
    if left:
        with pytest.raises(InputError, match=f"event {count}: the log is cut"):
            next(source)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    events, error = read(data)
    assert (error is None) == (12 * len(events) == len(data))
