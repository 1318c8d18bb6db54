"""The progress bar: on a terminal, and nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess

import pytest

from cli.running import Atomsan, command, environment, process


def on_a_terminal(*arguments: str) -> str:
    """The standard error of a command, which is a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command(*arguments), stderr=theirs, stdout=subprocess.DEVNULL, env=environment(TERM="xterm", COLUMNS="150")
    ) as running:
        os.close(theirs)
        said = b""
        try:
            while piece := os.read(ours, 1 << 16):
                said += piece
        except OSError:  # how a terminal says that the other side is gone
            pass
        assert running.wait(30) == 0
    os.close(ours)
    return said.decode()


@pytest.fixture
def trace(atomsan: Atomsan) -> str:
    assert atomsan("generate", "--events", "2_500_000", "-o", "t.std", "--quiet").err == ""
    return "t.std"


def test_progress_is_shown_on_a_terminal(trace: str) -> None:
    said = on_a_terminal("stats", trace)
    assert "counting" in said
    assert "2,500,000 events" in said
    assert "events/s" in said
    assert on_a_terminal("stats", trace, "--quiet") == ""
    assert "validating" in on_a_terminal("validate", trace)
    assert "checking" in on_a_terminal("check", trace)
    assert "checking" in on_a_terminal("refine", trace, "-o", "spec.toml")
    assert "converting" in on_a_terminal("convert", trace, "t.atomtrace")
    assert "generating" in on_a_terminal("generate", "-o", "u.std", "--events", "1_100_000")


def test_no_progress_is_shown_in_a_pipe(trace: str) -> None:
    assert process("stats", trace).err == ""
