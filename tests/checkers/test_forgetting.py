"""Locations that die are forgotten: the answers stay the same, and memory follows those that are alive."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from atomsan import TraceBuilder
from atomsan.checkers.atomic_sets import SetChecking
from atomsan.checkers.davida import DavidaChecker
from atomsan.checkers.flattening import FlatBatch, flattened
from atomsan.checkers.loop import run_checkers
from atomsan.checkers.meetings import MeetingFinder
from atomsan.checkers.registry import CHECKERS
from atomsan.checkers.set_model import Everything, Limit, SetModel
from atomsan.checkers.turns import TurnFinder
from atomsan.flow.live_evidence import LiveEvidence
from atomsan.trace.events import Batch, Op
from atomsan.trace.trace import Trace
from strategies import random_steps

TRACES = 8
TESTS = Path(__file__).parents[1]


class Dying:
    """A trace in batches that say which locations have no later access, or say nothing."""

    def __init__(self, trace: Trace, size: int, *, tells: bool = True) -> None:
        self.symbols, self.meta, self.place = trace.symbols, trace.meta, trace.place
        self._batches = list(self._dying(trace, size, tells=tells))

    @staticmethod
    def _dying(trace: Trace, size: int, *, tells: bool) -> Iterator[Batch]:
        (whole,) = trace.batches()
        accesses = np.flatnonzero(whole.op <= Op.WRITE)
        last = np.zeros(len(trace.symbols.locations), np.int64)
        np.maximum.at(last, whole.target[accesses], accesses)
        for start in range(0, len(whole), size):
            batch = whole[start : start + size]
            dead = np.flatnonzero((last >= start) & (last < start + size)).astype(np.uint32)
            yield replace(batch, dead=dead if tells and len(dead) else None)

    def batches(self) -> Iterator[Batch]:
        return iter(self._batches)


def dying_locations(rng: random.Random, events: int) -> Trace:
    """Its locations are used for a while and then others are."""
    builder = TraceBuilder()
    for number, step in enumerate(random_steps(rng, variables=6, closed=True, events=events)):
        target = f"{step.target}.{number // 15}" if step.op in ("read", "write") else step.target
        builder.add(step.thread, step.op, target, site=str(rng.randrange(5)))
    return builder.build()


def traces(events: int) -> Iterator[tuple[Trace, int]]:
    rng = random.Random(1)
    for _ in range(TRACES):
        yield dying_locations(rng, events), rng.choice([30, 100, 300])


def of_all_checkers(source: Dying) -> list[Any]:
    meetings = MeetingFinder()
    answers = run_checkers(source, [*(entry.make() for entry in CHECKERS.values()), meetings], reopen=lambda: source)
    found = [
        (one.verdict, one.serializable, one.violations, list(one.transactions), one.witnesses, one.counters)
        for one in answers.results
    ]
    return [found, *(column.tolist() for column in meetings.found())]


def of_the_second_pass(source: Dying) -> list[Any]:
    turns, sets = TurnFinder(None, source.symbols.locations), SetChecking(SetModel(source.symbols, Everything()))
    for batch in source.batches():
        turns.feed(batch)
        sets.feed(batch)
    turns.finish()
    sets.finish()
    return [turns.witnesses(), turns.counters, sets.cycles(), sets.examples]


def of_the_evidence(source: Dying, most: int) -> list[Any]:
    checker = DavidaChecker()
    evidence = LiveEvidence(source.symbols, checker, most=most)
    for batch in flattened(source):
        checker.feed(batch)
        evidence.feed(batch)
    evidence.finish()
    around = evidence.around()
    return [evidence.turns(), evidence.cycles(), around.holds, around.writers]


def test_checkers_answer_the_same() -> None:
    violations = 0
    for trace, size in traces(4000):
        expected = of_all_checkers(Dying(trace, size, tells=False))
        assert of_all_checkers(Dying(trace, size)) == expected
        violations += sum(answer[2] or 0 for answer in expected[0])
    assert violations > TRACES


def test_second_pass_lists_the_same() -> None:
    cycles = 0
    for trace, size in traces(250):
        expected = of_the_second_pass(Dying(trace, size, tells=False))
        assert of_the_second_pass(Dying(trace, size)) == expected
        cycles += len(expected[2])
    assert cycles > TRACES


@pytest.mark.parametrize("most", [1 << 20, 1 << 7])
def test_evidence_of_a_live_check_is_the_same(most: int) -> None:
    """What has left the window and is dead is asked for only if a witness came of it before."""
    turns = 0
    for trace, size in traces(200):
        expected = of_the_evidence(Dying(trace, size, tells=False), most)
        assert of_the_evidence(Dying(trace, size), most) == expected
        turns += len(expected[0])
    assert turns > TRACES


def batch_of(round_: int, each: int) -> FlatBatch:
    """New locations, each written by one thread and read by another, and then dead."""
    new = np.arange(round_ * each, (round_ + 1) * each, dtype=np.uint32)
    count = 2 * each
    thread, op = np.repeat([0, 1], each).astype(np.uint32), np.repeat([1, 0], each).astype(np.uint8)
    site = np.zeros(count, np.uint32)
    counts = (2, (round_ + 1) * each, 0, 0, 0)
    return FlatBatch(round_ * count, thread, op, np.tile(new, 2), site, *counts, op, new)


MEASURED = """
import resource
from checkers.test_forgetting import batch_of, fed
ROUNDS, EACH = 20, 50_000
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
consumers = fed()
for consumer in consumers:
    consumer(batch_of(0, EACH))
before = peak()
for round_ in range(1, ROUNDS):
    batch = batch_of(round_, EACH)
    for consumer in consumers:
        consumer(batch)
print((peak() - before) * 1024 // (ROUNDS * EACH))
"""


def fed() -> list[Any]:
    """All that has something for each location."""
    checkers = [entry.make() for name, entry in CHECKERS.items() if name not in ("empty", "doublechecker")]
    symbols = TraceBuilder().build().symbols
    turns, sets = TurnFinder(None, symbols.locations), SetChecking(SetModel(symbols, Everything()), "projection")

    def feed_sets(flat: FlatBatch) -> None:
        sets.model.limit = Limit(flat.locations, flat.regions)
        sets.feed(flat.unflattened())

    return [
        *(checker.feed for checker in checkers),
        MeetingFinder().feed,
        lambda flat: turns.feed(flat.unflattened()),
        feed_sets,
    ]


def test_memory_follows_the_living() -> None:
    """A million locations take about a byte each, and not the several hundred of their rows."""
    run = subprocess.run([sys.executable, "-c", MEASURED], cwd=TESTS, capture_output=True, text=True, check=True)
    assert int(run.stdout) <= 16
