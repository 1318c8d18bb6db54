"""Jobs of thread pools as threads of their own: a view of a trace, in which prediction looks for other interleavings.

Which thread of a pool does a job is chance: in a plain run one of them often does all. What a job does comes after it
was handed over, and after what its thread did before its first job (its initializer), but not after the jobs that the
same thread did before. So from the second job of a thread on, each is a thread here, with the thread's name and the
number of the job. A pool that may have one thread only is a queue: its jobs stay in order.

The events keep their numbers: nothing is inserted. `worker_of` tells which thread did a job, for who needs its order
(`predictors/order.py`).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from atomsan.trace.events import Batch, Op
from atomsan.trace.symbols import SymbolTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from atomsan.errors import Place
    from atomsan.trace.symbols import Symbols
    from atomsan.types import EventSource

# What is known of all threads at each time is kept: so many threads, for so many jobs. Of more jobs, those that one
# thread did take turns in the threads that there are, two of them at least.
MOST_KNOWN = 1 << 20
LEAST_OF_A_WORKER = 2


class JobSource:
    """A source in which jobs of pools are threads. Make it with `with_jobs`."""

    def __init__(self, source: EventSource, starts: NDArray[np.bool_]) -> None:
        self._source = source
        self._starts = starts
        """By hand-over: whether a job begins with its take that another thread could have done."""
        self._most = MOST_KNOWN // max(1, int(starts.sum()))
        self.meta = source.meta
        self.symbols = copy.copy(source.symbols)
        self.symbols.threads = SymbolTable("threads")
        for name in source.symbols.threads:
            self.symbols.threads.names.add(name)
        self.workers = len(source.symbols.threads)
        """How many threads the trace has."""
        self.is_shared = False
        """Whether jobs that may run in parallel are one thread here, because there are so many."""
        self.worker_of: dict[int, int] = {}
        """By thread that is a job: the thread that did it."""
        self._threads: dict[int, list[int]] = {}
        """By thread that took jobs: itself, for the first one, and those of the others."""
        self._jobs: dict[int, int] = {}
        """How many it took."""
        self._now: dict[int, int] = {}
        """The one whose job it does."""
        self._open = np.zeros(self.workers, np.int64)
        """By thread: how many regions it is in, and how many locks it has."""

    def batches(self) -> Iterator[Batch]:
        """Once: a view is of one reading of the trace."""
        for batch in self._source.batches():
            yield self._divided(batch)

    def place(self, event: int) -> Place:
        return self._source.place(event)

    def is_start(self, handover: int) -> bool:
        return handover < len(self._starts) and bool(self._starts[handover])

    def worker(self, thread: int) -> int:
        """The thread of the trace that a thread is."""
        return self.worker_of.get(thread, thread)

    def _divided(self, batch: Batch) -> Batch:
        changes = _CHANGES[batch.op]
        starts = np.zeros(len(batch), np.bool_)
        takes = np.flatnonzero(batch.op == Op.TAKE)
        starts[takes] = self._starts[batch.target[takes]]
        taking = np.unique(batch.thread[starts]).tolist()
        threads = batch.thread
        if taking or self._now:
            order = np.argsort(threads, kind="stable")
            threads = threads.copy()
            for worker in sorted({*taking, *self._now}):
                first, end = np.searchsorted(batch.thread, [worker, worker + 1], sorter=order)
                rows = order[first:end]
                depth = self._open[worker] + np.cumsum(changes[rows])
                # inside of something it is no thread of a pool that waits for work
                threads[rows] = self._owners(worker, starts[rows] & (depth == 0))
            threads.flags.writeable = False
        np.add.at(self._open, batch.thread, changes)
        return Batch(batch.first, threads, batch.op, batch.target, batch.site)

    def _owners(self, worker: int, begins: NDArray[np.bool_]) -> NDArray[np.uint32]:
        """Whose the events of a worker are; jobs begin at some of them."""
        owners = [self._now.get(worker, worker)]
        for _ in range(int(begins.sum())):
            owners.append(self._next(worker))
        if owners[-1] != worker:
            self._now[worker] = owners[-1]
        return np.array(owners, np.uint32)[np.cumsum(begins)]

    def _next(self, worker: int) -> int:
        """The thread of the next job of a worker."""
        threads = self._threads.setdefault(worker, [])
        number = self._jobs.get(worker, 0)
        self._jobs[worker] = number + 1
        if not threads:
            threads.append(worker)
        elif len(threads) < LEAST_OF_A_WORKER or len(self.worker_of) < self._most:
            threads.append(self._new(worker, number + 1))
        else:
            self.is_shared = True
            return threads[number % len(threads)]
        return threads[-1]

    def _new(self, worker: int, job: int) -> int:
        names = self.symbols.threads.names
        name = f"{names[worker]} (job {job})"
        while names.find(name) is not None:
            name += "'"
        thread: int = names.add(name)
        self.worker_of[thread] = worker
        return thread


_CHANGES = np.zeros(256, np.int64)
_CHANGES[[Op.BEGIN, Op.ACQUIRE]] = 1
_CHANGES[[Op.END, Op.RELEASE]] = -1


def with_jobs(source: EventSource) -> JobSource | None:
    """A view of a source, if jobs of pools are known there."""
    starts = _starts(source.symbols)
    return JobSource(source, starts) if starts.any() else None


def _starts(symbols: Symbols) -> NDArray[np.bool_]:
    workers = symbols.handovers.columns.get("workers", [])
    starts = np.zeros(len(symbols.handovers), np.bool_)
    starts[: len(workers)] = [(count or 0) > 1 for count in workers]
    return starts
