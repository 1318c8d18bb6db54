"""`atomsan predict`: looks for violations in other interleavings of the runs that traces are of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atomsan.cli.option_groups import RegionOptions, ReportOptions, TraceOptions
from atomsan.cli.progress import timed_progress
from atomsan.cli.reporting import check_and_report

if TYPE_CHECKING:
    from atomsan.findings.report import Report


def predict(
    traces: list[str],
    method: list[str],
    timeout: float | None,
    unordered: list[str],
    split_at_waits: bool,
    reading: TraceOptions,
    regions: RegionOptions,
    reporting: ReportOptions,
) -> int:
    """Could it have failed? Look for violations in all interleavings of the run that a trace is of.

    An interleaving keeps what each thread did, the exclusion of locks, and what fork, join and hand-over order. What
    can be torn apart is a finding of status "predicted", with an order in which it happens; what cannot is proved.
    Locks that are taken in different orders, and accesses without a common lock, are notes (--all).

    Examples:
      atomsan predict run.atomtrace
      atomsan predict t.std --method commit-node --method view --format json
      atomsan predict t.std --all --fail-on suspects,race,deadlock --timeout 60 -o report.json --quiet
      atomsan predict t.std --split-at-waits --unordered handovers --lenient
    """
    rules = regions.specification()

    def predicted(trace: str) -> Report:
        from atomsan.flow import predict as flow

        return flow.predict(
            trace,
            method,
            spec=rules,
            timeout=timeout,
            unordered=unordered,
            split_at_waits=split_at_waits,
            lenient=reading.lenient,
            format=reading.input_format,
            progress=timed_progress("predicting", timeout, quiet=reporting.quiet),
        )

    return check_and_report(traces, predicted, timeout, reporting)
