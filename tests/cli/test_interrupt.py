"""Ctrl-C during a verb: exit code 3, results so far, and no incomplete output that looks complete."""

from __future__ import annotations

import fcntl
import json
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import IO

import pytest

from cli.running import Ran, command, environment, leftovers

# More than a batch of a million events, so that something is known; the rest never comes.
LINES = b"".join(b"T%d|w(V%d)|%d\n" % (i % 3, i % 50, i % 9) for i in range(10_000))


def waiting(pipe: IO[bytes]) -> int:
    """The number of unread bytes in a pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def interrupted(*arguments: str, blocks: int = 300) -> Ran:
    """Run a command on an endless standard input, and interrupt it while it waits for more."""
    with subprocess.Popen(
        command(*arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as running:
        assert running.stdin
        assert running.stdout
        assert running.stderr
        running.stdin.write(b"T1|r(x)|1\n" + LINES * blocks)
        running.stdin.flush()
        while waiting(running.stdin):
            time.sleep(0.01)
        time.sleep(0.3)
        running.send_signal(signal.SIGINT)
        try:
            code = running.wait(20)
        finally:
            running.kill()
        return Ran(code, running.stdout.read().decode(), running.stderr.read().decode())


@pytest.mark.parametrize("name", ["t.atomtrace", "t.parquet", "t.std", "t.csv.gz"])
def test_convert_leaves_nothing(tmp_path: Path, name: str) -> None:
    assert interrupted("convert", "-", name) == (3, "", "atomsan: interrupted\n")
    assert leftovers(tmp_path) == set()


def test_interrupt_before_the_first_batch_is_full(tmp_path: Path) -> None:
    assert interrupted("convert", "-", "t.std", blocks=0) == (3, "", "atomsan: interrupted\n")
    assert leftovers(tmp_path) == set()


def test_stats_shows_the_counts_so_far() -> None:
    ran = interrupted("stats", "-", "--format", "json")
    trace = json.loads(ran.out)["trace"]
    assert ran.code == 3
    assert ran.err == f"atomsan: interrupted after {trace['events']:,} events\n"
    assert trace["events"] >= 1_000_000
    assert trace["complete"] is False


def test_validate_stops_at_once() -> None:
    Path("good.std").write_bytes(LINES)
    ran = interrupted("validate", "-", "good.std")
    assert ran.code == 3
    assert ran.out.startswith("standard input: well-formed, interrupted, ")
    assert "good.std" not in ran.out
