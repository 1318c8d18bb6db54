"""Lists all kinds of turns: pairs of accesses of a transaction that another thread came between.

A checker shows one cycle for each violating transaction, often through accesses that nobody cares about: a log line,
the order of two locks. Judging needs *every* pair of accesses that was torn apart, for one of them may be the bug.
So a *turn* is spelled out: the transaction accesses `a`; another thread does `r1` after it, which conflicts with `a`,
and `r2`, often the same access, which conflicts with `b`; then the transaction accesses `b`.

    T: read balance          a
    U: write balance         r1 = r2
    T: write balance         b

Where the other thread does r2 first and r1 later, both in one transaction, the two are interleaved, and each comes
before the other: two turns. Only reads and writes count here; locks, threads and hand-overs make no order.

A trace can have millions of turns that look the same: each kind comes once, with its count and the shortest
example. `engines/_turns.pyx` says what a kind is, how they are found, and what is left out of very long traces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atomsan.checkers.engines._turns import TurnEngine
from atomsan.checkers.results import Edge, Step, Transaction, Witness
from atomsan.trace.events import Op

if TYPE_CHECKING:
    import numpy.typing as npt

    from atomsan.trace._nesting import OpenRegions
    from atomsan.trace.events import Batch
    from atomsan.trace.symbols import SymbolTable

MOST_KINDS = 100_000
# The parts of a container that one operation may access at a time; what else there is are elements and attributes.
PARTS = {"<structure>": 1, "<any key>": 2, "<queue>": 3, "<items>": 3, "<state>": 4}


class TurnFinder:
    """One pass over the batches that a checker sees before they are flattened: it needs the inner regions.

    `violating` has a row (thread, number) for each transaction whose turns are wanted; None stands for all.
    `locations` are those of the trace; there may be more of them with each batch.
    """

    def __init__(
        self, violating: npt.NDArray[np.uint32] | None, locations: SymbolTable, most: int = MOST_KINDS
    ) -> None:
        self._engine = TurnEngine(None if violating is None else _sorted(violating), most=most)
        self._locations = locations
        self._known = 0

    def add_violating(self, violating: npt.NDArray[np.uint32]) -> None:
        """More transactions whose turns are wanted. Each is told before the batch in which it ends is fed."""
        if len(violating):
            self._engine.add_violating(_sorted(violating))

    def resume(self, opened: OpenRegions, threads: int) -> None:
        """Before the first batch, if that is not the beginning of the trace: the regions that are open there."""
        regions = {thread: opened.open(thread) for thread in range(threads)}
        for thread in sorted(regions, key=lambda thread: regions[thread][0][1] if regions[thread] else -1):
            self._engine.resume(thread, opened.transactions(thread), regions[thread])

    def feed(self, batch: Batch) -> None:
        # of a live trace, more locations may be on the way, without their fields
        accessed = batch.target[batch.op <= Op.WRITE]
        if len(accessed) and (needed := int(accessed.max()) + 1) > self._known:
            self._learn_parts(needed)
        self._engine.feed(batch.first, batch.thread, batch.op, batch.target, batch.site)
        if batch.dead is not None:
            self._engine.forget(batch.dead)

    def _learn_parts(self, count: int) -> None:
        fields = self._locations.values("field", self._known, count)
        self._engine.set_parts(self._known, np.array([PARTS.get(field, 0) for field in fields], np.uint8))
        self._known = count

    def finish(self, *, is_whole: bool = True) -> None:
        """The end of the trace: what is open ends there. Of a part of it, only what has ended is looked at."""
        self._engine.finish(is_whole)

    def witnesses(self) -> list[Witness]:
        """The shortest example of each kind, in the order in which kinds were first seen: a, r1, r2, b."""
        return [_witness(count, steps) for count, _, steps in self._engine.found]

    def take_changed(self) -> list[tuple[int, Witness]]:
        """The kinds that are new or have a shorter example since the last time, each by its place in `witnesses`."""
        return [(kind, _witness(count, steps)) for kind, (count, _, steps) in self._engine.take_changed()]

    @property
    def counters(self) -> dict[str, int]:
        """The number of kinds; and how often something was left out, so that there may be more."""
        engine = self._engine
        return {
            "kinds": engine.kinds_found,
            "folded": engine.folded,
            "thinned": engine.thinned,
            "dropped": engine.dropped,
            "forgotten": engine.forgotten,
        }


def _sorted(transactions: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    return np.unique(transactions.astype(np.uint32, copy=False).reshape(-1, 2), axis=0)


def _witness(count: int, accesses: list[tuple[int, int, int, int, int, int, int]]) -> Witness:
    a, r1, r2, b = accesses
    remote = [Step(*r2, edge=_edge(r2[2], b[2]))]
    if r1 != r2:
        remote.insert(0, Step(*r1, edge=Edge.PROGRAM_ORDER))
    steps = [Step(*a, edge=_edge(a[2], r1[2])), *remote, Step(*b, edge=Edge.PROGRAM_ORDER)]
    return Witness(steps, Transaction(steps[0].thread, steps[0].transaction), count)


def _edge(one: int, other: int) -> Edge:
    if one == Op.READ:
        return Edge.READ_WRITE
    return Edge.WRITE_READ if other == Op.READ else Edge.WRITE_WRITE
