"""Locks on outputs: two processes that are told to write one trace would write into each other.

Beside `run.atomtrace`, while it is written, stands `.run.atomtrace.lock` with a lock of the system on it. That is gone
when its process has ended, however it ended, so a file that was left behind locks nothing. It is a lock of the process
(`fcntl`) and not of the open file: what a recorded program forks does not have it.
"""

from __future__ import annotations

import fcntl
import os
import threading
import zlib
from contextlib import suppress
from pathlib import Path

from atomsan.errors import OutputError

# What this process has locked: `fcntl` would give it the lock again. With its number, because a fork has a copy.
_locked: set[tuple[int, str]] = set()
_guard = threading.Lock()

# File systems allow names of 255 bytes, and the lock's is longer than that of its output.
_LONGEST_NAME = 240

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class OutputLock:
    """The lock on one output, held from the beginning until `release`. An `OutputError` says that another has it."""

    def __init__(self, output: Path) -> None:
        self._path = _lock_path(output)
        self._owner = os.getpid()
        with _guard:
            if (self._owner, self._path) in _locked:
                raise _is_locked(output)
            self._descriptor = _locked_file(self._path, output)
            _locked.add((self._owner, self._path))

    def release(self) -> None:
        """Let others write. Does nothing the second time, and nothing in a process that was forked."""
        if self._descriptor < 0 or self._owner != os.getpid():
            return
        with _guard:
            # while it is locked: who opened it before finds that it is not the file of that name any more
            with suppress(OSError):
                if os.path.samestat(os.fstat(self._descriptor), os.lstat(self._path)):
                    os.unlink(self._path)
            with suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = -1
            _locked.discard((self._owner, self._path))


def check_unlocked(output: Path) -> None:
    """Raise if another process writes an output. It is not there as a whole then: what is in it says nothing."""
    path = _lock_path(output)
    with _guard:
        if (os.getpid(), path) not in _locked and os.path.lexists(path):
            os.close(_locked_file(path, output))


def _lock_path(output: Path) -> str:
    path = os.path.abspath(output)
    # one directory can have several names
    path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    return os.path.join(os.path.dirname(path), _lock_name(os.path.basename(path)))


def _lock_name(name: str) -> str:
    raw = os.fsencode(name)
    if len(raw) <= _LONGEST_NAME:
        return f".{name}.lock"
    return f".{zlib.crc32(raw):08x}-{os.fsdecode(raw[-100:])}.lock"


def remove_lock_files() -> None:
    """For a process that ends at once: the locks go with it, and their files now."""
    for owner, path in tuple(_locked):
        if owner == os.getpid():
            with suppress(OSError):
                os.unlink(path)


def _locked_file(path: str, output: Path) -> int:
    while True:
        try:
            descriptor = os.open(path, _FLAGS, 0o666)
        except OSError as error:
            raise OutputError(f"{output}: cannot be written: {path}: {error.strerror}") from error
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            os.close(descriptor)
            raise _is_locked(output) from None
        except OSError:
            return descriptor  # a file system that knows no locks
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.lstat(path)):
                return descriptor
        os.close(descriptor)  # its owner has ended meanwhile, and has removed it


def _is_locked(output: Path) -> OutputError:
    return OutputError(f"{output}: is being written by another recording or conversion; nothing was changed")
