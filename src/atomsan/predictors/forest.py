"""Conflict-forest and view-forest: which parts of two units cannot be swapped.

Paper: Wang and Stoller, PPoPP 2006 (commit-node-2006), sections 3.2 and 3.3, figures 3 and 5. An *inter-edge* joins a
node of one tree with one of another: two accesses, or, where a lock is held at both, the outermost blocks of such a
lock. A node with an inter-edge is a *communication node*; if it contains no other one, it is a *commit node*.

Departures: a commit node is one that contains no other (section 3.3 has a slip); conflicts are of data, never of locks;
figure 5 can join two nodes of one unit, which is skipped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from atomsan.predictors.tree import Tree, TreeNode


class InterEdge(NamedTuple):
    """The nodes of the one and of the other tree, and the accesses that are the reason."""

    one: TreeNode
    other: TreeNode
    access: TreeNode
    other_access: TreeNode


class Overlap(NamedTuple):
    """Which locations and locks of two trees are the same: by number in the one, the number in the other."""

    locations: dict[int, int]
    locks: dict[int, int]

    def turned(self) -> Overlap:
        return Overlap(*({other: one for one, other in same.items()} for same in self))


Forest = Callable[[Tree, Tree, Overlap], list[InterEdge]]


def conflict_forest(one: Tree, other: Tree, overlap: Overlap) -> list[InterEdge]:
    """The inter-edges of two units by figure 3."""
    found = list(_read_edges(one, other, overlap))
    found += [_turned(edge) for edge in _read_edges(other, one, overlap.turned())]
    for first, second in both(one, other, overlap):
        if first.is_write and second.is_write and (edge := inter_edge(one, other, overlap, first, second)):
            found.append(edge)
    return found


def view_forest(one: Tree, other: Tree, overlap: Overlap) -> list[InterEdge]:
    """The inter-edges of two units by figure 5.

    Two writes matter only if one read may see either of them, or if they are the last ones of their units.
    """
    found: list[InterEdge] = []
    back = overlap.turned()
    for here, there, same, is_turned in ((one, other, overlap, False), (other, one, back, True)):
        for edge in _read_edges(here, there, same):
            found.append(_turned(edge) if is_turned else edge)
            before = here.last_write_before(edge.access)
            # of the writes that a read may see, those of its own unit and of the other
            if before is not None and (joined := inter_edge(here, there, same, before, edge.other_access)):
                found.append(_turned(joined) if is_turned else joined)
    for location, same_location in overlap.locations.items():
        first, second = one.final_write(location), other.final_write(same_location)
        if first is not None and second is not None and (last := inter_edge(one, other, overlap, first, second)):
            found.append(last)
    return found


def _read_edges(reading: Tree, writing: Tree, overlap: Overlap) -> Iterator[InterEdge]:
    for read, write in both(reading, writing, overlap):
        if not read.is_write and write.is_write and (edge := inter_edge(reading, writing, overlap, read, write)):
            yield edge


def both(one: Tree, other: Tree, overlap: Overlap) -> Iterator[tuple[TreeNode, TreeNode]]:
    """The pairs of accesses of one location."""
    for location, same_location in overlap.locations.items():
        yield from product(one.by_location[location], other.by_location[same_location])


def inter_edge(one: Tree, other: Tree, overlap: Overlap, first: TreeNode, second: TreeNode) -> InterEdge | None:
    """The edge that two accesses of one location make; None if the first cannot see the second, for a lock."""
    held = other.locks(second)
    for lock, block in one.locks(first).items():
        same = overlap.locks.get(lock)
        if same in held:
            if not first.is_write and one.is_written_before(first, block):
                return None
            return InterEdge(block, held[same], first, second)
    return InterEdge(first, second, first, second)


def _turned(edge: InterEdge) -> InterEdge:
    return InterEdge(edge.other, edge.one, edge.other_access, edge.access)


def commit_nodes(communicating: Iterable[TreeNode]) -> list[TreeNode]:
    """The communication nodes that contain no other."""
    found: list[TreeNode] = []
    # of those that begin no earlier, none ends as soon
    end = math.inf
    for node in sorted(set(communicating), key=lambda node: node.first, reverse=True):
        if node.last < end:
            found.append(node)
            end = node.last
    return found


def sides(edges: Sequence[InterEdge]) -> tuple[list[TreeNode], list[TreeNode]]:
    """The commit nodes of the one and of the other unit."""
    return commit_nodes(edge.one for edge in edges), commit_nodes(edge.other for edge in edges)
