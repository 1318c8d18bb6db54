"""Conflict serializability: aerodrome-2020, Definition 1.

One transaction precedes another if some event of it happens before some event of the other. The trace is
serializable unless k > 1 distinct transactions precede each other in a cycle.

As in `docs/papers.md`: unary transactions are included; open regions end with the trace; begin and end are events, so
that a child with only an empty region gives order, and a child with no event does not.

The length of the shortest cycle counts *direct* conflicts only, as a witness shows them (two events that
conflict themselves, program order between any two transactions of a thread included). The two graphs have
cycles in the same traces: happens-before is the closure of the direct conflicts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from typing import NamedTuple

from oracles.model import Step, Transaction, conflict, happens_before, normalise, owners, transactions

Graph = dict[int, set[int]]


class Edge(NamedTuple):
    """One step of a witness, with the two events (places in the list of events) that conflict."""

    source: Transaction
    target: Transaction
    first: int
    second: int


def serializable(steps: Sequence[Step], loops: Collection[str] = ()) -> bool:
    """Definition 1, to the letter."""
    events = normalise(steps, loops)
    owner = owners(transactions(events))
    precedes: Graph = {transaction: set() for transaction in set(owner.values())}
    for later, before in enumerate(happens_before(events, loops)):
        for earlier in before:
            if owner[earlier] != owner[later]:
                precedes[owner[earlier]].add(owner[later])
    return not any(node in reachable(precedes, node) for node in precedes)


def reachable(graph: Graph, start: int) -> set[int]:
    """The nodes at the end of a non-empty path from `start`."""
    seen: set[int] = set()
    frontier = list(graph[start])
    while frontier:
        node = frontier.pop()
        if node not in seen:
            seen.add(node)
            frontier.extend(graph[node])
    return seen


def shortest_cycle(steps: Sequence[Step], loops: Collection[str] = ()) -> list[Edge] | None:
    """A shortest cycle of direct conflicts between transactions, as a witness; None if there is none."""
    events = normalise(steps, loops)
    found = transactions(events)
    owner = owners(found)
    causes: dict[tuple[int, int], tuple[int, int]] = {}
    graph: Graph = {node: set() for node in range(len(found))}
    for second, event in enumerate(events):
        for first in range(second):
            source, target = owner[first], owner[second]
            if source != target and conflict(events[first], event, loops):
                graph[source].add(target)
                causes.setdefault((source, target), (first, second))
    cycles = [cycle for node in graph if (cycle := _shortest_cycle_through(graph, node))]
    if not cycles:
        return None
    nodes = min(cycles, key=len)
    pairs = zip(nodes, nodes[1:] + nodes[:1], strict=True)
    return [Edge(found[source], found[target], *causes[source, target]) for source, target in pairs]


def _shortest_cycle_through(graph: Graph, start: int) -> list[int] | None:
    """Breadth first from `start` until an edge leads back to it."""
    parents: dict[int, int | None] = {start: None}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        if start in graph[node]:
            return _path_to(parents, node)
        for successor in graph[node] - parents.keys():
            parents[successor] = node
            queue.append(successor)
    return None


def _path_to(parents: dict[int, int | None], node: int | None) -> list[int]:
    path: list[int] = []
    while node is not None:
        path.append(node)
        node = parents[node]
    return path[::-1]
