"""What all oracles share: steps, events, transactions, conflicts and happens-before.

A region still open at the end of the trace ends there. Begin and end are events; a thread without any event
gives no order. The inner acquires and releases of a re-entrant lock are no events.

A trace is a list of `Step`. `normalise` turns it into `Event`s, and every oracle works on those; `origin` is
the index of the step, or None for the ends that were added at the end of the trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

ACCESSES = frozenset({"read", "write"})
MARKERS = frozenset({"begin", "end"})
SYNCHRONIZATION = frozenset({"acquire", "release", "fork", "join", "post", "take"})
WORDS = ACCESSES | MARKERS | SYNCHRONIZATION


class Step(NamedTuple):
    """One step as the trace has it."""

    thread: str
    op: str
    target: str


class Event(NamedTuple):
    """A step that is an event to the algorithms; its place is its index in the list of events."""

    thread: str
    op: str
    target: str
    origin: int | None


class Transaction(NamedTuple):
    """An outermost region (numbered from 1 in its thread), or one event outside regions (number None)."""

    thread: str
    number: int | None
    events: tuple[int, ...]  # places in the list of events, in order

    @property
    def name(self) -> str:
        return f"{self.thread}:{self.number}"


def normalise(steps: Sequence[Step], loops: Collection[str] = ()) -> list[Event]:
    """The events of a trace: no re-entrant locking, no steps of loops, and an end for each region still open."""
    events = [Event(*steps[index], index) for index in _counted(steps) if not _is_loop_step(steps[index], loops)]
    return events + _missing_ends(steps)


def _is_loop_step(step: Step, loops: Collection[str]) -> bool:
    """Acquiring or releasing a loop: a loop makes no order, so checkers ignore these steps."""
    return step.op in ("acquire", "release") and step.target in loops


def _counted(steps: Sequence[Step]) -> Iterable[int]:
    depth: Counter[tuple[str, str]] = Counter()
    for index, (thread, op, target) in enumerate(steps):
        if op == "acquire":
            depth[thread, target] += 1
            if depth[thread, target] > 1:
                continue
        elif op == "release":
            depth[thread, target] -= 1
            if depth[thread, target] > 0:
                continue
        yield index


def _missing_ends(steps: Sequence[Step]) -> list[Event]:
    open_regions: dict[str, list[str]] = {}
    for thread, op, target in steps:
        if op == "begin":
            open_regions.setdefault(thread, []).append(target)
        elif op == "end":
            open_regions[thread].pop()
    return [
        Event(thread, "end", region, None) for thread, regions in open_regions.items() for region in reversed(regions)
    ]


def transactions(events: Sequence[Event]) -> list[Transaction]:
    """All transactions, in the order of their first events."""
    depth: Counter[str] = Counter()
    finished: Counter[str] = Counter()
    current: dict[str, list[int]] = {}
    found: list[Transaction] = []
    for place, event in enumerate(events):
        thread = event.thread
        members = current.setdefault(thread, [])
        members.append(place)
        depth[thread] += (event.op == "begin") - (event.op == "end")
        if depth[thread] == 0:
            number = None
            if event.op == "end":
                finished[thread] += 1
                number = finished[thread]
            found.append(Transaction(thread, number, tuple(members)))
            current[thread] = []
    return sorted(found, key=lambda transaction: transaction.events[0])


def owners(found: Sequence[Transaction]) -> dict[int, int]:
    """For the place of each event, the place of its transaction in `found`."""
    return {place: owner for owner, transaction in enumerate(found) for place in transaction.events}


def data_conflict(first: Event, second: Event) -> bool:
    """Two accesses to one location, not both reads (of two threads, or of one)."""
    return (
        first.target == second.target
        and first.op in ACCESSES
        and second.op in ACCESSES
        and "write" in (first.op, second.op)
    )


def forced(first: Event, second: Event) -> bool:
    """Whether the first event comes first in *every* interleaving: program order, fork, join, hand-over."""
    return (
        first.thread == second.thread
        or (first.op == "fork" and first.target == second.thread)
        or (second.op == "join" and second.target == first.thread)
        or (first.op == "post" and second.op == "take" and first.target == second.target)
    )


def conflict(first: Event, second: Event, loops: Collection[str] = ()) -> bool:
    """The conflicts of aerodrome-2020, section 2 (a)-(e), for two events in this order, and hand-overs.

    `loops` names the locks of kind `loop`: they exclude, but make no order.
    """
    return (
        forced(first, second)
        or data_conflict(first, second)
        or (
            first.op == "release"
            and second.op == "acquire"
            and first.target == second.target
            and first.target not in loops
        )
    )


def happens_before(events: Sequence[Event], loops: Collection[str] = ()) -> list[set[int]]:
    """For each event, its own place and those of all events that happen before it."""
    before: list[set[int]] = []
    for place, event in enumerate(events):
        known = {place}
        for earlier in range(place - 1, -1, -1):
            if earlier not in known and conflict(events[earlier], event, loops):
                known |= before[earlier]
        before.append(known)
    return before
