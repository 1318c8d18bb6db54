"""Forwards the signals of this process to the program that it runs; SIGUSR1 asks for an interim report."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from atomsan.recorder.log import _signals

if TYPE_CHECKING:
    from types import FrameType

FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR2)
# What a terminal sends to everybody in its foreground, the program too.
OF_A_TERMINAL = (signal.SIGINT, signal.SIGQUIT)


class Receiver(Protocol):
    def send(self, number: int) -> None:
        """Pass a signal on."""
        ...

    def request_interim_report(self) -> None:
        """Somebody asks how it goes."""
        ...


@contextmanager
def signals_passed_on(to: Receiver) -> Iterator[None]:
    """The program gets the signals that this process is sent; SIGUSR1 asks for an interim report.

    What is ignored here stays so, and is ignored by the program as well (`nohup`).
    """

    def from_terminal(number: int, frame: FrameType | None) -> None:
        # Ctrl-C on a terminal reaches the program without us
        if not _has_terminal() or _signals.was_sent(number):
            to.send(number)

    handlers: dict[int, Any] = dict.fromkeys(OF_A_TERMINAL, from_terminal)
    handlers |= dict.fromkeys(FORWARDED, lambda number, frame: to.send(number))
    handlers[signal.SIGUSR1] = lambda number, frame: to.request_interim_report()
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
