"""Units: divides a trace into the pieces whose interleavings prediction is about.

A unit is a transaction, or what a thread does outside transactions: each access there, and each outermost lock block.
What orders threads (fork, join, hand-over) ends a unit, so that of two units it is known as a whole whether they can
run in parallel (`order.py`); a transaction that is cut so is several units.

Of a unit, the accesses of shared data are kept, with the locks around them: of the same accesses or lock blocks in one
block only the first two, since more of them can be torn apart only where these can. In recorded programs, where judging
goes by sites, those at different sites are not the same. Units that do the same to the same data are one `Shape`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from atomsan.checkers.flattening import NOTHING
from atomsan.checkers.results import NO_REGION, Step
from atomsan.trace.events import Op

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from atomsan.checkers.flattening import FlatBatch
    from atomsan.checkers.results import Edge
    from atomsan.predictors.lock_order import LockOrder
    from atomsan.predictors.order import Order

KEPT_ALIKE = 2
# Of longer runs the sequence of units is not kept: without it, no cycles of more than two can be looked for.
MOST_IN_SEQUENCE = 1_500

_ORDERS = frozenset({Op.FORK, Op.JOIN, Op.POST, Op.TAKE})


class UnitStep(NamedTuple):
    """An access of shared data, or the acquire or release of a lock."""

    op: int
    target: int
    site: int
    inside: int = 0
    """Which transaction of the unit it is in, from 1; 0 if it is in none. A lock block may be around transactions."""
    is_joined: bool = False
    """Whether it is of the same call as the step before, so that nobody comes in between."""


Steps = tuple[UnitStep, ...]


class Occurrence(NamedTuple):
    """A unit as it was executed."""

    thread: int
    period: int
    """The time of its thread, between two events that order threads."""
    transaction: int
    """The number of its transaction; 0 outside."""
    events: tuple[int, ...]
    """Of the steps of its shape."""
    acts_as: int | None = None
    """The thread that did this in the run, if it was another one (`stand_ins.py`)."""


@dataclass(eq=False)
class Shape:
    """Units that do the same to the same data."""

    number: int
    regions: tuple[int, ...]
    """Of its transactions: more than one if a lock block is around them."""
    steps: Steps
    occurrences: dict[int, list[Occurrence]] = field(default_factory=dict)
    """By thread: the first in each of its periods."""
    count: int = 0

    @property
    def is_transaction(self) -> bool:
        return bool(self.regions)

    def step(self, unit: Occurrence, at: int, edge: Edge, position: int | None = None) -> Step:
        """A step of a unit, for a witness."""
        step = self.steps[at]
        return Step(
            event=unit.events[at],
            thread=unit.thread,
            op=step.op,
            target=step.target,
            site=step.site,
            transaction=unit.transaction + step.inside - 1 if step.inside else 0,
            region=self.regions[step.inside - 1] if step.inside else NO_REGION,
            edge=edge,
            position=position,
        )


class Executed(NamedTuple):
    """A unit, and what it does."""

    shape: Shape
    unit: Occurrence


class OrderEvent(NamedTuple):
    """A fork, join, post or take."""

    op: int
    target: int


class UnitReader:
    """One pass. Feed it the flattened batches of a trace.

    `shared` says which locations count, `is_loop` which locks are loops: a loop excludes, as a lock does, but nobody
    waits for it while holding another. Of a recorded program, `is_call` says of a site whether one call of a built-in
    operation is there, which accesses all it does in one step.
    """

    def __init__(
        self,
        shared: NDArray[np.bool_],
        is_loop: Callable[[int], bool],
        is_call: Callable[[int], bool] | None,
        order: Order,
        locks: LockOrder,
    ) -> None:
        self._shared = shared
        self._is_loop = is_loop
        self._is_call = is_call
        self._order = order
        self._locks = locks
        self._threads: dict[int, _Thread] = {}
        self._shapes: dict[tuple[tuple[int, ...], Steps], Shape] = {}
        self.sequence: dict[int, list[Executed | OrderEvent]] = {}
        """By thread: its units and what orders it, one after the other; not all of them, if it `is_cut_short`."""
        self.is_cut_short = False
        self._length = 0
        self.cut: set[tuple[int, int]] = set()
        """The transactions that an order of threads cuts in pieces: thread and number."""
        self.is_nested = True
        """Whether locks were always released in the reverse order of their acquires."""
        self.units = 0
        self.transactions = 0

    @property
    def shapes(self) -> list[Shape]:
        return list(self._shapes.values())

    def feed(self, batch: FlatBatch) -> None:
        shared = self._shared
        columns = (batch.op, batch.original, batch.thread, batch.target, batch.site)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for event, (op, original, number, target, site) in enumerate(rows, batch.first):
            if op <= Op.WRITE and not shared[target]:
                continue
            thread = self._threads.get(number)
            if thread is None:
                thread = self._threads[number] = _Thread(number, by_site=self._is_call is not None)
            if op == NOTHING and original in (Op.ACQUIRE, Op.RELEASE) and self._is_loop(target):
                op = original
            if op <= Op.WRITE:
                thread.access(
                    UnitStep(op, target, site, thread.inside),
                    event,
                    is_call=bool(self._is_call and self._is_call(site)),
                )
            elif op == Op.ACQUIRE:
                if not self._is_loop(target):
                    self._locks.add(number, thread.period, list(thread.held), target, event, site)
                thread.acquire(target, event)
            elif op == Op.RELEASE:
                self.is_nested &= thread.release(target, event)
            elif op == Op.BEGIN:
                self.transactions += 1
                thread.begin(target)
            elif op == Op.END:
                thread.is_inside = False
            elif op in _ORDERS:
                if thread.is_busy and thread.transaction:
                    self.cut.add((number, thread.transaction))
                self._close(thread)
                thread.period = self._order.add(number, op, target)
                self._append(number, OrderEvent(op, target))
            if op > Op.WRITE:
                thread.end_call()
            if not thread.is_busy:
                self._close(thread)

    def finish(self) -> None:
        for thread in self._threads.values():
            self._close(thread)

    def _close(self, thread: _Thread) -> None:
        """The unit of a thread ends. If it is still busy, what follows is another one."""
        steps, events = thread.take()
        if any(step.op <= Op.WRITE for step in steps):
            self.units += 1
            key = tuple(thread.regions), steps
            shape = self._shapes.get(key)
            if shape is None:
                shape = self._shapes[key] = Shape(len(self._shapes), *key)
            shape.count += 1
            unit = Occurrence(thread.number, thread.period, thread.transaction, events)
            known = shape.occurrences.setdefault(thread.number, [])
            if not known or known[-1].period != thread.period:
                known.append(unit)
            self._append(thread.number, Executed(shape, unit))
        if not thread.is_busy:
            thread.transaction, thread.regions = 0, []

    def _append(self, thread: int, what: Executed | OrderEvent) -> None:
        if self._length < MOST_IN_SEQUENCE:
            self.sequence.setdefault(thread, []).append(what)
        else:
            self.is_cut_short = True
        self._length += 1


class _Thread:
    """What a thread has done since its unit began."""

    def __init__(self, number: int, *, by_site: bool) -> None:
        self.number = number
        self._by_site = by_site
        self.period = 0
        self.is_inside = False
        self.transaction = 0
        """The number of the first transaction of the unit; 0 if it has none."""
        self.regions: list[int] = []
        self.held: dict[int, int] = {}
        """The locks that it holds, in the order of their acquires, and where in its steps these are."""
        self._begun = 0
        self._steps: list[UnitStep] = []
        self._events: list[int] = []
        self._call_site = -1
        self._called: set[tuple[int, int, int]] = set()
        """What the call that is at work has accessed, and where that is."""
        self._alike: dict[tuple[int, object], int] = {}
        """How often something was done in a lock block, which is known by the place of its acquire."""

    @property
    def is_busy(self) -> bool:
        return self.is_inside or bool(self.held)

    @property
    def inside(self) -> int:
        return self._begun - self.transaction + 1 if self.is_inside else 0

    def begin(self, region: int) -> None:
        self.is_inside = True
        self._begun += 1
        self.regions.append(region)
        if not self.transaction:
            self.transaction = self._begun

    def access(self, step: UnitStep, event: int, *, is_call: bool) -> None:
        # a call accesses a location once, so what comes again is another call
        what = step.op, step.target, step.inside
        if not is_call or step.site != self._call_site or what in self._called:
            self.end_call()
        is_joined = self._call_site == step.site
        if is_call:
            self._call_site = step.site
            self._called.add(what)
        if self._is_new(step if self._by_site else what):
            self._add(step._replace(is_joined=is_joined), event)
        else:
            self.end_call()

    def end_call(self) -> None:
        self._call_site = -1
        self._called.clear()

    def acquire(self, lock: int, event: int) -> None:
        self.held[lock] = len(self._steps)
        self._add(UnitStep(Op.ACQUIRE, lock, 0), event)

    def release(self, lock: int, event: int) -> bool:
        """Whether it is the lock that was acquired last."""
        is_innermost = next(reversed(self.held), None) == lock
        start = self.held.pop(lock)
        self._add(UnitStep(Op.RELEASE, lock, 0), event)
        block = tuple(self._steps[start:])
        if is_innermost and _is_closed(block) and not self._is_new(self._alike_block(block)):
            del self._steps[start:]
            del self._events[start:]
        return is_innermost

    def _alike_block(self, steps: Steps) -> object:
        return steps if self._by_site else tuple((step.op, step.target, step.inside) for step in steps)

    def _is_new(self, what: object) -> bool:
        """Whether there is not enough of the same in the innermost lock block."""
        key = next(reversed(self.held.values()), -1), what
        alike = self._alike.get(key, 0)
        self._alike[key] = alike + 1
        return alike < KEPT_ALIKE

    def _add(self, step: UnitStep, event: int) -> None:
        self._steps.append(step)
        self._events.append(event)

    def take(self) -> tuple[Steps, tuple[int, ...]]:
        """The steps of the unit and their events. Locks that are still held are so from the beginning of the next."""
        steps, events = tuple(self._steps), tuple(self._events)
        held = [(self._steps[at], self._events[at]) for at in self.held.values()]
        self._steps, self._events = [step for step, _ in held], [event for _, event in held]
        self.held = {step.target: at for at, step in enumerate(self._steps)}
        self._alike.clear()
        if held:
            # to others they are released where the unit ends
            steps += tuple(UnitStep(Op.RELEASE, step.target, 0) for step, _ in reversed(held))
            events += tuple(events[-1:] * len(held))
        return steps, events


def _is_closed(steps: Steps) -> bool:
    """Whether every lock that is released was acquired in these steps, and the other way round."""
    held: set[int] = set()
    for step in steps:
        if step.op == Op.ACQUIRE:
            held.add(step.target)
        elif step.op == Op.RELEASE:
            if step.target not in held:
                return False
            held.remove(step.target)
    return not held
