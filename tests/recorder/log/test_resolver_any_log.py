"""Whatever is in the log, what comes out is well-formed: the trace's own validation is the judge."""

from __future__ import annotations

import random
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.log.test_resolver import DEFINITIONS, PROBES, REGIONS
from recorder.raw import RECORD, M, Resolved, log, record

# Few values, so that records have to do with each other; and some that nothing knows.
addresses = st.sampled_from([0, 64, 128, 192, M, 1 << 63])
keys = st.sampled_from([0, 1, 2, 3, 7, 30, 64, 101, 128, 1 << 63])
sites = st.integers(0, len(PROBES) + 2)
threads = st.sampled_from([1, 2, 3, 3, 0, 1 << 31])
flags = st.sampled_from([0, 0, 1, 2, 4, 3, 32, 128, 160])
records = st.tuples(addresses, keys, st.integers(0, 3), sites, threads, st.integers(0, 29), st.integers(0, 9), flags)


@settings(max_examples=400, deadline=None)
@given(st.lists(records, max_size=60), st.integers(1, 60))
def test_any_records_give_a_well_formed_trace(rows: list[tuple[int, ...]], cut: int) -> None:
    log = Resolved(DEFINITIONS)
    for start in range(0, len(rows), cut):
        log.feed(*rows[start : start + cut])
    trace = log.trace()
    assert len(set(trace.symbols.locations)) == len(trace.symbols.locations), "two locations share a name"
    assert len(set(trace.symbols.locks)) == len(trace.symbols.locks)


@settings(max_examples=200, deadline=None)
@given(st.lists(records, max_size=40), st.lists(records, max_size=40))
def test_trace_does_not_depend_on_the_trace_before(before: list[tuple[int, ...]], rows: list[tuple[int, ...]]) -> None:
    traces = [log.feed(*rows).trace() for log in (Resolved(DEFINITIONS), Resolved(DEFINITIONS).feed(*before).restart())]
    fresh, later = (list(map(str, trace.events())) for trace in traces)
    assert later == fresh


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=2000))
def test_any_bytes_give_a_well_formed_trace(soup: bytes) -> None:
    log = Resolved(DEFINITIONS)
    log.recording.feed(np.frombuffer(soup.ljust(len(soup) + -len(soup) % 8, b"\0"), np.uint64).view(np.uint8).copy())
    log.trace()


def test_records_may_change_while_they_are_read() -> None:
    """A program can write to its own memory, and so to the log, at any time."""
    rng = random.Random(5)
    rows = [record(rng.choice((1, 2)), "read", 64 * rng.randint(1, 3), 1) for _ in range(1000)]
    raw = np.tile(log(rows), 200)
    words, good = raw.view(np.uint64), raw.view(np.uint64).copy()
    bad = good.copy()
    bad[3::4] |= np.uint64(0x7FFFFF00)  # threads that there are not
    is_over = threading.Event()

    def spoil() -> None:
        while not is_over.is_set():
            words[:] = bad
            words[:] = good

    spoiling = threading.Thread(target=spoil)
    spoiling.start()
    try:
        for _ in range(20):
            resolved = Resolved(DEFINITIONS)
            resolved.recording.feed(raw)
            resolved.trace()
    finally:
        is_over.set()
        spoiling.join()


# Begins and ends of functions and iterations, some of them called back.
calls = st.tuples(st.sampled_from([1, 2]), st.sampled_from([1, 2, 3, 4, 5, 6, 9, 10, 13, 14]), st.booleans())


@settings(max_examples=400, deadline=None)
@given(st.lists(calls, max_size=80))
def test_regions_are_a_stack(steps: list[tuple[int, int, bool]]) -> None:
    """An end closes the innermost region of its name and all that is inside; without one it is nothing."""
    stacks: dict[int, list[int]] = {1: [], 2: []}
    expected = []
    rows = []
    for thread, site, is_back in steps:
        stack = stacks[thread]
        if site % 2:
            rows.append(record(thread, "begin", site=site, flag="called_back" if is_back else ""))
            expected.append(f"T{thread}:begin({region_at(site)})")
            stack.append(site)
        else:
            rows.append(record(thread, "end", site=site))
            while site - 1 in stack:
                ended = stack.pop()
                expected.append(f"T{thread}:end({region_at(ended)})")
                if ended == site - 1:
                    break
    assert Resolved(DEFINITIONS).feed(*rows).notation().split() == expected


def region_at(site: int) -> str:
    name: str = REGIONS[PROBES[site - 1][6]][0]  # type: ignore[index]
    return name


@pytest.mark.parametrize("seed", range(8))
def test_long_logs(seed: int) -> None:
    """With all kinds of things alive at the same time, in pieces, and through growth of every table."""
    rng = np.random.default_rng(seed)
    count = 20_000
    rows = np.zeros(count, RECORD)
    spread = random.Random(seed).choice([4, 50, 3000])
    rows["object"] = 64 * rng.integers(0, spread, count)
    rows["key"] = rng.integers(0, spread, count) * rng.choice([1, 64], count)
    rows["type"] = rng.integers(0, 4, count)
    rows["site"] = rng.integers(0, len(PROBES) + 2, count)
    rows["thread"] = rng.integers(0, 40, count)
    rows["op"] = rng.choice([*range(27), *[0, 1] * 10, *[10, 11] * 2], count)
    # threads that end at once would leave nothing to look at
    rare = rng.random(count) < 0.98
    rows["op"][np.isin(rows["op"], [4, 5, 13]) & rare] = 1
    rows["key_kind"] = rng.integers(0, 8, count)
    rows["flags"] = rng.choice([0, 0, 0, 1, 2], count)
    log = Resolved(DEFINITIONS)
    at = 0
    while at < count:
        piece = rows[at : at + int(rng.integers(1, 3000))]
        log.recording.feed(piece.view(np.uint8))
        at += len(piece)
    trace = log.trace()
    assert len(trace) > count // 4
    assert len(set(trace.symbols.locations)) == len(trace.symbols.locations)
    handovers = trace.symbols.handovers
    assert len(set(handovers)) == len(handovers)
