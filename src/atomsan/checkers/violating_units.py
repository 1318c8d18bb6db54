"""Finds the units of work that violate, on each atomic set (davida-2022, on the projection on the set).

A unit violates if it is left and returned to: an access of another thread conflicts with a later one of the unit, and
comes after an earlier one of the unit, access by access. A set whose projection has a cycle need not have such a unit
(docs/papers.md), and one that has such a unit has a cycle.

A unit that goes on after a library has called others back inside it is taken for two here: what others do in between is
not held against it.

One engine does all sets at once: it is told of one thread for each thread and set, and of one location for each
location and set, so that no order leads from one set to another.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from atomsan.checkers.engines._violations import ViolationEngine
from atomsan.checkers.units import RowKind
from atomsan.trace.events import Op

if TYPE_CHECKING:
    import numpy.typing as npt

    from atomsan.checkers.units import Rows

    Numbers = npt.NDArray[np.uint32]
    Flags = npt.NDArray[np.bool_]


class ViolatingUnits:
    """Takes the rows of a trace, of all sets or of some."""

    def __init__(self, sets: Iterable[int] | None = None) -> None:
        self._sets = None if sets is None else np.fromiter(sets, np.uint32)
        self._engine = ViolationEngine(witnesses=False)
        self._threads: dict[int, int] = {}
        """The engine's, by set and thread."""
        self._locations: dict[int, int] = {}
        self._units: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        """By thread of the engine: its last unit, -1 for none."""
        self._are_open: Flags = np.zeros(0, np.bool_)
        """And whether that is one of a region, which the engine takes to be open."""
        self._begun: list[tuple[Numbers, Numbers, Numbers]] = []
        """Of each unit, as they begin: the engine's thread, that of the trace, and the transaction."""
        self._events = 0

    def feed(self, rows: Rows) -> None:
        wanted = rows.kind != RowKind.END
        if self._sets is not None:
            wanted &= np.isin(rows.set, self._sets)
        at = np.flatnonzero(wanted)
        if not len(at):
            return
        of_set = rows.set[at].astype(np.uint64) << np.uint64(32)
        threads = _numbered(self._threads, of_set | rows.thread[at])
        targets = _numbered(self._locations, of_set | rows.location[at])
        in_region = rows.kind[at] & RowKind.ALONE == 0
        is_new, ends = self._turns(threads, rows.unit[at], in_region)
        begins = is_new & in_region
        self._begun.append((threads[begins], rows.thread[at][begins], rows.transaction[at][begins]))
        self._tell(threads, (rows.kind[at] & RowKind.WRITE).astype(np.uint8), targets, begins, ends)

    def _turns(self, threads: Numbers, units: Numbers, in_region: Flags) -> tuple[Flags, Flags]:
        """At each access: whether its unit is another than the last one of its thread, and whether that one ends."""
        known = len(self._units)
        self._units = np.append(self._units, np.full(len(self._threads) - known, -1))
        self._are_open = np.append(self._are_open, np.zeros(len(self._threads) - known, np.bool_))
        order = np.argsort(threads, kind="stable")
        of_thread, unit, is_open = threads[order], units[order].astype(np.int64), in_region[order]
        before, was_open = np.roll(unit, 1), np.roll(is_open, 1)
        firsts = np.flatnonzero(np.append(True, of_thread[1:] != of_thread[:-1]))
        before[firsts], was_open[firsts] = self._units[of_thread[firsts]], self._are_open[of_thread[firsts]]
        lasts = np.append(firsts[1:], len(order)) - 1
        self._units[of_thread[lasts]], self._are_open[of_thread[lasts]] = unit[lasts], is_open[lasts]
        is_new, ends = np.empty(len(order), np.bool_), np.empty(len(order), np.bool_)
        is_new[order] = unit != before
        ends[order] = (unit != before) & was_open
        return is_new, ends

    def _tell(self, threads: Numbers, ops: npt.NDArray[np.uint8], targets: Numbers, begins: Flags, ends: Flags) -> None:
        """The accesses, with the ends and begins of units before them."""
        width = 1 + begins + ends
        at = np.cumsum(width) - 1
        count = int(at[-1]) + 1
        op = np.full(count, Op.BEGIN, np.uint8)
        op[at] = ops
        op[(at - begins - 1)[ends]] = Op.END
        target = np.zeros(count, np.uint32)
        target[at] = targets
        self._engine.grow(len(self._threads), len(self._locations), 0, 0)
        self._engine.feed(self._events, np.repeat(threads, width), op, target, np.zeros(count, np.uint32))
        self._events += count

    def transactions(self) -> Numbers:
        """(thread, number) of the transactions that have a unit in them that violates, in order."""
        found = self._engine.transactions
        if not len(found):
            return np.zeros((0, 2), np.uint32)
        of_engine, thread, transaction = (np.concatenate(column) for column in zip(*self._begun, strict=True))
        order = np.argsort(of_engine, kind="stable")
        starts = np.searchsorted(of_engine[order], np.arange(len(self._threads)))
        at = order[starts[found[:, 0]] + found[:, 1] - 1]
        return np.unique(np.stack([thread[at], transaction[at]], axis=1), axis=0)


def _numbered(table: dict[int, int], keys: npt.NDArray[np.uint64]) -> Numbers:
    """The numbers of some keys, from 0 in the order in which they were first seen in."""
    distinct, places = np.unique(keys, return_inverse=True)
    numbers = np.fromiter((table.setdefault(key, len(table)) for key in distinct.tolist()), np.uint32, len(distinct))
    return numbers[places]
