"""Shortens a witness to the fewest transactions and steps that still show the violation.

A checker follows the order that it knows first, which may lead through threads that have nothing to do with it. Between
the steps of a witness there can be more direct edges than it took; a way along these is as good a proof. Pure: from a
witness to a witness, whose edges follow from the operations, targets and order of its own steps. Of two
transactions in a cycle, the one is blamed that was interrupted.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from atomsan.checkers.results import Edge, Step, Transaction, Witness
from atomsan.trace.events import Op

# The edge between two operations on one target, the first of which comes before the second in another thread.
_ON_ONE_TARGET: dict[tuple[int, int], Edge] = {
    (Op.WRITE, Op.READ): Edge.WRITE_READ,
    (Op.READ, Op.WRITE): Edge.READ_WRITE,
    (Op.WRITE, Op.WRITE): Edge.WRITE_WRITE,
    (Op.RELEASE, Op.ACQUIRE): Edge.LOCK,
    (Op.POST, Op.TAKE): Edge.HAND_OVER,
}

# A witness with more steps stays as it is: the search looks at all pairs.
MOST_STEPS = 200


class _Way(NamedTuple):
    """How far a search came, the best first: by few transactions, few steps, late from the one to blame, soon back."""

    crossings: int
    steps: int
    start: int
    end: int
    at: int
    path: tuple[int, ...]


def shortened(witness: Witness) -> Witness:
    """The same violation by the fewest transactions, and of these the fewest steps. A cycle without blame stays."""
    steps = witness.steps
    if witness.blamed is None or not 3 < len(steps) <= MOST_STEPS or steps[0].position is not None:
        return witness
    # a lock that stands for an asyncio loop makes no order, which only the checker can tell
    locks = {step.target for step in steps if step.edge is Edge.LOCK}
    own = _own_steps(witness)
    path = _best_way(steps, own, locks)
    if path is None or len(path) >= len(steps):
        return witness
    chosen = [steps[place] for place in path]
    edges = [_edge(one, other, locks) for one, other in pairwise(chosen)]
    # the last step is of the transaction to blame, as the first is
    kept = [step._replace(edge=edge) for step, edge in zip(chosen, [*edges, Edge.PROGRAM_ORDER], strict=True) if edge]
    return replace(witness, steps=kept)


def blamed_on_interrupted(witness: Witness) -> Witness:
    """The same cycle of two transactions, blamed on the one that the other ran in the middle of.

    Where all that one did lies between two accesses of the other, nothing came in between in the former: it may well
    have held a lock over both of its accesses.
    """
    if witness.blamed is None or witness.unit is not None or len(witness.steps) != 4:
        return witness
    if witness.steps[0].position is not None:
        return witness  # in a prediction the events are in another order, and it is known who is interrupted
    first, later, earlier, last = witness.steps
    other = Transaction(later.thread, later.transaction)
    owners = [Transaction(step.thread, step.transaction) for step in witness.steps]
    if not other.number or owners != [witness.blamed, other, other, witness.blamed]:
        return witness
    if not earlier.event < first.event < last.event < later.event:
        return witness
    return replace(witness, steps=[earlier, last, first, later], blamed=other)


def _own_steps(witness: Witness) -> set[int]:
    """The places of the steps of the transaction, or of the unit of work, to blame."""
    assert witness.blamed is not None
    thread, number = witness.blamed
    if witness.unit is not None:
        return {place for place, step in enumerate(witness.steps) if step.unit == witness.unit}
    return {place for place, step in enumerate(witness.steps) if (step.thread, step.transaction) == (thread, number)}


def _best_way(steps: list[Step], own: set[int], locks: set[int]) -> tuple[int, ...] | None:
    """The places of the steps of the best way out of the steps `own` and back to them, forward in time."""
    waiting = [_Way(0, 1, -steps[place].event, 0, place, (place,)) for place in own]
    heapq.heapify(waiting)
    done: set[int] = set()
    while waiting:
        way = heapq.heappop(waiting)
        if way.at in own and len(way.path) > 1:
            return way.path
        if way.at in done and way.at not in own:
            continue
        done.add(way.at)
        for following, crossings in _following(steps, way.at, own, locks):
            cost = way.crossings + crossings, way.steps + 1
            end = steps[following].event
            heapq.heappush(waiting, _Way(*cost, way.start, end, following, (*way.path, following)))
    return None


def _following(steps: list[Step], at: int, own: set[int], locks: set[int]) -> Iterator[tuple[int, int]]:
    """The steps that come directly after one, and whether that leads into another transaction."""
    for place, step in enumerate(steps):
        if at in own and place in own:
            continue  # a way leaves at its first step
        if (edge := _edge(steps[at], step, locks)) is not None:
            yield place, int(edge is not Edge.PROGRAM_ORDER)


def _edge(one: Step, other: Step, locks: set[int]) -> Edge | None:
    """Why a step comes before another, if it does."""
    if one.event >= other.event:
        return None
    if one.thread == other.thread:
        # units of work that are not one and the same need not be in the order of their thread
        return Edge.PROGRAM_ORDER if one.unit == other.unit else None
    if one.op == Op.FORK and one.target == other.thread:
        return Edge.FORK
    if other.op == Op.JOIN and other.target == one.thread:
        return Edge.JOIN
    edge = _ON_ONE_TARGET.get((one.op, other.op)) if one.target == other.target else None
    return None if edge is Edge.LOCK and one.target not in locks else edge
