"""The oracles against each other, on generated traces and on minimal traces."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings

from oracles import algorithm1, atomic_sets, interleavings, listing, violating
from oracles.avp import avp
from oracles.graph import graph_serializable, graph_violations
from oracles.loading import notation
from oracles.model import SYNCHRONIZATION, Step, conflict, normalise, transactions
from oracles.serializability import serializable, shortest_cycle
from oracles.view import view_serializable
from strategies import random_steps, short_lived, traces

quietly = settings(max_examples=300, deadline=None, derandomize=True, database=None)


def _random_traces(count: int, **limits: Any) -> Iterator[list[Step]]:
    rng = random.Random(20260801)
    return (random_steps(rng, **limits) for _ in range(count))


def _is_cycle(steps: list[Step]) -> bool:
    """Whether the witness is a cycle of distinct transactions, each edge a conflict of events of its two ends."""
    events = normalise(steps)
    cycle = shortest_cycle(steps) or []
    nodes = [edge.source for edge in cycle]
    closed = all(edge.target == follower for edge, follower in zip(cycle, nodes[1:] + nodes[:1], strict=True))
    conflicting = all(
        edge.first in edge.source.events
        and edge.second in edge.target.events
        and edge.first < edge.second
        and conflict(events[edge.first], events[edge.second])
        for edge in cycle
    )
    return len(set(nodes)) == len(nodes) > 1 and closed and conflicting


LIMITS: list[dict[str, Any]] = [
    {},
    # long regions: cycles against the order of events
    {"unary": False, "nesting": False, "forks": False},
    {"variables": 1, "locks": 1, "handovers": 4, "nesting": False, "events": 20},
    {"variables": 1, "locks": 4, "handovers": 0, "nesting": False, "events": 20},
]


@pytest.mark.parametrize("limits", LIMITS)
def test_graph_oracles_agree_with_the_definitions(limits: dict[str, Any]) -> None:
    for number, steps in enumerate(_random_traces(2000, **limits)):
        loops = ["l1"] if number % 5 == 0 else []
        assert graph_serializable(steps, loops) == serializable(steps, loops)
        found = [(one.transaction.thread, one.transaction.number) for one in violating.violations(steps, loops)]
        assert sorted(graph_violations(steps, loops)) == sorted(found)


def test_graph_oracles_agree_with_the_definitions_with_many_threads() -> None:
    rng = random.Random(5)
    for _ in range(30):
        steps = short_lived(rng, 60, rng.choice([0, 0.1, 0.5]))
        assert graph_serializable(steps) == serializable(steps)
        found = [(one.transaction.thread, one.transaction.number) for one in violating.violations(steps)]
        assert sorted(graph_violations(steps)) == sorted(found)


@pytest.mark.parametrize("limits", LIMITS)
def test_algorithm_1_agrees_with_definition_1(limits: dict[str, Any]) -> None:
    verdicts = [(serializable(steps), algorithm1.serializable(steps)) for steps in _random_traces(2500, **limits)]
    assert [by_definition for by_definition, _ in verdicts] == [by_clocks for _, by_clocks in verdicts]
    assert 300 < sum(by_definition for by_definition, _ in verdicts) < 2200


@quietly
@given(traces())
def test_algorithm_1_agrees_with_definition_1_on_drawn_traces(steps: list[Step]) -> None:
    assert algorithm1.serializable(steps) == serializable(steps)


def test_trace_is_serializable_or_has_a_cycle() -> None:
    for steps in _random_traces(2000):
        assert serializable(steps) != _is_cycle(steps)


def test_trace_with_a_violating_transaction_is_not_serializable() -> None:
    found = [steps for steps in _random_traces(2000) if violating.violating(steps)]
    assert not any(serializable(steps) for steps in found)
    assert len(found) > 500


def test_events_of_a_violation_conflict() -> None:
    for steps in _random_traces(1000):
        events = {event.origin: event for event in normalise(steps)}
        for found in violating.violations(steps):
            assert conflict(events[found.first], events[found.second])


def test_loop_lock_makes_no_order() -> None:
    """The answers are those of the trace in which each thread reads a location of its own in place of locking."""
    for steps in _random_traces(1000):
        locks = {step.target for step in steps if step.op == "acquire"}
        unlocked = [
            Step(step.thread, "read", f"own-{step.thread}") if step.op in ("acquire", "release") else step
            for step in steps
        ]
        assert serializable(steps, loops=locks) == serializable(unlocked)
        assert algorithm1.serializable(steps, loops=locks) == serializable(unlocked)
        assert violating.violating(steps, loops=locks) == violating.violating(unlocked)


def test_conflict_serializable_implies_view_serializable() -> None:
    for steps in _random_traces(2000, events=20):
        assert not serializable(steps) or view_serializable(steps)


def test_atomicity_implications() -> None:
    decided = 0
    for steps in _random_traces(400, events=10, threads=3):
        answers = interleavings.answers(steps, budget=2_000)
        if None in answers:
            continue
        decided += 1
        assert not answers.conflict_atomic or answers.view_atomic
        assert not answers.conflict_atomic or answers.conflict_atomic_nopo
        assert not answers.view_atomic or (answers.view_atomic_nopo and view_serializable(steps))
    assert decided > 300


@pytest.mark.parametrize("forks", [True, False])
def test_merged_interleavings_agree_with_listed_ones(forks: bool) -> None:
    for steps in _random_traces(400, events=8, threads=2 + forks, variables=2, handovers=1, forks=forks):
        assert interleavings.conflict_atomic(steps) == listing.conflict_atomic(steps)
        assert interleavings.view_atomic(steps) == listing.view_atomic(steps)
        for literal in (True, False):
            assert avp(steps, literal=literal) == listing.avp(steps, literal=literal)


def test_violation_by_data_alone_is_in_an_avp_interleaving() -> None:
    """The observed trace is one of them, with no read broken."""
    for steps in _random_traces(500, events=15, threads=3):
        data_only = [step for step in steps if step.op not in SYNCHRONIZATION]
        predicted = avp(steps)
        assert predicted is None or all(predicted[f"{t}:{n}"] for t, n in violating.violating(data_only))


def test_projection_that_matches_a_pattern_is_not_serializable() -> None:
    matched = not_serializable = 0
    for steps in _random_traces(600):
        answer = atomic_sets.check(steps, {"S": ["x1", "x2"], "S3": ["x3"]}, {"m1": ["S"], "m2": ["S", "S3"]})
        for of_set in answer["per_set"].values():
            assert not of_set["patterns"] or not of_set["serializable"]
            matched += bool(of_set["patterns"])
            not_serializable += not of_set["serializable"]
    assert 0 < matched < not_serializable


def test_projection_on_all_locations_is_serializability_by_data() -> None:
    for steps in _random_traces(1500, locks=0, handovers=0, forks=False):
        accesses = atomic_sets.projection(steps, ["x1", "x2", "x3"], "S")
        assert atomic_sets.projection_serializable(accesses) == serializable(steps)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("T1:begin T1:r(x) T2:w(x) T1:w(x) T1:end", False),
        ("T1:begin T1:r(x) T1:w(x) T1:end T2:w(x)", True),
        # two regions open at the end
        ("T1:begin T2:begin T1:w(x) T2:w(y) T1:r(y) T2:r(x)", False),
        # a child with only an empty region counts, one with no event does not
        ("T1:begin T1:fork(T2) T2:begin T2:end T1:join(T2) T1:end", False),
        ("T1:begin T1:fork(T2) T1:join(T2) T1:end", True),
        # the inner release of a re-entrant lock makes no order
        ("T1:begin T1:acq(l) T1:acq(l) T1:rel(l) T1:rel(l) T1:end T2:acq(l)", True),
        ("T1:begin T1:acq(l) T1:rel(l) T2:acq(l) T2:rel(l) T1:acq(l) T1:end", False),
        # a take follows every earlier post, and no later one
        ("T1:begin T1:post(h) T2:take(h) T2:post(g) T1:take(g) T1:end", False),
        ("T1:begin T1:post(h) T2:take(h) T2:post(g) T1:end T1:take(g)", True),
        ("T1:begin T2:take(h) T1:post(h) T2:post(g) T1:take(g) T1:end", True),
        ("T1:begin T2:begin T1:post(h) T2:post(h) T1:take(h) T2:take(h)", False),
        # an event after an early event of a region is ordered after all that the region sees later
        ("T3:begin T1:begin T1:w(x) T3:w(z) T1:r(z) T1:end T2:r(x) T2:w(q) T3:r(q)", False),
        ("T3:begin T1:begin T1:r(x) T3:w(z) T1:r(z) T1:end T2:w(x) T2:w(q) T3:r(q)", False),
        ("T3:begin T1:begin T1:post(h) T3:w(z) T1:r(z) T1:end T2:take(h) T2:w(q) T3:r(q)", False),
        ("T3:begin T1:begin T1:acq(l) T1:rel(l) T3:w(z) T1:r(z) T1:end T2:acq(l) T2:w(q) T3:r(q)", False),
    ],
)
def test_serializability_of_small_traces(text: str, expected: bool) -> None:
    assert serializable(notation(text)) is expected
    assert algorithm1.serializable(notation(text)) is expected


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("T1:begin T1:r(x) T2:w(x) T1:r(x) T1:r(x) T1:end", [(2, 3)]),
        ("T1:begin T1:w(x) T2:r(x) T2:r(x) T1:w(x) T1:end", [(3, 4)]),
        ("T1:begin T1:w(x) T2:w(x) T1:w(x) T1:end", [(2, 3)]),
        ("T1:begin T1:fork(T2) T2:begin T2:end T1:join(T2) T1:end", [(3, 4)]),
        ("T1:begin T1:post(h) T2:take(h) T2:post(g) T2:post(g) T1:take(g) T1:take(g) T1:end", [(4, 5)]),
        ("T1:begin T2:begin T1:w(x) T2:w(y) T1:r(y) T2:r(x)", []),
    ],
)
def test_violations_of_small_traces(text: str, pairs: list[tuple[int, int]]) -> None:
    assert [(found.first, found.second) for found in violating.violations(notation(text))] == pairs


def test_transactions_are_outermost_regions_and_single_events() -> None:
    steps = notation("T1:begin(a) T1:begin(b) T2:r(x) T1:end(b) T1:end(a) T1:w(x) T1:begin(a) T1:r(x)")
    found = transactions(normalise(steps))
    assert [(transaction.name, transaction.events) for transaction in found] == [
        ("T1:1", (0, 1, 3, 4)),
        ("T2:None", (2,)),
        ("T1:None", (5,)),
        ("T1:2", (6, 7, 8)),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("T1:acq(l) T1:acq(m) T1:rel(m) T1:rel(l) T2:acq(m) T2:acq(l) T2:rel(l) T2:rel(m)", True),
        ("T1:acq(l) T1:acq(m) T1:rel(m) T1:rel(l) T2:acq(l) T2:acq(m) T2:rel(m) T2:rel(l)", False),
        # T1's recording ends while it holds the lock: T2 waits, but nobody waits in a circle
        ("T2:acq(l) T2:rel(l) T1:acq(l)", False),
        # The take may not come before the post, which needs the lock
        ("T1:acq(l) T1:post(h) T1:rel(l) T2:acq(l) T2:take(h) T2:rel(l)", True),
        ("T1:acq(l) T1:fork(T2) T1:rel(l) T2:acq(l) T2:rel(l)", False),
    ],
)
def test_potential_for_deadlock(text: str, expected: bool) -> None:
    assert interleavings.deadlock(notation(text)) is expected


def test_lock_held_across_units_can_forbid_every_serial_order() -> None:
    """T1 writes before T2, but keeps the lock that T2 takes first: a serial order would need it twice."""
    steps = notation("T2:begin T2:acq(l) T2:rel(l) T1:acq(l) T1:w(y) T2:w(y) T2:end")
    assert interleavings.conflict_atomic(steps) is listing.conflict_atomic(steps) is False
    assert view_serializable(steps) is False


def test_answer_is_none_beyond_the_budget() -> None:
    steps = notation("T1:begin T1:r(x) T1:w(x) T1:end T2:begin T2:r(x) T2:w(x) T2:end")
    assert interleavings.conflict_atomic(steps, budget=3) is None
    assert avp(steps, budget=3) is None
    assert view_serializable(steps, budget=1) is None
