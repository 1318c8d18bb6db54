"""`atomsan record`: the trace is written, even if the program or the recorder is killed."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from atomsan import InputError, open_trace
from cli.running import Atomsan, assert_refused, leftovers
from cli.test_run import BUSY, LOST_UPDATE, SERVER, Started, written


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMSAN_CACHE", str(tmp_path_factory.getbasetemp() / "atomsan-cache"))


def stats(atomsan: Atomsan, trace: str) -> dict[str, object]:
    ran = atomsan("stats", "--format", "json", trace)
    assert ran.code == 0, ran
    found: dict[str, object] = json.loads(ran.out)["trace"]
    return found


def test_a_bundle_is_written_and_checked_later(atomsan: Atomsan) -> None:
    written(LOST_UPDATE + "raise SystemExit(6)")
    ran = atomsan("record", "-o", "t.atomtrace", "app.py", "-o", "its own")
    assert (ran.code, ran.out) == (6, "1\n")
    assert ran.err.startswith("atomsan: wrote t.atomtrace: ")
    assert "lost update in app:Account.deposit" in atomsan("check", "t.atomtrace").out
    meta = json.loads(Path("t.atomtrace/meta.json").read_text())
    assert meta["program"] == "app.py"
    assert meta["command_line"] == ["app.py", "-o", "its own"]
    assert meta["complete"] is True


@pytest.mark.parametrize("name", ["t.parquet", "t.std", "t.std.gz", "t.csv"])
def test_other_formats(name: str, atomsan: Atomsan) -> None:
    written(LOST_UPDATE)
    assert atomsan("record", "-q", "-o", name, "app.py") == (0, "1\n", "")
    assert leftovers(Path()) == {"app.py", name}
    assert "1 violation" in atomsan("check", name).out


def test_existing_output_is_kept(atomsan: Atomsan) -> None:
    written("print('it ran')")
    for name in ("t.std", "t.atomtrace"):
        written("kept", name)
        assert_refused(atomsan("record", "-o", name, "app.py"), "exists already", "--force")
        assert Path(name).read_text() == "kept"
        assert atomsan("record", "-q", "--force", "-o", name, "app.py") == (0, "it ran\n", "")
    Path("directory").mkdir()
    assert_refused(atomsan("record", "app.py"), "-o")
    assert_refused(atomsan("record", "-o", "nowhere/t.atomtrace", "app.py"), "nowhere")
    assert_refused(atomsan("record", "-o", "t.frob", "app.py"), "t.frob")
    assert_refused(atomsan("record", "-o", "new.std", "missing.py"), "missing.py")
    assert not Path("new.std").exists()


def test_a_bundle_can_be_read_after_the_recorder_was_killed(atomsan: Atomsan) -> None:
    written(SERVER)
    with Started("record", "-o", "t.atomtrace", "app.py") as started:
        deadline = time.monotonic() + 20
        while not has_events("t.atomtrace") and time.monotonic() < deadline:
            time.sleep(0.05)
        started.process.kill()
        started.process.wait()
        os.killpg(started.process.pid, signal.SIGTERM)
        assert started.ended().out == "ended by SIGTERM\n"
    found = stats(atomsan, "t.atomtrace")
    assert found["complete"] is False
    assert found["events"]
    ran = atomsan("check", "-q", "t.atomtrace")
    assert ran.code == 3
    assert "t.atomtrace: unknown, the recording was cut short" in ran.out
    assert "t.atomtrace: the recording was cut short" in ran.err


def has_events(name: str) -> bool:
    try:
        return any(len(batch) for batch in open_trace(name).batches())
    except InputError:
        return False  # not all of its files are there yet


def test_limits(atomsan: Atomsan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atomsan.recorder.log.limits.GRACE", 0.2)
    written(BUSY + "sys.stdout.flush()\nthreading.Event().wait()")
    ran = atomsan("record", "-o", "t.atomtrace", "--timeout", "1", "--max-events", "1000", "app.py")
    assert (ran.code, ran.out) == (3, "30000\n")
    assert "out of time" in ran.err
    assert stats(atomsan, "t.atomtrace")["complete"] is False


def test_explain_selection(atomsan: Atomsan) -> None:
    written("import colorsys")
    ran = atomsan("record", "-q", "--explain-selection", "-o", "t.std", "app.py")
    rows = [" ".join(line.split()) for line in ran.err.splitlines()]
    assert any(row.startswith("app watched the program's own code") for row in rows)
    assert any(row.startswith("colorsys not watched the standard library") for row in rows)


def test_definitions_that_cannot_be_written_are_counted(atomsan: Atomsan) -> None:
    """What comes new has no name then, and the trace is not complete."""
    full = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    written(f"{full}class Later: pass\nlater = Later()\nlater.x = 1\n")
    ran = atomsan("record", "-o", "t.atomtrace", "app.py")
    assert ran.code == 3
    assert "definitions could not be written" in ran.err
    ran = atomsan("check", "-q", "t.atomtrace")
    assert ran.code == 3
    assert "definitions could not be written" in ran.err


def test_program_may_close_what_it_knows_nothing_of(atomsan: Atomsan) -> None:
    """As daemons do. The file of definitions is opened again, and not under a small number."""
    written("""
import os
os.closerange(3, 1024)
class Later: pass
later = Later()
later.x = 1
print(os.open(os.devnull, os.O_RDONLY), flush=True)
later.y = 1
os._exit(0)
""")
    ran = atomsan("record", "-q", "-o", "t.std", "app.py")
    assert ran == (0, "3\n", "")
    assert "Later.x" in Path("t.std").read_text()
    assert "Later.y" in Path("t.std").read_text()


# --- processes that the program forks ------------------------------------------------------------------------------

FORKS = """
import os, sys, threading, time
import mmap
here = mmap.mmap(-1, 2)
def meet(number):
    here[number] = 1
    while not (here[0] and here[1]):
        time.sleep(0.001)
class C:
    def __init__(self): self.n = 0
    def add(self, number):
        seen = self.n
        meet(number)
        self.n = seen + 1
c = C()
def work():
    threads = [threading.Thread(target=c.add, args=(n,), name="adder") for n in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
sys.stdout.flush()
pid = os.fork()
if pid == 0:
    work()
    import colorsys, later
    later.f()
    os._exit(0)
os.waitpid(pid, 0)
c.n = 5
print(pid)
"""
LATER = "class Later: pass\nlater = Later()\ndef f():\n    later.x = 1\n"


def test_a_forked_process_is_not_recorded(atomsan: Atomsan) -> None:
    written(FORKS)
    written(LATER, "later.py")
    ran = atomsan("run", "--keep", "t.std", "app.py")
    assert ran.code == 0, ran.err
    assert "adder" not in Path("t.std").read_text()
    assert "C.n" in Path("t.std").read_text()


def test_what_a_forked_process_imports_is_not_taken_for_what_its_parent_does(atomsan: Atomsan) -> None:
    """Both give the next numbers to the next module, each to its own; the child's comes last."""
    written(LATER, "mine.py")
    written("class Other:\n    n = 0\n\n\ndef g():\n    Other.n += 1\n    Other.n += 2\ng()\n", "childs.py")
    written("""
import os
read, write = os.pipe()
pid = os.fork()
if pid == 0:
    os.read(read, 1)
    import childs
    os._exit(0)
import mine
os.write(write, b"x")
os.waitpid(pid, 0)
mine.f()
os._exit(0)  # what dies soon is not in the trace
""")
    ran = atomsan("record", "-o", "t.std", "app.py")
    assert ran.code == 0, ran.err
    assert "mine.py:4" in Path("t.std").read_text()
    assert "childs" not in Path("t.std").read_text()


def test_a_forked_process_has_a_trace_of_its_own(atomsan: Atomsan) -> None:
    written(FORKS)
    written(LATER, "later.py")
    ran = atomsan("record", "--follow-fork", "-o", "t.atomtrace", "app.py")
    assert ran.code == 0, ran.err
    name = f"t.{ran.out.strip()}.atomtrace"
    assert ran.err.count("wrote ") == 2
    assert {"t.atomtrace", name} < leftovers(Path())
    for trace in ("t.atomtrace", name):
        assert stats(atomsan, trace)["complete"] is True
    assert atomsan("check", "t.atomtrace").code == 0
    assert "lost update in app:C.add" in atomsan("check", name).out
    atomsan("convert", name, "t.std")
    assert "Later.x" in Path("t.std").read_text()
    assert "later.py:4" in Path("t.std").read_text()


def test_run_reports_each_process(atomsan: Atomsan) -> None:
    written(FORKS)
    written(LATER, "later.py")
    ran = atomsan("run", "--follow-fork", "-o", "r.json", "app.py")
    assert ran.code == 1
    first, second = json.loads(Path("r.json").read_text())["reports"]
    assert first["findings"] == []
    assert first["program"] == {"exit": 0, "signal": None}
    assert second["trace"]["source"] == f"app.py (process {ran.out.strip()})"
    assert second["findings"][0]["region"] == "app:C.add"


def test_a_pool_is_followed(atomsan: Atomsan) -> None:
    written("""
import multiprocessing, os
class C: pass
def work(n):
    c = C()
    c.n = n
    return c.n * 2
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(work, range(4), chunksize=1))
""")
    ran = atomsan("record", "--follow-fork", "-o", "t.atomtrace", "app.py")
    assert (ran.code, ran.out) == (0, "[0, 2, 4, 6]\n")
    assert len([name for name in leftovers(Path()) if name.startswith("t.")]) >= 2


def test_forked_process_that_outlives_the_program_goes_on(atomsan: Atomsan) -> None:
    written("""
import os, time
class C: n = 0
def f():
    while True:
        C.n += 1
        time.sleep(0.001)
        if os.path.exists("end"): break
if os.fork() == 0:
    f()
    open("ended", "w").close()
    os._exit(0)
time.sleep(0.3)
""")
    ran = atomsan("run", "-q", "--follow-fork", "-o", "r.json", "app.py")
    assert ran.code == 3
    assert "the program ended before this process" in ran.err
    verdicts = [report["verdict"] for report in json.loads(Path("r.json").read_text())["reports"]]
    assert verdicts == ["holds", "unknown"]
    written("", "end")
    deadline = time.monotonic() + 10
    while not Path("ended").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# --- outputs that another process writes, and directories that are no bundles --------------------------------------


def test_second_recording_to_one_output_is_refused(atomsan: Atomsan) -> None:
    written(SERVER)
    written("print('it ran')", "other.py")
    Path("t.std").write_text("T1|r(x)|1\n")
    with Started("record", "-o", "t.atomtrace", "app.py") as started:
        for command in (
            ["record", "--force", "-o", "t.atomtrace", "other.py"],
            ["run", "--force", "--keep", "t.atomtrace", "other.py"],
            ["convert", "--force", "t.std", "t.atomtrace"],
        ):
            ran = atomsan(*command)
            assert_refused(ran, "t.atomtrace: is being written by another recording or conversion")
            assert ran.out == "", "the program did not run"
        started.process.send_signal(signal.SIGTERM)
        assert started.ended().code == 0
    assert stats(atomsan, "t.atomtrace")["complete"] is True
    assert atomsan("convert", "-q", "--force", "t.std", "t.atomtrace").code == 0
    assert leftovers(Path()) == {"app.py", "other.py", "t.std", "t.atomtrace"}


def test_output_of_a_recorder_that_was_killed_can_be_replaced(atomsan: Atomsan) -> None:
    written(SERVER)
    written("print('it ran')", "other.py")
    with Started("record", "-o", "t.atomtrace", "app.py") as started:
        started.process.kill()
        started.process.wait()
        # the program lives on
        assert atomsan("record", "-q", "--force", "-o", "t.atomtrace", "other.py") == (0, "it ran\n", "")
        os.killpg(started.process.pid, signal.SIGTERM)
    assert stats(atomsan, "t.atomtrace")["complete"] is True


@pytest.mark.parametrize("verb", [["record", "-o"], ["run", "--keep"]])
def test_directory_with_files_of_the_user_is_not_replaced(verb: list[str], atomsan: Atomsan) -> None:
    written("print('it ran')")
    assert atomsan(*verb[:1], "-q", *verb[1:], "t.atomtrace", "app.py").code == 0
    written("mine", "t.atomtrace/notes.txt")
    ran = atomsan(*verb[:1], "--force", *verb[1:], "t.atomtrace", "app.py")
    assert_refused(ran, "t.atomtrace: a directory that is not a trace bundle (it has notes.txt)")
    assert ran.out == ""
    assert Path("t.atomtrace/notes.txt").read_text() == "mine"
