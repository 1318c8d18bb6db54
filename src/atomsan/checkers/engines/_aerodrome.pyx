# cython: language_level=3, freethreading_compatible=True
"""AeroDrome: is a trace conflict-serializable? One pass; it stops at the very event that closes the first cycle.

Paper: Mathur and Viswanathan, Atomicity Checking in Linear Time Using Vector Clocks, ASPLOS 2020 (aerodrome-2020),
Algorithm 1: a cycle is closed when a transaction takes a clock that knows its own begin.

Where we depart from it, and why:

- A clock is a set of *active* transactions, those with an open region. Algorithm 1 only ever asks "does this clock know
  the begin of u's active transaction?", and an ended transaction only counts by the active ones that it comes after. An
  active transaction holds a slot, a bit in every set; begin takes the lowest free slot, end gives it back. So cost
  follows the active transactions: a thread outside regions holds no slot, however many there are.
- No pass over locks and locations at an end (lines 41-46). They hold references to nodes. The node of an active
  transaction leads to its set; when it ends, its node moves to the class of all ended nodes that know the same. An end
  puts its set in the place of its bit in every class. A class that knows nothing any more dies, and every
  reference to one of its nodes is void: nodes are slots with generations.
- The sets of active transactions are kept closed: a transaction that takes from another takes all that comes before
  that one, and hands it on to those after itself. Algorithm 1 leaves this to the end events (lines 38-40), but the last
  ends may not be in the trace (docs/papers.md, traces that end inside regions). So a violation is reported at the first
  event that makes the trace not serializable, never at an end.
- Events outside regions ("unary") are transactions that end at once: a node in the class of their thread's knowledge.
  Those of one thread share a node while it learns nothing (docs/papers.md, events outside regions).
- A child without any event gives no order, though line 22 as printed takes its clock (docs/papers.md, begin and end are
  events). A thread that is joined inside its region has no more events: its transaction ends there.
- Hand-overs, which the paper does not have: like the reads of a location, without the write that clears them.

Why it is exact. An edge always leads to the transaction of the current event, so a new cycle goes through that one; a
unary one has no way out yet, so it is active: some active transaction a takes from p, and a comes before p. What comes
before p, of the active ones, is p's set, closed. So "p's closed set holds a" is the definition itself.

Shadow state (paper's symbol: here). Everything belongs to the engine; nothing is shared between engines.

- C_t: `threads[t].ref`, the reference that events of thread t leave behind: its active transaction's node, or a node of
  the class with t's knowledge. Before its first event: its parent's reference at the fork.
- L_l: `locks[l]`, the reference of the last release.
- W_x: `locations[x].W`, the reference of the last write.
- R_{u,x}: `locations[x].R`, the reference of the last read that is not void or known to a later reader; where there are
  several, a shelf with one for each thread. A write clears it: it knows them all.
- P_{u,h} (ours): `handovers[h]`, the posts, in the same form as R.
- the sets: `rows[]`. Row 0 is empty for ever: all void references lead to it. Row 1 is scratch. The others belong to an
  active transaction each (`own`: its bit, which its `mask` never has) or to a class (`own` 0, `mask` not empty and
  unlike that of any other class). Slots from 64 on have their bits in `high`: `more` words a row, mostly none.
- nodes: `nodes[]` and `names[]`. A node of the current generation is in the row it names; node 0 is void for ever.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from atomsan.trace._generations cimport Ref, begin_generation, end_generation, reference, refers_to, slot_of
from atomsan.trace._memory cimport ensure_room, grown, out_of_memory, prefetch
from atomsan.trace._ops cimport ACQUIRE, BEGIN, END, FORK, JOIN, POST, READ, RELEASE, TAKE, WRITE
from atomsan.trace._pools cimport NO_SLOT, Pool, give_slot, take_slot
from atomsan.trace._sparse cimport Sparse, forget_rows, free_sparse, has_sparse_room, next_row
from atomsan.trace._stopping cimport Work, has_toiled, is_long, look_up

cdef extern from * nogil:
    int __builtin_ctzll(unsigned long long)

cdef enum:
    AHEAD = 16            # events between the prefetch of a location and its use
    VOID = 0              # the row that is empty for ever
    SCRATCH = 1
    SHELF = 1             # no node: a reference to it says that there are several, and on which shelf
    FIRST_ROW = 2
    SMALLEST_SHELF = 2    # as a power of two
    SHELF_SIZES = 40

cdef uint64_t LOW = 0xFFFFFFFF

cdef struct Thread:
    Ref ref
    uint32_t row          # of its active transaction; 0 if it is outside regions
    uint32_t started      # had an event
    uint64_t number       # of its last regular transaction, from 1
    uint32_t region       # of its last regular transaction

cdef struct Location:
    Ref W
    Ref R

cdef struct Node:
    uint32_t generation
    uint32_t row

cdef struct Name:
    uint64_t number       # 0: events outside regions
    uint32_t thread
    uint32_t next         # in the list of its class

cdef struct Row:
    uint64_t mask         # known active transactions, slots 0-63
    uint64_t own

cdef struct RowInfo:
    uint32_t slot         # of an active transaction
    uint32_t head         # of a class: its nodes
    uint32_t size
    uint32_t chain        # of a class: next in its bucket
    uint32_t place        # of a class: where in `classes`
    uint64_t stamp        # of a class: when a shelf was last rebuilt that has it


cdef inline uint64_t all_if(bint true) noexcept nogil:
    """All bits, or none."""
    return <uint64_t> 0 - <uint64_t> true


@cython.final
cdef class AeroDrome:
    """Feed it flattened events until it says where the first cycle closes."""

    cdef Work work
    cdef Thread *threads
    cdef size_t thread_room
    cdef Location *locations      # those of `location_rows`
    cdef Sparse location_rows
    cdef size_t location_count
    cdef Ref *locks
    cdef size_t lock_room
    cdef Ref *handovers
    cdef size_t handover_room

    cdef Node *nodes              # apart from `names`: accesses look at these alone
    cdef Name *names
    cdef Pool node_pool           # of `names`
    cdef uint8_t *marks           # by node: found by `collect`; all 0 otherwise
    cdef size_t node_room
    cdef size_t mark_room
    cdef size_t used_nodes
    cdef size_t node_limit        # collect when so many are used

    cdef Row *rows
    cdef size_t row_room
    cdef RowInfo *infos
    cdef Pool row_pool            # of `infos`
    cdef uint64_t *high           # row after row: `more` words each
    cdef size_t high_room
    cdef size_t more

    cdef uint64_t *active         # more + 1 words: the slots that are taken
    cdef uint32_t *slot_row       # by slot; 0 where it is free
    cdef uint64_t *closed         # more + 1 words: a closed set in the making
    cdef uint64_t *seen           # more + 1 words: the slots that some other row may know
    cdef uint64_t *learned        # more + 1 words: the slots whose own row may not be empty

    cdef uint32_t *classes        # all of them, in no order
    cdef size_t class_count
    cdef size_t class_room
    cdef uint32_t *buckets        # classes by hash of their sets
    cdef size_t bucket_count      # a power of two
    cdef uint64_t stamp           # counts the shelves that were rebuilt

    # Shelf after shelf: a word with its size (as a power of two), then its places. They are no `Blocks`, for a
    # reference has 32 bits to say where a shelf is.
    cdef uint64_t *shelves
    cdef size_t shelf_room
    cdef size_t shelf_top
    cdef size_t shelf_words       # in use
    cdef size_t shelf_limit       # collect when so many are in use
    cdef uint64_t free_shelf[SHELF_SIZES]   # by size; the free ones are linked by their first word

    cdef size_t least_garbage     # nodes, or words of shelves, before it is worth while to collect

    cdef readonly uint64_t events
    cdef readonly uint64_t transactions
    cdef readonly uint64_t most_active
    cdef readonly uint64_t collections
    cdef uint64_t active_count

    @property
    def most_nodes(self):
        return self.node_pool.used - SHELF - 1

    # of the event that closed a cycle
    cdef uint32_t closer          # the node that it took from
    cdef bint by_read             # a write that took from a read
    cdef size_t violator          # its thread

    def __cinit__(self, size_t least_garbage=1 << 14):
        self.least_garbage = least_garbage
        self.node_limit = least_garbage
        self.shelf_top = 1
        self.shelf_limit = least_garbage
        self.bucket_count = 64
        self.buckets = <uint32_t *> grown(NULL, 0, 4 * self.bucket_count)
        self.node_pool.used = SHELF + 1
        ensure_room(<void **> &self.nodes, &self.node_room, self.node_pool.used, sizeof(Node))
        ensure_room(<void **> &self.names, &self.node_pool.room, self.node_pool.used, sizeof(Name))
        self.row_pool.used = FIRST_ROW
        ensure_room(<void **> &self.rows, &self.row_room, FIRST_ROW, sizeof(Row))
        ensure_room(<void **> &self.infos, &self.row_pool.room, FIRST_ROW, sizeof(RowInfo))
        self.infos[VOID].slot = self.infos[SCRATCH].slot = NO_SLOT
        self.lay_out(0)

    def __dealloc__(self):
        free(self.threads)
        free_sparse(&self.location_rows)
        free(self.locks)
        free(self.handovers)
        free(self.nodes)
        free(self.names)
        free(self.marks)
        free(self.rows)
        free(self.infos)
        free(self.high)
        free(self.active)
        free(self.slot_row)
        free(self.closed)
        free(self.seen)
        free(self.learned)
        free(self.classes)
        free(self.buckets)
        free(self.shelves)

    def grow(self, size_t threads, size_t locations, size_t locks, size_t handovers):
        """Make room for so many of each: the numbers in the columns are below."""
        ensure_room(<void **> &self.threads, &self.thread_room, threads, sizeof(Thread))
        if not has_sparse_room(&self.location_rows, locations, sizeof(Location)):
            out_of_memory()
        self.locations = <Location *> self.location_rows.rows
        self.location_count = max(self.location_count, locations)
        ensure_room(<void **> &self.locks, &self.lock_room, locks, sizeof(Ref))
        ensure_room(<void **> &self.handovers, &self.handover_room, handovers, sizeof(Ref))

    def feed(self, const uint32_t[::1] thread, const uint8_t[::1] op, const uint32_t[::1] target):
        """Where in these events the first cycle closes, or -1. After that, do not feed any more."""
        cdef Py_ssize_t found = -1, count = op.shape[0]
        if count:
            self.narrow()
            with nogil:
                found = self.run(&thread[0], &op[0], &target[0], count)
            self.events += count if found < 0 else found + 1
        return found

    def forget(self, const uint32_t[::1] dead):
        """No event is going to access these locations, which were never forgotten before."""
        cdef Py_ssize_t i
        for i in range(dead.shape[0]):
            if dead[i] < self.location_count:
                self.clear(&self.locations[dead[i]].R)
        if dead.shape[0] and not forget_rows(&self.location_rows, &dead[0], dead.shape[0], sizeof(Location)):
            out_of_memory()

    def closing(self):
        """Of the event that closed a cycle: its thread, the number and region of its transaction; thread and number of
        the one it came after (0: outside regions); and whether it is a write that came after a read."""
        cdef Thread *t = &self.threads[self.violator]
        cdef Name *name = &self.names[self.closer]
        return self.violator, t.number, t.region, name.thread, name.number, self.by_read

    # ---- the events

    cdef Py_ssize_t run(
        self, const uint32_t *thread, const uint8_t *op, const uint32_t *target, Py_ssize_t count
    ) except -2 nogil:
        cdef Py_ssize_t i
        cdef Thread *t
        cdef bint closes
        for i in range(count):
            if is_long(&self.work, i):
                look_up()
            # Of other targets it is no address of ours, but a prefetch cannot fail.
            prefetch(&self.locations[target[i + AHEAD if i + AHEAD < count else i]])
            t = &self.threads[thread[i]]
            if op[i] <= WRITE:
                if self.easy_access(t, &self.locations[target[i]], op[i]):
                    continue
                closes = self.access(t, thread[i], &self.locations[target[i]], op[i])
            else:
                closes = self.other(t, thread[i], op[i], target[i])
            if closes:
                self.violator = thread[i]
                return i
        return -1

    cdef inline bint easy_access(self, Thread *t, Location *v, uint8_t o) noexcept nogil:
        """Nothing to learn and nobody else to remember, which is the rule: then it is done. One branch for all cases.

        That is so if the thread is in a region, or knows nothing, and knows what the last write and the reads know.
        """
        cdef uint32_t a = self.row_of(t.ref), w = self.row_of(v.W), r = self.row_of(v.R)
        cdef uint64_t unknown = ~self.rows[a].mask
        cdef uint64_t of_write = (self.rows[w].mask | self.rows[w].own) & unknown
        cdef uint64_t of_reads = (self.rows[r].mask | self.rows[r].own) & unknown
        cdef uint64_t is_read = all_if(o == READ)
        of_write &= all_if(w != a)
        of_reads &= all_if(r != a)
        if self.more:    # then only the most simple ones are: what follows does not look at `high`
            of_write |= <uint64_t> ((w != VOID) & (w != a))
            of_reads |= <uint64_t> ((r != VOID) & (r != a))
        if of_write | of_reads | (a ^ t.row) | <uint64_t> (slot_of(v.R) == SHELF):
            return False
        t.started = True
        v.W = (v.W & is_read) | (t.ref & ~is_read)
        v.R = t.ref & is_read
        return True

    cdef int access(self, Thread *t, uint32_t number, Location *v, uint8_t o) except -1 nogil:
        if not t.row:
            self.unary_access(t, number, v, o == WRITE)
            return False
        return self.read(t, v, number) if o == READ else self.write(t, v)

    cdef inline int read(self, Thread *t, Location *v, uint32_t number) except -1 nogil:
        cdef Ref own = t.ref
        if v.W == own:
            return False    # and R need not know: whoever takes R takes W
        if self.take(t.row, v.W):
            self.by_read = False
            return True
        if v.R != own:
            self.add(&v.R, own, t.row, number)
        return False

    cdef inline int write(self, Thread *t, Location *v) except -1 nogil:
        cdef Ref own = t.ref
        if v.W != own and self.take(t.row, v.W):
            self.by_read = False
            return True
        if v.R and v.R != own and self.take_all(t.row, v.R):
            self.by_read = True
            return True
        self.clear(&v.R)
        v.W = own
        return False

    cdef int other(self, Thread *t, uint32_t number, uint8_t o, uint32_t x) except -1 nogil:
        """Everything but accesses. Is a cycle closed?"""
        if has_toiled(&self.work):
            look_up()
        self.tidy()
        if o == BEGIN:
            self.begin(t, number, x)
        elif o == END:
            if t.row:    # else a join ended it before
                self.end(t)
        elif o == ACQUIRE:
            if t.row:
                return self.take(t.row, self.locks[x])
            self.unary_take(t, number, self.locks[x], 0)
        elif o == RELEASE:
            self.locks[x] = self.left_behind(t, number)
        elif o == FORK:
            self.threads[x].ref = self.left_behind(t, number)
        elif o == JOIN:
            return self.join(t, number, &self.threads[x])
        elif o == POST:
            self.post(t, number, x)
        elif o == TAKE:
            if t.row:
                return self.take_all(t.row, self.handovers[x])
            self.unary_take(t, number, 0, self.handovers[x])
        return False

    cdef int begin(self, Thread *t, uint32_t number, uint32_t region) except -1 nogil:
        """C_t^begin: nobody knows the new transaction, and it knows what its thread did."""
        cdef uint32_t a = self.new_row(), node
        self.take_slot(a)
        t.number += 1
        node = self.new_node(number, t.number)
        self.nodes[node].row = a
        self.take(a, t.ref)
        t.ref = reference(node, self.nodes[node].generation)
        t.row = a
        t.region = region
        t.started = True
        self.transactions += 1
        return 0

    cdef int end(self, Thread *t) except -1 nogil:
        """Put the transaction's set in the place of its bit in every other set; its node joins a class."""
        cdef uint32_t a = t.row, same, node = slot_of(t.ref)
        cdef uint32_t slot = self.infos[a].slot
        t.row = 0
        if self.seen[slot >> 6] & <uint64_t> 1 << (slot & 63):
            self.forget_in_active(slot)
            self.replace_in_classes(a, slot)
        self.give_back_slot(a)
        if self.is_empty(a):
            self.free_nodes(node)
            self.free_the_row(a)
            t.ref = 0
            return 0
        same = self.class_like(a)
        if same:
            self.free_the_row(a)
        else:
            same = a
            self.enroll(a)
        self.link(node, same)
        return 0

    cdef int join(self, Thread *t, uint32_t number, Thread *u) except -1 nogil:
        if not u.started:
            if not t.row:
                self.start(t, number)
            return False
        if u.row and u != t:
            self.end(u)
        if t.row:
            return self.take(t.row, u.ref)
        self.unary_take(t, number, u.ref, 0)
        return False

    cdef int post(self, Thread *t, uint32_t number, uint32_t h) except -1 nogil:
        cdef Ref own = self.left_behind(t, number)
        if own:
            self.add(&self.handovers[h], own, self.row_of(own), number)
        return 0

    # ---- events outside regions

    cdef int start(self, Thread *t, uint32_t number) except -1 nogil:
        """Before the first event of a thread, what it knows is its parent's node, perhaps of an active transaction."""
        cdef uint32_t k
        if t.started:
            return 0
        t.started = True
        k = self.row_of(t.ref)
        if k == VOID:
            return 0
        if self.infos[k].slot == NO_SLOT:
            return self.know(t, number, k)
        self.set_scratch(k)
        return self.know_scratch(t, number)

    cdef int unary_access(self, Thread *t, uint32_t number, Location *v, bint write) except -1 nogil:
        cdef Ref own
        self.tidy()
        self.unary_take(t, number, v.W, v.R if write else 0)
        own = self.left_behind(t, number)
        if write:
            self.clear(&v.R)
            v.W = own
        elif own and v.W != own and v.R != own:
            self.add(&v.R, own, self.row_of(own), number)
        return 0

    cdef int unary_take(self, Thread *t, uint32_t number, Ref one, Ref several) except -1 nogil:
        """Add to what a thread outside regions knows: no check, because the event is no active transaction."""
        cdef uint32_t k, r = self.row_of(one)
        cdef uint64_t at, place
        self.start(t, number)
        k = self.row_of(t.ref)
        if (r == k or not self.is_news(k, r)) and not several:
            return 0
        self.set_scratch(k)
        self.add_to_scratch(r)
        if slot_of(several) != SHELF:
            self.add_to_scratch(self.row_of(several))
        else:
            at = several >> 32
            for place in range(at + 1, at + 1 + (<uint64_t> 1 << self.shelves[at])):
                self.add_to_scratch(self.row_of(self.shelves[place]))
        if self.is_news(k, SCRATCH):
            self.know_scratch(t, number)
        return 0

    cdef inline Ref left_behind(self, Thread *t, uint32_t number) except? 0xFFFFFFFFFFFFFFFF nogil:
        """The reference that an event of the thread leaves: its node, not that of an earlier transaction of its."""
        cdef uint32_t k
        cdef Name *name
        if t.row:
            return t.ref
        self.start(t, number)
        k = self.row_of(t.ref)
        if k == VOID:
            t.ref = 0
        else:
            name = &self.names[slot_of(t.ref)]
            if name.thread != number or name.number:
                self.know(t, number, k)
        return t.ref

    cdef int know_scratch(self, Thread *t, uint32_t number) except -1 nogil:
        cdef uint32_t c = self.class_like(SCRATCH)
        self.unite(self.seen, SCRATCH)
        if not c:
            c = self.new_row()
            self.copy(c, SCRATCH)
            self.enroll(c)
        return self.know(t, number, c)

    cdef int know(self, Thread *t, uint32_t number, uint32_t c) except -1 nogil:
        """From now on the thread knows what the class knows, by a node of its own."""
        cdef uint32_t node = self.new_node(number, 0)
        self.link(node, c)
        t.ref = reference(node, self.nodes[node].generation)
        return 0

    # ---- taking: CHECKANDGET

    cdef inline uint32_t row_of(self, Ref ref) noexcept nogil:
        """The row of a reference, VOID if it is void. No branch: which it is cannot be foretold."""
        cdef Node *node = &self.nodes[slot_of(ref)]
        return node.row & <uint32_t> all_if(refers_to(ref, node.generation))

    cdef inline bint is_news(self, uint32_t a, uint32_t r) noexcept nogil:
        """Does r hold anything, its own bit included, that a does not know? (a does not "know" its own.)"""
        if (self.rows[r].mask | self.rows[r].own) & ~self.rows[a].mask:
            return True
        return self.more != 0 and self.is_news_high(a, r)

    cdef inline int take(self, uint32_t a, Ref ref) noexcept nogil:
        """The active transaction comes after what left the reference. Does that close a cycle?"""
        cdef uint32_t r = self.row_of(ref)
        if r == VOID or r == a or not self.is_news(a, r):
            return False
        self.closer = slot_of(ref)
        return self.learn(a, r) if self.more == 0 else self.learn_wide(a, r)

    cdef int take_all(self, uint32_t a, Ref several) noexcept nogil:
        cdef uint64_t at, place
        if slot_of(several) != SHELF:
            return self.take(a, several)
        at = several >> 32
        for place in range(at + 1, at + 1 + (<uint64_t> 1 << self.shelves[at])):
            if self.take(a, self.shelves[place]):
                return True
        return False

    cdef bint learn(self, uint32_t a, uint32_t r) noexcept nogil:
        """Take row r, closed, and hand it on to the active ones that come after a."""
        cdef uint64_t closed = self.rows[r].mask | self.rows[r].own, own = self.rows[a].own
        cdef uint64_t left = closed & self.learned[0]
        cdef Row *row
        while left:
            closed |= self.rows[self.slot_row[__builtin_ctzll(left)]].mask
            left &= left - 1
        if closed & own:
            return True
        self.rows[a].mask |= closed
        self.learned[0] |= own
        self.seen[0] |= closed
        if self.seen[0] & own:
            left = self.active[0]
            while left:
                row = &self.rows[self.slot_row[__builtin_ctzll(left)]]
                if row.mask & own:
                    row.mask |= closed
                left &= left - 1
        return False

    # ---- ends

    cdef inline void forget_in_active(self, uint32_t slot) noexcept nogil:
        """Active ones that know a transaction know all it knows already: the sets are closed."""
        cdef size_t k = slot >> 6, word
        cdef uint64_t left, bit = <uint64_t> 1 << (slot & 63)
        cdef uint32_t row
        for word in range(self.more + 1):
            left = self.active[word]
            while left:
                row = self.slot_row[64 * word + __builtin_ctzll(left)]
                self.word(row, k)[0] &= ~bit
                left &= left - 1
        self.seen[k] &= ~bit

    cdef int replace_in_classes(self, uint32_t a, uint32_t slot) except -1 nogil:
        cdef size_t at = self.class_count, k = slot >> 6, word
        self.work.done += 4 * at
        cdef uint64_t bit = <uint64_t> 1 << (slot & 63)
        cdef uint32_t c
        while at:
            # Backwards: what `strike` puts in the place of a class has been looked at.
            at -= 1
            if at >= self.class_count:
                continue
            c = self.classes[at]
            if not self.word(c, k)[0] & bit:
                continue
            self.strike(c)
            for word in range(self.more + 1):
                self.word(c, word)[0] |= self.word(a, word)[0]
            self.word(c, k)[0] &= ~bit
            self.enroll_again(c)
        return 0

    cdef int enroll_again(self, uint32_t c) except -1 nogil:
        """A class whose set has changed: it may be empty now, or like another one."""
        cdef uint32_t other, node, last
        if self.is_empty(c):
            self.free_nodes(self.infos[c].head)
            self.free_the_row(c)
            return 0
        other = self.class_like(c)
        if not other:
            return self.enroll(c)
        if self.infos[other].size < self.infos[c].size:
            # The nodes of the smaller one move: each moves at most a logarithmic number of times.
            self.strike(other)
            self.enroll(c)
            c, other = other, c
        node = last = self.infos[c].head
        while node:
            self.nodes[node].row = other
            last = node
            node = self.names[node].next
        self.names[last].next = self.infos[other].head
        self.infos[other].head = self.infos[c].head
        self.infos[other].size += self.infos[c].size
        self.free_the_row(c)
        return 0

    # ---- classes

    cdef inline uint64_t hash(self, uint32_t row) noexcept nogil:
        cdef uint64_t h = self.rows[row].mask * <uint64_t> 0x9E3779B97F4A7C15
        cdef size_t k
        for k in range(self.more):
            h = (h ^ (h >> 29) ^ self.high[row * self.more + k]) * <uint64_t> 0xBF58476D1CE4E5B9
        return h ^ (h >> 32)

    cdef inline bint is_empty(self, uint32_t row) noexcept nogil:
        cdef size_t k
        if self.rows[row].mask:
            return False
        for k in range(self.more):
            if self.high[row * self.more + k]:
                return False
        return True

    cdef uint32_t class_like(self, uint32_t row) noexcept nogil:
        """The class with the same set, or 0."""
        cdef uint32_t c = self.buckets[self.hash(row) & (self.bucket_count - 1)]
        cdef size_t k
        while c:
            if self.rows[c].mask == self.rows[row].mask:
                k = 0
                while k < self.more and self.high[c * self.more + k] == self.high[row * self.more + k]:
                    k += 1
                if k == self.more:
                    return c
            c = self.infos[c].chain
        return 0

    cdef int enroll(self, uint32_t c) except -1 nogil:
        """Make a row a class, or one whose set has changed a class again."""
        cdef uint32_t *bucket
        ensure_room(<void **> &self.classes, &self.class_room, self.class_count + 1, sizeof(uint32_t))
        if self.class_count == self.bucket_count:
            self.more_buckets()
        bucket = &self.buckets[self.hash(c) & (self.bucket_count - 1)]
        self.infos[c].chain = bucket[0]
        bucket[0] = c
        self.infos[c].place = <uint32_t> self.class_count
        self.classes[self.class_count] = c
        self.class_count += 1
        return 0

    cdef int more_buckets(self) except -1 nogil:
        self.buckets = <uint32_t *> grown(self.buckets, 4 * self.bucket_count, 8 * self.bucket_count)
        self.bucket_count *= 2
        self.fill_buckets()
        return 0

    cdef void fill_buckets(self) noexcept nogil:
        cdef size_t at
        cdef uint32_t c
        cdef uint32_t *bucket
        memset(self.buckets, 0, 4 * self.bucket_count)
        for at in range(self.class_count):
            c = self.classes[at]
            bucket = &self.buckets[self.hash(c) & (self.bucket_count - 1)]
            self.infos[c].chain = bucket[0]
            bucket[0] = c

    cdef void strike(self, uint32_t c) noexcept nogil:
        """Take a class out of the lists; call it before its set changes."""
        cdef uint32_t last
        cdef uint32_t *link = &self.buckets[self.hash(c) & (self.bucket_count - 1)]
        while link[0] != c:
            link = &self.infos[link[0]].chain
        link[0] = self.infos[c].chain
        self.class_count -= 1
        last = self.classes[self.class_count]
        self.classes[self.infos[c].place] = last
        self.infos[last].place = self.infos[c].place

    cdef inline void link(self, uint32_t node, uint32_t c) noexcept nogil:
        self.nodes[node].row = c
        self.names[node].next = self.infos[c].head
        self.infos[c].head = node
        self.infos[c].size += 1

    # ---- several references in one place: readers of a location, posts of a hand-over

    cdef inline int add(self, Ref *cell, Ref own, uint32_t a, uint32_t number) except -1 nogil:
        """Whoever takes from the cell takes from `own` too, which thread `number` left, and which has row a."""
        cdef uint32_t r
        if slot_of(cell[0]) != SHELF:
            r = self.row_of(cell[0])
            if r == VOID or r == a or not self.is_news(a, r):
                cell[0] = own    # it knows all the other does
                return 0
        return self.add_to_several(cell, own, a, number)

    cdef int add_to_several(self, Ref *cell, Ref own, uint32_t a, uint32_t number) except -1 nogil:
        cdef uint64_t at
        cdef Ref other = cell[0]
        if slot_of(other) != SHELF:
            if self.infos[a].slot == NO_SLOT and self.knows(self.row_of(other), a):
                return 0    # the other does more for any taker than `own` can
            at = self.new_shelf(SMALLEST_SHELF)
            cell[0] = reference(SHELF, <uint32_t> at)
            self.put(at, other, self.names[slot_of(other)].thread)
        if not self.put(cell[0] >> 32, own, number):
            self.rebuild(cell, a)
            self.put(cell[0] >> 32, own, number)
        return 0

    cdef bint put(self, uint64_t at, Ref ref, uint32_t number) noexcept nogil:
        """Put a reference on a shelf, in place of the same thread's if there is one. False: it is full."""
        cdef uint64_t i, size = <uint64_t> 1 << self.shelves[at]
        cdef Ref *place
        for i in range(number, number + size):
            place = &self.shelves[at + 1 + (i & (size - 1))]
            # A later one of the same thread knows all of an earlier one. Another of the thread may be left further on,
            # which does no harm: so there is no need to look behind a void one.
            if self.row_of(place[0]) == VOID or self.names[slot_of(place[0])].thread == number:
                place[0] = ref
                return True
        return False

    cdef int rebuild(self, Ref *cell, uint32_t a) except -1 nogil:
        """Drop the references that row a, about to be put, knows, and all but one of each class; make room for more."""
        cdef uint64_t i, old = cell[0] >> 32, at, count = 0, size = <uint64_t> 1 << self.shelves[old]
        cdef uint64_t power = SMALLEST_SHELF
        cdef Ref ref
        self.stamp += 1
        for i in range(old + 1, old + 1 + size):
            if self.outlives(self.row_of(self.shelves[i]), a):
                count += 1
            else:
                self.shelves[i] = 0
        while (<uint64_t> 1 << power) < 2 * count + 2:
            power += 1
        at = self.new_shelf(power)
        for i in range(old + 1, old + 1 + size):
            ref = self.shelves[i]
            if ref:
                self.put(at, ref, self.names[slot_of(ref)].thread)
        self.free_the_shelf(old)
        cell[0] = reference(SHELF, <uint32_t> at)
        return 0

    cdef inline bint outlives(self, uint32_t r, uint32_t a) noexcept nogil:
        if r == VOID or r == a or not self.is_news(a, r):
            return False
        if self.infos[r].slot != NO_SLOT:
            return True
        if self.infos[r].stamp == self.stamp:
            return False
        self.infos[r].stamp = self.stamp
        return True

    cdef inline bint knows(self, uint32_t r, uint32_t c) noexcept nogil:
        """Does r know (its own bit aside) all that class c does?"""
        cdef size_t k
        if self.rows[c].mask & ~self.rows[r].mask:
            return False
        for k in range(self.more):
            if self.high[c * self.more + k] & ~self.high[r * self.more + k]:
                return False
        return True

    cdef inline void clear(self, Ref *cell) noexcept nogil:
        if slot_of(cell[0]) == SHELF:
            self.free_the_shelf(cell[0] >> 32)
        cell[0] = 0

    cdef uint64_t new_shelf(self, uint64_t power) except 0 nogil:
        cdef uint64_t at = self.free_shelf[power], size = (<uint64_t> 1 << power) + 1
        if at:
            self.free_shelf[power] = self.shelves[at]
        else:
            if self.shelf_top + size > LOW:
                out_of_memory()
            ensure_room(<void **> &self.shelves, &self.shelf_room, self.shelf_top + size, sizeof(uint64_t))
            at = self.shelf_top
            self.shelf_top += size
        memset(&self.shelves[at], 0, 8 * size)
        self.shelves[at] = power
        self.shelf_words += size
        return at

    cdef inline void free_the_shelf(self, uint64_t at) noexcept nogil:
        cdef uint64_t power = self.shelves[at]
        self.shelf_words -= (<uint64_t> 1 << power) + 1
        self.shelves[at] = self.free_shelf[power]
        self.free_shelf[power] = at

    # ---- nodes and rows

    cdef uint32_t new_node(self, uint32_t thread, uint64_t number) except 0 nogil:
        cdef uint32_t node = take_slot(&self.node_pool, <void **> &self.names, sizeof(Name))
        if node == NO_SLOT:
            out_of_memory()
        ensure_room(<void **> &self.nodes, &self.node_room, <size_t> node + 1, sizeof(Node))
        ensure_room(<void **> &self.marks, &self.mark_room, <size_t> node + 1, sizeof(uint8_t))
        begin_generation(&self.nodes[node].generation)
        self.names[node].thread = thread
        self.names[node].number = number
        self.names[node].next = 0
        self.used_nodes += 1
        return node

    cdef void free_nodes(self, uint32_t node) noexcept nogil:
        """Free a node and all after it in its list: every reference to them is void."""
        cdef uint32_t next
        while node:
            next = self.names[node].next
            self.used_nodes -= 1
            self.nodes[node].row = VOID
            if end_generation(&self.nodes[node].generation):
                give_slot(&self.node_pool, self.names, sizeof(Name), node)
            node = next

    cdef uint32_t new_row(self) except 0 nogil:
        """A row with an empty set, neither active nor a class."""
        cdef uint32_t row = take_slot(&self.row_pool, <void **> &self.infos, sizeof(RowInfo))
        if row == NO_SLOT:
            out_of_memory()
        ensure_room(<void **> &self.rows, &self.row_room, <size_t> row + 1, sizeof(Row))
        ensure_room(<void **> &self.high, &self.high_room, (<size_t> row + 1) * self.more, sizeof(uint64_t))
        memset(&self.infos[row], 0, sizeof(RowInfo))
        self.infos[row].slot = NO_SLOT
        return row

    cdef void free_the_row(self, uint32_t row) noexcept nogil:
        memset(&self.rows[row], 0, sizeof(Row))
        if self.more:
            memset(&self.high[row * self.more], 0, 8 * self.more)
        give_slot(&self.row_pool, self.infos, sizeof(RowInfo), row)

    cdef inline uint64_t *word(self, uint32_t row, size_t k) noexcept nogil:
        """The part of a row's mask for slots 64k to 64k + 63."""
        return &self.rows[row].mask if k == 0 else &self.high[row * self.more + k - 1]

    cdef inline uint64_t own_word(self, uint32_t row, size_t k) noexcept nogil:
        cdef uint32_t slot = self.infos[row].slot
        return <uint64_t> 1 << (slot & 63) if slot != NO_SLOT and slot >> 6 == k else 0

    cdef void copy(self, uint32_t to, uint32_t row) noexcept nogil:
        cdef size_t k
        for k in range(self.more + 1):
            self.word(to, k)[0] = self.word(row, k)[0]

    cdef void set_scratch(self, uint32_t row) noexcept nogil:
        cdef size_t k
        for k in range(self.more + 1):
            self.word(SCRATCH, k)[0] = self.word(row, k)[0] | self.own_word(row, k)

    cdef void add_to_scratch(self, uint32_t row) noexcept nogil:
        cdef size_t k
        for k in range(self.more + 1):
            self.word(SCRATCH, k)[0] |= self.word(row, k)[0] | self.own_word(row, k)

    # ---- slots, and sets of more than 64

    cdef int take_slot(self, uint32_t row) except -1 nogil:
        cdef size_t k = 0
        cdef uint32_t slot
        while k <= self.more and ~self.active[k] == 0:
            k += 1
        if k > self.more:
            self.lay_out(2 * self.more + 1)
        slot = <uint32_t> (64 * k + __builtin_ctzll(~self.active[k]))
        self.active[k] |= <uint64_t> 1 << (slot & 63)
        self.slot_row[slot] = row
        self.infos[row].slot = slot
        self.rows[row].own = self.own_word(row, 0)
        self.active_count += 1
        if self.active_count > self.most_active:
            self.most_active = self.active_count
        return 0

    cdef void give_back_slot(self, uint32_t row) noexcept nogil:
        cdef uint32_t slot = self.infos[row].slot
        self.active[slot >> 6] &= ~(<uint64_t> 1 << (slot & 63))
        self.learned[slot >> 6] &= self.active[slot >> 6]
        self.slot_row[slot] = 0
        self.infos[row].slot = NO_SLOT
        self.rows[row].own = 0
        self.active_count -= 1

    cdef int lay_out(self, size_t more) except -1 nogil:
        """Change the number of words a set has beyond the first. Bits that have no place any more must be 0."""
        cdef size_t old = self.more, row, kept = min(old, more)
        cdef uint64_t *high = NULL
        if more:
            high = <uint64_t *> grown(NULL, 0, 8 * self.row_pool.room * more)
            for row in range(self.row_pool.used):
                memcpy(&high[row * more], &self.high[row * old], 8 * kept)
        free(self.high)
        self.high = high
        self.high_room = self.row_pool.room * more
        self.more = more
        # These never shrink: fewer words use their beginning.
        if self.active == NULL or more > old:
            old = 0 if self.active == NULL else old + 1
            self.active = <uint64_t *> grown(self.active, 8 * old, 8 * (more + 1))
            self.seen = <uint64_t *> grown(self.seen, 8 * old, 8 * (more + 1))
            self.learned = <uint64_t *> grown(self.learned, 8 * old, 8 * (more + 1))
            self.closed = <uint64_t *> grown(self.closed, 8 * old, 8 * (more + 1))
            self.slot_row = <uint32_t *> grown(self.slot_row, 256 * old, 256 * (more + 1))
        self.fill_buckets()    # the hash of a set depends on how many words it has
        return 0

    cdef int narrow(self) except -1 nogil:
        """After a crowd: when a quarter of the words would do, make do with half of them."""
        cdef size_t needed = self.more + 1
        while needed > 1 and self.active[needed - 1] == 0:
            needed -= 1
        if self.more and 4 * needed <= self.more + 1:
            self.lay_out((self.more + 1) // 2 - 1)
        return 0

    cdef bint is_news_high(self, uint32_t a, uint32_t r) noexcept nogil:
        cdef size_t k
        for k in range(1, self.more + 1):
            if (self.word(r, k)[0] | self.own_word(r, k)) & ~self.word(a, k)[0]:
                return True
        return False

    cdef bint learn_wide(self, uint32_t a, uint32_t r) noexcept nogil:
        """`learn` for sets of any size."""
        cdef uint32_t slot = self.infos[a].slot, row
        self.work.done += 64 * self.more
        cdef size_t k, own_k = slot >> 6
        cdef uint64_t left, own = <uint64_t> 1 << (slot & 63)
        for k in range(self.more + 1):
            self.closed[k] = self.word(r, k)[0] | self.own_word(r, k)
        if self.infos[r].slot == NO_SLOT:       # the set of an active transaction is closed already
            for k in range(self.more + 1):
                left = self.word(r, k)[0] & self.learned[k]
                while left:
                    self.unite(self.closed, self.slot_row[64 * k + __builtin_ctzll(left)])
                    left &= left - 1
        if self.closed[own_k] & own:
            return True
        self.learned[own_k] |= own
        for k in range(self.more + 1):
            self.seen[k] |= self.closed[k]
        self.add_closed(a)
        if not self.seen[own_k] & own:
            return False
        for k in range(self.more + 1):
            left = self.active[k]
            while left:
                row = self.slot_row[64 * k + __builtin_ctzll(left)]
                if self.word(row, own_k)[0] & own:
                    self.add_closed(row)
                left &= left - 1
        return False

    cdef inline void unite(self, uint64_t *words, uint32_t row) noexcept nogil:
        cdef size_t k
        words[0] |= self.rows[row].mask
        for k in range(self.more):
            words[k + 1] |= self.high[row * self.more + k]

    cdef inline void add_closed(self, uint32_t row) noexcept nogil:
        cdef size_t k
        self.rows[row].mask |= self.closed[0]
        for k in range(self.more):
            self.high[row * self.more + k] |= self.closed[k + 1]

    # ---- garbage: nodes of ended transactions to which no reference is left

    cdef inline void tidy(self) noexcept nogil:
        """At the start of an event, when every reference in use is in its place."""
        if self.used_nodes > self.node_limit or self.shelf_words > self.shelf_limit:
            self.collect()

    cdef void collect(self) noexcept nogil:
        """Costs a pass over all references, so it waits until so many nodes came up that it is worth while."""
        cdef size_t i = next_row(&self.location_rows, 0, sizeof(Location)), places
        while i < self.location_count:
            self.mark(&self.locations[i].W)
            self.mark_several(&self.locations[i].R)
            i = next_row(&self.location_rows, i + 1, sizeof(Location))
        for i in range(self.lock_room):
            self.mark(&self.locks[i])
        for i in range(self.handover_room):
            self.mark_several(&self.handovers[i])
        for i in range(self.thread_room):
            self.mark(&self.threads[i].ref)
        self.sweep()
        places = self.location_count - min(self.location_count, self.location_rows.dead_rows)
        places = (places + self.lock_room + self.handover_room + self.thread_room) // 8
        self.node_limit = 2 * self.used_nodes + places + self.least_garbage
        self.shelf_limit = 2 * self.shelf_words + places + self.least_garbage
        self.collections += 1

    cdef inline bint mark(self, Ref *cell) noexcept nogil:
        if self.row_of(cell[0]) == VOID:
            cell[0] = 0
            return False
        self.marks[slot_of(cell[0])] = 1
        return True

    cdef void mark_several(self, Ref *cell) noexcept nogil:
        cdef uint64_t place, at = cell[0] >> 32, count = 0
        cdef Ref last = 0
        if slot_of(cell[0]) != SHELF:
            self.mark(cell)
            return
        for place in range(at + 1, at + 1 + (<uint64_t> 1 << self.shelves[at])):
            if self.row_of(self.shelves[place]) != VOID:
                last = self.shelves[place]
                self.marks[slot_of(last)] = 1
                count += 1
        if count < 2:
            self.free_the_shelf(at)
            cell[0] = last

    cdef void sweep(self) noexcept nogil:
        cdef size_t at = self.class_count
        cdef uint32_t c, node, next, kept, size
        while at:
            at -= 1
            c = self.classes[at]
            node = self.infos[c].head
            kept = size = 0
            while node:
                next = self.names[node].next
                if self.marks[node]:
                    self.marks[node] = 0
                    self.names[node].next = kept
                    kept = node
                    size += 1
                else:
                    self.names[node].next = 0
                    self.free_nodes(node)
                node = next
            self.infos[c].head = kept
            self.infos[c].size = size
            if not kept:
                self.strike(c)
                self.free_the_row(c)
        # Nodes of active transactions are marked too, by their thread at least.
        memset(self.marks, 0, self.mark_room)
