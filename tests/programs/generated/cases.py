"""One case of the oracle: a program with its truth, recorded and judged. Each is known by its seed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import atomsan
from generated.generation import generate, with_other_callers, with_other_data, with_other_literals
from generated.harness import FINDING, NOTE, NOTHING, SUSPECT, Harness, Judged
from generated.spelling import SPELLINGS, Spelling
from generated.tree import Program
from generated.truth import (
    ATOMIC,
    BENIGN,
    HARMFUL,
    DeadlockError,
    Interleavings,
    Outcome,
    TooLargeError,
    Truth,
    truth_of,
)

# A program is benign only if it is so on so many other values of its data, too, and so many times with other callers;
# and with other literals, since two units that write the same number down may do so by chance.
OTHER_DATA = 100
OTHER_CALLERS = 150


# Harmful, but only by accesses that do not occur if one thread runs after the other.
ELSEWHERE = "not run"


class Case(NamedTuple):
    seed: int
    program: Program
    truth: Truth
    spelling: int
    """Number of the spelling."""

    @property
    def spelled(self) -> Spelling:
        return SPELLINGS[self.spelling]


class Row(NamedTuple):
    """A judged case, for the table."""

    seed: int
    truth: str
    level: str
    features: frozenset[str]
    said: frozenset[str]
    """What decided: the patterns of findings, else why the others are none."""
    failure: str | None
    """Why the run is not the one that was asked for."""

    @property
    def fault(self) -> str | None:
        return FAULTS.get((self.truth, self.level))


FAULTS = {
    (HARMFUL, SUSPECT): "harmful, only a suspect",
    (HARMFUL, NOTE): "harmful, missed",
    (HARMFUL, NOTHING): "harmful, missed",
    (ELSEWHERE, NOTE): "harmful by accesses that did not occur, missed",
    (ELSEWHERE, NOTHING): "harmful by accesses that did not occur, missed",
    (BENIGN, FINDING): "benign, a finding",
    (ATOMIC, FINDING): "atomic, a finding",
    (ATOMIC, SUSPECT): "atomic, a suspect",
}


def case_of(seed: int) -> Case:
    """Programs that can deadlock, or that have too many interleavings, are drawn again."""
    source = random.Random(seed)
    while True:
        program = generate(source)
        try:
            truth = truth_of(program, source)
            if truth.verdict == BENIGN:
                program, truth = _harmful_elsewhere(program, source) or (program, truth)
        except (DeadlockError, TooLargeError):
            continue
        return Case(seed, program, truth, source.randrange(len(SPELLINGS)))


def _harmful_elsewhere(program: Program, source: random.Random) -> tuple[Program, Truth] | None:
    """The same code on other data, or called in other ways, if it is harmful there: then it was harmless by chance."""
    programs = program, with_other_literals(program, source)
    for number in range(OTHER_DATA + OTHER_CALLERS):
        other = with_other_data(programs[number % 2], source)
        if number >= OTHER_DATA:
            other = with_other_callers(other, source)
        try:
            truth = truth_of(other, source)
        except TooLargeError:
            continue
        if truth.verdict == HARMFUL:
            return other, truth
    return None


def judge_case(harness: Harness, case: Case, spelling: Spelling | None = None) -> Judged:
    return harness.judge(case.program, case.truth.schedule, spelling or case.spelled)


def predict_case(harness: Harness, case: Case, spelling: Spelling | None = None) -> tuple[Judged, Outcome]:
    """With the outcome that the reference interpreter has, one thread after the other."""
    schedule, outcome = Interleavings(case.program).one_after_the_other()
    return harness.predict(case.program, schedule, spelling or case.spelled), outcome


def rows_of(cases: Iterable[Case]) -> list[Row]:
    with Harness() as harness:
        return [row_of(harness, case) for case in cases]


def predicted_rows_of(cases: Iterable[Case]) -> list[Row]:
    """Each program is run once, one thread after the other: what is predicted."""
    with Harness() as harness:
        return [predicted_row_of(harness, case) for case in cases]


def row_of(harness: Harness, case: Case) -> Row:
    return _row(case, judge_case(harness, case), case.truth.outcome)


def predicted_row_of(harness: Harness, case: Case) -> Row:
    judged, outcome = predict_case(harness, case)
    row = _row(case, judged, outcome)
    if row.truth != HARMFUL:
        return row
    interleavings = Interleavings(case.program)
    is_shown = interleavings.is_shown_by_accesses_of(interleavings.one_after_the_other()[0])
    return row if is_shown else row._replace(truth=ELSEWHERE)


def _row(case: Case, judged: Judged, outcome: Outcome) -> Row:
    failure = judged.run.failure
    if failure is None and judged.run.outcome != outcome:
        failure = f"{judged.run.outcome} instead of {outcome}"
    features = case.program.features | {f"spelling {case.spelling}"}
    return Row(case.seed, case.truth.verdict, judged.level, features, said(judged.report), failure)


def said(report: atomsan.Report) -> frozenset[str]:
    if report.findings:
        return frozenset(finding.pattern for finding in report.findings)
    others = getattr(report, "suspects", ()) or report.notes
    return frozenset(f"{other.pattern}: {other.why}" for other in others)


def differing_levels(seeds: Sequence[int]) -> list[tuple[int, list[str]]]:
    """Programs whose level depends on how they are spelled: the levels of all spellings."""
    found = []
    with Harness() as harness:
        for seed in seeds:
            case = case_of(seed)
            levels = [judge_case(harness, case, spelling).level for spelling in SPELLINGS]
            if len(set(levels)) > 1:
                found.append((seed, levels))
    return found
