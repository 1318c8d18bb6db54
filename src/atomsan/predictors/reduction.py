"""Reduction: is every transaction of the form that Lipton's theorem proves atomic?

Paper: Wang and Stoller, PPoPP 2006 (commit-node-2006), section 6.1, as a baseline: a transaction is atomic if it is of
the form (R + Acq A* Rel)* N? (L + Acq A* Rel)*. An acquire moves right (R), a release left (L); an access of data that
somebody writes moves both ways if every access of it that may run in parallel is under a lock that is held here, too,
and otherwise not at all (N). Locks of one thread only, and lock blocks without shared data, are none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atomsan.trace.events import Op

if TYPE_CHECKING:
    from collections.abc import Set

    from atomsan.predictors.commit_node import ForestAnalysis
    from atomsan.predictors.units import Shape, Steps


def reducible(forest: ForestAnalysis, shapes: list[Shape]) -> dict[int, bool]:
    """By shape: whether it is of that form. `forest` is the conflict-forest, which knows who meets whom."""
    racing = _racing(forest)
    shared = _shared_locks(shapes)
    return {shape.number: _is_reducible(shape.steps, racing.get(shape.number, frozenset()), shared) for shape in shapes}


def _racing(forest: ForestAnalysis) -> dict[int, set[int]]:
    """By shape: the places of the accesses that do not move."""
    found: dict[int, set[int]] = {}
    for pair in forest.pairs:
        one, other = forest.tree(pair.one), forest.tree(pair.other)
        for location, accesses in one.by_location.items():
            for first in accesses:
                for second in other.by_location.get(location, ()):
                    if one.locks(first).keys().isdisjoint(other.locks(second)):
                        found.setdefault(pair.one.number, set()).add(first.first)
                        found.setdefault(pair.other.number, set()).add(second.first)
    return found


def _shared_locks(shapes: list[Shape]) -> set[int]:
    """The locks that several threads take."""
    users: dict[int, set[int]] = {}
    for shape in shapes:
        threads = shape.occurrences.keys()
        for step in shape.steps:
            if step.op == Op.ACQUIRE:
                users.setdefault(step.target, set()).update(threads)
    return {lock for lock, threads in users.items() if len(threads) > 1}


def _is_reducible(steps: Steps, racing: Set[int], shared: Set[int]) -> bool:
    is_over = False
    for at, step in enumerate(steps):
        if step.op == Op.ACQUIRE and step.target in shared and not _is_empty(steps, at):
            if is_over:
                return False
        elif step.op == Op.RELEASE and step.target in shared and not _is_empty_to(steps, at):
            is_over = True
        elif step.op <= Op.WRITE and at in racing:
            if is_over:
                return False
            is_over = True
    return True


def _is_empty(steps: Steps, acquire: int) -> bool:
    """Whether nothing shared is accessed in the lock block that begins here."""
    lock = steps[acquire].target
    for step in steps[acquire + 1 :]:
        if step.op == Op.RELEASE and step.target == lock:
            return True
        if step.op <= Op.WRITE:
            return False
    return True


def _is_empty_to(steps: Steps, release: int) -> bool:
    lock = steps[release].target
    for step in reversed(steps[:release]):
        if step.op == Op.ACQUIRE and step.target == lock:
            return True
        if step.op <= Op.WRITE:
            return False
    return True
