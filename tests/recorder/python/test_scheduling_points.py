"""Where the recorder asks the scheduler: at accesses to shared data, at primitives, at the start and end of threads."""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest

from atomsan.recorder.python import _log, primitives
from atomsan.recorder.python.session import scheduled
from atomsan.scheduler.noise import Noise
from recorder.probing import Log, draining, function, prepared, recording
from recorder.raw import OPS


class Thing:
    def __init__(self) -> None:
        self.x = 0


class Noting:
    """A scheduler that lets every thread go on, and notes before which record it was asked."""

    def __init__(self, log: Log, gap: int = 0) -> None:
        self.log = log
        self.gap = gap
        self.calls: list[str] = []
        self.points: list[int] = []

    def start(self) -> int:
        self.calls.append("start")
        return self.gap

    def point(self) -> int:
        self.points.append(self.log.head["head"])
        return self.gap

    def done(self) -> None:
        self.calls.append("done")


STORE = "def f(a, n):\n for i in range(n): «store_attr x»[a].x = i"
INCREMENT = "def f(a, n):\n for i in range(n): «aug_attr x»[a] += 1"

ACCESSES = """
class Thing: pass
a, d, l = Thing(), {}, [1]
«store_attr x»[a].x = 1
«load_attr x»[a].x
«item»[d, "k"] = 2
«item»[l, 0]
"""
REGION = """
def f():
    del «begin»[None]
    del «end»[None]
f()
"""
LOCK = "import threading\nlock = threading.Lock()\nwith «with»[lock]: pass"
EVENT = "import threading\nevent = threading.Event()\nevent.set()\nevent.wait()"
QUEUE = "import queue\nq = queue.Queue()\nq.put(1)\nq.get()"
THREAD = "import threading\nt = threading.Thread(target=int)\nt.start()\nt.join()"
TASK = "import asyncio\nasync def main(): await asyncio.create_task(asyncio.sleep(0))\nasyncio.run(main())"


@pytest.mark.parametrize(
    ("source", "ops"),
    [
        (ACCESSES, {"read", "write"}),
        (REGION, {"begin", "end"}),
        (LOCK, {"acquire", "release"}),
        (EVENT, {"post", "take"}),
        (QUEUE, {"post", "take"}),
        (THREAD, {"fork", "thread", "exit", "join"}),
        (TASK, {"fork", "thread", "exit", "join", "acquire", "release"}),
    ],
    ids=["access", "region", "lock", "event", "queue", "thread", "task"],
)
def test_point_at_each_operation(source: str, ops: set[str]) -> None:
    """Directly before its record; or behind it, where what happened is logged first and then waited."""
    with recording() as log, primitives.watching():
        scheduler = Noting(log)
        with scheduled(scheduler):
            prepared(source)
        _log.pause()
        records = log.read()
    points = set(scheduler.points)
    asked = {OPS[record.op] for i, record in enumerate(records) if i in points or i + 1 in points}
    passed = {OPS[record.op] for i, record in enumerate(records) if i not in points and i + 1 not in points}
    assert ops <= asked
    assert not ops & passed


def test_gap_is_counted_in_records() -> None:
    with recording() as log:
        scheduler = Noting(log, gap=10)
        with scheduled(scheduler):
            function(STORE)(Thing(), 100)
    # the first record is that of the thread
    assert scheduler.points == list(range(10, 101, 10))


def test_scheduler_is_started_and_ended_once() -> None:
    with recording() as log:
        first, second = Noting(log), Noting(log)
        _log.set_scheduler(first)
        assert first.calls == ["start"]
        _log.set_scheduler(second)
        assert (first.calls, second.calls) == (["start", "done"], ["start"])
        _log.set_scheduler(None)
        assert second.calls == ["start", "done"]


def test_nobody_is_asked_without_a_scheduler() -> None:
    with recording() as log:
        scheduler = Noting(log)
        with scheduled(scheduler):
            function(STORE)(Thing(), 3)
        asked = len(scheduler.points)
        function(STORE)(Thing(), 3)
        assert len(scheduler.points) == asked > 0


def test_failing_scheduler_is_asked_no_more() -> None:
    class Failing(Noting):
        def point(self) -> int:
            super().point()
            raise ValueError("no decision")

    thing = Thing()
    with recording() as log:
        scheduler = Failing(log)
        with scheduled(scheduler):
            function(STORE)(thing, 5)
        assert len(log.read()) == 6
    assert thing.x == 4
    assert len(scheduler.points) == 1
    assert scheduler.calls == ["start", "done"]


def test_other_threads_run_while_a_point_waits() -> None:
    """A thread that waits at its first point goes on after another thread has written everything."""

    class Turns(Noting):
        def point(self) -> int:
            if threading.current_thread().name == "second":
                first_is_done.wait(10)
            return 0

    def work(of: str) -> None:
        store(thing, 50)
        if of == "first":
            first_is_done.set()

    thing, first_is_done = Thing(), threading.Event()
    with recording() as log:
        store = function(STORE)
        threads = [threading.Thread(target=work, args=(name,), name=name) for name in ("second", "first")]
        with scheduled(Turns(log)):
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        numbers = [record.thread for record in log.read() if OPS[record.op] == "write"]
        names = {number: name for _, number, name, _ in log.definitions_of("thread")}
    assert [names[number] for number in numbers] == ["first"] * 50 + ["second"] * 50


def test_noise_loses_updates() -> None:
    """Two threads that count without a lock: with noise between the halves of an increment some get lost."""

    def is_one_lost(seed: int) -> bool:
        thing = Thing()
        together = threading.Barrier(2)
        with recording() as log, draining(log):
            increment = function(INCREMENT)

            def work() -> None:
                together.wait()
                increment(thing, 2000)

            with scheduled(Noise(seed)):
                threads = [threading.Thread(target=work) for _ in range(2)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
        return bool(thing.x < 4000)

    # on a machine that is busy with other things, one of the threads may run alone for a while
    assert all(any(is_one_lost(seed) for _ in range(5)) for seed in range(3))


def test_noise_of_one_thread_is_the_same_for_the_same_seed() -> None:
    def run(seed: int) -> list[Any]:
        class NotingNoise(Noise):
            def point(self) -> int:
                points.append(log.head["head"])
                return super().point()

        points: list[int] = []
        gc.collect()  # objects that earlier tests recorded would be logged when they die
        with recording() as log:
            with scheduled(NotingNoise(seed)):
                function(STORE)(Thing(), 200)
            return [points, *(record.op for record in log.read())]

    assert run(5) == run(5)
    assert run(5) != run(6)
