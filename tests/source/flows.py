"""Flow summaries as texts, for tests: `self.a v self.b=` is a flow of a value from a read to a write."""

from __future__ import annotations

import ast
import json
from textwrap import dedent, indent
from typing import Any, NamedTuple

from atomsan.source.flow_summaries import flow_summaries
from atomsan.source.scopes import Scopes


class Flow(NamedTuple):
    """The summary of one function, and what its nodes are called."""

    summary: dict[str, Any]
    names: list[str]

    def edges(self) -> set[str]:
        """All flows but those from parameters and those that only name the receiver."""
        nodes = self.summary["nodes"]
        return {
            f"{self.names[source]} {how} {self.names[to]}{' carried' if carried else ''}"
            for source, to, how, carried in self.summary["edges"]
            if how != "r" and nodes[source]["k"] != "param"
        }

    def edges_from(self, name: str) -> set[str]:
        return {f"{how} {self.names[to]}" for source, to, how, _ in self.summary["edges"] if self.names[source] == name}

    def node(self, name: str) -> dict[str, Any]:
        """The one node of this name."""
        (found,) = [node for node, known in zip(self.summary["nodes"], self.names, strict=True) if known == name]
        return found  # type: ignore[no-any-return]


def flow_of(body: str, header: str = "def f(self, p, *more):") -> Flow:
    """The flow of a function with this body, or of function `f` in this source."""
    text = dedent(body).strip("\n")
    source = text if "def f(" in text else f"{header}\n{indent(text, '    ')}"
    tree = ast.parse(source)
    (function,) = [node for node in ast.walk(tree) if getattr(node, "name", "") == "f"]
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    names = _names(function)
    flows = flow_summaries(tree, Scopes(tree))
    summary = json.loads(flows.of[function])
    shown = [_shown(node) for node in summary["nodes"]]
    for found, mark in ((flows.nodes, ""), (flows.taps, "*")):
        for at, number in found.items():
            if at in names and not (mark and "name" in summary["nodes"][number]):
                shown[number] = mark + names[at] + {"write": "=", "update": "+="}.get(summary["nodes"][number]["k"], "")
    return Flow(summary, shown)


def _names(function: ast.AST) -> dict[ast.AST, str]:
    """By syntax node of the function's own: its source."""
    names: dict[ast.AST, str] = {}
    todo = list(ast.iter_child_nodes(function))
    while todo:
        node = todo.pop()
        if isinstance(node, ast.expr):
            names[node] = ast.unparse(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            todo += [node.func.value, *node.args, *node.keywords]
            if node.func.attr in ("m", "handler"):
                todo.append(node.func)
        elif not isinstance(node, ast.FunctionDef):
            todo += ast.iter_child_nodes(node)
    return names


def _shown(node: dict[str, Any]) -> str:
    if node["k"] == "cond":
        return f"?{node['form']}"
    return str(node.get("name") or node["k"])
