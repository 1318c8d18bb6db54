"""Dataflow graph of one function, and its JSON form.

While a function is walked, the graph also has *joins*: where a local variable can come from several places, at the end
of a branch or at the head of a loop. At the end each join is replaced by edges from what comes into it to where it
goes; one that very much comes into stays, as a node of kind `call` and name `join`, so that the graph stays small.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from typing import Any

Values = frozenset[int]
"""Nodes and joins that a value is made of."""
NOTHING: Values = frozenset()

# A join with more sources than this stays.
_MOST_SOURCES = 24

# Taken before the program can replace it, as its tests may do.
_encode = json.JSONEncoder(separators=(",", ":")).encode

_Source = tuple[int, bool, frozenset[int]]
"""A node, whether it only decides, and the loops whose back edges are passed."""


class FlowGraph:
    def __init__(self) -> None:
        self.nodes: list[dict[str, Any] | None] = []
        """The facts of each node; None for a join."""
        self._into: list[list[tuple[int, str, int]]] = []
        """By node or join: sources, how they flow into it (`v`, `k`, `r`, `c`), and the loop whose back edge they
        pass, or -1."""
        self._loops: list[tuple[int, ...]] = []
        self.calls: dict[str, int] = {}
        self.statements: list[tuple[int, int, int, str]] = []
        self.loops: list[tuple[int, int]] = []
        self.is_async = False
        """Whether it is of a coroutine or an asynchronous generator."""
        self.is_context = False
        self.falls_through = False
        """Whether it is of a generator that is made a context manager: a block of its caller runs at its yield."""

    def add(self, facts: dict[str, Any] | None, loops: tuple[int, ...]) -> int:
        self.nodes.append(facts)
        self._into.append([])
        self._loops.append(loops)
        return len(self.nodes) - 1

    def move_into(self, node: int, loops: tuple[int, ...]) -> None:
        """A node turns out to be executed by these loops, in each iteration."""
        self._loops[node] = loops
        facts = self.nodes[node]
        if facts is not None:
            facts["l"] = loops

    def flow(self, sources: Iterable[int], to: int, how: str = "v", loop: int = -1) -> None:
        into = self._into[to]
        for source in sources:
            into.append((source, how, loop))

    def join(self, sources: Values, control: Iterable[int], loops: tuple[int, ...]) -> int:
        joined = self.add(None, loops)
        self.flow(sources, joined)
        self.flow(control, joined, "c")
        return joined

    def call_at(self, node: int, place: ast.expr | ast.stmt | ast.pattern) -> None:
        """Code that is called at this place is called by this node, unless another one was said to do it."""
        at = f"{place.lineno}:{place.col_offset}:{place.end_lineno}:{place.end_col_offset}"
        self.calls.setdefault(at, node)

    def to_json(self) -> tuple[str, list[int]]:
        """The graph without joins, and the number of each node in it."""
        sources = self._resolved_joins()
        numbers: list[int] = []
        kept: list[int] = []
        for node, facts in enumerate(self.nodes):
            numbers.append(len(kept) if facts is not None else -1)
            if facts is not None:
                kept.append(node)
        edges = []
        for node in kept:
            found = sorted({edge for into in self._into[node] for edge in self._edges(node, into, sources)})
            edges += [(numbers[source], numbers[node], how, carried) for source, how, carried in found]
        content = {
            "nodes": [_numbered(self.nodes[node] or {}, numbers) for node in kept],
            "edges": edges,
            "calls": {at: numbers[node] for at, node in self.calls.items()},
            "statements": self.statements,
            "loops": self.loops,
            **({"async": True} if self.is_async else {}),
            **({"context": True} if self.is_context else {}),
            **({} if self.falls_through else {"ends": True}),
        }
        return _encode(content), numbers

    def _edges(
        self, node: int, into: tuple[int, str, int], joins: dict[int, set[_Source]]
    ) -> Iterable[tuple[int, str, tuple[int, ...]]]:
        source, how, loop = into
        back = frozenset((loop,)) if loop >= 0 else frozenset()
        if self.nodes[source] is not None:
            yield source, how, self._carried(source, node, back)
            return
        for origin, decides, carried in joins[source]:
            yield origin, "c" if decides else how, self._carried(origin, node, carried | back)

    def _carried(self, source: int, to: int, passed: frozenset[int]) -> tuple[int, ...]:
        """Outside of a loop it does not matter in which iteration of it something happened."""
        if not passed:
            return ()
        common = {*self._loops[source]} & {*self._loops[to]}
        return tuple(sorted(passed & common))

    def _resolved_joins(self) -> dict[int, set[_Source]]:
        """What comes into each join that does not stay."""
        found: dict[int, set[_Source]] = {}
        for join, facts in enumerate(self.nodes):
            if facts is None:
                sources = self._sources(join, found)
                if len(sources) > _MOST_SOURCES:
                    self.nodes[join] = {"k": "call", "s": -1, "l": self._loops[join], "arms": (), "name": "join"}
                else:
                    found[join] = sources
        return found

    def _sources(self, join: int, known: dict[int, set[_Source]]) -> set[_Source]:
        start: _Source = (join, False, frozenset())
        seen = {start}
        todo = [start]
        found: set[_Source] = set()
        while todo and len(found) <= _MOST_SOURCES:
            at, decides, carried = todo.pop()
            for source, how, loop in self._into[at]:
                state = (source, decides or how == "c", carried | {loop} if loop >= 0 else carried)
                if self.nodes[source] is not None:
                    found.add(state)
                elif source in known:
                    found.update((one, also or state[1], more | state[2]) for one, also, more in known[source])
                elif state not in seen:
                    seen.add(state)
                    todo.append(state)
        return found


def _numbered(facts: dict[str, Any], numbers: list[int]) -> dict[str, Any]:
    """The facts of a node, with the numbers that others have now."""
    for name in ("of", "read"):
        if name in facts:
            facts = {**facts, name: numbers[facts[name]]}
    if "views" in facts:
        facts = {**facts, "views": [(numbers[of], *shape) for of, *shape in facts["views"]]}
    if "given" in facts:
        facts = {**facts, "given": [(at, numbers[of], *shape) for at, of, *shape in facts["given"]]}
    return facts
