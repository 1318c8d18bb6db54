# cython: language_level=3, freethreading_compatible=True
"""Tracks which regions each thread has open."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from atomsan.trace._memory cimport ensure_room, has_room
from atomsan.trace._ops cimport BEGIN, END


cdef struct Open:
    uint64_t since        # the event of its begin
    uint32_t region
    uint32_t site         # of its begin


cdef struct ThreadRow:
    Open *open            # innermost last
    size_t depth
    size_t room
    uint32_t transactions # that it has begun


cdef class OpenRegions:
    """The regions that are open after the events so far."""

    cdef ThreadRow *rows
    cdef size_t room

    def __dealloc__(self):
        cdef size_t t
        for t in range(self.room):
            free(self.rows[t].open)
        free(self.rows)

    def grow(self, size_t threads):
        """Make room for so many threads."""
        ensure_room(<void **> &self.rows, &self.room, threads, sizeof(ThreadRow))

    def copy(self):
        """The same, to go on from here without changing this one."""
        cdef OpenRegions other = OpenRegions()
        cdef ThreadRow *row
        cdef size_t t
        other.grow(self.room)
        for t in range(self.room):
            row = &other.rows[t]
            row.transactions = self.rows[t].transactions
            if self.rows[t].depth:
                ensure_room(<void **> &row.open, &row.room, self.rows[t].depth, sizeof(Open))
                memcpy(row.open, self.rows[t].open, self.rows[t].depth * sizeof(Open))
                row.depth = self.rows[t].depth
        return other

    def advance(self, batch):
        """Apply the events of a batch."""
        cdef const uint32_t[::1] thread = batch.thread
        cdef const uint8_t[::1] op = batch.op
        cdef const uint32_t[::1] target = batch.target
        cdef const uint32_t[::1] site = batch.site
        cdef uint64_t first = batch.first
        cdef size_t i, count = op.shape[0]
        cdef bint fits = True
        with nogil:
            for i in range(count):
                if op[i] == BEGIN:
                    if not self.begin(&self.rows[thread[i]], target[i], site[i], first + i):
                        fits = False
                        break
                elif op[i] == END and self.rows[thread[i]].depth:
                    self.rows[thread[i]].depth -= 1
        if not fits:
            raise MemoryError

    cdef bint begin(self, ThreadRow *row, uint32_t region, uint32_t site, uint64_t event) noexcept nogil:
        if not has_room(<void **> &row.open, &row.room, row.depth + 1, sizeof(Open)):
            return False
        row.transactions += row.depth == 0
        row.open[row.depth].region = region
        row.open[row.depth].site = site
        row.open[row.depth].since = event
        row.depth += 1
        return True

    def transactions(self, size_t thread):
        """How many outermost regions a thread has begun."""
        return self.rows[thread].transactions

    def open(self, size_t thread):
        """(region, event of its begin, site of its begin) for each region that a thread is in, the innermost last."""
        cdef ThreadRow *row = &self.rows[thread]
        return [(row.open[i].region, row.open[i].since, row.open[i].site) for i in range(row.depth)]
