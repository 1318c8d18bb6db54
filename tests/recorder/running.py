"""Records a small program that uses a library, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

# A library: Python code that is not recorded.
LIBRARY = """
    import functools

    def call(function, *arguments):
        return function(*arguments)

    def deep(depth, function):
        return deep(depth - 1, function) if depth else function()

    def each(iterable):
        return [element for element in iterable]

    def decorated(function):
        @functools.wraps(function)
        def wrapper(*arguments):
            return function(*arguments)
        return wrapper

    def decorated_coroutine(function):
        @functools.wraps(function)
        async def wrapper(*arguments):
            return await function(*arguments)
        return wrapper

    async def awaiting(function):
        return await function()

    class Attribute:
        def __init__(self, function):
            self.function = function

        def __get__(self, instance, owner):
            return self.function(instance)

        def __set__(self, instance, value):
            self.function(instance)

    class Base:
        def template(self):
            return self.step()

        def __init__(self):
            self.made()

    class Runner:
        def run(self, test):
            for name in dir(test):
                if name.startswith("check"):
                    getattr(test, name)()
"""


def recorded(directory: Path, program: str, options: Sequence[str] = (), **modules: str) -> Path:
    """The trace of a program, which can import the library and these modules of its own."""
    (directory / "libraries").mkdir()
    (directory / "libraries" / "library.py").write_text(textwrap.dedent(LIBRARY))
    project = directory / "project"
    project.mkdir()
    (project / "pyproject.toml").touch()
    for name, source in {**modules, "program": program}.items():
        (project / f"{name}.py").write_text(textwrap.dedent(source))
    trace = directory / "t.atomtrace"
    command = [sys.executable, "-m", "atomsan", "record", "--quiet", *options, "-o", str(trace), "program.py"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=project,
        timeout=120,
        env={"PYTHONPATH": str(directory / "libraries"), "HOME": str(directory)},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return trace
