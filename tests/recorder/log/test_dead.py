"""Objects that die: their locations are told once and come never again, and names are what they would be."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atomsan.recorder.log.names import SymbolNames
from atomsan.recorder.log.recording import Recording
from atomsan.recorder.python.language import PYTHON
from atomsan.trace.symbols import Symbols
from recorder.raw import NAMES, BatchList, Resolved, log, module, record

SOURCE = "self.items.append(1)\n"
# 1: the attribute that a container is the value of; 2: an element of it
PROBES = [("load_attr", 1, 0, 0, "items", "self"), ("method", 1, 0, 0, "append", "self.items", -1, 0)]
TYPES = [["type", 1, "bank", "Account"], ["type", 2, "builtins", "list"], ["type", 3, "builtins", "dict"]]
DEFINITIONS = [module(PROBES, file="bank.py", source=SOURCE), *NAMES, *TYPES]
ADDRESSES = [0x1000 * (number + 1) for number in range(4)]


def read(obj: int, key: int = 1, kind: str = "field", *, thread: int = 1, site: int = 0, op: str = "read") -> Any:
    return record(thread, op, obj, key, kind, type=1 if kind == "field" else 2, site=site)


def free(obj: int) -> tuple[int, ...]:
    return record(0, "free", obj)


accesses = st.builds(
    read,
    st.sampled_from(ADDRESSES),
    st.integers(0, 3),
    st.sampled_from(["field", "hash", "index", "structure"]),
    thread=st.integers(1, 2),
    site=st.integers(0, 2),
    op=st.sampled_from(["read", "write"]),
)
keys = st.builds(read, st.sampled_from(ADDRESSES), st.sampled_from(ADDRESSES), st.just("object"))
aliases = st.builds(lambda one, other: record(0, "alias", one, other, type=1), *[st.sampled_from(ADDRESSES)] * 2)
steps = st.one_of(accesses, accesses, accesses, keys, aliases, st.builds(free, st.sampled_from(ADDRESSES)), st.none())


def recorded(pieces: list[list[tuple[int, ...]]], *, keeps_unshared: bool) -> tuple[BatchList, Symbols]:
    recording = Recording(shared=False, ring_bytes=1 << 14, keeps_unshared=keeps_unshared, language=PYTHON)
    sink = BatchList()
    recording.start(sink)
    for message in DEFINITIONS:
        recording.send(message)
    for piece in pieces:
        recording.feed(log(piece))
    recording.finish()
    return sink, recording.symbols


@settings(max_examples=300, deadline=None)
@given(st.lists(steps, max_size=60), st.booleans())
def test_dead_never_come_again_and_names_stay(given: list[Any], keeps_unshared: bool) -> None:
    pieces: list[list[tuple[int, ...]]] = [[]]
    for step in given:
        if step is None:
            pieces.append([])
        else:
            pieces[-1].append(step)
    sink, symbols = recorded(pieces, keeps_unshared=keeps_unshared)
    dead: set[int] = set()
    for batch in sink.batches:
        assert dead.isdisjoint(batch.target[batch.op <= 1].tolist())
        if batch.dead is not None:
            told = batch.dead.tolist()
            assert len(set(told)) == len(told)
            assert dead.isdisjoint(told)
            assert max(told) < len(symbols.locations)
            dead.update(told)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SymbolNames, "forget", lambda *_: None)
        _, remembered = recorded(pieces, keeps_unshared=keeps_unshared)
    assert list(symbols.locations) == list(remembered.locations)
    assert symbols.locations.columns == remembered.locations.columns


def told(*pieces: list[tuple[int, ...]]) -> list[list[int] | None]:
    sink, _ = recorded(list(pieces), keeps_unshared=True)
    return [None if batch.dead is None else batch.dead.tolist() for batch in sink.batches]


def test_locations_of_a_dead_object_are_told_with_the_next_events() -> None:
    assert told([read(64), read(64, 2), read(128)], [free(64), read(128)], [read(64)]) == [None, [0, 1], None]


def test_location_by_two_keys_is_told_once() -> None:
    """The state of a primitive is one location, whichever part of it a record names."""
    states = [record(1, "read", 64, part, "structure", flag="state") for part in (1, 2)]
    (dead,) = told([*states, free(64), read(128)])
    assert dead == [0]


def test_object_whose_namespace_is_used_is_not_told() -> None:
    """Its attributes can be reached through the namespace as long as that lives."""
    assert told([read(64), record(0, "alias", 128, 64, type=1), free(64), read(192)]) == [None]


def test_container_outlives_the_object_that_it_was_reached_through() -> None:
    log = Resolved(DEFINITIONS)
    log.feed(read(64, site=1), read(128, 0, "index", site=2))
    log.feed(free(64), read(192))
    log.feed(read(128, 1, "index", site=2), free(128), read(192))
    log.feed(read(64, site=1), read(128, 0, "index", site=2))
    log.trace()
    assert list(log.symbols.locations) == [
        "Account.x (Account #1)",
        "Account.x[0] (Account #1)",
        "Account.x (Account #2)",
        "Account.x[1] (Account #1)",
        "Account.x (Account #3)",
        "Account.x[0] (Account #3)",
    ]


def test_what_is_used_first_after_the_death_of_its_holder_is_named_after_that() -> None:
    """`take().items.append(1)`: what `take` gives is gone before the append."""
    log = Resolved(DEFINITIONS)
    log.feed(read(64, site=1))
    log.feed(free(64), read(192, thread=2))
    log.feed(read(192, thread=2))
    log.feed(read(128, 0, "index", site=2))
    log.trace()
    assert list(log.symbols.locations)[-1] == "Account.x[0] (Account #1)"
