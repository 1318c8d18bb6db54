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


def test_pairs_that_are_not_looked_at_make_the_answer_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    units = [
        f"T{thread}:begin(m) T{thread}:acq(l) T{thread}:w(x) T{thread}:w({other}) T{thread}:rel(l) T{thread}:end(m)"
        for other in "abcdefgh"
        for thread in (1, 2)
    ]
    trace = atomsan.parse(" ".join(units))
    assert analysed(trace).conflict_atomic.is_atomic is True
    monkeypatch.setattr(meetings, "LEAST_VISITS", 4)
    monkeypatch.setattr(meetings, "VISITS_OF_A_USE", 0)
    answer = analysed(trace).conflict_atomic
    assert answer.is_atomic is None
    assert "too many units" in str(answer.reason)
