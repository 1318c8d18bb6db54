"""Influence of a value that is read on a later step: what is done until it comes, and on which object or key it is.

By the flow graphs of functions, as the trace has them: of the one that both stand in (`influence_of`), or, where the
activations around both are known, of all that lie between them (`sways`).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from atomsan.findings.flow_graph import FlowGraphs, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Set

    from atomsan.findings.activations import Activation
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
