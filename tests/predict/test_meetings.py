"""Cases against pairs: what is decided once for all pairs that are alike is what each pair gives by itself."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations_with_replacement

import numpy as np
import pytest

import atomsan
from atomsan import Trace
from atomsan.checkers.flattening import flattened
from atomsan.predictors import meetings
from atomsan.predictors.analysis import RunAnalysis
from atomsan.predictors.forest import commit_nodes, conflict_forest
from atomsan.predictors.meetings import overlap_of
from atomsan.predictors.pairs import Grid
from atomsan.predictors.tree import TreeNode
from atomsan.predictors.units import Shape
from checkers.comparison import built
from oracles.model import Step

THREADS = ["T1", "T2", "T3"]


def many_units(rng: random.Random) -> list[Step]:
    """A few methods, each called on some of many objects: an object has two fields and two locks."""
    methods = [_method(rng) for _ in range(rng.randint(1, 3))]
    steps: list[Step] = []
    for _ in range(rng.randint(4, 12)):
        thread = rng.choice(THREADS)
        number = rng.randrange(len(methods))
        objects = rng.sample("abcd", 2)
        steps.append(Step(thread, "begin", f"m{number}"))
        steps += [Step(thread, op, f"{objects[which]}.{field}") for op, which, field in methods[number]]
        steps.append(Step(thread, "end", f"m{number}"))
        if rng.random() < 0.1:
            steps.append(Step(thread, rng.choice(["post", "take"]), "h"))
    return steps


def _method(rng: random.Random) -> list[tuple[str, int, str]]:
    found: list[tuple[str, int, str]] = []
    for _ in range(rng.randint(1, 3)):
        which, lock = rng.randrange(2), rng.choice(["l", "k", None])
        accesses = [
            (rng.choice(["read", "write"]), rng.choice([which, which, 1 - which]), rng.choice("xy"))
            for _ in range(rng.randint(0, 2))
        ]
        found += accesses if lock is None else [("acquire", which, lock), *accesses, ("release", which, lock)]
    return found


def analysed(trace: Trace) -> RunAnalysis:
    analysis = RunAnalysis(np.ones(len(trace.symbols.locations), np.bool_), lambda lock: False)
    for batch in flattened(trace):
        analysis.feed(batch)
    analysis.finish()
    return analysis


def met(analysis: RunAnalysis) -> Iterator[tuple[Shape, Shape]]:
    """All pairs of shapes of which some units may run in parallel."""
    for one, other in combinations_with_replacement(analysis.reader.shapes, 2):
        units, others = ([unit for row in shape.occurrences.values() for unit in row] for shape in (one, other))
        if any(analysis.order.are_parallel(unit.time, to.time) for unit in units for to in others):
            yield one, other


def is_torn(one: Shape, other: Shape) -> bool:
    return any(Grid(torn.steps, by.steps).violation() is not None for torn, by in ((one, other), (other, one)))


@pytest.mark.parametrize("seed", range(4))
def test_cases_decide_all_pairs(seed: int) -> None:
    rng = random.Random(seed)
    forms = shapes = broken = 0
    for _ in range(300):
        steps = many_units(rng)
        analysis = analysed(built(steps))
        nodes: dict[int, list[TreeNode]] = {}
        expected = False
        for one, other in met(analysis):
            edges = conflict_forest(one.form.tree, other.form.tree, overlap_of(one, other))
            nodes.setdefault(one.number, []).extend(edge.one for edge in edges)
            nodes.setdefault(other.number, []).extend(edge.other for edge in edges)
            expected |= is_torn(one, other)
        assert (analysis.conflict_atomic.is_atomic is False) == expected, steps
        for shape in analysis.reader.shapes:
            is_proved = len(commit_nodes(nodes.get(shape.number, ()))) <= 1
            assert analysis.conflicts.is_proved(shape) == is_proved, steps
        for pair in analysis.conflict_atomic.pairs:
            assert is_torn(pair.one, pair.other), steps
        forms += len(analysis.reader.forms)
        shapes += len(analysis.reader.shapes)
        broken += expected
    assert forms * 2 < shapes
    assert 30 < broken < 270


def test_next_unit_that_does_the_same_is_known() -> None:
    """One is kept beside the first: of the same thread, with the same data, in the same periods."""
    unit = "T1:begin(m) T1:r(x) T1:w(x) T1:end(m) "
    other = unit.replace("x", "y")
    trace = atomsan.parse(f"{unit}{other}{unit}{unit}{other}T2:begin(m) T2:w(x) T2:w(y) T2:end(m)", format="notation")
    shapes = {shape.locations: shape for shape in analysed(trace).reader.shapes if shape.count > 1}
    first = [shape.occurrences[0][0] for shape in shapes.values()]
    again = [shape.again(unit) for shape, unit in zip(shapes.values(), first, strict=True)]
    assert [one.events for one in first] == [(1, 2), (5, 6)]
    assert [(one.transaction, one.events) for one in again if one] == [(3, (9, 10)), (5, (17, 18))]
    alone = next(shape for shape in analysed(trace).reader.shapes if shape.count == 1)
    assert alone.again(alone.occurrences[1][0]) is None


def of_two_threads(unit: str) -> Trace:
    """Both run the same for each of eight locations."""
    units = (unit.replace("T", f"T{thread}").replace("?", other) for other in "abcdefgh" for thread in (1, 2))
    return atomsan.parse(" ".join(units))


def few_visits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meetings, "LEAST_VISITS", 4)
    monkeypatch.setattr(meetings, "VISITS_OF_A_USE", 0)


def test_pairs_that_are_not_looked_at_make_the_answer_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    # nobody writes what is read outside of the lock, which is not around all accesses for it
    trace = of_two_threads("T:begin(m) T:acq(l) T:w(x) T:rel(l) T:r(?) T:end(m)")
    assert analysed(trace).conflict_atomic.is_atomic is True
    few_visits(monkeypatch)
    answer = analysed(trace).conflict_atomic
    assert answer.is_atomic is None
    assert "too many units" in str(answer.reason)


def test_what_one_lock_guards_is_proved_without_looking_at_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    few_visits(monkeypatch)
    trace = of_two_threads("T:begin(m) T:acq(l) T:w(x) T:w(?) T:rel(l) T:end(m)")
    assert analysed(trace).conflict_atomic.is_atomic is True


@pytest.mark.parametrize("unguarded", ["T2:w(x)", "T2:acq(k) T2:w(x) T2:rel(k)", "T2:acq(l) T2:r(x) T2:rel(l) T2:w(x)"])
@pytest.mark.parametrize("place", [0, 4, 8])
def test_one_user_without_the_guard_is_compared_with_all(unguarded: str, place: int) -> None:
    units = [f"T1:begin(m) T1:acq(l) T1:r(x) T1:w(x) T1:w({other}) T1:rel(l) T1:end(m)" for other in "abcdefgh"]
    units.insert(place, unguarded)
    answer = analysed(atomsan.parse(" ".join(units))).conflict_atomic
    assert answer.is_atomic is False
    compared = {shape.number: shape for pair in answer.pairs for shape in (pair.one, pair.other)}
    assert sum(shape.is_transaction for shape in compared.values()) == 8


def test_two_guards_exclude_only_their_own_holders() -> None:
    def unit(thread: int, *locks: str) -> str:
        taken = [f"T{thread}:acq({lock})" for lock in locks]
        given = [f"T{thread}:rel({lock})" for lock in reversed(locks)]
        both = f"T{thread}:r(x) T{thread}:w(x)"
        return " ".join([f"T{thread}:begin(m)", *taken, both, *given, f"T{thread}:end(m)"])

    safe = [unit(1, "k", "l"), unit(2, "k", "l"), unit(1, "k"), unit(2, "k")]
    assert analysed(atomsan.parse(" ".join(safe))).conflict_atomic.is_atomic is True
    torn = [*safe, unit(1, "l"), unit(2, "l")]
    assert analysed(atomsan.parse(" ".join(torn))).conflict_atomic.is_atomic is False


# ---- locks taken while others are held


def circular(steps: list[Step]) -> set[frozenset[str]]:
    """By the definition: sets of two locks of which each is taken while the other is held, by different threads."""
    held: dict[str, list[str]] = {}
    waits: dict[tuple[str, str], set[tuple[str, frozenset[str]]]] = {}
    for step in steps:
        mine = held.setdefault(step.thread, [])
        if step.op == "acquire":
            for lock in mine:
                waits.setdefault((lock, step.target), set()).add((step.thread, frozenset(mine)))
            mine.append(step.target)
        else:
            mine.remove(step.target)
    return {
        frozenset(edge)
        for edge, by in waits.items()
        for thread, locks in by
        for other, others in waits.get(edge[::-1], ())
        if thread != other and not locks & others
    }


@pytest.mark.parametrize("seed", range(4))
def test_deadlocks_of_two_locks_are_those_of_the_definition(seed: int) -> None:
    rng = random.Random(seed)
    found = 0
    for _ in range(300):
        steps: list[Step] = []
        for _ in range(rng.randint(2, 6)):
            thread, held = rng.choice(THREADS), list[str]()
            for lock in rng.sample("abcde", rng.randint(1, 4)):
                steps.append(Step(thread, "acquire", lock))
                held.append(lock)
                if len(held) > 1 and rng.random() < 0.3:
                    # not the last one as a rule: what is held changes in the middle
                    steps.append(Step(thread, "release", held.pop(rng.randrange(len(held)))))
            steps += [Step(thread, "release", lock) for lock in reversed(held)]
        trace = built(steps)
        told = {frozenset(trace.symbols.locks[wait.lock] for wait in cycle) for cycle in analysed(trace).deadlocks}
        expected = circular(steps)
        assert {locks for locks in told if len(locks) == 2} == expected, steps
        found += len(expected)
    assert found > 100
