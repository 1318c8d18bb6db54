"""`Rows` in plain Python, close to the definition: the input of the atomic-set engines in tests.

An access to a location of a set belongs to the outermost open region of its thread that is declared on the set, else it
is a unit of its own. A callback starts a new unit: regions outside the innermost callback are ignored. A unit ends with
the region that opened it; one that is open at the end of the trace gets no END row. The oracle's names are kept beside
the numbers, so that answers can be compared with `oracles.atomic_sets`.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from atomsan.checkers.units import RowKind, Rows
from oracles.atomic_sets import Sets, Unit
from oracles.model import ACCESSES, Step, normalise

_NO_REGION = 0xFFFFFFFF
_DTYPES = {"kind": np.uint8, "event": np.uint64}


class Row(NamedTuple):
    kind: int
    thread: int = 0
    unit: int = 0
    set: int = 0
    location: int = 0
    region: int = 0
    site: int = 0
    event: int = 0
    transaction: int = 0
    lane: int | None = None  # None: the thread has one


def columns(rows: Sequence[Row]) -> Rows:
    rows = [row._replace(lane=row.thread if row.lane is None else row.lane) for row in rows]
    table = zip(*rows, strict=True) if rows else ((),) * len(Row._fields)
    return Rows(
        **{
            name: np.array(column, dtype=_DTYPES.get(name, np.uint32))
            for name, column in zip(Row._fields, table, strict=True)
        }
    )


class _Numbers(dict[str, int]):
    """Numbers by name, in the order in which names come."""

    def __missing__(self, name: str) -> int:
        self[name] = len(self)
        return self[name]


@dataclass
class SetRows:
    """The rows of a trace, and the names behind their numbers."""

    rows: list[Row] = field(default_factory=list)
    threads: _Numbers = field(default_factory=_Numbers)
    lanes: dict[tuple[str, int], int] = field(default_factory=dict)
    """Of a thread and a depth of callbacks."""
    locations: _Numbers = field(default_factory=_Numbers)
    regions: _Numbers = field(default_factory=_Numbers)
    sets: list[str] = field(default_factory=list)
    units: dict[Unit, int] = field(default_factory=dict)

    def batches(self, size: int) -> Iterator[Rows]:
        for at in range(0, len(self.rows), size):
            yield columns(self.rows[at : at + size])

    def add(
        self,
        kind: int,
        event: int,
        unit: Unit,
        depth: int,
        set_name: str,
        location: str,
        region: str | None,
        transaction: int,
    ) -> None:
        self.rows.append(
            Row(
                kind=kind,
                thread=self.threads[unit[0]],
                lane=self.lanes.setdefault((unit[0], depth), len(self.lanes)),
                unit=self.units.setdefault(unit, len(self.units)),
                set=self.sets.index(set_name),
                location=self.locations[location],
                region=_NO_REGION if region is None else self.regions[region],
                event=event,
                transaction=transaction,
            )
        )


def set_rows(steps: Sequence[Step], sets: Sets, declared: Sets | None = None, back: Collection[str] = ()) -> SetRows:
    found = SetRows(sets=list(sets))
    opened: dict[str, list[tuple[int, str]]] = {}  # by thread: the place and name of each open region
    numbers: dict[str, int] = {}  # by thread: the transactions that it has begun
    for place, (thread, op, target, origin) in enumerate(normalise(steps)):
        regions = opened.setdefault(thread, [])
        if op == "begin":
            numbers[thread] = numbers.get(thread, 0) + (not regions)
            regions.append((place, target))
        elif op == "end":
            unit = (thread, regions.pop()[0])
            if origin is not None and unit in found.units:
                found.rows.append(Row(RowKind.END, unit=found.units[unit], event=place))
        elif op in ACCESSES:
            kind = RowKind.WRITE if op == "write" else RowKind.READ
            depth = sum(region in back for _, region in regions)
            inside = list(regions)
            while any(region in back for _, region in inside[1:]):
                del inside[0]
            for name in (name for name, locations in sets.items() if target in locations):
                on_set = (region for region in inside if declared is None or name in declared.get(region[1], ()))
                opening, region = next(on_set, (place, None))
                alone = RowKind.ALONE if region is None else 0
                transaction = numbers[thread] if regions else 0
                found.add(kind | alone, place, (thread, opening), depth, name, target, region, transaction)
    return found


def random_case(rng: random.Random) -> tuple[list[Step], dict[str, list[str]], dict[str, list[str]] | None]:
    """A small trace in which units overlap, sets of its locations, and the sets that each region is declared on."""
    threads = [f"T{number}" for number in range(rng.randint(2, 4))]
    locations = "wxyz"[: rng.randint(1, 4)]
    names = ("A", "B")[: rng.randint(1, 2)]
    regions = "mno"
    sets = {name: rng.sample(locations, rng.randint(1, len(locations))) for name in names}
    declared = None
    if rng.random() < 0.6:
        declared = {region: rng.sample(names, rng.randint(0, len(names))) for region in regions if rng.random() < 0.9}
    reads, begins = rng.choice([0.3, 0.5, 0.7]), rng.choice([0.1, 0.2])
    opened: dict[str, list[str]] = {thread: [] for thread in threads}
    steps: list[Step] = []
    for _ in range(rng.randint(6, 26)):
        thread, chance = rng.choice(threads), rng.random()
        if chance < begins or (not opened[thread] and chance < 0.6):
            opened[thread].append(rng.choice(regions))
            steps.append(Step(thread, "begin", opened[thread][-1]))
        elif opened[thread] and chance > 0.92:
            steps.append(Step(thread, "end", opened[thread].pop()))
        else:
            op = "read" if rng.random() < reads else "write"
            steps.append(Step(thread, op, rng.choice(locations)))
    return steps, sets, declared
