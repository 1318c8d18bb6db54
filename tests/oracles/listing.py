"""Conflict-, view-atomicity and AVP by listing every interleaving, for tiny traces.

`interleavings` and `avp` merge states with the same continuations; these definitions check that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from oracles.avp import must_precede
from oracles.model import (
    ACCESSES,
    MARKERS,
    Event,
    Step,
    Transaction,
    data_conflict,
    normalise,
    owners,
    transactions,
)
from oracles.schedule import Schedule, State
from oracles.serializability import Graph, reachable
from oracles.view import view_of

Order = tuple[int, ...]


def interleavings(schedule: Schedule, state: State | None = None, past: Order = ()) -> Iterator[Order]:
    """Every legal order that runs to the end."""
    state = schedule.start if state is None else state
    if state == schedule.final:
        yield past
    for place in schedule.runnable(state):
        yield from interleavings(schedule, schedule.after(state, place), (*past, place))


def _all_orders(events: Sequence[Event]) -> Iterator[Order]:
    return interleavings(Schedule(events, range(len(events))))


def _is_serial(order: Order, owner: dict[int, int]) -> bool:
    units = [owner[place] for place in order]
    changes = sum(earlier != later for earlier, later in pairwise(units))
    return changes == max(0, len(set(units)) - 1)


def conflict_atomic(steps: Sequence[Step]) -> bool:
    """Whether each interleaving has a serial one with all conflicts in the same order."""
    events = normalise(steps)
    owner = owners(transactions(events))
    orders = list(_all_orders(events))
    serial = {_conflict_order(events, order) for order in orders if _is_serial(order, owner)}
    return all(_conflict_order(events, order) in serial for order in orders)


def _conflict_order(events: Sequence[Event], order: Order) -> frozenset[tuple[int, int]]:
    return frozenset(
        (first, second)
        for number, second in enumerate(order)
        for first in order[:number]
        if data_conflict(events[first], events[second])
    )


def view_atomic(steps: Sequence[Step]) -> bool:
    """Whether each interleaving has a serial one with the same view."""
    events = normalise(steps)
    owner = owners(transactions(events))
    orders = list(_all_orders(events))
    serial = [view_of(events, order) for order in orders if _is_serial(order, owner)]
    return all(view_of(events, order) in serial for order in orders)


def avp_interleavings(steps: Sequence[Step], *, literal: bool) -> set[Order]:
    """The interleavings t', without markers."""
    events = normalise(steps)
    schedule = Schedule(events, [p for p, event in enumerate(events) if event.op not in MARKERS])
    before = must_precede(events)
    observed, _ = view_of(events, range(len(events)))
    whole = interleavings(schedule) if literal else _stopping(schedule, before, observed, schedule.start, ())
    return {_without_dropped(order, before, _broken(events, order, observed)) for order in whole}


def _stopping(
    schedule: Schedule, before: list[set[int]], observed: dict[int, int | None], state: State, past: Order
) -> Iterator[Order]:
    """Every order that runs until nothing more can, where nothing runs that must follow a broken read."""
    broken = _broken(schedule.events, past, observed)
    places = [place for place in schedule.runnable(state) if not before[place] & broken]
    if not places:
        yield past
    for place in places:
        yield from _stopping(schedule, before, observed, schedule.after(state, place), (*past, place))


def _broken(events: Sequence[Event], order: Order, observed: dict[int, int | None]) -> set[int]:
    sees, _ = view_of(events, order)
    return {read for read, write in sees.items() if write != observed[read]}


def _without_dropped(order: Order, before: list[set[int]], broken: set[int]) -> Order:
    return tuple(place for place in order if not before[place] & broken)


def avp(steps: Sequence[Step], *, literal: bool) -> dict[str, bool]:
    events = normalise(steps)
    orders = avp_interleavings(steps, literal=literal)
    blocks = [block for block in transactions(events) if block.number is not None]
    return {block.name: any(_violates(events, order, block) for order in orders) for block in blocks}


def _violates(events: Sequence[Event], order: Order, block: Transaction) -> bool:
    """Whether there is a path from the block to an access outside, and from there to the block."""
    accesses = [place for place in order if events[place].op in ACCESSES]
    graph: Graph = {place: set() for place in accesses}
    for number, second in enumerate(accesses):
        for first in accesses[:number]:
            same_thread = events[first].thread == events[second].thread
            if same_thread or data_conflict(events[first], events[second]):
                graph[first].add(second)
    inside = graph.keys() & set(block.events)
    reached = set[int]().union(*(reachable(graph, place) for place in inside)) - inside
    return any(reachable(graph, place) & inside for place in reached)
