"""Flow graphs of functions, as the trace has them: which accesses, calls and conditions feed which others.

`source/flow_summaries.py` makes them at instrumentation, and its docstring has the format.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from atomsan.trace.symbols import Symbols

# How one node feeds another: as the value itself, as a key, as the object that is used, by deciding whether it runs.
VALUE, KEY, RECEIVER, CONTROL = "v", "k", "r", "c"
EXPLICIT = frozenset({VALUE, KEY, RECEIVER})

# Statements that are loops.
_LOOPS = frozenset({"For", "AsyncFor", "While"})

# The arm of a `try` that every pass comes to.
FINALLY = -1

# Nodes by which a value leaves the function.
LEAVING = frozenset({"return", "yield", "raise"})
# Calls that make one value of all that is in what they are given, and those that make it of their arguments.
_SUMMING = frozenset({"sum", "any", "all", "min", "max"})
_COMPUTING = _SUMMING | {"divmod", "pow", "isclose", "hypot", "gcd"}
# Nodes that put what reaches them to use, such that somebody can tell.
_JOINING = frozenset({*LEAVING, "cond", "write", "update", "call"})
EFFECTS = _JOINING - {"cond"}
_DOING = frozenset({"read", "write", "update", "call", *LEAVING})
# Calls that read a container, and give what they read to a function.
_CALLING = frozenset({"map", "filter", "starmap", "filterfalse", "takewhile", "dropwhile", "accumulate", "reduce"})
# Calls that only pass on what they are made of, besides operators.
_PASSING = frozenset({"not", "is", "is not", "in", "not in", "format", "await", "yield from", "join"})
# What gives a value that is in another one, or that value itself: how deep it is in there.
_UNPACKING = {"await": 0, "": 1}
# How deep in their results those that take the values of a generator have them.
_TAKING = {"": 0, "next": 0, "send": 0, "list": 1, "tuple": 1}


class FlowEdge(NamedTuple):
    to: int
    how: str
    carried: frozenset[int]
    """The loops around which it goes: from one iteration into a later one."""


class Node(NamedTuple):
    """An access, a call, a condition, a parameter, or what leaves the function."""

    kind: str
    statement: int
    loops: tuple[int, ...]
    """The loops around it, the outermost first."""
    arms: dict[int, int]
    """The branches that it stands in: the statement that branches, and which of its arms."""
    facts: Mapping[str, Any]

    @property
    def is_operator(self) -> bool:
        """Whether it makes one value of several."""
        name = str(self.facts.get("name", ""))
        return self.kind == "update" or (self.kind == "call" and bool(name) and not name.isidentifier())

    @property
    def passes_on(self) -> bool:
        """Whether it is an operator or another read: its value is made of what reaches it, and nothing else happens."""
        name = str(self.facts.get("name", ""))
        return (self.kind == "read" and name not in _CALLING) or (
            self.kind == "call" and bool(name) and (name in _PASSING or not name.isidentifier())
        )


class FlowGraph:
    """The graph of one function."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.nodes = [_node(row) for row in content.get("nodes", ())]
        self.statements: list[list[Any]] = list(content.get("statements", ()))
        """First line, last line, the statement around it or -1, and kind."""
        self.loops: list[list[int]] = list(content.get("loops", ()))
        """The loop around it, and its statement."""
        self.is_async = bool(content.get("async"))
        """Whether it is of a coroutine or an asynchronous generator."""
        self.is_context = bool(content.get("context"))
        """Whether it is of a generator that is made a context manager."""
        self.falls_through = not content.get("ends")
        """Whether its end may be come to, where it returns nothing by itself."""
        self._edges = content.get("edges", ())

    @cached_property
    def edges(self) -> list[list[FlowEdge]]:
        """By node: where it leads."""
        found: list[list[FlowEdge]] = [[] for _ in self.nodes]
        for source, to, how, *carried in self._edges:
            found[source].append(FlowEdge(to, how, frozenset(carried[0] if carried else ())))
        return found

    def sources(self, node: int, how: str) -> list[int]:
        """The nodes that lead to this one directly, in this way."""
        return [one for one, edges in enumerate(self.edges) if any(e.to == node and e.how == how for e in edges)]

    @cached_property
    def into(self) -> list[list[FlowEdge]]:
        """By node: what leads to it. The node of such an edge is where it comes from."""
        found: list[list[FlowEdge]] = [[] for _ in self.nodes]
        for source, edges in enumerate(self.edges):
            for edge in edges:
                found[edge.to].append(edge._replace(to=source))
        return found

    @cached_property
    def parameters(self) -> list[int]:
        return [number for number, node in enumerate(self.nodes) if node.kind == "param"]

    @cached_property
    def _reached(self) -> dict[tuple[int, bool], frozenset[int]]:
        return {}

    def reached(self, node: int, *, explicit: bool = False) -> frozenset[int]:
        """The nodes that a value of this one goes to; with `explicit`, not by control."""
        known = self._reached.get((node, explicit))
        if known is None:
            known = self._reached[node, explicit] = self._search([node], explicit=explicit)
        return known

    def _search(self, starts: Iterable[int], *, explicit: bool) -> frozenset[int]:
        found: set[int] = set()
        waiting = list(starts)
        while waiting:
            for edge in self.edges[waiting.pop()]:
                if edge.to not in found and (not explicit or edge.how in EXPLICIT):
                    found.add(edge.to)
                    waiting.append(edge.to)
        return frozenset(found)

    def decides(self, node: int, step: int) -> bool:
        """Whether a node decides whether another one is executed."""
        return self._leads(node, step, frozenset({CONTROL}))

    def decides_until(self, node: int, step: int) -> bool:
        """Whether a node decides whether another one is executed, or what is executed before that."""
        if self.decides(node, step):
            return True
        last = self.nodes[step]
        return any(
            one.statement <= last.statement or not set(one.loops).isdisjoint(last.loops) for one in self._decided(node)
        )

    def decides_any(self, node: int) -> bool:
        """Whether a node decides whether anything is executed that somebody could tell."""
        return any(True for _ in self._decided(node))

    def calls_before(self, node: int, step: int) -> Iterator[int]:
        """The calls that a node goes into, and that may be made before another one is executed."""
        last = self.nodes[step]
        for number in self.reached(node):
            call = self.nodes[number]
            is_before = call.statement <= last.statement or not set(call.loops).isdisjoint(last.loops)
            if call.kind == "call" and not call.is_operator and number != step and is_before:
                yield number

    def may_raise(self, node: int) -> bool:
        """Whether a node decides whether something is raised."""
        return any(one.kind == "raise" for one in self._decided(node))

    def _decided(self, node: int) -> Iterator[Node]:
        for source in (node, *self.reached(node)):
            for edge in self.edges[source]:
                found = self.nodes[edge.to]
                if edge.how == CONTROL and edge.to != node and found.kind in _DOING:
                    yield found

    def selects(self, node: int, step: int) -> bool:
        """Whether the object or the key of a step rests on a node.

        What one operation gives to another may be the object that it is done to.
        """
        if self._leads(node, step, frozenset({KEY, RECEIVER})):
            return True
        is_method = "op" in self.nodes[step].facts and not str(self.nodes[step].facts["op"]).startswith("__")
        return is_method and any(
            edge.to == step and edge.how == VALUE
            for one in (node, *self.reached(node))
            if self.nodes[one].kind == "call" or "op" in self.nodes[one].facts
            for edge in self.edges[one]
        )

    def _leads(self, node: int, step: int, how: frozenset[str]) -> bool:
        sources = (node, *self.reached(node))
        return any(edge.to == step and edge.how in how for source in sources for edge in self.edges[source])

    def block(self, node: int) -> int:
        """The outermost `with` statement around a node, or else its own statement."""
        found = statement = self.nodes[node].statement
        while 0 <= statement < len(self.statements):
            if self.statements[statement][3] in ("With", "AsyncWith"):
                found = statement
            statement = self.statements[statement][2]
        return found

    def is_inside(self, statement: int, outer: int) -> bool:
        """Whether a statement is another one, or somewhere in it."""
        while statement > outer:
            statement = self.statements[statement][2]
        return statement == outer

    def around(self, statement: int) -> int:
        """The statement around another one, beyond `with`; -1 if there is none."""
        found: int = self.statements[statement][2]
        while 0 <= found < len(self.statements) and self.statements[found][3] in ("With", "AsyncWith"):
            found = self.statements[found][2]
        return found

    def made_of(self, node: int) -> frozenset[int]:
        """The nodes whose values a node is made of: not those that it is found by, as keys and objects."""
        found: set[int] = set()
        waiting = [node]
        while waiting:
            sources = {edge.to for edge in self.into[waiting.pop()] if edge.how == VALUE} - found
            found |= sources
            waiting += sources
        return frozenset(found)

    def is_step_of(self, node: int, loop: int) -> bool:
        """Whether a node is the step of a `for` loop: it takes the next element."""
        statement = self.loops[loop][1] if 0 <= loop < len(self.loops) else -1
        found = self.nodes[node]
        is_for = 0 <= statement < len(self.statements) and self.statements[statement][3] in ("For", "AsyncFor")
        return is_for and found.statement == statement and loop in found.loops

    def is_collected(self, node: int, loop: int) -> bool:
        """Whether what a node gives in the iterations of a comprehension goes into one thing: `sum(n for n in l)`."""
        statement = self.loops[loop][1] if 0 <= loop < len(self.loops) else -1
        kind = self.statements[statement][3] if 0 <= statement < len(self.statements) else "For"
        outside = (one for one in self.reached(node, explicit=True) if loop not in self.nodes[one].loops)
        return kind not in ("For", "AsyncFor", "While") and any(self.nodes[one].kind in _JOINING for one in outside)

    def is_summed_up(self, node: int, loop: int) -> bool:
        """Whether one value is made of all that a node gives in the iterations of a comprehension."""
        outside = (self.nodes[one] for one in self.reached(node, explicit=True) if loop not in self.nodes[one].loops)
        return any(one.is_operator or one.facts.get("name") in _SUMMING for one in outside)

    def carries(self, source: int, to: int, loop: int, *, explicit: bool = False) -> bool:
        """Whether a value goes from one node to another around the loop: from one iteration into a later one."""
        seen: set[tuple[int, bool]] = set()
        waiting = [(source, False)]
        while waiting:
            node, is_around = waiting.pop()
            for edge in self.edges[node]:
                # that a loop goes on at all makes its iterations no unit
                if edge.how == CONTROL and (explicit or loop in edge.carried):
                    continue
                state = (edge.to, is_around or loop in edge.carried)
                if state == (to, True):
                    return True
                if state not in seen:
                    seen.add(state)
                    waiting.append(state)
        return False

    def leaves(self, node: int) -> bool:
        """Whether what a node gives is returned, yielded or raised, or decides what is."""
        return any(self.nodes[one].kind in LEAVING for one in self.reached(node))

    def leaves_after(self, node: int, loop: int) -> bool:
        """The same, if the loop goes on to a later iteration before that."""
        leaving = (number for number, one in enumerate(self.nodes) if one.kind in LEAVING)
        return any(self.carries(node, number, loop) for number in leaving)

    def is_fed_by_parameters(self, node: int) -> bool:
        return any(node in self.reached(parameter) for parameter in self.parameters)

    def joins(self, one: int, other: int) -> bool:
        """Whether both go into one value, condition or result."""
        return any(
            node.kind in _JOINING and (node.kind != "call" or node.passes_on or node.facts.get("name") in _COMPUTING)
            for node in self._both(one, other)
        )

    def joins_in_call(self, one: int, other: int) -> bool:
        """Whether both are given to one call, or to what comes of it."""
        return any(node.kind == "call" for node in self._both(one, other))

    def _both(self, one: int, other: int) -> list[Node]:
        """The nodes that the values of both go to, before a call may have made something else of them."""
        reached = []
        for start in (one, other):
            found: set[int] = set()
            waiting = [start]
            while waiting:
                for edge in self.edges[waiting.pop()]:
                    if edge.how in EXPLICIT and edge.to not in found:
                        found.add(edge.to)
                        if self.nodes[edge.to].kind != "call" or self.nodes[edge.to].passes_on:
                            waiting.append(edge.to)
            reached.append(found)
        return [self.nodes[node] for node in reached[0] & reached[1]]

    def goes_to(self, node: int) -> set[int]:
        """Where the value of a node goes directly, but not as an object that something is done to."""
        return {edge.to for edge in self.edges[node] if edge.how in (VALUE, KEY)}

    def uses(self, node: int) -> set[int]:
        """Where the value of a node goes, through operators: into conditions, writes, calls, results."""
        found: set[int] = set()
        seen = {node}
        waiting = [node]
        while waiting:
            for edge in self.edges[waiting.pop()]:
                if edge.how == CONTROL or edge.to in seen:
                    continue
                seen.add(edge.to)
                if self.nodes[edge.to].passes_on or self._is_wrapping(edge.to):
                    waiting.append(edge.to)
                else:
                    found.add(edge.to)
        return found

    def _is_wrapping(self, node: int) -> bool:
        """Whether a value is put into a container of the function's own, and nothing else comes out of that."""
        if "wraps" in self.nodes[node].facts:
            return True
        if self.nodes[node].kind != "write" or any(edge.how == RECEIVER for edge in self.into[node]):
            return False
        out = {edge.to for edge in self.edges[node] if edge.how != CONTROL}
        return bool(out) and all(sum(edge.how != CONTROL for edge in self.into[to]) == 1 for to in out)

    def gives(self, giving: int, node: int, depth: int = 0) -> bool:
        """Whether the value of one node is exactly that of another, or what is in it, in containers of this depth."""
        while giving != node:
            into = {edge.to for edge in self.into[giving] if edge.how in (VALUE, RECEIVER)}
            inside = _UNPACKING.get(_operation(self.nodes[giving]))
            if inside is None or len(into) != 1 or depth < inside:
                return False
            depth -= inside
            (giving,) = into
        return depth == 0

    def depth_of_yielded(self, node: int) -> int | None:
        """How deep in what a node gives is the value of a generator that runs there. None: that is not known."""
        return _TAKING.get(_operation(self.nodes[node]))

    def is_used(self, node: int) -> bool:
        """Whether anything is made of what a node gives: it is written, returned, or passed on, or decides that."""
        reached = (self.nodes[one] for one in self.reached(node))
        return any((one.kind in EFFECTS or one.facts.get("name") in _CALLING) and not one.passes_on for one in reached)

    def is_statement(self, node: Node) -> bool:
        """Whether a call is what a `match` statement does by itself."""
        return node.facts.get("name") == "match" and self.statements[node.statement][3] == "Match"

    def is_generated(self, node: Node) -> bool:
        """Whether a node is done anew in each step of a comprehension or a generator expression."""
        return bool(node.loops) and self.statements[self.loops[node.loops[-1]][1]][3] not in _LOOPS

    def are_exclusive(self, one: int, later: int) -> bool:
        """Whether two nodes stand in different arms of one branch: one pass does not come from the one to the other.

        Not all arms are alternatives: from the body of a `try` a pass may come to any other arm, from all of them to
        `finally`, and from one `except*` to the next; from one part of `and` or `or`, and from the pattern of one
        `case`, to the next one.
        """
        node, arms = self.nodes[one], self.nodes[later].arms
        return any(
            arms.get(branch, arm) != arm and not self._goes_on(node, branch, arms[branch])
            for branch, arm in node.arms.items()
        )

    def _goes_on(self, node: Node, branch: int, later: int) -> bool:
        """Whether a pass may come from a node to a later arm of a branch that it stands in."""
        arm = node.arms[branch]
        kind = self.statements[branch][3] if 0 <= branch < len(self.statements) else None
        if kind in ("Try", "TryStar") and (arm == 0 or later == FINALLY):
            return True
        is_pattern = kind == "Match" and node.statement == branch
        return (is_pattern or kind in ("TryStar", "BoolOp")) and arm < later


def _operation(node: Node) -> str:
    """What an access or call is; empty for the read of an attribute or element, and for a step of an iteration."""
    name = node.facts.get("op", node.facts.get("name", "?") if node.kind == "call" else "")
    return str(name) if node.kind in ("read", "write", "call") else "?"


def _node(row: Mapping[str, Any]) -> Node:
    return Node(
        str(row.get("k", "")),
        int(row.get("s", 0)),
        tuple(row.get("l", ())),
        dict(row.get("arms", ())),
        row,
    )


class Place(NamedTuple):
    """A node of a function: where in the flow a site is."""

    function: int
    node: int


class FlowGraphs:
    """The graphs of a trace, read when they are asked for."""

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self._graphs: dict[int, FlowGraph | None] = {}
        self._places: dict[int, Place | None] = {}

    def of(self, function: int | None) -> FlowGraph | None:
        """The graph of a function; None if the trace has none, or a damaged one."""
        if function is None:
            return None
        if function not in self._graphs:
            text = self._symbols.functions.get(function, "summary")
            self._graphs[function] = _parsed(text) if text else None
        return self._graphs[function]

    def is_method(self, function: int | None) -> bool:
        """Whether a function stands in a class."""
        if function is None:
            return False
        around = self._symbols.functions[function].partition(":")[2].rpartition(".")[0]
        return bool(around) and not around.endswith("<locals>")

    def place(self, site: int) -> Place | None:
        """Where in the flow of its function a site is."""
        if site not in self._places:
            sites = self._symbols.sites
            function, node = sites.get(site, "owner"), sites.get(site, "node")
            graph = self.of(function)
            is_known = graph is not None and node is not None and 0 <= node < len(graph.nodes)
            self._places[site] = Place(function, node) if is_known else None
        return self._places[site]

    def node(self, place: Place | None) -> Node | None:
        graph = self.of(place.function) if place else None
        return graph.nodes[place.node] if graph and place else None


def _parsed(text: str) -> FlowGraph | None:
    try:
        graph = FlowGraph(json.loads(text))
        graph.edges  # noqa: B018  - a graph that names nodes which it has not is damaged
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return None
    return graph
