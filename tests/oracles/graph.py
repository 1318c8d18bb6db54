"""Serializability and violating transactions by graphs of direct order, for traces too large for the other oracles.

Happens-before is the closure of direct order: program order, fork, and for each operation the last events that it comes
after. So a trace is serializable if direct order between its transactions has no cycle; and the events after the begin
of a transaction are those that can be reached from it. `test_oracles` compares both with the definitions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from oracles.model import Event, Step, Transaction, normalise, owners, transactions
from oracles.serializability import Graph


@dataclass
class _Target:
    """What was last done to a variable, a lock or a hand-over: places in the list of events."""

    write: list[int] = field(default_factory=list)
    reads: dict[str, int] = field(default_factory=dict)  # since the last write, the last one of each thread
    release: list[int] = field(default_factory=list)
    posts: dict[str, int] = field(default_factory=dict)  # the last one of each thread
    takes: dict[str, int] = field(default_factory=dict)


@dataclass
class Order:
    """For each event the places of those that it directly comes after, and of those it has a dependency from."""

    after: list[list[int]]
    dependencies: list[list[int]]


def order(events: Sequence[Event], loops: Collection[str] = ()) -> Order:
    targets: dict[tuple[str, str], _Target] = {}
    last: dict[str, int] = {}  # by thread
    forks: dict[str, int] = {}  # by child
    result = Order([], [])
    for place, event in enumerate(events):
        thread, op, name, _ = event
        kind = {"release": "acquire", "write": "read", "take": "post"}.get(op, op)
        target = targets.setdefault((kind, name), _Target())
        own = [last[thread]] if thread in last else [forks[thread]] if thread in forks else []
        after, depending = _sources(event, target, [last[name]] if op == "join" and name in last else [], loops)
        depending += own if thread not in last else []
        result.after.append([*own, *after])
        result.dependencies.append([source for source in depending if events[source].thread != thread])
        _done(place, event, target)
        last[thread] = place
        if op == "fork":
            forks[name] = place
    return result


def _sources(event: Event, target: _Target, child: list[int], loops: Collection[str]) -> tuple[list[int], list[int]]:
    """What an operation comes after, and which of that the Davida paper counts as dependencies."""
    thread, op, name, _ = event
    if op == "read":
        return target.write, [] if thread in target.reads else list(target.write)
    if op == "write":
        reads = list(target.reads.values())
        return [*target.write, *reads], reads or list(target.write)
    if op == "acquire" and name not in loops:
        return target.release, list(target.release)
    if op == "take":
        posts = list(target.posts.values())
        return posts, [post for post in posts if post > target.takes.get(thread, -1)]
    return child, list(child)


def _done(place: int, event: Event, target: _Target) -> None:
    if event.op == "read":
        target.reads[event.thread] = place
    elif event.op == "write":
        target.write, target.reads = [place], {}
    elif event.op == "release":
        target.release = [place]
    elif event.op == "post":
        target.posts[event.thread] = place
    elif event.op == "take":
        target.takes[event.thread] = place


def graph_serializable(steps: Sequence[Step], loops: Collection[str] = ()) -> bool:
    events = normalise(steps, loops)
    found = transactions(events)
    owner = owners(found)
    graph: Graph = {node: set() for node in range(len(found))}
    for place, sources in enumerate(order(events, loops).after):
        for source in sources:
            if owner[source] != owner[place]:
                graph[owner[source]].add(owner[place])
    return is_acyclic(graph)


def is_acyclic(graph: Graph) -> bool:
    incoming = dict.fromkeys(graph, 0)
    for successors in graph.values():
        for node in successors:
            incoming[node] += 1
    ready = [node for node, count in incoming.items() if count == 0]
    done = 0
    while ready:
        done += 1
        for node in graph[ready.pop()]:
            incoming[node] -= 1
            if incoming[node] == 0:
                ready.append(node)
    return done == len(graph)


def graph_violations(steps: Sequence[Step], loops: Collection[str] = ()) -> list[tuple[str, int]]:
    """The violating transaction of each violation, as (thread, number)."""
    events = normalise(steps, loops)
    known = order(events, loops)
    regular = [one for one in transactions(events) if one.number is not None]
    return [(one.thread, one.number or 0) for one in regular for _ in _violations(one, events, known)]


def _violations(one: Transaction, events: Sequence[Event], known: Order) -> Iterator[tuple[int, int]]:
    """(e_a, e_b) of each: e_a can be reached from the begin, by events that all come before e_b."""
    begin = one.events[0]
    own = [place for place in one.events if events[place].origin is not None]  # ends that were fed depend on nothing
    members = set(own)
    reached = {begin}
    for place in range(begin + 1, own[-1] + 1):
        if place in members:
            yield from ((first, place) for first in known.dependencies[place] if first in reached)
        if not reached.isdisjoint(known.after[place]):
            reached.add(place)
