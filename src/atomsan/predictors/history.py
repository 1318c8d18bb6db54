"""History of shared data: which write each read of the run saw, and what came after the read.

A predicted interleaving lets reads see other writes than in the run, and a thread that reads something else may go
another way. The run itself says what the code does then, where it read that value at that place before (`replay.py`).
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from atomsan.predictors.engines._contexts import ContextReader
from atomsan.trace.events import Op

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from atomsan.checkers.flattening import FlatBatch

# The event of a write that was before the recording.
INITIAL = -1
# So many accesses are kept: of what comes later, nothing is known.
MOST_ACCESSES = 1 << 23
# So many reads at one place are looked at, the first and the last ones.
MOST_READS = 256
# So many accesses after a write are looked at, to see what came of it.
MOST_LOOKS = 1 << 10
# So many times that a thread asked who it is are looked at, the last ones before a step.
MOST_SELVES = 64
# So many accesses after a read are compared.
MOST_FOLLOWING = 256


class Seen(NamedTuple):
    """A read of the run: the location, the write that it saw and where that was made, its own event, its context."""

    location: int
    write: int
    made_at: Making
    event: int
    context: int


class Making(NamedTuple):
    """Where a write was made: its place in the source, and the calls by which that was come to."""

    site: int
    context: int


class Done(NamedTuple):
    """An access, wherever it is: its operation, site and location."""

    op: int
    site: int
    location: int


Path = tuple[Done, ...]


class _Writes(NamedTuple):
    """The writes of one location, in the order of their events, and where they stand."""

    events: array[int]
    sites: array[int]


class History:
    """One pass. Feed it the flattened batches of a trace; `shared` says which locations count.

    `is_call` says of a region whether it is a call, and not part of one as a lock block is. `selves` are the locations
    that stand for what a thread has of its own.
    """

    def __init__(
        self,
        shared: NDArray[np.bool_],
        is_call: Callable[[int], bool] = lambda region: True,
        selves: Sequence[int] = (),
    ) -> None:
        self._shared = shared
        self._selves = np.array(selves, np.uint32)
        self._asked: dict[int, list[tuple[int, int]]] = {}
        """By thread: when and where it read such."""
        self._is_call = is_call
        self._calls = np.empty(0, np.uint8)
        """By region, as far as they are known."""
        self._parts: list[tuple[NDArray[Any], ...]] = []
        self._ends: list[tuple[NDArray[Any], NDArray[Any]]] = []
        self._takes: list[NDArray[Any]] = []
        self._contexts: list[tuple[NDArray[Any], NDArray[Any]]] = []
        self._context_reader = ContextReader()
        self._room = MOST_ACCESSES
        self._reads: dict[int, list[Seen]] = {}
        self._following: dict[int, Path] = {}
        self._taken: dict[int, array[int]] = {}
        self._known_writes: dict[int, _Writes] = {}
        self._looks: dict[tuple[int, int, int, int], list[tuple[int, int]]] = {}

    def feed(self, batch: FlatBatch) -> None:
        accesses = np.flatnonzero(batch.op <= Op.WRITE)
        accesses = accesses[self._shared[batch.target[accesses]]][: self._room]
        self._room -= len(accesses)
        contexts, begins = self._context_reader.contexts(
            batch.first,
            batch.thread,
            batch.op,
            batch.original,
            batch.target,
            batch.site,
            batch.threads,
            self._shared.view(np.uint8),
            self._calls_up_to(batch.regions),
        )
        self._contexts.append((contexts[: len(accesses)], begins[: len(accesses)]))
        columns = (batch.thread, batch.op, batch.target, batch.site)
        self._parts.append((accesses + batch.first, *(column[accesses] for column in columns)))
        if len(self._selves):
            self._note_selves(batch)
        ends = np.flatnonzero(batch.op == Op.END)
        self._ends.append((ends + batch.first, batch.thread[ends]))
        self._takes.append(_before_takes(batch) + batch.first)

    def _calls_up_to(self, regions: int) -> NDArray[np.uint8]:
        if len(self._calls) < regions:
            more = [self._is_call(region) for region in range(len(self._calls), regions)]
            self._calls = np.concatenate((self._calls, np.array(more, np.uint8)))
        return self._calls

    def _note_selves(self, batch: FlatBatch) -> None:
        rows = np.flatnonzero((batch.op == Op.READ) & np.isin(batch.target, self._selves))
        for row in rows.tolist():
            asked = self._asked.setdefault(int(batch.thread[row]), [])
            asked.append((batch.first + row, int(batch.site[row])))

    def selves_before(self, event: int) -> list[tuple[int, int]]:
        """The last reads of what a thread has of its own, by the thread of an access before it: events and sites."""
        asked = self._asked.get(self.thread_of(event), [])
        return asked[: bisect_left(asked, (event, 0))][-MOST_SELVES:]

    def is_take(self, event: int) -> bool:
        """Whether an access takes an item that was handed over."""
        takes = self._all_takes
        at = int(np.searchsorted(takes, event))
        return at < len(takes) and int(takes[at]) == event

    def write_before(
        self, location: int, event: int, *, but: frozenset[int] = frozenset(), only_takes: bool = False
    ) -> int:
        """The last write of a location before an event, `but` not one of these; `INITIAL` if there is none."""
        writes = self._takes_of(location) if only_takes else self._writes(location).events
        at = bisect_left(writes, event) - 1
        while at >= 0 and writes[at] in but:
            at -= 1
        return writes[at] if at >= 0 else INITIAL

    def thread_of(self, event: int) -> int:
        """The thread that does an access."""
        return int(self._columns[1][self._row(event)])

    def write_site(self, location: int, write: int) -> int:
        """Where a write of a location stands; `INITIAL` for what was there before."""
        if write == INITIAL:
            return INITIAL
        writes = self._writes(location)
        return writes.sites[bisect_left(writes.events, write)]

    def is_made_in(self, location: int, first: int, last: int) -> bool:
        """Whether the first access of a location is a write from one event to another."""
        rows, targets = self._all_by_location
        row = rows[np.searchsorted(targets, location)]
        events, _, ops, _, _ = self._columns
        return bool(ops[row] == Op.WRITE and first <= events[row] <= last)

    def looks(self, location: int, write: int, thread: int, before: int) -> list[tuple[int, int]]:
        """Accesses of a thread before an event that saw a write of a location: their events and sites.

        Or what came of that write: other threads that saw it wrote there again, one after the other.
        """
        key = location, write, thread, before
        if key not in self._looks:
            self._looks[key] = self._found_looks(*key)
        return self._looks[key]

    def _found_looks(self, location: int, write: int, thread: int, before: int) -> list[tuple[int, int]]:
        rows, targets = self._all_by_location
        mine = rows[np.searchsorted(targets, location) : np.searchsorted(targets, location, side="right")]
        start, end = np.searchsorted(self._columns[0][mine], [write + 1, before])
        events, threads, ops, _, sites = (
            column[mine[start : min(end, start + MOST_LOOKS)]].tolist() for column in self._columns
        )
        found: list[tuple[int, int]] = []
        seen: set[int] = set()
        writer = self.thread_of(write)
        for event, by, op, site in zip(events, threads, ops, sites, strict=True):
            if by == thread:
                found.append((event, site))
            if op == Op.WRITE and (by == thread or by not in seen):
                break
            if by != writer:
                seen.add(by)
        return found

    def reads_at(self, site: int) -> list[Seen]:
        """Reads of the run at a place; or writes, if there are only these: such an operation gives what it takes."""
        if site not in self._reads:
            rows = self._rows_at(site)
            if len(rows) > MOST_READS:
                rows = np.concatenate((rows[: MOST_READS // 2], rows[-MOST_READS // 2 :]))
            self._reads[site] = [self._seen(row) for row in rows.tolist()]
        return self._reads[site]

    def following(self, event: int, until: int | None = None) -> Path:
        """What a thread accesses after one of its accesses, in the same transaction; `until` another one, with it.

        Not more than so much.
        """
        if until is not None:
            rows, events = self._of_thread(event)
            start, end = np.searchsorted(events, [event + 1, until + 1])
            return self._done(rows[start:end])
        known = self._following.get(event)
        if known is None:
            rows, events = self._of_thread(event)
            end_event = self._end_after(int(self._columns[1][self._row(event)]), event)
            start, end = np.searchsorted(events, [event + 1, end_event])
            known = self._following[event] = self._done(rows[start:end])
        return known

    def _done(self, rows: NDArray[Any]) -> Path:
        _, _, ops, targets, sites = (column[rows[:MOST_FOLLOWING]].tolist() for column in self._columns)
        return tuple(map(Done, ops, sites, targets))

    def _row(self, event: int) -> int:
        return int(np.searchsorted(self._columns[0], event))

    def _of_thread(self, event: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """The accesses of the thread that does an event: their rows, and their events."""
        return self._by_thread[int(self._columns[1][self._row(event)])]

    def _seen(self, row: int) -> Seen:
        events, _, _, targets, _ = self._columns
        location, event = int(targets[row]), int(events[row])
        write = self.write_before(location, event)
        return Seen(location, write, self.made_at(location, write), event, int(self._all_contexts[0][row]))

    def made_at(self, location: int, write: int) -> Making:
        """Of a write of a location, or what was there before."""
        if write == INITIAL:
            return Making(INITIAL, INITIAL)
        return Making(self.write_site(location, write), self.context(write))

    def context(self, event: int) -> int:
        """By which calls inside of its transaction the code of an access was come to: equal for equal calls."""
        return int(self._all_contexts[0][self._row(event)])

    def is_one_call(self, event: int, later: int) -> bool:
        """Whether two accesses of a thread are done by one call of a function."""
        begins = self._all_contexts[1]
        return bool(begins[self._row(event)] == begins[self._row(later)])

    def turn(self, event: int) -> int:
        """How often a thread had done an access at that place before, in the same transaction."""
        row = self._row(event)
        thread, site = (int(self._columns[at][row]) for at in (1, 4))
        rows, sites = self._by_site
        alike = rows[np.searchsorted(sites, site) : np.searchsorted(sites, site, side="right")]
        events = self._columns[0][alike]
        begun = np.searchsorted(events, self._end_before(thread, event), side="right")
        until = np.searchsorted(events, event)
        return int(np.count_nonzero(self._columns[1][alike[begun:until]] == thread))

    def _end_after(self, thread: int, event: int) -> int:
        ends = self._transaction_ends.get(thread)
        at = 0 if ends is None else int(np.searchsorted(ends, event))
        return int(ends[at]) if ends is not None and at < len(ends) else event + 1

    def _end_before(self, thread: int, event: int) -> int:
        """The end of the thread's transaction before the one that an event is in; -1 if there is none."""
        ends = self._transaction_ends.get(thread)
        at = 0 if ends is None else int(np.searchsorted(ends, event))
        return int(ends[at - 1]) if ends is not None and at else -1

    # ---- indexes, made when they are asked for

    @cached_property
    def _all_contexts(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Of all accesses: the contexts, and the begins of the calls."""
        contexts, begins = zip(*self._contexts, strict=True)
        return np.concatenate(contexts), np.concatenate(begins)

    @cached_property
    def _columns(self) -> tuple[NDArray[Any], ...]:
        """Of all accesses: events, threads, operations, locations, sites."""
        return tuple(np.concatenate(parts) for parts in zip(*self._parts, strict=True))

    @cached_property
    def _by_location(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The writes, sorted by location and event: their rows, and their locations."""
        _, _, ops, targets, _ = self._columns
        rows = np.flatnonzero(ops == Op.WRITE)
        rows = rows[np.argsort(targets[rows], kind="stable")]
        return rows, targets[rows]

    @cached_property
    def _all_by_location(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """All accesses, sorted by location and event: their rows, and their locations."""
        targets = self._columns[3]
        rows = np.argsort(targets, kind="stable")
        return rows, targets[rows]

    def _writes(self, location: int) -> _Writes:
        """Kept, as one location is asked for again and again; to look one up in an array of NumPy takes far longer."""
        if location not in self._known_writes:
            rows, targets = self._by_location
            mine = rows[np.searchsorted(targets, location) : np.searchsorted(targets, location, side="right")]
            self._known_writes[location] = _Writes(*(_array(self._columns[column][mine]) for column in (0, 4)))
        return self._known_writes[location]

    @cached_property
    def _all_takes(self) -> NDArray[Any]:
        return np.concatenate(self._takes)

    def _takes_of(self, location: int) -> array[int]:
        if location not in self._taken:
            writes = np.array(self._writes(location).events)
            self._taken[location] = _array(writes[np.isin(writes, self._all_takes)])
        return self._taken[location]

    @cached_property
    def _by_site(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """All accesses, sorted by site and event: their rows, and their sites."""
        sites = self._columns[4]
        rows = np.argsort(sites, kind="stable")
        return rows, sites[rows]

    def _rows_at(self, site: int) -> NDArray[Any]:
        rows, sites = self._by_site
        found = rows[np.searchsorted(sites, site) : np.searchsorted(sites, site, side="right")]
        reads = found[self._columns[2][found] == Op.READ]
        return reads if len(reads) else found

    @cached_property
    def _by_thread(self) -> dict[int, tuple[NDArray[Any], NDArray[Any]]]:
        """By thread: the rows of its accesses, and their events."""
        events, threads, *_ = self._columns
        order = np.argsort(threads, kind="stable")
        names, starts = np.unique(threads[order], return_index=True)
        parts = np.split(order, starts[1:])
        return {int(name): (rows, events[rows]) for name, rows in zip(names, parts, strict=True)}

    @cached_property
    def _transaction_ends(self) -> dict[int, NDArray[Any]]:
        events, threads = (np.concatenate(parts) for parts in zip(*self._ends, strict=True))
        return {int(thread): events[threads == thread] for thread in np.unique(threads)}


def _before_takes(batch: FlatBatch) -> NDArray[Any]:
    """The places of the last accesses that threads do before they take something."""
    order = np.argsort(batch.thread, kind="stable")
    threads, ops = batch.thread[order], batch.op[order]
    last = np.maximum.accumulate(np.where(ops <= Op.WRITE, np.arange(len(ops)), -1)) if len(ops) else order
    takes = np.flatnonzero(ops == Op.TAKE)
    takes = takes[last[takes] >= 0]
    places = last[takes]
    return np.sort(order[places[threads[places] == threads[takes]]])


def _array(column: NDArray[Any]) -> array[int]:
    found: array[int] = array("q")
    found.frombytes(column.astype(np.int64).tobytes())
    return found
