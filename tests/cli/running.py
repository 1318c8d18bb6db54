"""Running `atomsan`: in a process of its own, as users do, or inside this one, which is faster."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import atomsan
from atomsan.cli.main import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class Atomsan:
    """`atomsan(...)` runs a command line in this process, with the directory of the test as the current one."""

    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd

    def __call__(self, *arguments: str | Path) -> Ran:
        self._capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        return Ran(code, *self._capfd.readouterr())


def command(*arguments: str | Path) -> list[str]:
    """The command line that a process runs."""
    return [sys.executable, "-m", "atomsan", *map(str, arguments)]


def environment(**more: str) -> dict[str, str]:
    """The environment, with this package first on the path."""
    return {**os.environ, "PYTHONPATH": str(Path(atomsan.__file__).parents[1]), **more}


def process(*arguments: str | Path, before: Callable[[], Any] | None = None, **options: Any) -> Ran:
    """Run a command line in a process of its own; `before` runs in it first."""
    ran = subprocess.run(
        command(*arguments),
        stdout=options.pop("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
        env=options.pop("env", environment()),
        preexec_fn=before,
        timeout=60,
        **options,
    )
    return Ran(ran.returncode, (ran.stdout or b"").decode(), ran.stderr.decode())


def leftovers(directory: Path) -> set[str]:
    """All entries of a directory, including hidden files."""
    return set(os.listdir(directory))


def assert_refused(ran: Ran, *words: str, code: int = 2) -> None:
    """There is one line on standard error, with all the words, and no traceback."""
    assert ran.code == code, ran
    assert ran.err.startswith("atomsan: "), ran
    assert ran.err.count("\n") == 1, ran
    assert "Traceback" not in ran.err
    for word in words:
        assert word in ran.err, (word, ran.err)
