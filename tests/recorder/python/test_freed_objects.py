"""Freed objects: the free is logged before the address is used again, so that locations are never confused."""

from __future__ import annotations

import array
import collections
import gc
import threading
import types
from typing import Any

import pytest

from recorder.probing import FIELD, OPS, RECORD, Record, draining, function, prepared, recording

STAMP = "def f(a, v): «store_attr stamp»[a].stamp = v"


class Plain:
    stamp: object


class Slotted:
    __slots__ = ("stamp",)


class Bare:
    """Neither a dictionary that the collector could know nor weak references."""

    __slots__ = ("stamp",)


class Finalized(Plain):
    ended = 0

    def __del__(self) -> None:
        Finalized.ended += 1


class OfDict(dict[Any, Any]):
    stamp: object


class OfList(list[Any]):
    stamp: object


class OfExceptionError(ValueError):
    stamp: object


class OfInt(int):
    stamp: object


def generations(records: list[Record]) -> list[tuple[int, int]]:
    """A resolver in a few lines: each access as (address, deaths at that address before)."""
    deaths: collections.Counter[int] = collections.Counter()
    found = []
    for record in records:
        if OPS[record.op] == "free":
            deaths[record.object] += 1
        elif OPS[record.op] in ("read", "write"):
            found.append((record.object, deaths[record.object]))
    return found


MADE = (Plain, Slotted, Bare, Finalized, OfDict, OfList, OfExceptionError, OfInt, types.SimpleNamespace)


@pytest.mark.parametrize("make", MADE)
def test_successive_objects_are_different(make: type) -> None:
    with recording() as log:
        stamp = function(STAMP)
        addresses = set()
        for number in range(500):
            thing = make()
            addresses.add(id(thing))
            stamp(thing, number)
            del thing
        assert len(addresses) < 500, "no address was used again: the test shows nothing"
        found = generations(log.read())
        assert len(found) == len(set(found)) == 500


@pytest.mark.parametrize(
    ("make", "touch"),
    [
        (list, "«method append»[c].append(1)"),
        (dict, "«item»[c, 'k'] = 1"),
        (set, "«keyed_method add»[c, 1].add(1)"),
        (bytearray, "«method append»[c].append(1)"),
        (lambda: array.array("i"), "«method append»[c].append(1)"),
        (collections.deque, "«method append»[c].append(1)"),
        (collections.OrderedDict, "«item»[c, 'k'] = 1"),
        (lambda: collections.defaultdict(int), "«item»[c, 'k'] = 1"),
        (collections.Counter, "«item»[c, 'k'] = 1"),
        (collections.ChainMap, "«item»[c, 'k'] = 1"),
    ],
)
def test_successive_containers_are_different(make: Any, touch: str) -> None:
    with recording() as log:
        use = function(f"def f(c):\n {touch}")
        for _ in range(300):
            use(make())
        locations: dict[tuple[int, int], int] = collections.Counter(generations(log.read()))
        assert len(locations) == 300
        assert len(set(locations.values())) == 1, "an object got the events of another"


def test_closure_variables_belong_to_their_activation() -> None:
    with recording() as log:
        run = function(
            "def f():\n cells = «cells»[None]\n x = «store_cell x»[1, cells]\n return «load_cell x»[x, cells]"
        )
        assert [run() for _ in range(100)] == [1] * 100
        found = generations(log.read())
        assert len(found) == 200
        assert len(set(found)) == 100


def test_finalizer_runs_once_and_can_use_the_object() -> None:
    Finalized.ended = 0
    with recording() as log:
        stamp = function(STAMP)
        for number in range(50):
            stamp(Finalized(), number)
        assert len(set(generations(log.read()))) == 50
    assert Finalized.ended == 50


def test_resurrected_object_keeps_its_identity() -> None:
    kept: list[Any] = []

    class Undead(Plain):
        def __del__(self) -> None:
            if not kept:
                kept.append(self)

    with recording() as log:
        stamp = function(STAMP)
        thing = Undead()
        stamp(thing, 1)
        del thing
        stamp(kept[0], 2)
        assert len(set(generations(log.read()))) == 1
        kept.clear()
        kept.append(None)
        assert "free" in [OPS[record.op] for record in log.read()]


def test_free_of_garbage_cycles_is_logged() -> None:
    with recording() as log:
        stamp = function(STAMP)
        for number in range(200):
            thing: Any = Plain()
            thing.me = thing
            stamp(thing, number)
            if number % 20 == 0:
                gc.collect()
        del thing
        gc.collect()
        found = generations(log.read())
        assert len(found) == len(set(found)) == 200


def test_freed_class_gives_up_its_number() -> None:
    with recording() as log:
        stamp = function(STAMP)
        for number in range(100):
            made = type(f"Made{number}", (), {})
            stamp(made(), number)
            del made
            gc.collect(0)
        gc.collect()
        writes = [record for record in log.read() if OPS[record.op] == "write"]
        names = {number: name for _, number, _, name in log.definitions_of("type")}
        assert [names[record.type] for record in writes] == [f"Made{number}" for number in range(100)]


def test_free_of_unlogged_object_is_not_logged() -> None:
    with recording() as log:
        for _ in range(1000):
            [[], {}, set(), Plain()]
        assert log.read() == []


def test_deep_structures_can_be_freed() -> None:
    with recording():
        touch = function("def f(c):\n «method append»[c].append(1)")
        nested: Any = []
        for _ in range(1_000_000):
            nested = [nested]
        touch(nested)
        del nested
        tower: Any = {}
        for _ in range(300_000):
            tower = {"k": collections.deque([tower])}
        del tower


def test_frees_are_logged_when_the_ring_is_full() -> None:
    """Freeing ten thousand objects at once into a ring of a thousand: they wait at the side, and no thread does."""
    with recording(1024) as log:
        stamp = function(STAMP)
        with draining(log) as pieces:
            things = [Plain() for _ in range(10_000)]
            addresses = [id(thing) for thing in things]
            for number, thing in enumerate(things):
                stamp(thing, number)
        del thing
        things.clear()  # nobody reads now
        with draining(log) as rest:
            thing = Plain()
            stamp(thing, 0)
    records = [Record(*fields) for fields in RECORD.iter_unpack(b"".join([*pieces, *rest]))]
    # Others can die meanwhile, when the collector runs: those of earlier tests.
    deaths = collections.Counter(record.object for record in records if OPS[record.op] == "free")
    assert [deaths[address] for address in addresses] == [1] * 10_000
    assert log.head["lost"] == 0


def test_deallocators_are_restored() -> None:
    """Objects made while recording die well after it, and the other way round."""
    before = [Plain(), [], {}]
    with recording():
        stamp = function(STAMP)
        during = [Plain(), [1], {2: 3}]
        stamp(during[0], 1)
        stamp(before[0], 1)
        before.clear()
    during.clear()
    gc.collect()
    with recording() as log:
        stamp(Plain(), 1)
        assert [OPS[record.op] for record in log.read()] == ["thread", "write", "free"]


def test_id_reuse_across_threads() -> None:
    """Threads that make, stamp and drop objects as fast as they can."""
    with recording(1 << 14) as log:
        names = prepared(
            """
def f(make, base, n):
    for i in range(n):
        thing = make()
        «store_attr stamp»[thing].stamp = base + i
        if «load_attr stamp»[thing].stamp != base + i:
            raise AssertionError
""",
        )
        with draining(log) as pieces:
            threads = [threading.Thread(target=names["f"], args=(Plain, n * 10_000, 10_000)) for n in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    log_records = [Record(*fields) for fields in RECORD.iter_unpack(b"".join(pieces))]
    owners: dict[tuple[int, int], set[int]] = collections.defaultdict(set)
    deaths: collections.Counter[int] = collections.Counter()
    for record in log_records:
        if OPS[record.op] == "free":
            deaths[record.object] += 1
        elif record.key_kind == FIELD:
            owners[record.object, deaths[record.object]].add(record.thread)
    assert len(owners) == 30_000
    assert all(len(threads_) == 1 for threads_ in owners.values())
