"""Protocols: the contracts between the stages, each stated once.

    source  ->  recorder  ->  trace  ->  checkers  ->  findings  ->  reports

Events are read from an `EventSource` and written to an `EventSink`, in batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from atomsan.checkers.flattening import FlatBatch
    from atomsan.checkers.results import Result, Witness
    from atomsan.errors import Place
    from atomsan.findings.report import Report
    from atomsan.trace.events import Batch
    from atomsan.trace.meta import TraceMeta
    from atomsan.trace.symbols import Symbols


class EventSource(Protocol):
    """Events in order, in batches of about a million, once.

    `symbols` grows while the batches come: it always knows every number of the batches given out so far.
    `meta.complete` is final when the last batch has come.
    """

    @property
    def symbols(self) -> Symbols: ...

    @property
    def meta(self) -> TraceMeta: ...

    def batches(self) -> Iterator[Batch]: ...

    def place(self, event: int) -> Place:
        """Where an event stands in the input: `trace.std:12`, or `trace.atomtrace: event 11`."""
        ...


class Reopenable(Protocol):
    """What gives its events as often as they are asked for."""

    def reopened(self) -> EventSource: ...


class EventSink(Protocol):
    """Takes the batches of one source, in order. What it writes is whole only after `finish`.

    Whoever made the sink calls `finish`, once, when the `meta` of the source is final.
    """

    def write(self, batch: Batch) -> None: ...

    def finish(self) -> None: ...


class LiveSink(EventSink, Protocol):
    """A sink of events that come while a program runs, so that there can be pauses between them."""

    def insert(self, insertions: NDArray[Any]) -> None:
        """Events that belong between those that were written: rows of `trace.insertions`."""
        ...

    def idle(self) -> None:
        """Nothing comes for now. What `write` holds back, to do it together with more, is done now if it is due."""
        ...


class Checker(Protocol):
    """Looks at the events of a trace, in order, and says what it found. One object checks one trace.

    Events come flattened (see `checkers.flattening`): only outermost acquires, releases, begins and ends are
    events, and what is open at the end of the trace is ended there. A checker is an engine in
    `checkers/engines` that knows numbers only, and a thin class around it that opens with its paper and where
    it departs from it.
    """

    name: str

    def feed(self, batch: FlatBatch) -> bool:
        """Take the next events. True: no later event can change the answer, so do not feed any more."""
        ...

    def result(self, stopped: str | None = None) -> Result:
        """The answer. `stopped` says why the end of the trace was not seen: what is not settled then is unknown."""
        ...


@runtime_checkable
class RepeatingChecker(Checker, Protocol):
    """A checker that may have to see the trace more than once."""

    def again(self) -> bool:
        """The end of the trace has come, and `feed` has never said True. True: feed all of it once more."""
        ...


@runtime_checkable
class WitnessingChecker(Checker, Protocol):
    """A checker that can be asked between batches for what it has found since."""

    def witnesses_from(self, start: int) -> list[Witness]:
        """The witnesses found so far, from place `start` on. Later ones are added at the end."""
        ...

    def transactions_from(self, start: int) -> NDArray[np.uint32]:
        """(thread, number) of the violating transactions found so far, from place `start` on."""
        ...


class Reporter(Protocol):
    """Renders reports in one format: data in, text out. Modules of `reports/` do; `reports.registry` lists them."""

    def render(self, reports: Sequence[Report], *, limit: int | None = None, with_notes: bool = False) -> str:
        """One document about all reports.

        A format for people shows at most `limit` findings of each, and notes only if asked to; one for programs has
        everything.
        """
        ...

    def merge(self, documents: Sequence[str]) -> str:
        """One document from several that `render` made of one report each, possibly in other processes."""
        ...


class Scheduler(Protocol):
    """Decides at scheduling points whether the running thread goes on at once or lets others run first.

    A scheduling point is where the recorder writes to the log: an access to shared data, an operation of a watched
    primitive, the start and end of a thread or task. Points are counted in records, so that a strategy that acts now
    and then costs nothing between: `start` and `point` return the gap, how many records are written before the next
    point. After a gap of 0, every place where a thread can wait is a point.
    """

    def start(self) -> int:
        """Recording begins."""
        ...

    def point(self) -> int:
        """The calling thread is at a point; other threads run while this waits. Several threads may be here."""
        ...

    def done(self) -> None:
        """There are no more points. What `start` changed is put back."""
        ...
