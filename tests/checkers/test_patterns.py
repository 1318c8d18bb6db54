"""The race automata against the definition of the 14 patterns: every match with its set, units and locations."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from atomsan.checkers.engines._patterns import Patterns
from atomsan.checkers.units import RowKind, Rows
from checkers.set_rows import Row, SetRows, columns, random_case, set_rows
from oracles import atomic_sets
from oracles.atomic_sets import Access, Match, Sets
from oracles.loading import notation, parse_std
from oracles.model import Step

GOLDEN = Path(__file__).parent.parent / "golden"
WHOLE = 1 << 20

Found = list[tuple[int, ...]]  # pattern, set, unit, other, location, second; and the event that completed it


def fed(batches: Iterable[Rows], *, collects: bool = True, takes: bool = False) -> Found:
    """All matches; with `takes`, taken after each batch."""
    engine = Patterns(collects=collects)
    found: Found = []
    for rows in batches:
        engine.feed(rows)
        if takes:
            found += taken(engine)
    engine.finish()
    return found + taken(engine)


def taken(engine: Patterns) -> Found:
    match = engine.take()
    assert {name: column.dtype for name, column in match.items()} == {
        "pattern": np.uint8,
        **dict.fromkeys(("set", "unit", "other", "location", "second"), np.uint32),
        "event": np.uint64,
    }
    return list(zip(*(column.tolist() for column in match.values()), strict=True))


def without_events(found: Found) -> set[tuple[int, ...]]:
    distinct = {match[:-1] for match in found}
    assert len(distinct) == len(found), "a match came twice"
    return distinct


def wanted(rows: SetRows, matches: dict[str, set[Match]]) -> set[tuple[int, ...]]:
    """The oracle's answer in the engine's numbers."""
    return {
        (
            match.pattern,
            rows.sets.index(name),
            rows.units[match.unit],
            rows.units[match.other],
            rows.locations[match.locations[0]],
            rows.locations[match.locations[-1]],
        )
        for name, found in matches.items()
        for match in found
    }


def by_definition(steps: Sequence[Step], sets: Sets, declared: Sets | None) -> dict[str, set[Match]]:
    return {
        name: atomic_sets.matches(atomic_sets.projection(steps, locations, name, declared))
        for name, locations in sets.items()
    }


def by_pairs(steps: Sequence[Step], sets: Sets, declared: Sets | None) -> dict[str, set[Match]]:
    """The same, faster: for each pair of overlapping units, only their accesses to common locations."""
    return {
        name: {
            match
            for two in _overlapping(atomic_sets.projection(steps, locations, name, declared))
            for match in atomic_sets.matches(two)
        }
        for name, locations in sets.items()
    }


def _overlapping(accesses: Sequence[Access]) -> Iterator[list[Access]]:
    units: dict[atomic_sets.Unit, list[int]] = {}
    for place, access in enumerate(accesses):
        units.setdefault(access.unit, []).append(place)
    for (one, mine), (other, theirs) in combinations(units.items(), 2):
        if one[0] == other[0] or mine[-1] < theirs[0] or theirs[-1] < mine[0]:
            continue
        common = {accesses[place].location for place in mine} & {accesses[place].location for place in theirs}
        two = [accesses[place] for place in sorted(mine + theirs) if accesses[place].location in common]
        if any(access.op == "write" for access in two):
            yield two


def check(steps: Sequence[Step], sets: Sets, declared: Sets | None = None) -> set[tuple[int, ...]]:
    """The engine's answer, which must be the oracle's."""
    rows = set_rows(steps, sets, declared)
    found = fed(rows.batches(WHOLE))
    assert without_events(found) == wanted(rows, by_definition(steps, sets, declared))
    return without_events(found)


def numbers(steps: Sequence[Step], sets: Sets, declared: Sets | None = None) -> list[int]:
    return sorted({match[0] for match in check(steps, sets, declared)})


# ---- rows


def test_set_rows_agree_with_the_oracles_projection() -> None:
    rng = random.Random(1)
    for _ in range(1000):
        steps, sets, declared = random_case(rng)
        back = rng.sample("mno", rng.randint(0, 2))
        made = set_rows(steps, sets, declared, back)
        units, locations = list(made.units), list(made.locations)
        for number, (name, members) in enumerate(sets.items()):
            rows = [row for row in made.rows if row.kind != RowKind.END and row.set == number]
            assert [
                (units[row.unit], "write" if row.kind & RowKind.WRITE else "read", locations[row.location])
                for row in rows
            ] == [access[:3] for access in atomic_sets.projection(steps, members, name, declared, back)]


# ---- golden and small traces


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("sets-*.std")), ids=lambda path: path.stem)
def test_golden_traces_give_the_expected_patterns(path: Path) -> None:
    steps, answers = parse_std(path.read_text()), json.loads(path.with_suffix(".json").read_text())
    found = check(steps, answers["sets"], answers["declared"])
    assert sorted({match[0] for match in found}) == answers["atomic_sets"]["patterns"]
    for number, answer in enumerate(answers["atomic_sets"]["per_set"].values()):
        assert sorted({match[0] for match in found if match[1] == number}) == answer["patterns"]


def test_figure_3_gives_pattern_11() -> None:
    rows = set_rows(parse_std((GOLDEN / "sets-pattern11.std").read_text()), {"S": ["x", "y"]})
    x, y = rows.locations["x"], rows.locations["y"]
    assert (11, 0, 0, 1, y, x, 9) in fed(rows.batches(WHOLE))


PATTERNS = {
    1: "u:r(x) v:w(x) u:w(x)",
    2: "u:r(x) v:w(x) u:r(x)",
    3: "u:w(x) v:r(x) u:w(x)",
    4: "u:w(x) v:w(x) u:r(x)",
    5: "u:w(x) v:w(x) u:w(x)",
    6: "u:w(x) v:w(x) v:w(y) u:w(y)",
    7: "u:w(x) v:w(y) v:w(x) u:w(y)",
    8: "u:w(x) v:w(y) u:w(y) v:w(x)",
    9: "u:w(x) v:r(x) v:r(y) u:w(y)",
    10: "u:w(x) v:r(y) v:r(x) u:w(y)",
    11: "u:r(x) v:w(x) v:w(y) u:r(y)",
    12: "u:r(x) v:w(y) v:w(x) u:r(y)",
    13: "u:r(x) v:w(y) u:r(y) v:w(x)",
    14: "u:w(x) v:r(y) u:w(y) v:r(x)",
}


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("ends", [False, True])
def test_each_pattern_is_matched_alone(pattern: int, ends: bool) -> None:
    """Also if the unit without the last event ends before it."""
    *most, last = PATTERNS[pattern].split()
    over = "v" if last.startswith("u") else "u"
    words = ["u:begin", "v:begin", *most, *([f"{over}:end"] if ends else []), last]
    steps = notation(" ".join(words))
    rows = set_rows(steps, {"S": ["x", "y"]})
    (match,) = fed(rows.batches(WHOLE))
    x, y = rows.locations["x"], rows.locations["y"] if pattern > 5 else rows.locations["x"]
    assert match == (pattern, 0, 0, 1, x, y, len(words) - 1)
    assert check(steps, {"S": ["x", "y"]}) == {match[:-1]}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_no_pattern_without_its_last_event_or_in_two_sets_or_in_one_thread(pattern: int) -> None:
    words = ["u:begin", "v:begin", *PATTERNS[pattern].split()]
    assert numbers(notation(" ".join(words[:-1])), {"S": ["x", "y"]}) == []
    assert numbers(notation(" ".join(words)), {"S": ["x"], "T": ["y"]}) == ([pattern] if pattern <= 5 else [])
    one = " ".join(word.replace("v:", "u:") for word in words)
    assert numbers(notation(one), {"S": ["x", "y"]}) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # a unit of one access in the middle
        ("u:begin u:r(x) v:w(x) u:w(x) u:end", [1]),
        ("u:begin u:w(x) v:r(x) u:w(x) u:end", [3]),
        ("u:begin u:r(x) v:r(x) u:w(x) u:end", []),
        # events before the second unit began count too
        ("u:begin u:r(x) u:w(y) v:begin v:w(x) v:w(y) u:r(y) u:r(x)", [2, 4, 11]),
        # one unit after the other is no pattern, whichever way round
        ("u:begin u:w(x) u:w(y) u:end v:begin v:w(x) v:w(y) v:end", []),
        # write skew: not serializable, and no pattern
        ("u:begin v:begin u:r(x) v:r(y) u:w(y) v:w(x)", []),
        # the second write of v to y counts for pattern 6, though v wrote y before
        ("u:begin v:begin v:w(y) u:w(x) v:w(x) v:w(y) u:w(y)", [6, 8]),
        # a later unit of the same thread is another unit than the one that ended
        ("u:begin u:r(x) v:begin v:w(x) v:end v:begin v:r(x) v:end u:r(x)", [2]),
        ("u:begin u:r(x) v:begin v:w(y) v:end v:begin v:w(x) v:end u:r(y)", []),
    ],
)
def test_patterns_of_small_traces(line: str, expected: list[int]) -> None:
    assert numbers(notation(line), {"S": ["x", "y"]}) == expected


def test_two_units_match_each_pattern_only_once() -> None:
    """u reads x, a thousand units write it, u reads and writes: each of them counts once for each pattern."""
    engine = Patterns()
    rows = [Row(RowKind.READ, thread=0, unit=0)]
    rows += [Row(RowKind.WRITE | RowKind.ALONE, thread=1, unit=unit) for unit in range(1, 1001)]
    rows += [Row(RowKind.READ, unit=0), Row(RowKind.READ, unit=0), Row(RowKind.WRITE, unit=0)]
    engine.feed(columns(rows))
    found = engine.take()
    assert np.bincount(found["pattern"]).tolist() == [0, 1000, 1000]
    assert sorted(set(found["other"].tolist())) == list(range(1, 1001))
    engine.feed(columns([Row(RowKind.WRITE, unit=0), Row(RowKind.END, unit=0)]))
    assert not any(len(column) for column in engine.take().values())


def test_matches_are_capped_for_each_set() -> None:
    case = notation("u:begin v:begin " + "u:r(x) v:w(x) u:w(x) v:r(x) u:r(y) v:w(y) u:w(y) " * 3), {"A": "x", "B": "y"}
    rows = set_rows(*case)
    every = fed(rows.batches(WHOLE))
    engine = Patterns(most=2)
    for batch in rows.batches(1):
        engine.feed(batch)
    some = taken(engine)
    events = [sorted({match[-1] for match in every if match[1] == number})[:2] for number in (0, 1)]
    assert some == [match for match in every if match[-1] in events[match[1]]]  # one match at each of two events
    assert [sum(match[1] == number for match in some) for number in (0, 1)] == [2, 2]
    assert len(every) > 10


def test_memory_of_ended_units_is_released() -> None:
    """A thousand rounds of two overlapping units, each round on its own set and locations."""
    engine = Patterns()
    for number in range(1000):
        first, second = 2 * number, 2 * number + 1
        rows = [
            Row(kind, thread, unit, set=number, location=8 * number + place)
            for place in range(8)
            for kind in (RowKind.READ, RowKind.WRITE)
            for thread, unit in ((0, first), (1, second))
        ]
        engine.feed(columns([*rows, Row(RowKind.END, unit=first), Row(RowKind.END, unit=second)]))
        engine.take()
        if number == 0:
            once = engine.counters
    assert engine.counters == once | {"tuples": 1000 * once["tuples"]}
    assert once["most_units"] == 2


def test_units_ending_in_any_order_are_released() -> None:
    """A hundred units are open at a time, each on two sets, and a random one ends."""
    rng = random.Random(3)
    engine = Patterns()
    alive: list[int] = []
    for unit in range(3000):
        ends = [Row(RowKind.END, unit=alive.pop(rng.randrange(100)))] if len(alive) == 100 else []
        accesses = [Row(RowKind.READ, unit, unit, set=place, location=2 * unit + place) for place in (0, 1)]
        engine.feed(columns([*ends, *accesses]))
        alive.append(unit)
    assert engine.counters == {"tuples": 6000, "most_tuples": 200, "most_units": 100}


def test_matches_in_a_set_of_100_locations_agree_with_the_oracle() -> None:
    """u writes 100 locations in order while v reads them in reverse: rows and columns must grow."""
    locations = [f"x{number}" for number in range(100)]
    words = ["u:begin", "v:begin"]
    for one, other in zip(locations, reversed(locations), strict=True):
        words += [f"u:w({one})", f"v:r({other})"]
    steps = notation(" ".join(words))
    sets = {"S": locations}
    rows = set_rows(steps, sets)
    found = without_events(fed(rows.batches(WHOLE)))
    assert found == wanted(rows, by_hundred(steps, sets))
    assert len(found) > 1000


def by_hundred(steps: Sequence[Step], sets: Sets) -> dict[str, set[Match]]:
    """By the definition, for two locations at a time: all at once would take minutes."""
    (name,) = sets
    accesses = atomic_sets.projection(steps, sets[name], name)
    of: dict[str, list[tuple[int, Access]]] = {}
    for place, access in enumerate(accesses):
        of.setdefault(access.location, []).append((place, access))
    return {
        name: {
            match
            for one, other in combinations(sets[name], 2)
            for match in atomic_sets.matches([access for _, access in sorted(of[one] + of[other])])
        }
    }


# ---- generated


def test_pairwise_oracle_agrees_with_the_definition() -> None:
    rng = random.Random(2)
    for _ in range(150):
        case = random_case(rng)
        assert by_pairs(*case) == by_definition(*case)


@pytest.mark.parametrize("seed", range(8))
def test_generated_traces_agree_with_the_oracle(seed: int) -> None:
    """20,000 traces in all. Matches do not depend on forgetting tuples, nor on the size of batches."""
    rng = random.Random(f"patterns {seed}")
    seen: set[int] = set()
    for number in range(2500):
        case = random_case(rng)
        rows = set_rows(*case)
        found = fed(rows.batches(WHOLE))
        expected = wanted(rows, by_pairs(*case))
        assert without_events(found) == expected, (seed, number, *described(case))
        assert sorted(fed(rows.batches(WHOLE), collects=False)) == sorted(found), (seed, number, *described(case))
        if number % 4 == 0:
            assert fed(rows.batches(rng.randint(1, 5)), takes=True) == found
        seen |= {match[0] for match in expected}
    assert seen == set(range(1, 15))


def described(case: tuple[list[Step], Any, Any]) -> tuple[str, Any, Any]:
    steps, sets, declared = case
    short = {"read": "r", "write": "w"}
    return " ".join(f"{thread}:{short.get(op, op)}({target})" for thread, op, target in steps), sets, declared
