"""The log of the recorded process: the ring, its reader, threads, forks."""

import fcntl
import os
import signal
import struct
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from atomsan.recorder.python import _log
from forking import exit_code, forked
from recorder.probing import OPS, Log, draining, function, recording


class Thing:
    def __init__(self) -> None:
        self.x = 0


STORE = "def f(a, n):\n for i in range(n): «store_attr x»[a].x = i"


def test_ring_capacity_is_the_largest_power_of_two_that_fits() -> None:
    for records, capacity in ((1024, 1024), (1500, 1024), (4096, 4096)):
        assert Log(records).head["capacity"] == capacity
    with pytest.raises(ValueError, match="too little"):
        _log.make_ring(bytearray(4096))


def test_attach_needs_one_initialised_ring() -> None:
    with pytest.raises(ValueError, match="not a ring"):
        _log.attach(bytearray(10000), print)
    with recording() as log, pytest.raises(RuntimeError):
        _log.attach(log.memory, print)


def test_records_before_the_head_are_complete() -> None:
    thing = Thing()
    with recording() as log:
        function(STORE)(thing, 3)
        assert [OPS[record.op] for record in log.read()] == ["thread", "write", "write", "write"]
    assert log.head["closed"] == 1
    assert log.definitions_of("thread") == [["thread", log.records[0].thread, "MainThread", "thread"]]


def test_nothing_is_logged_outside_or_while_paused() -> None:
    thing = Thing()
    store = function(STORE)
    store(thing, 3)
    with recording() as log:
        _log.pause()
        assert not _log.is_recording()
        store(thing, 3)
        _log.resume()
        store(thing, 1)
        assert [OPS[record.op] for record in log.read()] == ["thread", "write"]
    store(thing, 3)
    assert log.read() == []


def test_reader_can_stop_the_log() -> None:
    thing = Thing()
    with recording() as log, draining(log) as pieces:
        store = function(STORE)
        store(thing, 10)
        log.set_stop()
        store(thing, 100_000)
        assert not _log.is_recording()
    assert sum(map(len, pieces)) // 32 < 10_000


def test_full_ring_waits_and_loses_nothing() -> None:
    thing = Thing()
    with recording(1024) as log:
        with draining(log) as pieces:
            function(STORE)(thing, 50_000)
        assert log.head["lost"] == 0
    records = b"".join(pieces)
    assert sum(1 for op in records[28::32] if op == 1) == 50_000


def test_thread_numbers_are_never_reused() -> None:
    store = function(STORE)
    numbers: list[int] = []
    for _ in range(2):
        with recording() as log:
            for i in range(5):
                thread = threading.Thread(target=store, args=(Thing(), 2), name=f"worker {i}")
                thread.start()
                thread.join()
            log.read()
            new = [record.thread for record in log.records if OPS[record.op] == "thread"]
            names = {number: name for _, number, name, _ in log.definitions_of("thread")}
            assert [names[number] for number in new] == [f"worker {i}" for i in range(5)]
            numbers += new
    assert len(set(numbers)) == 10


def test_definitions_are_repeated_for_the_next_reader() -> None:
    store = function(STORE)
    with recording():
        store(Thing(), 1)
    with recording() as log:
        thing = Thing()
        store(thing, 1)
        write = log.read()[-1]
        assert log.named("name")[write.key] == "x"
        assert ["type", write.type, __name__, "Thing"] in log.definitions


def test_forked_child_does_not_record() -> None:
    thing = Thing()
    with recording() as log:
        store = function(STORE)
        store(thing, 1)

        def act() -> None:
            store(thing, 100)
            [[] for _ in range(100)]
            assert not _log.is_recording()

        assert exit_code(forked(act)) == 0
        store(thing, 1)
        assert sum(OPS[record.op] == "write" for record in log.read()) == 2


def wait_for(log: Log, offset: int) -> int:
    """The number that another process writes into the memory of the log. 0: it does not."""
    deadline = time.monotonic() + 60
    while (value := int(struct.unpack_from("<Q", log.memory, offset)[0])) == 0 and time.monotonic() < deadline:
        time.sleep(0.001)
    return value


def test_death_of_the_reader_is_noticed() -> None:
    """The reader is the parent of the process: when that changes, nobody reads any more."""
    log = Log(1024)
    attached, outcome = 4000, 4008  # in the head, behind what it holds

    def read() -> None:
        parent = os.getpid()

        def act() -> None:
            _log.attach(log.memory, log.definitions.append)
            struct.pack_into("<Q", log.memory, attached, 1)
            while os.getppid() == parent:
                time.sleep(0.001)
            function(STORE)(Thing(), 100_000)
            struct.pack_into("<Q", log.memory, outcome, 1 if _log.is_recording() else 2)

        forked(act)
        wait_for(log, attached)

    assert exit_code(forked(read)) == 0
    assert wait_for(log, outcome) == 2
    assert log.head["lost"] > 0


def with_patience(milliseconds: int) -> Log:
    log = Log(1024)
    struct.pack_into("<I", log.memory, 56, milliseconds)
    return log


def test_reader_that_takes_nothing_is_not_waited_for_any_more() -> None:
    """The program goes on, and the log says that it is not whole."""
    log, thing = with_patience(50), Thing()
    _log.attach(log.memory, log.definitions.append)
    try:
        function(STORE)(thing, 5000)
        assert not _log.is_recording()
    finally:
        _log.detach()
    assert thing.x == 4999
    assert log.head["lost"] > 0
    assert 0 < len(log.read()) <= 1024


def test_time_in_which_the_program_itself_is_stopped_is_no_waiting() -> None:
    """Ctrl-Z stops both: when they go on, the reader must not be given up for what it could not do."""
    log = with_patience(1000)

    def act() -> None:
        _log.attach(log.memory, log.definitions.append)
        function(STORE)(Thing(), 5000)
        assert _log.is_recording()

    child = forked(act)
    while not log.head["waiting"]:
        time.sleep(0.001)
    os.kill(child, signal.SIGSTOP)
    time.sleep(1.1)
    os.kill(child, signal.SIGCONT)
    with draining(log):
        assert exit_code(child) == 0
    assert log.head["lost"] == 0


@pytest.mark.parametrize("is_held", [True, False])
def test_reader_that_is_not_the_parent_holds_a_lock(is_held: bool, tmp_path: Path) -> None:
    """As that of a forked process. If nobody holds it, nobody is waited for."""
    path = tmp_path / "lock"
    path.touch()
    log = with_patience(60_000)
    with open(path) as file:
        if is_held:
            fcntl.flock(file, fcntl.LOCK_EX)

        def act() -> None:
            _log.attach(log.memory, log.definitions.append, locked_by_reader=str(path))
            function(STORE)(Thing(), 5000)
            assert _log.is_recording() == is_held

        child = forked(act)
        if is_held:
            while not log.head["waiting"]:
                time.sleep(0.001)
            with draining(log):
                assert exit_code(child) == 0
        else:
            assert exit_code(child) == 0
    assert (log.head["lost"] > 0) == (not is_held)


def test_program_can_exit_while_threads_log() -> None:
    program = """
        import threading
        from recorder.probing import Log, function
        from atomsan.recorder.python import _log
        class Thing: pass
        log = Log(1 << 20)
        _log.attach(log.memory, log.definitions.append)
        f = function("def f(a):\\n while True: «store_attr x»[a].x = []")
        for _ in range(3):
            threading.Thread(target=f, args=(Thing(),), daemon=True).start()
        import time
        while log.head["head"] < 1000:
            time.sleep(0.001)
        print("end")
    """
    tests = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_failed_definitions_do_not_reach_the_program() -> None:
    def fail(message: list[Any]) -> None:
        raise OSError("no space left")

    log = Log()
    _log.attach(log.memory, fail)
    try:
        thing = Thing()
        function(STORE)(thing, 2)
        assert thing.x == 1
    finally:
        _log.detach()
