"""Compiled loops look up while they work on a batch: the deadline, Ctrl-C, and what is found until then."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import atomsan
from atomsan import TraceBuilder
from atomsan.checkers.atomic_sets import SetChecking
from atomsan.checkers.flattening import FlatBatch
from atomsan.checkers.registry import CHECKERS
from atomsan.checkers.set_model import Prefixes, SetModel
from atomsan.checkers.turns import TurnFinder
from atomsan.cli.exit_codes import Exit
from atomsan.cli.main import main
from atomsan.findings.surroundings import Pair, Surroundings
from atomsan.flow.passes import Pass, execute
from atomsan.trace._stopping import is_over_here, look, until
from atomsan.trace.events import Batch, Op
from atomsan.trace.monitor import INTERRUPTED, OUT_OF_TIME, Monitor
from atomsan.trace.symbols import Symbols
from atomsan.trace.trace import Trace
from atomsan.trace.worker import SMALL, Worker
from atomsan.trace.writing import write_trace


def laborious(count: int = 9000) -> TraceBuilder:
    """A violation; then each of `count` takes depends on each of as many posts. One batch, and seconds of work."""
    builder = atomsan.TraceBuilder()
    for thread, op, target in (("T", "begin", "m"), ("T", "read", "x"), ("U", "write", "x"), ("T", "write", "x")):
        builder.add(thread, op, target)
    for op in ("post", "take"):
        for k in range(count):
            builder.add(f"{op}{k}", "read", "x")
            builder.add(f"{op}{k}", op, "h")
    return builder.add("T", "end", "m")


@pytest.fixture(scope="module")
def trace() -> Trace:
    return laborious().build()


def test_deadline_ends_a_batch_that_takes_long_and_keeps_what_was_found(trace: Trace) -> None:
    report = atomsan.check(trace, algorithm="davida", timeout=0.05)
    assert report.stopped == OUT_OF_TIME
    assert (report.violations, report.transactions[0]) == (1, ("T", 1))
    assert [finding.witness[0].location for finding in report.findings] == ["x"]


def test_command_that_is_late_inside_a_batch_exits_with_3_and_the_report(
    trace: Trace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.std"
    write_trace(trace, path)
    assert main(["check", str(path), "--algorithm", "regiontrack", "--timeout", "0.3"]) == Exit.INTERRUPTED
    shown = capsys.readouterr()
    assert "1 violation in 1 transaction" in shown.out
    assert "out of time after" in shown.err


@pytest.fixture
def interrupt() -> Iterator[Callable[[float], None]]:
    """Ctrl-C in so many seconds; a shell in the background may have it ignored."""
    before = signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    of_interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds) and None
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    signal.signal(signal.SIGINT, of_interrupt)


def test_interrupt_ends_a_batch_that_takes_long_and_keeps_what_was_found(
    trace: Trace, interrupt: Callable[[float], None]
) -> None:
    interrupt(0.1)
    report = atomsan.check(trace, algorithm="regiontrack")
    assert (report.stopped, report.violations) == (INTERRUPTED, 1)


# ---- each engine


ENGINES = ("davida", "regiontrack", "aerodrome", "velodrome", "turns", "patterns", "projection")
LEAN = ("davida", "regiontrack")
MOST_FEEDS = 200


def batches(count: int = 300_000) -> Iterator[Batch]:
    """Threads begin, then read and write locations of their own, for ever."""
    threads = np.arange(4, dtype=np.uint32)
    nothing = np.zeros(4, np.uint32)
    yield Batch(0, threads, np.full(4, Op.BEGIN, np.uint8), nothing, nothing)
    rng = np.random.default_rng(0)
    thread = rng.integers(0, 4, count, np.uint32)
    target = thread * np.uint32(1000) + rng.integers(0, 1000, count, np.uint32)
    op = rng.integers(0, 2, count, np.uint8)
    for number in range(MOST_FEEDS):
        yield Batch(4 + number * count, thread, op, target, np.zeros(count, np.uint32))


def feeder(name: str) -> Callable[[Batch], object]:
    """Feeds an engine."""
    if name in CHECKERS:
        # without AeroDrome beside it, which looks up itself
        checker = CHECKERS[name].make(**({"serializability": False} if name in LEAN else {}))
        return lambda batch: checker.feed(flat(batch))
    symbols = Symbols()
    for number in range(4000):
        symbols.locations.intern(f"o{number // 1000}.x{number}")
    symbols.regions.intern("m")
    if name == "turns":
        return TurnFinder(None, symbols.locations).feed
    model = SetModel(symbols, Prefixes())
    model.grow()
    return SetChecking(model, "patterns" if name == "patterns" else "projection").feed


def flat(batch: Batch) -> FlatBatch:
    return FlatBatch(batch.first, batch.thread, batch.op, batch.target, batch.site, 4, 4000, 0, 1, 0, batch.op)


@pytest.mark.parametrize("name", ENGINES)
def test_engine_ends_when_it_is_over(name: str) -> None:
    feed = feeder(name)
    asked: list[None] = []

    def is_over() -> bool:
        asked.append(None)
        return len(asked) == 3

    with until(is_over), pytest.raises(KeyboardInterrupt):
        deque(map(feed, batches()), maxlen=0)
    assert len(asked) == 3


def test_without_anybody_who_wants_the_end_an_engine_goes_on() -> None:
    feed = feeder("aerodrome")
    for batch in itertools.islice(batches(), 20):
        assert not feed(batch)


def test_question_is_that_of_the_innermost_block() -> None:
    with until(lambda: True):
        with until(lambda: False):
            look()
        with until(None):
            look()
        with pytest.raises(KeyboardInterrupt):
            look()
    assert is_over_here() is None


def test_question_is_of_one_thread() -> None:
    asked: list[bool] = []
    with until(lambda: True):
        thread = threading.Thread(target=lambda: asked.append(is_over_here() is None))
        thread.start()
        thread.join()
    assert asked == [True]


# ---- the monitor, and the worker


def test_monitor_asks_for_the_end_when_the_time_is_up() -> None:
    monitor = Monitor(timeout=0.0)
    with monitor.stopping():
        look()
        pytest.fail("the time is up")
    assert monitor.stopped == OUT_OF_TIME


def looks_long(_: object) -> None:
    """Looks up until it is over, which must be soon."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        look()
    raise AssertionError("nobody ended it")


def test_worker_ends_at_the_deadline_of_its_caller() -> None:
    monitor = Monitor(timeout=0.05)
    with monitor.stopping(), Worker(looks_long, "worker") as worker:
        worker.start("call", SMALL)
        worker.result()
    assert monitor.stopped == OUT_OF_TIME


def test_running_call_ends_when_its_caller_was_interrupted() -> None:
    has_begun = threading.Event()

    def call(_: object) -> None:
        has_begun.set()
        looks_long(_)

    def use(worker: Worker[str, None]) -> None:
        with worker:
            worker.start("call", SMALL)
            has_begun.wait()
            raise RuntimeError("left")

    worker = Worker(call, "worker")
    with pytest.raises(RuntimeError, match="left"):
        use(worker)
    with pytest.raises(KeyboardInterrupt):
        worker.result()


# ---- passes


def test_no_further_pass_begins_when_the_time_is_up() -> None:
    monitor = Monitor(timeout=3600)

    def run(state: SimpleNamespace) -> str:
        monitor._deadline = time.monotonic()
        return "done"

    assert execute([Pass("first", run), Pass("second", run)], SimpleNamespace(), monitor) == ["first"]
    assert monitor.stopped == OUT_OF_TIME


def test_turns_of_a_part_of_a_trace_are_of_what_has_ended() -> None:
    trace = atomsan.parse("T:begin T:r(x) U:w(x) T:w(x) T:end V:begin V:r(x) U:w(x) V:w(x)")
    for is_whole, blamed in ((True, 2), (False, 1)):
        finder = TurnFinder(None, trace.symbols.locations)
        for batch in trace.batches():
            finder.feed(batch)
        finder.finish(is_whole=is_whole)
        assert sum(witness.count for witness in finder.witnesses()) == blamed


def test_second_pass_looks_up_inside_a_batch() -> None:
    trace = atomsan.parse("T:begin T:r(x) U:w(x) T:w(x) T:end")
    (batch,) = trace.batches()
    for pairs in ((), (Pair(1, 3, 0),)):
        around = Surroundings(() if pairs else (2,), pairs, (0,), only_holds=not pairs)
        with until(lambda: True), pytest.raises(KeyboardInterrupt):
            around.feed(batch, trace.symbols)
