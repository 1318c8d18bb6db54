"""Atomic idioms: the one operation that does what a unit does in two steps, where the standard library has one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from atomsan.findings.access_facts import STRUCTURE
from atomsan.findings.flow_graph import CONTROL, KEY, VALUE
from atomsan.source.effects import MAKERS

if TYPE_CHECKING:
    from atomsan.findings.finding import ShownStep
    from atomsan.findings.flow_graph import FlowGraph, FlowGraphs, Node
    from atomsan.findings.ties import Unit

_CHECKS = frozenset({"in", "not in", "__contains__"})
_REMOVALS = {"__delitem__": "pop(key, None)", "pop": "pop(key, None)", "remove": "discard(element)"}


def idiom(
    first: ShownStep, last: ShownStep, unit: Unit, writers: Mapping[int, Iterable[int]], graphs: FlowGraphs
) -> str | None:
    """The operation, if both accesses are in the unit's own code and have the shape that it replaces."""
    if unit.first_inner or unit.last_inner or first.target != last.target:
        return None
    one, other = unit.graph.nodes[unit.first], unit.graph.nodes[unit.last]
    is_decided = first.op == "read" and last.op == "write" and _is_check(unit.graph, unit.first)
    if is_decided and _is_alone(unit.graph, other) and _is_of_one_key(first, unit) and _is_all(unit):
        operation = last.operation or ""
        if operation == "__setitem__":
            return None if _is_worked_out(unit.graph, unit.last) else "setdefault(key, value)"
        return _REMOVALS.get(operation)
    is_number = _is_step(one) and other.kind == "read" and unit.graph.leaves(unit.last)
    if is_number and _is_only_writer(first, unit, writers.get(first.target, ()), graphs):
        return "next() of an itertools.count()"
    return None


def _is_worked_out(graph: FlowGraph, write: int) -> bool:
    """Whether what is written comes from a call that would still be made twice; a new object is cheap."""
    seen = {write}
    waiting = [write]
    while waiting:
        sources = {edge.to for edge in graph.into[waiting.pop()] if edge.how == VALUE} - seen
        seen |= sources
        waiting += (one for one in sources if graph.nodes[one].passes_on)
    calls = (graph.nodes[one] for one in seen if graph.nodes[one].kind == "call" and not graph.nodes[one].passes_on)
    return not all(map(_makes_object, calls))


def _makes_object(node: Node) -> bool:
    name = str(node.facts.get("name", ""))
    return name.lstrip("_")[:1].isupper() or name in MAKERS


def _is_check(graph: FlowGraph, number: int) -> bool:
    """Whether a membership test only decides a condition."""
    uses = graph.uses(number)
    return _is_membership(graph.nodes[number]) and bool(uses) and all(graph.nodes[use].kind == "cond" for use in uses)


def _is_membership(node: Node) -> bool:
    return bool(_CHECKS & {node.facts.get("op"), node.facts.get("name")})


def _is_of_one_key(first: ShownStep, unit: Unit) -> bool:
    """Whether what is looked for is what is put in or taken out."""
    looked, acted = (_keys(unit.graph, number) for number in (unit.first, unit.last))
    # a literal key is no node: then the location has to be that of one element
    return looked == acted and (bool(looked) or first.field != STRUCTURE)


def _keys(graph: FlowGraph, number: int) -> set[int]:
    how = VALUE if graph.nodes[number].facts.get("op") == "remove" else KEY
    return {edge.to for edge in graph.into[number] if edge.how == how}


def _is_all(unit: Unit) -> bool:
    """Whether nothing but such tests, and what the function was given, decides on the last access."""
    graph = unit.graph
    deciding = _deciding(graph, unit.last)
    given = (graph.nodes[one] for one in _inputs(graph, deciding))
    return all(node.kind == "param" or _is_membership(node) for node in given)


def _inputs(graph: FlowGraph, conditions: set[int]) -> set[int]:
    """What conditions are made of, through operators; what a test looks into is not looked at."""
    found: set[int] = set()
    waiting = list(conditions)
    while waiting:
        for edge in graph.into[waiting.pop()]:
            if edge.how != CONTROL and edge.to not in found:
                found.add(edge.to)
                if graph.nodes[edge.to].is_operator:
                    waiting.append(edge.to)
    return {one for one in found if not graph.nodes[one].is_operator}


def _deciding(graph: FlowGraph, number: int) -> set[int]:
    """What decides whether a node is executed, and whether that is, and so on."""
    found: set[int] = set()
    waiting = [number]
    while waiting:
        for edge in graph.into[waiting.pop()]:
            if edge.how == CONTROL and edge.to not in found:
                found.add(edge.to)
                waiting.append(edge.to)
    return found


def _is_alone(graph: FlowGraph, node: Node) -> bool:
    """Whether a write is all that its branch does."""
    row = graph.statements[node.statement] if 0 <= node.statement < len(graph.statements) else None
    if row is None or row[2] < 0 or graph.statements[row[2]][3] != "If":
        return False
    beside = [other for other in graph.statements if other[2] == row[2]]
    return len(beside) == 1


def _is_step(node: Node) -> bool:
    return node.kind == "update" and node.facts.get("operator") == "+" and node.facts.get("literal") == "1"


def _is_only_writer(first: ShownStep, unit: Unit, writers: Iterable[int], graphs: FlowGraphs) -> bool:
    """Whether nobody else changes the number, but for a literal that it starts with."""
    others = [graphs.node(graphs.place(site)) for site in writers if site != first.at]
    return all(node is not None and node.facts.get("value") == "literal" for node in others)
