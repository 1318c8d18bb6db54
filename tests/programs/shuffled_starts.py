"""Runs a program whose threads begin in another order than they were started, drawn by a seed.

    python tests/programs/shuffled_starts.py SEED FILE

A thread that the main thread starts is held up before it does anything. All that are held up go on in a shuffled order
as soon as the main thread does what may wait for them: joins one, waits for an event, a queue or a future, sleeps, or
is at its end. After a second a thread goes on by itself. The gates are pipes, which no recorder watches.
"""

from __future__ import annotations

import importlib
import os
import queue
import random
import select
import selectors
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

PATIENCE = 1.0
# After one was let go: about what a thread has before it is interrupted.
HEAD_START = 0.005

WAITING: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (threading.Thread, ("join", "is_alive")),
    (threading.Event, ("wait",)),
    (threading.Condition, ("wait", "wait_for")),
    (threading.Barrier, ("wait",)),
    (threading.Semaphore, ("acquire",)),
    (queue.Queue, ("get", "put", "join")),
    (Future, ("result", "exception")),
    (selectors.DefaultSelector, ("select",)),
    (time, ("sleep",)),
)


class Gates:
    """Holds up the threads that the main thread starts."""

    def __init__(self, seed: int) -> None:
        self._source = random.Random(seed)
        self._closed: dict[threading.Thread, tuple[int, int]] = {}
        self._sleep = time.sleep

    def install(self) -> None:
        start: Callable[[threading.Thread], None] = threading.Thread.start

        def held_up(thread: threading.Thread) -> None:
            if self._is_main():
                self._closed[thread] = os.pipe()
            start(thread)

        threading.Thread.start = held_up  # type: ignore[method-assign]
        threading.setprofile(self._begin)  # called by each new thread before it does anything
        for owner, names in WAITING:
            for name in names:
                setattr(owner, name, self._opening(getattr(owner, name)))

    def _begin(self, *_: object) -> None:
        sys.setprofile(None)
        gate = self._closed.get(threading.current_thread())
        if gate is not None:
            select.select([gate[0]], [], [], PATIENCE)

    def _opening(self, wait: Callable[..., Any]) -> Callable[..., Any]:
        def opening(*arguments: Any, **named: Any) -> Any:
            if self._closed and self._is_main() and not self._is_starting():
                self.open()
            return wait(*arguments, **named)

        return opening

    def open(self) -> None:
        """Let all go that are held up."""
        gates = list(self._closed.values())
        self._closed.clear()
        self._source.shuffle(gates)
        for _, end in gates:
            os.write(end, b".")
            self._sleep(HEAD_START)

    @staticmethod
    def _is_main() -> bool:
        return threading.current_thread() is threading.main_thread()

    @staticmethod
    def _is_starting() -> bool:
        """Whether the main thread only waits for a thread to exist."""
        frame = sys._getframe(2)
        while frame is not None:
            if frame.f_code.co_name == "held_up" and frame.f_code.co_filename == __file__:
                return True
            frame = frame.f_back  # type: ignore[assignment]
        return False


def main() -> None:
    seed, program = int(sys.argv[1]), Path(sys.argv[2])
    sys.argv[1:] = []
    sys.path.insert(0, str(program.parent))
    gates = Gates(seed)
    gates.install()
    importlib.import_module(program.stem)
    gates.open()


if __name__ == "__main__":
    main()
