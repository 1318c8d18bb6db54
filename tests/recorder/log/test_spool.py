"""The spool: logs of forked processes are found, read and taken away; nothing is left of a killed reader."""

from __future__ import annotations

import errno
import os
import signal
import struct
import time
from pathlib import Path

import pytest

from atomsan.recorder.log import ring as rings
from atomsan.recorder.log import spool as spools
from atomsan.recorder.log.ring import RingReader
from atomsan.recorder.log.spool import (
    create_spooled,
    has_live_writer,
    has_reader,
    lock_of_reader,
    open_spooled,
    remove_orphans,
    spool_directory,
    spooled,
)
from forking import exit_code, forked


@pytest.fixture(autouse=True)
def _in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spools, "IN_MEMORY", str(tmp_path))


def orphan() -> str:
    """A spool whose reader was killed."""

    def read() -> None:
        with spool_directory(True) as directory:
            assert directory is not None
            Path(lock_of_reader(directory)).with_name("1-1.ring").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    assert exit_code(forked(read)) == -signal.SIGKILL
    (found,) = os.listdir(spools.IN_MEMORY)
    return os.path.join(spools.IN_MEMORY, found)


def test_logs_of_forked_processes() -> None:
    """They are found by name; whether their process lives shows without asking it."""

    def write() -> None:
        written = create_spooled(directory, 1)
        assert written is not None
        os.write(written.definition_file, b'["set", {}]\n')
        time.sleep(60)

    with spool_directory(True) as directory:
        assert directory is not None
        child = forked(write)
        try:
            while not (found := spooled(directory)):
                assert os.waitpid(child, os.WNOHANG) == (0, 0), "it has not failed"
                time.sleep(0.001)
            assert [number for number, _ in found] == [child]
            log = open_spooled(found[0][1])
            assert spooled(directory) == []
            assert has_live_writer(log)
            assert RingReader(log.memory).available() == 0
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    assert not has_live_writer(log)
    log.stop()
    assert struct.unpack_from("=I", log.memory, 40) == (1,)
    log.close()


def test_a_spool_is_there_as_long_as_it_is_wanted() -> None:
    with spool_directory(False) as nowhere:
        assert nowhere is None
    with spool_directory(True) as directory:
        assert directory is not None
        assert spooled(directory) == []
        assert has_reader(directory)
    assert not os.path.exists(directory)


def test_process_adds_nothing_to_a_spool_without_a_reader() -> None:
    left = orphan()
    assert not has_reader(left)
    assert create_spooled(left, 1) is None
    assert not os.path.exists(left)
    assert create_spooled(left, 1) is None


def test_next_reader_removes_what_a_killed_one_has_left() -> None:
    left = orphan()
    with spool_directory(True) as directory:
        assert directory is not None
        assert not os.path.exists(left)
        remove_orphans(spools.IN_MEMORY)
        assert has_reader(directory), "one that lives is left alone"


def test_only_orphans_are_removed(tmp_path: Path) -> None:
    """Not what has another name, is being made, or leads elsewhere."""
    (tmp_path / "atomsan-spool-new").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "reader").touch()
    (tmp_path / "atomsan-spool-link").symlink_to(tmp_path / "other")
    before = sorted(path.name for path in tmp_path.rglob("*"))
    remove_orphans(str(tmp_path))
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


def full_above(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system in which files may have so many bytes."""

    def allocate(descriptor: int, start: int, size: int) -> None:
        if start + size > most:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(rings, "PLENTY", 1 << 62)
    monkeypatch.setattr(os, "posix_fallocate", allocate)


@pytest.mark.parametrize(("most", "records"), [(1 << 20, 16384), (1 << 19, 4096), (1 << 16, 1024)])
def test_ring_is_as_large_as_there_is_room_for(most: int, records: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """To write to memory for which there is none would end the process."""
    full_above(most, monkeypatch)
    with spool_directory(True) as directory:
        assert directory is not None
        written = create_spooled(directory, 1 << 19)
        assert written is not None
        assert RingReader(written.memory).capacity == records
        written.close()


def test_log_for_which_there_is_no_room_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    full_above(0, monkeypatch)
    with spool_directory(True) as directory:
        assert directory is not None
        with pytest.raises(OSError, match="No space left"):
            create_spooled(directory, 1 << 19)
        assert os.listdir(directory) == ["reader"]
