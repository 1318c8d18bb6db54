"""Prediction after a check: one report on what happened in a run and on what could have happened in another order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from atomsan.findings.report import PredictionFacts, Report, of_level
from atomsan.flow.trust import untrusted
from atomsan.trace.monitor import INTERRUPTED, Progress, silent

if TYPE_CHECKING:
    from atomsan.source.spec import Specification
    from atomsan.types import EventSource

PREDICT_SECONDS = 20.0

# Where nothing can interleave.
_ONE_THREAD = PredictionFacts(True, None, frozenset({"conflict"}), 0, 0)


class SharedSeconds:
    """The time that the predictions of many runs may take: `most` for each, and `most` beyond the time of all runs."""

    def __init__(self, most: float) -> None:
        self._most = most
        self._left = most

    def after(self, run: float) -> float:
        """What is left for the prediction of a run that took so many seconds itself."""
        self._left += run
        return min(self._most, self._left)

    def spend(self, seconds: float) -> None:
        self._left = max(0.0, self._left - seconds)


def with_predictions(
    checked: Report, events: EventSource, spec: Specification, seconds: float | None, progress: Progress = silent
) -> Report:
    """A report on a run, with what is predicted within so many seconds; None: with nothing.

    Of events that come only once, `LatestEvents` keeps what is looked at. An interrupt ends the prediction, and leaves
    the report on what happened with what was predicted by then.
    """
    if seconds is None or checked.stopped:
        return checked
    try:
        return _with_predictions(checked, events, spec, seconds, progress)
    except KeyboardInterrupt:
        return replace(checked, stopped=INTERRUPTED, reason=checked.reason or INTERRUPTED)


def _with_predictions(
    checked: Report, events: EventSource, spec: Specification, seconds: float, progress: Progress
) -> Report:
    from atomsan.flow.latest_events import LatestEvents
    from atomsan.flow.predict import predict

    missed = 0
    trace = events
    if isinstance(events, LatestEvents):
        events.finish()
        missed, trace = events.missed, events.kept()
    if len(events.symbols.threads) < 2:
        why = untrusted(events.meta) or checked.cut
        return replace(checked, prediction=_ONE_THREAD.of_a_part(why) if why else _ONE_THREAD)
    predicted = predict(trace, spec=spec, timeout=seconds, progress=progress)
    together = _together(checked, predicted, seconds)
    return _of_the_latest(together, missed) if missed else together


def _of_the_latest(report: Report, missed: int) -> Report:
    """The report, where this many events were not kept: what was found is so, and nothing is proved."""
    facts = report.prediction
    assert facts is not None
    warning = (
        f"other interleavings were looked at without the first {missed:,} events, which --live does not keep:"
        " more of them may be wrong"
    )
    return replace(
        report,
        prediction=facts.of_a_part("only the latest events of the run were looked at"),
        warnings=[*report.warnings, warning],
    )


def _together(checked: Report, predicted: Report, seconds: float) -> Report:
    from atomsan.findings.finding import merge_findings
    from atomsan.findings.reasons import LEVELS
    from atomsan.findings.root_causes import with_groups

    found = [
        finding for report in (checked, predicted) for finding in (*report.findings, *report.suspects, *report.notes)
    ]
    merged = sorted(merge_findings(found, counts=max), key=lambda finding: LEVELS.index(finding.level))
    judged = with_groups(merged)
    is_interrupted = predicted.stopped == INTERRUPTED
    return replace(
        checked,
        findings=of_level(judged, "finding"),
        suspects=of_level(judged, "suspect"),
        notes=of_level(judged, "note"),
        prediction=predicted.prediction,
        stopped=INTERRUPTED if is_interrupted else checked.stopped,
        reason=checked.reason or (INTERRUPTED if is_interrupted else None),
        warnings=[*checked.warnings, *_limits(predicted, seconds)],
    )


def _limits(predicted: Report, seconds: float) -> list[str]:
    if predicted.stopped is None:
        return []
    if predicted.stopped == INTERRUPTED:
        return ["other interleavings were not looked at to the end, because of an interrupt: more of them may be wrong"]
    return [
        f"other interleavings were looked at for {seconds:g} s and not to the end (--predict-seconds): "
        "more of them may be wrong"
    ]
