"""The legal interleavings of a trace's events, as states and the events that can run next.

They keep program order, fork, join, hand-over (a take stays after the posts it came after) and the exclusion of
locks, loop locks included; locks may be taken in any order. A state is, for each thread, how many of its events have
run; which events have run and who holds which lock follows from it.
"""

from __future__ import annotations

from collections.abc import Sequence

from oracles.model import Event, forced
from oracles.serializability import Graph, reachable

State = tuple[int, ...]


class TooBigError(Exception):
    """There are more states than the budget allows."""


class Budget:
    """The number of states that may still be visited."""

    def __init__(self, states: int) -> None:
        self.left = states

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise TooBigError


class Schedule:
    """The legal orders of the events at `places` (all events, unless markers are left out)."""

    def __init__(self, events: Sequence[Event], places: Sequence[int]) -> None:
        self.events = events
        self.threads = list(dict.fromkeys(events[place].thread for place in places))
        self.lines = [[p for p in places if events[p].thread == thread] for thread in self.threads]
        self.rank = {place: rank for line in self.lines for rank, place in enumerate(line)}
        self.thread_of = {place: thread for thread, line in enumerate(self.lines) for place in line}
        self.needs = {place: self._needs(place, places) for place in places}
        self.held = [self._held(line) for line in self.lines]
        self.start: State = (0,) * len(self.lines)
        self.final: State = tuple(map(len, self.lines))

    def _needs(self, place: int, places: Sequence[int]) -> dict[int, int]:
        """For each other thread, how many of its events must have run."""
        needs: dict[int, int] = {}
        for earlier in places:
            other = self.thread_of[earlier]
            ours = other == self.thread_of[place]
            if earlier < place and not ours and forced(self.events[earlier], self.events[place]):
                needs[other] = self.rank[earlier] + 1
        return needs

    def _held(self, line: Sequence[int]) -> list[frozenset[str]]:
        """The locks that the thread holds after each number of events."""
        held = [frozenset[str]()]
        for place in line:
            _, op, target, _ = self.events[place]
            change = {target}
            held.append(held[-1] | change if op == "acquire" else held[-1] - change if op == "release" else held[-1])
        return held

    def runnable(self, state: State) -> list[int]:
        nexts = [line[done] for line, done in zip(self.lines, state, strict=True) if done < len(line)]
        return [place for place in nexts if not self.waits_for(state, place)]

    def waits_for(self, state: State, place: int) -> set[int]:
        """The threads that keep this event, the next of its thread, from running."""
        others = {thread for thread, count in self.needs[place].items() if state[thread] < count}
        _, op, target, _ = self.events[place]
        if op == "acquire":
            others |= {t for t, done in enumerate(state) if target in self.held[t][done]}
        return others - {self.thread_of[place]}

    def after(self, state: State, place: int) -> State:
        thread = self.thread_of[place]
        return (*state[:thread], state[thread] + 1, *state[thread + 1 :])

    def has_run(self, state: State, place: int) -> bool:
        return self.rank[place] < state[self.thread_of[place]]

    def deadlocked(self, state: State) -> bool:
        """Whether threads wait for each other in a cycle. Waiting for a thread whose recording ended is none."""
        waits: Graph = {thread: set() for thread in range(len(self.lines))}
        for thread, (line, done) in enumerate(zip(self.lines, state, strict=True)):
            if done < len(line):
                waits[thread] = self.waits_for(state, line[done])
        return any(thread in reachable(waits, thread) for thread in waits)

    def reachable_states(self, budget: Budget) -> set[State]:
        seen = {self.start}
        frontier = [self.start]
        while frontier:
            state = frontier.pop()
            budget.spend()
            following = {self.after(state, place) for place in self.runnable(state)} - seen
            seen |= following
            frontier.extend(following)
        return seen

    def completable(self, states: set[State]) -> set[State]:
        """The states from which every event can still run."""
        good: set[State] = set()
        for state in sorted(states, key=sum, reverse=True):
            if state == self.final or any(self.after(state, p) in good for p in self.runnable(state)):
                good.add(state)
        return good
