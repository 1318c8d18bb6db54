"""Almost view-preserving interleavings: trace-segments-2011, section II, by enumeration.

In an interleaving t of all events, a read is broken if it sees another write than in the observed trace. t'
is t without the events that must happen after a broken read, where "must" counts program order, fork, join,
hand-over and, from each write to the reads that saw it, read-after-write. A block (a regular transaction) is
violated if in some t' a path of conflicts and program order leaves it, visits an access outside and comes
back.

As in `docs/papers.md`: a read of the initial value is coupled with the initial value; whether a read is broken is
decided in the whole interleaving; a broken read stays unless another broken read must happen before it; a take
follows its posts; the path has reads and writes only.

`literal=True` is the paper's definition to the letter: t continues after a broken read (the events after it are
dropped from t', but their writes and releases have happened in t), so t' can take a lock that was never released.
The default is the answer that AtomSan promises: the events that must happen after a broken read do not run, so a
thread stops at its broken read and keeps its locks, and every t' is feasible. Such a t is complete when no event can
run any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from oracles.model import ACCESSES, MARKERS, Event, Step, Transaction, forced, normalise, transactions
from oracles.schedule import Budget, Schedule, State, TooBigError
from oracles.view import view_of

BUDGET = 200_000
Places = frozenset[int]
Names = frozenset[str]
NONE: frozenset[Any] = frozenset()


class Path(NamedTuple):
    """What paths from the block have come to: enough to know whether one has come back."""

    inside_reads: Names = NONE  # variables that the block has read and written
    inside_writes: Names = NONE
    threads: Names = NONE  # threads with an access outside the block that a path reaches
    outside_reads: Names = NONE  # the variables of such accesses
    outside_writes: Names = NONE
    returned: bool = False

    def extended(self, event: Event, inside: bool) -> Path:
        x = {event.target}
        writes = event.op == "write"
        from_inside = x & (self.inside_writes | (self.inside_reads if writes else NONE))
        from_outside = x & (self.outside_writes | (self.outside_reads if writes else NONE))
        if inside:
            returned = self.returned or bool(from_outside)
            if writes:
                return self._replace(inside_writes=self.inside_writes | x, returned=returned)
            return self._replace(inside_reads=self.inside_reads | x, returned=returned)
        if not (from_inside or from_outside or event.thread in self.threads):
            return self
        reached = self._replace(threads=self.threads | {event.thread})
        if writes:
            return reached._replace(outside_writes=self.outside_writes | x)
        return reached._replace(outside_reads=self.outside_reads | x)


class _Node(NamedTuple):
    state: State
    last: tuple[int, ...]  # the last writes
    broken: Places
    kept: Places  # broken reads that are to stay: none that must happen before them may break
    path: Path


def avp(steps: Sequence[Step], *, literal: bool = False, budget: int = BUDGET) -> dict[str, bool] | None:
    """For each block, as thread:number, whether it is violated in some interleaving; None if too big."""
    events = normalise(steps)
    try:
        return {
            block.name: _Search(events, block, literal, Budget(budget)).finds()
            for block in transactions(events)
            if block.number is not None
        }
    except TooBigError:
        return None


def must_precede(events: Sequence[Event]) -> list[set[int]]:
    """For each event, the places of those that must happen before it."""
    sees, _ = view_of(events, range(len(events)))
    before: list[set[int]] = []
    for place, event in enumerate(events):
        direct = [p for p in range(place) if sees.get(place) == p or forced(events[p], event)]
        before.append(set(direct).union(*(before[p] for p in direct)))
    return before


class _Search:
    def __init__(self, events: Sequence[Event], block: Transaction, literal: bool, budget: Budget) -> None:
        self.events = events
        self.block = frozenset(block.events)
        self.literal = literal
        self.budget = budget
        self.schedule = Schedule(events, [p for p, event in enumerate(events) if event.op not in MARKERS])
        self.observed, _ = view_of(events, range(len(events)))
        self.before = must_precede(events)

    def finds(self) -> bool:
        start = _Node(self.schedule.start, (), NONE, NONE, Path())
        seen = {start}
        frontier = [start]
        while frontier:
            node = frontier.pop()
            self.budget.spend()
            places = self._runnable(node)
            if node.path.returned and self._whole(node, places):
                return True
            following = {after for place in places for after in self._ways(node, place)} - seen
            seen |= following
            frontier.extend(following)
        return False

    def _runnable(self, node: _Node) -> list[int]:
        places = self.schedule.runnable(node.state)
        if self.literal:
            return places
        return [place for place in places if not self.before[place] & node.broken]

    def _whole(self, node: _Node, places: list[int]) -> bool:
        return node.state == self.schedule.final if self.literal else not places

    def _ways(self, node: _Node, place: int) -> Iterator[_Node]:
        """The event runs. Whether a broken read stays only the rest of the run can tell: try both."""
        event = self.events[place]
        sees, writes = view_of(self.events, [*node.last, place])
        breaks = event.op == "read" and sees[place] != self.observed[place]
        dropped = bool(self.before[place] & node.broken)
        if breaks and any(place in self.before[read] for read in node.kept):
            return
        after = node._replace(
            state=self.schedule.after(node.state, place),
            last=tuple(sorted(writes.values())),
            broken=node.broken | {place} if breaks else node.broken,
        )
        if event.op in ACCESSES and not dropped:
            kept = node.kept | {place} if breaks else node.kept
            yield after._replace(kept=kept, path=node.path.extended(event, place in self.block))
        if event.op not in ACCESSES or dropped or breaks:
            yield after
