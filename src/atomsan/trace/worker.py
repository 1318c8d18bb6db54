"""Background worker that overlaps parsing and checking.

The compiled loops run without the interpreter lock, so that one thread can parse while another checks.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Generic, TypeVar

from atomsan.trace._stopping import is_over_here, until

T = TypeVar("T")
R = TypeVar("R")

# Smaller calls run at once in the caller's thread: handing them over would take longer.
SMALL = 1 << 16


class Worker(Generic[T, R]):
    """Calls one function in a thread, one call after the other: `start` queues a call, `result` waits for the oldest.

    At most `ahead` calls are queued: while `is_full`, a result must be taken before the next call.
    """

    def __init__(self, function: Callable[[T], R], name: str, ahead: int = 1) -> None:
        self._function = function
        self._name = name
        self._calls: SimpleQueue[T | None] = SimpleQueue()
        self._results: SimpleQueue[tuple[R | None, BaseException | None]] = SimpleQueue()
        self._thread: Thread | None = None
        self._ahead = ahead
        self._was_at_once = False
        self._is_over_outside = is_over_here()
        self._was_left = False
        self.calls = 0
        """The number of calls whose result was not taken yet."""

    @property
    def is_full(self) -> bool:
        return self.calls == self._ahead or (self.calls > 0 and self._was_at_once)

    def start(self, argument: T, size: int) -> None:
        """Start a call with `size` events: in the worker's thread, or at once if they are few."""
        self.calls += 1
        self._was_at_once = size < SMALL and self.calls == 1
        if self._was_at_once:
            self._results.put(self._outcome(argument))
            return
        if self._thread is None:
            self._thread = Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        self._calls.put(argument)

    def result(self) -> R:
        """Returns what the oldest call returned, or raises what it raised."""
        result, error = self._results.get()
        self.calls -= 1
        if error is not None:
            raise error
        return result  # type: ignore[return-value]

    def __enter__(self) -> Worker[T, R]:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """However the block ends: drops queued calls and waits for the running one. That ends soon after an error."""
        self._was_left = kind is not None
        with suppress(Empty):
            while True:
                self._calls.get_nowait()
        self._calls.put(None)
        if self._thread is not None:
            self._thread.join()

    def _outcome(self, argument: T) -> tuple[R | None, BaseException | None]:
        try:
            return self._function(argument), None
        except BaseException as error:
            return None, error

    def _run(self) -> None:
        with until(self._is_over):
            while (argument := self._calls.get()) is not None:
                self._results.put(self._outcome(argument))
                # The memory of a batch is reused only when no reference to it is left.
                del argument

    def _is_over(self) -> bool:
        """Whether nobody needs the running call: its caller has left, or that one's time is up."""
        return self._was_left or (self._is_over_outside is not None and self._is_over_outside())
