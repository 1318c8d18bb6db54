"""The projection engine against the oracle, and every edge of every cycle against the definition of conflict."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from atomsan.checkers.engines._projection import Projection
from atomsan.checkers.units import RowKind
from checkers.set_rows import Row, columns, random_case, set_rows
from oracles.atomic_sets import Access, Sets, projection, projection_serializable
from oracles.loading import notation, parse_std
from oracles.model import Step

if TYPE_CHECKING:
    from atomsan.checkers.engines._projection import Cycle

GOLDEN = Path(__file__).parent.parent / "golden"
NO_REGION = 0xFFFFFFFF


def rows_of(steps: Sequence[Step], sets: Sets, declared: Sets | None = None, back: Collection[str] = ()) -> list[Row]:
    """Each step has a site of its own, so that no two cycles look the same."""
    return [row._replace(site=row.event) for row in set_rows(steps, sets, declared, back).rows]


def run(rows: Sequence[Row], size: int = 1 << 20) -> tuple[Projection, list[Cycle]]:
    engine = Projection()
    cycles: list[Cycle] = []
    for at in range(0, len(rows), size):
        engine.feed(columns(rows[at : at + size]))
        cycles += engine.take()
    engine.finish()
    return engine, cycles


def outcome(engine: Projection) -> object:
    return engine.broken().tolist(), engine.closings().tolist(), engine.counts().tolist(), engine.counters


def not_serializable(
    steps: Sequence[Step], sets: Sets, declared: Sets | None = None, back: Collection[str] = ()
) -> list[int]:
    return [
        number
        for number, (name, members) in enumerate(sets.items())
        if not projection_serializable(projection(steps, members, name, declared, back))
    ]


# ---- every cycle, against the definition


def verify(rows: Sequence[Row], engine: Projection, cycles: Sequence[Cycle]) -> None:
    """Each step is an access of its unit on the set of the cycle, each edge is one, and they make a round."""
    accesses = {(row.event, row.set): row for row in rows if row.kind != RowKind.END}
    on_set: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for row in accesses.values():
        on_set[row.unit, row.set].append(row)
    assert len(cycles) == len(engine.counts()) == len(engine.sets())
    assert len({look(cycle) for cycle in cycles}) == len(cycles)
    for cycle, set_ in zip(cycles, engine.sets().tolist(), strict=True):
        steps = []
        for event, thread, op, location, site, unit, region, transaction in cycle:
            row = accesses[event, set_]
            assert row == Row(row.kind, thread, unit, set_, location, region, site, event, transaction, row.lane)
            assert op == row.kind & 1
            steps.append(row)
        pairs = list(zip(steps[::2], steps[1::2], strict=True))
        assert len(pairs) >= 2
        assert len({first.unit for first, _ in pairs}) == len(pairs)  # no unit is passed twice
        for number, (first, second) in enumerate(pairs):
            assert first.unit != second.unit == pairs[(number + 1) % len(pairs)][0].unit
            assert first.event < second.event
            assert first.thread != second.thread or first.lane == second.lane
            if first.location != second.location or not (first.kind | second.kind) & 1:
                assert first.thread == second.thread
                assert first == on_set[first.unit, set_][-1]
                assert second == on_set[second.unit, set_][0]
        assert steps[-1].event == max(step.event for step in steps)


def look(cycle: Cycle) -> tuple[tuple[int, int, int], ...]:
    return tuple((op, site, region) for _, _, op, _, site, _, region, _ in cycle)


# ---- traces


def crowded(rng: random.Random, threads: int, locations: int, events: int, closing: float) -> list[Step]:
    """Nested regions and accesses of threads that all run from the start. `closing`: how soon regions end."""
    opened: list[list[str]] = [[] for _ in range(threads)]
    steps = []
    for _ in range(events):
        t = rng.randrange(threads)
        dice = rng.random()
        if dice < closing and opened[t]:
            steps.append(Step(f"T{t}", "end", opened[t].pop()))
        elif dice < closing + 0.2 and len(opened[t]) < 3:
            opened[t].append(f"m{rng.randrange(4)}")
            steps.append(Step(f"T{t}", "begin", opened[t][-1]))
        else:
            steps.append(Step(f"T{t}", rng.choice(("read", "write")), f"x{rng.randrange(locations)}"))
    return steps


def drawn_sets(rng: random.Random, locations: int) -> tuple[dict[str, list[str]], dict[str, list[str]] | None]:
    """Sets that may share locations, and the sets that each region is declared on."""
    sets = {
        name: [f"x{number}" for number in range(locations) if rng.random() < 0.75]
        for name in ("S", "R")[: rng.randint(1, 2)]
    }
    if rng.random() < 0.4:
        return sets, None
    return sets, {f"m{number}": [name for name in sets if rng.random() < 0.7] for number in range(4)}


Case = tuple[list[Step], dict[str, list[str]], dict[str, list[str]] | None]


def small(rng: random.Random) -> Case:
    if rng.random() < 0.5:
        return random_case(rng)
    return crowded(rng, rng.randint(2, 4), rng.randint(1, 4), rng.randint(4, 22), 0.2), *drawn_sets(rng, 4)


def many_short_units(rng: random.Random) -> Case:
    """Many nodes to collect, and some that cannot be collected while a thread keeps its region open."""
    events, closing = rng.randint(50, 110), rng.choice((0.3, 0.45))
    return crowded(rng, rng.randint(2, 5), rng.randint(2, 4), events, closing), *drawn_sets(rng, 4)


def handed_around(rng: random.Random) -> Case:
    """Conflicts mostly lead from one thread to the next: many chains, few and long cycles. T0 runs to the end."""
    threads = rng.randint(3, 7)
    steps = [Step("T0", "begin", "m0")]
    for _ in range(rng.randint(10, 30)):
        t = rng.randrange(1, threads)
        own, following = f"x{t - 1}", f"x{t % threads}"
        work = [Step(f"T{t}", "read", own), Step(f"T{t}", rng.choice(("read", "write")), following)]
        rng.shuffle(work)
        steps += [Step(f"T{t}", "begin", "m1"), *work, Step(f"T{t}", "end", "m1")]
        if rng.random() < 0.3:
            steps.append(Step("T0", rng.choice(("read", "read", "write")), f"x{rng.randrange(threads)}"))
    return steps, *drawn_sets(rng, 7)


def many_threads(rng: random.Random) -> Case:
    """More threads than bits in a word, most of them with an open region; few conflicts."""
    threads = rng.randint(66, 150)
    steps = [Step(f"T{t}", "begin", f"m{rng.randrange(4)}") for t in range(threads)]
    for t in rng.sample(range(threads), threads):
        for _ in range(rng.randint(1, 3)):
            steps.append(Step(f"T{t}", rng.choice(("read", "read", "read", "write")), f"x{rng.randrange(40)}"))
    for t in rng.sample(range(threads), 20):
        steps.append(Step(f"T{t}", rng.choice(("read", "write")), f"x{rng.randrange(40)}"))
    return steps, *drawn_sets(rng, 40)


def many_readers(rng: random.Random) -> Case:
    """Rounds in which many open units read a location and one writes it; one of the readers may read again."""
    threads = rng.randint(10, 24)
    steps: list[Step] = []
    for _ in range(rng.randint(1, 4)):
        units = rng.sample(range(threads), rng.randint(8, threads))
        steps += [Step(f"T{t}", "begin", "m0") for t in units]
        steps += [Step(f"T{t}", "read", f"x{rng.choice((0, 0, 0, 0, 1))}") for t in units * 2]
        steps += [Step("W", "begin", "m1"), *(Step("W", "write", f"x{x}") for x in (0, 2)), Step("W", "end", "m1")]
        seeing = rng.choice(units)
        rng.shuffle(units)
        steps += [Step(f"T{t}", "end", "m0") for t in units if t != seeing]
        steps += [Step(f"T{seeing}", "read", "x2")] * (rng.random() < 0.2)
        steps += [Step(f"T{seeing}", "end", "m0")]
    return steps, *drawn_sets(rng, 3)


@pytest.mark.parametrize(
    ("make", "traces", "broken", "sound"),
    [
        (small, 20_000, 4_000, 15_000),
        (many_short_units, 700, 300, 20),
        (handed_around, 1_500, 400, 400),
        (many_threads, 60, 10, 10),
        (many_readers, 400, 80, 200),
    ],
)
def test_broken_sets_and_cycles_agree_with_the_oracle(
    make: Callable[[random.Random], Case], traces: int, broken: int, sound: int
) -> None:
    rng = random.Random(make.__name__)
    seen: Counter[bool] = Counter()
    for _ in range(traces):
        steps, sets, declared = make(rng)
        rows = rows_of(steps, sets, declared)
        engine, cycles = run(rows)
        wanted = not_serializable(steps, sets, declared)
        assert engine.broken().tolist() == wanted, (steps, sets, declared)
        verify(rows, engine, cycles)
        assert engine.counters["live_nodes"] == 0
        seen.update(number in wanted for number in range(len(sets)))
    assert seen[True] >= broken  # both sorts are generated
    assert seen[False] >= sound


@pytest.mark.parametrize(("make", "traces", "differ"), [(small, 10_000, 200), (many_short_units, 600, 40)])
def test_units_in_callbacks_agree_with_the_oracle(
    make: Callable[[random.Random], Case], traces: int, differ: int
) -> None:
    """They run inside other units of their thread, on the same sets."""
    rng = random.Random(f"{make.__name__} called back")
    seen: Counter[bool] = Counter()
    different = 0
    for _ in range(traces):
        steps, sets, declared = make(rng)
        back = rng.sample(("m", "n", "o", "m0", "m1", "m2", "m3"), 4)
        rows = rows_of(steps, sets, declared, back)
        engine, cycles = run(rows)
        wanted = not_serializable(steps, sets, declared, back)
        assert engine.broken().tolist() == wanted, (steps, sets, declared, back)
        verify(rows, engine, cycles)
        assert engine.counters["live_nodes"] == 0
        different += wanted != not_serializable(steps, sets, declared)
        seen.update(number in wanted for number in range(len(sets)))
    assert min(seen.values()) > 50
    assert different > differ


def shortest_broken(accesses: Sequence[Access]) -> int | None:
    """The length of the shortest prefix that is not serializable."""
    ends = range(1, len(accesses) + 1)
    return next((end for end in ends if not projection_serializable(accesses[:end])), None)


def test_a_cycle_is_found_at_the_access_that_closes_it() -> None:
    rng = random.Random(5)
    found = 0
    for _ in range(600):
        steps, sets, _ = small(rng)
        name, members = next(iter(sets.items()))
        rows = rows_of(steps, {name: members})
        engine = Projection()
        at, count = None, 0
        for row in rows:
            engine.feed(columns([row]))
            count += row.kind != RowKind.END
            if at is None and len(engine.broken()):
                at = count
        assert at == shortest_broken(projection(steps, members, name))
        found += at is not None
    assert found > 100


@pytest.mark.parametrize("size", [1, 3, 7])
def test_batch_size_does_not_change_the_result(size: int) -> None:
    rng = random.Random(size)
    for _ in range(300):
        rows = rows_of(*many_short_units(rng))
        whole, cycles = run(rows)
        parts, same = run(rows, size)
        assert outcome(whole) == outcome(parts)
        assert cycles == same


def golden() -> Iterator[tuple[str, list[Step], dict[str, object]]]:
    for path in sorted(GOLDEN.glob("sets-*.std")):
        yield path.stem, parse_std(path.read_text()), json.loads(path.with_suffix(".json").read_text())


@pytest.mark.parametrize(("steps", "known"), [pytest.param(*one[1:], id=one[0]) for one in golden()])
def test_golden_traces_give_the_expected_broken_sets(
    steps: list[Step], known: dict[str, dict[str, dict[str, dict[str, bool]]]]
) -> None:
    rows = rows_of(steps, known["sets"], known["declared"])  # type: ignore[arg-type]
    engine, cycles = run(rows)
    names = list(known["sets"])
    answers = known["atomic_sets"]["per_set"]
    assert {names[number] for number in engine.broken()} == {n for n in names if not answers[n]["serializable"]}
    verify(rows, engine, cycles)


# ---- witnesses, memory, groups


def shown(steps: Sequence[Step], cycle: Cycle) -> str:
    """`T1:read(x) T2:write(x), ...`: an edge between commas."""
    words = ["{0.thread}:{0.op}({0.target})".format(steps[step[0]]) for step in cycle]
    return ", ".join(f"{first} {second}" for first, second in zip(words[::2], words[1::2], strict=True))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("T:begin T:r(x) U:w(x) T:w(x) T:end", "T:read(x) U:write(x), U:write(x) T:write(x)"),
        ("T:begin T:r(x) U:w(x) T:end", None),
        ("T:begin T:r(x) T:end U:w(x) T:begin T:w(x) T:end", None),
        (
            "T:begin T:w(x) U:begin U:w(y) U:r(x) T:r(y) T:end U:end",
            "T:write(x) U:read(x), U:write(y) T:read(y)",
        ),
        (  # by way of the order of U's units
            "T:begin T:w(x) U:r(x) U:w(z) U:w(y) T:r(y) T:end",
            "T:write(x) U:read(x), U:read(x) U:write(y), U:write(y) T:read(y)",
        ),
        (  # V's conflict is with T's own write, though U wrote in between
            "T:begin T:w(x) U:w(x) V:w(x) V:w(y) T:r(y) T:end",
            "T:write(x) V:write(x), V:write(x) V:write(y), V:write(y) T:read(y)",
        ),
        (
            "T:begin T:w(x) U:begin U:r(x) U:w(y) V:r(y) V:w(z) T:r(z) U:end T:end",
            "T:write(x) U:read(x), U:write(y) V:read(y), V:read(y) V:write(z), V:write(z) T:read(z)",
        ),
    ],
)
def test_cycles_of_small_traces(line: str, expected: str | None) -> None:
    steps = notation(line)
    rows = rows_of(steps, {"S": ["x", "y", "z"]})
    engine, cycles = run(rows)
    verify(rows, engine, cycles)
    assert [shown(steps, cycle) for cycle in cycles] == ([expected] if expected else [])


def test_location_in_two_sets_is_judged_for_each_set() -> None:
    steps = notation("T:begin(m) T:r(x) U:w(x) T:r(x) T:end(m)")
    engine, _ = run(rows_of(steps, {"S": ["x", "y"], "R": ["x"]}, {"m": ["R"]}))
    assert engine.broken().tolist() == [1]


def test_set_used_by_one_thread_needs_one_node() -> None:
    engine, _ = run(rows_of(notation("T:begin T:r(x) T:w(x) T:end T:w(x) " * 500), {"S": ["x"]}))
    assert engine.counters["most_nodes"] == 1
    assert engine.counters["edges"] == 0


@pytest.mark.parametrize(
    ("forever", "again"),
    [
        ("T:begin T:w(x)", "U:begin U:r(x) U:w(y) U:end"),  # each after T's unit, and after the one before
        ("T:begin T:w(x)", "U:begin U:r(x) U:w(y) U:end V:begin V:r(y) V:w(z) V:end"),
        ("T:begin T:w(x) W:begin W:w(y)", "U:begin U:r(x) U:end V:begin V:r(y) V:r(x) V:end U:begin U:w(z) U:end"),
        ("T:begin T:w(x)", "U:begin U:w(x) U:end T:w(x)"),  # a cycle each time
        ("T:begin T:w(x)", "U:begin U:w(x) U:end V:begin V:w(y) V:w(x) V:end T:r(y)"),
    ],
)
def test_open_unit_does_not_keep_ended_units_in_memory(forever: str, again: str) -> None:
    steps = notation(" ".join([forever, *[again] * 300]))
    rows = rows_of(steps, {"S": ["x", "y", "z"]})
    engine, cycles = run(rows)
    assert engine.counters["most_nodes"] <= 8
    assert engine.counters["most_edges"] <= 8
    verify(rows, engine, cycles)


def test_cycle_through_500_threads_is_reported_in_six_steps() -> None:
    """Each thread runs one unit, ordered after the unit of the thread before."""
    chain = " ".join(f"T{n}:begin T{n}:r(x) T{n}:w(x) T{n}:end" for n in range(500))
    steps = notation(f"M:begin M:w(y) T0:r(y) {chain} M:r(x)")
    rows = rows_of(steps, {"S": ["x", "y"]})
    engine, cycles = run(rows)
    verify(rows, engine, cycles)
    assert [len(cycle) for cycle in cycles] == [6]  # not one step for each thread


def test_repeated_accesses_add_no_edges() -> None:
    accesses = "T:r(x) U:r(x) T:w(y) T:r(y) U:r(y) "
    once, _ = run(rows_of(notation("T:begin U:begin T:w(y) " + accesses), {"S": ["x", "y"]}))
    often, _ = run(rows_of(notation("T:begin U:begin T:w(y) " + "T:r(x) U:r(x) U:r(y) " * 50), {"S": ["x", "y"]}))
    assert once.counters["edges"] == often.counters["edges"] == 1


def violation(number: int, site: int) -> list[Row]:
    """T reads, U writes, T reads again: on set and location `number`."""
    one, other, event = 2 * number, 2 * number + 1, 10 * number
    return [
        Row(RowKind.READ, 0, one, number, number, 7, site, event),
        Row(RowKind.WRITE | RowKind.ALONE, 1, other, number, number, NO_REGION, site + 1, event + 1),
        Row(RowKind.READ, 0, one, number, number, 7, site + 2, event + 2),
        Row(RowKind.END, unit=one),
    ]


def test_cycles_with_the_same_sites_are_grouped_and_counted() -> None:
    engine = Projection()
    engine.feed(columns([row for number in range(100) for row in violation(number, number % 2)]))
    cycles = engine.take()
    assert [look(cycle) for cycle in cycles] == [
        ((0, site, 7), (1, site + 1, NO_REGION), (1, site + 1, NO_REGION), (0, site + 2, 7)) for site in (0, 1)
    ]
    assert engine.take() == []
    engine.feed(columns([row for number in range(100, 103) for row in violation(number, 2 * (number % 2))]))
    (cycle,) = engine.take()
    assert cycle[0][4] == 0 + 2
    assert engine.counts().tolist() == [52, 50, 1]
    assert engine.sets().tolist() == [0, 1, 101]
    assert engine.broken().tolist() == list(range(103))
    assert engine.closings().tolist() == [1] * 103


def test_number_of_groups_is_limited() -> None:
    engine = Projection(most_groups=3)
    engine.feed(columns([row for number in range(10) for row in violation(number, 5 * number)] + violation(10, 0)))
    assert len(engine.take()) == len(engine.counts()) == 3
    assert engine.counts().tolist() == [2, 1, 1]
    assert engine.counters["ungrouped"] == 7
    assert len(engine.broken()) == 11


def test_no_rows_give_no_cycles() -> None:
    engine = Projection()
    engine.feed(columns([]))
    engine.feed(columns([Row(RowKind.END, unit=3)]))
    engine.finish()
    assert outcome(engine)[:3] == ([], [], [])  # type: ignore[index]
