"""The answers of prediction about one run: proved, refuted or neither, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from atomsan.predictors.blocks import is_unserializable
from atomsan.predictors.commit_node import Case, ForestAnalysis, Pair, torn_by
from atomsan.predictors.forest import InterEdge, conflict_forest, sides, view_forest
from atomsan.predictors.lock_order import LockOrder
from atomsan.predictors.meetings import Meetings
from atomsan.predictors.order import Order
from atomsan.predictors.reduction import is_reducible
from atomsan.predictors.spinning import NO_SPINS
from atomsan.predictors.units import UnitReader

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from atomsan.checkers.flattening import FlatBatch
    from atomsan.predictors.lock_order import Wait
    from atomsan.predictors.publication import Publication
    from atomsan.predictors.spinning import Spins
    from atomsan.trace.jobs import JobSource


@dataclass
class Answer:
    """Whether every interleaving is equivalent to a serial one. None: neither is known, for this `reason`."""

    is_atomic: bool | None
    reason: str | None = None
    pairs: list[Pair] = field(default_factory=list)
    """Those that refute it."""


class RunAnalysis:
    """One pass over a trace; then answers.

    `shared` are the locations that threads share. `is_call`: the program was recorded. A transaction that waits for
    others is meant to be several steps, if its region `may_wait`. `posted` gives the hand-over that a take is of:
    another one if it did not need to wait. `tick` is called between the steps of the work, and may end it.
    """

    def __init__(
        self,
        shared: NDArray[np.bool_],
        is_loop: Callable[[int], bool],
        is_call: Callable[[int], bool] | None = None,
        *,
        with_handovers: bool = True,
        may_wait: Callable[[int], bool] = lambda region: False,
        posted: Callable[[int], int] = lambda handover: handover,
        publication: Publication | None = None,
        spins: Spins = NO_SPINS,
        jobs: JobSource | None = None,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        self._tick = tick
        self._jobs = jobs
        self._may_wait = may_wait
        self.order = Order(with_handovers=with_handovers, posted=posted)
        self.locks = LockOrder(self.order, tick)
        self.reader = UnitReader(
            shared,
            is_loop,
            is_call,
            self.order,
            self.locks,
            tick,
            lambda handover: posted(handover) != handover,
            publication,
            spins,
            jobs,
        )
        self._undecided = False
        """Whether a pair was too much to decide."""

    def feed(self, batch: FlatBatch) -> None:
        self.reader.feed(batch)

    def finish(self) -> None:
        self.reader.finish()

    @cached_property
    def deadlocks(self) -> list[list[Wait]]:
        return self.locks.cycles()

    @cached_property
    def meetings(self) -> Meetings:
        return Meetings(self.reader, self.order, self._tick)

    @cached_property
    def conflicts(self) -> ForestAnalysis:
        return ForestAnalysis(self.reader, self.order, self.meetings, conflict_forest, self._tick)

    @cached_property
    def views(self) -> ForestAnalysis:
        return ForestAnalysis(self.reader, self.order, self.meetings, view_forest, self._tick)

    @property
    def counters(self) -> dict[str, int]:
        """The columns of the paper's table: units, nodes, inter-edges; those of pairs that are alike count once."""
        forests = [one for name, one in vars(self).items() if name in ("conflicts", "views")]
        return {
            "units": self.reader.units,
            "shapes": len(self.reader.shapes),
            "forms": len(self.reader.forms),
            "nodes": self.reader.table.nodes,
            "pairs": sum(len(forest.cases) for forest in forests),
            "inter_edges": sum(len(case.edges) for forest in forests for case in forest.cases),
        }

    @property
    def proved(self) -> tuple[int, int]:
        """How many shapes of transactions there are, and how many of these are atomic whatever others do."""
        _, _, is_counted, _ = self.reader.table.form_columns()
        shapes = int(is_counted[self.meetings.shape_forms].sum())
        if self.premise is not None or not self.conflicts.is_complete:
            return shapes, 0
        return shapes, shapes - self.conflicts.commits.several(is_counted)

    @cached_property
    def premise(self) -> str | None:
        """The premise of the theorems that fails, if one does."""
        if self.deadlocks:
            return "a deadlock may happen, and what comes after it is not known"
        if not self.locks.is_complete:
            return "not all orders of locks could be looked at for a deadlock"
        if not self.reader.is_nested:
            return "locks are not released in the reverse order of their acquires"
        if not all(map(self._may_wait, self.reader.cut)):
            return "a transaction waits for other threads, or starts or wakes them, and so is no single step"
        if self._jobs and self._jobs.is_shared:
            return "there are too many jobs of pools to take each for a thread of its own"
        if self.reader.is_shortened:
            return "a transaction lets others go on more than 64 times, and was not looked at as a whole"
        return None

    @cached_property
    def conflict_atomic(self) -> Answer:
        broken = [case for case in self.conflicts.cases if self._is_torn(case)]
        if broken:
            return Answer(False, None, _pairs(broken))
        return self._proof(self.conflicts)

    def _is_torn(self, case: Case) -> bool:
        """Whether a transaction of a pair can be torn apart by the other unit: exactly, if that is not too much.

        Without an order inside the units, all pairs of a case are alike.
        """
        self._tick()
        is_broken = self.premise is None and _is_broken(case)
        if self.premise is None and not is_broken:
            return False
        if case.pairs[0].is_ordered_inside:
            return any(self._is_torn_pair(pair, is_broken=False) for pair in case.pairs)
        return self._is_torn_pair(case.pairs[0], is_broken=is_broken)

    def _is_torn_pair(self, pair: Pair, *, is_broken: bool) -> bool:
        # the theorem knows nothing of calls that are one step
        is_exact = is_broken and not any(step.is_joined for step in (*pair.one.steps, *pair.other.steps))
        found = False
        for torn in torn_by(pair, self.order, self._tick):
            if torn.shape.is_transaction:
                if torn.grid.is_too_large:
                    self._undecided |= not is_exact
                    found |= is_exact
                else:
                    found |= torn.grid.violation() is not None
        return found

    def _proof(self, forest: ForestAnalysis) -> Answer:
        if self.premise is not None:
            return Answer(None, self.premise)
        if not forest.is_complete:
            return Answer(None, "there are too many units that use the same data to look at all pairs of them")
        if self._undecided:
            return Answer(None, "two units are too long to go through all their interleavings")
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
            case
            for case in self.views.cases
            if case.one.is_transaction and case.other.is_transaction and _is_broken(case)
        ]
        sure = [case for case in broken if any(self._shows(pair) for pair in case.pairs)]
        if sure:
            return Answer(False, None, _pairs(sure))
        if broken:
            return Answer(None, "two units differ in their last writes only, which a third one may hide")
        return self._proof(self.views)

    def _shows(self, pair: Pair) -> bool:
        """Whether a read can tell, or nobody else can write over what the two leave."""
        self._tick()
        reads = [edge for edge in pair.edges if not _is_of_writes(edge)]
        if any(len(nodes) > 1 for nodes in sides(reads)):
            return True
        written = {pair.one.locations[edge.access.location or 0] for edge in pair.edges if _is_of_writes(edge)}
        writers = {number for location in written for number in self.meetings.writers(location)}
        shapes = self.reader.shapes
        return not any(
            shapes[number].count > (number == pair.one.number) + (number == pair.other.number) for number in writers
        )

    @cached_property
    def by_reduction(self) -> Answer:
        if self.premise is not None:
            return Answer(None, self.premise)
        if self.conflicts.is_complete and is_reducible(self.conflicts, self.meetings):
            return Answer(True)
        return Answer(None, "a transaction is not of the form that reduction proves atomic")

    @cached_property
    def by_blocks(self) -> Answer:
        if self.premise is not None:
            return Answer(None, self.premise)
        broken = [case for case in self.conflicts.cases if is_unserializable(case.pairs[0], self._tick)]
        if broken:
            return Answer(False, None, _pairs(broken))
        if self.reader.units <= 2 and self.conflicts.is_complete:
            return Answer(True)
        return Answer(None, "no two units refute it; of more than two together, blocks say nothing")


def _pairs(cases: list[Case]) -> list[Pair]:
    return [pair for case in cases for pair in case.pairs]


def _is_broken(case: Case) -> bool:
    """Whether one of a pair of transactions has more than one commit node: theorems 4.2 and 4.5."""
    return any(len(nodes) > 1 for nodes in sides(case.edges))


def _is_of_writes(edge: InterEdge) -> bool:
    return edge.access.is_write and edge.other_access.is_write
