"""The order of the log is the real one: replayed, it gives each reader the value that the reader really saw.

Writers put values that nobody else writes, readers keep what they saw. The log has no values, so each thread's own list
of values is laid beside its records: the n-th write (read) of a thread is its n-th value.
"""

from __future__ import annotations

import collections
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from atomsan.recorder.python import _log
from atomsan.scheduler.noise import Noise
from recorder.probing import RECORD, draining, function, recording

READS = 80_000  # of each reader, at least
TURNS = 150
# What a machine that is busy with other things gets to in PATIENCE seconds is worth less, but not nothing.
ENOUGH_TURNS = 15
PATIENCE = 10

LAYOUT = np.dtype(
    {
        "names": ["object", "key", "site", "thread", "op", "kind"],
        "formats": ["<u8", "<u8", "<u4", "<u4", "u1", "u1"],
        "offsets": [0, 8, 20, 24, 28, 29],
        "itemsize": RECORD.size,
    }
)


class Thing:
    x: object = None


@pytest.fixture(autouse=True)
def _small_switch_interval() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


CASES = {
    "attribute": ("«store_attr x»[a].x = v", "«load_attr x»[a].x", lambda: Thing()),
    "dict": ("«item»[a, 'k'] = v", "«item»[a, 'k']", lambda: {"k": None}),
    "dict by call": ("«item»(a, 'k', v)", "«item»(a, 'k')", lambda: {"k": None}),
    "dict get": ("«item»[a, 'k'] = v", "«keyed_method get»[a, 'k'].get('k')", lambda: {"k": None}),
    "list": ("«item»[a, 0] = v", "«item»[a, 0]", lambda: [None]),
    "deque": ("«item»[a, 0] = v", "«item»[a, 0]", lambda: collections.deque([None])),
}
GLOBAL = ("global G; G = «store_name G»[v]", "«load_name G»[G]", lambda: None)


@pytest.mark.parametrize("noisy", [False, True], ids=["plain", "noise"])
@pytest.mark.parametrize("case", [*CASES, "global"])
def test_log_agrees_with_the_values_that_readers_saw(case: str, noisy: bool) -> None:
    store, load, make = CASES.get(case, GLOBAL)
    contradictions, turns = experiment(store, load, make(), noisy)
    assert contradictions == 0
    assert turns > ENOUGH_TURNS


def test_record_apart_from_its_access_is_detected() -> None:
    """The same with a log that is written in a call before the access: other threads run between, and it shows."""
    load = "«load_attr x».__getitem__(a).x"
    assert any(experiment("«store_attr x»[a].x = v", load, Thing(), noisy=False)[0] for _ in range(5))


def experiment(store: str, load: str, shared: Any, noisy: bool) -> tuple[int, int]:
    """Two writers and two readers; how many reads contradict the log, and how many different values they saw.

    Readers go on until they have seen so many values: each is a turn of the threads at which a record could have been
    torn from its access. How many reads that takes depends on the machine."""
    source = f"""
G = None
def write(a, base, done):
    v = base
    while not done.is_set():
        for _ in range(20):
            v += 1
            {store}
def read(a, other, seen, is_enough):
    while not is_enough():
        for _ in range(2000):
            seen.append({load})
            «store_attr x»[other].x = 0  # or a repeated read would be left out
def f(which): return write if which == "write" else read
"""
    seen: list[list[Any]] = [[], []]
    with recording(1 << 16) as log:
        f = function(source)
        done = threading.Event()
        deadline = time.monotonic() + PATIENCE
        values: list[set[Any]] = [set(), set()]
        counted = [0, 0]

        def is_enough(number: int) -> bool:
            values[number].update(seen[number][counted[number] :])
            counted[number] = len(seen[number])
            is_due = counted[number] >= READS and len(values[number]) > TURNS
            return is_due or (time.monotonic() > deadline and len(values[number]) > ENOUGH_TURNS)

        def writer(number: int) -> None:
            f("write")(shared, number << 40, done)

        def reader(number: int) -> None:
            f("read")(shared, Thing(), seen[number], lambda: is_enough(number))

        with draining(log) as pieces:
            writers = [threading.Thread(target=writer, args=(number,), name=f"writer {number}") for number in (1, 2)]
            readers = [threading.Thread(target=reader, args=(number,), name=f"reader {number}") for number in (0, 1)]
            if noisy:
                _log.set_scheduler(Noise(1))
            for thread in [*writers, *readers]:
                thread.start()
            for thread in readers:
                thread.join()
            done.set()
            for thread in writers:
                thread.join()
            _log.set_scheduler(None)
        names = {name: number for _, number, name, _ in log.definitions_of("thread")}
    records = np.frombuffer(b"".join(pieces), LAYOUT)
    return replayed(records, names, seen), min(map(len, values))


def replayed(records: np.ndarray[Any, Any], names: dict[str, int], seen: list[list[Any]]) -> int:
    """How many reads saw another value than the last one written before them in the log."""
    writer_numbers = {names[f"writer {number}"]: number for number in (1, 2)}
    location = next(
        (r["object"], r["key"], r["kind"]) for r in records if r["op"] == 1 and int(r["thread"]) in writer_numbers
    )
    here = records[
        (records["object"] == location[0]) & (records["key"] == location[1]) & (records["kind"] == location[2])
    ]
    counts = dict.fromkeys(writer_numbers, 0)
    positions = {names[f"reader {number}"]: iter(seen[number]) for number in (0, 1)}
    value: Any = None
    contradictions = 0
    for thread, op in zip(here["thread"].tolist(), here["op"].tolist(), strict=True):
        if op == 1:
            counts[thread] += 1
            value = (writer_numbers[thread] << 40) + counts[thread]
        elif op == 0:
            contradictions += next(positions[thread]) != value
    assert all(next(rest, "none") == "none" for rest in positions.values()), "a read is missing in the log"
    return contradictions
