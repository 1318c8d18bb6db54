"""Runs a program in a process of its own, and reads its log while it runs.

The program's process writes to memory that this one shares, so nothing is lost when the program is killed, crashes or
hangs, and the program never waits for a disk. Standard input, output and error are the program's: it has inherited
them. So are the signals: what this process is sent, it passes on, and it ends after the program.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from atomsan.env import for_program
from atomsan.errors import InputError, OutputError
from atomsan.recorder.log.ring import SharedLog
from atomsan.recorder.log.signals import signals_passed_on

if TYPE_CHECKING:
    from atomsan.recorder.log.definitions import Language
    from atomsan.recorder.log.limits import Limits
    from atomsan.recorder.log.recording import Recording

# How long to sleep when there is nothing to read.
IDLE = 0.005


class Launch(Protocol):
    """How a recorder starts a program that writes to a log. Each recorder has one of its own."""

    @property
    def shown(self) -> str:
        """What people call the program."""
        ...

    @property
    def what(self) -> str:
        """The program, for the trace's `meta`."""
        ...

    @property
    def command_line(self) -> list[str]:
        """The program and its arguments, as the user gave them."""
        ...

    @property
    def language(self) -> Language: ...

    def command(self, ring: int, definitions: int) -> Sequence[str]:
        """What its process is started with. It inherits the descriptors of the ring and of the file of definitions."""
        ...


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


class ProgramRun:
    """One run of a program, in a process of its own. `start` it, then read its log `read_until_exit`.

    The program is started before its reader is there: what that needs takes as long to load as the program.
    """

    def __init__(self, launch: Launch, limits: Limits, log: SharedLog) -> None:
        self._launch = launch
        self._limits = limits
        self._log = log
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

    @property
    def has_started(self) -> bool:
        return self._process is not None

    def request_interim_report(self) -> None:
        """Somebody asks how it goes: `read_until_exit` says so."""
        self._is_asked = True

    def start(self) -> None:
        """Start the program."""
        command = self._launch.command(*self._log.descriptors)
        for descriptor in self._log.descriptors:
            os.set_inheritable(descriptor, True)
        self._started = time.monotonic()
        try:
            # Nothing is closed: whoever started us may have meant a descriptor for the program.
            self._process = subprocess.Popen(command, close_fds=False, env=for_program())
        except (OSError, ValueError) as error:
            raise InputError(f"cannot be run: {error}", source=self._launch.shown) from error
        finally:
            for descriptor in self._log.descriptors:
                os.set_inheritable(descriptor, False)
        if hasattr(os, "pidfd_open"):
            with suppress(OSError):  # an old kernel, or a sandbox that forbids it
                self._pid_file = os.pidfd_open(self._process.pid)
        for number in self._waiting_signals:
            self.send(number)

    def recording(self) -> Recording:
        """A new reader of the program's log."""
        return new_recording(self._launch, self._limits, self._log)

    def read_until_exit(self, recording: Recording) -> Iterator[bool]:
        """Read the log until the program has ended. Gives True now and then: somebody asks how it goes; else False."""
        while self._pump(recording):
            was_asked, self._is_asked = self._is_asked, False
            yield was_asked
        # signals are ours from now on: Ctrl-C ends the check
        self.close()
        if self.outcome.stopped is not None:
            recording.cut_short(self.outcome.stopped)
        recording.finish()
        recording.meta.seconds = self.outcome.seconds
        recording.meta.warnings += recording.warnings

    def _pump(self, recording: Recording) -> bool:
        """Read what the program has logged so far. False: it has ended, and all of it was read."""
        assert self._process is not None
        ended = self._process.poll() is not None
        found = recording.drain()
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


@contextmanager
def started(launch: Launch, limits: Limits) -> Iterator[ProgramRun]:
    """A run of the program, which has been started, and has ended when the context is left."""
    try:
        log = SharedLog.create()
    except OSError as error:
        raise OutputError(f"no memory for the recording: {error.strerror or error}") from error
    run = ProgramRun(launch, limits, log)
    try:
        run.pass_signals_on()
        run.start()
        yield run
    finally:
        run.close()
        log.close()


def new_recording(launch: Launch, limits: Limits, log: SharedLog, behind: str = "") -> Recording:
    """A reader of a log of this program; `behind` its name stands which of its processes it is."""
    from atomsan.recorder.log.recording import Recording

    recording = Recording(
        log, language=launch.language, source=launch.shown + behind, keeps_unshared=False, limits=limits
    )
    recording.meta.program = launch.what
    recording.meta.command_line = launch.command_line
    return recording
