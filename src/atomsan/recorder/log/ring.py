"""The ring: memory that the recorded program writes its log to, and that is read from elsewhere (`_raw.h`).

Making one needs nothing heavy, because the program's process does it too. The reader's side is `RingReader`.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAGIC = 0x31676F6C6D6F7461
HEAD_BYTES = 4096
RECORD_BYTES = 32

# As much as the program logs in some hundredths of a second: the reader may be late by that without making it wait. A
# program that logs without end and its reader are about as fast as each other, and with 8 MB both lost a tenth of it.
RING_BYTES = 32 << 20

# Where the descriptors that two processes share are put.
HIGH_DESCRIPTOR = 200

_MAGIC_AND_CAPACITY = struct.Struct("=QQ")
_FLAG = struct.Struct("=I")
# where the fields of the head stand
_TAIL, _LOST = 24, 32
_STOP, _CLOSED, _WAITING = 40, 44, 48


def create_ring(size: int = RING_BYTES, *, shared: bool = True) -> tuple[mmap.mmap, int]:
    """A ring of about `size` bytes, and the descriptor that another process can map it by (-1 if not `shared`)."""
    descriptor = shared_file("atomsan-ring") if shared else -1
    try:
        return _ring_in(descriptor, capacity_of(size)), descriptor
    except BaseException:
        if shared:
            os.close(descriptor)
        raise


def _ring_in(descriptor: int, capacity: int) -> mmap.mmap:
    whole = HEAD_BYTES + capacity * RECORD_BYTES
    if descriptor >= 0:
        os.ftruncate(descriptor, whole)
    memory = mmap.mmap(descriptor, whole)
    _MAGIC_AND_CAPACITY.pack_into(memory, 0, MAGIC, capacity)
    return memory


def capacity_of(size: int) -> int:
    """How many records a ring of so many bytes has: a power of two, and never less than one page of them."""
    records = max(size // RECORD_BYTES, 128)
    return 1 << (records.bit_length() - 1)


def shared_file(name: str) -> int:
    """The descriptor of a file that is in no directory: it is gone when nobody has it open."""
    if hasattr(os, "memfd_create"):
        try:
            return _out_of_the_way(os.memfd_create(name, os.MFD_CLOEXEC))
        except OSError:
            pass  # a system that lacks it, or a sandbox that forbids it
    import tempfile

    descriptor, path = tempfile.mkstemp(prefix=f"{name}-")
    os.unlink(path)
    return _out_of_the_way(descriptor)


def _out_of_the_way(descriptor: int) -> int:
    """The same file by a high number: the small ones are the program's, and it may count on getting them in turn."""
    for lowest in (HIGH_DESCRIPTOR, 3):
        try:
            moved: int = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, lowest)
        except OSError:
            continue  # more than this process may have
        os.close(descriptor)
        return moved
    return descriptor


class SharedLog:
    """What a recorded process writes to and another one reads: the ring, and the file of definitions."""

    def __init__(self, memory: mmap.mmap, ring_file: int, definition_file: int) -> None:
        self.memory = memory
        self.ring_file = ring_file
        self.definition_file = definition_file

    @classmethod
    def create(cls, ring_bytes: int = RING_BYTES) -> SharedLog:
        memory, ring_file = create_ring(ring_bytes)
        try:
            return cls(memory, ring_file, shared_file("atomsan-definitions"))
        except BaseException:
            memory.close()
            os.close(ring_file)
            raise

    @property
    def descriptors(self) -> tuple[int, int]:
        """Those of the ring and of the file of definitions, for the recorded process."""
        return self.ring_file, self.definition_file

    def stop(self) -> None:
        """Nothing more is wanted: the recorded process need not wait for a reader."""
        _FLAG.pack_into(self.memory, _STOP, 1)

    def close(self) -> None:
        with suppress(BufferError):  # a reader may still look at it
            self.memory.close()
        for descriptor in self.descriptors:
            if descriptor >= 0:
                os.close(descriptor)
        self.ring_file = self.definition_file = -1


# Logs of processes that a program has forked, in a directory that its recorder looks into. A pair of files for each;
# the ring takes its name when both are there to be read.
_RING_SUFFIX, _DEFINITIONS_SUFFIX = ".ring", ".definitions"


def create_spooled(directory: str, ring_bytes: int = RING_BYTES) -> SharedLog:
    """A log for this process. Whoever reads it sees by a lock on the definitions whether this process still lives."""
    name = os.path.join(directory, f"{os.getpid()}-{time.monotonic_ns()}")
    definition_file = _new_file(name + _DEFINITIONS_SUFFIX)
    fcntl.lockf(definition_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    ring_file = _new_file(name + ".new")
    memory = _ring_in(ring_file, capacity_of(ring_bytes))
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


def is_written(log: SharedLog) -> bool:
    """Whether the process that made this log still lives."""
    try:
        fcntl.lockf(log.definition_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


def _new_file(path: str) -> int:
    return _out_of_the_way(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


class RingReader:
    """The reader's side of a ring. Its producer may be killed at any moment: what it had logged is there."""

    def __init__(self, memory: Any) -> None:
        import numpy as np

        self._bytes: NDArray[np.uint8] = np.frombuffer(memory, np.uint8)
        if len(self._bytes) < HEAD_BYTES:
            raise ValueError("too short for a ring")
        magic, capacity = _MAGIC_AND_CAPACITY.unpack_from(memory, 0)
        if magic != MAGIC or capacity & (capacity - 1) or not 0 < capacity <= self._room():
            raise ValueError("not a ring")
        self.capacity: int = capacity
        self._records = self._bytes[HEAD_BYTES : HEAD_BYTES + capacity * RECORD_BYTES]
        self._tail = int(self._bytes[_TAIL : _TAIL + 8].view(np.uint64)[0])
        self._flags = self._bytes[_STOP : _WAITING + 4].view(np.uint32)
        self._lost = self._bytes[_LOST : _LOST + 8].view(np.uint64)

    def _room(self) -> int:
        return (len(self._bytes) - HEAD_BYTES) // RECORD_BYTES

    def available(self) -> int:
        """How many records can be read. What they use is defined already: read the definitions after this."""
        from atomsan.recorder.log._resolve import ring_head

        # A head that is out of reach was not written by a probe; then there is no telling what is a record.
        there = ring_head(self._bytes) - self._tail
        return there if 0 <= there <= self.capacity else 0

    def pieces(self, count: int) -> list[NDArray[np.uint8]]:
        """The next `count` records, in place: one piece, or two where they go round the end of the ring."""
        start = self._tail & (self.capacity - 1)
        stop = min(start + count, self.capacity)
        spans = [(start, stop), (0, count - (stop - start))]
        return [self._records[first * RECORD_BYTES : last * RECORD_BYTES] for first, last in spans if last > first]

    def advance(self, count: int) -> None:
        """The next `count` records were read: there is room for others."""
        from atomsan.recorder.log._resolve import set_ring_tail

        self._tail += count
        set_ring_tail(self._bytes, self._tail)

    def stop(self) -> None:
        """Tell the producer that nothing more is wanted."""
        self._flags[0] = 1

    @property
    def closed(self) -> bool:
        """Whether the producer ended its recording in good order."""
        return bool(self._flags[1])

    @property
    def waiting(self) -> bool:
        """Whether the producer waits for room."""
        return bool(self._flags[2])

    @property
    def lost(self) -> int:
        return int(self._lost[0])
