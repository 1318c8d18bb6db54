"""Checks traces one by one and reports on each: shared by `atomsan check` and `atomsan sets`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from atomsan.cli.exit_codes import Exit
from atomsan.cli.messages import say, shown_warnings
from atomsan.cli.option_groups import ReportOptions
from atomsan.errors import InputError, check_positive
from atomsan.reports.numerals import counted
from atomsan.reports.registry import REPORTERS

if TYPE_CHECKING:
    from atomsan.findings.report import Report


def check_and_report(
    traces: list[str], check: Callable[[str], Report], timeout: float | None, reporting: ReportOptions
) -> int:
    """Check each trace; print reports for people at once, others at the end; write the files. Gives the exit code."""
    from atomsan.trace.monitor import INTERRUPTED, OUT_OF_MEMORY

    files = reporting.files()
    check_positive("--timeout", timeout)
    at_once = REPORTERS[reporting.format].is_for_reading
    reports: list[Report] = []
    code = Exit.FINE
    for trace in traces:
        try:
            report = check(trace)
        except InputError as error:
            if len(traces) == 1:
                raise
            say(str(error))
            code = max(code, Exit.BAD)
            continue
        reports.append(report)
        code = max(code, _exit_code(report, reporting))
        if at_once:
            print("\n" * (len(reports) > 1) + reporting.rendered([report]), end="", flush=True)
        _warn(report, quiet=reporting.quiet)
        if report.stopped in (INTERRUPTED, OUT_OF_MEMORY):
            break
    if not at_once:
        print(reporting.rendered(reports), end="")
    reporting.write(files, reports)
    return code


def _exit_code(report: Report, reporting: ReportOptions) -> Exit:
    if report.stopped:
        return Exit.INTERRUPTED
    if reporting.fails(report):
        return Exit.FINDINGS
    return Exit.INTERRUPTED if report.cut else Exit.FINE


def _warn(report: Report, *, quiet: bool) -> None:
    for text in shown_warnings([*report.warnings, *report.repairs], report.cut, quiet=quiet):
        say(f"warning: {report.trace.source}: {text}")
    if report.stopped:
        say(f"{report.stopped} after {counted(report.trace.events, 'event')} of {report.trace.source}")
