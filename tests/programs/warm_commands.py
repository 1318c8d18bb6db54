"""Runs `atomsan` commands, each in a fork of a process that has imported AtomSan: imports are a third of a small run.

    python tests/programs/warm_commands.py        the process that is forked: a command a line on standard input

`WarmCommands` starts that process and talks to it. A command is a JSON object: its arguments, the files for its output,
and the seconds it may take. The answer is its exit code, negative for the signal that ended it.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

# What a run imports in the recording process. Of the recorder, only the part that knows no Python program: the rest
# is imported by the process that is recorded, which is a new one each time.
ROOMS = ("cli", "config", "flow", "trace", "checkers", "predictors", "findings", "reports", "recorder.log")


class WarmCommands:
    """Runs commands one after the other, in forks of one process."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._server = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(environment)
        )
        atexit.register(self._end)

    def run(self, arguments: Sequence[str], *, output: Path, errors: Path, seconds: int) -> int:
        """The exit code of `atomsan` with these arguments; what it prints goes to two files."""
        asked, answers = self._server.stdin, self._server.stdout
        assert asked
        assert answers
        asked.write(json.dumps([list(arguments), str(output), str(errors), seconds]) + "\n")
        asked.flush()
        answer = answers.readline()
        assert answer, "the process that runs the commands has ended"
        return int(answer)

    def _end(self) -> None:
        self._server.communicate()


def serve() -> None:
    from atomsan import env

    env.prepare()
    for room in ROOMS:
        package = import_module(f"atomsan.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        arguments, output, errors, seconds = json.loads(line)
        print(_ended(arguments, output, errors, seconds), flush=True)


def _ended(arguments: list[str], output: str, errors: str, seconds: int) -> int:
    child = os.fork()
    if not child:
        _become(arguments, output, errors)
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(child, signal.SIGKILL))
    signal.alarm(seconds)
    _, status = os.waitpid(child, 0)
    signal.alarm(0)
    return os.waitstatus_to_exitcode(status)


def _become(arguments: list[str], output: str, errors: str) -> NoReturn:
    """The fork: it is `atomsan` now, in a process group of its own."""
    from atomsan.cli.main import main

    code = 70
    try:
        os.setpgid(0, 0)
        for number, path in ((1, output), (2, errors)):
            opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(opened, number)
            os.close(opened)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        sys.argv = ["atomsan", *arguments]
        code = main()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve()
