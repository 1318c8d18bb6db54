"""Records small programs of two threads, in which one thread does its part exactly where the other says `turn()`."""

from __future__ import annotations

import importlib
import mmap
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import atomsan
from atomsan import Report

HEAD = """
import threading
from findings.staged import turn

class Box:
    def __init__(self):
        self.lock = threading.Lock()
        self.x = self.y = 0
        self.made = None
        self.items, self.table, self.names = [], {}, set()

    def get(self):
        with self.lock:
            return self.x

    def set(self, value):
        with self.lock:
            self.x = value

    def add(self):
        with self.lock:
            self.x += 1

    def show(self):
        with self.lock:
            return self.y

box, other_box = Box(), Box()
"""

# not watched: whose turn it is
_whose = mmap.mmap(-1, 1)
_numbers = count()


def turn() -> None:
    """Let the other thread do its part now, if it has not yet."""
    if _whose[0] == 0:
        _whose[0] = 1
        _wait_for(2)


def _wait_for(value: int) -> None:
    deadline = time.monotonic() + 60
    while _whose[0] != value:
        if time.monotonic() > deadline:
            raise TimeoutError("the other thread does not go on")
        time.sleep(0.0005)


def _second(work: Callable[[], object]) -> None:
    _wait_for(1)
    work()
    _whose[0] = 2


def staged(directory: Path, unit: str, other: str, more: str = "") -> Report:
    """The check of a program in which one thread does `unit()`, and another does `other()` where that says `turn()`."""
    name = f"staged_{next(_numbers)}"
    parts = (HEAD, textwrap.dedent(more), *map(_function, ("unit", "other"), (unit, other)))
    (directory / f"{name}.py").write_text("\n".join(parts))
    _whose[0] = 0
    sys.path.insert(0, str(directory))
    try:
        with atomsan.recording(include=[f"{directory}/*"], omit=[__name__]) as tape:
            program = importlib.import_module(name)
            threads = [
                threading.Thread(target=program.unit),
                threading.Thread(target=_second, args=(program.other,)),
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.path.remove(str(directory))
        sys.modules.pop(name, None)
    assert _whose[0] == 2, "nobody said whose turn it is"
    return atomsan.check(tape)


def _function(name: str, body: str) -> str:
    return f"def {name}():\n" + textwrap.indent(textwrap.dedent(body).strip(), "    ") + "\n"
