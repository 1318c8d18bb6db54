"""`--max-memory`: ends a verb that reads traces before it fills the memory of the machine.

A thread looks at the memory of this process. Near the limit, it interrupts the verb as Ctrl-C does: partial results are
reported. A call that takes no notice (a library that unpacks what was made to be large) is ended with the process.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

from atomsan.cli.exit_codes import Exit
from atomsan.errors import InputError, MemoryLimitError

_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?) ?([kmgt]?)(?:i?b)?", re.IGNORECASE | re.ASCII)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}

# The verb is interrupted when this share of the limit is used: what is left is for reporting what was found.
_SHARE = 3 / 4

# As fast as a machine can fill memory, in bytes a second, and how often to look at the least and at the most.
_FASTEST = 4 << 30
_SOONEST, _LATEST = 0.005, 0.1

_OUR_MEMORY = re.compile(rb"^(RssAnon|VmRSS|VmSwap):\s+(\d+) kB", re.M)


def parsed_size(given: str | None) -> int | None:
    """`512M`, `1.5G` or a number of bytes."""
    if given is None:
        return None
    match = _SIZE.fullmatch(given.strip())
    size = int(float(match[1]) * _UNITS[match[2].lower()]) if match else 0
    if not size:
        raise InputError(f"--max-memory must be a size such as 512M or 4G, not {given[:60]!r}")
    return size


@contextmanager
def memory_watched(given: str | None) -> Iterator[None]:
    """Around a verb that reads traces: it takes no more memory than was given, or than half of what there is."""
    from atomsan.trace.memory import memory_limited, most_memory

    with memory_limited(parsed_size(given)):
        if threading.current_thread() is not threading.main_thread():
            yield  # only the main thread can be interrupted
            return
        watch = _Watch(most_memory())
        watch.start()
        try:
            yield
        finally:
            watch.stop()


class _Watch:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._is_over = threading.Event()
        self._is_full = False
        self._thread = threading.Thread(target=self._run, name="atomsan-memory", daemon=True)

    def start(self) -> None:
        self._before = signal.signal(signal.SIGUSR2, self._interrupt)
        self._thread.start()

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()
        signal.signal(signal.SIGUSR2, self._before)

    def _run(self) -> None:
        with MemoryGauge() as gauge:
            while True:
                now = gauge.used()
                if now > self._limit:
                    self._end()
                left = (self._limit if self._is_full else self._limit * _SHARE) - now
                if left < 0:
                    self._is_full = True
                    # a real signal: it wakes up a main thread that waits for others
                    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR2)
                if self._is_over.wait(min(max(left / _FASTEST, _SOONEST), _LATEST)):
                    return

    def _interrupt(self, *_: object) -> None:
        if self._is_full and not self._is_over.is_set():
            raise MemoryLimitError(self._limit)

    def _end(self) -> NoReturn:
        """The main thread took no notice: it may be in a call that does not end for long."""
        from atomsan.trace.writing import remove_partial_outputs

        remove_partial_outputs()
        # of a progress bar: the cursor is shown again
        again = "\n\x1b[?25h" if sys.stderr is not None and sys.stderr.isatty() else ""
        with suppress(OSError):
            os.write(2, f"{again}atomsan: {MemoryLimitError(self._limit)}\n".encode())
        os._exit(Exit.INTERRUPTED)


class MemoryGauge:
    """Tells how much memory this process has for itself; where the system does not say, the most that it had."""

    def __init__(self) -> None:
        try:
            self._status = os.open("/proc/self/status", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._status = -1

    def used(self) -> int:
        """In bytes."""
        if self._status < 0:
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in bytes, where there is no such file
        return _in_status(os.pread(self._status, 1 << 14, 0))

    def __enter__(self) -> MemoryGauge:
        return self

    def __exit__(self, *_: object) -> None:
        if self._status >= 0:
            os.close(self._status)


def _in_status(status: bytes) -> int:
    """The bytes that `/proc/self/status` tells of. Some systems do not tell files in memory from what is ours."""
    known = {name: 1024 * int(size) for name, size in _OUR_MEMORY.findall(status)}
    return known.get(b"RssAnon", known.get(b"VmRSS", 0)) + known.get(b"VmSwap", 0)
