"""Faults of the recording process: it is stopped or killed, or there is no room. Nothing is lost without a word."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from atomsan import load
from atomsan.recorder.log import spool
from atomsan.recorder.log.spool import has_reader
from atomsan.trace.events import Op
from cli.running import Atomsan, environment
from cli.test_run import Started, written


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMSAN_CACHE", str(tmp_path_factory.getbasetemp() / "atomsan-cache"))


def impatient(seconds: float, *, memory: str = spool.IN_MEMORY) -> list[str]:
    """The start of a command line of `atomsan` whose programs wait for so many seconds for their recorder."""
    settings = (
        "import atomsan.recorder.log.ring as ring, atomsan.recorder.log.spool as spool\n"
        f"ring.PATIENCE, spool.IN_MEMORY = {seconds}, {memory!r}\n"
        "from atomsan.cli.main import main\nraise SystemExit(main())\n"
    )
    return [sys.executable, "-c", settings]


# More records than the ring has.
MANY = """
import os, sys, threading, time
class C: n = 0
def f():
    for _ in range(700000):
        C.n += 1
def wait_for(name):
    while not os.path.exists(name):
        time.sleep(0.001)
"""


# --- stopped -------------------------------------------------------------------------------------------------------


def test_program_goes_on_when_the_recorder_is_stopped_and_the_trace_says_so(atomsan: Atomsan) -> None:
    written(MANY + "print('ready', flush=True)\nwait_for('go')\nf()\nprint('went on to', C.n, flush=True)\n")
    with Started("record", "-q", "-o", "t.atomtrace", "app.py", prefix=impatient(0.3)) as started:
        started.process.send_signal(signal.SIGSTOP)
        written("", "go")
        assert started.process.stdout
        assert started.process.stdout.readline() == b"went on to 700000\n"
        started.process.send_signal(signal.SIGCONT)
        ran = started.ended()
    why = "the recorder took nothing from the log for 0.3 s"
    assert ran.code == 3
    assert why in ran.err
    assert json.loads(Path("t.atomtrace/meta.json").read_text())["complete"] is False
    for verb in ("check", "sets", "predict"):
        later = atomsan(verb, "-q", "t.atomtrace")
        assert later.code == 3
        assert later.out.startswith("t.atomtrace: unknown, the recorder took nothing")
        assert f"warning: t.atomtrace: {why}" in later.err


# --- killed --------------------------------------------------------------------------------------------------------

FORKING = (
    MANY
    + """
print("ready", flush=True)
if os.fork() == 0:
    C.n = 0
    open("forked", "w").close()
    wait_for("go")
    f()
    print("went on to", C.n, flush=True)
    os._exit(0)
os.wait()
if os.fork() == 0:
    C.n = 5
    os._exit(0)
os.wait()
"""
)


@pytest.fixture
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of spools, which is another one than that of other tests."""
    return tmp_path_factory.mktemp("memory")


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_forked_process_goes_on_when_the_recorder_is_killed_and_nothing_is_left(memory: Path) -> None:
    """At once: it waits for nobody. The next process that is forked adds nothing, and takes the spool away."""
    written(FORKING)
    with Started("run", "--follow-fork", "app.py", prefix=impatient(600, memory=str(memory))) as started:
        patience = threading.Timer(20, os.killpg, (started.process.pid, signal.SIGKILL))
        patience.start()
        wait_until(lambda: os.path.exists("forked"))
        (directory,) = memory.iterdir()
        wait_until(lambda: [path.name for path in directory.iterdir()] == ["reader"])  # the log has been taken over
        started.process.kill()
        started.process.wait()
        assert not has_reader(str(directory))
        written("", "go")
        assert started.process.stdout
        assert started.process.stdout.readline() == b"went on to 700000\n"
        wait_until(lambda: not list(memory.iterdir()))
        patience.cancel()


@pytest.mark.parametrize("has_room", [True, False])
def test_process_that_cannot_be_recorded_is_counted(has_room: bool, memory: Path) -> None:
    limit = "" if has_room else "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
    written(f"import os, resource\n{limit}if os.fork() == 0: os._exit(0)\nos.wait()\n")
    ran = subprocess.run(
        [*impatient(1, memory=str(memory)), "run", "--follow-fork", "app.py"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = "processes that the program forked were not recorded, for lack of room: 1"
    assert (said in ran.stderr) == (not has_room)


# --- definitions ---------------------------------------------------------------------------------------------------

MEETING = """
import atomsan, sys, threading
THREADS, ROUNDS = 8, 60
sys.setswitchinterval(1e-5)
barrier = threading.Barrier(THREADS)
shared = {}
made = []
for n in range(ROUNDS):
    names = {}
    exec(f'''
class Made{n}: pass
thing = Made{n}()
thing.field{n} = 0
def use():
    thing.field{n} += 1
    global count{n}
    count{n} = 1
''', names)
    made.append((names["use"], f"key {n}", f"region {n}"))

def work():
    for use, key, region in made:
        barrier.wait()
        with atomsan.atomic(region):
            use()
            shared[key] = 1

threads = [threading.Thread(target=work) for _ in range(THREADS)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


@pytest.mark.parametrize("noise", [[], ["--noise", "--seed", "3"]])
def test_what_threads_meet_for_the_first_time_at_once_is_known_to_all_of_them(
    noise: list[str], atomsan: Atomsan
) -> None:
    """Classes, fields, globals, keys, regions and modules: eight threads come to each of them at the same moment."""
    written(MEETING)
    ran = atomsan("record", *noise, "-o", "t.atomtrace", "app.py")
    assert (ran.code, ran.err.count("\n")) == (0, 1), ran.err
    trace = load("t.atomtrace")
    assert trace.meta.missing is None
    locations, regions = trace.symbols.locations, trace.symbols.regions
    by_location: Counter[str] = Counter()
    by_region: Counter[str] = Counter()
    for batch in trace.batches():
        for _, op, target, _ in batch.rows():
            if op == Op.WRITE:
                by_location[locations[target].partition(" (")[0]] += 1
            elif op == Op.BEGIN:
                by_region[regions[target]] += 1
    for n in range(60):
        # the first write of a field is that of the main thread
        wanted = {f"Made{n}.field{n}": 9, f"shared['key {n}']": 8}
        assert {name: by_location[name] for name in wanted} == wanted
        assert by_region[f"region {n}"] == 8
    unknown = [name for name in (*locations, *regions) if "?" in name or "0x" in name]
    assert unknown == []
