"""RegionTrack and Davida against the definition of a violation, and their witnesses against happens-before."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import atomsan
from atomsan import TraceBuilder
from atomsan.checkers.davida import DavidaChecker
from atomsan.checkers.engines._violations import ViolationEngine
from atomsan.checkers.flattening import FlatBatch, flattened
from atomsan.checkers.regiontrack import RegionTrackChecker
from atomsan.checkers.registry import CHECKERS
from atomsan.checkers.results import NO_REGION, Edge, Result, Transaction, TransactionList, Witness
from atomsan.trace.events import NO_SITE, Op
from atomsan.trace.generator import generate, options_for
from atomsan.trace.trace import Trace
from oracles import serializability, violating
from oracles.loading import notation, parse_std
from oracles.model import Event, Step, happens_before, normalise, owners, transactions
from strategies import random_steps

GOLDEN = Path(__file__).parent.parent / "golden"
CHECKER_CLASSES = (RegionTrackChecker, DavidaChecker)
Class = type[RegionTrackChecker] | type[DavidaChecker]
MANY = 1 << 40


# ---- running


def built(steps: Sequence[Step]) -> Trace:
    """A trace whose sites are the numbers of its events, so that no two witnesses look the same."""
    builder = TraceBuilder()
    for i, step in enumerate(steps):
        builder.add(step.thread, step.op, step.target, site=str(i))
    return builder.build()


def cut(batches: Iterable[FlatBatch], rng: random.Random, longest: int) -> Iterator[FlatBatch]:
    """The same events in batches of random length."""
    for batch in batches:
        at = 0
        while at < len(batch):
            end = min(at + rng.randint(1, longest), len(batch))
            columns = {name: getattr(batch, name)[at:end] for name in ("thread", "op", "target", "site")}
            yield replace(batch, first=batch.first + at, **columns)
            at = end


@dataclass
class Found:
    result: Result
    pairs: list[tuple[int, int]]
    engine: ViolationEngine


def checked(checker_class: Class, batches: Iterable[FlatBatch], **options: Any) -> Found:
    checker = checker_class(pairs=MANY, **options)
    for batch in batches:
        assert not checker.feed(batch) or options.get("first")
    return Found(checker.result(), sorted(checker.engine.pairs), checker.engine)


@dataclass
class Expected:
    pairs: list[tuple[int, int]]
    transactions: set[tuple[str, int]]
    serializable: bool


def expected(steps: Sequence[Step]) -> Expected:
    found = violating.violations(steps)
    return Expected(
        sorted((one.first, one.second) for one in found),
        {(one.transaction.thread, one.transaction.number or 0) for one in found},
        serializability.serializable(steps),
    )


def compare(steps: Sequence[Step], answer: Expected | None = None) -> Expected:
    answer = answer or expected(steps)
    trace = built(steps)
    names = trace.symbols.threads
    for checker_class in CHECKER_CLASSES:
        found = checked(checker_class, flattened(trace))
        result = found.result
        assert found.pairs == answer.pairs
        assert result.violations == len(answer.pairs)
        assert {(names[t], number) for t, number in result.transactions} == answer.transactions
        assert len(result.transactions) == len(answer.transactions)
        assert result.serializable == answer.serializable
        assert result.verdict == ("holds" if answer.serializable else "violated")
        if answer.pairs:
            assert result.first_event == min(e_b for _, e_b in answer.pairs)
        if checker_class is DavidaChecker and answer.pairs:
            verify_witnesses(steps, trace, found)
    return answer


# ---- witnesses


ORDERS = {
    Edge.WRITE_READ: ("write", "read"),
    Edge.READ_WRITE: ("read", "write"),
    Edge.WRITE_WRITE: ("write", "write"),
    Edge.LOCK: ("release", "acquire"),
    Edge.HAND_OVER: ("post", "take"),
}


def explains(edge: Edge, one: Event, other: Event) -> bool:
    """Is that how these two events are ordered?"""
    if edge == Edge.PROGRAM_ORDER:
        return one.thread == other.thread
    if one.thread == other.thread:
        return False
    if edge == Edge.FORK:
        return one.op == "fork" and one.target == other.thread
    if edge == Edge.JOIN:
        return other.op == "join" and other.target == one.thread
    return (one.op, other.op) == ORDERS[edge] and one.target == other.target


def verify_witnesses(steps: Sequence[Step], trace: Trace, found: Found) -> None:
    events = normalise(steps)
    place_of = {event.origin: place for place, event in enumerate(events) if event.origin is not None}
    before = happens_before(events)
    regions = transactions(events)
    owner = owners(regions)
    pairs = Counter(found.pairs)
    for witness in found.result.witnesses:
        places = [place_of[step.event] for step in witness.steps]
        for step, place in zip(witness.steps, places, strict=True):
            event, transaction = events[place], regions[owner[place]]
            seen = trace.symbols.event(step.thread, step.op, step.target, step.site)
            assert (seen.thread, seen.op.word, seen.target, seen.site) == (*event[:3], str(step.event))
            assert step.transaction == (transaction.number or 0)
            outermost = events[transaction.events[0]].target if transaction.number else None
            assert outermost == (None if step.region == NO_REGION else trace.symbols.regions[step.region])
        for step, one, other in zip(witness.steps, places, places[1:], strict=False):
            assert one < other
            assert one in before[other]
            assert explains(step.edge, events[one], events[other])
        first, last = witness.steps[0], witness.steps[-1]
        assert last.edge == Edge.PROGRAM_ORDER
        assert owner[places[0]] == owner[places[-1]]
        assert witness.blamed == (first.thread, first.transaction) == (last.thread, last.transaction)
        e_a = max(a for a, b in pairs if b == last.event and events[place_of[a]].thread == events[places[-2]].thread)
        assert witness.steps[-2].event == e_a or (last.op == Op.JOIN and witness.steps[-2].event < e_a)
    counters = found.result.counters
    assert sum(witness.count for witness in found.result.witnesses) == len(found.pairs) == counters["witnesses"]
    assert counters["kept"] + counters["skipped"] == counters["dependencies"]
    assert len(found.result.transactions) <= counters["distinct_witnesses"] <= counters["witnesses"]
    assert found.engine.forest == 0


# ---- pairs of events, compared exactly


def golden() -> Iterator[Any]:
    for path in sorted(GOLDEN.glob("*.std")):
        yield pytest.param(path.read_text(), json.loads(path.with_suffix(".json").read_text()), id=path.stem)
    for number, line in enumerate((GOLDEN / "random.jsonl").read_text().splitlines()):
        answers = json.loads(line)
        yield pytest.param(answers["trace"], answers, id=f"random-{number}")


@pytest.mark.parametrize(("text", "answers"), list(golden()))
def test_golden_traces_give_the_expected_violations(text: str, answers: dict[str, Any]) -> None:
    pairs = sorted((a, b) for a, b in answers["violation_events"])
    regular = {(thread, number) for thread, number in answers["violating"]}
    assert answers["violations"] == len(pairs)
    compare(parse_std(text), Expected(pairs, regular, answers["serializable"]))


SHAPES: dict[str, tuple[int, dict[str, Any]]] = {
    "mixed": (2500, {}),
    "crowded": (1200, {"threads": 8, "events": 60}),
    "fork and join": (1000, {"threads": 12, "events": 50, "variables": 2, "locks": 1}),
    "hand-overs": (600, {"threads": 6, "variables": 1, "locks": 0, "handovers": 3, "events": 40}),
    "all inside regions": (500, {"unary": False, "events": 40}),
    "no nesting": (300, {"nesting": False, "reentrant": False}),
    "90 threads": (60, {"threads": 90, "events": 250, "variables": 4, "locks": 3}),
}


@pytest.mark.parametrize("name", SHAPES)
def test_generated_traces_agree_with_the_definition(name: str) -> None:
    count, limits = SHAPES[name]
    rng = random.Random(name)
    violated = sum(bool(compare(random_steps(rng, **limits)).pairs) for _ in range(count))
    assert violated > count // 10


@pytest.mark.parametrize(
    ("line", "pairs"),
    [
        ("T:begin T:r(x) U:w(x) T:w(x) T:end", [(2, 3)]),
        ("T:begin T:r(x) T:end U:w(x) T:w(x)", []),
        # a write after reads of several threads depends on each of them
        ("T:begin T:w(x) U:r(x) V:r(x) T:w(x) T:end", [(2, 4), (3, 4)]),
        # a second read since the write is no dependency
        ("T:begin T:r(x) U:w(x) T:r(x) T:r(x) T:end", [(2, 3)]),
        ("T:begin T:w(x) U:w(x) T:w(x) T:end", [(2, 3)]),
        # U's write comes before U is ordered after the region
        ("T:begin U:w(x) T:w(y) U:r(y) T:w(x) T:end", []),
        ("T:begin T:w(y) U:r(y) U:w(x) T:r(x) T:end", [(3, 4)]),
        # through three threads, one of them joined
        ("T:begin T:w(a) T:fork(U) U:r(a) U:w(b) V:r(b) V:join(U) V:w(c) T:r(c) T:end", [(7, 8)]),
        ("T:begin T:fork(U) U:begin U:begin U:end U:end T:join(U) T:end", [(5, 6)]),
        ("T:begin T:fork(U) U:begin U:begin T:join(U) T:end", [(3, 4)]),
        ("T:begin T:fork(U) T:join(U) T:end", []),
        ("T:begin T:post(h) U:take(h) U:post(h) T:take(h) T:take(h) T:end", [(3, 4)]),
        ("T:begin T:acq(l) T:rel(l) U:acq(l) U:rel(l) T:acq(l) T:rel(l) T:end", [(4, 5)]),
        # a reused slot: events of its old owner are not those of its new one
        ("M:fork(A) A:w(x) M:join(A) M:fork(B) B:begin B:w(x) M:r(x) B:w(x)", [(6, 7)]),
        # the first reader's region has ended, the second one reads again: only its last read counts
        ("A:begin A:r(x) T:begin T:w(y) B:r(y) B:r(x) A:end B:r(x) T:w(x) T:end", [(7, 8)]),
        # U's write came before it was ordered after the region, so V's read of it gives no order
        ("T:begin T:w(x) U:w(y) U:r(x) V:r(y) V:w(z) T:r(z) T:end", []),
    ],
)
def test_violating_event_pairs_of_small_traces(line: str, pairs: list[tuple[int, int]]) -> None:
    assert compare(notation(line)).pairs == pairs


def test_cycle_against_event_order_violates_no_transaction() -> None:
    text = (GOLDEN / "aerodrome-rho3.std").read_text()
    result = checked(DavidaChecker, flattened(built(parse_std(text)))).result
    assert (result.verdict, result.serializable, result.violations) == ("violated", False, 0)
    assert list(result.transactions) == []
    assert result.first_event is not None


# ---- any batches, any number of threads


def test_batches_of_any_size_give_the_same_answer() -> None:
    rng = random.Random(7)
    for _ in range(400):
        trace = built(random_steps(rng, threads=6, events=50))
        for checker_class in CHECKER_CLASSES:
            whole = checked(checker_class, flattened(trace))
            for longest in (1, 7):
                parts = checked(checker_class, cut(flattened(trace), rng, longest))
                assert parts.pairs == whole.pairs
                assert parts.result == whole.result


def short_lived(count: int, rng: random.Random) -> tuple[list[Step], set[int]]:
    """The main thread's region k runs beside child k, which may write the location that the region reads twice."""
    steps, interfered = [], set()
    for k in range(1, count + 1):
        bad = rng.random() < 0.5
        main = partial(Step, "main")
        child = partial(Step, f"child{k}")
        steps += [main("fork", f"child{k}"), main("begin", "m"), main("read", "x")]
        if bad:
            interfered.add(k)
            steps += [child("begin", "c"), child("write", "x"), child("end", "c")]
        else:
            steps += [child("write", f"own{k % 7}")]
        steps += [main("read", "x"), main("write", "x"), main("end", "m"), main("join", f"child{k}")]
    return steps, interfered


def test_thousands_of_short_lived_threads_need_few_slots() -> None:
    steps, interfered = short_lived(5000, random.Random(3))
    trace = built(steps)
    for checker_class in CHECKER_CLASSES:
        found = checked(checker_class, flattened(trace))
        assert {number for _, number in found.result.transactions} == interfered
        assert found.result.violations == len(interfered)
        assert found.engine.slots_used == 2


def test_slot_is_not_reused_while_a_dependency_refers_to_it() -> None:
    """The children come after a region that stays open: it is violated when it reads what each of them wrote."""
    steps = [Step("main", "begin", "m"), Step("main", "write", "go")]
    for k in range(300):
        steps += [
            Step(f"c{k}", "read", "go"),
            Step(f"c{k}", "write", f"x{k}"),
            Step("other", "fork", f"d{k}"),
            Step(f"d{k}", "read", "go"),
            Step(f"d{k}", "write", f"y{k}"),
            Step("other", "join", f"d{k}"),
        ]
    steps += [Step("main", "read", f"{name}{k}") for k in range(300) for name in "xy"]
    found = checked(DavidaChecker, flattened(built(steps)))
    assert found.result.violations == 600
    assert found.engine.slots_used == 602


def test_cycle_through_a_thousand_open_regions_is_found() -> None:
    """More than one mask can hold. Each region is ordered after the one before it, and the first after the last."""
    count = 1000
    steps = [Step(f"T{k}", "begin", "m") for k in range(count)]
    steps += [Step("T0", "write", "x0")]
    for k in range(1, count):
        steps += [Step(f"T{k}", "read", f"x{k - 1}"), Step(f"T{k}", "write", f"x{k}")]
    steps += [Step("T0", "read", f"x{count - 1}")]
    for checker_class in CHECKER_CLASSES:
        result = checked(checker_class, flattened(built(steps))).result
        assert list(result.transactions) == [Transaction(0, 1)]
    (witness,) = result.witnesses
    assert [step.thread for step in witness.steps] == [0] + [k for k in range(1, count) for _ in "rw"] + [0]


def test_more_open_regions_than_one_mask_holds_agree_with_the_definition() -> None:
    rng = random.Random(9)
    for _ in range(8):
        threads = [f"T{k}" for k in range(150)]
        rng.shuffle(threads)
        steps = [Step(thread, "begin", "m") for thread in threads]
        for _ in range(250):
            thread = rng.choice(threads)
            if rng.random() < 0.2:
                steps += [Step(thread, "end", "m"), Step(thread, "begin", "m")]
            else:
                steps.append(Step(thread, rng.choice(["read", "write"]), f"x{rng.randrange(20)}"))
        assert compare(steps).pairs


def test_exactly_the_injected_violations_of_large_traces_are_found() -> None:
    for seed, handovers in ((1, 0), (2, 20)):
        source = generate(
            options_for("violating", events=200_000, violations=700, seed=seed, handovers=handovers, threads=20)
        )
        batches = list(flattened(source))
        truth = source.truth
        for checker_class in CHECKER_CLASSES:
            found = checked(checker_class, batches)
            assert found.result.violations == truth["violations"]
            names = [[source.symbols.threads[thread], number] for thread, number in found.result.transactions]
            assert sorted(names) == sorted(truth["transactions"])
            assert found.pairs == sorted((one["events"][1], one["events"][2]) for one in truth["injected"])
        assert found.result.counters["largest_forest"] < 100


# ---- witnesses, grouped


def test_witnesses_of_the_papers_example_are_found() -> None:
    """Section III.B, 1): rho_1 = <tx4, tx2, tx6, tx5, tx4> and rho_2 = <tx1, tx6, tx5, tx1>."""
    trace = built(parse_std((GOLDEN / "davida-alpha1.std").read_text()))
    result = checked(DavidaChecker, flattened(trace)).result
    assert [sequence(witness, trace) for witness in result.witnesses] == [
        "t4:1 t2:1 t2:2 t3:2 t4:1",
        "t1:1 t2:2 t3:2 t1:1",
    ]
    counted = {"witnesses": 2, "distinct_witnesses": 2, "visited": 9, "kept": 6, "skipped": 1, "dependencies": 7}
    assert result.counters.items() >= counted.items()


def sequence(witness: Witness, trace: Trace) -> str:
    found: list[str] = []
    for step in witness.steps:
        name = f"{trace.symbols.threads[step.thread]}:{step.transaction}".lower()
        if found[-1:] != [name]:
            found.append(name)
    return " ".join(found)


def lost_updates(count: int, variables: int) -> Trace:
    builder = TraceBuilder()
    for k in range(count):
        x = f"x{k % variables}"
        builder.add("T", "begin", "m").add("T", "r", x, site="m:1")
        builder.add("U", "w", x, site="n:1")
        builder.add("T", "w", x, site="m:2").add("T", "end", "m")
    return builder.build()


def test_repeated_witnesses_are_grouped_and_counted() -> None:
    result = checked(DavidaChecker, flattened(lost_updates(1000, 4))).result
    assert [witness.count for witness in result.witnesses] == [250] * 4
    assert [[step.event for step in witness.steps] for witness in result.witnesses][1] == [6, 7, 8]
    assert [step.edge for step in result.witnesses[0].steps] == ["read-write", "write-write", "program-order"]
    assert len(result.transactions) == result.violations == 1000


@pytest.mark.parametrize(("limit", "groups", "dropped"), [(100, 50, 0), (3, 3, 0), (0, 0, 500)])
def test_beyond_the_limit_witnesses_are_grouped_by_site_only(limit: int, groups: int, dropped: int) -> None:
    engine = ViolationEngine(witnesses=True, limit=limit)
    for batch in flattened(lost_updates(500, 50)):
        engine.grow(batch.threads, batch.locations, batch.locks, batch.handovers)
        engine.feed(batch.first, batch.thread, batch.op, batch.target, batch.site)
    assert len(engine.groups) == groups
    assert engine.dropped == dropped
    assert sum(group[2] for group in engine.groups) == 500 - dropped


def test_distinct_witnesses_are_counted_by_transaction_sequence() -> None:
    """The second violation has the same transactions as the first, the third another one."""
    line = "T:begin T:r(x) T:r(y) T:r(z) U:begin U:w(x) U:w(y) U:end V:w(z) T:w(x) T:w(y) T:w(z) T:end"
    counters = checked(DavidaChecker, flattened(built(notation(line)))).result.counters
    assert (counters["witnesses"], counters["distinct_witnesses"], counters["visited"]) == (3, 2, 9)


# ---- stops, registration and results


@pytest.mark.parametrize("checker_class", CHECKER_CLASSES)
def test_first_stops_at_the_first_violation(checker_class: Class) -> None:
    found = checked(checker_class, flattened(lost_updates(10, 1)), first=True)
    assert (found.result.violations, found.result.first_event, found.result.verdict) == (1, 3, "violated")


@pytest.mark.parametrize("checker_class", CHECKER_CLASSES)
def test_violations_found_before_a_stop_are_kept(checker_class: Class) -> None:
    checker = checker_class()
    result = checker.result(stopped="out of time")
    assert (result.verdict, result.serializable, result.reason) == ("unknown", None, "out of time")
    for batch in flattened(lost_updates(10, 1)):
        checker.feed(batch)
    result = checker.result(stopped="out of time")
    assert (result.verdict, result.serializable, result.reason, result.violations) == ("violated", False, None, 10)


def test_serializability_is_unknown_without_aerodrome_unless_violated() -> None:
    for trace, serializable in ((atomsan.parse("T:begin T:r(x) T:end"), None), (lost_updates(1, 1), False)):
        assert checked(DavidaChecker, flattened(trace), serializability=False).result.serializable is serializable


def test_both_checkers_are_registered_by_name() -> None:
    for checker_class in CHECKER_CLASSES:
        assert type(CHECKERS[checker_class.name].make()) is checker_class


def test_witness_steps_have_no_site_if_the_trace_has_none() -> None:
    batches = flattened(atomsan.parse("T:begin T:r(x) U:w(x) T:w(x) T:end"))
    (witness,) = checked(DavidaChecker, batches).result.witnesses
    assert {step.site for step in witness.steps} == {NO_SITE}


def test_transaction_list_supports_indexing_slicing_and_iteration() -> None:
    found = checked(RegionTrackChecker, flattened(lost_updates(5000, 1))).result.transactions
    assert isinstance(found, TransactionList)
    assert found[0] == Transaction(0, 1)
    assert found[-1] == Transaction(0, 5000)
    assert found[2:4] == [(0, 3), (0, 4)]
    assert [number for _, number in found] == list(range(1, 5001))
