"""Meetings: which shapes of units may run in parallel and conflict, sorted by cases that are decided once.

A *case* is two forms, and which of their locations and locks are the same. Many pairs of shapes are of one case: it is
decided once, and a few of its pairs are kept as examples. Two units that hold a lock in common around all they do are
no case: they come one after the other. `engines/_meetings.pyx` goes through the pairs, which share a
location that one of them writes. Where too many shapes share one, only some of each form are looked at, and it is known
that this is not all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from atomsan.predictors.engines._meetings import MeetingFinder, guarded_locations, users_of
from atomsan.predictors.forest import Overlap
from atomsan.predictors.order import Span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from atomsan.predictors.order import Order
    from atomsan.predictors.units import Form, Occurrence, Shape, UnitReader

    Words = NDArray[np.uint32]
    Longs = NDArray[np.uint64]

# Of one case, so many pairs of shapes are kept.
MOST_EXAMPLES = 8
# So many pairs are looked at for each use of a location by a shape, and this number at least.
VISITS_OF_A_USE = 64
LEAST_VISITS = 1 << 22
# A larger table of what is over when a period begins is not made.
MOST_KNOWN = 1 << 26


class Example(NamedTuple):
    """Two units of a case that may run in parallel."""

    one: Shape
    other: Shape
    unit: Occurrence
    other_unit: Occurrence


class Users(NamedTuple):
    """The shapes that use each of some locations, one after the other."""

    locations: Words
    starts: Longs
    shapes: Words


class Meetings:
    """The columns of a run's shapes. Make it after the last batch. `tick` is called between the steps of the work."""

    def __init__(self, reader: UnitReader, order: Order, tick: Callable[[], None]) -> None:
        self._tick = tick
        self._reader = reader
        self._order = order
        self.forms = reader.forms
        self.shape_forms, self._starts, self._entities, self._offset = reader.table.shape_columns()
        self._entity_count = int(self._entities.max(initial=0)) + 1
        self._locations, self._slot_starts, _, self._uses = reader.table.form_columns()

    def _owners(self) -> Longs:
        """By entity: its shape."""
        return np.repeat(np.arange(len(self.shape_forms), dtype=np.uint64), np.diff(self._starts).astype(np.int64))

    def _places(self) -> Longs:
        """By entity: its slot."""
        places = np.arange(len(self._entities), dtype=np.uint64) - self._starts[:-1][self._owners()]
        return places.astype(np.uint64)

    @property
    def is_complete(self) -> bool:
        """Whether all pairs are looked at."""
        return len(self.users.shapes) == len(self.meeting_users.shapes) and self._known is not None

    @cached_property
    def all_users(self) -> Users:
        return Users(*users_of(self._starts, self._entities, self._offset, np.zeros(self._offset + 1, np.uint8)))

    @cached_property
    def meeting_users(self) -> Users:
        """Of the locations that are not always accessed by units which hold one lock throughout."""
        columns = self.shape_forms, self._starts, self._entities
        guarded = guarded_locations(columns, (self._slot_starts, self._uses), self._offset)
        return Users(*users_of(self._starts, self._entities, self._offset, guarded))

    @cached_property
    def users(self) -> Users:
        """Those that are looked at: of each form some, if there are too many."""
        locations, starts, shapes = self.meeting_users
        counts = np.diff(starts).astype(np.int64)
        most = _most_of_one(counts, max(LEAST_VISITS, VISITS_OF_A_USE * len(shapes)))
        if not len(counts) or counts.max() <= most:
            return self.meeting_users
        at = np.repeat(np.arange(len(counts)), counts)
        order = np.lexsort((self.shape_forms[shapes], at))
        form, at, shapes = self.shape_forms[shapes][order], at[order], shapes[order]
        first_of_form = np.flatnonzero(np.r_[True, (np.diff(at) != 0) | (np.diff(form.astype(np.int64)) != 0)])
        rank = np.arange(len(at)) - np.repeat(first_of_form, np.diff(np.r_[first_of_form, len(at)]))
        order = np.lexsort((rank, at))
        place = np.arange(len(at)) - np.repeat(starts[:-1].astype(np.int64), counts)
        chosen = order[place < most]
        return _grouped(locations[at[chosen]], shapes[chosen])

    @cached_property
    def _occurrences(self) -> tuple[Words, Words, Words, Words, Longs]:
        """Shapes, threads, first and last periods, sorted by these; by shape, the first of them."""
        return self._reader.table.occurrence_columns()

    @cached_property
    def _times(self) -> tuple[Words, Words, Words, Words]:
        """The threads and periods that units begin in: the thread of each, the period; of the occurrences, which."""
        _, threads, periods, _, _ = self._occurrences
        times = threads.astype(np.uint64) << np.uint64(32) | periods
        found, rows = np.unique(times, return_inverse=True)
        return (
            (found >> np.uint64(32)).astype(np.uint32),
            found.astype(np.uint32),
            rows.astype(np.uint32).reshape(-1),
            np.unique(threads),
        )

    @cached_property
    def _known(self) -> Words | None:
        """By time and thread: how many periods of the thread are over. None if there are too many."""
        threads, periods, _, columns = self._times
        if len(threads) * len(columns) > MOST_KNOWN:
            return None
        column_of = {int(thread): at for at, thread in enumerate(columns)}
        known = np.zeros((len(threads), max(1, len(columns))), np.uint32)
        for row, (thread, period) in enumerate(zip(threads.tolist(), periods.tolist(), strict=True)):
            self._tick()
            for other, over in self._order.over(thread, period).items():
                if other in column_of:
                    known[row, column_of[other]] = over
        return known

    def find(
        self,
        decide: Callable[[Form, Form, Overlap], tuple[int, int]],
        inner: Callable[[Form, int, int], int | None],
    ) -> MeetingFinder:
        """Go through the pairs. `decide` gives the commit nodes of both units of a case, 0 for none."""
        _, threads, firsts, lasts, starts = self._occurrences
        rows, columns = self._times[2:]
        finder = MeetingFinder(
            (self.shape_forms, self._starts, self._entities),
            (self._slot_starts, self._uses),
            (starts, np.searchsorted(columns, threads).astype(np.uint32), firsts, lasts, rows),
            self._known if self._known is not None else np.zeros((1, 1), np.uint32),
            self._entity_count,
            MOST_EXAMPLES,
            lambda number: decide(*self.case(finder, number)),
            lambda form, one, other: inner(self.forms[form], one, other),
            self._tick,
        )
        if self._known is not None:
            finder.find(*self.users)
        return finder

    def case(self, finder: MeetingFinder, number: int) -> tuple[Form, Form, Overlap]:
        """The forms of a case, and what is the same in them."""
        first, second, match = finder.case(number)
        one, other = self.forms[first], self.forms[second]
        same = [(slot, to - 1) for slot, to in enumerate(match) if to]
        return (
            one,
            other,
            Overlap(
                {slot: to for slot, to in same if slot < one.locations},
                {slot - one.locations: to - other.locations for slot, to in same if slot >= one.locations},
            ),
        )

    def examples(self, finder: MeetingFinder, number: int) -> Iterator[Example]:
        columns, shapes = self._times[3], self._reader.shapes
        for first, time, second, other_time in finder.examples[number]:
            one, other = shapes[first], shapes[second]
            span, other_span = (Span(int(columns[thread]), *periods) for thread, *periods in (time, other_time))
            yield Example(one, other, one.occurrence(span), other.occurrence(other_span))

    def shared_locks(self) -> dict[int, set[int]]:
        """By form: the slots of locks that several threads take."""
        shapes, threads, _, _, _ = self._occurrences
        owners, places, is_lock = self._owners(), self._places(), self._entities >= self._offset
        locks, slots = self._entities[is_lock].astype(np.int64), places[is_lock] - self._lock_starts()[is_lock]
        users = owners[is_lock].astype(np.int64)
        first, end = (np.searchsorted(shapes, users, side=side) for side in ("left", "right"))
        used = np.repeat(locks, end - first)
        by = threads[
            np.arange(len(used))
            - np.repeat(np.cumsum(end - first) - (end - first), end - first)
            + np.repeat(first, end - first)
        ]
        lowest, highest = (np.full(int(self._entities.max(initial=0)) + 1, value) for value in (1 << 32, -1))
        np.minimum.at(lowest, used, by)
        np.maximum.at(highest, used, by)
        is_shared = lowest[locks] < highest[locks]
        found: dict[int, set[int]] = {}
        pairs = np.stack([self.shape_forms[users][is_shared], slots[is_shared].astype(np.uint32)])
        for form, slot in np.unique(pairs, axis=1).T.tolist():
            found.setdefault(form, set()).add(slot)
        return found

    def _lock_starts(self) -> Longs:
        """By entity: the slot of the first lock of its shape."""
        return self._locations[self.shape_forms][self._owners()].astype(np.uint64)

    def writers(self, location: int) -> Iterator[int]:
        """The shapes that write a location."""
        locations, starts, shapes = self.all_users
        at = int(np.searchsorted(locations, location))
        for number in shapes[int(starts[at]) : int(starts[at + 1])].tolist():
            shape = self._reader.shapes[number]
            slot = shape.locations.index(location)
            if any(node.is_write for node in shape.form.tree.by_location[slot]):
                yield number


def overlap_of(one: Shape, other: Shape) -> Overlap:
    """What two shapes have in common."""
    locations, locks = ({name: slot for slot, name in enumerate(names)} for names in (other.locations, other.locks))
    return Overlap(
        {slot: locations[name] for slot, name in enumerate(one.locations) if name in locations},
        {slot: locks[name] for slot, name in enumerate(one.locks) if name in locks},
    )


def _grouped(locations: Words, shapes: Words) -> Users:
    found, starts = np.unique(locations, return_index=True)
    ends = np.concatenate([starts, [len(locations)]]).astype(np.uint64)
    return Users(found.astype(np.uint32), ends, np.ascontiguousarray(shapes, np.uint32))


def _most_of_one(counts: NDArray[np.int64], most: int) -> int:
    """So many users of each location, in pairs, are not more than `most`."""
    low, high = 1, int(counts.max()) if len(counts) else 1
    while low < high:
        middle = (low + high + 1) // 2
        kept = np.minimum(counts, middle)
        if int((kept * (kept + 1) // 2).sum()) <= most:
            low = middle
        else:
            high = middle - 1
    return low
