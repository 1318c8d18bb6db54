"""The tape: small recordings in memory, large ones on disk, and what is on disk is readable at every moment."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import atomsan
from atomsan import OutputError
from atomsan.recorder.log import tape
from atomsan.recorder.log.recording import Recording
from atomsan.recorder.log.tape import Tape
from atomsan.recorder.python.language import PYTHON
from atomsan.trace.bundle import BundleWriter
from atomsan.trace.events import NO_SITE, Batch
from atomsan.trace.insertions import INSERTION_ROW
from atomsan.trace.meta import TraceMeta
from atomsan.trace.reading import open_trace
from atomsan.trace.symbols import Symbols
from atomsan.trace.trace import Trace
from forking import exit_code, forked

TESTS = Path(__file__).parents[2]

# As a bundle calls its tables.
TABLES = ("threads", "variables", "locks", "functions", "regions", "handovers", "sites")


class Writing:
    """A tape, and somebody who writes to a new location with each batch."""

    def __init__(self, path: Path | None = None, **options: object) -> None:
        self.symbols = Symbols()
        self.meta = TraceMeta("test", "recording", complete=False, program="bank.py", command_line=["bank.py", "1"])
        self.now = 0.0
        self.tape = Tape(self.symbols, self.meta, path, clock=lambda: self.now, **options)  # type: ignore[arg-type]
        self.symbols.threads.intern("T1")
        self.events = 0

    def write(self, count: int = 10) -> None:
        self.add(self.symbols.locations.intern(f"x{len(self.symbols.locations)}"), count)

    def add(self, target: int, count: int = 10) -> None:
        columns = (np.zeros(count, np.uint32), np.zeros(count, np.uint8), np.full(count, target, np.uint32))
        self.tape.write(Batch(self.events, *columns, np.full(count, 0xFFFFFFFF, np.uint32)))
        self.events += count

    def locations(self) -> list[str]:
        trace = Trace.from_source(self.tape)
        assert trace.notation() == Trace.from_source(self.tape.reopened()).notation()
        return [event.target for event in trace.events()]


def expected(batches: int, count: int = 10) -> list[str]:
    return [f"x{i}" for i in range(batches) for _ in range(count)]


def test_a_small_recording_stays_in_memory() -> None:
    writing = Writing(most_in_memory=100)
    for i in range(5):
        writing.write()
        assert writing.locations() == expected(i + 1)
    assert writing.tape._directory is None
    writing.tape.finish()
    assert writing.locations() == expected(5)


def test_large_recording_goes_to_disk_until_closed() -> None:
    with Writing(most_in_memory=25).tape as empty:
        writing = Writing(most_in_memory=25)
        for i in range(9):
            writing.write()
            assert writing.locations() == expected(i + 1)
        writing.tape.finish()
        assert writing.locations() == expected(9)
        directory = writing.tape._directory
        assert directory is not None
        assert directory.is_dir()
        writing.tape.close()
        assert not directory.exists()
        assert empty.events == 0


@pytest.mark.parametrize("format", [None, "atomtrace", "std"])
def test_names_of_many_locations_leave_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str | None
) -> None:
    """What is on disk is read from there, and what is written of it has all names."""
    monkeypatch.setattr(tape, "MOST_SYMBOLS", 20)
    monkeypatch.setattr(Tape._forget_symbols, "__defaults__", (5,))
    writing = Writing(None if format is None else tmp_path / f"t.{format}")
    locations = writing.symbols.locations
    for i in range(50):
        locations.names.add(f"x{i}")
        locations.set(i, "field", f"f{i}")
        writing.add(i)
        writing.tape.flush()
    assert len(locations.names) - locations.names.dropped <= 15
    assert len(locations.columns["field"]) <= 15
    writing.meta.complete = True
    writing.tape.finish()
    assert [event.target for event in Trace.from_source(writing.tape).events()] == expected(50)
    assert [locations.get(i, "field") for i in range(50)] == [f"f{i}" for i in range(50)]
    saved = tmp_path / "saved.std"
    writing.tape.save(saved)
    for path in (saved, tmp_path / f"t.{format}")[: 1 + (format is not None)]:
        assert [event.target for event in atomsan.load(path).events()] == expected(50)
    writing.tape.close()


@pytest.mark.parametrize("most", [5, 100])
def test_warnings_of_the_recording_are_kept_wherever_it_is(most: int) -> None:
    writing = Writing(most_in_memory=most)
    writing.write()
    writing.meta.complete = True
    writing.meta.gaps.append("a gap")
    writing.meta.warnings += ["a glob", "a gap"]
    writing.tape.finish()
    for _ in range(2):
        source = writing.tape.reopened()
        list(source.batches())
        assert source.meta.warnings == ["a glob", "a gap"]
    writing.tape.close()


def test_a_path_is_written_from_the_beginning(tmp_path: Path) -> None:
    path = tmp_path / "t.atomtrace"
    writing = Writing(path)
    assert path.is_dir()
    writing.write()
    writing.now = 1.5
    writing.write()
    found = atomsan.load(path)
    assert [event.target for event in found.events()] == expected(2)
    assert not found.meta.complete
    assert (found.meta.program, found.meta.command_line) == ("bank.py", ["bank.py", "1"])
    writing.write()
    writing.meta.complete = True
    writing.meta.seconds = 2.0
    writing.tape.finish()
    found = atomsan.load(path)
    assert [event.target for event in found.events()] == expected(3)
    assert (found.meta.complete, found.meta.seconds, found.meta.warnings) == (True, 2.0, [])
    assert writing.locations() == expected(3)
    assert set(os.listdir(path)) == {"meta.json", "events.arrows", *(f"{name}.arrows" for name in TABLES)}


def test_idle_flushes_what_is_due(tmp_path: Path) -> None:
    writing = Writing(tmp_path / "t.atomtrace")
    recording = Recording(shared=False, language=PYTHON)
    recording.start(writing.tape)
    writing.write()
    recording.drain()
    assert len(atomsan.load(tmp_path / "t.atomtrace")) == 0
    writing.now = 1
    recording.drain()
    assert len(atomsan.load(tmp_path / "t.atomtrace")) == 10


def test_reader_sees_the_trace_as_it_was_opened(tmp_path: Path) -> None:
    """Events that come while it reads may use symbols that it did not read."""
    writing = Writing(tmp_path / "t.atomtrace", flush_seconds=0.0)
    writing.write()
    reader = open_trace(tmp_path / "t.atomtrace")
    writing.write()
    assert len(Trace.from_source(reader)) == 10
    assert len(atomsan.load(tmp_path / "t.atomtrace")) == 20


def test_later_changes_of_meta_are_written(tmp_path: Path) -> None:
    writing = Writing(tmp_path / "t.atomtrace")
    writing.meta.program = "other.py"
    writing.now = 5
    writing.write()
    assert atomsan.load(tmp_path / "t.atomtrace").meta.program == "other.py"


def test_another_format_is_written_at_the_end(tmp_path: Path) -> None:
    writing = Writing(tmp_path / "t.std")
    writing.write(2)
    assert not (tmp_path / "t.std").exists()
    writing.tape.finish()
    assert (tmp_path / "t.std").read_text() == "T1|r(x0)|-\n" * 2


@pytest.mark.parametrize("most", [5, 100])
@pytest.mark.parametrize("name", ["t.atomtrace", "t.std", "t.parquet"])
def test_saving(tmp_path: Path, most: int, name: str) -> None:
    writing = Writing(most_in_memory=most)
    writing.write()
    writing.meta.complete = True
    writing.tape.finish()
    writing.tape.save(tmp_path / name)
    assert [event.target for event in atomsan.load(tmp_path / name).events()] == expected(1)
    writing.tape.close()


def test_nothing_is_replaced_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "t.atomtrace"
    Writing(path).tape.finish()
    with pytest.raises(OutputError, match="exists already"):
        Writing(path)
    Writing(path, force=True).tape.finish()
    (tmp_path / "precious.atomtrace").mkdir()
    with pytest.raises(OutputError, match="not a trace bundle"):
        Writing(tmp_path / "precious.atomtrace", force=True)
    with pytest.raises(OutputError, match="cannot be written"):
        Writing(tmp_path / "missing" / "t.atomtrace")


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from recorder.log.test_tape import Writing
writing = Writing(Path({path!r}), flush_seconds=0.0)
while True:
    writing.now += 1
    writing.write(1000)
    print(writing.events, flush=True)
"""


@pytest.mark.parametrize("after", [1, 7, 40])
def test_trace_of_a_killed_writer_is_readable(tmp_path: Path, after: int) -> None:
    path = tmp_path / "t.atomtrace"
    program = KILLED.format(tests=str(TESTS), path=str(path))
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(after):
            flushed = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        process.wait()
    trace = Trace.from_source(open_trace(path))
    assert len(trace) >= flushed
    assert [event.target for event in trace.events()] == expected(len(trace) // 1000, 1000)
    assert not trace.meta.complete
    assert trace.meta.warnings


INSERTIONS = np.array([(2, 1, 1, 0, NO_SITE), (0, 0, 0, 0, NO_SITE), (2, 0, 1, 0, NO_SITE)], INSERTION_ROW)


@pytest.mark.parametrize("most_in_memory", [0, 2, 100])
def test_insertions_stand_where_they_belong(most_in_memory: int, tmp_path: Path) -> None:
    trace = atomsan.parse("T1:w(x) T2:w(x) T1:w(x) T2:r(x)")
    batch = next(iter(trace.batches()))
    with Tape(trace.symbols, trace.meta, most_in_memory=most_in_memory) as tape:
        tape.write(batch[:3])
        tape.flush()
        tape.insert(INSERTIONS)
        tape.write(batch[3:])
        tape.finish()
        expected = "T1:r(x) T1:w(x) T2:w(x) T2:w(x) T1:w(x) T1:w(x) T2:r(x)"
        assert Trace.from_source(tape.reopened()).notation() == expected
        tape.save(tmp_path / "copy.atomtrace")
        assert tape.events == 7
    assert Trace.from_source(open_trace(tmp_path / "copy.atomtrace")).notation() == expected


# --- no room in the temporary directory ---------------------------------------------------------------------------


def full_after(batches: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that has room for so many batches. The one that does not fit is there in part."""
    write, left = BundleWriter.write, [batches]

    def written(self: BundleWriter, batch: Batch) -> None:
        left[0] -= 1
        write(self, batch)
        if left[0] < 0:
            os.truncate(self._directory / "events.arrows", os.path.getsize(self._directory / "events.arrows") - 20)
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(BundleWriter, "write", written)


def full_for_metadata(self: BundleWriter, **_: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("room", [0, 2, 6, 7])
def test_tape_ends_where_there_is_no_room(room: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """If it is to leave memory, all that came by then stays there; later, what came before the last batch."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    said: list[str] = []
    writing = Writing(most_in_memory=50, on_full=said.append)
    full_after(room, monkeypatch)
    for _ in range(20):
        writing.write()
        writing.tape.flush()
    there = max(room, 6)
    assert said == [
        f"recording stopped after {10 * there} events: no room for more in {tmp_path}: No space left on device (TMPDIR)"
    ]
    writing.meta.complete, writing.meta.cut = False, said[0]
    writing.meta.sets = {"C": ["x"]}
    writing.tape.finish()
    assert writing.tape.events == 10 * there
    assert writing.locations() == expected(there)
    source = writing.tape.reopened()
    list(source.batches())
    assert (source.meta.missing, source.meta.sets, source.meta.source) == (said[0], {"C": ["x"]}, "test")
    report = atomsan.check(writing.tape)
    assert (report.verdict, report.cut, report.trace.events) == ("unknown", said[0], 10 * there)
    writing.tape.close()
    assert list(tmp_path.iterdir()) == []


def test_metadata_that_does_not_fit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    said: list[str] = []
    writing = Writing(most_in_memory=50, on_full=said.append)
    for _ in range(8):
        writing.write()
        writing.tape.flush()
    monkeypatch.setattr(BundleWriter, "_write_meta", full_for_metadata)
    writing.write()
    writing.tape.finish()
    assert len(said) == 1
    assert writing.locations() == expected(9)
    writing.tape.close()


def test_no_temporary_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    said: list[str] = []
    writing = Writing(most_in_memory=50, on_full=said.append)
    for _ in range(8):
        writing.write()
        writing.tape.flush()
    assert said == [
        f"recording stopped after 60 events: no room for more in {tmp_path}/nowhere: No such file or directory (TMPDIR)"
    ]
    assert writing.locations() == expected(6)


def test_bundle_that_was_asked_for_is_no_temporary_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said: list[str] = []
    writing = Writing(tmp_path / "t.atomtrace", on_full=said.append)
    full_after(0, monkeypatch)
    writing.write()
    with pytest.raises(OutputError, match="No space left"):
        writing.tape.flush()
    assert said == []
    writing.tape.close()


def test_temporary_directory_goes_with_the_tape(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Who forgets to close a tape, as whoever takes one from `atomsan.recording` does, leaves nothing behind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    writing = Writing(most_in_memory=50)
    for _ in range(8):
        writing.write()
        writing.tape.flush()
    writing.tape.finish()
    assert len(list(tmp_path.iterdir())) == 1
    assert exit_code(forked(lambda: atexit._run_exitfuncs())) == 0
    assert len(list(tmp_path.iterdir())) == 1, "a child that ends leaves it to its parent"
    source = writing.tape.reopened()
    del writing
    gc.collect()
    assert sum(map(len, source.batches())) == 80, "who reads it needs it"
    del source
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_insertions_of_a_bundle_that_grows(tmp_path: Path) -> None:
    trace = atomsan.parse("T1:w(x) T2:w(x) T1:w(x)")
    batch = next(iter(trace.batches()))
    tape = Tape(trace.symbols, trace.meta, tmp_path / "run.atomtrace")
    tape.write(batch)
    tape.insert(INSERTIONS[:1])
    tape.flush()
    assert Trace.from_source(open_trace(tmp_path / "run.atomtrace")).notation() == "T1:w(x) T2:w(x) T2:w(x) T1:w(x)"
    tape.insert(INSERTIONS[1:])
    tape.finish()
    found = Trace.from_source(open_trace(tmp_path / "run.atomtrace"))
    assert found.notation() == "T1:r(x) T1:w(x) T2:w(x) T2:w(x) T1:w(x) T1:w(x)"
    assert found.meta.complete
