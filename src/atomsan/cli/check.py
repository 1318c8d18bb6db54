"""`atomsan check`"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from atomsan.cli.exits import Exit, say
from atomsan.cli.tell import Watch, counted, progress, result_format, write_texts
from atomsan.errors import InputError

if TYPE_CHECKING:
    from atomsan.checking import Opened
    from atomsan.findings.report import Report
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
    from atomsan.reports.text import as_text

    for name in output:
        result_format(name)
    if limit < 0:
        raise InputError("--limit must not be negative")
    if timeout is not None and timeout <= 0:
        raise InputError("--timeout must be more than 0")
    rules = specification(spec, atomic, not_atomic)
    reports: list[Report] = []
    code = Exit.FINE
    for trace in traces:
        try:
            report = _checked(trace, algorithm, rules, first, timeout, split_at_waits, input_format, lenient, quiet)
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


def _checked(
    trace: str,
    algorithm: list[str],
    rules: Specification,
    first: bool,
    timeout: float | None,
    split_at_waits: bool,
    input_format: str | None,
    lenient: bool,
    quiet: bool,
) -> Report:
    from atomsan.checking import check

    @contextmanager
    def watching(source: Opened) -> Iterator[Watch]:
        with alarm(timeout, source), progress("checking", source, quiet=quiet) as watch:
            yield watch

    return check(
        trace,
        algorithm or "auto",
        rules,
        first,
        timeout=timeout,
        split_at_waits=split_at_waits,
        lenient=lenient,
        format=input_format,
        watching=watching,
    )


@contextmanager
def alarm(seconds: float | None, source: Opened) -> Iterator[None]:
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
