"""Watches passes over a trace: progress, the deadline and Ctrl-C, in one place for every pass."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sized
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from atomsan.errors import MemoryLimitError
from atomsan.trace._stopping import until

if TYPE_CHECKING:
    from atomsan.types import EventSource

INTERRUPTED = "interrupted"
OUT_OF_TIME = "out of time"
OUT_OF_MEMORY = "out of memory (--max-memory)"


def why_interrupted(error: KeyboardInterrupt) -> str:
    """INTERRUPTED or OUT_OF_MEMORY."""
    return OUT_OF_MEMORY if isinstance(error, MemoryLimitError) else INTERRUPTED


class Stage(NamedTuple):
    """Long work that reads no source: how much of it there is, is not known."""

    title: str


# Around a pass over a source, or a stage: a context manager whose value is called with each batch that is done.
Progress = Callable[[Any], AbstractContextManager[Callable[[Sized], None]]]


def silent(source: object) -> AbstractContextManager[Callable[[Sized], None]]:
    """Shows no progress."""
    return nullcontext(lambda batch: None)


class Monitor:
    """One for all passes of a verb. Once it is stopped, no further pass begins."""

    def __init__(self, timeout: float | None = None, progress: Progress = silent) -> None:
        """`timeout` are the seconds from now on."""
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self._progress = progress
        self.stopped: str | None = None
        """Why the work ended before the trace did: INTERRUPTED, OUT_OF_TIME or OUT_OF_MEMORY."""

    def is_over(self) -> bool:
        """Whether to stop now. Asked after each batch."""
        if self.stopped is None and self._is_late():
            self.stopped = OUT_OF_TIME
        return self.stopped is not None

    @contextmanager
    def stopping(self) -> Iterator[None]:
        """Lets an interrupt end what is inside, and notes it. The alarm at the deadline is an interrupt, too.

        Compiled loops inside look at the deadline, too, and end as if they were interrupted.
        """
        try:
            with until(self.is_over):
                yield
        except MemoryLimitError:
            self.stopped = OUT_OF_MEMORY
        except KeyboardInterrupt as error:
            self.stopped = self.stopped or (OUT_OF_TIME if self._is_late() else why_interrupted(error))

    @contextmanager
    def over(self, source: EventSource) -> Iterator[Callable[[Sized], None]]:
        """Progress of one pass over a source: gives what is to be called with each batch. Closes the source."""
        try:
            with self._progress(source) as done:
                yield done
        finally:
            if hasattr(source, "close"):
                source.close()

    def working(self, title: str) -> AbstractContextManager[object]:
        """Progress of work that reads no source."""
        return self._progress(Stage(title))

    def _is_late(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline
