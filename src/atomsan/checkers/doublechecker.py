"""DoubleChecker: decides conflict-serializability in two passes, an imprecise filter and an exact check.

Paper: Biswas, Huang, Sengupta and Bond, PLDI 2014, as aerodrome-2020 (section 5.1) and davida-2022 (section V) describe
it. There the first pass runs with the program, and is cheap because it looks at whole objects. Here both passes read
a stored trace, and the departures follow from that:

- Locations are hashed: the filter knows `2**BUCKET_BITS` of them, however many the trace has.
- Its graph is Velodrome's, but a cycle becomes one node, a strongly connected component, and the pass goes on. What can
  be on no cycle is collected as in Velodrome; a component, when nothing in it runs and nothing leads into it.
- Events outside regions share nodes; if one of them is in a component, all count as in it.

*What the filter drops is on no cycle.* Whether two events conflict is a matter of their threads, operations and targets
alone. Two that conflict in the trace conflict in the filter too, as equal locations have equal hashes. So a cycle of
transactions is a cycle to the filter, and all of it is in one component. A node is collected only if it has ended and
nothing leads to it: nothing ever will, so it is on no cycle, now or later.

*What is dropped need not be seen in pass two.* Every cycle consists of kept transactions, with a conflict from each to
the next. As a conflict depends on its two events only, and not on what stands between them, the events of the kept
transactions have the same conflicts among themselves as in the whole trace. So the kept transactions, as a trace of
their own, have exactly the cycles of the whole. Nor does the engine rely on more: a lock that is released without
having been acquired, or a child that nobody forked, is nothing to it. Only the numbers of transactions need the
dropped begins: these are counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atomsan.checkers.engines._velodrome import Projection, Velodrome
from atomsan.checkers.results import Result
from atomsan.checkers.velodrome import feed_engine, result_of

if TYPE_CHECKING:
    from atomsan.checkers.flattening import FlatBatch

BUCKET_BITS = 16


class DoubleChecker:
    name = "doublechecker"

    def __init__(self, bucket_bits: int = BUCKET_BITS) -> None:
        self.filter = Velodrome(contract=True, bucket_bits=bucket_bits)
        self.precise = Velodrome()
        self.projection: Projection | None = None

    def feed(self, batch: FlatBatch) -> bool:
        if self.projection is None:
            return feed_engine(self.filter, batch, batch.op)
        self.projection.grow(batch.threads)
        return feed_engine(self.precise, batch, self.projection.project(batch.first, batch.thread, batch.op))

    def again(self) -> bool:
        if self.projection is not None:
            return False
        thread, first, last = self.filter.kept()
        self.projection = Projection(thread, first, last)
        return len(thread) > 0

    def result(self, stopped: str | None = None) -> Result:
        return result_of(self.name, self.precise, self.counters(), stopped)

    def counters(self) -> dict[str, int]:
        """What the filter saw, and what it left for pass two."""
        kept = self.projection
        return {
            "transactions": self.filter.transactions,
            "unary": self.filter.unary,
            "components": self.filter.components,
            "most_nodes": self.filter.most_live,
            "kept_transactions": kept.transactions if kept else 0,
            "kept_events": kept.events if kept else 0,
            "kept_most_nodes": self.precise.most_live,
        }
