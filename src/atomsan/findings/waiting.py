"""Waits: where some statements, or what they call, wait for another thread. A lock that is held then may never be free.

A wait is known by the site of its event, which may be that of what was before it, or else by what is called there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from atomsan.findings.called_functions import CalledFunctions, called_name
from atomsan.findings.flow_graph import Place
from atomsan.findings.lock_spelling import parsed

if TYPE_CHECKING:
    from atomsan.findings.critical_sections import Statements
    from atomsan.findings.flow_graph import FlowGraph, FlowGraphs
    from atomsan.findings.lock_spelling import Acquired
    from atomsan.findings.surroundings import Surroundings
    from atomsan.trace.symbols import Symbols

_OF_CONDITION = frozenset({"wait", "wait_for"})
_WAITING = _OF_CONDITION | {"result", "as_completed", "join", "gather"}
# What other objects have too, that never wait.
_MAY_WAIT = frozenset({"get", "put", "join", "acquire"})


class Waits:
    def __init__(self, around: Surroundings, symbols: Symbols, graphs: FlowGraphs, called: CalledFunctions) -> None:
        self._around = around
        self._symbols = symbols
        self._graphs = graphs
        self._called = called
        self._known: dict[int, list[int]] = {}

    def inside(self, function: int, statements: Statements, acquires: Sequence[Acquired] = ()) -> Iterator[str]:
        """The places of waits in statements of a function, and in what these call.

        `acquires` is where the lock is taken: to wait for its condition lets it go.
        """
        for one in (function, *sorted(self._waiting & self._called.below(function, statements))):
            graph = self._graphs.of(one)
            for number in self._nodes(one):
                is_inside = one != function or self._called.is_in(Place(one, number), statements)
                if graph is not None and is_inside and not self._lets_go(one, graph, number, acquires):
                    yield self._shown(one, graph, number)

    @cached_property
    def _waiting(self) -> frozenset[int]:
        """The functions that may wait."""
        return frozenset(function for function in range(len(self._symbols.functions)) if self._nodes(function))

    def _nodes(self, function: int) -> list[int]:
        """The nodes of a function that wait."""
        if function not in self._known:
            graph = self._graphs.of(function)
            self._known[function] = [] if graph is None else list(self._found(function, graph))
        return self._known[function]

    def _found(self, function: int, graph: FlowGraph) -> Iterator[int]:
        names = [called_name(node) for node in graph.nodes]
        seen = self._seen.get(function, ())
        for number, name in enumerate(names):
            # to join strings is no wait; and the site of a wait may be that of what was before it
            is_named = name in _WAITING and (name != "join" or "start" in names)
            is_call = graph.nodes[number].kind == "call" and not graph.is_async  # a task that sleeps waits for nobody
            is_seen = number in seen and (is_call or name in _MAY_WAIT)
            # what it does may be known
            if name and (is_named or is_seen) and not self._called.at(Place(function, number)):
                yield number

    @cached_property
    def _seen(self) -> dict[int, set[int]]:
        """By function: the nodes at which threads were seen to wait for others, and not for a lock."""
        entered = set(map(self._statement, self._places(set[int]().union(*self._around.acquired.values()))))
        found: dict[int, set[int]] = {}
        for place in self._places(self._around.waits):
            if self._statement(place) not in entered:
                found.setdefault(place.function, set()).add(place.node)
        return found

    def _places(self, sites: Iterable[int]) -> Iterator[Place]:
        known = (self._graphs.place(site) for site in sites if site < len(self._symbols.sites))
        return (place for place in known if place is not None)

    def _statement(self, place: Place) -> tuple[int, int]:
        node = self._graphs.node(place)
        return place.function, node.statement if node else -1

    def _lets_go(self, function: int, graph: FlowGraph, number: int, acquires: Sequence[Acquired]) -> bool:
        """Whether a node waits for a condition of the very lock, or may do so and was never seen to."""
        if called_name(graph.nodes[number]) not in _OF_CONDITION:
            return False
        statement, is_seen = graph.nodes[number].statement, False
        for site in self._called.sites.get(function, ()):
            place = self._graphs.place(site)
            if place is not None and graph.nodes[place.node].statement == statement:
                is_seen = True
                tree = parsed(self._symbols.sites.get(site, "normal"))
                calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
                waits = (one for one in calls if isinstance(one, ast.Attribute) and one.attr in _OF_CONDITION)
                if any(ast.unparse(one.value) == other.expression for one in waits for other in acquires):
                    return True
        return not is_seen and any(one.function == function for one in acquires)

    def _shown(self, function: int, graph: FlowGraph, number: int) -> str:
        sites = self._called.sites.get(function, ())
        file = self._symbols.sites.get(sites[0], "file") if sites else None
        statement = graph.nodes[number].statement
        line = graph.statements[statement][0] if 0 <= statement < len(graph.statements) else "?"
        return f"{file or '?'}:{line}"
