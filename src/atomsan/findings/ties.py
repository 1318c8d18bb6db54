"""Ties between two accesses of one thread: does one rest on the other, or do both go into one thing?

The *unit* of two accesses is the innermost activation around both. They are tied, first match:

- *flow*: what the first gives reaches the second, as a value, a key, an object or by a condition: up through what its
  function returns, yields or raises to the expression that called it, down through arguments;
- *joint*: both reach one value, condition or result; if both are only given to one call, they may be just shown;
- *own*: both stand in the unit's own code, but not before and after the block that a context manager is for.

In different iterations of a loop of the unit only what is carried from one iteration to the next ties them. Otherwise
they are no unit at all: the loop is a sequence of units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from atomsan.findings.activations import Activation, shared
from atomsan.findings.flow_graph import EFFECTS, LEAVING, FlowGraph, FlowGraphs, Node
from atomsan.trace.events import Op

if TYPE_CHECKING:
    from atomsan.trace.symbols import Symbols


class Tie(StrEnum):
    """How two accesses belong together."""

    FLOW = "flow"
    JOINT = "joint"
    SHOWN = "shown"
    """Both are only given to one call, as to `print`."""
    OWN = "own"
    COLLECTED = "collected"
    """In different iterations, whose results are collected."""
    DEEPER = "deeper"
    """At the same place in a recursive call, and no value goes there from the first."""
    APART = "apart"
    """In different iterations, and nothing is carried from one to the other."""
    NONE = "none"


class OwnEvent(NamedTuple):
    """An event in the own code of an activation: an access, or the begin of what is called there."""

    node: int
    op: int
    target: int


@dataclass(frozen=True, kw_only=True)
class Local:
    """An access, with the activations around it."""

    site: int
    around: Sequence[Activation]


class Unit(NamedTuple):
    """The unit of two accesses: its flow graph, and the nodes of the accesses or of the calls that lead to them."""

    activation: Activation
    graph: FlowGraph
    first: int
    last: int
    first_inner: Sequence[Activation]
    """What the first access is in, below the unit: nothing, if it stands in the unit's own code."""
    last_inner: Sequence[Activation]
    is_around_block: bool = False
    """Whether it is a context manager's code before and after the block that it is for: what others may see then."""
    is_delegating: bool = False
    """Whether it is a generator that runs one other after the other at the place of both accesses."""

    @property
    def common_loops(self) -> list[int]:
        """The loops around both, the outermost first."""
        loops = zip(self.graph.nodes[self.first].loops, self.graph.nodes[self.last].loops, strict=False)
        return [one for one, other in loops if one == other]


class Ties:
    """Finds units and ties, by the flow graphs of a trace."""

    def __init__(self, symbols: Symbols) -> None:
        self.graphs = FlowGraphs(symbols)
        self._functions = symbols.functions

    def unit(self, first: Local, last: Local, restarted: frozenset[int] = frozenset()) -> Unit | None:
        """The innermost activation around both. None if the trace does not know it, or not the flow in it."""
        both = shared(first.around, last.around, restarted)
        graph = self.graphs.of(both.unit.function) if both.unit else None
        if both.unit is None or graph is None:
            return None
        nodes = [
            self._node_in(both.unit.function, inner[0].called_at if inner else one.site)
            for one, inner in ((first, both.first), (last, both.last))
        ]
        if nodes[0] is None or nodes[1] is None:
            return None
        began = first.around[len(first.around) - len(both.first) - 1]
        is_around_block = graph.is_context and began.since != both.unit.since
        return Unit(both.unit, graph, nodes[0], nodes[1], both.first, both.last, is_around_block)

    def delegating(self, first: Local, last: Local, restarted: frozenset[int]) -> Unit | None:
        """The generator that two others are run by (`yield from`), one after the other: it is not open meanwhile."""
        both = shared(first.around, last.around, restarted)
        if both.unit is None or not both.first or not both.last or both.first[0].since == both.last[0].since:
            return None
        one, other = (self.graphs.place(inner[0].called_at) for inner in (both.first, both.last))
        graph = self.graphs.of(one.function) if one else None
        if one is None or one != other or graph is None or one.function in restarted:
            return None
        if both.first[0].function not in restarted or not graph.nodes[one.node].loops:
            return None  # not two of them: one that runs again
        generator = both.unit._replace(function=one.function, is_iteration=False, is_resumed=True)
        return Unit(generator, graph, one.node, one.node, both.first, both.last, is_delegating=True)

    def _node_in(self, function: int | None, site: int) -> int | None:
        place = self.graphs.place(site)
        return place.node if place is not None and place.function == function else None

    def tie(
        self,
        unit: Unit,
        first: Local,
        last: Local,
        *,
        advanced: frozenset[int] = frozenset(),
        passed: frozenset[int] = frozenset(),
    ) -> Tie:
        """How two accesses are tied. `advanced` are the loops of the unit that went on to a later iteration between.

        `passed` are those of the function that the first access is in, if that is not the unit.
        """
        goes_up = self.goes_up(first, unit.first_inner, passed)
        loop = next((loop for loop in unit.common_loops if loop in advanced), None)
        if loop is not None:
            tie = self._tie_around(unit, loop, last) if goes_up else Tie.APART
            return Tie.NONE if tie is Tie.APART and _is_driven(unit, loop) else tie
        if goes_up and self._flows(unit, last):
            return Tie.FLOW
        is_own = not unit.first_inner and not unit.last_inner and not unit.is_around_block
        if unit.activation.is_declared or is_own:
            return Tie.OWN
        if goes_up and self.goes_up(last, unit.last_inner):
            if unit.graph.joins(unit.first, unit.last):
                return Tie.JOINT
            if unit.graph.joins_in_call(unit.first, unit.last):
                return Tie.SHOWN
        return Tie.DEEPER if self._is_deeper(unit, last) else Tie.NONE

    def _tie_around(self, unit: Unit, loop: int, last: Local) -> Tie:
        """How accesses in different iterations are tied: by what is carried from one to the other."""
        graph = unit.graph
        if graph.is_step_of(unit.first, loop) and unit.first == unit.last:
            return Tie.FLOW  # the iterator goes on from where it was
        if graph.carries(unit.first, unit.last, loop):
            return Tie.FLOW
        if unit.first == unit.last and graph.is_collected(unit.first, loop):
            return Tie.JOINT if graph.is_summed_up(unit.first, loop) else Tie.COLLECTED
        sinks = graph.reached(unit.last, explicit=True) if self.goes_up(last, unit.last_inner) else ()
        joined = [sink for sink in sinks if graph.carries(unit.first, sink, loop, explicit=True)]
        if any(graph.nodes[sink].is_operator for sink in joined):
            return Tie.JOINT
        return Tie.COLLECTED if any(graph.nodes[sink].kind != "cond" for sink in joined) else Tie.APART

    def _flows(self, unit: Unit, last: Local) -> bool:
        """Whether what is at the first node of the unit reaches the last access."""
        is_update = unit.first == unit.last and unit.graph.nodes[unit.first].kind == "update"
        if unit.last not in unit.graph.reached(unit.first) and not is_update:
            return False
        if self._is_deeper(unit, last):
            return unit.last in unit.graph.reached(unit.first, explicit=True) and self._goes_down(last, unit.last_inner)
        return unit.graph.decides(unit.first, unit.last) or self._goes_down(last, unit.last_inner)

    def _is_deeper(self, unit: Unit, last: Local) -> bool:
        """Whether the last access is at the place of the first in a recursive call of the unit's function.

        As with a loop's condition: that there is one more round is a weak tie, for the round asks by itself.
        """
        sites = [*(one.called_at for one in unit.last_inner[1:]), last.site]
        rounds = [
            site
            for activation, site in zip(unit.last_inner, sites, strict=False)
            if activation.function == unit.activation.function
        ]
        return bool(rounds) and self._node_in(unit.activation.function, rounds[-1]) == unit.first

    def goes_up(self, access: Local, inner: Sequence[Activation], passed: frozenset[int] = frozenset()) -> bool:
        """Whether what an access gives comes out of all activations that it is in, below the unit.

        What was read in an iteration that is `passed` comes out only if it is carried into a later one.
        """
        place = self.graphs.place(access.site)
        for depth in range(len(inner) - 1, -1, -1):
            graph = self.graphs.of(inner[depth].function)
            if graph is None or place is None or place.function != inner[depth].function:
                return True  # not known: a function without a flow graph may return anything
            loop = next((one for one in graph.nodes[place.node].loops if one in passed), None)
            # what is read for nothing may be read to know whether it is there, and raise if not
            is_tried = graph.nodes[place.node].kind == "read" and not graph.is_used(place.node)
            leaves = graph.leaves(place.node) if loop is None else graph.leaves_after(place.node, loop)
            if not leaves and not is_tried:
                return False
            place, passed = self.graphs.place(inner[depth].called_at), frozenset()
        return True

    def is_kept(self, unit: Unit, first: Local) -> bool:
        """Whether the value of the unit's first access is itself stored, passed on or returned by the unit."""
        reached = (unit.graph.nodes[one] for one in unit.graph.reached(unit.first, explicit=True))
        is_used = any(one.kind in EFFECTS and not one.passes_on for one in reached)
        return is_used and self.is_given(first, unit.first_inner)

    def is_given(self, access: Local, inner: Sequence[Activation]) -> bool:
        """Whether the value that an access gives comes itself out of all activations that it is in, below the unit."""
        place = self.graphs.place(access.site)
        for activation in reversed(inner):
            graph = self.graphs.of(activation.function)
            if graph is None or place is None or place.function != activation.function:
                return False
            if not any(graph.nodes[one].kind in LEAVING for one in graph.reached(place.node, explicit=True)):
                return False
            place = self.graphs.place(activation.called_at)
        return True

    def _goes_down(self, access: Local, inner: Sequence[Activation]) -> bool:
        """Whether what goes into the outermost of these activations reaches the access in the innermost."""
        sites = [*(one.called_at for one in inner[1:]), access.site]
        for activation, site in zip(inner, sites, strict=False):
            graph, place = self.graphs.of(activation.function), self.graphs.place(site)
            if graph is None or place is None or place.function != activation.function:
                continue
            if self._has_free_variables(activation) or graph.is_fed_by_parameters(place.node):
                continue
            return False
        return True

    def _has_free_variables(self, activation: Activation) -> bool:
        """Whether a function may use variables of the one around it, which are as good as parameters."""
        return activation.function is not None and "<locals>" in self._functions[activation.function]


def _is_driven(unit: Unit, loop: int) -> bool:
    """Whether one of the accesses is in what makes the loop go on: a generator's code is around the iterations."""
    ends = (unit.first, unit.first_inner), (unit.last, unit.last_inner)
    return any(inner and unit.graph.is_step_of(node, loop) for node, inner in ends)


def advanced_loops(graph: FlowGraph, events: Sequence[OwnEvent]) -> frozenset[int] | None:
    """The loops that went on to a later iteration somewhere between the first and the last of these events.

    The trace has no mark for an iteration. One has begun where the code goes back in the order of statements, or of
    evaluation inside a statement, changes to another arm of a branch, or does again what it did at the same place; and
    then it is one of the innermost loop around both places. A context manager that is left is called at the place where
    it was entered: that is no way back, but what comes inside its statement then is. What the code of a lambda or a
    generator expression does is done when it is called for, so its place says nothing: what is done again is of a later
    step of that expression. None: it is of a lambda, and nothing else tells in which iteration it was called.
    """
    placed = [event for event in events if "later" not in graph.nodes[event.node].facts]
    if len(placed) == len(events):
        return _advanced(graph, events)
    advanced, is_unknown = set(_advanced(graph, placed)), False
    done: set[int] = set()
    for event in events:
        node = graph.nodes[event.node]
        if "later" in node.facts and event.node in done:
            is_unknown |= not graph.is_generated(node)
            advanced.update(node.loops[-1:] if graph.is_generated(node) else ())
        done.add(event.node)
    is_told = placed and (placed[0], placed[-1]) == (events[0], events[-1])
    return frozenset(advanced) if advanced or is_told or not is_unknown else None


def _advanced(graph: FlowGraph, events: Sequence[OwnEvent]) -> frozenset[int]:
    found: set[int] = set()
    done: set[OwnEvent] = set()
    before: OwnEvent | None = None
    is_left = False
    for event in events:
        if before is not None:
            one, other = graph.nodes[before.node], graph.nodes[event.node]
            common = [a for a, b in zip(one.loops, other.loops, strict=False) if a == b]
            was_left, is_left = is_left, _is_left(graph, before, event, is_leaving=is_left)
            if before.node != event.node:
                is_back = other.statement < one.statement or (other.statement == one.statement and event in done)
                is_back = is_back or _is_evaluated_again(graph, before, event)
                is_later = is_back or graph.are_exclusive(before.node, event.node)
            else:
                is_next = bool(common) and graph.is_step_of(event.node, common[-1]) and before.target != event.target
                is_later = is_next or event in done or _is_updated_again(one, before, event)
            is_later = not is_left and (is_later or (was_left and graph.is_inside(other.statement, one.statement)))
            if common and is_later:
                found.add(common[-1])
            if is_later or one.statement != other.statement:
                done.clear()
        done.add(event)
        before = event
    return frozenset(found)


def _is_left(graph: FlowGraph, before: OwnEvent, event: OwnEvent, *, is_leaving: bool) -> bool:
    """Whether an event is the end of a `with` statement: its context manager is called after what is inside of it.

    One statement may have several, which are left in the other order.
    """
    one, other = graph.nodes[before.node], graph.nodes[event.node]
    if other.facts.get("name") != "with":
        return False
    if one.statement == other.statement:
        return is_leaving and event.node < before.node
    return graph.is_inside(one.statement, other.statement)


def _is_evaluated_again(graph: FlowGraph, before: OwnEvent, event: OwnEvent) -> bool:
    """Whether a statement was begun once more: nodes have the order of evaluation.

    The code of a lambda or a generator runs when it is called for, a context manager is left in the other order, and
    what an update adds is evaluated after its read.
    """
    one, other = graph.nodes[before.node], graph.nodes[event.node]
    if one.statement != other.statement or event.node > before.node:
        return False
    if "later" in one.facts or "later" in other.facts or other.facts.get("name") == "with":
        return False
    return one.kind != "update" or before.op == Op.WRITE


def _is_updated_again(node: Node, before: OwnEvent, event: OwnEvent) -> bool:
    """Whether an update reads once more what it wrote."""
    is_read_again = (before.op, event.op) == (Op.WRITE, Op.READ) and before.target == event.target
    return node.kind == "update" and is_read_again
