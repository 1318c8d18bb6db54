"""`atomsan run`: runs a Python program, and finds the atomicity violations in the run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from atomsan.cli.exit_codes import Exit
from atomsan.cli.messages import say, show, shown_warnings
from atomsan.cli.option_groups import LaunchOptions, RegionOptions, ReportOptions
from atomsan.cli.progress import timed_progress
from atomsan.errors import InputError, check_positive
from atomsan.reports.numerals import counted
from atomsan.reports.registry import DEFAULT, REPORTERS

# Predictions that take fewer seconds have no progress bar.
BAR_AFTER = 0.5

if TYPE_CHECKING:
    from atomsan.findings.report import Report
    from atomsan.recorder.log.definitions import SelectionDefinition
    from atomsan.recorder.log.runner import Outcome
    from atomsan.recorder.log.tape import Tape
    from atomsan.reports.files import ReportFile


def run(
    repeat: int,
    live: bool,
    keep: str | None,
    predict: bool,
    predict_seconds: float,
    algorithm: list[str],
    findings_exit_code: int,
    launch: LaunchOptions,
    regions: RegionOptions,
    reporting: ReportOptions,
) -> int:
    """Run a Python program, and find the atomicity violations in what its threads and tasks do.

    The program needs no change. Its input, output, arguments and exit code are its own: the report goes to standard
    error, and to files with -o. Exit code 1 says that there are findings, 3 that the time was up; otherwise it is the
    program's. Ctrl-C goes to the program, and the report follows; SIGUSR1 asks for a report while it runs.

    Examples:
      atomsan run app.py input.csv
      atomsan run --noise --repeat 5 -o report.json --keep run.atomtrace --force app.py
      atomsan run --live --timeout 60 --all -m package.server
      atomsan run --follow-fork --no-predict -m package.workers
      atomsan run --predict-seconds 60 --noise app.py
      atomsan run --include mylib --explain-selection --redact-keys --quiet -c "import mylib; mylib.main()"
    """
    files = reporting.files()
    _check_format(reporting, launch, files)
    if repeat < 1:
        raise InputError("--repeat must be at least 1")
    if not 0 <= findings_exit_code <= 255:
        raise InputError("--findings-exit-code must be from 0 to 255")
    check_positive("--predict-seconds", predict_seconds)
    if live and keep is not None:
        raise InputError("--live keeps no trace, and --keep asks for one")
    if live and launch.follow_fork:
        raise InputError("--live checks one process, and --follow-fork asks for several")
    from atomsan.flow.run import checked_under, merged, run_and_check

    program, limits, rules = launch.to_run(), launch.limits(), regions.specification()
    progress = timed_progress("predicting", None, quiet=reporting.quiet, after=BAR_AFTER)
    check = checked_under(algorithm, rules, predict_seconds if predict else None, progress)
    check_only = checked_under(algorithm, rules, None)  # prediction would keep the program waiting

    def show_interim(tape: Tape) -> None:
        say(f"so far, {counted(tape.events, 'event')}:")
        show(DEFAULT.reporter().render([check_only(tape)]))

    runs: list[list[Report]] = []
    outcomes: list[Outcome] = []
    for number in range(repeat):
        # a trace with findings is not replaced by one of a later run
        keep_now = keep if not any(reporting.fails(report) for reports in runs for report in reports) else None
        ran = run_and_check(
            program,
            launch.recording(rules, number),
            limits,
            check,
            keep_now,
            force=launch.force or number > 0,
            live=live,
            follow_fork=launch.follow_fork,
            interim=show_interim,
        )
        outcomes.append(ran.outcome)
        if number == 0 and launch.explain_selection:
            show_selections(ran.selections)
        runs.append(ran.reports)
        if repeat > 1 and not reporting.quiet:
            say(f"run {number + 1} of {repeat}: {_summary(ran.reports)}")
        if any(report.stopped for report in ran.reports):
            break
    reports = runs[0] if len(runs) == 1 else [merged(runs)]
    for number, report in enumerate(reports):
        _show(report, reporting, is_first=number == 0)
    reporting.write(files, reports)
    if any(report.stopped for report in reports) or any(outcome.is_out_of_time for outcome in outcomes):
        return Exit.INTERRUPTED
    if any(map(reporting.fails, reports)):
        return findings_exit_code
    code = next((outcome.code for outcome in outcomes if outcome.code), Exit.FINE)
    # the program's own code is not hidden; but a run of which a part is missing must not look like one that is fine
    return code or (Exit.INTERRUPTED if any(report.cut for report in reports) else Exit.FINE)


def _check_format(reporting: ReportOptions, launch: LaunchOptions, files: Sequence[ReportFile]) -> None:
    """Refuse a format for programs that is to be printed: on standard error, it would be mixed with the program's."""
    format = REPORTERS[reporting.format]
    if format.is_for_reading or any(file.format == format for file in files):
        return
    command = shlex.join(["atomsan", "run", "-o", f"report{format.suffixes[0]}", *launch.words()])
    raise InputError(f"standard output is the program's, so that --format {format.name} needs a file: {command}")


def _summary(reports: Sequence[Report]) -> str:
    """`2 findings, 1 suspect`"""
    findings = sum(len(report.findings) for report in reports)
    suspects = sum(len(report.suspects) for report in reports)
    return f"{counted(findings, 'finding')}, {counted(suspects, 'suspect')}"


def _show(report: Report, reporting: ReportOptions, *, is_first: bool) -> None:
    """On standard error, because standard output is the program's."""
    if not reporting.quiet:
        show(
            "\n" * (not is_first) + DEFAULT.reporter().render([report], limit=reporting.limit, with_notes=reporting.all)
        )
    elif reporting.fails(report):
        say(f"{report.trace.source}: {report.verdict}, {_summary([report])} (without --quiet, they are shown)")
    for text in shown_warnings(report.warnings, report.cut, quiet=reporting.quiet):
        say(f"warning: {text}")
    if report.stopped:
        say(f"{report.stopped} before the check of {report.trace.source} was done")


def show_selections(selections: Mapping[str, SelectionDefinition]) -> None:
    """The table of `--explain-selection`."""
    from atomsan.cli.output import table

    rows = [
        (module, "watched" if selection.selected else "not watched", selection.reason, selection.file or "")
        for module, selection in selections.items()
    ]
    # watched modules first: there are a hundred others, of the standard library
    rows.sort(key=lambda row: row[1] != "watched")
    show(table([("module", "", "why", "file"), *rows]))
