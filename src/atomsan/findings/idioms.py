"""Atomic idioms: the one operation that does what a unit does in two steps, where the standard library has one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

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
    if first.op == "read" and last.op == "write" and _is_check(unit.graph, unit.first) and _is_alone(unit.graph, other):
        operation = last.operation or ""
        return "setdefault(key, value)" if operation == "__setitem__" else _REMOVALS.get(operation)
    is_number = _is_step(one) and other.kind == "read" and unit.graph.leaves(unit.last)
    if is_number and _is_only_writer(first, unit, writers.get(first.target, ()), graphs):
        return "next() of an itertools.count()"
    return None


def _is_check(graph: FlowGraph, number: int) -> bool:
    """Whether a membership test only decides a condition."""
    node = graph.nodes[number]
    is_membership = bool(_CHECKS & {node.facts.get("op"), node.facts.get("name")}) or bool(node.facts.get("keys"))
    uses = graph.uses(number)
    return is_membership and bool(uses) and all(graph.nodes[use].kind == "cond" for use in uses)


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
