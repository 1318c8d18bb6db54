# cython: language_level=3, freethreading_compatible=True
"""Validates a trace in one pass over the columns.

A lock is held by one thread at a time and released by its holder (re-entrant acquires are counted); begin and end
match; a child's first event follows its fork and its last precedes its join. The numbers in the columns are checked
too, so that every stage after this one may index its tables with them.

`check` stops at the first event that breaks a rule and returns the number of the rule; `validation.py` has the
messages. `repair` goes on: it drops such an event, or closes the regions that an `end` skipped.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free

from atomsan.trace._memory cimport ensure_room, has_room
from atomsan.trace._ops cimport ACQUIRE, BEGIN, END, FORK, JOIN, READ, RELEASE, TAKE, WRITE

import numpy as np

cdef extern from "_scan.h":
    uint64_t others64 "atomsan_others64"(const uint8_t *p) nogil
    int in_range "atomsan_in_range"(
        const uint32_t *thread, const uint8_t *op, const uint32_t *target, const uint32_t *site, size_t count,
        uint32_t threads, uint32_t locations, uint32_t sites) nogil
    int first_bit "__builtin_ctzll"(unsigned long long bits) nogil

cdef enum: NOBODY = 0xFFFFFFFF
cdef enum: NO_REGION = 0xFFFFFFFF

cdef enum ThreadState:
    UNSEEN
    FORKED
    RUNNING
    JOINED

# The order is that of validation.RULES.
cdef enum Rule:
    FINE
    RELEASE_OF_FREE
    RELEASE_OF_OTHERS
    ACQUIRE_OF_HELD
    END_WITHOUT_BEGIN
    END_OF_ANOTHER
    FORK_OF_SELF
    FORK_AGAIN
    FORK_OF_RUNNING
    FORK_OF_JOINED
    JOIN_OF_SELF
    EVENT_AFTER_JOIN
    BAD_OP
    BAD_THREAD
    BAD_TARGET
    BAD_SITE
    NO_MEMORY

cdef struct OpenRegion:
    uint64_t since
    uint32_t region

cdef struct ThreadRow:
    uint64_t since        # the event that brought it into its state
    OpenRegion *open      # its open regions, innermost last
    size_t room
    uint32_t depth

cdef struct LockRow:
    uint64_t since        # the outermost acquire
    uint32_t holder
    uint32_t depth


cdef class Validator:
    """The state of one trace being validated. Symbol counts may grow from batch to batch."""

    cdef uint8_t *states          # of threads; apart from their rows, because every event looks at it
    cdef size_t state_room
    cdef ThreadRow *threads
    cdef size_t thread_room
    cdef LockRow *locks
    cdef size_t lock_room
    cdef uint32_t nameless        # the region without a name: its end closes any region
    # where the last broken rule was found, and what it was about
    cdef readonly uint64_t event
    cdef readonly uint64_t since
    cdef readonly uint32_t other
    # the size of each table that a target can index, by op
    cdef uint32_t limits[10]
    cdef uint32_t thread_limit
    cdef uint64_t site_limit

    def __cinit__(self):
        self.nameless = NO_REGION

    def __dealloc__(self):
        cdef size_t t
        for t in range(self.thread_room):
            free(self.threads[t].open)
        free(self.states)
        free(self.threads)
        free(self.locks)

    def grow(self, symbols):
        """Make room for the symbols there are now."""
        cdef size_t lock, known = self.lock_room
        self.thread_limit = len(symbols.threads)
        self.site_limit = len(symbols.sites)
        for op, table in enumerate(
            (symbols.locations, symbols.locks, symbols.threads, symbols.regions, symbols.handovers)
        ):
            self.limits[2 * op] = self.limits[2 * op + 1] = len(table)
        if self.nameless == NO_REGION and self.limits[BEGIN]:
            found = symbols.regions.find("")
            if found is not None:
                self.nameless = found
        ensure_room(<void **> &self.states, &self.state_room, self.thread_limit, sizeof(uint8_t))
        ensure_room(<void **> &self.threads, &self.thread_room, self.thread_limit, sizeof(ThreadRow))
        ensure_room(<void **> &self.locks, &self.lock_room, self.limits[ACQUIRE], sizeof(LockRow))
        for lock in range(known, self.lock_room):
            self.locks[lock].holder = NOBODY

    def check(self, batch):
        """The rule that the batch breaks, 0 if none; `event`, `since` and `other` say where and by whom."""
        cdef const uint32_t[::1] thread = batch.thread
        cdef const uint8_t[::1] op = batch.op
        cdef const uint32_t[::1] target = batch.target
        cdef const uint32_t[::1] site = batch.site
        cdef uint64_t first = batch.first, count = op.shape[0]
        cdef Rule rule = FINE
        cdef uint64_t done
        if count == 0:
            return 0
        with nogil:
            done = self.run_quickly(&thread[0], &op[0], &target[0], &site[0], count, first)
            if done < count:
                self.run(&thread[done], &op[done], &target[done], &site[done], count - done, first + done, &rule)
        if rule == NO_MEMORY:
            raise MemoryError
        return rule

    cdef uint64_t run_quickly(
        self,
        const uint32_t *thread,
        const uint8_t *op,
        const uint32_t *target,
        const uint32_t *site,
        uint64_t count,
        uint64_t first,
    ) noexcept nogil:
        """Check events from 0 on for as long as all threads are running; returns how many are fine.

        Then an access can only be wrong by its numbers. These are looked at together, which takes a fraction of the
        time of doing it one by one, and after that the accesses are passed over. Whatever is unusual is left to `run`.
        """
        cdef uint64_t i, block = 0, others
        cdef uint32_t t, locations = self.limits[READ]
        for t in range(self.thread_limit):
            if self.states[t] != RUNNING:
                return 0
        if not in_range(thread, op, target, site, count, self.thread_limit, locations, <uint32_t> self.site_limit):
            return 0
        while count - block >= 64:
            others = others64(op + block)
            while others:
                i = block + first_bit(others)
                others &= others - 1
                if op[i] == FORK or op[i] == JOIN or not self.is_fine(thread[i], op[i], target[i], first + i):
                    return i
            block += 64
        return block

    cdef inline bint is_fine(self, uint32_t t, uint8_t o, uint32_t x, uint64_t event) noexcept nogil:
        """Do a running thread's event that is no access, if it is a usual one."""
        cdef LockRow *lock
        cdef ThreadRow *row
        if x >= self.limits[o]:
            return False
        if o == ACQUIRE:
            lock = self.locks + x
            if lock.holder != NOBODY:
                return False
            lock.holder = t
            lock.depth = 1
            lock.since = event
        elif o == RELEASE:
            lock = self.locks + x
            if lock.holder != t or lock.depth != 1:
                return False
            lock.holder = NOBODY
            lock.depth = 0
        elif o == BEGIN:
            row = self.threads + t
            if row.depth == row.room:
                return False
            row.open[row.depth].region = x
            row.open[row.depth].since = event
            row.depth += 1
        elif o == END:
            row = self.threads + t
            if row.depth == 0 or row.open[row.depth - 1].region != x:
                return False
            row.depth -= 1
        return True

    cdef uint64_t run(
        self,
        const uint32_t *thread,
        const uint8_t *op,
        const uint32_t *target,
        const uint32_t *site,
        uint64_t count,
        uint64_t first,
        Rule *rule,
    ) noexcept nogil:
        """Check events from 0 on; returns the index of the first that breaks a rule, or count.

        What is fine and usual is done here, in line; everything else is `step`'s.
        """
        cdef uint64_t i
        cdef uint32_t t, locations = self.limits[READ], threads = self.thread_limit
        cdef uint64_t sites = self.site_limit
        cdef uint8_t o
        cdef uint8_t *states = self.states
        for i in range(count):
            t, o = thread[i], op[i]
            if (
                o <= TAKE
                and t < threads
                and <uint32_t> (site[i] + 1) <= sites   # no site wraps to 0
                and states[t] == RUNNING
                and o != FORK
                and o != JOIN
            ):
                if target[i] < locations if o <= WRITE else self.is_fine(t, o, target[i], first + i):
                    continue
            rule[0] = self.step(t, o, target[i], site[i], first + i)
            if rule[0]:
                return i
        return count

    cdef Rule step(self, uint32_t t, uint8_t op, uint32_t target, uint32_t site, uint64_t event) noexcept nogil:
        """Apply one event to the state, unless it breaks a rule."""
        cdef Rule rule
        self.event = event
        if op > TAKE:
            return BAD_OP
        if t >= self.thread_limit:
            return BAD_THREAD
        if target >= self.limits[op]:
            return BAD_TARGET
        if <uint32_t> (site + 1) > self.site_limit:
            return BAD_SITE
        if self.states[t] == JOINED:
            self.since = self.threads[t].since
            return EVENT_AFTER_JOIN
        if op == ACQUIRE or op == RELEASE:
            rule = self.lock_step(t, op, target, event)
        elif op == FORK or op == JOIN:
            rule = self.thread_step(t, op, target, event)
        elif op == BEGIN or op == END:
            rule = self.region_step(t, op, target, event)
        else:
            rule = FINE
        if rule == FINE and self.states[t] != RUNNING:
            self.states[t] = RUNNING
            self.threads[t].since = event
        return rule

    cdef Rule lock_step(self, uint32_t t, uint8_t op, uint32_t target, uint64_t event) noexcept nogil:
        cdef LockRow *lock = self.locks + target
        if op == ACQUIRE:
            if lock.holder == NOBODY:
                lock.holder = t
                lock.since = event
            elif lock.holder != t:
                self.other = lock.holder
                self.since = lock.since
                return ACQUIRE_OF_HELD
            lock.depth += 1
            return FINE
        if lock.holder == NOBODY:
            return RELEASE_OF_FREE
        if lock.holder != t:
            self.other = lock.holder
            self.since = lock.since
            return RELEASE_OF_OTHERS
        lock.depth -= 1
        if lock.depth == 0:
            lock.holder = NOBODY
        return FINE

    cdef Rule thread_step(self, uint32_t t, uint8_t op, uint32_t child, uint64_t event) noexcept nogil:
        cdef uint8_t state = self.states[child]
        self.since = self.threads[child].since
        if op == JOIN:
            if child == t:
                return JOIN_OF_SELF
            if state != JOINED:   # joining twice is legal; the first join is the one that ends the child
                self.states[child] = JOINED
                self.threads[child].since = event
            return FINE
        if child == t:
            return FORK_OF_SELF
        if state == FORKED:
            return FORK_AGAIN
        if state == RUNNING:
            return FORK_OF_RUNNING
        if state == JOINED:
            return FORK_OF_JOINED
        self.states[child] = FORKED
        self.threads[child].since = event
        return FINE

    cdef Rule region_step(self, uint32_t t, uint8_t op, uint32_t region, uint64_t event) noexcept nogil:
        cdef ThreadRow *row = self.threads + t
        if op == BEGIN:
            if not has_room(<void **> &row.open, &row.room, <size_t> row.depth + 1, sizeof(OpenRegion)):
                return NO_MEMORY
            row.open[row.depth].region = region
            row.open[row.depth].since = event
            row.depth += 1
            return FINE
        if row.depth == 0:
            return END_WITHOUT_BEGIN
        if row.open[row.depth - 1].region != region and region != self.nameless:
            self.other = row.open[row.depth - 1].region
            self.since = row.open[row.depth - 1].since
            return END_OF_ANOTHER
        row.depth -= 1
        return FINE

    def repair(self, batch, report):
        """The columns of a batch with every rule kept.

        `report(rule)` is called for each broken rule, after which `event`, `since` and `other` are as after `check`. It
        may raise. Returns (thread, op, target, site, index); `index` is the event of the batch that each row came from.
        """
        cdef const uint32_t[::1] thread = batch.thread
        cdef const uint8_t[::1] op = batch.op
        cdef const uint32_t[::1] target = batch.target
        cdef const uint32_t[::1] site = batch.site
        cdef uint64_t first = batch.first, count = op.shape[0], i = 0, start
        cdef Rule rule
        pieces = []
        while i < count:
            start = i
            rule = FINE
            with nogil:
                i += self.run(&thread[i], &op[i], &target[i], &site[i], count - i, first + i, &rule)
            if i > start:
                pieces.append(piece(batch, start, i))
            if rule == NO_MEMORY:
                raise MemoryError
            if rule:
                report(rule)
                if rule == END_OF_ANOTHER and self.is_open(thread[i], target[i]):
                    # the regions inside the one that ends had no end of their own: give them one here
                    skipped = self.close_down_to(thread[i], target[i])
                    ends = len(skipped) + 1
                    pieces.append((
                        np.full(ends, thread[i], np.uint32),
                        np.full(ends, END, np.uint8),
                        np.array([*skipped, target[i]], np.uint32),
                        np.full(ends, site[i], np.uint32),
                        np.full(ends, i, np.int64),
                    ))
                i += 1
        if not pieces:
            return piece(batch, 0, 0)
        return tuple(np.concatenate(parts) for parts in zip(*pieces))

    cdef bint is_open(self, uint32_t t, uint32_t region):
        cdef ThreadRow *row = self.threads + t
        cdef uint32_t i
        for i in range(row.depth):
            if row.open[i].region == region:
                return True
        return False

    cdef list close_down_to(self, uint32_t t, uint32_t region):
        """End the innermost open `region` of a thread; returns the regions inside it that had to end first."""
        cdef ThreadRow *row = self.threads + t
        skipped = []
        while row.open[row.depth - 1].region != region:
            skipped.append(row.open[row.depth - 1].region)
            row.depth -= 1
        row.depth -= 1
        return skipped


def piece(batch, start, stop):
    """Events start..stop of a batch as the columns that `repair` returns."""
    return (
        batch.thread[start:stop],
        batch.op[start:stop],
        batch.target[start:stop],
        batch.site[start:stop],
        np.arange(start, stop),
    )
