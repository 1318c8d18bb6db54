"""Locks held at the steps of a finding, and the hints derived from them."""

from __future__ import annotations

import io
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path

import pytest

import atomsan
from atomsan import Finding, Report, Specification, Trace, TraceBuilder
from atomsan.findings.finding import Hold
from atomsan.findings.surroundings import MOST_READS, Pair, Surroundings, with_locks
from atomsan.flow.trace_input import OpenedTrace
from atomsan.trace.events import Op
from strategies import random_steps

CHECKED = "T:acq(a) T:begin(f) T:r(x) U:w(x) T:w(x) T:end(f) T:rel(a)"


def only(line: str) -> Finding:
    (found,) = atomsan.check(atomsan.parse(line)).findings
    return found


def locks(found: Finding) -> list[tuple[str, ...] | None]:
    return [step.locks for step in found.witness]


# ---- held locks


@pytest.mark.parametrize(
    ("line", "held"),
    [
        (CHECKED, [("a",), (), ("a",)]),
        ("T:begin(f) T:acq(a) T:acq(b) T:r(x) T:rel(a) U:w(x) T:w(x) T:end(f)", [("a", "b"), (), ("b",)]),
        ("T:begin(f) T:acq(b) T:acq(a) T:r(x) U:w(x) T:rel(b) T:w(x) T:end(f)", [("b", "a"), (), ("a",)]),
        ("T:begin(f) T:acq(a) T:acq(a) T:rel(a) T:r(x) U:w(x) T:rel(a) T:w(x) T:end(f)", [("a",), (), ()]),
        ("T:begin(f) T:acq(a) T:rel(a) U:acq(a) U:rel(a) T:acq(a) T:end(f)", [("a",)] * 4),
        (
            "T:begin(f) T:acq(a) T:r(x) T:rel(a) U:acq(a) U:acq(b) U:w(x) U:rel(a) T:w(x) T:end(f)",
            [("a",), ("a",), ("a", "b"), ()],
        ),
    ],
    ids=[
        "over both accesses",
        "two locks",
        "order of acquisition",
        "re-entrant",
        "steps on locks",
        "locks of both threads",
    ],
)
def test_locks_held_at_the_steps(line: str, held: list[tuple[str, ...]]) -> None:
    found = only(line)
    assert locks(found) == held
    assert [step["locks"] for step in found.to_dict()["witness"]] == [list(names) for names in held]


def test_asyncio_loop_is_not_listed_as_a_lock() -> None:
    builder = TraceBuilder()
    builder.symbols.locks.intern("loop", kind="loop")
    builder.symbols.locks.intern("a")
    builder.add("T", "acquire", "loop").add("T", "acquire", "a").add("T", "begin", "f").add("T", "r", "x")
    builder.add("U", "w", "x").add("T", "w", "x")
    (found,) = atomsan.check(builder.build()).findings
    assert locks(found) == [("a",), (), ("a",)]


def test_trace_without_locks_needs_no_second_pass() -> None:
    line = CHECKED.replace("T:acq(a) ", "").replace(" T:rel(a)", "")
    for given in (atomsan.parse(line), io.BytesIO(line.encode())):
        (found,) = atomsan.check(given).findings
        assert locks(found) == [()] * 3


def test_locks_are_unknown_for_a_stream_read_once(tmp_path: Path) -> None:
    path = tmp_path / "t.std"
    atomsan.parse(CHECKED).save(path)
    assert locks(atomsan.check(path).findings[0]) == [("a",), (), ("a",)]
    (found,) = atomsan.check(io.BytesIO(path.read_bytes())).findings
    assert locks(found) == [None] * 3
    assert [step["locks"] for step in found.to_dict()["witness"]] == [None] * 3
    assert (
        found.hint == "make what T does from its read of x (event 2) to its write of x (event 4) one critical section"
    )


def test_repaired_trace_keeps_event_numbers_and_shows_repaired_locks(tmp_path: Path) -> None:
    """Events are numbered as in the input; locks are those of the repaired trace."""
    path = tmp_path / "t.std"
    path.write_text(
        "U|acq(a)|1\nT|rel(a)|2\nT|acq(a)|3\nT|begin(f)|4\nT|r(x)|5\nU|rel(a)|6\nT|acq(a)|7\nU|w(x)|8\nT|w(x)|9\n"
    )
    report = atomsan.check(path, lenient=True)
    assert len(report.repairs) == 2
    (found,) = report.findings
    assert [(step.event, step.locks) for step in found.witness] == [(4, ()), (7, ()), (8, ("a",))]


def test_specification_does_not_change_events_and_locks() -> None:
    line = "T:begin(out) T:begin(out) T:acq(a) T:begin(f) T:r(x) U:w(x) T:w(x) T:end(f) T:rel(a) T:end(out) T:end(out)"
    (found,) = atomsan.check(atomsan.parse(line), spec=Specification(not_atomic=("out",))).findings
    assert [(step.event, step.locks) for step in found.witness] == [(4, ("a",)), (5, ()), (6, ("a",))]


def held_by_counting(trace: Trace) -> list[tuple[str, ...]]:
    """The locks held at each event, counted one by one."""
    depth: dict[str, dict[str, int]] = {}
    held = []
    for event in trace:
        own = depth.setdefault(event.thread, {})
        if event.op is Op.ACQUIRE:
            own[event.target] = own.get(event.target, 0) + 1
        held.append(tuple(own))
        if event.op is Op.RELEASE:
            own[event.target] -= 1
            if not own[event.target]:
                del own[event.target]
    return held


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_held_locks_agree_with_counting_in_any_batch_size(size: int) -> None:
    rng = random.Random(size)
    for _ in range(300):
        builder = TraceBuilder()
        for step in random_steps(rng, locks=5, events=60):
            builder.add(*step)
        trace = builder.build()
        wanted = sorted(rng.sample(range(len(trace)), rng.randint(0, len(trace))))
        held = Surroundings(wanted)
        for batch in trace.batches():
            for start in range(0, len(trace), size):
                done = held.feed(batch[start : start + size], trace.symbols)
                assert done == (not wanted or start + size > wanted[-1])
        expected = held_by_counting(trace)
        assert {event: tuple(hold.lock for hold in holds) for event, holds in held.holds.items()} == {
            event: expected[event] for event in wanted
        }


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_what_a_thread_does_between_two_accesses_is_found_in_any_batch_size(size: int) -> None:
    rng = random.Random(size)
    found = followed = 0
    for _ in range(300):
        builder = TraceBuilder()
        for step in random_steps(rng, locks=3, events=60):
            builder.add(*step)
        trace = builder.build()
        events = list(trace)
        pairs = random_pairs(rng, trace)
        around = Surroundings([pair.last for pair in pairs], pairs)
        for batch in trace.batches():
            for start in range(0, len(events), size):
                around.feed(batch[start : start + size], trace.symbols)
        for pair in pairs:
            thread, _, location = events[pair.first][:3]
            own = [i for i in range(pair.first, pair.last + 1) if events[i].thread == thread]
            again = [i for i in own if events[i][:3] == (thread, Op.READ, location) and i > pair.first]
            between = around.between[pair]
            assert [op for op, _, _ in between.rows()] == [events[i].op for i in own]
            assert [read.event for read in between.reads] == again[:MOST_READS]
            following = takewhile(
                lambda event: event[1].op != Op.RELEASE,
                ((i, event) for i, event in enumerate(events) if event.thread == thread and i > pair.last),
            )
            after = [i for i, event in following if event[:3] == (thread, Op.READ, location)]
            is_read = events[pair.last].op == Op.READ
            assert [read.event for read in between.reads_after] == (after[:MOST_READS] if is_read else [])
            followed += len(between.reads_after)
            held = held_by_counting(trace)
            for read in (*between.reads, *between.reads_after):
                assert tuple(hold.lock for hold in around.holds[read.event]) == held[read.event]
            found += len(again)
    assert found > 100
    assert followed > 100


def test_all_who_read_while_others_run_are_known() -> None:
    trace = atomsan.parse(
        "T1:r(x) T1:fork(T2) T1:fork(T3) " + "T1:r(x) T2:r(x) T3:w(x) " * 9 + "T1:join(T2) T1:join(T3) T1:r(x)"
    )
    around = Surroundings(locations=[0])
    for batch in trace.batches():
        around.feed(batch, trace.symbols)
    assert {trace.symbols.threads[thread] for thread, _ in around.readers[0]} == {"T1", "T2"}


def random_pairs(rng: random.Random, trace: Trace) -> list[Pair]:
    """Some pairs of accesses of one thread."""
    events = list(trace)
    accesses = [i for i, event in enumerate(events) if event.op in (Op.READ, Op.WRITE)]
    pairs = []
    for first in rng.sample(accesses, min(len(accesses), 5)):
        later = [i for i in accesses if i > first and events[i].thread == events[first].thread]
        location = trace.symbols.locations.find(events[first].target)
        assert location is not None
        if later:
            pairs.append(Pair(first, rng.choice(later), location))
    return pairs


def test_100000_locks_can_be_held_at_once() -> None:
    builder = TraceBuilder()
    for number in range(100_000):
        builder.add("T", "acquire", f"l{number}")
    for number in range(99_999):
        builder.add("T", "release", f"l{number}")
    builder.add("T", "begin", "f").add("T", "r", "x").add("U", "w", "x").add("T", "w", "x")
    (found,) = atomsan.check(builder.build()).findings
    assert locks(found) == [("l99999",), (), ("l99999",)]


# ---- stopped


def stopped_in_the_last_pass(path: Path, timeout: float | None, stop: type[BaseException] | None) -> Report:
    """A check that times out or is interrupted in its second pass, the one for locks."""
    passes = 0

    @contextmanager
    def watching(source: OpenedTrace) -> Iterator[object]:
        nonlocal passes
        passes += 1
        if passes == 2 and timeout:
            time.sleep(timeout)
        if passes == 2 and stop:
            raise stop
        yield lambda batch: None

    return atomsan.check(path, "davida", timeout=timeout, progress=watching)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("timeout", "stop", "why"),
    [(None, KeyboardInterrupt, "interrupted"), (0.5, KeyboardInterrupt, "out of time"), (0.5, None, "out of time")],
)
def test_findings_survive_a_stop_in_the_lock_pass(
    tmp_path: Path, timeout: float | None, stop: type[BaseException] | None, why: str
) -> None:
    path = tmp_path / "t.std"
    filler = " ".join(["V:r(z)"] * 70_000)  # more than a batch, so that there is something to stop
    atomsan.parse(f"T:acq(a) T:begin(f) T:r(x) {filler} U:w(x) T:w(x)").save(path)
    report = stopped_in_the_last_pass(path, timeout, stop)
    assert (report.verdict, report.stopped, len(report.findings)) == ("violated", why, 1)
    assert locks(report.findings[0])[2] is None
    assert report.findings[0].hint is not None
    assert report.findings[0].hint.endswith("one critical section")


# ---- hints


def hinted(line: str) -> str | None:
    """The first hint for a line of notation in which an operation may stand at a line of bank.py: `T:r(x)@12`."""
    builder = TraceBuilder()
    for word in line.split():
        step, _, at = word.partition("@")
        thread, _, what = step.partition(":")
        op, _, target = what.rstrip(")").partition("(")
        builder.add(thread, op, target, f"bank.py:{at}" if at else None)
    return atomsan.check(builder.build()).findings[0].hint


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (
            "T:begin(f) T:r(x)@12 U:w(x)@30 T:w(x)@14",
            "no lock is held at any of these steps: hold one lock over lines 12 to 14 of bank.py, and at bank.py:30",
        ),
        (
            "T:begin(f) T:r(x)@12 U:w(x)@14 T:w(x)@14",
            "no lock is held at any of these steps: hold one lock over lines 12 to 14 of bank.py",
        ),
        (
            "T:acq(a) T:begin(f) T:r(x)@12 U:w(x)@30 T:w(x)@14",
            "a is held over lines 12 to 14 of bank.py, and not at bank.py:30: hold it there too",
        ),
        (
            "T:acq(a) T:begin(f) T:r(x)@12 U:acq(b) U:w(x)@30 U:rel(b) T:w(x)@14",
            "a is held over lines 12 to 14 of bank.py, and not at bank.py:30 (under b): hold it there too",
        ),
        (
            "T:acq(a) T:begin(f) T:r(x)@12 U:acq(b) U:w(x)@14 U:rel(b) T:w(x)@14",
            "a is held over lines 12 to 14 of bank.py, and not at bank.py:14 in U (under b): hold it there too",
        ),
        (
            "T:begin(f) T:acq(a) T:r(x)@12 T:rel(a) U:w(x)@30 T:w(x)@14",
            "a is held at bank.py:12 and not at bank.py:14: hold it over both, and at bank.py:30",
        ),
        (
            "T:begin(f) T:r(x)@12 U:w(x)@30 T:acq(a) T:w(x)@14 T:rel(a)",
            "a is held at bank.py:14 and not at bank.py:12: hold it over both, and at bank.py:30",
        ),
        (
            "T:begin(f) T:acq(a) T:r(x)@12 T:rel(a) U:w(x)@30 T:w(x)@12",
            "a is held at read of x and not at write of x in bank.py:12: hold it over both, and at bank.py:30",
        ),
        (
            "U:acq(a) T:begin(f) T:r(x)@12 U:w(x)@30 T:w(x)@14",
            "a is held at bank.py:30, and not at bank.py:12 nor at bank.py:14:"
            " hold it over lines 12 to 14 of bank.py too",
        ),
        (
            "T:begin(f) T:acq(a) T:r(x)@12 T:rel(a) U:w(x)@30 T:acq(a) T:w(x)@14 T:rel(a)",
            "a is released between bank.py:12 and bank.py:14: hold it over both, and at bank.py:30",
        ),
        (
            "T:begin(f) T:acq(a)@12 T:rel(a)@13 U:acq(a)@30 U:rel(a)@31 T:acq(a)@14 T:rel(a)@15",
            "a is released between bank.py:13 and bank.py:14: hold it over both",
        ),
        (
            "T:begin(f) T:acq(a)@12 T:rel(a)@12 U:acq(a)@30 U:rel(a)@31 T:acq(a)@12 T:rel(a)@12",
            "a is released between release of a and acquire of a at bank.py:12: hold it over both",
        ),
        (
            "T:begin(f) T:acq(a) T:r(x)@12 T:rel(a) U:w(x)@30 T:acq(a) T:r(x)@12 T:rel(a)",
            "a is released between two passes through bank.py:12: hold it over both, and at bank.py:30",
        ),
        (
            "T:begin(f) T:r(x) U:w(x) T:w(x)",
            "no lock is held at any of these steps: hold one lock over what T does from its read of x (event 1)"
            " to its write of x (event 3), and at U's write of x (event 2)",
        ),
        (
            "T:begin(f) T:acq(a) T:r(x) T:rel(a) U:w(x) T:w(x)",
            "a is held at T's read of x (event 2) and not at T's write of x (event 5): hold it over both,"
            " and at U's write of x (event 4)",
        ),
        (
            "T:fork(U) T:begin(f) T:w(x)@12 U:r(x)@30 T:join(U)@14",
            "T waits for another thread at bank.py:14, and no lock makes that one step:"
            " end the region before it, or do not call it atomic",
        ),
        (
            "T:begin(f) T:fork(U)@12 U:w(x)@30 T:r(x)@14",
            "no lock is held at any of these steps: hold one lock over lines 12 to 14 of bank.py, and at bank.py:30",
        ),
    ],
)
def test_hint_says_where_to_hold_which_lock(line: str, hint: str) -> None:
    assert hinted(line) == hint


@pytest.mark.parametrize(
    ("locks", "hint"),
    [
        ("", "no lock is held at any of these steps: hold one lock "),
        ("T:acq(a) ", "no lock is held at all of these steps: hold one lock "),
    ],
)
def test_hint_for_a_cycle_without_a_blamed_transaction(locks: str, hint: str) -> None:
    line = f"{locks}T:begin(f) U:begin(g) T:w(x)@12 U:w(y)@20 U:r(x)@22 T:r(y)@14"
    assert hinted(line) == f"{hint}over lines 12 to 14 of bank.py, and over lines 20 to 22 of bank.py"


def test_hint_for_a_cycle_under_a_lock_released_in_between() -> None:
    (found,) = atomsan.check(atomsan.parse("T:begin(f) U:begin(g) T:w(x) U:w(y) U:r(x) T:r(y)"), "velodrome").findings
    (locked,) = with_locks([found], {event: (Hold("a", event),) for event in range(6)})
    assert locked.hint is not None
    assert locked.hint.startswith("a is held at each of these steps, and released in between: hold it over what ")
