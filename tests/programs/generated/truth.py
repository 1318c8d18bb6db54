"""Truth of a program by definition: every interleaving of its steps, compared with every serial order of its units.

A *unit* is a call that a thread makes. AtomSan takes the same for one transaction, because it is the outermost
region: the whole entry function where that has no loop, else one iteration of its loop. Iterations of a unit's own
loop that pass nothing on to one another are units of their own.

The *outcome* of an interleaving is the final state of the data, and what each call returned or raised. A program is

- *harmful* if some interleaving has an outcome that no serial order has;
- *benign* if not, but some interleaving has no equivalent serial order: the conflicts between units make a cycle;
- *atomic* if no interleaving has one.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from generated.machine import ADD, DONE, READ, WRITE, Machine, State
from generated.tree import Body, For, Program, walk

HARMFUL, BENIGN, ATOMIC = "harmful", "benign", "atomic"
TRUTHS = (HARMFUL, BENIGN, ATOMIC)

# Larger programs are not used: their interleavings take too long.
MOST_STATES = 12_000
MOST_UNITS = 8

Outcome = tuple[object, ...]
Ending = tuple[Outcome, bool]
"""An outcome, and whether units were violated on the way."""


class TooLargeError(Exception):
    """The program has too many interleavings."""


class DeadlockError(Exception):
    """Some interleaving never ends."""


class Node(NamedTuple):
    """A state, and what is known of the order of units.

    `history`: for each location and mode the units that touched it, 8 bits each. `after`: for each unit those that come
    after it, 8 bits each. Both are -1 once there is a cycle.
    """

    state: State
    history: int
    after: int


class Truth(NamedTuple):
    verdict: str
    schedule: tuple[int, ...]
    """The threads of an interleaving that shows it, step by step."""
    outcome: Outcome
    """Of that interleaving."""
    states: int
    serial: frozenset[Outcome]


def truth_of(program: Program, source: random.Random) -> Truth:
    return Interleavings(program).truth(source)


class Interleavings:
    """All interleavings of a program."""

    def __init__(self, program: Program) -> None:
        self.machine = Machine(program)
        self._threads = range(len(program.threads))
        self._locations: dict[tuple[int, object], int] = {}
        self._endings: dict[Node, frozenset[Ending]] = {}
        self._first_unit: list[int] = []
        total = 0
        for thread in program.threads:
            self._first_unit.append(total)
            total += sum(_most_parts(unit.body) for unit in thread.units)
        if total > MOST_UNITS:
            raise TooLargeError

    def truth(self, source: random.Random) -> Truth:
        serial = self.serial_outcomes()
        root = self.root()
        endings = self.endings(root)
        # A conflict-serializable interleaving has the outcome of a serial order: what differs is violated.
        harmful = [ending for ending in endings if ending[0] not in serial]
        assert all(violated for _, violated in harmful), "an interleaving without a cycle has an outcome of its own"
        violated = [ending for ending in endings if ending[1]]
        verdict, wanted = (HARMFUL, harmful) if harmful else (BENIGN, violated) if violated else (ATOMIC, [*endings])
        ending = source.choice(sorted(wanted, key=_in_order))
        return Truth(verdict, self.schedule(root, ending, source), ending[0], len(self._endings), serial)

    def root(self) -> Node:
        after = 0
        for thread in self._threads:
            first = self._first_unit[thread]
            end = self._first_unit[thread + 1] if thread + 1 < len(self._threads) else MOST_UNITS
            for unit in range(first, end):
                for later in range(unit + 1, end):
                    after |= 1 << (unit * 8 + later)
        return Node(self.machine.start(), 0, after)

    def endings(self, node: Node) -> frozenset[Ending]:
        known = self._endings.get(node)
        if known is not None:
            return known
        if len(self._endings) >= MOST_STATES:
            raise TooLargeError
        found: set[Ending] = set()
        for thread in self._threads:
            if self.machine.is_enabled(node.state, thread):
                found |= self.endings(self.next(node, thread))
        if not found:
            if any(place.at != DONE for place in node.state.places):
                raise DeadlockError
            found = {(outcome(node.state), node.history == -1)}
        self._endings[node] = result = frozenset(found)
        return result

    def next(self, node: Node, thread: int) -> Node:
        unit = self._first_unit[thread] + node.state.places[thread].part
        state, data, touched = self.machine.step(node.state, thread)
        if node.history == -1 or data == -1:
            return Node(state, node.history, node.after)
        history, after = node.history, node.after
        for location, mode in touched:
            base = self._locations.setdefault((data, location), len(self._locations)) * 32
            for other in (READ, WRITE, ADD):
                if other == mode and mode != WRITE:
                    continue
                earlier = history >> (base + other * 8) & 0xFF & ~(1 << unit)
                while earlier:
                    before = earlier.bit_length() - 1
                    earlier &= ~(1 << before)
                    after = _ordered(after, before, unit)
                    if after == -1:
                        return Node(state, -1, -1)
            history |= 1 << (base + mode * 8 + unit)
        return Node(state, history, after)

    def schedule(self, root: Node, ending: Ending, source: random.Random) -> tuple[int, ...]:
        """An interleaving that ends like this. Threads are not changed more often than chance wants."""
        steps: list[int] = []
        node, last = root, -1
        while True:
            ways = []
            for thread in self._threads:
                if self.machine.is_enabled(node.state, thread):
                    following = self.next(node, thread)
                    if ending in self.endings(following):
                        ways.append((thread, following))
            if not ways:
                return tuple(steps)
            same = [way for way in ways if way[0] == last]
            last, node = same[0] if same and source.random() < 0.6 else source.choice(ways)
            steps.append(last)

    def at_random(self, source: random.Random) -> tuple[tuple[int, ...], Outcome]:
        """Any interleaving, and its outcome."""
        steps: list[int] = []
        state = self.machine.start()
        while ways := [thread for thread in self._threads if self.machine.is_enabled(state, thread)]:
            steps.append(source.choice(ways))
            state, _, _ = self.machine.step(state, steps[-1])
        return tuple(steps), outcome(state)

    def one_after_the_other(self) -> tuple[tuple[int, ...], Outcome]:
        """The interleaving in which each thread does all it has to do before the next one begins, and its outcome."""
        steps: list[int] = []
        state = self.machine.start()
        for thread in self._threads:
            while state.places[thread].at != DONE:
                steps.append(thread)
                state, _, _ = self.machine.step(state, thread)
        return tuple(steps), outcome(state)

    def is_shown_by_accesses_of(self, steps: tuple[int, ...]) -> bool:
        """Whether units are violated, with an outcome that no serial order has, by accesses that an interleaving has.

        What comes after the violation may be anything. An operation that wrote is another access than the same one when
        it found nothing to write.
        """
        executed: set[tuple[object, ...]] = set()
        state = self.machine.start()
        for thread in steps:
            executed.add(self._access(state, thread))
            state, _, _ = self.machine.step(state, thread)
        serial = self.serial_outcomes()
        seen: set[Node] = set()
        waiting = [self.root()]
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            if node.history == -1:
                if any(ending not in serial for ending, _ in self.endings(node)):
                    return True
                continue
            waiting += [
                self.next(node, thread)
                for thread in self._threads
                if self.machine.is_enabled(node.state, thread) and self._access(node.state, thread) in executed
            ]
        return False

    def _access(self, state: State, thread: int) -> tuple[object, ...]:
        """Where a thread is in the code of all threads, and how its next step touches what it touches."""
        place = state.places[thread]
        _, _, touched = self.machine.step(state, thread)
        name = self.machine.program.threads[thread].units[place.unit].name
        return name, place.at, frozenset(mode for _, mode in touched)

    def serial_outcomes(self) -> frozenset[Outcome]:
        found: set[Outcome] = set()
        seen: set[State] = set()
        waiting = [self.machine.start()]
        while waiting:
            state = waiting.pop()
            if state in seen:
                continue
            seen.add(state)
            enabled = [thread for thread in self._threads if state.places[thread].at != DONE]
            if not enabled:
                found.add(outcome(state))
            waiting += [self._unit_done(state, thread) for thread in enabled]
        return frozenset(found)

    def _unit_done(self, state: State, thread: int) -> State:
        """The state after the thread's next unit, on its own."""
        part = state.places[thread].part
        while state.places[thread].part == part:
            if not self.machine.is_enabled(state, thread):
                raise DeadlockError
            state, _, _ = self.machine.step(state, thread)
        return state


def outcome(state: State) -> Outcome:
    return state.data, tuple(place.results for place in state.places)


def _in_order(value: object) -> str:
    """A text that is the same in every process: that of a set depends on the hashes of its texts."""
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(_in_order, value)))}}}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_in_order, value))})"
    return repr(value)


def _ordered(after: int, before: int, unit: int) -> int:
    """The order of units with one more pair, closed under transitivity; -1: there is a cycle."""
    if after >> (before * 8 + unit) & 1:
        return after
    if after >> (unit * 8 + before) & 1:
        return -1
    reached = after >> (unit * 8) & 0xFF | 1 << unit
    for other in range(MOST_UNITS):
        if other == before or after >> (other * 8 + before) & 1:
            after |= reached << (other * 8)
    return after


def _most_parts(body: Body) -> int:
    cuts = sum(len(s.values) - 1 for s in walk(body) if isinstance(s, For) and s.independent)
    return 1 + cuts
