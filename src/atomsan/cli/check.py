"""`atomsan check`: finds the atomicity violations in traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atomsan.cli.option_groups import RegionOptions, ReportOptions, TraceOptions
from atomsan.cli.progress import timed_progress
from atomsan.cli.reporting import check_and_report

if TYPE_CHECKING:
    from atomsan.findings.report import Report


def check(
    traces: list[str],
    algorithm: list[str],
    first: bool,
    timeout: float | None,
    split_at_waits: bool,
    reading: TraceOptions,
    regions: RegionOptions,
    reporting: ReportOptions,
) -> int:
    """Was it atomic? Find the atomicity violations that happened in traces.

    Each trace gets a verdict (holds, violated, unknown), the number of violations and violating transactions, and its
    findings: the same violation, however often it occurs, is one. Of a recorded program, what may be meant so is a
    suspect, with a line and the reason. Ctrl-C or the end of the time gives what was found so far. Exit code 1 says
    that there are findings.

    Examples:
      atomsan check t.std
      atomsan check t.std --algorithm aerodrome --algorithm velodrome --first --all
      atomsan check runs/*.atomtrace --spec spec.toml --split-at-waits -o report.json --quiet
      zcat t.csv.gz | atomsan check - --input-format csv --lenient --timeout 60 --format json
    """
    rules = regions.specification()

    def checked(trace: str) -> Report:
        from atomsan.flow.check import check

        return check(
            trace,
            algorithm,
            rules,
            first,
            timeout=timeout,
            split_at_waits=split_at_waits,
            lenient=reading.lenient,
            format=reading.input_format,
            progress=timed_progress("checking", timeout, quiet=reporting.quiet),
        )

    return check_and_report(traces, checked, timeout, reporting)
