"""Reads the logs of processes that a program has forked. Each becomes a tape, beside that of the program."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atomsan.recorder.log.runner import new_recording
from atomsan.recorder.log.spool import has_live_writer, open_spooled, spooled
from atomsan.trace.output_paths import is_replaceable

if TYPE_CHECKING:
    from atomsan.recorder.log.limits import Limits
    from atomsan.recorder.log.recording import Recording
    from atomsan.recorder.log.ring import SharedLog
    from atomsan.recorder.log.runner import Launch
    from atomsan.recorder.log.tape import Tape


# A process of which more is recorded leaves memory: there can be many.
MOST_IN_MEMORY = 1 << 17


@dataclass
class ForkedTape:
    """What a process did that the program has forked."""

    process: int
    tape: Tape
    path: str | None


class ForkedProcesses:
    """Those that put their logs into a spool (None: there is none). `path` is that of the program's own trace."""

    def __init__(self, launch: Launch, limits: Limits, spool: str | None, path: str | None, *, force: bool) -> None:
        self._launch = launch
        self._limits = limits
        self._spool = spool
        self._path = path
        self._force = force
        self._running: list[tuple[Recording, SharedLog, ForkedTape]] = []
        self.tapes: list[ForkedTape] = []
        """Of those that have ended, and did anything."""

    def __enter__(self) -> ForkedProcesses:
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
            lives = has_live_writer(log)
            recording.drain()
            if not lives:
                self._end(entry)

    def finish(self) -> None:
        """The program has ended. What its processes do from now on is not recorded."""
        self.read()
        for entry in self._running[:]:
            entry[0].cut_short("recording stopped: the program ended before this process of it")
            self._end(entry)

    def _add(self, process: int, path: str) -> None:
        from atomsan.recorder.log.tape import Tape

        try:
            log = open_spooled(path)
            recording = new_recording(self._launch, self._limits, log, f" (process {process})")
        except (OSError, ValueError):
            return  # it has ended before it began, or has spoiled its log
        where = None if self._path is None else _beside(self._path, process, force=self._force)
        tape = Tape(
            recording.symbols,
            recording.meta,
            where,
            force=self._force,
            most_in_memory=MOST_IN_MEMORY,
            on_full=recording.cut_short,
        )
        recording.start(tape)
        self._running.append((recording, log, ForkedTape(process, tape, where)))

    def _end(self, entry: tuple[Recording, SharedLog, ForkedTape]) -> None:
        recording, _, forked = entry
        self._running.remove(entry)
        recording.finish()
        recording.meta.warnings += recording.warnings
        if forked.tape.events:
            forked.tape.finish()
            forked.tape.put_away()
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
    while os.path.lexists(shown) and not (force and is_replaceable(shown)):
        again += 1
        shown = f"{stem}.{process}-{again}{suffix}"
    return shown
