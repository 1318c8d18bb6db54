"""`atomsan run`"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from atomsan.cli.exits import Exit, say, show
from atomsan.cli.tell import check_results, counted, write_texts
from atomsan.errors import InputError

if TYPE_CHECKING:
    from atomsan.findings.report import Report
    from atomsan.recorder.log.definitions import SelectionDefinition
    from atomsan.recorder.log.runner import Limits, Outcome, Program
    from atomsan.recorder.log.tape import Tape
    from atomsan.recorder.python.options import RecordingOptions
    from atomsan.source.spec import Specification
    from atomsan.types import EventSource


def run(
    program: list[str],
    module: str | None,
    code: str | None,
    include: list[str],
    omit: list[str],
    explain_selection: bool,
    noise: bool,
    seed: int,
    repeat: int,
    live: bool,
    keep: str | None,
    force: bool,
    max_events: int | None,
    max_bytes: int | None,
    timeout: float | None,
    redact_keys: bool,
    follow_fork: bool,
    algorithm: list[str],
    spec: str | None,
    atomic: list[str],
    not_atomic: list[str],
    format: str,
    output: list[str],
    limit: int,
    all: bool,
    findings_exit_code: int,
    quiet: bool,
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
    check_results(output)
    if repeat < 1 or limit < 0:
        raise InputError("--repeat must be at least 1" if repeat < 1 else "--limit must not be negative")
    if not 0 <= findings_exit_code <= 255:
        raise InputError("--findings-exit-code must be from 0 to 255")
    if live and keep is not None:
        raise InputError("--live keeps no trace, and --keep asks for one")
    if live and follow_fork:
        raise InputError("--live checks one process, and --follow-fork asks for several")
    what = wanted_program(program, module, code)
    limits = wanted_limits(max_events, max_bytes, timeout)
    checking = _Checking(algorithm, spec, atomic, not_atomic, live=live, follow_fork=follow_fork)
    reports: list[Report] = []
    outcomes: list[Outcome] = []
    for number in range(repeat):
        options = recording_options(
            what, include, omit, noise, seed + number, redact_keys, explain_selection, checking.rules
        )
        # what is found is kept, and not replaced by a run in which nothing is
        kept = keep if not any(report.findings for report in reports) else None
        ran = checking.run(what, options, limits, kept, force=force or number > 0)
        outcomes.append(ran.outcome)
        if number == 0 and explain_selection:
            explain(ran.selections)
        for report in ran.reports:
            if not quiet:
                _show(report, format, limit, with_notes=all, is_first=not reports)
            reports.append(report)
            if report.stopped:
                say(f"{report.stopped} before the check of {report.trace.source} was done")
        if any(report.stopped for report in ran.reports):
            break
    write_texts(output, lambda: _text(reports, None, with_notes=all), lambda: _json(reports))
    if any(report.stopped for report in reports) or any(outcome.is_out_of_time for outcome in outcomes):
        return Exit.INTERRUPTED
    if any(report.findings for report in reports):
        return findings_exit_code
    return next((outcome.code for outcome in outcomes if outcome.code), Exit.FINE)


class _Ran(NamedTuple):
    """One run of the program."""

    reports: list[Report]
    """Of the program, and of the processes that it has forked, if these were recorded."""
    outcome: Outcome
    selections: Mapping[str, SelectionDefinition]


class _Checking:
    """How what was recorded is checked."""

    def __init__(
        self,
        algorithm: list[str],
        spec: str | None,
        atomic: list[str],
        not_atomic: list[str],
        *,
        live: bool,
        follow_fork: bool,
    ) -> None:
        from atomsan.cli.check import specification

        self._algorithm = algorithm or ["auto"]
        if algorithm:
            from atomsan.checkers.auto import choice_of

            choice_of(algorithm)  # what is wrong with the names is said before the program runs
        self.rules = specification(spec, atomic, not_atomic)
        self._live = live
        self._follow_fork = follow_fork

    def run(
        self, program: Program, options: RecordingOptions, limits: Limits, keep: str | None, *, force: bool
    ) -> _Ran:
        from atomsan.flow.run import checked_live, recorded, with_program

        if self._live:
            report, outcome, selections = checked_live(program, options, limits, self.check)
            return _Ran([report], outcome, selections)
        with recorded(
            program,
            options,
            limits,
            keep,
            force=force,
            follow_fork=self._follow_fork,
            interim=self._tell_interim,
        ) as done:
            reports = [with_program(self.check(done.tape), done.outcome)]
            reports += [self.check(forked.tape) for forked in done.forked]
            return _Ran(reports, done.outcome, done.selections)

    def check(self, events: EventSource) -> Report:
        from atomsan.flow.check import check

        return check(events, self._algorithm, self.rules)

    def _tell_interim(self, tape: Tape) -> None:
        say(f"so far, {counted(tape.events, 'event')}:")
        show(_text([self.check(tape)], None, with_notes=False))


def wanted_program(program: list[str], module: str | None, code: str | None) -> Program:
    """What the command line says to run."""
    from atomsan.recorder.log.runner import Program

    if module is not None and code is not None:
        raise InputError("-m and -c exclude each other")
    if module is not None:
        return Program("module", module, tuple(program))
    if code is not None:
        return Program("code", code, tuple(program))
    if not program:
        raise InputError("no program given: a file, -m MODULE or -c CODE (see atomsan run --help)")
    return Program("file", program[0], tuple(program[1:]))


def wanted_limits(max_events: int | None, max_bytes: int | None, timeout: float | None) -> Limits:
    from atomsan.recorder.log.runner import Limits

    for name, value in (("--max-events", max_events), ("--max-bytes", max_bytes), ("--timeout", timeout)):
        if value is not None and not value > 0:  # no number (nan) is refused too
            raise InputError(f"{name} must be more than 0")
    return Limits(max_events, max_bytes, timeout)


def recording_options(
    program: Program,
    include: list[str],
    omit: list[str],
    noise: bool,
    seed: int,
    redact_keys: bool,
    explain_selection: bool,
    rules: Specification,
) -> RecordingOptions:
    from atomsan.recorder.python.options import RecordingOptions
    from atomsan.source.cache import default_directory
    from atomsan.source.field_paths import hops
    from atomsan.source.selection import project_of

    return RecordingOptions(
        include=include,
        omit=omit,
        project=project_of(program.what if program.kind == "file" else "./-"),
        noise=noise,
        seed=seed,
        redact_keys=redact_keys,
        cache=default_directory(),
        explain_selection=explain_selection,
        follow=hops(rules.sets),
    )


def explain(selections: Mapping[str, SelectionDefinition]) -> None:
    """The answer to `--explain-selection`."""
    from atomsan.cli.tell import table

    rows = [
        (module, "watched" if selection.selected else "not watched", selection.reason, selection.file or "")
        for module, selection in selections.items()
    ]
    # what is watched first: it stands among a hundred modules of the standard library
    rows.sort(key=lambda row: row[1] != "watched")
    show(table([("module", "", "why", "file"), *rows]))


def _show(report: Report, format: str, limit: int, *, with_notes: bool, is_first: bool) -> None:
    """On standard error, because standard output is the program's."""
    shown = _json([report]) if format == "json" else _text([report], limit, with_notes=with_notes)
    show("\n" * (not is_first) + shown)
    for text in report.warnings:
        say(f"warning: {text}")


def _text(reports: list[Report], limit: int | None, *, with_notes: bool) -> str:
    from atomsan.reports.text import as_text

    return as_text(reports, limit, with_notes=with_notes)


def _json(reports: list[Report]) -> str:
    from atomsan.reports.json import as_json

    return as_json(reports)
