"""Conflict-forest and view-forest: which parts of two units cannot be swapped.

Paper: Wang and Stoller, PPoPP 2006 (commit-node-2006), sections 3.2 and 3.3, figures 3 and 5. An *inter-edge* joins a
node of one tree with one of another: two accesses, or, where a lock is held at both, the outermost blocks of such a
lock. A node with an inter-edge is a *communication node*; if it contains no other one, it is a *commit node*.

Departures: a commit node is one that contains no other (section 3.3 has a slip); conflicts are of data, never of locks;
figure 5 can join two nodes of one unit, which is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from atomsan.predictors.tree import Tree, TreeNode


class InterEdge(NamedTuple):
    """The nodes of the one and of the other tree, and the accesses that are the reason."""

    one: TreeNode
    other: TreeNode
    access: TreeNode
    other_access: TreeNode


Forest = Callable[[Tree, Tree], list[InterEdge]]


def conflict_forest(one: Tree, other: Tree) -> list[InterEdge]:
    """The inter-edges of two units by figure 3."""
    found = list(_read_edges(one, other))
    found += [_turned(edge) for edge in _read_edges(other, one)]
    for first, second in _both(one, other):
        if first.is_write and second.is_write and (edge := inter_edge(one, other, first, second)):
            found.append(edge)
    return found


def view_forest(one: Tree, other: Tree) -> list[InterEdge]:
    """The inter-edges of two units by figure 5.

    Two writes matter only if one read may see either of them, or if they are the last ones of their units.
    """
    found: list[InterEdge] = []
    for edges, is_turned in ((_read_edges(one, other), False), (_read_edges(other, one), True)):
        here, there = (other, one) if is_turned else (one, other)
        for edge in edges:
            found.append(_turned(edge) if is_turned else edge)
            before = here.last_write_before(edge.access)
            # of the writes that a read may see, those of its own unit and of the other
            if before is not None and (joined := inter_edge(here, there, before, edge.other_access)):
                found.append(_turned(joined) if is_turned else joined)
    for location in one.by_location.keys() & other.by_location.keys():
        first, second = one.final_write(location), other.final_write(location)
        if first is not None and second is not None and (last := inter_edge(one, other, first, second)):
            found.append(last)
    return found


def _read_edges(reading: Tree, writing: Tree) -> Iterator[InterEdge]:
    for read, write in _both(reading, writing):
        if not read.is_write and write.is_write and (edge := inter_edge(reading, writing, read, write)):
            yield edge


def _both(one: Tree, other: Tree) -> Iterator[tuple[TreeNode, TreeNode]]:
    """The pairs of accesses of one location."""
    for location, accesses in one.by_location.items():
        for first in accesses:
            for second in other.by_location.get(location, ()):
                yield first, second


def inter_edge(one: Tree, other: Tree, first: TreeNode, second: TreeNode) -> InterEdge | None:
    """The edge that two accesses of one location make; None if the first cannot see the second, for a lock."""
    held = other.locks(second)
    for lock, block in one.locks(first).items():
        if lock in held:
            if not first.is_write and one.is_written_before(first, block):
                return None
            return InterEdge(block, held[lock], first, second)
    return InterEdge(first, second, first, second)


def _turned(edge: InterEdge) -> InterEdge:
    return InterEdge(edge.other, edge.one, edge.other_access, edge.access)


def commit_nodes(communicating: Iterable[TreeNode]) -> list[TreeNode]:
    """The communication nodes that contain no other."""
    nodes = list(dict.fromkeys(communicating))
    return [node for node in nodes if not any(node.contains(other) for other in nodes)]


def sides(edges: Sequence[InterEdge]) -> tuple[list[TreeNode], list[TreeNode]]:
    """The commit nodes of the one and of the other unit."""
    return commit_nodes(edge.one for edge in edges), commit_nodes(edge.other for edge in edges)
