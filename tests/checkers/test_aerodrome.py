"""AeroDrome against the definition: the verdict, the event that closes the first cycle, and its description."""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atomsan
from atomsan import TraceBuilder
from atomsan.checkers.aerodrome import AeroDromeChecker
from atomsan.checkers.engines._aerodrome import AeroDrome
from atomsan.checkers.flattening import FlatBatch, flattened
from atomsan.checkers.loop import run_checkers
from atomsan.checkers.results import Edge, Result
from atomsan.trace.generator import generate, options_for
from atomsan.trace.trace import Trace
from oracles import serializability
from oracles.graph import graph_serializable
from oracles.loading import notation, parse_std
from oracles.model import Event, Step, conflict, normalise, owners, transactions
from strategies import random_steps, short_lived

GOLDEN = Path(__file__).parent.parent / "golden"


def check(steps: Sequence[Step], loops: Collection[str] = (), engine: AeroDrome | None = None) -> Result:
    return run_checkers(trace_of(steps, loops), [AeroDromeChecker(engine)]).results[0]


def trace_of(steps: Sequence[Step], loops: Collection[str] = ()) -> Trace:
    builder = TraceBuilder()
    for lock in loops:
        builder.symbols.locks.intern(lock, kind="loop")
    for step in steps:
        builder.add(step.thread, step.op, step.target)
    return builder.build()


# ---- a trace in one line, the answer in one line


@pytest.mark.parametrize(
    ("line", "closed_by"),
    [
        ("", None),
        ("T:r(x) U:w(x) T:r(x)", None),
        ("T:begin T:r(x) U:w(x) T:w(x) T:end", "3 T:1 write-write U:0"),
        ("T:begin T:w(x) U:w(x) T:r(x) T:end", "3 T:1 write-read U:0"),
        ("T:begin T:w(x) U:r(x) T:w(x) T:end", "3 T:1 read-write U:0"),
        ("T:begin T:r(x) U:r(x) T:r(x) T:end", None),
        ("T:begin T:end T:begin T:r(x) U:begin U:w(x) U:end T:r(x)", "7 T:2 write-read U:1"),
        # locks, hand-overs, fork and join
        ("T:begin T:acq(l) T:rel(l) U:acq(l) U:rel(l) T:acq(l)", "5 T:1 lock U:0"),
        ("T:begin T:acq(l) T:rel(l) T:acq(l) T:rel(l) T:end", None),
        ("T:begin T:post(h) U:take(h) U:post(k) T:take(k)", "4 T:1 hand-over U:0"),
        ("T:begin T:post(h) T:take(h) U:take(h)", None),
        ("T:begin T:post(h) U:take(h) U:post(h) V:post(h) T:take(h)", "5 T:1 hand-over U:0"),
        ("T:begin T:fork(U) U:r(x) T:join(U)", "3 T:1 join U:0"),
        # an empty region is an event; a child without any gives no order
        ("T:begin T:fork(U) U:begin U:end T:join(U) T:end", "4 T:1 join U:1"),
        ("T:begin T:fork(U) T:join(U) T:end", None),
        # two open transactions; the cycle closes where it closes, not at the ends
        ("T:begin U:begin T:w(x) U:w(y) T:r(y) U:r(x)", "5 U:1 write-read T:1"),
        # a join of a thread inside its region, in which it stays
        ("T:begin T:fork(U) U:begin U:r(x) T:join(U) T:r(x)", "4 T:1 join U:1"),
        ("T:fork(U) U:begin U:w(x) T:join(U) T:begin T:r(x) V:w(x) T:r(x)", "7 T:1 write-read V:0"),
        # an event outside regions is no part of the region that its thread begins later
        ("T:begin T:w(x) U:r(x) U:begin T:r(y) U:w(y) U:end T:end", None),
        ("T:begin T:w(x) U:r(x) U:begin U:w(y) U:end T:r(y) T:end", "6 T:1 write-read U:1"),
        # the order came before the region began
        ("V:begin V:w(x) T:r(x) T:begin T:w(y) T:end V:r(y)", "6 V:1 write-read T:1"),
        # through three transactions, all of them open
        ("A:begin B:begin C:begin A:w(x) B:r(x) B:w(y) C:r(y) C:w(z) A:r(z)", "8 A:1 write-read C:1"),
        # the order into A arrives after it was passed on
        ("A:begin B:begin C:begin A:w(x) B:r(x) C:w(y) A:r(y) B:w(z) C:r(z)", "8 C:1 write-read B:1"),
        # many readers, of which one closes
        ("T:begin T:w(y) A:begin A:r(x) B:begin B:r(x) U:r(y) U:r(x) T:w(x)", "8 T:1 read-write U:0"),
        ("T:begin T:r(x) A:begin A:r(x) B:begin B:r(x) T:w(x) T:end A:end B:end", None),
    ],
)
def test_verdict_and_closing_edge_of_small_traces(line: str, closed_by: str | None) -> None:
    steps = notation(line)
    result = check(steps)
    assert described(result, steps) == closed_by
    assert result.serializable == serializability.serializable(steps)


def described(result: Result, steps: Sequence[Step]) -> str | None:
    closing = result.closing
    if closing is None:
        assert (result.verdict, result.serializable, result.first_event) == ("holds", True, None)
        return None
    assert (result.verdict, result.serializable, result.first_event) == ("violated", False, closing.event)
    names = list(dict.fromkeys(name for s in steps for name in thread_names(s)))
    other = f"{names[closing.other.thread]}:{closing.other.number}"
    return f"{closing.event} {names[closing.thread]}:{closing.number} {closing.edge} {other}"


def thread_names(step: Step) -> list[str]:
    return [step.thread, step.target] if step.op in ("fork", "join") else [step.thread]


def test_closing_step_has_region_target_and_edge() -> None:
    result = run_checkers(atomsan.parse("T:begin(m) T:r(x) U:w(x) U:w(y) T:w(x) T:end"), [AeroDromeChecker()]).results[
        0
    ]
    assert result.closing is not None
    assert (result.closing.region, result.closing.target, result.closing.op) == (0, 0, 1)
    assert result.closing.edge is Edge.WRITE_WRITE


def test_asyncio_loop_locks_give_no_order() -> None:
    around = "T:begin T:acq(loop) T:r(x) T:rel(loop) U:acq(loop) U:rel(loop) T:acq(loop) T:rel(loop) T:end"
    assert check(notation(around), ["loop"]).serializable is True
    assert check(notation(around)).serializable is False
    child = notation("T:begin T:fork(U) U:acq(loop) U:rel(loop) T:join(U) T:end")
    assert check(child, ["loop"]).serializable is serializability.serializable(child, ["loop"]) is True


# ---- golden


def golden() -> Iterator[tuple[str, list[Step], dict[str, Any]]]:
    for path in sorted(GOLDEN.glob("*.std")):
        yield path.stem, parse_std(path.read_text()), json.loads(path.with_suffix(".json").read_text())
    for number, line in enumerate((GOLDEN / "random.jsonl").read_text().splitlines()):
        answers = json.loads(line)
        yield f"random-{number}", parse_std(answers["trace"]), answers


def test_golden_traces_give_the_expected_verdicts() -> None:
    compared = 0
    for name, steps, answers in golden():
        if answers.get("serializable") is not None:
            assert check(steps).serializable == answers["serializable"], name
            assert_exact(steps)
            compared += 1
    assert compared == 330


# ---- generated traces against the definition


def assert_exact(steps: Sequence[Step], loops: Collection[str] = (), engine: AeroDrome | None = None) -> bool:
    """The verdict is the definition's; the event is the first that makes the trace not serializable; its description is
    true."""
    result = check(steps, loops, engine)
    line = " ".join(f"{step.thread}:{step.op}({step.target})" for step in steps)
    assert result.serializable == serializability.serializable(steps, loops), line
    if result.serializable:
        return True
    assert result.first_event is not None
    assert serializability.serializable(steps[: result.first_event], loops), line
    assert not serializability.serializable(steps[: result.first_event + 1], loops), line
    assert_true(result, steps, loops, line)
    return False


def assert_true(result: Result, steps: Sequence[Step], loops: Collection[str], line: str) -> None:
    """The event is one of the transaction named, comes after one of the other, and that one after the transaction."""
    assert result.closing is not None
    closing = result.closing
    names = list(dict.fromkeys(name for s in steps for name in thread_names(s)))
    events = normalise(steps[: closing.event + 1], loops)
    at = next(place for place, event in enumerate(events) if event.origin == closing.event)
    found = transactions(events)
    owner = owners(found)
    mine = found[owner[at]]
    assert (mine.thread, mine.number) == (names[closing.thread], closing.number), line
    other = (names[closing.other.thread], closing.other.number or None)
    after = reached(events[:at], owner, owner[at], loops)
    assert any(
        (found[owner[place]].thread, found[owner[place]].number) == other
        and owner[place] in after
        and edge_of(events[place], events[at], loops) == closing.edge
        for place in range(at)
    ), line


def reached(events: Sequence[Event], owner: dict[int, int], start: int, loops: Collection[str]) -> set[int]:
    graph: serializability.Graph = {node: set() for node in set(owner.values())}
    for second, event in enumerate(events):
        for first in range(second):
            if owner[first] != owner[second] and conflict(events[first], event, loops):
                graph[owner[first]].add(owner[second])
    return serializability.reachable(graph, start)


EDGES = {
    ("write", "read"): Edge.WRITE_READ,
    ("read", "write"): Edge.READ_WRITE,
    ("write", "write"): Edge.WRITE_WRITE,
    ("release", "acquire"): Edge.LOCK,
    ("post", "take"): Edge.HAND_OVER,
}


def edge_of(first: Event, second: Event, loops: Collection[str]) -> Edge | None:
    if not conflict(first, second, loops) or first.thread == second.thread:
        return None
    return Edge.JOIN if second.op == "join" else EDGES.get((first.op, second.op))


SHAPES: list[dict[str, Any]] = [
    {},
    {"threads": 3, "variables": 2, "events": 16},
    {"threads": 6, "variables": 8, "events": 45},
    {"threads": 8, "variables": 12, "locks": 3, "events": 60},
    {"threads": 5, "variables": 6, "unary": False},
    {"threads": 7, "variables": 3, "events": 40, "forks": False},
]


@pytest.mark.parametrize("shape", range(len(SHAPES)))
def test_generated_traces_agree_with_the_definition(shape: int) -> None:
    rng = random.Random(shape)
    verdicts = [
        assert_exact(random_steps(rng, **SHAPES[shape]), rng.choice([(), (), (), ("l1",)])) for _ in range(1000)
    ]
    assert 100 < sum(verdicts) < 900


@pytest.mark.parametrize("crowd", [60, 63, 64, 130, 700])
def test_unrelated_open_regions_do_not_change_the_verdict(crowd: int) -> None:
    """Idle open regions take the first slots, so that the threads under test get slots around and beyond 64."""
    rng = random.Random(crowd)
    for _ in range(500 if crowd < 700 else 100):
        steps = random_steps(rng, threads=6, variables=6, events=40)
        alone = check(steps)
        trace = trace_of([*standing(crowd), *steps])
        engine = AeroDrome(rng.choice([0, 3, 1 << 14]))
        result = run_checkers(trace, [AeroDromeChecker(engine)]).results[0]
        assert result.serializable == alone.serializable == serializability.serializable(steps)
        if result.first_event is not None and alone.first_event is not None:
            assert result.first_event - crowd == alone.first_event


def standing(crowd: int) -> list[Step]:
    return [Step(f"C{number}", "begin", "m") for number in range(crowd)]


def test_frequent_garbage_collection_does_not_change_the_verdict() -> None:
    rng = random.Random(8)
    collections = 0
    for _ in range(1500):
        engine = AeroDrome(0)
        assert_exact(random_steps(rng, threads=6, variables=6, events=45), (), engine)
        collections += engine.collections
    assert collections > 1500


# ---- traces too long for the definition: compared with the graph of direct conflicts


def crowded(rng: random.Random, threads: int, length: int, backwards: float) -> list[Step]:
    """All threads in regions at once. Order goes from lower to higher threads, except for a few steps backwards."""
    steps = [Step(f"T{number}", "begin", "m") for number in range(threads)]
    for number in range(length):
        low, high = sorted(rng.sample(range(threads), 2))
        if rng.random() < backwards:
            low, high = high, low
        thing = f"x{number if rng.random() < 0.5 else rng.randrange(length) + length}"
        kind = rng.randrange(4)
        if kind == 0:
            steps += [Step(f"T{low}", "write", thing), Step(f"T{high}", "read", thing)]
        elif kind == 1:
            steps += [Step(f"T{low}", "read", thing), Step(f"T{high}", "write", thing)]
        elif kind == 2:
            steps += [Step(f"T{low}", "post", thing), Step(f"T{high}", "take", thing)]
        else:
            steps += [Step(f"T{low}", "end", "m"), Step(f"T{low}", "read", "y"), Step(f"T{low}", "begin", "m")]
    return steps


@pytest.mark.parametrize("threads", [70, 200, 700])
def test_hundreds_of_open_regions_agree_with_the_conflict_graph(threads: int) -> None:
    rng = random.Random(threads)
    verdicts = []
    for _ in range(60 if threads < 700 else 20):
        steps = crowded(rng, threads, 2 * threads, rng.choice([0, 1 / threads, 5 / threads]))
        result = check(steps, (), AeroDrome(rng.choice([0, 1 << 14])))
        assert result.serializable == graph_serializable(steps)
        if result.first_event is not None:
            assert graph_serializable(steps[: result.first_event])
            assert not graph_serializable(steps[: result.first_event + 1])
        verdicts.append(result.serializable)
    assert 0.1 < sum(verdict is True for verdict in verdicts) / len(verdicts) < 0.9


def many_readers(rng: random.Random, threads: int, length: int) -> list[Step]:
    """Few writers and many readers, some ordered after long regions: a variable has many readers to remember."""
    steps = [Step(f"L{number}", op, f"g{number}") for number in range(4) for op in ("begin", "write")]
    inside: set[str] = set()
    for _ in range(length):
        thread = f"T{rng.randrange(threads)}"
        chance = rng.random()
        if chance < 0.25:
            steps.append(Step(thread, "end" if thread in inside else "begin", "m"))
            inside ^= {thread}
        elif chance < 0.4:
            steps.append(Step(thread, "read", f"g{rng.randrange(4)}"))
        elif chance < 0.9:
            steps.append(Step(thread, rng.choice(["read", "read", "post"]), f"x{rng.randrange(2)}"))
        elif chance < 0.97:
            steps.append(Step(thread, "read", f"{thread}'s"))
        else:
            steps.append(Step(rng.choice([thread, f"L{rng.randrange(4)}"]), rng.choice(["write", "take"]), "x0"))
    return steps


@pytest.mark.parametrize("threads", [3, 8, 30, 90])
def test_many_readers_and_posts_agree_with_the_conflict_graph(threads: int) -> None:
    rng = random.Random(threads)
    for _ in range(400):
        steps = many_readers(rng, threads, rng.randint(10, 100))
        result = check(steps, (), AeroDrome(rng.choice([0, 1 << 14])))
        assert result.serializable == graph_serializable(steps)
        if result.first_event is not None:
            assert graph_serializable(steps[: result.first_event])
            assert not graph_serializable(steps[: result.first_event + 1])


@pytest.mark.parametrize("stay", [0, 64, 65, 130, 300])
def test_cycle_is_found_after_most_open_regions_have_ended(stay: int) -> None:
    """Most regions of the crowd end and the sets shrink. The order through the last open region must survive that."""
    crowd = standing(1000)
    last = crowd[stay - 1].thread if stay else "T"
    leaving = [step._replace(op="end") for step in reversed(crowd[stay:])]
    line = f"{last}:begin {last}:w(x) U:r(x) {'V:r(z) ' * 20} U:w(y) {last}:r(y)"
    steps = [*crowd, *notation(line)[:3], *leaving, *notation(line)[3:]]
    assert fed_in_pieces(trace_of(steps), AeroDrome(), 1).first_event == len(steps) - 1


def test_thousands_of_short_lived_threads_use_few_slots() -> None:
    """Joined ones, ones that nobody joins, and ones that end inside their region; a region stays open all the while."""
    steps = notation("L:begin L:w(g)")
    for number in range(3000):
        child = f"C{number}"
        steps += notation(f"M:fork({child}) {child}:begin {child}:r(g) {child}:w(x{number % 5})")
        if number % 3:
            steps += [Step(child, "end", "")]
        if number % 3 != 1:
            steps += [Step("M", "join", child)]
    result = check(steps)
    assert result.serializable is True
    assert result.counters["most_active"] == 2
    assert check([*steps, *notation("L:r(x0)")]).closing is not None


@pytest.mark.parametrize("careless", [0.0, 0.02, 0.05, 0.2])
def test_short_lived_threads_agree_with_the_conflict_graph(careless: float) -> None:
    rng = random.Random(int(1000 * careless))
    for children in (30, 100, 300, 3000):
        for _ in range(1 + 900 // children):
            steps = short_lived(rng, children, careless)
            result = check(steps, (), AeroDrome(rng.choice([0, 1 << 14])))
            assert result.serializable == graph_serializable(steps)
            if result.first_event is not None:
                assert graph_serializable(steps[: result.first_event])
                assert not graph_serializable(steps[: result.first_event + 1])


def test_node_count_stays_bounded_while_a_region_is_open() -> None:
    """One region stays open. The others come after it, so each leaves a node, but few of these stay referenced."""
    engine = AeroDrome()
    options = options_for("long-region", events=400_000, threads=16, variables=2000)
    result = run_checkers(generate(options), [AeroDromeChecker(engine)]).results[0]
    assert result.serializable is True
    assert engine.transactions > 20_000
    assert engine.collections > 0
    assert engine.most_nodes < 22_000


# ---- the same answer in any batches


def fed_in_pieces(trace: Trace, engine: AeroDrome, most: int, rng: random.Random | None = None) -> Result:
    checker = AeroDromeChecker(engine)
    for batch in flattened(trace):
        at = 0
        while at < len(batch):
            end = at + (rng.randint(1, most) if rng else most)
            if checker.feed(part(batch, at, end)):
                return checker.result()
            at = end
    return checker.result()


def part(batch: FlatBatch, start: int, end: int) -> FlatBatch:
    columns = (column[start:end] for column in (batch.thread, batch.op, batch.target, batch.site))
    counts = (batch.threads, batch.locations, batch.locks, batch.regions, batch.handovers)
    return FlatBatch(batch.first + start, *columns, *counts, batch.original[start:end])  # type: ignore[arg-type]


def test_batch_size_does_not_change_the_result() -> None:
    rng = random.Random(9)
    for _ in range(300):
        trace = trace_of(random_steps(rng, events=60))
        whole = run_checkers(trace, [AeroDromeChecker()]).results[0]
        assert fed_in_pieces(trace, AeroDrome(), 1).closing == whole.closing
        assert fed_in_pieces(trace, AeroDrome(), 20, rng).closing == whole.closing


def test_symbols_may_be_added_between_batches() -> None:
    checker = AeroDromeChecker()
    none = np.full(2, 0xFFFFFFFF, np.uint32)
    for number in range(2000):
        thread, target = np.array([number, number], np.uint32), np.array([number, number], np.uint32)
        counts = (number + 1, number + 1, number + 1, 1, number + 1)
        for op in (0, 1, 2, 3, 8, 9):
            ops = np.full(2, op, np.uint8)
            assert not checker.feed(FlatBatch(0, thread, ops, target, none, *counts, ops))
    assert checker.result().verdict == "holds"


# ---- large traces with a known answer; stops and errors


@pytest.mark.parametrize("kind", ["serializable", "long-region"])
@pytest.mark.parametrize("threads", [2, 8, 100])
def test_generated_serializable_traces_hold(kind: str, threads: int) -> None:
    source = generate(options_for(kind, events=200_000, threads=threads, variables=3000, handovers=20))
    assert run_checkers(source, [AeroDromeChecker()]).results[0].verdict == "holds"


@pytest.mark.parametrize("seed", range(5))
def test_the_first_injected_violation_is_found_at_its_event(seed: int) -> None:
    options = options_for("violating", seed=seed, events=100_000, threads=9, variables=3000, violations=3)
    source = generate(options)
    list(source.batches())
    first = min(source.truth["injected"], key=lambda one: one["events"][2])
    result = run_checkers(source, [AeroDromeChecker()]).results[0]
    assert result.closing is not None
    assert result.first_event == first["events"][2]
    assert source.symbols.threads[result.closing.thread] == first["thread"]
    assert result.closing.number == first["transaction"]
    assert source.symbols.regions[result.closing.region] == first["region"]
    assert result.closing.other.number == 0


def test_verdict_is_unknown_when_stopped_before_the_end() -> None:
    checker = AeroDromeChecker()
    for batch in flattened(atomsan.parse("T:begin T:r(x) U:w(x)")):
        assert not checker.feed(batch)
    result = checker.result(stopped="interrupted")
    assert (result.verdict, result.serializable, result.reason) == ("unknown", None, "interrupted")


def test_violation_found_before_a_stop_is_kept() -> None:
    checker = AeroDromeChecker()
    assert [checker.feed(batch) for batch in flattened(atomsan.parse("T:begin T:r(x) U:w(x) T:r(x) T:end"))] == [True]
    assert checker.result(stopped="interrupted").verdict == "violated"


def test_too_many_symbols_raise_memory_error_and_the_engine_stays_usable() -> None:
    engine = AeroDrome()
    with pytest.raises(MemoryError):
        engine.grow(1, 1 << 45, 1, 1)
    assert check(notation("T:begin T:r(x) U:w(x) T:r(x)"), (), engine).first_event == 3
