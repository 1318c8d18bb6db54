"""Accesses to all elements at once: compared with a log in which each of them is accesses to all elements."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import pytest

from atomsan.recorder.log import live
from atomsan.recorder.log.recording import Recording
from atomsan.recorder.log.runner import ProgramRun
from atomsan.trace.events import Op
from recorder.raw import Resolved, log, module, record

LIST = 0x5000
TO_THE_END = 0xFFFFFFFF


class Access(NamedTuple):
    thread: int
    op: str
    first: int
    stop: int
    """One element if it is `first`, else a range."""

    @property
    def is_whole(self) -> bool:
        return self.stop != self.first

    def records(self, site: int) -> list[tuple[int, ...]]:
        if not self.is_whole:
            return [record(self.thread, self.op, LIST, self.first, "index", site=site, type=1)]
        key = self.first | self.stop << 32
        return [
            record(self.thread, self.op, LIST, 0, "structure", site=site, type=1),
            record(self.thread, self.op, LIST, key, "elements", site=site, type=1),
        ]

    def touches(self, other: Access) -> bool:
        """By definition: whole accesses have the structure in common, others their elements."""
        if self.is_whole and other.is_whole:
            return True
        one, two = (range(a.first, a.stop if a.is_whole else a.first + 1) for a in (self, other))
        return one.start < two.stop and two.start < one.stop


def closure(count: int, edges: list[set[int]]) -> list[set[int]]:
    """What comes after each, if what follows has the higher number."""
    after: list[set[int]] = [set() for _ in range(count)]
    for i in reversed(range(count)):
        for j in edges[i]:
            after[i] |= after[j] | {j}
    return after


def by_definition(accesses: list[Access]) -> list[set[int]]:
    edges: list[set[int]] = [set() for _ in accesses]
    for j, later in enumerate(accesses):
        for i, earlier in enumerate(accesses[:j]):
            writes = "write" in (earlier.op, later.op)
            if earlier.thread == later.thread or (writes and earlier.touches(later)):
                edges[i].add(j)
    return closure(len(accesses), edges)


def by_resolver(accesses: list[Access], cuts: set[int], *, sifts: bool = False) -> tuple[list[set[int]], int]:
    """The same of the trace, and how many events that has. Each access has a site of its own.

    With `sifts`, there are short-lived objects between them, which are left out.
    """
    definitions = [["type", 1, "builtins", "list"], module([("item", n + 1, 0) for n in range(len(accesses))])]
    resolved = Resolved(definitions, keeps_unshared=not sifts)
    waiting: list[tuple[int, ...]] = []
    for number, access in enumerate(accesses):
        if sifts:
            waiting += [record(1, "write", 0x9000, 1, "index", site=number + 1), (0x9000, 0, 0, 0, 0, 10, 0, 0)]
        waiting += access.records(number + 1)
        if number in cuts:
            resolved.feed(*waiting)
            waiting = []
    resolved.feed(*waiting)
    trace = resolved.trace()
    lines = trace.symbols.sites.columns["line"]
    events = [
        (thread, op, target, lines[site] - 1) for batch in trace.batches() for thread, op, target, site in batch.rows()
    ]
    edges: list[set[int]] = [set() for _ in accesses]
    for j, (thread, op, target, later) in enumerate(events):
        for other, was, of, earlier in events[:j]:
            if thread == other:
                assert earlier <= later
            conflict = target == of and Op.WRITE in (op, was)
            if earlier < later and (thread == other or conflict):
                edges[earlier].add(later)
            # nobody else's access comes between the parts of one
            assert earlier <= later or not conflict or thread == other
    return closure(len(accesses), edges), len(events)


def some_accesses(seed: int, *, ranges: bool) -> list[Access]:
    chance = random.Random(seed)
    accesses = []
    for _ in range(chance.randint(2, 30)):
        thread = chance.randint(1, 3)
        op = chance.choice(["read", "write"])
        if chance.random() < 0.4:
            if chance.random() < 0.8:
                op = "read"
            first, stop = 0, TO_THE_END
            if ranges and chance.random() < 0.6:
                first = chance.randint(0, 4)
                stop = chance.choice([TO_THE_END, first + chance.randint(1, 4)])
            accesses.append(Access(thread, op, first, stop))
        else:
            place = chance.randint(0, 5)
            accesses.append(Access(thread, op, place, place))
    return accesses


@pytest.mark.parametrize("seed", range(300))
def test_as_accesses_to_all_elements(seed: int) -> None:
    accesses = some_accesses(seed, ranges=seed % 2 == 0)
    chance = random.Random(seed)
    cuts = {n for n in range(len(accesses)) if chance.random() < (0, 0.2, 1)[seed % 3]}
    expected = by_definition(accesses)
    assert by_resolver(accesses, cuts)[0] == expected
    assert by_resolver(accesses, cuts, sifts=True)[0] == expected


def whole(thread: int, op: str = "read") -> Access:
    return Access(thread, op, 0, TO_THE_END)


def one(thread: int, op: str, place: int) -> Access:
    return Access(thread, op, place, place)


def test_two_stores_to_different_elements_do_not_conflict() -> None:
    after, _ = by_resolver([whole(3), one(1, "write", 1), one(2, "write", 2)], {0, 1})
    assert after == [{1, 2}, set(), set()]


def test_a_store_before_and_after() -> None:
    after, _ = by_resolver([one(1, "write", 1), whole(2), one(1, "write", 2), whole(2)], {0, 1, 2, 3})
    assert after == [{1, 2, 3}, {2, 3}, {3}, set()]


def test_whole_reads_without_stores_cost_one_event_each() -> None:
    accesses = [one(1, "write", place) for place in range(500)]
    accesses += [whole(2) for _ in range(100)]
    _, events = by_resolver(accesses, set())
    assert events == 500 + 500 + 100  # each store, each of them read once, and the structure


def test_stores_cost_a_read_for_each_thread_that_reads() -> None:
    accesses = [whole(2), whole(3), *(one(1, "write", 1) for _ in range(100))]
    _, events = by_resolver(accesses, {50})
    assert events == 2 + 100 + 2


def gaps(accesses: list[Access]) -> str:
    """The warnings of the recording."""
    resolved = Resolved([["type", 1, "builtins", "list"]])
    resolved.feed(*(record for access in accesses for record in access.records(0)))
    resolved.trace()
    assert resolved.meta.warnings == resolved.meta.gaps
    return "\n".join(resolved.meta.gaps)


def slices(count: int, thread: int = 1, op: str = "read") -> list[Access]:
    """None of them covers another one."""
    return [Access(thread, op, 10 * n, 10 * n + 15) for n in range(count)]


@pytest.mark.parametrize("store", [0, 9, 19])
def test_store_to_a_forgotten_slice_is_a_gap(store: int) -> None:
    assert "no longer remembered" in gaps([*slices(10), one(2, "write", store)])
    assert gaps([*slices(10), one(2, "write", store)]).endswith("(such accesses: 1)")


@pytest.mark.parametrize(
    "accesses",
    [
        [*slices(8), one(2, "write", 1)],  # all are remembered
        [*slices(10), one(2, "write", 60)],  # by the ones that are remembered
        [*slices(10), one(1, "write", 1)],  # its own
        [*slices(10), one(2, "read", 1)],
        [*slices(10), whole(1), one(2, "write", 1)],  # a later one of the thread tells as much
        [*slices(20), *slices(20, 2)],
    ],
)
def test_forgotten_slices_that_nobody_misses_are_no_gap(accesses: list[Access]) -> None:
    assert gaps(accesses) == ""


def test_access_after_a_forgotten_store_to_many_elements_is_a_gap() -> None:
    assert "no longer remembered" in gaps([*slices(10, op="write"), one(2, "read", 1)])


def test_store_to_the_rest_that_a_loop_has_read_is_a_gap() -> None:
    rest = Access(1, "read", 65536, TO_THE_END)
    assert gaps([rest, one(2, "write", 70_000), one(2, "write", 80_000)]).endswith("(such stores: 2)")
    assert gaps([one(2, "write", 70_000), rest, one(1, "write", 70_000), one(2, "write", 3)]) == ""


@pytest.mark.parametrize(("batch", "late"), [(1, 2), (1000, 0)])
def test_access_too_late_for_a_live_check_is_a_gap(batch: int, late: int, monkeypatch: pytest.MonkeyPatch) -> None:
    resolved = Resolved([["type", 1, "builtins", "list"]])

    class Run:
        def read_until_exit(self, recording: Recording) -> Iterator[bool]:
            for access in (whole(1), one(3, "write", 7), one(2, "write", 1), one(2, "write", 1), one(3, "write", 2)):
                recording.feed(log(access.records(0)))
                yield False

    monkeypatch.setattr(live, "_SMALL", batch)
    source = live.LiveEvents(resolved.recording, cast(ProgramRun, Run()))
    for _ in source.batches():
        pass
    assert [text.rpartition("(")[2] for text in source.meta.warnings] == [f"such accesses: {late})"] * bool(late)


def test_what_dies_is_forgotten() -> None:
    resolved = Resolved([["type", 1, "builtins", "list"]])
    for _ in range(3):
        resolved.feed(*whole(1).records(0), *one(2, "write", 1).records(0))
        resolved.feed((LIST, 0, 0, 0, 0, 10, 0, 0))
    text = resolved.notation()
    assert text.count("T1:r(list #1[1])") == 1
    assert text.count("T1:r(list #2[1])") == 1


def test_a_namespace_is_read_under_any_key() -> None:
    resolved = Resolved([["type", 1, "builtins", "dict"], ["module_name", LIST, "m"]])
    assert "any key" in resolved.feed(*whole(1).records(0)).notation()


def test_any_numbers_are_survived() -> None:
    chance = random.Random(1)
    resolved = Resolved()
    for _ in range(20):
        records: list[Any] = []
        for _ in range(200):
            kind = chance.choice(["elements", "index", "whole", "object", "hash"])
            thread, op = chance.randint(1, 9), chance.choice(["read", "write"])
            records.append(record(thread, op, chance.randint(1, 5), chance.getrandbits(64), kind))
            if chance.random() < 0.05:
                records.append((chance.randint(1, 5), 0, 0, 0, 0, 10, 0, 0))
        resolved.feed(*records)
    assert resolved.trace()
