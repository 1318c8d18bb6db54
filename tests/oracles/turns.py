"""Turns by their definition: every a, b, r1, r2 of a trace is tried.

A turn: accesses a before b of a regular transaction T, and r1, r2 of one other thread, where a comes before r1 and
conflicts with it, r2 before b and conflicts with it; and r1 = r2, or r1 comes before r2 (one turn), or r2 before r1 in
one regular transaction (two turns).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from oracles.model import ACCESSES

# The location that is the structure of a container, in all of these traces.
STRUCTURE = "x1"


class Row(NamedTuple):
    """A step, and where in the source it is."""

    thread: str
    op: str
    target: str
    site: int


class Access(NamedTuple):
    event: int
    thread: str
    op: str
    target: str
    site: int
    number: int  # of its transaction in the thread, 0 outside
    own: int  # how many events of the thread come before it
    path: tuple[tuple[str, int], ...]  # (region, site of its begin), the outermost first
    inner: int  # the begin of its innermost region


class Kind(NamedTuple):
    path_a: tuple[tuple[str, int], ...]
    a: tuple[int, str]  # site and operation
    path_b: tuple[tuple[str, int], ...]
    b: tuple[int, str]
    r1: tuple[int, str]
    r2: tuple[int, str]
    are_structure: tuple[bool, bool]  # the locations of a and of b
    same_location: bool
    same_transaction: bool
    same_region: bool
    turns: int


class Turn(NamedTuple):
    a: Access
    r1: Access
    r2: Access
    b: Access

    @property
    def gap(self) -> int:
        return self.b.own - self.a.own

    @property
    def turns(self) -> int:
        return 1 if self.r1.event <= self.r2.event else 2

    @property
    def kind(self) -> Kind:
        a, r1, r2, b = self
        return Kind(
            a.path,
            (a.site, a.op),
            b.path,
            (b.site, b.op),
            (r1.site, r1.op),
            (r2.site, r2.op),
            (a.target == STRUCTURE, b.target == STRUCTURE),
            a.target == b.target,
            r1 == r2 or is_same_transaction(r1, r2),
            a.inner == b.inner,
            self.turns,
        )

    @property
    def meeting(self) -> tuple[object, ...]:
        """What a kind is counted by: the transaction and the other thread, or both transactions."""
        return (self.a.thread, self.a.number, self.r1.thread, self.r1.number if self.turns == 2 else None)


@dataclass
class Listed:
    """What there is of a kind."""

    turns: set[Turn] = field(default_factory=set)

    @property
    def gap(self) -> int:
        return min(turn.gap for turn in self.turns)

    @property
    def count(self) -> int:
        return len({turn.meeting for turn in self.turns})


def accesses(rows: Sequence[Row]) -> Iterator[Access]:
    stacks: dict[str, list[tuple[str, int, int]]] = {}
    numbers: dict[str, int] = {}
    own: dict[str, int] = {}
    for event, (thread, op, target, site) in enumerate(rows):
        opened = stacks.setdefault(thread, [])
        own[thread] = own.get(thread, -1) + 1
        if op == "begin":
            numbers[thread] = numbers.get(thread, 0) + (not opened)
            opened.append((target, site, event))
        elif op == "end":
            opened.pop()
        elif op in ACCESSES:
            number = numbers[thread] if opened else 0
            path = tuple((region, begin_site) for region, begin_site, _ in opened)
            inner = opened[-1][2] if opened else -1
            yield Access(event, thread, op, target, site, number, own[thread], path, inner)


def is_same_transaction(one: Access, other: Access) -> bool:
    return one.thread == other.thread and one.number == other.number > 0


def is_conflict(one: Access, other: Access) -> bool:
    """The first comes before the second, which is of another thread, and one of them writes."""
    return (
        one.event < other.event
        and one.thread != other.thread
        and one.target == other.target
        and "write" in (one.op, other.op)
    )


def is_turn(turn: Turn) -> bool:
    a, r1, r2, b = turn
    return (
        is_same_transaction(a, b)
        and a.event < b.event
        and is_conflict(a, r1)
        and is_conflict(r2, b)
        and r1.thread == r2.thread
        and (r1.event <= r2.event or is_same_transaction(r1, r2))
    )


def turns(rows: Sequence[Row]) -> Iterator[Turn]:
    everything = list(accesses(rows))
    for a in everything:
        after = [r1 for r1 in everything if is_conflict(a, r1)]
        for b in everything if after else ():
            if is_same_transaction(a, b):
                for r2 in (r2 for r2 in everything if is_conflict(r2, b)):
                    yield from (turn for r1 in after if is_turn(turn := Turn(a, r1, r2, b)))


def kinds(rows: Sequence[Row], violating: set[tuple[str, int]] | None = None) -> dict[Kind, Listed]:
    """All kinds of turns, of all transactions or of some."""
    found: dict[Kind, Listed] = {}
    for turn in turns(rows):
        if violating is None or (turn.a.thread, turn.a.number) in violating:
            found.setdefault(turn.kind, Listed()).turns.add(turn)
    return found
