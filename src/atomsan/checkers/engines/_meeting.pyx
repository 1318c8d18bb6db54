# cython: language_level=3, freethreading_compatible=True
"""Finds locations with conflicting accesses by concurrent transactions: a cheap filter before atomic sets are checked.

Two transactions of different threads *meet* at a location if one accesses it while the other, which has accessed it,
still runs, and one of them writes. A cycle of units of work on an atomic set leaves a unit that still runs, by a
conflict: so a set without such a location has no cycle.
No meeting is missed; where more than one thread reads, one may be reported that did not happen.
"""

from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport free

from atomsan.trace._memory cimport ensure_room
from atomsan.trace._ops cimport BEGIN, END, READ, WRITE
from atomsan.trace._sparse cimport Sparse, forget_rows, free_sparse, has_sparse_room

import numpy as np

cdef enum: SHARED = 0xFFFFFFFF

# Threads are numbered from 1 here, and so are the transactions of each: 0 is none.
cdef struct Used:
    uint32_t first            # the thread that used it first; SHARED: others did, too
    uint32_t writer
    uint32_t writer_number    # of the transaction
    uint32_t reader           # the last one
    uint32_t reader_number
    uint8_t are_many          # readers: while one ran, another came

# What is said of a location in the end.
cdef enum:
    MEETS = 1
    BY_SEVERAL = 2


cdef class Meetings:
    cdef Used *used           # those of `used_rows`
    cdef Sparse used_rows
    cdef uint8_t *found_here  # by location: of MEETS and BY_SEVERAL, those that hold
    cdef size_t found_room
    cdef uint32_t *begun      # by thread: its transactions so far
    cdef size_t begun_room
    cdef uint32_t *running    # by thread: the number of the one that runs
    cdef size_t running_room

    def __dealloc__(self):
        free_sparse(&self.used_rows)
        free(self.found_here)
        free(self.begun)
        free(self.running)

    def grow(self, size_t threads, size_t locations):
        """Make room for so many of each."""
        ensure_room(<void **> &self.begun, &self.begun_room, threads, sizeof(uint32_t))
        ensure_room(<void **> &self.running, &self.running_room, threads, sizeof(uint32_t))
        ensure_room(<void **> &self.found_here, &self.found_room, locations, 1)
        if not has_sparse_room(&self.used_rows, locations, sizeof(Used)):
            raise MemoryError
        self.used = <Used *> self.used_rows.rows

    def forget(self, const uint32_t[::1] dead):
        """No event is going to access these locations, which were never forgotten before. What was found stays."""
        if dead.shape[0] and not forget_rows(&self.used_rows, &dead[0], dead.shape[0], sizeof(Used)):
            raise MemoryError

    def feed(self, const uint32_t[::1] thread, const uint8_t[::1] op, const uint32_t[::1] target):
        """Flattened events: begins and ends are those of transactions."""
        cdef size_t i, count = op.shape[0]
        cdef uint32_t t
        with nogil:
            for i in range(count):
                t = thread[i]
                if op[i] <= WRITE:
                    self.use(target[i], t + 1, self.running[t], op[i])
                elif op[i] == BEGIN:
                    self.begun[t] += 1
                    self.running[t] = self.begun[t]
                elif op[i] == END:
                    self.running[t] = 0

    cdef inline void use(self, uint32_t x, uint32_t t, uint32_t number, uint8_t op) noexcept nogil:
        cdef Used *used = &self.used[x]
        if used.first != t:
            if used.first == 0:
                used.first = t
            else:
                used.first = SHARED
                self.found_here[x] |= BY_SEVERAL | (MEETS if self.look(used, t, op) else 0)
        # An access outside transactions is over at once: nobody can meet it later.
        if number == 0:
            return
        if op == READ:
            used.reader, used.reader_number = t, number
        else:
            used.writer, used.writer_number = t, number

    cdef bint look(self, Used *used, uint32_t t, uint8_t op) noexcept nogil:
        """Whether transactions meet there."""
        cdef bint is_read = self.runs(used.reader, used.reader_number, t)
        cdef bint meets = self.runs(used.writer, used.writer_number, t)
        if op == READ:
            used.are_many |= is_read
            return meets
        return meets or is_read or used.are_many

    cdef inline bint runs(self, uint32_t thread, uint32_t number, uint32_t t) noexcept nogil:
        """Whether a transaction of another thread runs on."""
        return thread != 0 and thread != t and self.running[thread - 1] == number

    def found(self, size_t locations):
        """Of each of so many locations: whether transactions meet there, and whether several threads use it."""
        meets, shared = np.zeros(locations, np.bool_), np.zeros(locations, np.bool_)
        cdef uint8_t[::1] meets_view = meets.view(np.uint8), shared_view = shared.view(np.uint8)
        cdef size_t i
        for i in range(min(locations, self.found_room)):
            meets_view[i] = self.found_here[i] & MEETS != 0
            shared_view[i] = self.found_here[i] & BY_SEVERAL != 0
        return meets, shared
