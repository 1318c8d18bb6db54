"""Velodrome: decides conflict-serializability by a graph of transactions, with a cycle as witness.

Paper: Flanagan, Freund and Yi, PLDI 2008, as aerodrome-2020 (section 5.1) and davida-2022 (sections II and V) describe
it. Where the engine departs from it and why stands at the top of `engines/_velodrome.pyx`.

The steps of the witness follow the cycle: for each transaction the event by which the cycle comes in and the one by
which it goes out. From the one to the other the edge is program order; in a cycle that does not increase it leads back
in time somewhere, inside a transaction. The transaction that closes the cycle comes first and last. It is to blame if
all others ran between its first step and its last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atomsan.checkers.engines._velodrome import Velodrome
from atomsan.checkers.results import Edge, Result, Step, Transaction, Witness

if TYPE_CHECKING:
    from atomsan.checkers.flattening import FlatBatch
    from atomsan.trace.events import OpColumn

# The engine numbers them in this order.
_EDGES = tuple(Edge)


def feed_engine(engine: Velodrome, batch: FlatBatch, op: OpColumn) -> bool:
    """The events of a batch with these operations in place of its own."""
    engine.grow(batch.threads, batch.locations, batch.locks, batch.handovers)
    done = engine.feed(batch.first, batch.thread, op, batch.target, batch.site)
    if batch.dead is not None:
        engine.forget(batch.dead)
    return done


def result_of(name: str, engine: Velodrome, counters: dict[str, int], stopped: str | None) -> Result:
    """What the engine found: its cycle, or that there is none in all it was fed."""
    if engine.cycle is not None:
        return _violation(name, engine, counters)
    if stopped is not None:
        return Result(name, "unknown", counters=counters, reason=stopped)
    return Result(name, "holds", serializable=True, counters=counters)


def _violation(name: str, engine: Velodrome, counters: dict[str, int]) -> Result:
    steps = [
        Step(event, thread, op, target, site, transaction, region, _EDGES[edge])
        for event, thread, op, target, site, transaction, region, edge in engine.cycle or ()
    ]
    closing = steps[-1]
    blamed = Transaction(closing.thread, closing.transaction) if engine.increasing else None
    return Result(
        name,
        "violated",
        serializable=False,
        transactions=[blamed] if blamed else [],
        witnesses=[Witness(steps, blamed)],
        first_event=closing.event,
        counters=counters,
    )


class VelodromeChecker:
    name = "velodrome"

    def __init__(self) -> None:
        self.engine = Velodrome()

    def feed(self, batch: FlatBatch) -> bool:
        return feed_engine(self.engine, batch, batch.op)

    def result(self, stopped: str | None = None) -> Result:
        return result_of(self.name, self.engine, self.counters(), stopped)

    def counters(self) -> dict[str, int]:
        """What it took: `nodes` were made, of which at most `most_nodes` lived at a time."""
        engine = self.engine
        return {
            "transactions": engine.transactions,
            "unary": engine.unary,
            "merged": engine.merged,
            "nodes": engine.made,
            "most_nodes": engine.most_live,
            "edges": engine.edges_made,
            "searches": engine.searches,
            "visited": engine.visited,
        }
