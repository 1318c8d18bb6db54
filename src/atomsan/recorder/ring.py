"""The ring: memory that the recorded program writes its log to, and that is read from elsewhere (`_raw.h`).

Making one needs nothing heavy, because the program's process does it too. The reader's side is `RingReader`.
"""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAGIC = 0x31676F6C6D6F7461
HEAD_BYTES = 4096
RECORD_BYTES = 32

# As much as the program logs in a few hundredths of a second: the reader may be late by that without making it wait.
RING_BYTES = 16 << 20

_MAGIC_AND_CAPACITY = struct.Struct("=QQ")
# where the fields of the head stand
_TAIL, _LOST = 24, 32
_STOP, _CLOSED, _WAITING = 40, 44, 48


def create_ring(size: int = RING_BYTES, *, shared: bool = True) -> tuple[mmap.mmap, int]:
    """A ring of about `size` bytes, and the descriptor that another process can map it by (-1 if not `shared`)."""
    capacity = capacity_of(size)
    whole = HEAD_BYTES + capacity * RECORD_BYTES
    if not shared:
        memory = mmap.mmap(-1, whole)
        descriptor = -1
    else:
        descriptor = shared_file("atomsan-ring")
        try:
            os.ftruncate(descriptor, whole)
            memory = mmap.mmap(descriptor, whole)
        except BaseException:
            os.close(descriptor)
            raise
    _MAGIC_AND_CAPACITY.pack_into(memory, 0, MAGIC, capacity)
    return memory, descriptor


def capacity_of(size: int) -> int:
    """How many records a ring of so many bytes has: a power of two, and never less than one page of them."""
    records = max(size // RECORD_BYTES, 128)
    return 1 << (records.bit_length() - 1)


def shared_file(name: str) -> int:
    """The descriptor of a file that is in no directory: it is gone when nobody has it open."""
    if hasattr(os, "memfd_create"):
        try:
            return os.memfd_create(name, os.MFD_CLOEXEC)
        except OSError:
            pass  # a system that lacks it, or a sandbox that forbids it
    descriptor, path = tempfile.mkstemp(prefix=f"{name}-")
    os.unlink(path)
    return descriptor


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
        from atomsan.recorder._resolve import ring_head

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
        from atomsan.recorder._resolve import set_ring_tail

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
