"""Witnesses of what is predicted: the accesses that can be torn apart, those that can come between, and how."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from atomsan.checkers.results import Edge, Step, Transaction, Witness
from atomsan.predictors.commit_node import torn_by
from atomsan.trace.events import NO_SITE, Op

if TYPE_CHECKING:
    from atomsan.predictors.commit_node import Pair
    from atomsan.predictors.pairs import Grid, State, Tear
    from atomsan.predictors.units import Occurrence, Shape, UnitStep

# So many ways to tear a pair of units apart are tried.
MOST_TRIED = 2_000
# And of those of one kind.
MOST_OF_A_KIND = 8


class Prediction(NamedTuple):
    """A witness, and the interleaving of its two units that shows it, from the beginning of the first to the end."""

    witness: Witness
    interleaving: tuple[Step, ...]


class _Torn(NamedTuple):
    """A unit that can be torn apart by another."""

    grid: Grid
    shape: Shape
    unit: Occurrence
    other: Shape
    other_unit: Occurrence


def predictions(pairs: Sequence[Pair], kinds: _Kinds) -> Iterator[Prediction]:
    """One example for each kind of tear, the shortest first in each pair."""
    for pair in pairs:
        for found in torn_by(pair):
            torn = _Torn(*found)
            if torn.shape.is_transaction and not torn.grid.is_too_large:
                yield from _of_pair(torn, kinds)


class _Kinds:
    """What was shown already. A kind is what a person can tell apart: places in the source, not elements of a list."""

    def __init__(self) -> None:
        self._tried: Counter[tuple[object, ...]] = Counter()

    def is_wanted(self, torn: _Torn, tear: Tear) -> bool:
        """Whether there is no example of its kind yet, and it was not tried too often."""
        return self._tried[self._kind(torn, tear)] < MOST_OF_A_KIND

    def add(self, torn: _Torn, tear: Tear, *, is_found: bool) -> None:
        self._tried[self._kind(torn, tear)] += MOST_OF_A_KIND if is_found else 1

    def _kind(self, torn: _Torn, tear: Tear) -> tuple[object, ...]:
        own, others = torn.shape.steps, torn.other.steps
        first, last, into, out = own[tear.first], own[tear.last], others[tear.into], others[tear.out]
        is_one = first.target == last.target
        places = map(_place, (first, last, into, out))
        return (torn.shape.regions, torn.other.regions, is_one, tear.into > tear.out, *places)


def _place(step: UnitStep) -> tuple[int, int]:
    """Where a step is in the source; if that is not known, what it is about."""
    return step.op, step.target if step.site == NO_SITE else step.site


def kinds() -> _Kinds:
    return _Kinds()


def _of_pair(torn: _Torn, kinds: _Kinds) -> Iterator[Prediction]:
    tears = sorted(torn.grid.tears(), key=lambda tear: (tear.into > tear.out, tear.last - tear.first, tear))
    for tear in tears[:MOST_TRIED]:
        if not kinds.is_wanted(torn, tear):
            continue
        way = torn.grid.tear(*tear)
        kinds.add(torn, tear, is_found=way is not None)
        if way is not None:
            yield _prediction(torn, tear, way)


def _prediction(torn: _Torn, tear: Tear, way: list[State]) -> Prediction:
    own, others = _positions(way)
    first = _step(torn.shape, torn.unit, tear.first, own[tear.first], torn.other.steps[tear.into].op)
    last = _step(torn.shape, torn.unit, tear.last, own[tear.last], None)
    out = _step(torn.other, torn.other_unit, tear.out, others[tear.out], torn.shape.steps[tear.last].op)
    steps = [first, out, last]
    if tear.into != tear.out:
        steps.insert(1, _step(torn.other, torn.other_unit, tear.into, others[tear.into], None))
    blamed = Transaction(torn.unit.thread, first.transaction)
    count = min(torn.shape.count, torn.other.count)
    interleaving = [_step(torn.shape, torn.unit, at, position, None) for at, position in own.items()]
    interleaving += [_step(torn.other, torn.other_unit, at, position, None) for at, position in others.items()]
    interleaving.sort(key=lambda step: step.position or 0)
    return Prediction(Witness(steps, blamed, count), tuple(interleaving))


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


def _step(shape: Shape, unit: Occurrence, at: int, position: int, next_op: int | None) -> Step:
    """A step of a unit. `next_op` is what conflicts with it, if the next step of the witness is another unit's."""
    step = shape.steps[at]
    edge = Edge.PROGRAM_ORDER if next_op is None else _edge(step.op, next_op)
    return Step(
        event=unit.events[at],
        thread=unit.thread,
        op=step.op,
        target=step.target,
        site=step.site,
        transaction=shape.transaction(unit, step),
        region=shape.region(step),
        edge=edge,
        position=position,
    )


def _edge(one: int, other: int) -> Edge:
    if one == Op.READ:
        return Edge.READ_WRITE
    return Edge.WRITE_READ if other == Op.READ else Edge.WRITE_WRITE
