"""Children of tests end by themselves, and nowhere else than where they were forked."""

from __future__ import annotations

import ast
import os
import warnings
from pathlib import Path

import pytest

from forking import exit_code, forked

TESTS = Path(__file__).parent


def test_child_ends_with_what_it_does() -> None:
    assert exit_code(forked(lambda: None)) == 0
    assert exit_code(forked(lambda: os._exit(7))) == 7


def test_child_that_raises_does_not_come_back(capfd: pytest.CaptureFixture[str]) -> None:
    def warn() -> None:
        warnings.simplefilter("error")
        warnings.warn("raised", stacklevel=1)

    assert exit_code(forked(warn)) == 1
    assert "UserWarning: raised" in capfd.readouterr().err


@pytest.mark.parametrize("in_child", [True, False])
def test_fork_that_raises(in_child: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """As it does in a process with threads, where warnings are errors."""
    fork, children = os.fork, []

    def warning() -> int:
        children.append(fork())
        if (children[0] == 0) == in_child:
            raise DeprecationWarning("threads")
        return children[0]

    monkeypatch.setattr(os, "fork", warning)
    if in_child:
        assert exit_code(forked(lambda: None)) == 1
    else:
        with pytest.raises(DeprecationWarning):
            forked(lambda: None)
        assert exit_code(children[0]) == 0
    assert ("DeprecationWarning: threads" in capfd.readouterr().err) == in_child


def test_tests_fork_in_one_place() -> None:
    """A child that goes on with the tests can end in what the test does with its child: `os.kill(0, ...)`, say."""
    found = []
    for path in TESTS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "os.fork":
                found.append(str(path.relative_to(TESTS)))
    # the second is no test: a server of commands, each in a fork
    assert sorted(set(found)) == ["forking.py", "programs/warm_commands.py"]
