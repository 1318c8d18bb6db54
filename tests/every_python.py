"""Runs the test suite on every Python from 3.11 up on this machine: `python tests/every_python.py [--only 3.12]`.

Each gets a virtual environment of its own under build/python-X.Y, with the package installed as a user installs it, and
runs the tests in a copy of this repository, so that the installed package is tested and not the sources. Needs nothing
but the standard library.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
OLDEST = (3, 11)
EXPECTED = ((3, 11), (3, 12), (3, 13), (3, 14))

# Leaves out everything built: each Python must find only the modules that it compiled itself.
NOT_COPIED = shutil.ignore_patterns("build", "dist", ".*", "*.so", "*.c", "*.egg-info", "__pycache__")

IDENTIFY = "import os, sys; print(sys.implementation.name, *sys.version_info[:3], os.path.realpath(sys.executable))"

Version = tuple[int, int]


class Python(NamedTuple):
    """A working interpreter."""

    version: tuple[int, int, int]
    path: Path

    @property
    def minor(self) -> Version:
        return self.version[:2]

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.version))}  {self.path}"


class Result(NamedTuple):
    python: Python
    outcome: str
    seconds: float


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--only", action="append", metavar="X.Y", help="only this version; can be given again")
    parser.add_argument("--list", action="store_true", help="show which are there, and stop")
    options = parser.parse_args()
    pythons = find_pythons()
    show(pythons)
    if options.list:
        return 0
    chosen = [python for python in pythons if not options.only or dotted(python.minor) in options.only]
    if not chosen:
        print("none of them was chosen")
        return 1
    return report([run_on(python) for python in chosen])


def find_pythons() -> list[Python]:
    """The newest interpreter of each minor version."""
    newest: dict[Version, Python] = {}
    seen: set[Path] = set()
    for path in candidates():
        python = identify(path)
        if python is None or python.minor < OLDEST or python.path in seen:
            continue
        seen.add(python.path)
        if python.minor not in newest or newest[python.minor].version < python.version:
            newest[python.minor] = python
    return sorted(newest.values())


def candidates() -> Iterator[Path]:
    """Possible interpreters: the one that runs this, those on the PATH, and those of pyenv."""
    yield Path(sys.executable)
    for directory in os.get_exec_path():
        yield from python_commands(Path(directory))
    for root in pyenv_roots():
        for version in (root / "versions").glob("*/bin"):
            yield from python_commands(version)


def python_commands(directory: Path) -> list[Path]:
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return []
    return [directory / name for name in names if re.fullmatch(r"python3\.\d+", name)]


def pyenv_roots() -> set[Path]:
    roots = {Path.home() / ".pyenv"}
    if root := os.environ.get("PYENV_ROOT"):
        roots.add(Path(root))
    if pyenv := shutil.which("pyenv"):
        answer = subprocess.run([pyenv, "root"], capture_output=True, text=True, check=False).stdout.strip()
        roots |= {Path(answer)} if answer else set()
    return {root.resolve() for root in roots}


def identify(path: Path) -> Python | None:
    """The version and real path of an interpreter; None if it does not start or is not CPython."""
    try:
        answer = subprocess.run([path, "-c", IDENTIFY], capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    name, major, minor, micro, real = answer.rstrip("\n").split(" ", 4)
    return Python((int(major), int(minor), int(micro)), Path(real)) if name == "cpython" else None


def show(pythons: list[Python]) -> None:
    by_minor = {python.minor: python for python in pythons}
    for version in sorted({*EXPECTED, *by_minor}):
        print(f"Python {dotted(version)}: {by_minor.get(version, 'not found')}")


def dotted(version: Version) -> str:
    return ".".join(map(str, version))


def run_on(python: Python) -> Result:
    """Install the package for one Python and run the tests there."""
    print(f"\n=== Python {python}", flush=True)
    start = time.monotonic()
    home = BUILD / f"python-{dotted(python.minor)}"
    shutil.rmtree(home, ignore_errors=True)
    copy = shutil.copytree(ROOT, home / "copy", ignore=NOT_COPIED)
    outcome = "not installed"
    if install(python, home / "venv", copy):
        outcome = "passed" if run_tests(home / "venv", copy) else "failed"
    return Result(python, outcome, time.monotonic() - start)


def install(python: Python, venv: Path, copy: Path) -> bool:
    """A fresh environment with the package and what its tests need."""
    pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    commands = [
        [str(python.path), "-m", "venv", str(venv)],
        [*pip, "--upgrade", "pip>=25.1"],  # the first with dependency groups
        [*pip, ".", "--group", "test"],
    ]
    return all(subprocess.run(command, cwd=copy, check=False).returncode == 0 for command in commands)


def run_tests(venv: Path, copy: Path) -> bool:
    """Run the tests as in an activated environment."""
    path = os.pathsep.join([str(venv / "bin"), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path, "VIRTUAL_ENV": str(venv)}
    environment.pop("PYTHONPATH", None)
    command = [str(venv / "bin" / "python"), "-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal"]
    return subprocess.run(command, cwd=copy, env=environment, check=False).returncode == 0


def report(results: list[Result]) -> int:
    print(f"\n{'Python':10}{'result':15}{'seconds':>8}")
    for result in results:
        print(f"{'.'.join(map(str, result.python.version)):10}{result.outcome:15}{result.seconds:8.0f}")
    return 0 if all(result.outcome == "passed" for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
