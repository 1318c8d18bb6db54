"""Objects that one thread alone used, and that died soon: they may be left out, and nothing else changes."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atomsan.recorder.log.recording import Recording
from atomsan.recorder.python.language import PYTHON
from recorder.raw import BatchList, log, module, record

SITES = 60
PROBES = [("load_attr", line + 1, 0, 0, "x") for line in range(SITES)]
NAMES = [["name", number, name, number * 1001] for number, name in enumerate(("x", "y", "z"), 1)]
ADDRESSES = [0x1000 * (number + 1) for number in range(4)]


def events(pieces: list[list[tuple[int, ...]]], *, keeps_unshared: bool) -> list[tuple[int, int, str, str, str]]:
    """(site, op, thread, location, object) of each access."""
    recording = Recording(shared=False, ring_bytes=1 << 14, keeps_unshared=keeps_unshared, language=PYTHON)
    sink = BatchList()
    recording.start(sink)
    for message in (module(PROBES), *NAMES):
        recording.send(message)
    for piece in pieces:
        recording.feed(log(piece))
    recording.finish()
    symbols = recording.symbols
    assert len(set(symbols.locations)) == len(symbols.locations)
    found: list[Any] = []
    for batch in sink.batches:
        for thread, op, target, site in zip(batch.thread, batch.op, batch.target, batch.site, strict=True):
            if op <= 1:
                line = symbols.sites.site(site).line
                names = symbols.locations[target], symbols.locations.get(int(target), "object")
                found.append((line, int(op), symbols.threads[thread], *names))
    return found


accesses = st.tuples(
    st.integers(1, 3), st.sampled_from(["read", "write"]), st.sampled_from(ADDRESSES), st.integers(1, 3),
    st.sampled_from(["field", "hash", "object", "structure"]),
)  # fmt: skip
steps = st.one_of(accesses, accesses, st.tuples(st.sampled_from(["free", "cut"]), st.sampled_from(ADDRESSES)))


@settings(max_examples=400, deadline=None)
@given(st.lists(steps, max_size=SITES - 1))
def test_only_unshared_objects_are_left_out(given: list[tuple[Any, ...]]) -> None:
    pieces: list[list[tuple[int, ...]]] = [[]]
    for site, step in enumerate(given, 1):
        if step[0] == "cut":
            pieces.append([])
        elif step[0] == "free":
            pieces[-1].append(record(0, "free", step[1]))
        else:
            thread, op, obj, key, kind = step
            number = ADDRESSES[key] if kind == "object" else key if kind != "structure" else 0
            pieces[-1].append(record(thread, op, obj, number, kind=kind, site=site))
    all_of_it = events(pieces, keeps_unshared=True)
    sifted = events(pieces, keeps_unshared=False)
    kept = {event[0] for event in sifted}
    # in the same order, by the same threads
    assert [event[:3] for event in all_of_it if event[0] in kept] == [event[:3] for event in sifted]
    # two of them are about one location, or one object, if and only if they were
    for column in (3, 4):
        pairs = {
            (one[column], other[column])
            for one, other in zip((event for event in all_of_it if event[0] in kept), sifted, strict=True)
        }
        assert len(pairs) == len({pair[0] for pair in pairs}) == len({pair[1] for pair in pairs})
    # and what is not there was of objects that only one thread knew
    for event in all_of_it:
        if event[0] not in kept:
            assert len({other[2] for other in all_of_it if other[4] == event[4]}) == 1
            assert all(other[0] not in kept for other in all_of_it if other[4] == event[4])


def access(thread: int, obj: int, site: int = 1, op: str = "write") -> tuple[int, ...]:
    return record(thread, op, obj, 1, kind="field", site=site)


FREE = record(0, "free", 0x1000)


def lines(*pieces: list[tuple[int, ...]]) -> list[int]:
    return [event[0] for event in events(list(pieces), keeps_unshared=False)]


def test_an_object_that_one_thread_made_used_and_dropped() -> None:
    assert lines([access(1, 0x1000), access(1, 0x1000, 2, "read"), FREE, access(1, 0x1000, 3)]) == [3]


@pytest.mark.parametrize("pieces", [
    [[access(1, 0x1000), access(2, 0x1000, 2), FREE]],          # two threads
    [[access(1, 0x1000), access(1, 0x1000, 2)]],                # it is still there
    [[access(1, 0x1000)], [access(1, 0x1000, 2), FREE]],        # it was given away before it died
])  # fmt: skip
def test_other_objects_stay(pieces: list[list[tuple[int, ...]]]) -> None:
    assert lines(*pieces) == [1, 2]


def test_an_object_that_is_a_key_stays() -> None:
    used_as_key = record(1, "write", 0x2000, 0x1000, kind="object", site=2)
    assert lines([access(1, 0x1000), used_as_key, FREE]) == [1, 2]
