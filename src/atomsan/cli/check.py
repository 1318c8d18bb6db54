"""`atomsan check`"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from atomsan.cli.exits import Exit, say
from atomsan.cli.tell import Watch, check_results, counted, progress, write_texts
from atomsan.errors import InputError

if TYPE_CHECKING:
    from atomsan.findings.report import Report
    from atomsan.flow.trace_input import OpenedTrace
    from atomsan.source.spec import Specification


def check(
    traces: list[str],
    algorithm: list[str],
    first: bool,
    timeout: float | None,
    spec: str | None,
    atomic: list[str],
    not_atomic: list[str],
    split_at_waits: bool,
    format: str,
    output: list[str],
    limit: int,
    all: bool,
    input_format: str | None,
    lenient: bool,
    quiet: bool,
) -> int:
    """Was it atomic? Find the atomicity violations that happened in traces.

    Each trace gets a verdict (holds, violated, unknown), the number of violations and violating transactions, and its
    findings: the same violation, however often it occurs, is one. Ctrl-C or the end of the time gives what was found so
    far. Exit code 1 says that there are findings.

    Examples:
      atomsan check t.std
      atomsan check t.std --algorithm aerodrome --algorithm velodrome --first --all
      atomsan check runs/*.atomtrace --spec spec.toml --split-at-waits -o report.json --quiet
      zcat t.csv.gz | atomsan check - --input-format csv --lenient --timeout 60 --format json
    """
    rules = specification(spec, atomic, not_atomic)

    def checked(trace: str) -> Report:
        from atomsan.flow.check import check

        return check(
            trace,
            algorithm or "auto",
            rules,
            first,
            timeout=timeout,
            split_at_waits=split_at_waits,
            lenient=lenient,
            format=input_format,
            progress=watched("checking", timeout, quiet=quiet),
        )

    return report_on(traces, checked, timeout, format, output, limit, all, quiet)


def report_on(
    traces: list[str],
    checked: Callable[[str], Report],
    timeout: float | None,
    format: str,
    output: list[str],
    limit: int,
    all: bool,
    quiet: bool,
) -> int:
    """Check each trace and tell of it at once, and at the end write the files. The exit code."""
    from atomsan.reports.text import as_text

    check_results(output)
    if limit < 0:
        raise InputError("--limit must not be negative")
    if timeout is not None and not timeout > 0:  # no number (nan) is refused too
        raise InputError("--timeout must be more than 0")
    reports: list[Report] = []
    code = Exit.FINE
    for trace in traces:
        try:
            report = checked(trace)
        except InputError as error:
            if len(traces) == 1:
                raise
            say(str(error))
            code = max(code, Exit.BAD)
            continue
        reports.append(report)
        code = max(code, _code(report))
        if format == "text":
            print("\n" * (len(reports) > 1) + as_text([report], limit, with_notes=all), end="", flush=True)
        _tell(report, quiet=quiet)
        if report.stopped == "interrupted":
            break
    if format == "json":
        print(_json(reports), end="")
    write_texts(output, lambda: as_text(reports, with_notes=all), lambda: _json(reports))
    return code


def specification(spec: str | None, atomic: list[str], not_atomic: list[str]) -> Specification:
    """The one in the file, with what the options add to it."""
    from atomsan.source.spec import Specification, read_spec

    start = read_spec(spec) if spec is not None else Specification()
    return start.adding(atomic=atomic, not_atomic=not_atomic)


def watched(what: str, timeout: float | None, *, quiet: bool) -> Callable[[OpenedTrace], AbstractContextManager[Watch]]:
    """A progress bar around a pass over a trace, and an alarm at the end of the time."""

    @contextmanager
    def around(source: OpenedTrace) -> Iterator[Watch]:
        with alarm(timeout, source), progress(what, source, quiet=quiet) as watch:
            yield watch

    return around


@contextmanager
def alarm(seconds: float | None, source: OpenedTrace) -> Iterator[None]:
    """An interrupt when the time is up, if the source waits for input then. Otherwise the loop sees to it."""
    if seconds is None or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_: object) -> None:
        if source.reading:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _json(reports: list[Report]) -> str:
    from atomsan.reports.json import as_json

    return as_json(reports)


def _code(report: Report) -> Exit:
    if report.stopped:
        return Exit.INTERRUPTED
    return Exit.FINDINGS if report.findings else Exit.FINE


def _tell(report: Report, *, quiet: bool) -> None:
    if not quiet:
        for text in [*report.warnings, *report.repairs]:
            say(f"warning: {report.trace.source}: {text}")
    if report.stopped:
        say(f"{report.stopped} after {counted(report.trace.events, 'event')} of {report.trace.source}")
