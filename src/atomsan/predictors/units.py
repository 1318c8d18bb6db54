"""Units: divides a trace into the pieces whose interleavings prediction is about.

A unit is a transaction, or what a thread does outside transactions: each access there, and each outermost lock block.
What orders threads (fork, join, hand-over) ends a unit, so that of two units it is known as a whole whether they can
run in parallel (`order.py`); a transaction that is cut so is several units. In recorded programs, where a wait ends a
transaction, a unit goes on behind a fork or a post: a part of it comes before what other threads do then. It also goes
on behind a take of what was there before; it comes after the post as a whole.

Of a unit, the accesses of shared data are kept, with the locks around them: of the same accesses or lock blocks in one
block only the first two, since more of them can be torn apart only where these can. In recorded programs, where judging
goes by sites, those at different sites are not the same. Units that do the same to the same data are one `Shape`;
shapes that differ only in the data are of one `Form`. `engines/_units.pyx` has the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar, overload

import numpy as np

from atomsan.checkers.results import NO_REGION, Step
from atomsan.predictors.engines._units import UnitTable
from atomsan.predictors.order import Span
from atomsan.predictors.publication import NOTHING_MADE
from atomsan.predictors.spinning import NO_SPINS
from atomsan.predictors.tree import Tree
from atomsan.trace.events import NO_SITE, Op

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from atomsan.checkers.flattening import FlatBatch
    from atomsan.checkers.results import Edge
    from atomsan.predictors.lock_order import LockOrder
    from atomsan.predictors.order import Order
    from atomsan.predictors.publication import Publication
    from atomsan.predictors.spinning import Spins
    from atomsan.trace.jobs import JobSource

# Of longer runs the sequence of units is not kept: without it, no cycles of more than two can be looked for.
MOST_IN_SEQUENCE = 1_500

_JOINED = 0x100
# A hand-over: of what a thread of a pool did before its jobs.
_JOBS = 0x40000000


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
    first: int
    """The period of its thread in which it begins, between two events that order threads."""
    last: int
    """The one of its last access."""
    transaction: int
    """The number of its transaction; 0 outside."""
    events: tuple[int, ...]
    """Of the steps of its shape."""
    acts_as: int | None = None
    """The thread that did this in the run, if it was another one (`stand_ins.py`)."""

    @property
    def time(self) -> Span:
        return Span(self.thread, self.first, self.last)


class Form:
    """What units do, whatever they do it to: locations and locks are numbered from 0, in the order of their first use.

    Such a number is a *slot*; those of locks come behind those of locations.
    """

    def __init__(self, number: int, table: UnitTable) -> None:
        key, locations, locks = table.form_of_number(number)
        words = np.frombuffer(key, np.uint32).tolist()
        start = 1 + words[0]
        self.number = number
        self.locations, self.locks = locations, locks
        self.regions: tuple[int, ...] = tuple(words[1:start])
        """Of its transactions: more than one if a lock block is around them."""
        self.steps: Steps = tuple(
            UnitStep(what & 0xFF, slot, site, inside, bool(what & _JOINED))
            for what, slot, site, inside in zip(*(words[start + at :: 4] for at in range(4)), strict=True)
        )

    @property
    def slots(self) -> int:
        return self.locations + self.locks

    @property
    def is_transaction(self) -> bool:
        return bool(self.regions)

    @cached_property
    def has_sites(self) -> bool:
        """Whether it is known of all accesses where in the source they are."""
        return all(step.site != NO_SITE for step in self.steps if step.op <= Op.WRITE)

    @cached_property
    def tree(self) -> Tree:
        return Tree(self.steps)


class Shape:
    """Units that do the same to the same data: a form, and the data in the order of its slots."""

    def __init__(self, number: int, table: UnitTable, form_of: Callable[[int], Form]) -> None:
        self.number = number
        form, self.count, self.locations, self.locks = table.shape_of_number(number)
        """How many units there are, and what they use."""
        self.form = form_of(form)
        self._table = table

    @property
    def regions(self) -> tuple[int, ...]:
        return self.form.regions

    @property
    def is_transaction(self) -> bool:
        return self.form.is_transaction

    @cached_property
    def steps(self) -> Steps:
        locations, locks = self.locations, self.locks
        return tuple(
            UnitStep(op, locations[target] if op <= Op.WRITE else locks[target], site, inside, is_joined)
            for op, target, site, inside, is_joined in self.form.steps
        )

    @cached_property
    def occurrences(self) -> dict[int, list[Occurrence]]:
        """By thread: the first from each of its periods to each other one."""
        found: dict[int, list[Occurrence]] = {}
        for row in self._table.occurrences_of(self.number, len(self.form.steps)):
            found.setdefault(row[0], []).append(Occurrence(*row))
        return found

    def occurrence(self, time: Span) -> Occurrence:
        return Occurrence(*self._table.occurrence_of(self.number, len(self.form.steps), *time))

    def again(self, unit: Occurrence) -> Occurrence | None:
        """The next unit of the thread that did the same in the same periods."""
        known = self._table.occurrence_again(self.number, len(self.form.steps), *unit.time)
        return None if known is None else unit._replace(transaction=known[0], events=known[1])

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


class _Told(NamedTuple):
    """An executed unit, of which the shape is known by its number."""

    shape: int
    unit: Occurrence


One = TypeVar("One", Form, Shape)


class Numbered(Sequence[One]):
    """All forms, or all shapes, each made when it is asked for. `count` says how many there are so far."""

    def __init__(self, count: Callable[[], int], make: Callable[[int], One]) -> None:
        self._count = count
        self._make: Callable[[int], One] = make
        self._known: dict[int, One] = {}

    def __len__(self) -> int:
        return self._count()

    @overload
    def __getitem__(self, index: int) -> One: ...
    @overload
    def __getitem__(self, index: slice) -> list[One]: ...
    def __getitem__(self, index: int | slice) -> One | list[One]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        if index not in self._known:
            if not 0 <= index < len(self):
                raise IndexError(index)
            self._known[index] = self._make(index)
        return self._known[index]


class UnitReader:
    """One pass. Feed it the flattened batches of a trace.

    `shared` says which locations count, `is_loop` which locks are loops: a loop excludes, as a lock does, but nobody
    waits for it while holding another. Of a recorded program, `is_call` says of a site whether one call of a built-in
    operation is there, which accesses all it does in one step; and `is_ready` of a hand-over whether who took it did
    not need to wait. `publication` tells what is made where, `spins` what loops waited for, and `jobs` which
    threads are jobs of others. `tick` is called between the steps of the work.
    """

    def __init__(
        self,
        shared: NDArray[np.bool_],
        is_loop: Callable[[int], bool],
        is_call: Callable[[int], bool] | None,
        order: Order,
        locks: LockOrder,
        tick: Callable[[], None] = lambda: None,
        is_ready: Callable[[int], bool] = lambda handover: False,
        publication: Publication | None = None,
        spins: Spins = NO_SPINS,
        jobs: JobSource | None = None,
    ) -> None:
        self._jobs = jobs
        self._begun: set[int] = set()
        """Threads that took a job."""
        self._shared = shared.view(np.uint8)
        self._loops = _Marks(is_loop)
        self._calls = None if is_call is None else _Marks(is_call)
        self._ready = _Marks(is_ready)
        self._publication = publication
        self._order = order
        self._tick = tick
        self._sequence: dict[int, list[_Told | OrderEvent]] = {}
        self._length = 0
        self._inside: dict[int, list[OrderEvent]] = {}
        """By thread: what orders it inside the unit that is not over yet."""
        self.cut: set[int] = set()
        """The regions of which a transaction is in pieces, or waited for what was there already."""
        self.table = UnitTable(
            is_recorded=is_call is not None,
            spins=spins,
            order=self._add_order,
            waits=locks.add,
            executed=self._add_unit,
            cut=self.cut.add,
            tick=tick,
        )
        table = self.table
        self.forms = Numbered(lambda: table.form_count, lambda number: Form(number, table))
        self.shapes = Numbered(lambda: table.shape_count, lambda number: Shape(number, table, self.forms.__getitem__))

    def feed(self, batch: FlatBatch) -> None:
        loops = self._loops.known(batch.locks)
        calls = _NO_MARKS
        if self._calls is not None:
            sites = batch.site[batch.site != np.uint32(0xFFFFFFFF)]
            calls = self._calls.known(int(sites.max()) + 1 if len(sites) else 0)
        made = self._publication.known() if self._publication else NOTHING_MADE
        self.table.feed(batch, self._shared, loops, calls, self._ready.known(batch.handovers), made)

    def finish(self) -> None:
        self.table.finish()

    @property
    def units(self) -> int:
        return self.table.units

    @property
    def transactions(self) -> int:
        return self.table.transactions

    @property
    def is_nested(self) -> bool:
        """Whether locks were always released in the reverse order of their acquires."""
        return self.table.is_nested

    @property
    def is_shortened(self) -> bool:
        """Whether a unit ended in the middle of a transaction because it let others go on too often."""
        return self.table.is_shortened

    @property
    def is_cut_short(self) -> bool:
        return self._length > MOST_IN_SEQUENCE

    @property
    def sequence(self) -> dict[int, list[Executed | OrderEvent]]:
        """By thread: its units and what orders it, one after the other; not all of them, if it `is_cut_short`."""
        return {
            thread: [Executed(self.shapes[one.shape], one.unit) if isinstance(one, _Told) else one for one in sequence]
            for thread, sequence in self._sequence.items()
        }

    def _add_order(self, thread: int, op: int, target: int, event: int, is_inside: bool) -> int:
        self._tick()
        if self._jobs and op == Op.TAKE and thread not in self._begun and self._jobs.is_start(target):
            self._begin_jobs(thread, self._jobs.worker(thread))
        if is_inside and op != Op.TAKE:
            self._inside.setdefault(thread, []).append(OrderEvent(op, target))
        else:
            self._append_inside(thread)
            self._append(thread, OrderEvent(op, self._order.posted(target) if op == Op.TAKE else target))
            for job in self._order.jobs_of(target) if op == Op.JOIN else ():
                self._append(thread, OrderEvent(op, job))
        return self._order.add(thread, op, target, event)

    def _begin_jobs(self, thread: int, worker: int) -> None:
        """The first job of a thread of a pool lets the others begin, which are threads of their own."""
        self._begun.add(thread)
        if thread == worker:
            self._order.begin_jobs(worker)
        else:
            self._order.begin_job(thread, worker)
        self._append(thread, OrderEvent(Op.POST if thread == worker else Op.TAKE, _JOBS | worker))

    def _add_unit(
        self, thread: int, shape: int, first: int, last: int, transaction: int, events: tuple[int, ...]
    ) -> None:
        self._append(thread, _Told(shape, Occurrence(thread, first, last, transaction, events)))
        self._append_inside(thread)

    def _append_inside(self, thread: int) -> None:
        """What a unit lets others do comes behind it: they come after what was before the unit, too."""
        for event in self._inside.pop(thread, ()):
            self._append(thread, event)

    def _append(self, thread: int, what: _Told | OrderEvent) -> None:
        self._length += 1
        if self._length <= MOST_IN_SEQUENCE:
            self._sequence.setdefault(thread, []).append(what)
        else:
            self.table.stop_telling()


class _Marks:
    """By number: whether something is so, asked once."""

    def __init__(self, is_so: Callable[[int], bool]) -> None:
        self._is_so = is_so
        self._known = _NO_MARKS

    def known(self, count: int) -> NDArray[np.uint8]:
        """Of at least so many."""
        if count > len(self._known):
            more = [self._is_so(number) for number in range(len(self._known), count)]
            self._known = np.concatenate([self._known, np.array(more, np.uint8)])
        return self._known


_NO_MARKS = np.zeros(0, np.uint8)
