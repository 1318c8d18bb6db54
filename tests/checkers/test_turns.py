"""Turns against their definition, on generated traces; their examples; and their limits."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest

import atomsan
from atomsan import TraceBuilder
from atomsan.checkers.davida import DavidaChecker
from atomsan.checkers.engines._turns import TurnEngine
from atomsan.checkers.loop import run_checkers
from atomsan.checkers.results import NO_REGION, Edge, Transaction, Witness
from atomsan.checkers.turns import TurnFinder
from atomsan.findings.making import TraceNames, findings_of
from atomsan.trace.events import Op
from atomsan.trace.trace import Trace
from oracles.turns import STRUCTURE, Access, Kind, Row, Turn, accesses, is_turn, kinds
from strategies import random_steps

Violating = set[tuple[str, int]]

EDGES = {
    ("write", "read"): Edge.WRITE_READ,
    ("read", "write"): Edge.READ_WRITE,
    ("write", "write"): Edge.WRITE_WRITE,
}


def built(rows: Iterable[Row]) -> Trace:
    builder = TraceBuilder()
    builder.symbols.locations.intern(STRUCTURE, field="<structure>")
    for thread, op, target, site in rows:
        builder.add(thread, op, target, site=str(site))
    return builder.build()


def found(trace: Trace, violating: Violating | None = None, cut: int = 1 << 16, most: int = 100_000) -> TurnFinder:
    rows = None
    if violating is not None:
        numbered = [(trace.symbols.threads.intern(thread), number) for thread, number in violating]
        rows = np.array(numbered, np.uint32).reshape(-1, 2)
    finder = TurnFinder(rows, trace.symbols.locations, most)
    for batch in trace.batches():
        for at in range(0, len(batch), cut):
            finder.feed(batch[at : at + cut])
    finder.finish()
    return finder


def turn_of(witness: Witness, by_event: dict[int, Access]) -> Turn:
    steps = [by_event[step.event] for step in witness.steps]
    return Turn(steps[0], steps[1], steps[-2], steps[-1])


def verify(witness: Witness, turn: Turn, trace: Trace) -> None:
    """The steps say of the accesses what is so, and their edges too."""
    assert is_turn(turn)
    a, r1, r2, b = turn
    between = [Edge.PROGRAM_ORDER] if r1 != r2 else []
    assert [step.edge for step in witness.steps] == [
        EDGES[a.op, r1.op],
        *between,
        EDGES[r2.op, b.op],
        Edge.PROGRAM_ORDER,
    ]
    symbols = trace.symbols
    for step, access in zip(witness.steps, [a, *([r1] if between else []), r2, b], strict=True):
        assert symbols.threads[step.thread] == access.thread
        assert symbols.locations[step.target] == access.target
        assert symbols.sites[step.site] == str(access.site)
        assert (Op(step.op).word, step.transaction) == (access.op, access.number)
        assert (access.path[0][0] if access.path else None) == (
            None if step.region == NO_REGION else symbols.regions[step.region]
        )
    assert witness.blamed == Transaction(witness.steps[0].thread, a.number)


def compare(rows: Sequence[Row], violating: Violating | None = None, cut: int = 1 << 16) -> int:
    """The number of kinds."""
    expected = kinds(rows, violating)
    trace = built(rows)
    finder = found(trace, violating, cut)
    by_event = {access.event: access for access in accesses(rows)}
    seen: dict[Kind, Witness] = {}
    for witness in finder.witnesses():
        turn = turn_of(witness, by_event)
        verify(witness, turn, trace)
        kind = turn.kind
        assert kind not in seen
        seen[kind] = witness
        assert turn in expected[kind].turns
        assert witness.count == expected[kind].count
        # folding loses no shorter example of one turn
        if turn.turns == 1 or not finder.counters["folded"]:
            assert turn.gap == expected[kind].gap
    assert seen.keys() == expected.keys()
    findings_of(finder.witnesses(), TraceNames(trace), "observed")
    return len(seen)


def random_rows(rng: random.Random, sites: int, **limits: Any) -> list[Row]:
    return [Row(*step, rng.randrange(sites)) for step in random_steps(rng, **limits)]


def all_transactions(rows: Sequence[Row]) -> list[tuple[str, int]]:
    return sorted({(access.thread, access.number) for access in accesses(rows) if access.number})


@pytest.mark.parametrize(
    ("traces", "sites", "limits", "least"),
    [
        (3000, 2, {"events": 24}, 5_000),
        (300, 4, {"events": 40, "locks": 0, "handovers": 0, "forks": False, "threads": 3, "regions": 2}, 8_000),
        (80, 1, {"events": 70, "locks": 0, "handovers": 0, "variables": 2, "threads": 2, "regions": 1}, 3_000),
    ],
)
def test_kinds_are_those_of_the_definition(traces: int, sites: int, limits: dict[str, Any], least: int) -> None:
    rng = random.Random(5)
    listed = 0
    for _ in range(traces):
        rows = random_rows(rng, sites, **limits)
        violating = None
        if rng.random() < 0.4:
            everything = all_transactions(rows)
            violating = set(rng.sample(everything, rng.randint(0, len(everything))))
        listed += compare(rows, violating, cut=rng.choice([1, 3, 1 << 16]))
    assert listed > least


def test_kinds_of_a_long_trace_are_those_of_its_parts() -> None:
    """Small traces with threads, locations and sites of their own, a few at a time: the log is made compact often."""
    rng = random.Random(8)
    rows: list[Row] = []
    expected: Counter[tuple[int, int]] = Counter()  # (count, gap) of each kind
    running: list[list[Row]] = []
    for part in range(1500):
        steps = random_steps(rng, events=30, locks=0, handovers=0, forks=False, threads=3, closed=True)
        small = [
            Row(f"{part}.{thread}", op, f"{part}.{target}", 10 * part + rng.randrange(3))
            for thread, op, target in steps
        ]
        expected.update((listed.count, listed.gap) for listed in kinds(small).values())
        running.append(small[::-1])
        while len(running) > 5 or (running and part == 1499):
            chosen = rng.choice(running)
            if chosen:
                rows.append(chosen.pop())
            else:
                running.remove(chosen)
    trace = built(rows)
    finder = found(trace)
    by_event = {access.event: access for access in accesses(rows)}
    seen: Counter[tuple[int, int]] = Counter()
    for witness in finder.witnesses():
        turn = turn_of(witness, by_event)
        verify(witness, turn, trace)
        seen[witness.count, turn.gap] += 1
    assert seen == expected
    assert seen.total() > 5000


def with_one_turn(finder: TurnFinder) -> set[Transaction]:
    return {
        witness.blamed
        for witness in finder.witnesses()
        if witness.blamed and witness.steps[1].event <= witness.steps[-2].event
    }


@pytest.mark.parametrize(("threads", "least"), [(2, 200), (4, 300)])
def test_transactions_with_one_turn_are_those_that_violate_by_data(threads: int, least: int) -> None:
    """With two threads exactly those; with more, a way through a third thread violates without a turn."""
    rng = random.Random(3)
    violating_in_all = 0
    for _ in range(800):
        shape = {"threads": threads, "locks": 0, "handovers": 0, "forks": False, "events": 40}
        # each event has a site of its own, so that no transaction hides behind another of the same kind
        rows = [Row(*step, site) for site, step in enumerate(random_steps(rng, **shape))]
        trace = built(rows)
        (result,) = run_checkers(trace, [DavidaChecker(serializability=False)]).results
        violating = set(result.transactions)
        turning = with_one_turn(found(trace))
        assert turning <= violating
        if threads == 2:
            assert turning == violating
        for witness in result.witnesses:
            if len({step.thread for step in witness.steps}) == 2:
                assert witness.blamed in turning
        violating_in_all += len(violating)
    assert violating_in_all > least


# ---- by example


def pairs(text: str, violating: Violating | None = None) -> list[str]:
    """The steps of each kind, each with the number of its event; and its count."""
    trace = atomsan.parse(text)
    names = trace.symbols
    return [
        " ".join(f"{names.threads[s.thread]}:{Op(s.op).short}({names.locations[s.target]})@{s.event}" for s in w.steps)
        + f" x{w.count}"
        for w in found(trace, violating).witnesses()
    ]


def test_every_pair_is_listed_not_only_the_first() -> None:
    assert pairs("T:begin(m)@1 T:r(log)@2 T:r(n)@3 U:w(log)@4 U:w(n)@5 T:w(n)@6 T:end(m)@7") == [
        "T:r(log)@1 U:w(log)@3 U:w(n)@4 T:w(n)@5 x1",
        "T:r(n)@2 U:w(n)@4 T:w(n)@5 x1",
    ]


def test_transactions_that_are_not_asked_for_are_only_remote() -> None:
    text = "T:begin(m) T:r(x)@1 U:begin(m) U:r(x)@2 U:w(x)@3 T:w(x)@4 U:r(x)@5 U:end(m) T:end(m)"
    assert any(pair.startswith("U:") for pair in pairs(text))
    assert sorted(pairs(text, {("T", 1)})) == sorted(pair for pair in pairs(text) if pair.startswith("T:"))
    assert pairs(text, set()) == []


def test_two_transactions_that_interleave_each_have_two_turns() -> None:
    assert pairs("T:begin(m) U:begin(m) T:w(x)@1 U:w(y)@2 T:r(y)@3 U:r(x)@4 T:end(m) U:end(m)") == [
        "U:w(y)@3 T:r(y)@4 T:w(x)@2 U:r(x)@5 x1",
        "T:w(x)@2 U:r(x)@5 U:w(y)@3 T:r(y)@4 x1",
    ]


def test_locks_make_no_turn() -> None:
    text = "T:begin(m) T:acq(l) T:rel(l) U:acq(l) U:w(x) U:rel(l) T:acq(l) T:r(x) T:rel(l) T:end(m)"
    assert pairs(text) == []


def loop(*iterations: str) -> str:
    inside = " ".join(f"T:begin(body)@1 {iteration} T:end(body)@2" for iteration in iterations)
    return f"T:begin(run)@0 {inside} T:end(run)@9"


def test_pairs_of_one_iteration_and_across_iterations_are_kinds_of_their_own() -> None:
    once = "T:r(x)@3 T:r(y)@4 U:w(x)@5 T:w(x)@6"
    assert len(pairs(loop(once))) == 1
    assert sorted(pairs(loop(once, once))) == [
        "T:r(x)@2 U:w(x)@4 T:r(x)@8 x1",
        "T:r(x)@2 U:w(x)@4 T:w(x)@11 x1",  # read in the first, written in the second
        "T:r(x)@2 U:w(x)@4 T:w(x)@5 x1",
        "T:r(x)@2 U:w(x)@4 U:w(x)@10 T:w(x)@11 x1",
        "T:w(x)@5 U:w(x)@10 T:w(x)@11 x1",
    ]
    # the shortest of each, wherever it comes
    short = "T:r(x)@3 U:w(x)@5 T:w(x)@6"
    assert "T:r(x)@14 U:w(x)@15 T:w(x)@16 x1" in pairs(loop(once, once, short))


def test_remote_accesses_of_two_transactions_are_a_kind_of_their_own() -> None:
    text = "T:begin(m) T:r(x) {} T:r(y) T:end(m)"
    together = pairs(text.format("U:begin(m) U:w(x) U:w(y) U:end(m)"), {("T", 1)})
    apart = pairs(text.format("U:begin(m) U:w(x) U:end(m) U:begin(m) U:w(y) U:end(m)"), {("T", 1)})
    assert together == ["T:r(x)@1 U:w(x)@3 U:w(y)@4 T:r(y)@6 x1"]
    assert apart == ["T:r(x)@1 U:w(x)@3 U:w(y)@6 T:r(y)@8 x1"]
    both = "T:begin(m) T:r(x)@1 U:begin(m) U:w(x)@2 U:w(y)@3 U:end(m) U:begin(m) U:w(y)@3 U:end(m) T:r(y)@4 T:end(m)"
    assert len(pairs(both, {("T", 1)})) == 2


# ---- much of the same


def repeated(rows: Sequence[Row], times: int) -> list[Row]:
    return [row for _ in range(times) for row in rows]


LOST_UPDATE = [
    Row("T", "begin", "m", 0),
    Row("T", "read", "x", 1),
    Row("U", "begin", "m", 0),
    Row("U", "read", "x", 1),
    Row("U", "write", "x", 2),
    Row("U", "end", "m", 0),
    Row("T", "write", "x", 2),
    Row("T", "end", "m", 0),
]


def test_what_is_seen_often_is_still_counted() -> None:
    def counts(times: int) -> list[tuple[list[int], int]]:
        finder = found(built(repeated(LOST_UPDATE, times)))
        return [([step.site for step in witness.steps], witness.count) for witness in finder.witnesses()]

    assert counts(1)
    assert counts(3000) == [(sites, 3000 * count) for sites, count in counts(1)]


def in_turns(rng: random.Random) -> list[Row]:
    """Threads of the same code go on in turns, part by part; now and then out of turn, or another one comes between."""
    count = rng.randrange(3, 14)
    code = [(rng.choice(["read", "write"]), rng.choice(["x", "x", "y", "own"]), rng.randrange(3)) for _ in range(5)]
    cut = rng.randrange(6)
    rows: list[Row] = []
    for part, is_last in ((code[:cut], False), (code[cut:], True)) * rng.randrange(1, 3):
        order = list(range(count))
        if rng.random() < 0.3:
            one, other = rng.randrange(count), rng.randrange(count)
            order[one], order[other] = order[other], order[one]
        for number in order:
            thread = f"T{number}"
            rows += [] if is_last else [(thread, "begin", "m", 9)]
            for op, target, site in part:
                rows.append((thread, op, f"own{number}" if target == "own" else target, site))
                rows += [(thread, "write", "z", 5)] if rng.random() < 0.02 else []
            rows += [(thread, "end", "m", 9)] if is_last else []
            rows += [("U", rng.choice(["read", "write"]), rng.choice("xyz"), 7)] if rng.random() < 0.05 else []
    return rows


def counted(trace: Trace, often: int) -> tuple[list[tuple[int, bool, tuple[tuple[int, int], ...]]], int]:
    """The kinds by operations and sites, with their counts; and how many transactions were counted as twins."""
    engine = TurnEngine(often=often)
    for batch in trace.batches():
        engine.feed(batch.first, batch.thread, batch.op, batch.target, batch.site)
    engine.finish()
    kinds = [(count, two, tuple((step[2], step[4]) for step in steps)) for count, two, steps in engine.found]
    return sorted(kinds), engine.twins


def test_twins_are_counted_as_if_they_were_looked_up() -> None:
    rng = random.Random(5)
    with_twins = 0
    for _ in range(500):
        trace = built(in_turns(rng))
        kinds, _ = counted(trace, often=1 << 30)
        counts, twins = counted(trace, often=rng.randrange(1, 4))
        assert counts == kinds
        with_twins += twins > 0
    assert with_twins > 200


def test_thousands_of_tasks_open_at_once_are_twins() -> None:
    """Of n transactions and n - 1 other threads each, only some are looked at, and every pair is counted."""
    count = 6000
    rows: list[Row] = []
    for half in range(2):
        for k in range(count):
            rows += [] if half else [(f"T{k}", "begin", "m", 0)]
            rows += [(f"T{k}", "read", "n", 1 + half), (f"T{k}", "write", "n", 3 + half)]
            rows += [(f"T{k}", "end", "m", 0)] if half else []
    kinds, twins = counted(built(rows), often=1000)
    assert twins > count - 100
    assert {number for number, *_ in kinds} == {count * (count - 1), count * (count - 1) // 2}


@pytest.mark.parametrize("is_loop", [False, True])
def test_long_transaction_has_the_kinds_of_a_short_one(is_loop: bool) -> None:
    """A hundred thousand accesses to one location: most of them are left out, and no kind is."""
    inner = [
        *([Row("T", "begin", "body", 5)] if is_loop else []),
        *(Row("T", "read", "x", 1), Row("U", "write", "x", 3), Row("T", "write", "x", 2)),
        *([Row("T", "end", "body", 5)] if is_loop else []),
    ]

    def sites(times: int) -> set[tuple[int, ...]]:
        finder = found(built([Row("T", "begin", "m", 0), *repeated(inner, times)]))
        assert (finder.counters["thinned"] > 0) == (times > 1000)
        gaps = {witness.steps[-1].event - witness.steps[0].event for witness in finder.witnesses()}
        assert min(gaps) == 2
        return {tuple(step.site for step in witness.steps) for witness in finder.witnesses()}

    assert sites(30_000) == sites(5)


def test_run_of_the_same_access_is_folded() -> None:
    reads = [Row("T", "read", "x", 1)] * 1000
    finder = found(
        built([Row("T", "begin", "m", 0), *reads, Row("U", "write", "x", 2), *reads, Row("T", "end", "m", 0)])
    )
    assert [[step.event for step in witness.steps] for witness in finder.witnesses()] == [[1000, 1001, 1002]]
    assert finder.counters["folded"] == 2 * (1000 - 3)


def test_kinds_are_limited_and_the_rest_is_counted() -> None:
    rows = random_rows(random.Random(1), 50, events=100, locks=0, handovers=0, forks=False, threads=2, variables=2)
    everything = len(found(built(rows)).witnesses())
    finder = found(built(rows), most=10)
    assert everything > 100
    assert len(finder.witnesses()) == finder.counters["kinds"] == 10
    assert finder.counters["dropped"] > 0


def test_pairs_at_many_locations_are_not_all_combined() -> None:
    """Ten thousand locations torn apart at the same places: a few kinds, in time that follows their number."""
    count = 10_000
    rows = [
        Row("T", "begin", "m", 0),
        *(Row("T", "read", f"x{i}", 1) for i in range(count)),
        *(Row("U", "write", f"x{i}", 2) for i in range(count)),
        *(Row("T", "write", f"x{i}", 3) for i in range(count)),
    ]
    found_kinds = {
        tuple((step.site, step.op) for step in witness.steps): len({step.target for step in witness.steps})
        for witness in found(built(rows)).witnesses()
    }
    assert len(found_kinds) == 2  # of one location, and of two
    assert set(found_kinds.values()) == {1, 2}
