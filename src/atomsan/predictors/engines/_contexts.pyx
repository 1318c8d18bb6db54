# cython: language_level=3, freethreading_compatible=True
"""Says of each access by which calls its code was come to, as a number: equal for equal calls; and in which call it is.

The calls are those inside of a transaction, from its outermost region on, by the sites of their begins. What calls the
outermost region does not count, so that two threads that do the same have the same numbers. Regions that are no calls,
such as lock blocks, are of the call around them; outside of calls, all is of one.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free

from atomsan.predictors.engines._mixing cimport mixed
from atomsan.trace._memory cimport ensure_room
from atomsan.trace._ops cimport BEGIN, END, INNER, WRITE

import numpy as np


cdef struct Call:
    uint64_t context
    uint64_t begin        # its event

cdef struct Calls:
    Call *open            # innermost last
    size_t depth
    size_t room


cdef class ContextReader:
    """Feed it the flattened batches of a trace, in order."""

    cdef Calls *threads
    cdef size_t room

    def __dealloc__(self):
        cdef size_t t
        for t in range(self.room):
            free(self.threads[t].open)
        free(self.threads)

    def contexts(
        self,
        uint64_t first,
        const uint32_t[::1] thread,
        const uint8_t[::1] op,
        const uint8_t[::1] original,
        const uint32_t[::1] target,
        const uint32_t[::1] site,
        size_t threads,
        const uint8_t[::1] is_wanted,
        const uint8_t[::1] is_call,
    ):
        """By access of a location that is wanted: its context, and the begin of its call; 0 outside of transactions."""
        cdef size_t i, count = op.shape[0], found = 0
        cdef Calls *calls
        cdef Call *around
        ensure_room(<void **> &self.threads, &self.room, threads, sizeof(Calls))
        made = np.zeros((2, count), np.uint64)
        cdef uint64_t[:, ::1] out = made
        with nogil:
            for i in range(count):
                if op[i] <= WRITE:
                    if is_wanted[target[i]]:
                        calls = &self.threads[thread[i]]
                        if calls.depth:
                            out[0, found] = calls.open[calls.depth - 1].context
                            out[1, found] = calls.open[calls.depth - 1].begin
                        found += 1
                elif op[i] == BEGIN:
                    calls = &self.threads[thread[i]]
                    calls.depth = 0
                    self.enter(calls, mixed(0, target[i]), first + i if is_call[target[i]] else 0)
                elif op[i] == END:
                    self.threads[thread[i]].depth = 0
                elif op[i] == INNER:
                    calls = &self.threads[thread[i]]
                    if original[i] == BEGIN and calls.depth:
                        around = &calls.open[calls.depth - 1]
                        if is_call[target[i]]:
                            self.enter(calls, mixed(around.context, site[i]), first + i)
                        else:
                            self.enter(calls, around.context, around.begin)
                    elif calls.depth > 1:
                        calls.depth -= 1
        return made[0, :found].copy(), made[1, :found].copy()

    cdef int enter(self, Calls *calls, uint64_t context, uint64_t event) except -1 nogil:
        ensure_room(<void **> &calls.open, &calls.room, calls.depth + 1, sizeof(Call))
        calls.open[calls.depth] = Call(context, event)
        calls.depth += 1
        return 0
