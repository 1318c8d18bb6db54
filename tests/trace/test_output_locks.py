"""One output is written by one process at a time, and a lock of a process that was killed locks nothing."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import atomsan
from atomsan.errors import OutputError
from atomsan.trace.bundle import BundleWriter
from atomsan.trace.output_locks import OutputLock
from atomsan.trace.output_paths import RecordingOutput
from forking import forked

REFUSED = "is being written by another recording or conversion"


@contextmanager
def another_process(work: Callable[[], object]) -> Iterator[int]:
    """A fork that has done this work and then sleeps; its number."""
    is_done, done = os.pipe()

    def act() -> None:
        work()
        os.write(done, b"x")
        time.sleep(60)

    child = forked(act)
    os.close(done)
    try:
        assert os.read(is_done, 1) == b"x"
        yield child
    finally:
        os.close(is_done)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_second_lock_is_refused_until_the_first_is_released(tmp_path: Path) -> None:
    first = OutputLock(tmp_path / "t.atomtrace")
    with pytest.raises(OutputError, match=rf"t\.atomtrace: {REFUSED}"):
        OutputLock(tmp_path / "t.atomtrace")
    OutputLock(tmp_path / "u.atomtrace").release()
    first.release()
    first.release()
    OutputLock(tmp_path / "t.atomtrace").release()
    assert list(tmp_path.iterdir()) == []


def test_output_has_one_lock_by_whatever_name_its_directory_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    lock = OutputLock(Path("t.std"))
    for name in (tmp_path / "t.std", tmp_path / "link" / "t.std", Path("link/../t.std")):
        with pytest.raises(OutputError, match=REFUSED):
            OutputLock(name)
    lock.release()


def test_output_with_the_longest_name_is_locked(tmp_path: Path) -> None:
    name = "ü" * 122 + ".atomtrace"
    with atomsan.recording(tmp_path / name), pytest.raises(OutputError, match=REFUSED):
        OutputLock(tmp_path / name)
    OutputLock(tmp_path / ("a" + name[1:])).release()
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_lock_of_another_process_is_gone_when_that_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "t.atomtrace"
    with another_process(lambda: OutputLock(path)), pytest.raises(OutputError, match=REFUSED):
        OutputLock(path)
    assert (tmp_path / ".t.atomtrace.lock").exists(), "its file is left behind"
    OutputLock(path).release()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_has_forked_keeps_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "t.atomtrace"

    def lock_and_fork() -> None:
        lock = OutputLock(path)

        def act() -> None:
            lock.release()  # does nothing: it is its parent's
            time.sleep(60)

        (tmp_path / "child").write_text(str(forked(act)))

    with another_process(lock_and_fork), pytest.raises(OutputError, match=REFUSED):
        OutputLock(path)
    child = int((tmp_path / "child").read_text())
    try:
        os.kill(child, 0)
        OutputLock(path).release()
    finally:
        os.kill(child, signal.SIGKILL)


def test_lock_file_that_was_removed_by_hand_leaves_the_lock_of_the_next(tmp_path: Path) -> None:
    first = OutputLock(tmp_path / "t.std")
    os.unlink(tmp_path / ".t.std.lock")
    with another_process(lambda: OutputLock(tmp_path / "t.std")):
        first.release()
        with pytest.raises(OutputError, match=REFUSED):
            OutputLock(tmp_path / "t.std")


@pytest.mark.parametrize("kind", ["link", "directory"])
def test_what_is_no_lock_file_is_neither_followed_nor_replaced(kind: str, tmp_path: Path) -> None:
    lock = tmp_path / ".t.std.lock"
    if kind == "link":
        lock.symlink_to(tmp_path / "elsewhere")
    else:
        lock.mkdir()
    with pytest.raises(OutputError, match=r"t\.std: cannot be written: .*\.t\.std\.lock: "):
        OutputLock(tmp_path / "t.std")
    assert not (tmp_path / "elsewhere").exists()
    assert os.path.lexists(lock)


@pytest.mark.parametrize("name", ["t.atomtrace", "t.std", "t.csv", "t.parquet"])
def test_recording_and_saving_are_refused_while_another_process_writes(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    trace = atomsan.parse("T0:r(x)")
    trace.save(path)
    with another_process(lambda: OutputLock(path)):
        with pytest.raises(OutputError, match=REFUSED):
            trace.save(path, force=True)
        with pytest.raises(OutputError, match=REFUSED), atomsan.recording(path, force=True):
            pass
    assert atomsan.load(path).notation() == trace.notation(), "nothing was changed"
    with atomsan.recording(path, force=True):
        pass
    assert {one.name for one in tmp_path.iterdir()} == {name}


def test_recording_locks_its_output_and_lets_it_go(tmp_path: Path) -> None:
    path = tmp_path / "t.atomtrace"
    with atomsan.recording(path), pytest.raises(OutputError, match=REFUSED):
        atomsan.parse("T1:r(x)").save(path, force=True)
    atomsan.parse("T1:r(x)").save(path, force=True)
    assert {one.name for one in tmp_path.iterdir()} == {"t.atomtrace"}


@pytest.mark.parametrize("step", ["__init__", "write", "finish"])
def test_recording_that_could_not_be_written_leaves_no_lock(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "t.atomtrace"
    with monkeypatch.context() as patched:
        patched.setattr(BundleWriter, step, full)
        with pytest.raises(OutputError, match="No space left"), atomsan.recording(path) as tape:
            tape.write(next(iter(atomsan.parse("T1:r(x)").batches())))
    OutputLock(path).release()
    assert {one.name for one in tmp_path.iterdir()} == {"t.atomtrace"}


def test_output_that_cannot_be_made_is_not_locked(tmp_path: Path) -> None:
    (tmp_path / "t.atomtrace").mkdir()
    for name in ("t.atomtrace", "missing/t.atomtrace"):
        with pytest.raises(OutputError, match=r"not a trace bundle|cannot be written"):
            RecordingOutput(tmp_path / name, force=True)
    assert {one.name for one in tmp_path.iterdir()} == {"t.atomtrace"}


def test_output_that_another_process_has_begun_is_being_written(tmp_path: Path) -> None:
    """A bundle of which there is the directory, and nothing in it yet, is no strange directory."""
    path = tmp_path / "t.atomtrace"
    with another_process(lambda: RecordingOutput(path, force=False)):
        for _ in range(2):
            with pytest.raises(OutputError, match=REFUSED):
                RecordingOutput(path, force=True)
    with pytest.raises(OutputError, match="not a trace bundle"):
        RecordingOutput(path, force=True)
