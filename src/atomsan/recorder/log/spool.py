"""The spool: a directory where the processes that a program forks put their logs, for the reader of the program's log.

Each process has two files, a ring and its definitions. The ring gets its final name last, when both can be read. The
reader holds the lock of one more file as long as it lives: a spool without a reader is removed by the next process that
comes by, one that was forked or another reader.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from atomsan.recorder.log.ring import RING_BYTES, SharedLog, capacity_of, map_shared_ring, move_descriptor_high

_RING_SUFFIX, _DEFINITIONS_SUFFIX = ".ring", ".definitions"
_LOCK = "reader"

# What the names of spools begin with, and where they are, if there is such a place.
_PREFIX = "atomsan-spool-"
IN_MEMORY = "/dev/shm"


def create_spooled(directory: str, ring_bytes: int = RING_BYTES) -> SharedLog | None:
    """A log for this process; None if nobody would read it.

    Whoever reads it sees by a lock on the definitions whether this process still lives.
    """
    if not has_reader(directory):
        _remove(directory)
        return None
    name = os.path.join(directory, f"{os.getpid()}-{time.monotonic_ns()}")
    definition_file = _new_file(name + _DEFINITIONS_SUFFIX)
    fcntl.lockf(definition_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    ring_file = _new_file(name + ".new")
    try:
        memory = _largest_ring(ring_file, ring_bytes)
    except OSError:
        for file, suffix in ((definition_file, _DEFINITIONS_SUFFIX), (ring_file, ".new")):
            os.unlink(name + suffix)
            os.close(file)
        raise
    os.rename(name + ".new", name + _RING_SUFFIX)
    return SharedLog(memory, ring_file, definition_file)


def _largest_ring(file: int, ring_bytes: int) -> mmap.mmap:
    """A ring of this size, or of a smaller one for which there is room: containers have little shared memory."""
    for size in (ring_bytes, ring_bytes // 4):
        with suppress(OSError):
            return map_shared_ring(file, capacity_of(size))
        os.ftruncate(file, 0)
    return map_shared_ring(file, capacity_of(ring_bytes // 16))


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


def lock_of_reader(directory: str) -> str:
    """The file whose lock the reader of a spool holds."""
    return os.path.join(directory, _LOCK)


def has_reader(directory: str) -> bool:
    """Whether the process still lives that made this spool."""
    try:
        file = os.open(lock_of_reader(directory), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        return True  # it cannot be asked
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
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

    where = IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else tempfile.gettempdir()
    remove_orphans(where)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=where, ignore_cleanup_errors=True) as directory:
        # it gets its name when it is locked: without a lock, the spool would be taken for one that nobody reads
        file = os.open(lock_of_reader(directory) + ".new", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            os.rename(lock_of_reader(directory) + ".new", lock_of_reader(directory))
            yield directory
        finally:
            os.close(file)


def remove_orphans(where: str) -> None:
    """Remove the spools of this user whose readers were killed: they take memory that nobody gives back."""
    with suppress(OSError), os.scandir(where) as entries:
        for entry in entries:
            if not entry.name.startswith(_PREFIX) or not entry.is_dir(follow_symlinks=False):
                continue
            is_ours = entry.stat(follow_symlinks=False).st_uid == os.getuid()
            # one without a file to lock is being made at this moment
            if is_ours and os.path.exists(lock_of_reader(entry.path)) and not has_reader(entry.path):
                _remove(entry.path)


def _remove(directory: str) -> None:
    """Remove a spool. (Not by `shutil`: this may be a process of the program, which did not import that.)"""
    with suppress(OSError):
        for name in os.listdir(directory):
            os.unlink(os.path.join(directory, name))
        os.rmdir(directory)
