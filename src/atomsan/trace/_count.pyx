# cython: language_level=3, freethreading_compatible=True
"""Counts the events, symbols and transactions of a trace, in one pass over the columns.

The batches must be well-formed (`validation.ValidatedSource` validates them), so that every number indexes its table.
Every event counts for its operation, but only the outermost acquire of a lock and the release that matches it can be
unary transactions: the inner ones are no events to the algorithms.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free

from atomsan.trace._memory cimport ensure_room, prefetch
from atomsan.trace._ops cimport ACQUIRE, BEGIN, END, FORK, READ, RELEASE, WRITE

# So many events ahead the location's entry is asked for, so that it has come from memory when it is needed.
cdef enum: AHEAD = 16

# The entry of a location: 0 if no thread accessed it, 1 + the thread if one did, this if several did.
cdef enum: SHARED = 0xFFFFFFFF

cdef struct ThreadRow:
    uint64_t events       # of this thread so far
    uint64_t before       # how many there were, up to and with the begin, when its open transaction began
    uint64_t first        # the event that began it
    uint32_t region       # which began it
    uint32_t site         # where
    uint32_t depth        # its open regions

cdef struct Longest:
    uint64_t events
    uint64_t first
    uint32_t thread
    uint32_t region
    uint32_t site
    uint32_t end_site     # if it ended
    bint exists
    bint ended


cdef class Counter:
    """The counts of one trace. Symbol counts may grow from batch to batch."""

    cdef uint64_t counts[10]      # by operation
    cdef readonly uint64_t transactions
    cdef readonly uint64_t unary
    cdef readonly uint64_t shared
    cdef Longest longest
    cdef ThreadRow *rows
    cdef uint32_t *toucher        # of each location
    cdef uint32_t *holds          # of each lock: acquires that are not released yet
    # whether a symbol of each kind was seen, by the kind's first operation // 2; [0] is not used: `toucher` tells
    cdef uint8_t *seen[5]
    cdef size_t seen_room[5]
    cdef size_t row_room, toucher_room, hold_room
    cdef uint64_t found[5]        # how many symbols of each kind were seen, as targets
    cdef uint32_t limit[5]        # how many there are now

    def __dealloc__(self):
        cdef int kind
        free(self.rows)
        free(self.toucher)
        free(self.holds)
        for kind in range(5):
            free(self.seen[kind])

    @property
    def by_op(self):
        """The number of events of each operation."""
        return [self.counts[op] for op in range(10)]

    @property
    def symbols_seen(self):
        """The numbers of locations, locks, threads, regions and hand-overs used. A forked thread counts as used."""
        cdef uint32_t t
        cdef uint64_t threads = 0
        for t in range(self.limit[FORK // 2]):
            threads += self.rows[t].events > 0 or self.seen[FORK // 2][t]
        return [self.found[0], self.found[1], threads, self.found[3], self.found[4]]

    def longest_region(self):
        """(events, thread, region, event and site of its begin, site of its end), or None. None for an end that did not
        come: open ones end here."""
        cdef Longest best = self.longest
        cdef uint32_t t
        for t in range(self.limit[FORK // 2]):
            if self.rows[t].depth:
                note(&best, self.rows + t, t, self.rows[t].events, 0, False)
        if not best.exists:
            return None
        return best.events, best.thread, best.region, best.first, best.site, best.end_site if best.ended else None

    def add(self, symbols, batch):
        """Count the events of one more batch."""
        cdef const uint32_t[::1] thread = batch.thread
        cdef const uint8_t[::1] op = batch.op
        cdef const uint32_t[::1] target = batch.target
        cdef const uint32_t[::1] site = batch.site
        cdef uint64_t first = batch.first, count = op.shape[0]
        self.grow(symbols)
        if count:
            with nogil:
                self.run(&thread[0], &op[0], &target[0], &site[0], count, first)

    cdef grow(self, symbols):
        cdef int kind = 0
        for table in (symbols.locations, symbols.locks, symbols.threads, symbols.regions, symbols.handovers):
            self.limit[kind] = len(table)
            if kind != READ // 2:
                ensure_room(<void **> &self.seen[kind], &self.seen_room[kind], self.limit[kind], sizeof(uint8_t))
            kind += 1
        ensure_room(<void **> &self.toucher, &self.toucher_room, self.limit[READ // 2], sizeof(uint32_t))
        ensure_room(<void **> &self.holds, &self.hold_room, self.limit[ACQUIRE // 2], sizeof(uint32_t))
        ensure_room(<void **> &self.rows, &self.row_room, self.limit[FORK // 2], sizeof(ThreadRow))

    cdef void run(
        self,
        const uint32_t *thread,
        const uint8_t *op,
        const uint32_t *target,
        const uint32_t *site,
        uint64_t count,
        uint64_t first,
    ) noexcept nogil:
        cdef uint64_t i, unary = 0
        cdef uint32_t t, toucher
        cdef ThreadRow *row
        cdef ThreadRow *rows = self.rows
        cdef const uint32_t *touchers = self.toucher
        for i in range(count):
            if i + AHEAD < count:
                prefetch(touchers + target[i + AHEAD])   # no access may be: then it is only useless
            t = thread[i]
            row = rows + t
            row.events += 1
            self.counts[op[i]] += 1
            if op[i] <= WRITE:
                unary += row.depth == 0
                toucher = touchers[target[i]]
                if toucher != t + 1 and toucher != SHARED:
                    self.touch(t, target[i])
                continue
            self.see(op[i] // 2, target[i])
            if op[i] == BEGIN:
                if row.depth == 0:
                    self.transactions += 1
                    row.before = row.events
                    row.first = first + i
                    row.region = target[i]
                    row.site = site[i]
                row.depth += 1
            elif op[i] == END:
                row.depth -= 1
                if row.depth == 0:
                    note(&self.longest, row, t, row.events - 1, site[i], True)
            elif op[i] == ACQUIRE:
                unary += row.depth == 0 and self.holds[target[i]] == 0
                self.holds[target[i]] += 1
            elif op[i] == RELEASE:
                self.holds[target[i]] -= 1
                unary += row.depth == 0 and self.holds[target[i]] == 0
            else:
                unary += row.depth == 0
        self.unary += unary

    cdef void touch(self, uint32_t t, uint32_t location) noexcept nogil:
        """An access to a location that nobody, or only another thread, has touched so far."""
        if self.toucher[location]:
            self.toucher[location] = SHARED
            self.shared += 1
        else:
            self.toucher[location] = t + 1
            self.found[READ // 2] += 1

    cdef inline void see(self, int kind, uint32_t symbol) noexcept nogil:
        if not self.seen[kind][symbol]:
            self.seen[kind][symbol] = True
            self.found[kind] += 1


cdef void note(
    Longest *best, const ThreadRow *row, uint32_t t, uint64_t events, uint32_t end_site, bint ended
) noexcept nogil:
    """End a thread's transaction at its event number `events`, and keep it if it is the longest so far."""
    cdef uint64_t inside = events - row.before
    if not best.exists or inside > best.events:
        best.exists = True
        best.ended = ended
        best.events = inside
        best.thread = t
        best.region = row.region
        best.site = row.site
        best.end_site = end_site
        best.first = row.first
