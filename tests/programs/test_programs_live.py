"""Live checks against checks of the same events stored: the reports are equal, or say what was forgotten."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from generated.cases import case_of
from generated.harness import Harness
from outcomes import ENVIRONMENT, RACY, SAFE, SECONDS, name_of

import atomsan
from atomsan.findings.reasons import FORGOTTEN
from atomsan.flow import live_evidence
from atomsan.trace.reading import open_trace
from read_once import ReadOnce

LEVELS = ("findings", "suspects", "notes")
SAMPLE = (*RACY[::24], *SAFE[::36])
GENERATED = 150


def told(report: atomsan.Report) -> dict[str, Any]:
    """What a report says. The numbers of units differ: a live check has some for locations that only one thread has."""
    document = report.to_dict()
    for level in LEVELS:
        for finding in document[level]:
            for step in finding["witness"]:
                step.pop("unit", None)
    return {key: document[key] for key in (*LEVELS, "verdict", "serializable", "violations")}


@pytest.mark.parametrize(("path", "seed"), [(path, i % 3) for i, path in enumerate(SAMPLE)], ids=map(name_of, SAMPLE))
def test_live_check_of_a_program_gives_the_same_report(path: Path, seed: int, tmp_path: Path) -> None:
    trace = tmp_path / "run.atomtrace"
    command = [sys.executable, "-m", "atomsan", "record", "-q", "--noise", "--seed", str(seed), "-o", str(trace)]
    subprocess.run([*command, str(path)], capture_output=True, timeout=SECONDS, check=False, env=ENVIRONMENT)
    report = atomsan.check(trace)
    for size in (1 << 20, 1 + report.trace.events // 30):
        live = atomsan.check(ReadOnce(open_trace(trace), size))
        assert told(live) == told(report), f"{name_of(path)}, batches of {size}"


def test_live_check_of_generated_programs_gives_the_same_reports() -> None:
    seen = dict.fromkeys(LEVELS, 0)
    with Harness() as harness:
        for seed in range(GENERATED):
            case = case_of(seed)
            tape = harness.run(case.program, case.truth.schedule, case.spelled).tape
            stored = told(atomsan.check(tape))
            assert told(atomsan.check(ReadOnce(tape.reopened(), 1 + seed % 20))) == stored, f"program {seed}"
            for level in LEVELS:
                seen[level] += len(stored[level])
    assert min(seen.values()) > GENERATED // 10, seen


def test_nothing_is_called_harmless_because_it_left_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_evidence, "LiveEvidence", partial(live_evidence.LiveEvidence, most=16))
    forgotten = partial_hints = 0
    with Harness() as harness:
        for seed in range(GENERATED):
            case = case_of(seed)
            tape = harness.run(case.program, case.truth.schedule, case.spelled).tape
            stored, live = told(atomsan.check(tape)), told(atomsan.check(ReadOnce(tape.reopened(), 2)))
            forgotten += any(suspect["why"] == FORGOTTEN.why for suspect in live["suspects"])
            assert ids(live, "findings") <= ids(stored, "findings"), f"program {seed}"
            if stored["findings"] or stored["suspects"]:
                assert live["findings"] or live["suspects"], f"program {seed}"
            if not stored["findings"]:
                assert live["verdict"] == "holds"
            repairs = [one for level in LEVELS for one in live[level] if one.get("repair")]
            partial_hints += sum("only the latest events" in one["hint"] for one in repairs)
            assert all(not one["repair"]["mechanical"] for one in repairs if "only the latest events" in one["hint"])
    assert forgotten > GENERATED // 10
    assert partial_hints > GENERATED // 10


@pytest.mark.parametrize(
    "where", ["window.Window.surroundings", "window.Window.add", "live_evidence.projected_witness"]
)
def test_interrupted_live_check_reports_what_it_has(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with Harness() as harness:
        for seed in range(20):
            case = case_of(seed)
            tape = harness.run(case.program, case.truth.schedule, case.spelled).tape
            with monkeypatch.context() as patched:
                patched.setattr(f"atomsan.flow.{where}", interrupt)
                report = atomsan.check(ReadOnce(tape.reopened(), 5))
            assert report.stopped or not report.violations


def ids(document: dict[str, Any], level: str) -> set[str]:
    return {finding["id"] for finding in document[level]}
