"""Well-formedness, as in `docs/trace-format.md`: the first step that breaks a rule and which rule, or None.

Locks are held by one thread at a time and released by their holder (re-entrant acquires are counted), begin
and end match by name from the inside out, a child's first event follows its fork, its last precedes its
join. Regions still open and locks still held at the end of the trace, or of a joined thread, are no fault;
nor is a thread that was never forked. A thread's fork comes before its joins even if it has no event.
"""

from __future__ import annotations

from collections.abc import Sequence

from oracles.model import WORDS, Step


def offence(steps: Sequence[Step]) -> tuple[int, str] | None:
    for index, step in enumerate(steps):
        reason = _reason(steps[:index], step)
        if reason:
            return index, reason
    return None


def _reason(past: Sequence[Step], step: Step) -> str | None:
    """Why this step may not follow that past; looking back anew each time keeps it free of state."""
    thread, op, target = step
    if op not in WORDS:
        return "unknown-op"
    if Step(thread, "join", thread) == step or any(p.op == "join" and p.target == thread for p in past):
        return "event-after-join"
    if op == "acquire" and any(_holds(past, other, target) for other in _threads(past) - {thread}):
        return "lock-held-by-other"
    if op == "release" and not _holds(past, thread, target):
        return "release-without-acquire"
    if op == "end" and _open_regions(past, thread)[-1:] != [target]:
        return "end-without-begin"
    if op == "fork" and (target == thread or target in _threads(past)):
        return "fork-after-first-event"
    if op == "fork" and any(p.op == "join" and p.target == target for p in past):
        return "fork-after-join"
    if op == "fork" and any(p.op == "fork" and p.target == target for p in past):
        return "forked-twice"
    return None


def _threads(past: Sequence[Step]) -> set[str]:
    return {step.thread for step in past}


def _holds(past: Sequence[Step], thread: str, lock: str) -> bool:
    return past.count(Step(thread, "acquire", lock)) > past.count(Step(thread, "release", lock))


def _open_regions(past: Sequence[Step], thread: str) -> list[str]:
    regions: list[str] = []
    for step in past:
        if step.thread == thread and step.op == "begin":
            regions.append(step.target)
        elif step.thread == thread and step.op == "end":
            regions.pop()
    return regions
