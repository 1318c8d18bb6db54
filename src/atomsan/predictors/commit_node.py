"""Commit-node: is every interleaving of the units of a run equivalent to a serial one?

Paper: Wang and Stoller, PPoPP 2006 (commit-node-2006). Theorems 4.1 and 4.4 are a cheap proof: every transaction has at
most one commit node. For two transactions that is exact (4.2 and 4.5). Theorems 4.3 and 4.6 prove more: no two
communication nodes of a transaction, of which none contains the other, lie on a cycle of the forest.

Departures: 4.3 and 4.6 need the order of a thread's units, and of those that fork, join and hand-over order, as edges
of the forest, or a proof is none. Two vertices lie on a simple cycle if they are in one biconnected component. Pairs
are decided by all their interleavings (`pairs.py`), which needs no premises, where that is not too much.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from atomsan.predictors.biconnected import biconnected_components
from atomsan.predictors.forest import Forest, InterEdge, commit_nodes, sides
from atomsan.predictors.pairs import Grid
from atomsan.predictors.tree import ROOT, Tree, TreeNode
from atomsan.predictors.units import Executed
from atomsan.trace.events import Op

if TYPE_CHECKING:
    from atomsan.predictors.order import Order
    from atomsan.predictors.units import Occurrence, Shape, UnitReader


class Pair(NamedTuple):
    """Two shapes of units that may run in parallel and have a conflict, and units that show it."""

    one: Shape
    other: Shape
    unit: Occurrence
    other_unit: Occurrence
    edges: list[InterEdge]
    stand_in: StandIn | None = None
    """If the other unit was not done by its thread, but by that of the first one."""


class StandIn(NamedTuple):
    """A thread would have done what another one did, from the same state."""

    about: frozenset[int]
    """The locations that both threads access, and that were there before."""
    read: int
    """The step of the shape that saw something else when it was done by that thread."""
    parting: int
    """The first step that this thread did not do."""


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

    def __init__(self, reader: UnitReader, order: Order, forest: Forest, tick: Callable[[], None]) -> None:
        self._tick = tick
        self._reader = reader
        self._order = order
        self._forest = forest
        self._trees: dict[int, Tree] = {}
        self._edges: dict[tuple[int, int], list[InterEdge]] = {}

    def tree(self, shape: Shape) -> Tree:
        if shape.number not in self._trees:
            self._trees[shape.number] = Tree(shape.steps)
        return self._trees[shape.number]

    def edges(self, one: Shape, other: Shape) -> list[InterEdge]:
        key = one.number, other.number
        if key not in self._edges:
            self._edges[key] = self._forest(self.tree(one), self.tree(other))
        return self._edges[key]

    @cached_property
    def pairs(self) -> list[Pair]:
        """The pairs that communicate."""
        return [pair for pair in self._parallel() if pair.edges]

    def _parallel(self) -> Iterator[Pair]:
        shapes = self._reader.shapes
        by_location: dict[int, list[Shape]] = {}
        for shape in shapes:
            for location in self.tree(shape).by_location:
                by_location.setdefault(location, []).append(shape)
        seen: set[tuple[int, int]] = set()
        for location, using in by_location.items():
            writing = [one for one in using if any(node.is_write for node in self.tree(one).by_location[location])]
            for one in writing:
                for other in using:
                    first, second = (one, other) if one.number <= other.number else (other, one)
                    key = first.number, second.number
                    if key not in seen:
                        seen.add(key)
                        self._tick()
                        if units := self._meeting(first, second):
                            yield Pair(first, second, *units, self.edges(first, second))

    def _meeting(self, one: Shape, other: Shape) -> tuple[Occurrence, Occurrence] | None:
        """A unit of each shape that may run in parallel."""
        for unit in (unit for units in one.occurrences.values() for unit in units):
            for thread, others in other.occurrences.items():
                # the first that is not over before: if it comes after the unit, so do all later ones
                since = self._order.over_before(unit.thread, unit.period, thread)
                at = bisect_left(others, since, key=lambda one: one.period)
                if at < len(others) and self._order.are_parallel(unit.thread, unit.period, thread, others[at].period):
                    return unit, others[at]
        return None

    @cached_property
    def commits(self) -> dict[int, list[TreeNode]]:
        """By shape: its commit nodes."""
        communicating: dict[int, list[TreeNode]] = {}
        for pair in self.pairs:
            communicating.setdefault(pair.one.number, []).extend(edge.one for edge in pair.edges)
            communicating.setdefault(pair.other.number, []).extend(edge.other for edge in pair.edges)
        return {number: commit_nodes(nodes) for number, nodes in communicating.items()}

    def is_proved(self, shape: Shape) -> bool:
        """Whether a transaction is atomic, by theorem 4.1, as far as others of the trace are so."""
        return len(self.commits.get(shape.number, ())) <= 1

    def is_proved_at_once(self) -> bool:
        """Theorems 4.1 and 4.4."""
        return all(self.is_proved(shape) for shape in self._reader.shapes if shape.is_transaction)

    def is_broken(self, pair: Pair) -> bool:
        """Whether one of a pair of transactions has more than one commit node: theorems 4.2 and 4.5."""
        return any(len(nodes) > 1 for nodes in sides(pair.edges))

    # ---- cycles of the forest: theorems 4.3 and 4.6

    @property
    def is_too_large(self) -> bool:
        return self._reader.is_cut_short

    @cached_property
    def warned(self) -> list[Occurrence]:
        """The transactions with two communication nodes, none of which contains the other, on one cycle."""
        graph = _Graph()
        executed = list(graph.add_threads(self._reader, self.tree))
        communicating: list[dict[int, TreeNode]] = [{} for _ in executed]
        for (at, one), (to, other) in combinations(enumerate(executed), 2):
            if to == at + 1:
                self._tick()
            if not self._order.are_parallel(one.unit.thread, one.unit.period, other.unit.thread, other.unit.period):
                continue
            for edge in self.edges(one.shape, other.shape):
                communicating[at][edge.one.number] = edge.one
                communicating[to][edge.other.number] = edge.other
                graph.join((at, edge.one.number), (to, edge.other.number))
        components = graph.components_of()
        found = []
        for at, one in enumerate(executed):
            if one.shape.is_transaction and any(
                not first.contains(second)
                and not second.contains(first)
                and components.get((at, first.number), frozenset()) & components.get((at, second.number), frozenset())
                for first, second in combinations(communicating[at].values(), 2)
            ):
                found.append(one.unit)
        return found


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

    def add_threads(self, reader: UnitReader, tree_of: Callable[[Shape], Tree]) -> Iterator[Executed]:
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
                    self._add_tree(number, tree_of(one.shape))
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


def torn_by(pair: Pair) -> tuple[Torn, Torn]:
    """Both ways in which one of the two may be torn apart by the other."""
    one, other, unit, other_unit, *_ = pair
    return (
        Torn(Grid(one.steps, other.steps), one, unit, other, other_unit),
        Torn(Grid(other.steps, one.steps), other, other_unit, one, unit),
    )
