"""Random well-formed traces: a hypothesis strategy that shrinks well, and a faster generator for many traces.

Both draw a list of choices, which a deterministic simulator turns into a legal trace: a choice that is not legal at
its point is dropped. Removing or lowering choices gives a smaller trace of the same sort, which is how shrinking works.

Features, each of which can be switched off: several threads from the start and forked ones (with no event, or
with only an empty region), re-entrant locks, nested regions, events outside regions, hand-overs, regions
still open and locks still held at the end of the trace or of a joined thread.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from hypothesis import strategies as st

from oracles.model import Step

# Simple actions first: hypothesis shrinks towards the start. An action that is repeated is more likely.
_ACTIONS = (
    *("read", "write") * 4,
    *("begin", "begin", "begin", "end"),
    *("acquire", "release", "release"),
    *("fork", "join"),
    *("post", "take"),
)


@dataclass(frozen=True)
class Shape:
    """The limits and features of a random trace."""

    threads: int = 4
    locks: int = 2
    variables: int = 3
    handovers: int = 2
    regions: int = 4
    events: int = 30  # a closed trace has the missing ends and releases in addition
    nesting: bool = True
    reentrant: bool = True
    forks: bool = True
    joins: bool = True
    join_unfinished: bool = True  # join a thread that has regions open or locks held
    unary: bool = True  # accesses, locking and hand-overs outside regions
    block_structured: bool = False  # regions and locks of a thread close from the inside out
    closed: bool = False  # regions and locks are closed at the end of the trace

    def actions(self) -> tuple[str, ...]:
        absent = {
            op
            for op, present in (
                ("acquire", self.locks),
                ("release", self.locks),
                ("post", self.handovers),
                ("take", self.handovers),
                ("begin", self.regions),
                ("end", self.regions),
                ("fork", self.forks),
                ("join", self.forks and self.joins),
            )
            if not present
        }
        return tuple(op for op in _ACTIONS if op not in absent)


class Choice(NamedTuple):
    thread: int
    action: str
    target: int


class _Opened(NamedTuple):
    kind: str  # "begin" or "acquire"
    name: str


@dataclass
class _Simulator:
    """Applies choices. A method `_target_of_OP` gives the target, or None if the operation is not legal now."""

    shape: Shape
    roots: int
    closed: bool
    live: list[str] = field(init=False)  # can run: started or forked, and not joined
    opened: dict[str, list[_Opened]] = field(init=False)  # open regions and held locks, oldest first
    joinable: list[str] = field(default_factory=list)  # forked and not joined
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.live = [f"T{number}" for number in range(1, self.roots + 1)]
        self.opened = {thread: [] for thread in self.live}

    def play(self, choice: Choice) -> None:
        thread = self.live[choice.thread % len(self.live)]
        target = getattr(self, f"_target_of_{choice.action}")(thread, choice.target)
        if target is not None:
            self.steps.append(Step(thread, choice.action, target))

    def close_everything(self) -> None:
        for thread in self.live:
            while self.opened[thread]:
                kind, name = self.opened[thread].pop()
                self.steps.append(Step(thread, "end" if kind == "begin" else "release", name))

    def _inside(self, thread: str) -> bool:
        return self.shape.unary or any(opened.kind == "begin" for opened in self.opened[thread])

    def _target_of_read(self, thread: str, number: int) -> str | None:
        return f"x{number % self.shape.variables + 1}" if self._inside(thread) else None

    _target_of_write = _target_of_read

    def _target_of_post(self, thread: str, number: int) -> str | None:
        return f"h{number % self.shape.handovers + 1}" if self._inside(thread) else None

    _target_of_take = _target_of_post

    def _target_of_begin(self, thread: str, number: int) -> str | None:
        opened = self.opened[thread]
        if not self.shape.nesting and any(other.kind == "begin" for other in opened):
            return None
        name = f"m{number % self.shape.regions + 1}"
        opened.append(_Opened("begin", name))
        return name

    def _target_of_acquire(self, thread: str, number: int) -> str | None:
        lock = _Opened("acquire", f"l{number % self.shape.locks + 1}")
        own = self.opened[thread]
        held_by_other = any(lock in opened for opened in self.opened.values() if opened is not own)
        if held_by_other or not self._inside(thread) or (lock in own and not self.shape.reentrant):
            return None
        own.append(lock)
        return lock.name

    def _target_of_end(self, thread: str, _number: int) -> str | None:
        return self._close(thread, [opened for opened in self.opened[thread] if opened.kind == "begin"][-1:])

    def _target_of_release(self, thread: str, number: int) -> str | None:
        held = [opened for opened in reversed(self.opened[thread]) if opened.kind == "acquire"]
        return self._close(thread, [held[number % len(held)]] if held else [])

    def _close(self, thread: str, chosen: list[_Opened]) -> str | None:
        opened = self.opened[thread]
        if not chosen or (self.shape.block_structured and opened[-1] != chosen[0]):
            return None
        newest = len(opened) - 1 - opened[::-1].index(chosen[0])
        return opened.pop(newest).name

    def _target_of_fork(self, _thread: str, _number: int) -> str | None:
        if len(self.opened) >= self.shape.threads:
            return None
        child = f"T{len(self.opened) + 1}"
        self.opened[child] = []
        self.live.append(child)
        self.joinable.append(child)
        return child

    def _target_of_join(self, thread: str, number: int) -> str | None:
        any_state = self.shape.join_unfinished and not self.closed
        children = [c for c in self.joinable if c != thread and (any_state or not self.opened[c])]
        if not children:
            return None
        child = children[number % len(children)]
        self.joinable.remove(child)
        self.live.remove(child)  # what it holds stays held: `opened` keeps it
        return child


def simulate(choices: Iterable[Choice], shape: Shape, roots: int = 1, *, closed: bool = False) -> list[Step]:
    """The legal trace that these choices make."""
    closed = closed or shape.closed
    simulator = _Simulator(shape, min(roots, shape.threads), closed)
    for choice in choices:
        if len(simulator.steps) >= shape.events:
            break
        simulator.play(choice)
    if closed:
        simulator.close_everything()
    return simulator.steps


@st.composite
def traces(draw: st.DrawFn, /, **limits: Any) -> list[Step]:
    """Well-formed traces; `limits` are the fields of `Shape`."""
    shape = Shape(**limits)
    choices = st.builds(
        Choice,
        thread=st.integers(0, shape.threads - 1),
        action=st.sampled_from(shape.actions()),
        target=st.integers(0, 3),
    )
    roots = draw(st.integers(1, shape.threads))
    closed = shape.closed or draw(st.booleans())
    return simulate(draw(st.lists(choices, max_size=2 * shape.events)), shape, roots, closed=closed)


def random_steps(rng: random.Random, **limits: Any) -> list[Step]:
    """One random trace, much faster than with hypothesis; `limits` are the fields of `Shape`."""
    shape = _smaller(rng, Shape(**limits))
    actions = shape.actions()
    choices = (
        Choice(rng.randrange(shape.threads), rng.choice(actions), rng.randrange(4)) for _ in range(2 * shape.events)
    )
    return simulate(choices, shape, rng.randint(1, shape.threads), closed=rng.random() < 0.5)


def _smaller(rng: random.Random, shape: Shape) -> Shape:
    """A random smaller shape: traces with few variables and threads have more conflicts."""
    return replace(
        shape,
        threads=rng.randint(min(2, shape.threads), shape.threads),
        variables=rng.randint(1, shape.variables),
        locks=rng.randint(0, shape.locks),
        handovers=rng.randint(0, shape.handovers),
        events=rng.randint(min(4, shape.events), shape.events),
    )


def short_lived(rng: random.Random, children: int, careless: float) -> list[Step]:
    """Threads come and go, a few at a time, some inside a region: slots must be used again.

    Each works on one of a few variables, under its lock, which disturbs nobody. A share of them is careless: they do
    without the lock, or are started by one that may be inside a region.
    """
    steps: list[Step] = []
    running: list[tuple[str, list[Step]]] = []
    held: set[str] = set()
    for number in range(children):
        child = f"C{number}"
        parent = rng.choice(running)[0] if running and rng.random() < careless else "M"
        steps.append(Step(parent, "fork", child))
        running.append((child, _work(rng, child, careless)))
        most = rng.randint(0, 6)
        while len(running) > most:
            at = rng.randrange(len(running))
            name, left = running[at]
            if left and left[0].op == "acquire" and left[0].target in held:
                continue  # whoever holds it is running, and will come to its release
            if left:
                held ^= {left[0].target} if left[0].op in ("acquire", "release") else set()
                steps.append(left.pop(0))
            if not left:
                del running[at]
                if rng.random() < 0.7:
                    steps.append(Step("M", "join", name))
    return steps


def _work(rng: random.Random, name: str, careless: float) -> list[Step]:
    thing = rng.randrange(8)
    steps = [(rng.choice(["read", "write"]), f"x{thing}") for _ in range(rng.randint(1, 4))]
    if rng.random() >= careless:
        steps = [("acquire", f"l{thing}"), *steps, ("release", f"l{thing}")]
    if rng.random() < 0.1:
        steps = [("take", f"h{thing}"), *steps, ("post", f"h{thing}")]
    if rng.random() < 0.8:
        steps = [("begin", "m"), *steps, *([("end", "m")] if rng.random() < 0.9 else [])]
    return [Step(name, op, target) for op, target in steps] if rng.random() < 0.9 else []
