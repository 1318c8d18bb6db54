"""A trace in which tasks were not followed: whatever is asked about it, nothing is known to hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import atomsan
from atomsan.findings.report import Report
from atomsan.findings.runs import merge_runs
from atomsan.flow.prediction_beside import with_predictions
from atomsan.source.spec import Specification
from atomsan.trace.trace import Trace

REASON = "tasks of trio were not followed"
SENTENCE = f"{REASON}: they look like one thread"
SERIAL = "T:begin(f) T:r(x) T:end(f) U:begin(f) U:r(x) U:end(f)"
TORN = "T:begin(f) T:r(x) U:w(x) T:w(x) T:end(f)"


def traced(text: str, *unfollowed: str) -> Trace:
    trace = atomsan.parse(text)
    trace.meta.unfollowed = list(unfollowed)
    return trace


@pytest.mark.parametrize("ask", [atomsan.check, atomsan.sets, atomsan.predict])
def test_nothing_is_known_to_hold(ask: Callable[[Trace], Report]) -> None:
    assert ask(traced(SERIAL)).verdict == "holds"
    report = ask(traced(SERIAL, SENTENCE))
    assert (report.verdict, report.reason) == ("unknown", REASON)
    assert f"unknown, {REASON}" in str(report).partition("\n")[0]


@pytest.mark.parametrize("ask", [atomsan.check, atomsan.sets])
def test_what_is_violated_is_violated(ask: Callable[[Trace], Report]) -> None:
    report = ask(traced(TORN, SENTENCE))
    assert report.verdict == "violated"
    assert report.reason == REASON


@pytest.mark.parametrize("text", [SERIAL, "T:begin(f) T:r(x) T:end(f)"])
def test_nothing_is_proved(text: str) -> None:
    """Of what one thread did alone, too: it may be the work of many."""
    for sentences, answer in (((), True), ((SENTENCE,), None)):
        trace = traced(text, *sentences)
        report = with_predictions(atomsan.check(trace), trace, Specification(), 5.0)
        assert report.prediction is not None
        assert report.prediction.conflict_atomic is answer
        assert report.prediction.to_dict()["conflict_atomic"] is answer
    assert report.prediction.reason("conflict") == REASON
    assert report.prediction.proved == 0


def test_what_is_refuted_stays_refuted() -> None:
    report = atomsan.predict(traced(TORN, SENTENCE))
    assert report.prediction is not None
    assert report.prediction.conflict_atomic is False


def test_one_run_of_several_is_enough() -> None:
    reports = [[atomsan.check(traced(SERIAL))], [atomsan.check(traced(SERIAL, SENTENCE))]]
    merged = merge_runs(reports)
    assert (merged.verdict, merged.reason) == ("unknown", REASON)


@pytest.mark.parametrize("name", ["t.atomtrace", "t.parquet"])
def test_it_is_stored_with_the_trace(name: str, tmp_path: Path) -> None:
    traced(SERIAL, SENTENCE).save(tmp_path / name)
    report = atomsan.check(tmp_path / name)
    assert (report.verdict, report.reason) == ("unknown", REASON)
    assert SENTENCE in report.warnings
