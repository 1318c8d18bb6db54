"""The spool: a directory where the processes that a program forks put their logs, for the reader of the program's log.

Each process has two files, a ring and its definitions. The ring gets its final name last, when both can be read.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from atomsan.recorder.log.ring import RING_BYTES, SharedLog, capacity_of, map_shared_ring, move_descriptor_high

_RING_SUFFIX, _DEFINITIONS_SUFFIX = ".ring", ".definitions"


def create_spooled(directory: str, ring_bytes: int = RING_BYTES) -> SharedLog:
    """A log for this process. Whoever reads it sees by a lock on the definitions whether this process still lives."""
    name = os.path.join(directory, f"{os.getpid()}-{time.monotonic_ns()}")
    definition_file = _new_file(name + _DEFINITIONS_SUFFIX)
    fcntl.lockf(definition_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    ring_file = _new_file(name + ".new")
    memory = map_shared_ring(ring_file, capacity_of(ring_bytes))
    os.rename(name + ".new", name + _RING_SUFFIX)
    return SharedLog(memory, ring_file, definition_file)


def open_spooled(path: str) -> SharedLog:
    """The reader's side. The files lose their names: they are gone when nobody has them open."""
    definitions = path.removesuffix(_RING_SUFFIX) + _DEFINITIONS_SUFFIX
    definition_file = os.open(definitions, os.O_RDWR | os.O_CLOEXEC)
    ring_file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    os.unlink(path)
    os.unlink(definitions)
    return SharedLog(mmap.mmap(ring_file, 0), ring_file, definition_file)


def spooled(directory: str) -> list[tuple[int, str]]:
    """The logs in the directory: the number of the process, and the path."""
    found = []
    for name in sorted(os.listdir(directory)):
        number = name.partition("-")[0]
        if name.endswith(_RING_SUFFIX) and number.isdecimal():
            found.append((int(number), os.path.join(directory, name)))
    return found


def has_live_writer(log: SharedLog) -> bool:
    """Whether the process that made this log still lives."""
    try:
        fcntl.lockf(log.definition_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


def _new_file(path: str) -> int:
    return move_descriptor_high(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


@contextmanager
def spool_directory(wanted: bool) -> Iterator[str | None]:
    """A new spool, in memory if there is such a place. None: it is not wanted."""
    if not wanted:
        yield None
        return
    import tempfile

    in_memory = "/dev/shm"
    where = in_memory if os.access(in_memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="atomsan-", dir=where, ignore_cleanup_errors=True) as directory:
        yield directory
