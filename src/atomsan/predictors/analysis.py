"""The answers of prediction about one run: proved, refuted or neither, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from atomsan.predictors.commit_node import ForestAnalysis, Pair, torn_by
from atomsan.predictors.forest import InterEdge, conflict_forest, sides, view_forest
from atomsan.predictors.lock_order import LockOrder
from atomsan.predictors.order import Order
from atomsan.predictors.units import UnitReader
from atomsan.trace.events import Op

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from atomsan.checkers.flattening import FlatBatch
    from atomsan.predictors.lock_order import Wait


@dataclass
class Answer:
    """Whether every interleaving is equivalent to a serial one. None: neither is known, for this `reason`."""

    is_atomic: bool | None
    reason: str | None = None
    pairs: list[Pair] = field(default_factory=list)
    """Those that refute it."""


class RunAnalysis:
    """One pass over a trace; then answers.

    `shared` are the locations that threads share. `is_call`: the program was recorded; a transaction that waits for
    other threads, or starts them, is meant to be several steps there. `tick` is called between the steps of the work,
    and may end it.
    """

    def __init__(
        self,
        shared: NDArray[np.bool_],
        is_loop: Callable[[int], bool],
        is_call: Callable[[int], bool] | None = None,
        *,
        with_handovers: bool = True,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        self._tick = tick
        self._may_cut = is_call is not None
        self.order = Order(with_handovers=with_handovers)
        self.locks = LockOrder(self.order)
        self.reader = UnitReader(shared, is_loop, is_call, self.order, self.locks)

    def feed(self, batch: FlatBatch) -> None:
        self.reader.feed(batch)

    def finish(self) -> None:
        self.reader.finish()

    @cached_property
    def deadlocks(self) -> list[list[Wait]]:
        return self.locks.cycles()

    @cached_property
    def conflicts(self) -> ForestAnalysis:
        return ForestAnalysis(self.reader, self.order, conflict_forest, self._tick)

    @cached_property
    def views(self) -> ForestAnalysis:
        return ForestAnalysis(self.reader, self.order, view_forest, self._tick)

    @property
    def counters(self) -> dict[str, int]:
        """The columns of the paper's table: units, nodes, inter-edges."""
        forests = [one for name, one in vars(self).items() if name in ("conflicts", "views")]
        return {
            "units": self.reader.units,
            "shapes": len(self.reader.shapes),
            "nodes": sum(len(shape.steps) for shape in self.reader.shapes),
            "pairs": sum(len(forest.pairs) for forest in forests),
            "inter_edges": sum(len(pair.edges) for forest in forests for pair in forest.pairs),
        }

    @cached_property
    def premise(self) -> str | None:
        """The premise of the theorems that fails, if one does."""
        if self.deadlocks:
            return "a deadlock may happen, and what comes after it is not known"
        if not self.locks.is_complete:
            return "not all orders of locks could be looked at for a deadlock"
        if not self.reader.is_nested:
            return "locks are not released in the reverse order of their acquires"
        if self.reader.cut and not self._may_cut:
            return "a transaction waits for other threads, or starts or wakes them, and so is no single step"
        return None

    @cached_property
    def conflict_atomic(self) -> Answer:
        broken = [pair for pair in self.conflicts.pairs if self._is_torn(pair)]
        if broken:
            return Answer(False, None, broken)
        return self._proof(self.conflicts)

    def _is_torn(self, pair: Pair) -> bool:
        """Whether a transaction of a pair can be torn apart by the other unit: exactly, if that is not too much."""
        self._tick()
        is_broken = self.premise is None and self.conflicts.is_broken(pair)
        if self.premise is None and not is_broken:
            return False
        return any(
            is_broken if torn.grid.is_too_large else torn.grid.violation() is not None
            for torn in torn_by(pair)
            if torn.shape.is_transaction
        )

    def _proof(self, forest: ForestAnalysis) -> Answer:
        if self.premise is not None:
            return Answer(None, self.premise)
        if forest.is_proved_at_once():
            return Answer(True)
        if forest.is_too_large:
            return Answer(None, "there are too many units to look for cycles of more than two")
        if not forest.warned:
            return Answer(True)
        return Answer(None, "no two units refute it, but more than two together may")

    @cached_property
    def view_atomic(self) -> Answer:
        if self.premise is not None:
            return Answer(None, self.premise)
        broken = [
            pair
            for pair in self.views.pairs
            if pair.one.is_transaction and pair.other.is_transaction and self.views.is_broken(pair)
        ]
        sure = [pair for pair in broken if self._shows(pair)]
        if sure:
            return Answer(False, None, sure)
        if broken:
            return Answer(None, "two units differ in their last writes only, which a third one may hide")
        return self._proof(self.views)

    def _shows(self, pair: Pair) -> bool:
        """Whether a read can tell, or nobody else can write over what the two leave."""
        reads = [edge for edge in pair.edges if not _is_of_writes(edge)]
        if any(len(nodes) > 1 for nodes in sides(reads)):
            return True
        written = {edge.access.location for edge in pair.edges if _is_of_writes(edge)}
        others = [
            shape
            for shape in self.reader.shapes
            if shape.count > (shape is pair.one) + (shape is pair.other)
            and any(step.op == Op.WRITE and step.target in written for step in shape.steps)
        ]
        return not others


def _is_of_writes(edge: InterEdge) -> bool:
    return edge.access.is_write and edge.other_access.is_write
