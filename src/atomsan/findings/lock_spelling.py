"""Spells locks: the expression by which a function can name a lock that others, or functions it calls, acquire.

Hints are for people, so this reads the statements that acquire, in their normal form. No judgement rests on it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from atomsan.findings.flow_graph import RECEIVER, FlowGraphs

if TYPE_CHECKING:
    from atomsan.findings.activations import Activation
    from atomsan.trace.symbols import Symbols

_RECEIVER = "self"


class Acquired(NamedTuple):
    """How a statement names the lock that it acquires."""

    site: int
    function: int
    expression: str
    is_block: bool
    """Whether it is a `with` statement of this lock alone."""
    is_async: bool


class LockSpelling:
    def __init__(self, symbols: Symbols, graphs: FlowGraphs, acquired: dict[int, set[int]]) -> None:
        self._symbols = symbols
        self._graphs = graphs
        self._sites = acquired
        self._acquires: dict[int, list[Acquired]] = {}

    def acquires(self, lock: int) -> list[Acquired]:
        """The places that acquire a lock, and how each names it."""
        if lock not in self._acquires:
            self._acquires[lock] = list(self._found(lock))
        return self._acquires[lock]

    def _found(self, lock: int) -> Iterator[Acquired]:
        for site in sorted(self._sites.get(lock, ())):
            place = self._graphs.place(site) if site < len(self._symbols.sites) else None
            normal = self._symbols.sites.get(site, "normal") if place else None
            found = _named(normal, self._symbols.locks[lock]) if normal else None
            if place and found:
                yield Acquired(site, place.function, *found)

    def spelled(self, lock: int, function: int, inner: Sequence[Sequence[Activation]] = ()) -> str | None:
        """What a function can write for a lock. `inner`: chains of activations that it called, the outermost first."""
        for one in self.acquires(lock):
            if self._is_known_in(one, lock, function):
                return one.expression
        for chain in inner:
            if found := self._through(lock, function, chain):
                return found
        owner, _, field = self._symbols.locks[lock].partition(" (")[0].partition(" #")[0].rpartition(".")
        is_own = bool(owner) and self.class_of(function).partition(":")[2] == owner and field.isidentifier()
        return f"{_RECEIVER}.{field}" if is_own and self.has_receiver(function) else None

    def has_receiver(self, function: int) -> bool:
        """Whether it is a method with a `self`."""
        return _RECEIVER in self.parameters(function)

    def parameters(self, function: int) -> set[str]:
        graph = self._graphs.of(function)
        return {str(graph.nodes[one].facts.get("name")) for one in graph.parameters} if graph else set()

    def module(self, function: int) -> str:
        return self._symbols.functions[function].partition(":")[0]

    def class_of(self, function: int) -> str:
        """`app:Account` of `app:Account.deposit`."""
        return self._symbols.functions[function].partition(" #")[0].rpartition(".")[0]

    def _is_known_in(self, one: Acquired, lock: int, function: int) -> bool:
        root = one.expression.partition(".")[0]
        if self._is_global(root, function):
            return self.module(one.function) == self.module(function)
        if root == _RECEIVER:
            is_own = one.function == function or self.class_of(one.function) == self.class_of(function)
            return is_own and self.has_receiver(function)
        if self._is_variable_of_module(one, function):
            return True
        if one.function == function:
            return root in self.parameters(function) or "<locals>" in self._symbols.functions[function]
        # a variable of the function around both
        outer = [self._symbols.functions[number].rpartition(".<locals>.")[0] for number in (one.function, function)]
        is_inherited = bool(outer[0]) and outer[0] == outer[1] and root not in self.parameters(one.function)
        return is_inherited and "." not in one.expression

    def _is_variable_of_module(self, one: Acquired, function: int) -> bool:
        """Whether a plain name is a global of the module: a lock that a function makes for itself locks nobody out."""
        names = [self._symbols.functions[number] for number in (one.function, function)]
        is_name = "." not in one.expression and all("<locals>" not in name for name in names)
        is_parameter = any(one.expression in self.parameters(number) for number in (one.function, function))
        return is_name and not is_parameter and self.module(one.function) == self.module(function)

    def _through(self, lock: int, function: int, chain: Sequence[Activation]) -> str | None:
        """By way of what is called: the lock of `self` there is that of the object that the method was called on."""
        if not chain or chain[-1].function is None:
            return None
        expression = next((one.expression for one in self.acquires(lock) if one.function == chain[-1].function), None)
        for activation in reversed(chain):
            if expression is None or activation.function is None:
                return None
            root, dot, rest = expression.partition(".")
            if self._is_global(root, function):
                return expression if self.module(activation.function) == self.module(function) else None
            receiver = self._receiver(activation) if root == _RECEIVER and dot else None
            expression = f"{receiver}.{rest}" if receiver else None
        root = expression.partition(".")[0] if expression else ""
        is_known = self._is_global(root, function) or root in self.parameters(function)
        return expression if is_known or (root and self._is_free(chain[0].called_at)) else None

    def _is_free(self, site: int) -> bool:
        """Whether the object that is used at a site comes from nowhere in the function: from the code around it."""
        place = self._graphs.place(site)
        graph = self._graphs.of(place.function) if place else None
        if graph is None or place is None:
            return False
        sources = graph.sources(place.node, RECEIVER)
        return all(
            graph.nodes[one].kind == "read"
            and graph.nodes[one].statement == graph.nodes[place.node].statement
            and not graph.sources(one, RECEIVER)
            for one in sources
        )

    def is_in_lambda(self, activation: Activation) -> bool:
        """Whether the call of an activation stands in a lambda: it runs where that is called."""
        normal = self._symbols.sites.get(activation.called_at, "normal")
        lambdas = [node for node in ast.walk(parsed(normal)) if isinstance(node, ast.Lambda)]
        method = self._symbols.functions[activation.function or 0].partition(" #")[0].rpartition(".")[2]
        return any(
            isinstance(node, ast.Attribute | ast.Name) and method == getattr(node, "attr", getattr(node, "id", ""))
            for one in lambdas
            for node in ast.walk(one)
        )

    def _receiver(self, activation: Activation) -> str | None:
        """The object that the method of an activation was called on, as the caller spells it."""
        normal = self._symbols.sites.get(activation.called_at, "normal")
        method = self._symbols.functions[activation.function or 0].partition(" #")[0].rpartition(".")[2]
        found = {
            ast.unparse(node.value)
            for node in ast.walk(parsed(normal))
            if isinstance(node, ast.Attribute) and node.attr == method and _is_plain(node.value)
        }
        return found.pop() if len(found) == 1 else None

    def _is_global(self, name: str, function: int) -> bool:
        wanted = f"{self.module(function)}.{name}"
        is_shadowed = name in self.parameters(function)
        tables = self._symbols.locations, self._symbols.locks
        return not is_shadowed and any(table.has_global(wanted) for table in tables)


def _named(normal: str, lock: str) -> tuple[str, bool, bool] | None:
    """The expression for the lock in a statement that acquires it, whether that is a block of it, and of asyncio."""
    tree = parsed(normal)
    for node in ast.walk(tree):
        if isinstance(node, ast.With | ast.AsyncWith):
            field = lock.partition(" (")[0].partition(" #")[0].rpartition(".")[2]
            plain = [ast.unparse(item.context_expr) for item in node.items if _is_plain(item.context_expr)]
            fitting = plain if len(plain) == 1 else [one for one in plain if one.rpartition(".")[2] == field]
            if len(fitting) == 1:
                return fitting[0], len(node.items) == 1, isinstance(node, ast.AsyncWith)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "acquire":
            is_async = any(isinstance(one, ast.Await) for one in ast.walk(tree))
            return (ast.unparse(node.func.value), False, is_async) if _is_plain(node.func.value) else None
    return None


def parsed(normal: str | None) -> ast.AST:
    """The statement of a site as a tree; an empty one if it is none by itself."""
    text = normal or ""
    body = f"{text} pass" if text.endswith(":") else text
    if text.startswith("async "):
        body = f"async def f():\n {body}"
    try:
        return ast.parse(body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _is_plain(node: ast.expr) -> bool:
    """Names and attributes of names only: to evaluate it again gives the same."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)
