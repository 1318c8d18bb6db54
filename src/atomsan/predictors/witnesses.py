"""Witnesses of what is predicted: the accesses that can be torn apart, what can come between, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice, pairwise, product
from typing import TYPE_CHECKING, NamedTuple

from atomsan.checkers.results import Edge, Transaction, Witness
from atomsan.predictors.commit_node import torn_by
from atomsan.predictors.pairs import Tear
from atomsan.predictors.replay import Change, Parting, weight
from atomsan.trace.events import NO_SITE, Op

if TYPE_CHECKING:
    from atomsan.checkers.results import Step
    from atomsan.predictors.commit_node import Case, Pair, StandIn, Torn
    from atomsan.predictors.order import Order
    from atomsan.predictors.pairs import State
    from atomsan.predictors.replay import Replay
    from atomsan.predictors.units import Occurrence, Shape, UnitStep

# So many ways to tear a pair of units apart are looked at, those of accesses that are close together first; of one
# kind, so many are tried. Before these comes the earliest of each kind among so many accesses that begin a unit.
MOST_TEARS = 20_000
MOST_EARLY = 32
MOST_OF_A_KIND = 8
SPANS_IN_A_TICK = 1_000
# So many are kept for the other pairs of their cases.
MOST_KEPT = 200_000
# Of longer interleavings, so many steps are shown, and the acquires and releases that belong to them.
MOST_SHOWN = 100

Kind = tuple[object, ...]

_Place = tuple[int, int]
"""An operation, and where it is in the source; if that is not known, what it is about."""


class Acting(NamedTuple):
    """A thread that does what another one did in the run, because a read before a step gives what that one read."""

    thread: int
    done_by: int
    parting: Parting


class Interleaving(NamedTuple):
    """The steps of two units in an order in which one is torn apart."""

    steps: Sequence[Step]
    left_out: int
    """How many steps of the units are left out, because there are so many."""


class Prediction(NamedTuple):
    """A witness, and what may go another way in the interleaving that it is of."""

    witness: Witness
    interleaving: Callable[[], Interleaving]
    changes: Sequence[Change] = ()
    stand_in: Acting | None = None


def predictions(
    pairs: Iterable[Pair], order: Order, tick: Callable[[], None], replay: Replay | None = None
) -> Iterator[Prediction]:
    """One example for each kind of tear: where there is a choice, one in which threads do what they did in the run.

    `tick` is called between the steps of the work. Without `replay`, the first example is as good as any other.
    """
    kinds = _Kinds(replay, tick)
    for pair in pairs:
        if not kinds.is_as_before(pair):
            for side, torn in enumerate(torn_by(pair, order, tick)):
                if torn.shape.is_transaction and not torn.grid.is_too_large:
                    yield from kinds.of_pair(pair, side, torn)
            kinds.note(pair)
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
        self._failed: list[Kind] = []
        """Those that were tried in vain in the pair that is looked at."""
        self._is_plain = True
        """Whether all that was shown of that pair are kinds of tears that were looked at."""
        self._failed_in: dict[int, list[Kind]] = {}
        """The same by case, for those of which one pair is as good as any other."""
        self._tears_of: dict[tuple[int, int], list[tuple[Tear, Kind]]] = {}
        """By case, and which of its units is torn."""
        self._kept = 0

    def is_as_before(self, pair: Pair) -> bool:
        """Whether another pair of the same case has shown all that this one can: then it only counts as tried, too.

        So it is where a kind is known by places in the source alone, and nothing depends on what the run did.
        """
        self._failed, self._is_plain = [], True
        for kind in self._failed_in.get(id(pair.edges), ()):
            if kind not in self._shown and self._tried[kind, False] < MOST_OF_A_KIND:
                self._tried[kind, False] += 1
        return id(pair.edges) in self._failed_in

    def note(self, pair: Pair) -> None:
        """A pair was looked at. The edges of a case live as long as its pairs."""
        is_any = self._replay is None and self._is_plain and pair.stand_in is None and not pair.is_ordered_inside
        if is_any and _has_sites(pair):
            self._failed_in[id(pair.edges)] = self._failed

    def of_pair(self, pair: Pair, side: int, torn: Torn) -> Iterator[Prediction]:
        """If no kind of a pair was found before, there is an example of it, if it can be torn apart at all."""
        is_found = False
        stand_in = pair.stand_in
        for tear, kind in self._tears(pair, side, torn):
            if stand_in is not None and not {torn.shape.steps[at].target for at in tear[:2]} <= stand_in.about:
                continue
            is_found = is_found or kind in self._shown or kind in self.doubtful
            tried = kind, stand_in is not None
            if kind in self._shown or self._tried[tried] >= MOST_OF_A_KIND:
                continue
            self._tick()
            self._tried[tried] += 1
            if (found := self._example(torn, tear)) is not None:
                is_found = True
                if found.changes and stand_in is None and self._tried[tried] == 1:
                    found = min((found, *self._done_again(pair, torn, tear)), key=lambda one: weight(one.changes))
                yield from self._taken(kind, found._replace(stand_in=_acting(torn, stand_in)))
            else:
                self._failed.append(kind)
        if not is_found and stand_in is None and (violation := torn.grid.violation()) is not None:
            self._is_plain = False
            way = torn.grid.tear(violation) or []
            yield from self._taken(_kind(torn, violation), self._of_ways(torn, violation, [way]))

    def _tears(self, pair: Pair, side: int, torn: Torn) -> Sequence[tuple[Tear, Kind]]:
        """What is tried of a pair, with its kind: the same for all pairs of a case, where places say all."""
        case = id(pair.edges), side
        if case in self._tears_of:
            return self._tears_of[case]
        found = [(tear, _kind(torn, tear)) for tear in islice(_unlike_tears(torn, self._tick), MOST_TEARS)]
        if pair.stand_in is None and _has_sites(pair) and self._kept + len(found) <= MOST_KEPT:
            self._kept += len(found)
            self._tears_of[case] = found
        return found

    def _taken(self, kind: Kind, found: Prediction) -> Iterator[Prediction]:
        if not found.changes:
            self._shown.add(kind)
            if found.stand_in is None:
                self.doubtful.pop(kind, None)
            yield found
        elif kind not in self.doubtful or weight(found.changes) < weight(self.doubtful[kind].changes):
            self.doubtful[kind] = found

    def _done_again(self, pair: Pair, torn: Torn, tear: Tear) -> Iterator[Prediction]:
        """The same by the next units that do it: what the first of all finds, nobody may find again."""
        if pair.is_ordered_inside:
            return
        again, other_again = torn.shape.again(torn.unit), torn.other.again(torn.other_unit)
        units = ((again, torn.other_unit), (torn.unit, other_again), (again, other_again))
        for unit, other_unit in units:
            if unit is not None and other_unit is not None:
                found = self._example(torn._replace(unit=unit, other_unit=other_unit), tear)
                yield from () if found is None else (found,)

    def _example(self, torn: Torn, tear: Tear) -> Prediction | None:
        ways = [way for way in (torn.grid.whole(tear.first, tear.last), torn.grid.tear(tear)) if way is not None]
        return self._of_ways(torn, tear, ways) if ways else None

    def _of_ways(self, torn: Torn, tear: Tear, ways: Sequence[list[State]]) -> Prediction:
        if self._replay is None:
            return _prediction(torn, tear, ways[0])
        tried = [(self._replay.changes(torn, tear, way), way) for way in ways]
        changes, way = min(tried, key=lambda one: weight(one[0]))
        return _prediction(torn, tear, way)._replace(changes=changes)


def _prediction(torn: Torn, tear: Tear, way: list[State]) -> Prediction:
    one, other = _Side(torn.shape, torn.unit), _Side(torn.other, torn.other_unit)
    return Prediction(_witness(torn, tear, way), partial(_interleaving, one, other, _around(torn, tear, way)))


def _has_sites(pair: Pair) -> bool:
    """Whether all accesses are known by their places in the source."""
    return pair.one.form.has_sites and pair.other.form.has_sites


def _acting(torn: Torn, stand_in: StandIn | None) -> Acting | None:
    if stand_in is None:
        return None
    unit, done_by = (torn.unit, torn.other_unit) if torn.unit.acts_as is not None else (torn.other_unit, torn.unit)
    read, step = (torn.shape.steps[at] for at in (stand_in.read, stand_in.parting))
    events = unit.events[stand_in.read], unit.events[stand_in.parting]
    change = Change(events[0], read.site, unit.thread, events[1], step.site, is_refuted=False)
    return Acting(unit.thread, done_by.thread, Parting(change, stand_in.look))


def _unlike_tears(torn: Torn, tick: Callable[[], None]) -> Iterator[Tear]:
    """The tears of accesses that are close together first; of those at the same places, not more than are tried.

    Of each kind the earliest comes before: the less a thread has read, the less may go another way.
    """
    grid = torn.grid
    own, others = ([_place(step) for step in steps] for steps in (grid.one, grid.other))
    met: dict[tuple[int, int], frozenset[_Place]] = {}
    numbers: dict[object, int] = {}
    kinds: list[int] = []
    for at, step in enumerate(grid.one):
        key = step.op, step.target
        if key not in met:
            met[key] = frozenset(others[at] for at in grid.partners(*key))
        kinds.append(numbers.setdefault((own[at], met[key]), len(numbers)))
    seen: Counter[tuple[int, int, bool]] = Counter()
    early: dict[tuple[int, int, bool], tuple[int, int]] = {}

    def kind_of(first: int, last: int) -> tuple[int, int, bool]:
        return kinds[first], kinds[last], grid.one[first].target == grid.one[last].target

    for span in grid.early_spans(MOST_EARLY):
        early.setdefault(kind_of(*span), span)
    for at, (first, last) in enumerate(chain(early.values(), grid.spans())):
        if not at % SPANS_IN_A_TICK:
            tick()
        one, other = grid.one[first], grid.one[last]
        alike = kind_of(first, last)
        is_again = at >= len(early) and early.get(alike) == (first, last)
        seen[alike] += not is_again
        if seen[alike] <= MOST_OF_A_KIND and not is_again:
            partners = (grid.partners(step.op, step.target) for step in (one, other))
            for ways_to, ways_from in product(*(_by_place(places, others) for places in partners)):
                easiest = islice(grid.easiest_ways(ways_to, ways_from), 1)
                ways = chain(islice(grid.ways(ways_to, ways_from), MOST_OF_A_KIND - 1), easiest)
                yield from (Tear(first, last, *way) for way in ways)


def _by_place(steps: Sequence[int], places: Sequence[_Place]) -> list[list[int]]:
    """Steps of the other unit, those at one place in the source together."""
    found: dict[_Place, list[int]] = {}
    for at in steps:
        found.setdefault(places[at], []).append(at)
    return list(found.values())


def _kind(torn: Torn, tear: Tear) -> Kind:
    """What a person can tell apart: places in the source, not elements of a list."""
    own, others = torn.shape.steps, torn.other.steps
    steps = own[tear.first], own[tear.last], others[tear.into], others[tear.out]
    is_one = steps[0].target == steps[1].target
    return torn.shape.regions, torn.other.regions, is_one, tear.into > tear.out, *map(_place, steps)


def _place(step: UnitStep) -> _Place:
    return step.op, step.target if step.site == NO_SITE else step.site


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


class _Side(NamedTuple):
    """One of two units."""

    shape: Shape
    unit: Occurrence


class _Shown(NamedTuple):
    """The steps of an interleaving that are shown: its place there, of which unit it is, and its place in that."""

    steps: list[tuple[int, bool, int]]
    left_out: int


def _around(torn: Torn, tear: Tear, way: list[State]) -> _Shown:
    """The steps of a way. Of very many, those around the torn accesses and what comes between them, and their locks."""
    steps = [
        (position, next_i > i, i if next_i > i else j)
        for position, ((i, j), (next_i, _)) in enumerate(pairwise(way), 1)
    ]
    if len(steps) <= MOST_SHOWN:
        return _Shown(steps, 0)
    ends = {True: {tear.first, tear.last}, False: {tear.into, tear.out}}
    middle = [place for place, (_, is_own, at) in enumerate(steps) if at in ends[is_own]]
    reach = MOST_SHOWN // (2 * len(middle))
    kept = {step[1:] for place in middle for step in steps[max(0, place - reach) : place + reach + 1]}
    for is_own, shape in ((True, torn.shape), (False, torn.other)):
        blocks = (node for node in shape.form.tree.nodes if node.lock is not None)
        for block in blocks:
            places = {(is_own, block.first), (is_own, block.last)}
            if places & kept or any(block.first < at < block.last for at in ends[is_own]):
                kept |= places
    shown = [step for step in steps if step[1:] in kept]
    return _Shown(shown, len(steps) - len(shown))


def _interleaving(one: _Side, other: _Side, shown: _Shown) -> Interleaving:
    """Units do not know at which sites they take their locks."""
    steps = [
        side.shape.step(side.unit, at, Edge.PROGRAM_ORDER, position)
        for position, is_own, at in shown.steps
        for side in [one if is_own else other]
    ]
    return Interleaving(
        [step if step.op <= Op.WRITE else step._replace(site=NO_SITE) for step in steps], shown.left_out
    )


def _edge(one: int, other: int) -> Edge:
    if one == Op.READ:
        return Edge.READ_WRITE
    return Edge.WRITE_READ if other == Op.READ else Edge.WRITE_WRITE
