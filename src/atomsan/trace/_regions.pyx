# cython: language_level=3, freethreading_compatible=True
"""Drops regions, and splits regions at waits, in one pass over the columns.

Dropping a region drops its begin and the matching end. A wait (a join, or a take of what was not ready) ends the split regions around it
before the wait; they begin again before the thread's next event that is neither a wait nor their own end. So several
waits in a row, and a wait at the end of a region, leave no empty transactions.

Regions are split from the inside out, up to the first one that stays whole: the regions around that one stay whole too,
because a part of them would have to end inside it.

An augmented assignment is a region of its own where no other is open. The recorder gives such a region no events inside
regions that may be atomic, so where all of these are dropped its begin and end are put in here: around the read and the
write of its target. If the right side fails there is no write; that the statement is over shows in the next statement
of the same call, or in the end of the call.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from atomsan.trace._memory cimport ensure_room, has_room
from atomsan.trace._ops cimport BEGIN, END, JOIN, READ, TAKE, WRITE

import numpy as np

# What to do with a region.
cdef enum:
    DROP = 1
    SPLIT = 2

cdef enum: NO_REGION = 0xFFFFFFFF

cdef struct Open:
    uint32_t region
    uint32_t site         # of its begin: it begins again there
    uint8_t marks         # of the region when it began
    uint8_t suspended     # it was ended by a wait, and did not begin again yet
    uint8_t is_assignment # put in here: no event of the trace begins or ends it

cdef struct SiteRow:
    uint32_t assignment   # the region of the augmented assignment whose target is read and written there, or NO_REGION
    uint8_t is_apart      # it is never inside the right side of an assignment

cdef struct ThreadRow:
    Open *open            # its open regions, innermost last
    size_t room
    uint32_t depth
    uint32_t suspended    # how many of them are
    uint32_t kept         # how many of them are not dropped
    uint32_t assignments  # how many of them are augmented assignments that were put in here


cdef class RegionRewriter:
    """The open regions of each thread. The trace must be well-formed.

    It may be first used in the middle of a trace, if no region that is open there is to be dropped or split.
    """

    cdef ThreadRow *rows
    cdef size_t row_room
    cdef uint8_t *marks           # by region
    cdef size_t mark_room
    cdef SiteRow *sites           # as far as one of them is of an augmented assignment
    cdef size_t site_room
    cdef size_t site_count
    cdef uint8_t *ready           # by hand-over: whether its take needs nobody, and so is no wait
    cdef size_t ready_room, ready_count
    # the columns of the batch in the making; kept from batch to batch for their room
    cdef uint32_t *out_thread
    cdef uint8_t *out_op
    cdef uint32_t *out_target
    cdef uint32_t *out_site
    cdef int64_t *out_index
    cdef size_t[5] out_room       # by column
    cdef size_t count
    cdef size_t room              # of each of them

    def __dealloc__(self):
        cdef size_t t
        for t in range(self.row_room):
            free(self.rows[t].open)
        free(self.rows)
        free(self.marks)
        free(self.sites)
        free(self.ready)
        free(self.out_thread)
        free(self.out_op)
        free(self.out_target)
        free(self.out_site)
        free(self.out_index)

    def grow(self, size_t threads, size_t regions):
        """Make room for so many threads and regions."""
        ensure_room(<void **> &self.rows, &self.row_room, threads, sizeof(ThreadRow))
        ensure_room(<void **> &self.marks, &self.mark_room, regions, sizeof(uint8_t))

    def mark(self, dropped, split):
        """Mark regions, before they occur, to be dropped or to be split."""
        for region in dropped:
            self.marks[<size_t> region] |= DROP
        for region in split:
            self.marks[<size_t> region] |= SPLIT

    def add_sites(self, assignments, apart):
        """More sites, before they occur: by site the region of an augmented assignment or None, and 1 if it is apart.

        A region must be one of those that there is room for.
        """
        cdef size_t first = self.site_count, i
        ensure_room(<void **> &self.sites, &self.site_room, first + len(assignments), sizeof(SiteRow))
        for i, (region, is_apart) in enumerate(zip(assignments, apart, strict=True), first):
            self.sites[i].assignment = NO_REGION if region is None or region >= self.mark_room else region
            self.sites[i].is_apart = is_apart is not None
        self.site_count = first + len(assignments)

    def add_handovers(self, ready):
        """More hand-overs, before they occur: of each what is posted in its place if its take needs nobody, or None."""
        cdef size_t i
        ensure_room(<void **> &self.ready, &self.ready_room, self.ready_count + len(ready), sizeof(uint8_t))
        for i, posted in enumerate(ready, self.ready_count):
            self.ready[i] = posted is not None
        self.ready_count += len(ready)

    def rewrite(self, batch):
        """(thread, op, target, site, index): the new columns, and for each row the row of the batch it comes from."""
        cdef const uint32_t[::1] thread = batch.thread
        cdef const uint8_t[::1] op = batch.op
        cdef const uint32_t[::1] target = batch.target
        cdef const uint32_t[::1] site = batch.site
        cdef size_t i, count = op.shape[0]
        cdef bint fits = True
        self.count = 0
        with nogil:
            for i in range(count):
                if not self.step(thread[i], op[i], target[i], site[i], i):
                    fits = False
                    break
        if not fits:
            raise MemoryError
        return self.taken()

    cdef taken(self):
        cdef uint32_t[::1] threads, targets, sites
        cdef uint8_t[::1] ops
        cdef int64_t[::1] indexes
        cdef size_t n = self.count
        columns = (
            np.empty(n, np.uint32),
            np.empty(n, np.uint8),
            np.empty(n, np.uint32),
            np.empty(n, np.uint32),
            np.empty(n, np.int64),
        )
        threads, ops, targets, sites, indexes = columns
        if n:
            memcpy(&threads[0], self.out_thread, 4 * n)
            memcpy(&ops[0], self.out_op, n)
            memcpy(&targets[0], self.out_target, 4 * n)
            memcpy(&sites[0], self.out_site, 4 * n)
            memcpy(&indexes[0], self.out_index, 8 * n)
        return columns

    cdef bint step(self, uint32_t t, uint8_t op, uint32_t target, uint32_t site, size_t i) noexcept nogil:
        """One event. False if there is not enough memory."""
        cdef ThreadRow *row = self.rows + t
        if self.site_count and (row.kept == 0 or row.assignments):
            return self.step_by_statement(row, t, op, target, site, i)
        return self.event(row, t, op, target, site, i)

    cdef bint step_by_statement(
        self, ThreadRow *row, uint32_t t, uint8_t op, uint32_t target, uint32_t site, size_t i
    ) noexcept nogil:
        """One event that may begin or end an augmented assignment."""
        if row.depth and row.open[row.depth - 1].is_assignment:
            if op == WRITE and self.assignment_at(site) == row.open[row.depth - 1].region:
                return self.event(row, t, op, target, site, i) and self.end_assignment(row, t, site, i)
            if self.is_abandoned(op, site) and not self.end_assignment(row, t, site, i):
                return False
        if row.kept == 0 and op == READ and self.assignment_at(site) != NO_REGION:
            if not self.begin_assignment(row, t, site, i):
                return False
        return self.event(row, t, op, target, site, i)

    cdef inline uint32_t assignment_at(self, uint32_t site) noexcept nogil:
        return self.sites[site].assignment if site < self.site_count else <uint32_t> NO_REGION

    cdef inline bint is_abandoned(self, uint8_t op, uint32_t site) noexcept nogil:
        """Whether an event of the same call shows that an assignment is over."""
        if op == END:
            return True
        return site < self.site_count and (self.sites[site].is_apart or self.sites[site].assignment != NO_REGION)

    cdef bint begin_assignment(self, ThreadRow *row, uint32_t t, uint32_t site, size_t i) noexcept nogil:
        cdef uint32_t region = self.sites[site].assignment
        if self.marks[region] & DROP:
            return True
        if not self.event(row, t, BEGIN, region, site, i):
            return False
        row.open[row.depth - 1].is_assignment = True
        row.assignments += 1
        return True

    cdef bint end_assignment(self, ThreadRow *row, uint32_t t, uint32_t site, size_t i) noexcept nogil:
        row.assignments -= 1
        return self.event(row, t, END, row.open[row.depth - 1].region, site, i)

    cdef inline bint event(
        self, ThreadRow *row, uint32_t t, uint8_t op, uint32_t target, uint32_t site, size_t i
    ) noexcept nogil:
        """One event, of the trace or put in."""
        cdef Open *region
        if op == END and row.depth:
            row.depth -= 1
            region = row.open + row.depth
            if region.marks & DROP:
                return True
            row.kept -= 1
            if region.suspended:
                row.suspended -= 1
                return True
        elif op == JOIN or (op == TAKE and not (target < self.ready_count and self.ready[target])):
            if not self.suspend(row, t, site, i):
                return False
        elif op == BEGIN:
            if not has_room(<void **> &row.open, &row.room, <size_t> row.depth + 1, sizeof(Open)):
                return False
            region = row.open + row.depth
            if self.marks[target] & DROP == 0 and row.suspended and not self.resume(row, t, i):
                return False
            region.region = target
            region.site = site
            region.marks = self.marks[target]
            region.suspended = region.is_assignment = False
            row.depth += 1
            if region.marks & DROP:
                return True
            row.kept += 1
        elif row.suspended and not self.resume(row, t, i):
            return False
        return self.put(t, op, target, site, i)

    cdef bint suspend(self, ThreadRow *row, uint32_t t, uint32_t site, size_t i) noexcept nogil:
        cdef uint32_t k = row.depth
        cdef Open *region
        while k:
            k -= 1
            region = row.open + k
            if region.marks & DROP or region.suspended:
                continue
            if region.marks & SPLIT == 0:
                break
            region.suspended = True
            row.suspended += 1
            if not self.put(t, END, region.region, site, i):
                return False
        return True

    cdef bint resume(self, ThreadRow *row, uint32_t t, size_t i) noexcept nogil:
        cdef uint32_t k
        cdef Open *region
        for k in range(row.depth):
            region = row.open + k
            if region.suspended:
                region.suspended = False
                if not self.put(t, BEGIN, region.region, region.site, i):
                    return False
        row.suspended = 0
        return True

    cdef inline bint put(self, uint32_t t, uint8_t op, uint32_t target, uint32_t site, size_t i) noexcept nogil:
        if self.count == self.room and not self.widen():
            return False
        self.out_thread[self.count] = t
        self.out_op[self.count] = op
        self.out_target[self.count] = target
        self.out_site[self.count] = site
        self.out_index[self.count] = i
        self.count += 1
        return True

    cdef bint widen(self) noexcept nogil:
        """Room for more events in each column."""
        cdef size_t needed = self.count + 1024
        if not (
            has_room(<void **> &self.out_thread, &self.out_room[0], needed, sizeof(uint32_t))
            and has_room(<void **> &self.out_op, &self.out_room[1], needed, sizeof(uint8_t))
            and has_room(<void **> &self.out_target, &self.out_room[2], needed, sizeof(uint32_t))
            and has_room(<void **> &self.out_site, &self.out_room[3], needed, sizeof(uint32_t))
            and has_room(<void **> &self.out_index, &self.out_room[4], needed, sizeof(int64_t))
        ):
            return False
        self.room = self.out_room[0]     # they all grow alike
        return True
