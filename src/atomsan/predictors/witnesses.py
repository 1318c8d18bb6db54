"""Witnesses of what is predicted: the accesses that can be torn apart, what can come between, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

from atomsan.checkers.results import Edge, Transaction, Witness
from atomsan.predictors.commit_node import torn_by
from atomsan.trace.events import NO_SITE, Op

if TYPE_CHECKING:
    from atomsan.checkers.results import Step
    from atomsan.predictors.commit_node import Pair, Torn
    from atomsan.predictors.pairs import State, Tear
    from atomsan.predictors.units import UnitStep

# So many ways to tear a pair of units apart are looked at, those of accesses that are close together first; of one
# kind, so many are tried; and all of them go through so many states at most.
MOST_TEARS = 20_000
MOST_OF_A_KIND = 8
MOST_STATES = 1 << 20

Kind = tuple[object, ...]


def predictions(pairs: Sequence[Pair], tick: Callable[[], None]) -> Iterator[Witness]:
    """One example for each kind of tear. `tick` is called between the steps of the work."""
    kinds = _Kinds()
    for pair in pairs:
        for torn in torn_by(pair):
            if torn.shape.is_transaction and not torn.grid.is_too_large:
                yield from _of_pair(torn, kinds, tick)


def races(pairs: Sequence[Pair]) -> Iterator[tuple[Step, Step]]:
    """Two accesses that may happen in parallel, without a common lock: those that are communication nodes."""
    for pair in pairs:
        for edge in pair.edges:
            if edge.one.location is not None:
                one, other = edge.one.first, edge.other.first
                kind = _edge(pair.one.steps[one].op, pair.other.steps[other].op)
                yield pair.one.step(pair.unit, one, kind), pair.other.step(pair.other_unit, other, kind)


class _Kinds:
    """What was shown, and how often others were tried in vain."""

    def __init__(self) -> None:
        self.shown: set[Kind] = set()
        self.tried: Counter[Kind] = Counter()


def _of_pair(torn: Torn, kinds: _Kinds, tick: Callable[[], None]) -> Iterator[Witness]:
    """If no kind of a pair was shown before, there is at least one example of it, if it can be torn apart at all."""
    room = max(1, MOST_STATES // torn.grid.states)
    is_shown = False
    for tear in islice(torn.grid.tears(), MOST_TEARS):
        kind = _kind(torn, tear)
        is_shown = is_shown or kind in kinds.shown
        if kind in kinds.shown or kinds.tried[kind] >= MOST_OF_A_KIND or not room:
            continue
        tick()
        room -= 1
        kinds.tried[kind] += 1
        if (way := torn.grid.tear(*tear)) is not None:
            kinds.shown.add(kind)
            is_shown = True
            yield _witness(torn, tear, way)
    if not is_shown and (found := torn.grid.violation()) is not None:
        yield _witness(torn, *found)


class _Place(NamedTuple):
    """Where a step is in the source; if that is not known, what it is about."""

    op: int
    where: int


def _kind(torn: Torn, tear: Tear) -> Kind:
    """What a person can tell apart: places in the source, not elements of a list."""
    own, others = torn.shape.steps, torn.other.steps
    steps = own[tear.first], own[tear.last], others[tear.into], others[tear.out]
    is_one = steps[0].target == steps[1].target
    return torn.shape.regions, torn.other.regions, is_one, tear.into > tear.out, *map(_place, steps)


def _place(step: UnitStep) -> _Place:
    return _Place(step.op, step.target if step.site == NO_SITE else step.site)


def _witness(torn: Torn, tear: Tear, way: list[State]) -> Witness:
    own, others = _positions(way)
    ops, other_ops = ([step.op for step in shape.steps] for shape in (torn.shape, torn.other))
    in_by, out_by = _edge(ops[tear.first], other_ops[tear.into]), _edge(other_ops[tear.out], ops[tear.last])
    steps = [torn.shape.step(torn.unit, tear.first, in_by, own[tear.first])]
    if tear.into != tear.out:
        steps.append(torn.other.step(torn.other_unit, tear.into, Edge.PROGRAM_ORDER, others[tear.into]))
    steps.append(torn.other.step(torn.other_unit, tear.out, out_by, others[tear.out]))
    steps.append(torn.shape.step(torn.unit, tear.last, Edge.PROGRAM_ORDER, own[tear.last]))
    blamed = Transaction(torn.unit.thread, steps[0].transaction)
    return Witness(steps, blamed, min(torn.shape.count, torn.other.count))


def _positions(way: list[State]) -> tuple[dict[int, int], dict[int, int]]:
    """By step of the one and of the other unit: when it comes."""
    own: dict[int, int] = {}
    others: dict[int, int] = {}
    for position, ((i, j), (next_i, _)) in enumerate(pairwise(way), 1):
        if next_i > i:
            own[i] = position
        else:
            others[j] = position
    return own, others


def _edge(one: int, other: int) -> Edge:
    if one == Op.READ:
        return Edge.READ_WRITE
    return Edge.WRITE_READ if other == Op.READ else Edge.WRITE_WRITE
