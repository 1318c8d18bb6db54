"""Environment variables that AtomSan sets for its own process, and the original environment for recorded programs."""

from __future__ import annotations

import os

# We do no linear algebra, and the threads that numpy would start for it begin with 0.1 s of busy waiting.
_FOR_US = {"OPENBLAS_NUM_THREADS": "1"}

_set_by_us: set[str] = set()


def prepare() -> None:
    """Set the variables that make this process start faster, unless the user has set them."""
    for name, value in _FOR_US.items():
        if name not in os.environ:
            os.environ[name] = value
            _set_by_us.add(name)


def for_program() -> dict[str, str]:
    """The environment for a recorded program: as the user gave it, without our variables."""
    return {name: value for name, value in os.environ.items() if name not in _set_by_us}
