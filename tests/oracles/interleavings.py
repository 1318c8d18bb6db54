"""Conflict- and view-atomicity over all interleavings: commit-node-2006, section 2, by enumeration.

A trace is conflict-atomic (view-atomic) if each of its interleavings is conflict-equivalent (view-equivalent)
to a serial one. Interleavings are those of schedule.py that run all events.

As in `docs/papers.md`: only data accesses conflict, not locks; an event outside regions is a unit of its own; a
serial order keeps program order, fork, join and hand-over, and a lock held across units excludes the others. The
`nopo` answers (no program order) are about the paper's forest, which has no edges between a thread's units: there
a serial order need not keep any of these. The theorems assume that no deadlock is possible, that there is no
locking outside transactions, and that fork, join and hand-over, which bound units, are outside them.

Interleavings are not enumerated one by one: two that have run the same events, and have the same edges between units
(or the same last writes and seen values), have the same continuations and are merged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from oracles.model import MARKERS, Step, data_conflict, forced, normalise, owners, transactions
from oracles.schedule import Budget, Schedule, State, TooBigError
from oracles.serializability import Graph, reachable
from oracles.view import run_whole, view_of

BUDGET = 200_000
Sees = frozenset[tuple[int, int | None]]  # reads, each with the write it sees
Last = tuple[int, ...]  # the last writes of the locations
View = tuple[Sees, Last]


class Answers(NamedTuple):
    """None: too many interleavings for the budget."""

    deadlock: bool | None
    ws_assumptions: bool | None
    conflict_atomic: bool | None
    view_atomic: bool | None
    conflict_atomic_nopo: bool | None
    view_atomic_nopo: bool | None


def answers(steps: Sequence[Step], budget: int = BUDGET) -> Answers:
    return Answers(
        deadlock(steps, budget),
        ws_assumptions(steps, budget),
        conflict_atomic(steps, budget),
        view_atomic(steps, budget),
        conflict_atomic(steps, budget, program_order=False),
        view_atomic(steps, budget, program_order=False),
    )


class _Space:
    """All interleavings of a trace that run all events. Markers make no order and are left out."""

    def __init__(self, steps: Sequence[Step], budget: int) -> None:
        self.events = normalise(steps)
        self.found = transactions(self.events)
        self.owner = owners(self.found)
        self.units = set(range(len(self.found)))
        self.budget = Budget(budget)
        self.places = [p for p, event in enumerate(self.events) if event.op not in MARKERS]
        self.schedule = Schedule(self.events, self.places)
        self.states = self.schedule.reachable_states(self.budget)
        self.completable = self.schedule.completable(self.states)

    def successors(self, state: State) -> list[tuple[int, State]]:
        following = [(place, self.schedule.after(state, place)) for place in self.schedule.runnable(state)]
        return [(place, state) for place, state in following if state in self.completable]


def deadlock(steps: Sequence[Step], budget: int = BUDGET) -> bool | None:
    """Whether some interleaving ends with threads that wait for each other."""
    try:
        space = _Space(steps, budget)
    except TooBigError:
        return None
    return any(space.schedule.deadlocked(state) for state in space.states)


def ws_assumptions(steps: Sequence[Step], budget: int = BUDGET) -> bool | None:
    """Whether the premises of the paper's theorems hold."""
    events = normalise(steps)
    for transaction in transactions(events):
        forbidden = {"acquire", "release"} if transaction.number is None else {"fork", "join", "post", "take"}
        if any(events[place].op in forbidden for place in transaction.events):
            return False
    possible = deadlock(steps, budget)
    return None if possible is None else not possible


def conflict_atomic(steps: Sequence[Step], budget: int = BUDGET, *, program_order: bool = True) -> bool | None:
    """Whether every interleaving has a serial order of its units that keeps the order of its conflicts."""
    try:
        space = _Space(steps, budget)
        reach = _unit_order(space) if program_order else _no_order(space)
        final = None if _cyclic(reach) else _final_orders(space, reach)
        if final is None:
            return False
        return not program_order or all(_has_legal_order(space, reach) for reach in final)
    except TooBigError:
        return None


Reach = tuple[frozenset[int], ...]  # for each unit, those it must precede: closed under succession


def _no_order(space: _Space) -> Reach:
    return tuple(frozenset[int]() for _ in space.found)


def _unit_order(space: _Space) -> Reach:
    """The order of units that every interleaving has: program order, fork, join, hand-over."""
    graph: Graph = {unit: set() for unit in range(len(space.found))}
    for second, later in enumerate(space.events):
        for first in range(second):
            source, target = space.owner[first], space.owner[second]
            if source != target and forced(space.events[first], later):
                graph[source].add(target)
    return tuple(frozenset(reachable(graph, unit)) for unit in graph)


def _cyclic(reach: Reach) -> bool:
    return any(unit in successors for unit, successors in enumerate(reach))


def _with_edges(reach: Reach, sources: set[int], target: int) -> Reach:
    """Closed again after an edge from each source to the target."""
    gained = reach[target] | {target}
    return tuple(
        successors | gained if unit in sources or successors & sources else successors
        for unit, successors in enumerate(reach)
    )


def _final_orders(space: _Space, order: Reach) -> set[Reach] | None:
    """The orders of units that the interleavings' conflicts require; None if one of them is a cycle."""
    seen = {(space.schedule.start, order)}
    frontier = list(seen)
    while frontier:
        state, reach = frontier.pop()
        space.budget.spend()
        for place, following in space.successors(state):
            grown = _with_edges(reach, _conflicting_units(space, state, place), space.owner[place])
            if _cyclic(grown):
                return None
            if (following, grown) not in seen:
                seen.add((following, grown))
                frontier.append((following, grown))
    return {reach for state, reach in seen if state == space.schedule.final}


def _has_legal_order(space: _Space, reach: Reach) -> bool:
    """Whether the units can run one after the other in such an order: locks held across units can forbid it."""
    schedule = Schedule(space.events, range(len(space.events)))
    seen = {frozenset[int]()}
    frontier = list(seen)
    while frontier:
        done = frontier.pop()
        space.budget.spend()
        missing = space.units - done
        ready = {unit for unit in missing if not any(unit in reach[other] for other in missing)}
        following = {done | {unit} for unit in ready & _next_units(space, schedule, done)} - seen
        seen |= following
        frontier.extend(following)
    return frozenset(space.units) in seen


def _conflicting_units(space: _Space, state: State, place: int) -> set[int]:
    """The other units that have already run an access which conflicts with this one."""
    return {
        space.owner[earlier]
        for earlier in space.places
        if data_conflict(space.events[earlier], space.events[place])
        and space.schedule.has_run(state, earlier)
        and space.owner[earlier] != space.owner[place]
    }


def view_atomic(steps: Sequence[Step], budget: int = BUDGET, *, program_order: bool = True) -> bool | None:
    """Whether the view of every interleaving is the view of a serial one."""
    try:
        space = _Space(steps, budget)
        return _every_view_among(space, _serial_views(space, program_order))
    except TooBigError:
        return None


def _serial_views(space: _Space, program_order: bool) -> list[View]:
    """The different views of the serial orders: those the program allows, or all orders of the units."""
    schedule = Schedule(space.events, range(len(space.events)))
    start: tuple[frozenset[int], Sees, Last] = frozenset(), frozenset(), ()
    seen = {start}
    frontier = list(seen)
    views: list[View] = []
    while frontier:
        done, sees, last = frontier.pop()
        space.budget.spend()
        if len(done) == len(space.found):
            views.append((sees, last))
        for unit in _next_units(space, schedule, done) if program_order else space.units - done:
            new_sees, new_last = view_of(space.events, [*last, *space.found[unit].events])
            node = done | {unit}, sees.union(new_sees.items()), tuple(sorted(new_last.values()))
            if node not in seen:
                seen.add(node)
                frontier.append(node)
    return views


def _next_units(space: _Space, schedule: Schedule, done: frozenset[int]) -> set[int]:
    """The units that can run in one go after these."""
    events_run = Counter[str]()
    for unit in done:
        events_run[space.found[unit].thread] += len(space.found[unit].events)
    state = tuple(events_run[thread] for thread in schedule.threads)
    return {u for u in space.units - done if run_whole(schedule, state, space.found[u]) is not None}


def _every_view_among(space: _Space, serial: list[View]) -> bool:
    """Go through the interleavings, each with those serial views that agree with what it has seen so far."""
    everything = frozenset(range(len(serial)))
    agreeing = {
        seen: frozenset(number for number in everything if seen in serial[number][0])
        for sees, _ in serial
        for seen in sees
    }
    node: tuple[State, Last, frozenset[int]] = space.schedule.start, (), everything
    seen_nodes = {node}
    frontier = [node]
    while frontier:
        state, last, candidates = frontier.pop()
        space.budget.spend()
        if state == space.schedule.final:
            candidates = frozenset(number for number in candidates if serial[number][1] == last)
        if not candidates:
            return False
        for place, following in space.successors(state):
            sees, writes = view_of(space.events, [*last, place])
            remaining = candidates
            for seen in sees.items():
                remaining &= agreeing.get(seen, frozenset())
            node = following, tuple(sorted(writes.values())), remaining
            if node not in seen_nodes:
                seen_nodes.add(node)
                frontier.append(node)
    return True
