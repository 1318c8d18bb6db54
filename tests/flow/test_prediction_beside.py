"""Prediction after a check: one report on what happened and on what could have happened."""

from __future__ import annotations

import pytest

import atomsan
from atomsan import Report, Specification, Trace
from atomsan.findings.report import PredictionFacts
from atomsan.findings.runs import merge_runs
from atomsan.flow import predict as flow_predict
from atomsan.flow.prediction_beside import with_predictions

LOST = (
    "T1:begin(a) T1:acq(l) T1:r(x) T1:rel(l) T1:acq(l) T1:w(x) T1:rel(l) T1:end(a) "
    "T2:begin(a) T2:acq(l) T2:r(x) T2:rel(l) T2:acq(l) T2:w(x) T2:rel(l) T2:end(a)"
)
HAPPENED = "T1:begin(a) T1:r(x) T2:begin(b) T2:w(x) T2:end(b) T1:w(x) T1:end(a)"
FIXED = (
    "T1:begin(a) T1:acq(l) T1:r(x) T1:w(x) T1:rel(l) T1:end(a) "
    "T2:begin(a) T2:acq(l) T2:r(x) T2:w(x) T2:rel(l) T2:end(a)"
)
UNKNOWN = "T1:begin(a) T1:acq(l) T1:r(x) T1:fork(T2) T1:w(x) T1:rel(l) T1:end(a) T2:begin(b) T2:w(x) T2:end(b)"


def parsed(text: str) -> Trace:
    return atomsan.parse(text)


def report(text: str, seconds: float | None = 20.0) -> Report:
    trace = parsed(text)
    return with_predictions(atomsan.check(trace), trace, Specification(), seconds)


def facts(report: Report) -> PredictionFacts:
    assert report.prediction is not None
    return report.prediction


def test_what_could_have_happened_is_a_finding_beside_what_happened() -> None:
    found = report(LOST)
    assert (found.verdict, found.serializable) == ("violated", True)
    assert [(one.region, one.status) for one in found.findings] == [("a", "predicted")]
    assert found.to_dict()["conflict_atomic"] is False


def test_what_happened_is_shown_as_it_happened() -> None:
    happened = atomsan.check(parsed(HAPPENED)).findings
    found = report(HAPPENED).findings
    assert [(one.id, one.status, one.count, one.witness) for one in found] == [
        (one.id, "observed", one.count, one.witness) for one in happened
    ]


def test_nothing_is_predicted_if_that_is_not_wanted() -> None:
    found = report(LOST, None)
    assert (found.findings, found.prediction) == ([], None)
    assert "conflict_atomic" not in found.to_dict()


def test_one_thread_is_proved_without_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow_predict, "predict", None)
    content = report("T1:begin(a) T1:r(x) T1:w(x) T1:end(a)").to_dict()
    assert (content["conflict_atomic"], content["view_atomic"]) == (True, True)


# ---- what is said of all interleavings


def test_proof_is_said() -> None:
    found = report(FIXED)
    assert "  conflict-atomic in every interleaving: proved\n" in str(found)
    assert "  atomic in every interleaving of this run: 1 of 1 kind of transactions\n" in str(found)
    content = found.to_dict()
    assert (content["conflict_atomic"], content["view_atomic"]) == (True, True)
    assert content["units"] == {"kinds": 1, "proved": 1}


def test_reason_is_said_where_nothing_is_known() -> None:
    found = report(UNKNOWN)
    why = "a transaction waits for other threads, or starts or wakes them, and so is no single step"
    assert f"  conflict-atomic: not known, because {why}\n" in str(found)
    content = found.to_dict()
    assert (content["conflict_atomic"], content["conflict_atomic_reason"]) == (None, why)
    assert content["view_atomic"] is None
    assert "--method view" in content["view_atomic_reason"]


def test_runs_are_proved_together_only() -> None:
    fixed, lost, unknown = (report(text) for text in (FIXED, LOST, UNKNOWN))
    assert facts(merge_runs([[fixed], [fixed]])).conflict_atomic is True
    assert facts(merge_runs([[fixed], [lost], [unknown]])).conflict_atomic is False
    merged = merge_runs([[fixed], [unknown]])
    assert facts(merged).conflict_atomic is None
    assert merged.to_dict()["conflict_atomic_reason"] == unknown.to_dict()["conflict_atomic_reason"]
    assert merge_runs([[fixed], [report(FIXED, None)]]).prediction is None


# ---- stopped before the end


def test_time_that_runs_out_leaves_the_check_and_a_warning() -> None:
    found = report(HAPPENED, 1e-9)
    assert [one.status for one in found.findings] == ["observed"]
    assert found.stopped is None
    assert any("--predict-seconds" in warning for warning in found.warnings)
    assert (facts(found).conflict_atomic, facts(found).reason("conflict")) == (None, "out of time")


@pytest.mark.parametrize(
    "when",
    [
        "flow.predict._share",
        "flow.predict._analyse",
        "flow.predict._answer",
        "flow.predict.predictions",
        "flow.explaining.explain",
        "findings.judging.judge",
    ],
)
def test_interrupt_of_a_prediction_leaves_the_check(when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = parsed(HAPPENED)
    checked = atomsan.check(trace)

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"atomsan.{when}", stop)
    monkeypatch.setattr(
        "atomsan.flow.predict.PLAN",
        [
            one if one.run.__name__ != when.rpartition(".")[2] else type(one)(one.gives, stop, one.needs)
            for one in flow_predict.PLAN
        ],
    )
    found = with_predictions(checked, trace, Specification(), 20.0)
    assert found.stopped == "interrupted"
    assert [(one.id, one.status) for one in found.findings][:1] == [(one.id, "observed") for one in checked.findings]
