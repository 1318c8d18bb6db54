"""Validation: recognizes that a unit looks whether others came in between.

    self.state = "drawing"                  a mark of the unit's own
    ...
    with self.lock:
        if self.state == "drawing":         still there: nobody came in between
            self.picture = picture

    old = self.total                        or what was there before
    ...
    with self.lock:
        if self.total == old:               is compared with what is there now
            self.total = old + 1

    old, version = self.load()              or its version is, perhaps by another function:
    ...
    self.store_if(old + 1, version)         with self.lock: if self.version == version: self.total = value

Then an interleaving was thought of. Whether the answer to it is right is not proved.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from atomsan.findings.decisions import equal_to, holds

if TYPE_CHECKING:
    from atomsan.findings.flow_graph import FlowGraph, FlowGraphs, Node
    from atomsan.findings.ties import Local, Ties, Unit

_EQUALITIES = frozenset({"==", "!=", "is", "is not"})
_IDENTITIES = ("? is #", "? is not #")
_EQUAL_TO_OTHER = tuple(f"? {operator} #" for operator in sorted(_EQUALITIES))
_ORDERS = frozenset({"<", "<=", ">", ">="})


def looks_for_mark(look: int, writers: Iterable[int], graphs: FlowGraphs) -> bool:
    """Whether a read only decides by a condition that holds of a literal which the same function writes there.

    `look` is its site, and `writers` are the sites that write to the location.
    """
    place = graphs.place(look)
    graph = graphs.of(place.function) if place else None
    if graph is None or place is None or graph.nodes[place.node].kind != "read":
        return False
    uses = [graph.nodes[use] for use in graph.uses(place.node)]
    if not uses or any(use.kind != "cond" or "shape" not in use.facts for use in uses):
        return False
    shapes = [str(use.facts[side]) for use in uses for side in ("shape", "opposite") if side in use.facts]
    writes = [written for site in writers if (written := graphs.place(site))]
    own = [graph.nodes[written.node] for written in writes if written.function == place.function]
    return any(_is_literal(node) and any(_is_mark(shape, node) for shape in shapes) for node in own)


def _is_literal(node: Node) -> bool:
    return node.facts.get("value") == "literal"


def _is_mark(shape: str, write: Node) -> bool:
    """Whether a condition is equality with the literal that is written, or that a flag is as it is written."""
    literal = str(write.facts.get("literal", ""))
    is_flag = shape in ("?", "not ?") and literal in ("True", "False")
    return equal_to(shape) == literal or (is_flag and holds(shape, literal))


def is_compared(first: Local, later: Local, writers: Iterable[int], ties: Ties) -> bool:
    """Whether what was read first, or something made of it, is compared with what is read later.

    Which of them is larger is such a question only if it decides on a write to the location, of which `writers` are
    the sites: else it may be whether an index is in a list.
    """
    unit = ties.unit(first, later)
    if unit is None or not (ties.is_given(first, unit.first_inner) and ties.is_given(later, unit.last_inner)):
        return False
    both = unit.graph.reached(unit.first, explicit=True) & unit.graph.reached(unit.last, explicit=True)
    writes = [place for site in writers if (place := ties.graphs.place(site))]
    own = {place.node for place in writes if place.function == unit.activation.function}
    return any(_asks(unit.graph, number, own) for number in both)


def is_compared_before(unit: Unit, first: Local, last: Local, ties: Ties) -> bool:
    """Whether the last access is made only if something that is read anew equals what was read with the first one.

    By the unit's own code: two reads of one thing are compared. By a function that it calls: what is read there is
    compared with an argument, and what the first access gave is an argument of that call.
    """
    graph = unit.graph
    if not unit.last_inner:
        return any(_is_of_two_reads(graph.nodes[one]) for one in _conditions(graph, unit.last))
    if not ties.is_given(first, unit.first_inner) or unit.last not in graph.reached(unit.first, explicit=True):
        return False
    sites = [*(one.called_at for one in unit.last_inner[1:]), last.site]
    for activation, site in zip(unit.last_inner, sites, strict=True):
        inner, place = ties.graphs.of(activation.function), ties.graphs.place(site)
        if inner is None or place is None or place.function != activation.function:
            return False
        if any(_is_of_argument(inner, one) for one in _conditions(inner, place.node)):
            return True
    return False


def _conditions(graph: FlowGraph, node: int) -> list[int]:
    """The conditions that decide whether a node is come to, or that it is a part of."""
    return [
        number
        for number, one in enumerate(graph.nodes)
        if one.kind == "cond" and (node in graph.reached(number) or number in graph.reached(node, explicit=True))
    ]


def _is_of_two_reads(condition: Node) -> bool:
    """Whether one thing, read at two times, is compared with itself: each view says that it equals the other."""
    views = condition.facts.get("views", ())
    is_same = len(views) == 2 and bool(views[0][1]) and views[0][1:] == views[1][1:]
    return is_same and str(views[0][1]).startswith(_EQUAL_TO_OTHER)


def _is_of_argument(graph: FlowGraph, condition: int) -> bool:
    """Whether a condition is that what is read equals an argument of the function."""
    compared = [one.to for one in graph.into[condition] if graph.nodes[one.to].facts.get("name") in _EQUALITIES]
    if str(graph.nodes[condition].facts.get("shape", "")).startswith(_IDENTITIES):
        compared.append(condition)  # runs no code, so it is no node of its own
    kinds = ({graph.nodes[one].kind for one in graph.made_of(number)} for number in compared)
    return any(found >= {"read", "param"} for found in kinds)


def _asks(graph: FlowGraph, comparison: int, writes: set[int]) -> bool:
    node = graph.nodes[comparison]
    decides = [edge.to for edge in graph.edges[comparison] if graph.nodes[edge.to].kind == "cond"]
    if node.kind != "call" or not decides:
        return False
    is_order = node.facts.get("name") in _ORDERS and any(writes & graph.reached(condition) for condition in decides)
    return is_order or node.facts.get("name") in _EQUALITIES
