"""Blocks: can two accesses of a transaction be torn apart by two of another unit? Compares them by twos.

Paper: Wang and Stoller, PPoPP 2006 (commit-node-2006), section 6.2, as a baseline: the pairwise algorithm, with the
patterns of conflict-atomicity. A *block* is two accesses of a transaction and the locks around: those that are held
from the one to the other, and those that its unit takes on the way. Another unit comes in between with two accesses
`into` and `out` (or one that is both): the first of the block conflicts with `into`, `out` with the last of the block.

- `into` comes before `out` in its unit: the unit must get from one to the other while the locks of the block are held.
- `into` comes after `out`, in one transaction: both blocks are open at some time, so no lock is held throughout both.

That is exact for two units under the premises of the theorems (no deadlock, locks nested), as commit-node is.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from atomsan.predictors.pairs import conflicts
from atomsan.trace.events import Op

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from atomsan.predictors.commit_node import Pair
    from atomsan.predictors.units import Steps, UnitStep

Locks = frozenset[int]


class Block(NamedTuple):
    """Two accesses of one transaction of a unit."""

    first: UnitStep
    last: UnitStep
    held: Locks
    """From the one to the other."""
    taken: Locks
    """At any time from the one to the other."""
    is_one_call: bool
    """Nobody comes in between."""


def is_unserializable(pair: Pair, tick: Callable[[], None]) -> bool:
    """Whether a transaction of one unit can be torn apart by the other unit."""
    one, other = pair.one.steps, pair.other.steps
    return _can_tear(one, other, tick) or _can_tear(other, one, tick)


def _can_tear(torn: Steps, by: Steps, tick: Callable[[], None]) -> bool:
    held = _held(by)
    accesses = [at for at, step in enumerate(by) if step.op <= Op.WRITE]
    alone = [Block(by[at], by[at], held[at], held[at], is_one_call=True) for at in accesses]
    others = [*alone, *(_block(by, held, at, to) for at, to in combinations(accesses, 2))]
    for block in _blocks(torn):
        tick()
        if any(_comes_between(block, other) or _crosses(block, other) for other in others):
            return True
    return False


def _comes_between(block: Block, other: Block) -> bool:
    return (
        not block.is_one_call
        and _conflict(block.first, other.first)
        and _conflict(other.last, block.last)
        and block.held.isdisjoint(other.taken)
    )


def _crosses(block: Block, other: Block) -> bool:
    return (
        0 != other.first.inside == other.last.inside
        and not (block.is_one_call and other.is_one_call)
        and _conflict(block.first, other.last)
        and _conflict(other.first, block.last)
        and block.held.isdisjoint(other.held)
    )


def _conflict(one: UnitStep, other: UnitStep) -> bool:
    return one.target == other.target and conflicts(one.op, other.op)


def _blocks(steps: Steps) -> Iterator[Block]:
    """Of the transactions of a unit."""
    held = _held(steps)
    accesses = [at for at, step in enumerate(steps) if step.op <= Op.WRITE and step.inside]
    for first, last in combinations(accesses, 2):
        if steps[first].inside == steps[last].inside:
            yield _block(steps, held, first, last)


def _block(steps: Steps, held: list[Locks], first: int, last: int) -> Block:
    between = held[first + 1 : last + 1]
    is_one_call = all(step.is_joined for step in steps[first + 1 : last + 1])
    return Block(
        steps[first],
        steps[last],
        frozenset.intersection(*between),
        frozenset().union(held[first], *between),
        is_one_call,
    )


def _held(steps: Steps) -> list[Locks]:
    """The locks that are held at each step."""
    found: list[Locks] = []
    held: Locks = frozenset()
    for step in steps:
        if step.op == Op.RELEASE:
            held -= {step.target}
        elif step.op == Op.ACQUIRE:
            found.append(held)
            held |= {step.target}
            continue
        found.append(held)
    return found
