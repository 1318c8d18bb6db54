"""Evidence that is collected while a trace comes: the parts that a live check has and a stored one has not."""

from __future__ import annotations

import random

import numpy as np

from atomsan import TraceBuilder
from atomsan.checkers.davida import DavidaChecker
from atomsan.checkers.flattening import flattened
from atomsan.checkers.results import Witness
from atomsan.checkers.turns import TurnFinder
from atomsan.findings.surroundings import Pair, Surroundings
from atomsan.flow.live_evidence import LiveEvidence
from atomsan.flow.window import Window
from atomsan.trace._write_sites import WriteSites
from atomsan.trace.events import Op
from atomsan.trace.trace import Trace
from read_once import ReadOnce
from strategies import random_steps


def random_trace(rng: random.Random, events: int) -> Trace:
    builder = TraceBuilder()
    for step in random_steps(rng, events=events):
        builder.add(step.thread, step.op, step.target, site=str(rng.randrange(5)))
    return builder.build()


def fed(trace: Trace, size: int, most: int = 1 << 20) -> tuple[LiveEvidence, DavidaChecker]:
    checker = DavidaChecker()
    evidence = LiveEvidence(trace.symbols, checker, most=most)
    for batch in flattened(ReadOnce(trace, size)):
        checker.feed(batch)
        evidence.feed(batch)
    evidence.finish()
    return evidence, checker


def turns_of(trace: Trace, checker: DavidaChecker) -> list[Witness]:
    finder = TurnFinder(checker.transactions_from(0), trace.symbols.locations)
    for batch in trace.batches():
        finder.feed(batch)
    finder.finish()
    return finder.witnesses()


def test_turns_are_those_of_a_stored_trace_whatever_the_batches() -> None:
    rng = random.Random(1)
    count = 0
    for _ in range(300):
        trace = random_trace(rng, 60)
        evidence, checker = fed(trace, rng.choice([1, 3, 1000]))
        expected = turns_of(trace, checker)
        assert evidence.turns() == expected
        count += len(expected)
    assert count > 300


def test_surroundings_of_steps_are_those_of_a_stored_trace() -> None:
    rng = random.Random(2)
    for _ in range(200):
        trace = random_trace(rng, 60)
        evidence, _ = fed(trace, rng.choice([1, 5, 1000]))
        events = {step.event for witness in evidence.turns() for step in witness.steps}
        expected = Surroundings(events)
        for batch in trace.batches():
            expected.feed(batch, trace.symbols)
        found = evidence.around()
        assert {event: found.holds[event] for event in events} == expected.holds
        assert all(found.opened(event) == expected.opened(event) for event in events)


def test_window_is_bounded_and_knows_what_is_around_the_events_in_it() -> None:
    rng = random.Random(3)
    for _ in range(50):
        trace = random_trace(rng, 200)
        whole = Surroundings(range(len(trace)))
        window = Window(trace.symbols, most=40)
        for batch in ReadOnce(trace, 3).batches():
            whole.feed(batch, trace.symbols)
            window.add(batch)
            kept = sum(map(len, window.batches()))
            assert kept <= 40
            assert window.first + kept == batch.first + len(batch)
            event = rng.randrange(window.first, batch.first + len(batch))
            found = window.surroundings({event}, {Pair(event, event, 0)}, 10)
            assert found.holds[event] == whole.holds[event]
            assert found.opened(event) == whole.opened(event)


def test_example_that_is_known_is_not_replaced_by_one_that_is_forgotten() -> None:
    """The second example has fewer events of its thread, but more of others."""
    builder = TraceBuilder()
    for own, others in ((3, 0), (0, 30)):
        builder.add("T", "begin", "f")
        builder.add("T", "r", "x", site="1")
        for thread, count in (("T", own), ("U", others)):
            for _ in range(count):
                builder.add(thread, "r", "y", site="2")
        builder.add("U", "w", "x", site="3")
        builder.add("T", "w", "x", site="4")
        builder.add("T", "end", "f")
    trace = builder.build()
    stored = turns_of(trace, fed(trace, 2)[1])
    live = fed(trace, 2, most=16)[0].turns()
    assert [(witness.steps[0].event, witness.count) for witness in stored] == [(9, 2)]
    assert [(witness.steps[0].event, witness.count) for witness in live] == [(1, 2)]


def test_transactions_have_their_numbers_though_the_enumeration_began_later() -> None:
    """Two quiet transactions leave the window before the first violation."""
    builder = TraceBuilder()
    for _ in range(2):
        for op, target in (("begin", "f"), ("r", "y"), ("r", "y"), ("end", "f")):
            builder.add("T", op, target)
    for thread, op, target in (
        ("T", "begin", "f"),
        ("T", "r", "x"),
        ("U", "w", "x"),
        ("T", "w", "x"),
        ("T", "end", "f"),
    ):
        builder.add(thread, op, target)
    trace = builder.build()
    evidence, checker = fed(trace, 1, most=5)
    assert [witness.blamed for witness in evidence.turns()] == [checker.result().witnesses[0].blamed]
    cycles = evidence.cycles()
    assert [{step.transaction for step in witness.steps} for witness in cycles] == [{0, 3}]


def test_sites_of_writes_are_noted_by_location() -> None:
    rng = random.Random(5)
    for _ in range(50):
        trace = random_trace(rng, 300)
        noted = WriteSites()
        expected: dict[int, set[int]] = {}
        for batch in ReadOnce(trace, 7).batches():
            noted.advance(batch, len(trace.symbols.locations))
            writes = np.flatnonzero(batch.op == Op.WRITE)
            for target, site in zip(batch.target[writes].tolist(), batch.site[writes].tolist(), strict=True):
                expected.setdefault(target, set()).add(site)
        for location in range(len(trace.symbols.locations)):
            assert noted.of(location) == expected.get(location, set())
