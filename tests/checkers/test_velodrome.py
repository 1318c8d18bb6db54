"""Velodrome against the oracle of its property; every edge of every witness against the definition of conflict."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import atomsan
from atomsan import TraceBuilder
from atomsan.checkers.engines._velodrome import Velodrome
from atomsan.checkers.flattening import FlatBatch, flattened
from atomsan.checkers.loop import run_checkers
from atomsan.checkers.results import Edge, Result, Step, Transaction, Witness
from atomsan.checkers.velodrome import VelodromeChecker
from atomsan.trace.generator import generate, options_for
from atomsan.trace.trace import Trace
from oracles import algorithm1, model, serializability
from oracles.loading import parse_std
from oracles.violating import violating
from strategies import random_steps

GOLDEN = Path(__file__).parent.parent / "golden"


def built(found: list[model.Step]) -> Trace:
    builder = TraceBuilder()
    for step in found:
        builder.add(step.thread, step.op, step.target)
    return builder.build()


def cut(batch: FlatBatch, size: int) -> Iterator[FlatBatch]:
    counts = (batch.threads, batch.locations, batch.locks, batch.regions, batch.handovers)
    for at in range(0, len(batch), size):
        part = slice(at, at + size)
        columns = (batch.thread[part], batch.op[part], batch.target[part], batch.site[part])
        yield FlatBatch(batch.first + at, *columns, *counts, batch.original[part])


def check(trace: Trace, size: int = 1 << 20, checker: VelodromeChecker | None = None) -> Result:
    checker = checker or VelodromeChecker()
    for batch in itertools.chain.from_iterable(cut(batch, size) for batch in flattened(trace)):
        if checker.feed(batch):
            break
    return checker.result()


def shown(trace: Trace, witness: Witness) -> str:
    """`T1:r(x) read-write> ...`, and who is to blame."""
    words = []
    for step in witness.steps:
        event = trace.symbols.event(step.thread, step.op, step.target, step.site)
        words.append(f"{event.thread}:{event.op.short}({event.target}) {step.edge}>")
    blamed = witness.blamed
    return f"{' '.join(words)} {f'{trace.symbols.threads[blamed.thread]}:{blamed.number}' if blamed else 'nobody'}"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("T:begin T:r(x) U:w(x) T:w(x) T:end", "T:r(x) read-write> U:w(x) write-write> T:w(x) program-order> T:1"),
        ("T:begin T:r(x) U:w(x) T:end", None),
        ("T:begin T:r(x) T:end U:w(x) T:begin T:w(x) T:end", None),
        (
            "T:begin T:w(x) U:begin U:w(y) U:r(x) T:r(y) T:end U:end",  # does not increase: U wrote y before it read x
            "T:w(x) write-read> U:r(x) program-order> U:w(y) write-read> T:r(y) program-order> nobody",
        ),
        (
            "T:begin T:fork(U) U:begin U:end T:join(U) T:end",
            "T:fork(U) fork> U:begin() program-order> U:end() join> T:join(U) program-order> T:1",
        ),
        ("T:begin T:fork(U) T:join(U) T:end", None),  # a child without an event gives no order
        (
            "T:begin T:acq(l) T:rel(l) U:acq(l) U:rel(l) T:acq(l) T:rel(l) T:end",
            "T:rel(l) lock> U:acq(l) program-order> U:rel(l) lock> T:acq(l) program-order> T:1",
        ),
        (
            "T:begin T:post(h) U:take(h) U:post(g) T:take(g) T:end",
            "T:post(h) hand-over> U:take(h) program-order> U:post(g) hand-over> T:take(g) program-order> T:1",
        ),
        (  # an event outside regions that shares the node of the region before it
            "T:begin T:w(x) U:begin U:r(x) U:end U:w(y) T:w(y) T:end",
            "T:w(x) write-read> U:r(x) program-order> U:w(y) write-write> T:w(y) program-order> T:1",
        ),
        (  # the first event of a forked thread must not share the running parent's node
            "T:begin T:fork(U) U:w(x) T:w(x) T:end",
            "T:fork(U) fork> U:w(x) write-write> T:w(x) program-order> T:1",
        ),
        (  # the same, through a thread whose first event is a fork outside regions
            "T:begin T:fork(U) U:fork(V) V:r(y) T:w(y) T:end",
            "T:fork(U) fork> U:fork(V) fork> V:r(y) read-write> T:w(y) program-order> T:1",
        ),
        (  # a region that is open in a joined thread
            "T:begin T:fork(U) U:begin U:r(x) T:join(U)",
            "T:fork(U) fork> U:begin() join> T:join(U) program-order> T:1",
        ),
    ],
)
def test_verdict_and_witness_of_small_traces(line: str, expected: str | None) -> None:
    trace = atomsan.parse(line)
    result = check(trace)
    assert result.serializable == (expected is None)
    assert [shown(trace, witness) for witness in result.witnesses] == ([expected] if expected else [])


def golden() -> Iterator[tuple[list[model.Step], bool]]:
    for path in sorted(GOLDEN.glob("*.std")):
        yield parse_std(path.read_text()), json.loads(path.with_suffix(".json").read_text())["serializable"]
    for line in (GOLDEN / "random.jsonl").read_text().splitlines():
        answers = json.loads(line)
        yield parse_std(answers["trace"]), answers["serializable"]


def test_golden_traces_give_the_expected_verdicts() -> None:
    known = list(golden())
    for found, serializable in known:
        result = check(built(found))
        assert result.verdict == ("holds" if serializable else "violated")
        verify(found, result)
    assert len(known) == 330


# ---- every witness, against the definition

KINDS = {
    ("write", "read"): Edge.WRITE_READ,
    ("read", "write"): Edge.READ_WRITE,
    ("write", "write"): Edge.WRITE_WRITE,
    ("release", "acquire"): Edge.LOCK,
    ("post", "take"): Edge.HAND_OVER,
}


def kind_of(first: model.Event, second: model.Event) -> Edge:
    if first.thread == second.thread:
        return Edge.PROGRAM_ORDER
    if first.op == "fork" and first.target == second.thread:
        return Edge.FORK
    if second.op == "join" and second.target == first.thread:
        return Edge.JOIN
    return KINDS[first.op, second.op]


class Definition:
    """The events and transactions of a trace, by the oracles."""

    def __init__(self, found: list[model.Step]) -> None:
        self.trace = built(found)
        self.events = model.normalise(found)
        self.transactions = model.transactions(self.events)
        self.owner = model.owners(self.transactions)
        self.place = {event.origin: place for place, event in enumerate(self.events)}

    def transaction(self, step: Step) -> int:
        return self.owner[self.place[step.event]]

    def check_step(self, step: Step) -> None:
        event = self.trace.symbols.event(step.thread, step.op, step.target, step.site)
        assert event == self.trace[step.event]
        assert step.transaction == (self.transactions[self.transaction(step)].number or 0)

    def check_edge(self, first: Step, second: Step) -> None:
        if self.transaction(first) == self.transaction(second):
            assert first.edge == Edge.PROGRAM_ORDER
            return
        e, f = (self.events[self.place[step.event]] for step in (first, second))
        assert first.event < second.event
        assert model.conflict(e, f)
        assert first.edge == kind_of(e, f)


def verify(found: list[model.Step], result: Result) -> None:
    """Steps are events of the trace, edges are conflicts, transactions are distinct, and who is blamed is to blame."""
    if result.serializable:
        assert not result.witnesses
        return
    definition = Definition(found)
    (witness,) = result.witnesses
    around = [*witness.steps, witness.steps[0]]
    for first, second in itertools.pairwise(around):
        definition.check_step(first)
        definition.check_edge(first, second)
    owners = [transaction for transaction, _ in itertools.groupby(map(definition.transaction, around))]
    assert owners[0] == owners[-1]
    assert len(set(owners)) == len(owners) - 1 > 1
    events = [step.event for step in witness.steps]
    closing = witness.steps[-1]
    assert result.first_event == closing.event == max(events)
    increasing = events == sorted(events)
    assert witness.blamed == (Transaction(closing.thread, closing.transaction) if increasing else None)
    assert closing.transaction == witness.steps[0].transaction
    assert result.transactions == ([witness.blamed] if witness.blamed else [])
    if witness.blamed:
        blamed = definition.trace.symbols.threads[witness.blamed.thread], witness.blamed.number
        assert blamed in violating(found[: closing.event + 1])


def sizes(rng: random.Random) -> dict[str, int]:
    return {
        "events": rng.choice([10, 20, 30, 45]),
        "threads": rng.choice([2, 3, 4, 6]),
        "variables": rng.choice([1, 2, 3, 5]),
    }


def test_random_traces_agree_with_the_definition() -> None:
    rng = random.Random(3)
    seen: Counter[str] = Counter()
    for _ in range(7000):
        found = random_steps(rng, **sizes(rng))
        result = check(built(found))
        assert result.serializable == serializability.serializable(found)
        verify(found, result)
        seen[result.verdict] += 1
        seen["increasing"] += any(witness.blamed for witness in result.witnesses)
    assert seen["holds"] > 4000
    assert seen["violated"] > 1500
    assert seen["violated"] > seen["increasing"] > 0.9 * seen["violated"]


def test_batch_size_does_not_change_the_result() -> None:
    rng = random.Random(4)
    for _ in range(300):
        trace = built(random_steps(rng))
        whole = check(trace)
        assert all(check(trace, size) == whole for size in (1, 2, 7))


# ---- larger traces, against a plain implementation of Algorithm 1


def stirred(rng: random.Random, threads: int, regions: int, variables: int) -> list[model.Step]:
    """A serializable trace: serial regions, whose events are then shuffled without reordering conflicts."""
    serial: list[model.Event] = []
    for _ in range(regions):
        thread = f"T{rng.randrange(threads)}"
        serial.append(model.Event(thread, "begin", "m", None))
        for _ in range(rng.randint(1, 6)):
            op = rng.choice(["read", "read", "write"])
            serial.append(model.Event(thread, op, f"x{rng.randrange(variables)}", None))
        serial.append(model.Event(thread, "end", "m", None))
    later: list[list[int]] = [[] for _ in serial]
    waits = [0] * len(serial)
    for first, second in itertools.combinations(range(len(serial)), 2):
        if model.conflict(serial[first], serial[second]):
            later[first].append(second)
            waits[second] += 1
    ready = [place for place, count in enumerate(waits) if count == 0]
    found = []
    while ready:
        place = max(rng.sample(ready, min(3, len(ready))))  # later regions early, so that order comes late
        ready.remove(place)
        found.append(model.Step(*serial[place][:3]))
        for other in later[place]:
            waits[other] -= 1
            if waits[other] == 0:
                ready.append(other)
    return found


def with_gaps(found: list[model.Step], bits: int) -> VelodromeChecker:
    checker = VelodromeChecker()
    checker.engine = Velodrome(gap_bits=bits)
    check(built(found), checker=checker)
    return checker


def test_topological_order_is_repaired_for_edges_against_it() -> None:
    """Edges against the topological order that close no cycle; small gaps between labels are used up all the time."""
    rng = random.Random(5)
    searches = visited = violations = 0
    for _ in range(60):
        found = stirred(rng, 12, 60, 60)
        for checker in (with_gaps(found, bits) for bits in (2, 4, 32)):
            assert checker.result().verdict == "holds"
        searches, visited = searches + checker.engine.searches, visited + checker.engine.visited
        for at in rng.sample(range(len(found)), 3):
            found.insert(at, model.Step(found[at].thread, "write", "x0"))
        serializable = algorithm1.serializable(found)
        assert {with_gaps(found, bits).result().serializable for bits in (2, 4, 32)} == {serializable}
        violations += not serializable
    assert searches > 200
    assert visited > 1.2 * searches
    assert 10 < violations < 60


def test_traces_of_90_threads_agree_with_algorithm_1() -> None:
    rng = random.Random(6)
    seen: Counter[bool] = Counter()
    for _ in range(40):
        found = random_steps(rng, threads=90, variables=60, locks=20, events=400)
        seen[serializable := algorithm1.serializable(found)] += 1
        result = check(built(found))
        assert result.serializable == serializable
        verify(found, result)
    assert min(seen[True], seen[False]) > 3


@pytest.mark.parametrize("spoil", [False, True])
def test_thousands_of_short_lived_threads_need_at_most_three_nodes(spoil: bool) -> None:
    builder = TraceBuilder()
    for number in range(5000):
        child = f"C{number}"
        builder.add("T", "fork", child).add(child, "begin", "m").add(child, "w", "x").add(child, "end", "m")
        builder.add("T", "join", child).add("T", "r", "x")
    if spoil:
        builder.add("T", "begin", "m").add("T", "fork", "last").add("last", "w", "x").add("T", "r", "x")
    result = check(builder.build())
    assert result.serializable == (not spoil)
    assert result.counters["most_nodes"] <= 3


# ---- traces too large for the oracles


def test_nodes_that_cannot_be_on_a_cycle_are_released() -> None:
    source = generate(options_for("serializable", events=1_000_000, threads=8, variables=10_000, handovers=8))
    checker = VelodromeChecker()
    assert run_checkers(source, [checker]).results[0].verdict == "holds"
    assert checker.engine.live == 0
    assert checker.engine.most_live < 200


@pytest.mark.parametrize("kind", ["serializable", "long-region"])
def test_generated_serializable_traces_hold(kind: str) -> None:
    source = generate(options_for(kind, events=200_000, threads=8, variables=1000))
    assert run_checkers(source, [VelodromeChecker()]).results[0].serializable is True


def test_blamed_transaction_is_one_of_the_injected() -> None:
    for seed in range(10):
        source = generate(options_for("violating", seed=seed, events=50_000, violations=3, violations_from=0.3))
        result = run_checkers(source, [VelodromeChecker()]).results[0]
        (blamed,) = result.transactions
        for _ in source.batches():
            pass  # the generator knows the truth at the end
        assert [source.symbols.threads[blamed.thread], blamed.number] in source.truth["transactions"]


# ---- stops, cycles and empty traces


def test_verdict_is_unknown_unless_violated_before_the_stop() -> None:
    trace = atomsan.parse("T:begin T:r(x) U:w(x) T:w(x) T:end")
    batch = next(iter(flattened(trace)))
    for events, verdict in ((3, "unknown"), (4, "violated")):
        checker = VelodromeChecker()
        checker.feed(next(cut(batch, events)))
        result = checker.result(stopped="out of time")
        assert result.verdict == verdict
        assert result.reason == ("out of time" if verdict == "unknown" else None)


def test_events_after_the_first_cycle_change_nothing() -> None:
    trace = atomsan.parse("T:begin T:r(x) U:w(x) T:w(x) T:w(x) U:w(x) T:w(x) T:end")
    checker = VelodromeChecker()
    parts = [part for batch in flattened(trace) for part in cut(batch, 4)]
    assert [checker.feed(part) for part in parts] == [True, True]
    assert checker.result().first_event == 3


def test_empty_trace_holds() -> None:
    assert check(atomsan.parse("")).verdict == "holds"
    empty = np.empty(0, np.uint32)
    assert Velodrome().feed(0, empty, np.empty(0, np.uint8), empty, empty) is False
