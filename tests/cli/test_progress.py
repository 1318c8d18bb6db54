"""The progress bar: on a terminal, and nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from cli.running import Atomsan, command, environment, process

EXAMPLES = Path(__file__).parents[2] / "examples"


def on_a_terminal(*arguments: str, python: str | None = None) -> str:
    """The standard error of a command, which is a terminal; of a program that takes its arguments, if there is one."""
    words = command(*arguments) if python is None else [sys.executable, "-c", python, *arguments]
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        words, stderr=theirs, stdout=subprocess.DEVNULL, env=environment(TERM="xterm", COLUMNS="150")
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


def test_progress_of_a_prediction(atomsan: Atomsan) -> None:
    """Of the passes, and of what reads nothing."""
    atomsan("record", "-o", "bank.atomtrace", "--quiet", str(EXAMPLES / "bank_fixed.py"))
    said = on_a_terminal("predict", "bank.atomtrace")
    for part in ("predicting", "predicting: comparing units", "predicting: looking for orders that show it"):
        assert part in said


def test_progress_of_a_run_is_shown_if_it_takes_long() -> None:
    assert "predicting" not in on_a_terminal("run", str(EXAMPLES / "bank_fixed.py"))
    program = """
import sys, time
from atomsan.cli import main, run
from atomsan.flow import predict
run.BAR_AFTER = 0.1
answers = predict._ANSWERS["commit-node"]
predict._ANSWERS["commit-node"] = lambda analysis: time.sleep(1) or answers(analysis)
main.main(sys.argv[1:])
"""
    said = on_a_terminal("run", str(EXAMPLES / "bank_fixed.py"), python=program)
    assert "predicting: comparing units" in said


def test_no_progress_is_shown_in_a_pipe(trace: str) -> None:
    assert process("stats", trace).err == ""
