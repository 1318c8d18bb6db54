# cython: language_level=3, freethreading_compatible=True
"""Assigns accesses to units of work: turns events into the rows of `checkers/units.py`.

Its inputs are the arrays of `checkers/set_model.py`: the sets of each location, the kind of each set, and which regions
are units on which kinds. A kind is shared by the objects of one class, so the table of regions and kinds is as large as
the source of a program, whatever the number of its objects.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from atomsan.trace._memory cimport ensure_room, has_room
from atomsan.trace._ops cimport BEGIN, END, READ, WRITE

import numpy as np

cdef enum: NONE = 0xFFFFFFFF

# Rows: see RowKind.
cdef enum:
    ROW_END = 2
    ROW_ALONE = 4

cdef struct Open:
    uint32_t region
    uint32_t unit         # NONE: it was no unit of an access yet
    uint32_t level        # how many of the regions from the outermost to this one were called back
    uint32_t base         # where the innermost of these stands; 0: there is none

cdef struct ThreadRow:
    Open *open            # innermost last
    size_t depth
    size_t room
    uint32_t kind         # for which the outermost unit was looked for last
    uint32_t found        # where it stands in `open`; NONE: there is none
    uint32_t number       # of its transaction that is open, or was last
    bint is_known
    uint32_t *lanes       # by level, plus 1; 0: not used yet
    size_t lane_room

cdef struct Row:
    uint64_t event
    uint32_t thread
    uint32_t lane
    uint32_t unit
    uint32_t set
    uint32_t location
    uint32_t region
    uint32_t site
    uint32_t transaction
    uint8_t kind


cdef class UnitFinder:
    """Finds the unit of each access, for each set of its location.

    With `learns`, a region is a unit on the sets of a kind as soon as its own code has touched one.
    """

    cdef ThreadRow *threads
    cdef size_t thread_room
    cdef Row *rows
    cdef size_t row_count
    cdef size_t row_room
    cdef uint32_t units
    cdef uint32_t lanes
    cdef readonly uint64_t transactions
    cdef bint learns
    cdef object _offsets, _sets, _kinds, _on, _parts, _same, _back
    cdef const uint32_t *offsets      # of a location, into `sets`
    cdef const uint32_t *sets
    cdef const uint32_t *kinds        # of a set
    cdef uint8_t *on                  # of a region and a kind
    cdef const uint8_t *parts         # of a region: it is part of the code of the one around it
    cdef const uint32_t *same         # of a region: whose row of `on` is its own
    cdef const uint8_t *back          # of a region: it was called back
    cdef size_t location_count
    cdef bint is_one_set
    cdef size_t region_count
    cdef size_t kind_count

    def __cinit__(self, *, bint learns=False):
        self.learns = learns

    def __dealloc__(self):
        cdef size_t t
        for t in range(self.thread_room):
            free(self.threads[t].open)
            free(self.threads[t].lanes)
        free(self.threads)
        free(self.rows)

    def grow(self, size_t threads):
        """Make room for so many threads."""
        ensure_room(<void **> &self.threads, &self.thread_room, threads, sizeof(ThreadRow))

    def know(self, offsets, sets, kinds, on, parts, same, back, *, bint is_one_set=False):
        """Take the locations, sets and regions known so far.

        The sets of location v are `sets[offsets[v] : offsets[v + 1]]`, the kind of a set is `kinds[set]`, and
        `on[region, kind]` is 1 if the region is a unit on sets of the kind (and is written to, if this finder learns).
        `parts[region]` is 1 for a region that is part of the code around it. `back[region]` is 1 for a region that a
        library called back; it shares the row of `on` with the same code called otherwise, `same[region]`. With
        `is_one_set`, all locations are in the sets of the first.
        """
        cdef const uint32_t[::1] offset_view = offsets
        cdef const uint32_t[::1] set_view = sets
        cdef const uint32_t[::1] kind_view = kinds
        cdef uint8_t[:, ::1] on_view = on
        cdef const uint8_t[::1] part_view = parts
        cdef const uint32_t[::1] same_view = same
        cdef const uint8_t[::1] back_view = back
        cdef size_t t
        if same_view.shape[0] != part_view.shape[0] or back_view.shape[0] != part_view.shape[0]:
            raise ValueError("regions do not fit together")
        if same_view.shape[0] and np.max(same) >= len(same):
            raise ValueError("a region that is not known")
        if on_view.shape[0] != part_view.shape[0] or (set_view.shape[0] and np.max(sets) >= len(kinds)):
            raise ValueError("regions and sets do not fit together")
        if len(offsets) == 0 or int(offsets[len(offsets) - 1]) != len(sets):
            raise ValueError("the sets of the locations do not add up")
        if kind_view.shape[0] and np.max(kinds) >= on_view.shape[1]:
            raise ValueError("a kind of sets that no region knows")
        self._offsets, self._sets, self._kinds, self._on, self._parts = offsets, sets, kinds, on, parts
        self._same, self._back = same, back
        self.location_count = offset_view.shape[0] - 1
        self.is_one_set = is_one_set and self.location_count
        self.region_count, self.kind_count = on_view.shape[0], on_view.shape[1]
        self.offsets = &offset_view[0]
        self.sets = &set_view[0] if set_view.shape[0] else NULL
        self.kinds = &kind_view[0] if kind_view.shape[0] else NULL
        self.on = &on_view[0, 0] if on_view.size else NULL
        self.parts = &part_view[0] if part_view.shape[0] else NULL
        self.same = &same_view[0] if same_view.shape[0] else NULL
        self.back = &back_view[0] if back_view.shape[0] else NULL
        for t in range(self.thread_room):
            self.threads[t].is_known = False

    def feed(self, batch, const uint64_t[::1] events=None):
        """The rows of a batch, as columns in the order of `Rows`. `events` are the numbers of its events, if it is an
        extract.
        """
        cdef const uint32_t[::1] thread = batch.thread
        cdef const uint8_t[::1] ops = batch.op
        cdef const uint32_t[::1] target = batch.target
        cdef const uint32_t[::1] site = batch.site
        cdef uint64_t first = batch.first, event
        cdef size_t i, count = ops.shape[0]
        cdef bint fits = True, is_extract = events is not None
        self.row_count = 0
        with nogil:
            for i in range(count):
                if ops[i] <= WRITE:
                    event = events[i] if is_extract else first + i
                    fits = self.access(&self.threads[thread[i]], thread[i], ops[i], target[i], site[i], event)
                elif ops[i] == BEGIN:
                    fits = self.begin(&self.threads[thread[i]], target[i])
                    if is_extract and self.threads[thread[i]].depth == 1:
                        self.threads[thread[i]].number = site[i]
                elif ops[i] == END:
                    fits = self.end(&self.threads[thread[i]])
                if not fits:
                    break
        if not fits:
            raise MemoryError
        return self.columns()

    def extract(self, batch):
        """The accesses of a batch to locations that are in sets, and the regions that they are in.

        As columns: thread, operation, target, site, number of the event. Learns, too. The extracts say as much about
        the sets as the whole trace, and are often a small part of it.
        """
        cdef const uint32_t[::1] thread = batch.thread
        cdef const uint8_t[::1] ops = batch.op
        cdef const uint32_t[::1] target = batch.target
        cdef const uint32_t[::1] site = batch.site
        cdef uint64_t first = batch.first
        cdef size_t i, count = ops.shape[0]
        cdef bint fits = True
        cdef ThreadRow *row
        cdef uint32_t place
        self.row_count = 0
        with nogil:
            for i in range(count):
                row = &self.threads[thread[i]]
                if ops[i] <= WRITE:
                    place = self.place_of(target[i])
                    if place < self.location_count and self.offsets[place] != self.offsets[place + 1]:
                        fits = self.keep_access(row, thread[i], ops[i], target[i], site[i], first + i)
                elif ops[i] == BEGIN:
                    fits = self.begin(row, target[i])
                elif ops[i] == END and row.depth:
                    row.depth -= 1
                    if row.open[row.depth].unit != NONE:
                        fits = self.keep(thread[i], END, row.open[row.depth].region, 0, first + i)
                if not fits:
                    break
        if not fits:
            raise MemoryError
        kind, thread_column, _, _, _, location, _, site_column, _, event = self.columns()
        return thread_column, kind, location, site_column, event

    cdef inline uint32_t place_of(self, uint32_t location) noexcept nogil:
        """Where in `offsets` the sets of a location are."""
        return 0 if self.is_one_set else location

    cdef bint keep_access(
        self, ThreadRow *row, uint32_t thread, uint8_t op, uint32_t location, uint32_t site, uint64_t event
    ) noexcept nogil:
        """The access, and before it the begins of the regions around it that were not kept yet.

        Transactions that are not kept count too: the begin of one has its number, in the place of a site.
        """
        cdef size_t i
        cdef uint32_t place = self.place_of(location)
        for i in range(self.offsets[place], self.offsets[place + 1]):
            self.learn(row, self.kinds[self.sets[i]])
        for i in range(row.depth):
            if row.open[i].unit == NONE:
                row.open[i].unit = 0  # is kept
                if not self.keep(thread, BEGIN, row.open[i].region, row.number, event):
                    return False
        return self.keep(thread, op, location, site, event)

    cdef bint keep(self, uint32_t thread, uint8_t op, uint32_t target, uint32_t site, uint64_t event) noexcept nogil:
        cdef Row *kept = self.new_row()
        if kept == NULL:
            return False
        memset(kept, 0, sizeof(Row))
        kept.thread, kept.kind, kept.location, kept.site, kept.event = thread, op, target, site, event
        return True

    cdef bint begin(self, ThreadRow *row, uint32_t region) noexcept nogil:
        cdef Open *opened
        cdef bint is_back = region < self.region_count and self.back[region]
        if not has_room(<void **> &row.open, &row.room, row.depth + 1, sizeof(Open)):
            return False
        opened = &row.open[row.depth]
        opened.region, opened.unit, opened.level, opened.base = region, NONE, 0, 0
        if row.depth:
            opened.level, opened.base = row.open[row.depth - 1].level, row.open[row.depth - 1].base
        if is_back:
            opened.level += 1
            opened.base = <uint32_t> row.depth
        self.transactions += row.depth == 0
        row.number += row.depth == 0
        row.depth += 1
        if row.found == NONE or is_back:
            row.is_known = False
        return True

    cdef bint end(self, ThreadRow *row) noexcept nogil:
        cdef Row *ended
        if row.depth == 0:
            return True
        row.depth -= 1
        if row.found == row.depth or row.open[row.depth].base == row.depth:
            row.is_known = False
        if row.open[row.depth].unit == NONE:
            return True
        ended = self.new_row()
        if ended == NULL:
            return False
        memset(ended, 0, sizeof(Row))
        ended.kind = ROW_END
        ended.unit = row.open[row.depth].unit
        ended.region = row.open[row.depth].region
        return True

    cdef bint access(
        self, ThreadRow *row, uint32_t thread, uint8_t op, uint32_t location, uint32_t site, uint64_t event
    ) noexcept nogil:
        cdef uint32_t i, kind, lane, place = self.place_of(location)
        cdef Row *made
        cdef Open *unit
        if place >= self.location_count or self.offsets[place] == self.offsets[place + 1]:
            return True
        lane = self.lane(row)
        if lane == NONE:
            return False
        for i in range(self.offsets[place], self.offsets[place + 1]):
            kind = self.kinds[self.sets[i]]
            if self.learns:
                self.learn(row, kind)
            if not row.is_known or row.kind != kind:
                self.look(row, kind)
            made = self.new_row()
            if made == NULL:
                return False
            made.event = event
            made.thread = thread
            made.lane = lane
            made.set = self.sets[i]
            made.location = location
            made.site = site
            made.transaction = row.number if row.depth else 0
            if row.found == NONE:
                made.kind = op | ROW_ALONE
                made.region = NONE
                made.unit = self.units
                self.units += 1
            else:
                unit = &row.open[row.found]
                if unit.unit == NONE:
                    unit.unit = self.units
                    self.units += 1
                made.kind = op
                made.region = unit.region
                made.unit = unit.unit
        return True

    cdef void learn(self, ThreadRow *row, uint32_t kind) noexcept nogil:
        """The code that touches it is that of the innermost region, and of those that this is a part of."""
        cdef size_t i = row.depth
        cdef uint8_t *is_on
        while i:
            i -= 1
            is_on = &self.on[self.same[row.open[i].region] * self.kind_count + kind]
            if not is_on[0]:
                is_on[0] = 1
                row.is_known = False
            if not self.parts[row.open[i].region]:
                break

    cdef void look(self, ThreadRow *row, uint32_t kind) noexcept nogil:
        cdef size_t i
        cdef uint32_t region
        row.kind = kind
        row.found = NONE
        row.is_known = True
        if row.depth == 0:
            return
        # a library callback starts a new unit of work
        for i in range(row.open[row.depth - 1].base, row.depth):
            region = row.open[i].region
            if region < self.region_count and self.on[self.same[region] * self.kind_count + kind]:
                row.found = <uint32_t> i
                return

    cdef inline uint32_t lane(self, ThreadRow *row) noexcept nogil:
        """Where the thread is: how deep in callbacks. NONE: no memory."""
        cdef size_t level = row.open[row.depth - 1].level if row.depth else 0
        if level >= row.lane_room and not has_room(<void **> &row.lanes, &row.lane_room, level + 1, 4):
            return NONE
        if row.lanes[level] == 0:
            self.lanes += 1
            row.lanes[level] = self.lanes
        return row.lanes[level] - 1

    cdef Row *new_row(self) noexcept nogil:
        if not has_room(<void **> &self.rows, &self.row_room, self.row_count + 1, sizeof(Row)):
            return NULL
        self.row_count += 1
        return &self.rows[self.row_count - 1]

    cdef columns(self):
        cdef size_t i, count = self.row_count
        kind = np.empty(count, np.uint8)
        wide = [np.empty(count, np.uint32) for _ in range(8)]
        event = np.empty(count, np.uint64)
        if count == 0:
            return kind, *wide, event
        cdef uint8_t[::1] kinds = kind
        cdef uint32_t[::1] threads = wide[0], lanes = wide[1], units = wide[2], sets = wide[3]
        cdef uint32_t[::1] locations = wide[4], regions = wide[5], sites = wide[6], transactions = wide[7]
        cdef uint64_t[::1] events = event
        cdef Row *row
        with nogil:
            for i in range(count):
                row = &self.rows[i]
                kinds[i] = row.kind
                threads[i] = row.thread
                lanes[i] = row.lane
                units[i] = row.unit
                sets[i] = row.set
                locations[i] = row.location
                regions[i] = row.region
                sites[i] = row.site
                transactions[i] = row.transaction
                events[i] = row.event
        return kind, *wide, event
