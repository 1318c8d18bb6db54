"""Progress bar for a pass over a trace, and a timer that interrupts a read that blocks at the deadline."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sized
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from atomsan.errors import printable
from atomsan.reports.numerals import number
from atomsan.trace.monitor import Stage

if TYPE_CHECKING:
    from rich.progress import Progress

    from atomsan.flow.trace_input import OpenedTrace
    from atomsan.types import EventSource


# What a timer can be set to on every system, in seconds.
_LONGEST = 1e9


class BatchCounter:
    """Called with each batch that is done. Counts the events, and moves the progress bar if there is one."""

    def __init__(self) -> None:
        self.events = 0
        self.move: Callable[[int], None] = lambda events: None

    def __call__(self, batch: Sized) -> None:
        self.events += len(batch)
        self.move(self.events)


@contextmanager
def progress(
    title: str, source: EventSource | Stage, *, quiet: bool, after: float | None = None
) -> Iterator[BatchCounter]:
    """Counts the batches of a pass; with a progress bar if standard error is a terminal, also for other work.

    `after` so many seconds, if the work takes longer than that: the bar itself takes a tenth of a second.
    """
    counter = BatchCounter()
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield counter
        return
    bar = _Bar(title, source, counter)
    if after is None:
        bar.start()
        try:
            yield counter
        finally:
            bar.stop()
        return
    timer = threading.Timer(after, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield counter
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


class _Bar:
    """A progress bar for a pass over a source, or a stage."""

    def __init__(self, title: str, source: EventSource | Stage, counter: BatchCounter) -> None:
        self._title = title
        self._source = source
        self._counter = counter
        self._shown: Progress | None = None

    def start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        source, console = self._source, Console(stderr=True)
        if isinstance(source, Stage):
            shown = TextColumn(_literal(f"{self._title}: {source.title}"), markup=False)
            columns = (shown, BarColumn(), TimeElapsedColumn())
            self._shown = bar = Progress(*columns, console=console, transient=True)
            bar.add_task(self._title, total=None)
        else:
            rate_column = TextColumn("{task.fields[rate]}")
            shown = TextColumn(_literal(self._title), markup=False)
            of_pass = (shown, BarColumn(), rate_column, TimeRemainingColumn())
            self._shown = bar = Progress(*of_pass, console=console, transient=True)
            task = bar.add_task(self._title, total=None, rate="")

            def move(events: int) -> None:
                fraction = _fraction(source, events)
                rate = f"{number(events)} events, {number(round(events / (bar.tasks[task].elapsed or 1)))} events/s"
                bar.update(task, total=fraction and 1.0, completed=fraction or 0.0, rate=rate)

            self._counter.move = move
        bar.start()

    def stop(self) -> None:
        if self._shown is not None:
            self._shown.stop()


def _literal(title: str) -> str:
    """A title as the template of a column: the name of a file in it can hold anything."""
    return printable(title).replace("{", "{{").replace("}", "}}")


def _fraction(source: EventSource, events: int) -> float | None:
    """How much of a source is done: by events if their number is known, else by bytes if that is known."""
    if source.meta.events:
        return min(events / source.meta.events, 1.0)
    fraction: float | None = source.fraction() if hasattr(source, "fraction") else None
    return fraction


def timed_progress(
    title: str, timeout: float | None, *, quiet: bool, after: float | None = None
) -> Callable[[OpenedTrace | Stage], AbstractContextManager[BatchCounter]]:
    """For the passes of a check: a progress bar around each, and an alarm at the end of the time."""

    @contextmanager
    def around(source: OpenedTrace | Stage) -> Iterator[BatchCounter]:
        alarm = nullcontext() if timeout is None or isinstance(source, Stage) else _alarm(timeout, source)
        with alarm, progress(title, source, quiet=quiet, after=after) as counter:
            yield counter

    return around


@contextmanager
def _alarm(seconds: float, source: OpenedTrace) -> Iterator[None]:
    """Interrupts a source that waits for input when the time is up. In all other cases the check looks at the clock."""
    import signal

    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_: object) -> None:
        if source.reading:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, min(seconds, _LONGEST))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
