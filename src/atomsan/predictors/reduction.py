"""Reduction: is every transaction of the form that Lipton's theorem proves atomic?

Paper: Wang and Stoller, PPoPP 2006 (commit-node-2006), section 6.1, as a baseline: a transaction is atomic if it is of
the form (R + Acq A* Rel)* N? (L + Acq A* Rel)*. An acquire moves right (R), a release left (L); an access of data that
somebody writes moves both ways if every access of it that may run in parallel is under a lock that is held here, too,
not necessarily the same one for all of these (multi-lockset), and otherwise not at all (N). Locks of one thread only,
and lock blocks without shared data, are none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atomsan.predictors.forest import both
from atomsan.trace.events import Op

if TYPE_CHECKING:
    from collections.abc import Set

    from atomsan.predictors.commit_node import ForestAnalysis
    from atomsan.predictors.meetings import Meetings
    from atomsan.predictors.units import Steps


def is_reducible(forest: ForestAnalysis, meetings: Meetings) -> bool:
    """Whether all transactions are of that form. `forest` is the conflict-forest, which knows who meets whom.

    What does not move in one shape of a form, or is shared, counts for all of them.
    """
    racing = _racing(forest)
    shared = meetings.shared_locks()
    return all(
        _is_reducible(form.steps, racing.get(form.number, frozenset()), shared.get(form.number, frozenset()))
        for form in meetings.forms
        if form.is_transaction
    )


def _racing(forest: ForestAnalysis) -> dict[int, set[int]]:
    """By form: the places of the accesses that do not move."""
    found: dict[int, set[int]] = {}
    for case in forest.cases:
        one, other = case.one, case.other
        locks = case.overlap.locks
        for first, second in both(one.tree, other.tree, case.overlap):
            held = other.tree.locks(second)
            if not any(locks.get(lock) in held for lock in one.tree.locks(first)):
                found.setdefault(one.number, set()).add(first.first)
                found.setdefault(other.number, set()).add(second.first)
    return found


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
