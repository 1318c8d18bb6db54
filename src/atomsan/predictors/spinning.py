"""Spinning: a loop that does nothing but look at a location until it changes follows the write that it saw.

One pass finds them: a thread reads one location at one place of the source twice or more, accesses nothing else in
between, and the last read is the first one that sees a write of another thread. That write and that read are ordered as
a hand-over is (`order.py`), and the read ends a unit, as a wait does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from atomsan.trace.events import NO_SITE, Op

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from atomsan.checkers.flattening import FlatBatch

_NEVER = -1


class Spins(NamedTuple):
    """The writes that loops waited for, and the reads that saw them."""

    events: NDArray[np.uint64]
    """In their order."""
    writes: NDArray[np.uint32]
    """The number of the write that each of them is, or saw."""


NO_SPINS = Spins(np.zeros(0, np.uint64), np.zeros(0, np.uint32))


class _Run(NamedTuple):
    """Reads of a thread at one place, one after the other."""

    location: int
    site: int
    before: int
    """The read before the last one; the last one itself if it is the only one."""
    last: int


class Spinning:
    """One pass. Feed it the flattened batches of a trace, then ask."""

    def __init__(self) -> None:
        self._running: dict[int, _Run] = {}
        """By thread: the reads that its last accesses are."""
        self._last_write: dict[int, tuple[int, int]] = {}
        """By location that some thread looks at again and again: the last write before this batch, and its thread."""
        self._found: dict[int, int] = {}
        """By the event of a read that ended a loop: the write that it saw."""

    def feed(self, batch: FlatBatch) -> None:
        accesses = np.flatnonzero(batch.op <= Op.WRITE)
        if not len(accesses):
            return
        order = accesses[np.argsort(batch.thread[accesses], kind="stable")]
        thread, op, target, site = (column[order] for column in (batch.thread, batch.op, batch.target, batch.site))
        changes = (np.diff(thread) != 0) | (np.diff(op) != 0) | (np.diff(target) != 0) | (np.diff(site) != 0)
        starts = np.flatnonzero(np.r_[True, changes])
        ends = np.r_[starts[1:], len(order)] - 1
        is_last = np.r_[np.diff(thread) != 0, True][ends]
        is_first = np.r_[True, np.diff(thread) != 0][starts]
        is_read = (op[starts] == Op.READ) & (site[starts] != NO_SITE)
        chosen = np.flatnonzero(is_read & ((ends > starts) | is_last | is_first) | is_last | is_first)
        runs: list[_Run] = []
        for row in chosen.tolist():
            start, end = int(starts[row]), int(ends[row])
            number = int(thread[start])
            events = (batch.first + int(order[at]) for at in (max(start, end - 1), end))
            run = _Run(int(target[start]), int(site[start]), *events)
            before = self._running.pop(number, None) if is_first[row] else None
            if before is not None and is_read[row] and (before.location, before.site) == (run.location, run.site):
                run = run._replace(before=before.last if run.before == run.last else run.before)
            if is_read[row] and is_last[row]:
                self._running[number] = run
            if is_read[row] and run.before < run.last:
                runs.append(run)
        self._note_writes(batch, runs)

    def _note_writes(self, batch: FlatBatch, runs: list[_Run]) -> None:
        """Which of the reads see a new write; and the last writes of what somebody looks at."""
        for run in (*runs, *self._running.values()):
            self._last_write.setdefault(run.location, (_NEVER, _NEVER))
        if not self._last_write:
            return
        known = np.fromiter(self._last_write, np.uint32, len(self._last_write))
        writes = np.flatnonzero(batch.op == Op.WRITE)
        writes = writes[np.isin(batch.target[writes], known)]
        rows = writes[np.argsort(batch.target[writes], kind="stable")]
        targets = batch.target[rows]
        for run in runs:
            low, high = (int(np.searchsorted(targets, run.location, side=side)) for side in ("left", "right"))
            at = low + int(np.searchsorted(rows[low:high] + batch.first, run.last)) - 1
            write, by = self._last_write[run.location]
            if at >= low:
                write, by = int(rows[at]) + batch.first, int(batch.thread[rows[at]])
            reader = int(batch.thread[run.last - batch.first])
            if write > run.before and by != reader:
                self._found[run.last] = write
        is_last = np.r_[np.diff(targets) != 0, np.ones(min(1, len(targets)), np.bool_)]
        for row in rows[is_last].tolist():
            self._last_write[int(batch.target[row])] = (row + batch.first, int(batch.thread[row]))

    @property
    def spins(self) -> Spins:
        writes = sorted(set(self._found.values()))
        number_of = {write: number for number, write in enumerate(writes)}
        rows = sorted([*number_of.items(), *((read, number_of[write]) for read, write in self._found.items())])
        events, numbers = ([row[at] for row in rows] for at in range(2))
        return Spins(np.array(events, np.uint64), np.array(numbers, np.uint32))
