"""`atomsan run`: the flow from a program to a report.

    program -> recorder, in a process of its own -> tape ------> checkers -> Report
                                                 -> live events ->

The program is started first: what reads its log takes time to load, and it can do so meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from atomsan.recorder.log.runner import Outcome, started
from atomsan.recorder.log.spool import spool_directory
from atomsan.recorder.python.launch import Program, PythonLaunch
from atomsan.trace.output_paths import prepare_output

if TYPE_CHECKING:
    from atomsan.findings.report import Report
    from atomsan.recorder.log.definitions import SelectionDefinition
    from atomsan.recorder.log.forked import ForkedTape
    from atomsan.recorder.log.limits import Limits
    from atomsan.recorder.log.tape import Tape
    from atomsan.recorder.python.options import RecordingOptions
    from atomsan.types import EventSource

# Makes a report of events.
Check = Callable[["EventSource"], "Report"]


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
    room = None if path is None else prepare_output(path, force=force)
    with spool_directory(follow_fork) as spool:
        launch = PythonLaunch(program, options._replace(spool=spool))
        with started(launch, limits) as run:
            from atomsan.recorder.log.forked import ForkedProcesses
            from atomsan.recorder.log.tape import Tape

            recording = run.recording()
            forked = ForkedProcesses(launch, limits, spool, path, force=force)
            with Tape(recording.symbols, recording.meta, path, force=force, room=room) as tape, forked:
                recording.start(tape)
                for is_asked in run.to_the_end(recording):
                    forked.read()
                    if is_asked:
                        interim(tape)
                tape.finish()
                forked.finish()
                yield Recorded(tape, run.outcome, recording.definitions.selections, forked.tapes)


def checked_live(
    program: Program, options: RecordingOptions, limits: Limits, check: Check
) -> tuple[Report, Outcome, dict[str, SelectionDefinition]]:
    """Run a program to its end and check it meanwhile. Nothing is kept."""
    program.check()
    with started(PythonLaunch(program, options), limits) as run:
        from atomsan.recorder.log.live import LiveEvents

        recording = run.recording()
        source = LiveEvents(recording, run)
        report = check(source)
        # a checker that has made up its mind reads no further, but the program is not to be cut short
        for _ in source.batches():
            pass
        return with_program(report, run.outcome), run.outcome, recording.definitions.selections


def with_program(report: Report, outcome: Outcome) -> Report:
    """The report, with how the program ended."""
    from atomsan.findings.report import ProgramFacts

    return replace(report, program=ProgramFacts(outcome.exit, outcome.signal))
