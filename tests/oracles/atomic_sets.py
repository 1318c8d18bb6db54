"""Atomic-set serializability: atomic-sets-2008, its 14 access patterns and the exact answer by projection.

An access to a location of set S belongs to the outermost open region of its thread that is declared on S. Regions
around the innermost open region that a library called back (`back` has the names of those) do not count.

As in `docs/papers.md`: with `declared` None every region is on every set, else a region that is not listed is on none;
an access in no region declared on S is a unit of its own; l1 and l2 differ; other events may come between those of a
pattern; the projection has the data conflicts on the locations of S and the order of units within a thread, and neither
locks nor fork/join. A match proves the projection not serializable; no match proves nothing.

A unit that is called back runs inside another one of its thread, which goes on afterwards. The two are not ordered: the
order of a thread is that of its units at one depth of callbacks. A conflict is one of two threads with no write to the
location in between. (Without callbacks that is the same as any conflict: what is in between is ordered with both.)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, NamedTuple

from oracles.model import ACCESSES, Step, normalise
from oracles.serializability import Graph, reachable

# Each event of a pattern: R or W, by u (0) or u' (1), on l1 (1) or l2 (2).
_NOTATION = {
    1: "R01 W11 W01",
    2: "R01 W11 R01",
    3: "W01 R11 W01",
    4: "W01 W11 R01",
    5: "W01 W11 W01",
    6: "W01 W11 W12 W02",
    7: "W01 W12 W11 W02",
    8: "W01 W12 W02 W11",
    9: "W01 R11 R12 W02",
    10: "W01 R12 R11 W02",
    11: "R01 W11 W12 R02",
    12: "R01 W12 W11 R02",
    13: "R01 W12 R02 W11",
    14: "W01 R12 W02 R11",
}
_OPS = {"R": "read", "W": "write"}

Unit = tuple[str, int]  # thread, and the place of the event that opens the unit
Sets = Mapping[str, Sequence[str]]


class Access(NamedTuple):
    unit: Unit
    op: str
    location: str
    origin: int | None
    depth: int = 0  # of callbacks


class Match(NamedTuple):
    pattern: int
    unit: Unit
    other: Unit
    locations: tuple[str, ...]


def projection(
    steps: Sequence[Step],
    locations: Sequence[str],
    name: str,
    declared: Sets | None = None,
    back: Collection[str] = (),
) -> list[Access]:
    """The accesses to the set's locations, each with its unit of work on the set."""
    open_regions: dict[str, list[tuple[int, str]]] = {}  # the place of each begin, and the region
    result: list[Access] = []
    for place, (thread, op, target, origin) in enumerate(normalise(steps)):
        regions = open_regions.setdefault(thread, [])
        if op == "begin":
            regions.append((place, target))
        elif op == "end":
            regions.pop()
        elif op in ACCESSES and target in locations:
            callbacks = [at for at, (_, region) in enumerate(regions) if region in back]
            inside = regions[callbacks[-1] :] if callbacks else regions
            on_set = (opening for opening, region in inside if declared is None or name in declared.get(region, ()))
            result.append(Access((thread, next(on_set, place)), op, target, origin, len(callbacks)))
    return result


def matches(accesses: Sequence[Access]) -> set[Match]:
    """Every way to choose pattern, units and locations so that the pattern occurs."""
    units = {access.unit for access in accesses}
    locations = sorted({access.location for access in accesses})
    return {
        Match(pattern, unit, other, chosen)
        for pattern, notation in _NOTATION.items()
        for unit, other in permutations(units, 2)
        if unit[0] != other[0]
        for chosen in permutations(locations, 2 if pattern > 5 else 1)
        if _occurs(accesses, _wanted(notation, (unit, other), chosen))
    }


def _wanted(notation: str, units: tuple[Unit, Unit], chosen: tuple[str, ...]) -> Iterator[tuple[Unit, str, str]]:
    for kind, who, where in map(tuple, notation.split()):
        yield units[int(who)], _OPS[kind], chosen[int(where) - 1]


def _occurs(accesses: Sequence[Access], wanted: Iterator[tuple[Unit, str, str]]) -> bool:
    """Is `wanted` a subsequence? (`in` on an iterator goes on from where it stopped.)"""
    present = (access[:3] for access in accesses)
    return all(event in present for event in wanted)


def projection_serializable(accesses: Sequence[Access]) -> bool:
    numbers = {unit: number for number, unit in enumerate(dict.fromkeys(access.unit for access in accesses))}
    graph: Graph = {number: set() for number in numbers.values()}
    for second, later in enumerate(accesses):
        is_overwritten = False
        for earlier in reversed(accesses[:second]):
            if earlier.unit != later.unit and _ordered(earlier, later, is_overwritten):
                graph[numbers[earlier.unit]].add(numbers[later.unit])
            is_overwritten |= earlier.location == later.location and earlier.op == "write"
    return not any(node in reachable(graph, node) for node in graph)


def _ordered(earlier: Access, later: Access, is_overwritten: bool) -> bool:
    if earlier.unit[0] == later.unit[0]:
        return earlier.depth == later.depth
    same_location = earlier.location == later.location
    return same_location and "write" in (earlier.op, later.op) and not is_overwritten


def check(
    steps: Sequence[Step], sets: Sets, declared: Sets | None = None, back: Collection[str] = ()
) -> dict[str, Any]:
    """The answer in the shape of the golden files."""
    per_set: dict[str, dict[str, Any]] = {}
    for name, locations in sets.items():
        accesses = projection(steps, locations, name, declared, back)
        per_set[name] = {
            "patterns": sorted({match.pattern for match in matches(accesses)}),
            "serializable": projection_serializable(accesses),
        }
    return {
        "patterns": sorted({pattern for answer in per_set.values() for pattern in answer["patterns"]}),
        "serializable": all(answer["serializable"] for answer in per_set.values()),
        "per_set": per_set,
    }
