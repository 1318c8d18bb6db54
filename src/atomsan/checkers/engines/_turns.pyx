# cython: language_level=3, freethreading_compatible=True
"""Turns: lists all kinds of data cycles that lead out of a transaction into one other thread and back.

A turn is two accesses a before b of a transaction T and two accesses r1, r2 of one other thread: a conflicts with r1
and comes before it, r2 conflicts with b and comes before it. *One turn*: r1 = r2, or r1 before r2. *Two turns*: r2
before r1, in one transaction R: each of T and R comes before the other. `checkers/turns.py` explains what it is for.

Its kind: path, site and operation of a and of b; site and operation of r1 and of r2; which part of its object the
location of a and that of b are, by the numbers that the caller gives to them: one call can access the structure of a
container and an element; whether a and b are of one location, r1 and r2 of one transaction, a and b of the same
innermost region (the same begin: one iteration of a loop); one turn or two. A path is a hash of the open regions and the sites of their begins, from the outermost inwards. Of
each kind the example is kept that has the fewest events of the thread between a and b. Its count: one turn counts once
for T and the other thread, two turns once for T and R.

How: accesses are kept in a log, linked by location and by thread, as long as a transaction runs that they may matter
to. When a transaction ends, its locations are looked up, and what other threads did there meanwhile. Accesses of the
same kind to one location make a run. A pair of runs that conflict leads out (a -> r1) or back (r2 -> b), and each pair
out is combined with each pair back:

- one turn: for r2, the latest r1 up to it, the latest a before that and the first b after r2 are the shortest. Another
  iteration needs one more a (before b's innermost region began) and one more b (of the next innermost region);
- two turns: the last r1 and the first r2 of R leave most room, so each b with the latest a before it is enough. They
  are looked for when the later one of the two transactions ends, for both.

a and b of one path are of the same innermost region if and only if a comes after the begin of b's.

What is not enumerated, so that time and memory are bounded, and the counters that say how often:

- `folded`: of a run of the same access, with no other access to the location in between, the first two and the last
  are kept: no kind is lost, and no shorter example of one turn;
- `thinned`: of more than LONGEST accesses to a location, the FIRST oldest and LAST newest of each thread, path, site
  and operation are kept;
- pairs that look the same at more than 2 * ENDS locations: only those at the first and the last are combined with
  pairs at other locations, if there are more than FEW_COMBINATIONS;
- `dropped`: with one other thread there were more than MOST_COMBINATIONS, or in all more than `most` kinds;
- `forgotten`: of more than MOST_KEPT accesses that matter to running transactions, the older half is forgotten.

A transaction and another thread that did the same in the same order OFTEN times are only counted from then on. Of
*twins* even that needs no look at the other threads: transactions that end one after the other, that did the same to
the same locations, and nobody else came in between any two things of theirs that correspond. Every third thread did the
same in the same order to both. (With n tasks open at a time there are n * n pairs, and most transactions are twins.)

Shadow state: `log` (place 0 is none), `transactions` (0 is none: unary), both made compact when full; `locations` and
`threads` by number; `ended`, the transactions that ended, without those that a later one surrounds: both begins and
ends ascend in it.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, qsort
from libc.string cimport memcpy, memset

from atomsan.trace._hashing cimport NOT_FOUND, Map, found, free_map, put
from atomsan.trace._memory cimport ensure_room, out_of_memory, prefetch
from atomsan.trace._ops cimport BEGIN, END, WRITE
from atomsan.trace._sparse cimport Sparse, forget_rows, free_sparse, has_sparse_room
from atomsan.trace._stopping cimport Work, has_toiled, is_long, look_up

import numpy as np

cdef enum:
    NO_REGION = 0xFFFFFFFF
    AHEAD = 16                      # so many events ahead a location is fetched
    LONGEST = 256
    FIRST = 2
    LAST = 8
    ENDS = 4
    FEW_COMBINATIONS = 1 << 12
    MOST_COMBINATIONS = 1 << 17
    SMALLEST = 1 << 12              # room of the log and of the transactions
    MOST_KEPT = 1 << 21
    MOST_SHAPES = 1 << 18
    MOST_SHAPE_KINDS = 1 << 22
    OFTEN = 1000
    MOST_TWIN = 64                  # accesses of a transaction, and threads that are not only counted
    MOST_BETWEEN = 256              # log entries from an access to that of the twin, all together
    SHARED = 0xFFFFFFFF             # Location.user
    SHORT = 12                      # up to so many are sorted by insertion

cdef uint64_t NEVER = <uint64_t> -1

cdef struct Access:
    uint64_t event
    uint64_t path
    uint64_t inner                  # the begin of its innermost region; NEVER outside
    uint32_t own                    # its number among the events of its thread
    uint32_t location
    uint32_t site
    uint32_t thread
    uint32_t transaction
    uint32_t earlier                # of the location
    uint32_t before                 # of the thread
    uint8_t op
    uint8_t is_dead

cdef struct TransactionRow:
    uint64_t begin
    uint64_t end                    # NEVER: it runs
    uint32_t thread
    uint32_t number
    uint32_t region
    uint32_t moved                  # scratch of `compact`: its new number
    uint64_t ends                   # when it began: transactions that had ended,
    uint64_t accessed               # accesses,
    uint64_t folded                 # and those of them that were folded
    uint8_t is_violating

cdef struct Location:
    uint32_t newest
    uint32_t count                  # accesses linked
    uint32_t most                   # of these, before they are thinned; 0: LONGEST
    uint32_t looked                 # for which transaction it was looked up last
    uint32_t place                  # and as which location of it
    uint32_t user                   # the only thread with accesses, plus 1; SHARED: there are several
    uint8_t outcome                 # of the last look: an `Outcome`
    uint8_t part                    # of its object

cdef enum Outcome:
    ALONE                           # nobody else was there
    UNWRITTEN                       # all only read
    INCLUDED

cdef struct Open:
    uint64_t path
    uint64_t begin

cdef struct ThreadRow:
    Open *open                      # innermost last
    size_t depth
    size_t room
    uint32_t transaction            # the one that runs, or 0
    uint32_t number                 # transactions so far
    uint32_t newest
    uint32_t events
    uint32_t next                   # of its violating transactions, into `violating`
    uint32_t last
    uint32_t met                    # in which generation of tallies it is counted
    uint32_t shape                  # and as which shape

cdef struct Ended:
    uint64_t begin
    uint64_t end

cdef struct Run:                    # accesses of one kind to one location
    uint64_t path                   # 0 where it does not matter
    uint32_t location
    uint32_t site
    uint32_t start
    uint32_t end
    uint8_t op

cdef struct Runs:
    Access *items
    size_t room
    Run *runs
    size_t run_room
    uint32_t count                  # of runs

cdef struct Pair:
    uint64_t look                   # hash of the two kinds
    uint32_t local
    uint32_t remote
    uint32_t location
    uint32_t is_chosen              # to be combined with pairs at other locations

cdef struct Pairs:
    Pair *pairs
    size_t room
    uint32_t count

cdef struct Sorted:                 # scratch: what is thinned
    uint64_t key
    uint32_t order
    uint32_t index

cdef struct Key:
    uint64_t path_a
    uint64_t path_b
    uint32_t site_a
    uint32_t site_b
    uint32_t site_1
    uint32_t site_2
    uint32_t flags

cdef struct Example:
    uint64_t gap
    Access *a
    Access *r1
    Access *r2
    Access *b

cdef struct Shown:
    uint64_t event
    uint32_t thread
    uint32_t location
    uint32_t site
    uint32_t number
    uint32_t region
    uint8_t op

cdef struct Kind:
    Key key
    uint64_t count
    uint64_t gap
    uint64_t counted                # the meeting of T and the other that it was counted in
    uint32_t same_hash              # another kind whose key has the same hash, or NOT_FOUND
    Shown steps[4]                  # a, r1, r2, b
    bint is_changed                 # it is in `changed`

cdef struct Shape:
    uint64_t seen
    uint64_t uncounted
    uint64_t start                  # of its kinds
    uint32_t length
    uint32_t tally                  # threads that the latest transaction met in this way, and that were only counted
    bint is_tallied                 # it is in `tallied`

cdef struct Latest:                 # the transaction that was looked up last
    TransactionRow row
    uint32_t looked
    uint64_t ends                   # when it had ended
    uint64_t accessed
    uint64_t epoch
    bint is_known                   # the tallies are those of it

cdef enum:
    # Key.flags: the operations of a, b, r1 and r2 are bits 0 to 3
    SAME_LOCATION = 16
    SAME_TRANSACTION = 32
    SAME_REGION = 64
    TWO_TURNS = 128
    # from here on, the parts of their objects that the locations of a and of b are
    PART_A = 8
    PART_B = 16


cdef inline uint64_t mixed(uint64_t x) noexcept nogil:
    x = (x ^ (x >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t> 0x94D049BB133111EB
    return x ^ (x >> 31)


cdef inline uint64_t joined(uint64_t one, uint64_t other) noexcept nogil:
    return mixed(one * <uint64_t> 0x9E3779B97F4A7C15 + other + 1)


cdef inline int order(uint64_t one, uint64_t other) noexcept nogil:
    return (one > other) - (one < other)


cdef int by_event(const void *one, const void *other) noexcept nogil:
    return order((<const Access *> one).event, (<const Access *> other).event)


cdef int by_thread(const void *one, const void *other) noexcept nogil:
    cdef int compared = order((<const Access *> one).thread, (<const Access *> other).thread)
    return compared if compared else by_event(one, other)


cdef int by_kind(const void *one, const void *other) noexcept nogil:
    """By location and kind. Where paths do not matter, they are 0."""
    cdef const Access *a = <const Access *> one
    cdef const Access *b = <const Access *> other
    if a.location != b.location:
        return order(a.location, b.location)
    if a.path != b.path:
        return order(a.path, b.path)
    if a.site != b.site:
        return order(a.site, b.site)
    return order(a.op, b.op) if a.op != b.op else order(a.event, b.event)


cdef int by_key(const void *one, const void *other) noexcept nogil:
    cdef const Sorted *a = <const Sorted *> one
    cdef const Sorted *b = <const Sorted *> other
    return order(a.key, b.key) if a.key != b.key else order(a.order, b.order)


ctypedef int (*Comparison)(const void *, const void *) noexcept nogil


cdef void sort(Access *items, size_t count, Comparison compare) noexcept nogil:
    cdef size_t i, k
    cdef Access item
    if count > SHORT:
        qsort(items, count, sizeof(Access), compare)
        return
    for i in range(1, count):
        item = items[i]
        k = i
        while k and compare(&items[k - 1], &item) > 0:
            items[k] = items[k - 1]
            k -= 1
        items[k] = item


cdef inline size_t before(const Access *items, size_t count, uint64_t event) noexcept nogil:
    """How many of these, which are in order, come before the event."""
    cdef size_t low = 0, high = count, middle
    while low < high:
        middle = (low + high) >> 1
        if items[middle].event < event:
            low = middle + 1
        else:
            high = middle
    return low


@cython.final
cdef class TurnEngine:
    """Feed it the events of a well-formed trace, with inner regions. `violating` is sorted; None: every transaction.

    `often`: after so many times, what two threads did is only counted.
    """

    cdef Work work
    cdef Access *log
    cdef size_t log_room
    cdef size_t used                    # the next free place of the log
    cdef TransactionRow *transactions
    cdef size_t transaction_room
    cdef size_t begun                   # the next free place
    cdef Location *locations            # those of `location_rows`
    cdef Sparse location_rows
    cdef uint32_t *dying                # dead locations with accesses in the log
    cdef size_t dying_room
    cdef size_t dying_count
    cdef ThreadRow *threads
    cdef size_t thread_room
    cdef size_t running                 # transactions
    cdef Ended *ended
    cdef size_t ended_room
    cdef size_t ended_count
    cdef uint64_t last_violating        # the end of the last violating one
    cdef uint64_t events

    cdef bint are_all_violating
    cdef object _violating
    cdef const uint32_t *violating      # numbers, by thread
    cdef object _starts
    cdef size_t violating_threads

    cdef Sorted *sorted
    cdef size_t sorted_room
    cdef uint32_t looked                # transactions that were looked up
    cdef Access *local                  # of the transaction looked up, in order
    cdef size_t local_room
    cdef size_t local_count
    cdef Access *remote                 # of others, at the same locations
    cdef size_t remote_room
    cdef size_t remote_count
    cdef Runs own_runs                  # of the transaction looked up, with paths
    cdef Runs own_plain                 # without
    cdef Runs other_runs
    cdef Runs other_plain
    cdef Pairs outward
    cdef Pairs back
    cdef uint64_t meetings
    cdef uint32_t left                  # combinations

    cdef Kind *kinds
    cdef size_t kind_room
    cdef uint32_t kind_count
    cdef uint32_t most_kinds
    cdef uint32_t often
    cdef Map kind_of                    # hash of a key -> a kind
    cdef uint32_t *changed              # kinds whose example is new since `take_changed`
    cdef size_t changed_room
    cdef size_t changed_count
    cdef Shape *shapes
    cdef size_t shape_room
    cdef uint32_t shape_count
    cdef Map shape_of
    cdef uint32_t *shape_kinds
    cdef size_t shape_kind_room
    cdef size_t shape_kind_count
    cdef bint is_new_shape              # its kinds are written down
    cdef Latest latest
    cdef uint32_t generation            # of the tallies
    cdef uint32_t *tallied              # shapes
    cdef size_t tallied_room
    cdef size_t tallied_count
    cdef uint32_t singles[MOST_TWIN]    # threads that the latest transaction met, and that were not only counted
    cdef uint32_t single_count          # more than MOST_TWIN: too many
    cdef uint64_t end_count             # of transactions
    cdef uint64_t access_count
    cdef uint64_t epoch                 # how often something was taken out of the log, or out of a location's list
    cdef readonly uint64_t twins

    cdef readonly uint64_t folded
    cdef readonly uint64_t thinned
    cdef readonly uint64_t dropped
    cdef readonly uint64_t forgotten

    def __cinit__(self, violating=None, *, uint32_t most=100_000, uint32_t often=OFTEN):
        self.often = often
        self.used = self.begun = 1
        self.most_kinds = most
        self.are_all_violating = violating is None
        if violating is not None and len(violating):
            self.add_violating(violating)

    def __dealloc__(self):
        cdef size_t i
        for i in range(self.thread_room):
            free(self.threads[i].open)
        free_runs(&self.own_runs)
        free_runs(&self.own_plain)
        free_runs(&self.other_runs)
        free_runs(&self.other_plain)
        free(self.log)
        free(self.transactions)
        free_sparse(&self.location_rows)
        free(self.dying)
        free(self.threads)
        free(self.ended)
        free(self.sorted)
        free(self.local)
        free(self.remote)
        free(self.outward.pairs)
        free(self.back.pairs)
        free(self.kinds)
        free(self.changed)
        free(self.shapes)
        free(self.shape_kinds)
        free(self.tallied)
        free_map(&self.kind_of)
        free_map(&self.shape_of)

    def add_violating(self, violating):
        """More violating transactions, sorted. Each is told before it has ended, and later than those told before."""
        cdef const uint32_t[::1] numbers, starts
        cdef size_t t
        cdef ThreadRow *thread
        self.latest.is_known = False
        self._starts = np.searchsorted(violating[:, 0], np.arange(int(violating[-1, 0]) + 2)).astype(np.uint32)
        self._violating = np.ascontiguousarray(violating[:, 1])
        self.violating_threads = len(self._starts) - 1
        numbers, starts = self._violating, self._starts
        self.violating = &numbers[0]
        for t in range(self.thread_room):
            thread = &self.threads[t]
            thread.next, thread.last = 0, 0
            if t < self.violating_threads:
                thread.next, thread.last = starts[t], starts[t + 1]
            if thread.transaction and self.is_violating(thread):
                self.transactions[thread.transaction].is_violating = True

    def resume(self, size_t thread, uint32_t number, regions):
        """Before the first event: a thread has begun so many transactions, and is in these regions of the last one.

        A region: number, event of its begin, site of its begin; the innermost is the last.
        """
        ensure_room(<void **> &self.threads, &self.thread_room, thread + 1, sizeof(ThreadRow))
        self.threads[thread].number = number - (1 if regions else 0)
        for region, since, site in regions:
            self.begin(since, <uint32_t> thread, region, site)

    def set_parts(self, size_t start, const uint8_t[::1] parts):
        """The parts of their objects that locations are, from a location on. Told before their first access."""
        cdef size_t i, count = parts.shape[0]
        self.grow_locations(start + count)
        for i in range(count):
            self.locations[start + i].part = parts[i]

    cdef int grow_locations(self, size_t count) except -1:
        if not has_sparse_room(&self.location_rows, count, sizeof(Location)):
            out_of_memory()
        self.locations = <Location *> self.location_rows.rows
        return 0

    def forget(self, const uint32_t[::1] dead):
        """No event is going to access these locations, which were never forgotten before.

        Accesses that are in the log still matter to transactions that run: a location goes after the last of them.
        """
        cdef size_t i, kept = 0, count = self.dying_count + dead.shape[0]
        ensure_room(<void **> &self.dying, &self.dying_room, count, sizeof(uint32_t))
        for i in range(<size_t> dead.shape[0]):
            self.dying[self.dying_count + i] = dead[i]
        for i in range(count):
            if self.dying[i] >= self.location_rows.room:
                continue
            if self.locations[self.dying[i]].newest:
                self.dying[kept] = self.dying[i]
                kept += 1
            elif not forget_rows(&self.location_rows, &self.dying[i], 1, sizeof(Location)):
                out_of_memory()
        self.dying_count = kept

    def feed(
        self,
        uint64_t first,
        const uint32_t[::1] thread,
        const uint8_t[::1] op,
        const uint32_t[::1] target,
        const uint32_t[::1] site,
    ):
        cdef size_t i, count = op.shape[0]
        self.grow(thread, op, target)
        self.events = first + count
        with nogil:
            for i in range(count):
                if is_long(&self.work, i):
                    look_up()
                if i + AHEAD < count and op[i + AHEAD] <= WRITE:
                    prefetch(&self.locations[target[i + AHEAD]])
                self.threads[thread[i]].events += 1
                if op[i] <= WRITE:
                    if self.running:
                        self.access(first + i, thread[i], op[i], target[i], site[i])
                elif op[i] == BEGIN:
                    self.begin(first + i, thread[i], target[i], site[i])
                elif op[i] == END:
                    self.end(first + i, thread[i])

    cdef int grow(self, const uint32_t[::1] thread, const uint8_t[::1] op, const uint32_t[::1] target) except -1:
        cdef size_t i, threads = 0, locations = 0, known = self.thread_room
        cdef const uint32_t[::1] starts
        for i in range(<size_t> op.shape[0]):
            threads = max(threads, <size_t> thread[i] + 1)
            if op[i] <= WRITE:
                locations = max(locations, <size_t> target[i] + 1)
        self.grow_locations(locations)
        ensure_room(<void **> &self.threads, &self.thread_room, threads, sizeof(ThreadRow))
        if self.violating_threads:
            starts = self._starts
            for i in range(known, min(self.thread_room, self.violating_threads)):
                self.threads[i].next, self.threads[i].last = starts[i], starts[i + 1]
        return 0

    def finish(self, bint is_whole=True):
        """A trace that ends inside regions is treated as if they ended there. If it is not the whole trace, they do not."""
        cdef size_t t
        cdef uint32_t i
        cdef uint64_t k
        with nogil:
            for t in range(self.thread_room if is_whole else 0):
                if self.threads[t].depth:
                    self.threads[t].depth = 1
                    self.end(self.events, <uint32_t> t)
                    self.events += 1
            for i in range(self.shape_count):
                for k in range(self.shapes[i].start, self.shapes[i].start + self.shapes[i].length):
                    self.kinds[self.shape_kinds[k]].count += self.shapes[i].uncounted
                self.shapes[i].uncounted = 0

    # ---- events

    cdef int begin(self, uint64_t event, uint32_t t, uint32_t region, uint32_t site) except -1 nogil:
        cdef ThreadRow *thread = &self.threads[t]
        cdef TransactionRow *row
        cdef uint64_t around = thread.open[thread.depth - 1].path if thread.depth else 0
        if thread.depth == 0:
            if self.begun >= self.transaction_room:
                self.make_room()
            thread.number += 1
            thread.transaction = <uint32_t> self.begun
            row = &self.transactions[self.begun]
            self.begun += 1
            row.begin, row.end = event, NEVER
            row.thread, row.number, row.region = t, thread.number, region
            row.ends, row.accessed, row.folded = self.end_count, self.access_count, self.folded
            row.is_violating = self.is_violating(thread)
            self.running += 1
        ensure_room(<void **> &thread.open, &thread.room, thread.depth + 1, sizeof(Open))
        thread.open[thread.depth].path = joined(around, <uint64_t> region << 32 | site)
        thread.open[thread.depth].begin = event
        thread.depth += 1
        return 0

    cdef inline bint is_violating(self, ThreadRow *thread) noexcept nogil:
        while thread.next < thread.last and self.violating[thread.next] < thread.number:
            thread.next += 1
        return self.are_all_violating or (thread.next < thread.last and self.violating[thread.next] == thread.number)

    cdef int end(self, uint64_t event, uint32_t t) except -1 nogil:
        cdef ThreadRow *thread = &self.threads[t]
        cdef TransactionRow *row = &self.transactions[thread.transaction]
        if thread.depth > 1:
            thread.depth -= 1
        elif thread.depth == 1:
            thread.depth = 0
            row.end = event
            if row.is_violating or self.last_violating > row.begin:
                if not self.look_as_twin(thread, row):
                    self.look(thread, row)
            if row.is_violating:
                self.last_violating = event
            self.add_ended(row)
            self.end_count += 1
            self.remember(row)
            thread.transaction = 0
            self.running -= 1
        return 0

    cdef int access(self, uint64_t event, uint32_t t, uint8_t op, uint32_t x, uint32_t site) except -1 nogil:
        cdef ThreadRow *thread = &self.threads[t]
        cdef Location *location = &self.locations[x]
        cdef Access new
        cdef Access *newest
        self.access_count += 1
        if location.user != t + 1:
            location.user = SHARED if location.user else t + 1
        new.event, new.own, new.op, new.is_dead = event, thread.events, op, False
        if self.used >= self.log_room:
            self.make_room()
        new.thread, new.location, new.site, new.transaction = t, x, site, thread.transaction
        new.path = thread.open[thread.depth - 1].path if thread.depth else 0
        new.inner = thread.open[thread.depth - 1].begin if thread.depth else NEVER
        newest = &self.log[location.newest]
        if location.count > 2 and thread.depth and self.is_run(newest, &new):
            newest.event, newest.own = event, new.own
            self.folded += 1
            return 0
        if location.count >= max(location.most, <uint32_t> LONGEST):
            self.shorten(location)
        new.earlier, new.before = location.newest, thread.newest
        location.newest = thread.newest = <uint32_t> self.used
        location.count += 1
        self.log[self.used] = new
        self.used += 1
        return 0

    cdef inline bint is_run(self, const Access *newest, const Access *new) noexcept nogil:
        """Whether the last three accesses to the location are the same as this one."""
        cdef int i
        for i in range(3):
            if newest.transaction != new.transaction or newest.inner != new.inner or newest.path != new.path:
                return False
            if newest.site != new.site or newest.op != new.op or newest.location != new.location:
                return False
            newest = &self.log[newest.earlier]
        return True

    # ---- how long things are kept

    cdef uint64_t horizon(self, uint64_t begin) noexcept nogil:
        """What is earlier does not matter to one that began then: it and all that ended in it began later."""
        cdef size_t low = 0, high = self.ended_count, middle
        while low < high:
            middle = (low + high) >> 1
            if self.ended[middle].end <= begin:
                low = middle + 1
            else:
                high = middle
        return min(begin, self.ended[low].begin) if low < self.ended_count else begin

    cdef uint64_t oldest_running(self) noexcept nogil:
        cdef size_t t
        cdef uint64_t oldest = NEVER
        for t in range(self.thread_room):
            if self.threads[t].transaction:
                oldest = min(oldest, self.transactions[self.threads[t].transaction].begin)
        return oldest

    cdef int add_ended(self, const TransactionRow *row) except -1 nogil:
        cdef size_t i, kept = 0
        cdef uint64_t oldest
        if self.ended_count >= SMALLEST and self.ended_count == self.ended_room:
            oldest = self.oldest_running()
            for i in range(self.ended_count):
                if self.ended[i].end > oldest and (i > self.ended_count // 2 or self.ended_count < MOST_KEPT):
                    self.ended[kept] = self.ended[i]
                    kept += 1
            self.ended_count = kept
        while self.ended_count and self.ended[self.ended_count - 1].begin >= row.begin:
            self.ended_count -= 1
        ensure_room(<void **> &self.ended, &self.ended_room, self.ended_count + 1, sizeof(Ended))
        self.ended[self.ended_count].begin, self.ended[self.ended_count].end = row.begin, row.end
        self.ended_count += 1
        return 0

    cdef int make_room(self) except -1 nogil:
        """Leave out what does not matter any more; what is more than half full gets larger, or forgets."""
        cdef size_t kept
        self.compact(self.horizon(self.oldest_running()), 0)
        if self.used > MOST_KEPT - MOST_KEPT // 4:
            self.forgotten += self.used // 2
            self.compact(0, self.used // 2)
        if self.used >= self.log_room // 2:
            ensure_room(<void **> &self.log, &self.log_room, max(<size_t> SMALLEST, self.log_room + 1), sizeof(Access))
        if self.begun >= self.transaction_room // 2:
            kept = max(<size_t> SMALLEST, self.transaction_room + 1)
            ensure_room(<void **> &self.transactions, &self.transaction_room, kept, sizeof(TransactionRow))
        return 0

    cdef int compact(self, uint64_t horizon, size_t after) except -1 nogil:
        """Keep the accesses from an event on that stand after a place of the log, and their transactions."""
        cdef size_t i, used = 1
        cdef Access *kept
        self.epoch += 1
        cdef TransactionRow *row
        for i in range(1, self.begun):
            self.transactions[i].moved = self.transactions[i].end == NEVER
        for i in range(self.thread_room):
            self.threads[i].newest = 0
        for i in range(1, self.used):
            kept = &self.log[i]
            self.locations[kept.location].newest = self.locations[kept.location].count = 0
            kept.is_dead |= kept.event < horizon or i <= after
            if not kept.is_dead:
                self.transactions[kept.transaction].moved = True
        self.move_transactions()
        for i in range(1, self.used):
            if self.log[i].is_dead:
                continue
            kept = &self.log[used]
            kept[0] = self.log[i]
            kept.transaction = self.transactions_moved(kept.transaction)
            kept.earlier = self.locations[kept.location].newest
            kept.before = self.threads[kept.thread].newest
            self.locations[kept.location].newest = self.threads[kept.thread].newest = <uint32_t> used
            self.locations[kept.location].count += 1
            used += 1
        self.used = used
        for i in range(self.thread_room):
            self.threads[i].transaction = self.transactions_moved(self.threads[i].transaction)
        self.drop_transactions()
        return 0

    cdef void move_transactions(self) noexcept nogil:
        """Those that are kept get new numbers, in the same order."""
        cdef size_t i
        cdef uint32_t count = 1
        for i in range(1, self.begun):
            if self.transactions[i].moved:
                self.transactions[i].moved = count
                count += 1

    cdef inline uint32_t transactions_moved(self, uint32_t number) noexcept nogil:
        return self.transactions[number].moved if number else 0

    cdef void drop_transactions(self) noexcept nogil:
        cdef size_t i, count = 1
        for i in range(1, self.begun):
            if self.transactions[i].moved:
                self.transactions[count] = self.transactions[i]
                count += 1
        self.begun = count

    cdef int shorten(self, Location *location) except -1 nogil:
        """Leave out what does not matter any more; if that is little, thin the rest."""
        cdef uint64_t horizon = self.horizon(self.oldest_running())
        cdef uint32_t at = location.newest
        cdef uint32_t *link = &location.newest
        cdef uint32_t count = 0
        self.epoch += 1
        while at and self.log[at].event >= horizon:
            link = &self.log[at].earlier
            at = link[0]
            count += 1
        link[0] = 0
        location.count = count
        if count >= LONGEST // 2:
            self.thin(location)
        location.most = max(<uint32_t> LONGEST, 2 * location.count)
        return 0

    cdef int thin(self, Location *location) except -1 nogil:
        """Keep the first and the last of each thread, path, site and operation."""
        cdef size_t i, start = 0, count = 0
        cdef uint32_t at = location.newest
        cdef uint32_t *link = &location.newest
        cdef Access *access
        ensure_room(<void **> &self.sorted, &self.sorted_room, location.count, sizeof(Sorted))
        while at:
            access = &self.log[at]
            self.sorted[count].key = joined(
                joined(access.path, <uint64_t> access.thread << 32 | access.site), access.op
            )
            self.sorted[count].order, self.sorted[count].index = <uint32_t> count, at
            count += 1
            at = access.earlier
        qsort(self.sorted, count, sizeof(Sorted), by_key)
        for i in range(count):
            if self.sorted[i].key != self.sorted[start].key:
                start = i
            # the newest come first
            if i - start >= LAST and i + FIRST < count and self.sorted[i + FIRST].key == self.sorted[i].key:
                self.log[self.sorted[i].index].is_dead = True
                self.thinned += 1
                location.count -= 1
        while link[0]:
            if self.log[link[0]].is_dead:
                link[0] = self.log[link[0]].earlier
            else:
                link = &self.log[link[0]].earlier
        return 0

    # ---- a transaction ends

    cdef int look(self, const ThreadRow *thread, TransactionRow *row) except -1 nogil:
        """List the turns of a transaction that ends, and the two turns of others that ended while it ran."""
        cdef size_t i, start = 0
        cdef uint64_t hashed
        self.clear_tallies()
        self.collect(thread, row)
        if not self.remote_count:
            return 0
        sort(self.local, self.local_count, by_event)
        sort(self.remote, self.remote_count, by_thread)
        hashed = self.hash_of_local(row)
        self.make_runs(&self.own_runs, self.local, self.local_count, True)
        self.own_plain.count = 0
        for i in range(1, self.remote_count + 1):
            if i == self.remote_count or self.remote[i].thread != self.remote[start].thread:
                self.meet(row, &self.remote[start], i - start, hashed)
                start = i
                self.work.done += 64
                if has_toiled(&self.work):
                    look_up()
        return 0

    cdef int collect(self, const ThreadRow *thread, const TransactionRow *row) except -1 nogil:
        """The accesses of the transaction and of others at the locations where both are."""
        cdef uint32_t at = thread.newest, places = 0
        cdef uint64_t horizon = self.horizon(row.begin)
        cdef Location *location
        self.local_count = self.remote_count = 0
        self.looked += 1
        while at and self.log[at].transaction == thread.transaction:
            location = &self.locations[self.log[at].location]
            if not self.log[at].is_dead and location.looked != self.looked:
                location.looked, location.place = self.looked, places
                places += self.collect_at(location, row, thread.transaction, horizon)
            at = self.log[at].before
        return 0

    cdef int collect_at(
        self, Location *location, const TransactionRow *row, uint32_t transaction, uint64_t horizon
    ) except -1 nogil:
        cdef uint32_t at = location.newest
        cdef size_t local = self.local_count, remote = self.remote_count
        cdef const Access *access
        cdef bint is_written = False
        while at and self.log[at].event >= horizon:
            access = &self.log[at]
            is_written |= access.op == WRITE
            if access.transaction == transaction:
                ensure_room(<void **> &self.local, &self.local_room, local + 1, sizeof(Access))
                self.local[local] = access[0]
                local += 1
            elif access.thread != row.thread and (access.event > row.begin or self.is_over(access.transaction, row)):
                ensure_room(<void **> &self.remote, &self.remote_room, remote + 1, sizeof(Access))
                self.remote[remote] = access[0]
                remote += 1
            at = access.earlier
        location.outcome = UNWRITTEN if not is_written else ALONE
        if remote == self.remote_count or not is_written:
            return 0
        self.local_count, self.remote_count = local, remote
        location.outcome = INCLUDED
        return 1

    cdef inline bint is_over(self, uint32_t transaction, const TransactionRow *row) noexcept nogil:
        """Whether it is one that ended while the other ran: turns of the two are looked for now."""
        cdef uint64_t end
        if transaction == 0:
            return False
        end = self.transactions[transaction].end
        return end != NEVER and end > row.begin

    cdef uint64_t hash_of_local(self, const TransactionRow *row) noexcept nogil:
        cdef size_t i
        cdef uint64_t hashed = row.is_violating
        for i in range(self.local_count):
            hashed = joined(hashed, self.hash_inside(&self.local[i], self.local, self.local_count))
            hashed = joined(hashed, self.hash_of(&self.local[i]))
        return hashed

    cdef inline uint64_t hash_of(self, const Access *access) noexcept nogil:
        cdef const Location *location = &self.locations[access.location]
        return joined(joined(location.place, location.part), <uint64_t> access.site << 1 | access.op)

    cdef inline uint64_t hash_inside(self, const Access *access, const Access *around, size_t count) noexcept nogil:
        """Its path, and which of these came before its innermost region."""
        return joined(access.path, before(around, count, access.inner))

    cdef uint64_t shape_hash(
        self, const TransactionRow *row, const Access *others, size_t count, uint64_t hashed
    ) noexcept nogil:
        """All that turns of the transaction with one other thread follow from."""
        cdef size_t i
        cdef uint64_t place
        for i in range(count):
            # which of the own accesses came before, and which transactions are the same
            place = <uint64_t> before(self.local, self.local_count, others[i].event) << 8
            if i > 0 and others[i].transaction != 0 and others[i].transaction == others[i - 1].transaction:
                place |= 1
            place |= 2 if others[i].event > row.begin else 0
            place |= 4 if self.is_over(others[i].transaction, row) else 0
            if self.transactions[others[i].transaction].is_violating:
                place = joined(place | 8, self.hash_inside(&others[i], others, count))
            hashed = joined(joined(hashed, place), self.hash_of(&others[i]))
        return hashed

    cdef int meet(self, const TransactionRow *row, Access *others, size_t count, uint64_t hashed) except -1 nogil:
        """List the turns with one other thread, or only count them."""
        cdef uint32_t s
        cdef Shape *shape
        hashed = self.shape_hash(row, others, count, hashed)
        s = found(&self.shape_of, hashed)
        self.is_new_shape = (
            s == NOT_FOUND and self.shape_count < MOST_SHAPES and self.shape_kind_count < MOST_SHAPE_KINDS
        )
        if self.is_new_shape:
            s = self.shape_count
            ensure_room(<void **> &self.shapes, &self.shape_room, s + 1, sizeof(Shape))
            self.shapes[s].start = self.shape_kind_count
            if not put(&self.shape_of, hashed, s):
                out_of_memory()
            self.shape_count += 1
        if s != NOT_FOUND:
            shape = &self.shapes[s]
            shape.seen += 1
            if shape.seen > self.often or (shape.seen > 1 and shape.length == 0):
                shape.uncounted += 1
                self.tally(others.thread, s)
                return 0
        if self.single_count < MOST_TWIN:
            self.singles[self.single_count] = others.thread
        self.single_count += self.single_count <= MOST_TWIN
        self.list_turns(row, others, count)
        if self.is_new_shape:
            self.shapes[s].length = <uint32_t> (self.shape_kind_count - self.shapes[s].start)
        return 0

    # ---- twins

    cdef void clear_tallies(self) noexcept nogil:
        cdef size_t i
        for i in range(self.tallied_count):
            self.shapes[self.tallied[i]].tally = 0
            self.shapes[self.tallied[i]].is_tallied = False
        self.tallied_count = self.single_count = 0
        self.generation += 1

    cdef int tally(self, uint32_t thread, uint32_t s) except -1 nogil:
        """The latest transaction met a thread in this way, and that was only counted."""
        self.threads[thread].met, self.threads[thread].shape = self.generation, s
        self.shapes[s].tally += 1
        if not self.shapes[s].is_tallied:
            self.shapes[s].is_tallied = True
            ensure_room(<void **> &self.tallied, &self.tallied_room, self.tallied_count + 1, sizeof(uint32_t))
            self.tallied[self.tallied_count] = s
            self.tallied_count += 1
        return 0

    cdef inline void remember(self, const TransactionRow *row) noexcept nogil:
        """The one that has just been looked up, if it was one, is the latest."""
        self.latest.is_known = self.latest.looked != self.looked
        if self.latest.is_known:
            self.latest.row = row[0]
            self.latest.looked, self.latest.epoch = self.looked, self.epoch
            self.latest.ends, self.latest.accessed = self.end_count, self.access_count

    cdef bint look_as_twin(self, const ThreadRow *thread, const TransactionRow *row) except -1 nogil:
        """If it is a twin of the latest: count what that one met, and look only at that one and at what is rare."""
        cdef uint32_t own[MOST_TWIN]
        cdef uint32_t theirs[MOST_TWIN]
        cdef uint32_t again[MOST_TWIN + 1]
        cdef uint32_t i, count, singles = self.single_count
        cdef size_t k
        cdef const TransactionRow *twin = &self.latest.row
        if not self.latest.is_known or singles > MOST_TWIN or not self.is_alike(row, twin):
            return False
        count = self.accesses_of(thread, row, own)
        if count > MOST_TWIN or count != self.accesses_of(&self.threads[twin.thread], twin, theirs):
            return False
        if self.comes_between(row, twin, own, theirs, count):
            return False
        for i in range(count):
            if not self.correspond(own, theirs, i, count):
                return False
        self.twins += 1
        again[0] = twin.thread
        for i in range(singles):
            again[i + 1] = self.singles[i] if self.singles[i] != row.thread else twin.thread
        if self.threads[row.thread].met == self.generation:
            self.shapes[self.threads[row.thread].shape].tally -= 1
        for k in range(self.tallied_count):
            self.shapes[self.tallied[k]].seen += self.shapes[self.tallied[k]].tally
            self.shapes[self.tallied[k]].uncounted += self.shapes[self.tallied[k]].tally
        self.single_count = 0
        self.meet_again(row, own, count, again, singles + 1)
        return True

    cdef inline bint is_alike(self, const TransactionRow *row, const TransactionRow *twin) noexcept nogil:
        """Whether no other transaction ended between the begins, or between the ends, and nothing else is in the way."""
        return (
            row.is_violating == twin.is_violating
            and row.thread != twin.thread
            and row.ends == twin.ends
            and self.end_count == self.latest.ends
            and self.epoch == self.latest.epoch
            and self.folded == row.folded
            and self.folded == twin.folded
        )

    cdef uint32_t accesses_of(self, const ThreadRow *thread, const TransactionRow *row, uint32_t *found) noexcept nogil:
        """The accesses of a transaction that runs or ended lately, the newest first; if there are too many, that."""
        cdef uint32_t at = thread.newest, count = 0
        while at and self.log[at].event >= row.begin:
            if self.log[at].event <= row.end:
                if count == MOST_TWIN:
                    return MOST_TWIN + 1
                found[count] = at
                count += 1
            at = self.log[at].before
        return count

    cdef bint comes_between(
        self, const TransactionRow *row, const TransactionRow *twin, const uint32_t *own, const uint32_t *theirs,
        uint32_t count,
    ) noexcept nogil:
        """Whether others accessed something between the two begins, or since the twin's end, or between accesses."""
        cdef const uint32_t *earlier = own if row.begin < twin.begin else theirs
        cdef uint64_t later = max(row.begin, twin.begin), since = 0, passed = 0
        cdef uint32_t i, at
        for i in range(count):
            passed += self.log[earlier[i]].event < later
            since += self.log[own[i]].event > twin.end
        if max(row.accessed, twin.accessed) - min(row.accessed, twin.accessed) != passed:
            return True
        if self.access_count - self.latest.accessed != since:
            return True
        passed = 0
        for i in range(count):
            for at in range(min(own[i], theirs[i]) + 1, max(own[i], theirs[i])):
                passed += 1
                if passed > MOST_BETWEEN or (
                    self.log[at].thread != row.thread and self.log[at].thread != twin.thread
                ):
                    return True
        return False

    cdef bint correspond(
        self, const uint32_t *own, const uint32_t *theirs, uint32_t i, uint32_t count
    ) noexcept nogil:
        """Whether two accesses are the same but for their threads."""
        cdef const Access *one = &self.log[own[i]]
        cdef const Access *other = &self.log[theirs[i]]
        cdef const Location *location = &self.locations[one.location]
        cdef uint32_t k
        if one.op != other.op or one.site != other.site or one.path != other.path:
            return False
        for k in range(count):
            if (self.log[own[k]].event < one.inner) != (self.log[theirs[k]].event < other.inner):
                return False
        if one.location != other.location:
            return location.user != SHARED and self.locations[other.location].user != SHARED
        if location.looked != self.latest.looked:
            return False
        return location.outcome == INCLUDED or (location.outcome == UNWRITTEN and one.op != WRITE)

    cdef int meet_again(
        self, const TransactionRow *row, const uint32_t *own, uint32_t count, const uint32_t *threads, uint32_t others
    ) except -1 nogil:
        """The twin that ended before, and the threads that it did not only count. One can be there twice."""
        cdef uint32_t i, places = 0
        cdef uint64_t hashed
        cdef Location *location
        self.looked += 1
        self.local_count = 0
        ensure_room(<void **> &self.local, &self.local_room, count, sizeof(Access))
        for i in range(count):
            location = &self.locations[self.log[own[i]].location]
            if location.user != SHARED:
                continue
            if location.looked != self.looked:
                location.looked, location.place = self.looked, places
                places += location.outcome == INCLUDED
            if location.outcome == INCLUDED:
                self.local[self.local_count] = self.log[own[i]]
                self.local_count += 1
        sort(self.local, self.local_count, by_event)
        hashed = self.hash_of_local(row)
        self.make_runs(&self.own_runs, self.local, self.local_count, True)
        self.own_plain.count = 0
        for i in range(others):
            if i and threads[i] == threads[0]:
                continue
            self.collect_thread(row, threads[i])
            if self.remote_count:
                self.meet(row, self.remote, self.remote_count, hashed)
        return 0

    cdef int collect_thread(self, const TransactionRow *row, uint32_t t) except -1 nogil:
        """As `collect`, of one other thread, in order."""
        cdef uint32_t at = self.threads[t].newest
        cdef uint64_t horizon = self.horizon(row.begin)
        cdef const Access *access
        self.remote_count = 0
        while at and self.log[at].event >= horizon:
            access = &self.log[at]
            at = access.before
            if access.is_dead or self.locations[access.location].looked != self.looked:
                continue
            if self.locations[access.location].outcome != INCLUDED:
                continue
            if access.event > row.begin or self.is_over(access.transaction, row):
                ensure_room(<void **> &self.remote, &self.remote_room, self.remote_count + 1, sizeof(Access))
                self.remote[self.remote_count] = access[0]
                self.remote_count += 1
        sort(self.remote, self.remote_count, by_event)
        return 0

    # ---- turns with one other thread

    cdef int list_turns(self, const TransactionRow *row, Access *others, size_t count) except -1 nogil:
        cdef size_t i, start = 0, early = before(others, count, row.begin)
        cdef uint32_t of
        if row.is_violating:
            self.make_runs(&self.other_plain, others + early, count - early, False)
            self.one_turn()
        for i in range(1, count + 1):
            of = others[start].transaction
            if i < count and others[i].transaction == of:
                continue
            if of and self.is_over(of, row):
                self.two_turns(row, others + start, i - start, self.transactions[of].is_violating)
            start = i
        return 0

    cdef int make_runs(self, Runs *runs, const Access *items, size_t count, bint has_paths) except -1 nogil:
        cdef size_t i
        cdef Run *run = NULL
        cdef Access *item
        runs.count = 0
        if count == 0:
            return 0
        ensure_room(<void **> &runs.items, &runs.room, count, sizeof(Access))
        memcpy(runs.items, items, count * sizeof(Access))
        if not has_paths:
            for i in range(count):
                runs.items[i].path = 0
        sort(runs.items, count, by_kind)
        ensure_room(<void **> &runs.runs, &runs.run_room, count, sizeof(Run))
        for i in range(count):
            item = &runs.items[i]
            if run == NULL or not is_of(run, item):
                run = &runs.runs[runs.count]
                runs.count += 1
                run.path, run.location, run.site, run.op = item.path, item.location, item.site, item.op
                run.start = <uint32_t> i
            run.end = <uint32_t> i + 1
        return 0

    cdef int make_pairs(self, const Runs *local, const Runs *remote) except -1 nogil:
        """The pairs of runs that conflict, by location: those that lead out, and those that lead back."""
        cdef uint32_t i = 0, k = 0, m, location
        cdef const Run *a
        cdef const Run *r
        self.outward.count = self.back.count = 0
        self.meetings += 1
        self.left = MOST_COMBINATIONS
        while i < local.count and k < remote.count:
            a, r = &local.runs[i], &remote.runs[k]
            if a.location > r.location:
                k += 1
                continue
            m = k
            while m < remote.count and remote.runs[m].location == a.location:
                r = &remote.runs[m]
                if a.op == WRITE or r.op == WRITE:
                    if local.items[a.start].event < remote.items[r.end - 1].event:
                        self.add_pair(&self.outward, i, m, a, r)
                    if remote.items[r.start].event < local.items[a.end - 1].event:
                        self.add_pair(&self.back, i, m, a, r)
                m += 1
            i += 1
        return 0

    cdef int add_pair(self, Pairs *pairs, uint32_t a, uint32_t r, const Run *local, const Run *remote) except -1 nogil:
        cdef Pair *pair
        ensure_room(<void **> &pairs.pairs, &pairs.room, pairs.count + 1, sizeof(Pair))
        pair = &pairs.pairs[pairs.count]
        pair.local, pair.remote, pair.location, pair.is_chosen = a, r, local.location, True
        pair.look = joined(
            joined(joined(local.path, self.locations[local.location].part), <uint64_t> local.site << 1 | local.op),
            <uint64_t> remote.site << 1 | remote.op,
        )
        pairs.count += 1
        return 0

    cdef int choose(self) except -1 nogil:
        """Which pairs are combined with those of other locations: if there are many, a few of each look."""
        if <uint64_t> self.outward.count * self.back.count > FEW_COMBINATIONS:
            self.choose_few(&self.outward)
            self.choose_few(&self.back)
        return 0

    cdef int choose_few(self, Pairs *pairs) except -1 nogil:
        cdef uint32_t i, start = 0, count = pairs.count
        ensure_room(<void **> &self.sorted, &self.sorted_room, count, sizeof(Sorted))
        for i in range(count):
            self.sorted[i].key = pairs.pairs[i].look
            self.sorted[i].order = self.sorted[i].index = i
        qsort(self.sorted, count, sizeof(Sorted), by_key)
        for i in range(count):
            if self.sorted[i].key != self.sorted[start].key:
                start = i
            if i - start >= ENDS and i + ENDS < count and self.sorted[i + ENDS].key == self.sorted[i].key:
                pairs.pairs[self.sorted[i].index].is_chosen = False
        return 0

    # ---- one turn

    cdef int one_turn(self) except -1 nogil:
        self.make_pairs(&self.own_runs, &self.other_plain)
        self.choose()
        return self.combine(&self.own_runs, &self.other_plain, 0)

    cdef int two_turns(
        self, const TransactionRow *row, const Access *others, size_t count, bint is_other_violating
    ) except -1 nogil:
        """Of the transaction with one that ended while it ran, and the other way round."""
        if row.is_violating:
            self.make_runs(&self.other_plain, others, count, False)
            self.make_pairs(&self.own_runs, &self.other_plain)
            self.choose()
            self.combine(&self.own_runs, &self.other_plain, TWO_TURNS)
        if is_other_violating:
            if self.own_plain.count == 0:
                self.make_runs(&self.own_plain, self.local, self.local_count, False)
            self.make_runs(&self.other_runs, others, count, True)
            self.make_pairs(&self.other_runs, &self.own_plain)
            self.choose()
            self.combine(&self.other_runs, &self.own_plain, TWO_TURNS)
        return 0

    cdef int combine(self, const Runs *local, const Runs *remote, uint32_t turns) except -1 nogil:
        """Each pair that leads out with each that leads back: of the same location, and of others."""
        cdef uint32_t i, k, start = 0
        cdef const Pair *out
        cdef const Pair *back
        for i in range(self.outward.count):
            out = &self.outward.pairs[i]
            while start < self.back.count and self.back.pairs[start].location < out.location:
                start += 1
            k = start if not out.is_chosen else 0
            while k < self.back.count:
                back = &self.back.pairs[k]
                k += 1
                if back.location != out.location and not out.is_chosen:
                    break
                if back.location == out.location or back.is_chosen:
                    if self.left == 0:
                        self.dropped += 1
                        return 0
                    self.left -= 1
                    if turns:
                        self.combine_two(local, remote, out, back)
                    else:
                        self.combine_one(local, remote, out, back)
        return 0

    cdef int combine_one(
        self, const Runs *local, const Runs *remote, const Pair *out, const Pair *back
    ) except -1 nogil:
        cdef const Run *run_a = &local.runs[out.local]
        cdef const Run *run_b = &local.runs[back.local]
        cdef const Run *run_1 = &remote.runs[out.remote]
        cdef const Run *run_2 = &remote.runs[back.remote]
        cdef Example best[4]
        cdef Access *r2
        cdef Access *r1 = remote.items + run_1.start
        cdef uint32_t i, b = run_b.start, upto = 0, apart = 0, count = run_1.end - run_1.start
        cdef uint64_t since
        forget(best)
        for i in range(run_2.start, run_2.end):
            r2 = &remote.items[i]
            while b < run_b.end and local.items[b].event < r2.event:
                b += 1
            if b == run_b.end:
                break
            # the latest r1 up to r2, and the latest that is of an earlier transaction
            since = self.transactions[r2.transaction].begin if r2.transaction else r2.event
            while upto < count and r1[upto].event <= r2.event:
                upto += 1
            while apart < count and r1[apart].event < since:
                apart += 1
            if upto and (r1[upto - 1].event == r2.event or (r2.transaction and upto > apart)):
                self.try_one(best + 2, local, run_a, run_b, b, r1 + upto - 1, r2)
            if apart:
                self.try_one(best, local, run_a, run_b, b, r1 + apart - 1, r2)
        return self.keep_all(best, run_a, run_b, run_1, run_2, 0)

    cdef void try_one(
        self, Example *best, const Runs *local, const Run *run_a, const Run *run_b, uint32_t b, Access *r1, Access *r2
    ) noexcept nogil:
        """The shortest a and b for r1 and r2: in the same innermost region, and not. `b` is the first one after r2."""
        cdef Access *first = local.items + run_a.start
        cdef Access *last = local.items + b
        cdef size_t count = before(first, run_a.end - run_a.start, r1.event)
        cdef uint64_t inner = last.inner
        if count == 0:
            return
        try_example(best, first + count - 1, r1, r2, last)
        if run_a.path != run_b.path or first[count - 1].event < inner:
            return
        while b < run_b.end and local.items[b].inner == inner:
            b += 1
        if b < run_b.end:
            try_example(best, first + count - 1, r1, r2, local.items + b)
        count = before(first, count, inner)
        if count:
            try_example(best, first + count - 1, r1, r2, last)

    # ---- two turns

    cdef int combine_two(
        self, const Runs *local, const Runs *remote, const Pair *out, const Pair *back
    ) except -1 nogil:
        cdef const Run *run_a = &local.runs[out.local]
        cdef const Run *run_b = &local.runs[back.local]
        cdef const Run *run_1 = &remote.runs[out.remote]
        cdef const Run *run_2 = &remote.runs[back.remote]
        cdef Access *r1 = &remote.items[run_1.end - 1]
        cdef Access *r2 = &remote.items[run_2.start]
        cdef Access *first = local.items + run_a.start
        cdef Access *b
        cdef Example best[4]
        cdef size_t count
        cdef uint32_t i
        if r2.event >= r1.event:
            return 0
        forget(best)
        for i in range(run_b.start, run_b.end):
            b = &local.items[i]
            if b.event < r2.event:
                continue
            count = before(first, run_a.end - run_a.start, min(b.event, r1.event))
            if count == 0:
                continue
            try_example(best + 2, first + count - 1, r1, r2, b)
            if run_a.path == run_b.path and first[count - 1].event > b.inner:
                count = before(first, count, b.inner)
                if count:
                    try_example(best + 2, first + count - 1, r1, r2, b)
        return self.keep_all(best, run_a, run_b, run_1, run_2, TWO_TURNS)

    # ---- kinds

    cdef int keep_all(
        self,
        const Example *best,
        const Run *run_a,
        const Run *run_b,
        const Run *run_1,
        const Run *run_2,
        uint32_t flags,
    ) except -1 nogil:
        cdef Key key
        cdef uint32_t i
        memset(&key, 0, sizeof(Key))
        key.path_a, key.path_b, key.site_a, key.site_b = run_a.path, run_b.path, run_a.site, run_b.site
        key.site_1, key.site_2 = run_1.site, run_2.site
        flags |= run_a.op | run_b.op << 1 | run_1.op << 2 | run_2.op << 3
        flags |= SAME_LOCATION if run_a.location == run_b.location else 0
        flags |= <uint32_t> self.locations[run_a.location].part << PART_A
        flags |= <uint32_t> self.locations[run_b.location].part << PART_B
        for i in range(4):
            if best[i].a != NULL:
                key.flags = flags | (SAME_TRANSACTION if i & 2 else 0) | (SAME_REGION if i & 1 else 0)
                self.keep(&key, &best[i])
        return 0

    cdef int keep(self, const Key *key, const Example *example) except -1 nogil:
        cdef uint32_t k = self.kind_number(key)
        cdef Kind *kind
        if k == NOT_FOUND:
            self.dropped += 1
            return 0
        kind = &self.kinds[k]
        if kind.counted != self.meetings:
            kind.counted = self.meetings
            kind.count += 1
            if self.is_new_shape:
                ensure_room(
                    <void **> &self.shape_kinds, &self.shape_kind_room, self.shape_kind_count + 1, sizeof(uint32_t)
                )
                self.shape_kinds[self.shape_kind_count] = k
                self.shape_kind_count += 1
        if example.gap < kind.gap or (example.gap == kind.gap and example.b.event < kind.steps[3].event):
            kind.gap = example.gap
            self.show(&kind.steps[0], example.a)
            self.show(&kind.steps[1], example.r1)
            self.show(&kind.steps[2], example.r2)
            self.show(&kind.steps[3], example.b)
            if not kind.is_changed:
                kind.is_changed = True
                ensure_room(
                    <void **> &self.changed, &self.changed_room, self.changed_count + 1, sizeof(uint32_t)
                )
                self.changed[self.changed_count] = k
                self.changed_count += 1
        return 0

    cdef uint32_t kind_number(self, const Key *key) except? 0xFFFFFFFE nogil:
        cdef uint64_t hashed = joined(key.path_a, key.path_b)
        cdef uint32_t head, k
        hashed = joined(hashed, <uint64_t> key.site_a << 32 | key.site_b)
        hashed = joined(joined(hashed, <uint64_t> key.site_1 << 32 | key.site_2), key.flags)
        head = k = found(&self.kind_of, hashed)
        while k != NOT_FOUND and not is_same(&self.kinds[k].key, key):
            k = self.kinds[k].same_hash
        if k != NOT_FOUND or self.kind_count >= self.most_kinds:
            return k
        k = self.kind_count
        ensure_room(<void **> &self.kinds, &self.kind_room, k + 1, sizeof(Kind))
        self.kinds[k].key, self.kinds[k].same_hash, self.kinds[k].gap = key[0], head, NEVER
        if not put(&self.kind_of, hashed, k):
            out_of_memory()
        self.kind_count += 1
        return k

    cdef void show(self, Shown *shown, const Access *access) noexcept nogil:
        cdef const TransactionRow *row = &self.transactions[access.transaction]
        shown.event, shown.thread, shown.op = access.event, access.thread, access.op
        shown.location, shown.site = access.location, access.site
        shown.number = row.number if access.transaction else 0
        shown.region = row.region if access.transaction else NO_REGION

    # ---- answers

    @property
    def kinds_found(self):
        return self.kind_count

    @property
    def found(self):
        """(count, whether it is two turns, steps) of each kind, in the order in which they were found.

        A step: event, thread, operation, location, site, number of the transaction, region. r1 and r2 can be the same.
        """
        return [self.answer(i) for i in range(self.kind_count)]

    def take_changed(self):
        """(number of the kind, answer) of each kind whose example is new or another one since the last time."""
        cdef size_t i
        answers = []
        for i in range(self.changed_count):
            self.kinds[self.changed[i]].is_changed = False
            answers.append((self.changed[i], self.answer(self.changed[i])))
        self.changed_count = 0
        return answers

    cdef tuple answer(self, uint32_t i):
        cdef Kind *kind = &self.kinds[i]
        cdef Shown *step
        cdef uint32_t k
        steps = []
        for k in range(4):
            step = &kind.steps[k]
            steps.append((step.event, step.thread, step.op, step.location, step.site, step.number, step.region))
        return kind.count, bool(kind.key.flags & TWO_TURNS), steps


cdef void free_runs(Runs *runs) noexcept nogil:
    free(runs.items)
    free(runs.runs)


cdef inline bint is_of(const Run *run, const Access *item) noexcept nogil:
    return (
        run.location == item.location and run.path == item.path and run.site == item.site and run.op == item.op
    )


cdef inline bint is_same(const Key *one, const Key *other) noexcept nogil:
    return (
        one.path_a == other.path_a
        and one.path_b == other.path_b
        and one.site_a == other.site_a
        and one.site_b == other.site_b
        and one.site_1 == other.site_1
        and one.site_2 == other.site_2
        and one.flags == other.flags
    )


cdef inline void forget(Example *best) noexcept nogil:
    cdef int i
    for i in range(4):
        best[i].a = NULL
        best[i].gap = NEVER


cdef inline void try_example(Example *best, Access *a, Access *r1, Access *r2, Access *b) noexcept nogil:
    """`best` has two rows: not of the same innermost region, and of the same."""
    cdef Example *row = best + (a.path == b.path and a.event > b.inner)
    cdef uint64_t gap = <uint32_t> (b.own - a.own)
    if gap < row.gap:
        row.gap, row.a, row.r1, row.r2, row.b = gap, a, r1, r2, b
