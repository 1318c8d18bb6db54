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
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from atomsan.env import for_program
from atomsan.errors import InputError
from atomsan.recorder.log import _signals
from atomsan.recorder.python.options import RecordingOptions

if TYPE_CHECKING:
    from types import FrameType

    from atomsan.recorder.log.resolving import Recording
    from atomsan.recorder.log.ring import SharedLog

START = Path(__file__).parent.parent / "python" / "program" / "start.py"

# How long to sleep when there is nothing to read, and how long a program may take to end once it was told to.
IDLE = 0.005
GRACE = 5.0

FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR2)
# What a terminal sends to everybody in its foreground, the program too.
OF_A_TERMINAL = (signal.SIGINT, signal.SIGQUIT)


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
    """How the program ended."""

    exit: int | None = None
    signal: int | None = None
    seconds: float = 0.0
    is_out_of_time: bool = False
    stopped: str | None = None
    """Why the program was ended."""

    @property
    def code(self) -> int:
        """The exit code that a shell would show."""
        return 128 + self.signal if self.signal else self.exit or 0


@dataclass(frozen=True)
class Limits:
    """When to stop recording (events or bytes of each process), and when to end the program (seconds)."""

    events: int | None = None
    bytes: int | None = None
    seconds: float | None = None
    grace: float = field(default_factory=lambda: GRACE)
    """How long the program may take to end once it was told to."""


class Run:
    """One run of a program. `start`, give it the reader of the log, then `pump` until it returns False.

    The program can be started before its reader is there: what that needs takes as long to load as the program.
    """

    def __init__(self, program: Program, options: RecordingOptions, limits: Limits, log: SharedLog) -> None:
        self._program = program
        self._options = options
        self._log = log
        self._limits = limits
        self._recording: Recording | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._pid_file = -1
        self._told_to_end = 0.0
        self._waiting_signals: list[int] = []
        self._signals = ExitStack()
        self._is_asked = False
        self.outcome = Outcome()

    def pass_signals_on(self) -> None:
        """From now until `close`, the program gets the signals that this process is sent."""
        self._signals.enter_context(signals_passed_on(self))

    def ask(self) -> None:
        self._is_asked = True

    def was_asked(self) -> bool:
        """Whether somebody has asked how it goes, since this was last called."""
        was_asked, self._is_asked = self._is_asked, False
        return was_asked

    def start(self) -> None:
        """Start the program."""
        ring, definitions = self._log.descriptors
        facts = {
            "ring": ring,
            "definitions": definitions,
            "kind": self._program.kind,
            "options": self._options._asdict(),
        }
        command = [sys.executable, *_interpreter_flags(), str(START), json.dumps(facts)]
        for descriptor in (ring, definitions):
            os.set_inheritable(descriptor, True)
        self._started = time.monotonic()
        try:
            # Nothing is closed: whoever started us may have meant a descriptor for the program.
            self._process = subprocess.Popen(
                [*command, self._program.what, *self._program.arguments], close_fds=False, env=for_program()
            )
        except (OSError, ValueError) as error:
            raise InputError(f"cannot be run: {error}", source=self._program.shown) from error
        finally:
            for descriptor in (ring, definitions):
                os.set_inheritable(descriptor, False)
        if hasattr(os, "pidfd_open"):
            with suppress(OSError):  # an old kernel, or a sandbox that forbids it
                self._pid_file = os.pidfd_open(self._process.pid)
        for number in self._waiting_signals:
            self.send(number)

    def read_by(self, recording: Recording) -> None:
        """From now on, `pump` reads the log."""
        self._recording = recording

    def pump(self) -> bool:
        """Read what the program has logged so far. False: it has ended, and all of it was read."""
        assert self._process is not None
        assert self._recording is not None
        ended = self._process.poll() is not None
        found = self._recording.drain()
        self._keep_time()
        if ended:
            self._end(self._process.returncode)
            return False
        if not found:
            self._sleep()
        return True

    def send(self, number: int) -> None:
        """Pass a signal on."""
        if self._process is None:
            self._waiting_signals.append(number)
        elif self._process.poll() is None:
            self._process.send_signal(number)

    def _sleep(self) -> None:
        if self._pid_file >= 0:
            select.select([self._pid_file], [], [], IDLE)
        else:
            time.sleep(IDLE)

    def _keep_time(self) -> None:
        limits = self._limits
        if limits.seconds is None or time.monotonic() - self._started < limits.seconds:
            return
        if not self._told_to_end:
            self._told_to_end = time.monotonic()
            self.outcome.is_out_of_time = True
            self.outcome.stopped = f"out of time: the program was ended after {limits.seconds:g} s (--timeout)"
            self.send(signal.SIGTERM)
            # a program that was stopped takes no notice before it goes on
            self.send(signal.SIGCONT)
        elif time.monotonic() - self._told_to_end > limits.grace:
            self.send(signal.SIGKILL)

    def _end(self, code: int) -> None:
        self.outcome.seconds = time.monotonic() - self._started
        self.outcome.exit, self.outcome.signal = (None, -code) if code < 0 else (code, None)

    def close(self) -> None:
        """Wait for the program, if it still runs; signals are as before then.

        It still runs if something is wrong with us (a full disk, a bug): that is no reason to end it.
        """
        if self._process is not None and self._process.poll() is None:
            self._log.stop()
            while self._process.poll() is None:
                self._keep_time()
                self._sleep()
        if self._pid_file >= 0:
            os.close(self._pid_file)
            self._pid_file = -1
        self._signals.close()


def _interpreter_flags() -> list[str]:
    """The flags that this Python was started with, for the other one."""
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return flags


@contextmanager
def signals_passed_on(run: Run) -> Iterator[None]:
    """The program gets the signals that this process is sent; SIGUSR1 asks for an interim report.

    What is ignored here stays so, and is ignored by the program as well (`nohup`).
    """

    def from_terminal(number: int, frame: FrameType | None) -> None:
        # Ctrl-C on a terminal reaches the program without us
        if not _has_terminal() or _signals.was_sent(number):
            run.send(number)

    handlers: dict[int, Any] = dict.fromkeys(OF_A_TERMINAL, from_terminal)
    handlers |= dict.fromkeys(FORWARDED, lambda number, frame: run.send(number))
    handlers[signal.SIGUSR1] = lambda number, frame: run.ask()
    if threading.current_thread() is not threading.main_thread():
        handlers.clear()  # signals come to the main thread, whoever that is
    handled = [number for number in handlers if signal.getsignal(number) not in (signal.SIG_IGN, None)]
    before = {number: signal.signal(number, handlers[number]) for number in handled}
    for number in handled:
        _signals.watch(number)
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
