"""Speed of checking projections on atomic sets, compared with AeroDrome's engine on a trace of the same accesses.

    python bench/run.py --only projection

Eight threads run units of 20 accesses each. A unit works on two sets of its own thread, and now and then on one that a
unit of another thread works on at the same time. AeroDrome stops at the first violation, so its trace has only reads
on the shared sets. Only the engines are measured, on columns in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt
from harness import MILLION, Row, best

from atomsan.checkers.engines._aerodrome import AeroDrome
from atomsan.checkers.engines._projection import Projection
from atomsan.checkers.units import RowKind, Rows
from atomsan.trace.events import Op

THREADS = 8
ACCESSES = 20  # of a unit
LOCATIONS = 8  # of a set
BATCH = 1 << 20

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Load:
    """`shared` of the `sets` are used by two threads or by all; `share` of the accesses go to these."""

    name: str
    sets: int
    shared: int
    share: float
    by_all: bool
    limit: float | None

    def rows(self, events: int) -> Rows:
        """Units of accesses, each followed by its end; the units of the threads are interleaved."""
        units = events // (THREADS * (ACCESSES + 1))
        rng = np.random.default_rng(5)
        shape = (THREADS, units, ACCESSES)
        thread, unit, _ = np.ogrid[:THREADS, :units, :1]
        own = (self.sets - self.shared) // THREADS
        chosen = self.shared + thread * own + (unit * 2 + rng.integers(0, 2, shape)) % own
        group = 0 if self.by_all else thread // 2
        mixed = rng.random(shape) < self.share
        set_ = np.where(mixed, (unit * THREADS + group) * 0x9E3779B1 % self.shared, chosen)
        write = rng.random(shape) < np.where(mixed, 0.2, 0.5)
        location = set_ * LOCATIONS + rng.integers(0, LOCATIONS, shape)
        order = _order(rng, units)
        columns = {
            "kind": _with_ends(write.astype(np.int64), RowKind.END),
            "thread": _with_ends(np.broadcast_to(thread, shape)),
            "lane": _with_ends(np.broadcast_to(thread, shape)),
            "unit": _with_ends(np.broadcast_to(unit * THREADS + thread, shape), None),
            "set": _with_ends(set_),
            "location": _with_ends(location),
            "region": _with_ends(np.broadcast_to(unit % 50, shape)),
            "site": _with_ends(location % LOCATIONS * 2 + write),
            "transaction": _with_ends(np.broadcast_to(unit, shape)),
            "event": np.arange(len(order)),
        }
        types = {"kind": np.uint8, "event": np.uint64}
        return Rows(
            **{
                name: (column if name == "event" else column[order]).astype(types.get(name, np.uint32))
                for name, column in columns.items()
            }
        )


def _with_ends(column: Numbers, end: int | None = 0) -> Numbers:
    """The column with the rows of unit ends, thread by thread. None: an end has the value of the row before it."""
    last = column[:, :, -1:] if end is None else np.full_like(column[:, :, -1:], end)
    return np.concatenate([column, last], axis=2).ravel()


def _order(rng: np.random.Generator, units: int) -> Numbers:
    """Row numbers in order: all threads at about the same speed, each a part of a unit ahead of the one before."""
    length = units * (ACCESSES + 1)
    pace = np.arange(length) + rng.random((THREADS, length)).cumsum(axis=1) % 3
    pace = np.maximum.accumulate(pace, axis=1) + np.arange(THREADS)[:, None] * (ACCESSES / THREADS)
    return np.argsort(pace.ravel(), kind="stable")


LOADS = [
    Load("10k sets, 10% of the accesses to sets of two threads", 10_000, 2_000, 0.1, False, 4.0),
    Load("10k sets, 10% of the accesses to sets of all threads", 10_000, 2_000, 0.1, True, None),
    Load("1000 sets, 90% of the accesses to sets of all threads", 1_000, 200, 0.9, True, None),
]


def projections(repeat: int, events: int) -> Iterator[Row]:
    for load in LOADS:
        rows = load.rows(events)
        engines: list[Projection] = []
        aerodrome, time = best(
            repeat,
            _aerodrome(_events(rows, load.shared), load.sets * LOCATIONS),
            _projection(rows, engines),
        )
        counters = engines[0].counters
        yield Row(
            f"projection, {load.name} / aerodrome without a violation",
            time / aerodrome,
            "x",
            load.limit,
            detail=(
                f"{time:.3f} s, {events / time / MILLION:.1f} Mev/s, aerodrome {aerodrome:.3f} s, "
                f"{counters['cycles']} cycles, {counters['most_nodes']} nodes at most"
            ),
        )


def _parts(length: int) -> Iterator[slice]:
    return (slice(at, at + BATCH) for at in range(0, length, BATCH))


def _projection(rows: Rows, engines: list[Projection]) -> Callable[[], object]:
    batches = [
        Rows(**{field.name: getattr(rows, field.name)[part] for field in fields(Rows)}) for part in _parts(len(rows))
    ]

    def run() -> None:
        engine = Projection()
        for batch in batches:
            engine.feed(batch)
            engine.take()
        engine.finish()
        engines[:] = [engine]

    return run


Trace = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint8], npt.NDArray[np.uint32]]


def _events(rows: Rows, shared: int) -> Trace:
    """The rows as events, with a begin in place of each unit's first access; see the head of the file."""
    op = np.where(rows.set < shared, Op.READ, rows.kind)
    op = np.where(rows.kind == RowKind.END, Op.END, op)
    first = np.zeros(len(rows), bool)
    first[np.unique(rows.unit, return_index=True)[1]] = True
    op = np.where(first & (op != Op.END), Op.BEGIN, op)
    target = np.where(op >= Op.BEGIN, rows.region, rows.location)
    thread = np.where(op == Op.END, rows.unit % THREADS, rows.thread)
    return thread.astype(np.uint32), op.astype(np.uint8), target.astype(np.uint32)


def _aerodrome(trace: Trace, locations: int) -> Callable[[], object]:
    thread, op, target = trace

    def run() -> None:
        engine = AeroDrome()
        engine.grow(THREADS, locations, 0, 0)
        for part in _parts(len(op)):
            assert engine.feed(thread[part], op[part], target[part]) == -1

    return run
