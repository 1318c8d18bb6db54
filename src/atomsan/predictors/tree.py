"""Access trees: the steps of a unit as nested lock blocks, with accesses as leaves.

Paper: Wang and Stoller, PPoPP 2006 (commit-node-2006), section 3.1. A node is known by its number: 0 is the root, the
whole unit. Locks that are not released in the reverse order of their acquires make blocks that overlap: a block then is
what lies between its acquire and its release, and contains what lies in it as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from atomsan.trace.events import Op

if TYPE_CHECKING:
    from atomsan.predictors.units import Steps

ROOT = 0


@dataclass(frozen=True, slots=True, eq=False)
class TreeNode:
    """The steps from `first` to `last`: a lock block (`lock`), an access (`location`), or the whole unit."""

    number: int
    first: int
    last: int
    blocks: tuple[int, ...] = ()
    """The lock blocks around it, the outermost first."""
    lock: int | None = None
    location: int | None = None
    is_write: bool = False

    @property
    def parent(self) -> int:
        return self.blocks[-1] if self.blocks else ROOT

    def contains(self, other: TreeNode) -> bool:
        return self is not other and self.first <= other.first and other.last <= self.last


class Tree:
    """The tree of one unit."""

    def __init__(self, steps: Steps) -> None:
        nodes: list[TreeNode] = [TreeNode(ROOT, -1, len(steps))]
        ends = _ends(steps)
        held: dict[int, int] = {}
        for at, step in enumerate(steps):
            number, blocks = len(nodes), tuple(held.values())
            if step.op == Op.ACQUIRE:
                held[step.target] = number
                nodes.append(TreeNode(number, at, ends[at], blocks, lock=step.target))
            elif step.op == Op.RELEASE:
                del held[step.target]
            else:
                is_write = step.op == Op.WRITE
                nodes.append(TreeNode(number, at, at, blocks, location=step.target, is_write=is_write))
        self.nodes = nodes
        self._locks: dict[int, dict[int, TreeNode]] = {}
        self.accesses = [node for node in nodes if node.location is not None]

    @cached_property
    def by_location(self) -> dict[int, list[TreeNode]]:
        found: dict[int, list[TreeNode]] = {}
        for node in self.accesses:
            found.setdefault(node.location or 0, []).append(node)
        return found

    def locks(self, access: TreeNode) -> dict[int, TreeNode]:
        """The locks held at an access, with the outermost block of each, the outermost first."""
        if access.number not in self._locks:
            blocks = (self.nodes[block] for block in access.blocks)
            self._locks[access.number] = {block.lock or 0: block for block in blocks}
        return self._locks[access.number]

    def is_written_before(self, access: TreeNode, block: TreeNode) -> bool:
        """Whether its location is written in a block before an access in it."""
        return any(
            node.is_write and block.first <= node.first < access.first
            for node in self.by_location[access.location or 0]
        )

    def last_write_before(self, access: TreeNode) -> TreeNode | None:
        earlier = [n for n in self.by_location[access.location or 0] if n.is_write and n.first < access.first]
        return earlier[-1] if earlier else None

    def final_write(self, location: int) -> TreeNode | None:
        writes = [node for node in self.by_location.get(location, ()) if node.is_write]
        return writes[-1] if writes else None


def _ends(steps: Steps) -> dict[int, int]:
    """By the place of an acquire: that of its release."""
    ends: dict[int, int] = {}
    open_at: dict[int, int] = {}
    for at, step in enumerate(steps):
        if step.op == Op.ACQUIRE:
            open_at[step.target] = at
        elif step.op == Op.RELEASE:
            ends[open_at.pop(step.target)] = at
    return ends | {at: len(steps) for at in open_at.values()}
