"""Speed of checking atomic sets (units of work, patterns, projection), compared with AeroDrome on the same load.

    python bench/run.py --only sets --only run-sets

Threads work in rounds: each does one unit of work on one object, and all are interleaved at random, access by access.
In a share of the rounds, two threads have the same object. AeroDrome would stop at the first violation, so it runs on
the same load without sharing, as a trace: each unit is a region.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from harness import MILLION, Row, best, command

from atomsan.checkers.atomic_sets import Method, SetChecking
from atomsan.checkers.engines._aerodrome import AeroDrome
from atomsan.checkers.engines._patterns import Patterns
from atomsan.checkers.set_model import Prefixes, SetModel
from atomsan.checkers.units import RowKind, Rows
from atomsan.flow.trace_input import CHECKED_AT_ONCE
from atomsan.trace.events import BATCH_EVENTS, Batch, Op
from atomsan.trace.symbols import Symbols

PROGRAMS = Path(__file__).parent / "programs"

Integers = npt.NDArray[np.int64]
Events = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint8], npt.NDArray[np.uint32]]  # thread, operation, target


@dataclass(frozen=True)
class Load:
    objects: int = 10_000
    fields: int = 8
    threads: int = 8
    accesses: int = 20
    """Accesses of a unit."""
    writes: float = 0.3
    shared: float = 0.0
    """Share of the accesses to an object that another thread's unit works on at the same time."""

    def rows(self, events: int) -> list[Rows]:
        return [_rows(self, part) for part in self._parts(events)]

    def trace(self, events: int) -> list[Events]:
        """The same as a trace: a begin for each unit before its round, an end after it."""
        return [_trace(self, part) for part in self._parts(events)]

    def _parts(self, events: int) -> Iterator[_Rounds]:
        rng = np.random.default_rng(0)
        left = events // (self.threads * self.accesses)
        first = 0
        while left:
            count = min(left, BATCH_EVENTS // (self.threads * self.accesses))
            yield _Rounds(self, rng, first, count)
            left -= count
            first += count


class _Rounds:
    """Accesses of some rounds, a row of each matrix for each round."""

    def __init__(self, load: Load, rng: np.random.Generator, first: int, count: int) -> None:
        self.first, self.count = first, count
        width = load.threads * load.accesses
        step = load.objects // load.threads  # so that two threads have the same object only where intended
        objects = rng.integers(0, load.objects, (count, 1)) + step * np.arange(load.threads)
        together = rng.random((count, load.threads // 2)) < load.shared
        objects[:, 1::2] = np.where(together, objects[:, 0::2], objects[:, 1::2])
        self.thread: Integers = np.argsort(rng.random((count, width)), axis=1) % load.threads
        self.object: Integers = np.take_along_axis(objects % load.objects, self.thread, axis=1)
        self.location: Integers = self.object * load.fields + rng.integers(0, load.fields, (count, width))
        self.write = rng.random((count, width)) < load.writes
        firsts = np.stack([np.argmax(self.thread == thread, axis=1) for thread in range(load.threads)], axis=1)
        rank = np.argsort(np.argsort(firsts, axis=1), axis=1)  # units are numbered by their first accesses
        base = load.threads * (first + np.arange(count))[:, None]
        self.units: Integers = base + rank
        self.unit: Integers = np.take_along_axis(self.units, self.thread, axis=1)


def _rows(load: Load, part: _Rounds) -> Rows:
    def column(accesses: npt.NDArray[np.generic], ends: npt.NDArray[np.generic]) -> npt.NDArray[np.uint32]:
        return np.concatenate([accesses, ends], axis=1, dtype=np.uint32, casting="unsafe").ravel()

    nothing = np.zeros_like(part.units)
    zeros = np.zeros(part.count * (part.thread.shape[1] + load.threads), np.uint32)
    return Rows(
        kind=column(part.write, nothing + RowKind.END).astype(np.uint8),
        thread=column(part.thread, nothing),
        lane=column(part.thread, nothing),
        unit=column(part.unit, part.units),
        set=column(part.object, nothing),
        location=column(part.location, nothing),
        region=zeros,
        site=zeros,
        transaction=zeros,
        event=np.arange(len(zeros), dtype=np.uint64) + np.uint64(len(zeros) * part.first),
    )


def _trace(load: Load, part: _Rounds) -> Events:
    threads = np.broadcast_to(np.arange(load.threads), part.units.shape)
    region = np.zeros_like(part.units)
    thread = np.concatenate([threads, part.thread, threads], axis=1)
    op = np.concatenate([region + Op.BEGIN, np.where(part.write, Op.WRITE, Op.READ), region + Op.END], axis=1)
    target = np.concatenate([region, part.location, region], axis=1)
    return thread.ravel().astype(np.uint32), op.ravel().astype(np.uint8), target.ravel().astype(np.uint32)


def patterns(repeat: int, events: int) -> Iterator[Row]:
    """On `events` accesses, and in addition the ends of units, and their begins in the trace."""
    private = Load()
    trace = private.trace(events)
    for shared, limit in ((0.0, None), (0.1, 8.0), (0.5, None)):
        rows = Load(shared=shared).rows(events)
        engine, matches = _match(rows)
        aerodrome, time = best(repeat, _aerodrome(private, trace), lambda rows=rows: _match(rows))
        counters = engine.counters
        yield Row(
            f"patterns, {shared:.0%} of accesses where two units meet / aerodrome without any",
            time / aerodrome,
            "x",
            limit,
            detail=f"{time:.3f} s, {events / time / MILLION:.1f} Mev/s, aerodrome {aerodrome:.3f} s, "
            f"{matches} matches, {counters['tuples']} tuples",
        )
        yield from _whole(repeat, events, Load(shared=shared), _aerodrome(private, trace), limit)
    yield Row(
        f"patterns, most tuples alive, {private.threads} units on {private.fields} locations each",
        counters["most_tuples"],
        "tuples",
        private.threads * private.fields * (2 * private.fields + 1),  # all of every pair, with the summaries
    )


def _whole(repeat: int, events: int, load: Load, aerodrome: Callable[[], object], limit: float | None) -> Iterator[Row]:
    """The same on the events of a trace, as `atomsan sets` does it: the units are found first."""
    symbols = Symbols()
    for number in range(load.objects * load.fields):
        symbols.locations.intern(f"object{number // load.fields}.field{number % load.fields}")
    symbols.regions.intern("unit")
    columns = load.trace(events)
    batches = [Batch(0, thread, op, target, np.zeros_like(target)) for thread, op, target in columns]
    model = SetModel(symbols, Prefixes())
    model.grow()

    def run(method: Method) -> Callable[[], object]:
        def checked() -> None:
            checking = SetChecking(model, method)
            for batch in batches:
                for start in range(0, len(batch), CHECKED_AT_ONCE):
                    checking.feed(batch[start : start + CHECKED_AT_ONCE])
            checking.finish()

        return checked

    alone, by_patterns, by_both = best(repeat, aerodrome, run("patterns"), run("both"))
    for name, time, most in (("patterns", by_patterns, limit), ("patterns and projection", by_both, None)):
        yield Row(
            f"sets by {name}, from the events on, {load.shared:.0%} meet / aerodrome",
            time / alone,
            "x",
            most,
            detail=f"{time:.3f} s, {events / time / MILLION:.1f} Mev/s",
        )


# Runs the tool as usual, or without checking the atomic sets.
_WITHOUT = """
import sys
from atomsan.flow import check
if sys.argv.pop(1) == "without":
    check.PLAN = [one for one in check.PLAN if one.gives != "sets"]
from atomsan.cli.main import main
sys.exit(main())
"""


def in_a_run(repeat: int) -> Iterator[Row]:
    """Time that checking atomic sets adds to `atomsan run`."""
    for name in ("attributes", "pipeline", "service"):
        program = PROGRAMS / f"{name}.py"
        without, with_sets = best(
            repeat,
            *(
                command(sys.executable, "-c", _WITHOUT, which, "run", "--quiet", "--findings-exit-code", "0", program)
                for which in ("without", "with")
            ),
        )
        yield Row(
            f"atomsan run {name}.py with sets / without",
            with_sets / without,
            "x",
            1.1,
            detail=f"{with_sets:.3f} s, without {without:.3f} s",
        )


def _match(rows: list[Rows]) -> tuple[Patterns, int]:
    engine = Patterns()
    matches = 0
    for batch in rows:
        engine.feed(batch)
        matches += len(engine.take()["pattern"])
    engine.finish()
    return engine, matches


def _aerodrome(load: Load, trace: list[Events]) -> Callable[[], object]:
    def run() -> None:
        engine = AeroDrome()
        engine.grow(load.threads, load.objects * load.fields, 0, 0)
        for thread, op, target in trace:
            assert engine.feed(thread, op, target) < 0

    return run
