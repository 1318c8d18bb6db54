"""Prediction against the definitions: all interleavings of small traces, enumerated (`oracles/interleavings.py`).

A proof never contradicts the oracle, and neither does a refutation; of two transactions, the answer is never unknown.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

import atomsan
from atomsan import Report, Trace
from checkers.comparison import built
from oracles.interleavings import Answers, answers
from oracles.model import Step
from strategies import random_steps

GOLDEN = Path(__file__).parent.parent / "golden"
METHODS = ["commit-node", "view"]
# Larger traces are left out.
BUDGET = 30_000


def predicted(trace: Trace, method: str | Sequence[str] = METHODS) -> Report:
    return atomsan.predict(trace, method, explain=False)


def is_deadlock(report: Report) -> bool:
    return any(note.kind == "deadlock" for note in report.notes)


def facts(report: Report) -> tuple[bool | None, bool | None]:
    assert report.prediction is not None
    return report.prediction.conflict_atomic, report.prediction.view_atomic


def contradictions(report: Report, truth: Answers) -> list[str]:
    """What is said and not so."""
    conflict, view = facts(report)
    found = []
    if None not in (conflict, truth.conflict_atomic) and conflict != truth.conflict_atomic:
        found.append("conflict_atomic")
    if None not in (view, truth.view_atomic) and view != truth.view_atomic:
        found.append("view_atomic")
    if truth.deadlock and not is_deadlock(report):
        found.append("deadlock")
    return found


# ---- golden traces


def test_golden_answers_are_not_contradicted() -> None:
    compared = 0
    lines = (GOLDEN / "random.jsonl").read_text().splitlines()
    named = [(path.read_text(), json.loads(path.with_suffix(".json").read_text())) for path in GOLDEN.glob("ws-*.std")]
    for text, row in [*named, *((row["trace"], row) for row in map(json.loads, lines))]:
        truth = Answers(*(row.get(name) for name in Answers._fields))
        assert contradictions(predicted(atomsan.parse(text, format="std")), truth) == [], text
        compared += truth.conflict_atomic is not None
    assert compared > 230


@pytest.mark.parametrize(
    ("name", "conflict", "view"),
    [
        ("ws-fig4", False, None),
        ("ws-fig4-t1t2", False, True),
        ("ws-fig7", True, True),
        ("ws-wwxw", False, True),
        ("ws-rwr", True, True),
    ],
)
def test_examples_of_the_paper(name: str, conflict: bool, view: bool | None) -> None:
    assert facts(predicted(atomsan.load(GOLDEN / f"{name}.std"))) == (conflict, view)


# ---- generated traces

FAMILIES = {
    "two threads": {"threads": 2, "variables": 2, "events": 12, "forks": False, "handovers": 0, "unary": False},
    "three threads": {"threads": 3, "variables": 3, "events": 14, "forks": False, "handovers": 0, "unary": False},
    "everything": {"threads": 3, "variables": 2, "events": 14, "handovers": 1},
}


@pytest.mark.parametrize("family", FAMILIES)
def test_generated_traces_are_not_contradicted(family: str) -> None:
    rng = random.Random(family)
    seen: Counter[tuple[bool | None, bool | None]] = Counter()
    for _ in range(150):
        steps = random_steps(rng, locks=2, block_structured=True, closed=True, **FAMILIES[family])
        truth = answers(steps, BUDGET)
        report = predicted(built(steps))
        assert contradictions(report, truth) == [], steps
        seen[truth.conflict_atomic, facts(report)[0]] += 1
    assert seen[True, True] > 20
    assert seen[False, False] > 5


def test_locks_that_are_not_nested_and_regions_that_stay_open() -> None:
    rng = random.Random(5)
    for _ in range(200):
        steps = random_steps(rng, threads=3, locks=3, variables=2, events=14)
        assert contradictions(predicted(built(steps)), answers(steps, BUDGET)) == [], steps


def transactions(rng: random.Random, threads: int = 2) -> list[Step]:
    """A transaction for each thread, dense with accesses and nested lock blocks, one after the other."""
    steps: list[Step] = []
    for number in range(threads):
        thread = f"T{number + 1}"
        steps.append(Step(thread, "begin", f"m{number}"))
        held: list[str] = []
        for _ in range(rng.randint(3, 6)):
            free = [lock for lock in ("l", "k") if lock not in held]
            if held and rng.random() < 0.3:
                steps.append(Step(thread, "release", held.pop()))
            elif free and rng.random() < 0.4:
                held.append(rng.choice(free))
                steps.append(Step(thread, "acquire", held[-1]))
            else:
                steps.append(Step(thread, rng.choice(["read", "write"]), rng.choice("xy")))
        steps += [Step(thread, "release", lock) for lock in reversed(held)]
        steps.append(Step(thread, "end", f"m{number}"))
    return steps


def test_two_transactions_are_decided_exactly() -> None:
    rng = random.Random(1)
    seen: Counter[tuple[bool | None, bool | None]] = Counter()
    for _ in range(600):
        steps = transactions(rng)
        truth = answers(steps, BUDGET)
        report = predicted(built(steps))
        conflict, view = facts(report)
        assert conflict == truth.conflict_atomic or (conflict is None and truth.deadlock), steps
        if truth.ws_assumptions:
            assert (conflict, view) == (truth.conflict_atomic, truth.view_atomic), steps
        assert is_deadlock(report) == truth.deadlock, steps
        if not truth.deadlock:
            assert facts(predicted(built(steps), "blocks"))[0] == conflict, steps
        seen[conflict, view] += 1
    assert min(seen[True, True], seen[False, False], seen[False, True]) >= 15


def test_three_transactions_are_not_contradicted_and_reduction_proves_no_more() -> None:
    rng = random.Random(2)
    unproved: Counter[str] = Counter()
    proved: Counter[str] = Counter()
    for _ in range(200):
        steps = transactions(rng, threads=3)
        truth = answers(steps, BUDGET)
        trace = built(steps)
        report = predicted(trace)
        assert contradictions(report, truth) == [], steps
        by_movers = facts(predicted(trace, "reduction"))[0]
        assert by_movers is not False
        assert not by_movers or facts(report)[0] is True, steps
        if truth.ws_assumptions and truth.conflict_atomic:
            for name, answer in (("commit-node", facts(report)[0]), ("reduction", by_movers)):
                proved[name] += answer is True
                unproved[name] += answer is None
    print("atomic and proved:", dict(proved), "false alarms:", dict(unproved))
    assert proved["commit-node"] > proved["reduction"] > 0
