"""Merges the reports of several runs of one program: what was seen in how many of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from operator import add
from typing import Any

from atomsan.findings.finding import Finding, merge_findings
from atomsan.findings.reasons import LEVELS
from atomsan.findings.report import PredictionFacts, Report, TraceFacts, of_level
from atomsan.findings.root_causes import with_groups

# The answer that matters most first.
_VERDICTS = ("violated", "unknown", "holds")


def merge_runs(runs: Sequence[Sequence[Report]], source: str | None = None) -> Report:
    """One report on several runs, each of which has one or more: a program can fork. `source` is its name.

    What is a finding in one run and a suspect in another is a finding. The whole is only known to hold if every run is.
    """
    reports = list(chain.from_iterable(runs))
    first = reports[0]
    judged = with_groups(_judged(runs))
    return replace(
        first,
        trace=_facts(reports, source or first.trace.source),
        serializable=_all_or_none(report.serializable for report in reports),
        violations=_sum(report.violations for report in reports),
        transactions=[transaction for report in reports for transaction in report.transactions],
        findings=of_level(judged, "finding"),
        suspects=of_level(judged, "suspect"),
        notes=of_level(judged, "note"),
        results=_results(reports),
        counters={},
        seconds={"total": sum(report.seconds.get("total", 0) for report in reports)},
        reason=next((report.reason for report in reports if report.reason), None),
        stopped=next((report.stopped for report in reports if report.stopped), None),
        cut=next((report.cut for report in reports if report.cut), None),
        repairs=_distinct(report.repairs for report in reports),
        warnings=_distinct(report.warnings for report in reports),
        program=next((one.program for one in reports if one.program and one.program != (0, None)), first.program),
        divided={name: globs for report in reports for name, globs in report.divided.items()},
        held={name: classes for report in reports for name, classes in report.held.items()},
        prediction=_prediction([report.prediction for report in reports]),
        runs=len(runs),
        parts=reports,
    )


def _judged(runs: Sequence[Sequence[Report]]) -> list[Finding]:
    """The findings, suspects and notes of all runs. Each knows in how many runs it was seen, at whichever level."""
    of_runs = [
        merge_findings(chain.from_iterable((*one.findings, *one.suspects, *one.notes) for one in run)) for run in runs
    ]
    merged = merge_findings(chain.from_iterable(of_runs), runs=add)
    return sorted(merged, key=lambda finding: LEVELS.index(finding.level))


def _facts(reports: Sequence[Report], source: str) -> TraceFacts:
    """The sizes of all traces together; threads, locks and variables are those of the largest."""
    facts = [report.trace for report in reports]
    return TraceFacts(
        source=source,
        events=sum(one.events for one in facts),
        threads=max(one.threads for one in facts),
        locks=max(one.locks for one in facts),
        variables=max(one.variables for one in facts),
        transactions=sum(one.transactions for one in facts),
        complete=all(one.complete for one in facts),
    )


def _prediction(facts: Sequence[PredictionFacts | None]) -> PredictionFacts | None:
    """What was proved in every run. The kinds of transactions are those of the run in which the most are not proved."""
    known = [one for one in facts if one is not None]
    if not known or len(known) < len(facts):
        return None
    most = max(known, key=lambda one: one.kinds - one.proved)
    reasons = {kind: reason for one in reversed(known) for kind, reason in one.reasons.items()}
    return most._replace(
        conflict_atomic=_all_or_none(one.conflict_atomic for one in known),
        view_atomic=_all_or_none(one.view_atomic for one in known),
        reasons=reasons,
    )


def _results(reports: Sequence[Report]) -> dict[str, dict[str, Any]]:
    """The verdict of each algorithm on all traces."""
    names = dict.fromkeys(name for report in reports for name in report.results)
    verdicts = {name: {one.results[name]["verdict"] for one in reports if name in one.results} for name in names}
    return {name: {"verdict": min(seen, key=_VERDICTS.index)} for name, seen in verdicts.items()}


def _all_or_none(answers: Iterable[bool | None]) -> bool | None:
    seen = set(answers)
    return False if False in seen else None if None in seen else True


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _distinct(texts: Iterable[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(texts)))
