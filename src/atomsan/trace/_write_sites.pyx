# cython: language_level=3, freethreading_compatible=True
"""Notes the sites that write to each location.

Most locations are written at one site or two, so a location has a list of sites, the one that wrote last first: the
next write is at the same site as a rule, and costs one comparison.
"""

from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport free

from atomsan.trace._memory cimport ensure_room, prefetch
from atomsan.trace._ops cimport WRITE
from atomsan.trace._pools cimport NO_SLOT, Pool, give_slot, take_slot
from atomsan.trace._sparse cimport Sparse, forget_rows, free_sparse, has_sparse_room

# So many events ahead the location's entry is asked for.
cdef enum: AHEAD = 16
# So many sites of a location are kept.
cdef enum: MOST_SITES = 16


cdef struct Noted:
    uint32_t site
    uint32_t next         # row of the next site of the location; 0: none


cdef class WriteSites:
    """The sites of the writes so far, by location."""

    cdef uint32_t *newest         # by location: a row, or 0; those of `newest_rows`
    cdef Sparse newest_rows
    cdef Noted *rows              # row 0 is none
    cdef Pool pool                # of them

    def __cinit__(self):
        self.pool.used = 1

    def __dealloc__(self):
        free_sparse(&self.newest_rows)
        free(self.rows)

    def advance(self, batch, size_t locations):
        """Note the writes of a batch. The trace has so many locations."""
        cdef const uint8_t[::1] op = batch.op
        cdef const uint32_t[::1] target = batch.target
        cdef const uint32_t[::1] site = batch.site
        cdef size_t i, count = op.shape[0]
        cdef uint32_t newest
        cdef bint fits = True
        if not has_sparse_room(&self.newest_rows, locations, sizeof(uint32_t)):
            raise MemoryError
        self.newest = <uint32_t *> self.newest_rows.rows
        ensure_room(<void **> &self.rows, &self.pool.room, 1, sizeof(Noted))
        with nogil:
            for i in range(count):
                if i + AHEAD < count and op[i + AHEAD] == WRITE:
                    prefetch(&self.newest[target[i + AHEAD]])
                if op[i] != WRITE:
                    continue
                newest = self.newest[target[i]]
                if not newest or self.rows[newest].site != site[i]:
                    fits = self.note(&self.newest[target[i]], site[i])
                    if not fits:
                        break
        if not fits:
            raise MemoryError

    cdef bint note(self, uint32_t *newest, uint32_t site) noexcept nogil:
        """Move a site to the front, or add it there."""
        cdef uint32_t *link = newest
        cdef uint32_t row, length = 0
        while link[0] and self.rows[link[0]].site != site:
            link = &self.rows[link[0]].next
            length += 1
        row = link[0]
        if row:
            link[0] = self.rows[row].next
        elif length >= MOST_SITES:
            return True
        else:
            row = take_slot(&self.pool, <void **> &self.rows, sizeof(Noted))
            if row == NO_SLOT:
                return False
            self.rows[row].site = site
        self.rows[row].next = newest[0]
        newest[0] = row
        return True

    def forget(self, const uint32_t[::1] dead):
        """Nobody asks for these locations any more, nor writes to them. Each is forgotten once."""
        cdef Py_ssize_t i
        cdef uint32_t row, next
        for i in range(dead.shape[0]):
            row = self.newest[dead[i]] if dead[i] < self.newest_rows.room else 0
            while row:
                next = self.rows[row].next
                give_slot(&self.pool, self.rows, sizeof(Noted), row)
                row = next
        if dead.shape[0] and not forget_rows(&self.newest_rows, &dead[0], dead.shape[0], sizeof(uint32_t)):
            raise MemoryError

    def of(self, size_t location):
        """The sites that have written to a location."""
        found = set()
        cdef uint32_t row = self.newest[location] if location < self.newest_rows.room else 0
        while row:
            found.add(self.rows[row].site)
            row = self.rows[row].next
        return found
