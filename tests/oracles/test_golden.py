"""Every oracle against the golden answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from oracles import algorithm1, atomic_sets, interleavings, listing, serializability, violating
from oracles.avp import avp
from oracles.loading import parse_std
from oracles.model import Step, normalise
from oracles.view import view_serializable
from oracles.wellformed import offence

GOLDEN = Path(__file__).parent.parent / "golden"

# The number of answers to compare, so that a test that compares nothing cannot pass.
KNOWN = {
    "serializable": 330,
    "shortest_cycle": 330,
    "violations": 330,
    "violating": 330,
    "violation_events": 330,
    "violations_nojoin": 47,
    "violating_nojoin": 47,
    "view_serializable": 325,
    "deadlock": 261,
    "ws_assumptions": 261,
    "conflict_atomic": 261,
    "view_atomic": 261,
    "conflict_atomic_nopo": 256,
    "view_atomic_nopo": 256,
    "avp": 261,
    "avp_explore": 278,
    "atomic_sets": 4,
}


def _golden() -> Iterator[tuple[str, list[Step], dict[str, Any]]]:
    for path in sorted(GOLDEN.glob("*.std")):
        yield path.stem, parse_std(path.read_text()), json.loads(path.with_suffix(".json").read_text())
    for number, line in enumerate((GOLDEN / "random.jsonl").read_text().splitlines()):
        answers = json.loads(line)
        yield f"random-{number}", parse_std(answers["trace"]), answers


TRACES = list(_golden())


def _shortest_cycle(steps: list[Step]) -> int | None:
    cycle = serializability.shortest_cycle(steps)
    return len(cycle) if cycle else None


def _violation_events(steps: list[Step]) -> list[list[int]]:
    return sorted([found.first, found.second] for found in violating.violations(steps))


def _without_joins(steps: list[Step]) -> list[violating.Violation]:
    return [found for found in violating.violations(steps) if not found.by_join]


def _violating_without_joins(steps: list[Step]) -> list[list[str | int | None]]:
    transactions = {found.transaction for found in _without_joins(steps)}
    return sorted([transaction.thread, transaction.number] for transaction in transactions)


ORACLES: dict[str, Callable[[list[Step]], Any]] = {
    "serializable": serializability.serializable,
    "shortest_cycle": _shortest_cycle,
    "violations": lambda steps: len(violating.violations(steps)),
    "violating": lambda steps: sorted(map(list, violating.violating(steps))),
    "violation_events": _violation_events,
    "violations_nojoin": lambda steps: len(_without_joins(steps)),
    "violating_nojoin": _violating_without_joins,
    "view_serializable": view_serializable,
    "deadlock": interleavings.deadlock,
    "ws_assumptions": interleavings.ws_assumptions,
    "conflict_atomic": interleavings.conflict_atomic,
    "view_atomic": interleavings.view_atomic,
    "conflict_atomic_nopo": lambda steps: interleavings.conflict_atomic(steps, program_order=False),
    "view_atomic_nopo": lambda steps: interleavings.view_atomic(steps, program_order=False),
    "avp": lambda steps: avp(steps, literal=True),
    "avp_explore": avp,
}


def _expected(key: str, answers: dict[str, Any]) -> Any:
    """random.jsonl leaves avp_explore out where it is the same as avp."""
    if key == "avp_explore":
        return answers.get("avp_explore", answers["avp"])
    return answers.get(key)


def _is_known(key: str, answers: dict[str, Any]) -> bool:
    """For the length of the shortest cycle, null is an answer: there is no cycle."""
    return key == "shortest_cycle" or _expected(key, answers) is not None


@pytest.mark.parametrize("key", ORACLES)
def test_oracle_gives_the_golden_answers(key: str) -> None:
    known = [(name, steps, answers) for name, steps, answers in TRACES if _is_known(key, answers)]
    got = {name: ORACLES[key](steps) for name, steps, _ in known}
    expected = {name: _in_order(key, _expected(key, answers)) for name, _, answers in known}
    assert got == expected
    assert len(known) == KNOWN[key]


def _in_order(key: str, answer: Any) -> Any:
    return sorted(answer) if key in {"violating", "violation_events", "violating_nojoin"} else answer


def test_algorithm_1_gives_the_golden_verdicts() -> None:
    got = {name: algorithm1.serializable(steps) for name, steps, _ in TRACES}
    assert got == {name: answers["serializable"] for name, _, answers in TRACES}


def test_atomic_sets_give_the_golden_answers() -> None:
    known = [(steps, answers) for _, steps, answers in TRACES if "atomic_sets" in answers]
    for steps, answers in known:
        assert atomic_sets.check(steps, answers["sets"], answers["declared"]) == answers["atomic_sets"]
    assert len(known) == KNOWN["atomic_sets"]


def test_avp_interleavings_of_figure_1() -> None:
    (steps, answers) = next((s, a) for name, s, a in TRACES if name == "tas-fig1")
    accesses = [place for place, event in enumerate(normalise(steps)) if event.op in ("read", "write")]
    names = {place: f"e{number}" for number, place in enumerate(accesses, 1)}
    listed = listing.avp_interleavings(steps, literal=True)
    assert {tuple(names[place] for place in order) for order in listed} == set(map(tuple, answers["avp_set"]))


def test_golden_traces_are_well_formed() -> None:
    assert {name: offence(steps) for name, steps, _ in TRACES} == {name: None for name, _, _ in TRACES}
