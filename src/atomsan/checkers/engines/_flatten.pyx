# cython: language_level=3, freethreading_compatible=True
"""Flattens nested regions and re-entrant locks, once for every checker.

To an algorithm, a re-entrant acquire or release is no event, nor is one of a lock of kind `loop`, which makes no order:
they become NOTHING. Of nested regions only the outermost begins and ends a transaction: the begin and end of the others
become INNER, events of their transaction that mean nothing by themselves. And a trace that ends inside regions goes on
with their ends.

Two steps, block after block: find the acquires, releases, begins and ends, then replace each. Neither has a branch on
the kind of an event, which cannot be predicted.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free

from atomsan.trace._memory cimport ensure_room
from atomsan.trace._ops cimport ACQUIRE, BEGIN, NOTHING

import numpy as np

cdef enum:
    PAIRED = 0xFA     # op & PAIRED is ACQUIRE for acquire, release, begin and end alone
    LOOP = 1 << 30    # as if it were held for ever, so that no acquire is the outermost
    BLOCK = 4096


cdef class Flattener:
    """How deep each thread is in regions and each lock is held. The trace must be well-formed."""

    cdef uint32_t *regions        # by thread: open regions
    cdef size_t region_room
    cdef uint32_t *outermost      # by thread: the outermost open region
    cdef size_t outermost_room
    cdef uint32_t *locks          # by lock: acquires minus releases, from LOOP on for one of kind `loop`
    cdef size_t lock_room
    cdef uint32_t ignored         # the outermost region of nobody

    def __dealloc__(self):
        free(self.regions)
        free(self.outermost)
        free(self.locks)

    def grow(self, size_t threads, size_t locks, loops=()):
        """Make room for so many threads and locks; `loops` are new locks of kind `loop`."""
        ensure_room(<void **> &self.regions, &self.region_room, threads, sizeof(uint32_t))
        ensure_room(<void **> &self.outermost, &self.outermost_room, threads, sizeof(uint32_t))
        ensure_room(<void **> &self.locks, &self.lock_room, locks, sizeof(uint32_t))
        for loop in loops:
            self.locks[<size_t> loop] = LOOP

    def flatten(self, const uint32_t[::1] thread, const uint8_t[::1] op, const uint32_t[::1] target):
        """The operations as the algorithms see them."""
        cdef size_t at = 0, size, count = op.shape[0]
        flat = np.array(op)
        cdef uint8_t[::1] out = flat
        with nogil:
            while at < count:
                size = count - at if count - at < BLOCK else BLOCK
                self.flatten_block(&thread[at], &out[at], &target[at], size)
                at += size
        flat.flags.writeable = False
        return flat

    cdef void flatten_block(
        self, const uint32_t *thread, uint8_t *op, const uint32_t *target, size_t count
    ) noexcept nogil:
        cdef uint16_t found[BLOCK]
        cdef size_t k, i, pairs = 0
        cdef uint32_t is_region, was, now, begins
        cdef uint32_t *counters[2]
        cdef const uint32_t *numbers[2]
        cdef uint32_t *outermost[2]
        counters[0], counters[1] = self.locks, self.regions
        numbers[0], numbers[1] = target, thread
        outermost[0], outermost[1] = &self.ignored, self.outermost
        for i in range(count):
            found[pairs] = <uint16_t> i
            pairs += (op[i] & PAIRED) == ACQUIRE
        for k in range(pairs):
            i = found[k]
            is_region = op[i] >> 2
            was = counters[is_region][numbers[is_region][i]]
            now = was + 1 - 2 * (op[i] & 1)
            counters[is_region][numbers[is_region][i]] = now
            begins = (op[i] == BEGIN) & (was == 0)
            outermost[begins][thread[i] & (0 - begins)] = target[i]
            # outermost is what moves the counter between 0 and 1
            op[i] = op[i] if was + now == 1 else <uint8_t> (NOTHING + is_region)

    def open_regions(self):
        """(thread, outermost region) of each thread that is inside one, and no longer after this."""
        cdef size_t t
        found = []
        for t in range(self.region_room):
            if self.regions[t]:
                found.append((t, self.outermost[t]))
                self.regions[t] = 0
        return found
