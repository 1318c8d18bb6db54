"""The event loop: one pass over a source feeds any set of checkers.

Checkers run one after the other on each batch, while the next batches are being made. A checker that has made up
its mind is not fed any more; when all have, or the time is up, or somebody interrupts, the loop ends and
every checker says what it knows. A checker may ask for a second pass (see `types.RepeatingChecker`): then the trace is
opened again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from atomsan.checkers.flat import Flattening
from atomsan.trace.trace import Trace
from atomsan.trace.worker import Worker
from atomsan.types import RepeatingChecker

if TYPE_CHECKING:
    from atomsan.checkers.flat import FlatBatch, Noted
    from atomsan.checkers.results import Result
    from atomsan.types import Checker, EventSource

# So many batches may wait for the checkers, so that neither they nor the source have to wait for each other much.
AHEAD = 2

ONCE = "the trace can be read only once, and this checker needs it twice"


@dataclass
class Run:
    """What came of checking a trace."""

    results: list[Result]
    events: int = 0
    stopped: str | None = None
    """Why the pass ended before the trace did: "interrupted" or "out of time"."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Time spent in each checker."""


def run_checkers(
    source: EventSource,
    checkers: Sequence[Checker],
    *,
    timeout: float | None = None,
    on_batch: Callable[[FlatBatch], None] = lambda batch: None,
    reopen: Callable[[], EventSource] | None = None,
) -> Run:
    """Feed a source's batches to the checkers, to the end of the trace or as far as it goes.

    `reopen` gives the same source from its beginning, for checkers that need it twice; a `Trace` can do without.
    """
    if isinstance(source, Trace):
        reopen = reopen or (lambda: source)
    run = Run([], seconds=dict.fromkeys((checker.name for checker in checkers), 0.0))
    deadline = None if timeout is None else time.monotonic() + timeout
    why: dict[str, str] = {}
    busy = list(checkers)
    try:
        _pass(source, busy, run, deadline, on_batch)
        while run.stopped is None and (busy := [checker for checker in busy if _again(checker)]):
            if _is_over(deadline):
                run.stopped = "out of time"
                break
            if reopen is None:
                why = dict.fromkeys((checker.name for checker in busy), ONCE)
                break
            _pass(reopen(), busy, run, deadline, lambda batch: None)
    except KeyboardInterrupt:
        run.stopped = "interrupted"
    if run.stopped:
        why = dict.fromkeys((checker.name for checker in busy), run.stopped)
    run.results = [checker.result(stopped=why.get(checker.name)) for checker in checkers]
    return run


def _is_over(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() > deadline


def _again(checker: Checker) -> bool:
    return isinstance(checker, RepeatingChecker) and checker.again()


def _pass(
    source: EventSource,
    busy: list[Checker],
    run: Run,
    deadline: float | None,
    on_batch: Callable[[FlatBatch], None],
) -> None:
    """One pass. What leaves `busy` has made up its mind."""
    flattening = Flattening(source.symbols)

    def feed(batch: FlatBatch) -> tuple[FlatBatch, bool]:
        """The batch, and whether another is of use to anybody."""
        for checker in list(busy):
            start = time.perf_counter()
            if checker.feed(batch):
                busy.remove(checker)
            run.seconds[checker.name] += time.perf_counter() - start
        return batch, bool(busy)

    def goes_on(batch: FlatBatch, is_of_use: bool) -> bool:
        run.events = max(run.events, batch.first + len(batch))
        on_batch(batch)
        return is_of_use

    def flatten_and_feed(noted: Noted) -> tuple[FlatBatch, bool]:
        return feed(flattening.flat(noted))

    with Worker(flatten_and_feed, "atomsan-check", AHEAD) as worker:
        for batch in source.batches():
            if worker.is_full:
                if not goes_on(*worker.result()):
                    return
                if _is_over(deadline):
                    run.stopped = "out of time"
                    return
            worker.start(flattening.note(batch), len(batch))
        while worker.calls:
            if not goes_on(*worker.result()):
                return
    if ends := flattening.ends():
        goes_on(*feed(ends))
