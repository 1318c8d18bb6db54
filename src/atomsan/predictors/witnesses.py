"""Witnesses of what is predicted: the accesses that can be torn apart, what can come between, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

from atomsan.checkers.results import Edge, Transaction, Witness
from atomsan.predictors.commit_node import torn_by
from atomsan.predictors.replay import Change, Parting, weight
from atomsan.trace.events import NO_SITE, Op

if TYPE_CHECKING:
    from atomsan.checkers.results import Step
    from atomsan.predictors.commit_node import Case, Pair, StandIn, Torn
    from atomsan.predictors.pairs import State, Tear
    from atomsan.predictors.replay import Replay
    from atomsan.predictors.units import UnitStep

# So many ways to tear a pair of units apart are looked at, those of accesses that are close together first; of one
# kind, so many are tried.
MOST_TEARS = 20_000
MOST_OF_A_KIND = 8
SPANS_IN_A_TICK = 1_000

Kind = tuple[object, ...]


class Acting(NamedTuple):
    """A thread that does what another one did in the run, because a read before a step gives what that one read."""

    thread: int
    done_by: int
    parting: Parting


class Prediction(NamedTuple):
    """A witness, and what may go another way in the interleaving that it is of."""

    witness: Witness
    changes: Sequence[Change] = ()
    stand_in: Acting | None = None


def predictions(pairs: Iterable[Pair], tick: Callable[[], None], replay: Replay | None = None) -> Iterator[Prediction]:
    """One example for each kind of tear: where there is a choice, one in which threads do what they did in the run.

    `tick` is called between the steps of the work. Without `replay`, the first example is as good as any other.
    """
    kinds = _Kinds(replay, tick)
    for pair in pairs:
        for torn in torn_by(pair, tick):
            if torn.shape.is_transaction and not torn.grid.is_too_large:
                yield from kinds.of_pair(torn, pair.stand_in)
    yield from kinds.doubtful.values()


def races(cases: Sequence[Case]) -> Iterator[tuple[Step, Step]]:
    """Two accesses that may happen in parallel, without a common lock: those that are communication nodes."""
    for case in cases:
        racing = [edge for edge in case.edges if edge.one.location is not None]
        for pair in case.pairs if racing else ():
            for edge in racing:
                one, other = edge.one.first, edge.other.first
                kind = _edge(pair.one.steps[one].op, pair.other.steps[other].op)
                yield pair.one.step(pair.unit, one, kind), pair.other.step(pair.other_unit, other, kind)


class _Kinds:
    """What was shown, and what was tried."""

    def __init__(self, replay: Replay | None, tick: Callable[[], None]) -> None:
        self._replay = replay
        self._tick = tick
        self._shown: set[Kind] = set()
        self._tried: Counter[tuple[Kind, bool]] = Counter()
        """Those with a stand-in by themselves: what is doubtful in the order of the run need not be with one."""
        self.doubtful: dict[Kind, Prediction] = {}
        """Of the kinds that were not shown: the example of which the least may go another way."""

    def of_pair(self, torn: Torn, stand_in: StandIn | None) -> Iterator[Prediction]:
        """If no kind of a pair was found before, there is an example of it, if it can be torn apart at all."""
        is_found = False
        for tear in islice(_unlike_tears(torn, self._tick), MOST_TEARS):
            ends = {torn.shape.steps[at].target for at in (tear.first, tear.last)}
            if stand_in is not None and not ends <= stand_in.about:
                continue
            kind = _kind(torn, tear)
            is_found = is_found or kind in self._shown or kind in self.doubtful
            tried = kind, stand_in is not None
            if kind in self._shown or self._tried[tried] >= MOST_OF_A_KIND:
                continue
            self._tick()
            self._tried[tried] += 1
            if (found := self._example(torn, tear)) is not None:
                is_found = True
                yield from self._taken(kind, found._replace(stand_in=_acting(torn, stand_in)))
        if not is_found and stand_in is None and (violation := torn.grid.violation()) is not None:
            way = torn.grid.tear(violation) or []
            yield from self._taken(_kind(torn, violation), self._of_ways(torn, violation, [way]))

    def _taken(self, kind: Kind, found: Prediction) -> Iterator[Prediction]:
        if not found.changes:
            self._shown.add(kind)
            self.doubtful.pop(kind, None)
            yield found
        elif kind not in self.doubtful or weight(found.changes) < weight(self.doubtful[kind].changes):
            self.doubtful[kind] = found

    def _example(self, torn: Torn, tear: Tear) -> Prediction | None:
        ways = [way for way in (torn.grid.whole(tear.first, tear.last), torn.grid.tear(tear)) if way is not None]
        return self._of_ways(torn, tear, ways) if ways else None

    def _of_ways(self, torn: Torn, tear: Tear, ways: Sequence[list[State]]) -> Prediction:
        if self._replay is None:
            return Prediction(_witness(torn, tear, ways[0]))
        tried = [(self._replay.changes(torn, tear, way), way) for way in ways]
        changes, way = min(tried, key=lambda one: weight(one[0]))
        return Prediction(_witness(torn, tear, way), changes)


def _acting(torn: Torn, stand_in: StandIn | None) -> Acting | None:
    if stand_in is None:
        return None
    unit, done_by = (torn.unit, torn.other_unit) if torn.unit.acts_as is not None else (torn.other_unit, torn.unit)
    read, step = (torn.shape.steps[at] for at in (stand_in.read, stand_in.parting))
    events = unit.events[stand_in.read], unit.events[stand_in.parting]
    change = Change(events[0], read.site, unit.thread, events[1], step.site, is_refuted=False)
    return Acting(unit.thread, done_by.thread, Parting(change, stand_in.look))


def _unlike_tears(torn: Torn, tick: Callable[[], None]) -> Iterator[Tear]:
    """The tears of accesses that are close together first; of those at the same places, not more than are tried."""
    grid = torn.grid
    own, others = ([_place(step) for step in steps] for steps in (grid.one, grid.other))
    met: dict[tuple[int, int], frozenset[_Place]] = {}
    for step in grid.one:
        key = step.op, step.target
        if key not in met:
            met[key] = frozenset(others[at] for at in grid.partners(*key))
    seen: Counter[object] = Counter()
    for at, (first, last) in enumerate(grid.spans()):
        if not at % SPANS_IN_A_TICK:
            tick()
        one, other = grid.one[first], grid.one[last]
        ways_in, ways_out = met[one.op, one.target], met[other.op, other.target]
        alike = own[first], own[last], one.target == other.target, ways_in, ways_out
        seen[alike] += 1
        if seen[alike] <= MOST_OF_A_KIND:
            yield from grid.tears(first, last)


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
