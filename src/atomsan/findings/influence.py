"""Influence of a value that is read on a later step: what is done until it comes, and on which object or key it is.

By the flow graphs of functions, as the trace has them: of the one that both stand in (`influence_of`), or, where the
activations around both are known, of all that lie between them (`sways`). `is_chosen_by_caller` is about what rests on
something else.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from atomsan.findings.flow_graph import EXPLICIT, KEY, RECEIVER, FlowGraphs, Place
from atomsan.findings.rechecks import parameter_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence, Set

    from atomsan.findings.activations import Activation
    from atomsan.findings.flow_graph import FlowGraph
    from atomsan.findings.ties import Local, Ties, Unit
    from atomsan.predictors.replay import Influence, InfluenceOf
    from atomsan.trace.symbols import Symbols

    CalledAt = Callable[[Place], Set[int]]


def influence_of(symbols: Symbols) -> InfluenceOf:
    """Of a trace: what the read at one site decides of the step at another."""
    graphs = FlowGraphs(symbols)

    @cache
    def influence(read: int, step: int) -> Influence:
        one, other = graphs.place(read), graphs.place(step)
        if one is None or other is None or one.function != other.function:
            return "unknown"
        graph = graphs.of(one.function)
        if graph is None:
            return "unknown"
        if graph.selects(one.node, other.node):
            return "object"
        # a call that the value goes into may raise
        is_passed_on = any(True for _ in graph.calls_before(one.node, other.node))
        return "way" if is_passed_on or graph.decides_until(one.node, other.node) else "none"

    return influence


def sways(ties: Ties, read: Local, step: Local, called: CalledAt) -> bool:
    """Whether a read that gives another value may change what is done until a later step, or on which object.

    `called` gives the functions that are called at a place.
    """
    unit = ties.unit(read, step)
    if unit is None:
        return True
    if _is_decided_inside(ties.graphs, read, unit.first_inner):
        return True
    if not ties.goes_up(read, unit.first_inner):
        return False
    if unit.graph.decides_until(unit.first, unit.last) or unit.graph.selects(unit.first, unit.last):
        return True
    if _may_end_by_raising(ties.graphs, unit, called):
        return True
    is_given = bool(unit.last_inner) and unit.last in unit.graph.reached(unit.first)
    return is_given and _is_swayed_by_arguments(ties.graphs, step, unit.last_inner)


def is_chosen_by_caller(ties: Ties, read: Local, step: Local) -> bool:
    """Whether an argument of the function that both are in says on which object or key a step is, but not the read.

    Another thread that comes to the same read may have been called for another object. What the call that reads gives
    is what it would give to that thread, too.
    """
    unit = ties.unit(read, step)
    if unit is None:
        return False
    given = {unit.first, *unit.graph.reached(unit.first, explicit=True)} if unit.first_inner else frozenset()
    of_step = _choosing(ties.graphs, unit.graph, unit.last, unit.last_inner, step, given)
    return bool(of_step - _choosing(ties.graphs, unit.graph, unit.first, unit.first_inner, read))


def _choosing(
    graphs: FlowGraphs,
    graph: FlowGraph,
    node: int,
    inner: Sequence[Activation],
    access: Local,
    given: Set[int] = frozenset(),
) -> frozenset[int]:
    """The parameters of a function that the object or key of an access rests on; `inner` are the calls it is in.

    What rests on one of the nodes `given` does not count.
    """
    parameters = [number for number in graph.parameters if "index" in graph.nodes[number].facts]
    reached = {number: {number, *graph.reached(number, explicit=True)} for number in parameters}
    if not inner:
        # what goes into a read is what is read from
        how = EXPLICIT if graph.nodes[node].kind == "read" else {KEY, RECEIVER}
        sources = {edge.to for edge in graph.into[node] if edge.how in how}
    else:
        sources = set(_chosen_by_arguments(graphs, graph, node, inner, access))
    return frozenset(number for number in parameters if not (sources - given).isdisjoint(reached[number]))


def _chosen_by_arguments(
    graphs: FlowGraphs, graph: FlowGraph, node: int, inner: Sequence[Activation], access: Local
) -> Iterator[int]:
    """The nodes that give the arguments of a call on which the object or key of an access inside rests."""
    function = inner[0].function
    called = graphs.of(function)
    place = graphs.place(inner[1].called_at if len(inner) > 1 else access.site)
    if called is None or place is None or place.function != function:
        return
    chosen = _choosing(graphs, called, place.node, inner[1:], access)
    is_method = graphs.is_method(function)
    for at, giving, *_ in graph.nodes[node].facts.get("given", ()):
        if parameter_at(called, at, is_method=is_method) in chosen:
            yield giving
    if is_method and called.parameters and called.parameters[0] in chosen:
        yield from (edge.to for edge in graph.into[node] if edge.how == RECEIVER)


def _may_end_by_raising(graphs: FlowGraphs, unit: Unit, called: CalledAt) -> bool:
    """Whether the value goes into a call before the step that may raise for it, as one that checks it does."""
    if unit.activation.function is None:
        return False
    for call in unit.graph.calls_before(unit.first, unit.last):
        for function in called(Place(unit.activation.function, call)):
            graph = graphs.of(function)
            if graph is not None and any(graph.may_raise(parameter) for parameter in graph.parameters):
                return True
    return False


def _is_decided_inside(graphs: FlowGraphs, read: Local, inner: Sequence[Activation]) -> bool:
    """Whether a read decides what one of these calls does before it ends: to wait, for example."""
    sites = [*(one.called_at for one in inner[1:]), read.site]
    for activation, site in zip(inner, sites, strict=False):
        graph, place = graphs.of(activation.function), graphs.place(site)
        if graph is None or place is None or place.function != activation.function or graph.decides_any(place.node):
            return True
    return False


def _is_swayed_by_arguments(graphs: FlowGraphs, step: Local, inner: Sequence[Activation]) -> bool:
    """Whether an argument of the outermost of these calls decides on a step in the innermost, and not only its value.

    The object of a method is no argument here.
    """
    sites = [*(one.called_at for one in inner[1:]), step.site]
    for activation, site in zip(inner, sites, strict=False):
        graph, place = graphs.of(activation.function), graphs.place(site)
        if graph is None or place is None or place.function != activation.function:
            return True
        arguments = graph.parameters[graphs.is_method(activation.function) :]
        if any(graph.decides_until(one, place.node) or graph.selects(one, place.node) for one in arguments):
            return True
        if not any(place.node in graph.reached(one) for one in arguments):
            return False
    return False
