# cython: language_level=3, freethreading_compatible=True
"""From the events of a trace to those that the algorithms see.

To an algorithm, a re-entrant acquire or release is no event, nor is one of a lock of kind `loop`, which makes no order:
they become NOTHING. Of nested regions only the outermost begins and ends a transaction: the begin and end of the others
become INNER, events of their transaction that mean nothing by themselves. And a trace that ends inside regions goes on
with their ends. All this is done once, for every checker.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

import numpy as np

cdef enum:
    READ, WRITE, ACQUIRE, RELEASE, FORK, JOIN, BEGIN, END, POST, TAKE, NOTHING, INNER


cdef void *grown(void *rows, size_t old, size_t new) except NULL:
    cdef void *bigger = realloc(rows, new)
    if bigger == NULL:
        raise MemoryError
    memset(<char *> bigger + old, 0, new - old)
    return bigger


cdef class Flattener:
    """How deep each thread is in regions and each lock is held. The trace must be well-formed."""

    cdef uint32_t *regions        # by thread: open regions
    cdef uint32_t *outermost      # by thread: the outermost open region
    cdef size_t threads
    cdef uint32_t *locks          # by lock: acquires minus releases
    cdef uint8_t *loops           # by lock: whether it is one of kind `loop`
    cdef size_t lock_count

    def __dealloc__(self):
        free(self.regions)
        free(self.outermost)
        free(self.locks)
        free(self.loops)

    def grow(self, size_t threads, size_t locks, loops=()):
        """Take note of how many threads and locks there are now, and which new locks are loops."""
        if threads > self.threads:
            threads += threads // 2
            self.regions = <uint32_t *> grown(self.regions, 4 * self.threads, 4 * threads)
            self.outermost = <uint32_t *> grown(self.outermost, 4 * self.threads, 4 * threads)
            self.threads = threads
        if locks > self.lock_count:
            locks += locks // 2
            self.locks = <uint32_t *> grown(self.locks, 4 * self.lock_count, 4 * locks)
            self.loops = <uint8_t *> grown(self.loops, self.lock_count, locks)
            self.lock_count = locks
        for loop in loops:
            self.loops[<size_t> loop] = 1

    def flatten(self, const uint32_t[::1] thread, const uint8_t[::1] op, const uint32_t[::1] target):
        """The operations as the algorithms see them."""
        cdef uint64_t i, count = op.shape[0]
        cdef uint8_t o
        cdef uint32_t t, x
        flat = np.empty(count, np.uint8)
        cdef uint8_t[::1] out = flat
        with nogil:
            for i in range(count):
                o = op[i]
                if ACQUIRE <= o <= END and not FORK <= o <= JOIN:
                    t, x = thread[i], target[i]
                    if o == ACQUIRE:
                        if self.locks[x] or self.loops[x]:
                            o = NOTHING
                        self.locks[x] += 1
                    elif o == RELEASE:
                        self.locks[x] -= 1
                        if self.locks[x] or self.loops[x]:
                            o = NOTHING
                    elif o == BEGIN:
                        if self.regions[t]:
                            o = INNER
                        else:
                            self.outermost[t] = x
                        self.regions[t] += 1
                    else:
                        self.regions[t] -= 1
                        if self.regions[t]:
                            o = INNER
                out[i] = o
        flat.flags.writeable = False
        return flat

    def open_regions(self):
        """(thread, outermost region) of each thread that is inside one, and no longer after this."""
        cdef size_t t
        found = []
        for t in range(self.threads):
            if self.regions[t]:
                found.append((t, self.outermost[t]))
                self.regions[t] = 0
        return found
