"""The ring: shared memory to which the recorded program writes its log, for a reader in another process or thread.

`_raw.h` has its layout. Creating one imports nothing heavy, because the program's process does it too; `RingReader` is
the reader's side.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from atomsan.recorder.log._ring import RingHead

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAGIC = 0x31676F6C6D6F7461
HEAD_BYTES = 4096
RECORD_BYTES = 32

# As much as the program logs in some hundredths of a second: the reader may be late by that without making it wait. A
# program that logs without end and its reader are about as fast as each other, and with 8 MB both lost a tenth of it.
RING_BYTES = 32 << 20

# For so many seconds the program waits for a reader that takes nothing, because it was stopped or hangs. Then it goes
# on without being recorded: it must not hang on account of its recorder.
PATIENCE = 60.0

# Where there is less room than this in a file system, that of a ring is taken when it is made: a program that writes to
# memory for which there is none is killed.
PLENTY = 1 << 30

# Where the descriptors that two processes share are put.
HIGH_DESCRIPTOR = 200

_MAGIC_AND_CAPACITY = struct.Struct("=QQ")


def create_ring(size: int = RING_BYTES, *, shared: bool = True) -> tuple[mmap.mmap, int]:
    """A ring of about `size` bytes, and the descriptor that another process can map it by (-1 if not `shared`)."""
    descriptor = shared_file("atomsan-ring") if shared else -1
    try:
        memory = map_shared_ring(descriptor, capacity_of(size))
        RingHead(memory).patience = round(PATIENCE * 1000)
        return memory, descriptor
    except BaseException:
        if shared:
            os.close(descriptor)
        raise


def map_shared_ring(descriptor: int, capacity: int) -> mmap.mmap:
    """A ring in a file (-1: in memory that nobody shares)."""
    whole = HEAD_BYTES + capacity * RECORD_BYTES
    if descriptor >= 0:
        os.ftruncate(descriptor, whole)
        _take_room(descriptor, whole)
    memory = mmap.mmap(descriptor, whole)
    _MAGIC_AND_CAPACITY.pack_into(memory, 0, MAGIC, capacity)
    return memory


def _take_room(descriptor: int, size: int) -> None:
    """Raise now if there is no room for a file of this size, if that could be."""
    room = os.fstatvfs(descriptor)
    is_limited = room.f_blocks > 0  # files of memfd_create are not
    if is_limited and room.f_bavail * room.f_frsize < PLENTY and hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)


def capacity_of(size: int) -> int:
    """How many records a ring of so many bytes has: a power of two, and never less than one page of them."""
    records = max(size // RECORD_BYTES, 128)
    return 1 << (records.bit_length() - 1)


def shared_file(name: str) -> int:
    """The descriptor of a file that is in no directory: it is gone when nobody has it open."""
    if hasattr(os, "memfd_create"):
        try:
            return move_descriptor_high(os.memfd_create(name, os.MFD_CLOEXEC))
        except OSError:
            pass  # a system that lacks it, or a sandbox that forbids it
    import tempfile

    descriptor, path = tempfile.mkstemp(prefix=f"{name}-")
    os.unlink(path)
    return move_descriptor_high(descriptor)


def move_descriptor_high(descriptor: int) -> int:
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
        RingHead(self.memory).stop = True

    def close(self) -> None:
        with suppress(BufferError):  # a reader may still look at it
            self.memory.close()
        for descriptor in self.descriptors:
            if descriptor >= 0:
                os.close(descriptor)
        self.ring_file = self.definition_file = -1


class RingReader:
    """The reader's side of a ring. Its producer may be killed at any moment: what it had logged is there."""

    def __init__(self, memory: Any) -> None:
        import numpy as np

        self._head = RingHead(memory)
        whole: NDArray[np.uint8] = np.frombuffer(memory, np.uint8)
        capacity, room = self._head.capacity, (len(whole) - HEAD_BYTES) // RECORD_BYTES
        if self._head.magic != MAGIC or capacity & (capacity - 1) or not 0 < capacity <= room:
            raise ValueError("not a ring")
        # as it was at first: what the program writes there later is not believed
        self.capacity = capacity
        self._records = whole[HEAD_BYTES : HEAD_BYTES + capacity * RECORD_BYTES]
        self._tail = self._head.read

    def available(self) -> int:
        """How many records can be read. What they use is defined already: read the definitions after this."""
        # A head that is out of reach was not written by a probe; then there is no telling what is a record.
        there = self._head.written - self._tail
        return there if 0 <= there <= self.capacity else 0

    def pieces(self, count: int) -> list[NDArray[np.uint8]]:
        """The next `count` records, in place: one piece, or two where they go round the end of the ring."""
        start = self._tail & (self.capacity - 1)
        stop = min(start + count, self.capacity)
        spans = [(start, stop), (0, count - (stop - start))]
        return [self._records[first * RECORD_BYTES : last * RECORD_BYTES] for first, last in spans if last > first]

    def advance(self, count: int) -> None:
        """The next `count` records were read: there is room for others."""
        self._tail += count
        self._head.read = self._tail

    def stop(self) -> None:
        """Tell the producer that nothing more is wanted."""
        self._head.stop = True

    @property
    def closed(self) -> bool:
        """Whether the producer ended its recording in good order."""
        return self._head.closed

    @property
    def waiting(self) -> bool:
        """Whether the producer waits for room."""
        return self._head.waiting

    @property
    def lost(self) -> int:
        """Not 0: the program has logged nothing more, because this reader took nothing for so long as it waits."""
        return self._head.lost

    @property
    def unfollowed(self) -> int:
        """How many processes that the program forked were to be recorded, and could not be."""
        return self._head.unfollowed

    @property
    def patience(self) -> float:
        """For how many seconds the program waits for its reader."""
        return self._head.patience / 1000

    @property
    def unsent(self) -> int:
        """How many definitions could not be sent."""
        return self._head.unsent
