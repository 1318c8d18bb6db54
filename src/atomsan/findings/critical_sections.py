"""Critical sections: the whole statements of a function that lie around some of its nodes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from atomsan.findings.flow_graph import FlowGraph

# Statements with several blocks of which the graph does not say in which one a statement is.
_DIVIDED = frozenset({"Try", "TryStar", "Match"})


class Statements(NamedTuple):
    """Consecutive statements of one block, by the numbers of the first and the last, and by their lines."""

    first: int
    last: int
    first_line: int
    last_line: int

    def has_line(self, line: int) -> bool:
        return self.first_line <= line <= self.last_line


def statements_around(graph: FlowGraph, nodes: Iterable[int], loops: Iterable[int] = ()) -> Statements | None:
    """The fewest statements of one block that have all these nodes in them, and these loops as a whole."""
    at = list(dict.fromkeys(nodes))
    numbers = [graph.nodes[node].statement for node in at]
    numbers += [graph.loops[loop][1] for loop in loops if loop < len(graph.loops)]
    paths = [_path(graph, number) for number in numbers]
    if not paths or not all(paths):
        return None
    depth = _common(paths)
    # a statement that is around another is taken as a whole
    inside = all(len(path) > depth for path in paths) and not _is_divided(graph, paths, at, depth)
    ends = [path[depth if inside else depth - 1] for path in paths] if inside or depth else []
    if not ends:
        return None
    first, last = (find(ends, key=lambda one: graph.statements[one][0]) for find in (min, max))
    rows = graph.statements[first], graph.statements[last]
    return Statements(first, last, int(rows[0][0]), max(int(graph.statements[one][1]) for one in ends))


def _common(paths: Sequence[Sequence[int]]) -> int:
    """How many statements are around all of these."""
    depth = 0
    for together in zip(*paths, strict=False):
        if len(set(together)) > 1:
            break
        depth += 1
    return depth


def _is_divided(graph: FlowGraph, paths: Sequence[Sequence[int]], nodes: Sequence[int], depth: int) -> bool:
    """Whether they may be in different blocks of the statement around all of them."""
    if depth == 0 or len({path[depth] for path in paths}) == 1:
        return False
    around = paths[0][depth - 1]
    arms = {graph.nodes[node].arms.get(around) for node in nodes}
    return graph.statements[around][3] in _DIVIDED or len(arms) > 1


def _path(graph: FlowGraph, statement: int) -> list[int]:
    """A statement and those around it, the outermost first; a branch inside an expression is none."""
    path: list[int] = []
    while 0 <= statement < len(graph.statements) and len(path) <= len(graph.statements):
        if _is_statement(str(graph.statements[statement][3])):
            path.append(statement)
        statement = int(graph.statements[statement][2])
    return path[::-1]


def _is_statement(kind: str) -> bool:
    found = getattr(ast, kind, None)
    return isinstance(found, type) and issubclass(found, ast.stmt)
