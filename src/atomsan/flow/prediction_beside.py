"""Prediction after a check: one report on what happened in a run and on what could have happened in another order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from atomsan.findings.report import Report, of_level

if TYPE_CHECKING:
    from atomsan.source.spec import Specification
    from atomsan.types import EventSource

PREDICT_SECONDS = 20.0


def with_predictions(checked: Report, events: EventSource, spec: Specification, seconds: float | None) -> Report:
    """A report on a run, with what is predicted within so many seconds; None: with nothing.

    Events that come only once, as in a live check, were not kept, and in a run with one thread nothing can interleave.
    """
    if seconds is None or not hasattr(events, "reopened") or checked.stopped or checked.trace.threads < 2:
        return checked
    from atomsan.findings.finding import merge_findings
    from atomsan.findings.reasons import LEVELS
    from atomsan.findings.root_causes import with_groups
    from atomsan.flow.predict import predict

    predicted = predict(events, spec=spec, timeout=seconds)
    found = [
        finding for report in (checked, predicted) for finding in (*report.findings, *report.suspects, *report.notes)
    ]
    merged = sorted(merge_findings(found, counts=max), key=lambda finding: LEVELS.index(finding.level))
    judged = with_groups(merged)
    return replace(
        checked,
        findings=of_level(judged, "finding"),
        suspects=of_level(judged, "suspect"),
        notes=of_level(judged, "note"),
        prediction=predicted.prediction,
        warnings=[*checked.warnings, *_limits(predicted, seconds)],
    )


def _limits(predicted: Report, seconds: float) -> list[str]:
    if predicted.stopped is None:
        return []
    return [
        f"other interleavings were looked at for {seconds:g} s and not to the end (--predict-seconds): "
        "more of them may be wrong"
    ]
