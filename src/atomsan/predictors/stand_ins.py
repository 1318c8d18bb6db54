"""Stand-ins: a thread that came too late to do what another one did, and would have done the same.

In a plain run one thread often does all the work before the next one looks: `if tickets: tickets -= 1` sells the last
ticket, and whoever comes later takes the other branch. Of two units that begin alike, and part after a read that saw
different writes, the one would have gone the way of the other from the same state. So the shape of the one is tried
against itself, done by the thread of the other. Both may have been called from different places: judging sees whether
the code that both were in at that read goes as far as the steps that are torn apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from atomsan.predictors.commit_node import Pair, StandIn
from atomsan.trace.events import Op

if TYPE_CHECKING:
    from atomsan.predictors.history import History
    from atomsan.predictors.order import Order
    from atomsan.predictors.units import Occurrence, Shape

# Of one shape, so many others are looked at, and so many occurrences of each of them.
MOST_OTHERS = 32
MOST_OCCURRENCES = 8


def stand_ins(shapes: Sequence[Shape], order: Order, history: History, tick: Callable[[], None]) -> Iterator[Pair]:
    """Pairs of a unit with the same unit, done by another thread."""
    alike: dict[tuple[int, int], list[Shape]] = {}
    for shape in shapes:
        if shape.is_transaction:
            first = next(step for step in shape.steps if step.op <= Op.WRITE)
            alike.setdefault((first.op, first.site), []).append(shape)
    used = _used(shapes)
    for group in alike.values():
        for one in group:
            tick()
            if len(group) > 1 and any(step.op == Op.WRITE for step in one.steps):
                yield from _of_shape(one, group, used, order, history)


def _used(shapes: Sequence[Shape]) -> dict[int, set[int]]:
    """By thread: the locations that it accesses."""
    used: dict[int, set[int]] = {}
    for shape in shapes:
        for thread in shape.occurrences:
            used.setdefault(thread, set()).update(step.target for step in shape.steps if step.op <= Op.WRITE)
    return used


def _of_shape(
    one: Shape, group: list[Shape], used: dict[int, set[int]], order: Order, history: History
) -> Iterator[Pair]:
    """At most one: it shows what others would do, too."""
    others = [other for other in group if other is not one]
    for unit in _occurrences(one):
        for other in islice((one for one in others if one.occurrences.keys() - {unit.thread}), MOST_OTHERS):
            for late in _occurrences(other):
                if not order.are_parallel(unit.time, late.time):
                    continue
                if (parted := _parted(one, unit, other, late, history)) is not None:
                    both = frozenset(_given(one, unit, history) & used[late.thread] - parted.own)
                    acting = late._replace(events=unit.events, acts_as=unit.thread)
                    look = late.events[parted.look]
                    yield Pair(one, one, unit, acting, [], StandIn(both, parted.read, parted.at, look))
                    return


class _Parted(NamedTuple):
    """Where two units part that began alike: the read of the one and of the other, and the step of the one."""

    read: int
    look: int
    at: int
    own: frozenset[int]
    """The locations of the one for which the other has others before that: each has objects of its own."""


def _parted(one: Shape, unit: Occurrence, other: Shape, late: Occurrence, history: History) -> _Parted | None:
    """If two units begin alike, with a read of the same data that saw different writes: that step, and where they part.

    They part where the one does something else, or the same to other data. Each may have objects of its own, which were
    written to at the same place in the source.
    """
    reads: tuple[int, int] | None = None
    own: set[int] = set()
    for at, to in zip_longest(_heads(one), _heads(other)):
        if at is None:
            return None
        step, same = one.steps[at], None if to is None else other.steps[to]
        if to is None or same is None or (step.op, step.site) != (same.op, same.site):
            return None if reads is None else _Parted(*reads, at, frozenset(own))
        if reads is not None:
            if step.op <= Op.WRITE and step.target != same.target:
                return _Parted(*reads, at, frozenset(own))
        elif step.op == Op.READ:
            saw = history.write_before(step.target, unit.events[at])
            sees = history.write_before(same.target, late.events[to])
            if step.target == same.target and saw != sees:
                reads = at, to
            elif history.write_site(step.target, saw) != history.write_site(same.target, sees):
                return None
            elif step.target != same.target:
                own.add(step.target)
        elif step.op == Op.WRITE and step.target != same.target:
            return None
    return None


def _heads(shape: Shape) -> list[int]:
    """The steps without those of a call that reads more than one thing: which these are follows from the first."""
    return [at for at, step in enumerate(shape.steps) if not (step.is_joined and step.op == Op.READ)]


def _given(shape: Shape, unit: Occurrence, history: History) -> set[int]:
    """The locations of a unit that were there before: what it makes by itself, another thread would make, too."""
    return {
        step.target
        for step in shape.steps
        if step.op <= Op.WRITE and not history.is_made_in(step.target, unit.events[0], unit.events[-1])
    }


def _occurrences(shape: Shape) -> list[Occurrence]:
    return [units[0] for units in shape.occurrences.values()][:MOST_OCCURRENCES]
