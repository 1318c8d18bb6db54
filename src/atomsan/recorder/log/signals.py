"""Forwards the signals of this process to the program that it runs; SIGUSR1 asks for an interim report.

A signal that was sent to the whole process group (Ctrl-C on a terminal, `kill -TERM -PGID`, the end of a session) has
reached the program already, which is in the same group. Nothing in the signal tells it from one that was sent to this
process alone. So a third process is in the group, the bystander, which only keeps signals pending: what it has got too
was sent to everybody, and is not forwarded.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

from atomsan.recorder.log import _signals

if TYPE_CHECKING:
    from types import FrameType

FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR2, signal.SIGINT, signal.SIGQUIT)

# The kernel sends to the processes of a group one after the other: it has come to the last by then. And `timeout` sends
# to its child first, then to its group, which is one signal to whoever gets both at once.
GROUP_SECONDS = 0.002

# So long the bystander may take to answer. It only takes longer if somebody has stopped it.
ANSWER_SECONDS = 1.0


class Receiver(Protocol):
    @property
    def has_started(self) -> bool:
        """Whether it is there, and gets what is sent to the group."""
        ...

    def send(self, number: int) -> None:
        """Pass a signal on, now or when it has started."""
        ...

    def request_interim_report(self) -> None:
        """Somebody asks how it goes."""
        ...


@contextmanager
def signals_passed_on(to: Receiver) -> Iterator[None]:
    """The program gets the signals that this process is sent; SIGUSR1 asks for an interim report.

    What is ignored here stays so, and is ignored by the program as well (`nohup`).
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals come to the main thread, whoever that is
        return
    handled = [number for number in (*FORWARDED, signal.SIGUSR1) if _is_handled(number)]
    bystander = Bystander([number for number in handled if number in FORWARDED])
    forwarding = _Forwarding(to, bystander)
    handlers: dict[int, Any] = dict.fromkeys(FORWARDED, forwarding.handle)
    handlers[signal.SIGUSR1] = lambda number, frame: to.request_interim_report()
    before = {number: signal.signal(number, handlers[number]) for number in handled}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        bystander.close()


def _is_handled(number: int) -> bool:
    return signal.getsignal(number) not in (signal.SIG_IGN, None)


class _Forwarding:
    """The handler of the signals that are forwarded."""

    def __init__(self, to: Receiver, bystander: Bystander) -> None:
        self._to = to
        self._bystander = bystander
        self._arrived: deque[int] = deque()
        self._is_busy = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Forward a signal, unless the program has got it. Others can come meanwhile: they wait for their turn."""
        self._arrived.append(number)
        if self._is_busy:
            return
        self._is_busy = True
        try:
            while self._arrived:
                self._forward(self._arrived[0])
        finally:
            self._is_busy = False

    def _forward(self, number: int) -> None:
        has_started = self._to.has_started
        time.sleep(GROUP_SECONDS)
        was_for_group = self._bystander.has_got(number)
        # Several of the same that came meanwhile are one, as they are for whoever has not got to the first.
        for _ in range(self._arrived.count(number)):
            self._arrived.remove(number)
        if not (was_for_group and has_started):
            self._to.send(number)


class Bystander:
    """A process in our process group that gets what is sent to the group, and nothing else."""

    def __init__(self, numbers: list[int]) -> None:
        theirs, self._questions = os.pipe()
        self._answers, ours = os.pipe()
        self.process = _signals.bystander(theirs, ours, bytes(numbers), *_command_line())
        """Its number. -1: it could not be started, or has ended."""
        os.close(theirs)
        os.close(ours)

    def has_got(self, number: int) -> bool:
        """Whether this signal was sent to it, too, since it was asked last. If it does not say, it was not."""
        if self.process < 0:
            return False
        with suppress(OSError):
            os.write(self._questions, bytes([number]))
            if select.select([self._answers], [], [], ANSWER_SECONDS)[0]:
                return os.read(self._answers, 1) == b"\1"
        self._end()  # its next answer would be one to this question
        return False

    def close(self) -> None:
        self._end()
        os.close(self._questions)
        os.close(self._answers)

    def _end(self) -> None:
        if self.process < 0:
            return
        with suppress(OSError):  # somebody else has waited for it: then the number may be another's by now
            if os.waitpid(self.process, os.WNOHANG)[0] == 0:
                os.kill(self.process, signal.SIGKILL)
                os.waitpid(self.process, 0)
        self.process = -1


def _command_line() -> tuple[int, int]:
    """From where to where the command line of this process stands in its memory; 0 if that is not known."""
    try:
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return int(fields[45]), int(fields[46])
    except (OSError, ValueError, IndexError):
        return 0, 0
