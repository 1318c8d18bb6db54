"""`atomsan run`: the flow from a program to a report.

program -> recorder, in a process of its own -> tape -> checkers -> Report
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from atomsan.errors import Place
from atomsan.findings.report import ProgramFacts, Report
from atomsan.recorder.options import RecordingOptions
from atomsan.recorder.resolving import Recording
from atomsan.recorder.runner import Limits, Outcome, Program, Run, signals_passed_on
from atomsan.recorder.tape import Tape
from atomsan.trace.events import BATCH_EVENTS, Batch

if TYPE_CHECKING:
    from atomsan.types import EventSource

# Makes a report of events.
Check = Callable[["EventSource"], Report]


@contextmanager
def recorded(
    program: Program,
    options: RecordingOptions,
    limits: Limits,
    path: str | None = None,
    *,
    force: bool = False,
    interim: Callable[[Tape], None] = lambda tape: None,
) -> Iterator[tuple[Tape, Outcome]]:
    """Run a program to its end. What it did is on the tape, as long as the context lasts, and in `path` if given.

    `interim` is called with the tape so far when this process gets SIGUSR1.
    """
    recording = _recording(program)
    with Tape(recording.symbols, recording.meta, path, force=force) as tape:
        recording.output = tape.write
        recording.idle = tape.flush_if_due
        run = Run(program, options, recording, limits)
        for is_asked in _run(run):
            if is_asked:
                interim(tape)
        _finish(recording, run.outcome)
        tape.finish()
        yield tape, run.outcome


def checked_live(program: Program, options: RecordingOptions, limits: Limits, check: Check) -> tuple[Report, Outcome]:
    """Run a program to its end and check it meanwhile. Nothing is kept."""
    recording = _recording(program)
    run = Run(program, options, recording, limits)
    source = LiveEvents(recording, run)
    report = check(source)
    # a checker that has made up its mind reads no further, but the program is not to be cut short
    for _ in source.batches():
        pass
    return with_program(report, run.outcome), run.outcome


def with_program(report: Report, outcome: Outcome) -> Report:
    """The report, with how the program ended."""
    return replace(report, program=ProgramFacts(outcome.exit, outcome.signal))


class LiveEvents:
    """The events of a program that runs, as a source that can be read once: the log is read when a batch is wanted."""

    def __init__(self, recording: Recording, run: Run) -> None:
        self.symbols = recording.symbols
        self.meta = recording.meta
        self._recording = recording
        self._found: list[Batch] = []
        recording.output = self._found.append
        self._batches = self._all(run)

    def batches(self) -> Iterator[Batch]:
        """The batches that are left."""
        return self._batches

    def _all(self, run: Run) -> Iterator[Batch]:
        for _ in _run(run):
            if sum(map(len, self._found)) >= BATCH_EVENTS // 8:
                yield from self._taken()
        _finish(self._recording, run.outcome)
        yield from self._taken()

    def _taken(self) -> list[Batch]:
        taken = self._found[:]
        self._found.clear()
        return taken

    def place(self, event: int) -> Place:
        return self._recording.place(event)


def _recording(program: Program) -> Recording:
    program.check()
    recording = Recording(source=program.shown)
    recording.meta.program = program.what
    recording.meta.command_line = program.command_line
    return recording


def _run(run: Run) -> Iterator[bool]:
    """Run the program to its end. Gives True now and then: somebody asks how it goes; else False."""
    asked = False

    def ask() -> None:
        nonlocal asked
        asked = True

    run.start()
    try:
        with signals_passed_on(run, ask):
            while run.pump():
                was_asked, asked = asked, False
                yield was_asked
    finally:
        run.close()


def _finish(recording: Recording, outcome: Outcome) -> None:
    recording.finish(complete=outcome.stopped is None)
    recording.meta.seconds = outcome.seconds
    recording.meta.warnings += recording.warnings
    if outcome.stopped:
        recording.meta.warnings.append(outcome.stopped)
