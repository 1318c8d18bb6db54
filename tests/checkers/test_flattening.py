"""Flattening against the definition in the oracles, and the loop that feeds checkers."""

import random
from collections import Counter

import pytest

import atomsan
from atomsan import TraceBuilder
from atomsan.checkers.empty import EmptyChecker
from atomsan.checkers.flattening import INNER, NOTHING, flattened
from atomsan.checkers.loop import run_checkers
from atomsan.trace.events import Op
from atomsan.trace.trace import Trace
from oracles.loading import steps
from oracles.model import Event, normalise
from strategies import random_steps


def flat_events(trace: Trace) -> list[tuple[int, str]]:
    """(number, flattened event) of each event that the algorithms see."""
    seen = []
    for batch in flattened(trace):
        for i, (thread, op, target) in enumerate(
            zip(batch.thread.tolist(), batch.op.tolist(), batch.target.tolist(), strict=True)
        ):
            if op not in (NOTHING, INNER):
                event = trace.symbols.event(thread, op, target, 0)
                seen.append((batch.first + i, f"{event.thread}:{event.op.short}({event.target})"))
    return seen


@pytest.mark.parametrize(
    ("line", "flat"),
    [
        ("T:begin(a) T:begin(b) T:end T:end", "0 T:begin(a), 3 T:end(a)"),
        ("T:acq(l) T:acq(l) T:rel(l) T:rel(l)", "0 T:acq(l), 3 T:rel(l)"),
        ("T:begin(a) T:begin(b) T:r(x) U:begin(c)", "0 T:begin(a), 2 T:r(x), 3 U:begin(c), 4 T:end(a), 5 U:end(c)"),
        ("", ""),
    ],
)
def test_flattened_events_of_small_traces(line: str, flat: str) -> None:
    assert ", ".join(f"{i} {text}" for i, text in flat_events(atomsan.parse(line))) == flat


def test_asyncio_loop_locks_are_dropped() -> None:
    builder = TraceBuilder()
    builder.symbols.locks.intern("loop", kind="loop")
    builder.add("T", "acq", "loop").add("T", "acq", "l").add("T", "rel", "l").add("T", "rel", "loop")
    assert [text for _, text in flat_events(builder.build())] == ["T:acq(l)", "T:rel(l)"]


def outermost(events: list[Event]) -> list[Event]:
    """Without the begins and ends of regions inside others."""
    depth: Counter[str] = Counter()
    kept = []
    for event in events:
        depth[event.thread] -= event.op == "end"
        if event.op not in ("begin", "end") or depth[event.thread] == 0:
            kept.append(event)
        depth[event.thread] += event.op == "begin"
    return kept


def test_flattened_random_traces_agree_with_the_oracle() -> None:
    rng = random.Random(5)
    for _ in range(500):
        builder = TraceBuilder()
        for step in random_steps(rng):
            builder.add(step.thread, step.op, step.target)
        trace = builder.build()
        expected = [
            (event.origin, f"{event.thread}:{Op[event.op.upper()].short}({event.target})")
            for event in outermost(normalise(steps(trace)))
        ]
        found = [(i if i < len(trace) else None, text) for i, text in flat_events(trace)]
        assert [one for one in found if one[0] is not None] == [one for one in expected if one[0] is not None]
        # the missing ends may come in any order
        assert sorted(found, key=str) == sorted(expected, key=str)


def test_run_checkers_feeds_every_event_and_the_missing_ends() -> None:
    run = run_checkers(atomsan.parse("T:begin T:r(x)"), [EmptyChecker()])
    assert run.results[0].counters == {"events": 3}
    assert run.results[0].verdict == "unknown"
