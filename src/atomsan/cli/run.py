"""`atomsan run`: runs a Python program, and finds the atomicity violations in the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from atomsan.cli.exit_codes import Exit
from atomsan.cli.messages import say, show
from atomsan.cli.option_groups import LaunchOptions, RegionOptions, ReportOptions
from atomsan.errors import InputError
from atomsan.reports.numerals import counted
from atomsan.reports.registry import DEFAULT

if TYPE_CHECKING:
    from atomsan.findings.report import Report
    from atomsan.recorder.log.definitions import SelectionDefinition
    from atomsan.recorder.log.runner import Outcome
    from atomsan.recorder.log.tape import Tape


def run(
    repeat: int,
    live: bool,
    keep: str | None,
    algorithm: list[str],
    findings_exit_code: int,
    launch: LaunchOptions,
    regions: RegionOptions,
    reporting: ReportOptions,
) -> int:
    """Run a Python program, and find the atomicity violations in what its threads and tasks do.

    The program needs no change. Its input, output, arguments and exit code are its own: the report goes to standard
    error, and to files with -o. Exit code 1 says that there are findings; otherwise it is the program's. Ctrl-C goes to
    the program, and the report follows; SIGUSR1 asks for a report while it runs.

    Examples:
      atomsan run app.py input.csv
      atomsan run --noise --repeat 5 -o report.json --keep run.atomtrace --force app.py
      atomsan run --live --timeout 60 --all -m package.server
      atomsan run --follow-fork -m package.workers
      atomsan run --include mylib --explain-selection --redact-keys --quiet -c "import mylib; mylib.main()"
    """
    files = reporting.files()
    if repeat < 1:
        raise InputError("--repeat must be at least 1")
    if not 0 <= findings_exit_code <= 255:
        raise InputError("--findings-exit-code must be from 0 to 255")
    if live and keep is not None:
        raise InputError("--live keeps no trace, and --keep asks for one")
    if live and launch.follow_fork:
        raise InputError("--live checks one process, and --follow-fork asks for several")
    from atomsan.flow.run import checked_under, run_and_check

    program, limits, rules = launch.to_run(), launch.limits(), regions.specification()
    check = checked_under(algorithm, rules)

    def show_interim(tape: Tape) -> None:
        say(f"so far, {counted(tape.events, 'event')}:")
        show(DEFAULT.reporter().render([check(tape)]))

    reports: list[Report] = []
    outcomes: list[Outcome] = []
    for number in range(repeat):
        # a trace with findings is not replaced by one of a later run
        keep_now = keep if not any(map(reporting.fails, reports)) else None
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
        for report in ran.reports:
            if not reporting.quiet:
                _show(report, reporting, is_first=not reports)
            reports.append(report)
            if report.stopped:
                say(f"{report.stopped} before the check of {report.trace.source} was done")
        if any(report.stopped for report in ran.reports):
            break
    reporting.write(files, reports)
    if any(report.stopped for report in reports) or any(outcome.is_out_of_time for outcome in outcomes):
        return Exit.INTERRUPTED
    if any(map(reporting.fails, reports)):
        return findings_exit_code
    return next((outcome.code for outcome in outcomes if outcome.code), Exit.FINE)


def _show(report: Report, reporting: ReportOptions, *, is_first: bool) -> None:
    """On standard error, because standard output is the program's."""
    show("\n" * (not is_first) + reporting.rendered([report]))
    for text in report.warnings:
        say(f"warning: {text}")


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
