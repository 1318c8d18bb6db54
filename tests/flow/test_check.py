"""`atomsan.check`: every kind of input and option, and the golden answers."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import pytest

import atomsan
from atomsan import InputError, Specification, TraceBuilder
from atomsan.checkers.registry import CHECKERS
from oracles.loading import steps
from oracles.serializability import serializable
from oracles.violating import violating, violations
from strategies import random_steps

GOLDEN = Path(__file__).parents[1] / "golden"
EXAMPLES = sorted(path for path in GOLDEN.glob("*.std") if "violations" in path.with_suffix(".json").read_text())
RANDOM = [json.loads(line) for line in (GOLDEN / "random.jsonl").read_text().splitlines()]

# not serializable, and no transaction violates (docs/papers.md)
CYCLE = "T:begin(f) U:begin(g) T:w(x) U:w(y) U:r(x) T:r(y) T:end(f) U:end(g)"
LOST = "T:begin(f) T:r(x) U:w(x) T:w(x) T:end(f)"


def facts(report: atomsan.Report) -> dict[str, Any]:
    return {
        "serializable": report.serializable,
        "violations": report.violations,
        "violating": sorted([thread, number] for thread, number in report.transactions),
    }


def expected(answers: dict[str, Any]) -> dict[str, Any]:
    return {
        "serializable": answers["serializable"],
        "violations": answers["violations"],
        "violating": sorted(answers["violating"]),
    }


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_golden_traces_give_the_expected_answers(path: Path) -> None:
    answers = json.loads(path.with_suffix(".json").read_text())
    for algorithm in ("auto", "davida", "regiontrack"):
        report = atomsan.check(path, algorithm)
        assert facts(report) == expected(answers)
        holds = answers["serializable"] and not answers["violations"]
        assert report.verdict == ("holds" if holds else "violated")
        assert bool(report.findings) == (not holds)
    for algorithm in ("aerodrome", "velodrome", "doublechecker"):
        report = atomsan.check(path, algorithm)
        assert report.serializable == answers["serializable"]
        assert bool(report.findings) == (not answers["serializable"])


def test_random_golden_traces_give_the_expected_answers() -> None:
    for row in RANDOM:
        trace = atomsan.parse(row["trace"], format="std")
        for algorithm in ("auto", "regiontrack"):
            report = atomsan.check(trace, algorithm)
            assert facts(report) == expected(row), row["trace"]
            assert bool(report.findings) == (report.verdict == "violated")


def test_every_witness_of_every_checker_can_be_explained() -> None:
    """An edge that cannot be explained raises: nothing to assert but the verdicts."""
    rng = random.Random(3)
    names = [name for name in CHECKERS if name != "empty"]
    for _ in range(400):
        builder = TraceBuilder()
        for step in random_steps(rng):
            builder.add(step.thread, step.op, step.target)
        trace = builder.build()
        listed = steps(trace)
        report = atomsan.check(trace, ["auto", *names])
        assert report.serializable == serializable(listed)
        assert report.violations == len(violations(listed))
        assert set(report.transactions) == violating(listed)
        assert bool(report.findings) == (report.verdict == "violated")
        for finding in report.findings:
            assert not (finding.witness and finding.hint is None and finding.kind == "atomicity")


def test_not_atomic_regions_are_treated_as_absent() -> None:
    rng = random.Random(4)
    for _ in range(200):
        whole, without = TraceBuilder(), TraceBuilder()
        open_regions: dict[str, list[str]] = {}
        for step in random_steps(rng):
            whole.add(*step)
            stack = open_regions.setdefault(step.thread, [])
            region = stack.pop() if step.op == "end" else step.target
            stack += [region] * (step.op == "begin")
            if step.op not in ("begin", "end") or region != "R1":
                without.add(*step)
        under = atomsan.check(whole.build(), spec=Specification(not_atomic=("R1",)))
        assert facts(under) == facts(atomsan.check(without.build()))


# ---- inputs, algorithms and options


def test_accepts_a_trace_a_path_a_stream_or_a_source(tmp_path: Path) -> None:
    trace = atomsan.parse(LOST)
    path = tmp_path / "t.std"
    trace.save(path)
    for given in (trace, path, str(path), io.BytesIO(path.read_bytes()), atomsan.open_trace(path)):
        report = atomsan.check(given)
        assert (report.verdict, report.violations, list(report.transactions)) == ("violated", 1, [("T", 1)])
        assert report.trace.events == 5


@pytest.mark.parametrize("first", [True, False])
def test_cycle_without_a_blamed_transaction_is_a_finding(tmp_path: Path, first: bool) -> None:
    path = tmp_path / "t.std"
    atomsan.parse(CYCLE).save(path)
    for given in (path, io.BytesIO(path.read_bytes()), atomsan.parse(CYCLE)):
        report = atomsan.check(given, first=first)
        assert (report.verdict, report.serializable, report.violations) == ("violated", False, 0)
        (finding,) = report.findings
        assert (finding.kind, finding.pattern) == ("cycle", "mutual order")
        assert {step.thread for step in finding.witness} == {"T", "U"}
        assert set(report.results) == {"aerodrome", "davida"}, "the checker that shows the cycle decides nothing"


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    "algorithm", [["davida"], ["regiontrack"], ["regiontrack", "aerodrome"], ["davida", "velodrome"]]
)
def test_cycle_is_shown_with_any_algorithm_that_detects_it(tmp_path: Path, algorithm: list[str], first: bool) -> None:
    path = tmp_path / "t.std"
    atomsan.parse(CYCLE).save(path)
    for given in (path, atomsan.parse(CYCLE)):
        report = atomsan.check(given, algorithm, first=first)
        (finding,) = report.findings
        assert (finding.kind, [step.event for step in finding.witness]) == ("cycle", [2, 4, 3, 5])
        assert set(report.results) == set(algorithm)


@pytest.mark.parametrize("algorithm", ["davida", "regiontrack", "aerodrome"])
def test_cycle_without_a_witness_is_a_finding_too(algorithm: str) -> None:
    """AeroDrome alone is chosen for speed, a stream cannot be read again, and `explain=False` asks for no witness."""
    given = atomsan.parse(CYCLE) if algorithm == "aerodrome" else io.BytesIO(CYCLE.encode())
    for report in (atomsan.check(given, algorithm), atomsan.check(atomsan.parse(CYCLE), algorithm, explain=False)):
        (finding,) = report.findings
        assert (finding.kind, finding.witness) == ("cycle", ())


def test_first_stops_at_the_first_violation() -> None:
    trace = atomsan.parse(f"{LOST} {LOST} {LOST.replace('x', 'y')}")
    assert atomsan.check(trace).violations == 3
    for algorithm in ("auto", "davida"):
        report = atomsan.check(trace, algorithm, first=True)
        assert (report.violations, list(report.transactions)) == (1, [("T", 1)])
        assert [finding.count for finding in report.findings] == [1]


def test_the_same_violation_many_times_is_one_finding() -> None:
    (finding,) = atomsan.check(atomsan.parse(" ".join([LOST] * 50))).findings
    assert finding.count == 50
    assert finding.first_event == 3


def test_several_algorithms_give_one_report() -> None:
    report = atomsan.check(atomsan.parse(LOST), ["velodrome", "davida", "davida"])
    assert report.algorithm == "velodrome, davida"
    assert set(report.results) == {"velodrome", "davida"}
    assert report.violations == 1
    assert [finding.count for finding in report.findings] == [1]


def test_specification_may_be_a_file_or_an_object(tmp_path: Path) -> None:
    path = tmp_path / "spec.toml"
    path.write_text("not_atomic = ['f']")
    assert atomsan.check(atomsan.parse(LOST), spec=path).verdict == "holds"
    assert atomsan.check(atomsan.parse(LOST), spec=Specification(atomic=("g",))).verdict == "holds"
    path.write_text("frob = 1")
    with pytest.raises(InputError, match=r"spec.toml: 'frob' is not a key"):
        atomsan.check(atomsan.parse(LOST), spec=path)


def test_events_are_numbered_as_in_the_input() -> None:
    line = "T:begin(a) T:begin(f) T:r(x) U:w(x) T:w(x) T:end(f) T:end(a)"
    report = atomsan.check(atomsan.parse(line), spec=Specification(not_atomic=("a",)))
    assert [step.event for step in report.findings[0].witness] == [2, 3, 4]
    assert report.findings[0].region == "f"
    assert report.trace.events == 7


def test_split_at_waits_ends_the_region_at_a_wait() -> None:
    line = "T:begin(f) T:r(x) U:w(x) U:post(h) T:take(h) T:w(x) T:end(f)"
    assert atomsan.check(atomsan.parse(line)).verdict == "violated"
    assert atomsan.check(atomsan.parse(line), split_at_waits=True).verdict == "holds"


def test_unknown_algorithm_is_refused() -> None:
    with pytest.raises(InputError, match="unknown algorithm 'frob': it is one of auto, "):
        atomsan.check(atomsan.parse(LOST), "frob")


def test_violations_without_a_witness_are_counted_by_region() -> None:
    line = " ".join([LOST, LOST.replace("T:", "V:").replace("(f)", "(g)"), LOST])
    report = atomsan.check(atomsan.parse(line), "regiontrack")
    assert {finding.region: (finding.count, finding.first_event) for finding in report.findings} == {
        "f": (2, 0),
        "g": (1, 5),
    }
