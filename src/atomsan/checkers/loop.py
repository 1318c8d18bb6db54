"""The event loop: one pass over a source feeds any set of checkers.

Checkers run one after the other on each batch, while the next batch is being made. A checker that has made up
its mind is not fed any more; when all have, or the time is up, or somebody interrupts, the loop ends and
every checker says what it knows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from atomsan.checkers.flat import flattened

if TYPE_CHECKING:
    from atomsan.checkers.flat import FlatBatch
    from atomsan.checkers.results import Result
    from atomsan.types import Checker, EventSource


@dataclass
class Run:
    """What came of one pass."""

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
) -> Run:
    """Feed a source's batches to the checkers, to the end of the trace or as far as it goes."""
    deadline = None if timeout is None else time.monotonic() + timeout
    run = Run([])
    busy = list(checkers)
    times = dict.fromkeys((checker.name for checker in checkers), 0.0)
    try:
        for batch in flattened(source):
            for checker in list(busy):
                start = time.perf_counter()
                if checker.feed(batch):
                    busy.remove(checker)
                times[checker.name] += time.perf_counter() - start
            run.events = batch.first + len(batch)
            on_batch(batch)
            if not busy:
                break
            if deadline is not None and time.monotonic() > deadline:
                run.stopped = "out of time"
                break
    except KeyboardInterrupt:
        run.stopped = "interrupted"
    run.results = [checker.result(stopped=run.stopped if checker in busy else None) for checker in checkers]
    run.seconds = times
    return run
