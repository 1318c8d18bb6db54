"""The trace strategies: well-formed, with every feature, shrinking; and the oracle of well-formedness."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import find, given, settings

from oracles.loading import notation
from oracles.model import ACCESSES, MARKERS, Step, normalise, transactions
from oracles.serializability import serializable
from oracles.wellformed import offence
from strategies import Shape, random_steps, traces

quietly = settings(max_examples=300, deadline=None, derandomize=True, database=None)


@quietly
@given(traces())
def test_drawn_traces_are_well_formed(steps: list[Step]) -> None:
    assert offence(steps) is None


@quietly
@given(traces(closed=True))
def test_closed_traces_leave_nothing_open(steps: list[Step]) -> None:
    assert offence(steps) is None
    assert _open_at_end(steps) == _held_at_end(steps) == 0


def test_random_traces_are_well_formed_and_have_every_feature() -> None:
    rng = random.Random(7)
    sample = [random_steps(rng) for _ in range(3000)]
    assert not any(offence(steps) for steps in sample)
    for feature, present in FEATURES.items():
        assert sum(map(present, sample)) > 20, feature


def test_features_can_be_switched_off() -> None:
    rng = random.Random(7)
    limits = {"forks": False, "handovers": 0, "locks": 0, "nesting": False, "unary": False}
    for _ in range(500):
        steps = random_steps(rng, **limits)
        assert {step.op for step in steps} <= ACCESSES | MARKERS
        assert all(transaction.number for transaction in transactions(normalise(steps)))
        assert not FEATURES["nested region"](steps)


def test_block_structured_traces_close_from_the_inside_out() -> None:
    rng = random.Random(7)
    for _ in range(500):
        opened: dict[str, list[str]] = {}
        for thread, op, target in random_steps(rng, block_structured=True):
            if op in ("begin", "acquire"):
                opened.setdefault(thread, []).append(target)
            elif op in ("end", "release"):
                assert opened[thread].pop() == target


def test_traces_keep_the_limits() -> None:
    rng = random.Random(7)
    shape = Shape(threads=2, variables=1, locks=1, events=10)
    for _ in range(500):
        steps = random_steps(rng, threads=2, variables=1, locks=1, events=10)
        assert len({step.thread for step in steps}) <= shape.threads
        assert {step.target for step in steps if step.op in ACCESSES} <= {"x1"}
        assert len(normalise(steps)) <= 3 * shape.events


def test_failure_shrinks_to_the_smallest_trace() -> None:
    smallest = find(traces(), lambda steps: not serializable(steps), settings=quietly)
    assert len(smallest) == 4
    assert {step.thread for step in smallest} == {"T1", "T2"}


def _open_at_end(steps: list[Step]) -> int:
    return sum((step.op == "begin") - (step.op == "end") for step in steps)


def _held_at_end(steps: list[Step]) -> int:
    return sum((step.op == "acquire") - (step.op == "release") for step in steps)


def _forked(steps: list[Step]) -> set[str]:
    return {step.target for step in steps if step.op == "fork"}


def _joined_open(steps: list[Step]) -> bool:
    joined = {step.target for step in steps if step.op == "join"}
    return any(_open_at_end([step for step in steps if step.thread == thread]) for thread in joined)


def _only_empty_region(steps: list[Step]) -> bool:
    own = {child: [step.op for step in steps if step.thread == child] for child in _forked(steps)}
    return any(ops and set(ops) <= MARKERS for ops in own.values())


FEATURES: dict[str, Callable[[list[Step]], bool]] = {
    "open region": lambda steps: _open_at_end(steps) > 0,
    "held lock": lambda steps: _held_at_end(steps) > 0,
    "everything closed": lambda steps: _open_at_end(steps) == _held_at_end(steps) == 0,
    "child without event": lambda steps: bool(_forked(steps) - {step.thread for step in steps}),
    "child with only an empty region": _only_empty_region,
    "join": lambda steps: any(step.op == "join" for step in steps),
    "join of an open region": _joined_open,
    "re-entrant lock": lambda steps: len(normalise(steps)) - _open_at_end(steps) < len(steps),
    "nested region": lambda steps: any(
        [step.op for step in steps if step.thread == thread][:2] == ["begin", "begin"]
        for thread in {step.thread for step in steps}
    ),
    "unary event": lambda steps: any(found.number is None for found in transactions(normalise(steps))),
    "take after post": lambda steps: any(
        step.op == "take" and any(s.op == "post" and s.target == step.target for s in steps[:index])
        for index, step in enumerate(steps)
    ),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("T1:begin(a) T1:r(x) T1:end(a)", None),
        ("T1:begin(a) T1:acq(l)", None),
        ("T1:acq(l) T1:acq(l) T1:rel(l) T1:rel(l) T2:acq(l)", None),
        ("T1:fork(T2) T1:join(T2)", None),
        ("T1:dance(x)", (0, "unknown-op")),
        ("T1:acq(l) T2:acq(l)", (1, "lock-held-by-other")),
        ("T1:acq(l) T1:acq(l) T1:rel(l) T2:acq(l)", (3, "lock-held-by-other")),
        ("T1:rel(l)", (0, "release-without-acquire")),
        ("T1:acq(l) T2:rel(l)", (1, "release-without-acquire")),
        ("T1:end(a)", (0, "end-without-begin")),
        ("T1:begin(a) T2:end(a)", (1, "end-without-begin")),
        ("T1:begin(a) T1:begin(b) T1:end(a)", (2, "end-without-begin")),
        ("T2:r(x) T1:fork(T2)", (1, "fork-after-first-event")),
        ("T1:fork(T1)", (0, "fork-after-first-event")),
        ("T1:fork(T2) T1:fork(T2)", (1, "forked-twice")),
        ("T1:fork(T2) T1:join(T2) T2:r(x)", (2, "event-after-join")),
        ("T1:join(T1)", (0, "event-after-join")),
    ],
)
def test_first_offence(text: str, expected: tuple[int, str] | None) -> None:
    assert offence(notation(text)) == expected
