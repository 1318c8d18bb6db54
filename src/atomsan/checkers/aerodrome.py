"""AeroDrome: decides in linear time whether a trace is conflict-serializable; stops where the first cycle closes.

The paper, where we depart from it and why, and the shadow state stand at the top of `engines/_aerodrome.pyx`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atomsan.checkers.engines._aerodrome import AeroDrome
from atomsan.checkers.results import Closing, Edge, Result, Transaction
from atomsan.trace.events import Op

if TYPE_CHECKING:
    from atomsan.checkers.flattening import FlatBatch

# Why an event comes after the one it takes from. Of a write it may also be that the other is a read.
_EDGES = {
    Op.READ: Edge.WRITE_READ,
    Op.WRITE: Edge.WRITE_WRITE,
    Op.ACQUIRE: Edge.LOCK,
    Op.JOIN: Edge.JOIN,
    Op.TAKE: Edge.HAND_OVER,
}


class AeroDromeChecker:
    name = "aerodrome"

    def __init__(self, engine: AeroDrome | None = None) -> None:
        self._engine = AeroDrome() if engine is None else engine
        self._closing: Closing | None = None

    def feed(self, batch: FlatBatch) -> bool:
        self._engine.grow(batch.threads, batch.locations, batch.locks, batch.handovers)
        found = self._engine.feed(batch.thread, batch.op, batch.target)
        if found >= 0:
            self._closing = self._closed_at(batch, found)
        elif batch.dead is not None:
            self._engine.forget(batch.dead)
        return found >= 0

    def _closed_at(self, batch: FlatBatch, at: int) -> Closing:
        thread, number, region, other, other_number, by_read = self._engine.closing()
        op = int(batch.op[at])
        edge = Edge.READ_WRITE if op == Op.WRITE and by_read else _EDGES[Op(op)]
        target, site = int(batch.target[at]), int(batch.site[at])
        return Closing(
            batch.first + at, thread, op, target, site, number, region, edge, Transaction(other, other_number)
        )

    def result(self, stopped: str | None = None) -> Result:
        engine = self._engine
        counters = {"events": engine.events, "transactions": engine.transactions, "most_active": engine.most_active}
        if self._closing is not None:
            return Result(
                self.name,
                "violated",
                serializable=False,
                first_event=self._closing.event,
                closing=self._closing,
                counters=counters,
            )
        if stopped is not None:
            return Result(self.name, "unknown", counters=counters, reason=stopped)
        return Result(self.name, "holds", serializable=True, counters=counters)
