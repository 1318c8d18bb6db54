"""Two units, exactly: whether some interleaving of them has no serial order, and one that shows it.

All interleavings of two units are the ways through a grid: how far the one has come, and how far the other. Ways on
which both hold a lock, or that leave a unit in the middle of one call of a built-in operation, or which cannot be
completed, are no interleavings. This needs no premises, but takes as long as
the product of the two lengths; the forest says in less time where to look.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from atomsan.trace.events import Op

if TYPE_CHECKING:
    from atomsan.predictors.units import Steps

# Larger grids are not looked at.
MOST_STATES = 1 << 20

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
    """The interleavings of two units."""

    def __init__(self, one: Steps, other: Steps) -> None:
        self.one, self.other = one, other
        self._held = _held(one), _held(other)
        self._inner = _inner(one), _inner(other)
        """Whether a unit is in the middle of one call before each step, and after the last one."""

    @property
    def states(self) -> int:
        return (len(self.one) + 1) * (len(self.other) + 1)

    @property
    def is_too_large(self) -> bool:
        return self.states > MOST_STATES

    @cached_property
    def legal(self) -> list[bytearray]:
        """By state: whether an interleaving comes by that can be completed."""
        rows, columns = len(self.one) + 1, len(self.other) + 1
        ours, theirs = self._held
        mine, others = self._inner
        free = [bytearray(not (ours[i] & theirs[j]) for j in range(columns)) for i in range(rows)]
        ahead = [bytearray(columns) for _ in range(rows)]
        for i in range(rows):
            for j in range(columns):
                is_reached = (
                    i == j == 0 or (i and ahead[i - 1][j] and not others[j]) or (j and ahead[i][j - 1] and not mine[i])
                )
                ahead[i][j] = bool(free[i][j] and is_reached)
        back = [bytearray(columns) for _ in range(rows)]
        for i in reversed(range(rows)):
            for j in reversed(range(columns)):
                is_end = i == rows - 1 and j == columns - 1
                goes_on = (
                    is_end
                    or (i + 1 < rows and back[i + 1][j] and not others[j])
                    or (j + 1 < columns and back[i][j + 1] and not mine[i])
                )
                back[i][j] = bool(ahead[i][j] and goes_on)
        return back

    def way(self, *through: tuple[State, State]) -> list[State] | None:
        """A way from beginning to end that comes, one after the other, by a state in each of some rectangles.

        A rectangle is given by its two corners.
        """
        rows, columns = len(self.one) + 1, len(self.other) + 1
        mine, others = self._inner
        goal = len(through)
        stage = [[-1] * columns for _ in range(rows)]
        for i in range(rows):
            for j in range(columns):
                if not self.legal[i][j]:
                    continue
                best = 0 if i == j == 0 else -1
                if i and not others[j]:
                    best = max(best, stage[i - 1][j])
                if j and not mine[i]:
                    best = max(best, stage[i][j - 1])
                while 0 <= best < goal and _is_inside((i, j), through[best]):
                    best += 1
                stage[i][j] = best
        if stage[-1][-1] < goal:
            return None
        return _traced_back(stage, self._inner)

    def tear(self, first: int, last: int, into: int, out: int) -> list[State] | None:
        """A way on which the first access comes before `into` of the other unit, and `out` before the last one."""
        rows, columns = len(self.one), len(self.other)
        before_into = ((first + 1, 0), (rows, into))
        before_last = ((0, out + 1), (last, columns))
        found = self.way(before_into, before_last)
        return found if found is not None else self.way(before_last, before_into)

    def whole(self, first: int, last: int) -> list[State] | None:
        """A way on which the other unit comes as a whole between two steps of this one, as late as it can."""
        columns = len(self.other)
        for at in range(last, first, -1):
            if not self._inner[0][at] and all(self.legal[at]):
                into = [(i, 0) for i in range(at)]
                return into + [(at, j) for j in range(columns)] + [(i, columns) for i in range(at, len(self.one) + 1)]
        return None

    def tears(self) -> Iterator[Tear]:
        """All quadruples of accesses by which a transaction of the first unit could be torn apart, as far as data says.

        Those that are close together come first.
        """
        partners = [
            self._partners(step.op, step.target) if step.op <= Op.WRITE and step.inside else [] for step in self.one
        ]
        for distance in range(1, len(partners)):
            for first, ways_in in enumerate(partners[:-distance]):
                last = first + distance
                if self.one[first].inside == self.one[last].inside:
                    for into, out in product(ways_in, partners[last]):
                        if self._are_allowed(into, out):
                            yield Tear(first, last, into, out)

    def violation(self) -> tuple[Tear, list[State]] | None:
        """Some interleaving without a serial order, if there is one."""
        for tear in self._widest():
            if (way := self.tear(*tear)) is not None:
                return tear, way
        return None

    def _widest(self) -> Iterator[Tear]:
        """Of the tears by the same data, those that are possible if any of them is.

        What lies further apart in the first unit is torn apart more easily, and so it is the later the other one comes
        in, and the sooner it goes out.
        """
        ends: dict[tuple[int, int, int], tuple[int, int]] = {}
        for at, step in enumerate(self.one):
            if step.op <= Op.WRITE and step.inside:
                key = step.op, step.target, step.inside
                ends[key] = ends.get(key, (at, at))[0], at
        for (op, target, inside), (first, _) in ends.items():
            for (last_op, last_target, last_inside), (_, last) in ends.items():
                if inside == last_inside and first < last:
                    ways_in, ways_out = self._partners(op, target), self._partners(last_op, last_target)
                    yield from (Tear(first, last, *way) for way in self._widest_ways(ways_in, ways_out))

    def _widest_ways(self, ways_in: Sequence[int], ways_out: Sequence[int]) -> Iterator[tuple[int, int]]:
        if not ways_in or not ways_out:
            return
        if self._are_allowed(ways_in[-1], ways_out[0]):
            yield ways_in[-1], ways_out[0]
            return
        for out in ways_out:
            allowed = [into for into in ways_in if self._are_allowed(into, out)]
            if allowed:
                yield allowed[-1], out

    def _partners(self, op: int, target: int) -> list[int]:
        """The places in the other unit of what conflicts with an access."""
        return [at for at, step in enumerate(self.other) if step.target == target and conflicts(op, step.op)]

    def _are_allowed(self, into: int, out: int) -> bool:
        """Whether the other unit comes in and goes out in this order, or does both in one step.

        What it does outside of transactions is no single step: what it does first may come before the first unit, and
        what it does later after it.
        """
        return into <= out or 0 != self.other[into].inside == self.other[out].inside


def conflicts(one: int, other: int) -> bool:
    """Whether two operations on one location conflict: both are accesses, and one writes."""
    return one <= Op.WRITE and other <= Op.WRITE and Op.WRITE in (one, other)


def _held(steps: Steps) -> list[frozenset[int]]:
    """The locks that are held before each step, and after the last one."""
    held = [frozenset[int]()]
    for step in steps:
        if step.op == Op.ACQUIRE:
            held.append(held[-1] | {step.target})
        elif step.op == Op.RELEASE:
            held.append(held[-1] - {step.target})
        else:
            held.append(held[-1])
    return held


def _inner(steps: Steps) -> list[bool]:
    return [*(step.is_joined for step in steps), False]


def _is_inside(state: State, corners: tuple[State, State]) -> bool:
    (low, left), (high, right) = corners
    return low <= state[0] <= high and left <= state[1] <= right


def _traced_back(stage: list[list[int]], inner: tuple[list[bool], list[bool]]) -> list[State]:
    """The way that has come by most, from its end."""
    mine, others = inner
    i, j = len(stage) - 1, len(stage[0]) - 1
    found = [(i, j)]
    while i or j:
        options = [*([(i - 1, j)] if i and not others[j] else []), *([(i, j - 1)] if j and not mine[i] else [])]
        i, j = max(options, key=lambda state: stage[state[0]][state[1]])
        found.append((i, j))
    return found[::-1]
