"""View serializability: is the trace view-equivalent to some serial one (commit-node-2006, section 2)?

Two traces of the same events are view-equivalent if each read sees the same write (or the initial value) in
both, and each location has the same last write. Serial: the events of each transaction are contiguous.

As in `docs/papers.md`: the serial trace must be one that the program allows (program order, fork, join, hand-over,
locks held by one thread at a time), but locks may be taken in another order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from oracles.model import Event, Step, Transaction, normalise, transactions
from oracles.schedule import Budget, Schedule, State, TooBigError

Writes = dict[str, int]  # the place of the last write of each variable that was written
View = tuple[dict[int, int | None], Writes]  # what each read sees, and the last writes


def view_of(events: Sequence[Event], order: Iterable[int]) -> View:
    """The view of the events at these places, in this order."""
    sees: dict[int, int | None] = {}
    last: Writes = {}
    for place in order:
        event = events[place]
        if event.op == "read":
            sees[place] = last.get(event.target)
        elif event.op == "write":
            last[event.target] = place
    return sees, last


def run_whole(schedule: Schedule, state: State, transaction: Transaction) -> State | None:
    """The state after all its events in one go, or None if that is not possible."""
    for place in transaction.events:
        if place not in schedule.runnable(state):
            return None
        state = schedule.after(state, place)
    return state


def view_serializable(steps: Sequence[Step], budget: int = 100_000) -> bool | None:
    """Look for a serial order that shows the observed view; None if the budget does not suffice."""
    events = normalise(steps)
    found = transactions(events)
    schedule = Schedule(events, range(len(events)))
    observed = view_of(events, range(len(events)))
    search = _Search(schedule, found, observed, Budget(budget))
    try:
        return search.succeeds(schedule.start, {})
    except TooBigError:
        return None


class _Search:
    """Depth first over serial prefixes. Of a prefix, which events have run and the last writes matter."""

    def __init__(self, schedule: Schedule, found: Sequence[Transaction], observed: View, budget: Budget) -> None:
        self.schedule = schedule
        self.sees, self.final_writes = observed
        self.starting = {transaction.events[0]: transaction for transaction in found}
        self.budget = budget
        self.failed: set[tuple[State, frozenset[tuple[str, int]]]] = set()

    def succeeds(self, state: State, last: Writes) -> bool:
        if state == self.schedule.final:
            return last == self.final_writes
        key = state, frozenset(last.items())
        if key in self.failed:
            return False
        self.budget.spend()
        for place in self.schedule.runnable(state):
            transaction = self.starting[place]
            following = run_whole(self.schedule, state, transaction)
            sees, writes = view_of(self.schedule.events, [*last.values(), *transaction.events])
            as_observed = all(self.sees[read] == write for read, write in sees.items())
            if following and as_observed and self.succeeds(following, writes):
                return True
        self.failed.add(key)
        return False
