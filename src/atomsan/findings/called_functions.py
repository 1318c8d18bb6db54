"""Called functions: what runs while some statements of a function are executed, directly or by way of others.

Calls are known where they were recorded around an event of interest or between two accesses. Elsewhere the trace still
knows the places that called recorded code, and the name that is called there says which. Hints rest on it, and of
judgements only that a thread may go another way, which makes a suspect.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from atomsan.findings.activations import ActivationFinder
from atomsan.findings.critical_sections import statements_around
from atomsan.findings.flow_graph import Place
from atomsan.trace.events import Op

if TYPE_CHECKING:
    from atomsan.findings.critical_sections import Statements
    from atomsan.findings.flow_graph import FlowGraphs, Node
    from atomsan.findings.surroundings import Surroundings
    from atomsan.trace.symbols import Symbols


class CalledFunctions:
    def __init__(self, around: Surroundings, symbols: Symbols, graphs: FlowGraphs) -> None:
        self._around = around
        self._symbols = symbols
        self._graphs = graphs
        self._finder = ActivationFinder(symbols)
        self._known: dict[int, dict[int, set[int]]] = {}
        self._below: dict[tuple[int, Statements], frozenset[int]] = {}

    def below(self, function: int, statements: Statements) -> frozenset[int]:
        """The functions that run while these statements of a function do: the function itself, if it recurs."""
        known = self._below.get((function, statements))
        if known is None:
            known = self._below[function, statements] = frozenset(self._search(function, statements))
        return known

    def _search(self, function: int, statements: Statements) -> set[int]:
        found = {callee for place, callee in self._from(function) if self.is_in(place, statements)}
        waiting = list(found)
        while waiting:
            new = {callee for _, callee in self._from(waiting.pop())} - found
            found |= new
            waiting += new
        return found

    def at(self, place: Place) -> set[int]:
        """The functions that are called at a place."""
        return self._calls(place.function).get(place.node, set())

    def is_in(self, place: Place, statements: Statements) -> bool:
        """Whether a place of a function is in some statements of it; a lambda has none, and is taken as a whole."""
        graph = self._graphs.of(place.function)
        if graph is None or place.node >= len(graph.nodes):
            return False
        lines = statements_around(graph, [place.node])
        return statements.has_line(lines.first_line) if lines else not graph.statements

    def _from(self, function: int) -> Iterator[tuple[Place, int]]:
        for node, callees in self._calls(function).items():
            for callee in callees:
                yield Place(function, node), callee

    @cached_property
    def sites(self) -> dict[int, list[int]]:
        """By function: the sites in it."""
        found: dict[int, list[int]] = {}
        for site, owner in enumerate(self._symbols.sites.columns.get("owner", ())):
            if owner is not None:
                found.setdefault(owner, []).append(site)
        return found

    def _calls(self, function: int) -> dict[int, set[int]]:
        """By node of a function: what is called there."""
        if function not in self._known:
            found = self._recorded.get(function, {})
            for site in self.sites.get(function, ()):
                place = self._graphs.place(site)
                callee = self._named(place) if place is not None and place.node not in found else None
                if place is not None and callee is not None:
                    found[place.node] = {callee}
            self._known[function] = found
        return self._known[function]

    @cached_property
    def _recorded(self) -> dict[int, dict[int, set[int]]]:
        """By function and node: the calls that were seen."""
        found: dict[int, dict[int, set[int]]] = {}
        known = self._symbols.sites.get
        for region, site in self._begun():
            callee, owner, node = self._finder.function(region), known(site, "owner"), known(site, "node")
            if callee is not None and owner is not None and node is not None and self._is_call(region):
                found.setdefault(owner, {}).setdefault(node, set()).add(callee)
        return found

    def _is_call(self, region: int) -> bool:
        """Whether a function runs in the region, and not only a round of its loop."""
        return self._finder.is_activation(region) and self._symbols.regions.get(region, "origin") != "loop"

    def _begun(self) -> set[tuple[int, int]]:
        """The regions that were seen to begin, and the sites of that."""
        found = {(one.region, one.site) for event in self._around.holds for one in self._around.opened(event)}
        for between in self._around.between.values():
            for ops, targets, sites in between.columns:
                at = ops == Op.BEGIN
                rows = np.unique(targets[at].astype(np.uint64) << np.uint64(32) | sites[at])
                found.update((row >> 32, row & 0xFFFFFFFF) for row in rows.tolist())
        return found

    def _named(self, place: Place) -> int | None:
        """The function of the name that is called at a place, if there is only one."""
        node = self._graphs.node(place)
        named = self._by_name.get(called_name(node) or "", []) if node and node.kind == "call" else []
        return named[0] if len(named) == 1 else None

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        """The functions of each name; a class is called by the name of its own."""
        found: dict[str, list[int]] = {}
        for number, name in enumerate(self._symbols.functions):
            parts = name.partition(" #")[0].partition(":")[2].split(".")
            of = parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]
            found.setdefault(of, []).append(number)
        return found


def called_name(node: Node) -> str | None:
    """The name that is called at a node: also that of a method which built-in objects have too."""
    name = str(node.facts.get("name" if node.kind == "call" else "op", ""))
    return name if name.isidentifier() else None
