"""Two units, exactly: whether some interleaving of them has no serial order, and one that shows it.

All interleavings of two units are the ways through a grid: how far the one has come, and how far the other. Ways on
which both hold a lock, or that leave a unit in the middle of one call of a built-in operation, or on which a step comes
before one that it must come after, or which cannot be completed, are no interleavings. This needs no premises. A row of
the grid is one integer, of which a bit is a state, so the time follows the length of the first unit, not the product of
the two.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING, NamedTuple

from atomsan.trace.events import Op

if TYPE_CHECKING:
    from atomsan.predictors.units import Steps

# Larger grids are not looked at.
MOST_STATES = 1 << 26

State = tuple[int, int]


class Tear(NamedTuple):
    """A unit accesses `first` and `last`; in between another one does `into` after the first and `out` before the last.

    All are places in the steps of their units. `first` conflicts with `into`, and `out` with `last`.
    """

    first: int
    last: int
    into: int
    out: int


class Grid:
    """The interleavings of two units. `tick` is called between the steps of the work.

    `needs`: by step of the one, how many steps of the other come before it in any case, and `others_need` the other way
    round; empty where there are none.
    """

    def __init__(
        self,
        one: Steps,
        other: Steps,
        tick: Callable[[], None] = lambda: None,
        needs: Sequence[int] = (),
        others_need: Sequence[int] = (),
    ) -> None:
        self.one, self.other = one, other
        self._needs, self._others_need = needs, others_need
        self._tick = tick
        self._columns = len(other) + 1
        self._inner = [*(step.is_joined for step in one), False]
        """Whether the first unit is in the middle of one call before each step, and after the last one."""
        self._still = _row([*(not step.is_joined for step in other), True])
        """The columns in which the other unit is not."""
        self._furthest: dict[tuple[int, int], list[int]] = {}
        self._conflicting: dict[tuple[int, int], list[int]] = {}

    @property
    def states(self) -> int:
        return (len(self.one) + 1) * self._columns

    @property
    def is_too_large(self) -> bool:
        return self.states > MOST_STATES

    @cached_property
    def legal(self) -> list[int]:
        """By row: the states by which an interleaving comes that can be completed."""
        ahead = self._reached(self._free(), 0, 1)
        found = [0] * len(ahead)
        below = 1 << (self._columns - 1)
        for i in reversed(range(len(ahead))):
            entered = below & ahead[i]
            if not self._inner[i]:
                turned = _filled(_turned(entered, self._columns), _turned(ahead[i], self._columns))
                entered = _turned(turned, self._columns)
            found[i] = entered
            below = entered & self._still
        return found

    def _free(self) -> list[int]:
        """By row: the states in which no lock is held by both, and every step comes after what it needs."""
        everywhere = (1 << self._columns) - 1
        holding = _columns_of_locks(self.other)
        rows = []
        for i, held in enumerate(_held(self.one)):
            taken = 0
            for lock in held:
                taken |= holding.get(lock, 0)
            if self._needs and i:
                taken |= _low(self._needs[i - 1] - 1)
            if self._others_need:
                taken |= ~_low(bisect_right(self._others_need, i))
            rows.append(everywhere & ~taken)
        return rows

    def _reached(self, allowed: Sequence[int], start: int, entered: int) -> list[int]:
        """By row, from `start` on: the allowed states that are reached from some of that row."""
        rows = []
        for i in range(start, len(allowed)):
            entered &= allowed[i]
            if not self._inner[i]:
                entered = _filled(entered, allowed[i])
            rows.append(entered)
            entered &= self._still
        return rows

    def is_possible(self, tear: Tear) -> bool:
        """Whether an interleaving has the first access before `into` of the other unit, and `out` before the last one.

        On the way from where the first access is done, and `into` not, the other unit must get beyond `out` in time. It
        gets further the later it is, since every legal state is on a way to the end.
        """
        key = tear.first, tear.into
        if key not in self._furthest:
            self._tick()
            start = tear.first + 1
            entered = self.legal[start] & _low(tear.into)
            self._furthest[key] = [row.bit_length() for row in self._reached(self.legal, start, entered)]
        return self._furthest[key][tear.last - tear.first - 1] > tear.out + 1

    def tear(self, tear: Tear) -> list[State] | None:
        """A way of such an interleaving."""
        if not self.is_possible(tear):
            return None
        first, last, into, out = tear
        allowed = [
            row & _low(into) if i <= first else row & ~_low(out) if i > last else row
            for i, row in enumerate(self.legal)
        ]
        return self._traced_back(self._reached(allowed, 0, 1))

    def _traced_back(self, reached: list[int]) -> list[State]:
        """A way from beginning to end through what is reached, from its end."""
        i, j = len(self.one), len(self.other)
        found = [(i, j)]
        while i or j:
            if i and self._still >> j & 1 and reached[i - 1] >> j & 1:
                i -= 1
            else:
                j -= 1
            found.append((i, j))
        return found[::-1]

    def whole(self, first: int, last: int) -> list[State] | None:
        """A way on which the other unit comes as a whole between two steps of this one, as late as it can."""
        columns, everywhere = len(self.other), (1 << self._columns) - 1
        if self._needs or self._others_need:
            return None
        for at in range(last, first, -1):
            if not self._inner[at] and self.legal[at] == everywhere:
                into = [(i, 0) for i in range(at)]
                return into + [(at, j) for j in range(columns)] + [(i, columns) for i in range(at, len(self.one) + 1)]
        return None

    def spans(self) -> Iterator[tuple[int, int]]:
        """The accesses of one transaction of the first unit, by twos, that others have conflicts with.

        Those that are close together come first.
        """
        spans = ((last - first, first, last) for first, last in combinations(self._met, 2))
        for _, first, last in sorted(spans):
            if self.one[first].inside == self.one[last].inside:
                yield first, last

    def early_spans(self, most: int) -> Iterator[tuple[int, int]]:
        """Those of the first so many accesses: what is done soonest comes first."""
        for last, one in enumerate(self._met[:most]):
            for first in reversed(self._met[:last]):
                if self.one[first].inside == self.one[one].inside:
                    yield first, one

    @cached_property
    def _met(self) -> list[int]:
        """The accesses in transactions of the first unit that others have conflicts with."""
        return [
            at
            for at, step in enumerate(self.one)
            if step.op <= Op.WRITE and step.inside and self.partners(step.op, step.target)
        ]

    def violation(self) -> Tear | None:
        """A tear of some interleaving without a serial order, if there is one."""
        return next(filter(self.is_possible, self._widest()), None)

    def _widest(self) -> Iterator[Tear]:
        """Of the tears by the same data, those that are possible if any of them is.

        What lies further apart in the first unit is torn apart more easily, and so it is the later the other one comes
        in, and the sooner it goes out.
        """
        ends: dict[tuple[int, int, int], tuple[int, int]] = {}
        for at, step in enumerate(self.one):
            if step.op <= Op.WRITE and step.inside and self.partners(step.op, step.target):
                key = step.op, step.target, step.inside
                ends[key] = ends.get(key, (at, at))[0], at
        for (op, target, inside), (first, _) in ends.items():
            self._tick()
            for (last_op, last_target, last_inside), (_, last) in ends.items():
                if inside == last_inside and first < last:
                    ways_in, ways_out = self.partners(op, target), self.partners(last_op, last_target)
                    yield from (Tear(first, last, *way) for way in self.easiest_ways(ways_in, ways_out))

    def ways(self, ways_in: Sequence[int], ways_out: Sequence[int]) -> Iterator[tuple[int, int]]:
        """The ways in and out for the other unit, of some steps of it, as far as data says."""
        return (way for way in product(ways_in, ways_out) if self._are_allowed(*way))

    def easiest_ways(self, ways_in: Sequence[int], ways_out: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Some of these: if none of them is possible, no other one is."""
        if self._are_allowed(ways_in[-1], ways_out[0]):
            yield ways_in[-1], ways_out[0]
            return
        for out in ways_out:
            allowed = [into for into in ways_in if self._are_allowed(into, out)]
            if allowed:
                yield allowed[-1], out

    def partners(self, op: int, target: int) -> list[int]:
        """The places in the other unit of what conflicts with an access."""
        key = op, target
        if key not in self._conflicting:
            accesses = self._accesses.get(target, ())
            self._conflicting[key] = [at for at in accesses if conflicts(op, self.other[at].op)]
        return self._conflicting[key]

    @cached_property
    def _accesses(self) -> dict[int, list[int]]:
        """By location: the places in the other unit of its accesses."""
        found: dict[int, list[int]] = {}
        for at, step in enumerate(self.other):
            if step.op <= Op.WRITE:
                found.setdefault(step.target, []).append(at)
        return found

    def _are_allowed(self, into: int, out: int) -> bool:
        """Whether the other unit comes in and goes out in this order, or does both in one step.

        What it does outside of transactions is no single step: what it does first may come before the first unit, and
        what it does later after it.
        """
        return into <= out or 0 != self.other[into].inside == self.other[out].inside


def conflicts(one: int, other: int) -> bool:
    """Whether two operations on one location conflict: both are accesses, and one writes."""
    return one <= Op.WRITE and other <= Op.WRITE and Op.WRITE in (one, other)


def _held(steps: Steps) -> Iterator[dict[int, None]]:
    """The locks that are held before each step, and after the last one."""
    held: dict[int, None] = {}
    yield held
    for step in steps:
        if step.op == Op.ACQUIRE:
            held[step.target] = None
        elif step.op == Op.RELEASE:
            del held[step.target]
        yield held


def _columns_of_locks(steps: Steps) -> dict[int, int]:
    """By lock: the states of a unit in which it is held."""
    found: dict[int, int] = {}
    since: dict[int, int] = {}
    for at, step in enumerate(steps):
        if step.op == Op.ACQUIRE:
            since[step.target] = at + 1
        elif step.op == Op.RELEASE:
            found[step.target] = found.get(step.target, 0) | _low(at) & ~_low(since.pop(step.target) - 1)
    for lock, start in since.items():
        found[lock] = found.get(lock, 0) | _low(len(steps)) & ~_low(start - 1)
    return found


def _row(bits: Sequence[bool]) -> int:
    return sum(1 << at for at, bit in enumerate(bits) if bit)


def _low(last: int) -> int:
    """The states up to one."""
    return (1 << (last + 1)) - 1


def _filled(seeds: int, allowed: int) -> int:
    """What is reached from some allowed states by moving up through allowed ones: the carry of a sum does just that."""
    return ((allowed + seeds) ^ allowed | seeds) & allowed


def _turned(row: int, columns: int) -> int:
    return int(f"{row:0{columns}b}"[::-1], 2)
