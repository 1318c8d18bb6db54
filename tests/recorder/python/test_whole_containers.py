"""Reads of whole containers, of any length: they conflict with each store to an element, and stores not with others."""

from __future__ import annotations

import array
import collections
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from atomsan.trace.events import Op
from recorder.probing import ELEMENTS, OPS, function, recording
from recorder.raw import Resolved

LENGTHS = (3, 64, 65, 1000, 65000)

SEQUENCES: dict[str, Callable[[int], Any]] = {
    "list": lambda n: [0] * n,
    "bytearray": bytearray,
    "array": lambda n: array.array("i", bytes(4 * n)),
    "deque": lambda n: collections.deque([0] * n),
}
DICTS: dict[str, Callable[[int], Any]] = {
    "dict": lambda n: dict.fromkeys(range(n), 0),
    "OrderedDict": lambda n: collections.OrderedDict.fromkeys(range(n), 0),
    "Counter": lambda n: collections.Counter(range(n)),
    "text keys": lambda n: {f"k{i}": 0 for i in range(n)},
}
STORE = "«item»[a, k] = 1"
SEQUENCE_READS = (
    "sum(«argument sum»[a])",
    "list(«argument list»[a])",
    "for x in «iterate»[a]: pass",
    "5 in «contains»[a, 5]",
)
DICT_READS = (
    "sum(«argument sum»[a.values()])",
    "dict(«argument dict»[a])",
    "«method copy»[a].copy()",
    "list(«argument list»[a.items()])",
    "for x in «iterate»[a.values()]: pass",
)


class Program:
    """Steps of threads on one container, in the order in which they are called; then what each pair shares."""

    def __init__(self, container: Any, cuts: bool = False) -> None:
        self.container = container
        self._cuts = cuts

    def run(self, *steps: tuple[int, str, Any]) -> set[tuple[int, int]]:
        """Steps by thread, statement and key; returns the pairs of steps that conflict, in their order."""
        with recording(1 << 18) as log:
            resolved = Resolved()
            ran: list[tuple[int, int]] = []
            threads = {number: _Worker() for number in sorted({step[0] for step in steps})}
            for thread, source, key in steps:
                run = function(f"def f(a, k):\n {source}")
                before = log.head["head"]
                threads[thread].call(run, self.container, key)
                ran.append((before, log.head["head"]))
            for worker in threads.values():
                worker.end()
            resolved.define(log.definitions)
            raw = np.frombuffer(log.drain(), np.uint8)
            for start, stop in ran if self._cuts else [(0, ran[-1][1])]:
                resolved.recording.feed(raw[start * 32 : stop * 32].copy())
        return _conflicts(resolved)


class _Worker:
    """A thread that the recorder does not watch being started."""

    def __init__(self) -> None:
        self._todo: list[Any] = []
        self._is_ready, self._is_done = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while True:
            self._is_ready.acquire()
            work = self._todo.pop()
            if work is None:
                return
            work[0](*work[1:])
            self._is_done.release()

    def call(self, *work: Any) -> None:
        self._todo.append(work)
        self._is_ready.release()
        self._is_done.acquire()

    def end(self) -> None:
        self._todo.append(None)
        self._is_ready.release()
        self._thread.join()


def _conflicts(resolved: Resolved) -> set[tuple[int, int]]:
    """Pairs of threads (numbered as they come in the trace) of which the second accessed what the first had."""
    trace = resolved.trace()
    numbers: dict[int, int] = {}
    by_location: dict[int, list[tuple[int, int]]] = {}
    for batch in trace.batches():
        for thread, op, target, _ in batch.rows():
            if op <= Op.WRITE:
                number = numbers.setdefault(thread, len(numbers) + 1)
                by_location.setdefault(target, []).append((number, op))
    found = set()
    for accesses in by_location.values():
        if len({number for number, _ in accesses}) < 2:
            continue
        for j, (later, op) in enumerate(accesses):
            found |= {(earlier, later) for earlier, was in accesses[:j] if earlier != later and Op.WRITE in (op, was)}
    return found


def reads_and_containers() -> list[tuple[str, str, int]]:
    rows = [(kind, read, length) for kind in SEQUENCES for read in SEQUENCE_READS for length in LENGTHS]
    rows += [(kind, read, length) for kind in DICTS for read in DICT_READS for length in LENGTHS]
    # the order in which these are iterated is not known
    rows = [row for row in rows if not (row[0] in ("OrderedDict", "Counter") and "iterate" in row[1])]
    return [row for row in rows if row[0] in ("list", "dict") or row[2] in (3, 65, 1000)]


def key_at(container: Any, place: int) -> Any:
    return list(container)[place] if isinstance(container, dict) else place % len(container)


@pytest.mark.parametrize("cuts", [False, True], ids=["at once", "late"])
@pytest.mark.parametrize(("kind", "read", "length"), reads_and_containers())
def test_a_whole_read_conflicts_with_each_store(kind: str, read: str, length: int, cuts: bool) -> None:
    make = (SEQUENCES | DICTS)[kind]
    container = make(length)
    first, last, middle = key_at(container, 0), key_at(container, -1), key_at(container, length // 2)
    # thread 1 reads, thread 2 stores afterwards; and the other way round
    assert Program(container, cuts).run((1, read, None), (2, STORE, last)) == {(1, 2)}
    assert Program(make(length), cuts).run((1, STORE, middle), (2, read, None)) == {(1, 2)}
    steps = [(1, STORE, first), (2, read, None), (3, STORE, last), (2, read, None)]
    assert Program(make(length), cuts).run(*steps) == {(1, 2), (2, 3), (3, 2)}
    # stores to different elements have nothing to do with each other, whoever reads the whole
    steps = [(1, read, None), (2, STORE, first), (3, STORE, last)]
    assert Program(make(length), cuts).run(*steps) == {(1, 2), (1, 3)}


@pytest.mark.parametrize("length", LENGTHS)
def test_sets(length: int) -> None:
    def make() -> set[int]:
        return set(range(length))

    add = "«keyed_method add»[a, k].add(k)"
    read = "sorted(«argument sorted»[a])"
    assert Program(make()).run((1, read, None), (2, add, 1)) == {(1, 2)}
    assert Program(make()).run((1, add, 1), (2, read, None)) == {(1, 2)}
    assert Program(make()).run((1, read, None), (2, add, 0), (3, add, 1)) == {(1, 2), (1, 3)}


@pytest.mark.parametrize("cuts", [False, True], ids=["at once", "late"])
@pytest.mark.parametrize("length", [3, 64, 65, 1000, 60000])
@pytest.mark.parametrize("kind", ["list", "bytearray", "array"])
def test_a_slice_conflicts_with_the_stores_inside_it_only(kind: str, length: int, cuts: bool) -> None:
    read = f"«item»[a, slice(2, {length + 2})]"
    for place, expected in ((1, set()), (2, {(1, 2)}), (length + 1, {(1, 2)}), (length + 2, set())):
        container = SEQUENCES[kind](length + 5)
        assert Program(container, cuts).run((1, read, None), (2, STORE, place)) == expected
        assert Program(container, cuts).run((1, STORE, place), (2, read, None)) == expected


@pytest.mark.parametrize("change", ["«method reverse»[a].reverse()", "«keyed_method insert»[a, 0].insert(0, 1)"])
@pytest.mark.parametrize("length", LENGTHS)
def test_a_change_of_the_whole_conflicts_with_each_access(length: int, change: str) -> None:
    for access in ("«item»[a, k]", STORE):
        assert (1, 2) in Program([0] * length).run((1, access, length - 1), (2, change, None))
        assert (1, 2) in Program([0] * length).run((1, change, None), (2, access, 1))
        assert (1, 2) in Program([0] * length, True).run((1, change, None), (2, access, 1))


@pytest.mark.parametrize("length", [3, 64, 65, 1000])
def test_a_change_behind_a_place_leaves_those_before_it_alone(length: int) -> None:
    pop = "«keyed_method pop»[a, 5].pop(5)"
    assert Program([0] * (length + 6)).run((1, pop, None), (2, STORE, 2)) == set()
    assert Program([0] * (length + 6)).run((1, pop, None), (2, STORE, 7)) == {(1, 2)}


@pytest.mark.parametrize("length", [3, 64, 65, 1000, 4096])
def test_an_update_stores_to_its_keys_only(length: int) -> None:
    update = "«keyed_method update»[a, k].update(k)"
    other = dict.fromkeys(range(length), 1)
    container = dict.fromkeys(range(length + 2), 0)
    assert Program(container).run((1, update, other), (2, STORE, length)) == set()
    assert Program(container).run((1, update, other), (2, STORE, length - 1)) == {(1, 2)}


@pytest.mark.parametrize("length", [3, 64, 65, 1000, 4096])
def test_an_update_reads_its_argument(length: int) -> None:
    update = "«keyed_method update»[k, a].update(a)"
    other = dict.fromkeys(range(length), 1)
    assert Program(other).run((1, STORE, length - 1), (2, update, {})) == {(1, 2)}
    assert Program(other).run((1, update, {}), (2, STORE, length - 1)) == {(1, 2)}


@pytest.mark.parametrize("length", [3, 64, 65, 1000])
def test_popitem_takes_the_last(length: int) -> None:
    pop = "«method popitem»[a].popitem()"
    container = dict.fromkeys(range(length + 100), 0)
    for key in range(length, length + 100):
        del container[key]
    assert Program(dict(container)).run((1, STORE, 0), (2, pop, None)) == set()
    assert Program(container).run((1, STORE, length - 1), (2, pop, None)) == {(1, 2)}


def test_a_long_read_is_one_record() -> None:
    with recording() as log:
        read = function("def f(a): sum(«argument sum»[a])")
        for container in ([0] * 65, [0] * 65000):
            log.read()
            read(container)
            kinds = [r.key_kind for r in log.read() if OPS[r.op] == "read" and r.object == id(container)]
            assert kinds.count(ELEMENTS) == 1
            assert len(kinds) == 2


def test_another_key_is_among_the_elements() -> None:
    class Own:
        def __hash__(self) -> int:
            return 1

        def __eq__(self, other: object) -> bool:
            return self is other

    key = Own()
    container: dict[Any, int] = {key: 0, **dict.fromkeys(range(100), 0)}
    read = "sum(«argument sum»[a.values()])"
    assert Program(container, True).run((1, read, None), (2, STORE, key)) == {(1, 2)}
    assert Program(container).run((1, STORE, key), (2, read, None)) == {(1, 2)}
