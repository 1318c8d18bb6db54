"""Two cores: a call on a batch runs beside whatever its caller does next.

The compiled loops work without the interpreter lock, so that one thread can parse while another checks.
"""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

# What is smaller than this is done at once: to hand it over would cost more than it takes.
SMALL = 1 << 16


class Worker(Generic[T, R]):
    """Calls one function, one call at a time: `start` begins it, `result` waits for it."""

    def __init__(self, function: Callable[[T], R], name: str) -> None:
        self._function = function
        self._name = name
        self._calls: SimpleQueue[T | None] = SimpleQueue()
        self._results: SimpleQueue[tuple[R | None, BaseException | None]] = SimpleQueue()
        self._thread: Thread | None = None
        self._is_busy = False

    def start(self, argument: T, size: int) -> None:
        """Begin a call: in another thread, unless `size` says that it is not worth it."""
        self._is_busy = True
        if size < SMALL:
            self._results.put(self._outcome(argument))
            return
        if self._thread is None:
            self._thread = Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        self._calls.put(argument)

    def result(self) -> R:
        """What the call returned, or raised. It must be taken before the next call begins."""
        result, error = self._results.get()
        self._is_busy = False
        if error is not None:
            raise error
        return result  # type: ignore[return-value]

    def __enter__(self) -> Worker[T, R]:
        return self

    def __exit__(self, *_: object) -> None:
        """Whatever ends the work, an interrupt too: a call that is under way is finished first."""
        if self._is_busy:
            self._results.get()
        self._calls.put(None)

    def _outcome(self, argument: T) -> tuple[R | None, BaseException | None]:
        try:
            return self._function(argument), None
        except BaseException as error:
            return None, error

    def _run(self) -> None:
        while (argument := self._calls.get()) is not None:
            self._results.put(self._outcome(argument))
            # A batch that is held on to cannot lend its memory to a later one.
            del argument
