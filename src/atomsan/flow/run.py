"""`atomsan run`: the flow from a program to a report.

    program -> recorder, in a process of its own -> tape ------> checkers -> Report
                                                 -> live events ->

The program is started first: the modules that read its log take time to load, and load meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from atomsan.errors import InputError, check_positive
from atomsan.flow.prediction_beside import PREDICT_SECONDS, with_predictions
from atomsan.recorder.log.runner import Outcome, started
from atomsan.recorder.log.spool import spool_directory
from atomsan.recorder.python.launch import Program, PythonLaunch
from atomsan.trace.monitor import silent
from atomsan.trace.output_paths import RecordingOutput

if TYPE_CHECKING:
    from atomsan.findings.report import Report
    from atomsan.recorder.log.definitions import SelectionDefinition
    from atomsan.recorder.log.forked import ForkedTape
    from atomsan.recorder.log.limits import Limits
    from atomsan.recorder.log.tape import Tape
    from atomsan.recorder.python.options import RecordingOptions
    from atomsan.source.spec import Specification
    from atomsan.trace.monitor import Progress
    from atomsan.types import EventSource

# Makes a report of events.
Check = Callable[["EventSource"], "Report"]


def run(
    program: str | os.PathLike[str] | None = None,
    *arguments: str,
    module: str | None = None,
    code: str | None = None,
    algorithm: str | Sequence[str] = "auto",
    spec: Specification | str | os.PathLike[str] | None = None,
    include: Sequence[str] = (),
    omit: Sequence[str] = (),
    noise: bool = False,
    seed: int = 0,
    live: bool = False,
    keep: str | os.PathLike[str] | None = None,
    force: bool = False,
    max_events: int | None = None,
    max_bytes: int | None = None,
    timeout: float | None = None,
    redact_keys: bool = False,
    predict: bool = True,
    predict_seconds: float = PREDICT_SECONDS,
) -> Report:
    """Run a Python program in a process of its own, and find the atomicity violations in what its threads and tasks do.

    `program` is a file; in its place stands `module`, as for `python -m`, or `code`, as for `python -c`. Input and
    output are those of this process. The options are those of `atomsan run`; `report.program` says how it ended.
    """
    from atomsan.flow.trace_input import specification_of
    from atomsan.recorder.log.limits import Limits

    for name, value in (
        ("timeout", timeout),
        ("max_events", max_events),
        ("max_bytes", max_bytes),
        ("predict_seconds", predict_seconds),
    ):
        check_positive(name, value)
    what = program_of(program, module, code, arguments)
    rules = specification_of(spec)
    options = recording_options(
        what, rules, include=include, omit=omit, noise=noise, seed=seed, redact_keys=redact_keys
    )
    limits = Limits(max_events, max_bytes, timeout)
    path = None if keep is None else os.fspath(keep)
    check = checked_under(algorithm, rules, predict_seconds if predict else None)
    return run_and_check(what, options, limits, check, path, force=force, live=live).reports[0]


def program_of(
    file: str | os.PathLike[str] | None, module: str | None, code: str | None, arguments: Sequence[str]
) -> Program:
    """What to run: a file, a module or a text. Exactly one of them must be given."""
    given = [(kind, what) for kind, what in (("file", file), ("module", module), ("code", code)) if what is not None]
    if len(given) != 1:
        raise InputError("a program is a file, a module or code: give exactly one of them")
    kind, what = given[0]
    return Program(kind, os.fspath(what), tuple(arguments))  # type: ignore[arg-type]  # one of the three


def recording_options(
    program: Program,
    spec: Specification,
    *,
    include: Sequence[str] = (),
    omit: Sequence[str] = (),
    noise: bool = False,
    seed: int = 0,
    redact_keys: bool = False,
    explain_selection: bool = False,
) -> RecordingOptions:
    """How a program is recorded: its project by default, and what the atomic sets of the specification need."""
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
        follow=hops(spec.sets),
    )


def checked_under(
    algorithm: str | Sequence[str],
    spec: Specification,
    predict_seconds: float | None = PREDICT_SECONDS,
    progress: Progress = silent,
) -> Check:
    """Checks events with these algorithms, under this specification, and predicts, if there is time for that.

    `progress` is that of the prediction. Unknown names raise now.
    """
    from atomsan.checkers.algorithms import choice_of

    choice_of(algorithm)

    def checked(events: EventSource) -> Report:
        from atomsan.flow.check import check
        from atomsan.flow.latest_events import LatestEvents

        if predict_seconds is None:
            return check(events, algorithm, spec)
        kept = events if hasattr(events, "reopened") else LatestEvents(events)
        return with_predictions(check(kept, algorithm, spec), kept, spec, predict_seconds, progress)

    return checked


class Ran(NamedTuple):
    """One run of a program."""

    reports: list[Report]
    """On the program, and on the processes that it forked, if these were recorded."""
    outcome: Outcome
    selections: Mapping[str, SelectionDefinition]
    """Which modules were watched, and why, if that was asked for."""


def run_and_check(
    program: Program,
    options: RecordingOptions,
    limits: Limits,
    check: Check,
    keep: str | None = None,
    *,
    force: bool = False,
    live: bool = False,
    follow_fork: bool = False,
    interim: Callable[[Tape], None] = lambda tape: None,
) -> Ran:
    """Run a program to its end, and check what it did: afterwards, or while it runs (`live`), when nothing is kept."""
    if live and (keep is not None or follow_fork):
        raise InputError("a live check keeps no trace, and is of one process")
    if live:
        return _checked_live(program, options, limits, check)
    with recorded(program, options, limits, keep, force=force, follow_fork=follow_fork, interim=interim) as done:
        reports = [_with_program(check(done.tape), done.outcome)]
        reports += [check(forked.tape) for forked in done.forked]
        return Ran(reports, done.outcome, done.selections)


def merged(runs: Sequence[Sequence[Report]], source: str | None = None) -> Report:
    """One report on several runs, each of which has one or more. `source` is a name for all of them."""
    from atomsan.findings.runs import merge_runs

    return merge_runs(runs, source)


@dataclass
class Recorded:
    """What a program did."""

    tape: Tape
    outcome: Outcome
    selections: dict[str, SelectionDefinition]
    """Which modules were watched, and why, if that was asked for."""
    forked: list[ForkedTape] = field(default_factory=list)
    """What the processes did that it has forked, if that was asked for."""


@contextmanager
def recorded(
    program: Program,
    options: RecordingOptions,
    limits: Limits,
    path: str | None = None,
    *,
    force: bool = False,
    follow_fork: bool = False,
    interim: Callable[[Tape], None] = lambda tape: None,
) -> Iterator[Recorded]:
    """Run a program to its end. What it did is on the tape, as long as the context lasts, and in `path` if given.

    `interim` is called with the tape so far when this process gets SIGUSR1.
    """
    program.check()
    # until the context is left: a bundle is read again to check it
    claim = nullcontext() if path is None else RecordingOutput(path, force=force)
    with claim as output, spool_directory(follow_fork) as spool:
        launch = PythonLaunch(program, options._replace(spool=spool))
        with started(launch, limits) as run:
            from atomsan.recorder.log.forked import ForkedProcesses
            from atomsan.recorder.log.tape import Tape

            recording = run.recording()
            forked = ForkedProcesses(launch, limits, spool, path, force=force)
            stop = recording.cut_short
            with Tape(recording.symbols, recording.meta, path, output=output, on_full=stop) as tape, forked:
                recording.start(tape)
                for is_asked in run.read_until_exit(recording):
                    forked.read()
                    if is_asked:
                        interim(tape)
                tape.finish()
                forked.finish()
                yield Recorded(tape, run.outcome, recording.definitions.selections, forked.tapes)


def _checked_live(program: Program, options: RecordingOptions, limits: Limits, check: Check) -> Ran:
    """Run a program to its end and check it meanwhile. Nothing is kept."""
    program.check()
    with started(PythonLaunch(program, options), limits) as run:
        from atomsan.findings.report import of_a_part
        from atomsan.recorder.log.live import LiveEvents

        recording = run.recording()
        source = LiveEvents(recording, run)
        report = check(source)
        # a checker that has made up its mind reads no further, but the program is not to be cut short
        for _ in source.batches():
            pass
        report = of_a_part(report, recording.meta.missing)
        return Ran([_with_program(report, run.outcome)], run.outcome, recording.definitions.selections)


def _with_program(report: Report, outcome: Outcome) -> Report:
    """The report, with how the program ended."""
    from atomsan.findings.report import ProgramFacts

    return replace(report, program=ProgramFacts(outcome.exit, outcome.signal))
