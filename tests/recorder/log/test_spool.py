"""The spool: logs of forked processes are found, read and taken away."""

from __future__ import annotations

import os
import signal
import struct
import time
from pathlib import Path

from atomsan.recorder.log.ring import RingReader
from atomsan.recorder.log.spool import create_spooled, has_live_writer, open_spooled, spool_directory, spooled
from forking import forked


def test_logs_of_forked_processes(tmp_path: Path) -> None:
    """They are found by name; whether their process lives shows without asking it."""

    def write() -> None:
        written = create_spooled(str(tmp_path), 1)
        os.write(written.definition_file, b'["set", {}]\n')
        time.sleep(60)

    pid = forked(write)
    try:
        while not (found := spooled(str(tmp_path))):
            assert os.waitpid(pid, os.WNOHANG) == (0, 0), "it has not failed"
            time.sleep(0.001)
        assert [number for number, _ in found] == [pid]
        log = open_spooled(found[0][1])
        assert os.listdir(tmp_path) == []
        assert has_live_writer(log)
        assert RingReader(log.memory).available() == 0
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert not has_live_writer(log)
    log.stop()
    assert struct.unpack_from("=I", log.memory, 40) == (1,)
    log.close()


def test_a_spool_is_there_as_long_as_it_is_wanted() -> None:
    with spool_directory(False) as nowhere:
        assert nowhere is None
    with spool_directory(True) as directory:
        assert directory is not None
        assert os.listdir(directory) == []
    assert not os.path.exists(directory)
