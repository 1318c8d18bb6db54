"""Lost writes: is what a thread writes made of what it read before another wrote?

Where the read only decides what is done, or the write reads again by itself (`n -= 1`), no write is lost: what was
decided no longer holds. Only a flow of values that is seen from the read to the write makes the difference.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING

from atomsan.findings.access_facts import writes_value
from atomsan.findings.flow_graph import EXPLICIT, VALUE, FlowGraph
from atomsan.findings.patterns import pattern_named
from atomsan.findings.surroundings import Pair
from atomsan.findings.ties import Local, Ties, advanced_loops
from atomsan.findings.wording import meaning

if TYPE_CHECKING:
    from atomsan.findings.activations import Activation
    from atomsan.findings.finding import Finding, ShownStep
    from atomsan.findings.surroundings import Surroundings
    from atomsan.findings.ties import Unit
    from atomsan.trace.symbols import Symbols

_RECEIVERS = frozenset({"self", "cls"})


class LostWrites:
    def __init__(self, around: Surroundings, symbols: Symbols) -> None:
        self._around = around
        self._ties = Ties(symbols)
        self._graphs = self._ties.graphs

    def explained(self, finding: Finding) -> Finding:
        """The finding, which says that a write is lost if it is."""
        pattern = pattern_named(finding.pattern)
        if finding.span is None or not pattern.meaning_if_made or not finding.explanation:
            return finding
        leaves, returns = (finding.witness[i] for i in finding.span)
        if not writes_value(returns, self._graphs) or self._is_read_again(finding, leaves, returns):
            return finding
        if not self._is_made(leaves, returns):
            return finding
        last = meaning(pattern, finding.witness, finding.span, is_made=True)
        return replace(finding, explanation=(*finding.explanation[:-1], last))

    def _is_read_again(self, finding: Finding, leaves: ShownStep, returns: ShownStep) -> bool:
        """Whether the thread looked at the location again after another wrote, and may have seen that all is well."""
        between = self._around.between.get(Pair(leaves.number, returns.number, leaves.target))
        others = [step.number for step in finding.witness if step.op == "write" and step.owner != leaves.owner]
        written = min((number for number in others if number > leaves.number), default=returns.number)
        return between is None or any(written < read.event < returns.number for read in between.reads)

    def _is_made(self, leaves: ShownStep, returns: ShownStep) -> bool:
        """Whether the value that is read goes itself into the value that is written."""
        first, last = (Local(site=step.at, around=self._around.activations(step.number)) for step in (leaves, returns))
        pair = Pair(leaves.number, returns.number, leaves.target)
        unit = self._ties.unit(first, last, self._around.restarted(pair))
        if unit is None or self._is_in_other_rounds(pair, unit) or not self._ties.is_given(first, unit.first_inner):
            return False
        if not unit.first_inner and not unit.last_inner and unit.first == unit.last:
            return unit.graph.nodes[unit.first].kind == "update"
        made = _made_of(unit.graph, unit.first, frozenset(unit.common_loops))
        if not unit.last_inner:
            return _makes(unit.graph, made, unit.last)
        return self._goes_down(unit.graph, made, unit.last, last, unit.last_inner)

    def _is_in_other_rounds(self, pair: Pair, unit: Unit) -> bool:
        """Whether a loop around both went on in between: what is read in each round goes into what it writes."""
        if not unit.common_loops:
            return False
        events = self._around.own_events(pair, unit.activation, self._graphs)
        advanced = None if events is None else advanced_loops(unit.graph, events)
        return advanced is None or bool(advanced & set(unit.common_loops))

    def _goes_down(self, graph: FlowGraph, made: Set[int], call: int, last: Local, inner: Sequence[Activation]) -> bool:
        """Whether a value goes by way of the arguments of calls into what the last access writes.

        `made` are the nodes that are made of it.
        """
        sites = [*(one.called_at for one in inner[1:]), last.site]
        for activation, site in zip(inner, sites, strict=True):
            called, place = self._graphs.of(activation.function), self._graphs.place(site)
            if called is None or place is None or place.function != activation.function:
                return False
            given = [one for one in called.parameters if _passes(graph, made, call, called, one)]
            graph, call, made = called, place.node, {node for one in given for node in _made_of(called, one)}
        return _makes(graph, made, call)


def _makes(graph: FlowGraph, made: Set[int], write: int) -> bool:
    """Whether what a node writes is made of one of these; one that reads by itself is not."""
    return graph.nodes[write].kind == "write" and any(
        edge.how == VALUE and edge.to in made and not _is_by_argument(graph, edge.to, write)
        for edge in graph.into[write]
    )


def _passes(graph: FlowGraph, made: Set[int], call: int, called: FlowGraph, parameter: int) -> bool:
    """Whether a call may pass one of these as a parameter."""
    facts = called.nodes[parameter].facts
    if facts.get("name") in _RECEIVERS:
        return False
    known = graph.nodes[call].facts.get("given")
    if known is None:
        return call in made
    has_receiver = any(called.nodes[one].facts.get("name") in _RECEIVERS for one in called.parameters)
    at = facts.get("index", -1) - has_receiver
    return any(one[0] in (at, facts.get("name")) and one[1] in made for one in known)


def _made_of(graph: FlowGraph, source: int, loops: frozenset[int] = frozenset()) -> set[int]:
    """The nodes whose values are made of that of one, and that itself, before one of these loops goes on.

    A call may change what it is given, so it leads to where that goes too: this is no flow of its value.
    """
    found = {source}
    waiting = [source]
    while waiting:
        node = waiting.pop()
        for edge in graph.edges[node]:
            is_value = edge.how in EXPLICIT and not edge.carried & loops and not _is_by_argument(graph, node, edge.to)
            if is_value and edge.to not in found:
                found.add(edge.to)
                waiting.append(edge.to)
    return found


def _is_by_argument(graph: FlowGraph, node: int, to: int) -> bool:
    """Whether a call may lead to a node only because it was given what goes there."""
    if graph.nodes[node].kind != "call" or graph.nodes[node].passes_on:
        return False
    given, there = ({edge.to for edge in graph.into[one] if edge.how in EXPLICIT} for one in (node, to))
    return bool(given & there)
