"""Runs a program in a process of its own and reads its log while it runs.

The program's process (`child.py`) writes to memory that this one shares, so nothing is lost when the program is killed,
crashes or hangs, and the program never waits for a disk. Standard input, output and error are the program's: it has
inherited them. So are the signals: what this process is sent, it passes on, and it ends after the program.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from atomsan.env import for_program
from atomsan.errors import InputError
from atomsan.recorder.options import RecordingOptions

if TYPE_CHECKING:
    from types import FrameType

    from atomsan.recorder.resolving import Recording

START = Path(__file__).parent / "program" / "start.py"

# How long to sleep when there is nothing to read, and how long a program may take to end once it was told to.
IDLE = 0.02
GRACE = 5.0

FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


@dataclass(frozen=True)
class Program:
    """What to run: a file, a module (`-m`) or a text (`-c`), and the arguments it gets."""

    kind: Literal["file", "module", "code"]
    what: str
    arguments: tuple[str, ...] = ()

    @property
    def command_line(self) -> list[str]:
        before = {"file": [], "module": ["-m"], "code": ["-c"]}[self.kind]
        return [*before, self.what, *self.arguments]

    @property
    def shown(self) -> str:
        return self.what if self.kind == "file" else " ".join(self.command_line[:2])

    def check(self) -> None:
        """Say now what Python would say only in the other process."""
        if self.kind == "file" and not os.path.exists(self.what):
            raise InputError("no such file", source=self.what)


@dataclass
class Outcome:
    """How the program ended, and whether all of it was recorded."""

    exit: int | None = None
    signal: int | None = None
    seconds: float = 0.0
    stopped: str | None = None
    """Why the recording ended before the program did, or why the program was ended."""

    @property
    def code(self) -> int:
        """The exit code that a shell would show."""
        return 128 + self.signal if self.signal else self.exit or 0


@dataclass(frozen=True)
class Limits:
    """When to stop recording (events, bytes), and when to end the program (seconds)."""

    events: int | None = None
    bytes: int | None = None
    seconds: float | None = None


class Run:
    """One run of a program. `start`, then `pump` until it returns False."""

    def __init__(self, program: Program, options: RecordingOptions, recording: Recording, limits: Limits) -> None:
        self._program = program
        self._options = options
        self._recording = recording
        self._limits = limits
        self._process: subprocess.Popen[bytes] | None = None
        self._pid_file = -1
        self._told_to_end = 0.0
        self.outcome = Outcome()

    def start(self) -> None:
        ring, definitions = self._recording.descriptors
        facts = {
            "ring": ring,
            "definitions": definitions,
            "kind": self._program.kind,
            "options": asdict(self._options),
        }
        command = [sys.executable, *_interpreter_flags(), str(START), json.dumps(facts)]
        self._started = time.monotonic()
        self._process = subprocess.Popen(
            [*command, self._program.what, *self._program.arguments], pass_fds=(ring, definitions), env=for_program()
        )
        if hasattr(os, "pidfd_open"):
            self._pid_file = os.pidfd_open(self._process.pid)

    def pump(self) -> bool:
        """Read what the program has logged so far. False: it has ended, and all of it was read."""
        assert self._process is not None
        ended = self._process.poll() is not None
        found = self._recording.drain()
        self._keep_limits()
        if ended:
            self._end(self._process.returncode)
            return False
        if not found:
            self._sleep()
        return True

    def send(self, number: int) -> None:
        """Pass a signal on."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)

    def _sleep(self) -> None:
        if self._pid_file >= 0:
            select.select([self._pid_file], [], [], IDLE)
        else:
            time.sleep(IDLE)

    def _keep_limits(self) -> None:
        limits, recording = self._limits, self._recording
        if self.outcome.stopped is None:
            if limits.events is not None and recording.events >= limits.events:
                self._stop_recording(f"recording stopped after {limits.events} events (--max-events)")
            elif limits.bytes is not None and recording.bytes >= limits.bytes:
                self._stop_recording(f"recording stopped after {limits.bytes} bytes (--max-bytes)")
        if limits.seconds is None or time.monotonic() - self._started < limits.seconds:
            return
        if not self._told_to_end:
            self._told_to_end = time.monotonic()
            self.outcome.stopped = f"out of time: the program was ended after {limits.seconds:g} s (--timeout)"
            self.send(signal.SIGTERM)
        elif time.monotonic() - self._told_to_end > GRACE:
            self.send(signal.SIGKILL)

    def _stop_recording(self, why: str) -> None:
        self.outcome.stopped = why
        self._recording.stop()

    def _end(self, code: int) -> None:
        if self._pid_file >= 0:
            os.close(self._pid_file)
            self._pid_file = -1
        self.outcome.seconds = time.monotonic() - self._started
        self.outcome.exit, self.outcome.signal = (None, -code) if code < 0 else (code, None)

    def close(self) -> None:
        """End the program, if it still runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def _interpreter_flags() -> list[str]:
    """The flags that this Python was started with, for the other one."""
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return flags


@contextmanager
def signals_passed_on(run: Run, interim: Callable[[], None] | None = None) -> Iterator[None]:
    """The program gets the signals that this process is sent; SIGUSR1 asks for an interim report."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        # Ctrl-C on a terminal reaches the program without us
        if not _has_terminal():
            run.send(number)

    handlers: dict[int, Any] = {signal.SIGINT: interrupt}
    handlers |= dict.fromkeys(FORWARDED, lambda number, frame: run.send(number))
    if interim is not None:
        handlers[signal.SIGUSR1] = lambda number, frame: interim()
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _has_terminal() -> bool:
    """Whether this process is in the foreground of a terminal."""
    for descriptor in (0, 1, 2):
        try:
            return os.tcgetpgrp(descriptor) == os.getpgrp()
        except OSError:
            continue
    return False
