"""The event loop: one pass over a source feeds any set of checkers.

Checkers run one after the other on each batch, while the next batches are being made. A checker that has its answer is
not fed any more; when all have, or the monitor says stop, the loop ends and every checker says what it knows. A checker
may ask for a second pass (see `types.RepeatingChecker`): then the trace is opened again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from atomsan.checkers.flattening import Flattening
from atomsan.trace.monitor import Monitor
from atomsan.trace.trace import Trace
from atomsan.trace.worker import Worker
from atomsan.types import RepeatingChecker

if TYPE_CHECKING:
    from atomsan.checkers.flattening import FlatBatch, Noted
    from atomsan.checkers.results import Result
    from atomsan.types import Checker, EventSource

# So many batches may wait for the checkers, so that neither they nor the source have to wait for each other much.
AHEAD = 2

ONCE = "the trace can be read only once, and this checker needs it twice"


@dataclass
class Answers:
    """What the checkers say of a trace."""

    results: list[Result]
    events: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    """Time spent in each checker."""


def run_checkers(
    source: EventSource,
    checkers: Sequence[Checker],
    monitor: Monitor | None = None,
    *,
    on_batch: Callable[[FlatBatch], None] = lambda batch: None,
    on_checked: Callable[[FlatBatch], None] = lambda batch: None,
    reopen: Callable[[], EventSource] | None = None,
) -> Answers:
    """Feed a source's batches to the checkers, to the end of the trace or as far as it goes.

    `on_batch` is called with each batch of the first pass; `on_checked` too, in the thread of the checkers: no later
    batch has come to them. `reopen` gives the same source from its beginning, for checkers that need it twice; a
    `Trace` can do without.
    """
    if isinstance(source, Trace):
        reopen = reopen or (lambda: source)
    monitor = monitor or Monitor()
    answers = Answers([], seconds=dict.fromkeys((checker.name for checker in checkers), 0.0))
    busy = list(checkers)
    unanswered: str | None = None
    with monitor.stopping():
        _pass(source, busy, answers, monitor, on_batch, on_checked)
        while not monitor.stopped and (busy := [checker for checker in busy if _wants_another_pass(checker)]):
            if monitor.is_over():
                break
            if reopen is None:
                unanswered = ONCE
                break
            _pass(reopen(), busy, answers, monitor, lambda batch: None, lambda batch: None)
    why = dict.fromkeys((checker.name for checker in busy), monitor.stopped or unanswered)
    answers.results = [checker.result(stopped=why.get(checker.name)) for checker in checkers]
    return answers


def _wants_another_pass(checker: Checker) -> bool:
    return isinstance(checker, RepeatingChecker) and checker.again()


def _pass(
    source: EventSource,
    busy: list[Checker],
    answers: Answers,
    monitor: Monitor,
    on_batch: Callable[[FlatBatch], None],
    on_checked: Callable[[FlatBatch], None],
) -> None:
    """One pass. A checker that leaves `busy` has its answer."""
    flattening = Flattening(source.symbols)

    def feed(batch: FlatBatch) -> tuple[FlatBatch, bool]:
        """The batch, and whether another is of use to anybody."""
        for checker in list(busy):
            start = time.perf_counter()
            if checker.feed(batch):
                busy.remove(checker)
            answers.seconds[checker.name] += time.perf_counter() - start
        on_checked(batch)
        return batch, bool(busy)

    def flatten_and_feed(noted: Noted) -> tuple[FlatBatch, bool]:
        return feed(flattening.flat(noted))

    with monitor.over(source) as tell, Worker(flatten_and_feed, "atomsan-check", AHEAD) as worker:

        def goes_on(batch: FlatBatch, is_of_use: bool) -> bool:
            answers.events = max(answers.events, batch.first + len(batch))
            on_batch(batch)
            tell(batch)
            return is_of_use

        for batch in source.batches():
            if worker.is_full and (not goes_on(*worker.result()) or monitor.is_over()):
                return
            worker.start(flattening.note(batch), len(batch))
        while worker.calls:
            if not goes_on(*worker.result()):
                return
        if ends := flattening.ends():
            goes_on(*feed(ends))
