"""Environment variables that AtomSan sets for itself, and hides from the program that it runs.

A program that we run must not get what we set: its environment is the one that we were given.
"""

from __future__ import annotations

import os

# We do no linear algebra. The threads that numpy would start for it begin with 0.1 s of busy waiting.
_FOR_US = {"OPENBLAS_NUM_THREADS": "1"}

_set_by_us: set[str] = set()


def prepare() -> None:
    """Set what makes this process start faster, where the user has not set it."""
    for name, value in _FOR_US.items():
        if name not in os.environ:
            os.environ[name] = value
            _set_by_us.add(name)


def for_program() -> dict[str, str]:
    """The environment for a program that is run: as we were given it."""
    return {name: value for name, value in os.environ.items() if name not in _set_by_us}
