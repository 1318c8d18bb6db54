"""Commit-node: is every interleaving of the units of a run equivalent to a serial one?

Paper: Wang and Stoller, PPoPP 2006 (commit-node-2006). Theorems 4.1 and 4.4 are a cheap proof: every transaction has at
most one commit node. For two transactions that is exact (4.2 and 4.5). Theorems 4.3 and 4.6 prove more: no two
communication nodes of a transaction, of which none contains the other, lie on a cycle of the forest.

Units are grouped by cases (`meetings.py`), of which each is decided once.

Departures: 4.3 and 4.6 need the order of a thread's units, and of those that fork, join and hand-over order, as edges
of the forest, or a proof is none. Two vertices lie on a simple cycle if they are in one biconnected component. Pairs
are decided by all their interleavings (`pairs.py`), which needs no premises, where that is not too much.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from atomsan.predictors.components import biconnected_components
from atomsan.predictors.forest import Forest, InterEdge, Overlap, sides
from atomsan.predictors.meetings import overlap_of
from atomsan.predictors.pairs import Grid
from atomsan.predictors.tree import ROOT, Tree, TreeNode
from atomsan.predictors.units import Executed
from atomsan.trace.events import Op

if TYPE_CHECKING:
    from atomsan.predictors.engines._meetings import MeetingFinder
    from atomsan.predictors.meetings import Example, Meetings
    from atomsan.predictors.order import Order
    from atomsan.predictors.units import Form, Occurrence, Shape, UnitReader

_SEVERAL = 0xFFFFFFFE


class Pair(NamedTuple):
    """Two shapes of units that may run in parallel and have a conflict, and units that show it."""

    one: Shape
    other: Shape
    unit: Occurrence
    other_unit: Occurrence
    edges: list[InterEdge]
    """Their nodes are those of the forms."""
    stand_in: StandIn | None = None
    """If the other unit was not done by its thread, but by that of the first one."""

    @property
    def is_ordered_inside(self) -> bool:
        """Whether a part of one may have to come before a part of the other, or after it."""
        return any(unit.first != unit.last for unit in (self.unit, self.other_unit))


class StandIn(NamedTuple):
    """A thread would have done what another one did, from the same state."""

    about: frozenset[int]
    """The locations that both threads access, and that were there before."""
    read: int
    """The step of the shape that saw something else when it was done by that thread."""
    parting: int
    """The first step that this thread did not do."""
    look: int
    """The event at which this thread read it."""


class Case:
    """Pairs that are alike but for their data: two forms, and what they have in common."""

    def __init__(self, one: Form, other: Form, overlap: Overlap, edges: list[InterEdge]) -> None:
        self.one, self.other = one, other
        self.overlap = overlap
        self.edges = edges
        self.examples: Callable[[], Iterator[Example]] = lambda: iter(())

    @cached_property
    def pairs(self) -> list[Pair]:
        """Some of them if there are many; never none."""
        return [Pair(*example, self.edges) for example in self.examples()]


class Torn(NamedTuple):
    """A unit that another may come in between, and all interleavings of the two."""

    grid: Grid
    shape: Shape
    unit: Occurrence
    other: Shape
    other_unit: Occurrence


class ForestAnalysis:
    """What the forest of a run says. `forest` gives the inter-edges of two units.

    `tick` is called between the steps of the work.
    """

    def __init__(
        self, reader: UnitReader, order: Order, meetings: Meetings, forest: Forest, tick: Callable[[], None]
    ) -> None:
        self._tick = tick
        self._reader = reader
        self._order = order
        self._meetings = meetings
        self._forest = forest
        self._cases: list[Case] = []

    @cached_property
    def commits(self) -> MeetingFinder:
        """All meetings, and the commit nodes of the shapes in these."""
        return self._meetings.find(self._decide, _inner)

    def _decide(self, one: Form, other: Form, overlap: Overlap) -> tuple[int, int]:
        edges = self._forest(one.tree, other.tree, overlap)
        self._cases.append(Case(one, other, overlap, edges))
        first, second = (_SEVERAL if len(nodes) > 1 else nodes[0].number if nodes else 0 for nodes in sides(edges))
        return first, second

    @cached_property
    def cases(self) -> list[Case]:
        """Those that communicate."""
        finder, found = self.commits, []
        for number, case in enumerate(self._cases):
            if case.edges and finder.examples[number]:
                case.examples = partial(self._meetings.examples, finder, number)
                found.append(case)
        return found

    @property
    def pairs(self) -> list[Pair]:
        """Examples of all pairs that communicate."""
        return [pair for case in self.cases for pair in case.pairs]

    @property
    def is_complete(self) -> bool:
        """Whether all pairs were looked at."""
        return self._meetings.is_complete

    def is_proved(self, shape: Shape) -> bool:
        """Whether a transaction is atomic, by theorem 4.1, as far as others of the trace are so."""
        return self.is_complete and not self.commits.has_several(shape.number)

    def is_proved_at_once(self) -> bool:
        """Theorems 4.1 and 4.4."""
        forms = self._reader.forms
        return self.is_complete and not any(
            forms[number].is_transaction for number in self.commits.forms_with_several()
        )

    # ---- cycles of the forest: theorems 4.3 and 4.6

    @property
    def is_too_large(self) -> bool:
        return self._reader.is_cut_short

    @cached_property
    def warned(self) -> list[Occurrence]:
        """The transactions with two communication nodes, none of which contains the other, on one cycle."""
        graph = _Graph()
        executed = list(graph.add_threads(self._reader))
        communicating: list[dict[int, TreeNode]] = [{} for _ in executed]
        for at, to, edges in self._joined(executed):
            for edge in edges:
                communicating[at][edge.one.number] = edge.one
                communicating[to][edge.other.number] = edge.other
                graph.join((at, edge.one.number), (to, edge.other.number))
        components = graph.components_of()
        found = []
        for at, one in enumerate(executed):
            self._tick()
            if one.shape.is_transaction and any(
                not first.contains(second)
                and not second.contains(first)
                and components.get((at, first.number), frozenset()) & components.get((at, second.number), frozenset())
                for first, second in combinations(communicating[at].values(), 2)
            ):
                found.append(one.unit)
        return found

    def _joined(self, executed: list[Executed]) -> Iterator[tuple[int, int, list[InterEdge]]]:
        """The units, by their places, that may run in parallel and have inter-edges."""
        known: dict[tuple[int, int], list[InterEdge]] = {}
        for (at, one), (to, other) in combinations(enumerate(executed), 2):
            key = one.shape.number, other.shape.number
            if key not in known:
                self._tick()
                overlap = overlap_of(one.shape, other.shape)
                known[key] = self._forest(one.shape.form.tree, other.shape.form.tree, overlap)
            if to == at + 1:
                self._tick()
            if known[key] and self._order.are_parallel(one.unit.time, other.unit.time):
                yield at, to, known[key]


def _inner(form: Form, one: int, other: int) -> int | None:
    """The innermost of two nodes of a form, if one contains the other."""
    first, second = form.tree.nodes[one], form.tree.nodes[other]
    return other if first.contains(second) else one if second.contains(first) else None


Vertex = tuple[int, int]
"""A unit, or something that orders threads, by its number; and a node of its tree."""


class _Graph:
    """The forest: trees, inter-edges, and the order of units."""

    def __init__(self) -> None:
        self._numbers: dict[Vertex, int] = {}
        self._edges: dict[int, set[int]] = {}

    def join(self, one: Vertex, other: Vertex) -> None:
        first, second = self._number(one), self._number(other)
        self._edges[first].add(second)
        self._edges[second].add(first)

    def _number(self, vertex: Vertex) -> int:
        number = self._numbers.setdefault(vertex, len(self._numbers))
        self._edges.setdefault(number, set())
        return number

    def add_threads(self, reader: UnitReader) -> Iterator[Executed]:
        """The units, numbered from 0, each joined with what comes before and after it; what orders is below 0."""
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        forked: dict[int, int] = {}
        joined: list[tuple[int, int]] = []
        posted: dict[int, list[int]] = {}
        taken: dict[int, list[int]] = {}
        units = orders = 0
        for thread, sequence in reader.sequence.items():
            before: int | None = None
            for one in sequence:
                if isinstance(one, Executed):
                    number = units
                    units += 1
                    self._add_tree(number, one.shape.form.tree)
                    yield one
                else:
                    orders -= 1
                    number = orders
                    if one.op == Op.FORK:
                        forked[one.target] = number
                    elif one.op == Op.JOIN:
                        joined.append((one.target, number))
                    elif one.op == Op.POST:
                        posted.setdefault(one.target, []).append(number)
                    else:
                        taken.setdefault(one.target, []).append(number)
                if before is not None:
                    self.join((before, ROOT), (number, ROOT))
                first.setdefault(thread, number)
                last[thread] = before = number
        for thread, number in forked.items():
            if thread in first:
                self.join((number, ROOT), (first[thread], ROOT))
        for thread, number in joined:
            if thread in last:
                self.join((last[thread], ROOT), (number, ROOT))
        for handover, numbers in posted.items():
            for post in numbers:
                for take in taken.get(handover, ()):
                    self.join((post, ROOT), (take, ROOT))

    def _add_tree(self, unit: int, tree: Tree) -> None:
        for node in tree.nodes[1:]:
            self.join((unit, node.parent), (unit, node.number))

    def components_of(self) -> dict[Vertex, frozenset[int]]:
        """By vertex: the biconnected components that it is in."""
        found: dict[int, set[int]] = {}
        for component, vertices in enumerate(biconnected_components(self._edges)):
            for vertex in vertices:
                found.setdefault(vertex, set()).add(component)
        return {vertex: frozenset(found[number]) for vertex, number in self._numbers.items() if number in found}


def torn_by(pair: Pair, order: Order, tick: Callable[[], None]) -> tuple[Torn, Torn]:
    """Both ways in which one of the two may be torn apart by the other."""
    one, other, unit, other_unit, *_ = pair
    needs, others_need = _needs(unit, other_unit, order), _needs(other_unit, unit, order)
    return (
        Torn(Grid(one.steps, other.steps, tick, needs, others_need), one, unit, other, other_unit),
        Torn(Grid(other.steps, one.steps, tick, others_need, needs), other, other_unit, one, unit),
    )


def _needs(unit: Occurrence, other: Occurrence, order: Order) -> Sequence[int]:
    """By step: how many steps of the other unit come before it in every interleaving; empty if that is none of any.

    Of a stand-in only the time as a whole is known.
    """
    if other.first == other.last or unit.acts_as is not None or other.acts_as is not None:
        return ()
    theirs = [max(order.period_of(other.thread, event), other.first) for event in other.events]
    periods = (max(order.period_of(unit.thread, event), unit.first) for event in unit.events)
    return [bisect_left(theirs, order.over_before(unit.thread, period, other.thread)) for period in periods]
