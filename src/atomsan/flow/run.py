"""`atomsan run`: the flow from a program to a report.

program -> recorder, in a process of its own -> tape -> checkers -> Report

The program is started first: what reads its log takes time to load, and it can do so meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from atomsan.errors import OutputError, Place
from atomsan.recorder.log.ring import SharedLog, is_written, open_spooled, spooled
from atomsan.recorder.log.runner import Limits, Outcome, Program, Run
from atomsan.trace.output_paths import prepare_output

if TYPE_CHECKING:
    from atomsan.findings.report import Report
    from atomsan.recorder.log.definitions import SelectionDefinition
    from atomsan.recorder.log.resolving import Recording
    from atomsan.recorder.log.tape import Tape
    from atomsan.recorder.python.options import RecordingOptions
    from atomsan.trace.events import Batch
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


@dataclass
class ForkedTape:
    """What a process did that the program has forked."""

    process: int
    tape: Tape
    path: str | None


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
    with _spool(follow_fork) as spool, _started(program, options._replace(spool=spool), limits) as (run, log):
        from atomsan.recorder.log.tape import Tape

        recording = _recording(program, log, limits)
        forked = Forked(spool, program, limits, path, force=force)
        with Tape(recording.symbols, recording.meta, path, force=force, room=room) as tape, forked:
            recording.output = tape.write
            recording.idle = tape.flush_if_due
            for is_asked in _run(run, recording):
                forked.read()
                if is_asked:
                    interim(tape)
            _finish(recording, run.outcome)
            tape.finish()
            forked.finish()
            yield Recorded(tape, run.outcome, recording.definitions.selections, forked.tapes)


def checked_live(
    program: Program, options: RecordingOptions, limits: Limits, check: Check
) -> tuple[Report, Outcome, dict[str, SelectionDefinition]]:
    """Run a program to its end and check it meanwhile. Nothing is kept."""
    program.check()
    with _started(program, options, limits) as (run, log):
        recording = _recording(program, log, limits)
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
        from atomsan.trace.events import BATCH_EVENTS

        for _ in _run(run, self._recording):
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


class Forked:
    """Reads the logs of the processes that a program forks. Each becomes a tape, beside that of the program."""

    def __init__(self, spool: str | None, program: Program, limits: Limits, path: str | None, *, force: bool) -> None:
        self._spool = spool
        self._program = program
        self._limits = limits
        self._path = path
        self._force = force
        self._running: list[tuple[Recording, SharedLog, ForkedTape]] = []
        self.tapes: list[ForkedTape] = []
        """Of those that have ended, and did anything."""

    def __enter__(self) -> Forked:
        return self

    def __exit__(self, *_: object) -> None:
        for recording, _log, forked in self._running:
            recording.finish(complete=False)
            forked.tape.close()
        for forked in self.tapes:
            forked.tape.close()

    def read(self) -> None:
        """Read what they have logged so far."""
        if self._spool is None:
            return
        for process, path in spooled(self._spool):
            self._add(process, path)
        for entry in self._running[:]:
            recording, log, _ = entry
            # this look comes first: what a process logged before it ended is then there to be read
            lives = is_written(log)
            recording.drain()
            if not lives:
                self._end(entry)

    def finish(self) -> None:
        """The program has ended. What its processes do from now on is not recorded."""
        self.read()
        for entry in self._running[:]:
            entry[0].stop()
            entry[0].meta.warnings.append("recording stopped: the program ended before this process of it")
            self._end(entry)

    def _add(self, process: int, path: str) -> None:
        from atomsan.recorder.log.tape import Tape

        try:
            log = open_spooled(path)
            recording = _recording(self._program, log, self._limits, f" (process {process})")
        except (OSError, ValueError):
            return  # it has ended before it began, or has spoiled its log
        where = None if self._path is None else _beside(self._path, process, force=self._force)
        tape = Tape(recording.symbols, recording.meta, where, force=self._force)
        recording.output, recording.idle = tape.write, tape.flush_if_due
        self._running.append((recording, log, ForkedTape(process, tape, where)))

    def _end(self, entry: tuple[Recording, SharedLog, ForkedTape]) -> None:
        recording, _, forked = entry
        self._running.remove(entry)
        recording.finish(complete=not recording.meta.warnings)
        recording.meta.warnings += recording.warnings
        if forked.tape.events:
            forked.tape.finish()
            self.tapes.append(forked)
        else:
            forked.tape.discard()


def _beside(path: str, process: int, *, force: bool) -> str:
    """`run.atomtrace` -> `run.123.atomtrace`; a number that was used before gets another one behind it."""
    stem, suffix = os.path.splitext(path)
    if suffix in (".gz", ".zst", ".bz2", ".xz"):
        stem, inner = os.path.splitext(stem)
        suffix = inner + suffix
    shown = f"{stem}.{process}{suffix}"
    again = 1
    while os.path.lexists(shown) and not force:
        again += 1
        shown = f"{stem}.{process}-{again}{suffix}"
    return shown


@contextmanager
def _spool(wanted: bool) -> Iterator[str | None]:
    """A directory in which processes that the program forks put their logs, in memory if there is such a place."""
    if not wanted:
        yield None
        return
    import tempfile

    in_memory = "/dev/shm"
    where = in_memory if os.access(in_memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="atomsan-", dir=where, ignore_cleanup_errors=True) as directory:
        yield directory


@contextmanager
def _started(program: Program, options: RecordingOptions, limits: Limits) -> Iterator[tuple[Run, SharedLog]]:
    """A run of the program, which has been started, and has ended when the context is left."""
    try:
        log = SharedLog.create()
    except OSError as error:
        raise OutputError(f"no memory for the recording: {error.strerror or error}") from error
    run = Run(program, options, limits, log)
    try:
        run.pass_signals_on()
        run.start()
        yield run, log
    finally:
        run.close()
        log.close()


def _recording(program: Program, log: SharedLog, limits: Limits, behind: str = "") -> Recording:
    from atomsan.recorder.log.resolving import Recording

    recording = Recording(log, source=program.shown + behind, keeps_unshared=False)
    recording.limit(limits.events, limits.bytes)
    recording.meta.program = program.what
    recording.meta.command_line = program.command_line
    return recording


def _run(run: Run, recording: Recording) -> Iterator[bool]:
    """Run the program to its end. Gives True now and then: somebody asks how it goes; else False."""
    run.read_by(recording)
    while run.pump():
        yield run.was_asked()
    # signals are ours from now on: Ctrl-C ends the check
    run.close()


def _finish(recording: Recording, outcome: Outcome) -> None:
    recording.finish(complete=outcome.stopped is None)
    recording.meta.seconds = outcome.seconds
    recording.meta.warnings += recording.warnings
    if outcome.stopped:
        recording.meta.warnings.append(outcome.stopped)
