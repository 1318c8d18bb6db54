# cython: language_level=3, freethreading_compatible=True
"""Davida and RegionTrack: finds every violation of every transaction, on request with a witness for each.

Paper: Ma, Ashraf, Chan, "Davida: A Decentralization Approach to Localizing Transaction Sequences for Debugging
Transactional Atomicity Violations", 2022. A violation is a dependency e_a -> e_b between two threads where the begin of
e_b's transaction happens before e_a, event by event. With `witnesses` off this is RegionTrack as the paper has it.

Departures, and why:

- One engine for both checkers. The paper gives Davida its trees and takes the test `tx_j.begin -> e_a` from
  RegionTrack's vector clocks. But once M_w(u) holds the *event* at which thread u came to know the active transaction
  of w, and not the transaction of that event, the test is M_w(u) <= e_a, one comparison of event numbers: what a thread
  knows, it keeps knowing. So there are no clocks, and RegionTrack is Davida that does not write down who told whom.
- M is kept by the thread that knows, not by the tree: a dependency u -> v then asks "what does u know that v does
  not", which is an AND of bit masks, in place of a question to every tree (algorithm 1, line 14). What a thread learns
  by one dependency is one entry of its log, however many transactions that are: with n open ones there are up to n * n
  nodes in the trees, and what is kept of a node is one bit.
- An end is not told to those who know the transaction: it is taken out of the set of active ones, which every question
  is put through. Numbers of active transactions are given out in rounds, and between rounds all forget those that ended.
- Trees grow at events: e_p of an edge (line 19) is the stamp in M, so `isIncreasing` is exact. The paper's shortcut by
  transactions (algorithm 2, line 6) is not needed.
- Dependencies: those of section III.B, and fork, join and hand-overs (docs/papers.md, what one violation is). `was
  read` is cleared by a write: the public code forgets that.
- Only regular transactions have trees: nothing violates a unary one.
- A path is walked for the steps of a witness, and to count the transactions on it. Long walks are not counted any more
  once they have come past MOST_WALKED entries (with n open transactions, each of n violations can have a path of n).
- Of witnesses that look the same (region, target of e_b, sites of the two local accesses) the first is kept whole,
  with a count. When `limit` groups are full, the target no longer tells them apart; a witness that finds no group after
  twice as many is counted in `dropped`.

Shadow state (the paper's symbol, who owns it, what holds):

  threads[s]        one for each live thread; s is its slot. Slot 0 is nobody and never knows anything.
    .active         delta_s, as number in `actives` plus 1; 0 outside regions. Then s knows it, since `.begin`.
    .log            what s came to know of others, in the order it came to know it. An active transaction is in one entry
                    at most. An entry of which all have ended is dropped between rounds, or at an end of s's own.
      .event        M_v(s) for each v of the entry: the event at which s came to know v's begin. At most s's last event.
      .who          {v}: a set of active transactions, and of some that have ended.
      .edge         the dependency by which they came: its source was told of each before. Witnesses only.
      .site         where the paths from their roots begin, or SEVERAL. Witnesses only.
    .known          all that is in the log.
    .link           in the list of those whose log is not empty.
    .oldest         at most the least M_v(s) of an active v: its accesses before are void, for all transactions it knew
                    then have ended. Void accesses tell nobody anything, so they are dropped where they are in the way.
                    (An order that is seen for it, or not, would tell as little: a read knows all that the write before
                    it knew, a take all that the posts before it knew, so these are void too.)
    .joined         its slot is used again when it knows nothing: then none of its accesses can say anything of a
                    transaction that is active now, and what the slot's next owner comes to know is later than them all.
    .forked         the fork that made it; looked at once, at its first event.
    .last .shown    its last event, and its last one but for begins and ends of inner regions: e_a of a join.
  alive             {v : v is active}, in `words` words.
  actives[v]        delta of some thread: `begin` makes it, `end` takes it out of `alive`.
    .knowers        how many came to know it, as long as `counting` is on.
    .seen           the hashes of the transaction sequences of its witnesses, so that distinct ones can be counted: a
                    sequence names the violating transaction, so no other one can have the same. At most MOST_SEEN.
  reserved, cursor  numbers are given out in rounds: the cursor goes through those that were not active when the round
                    began, so none is given out twice in a round. When it begins, all that are not active are in no log.
  locations[x]      .write is the last write; .read and the row .reads hold each thread's last read since then, but for
                    void ones. No thread is in both.
  releases[l]       the last release.
  handovers[h]      each thread's last post and last take, but for void ones.

Who owns it: the engine, all of it. Rows, logs and sets that are free wait in lists by size.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from atomsan.trace._hashing cimport NOT_FOUND, Map, found, free_map, put
from atomsan.trace._links cimport Link, put_first, take_out
from atomsan.trace._memory cimport ensure_room, grown, out_of_memory
from atomsan.trace._ops cimport ACQUIRE, BEGIN, END, FORK, INNER, JOIN, NOTHING, POST, READ, RELEASE, TAKE, WRITE
from atomsan.trace._pools cimport NO_SLOT, Blocks, Pool, free_blocks, give_block, give_slot, take_block, take_slot
from atomsan.trace._spans cimport (
    Span,
    drop_words,
    free_span,
    has_any_of,
    is_in,
    keep_only,
    keep_words,
    unite,
    words_meet,
    words_of,
)
from atomsan.trace._sparse cimport Sparse, forget_rows, free_sparse, has_sparse_room
from atomsan.trace._stopping cimport Work, has_toiled, is_long, look_up

import numpy as np

cdef extern from * nogil:
    """
    #include <stdlib.h>
    #define atomsan_prefetch(address) __builtin_prefetch(address, 1)
    #define atomsan_lowest(mask) __builtin_ctzll(mask)

    /* A set of hashes, none of them 0: each is its own key. */
    #define ATOMSAN_HASH_IS_USED(hash) (*(hash) != 0)
    #define ATOMSAN_HASH_OF(hash) (*(hash))
    #define ATOMSAN_HASH_EQUALS(hash, sought) (*(hash) == (sought))
    ATOMSAN_TABLE(atomsan_hashes, uint64_t, uint64_t, ATOMSAN_HASH_IS_USED, ATOMSAN_HASH_OF, ATOMSAN_HASH_EQUALS)
    """
    void atomsan_prefetch(const void *address)
    int atomsan_lowest(uint64_t mask)
    ctypedef struct Hashes "atomsan_hashes":
        uint64_t *entries
        uint64_t used
    bint hashes_have_room "atomsan_hashes_has_room"(Hashes *hashes, uint64_t places)
    uint64_t *find_hash "atomsan_hashes_find"(const Hashes *hashes, uint64_t key, uint64_t hash)

cdef enum:
    # the order of results.Edge
    WRITE_READ, READ_WRITE, WRITE_WRITE, BY_LOCK, BY_FORK, BY_JOIN, BY_HAND_OVER, PROGRAM_ORDER

cdef uint64_t NEVER = <uint64_t> -1
cdef uint64_t SEVERAL = <uint64_t> 1 << 32      # in place of a site

cdef enum:
    NOBODY = 0
    NO_REGION = 0xFFFFFFFF
    FRESH = 0x80000000          # in slot_of: forked, and no event yet
    AHEAD = 16                  # so many events ahead a location is fetched
    CACHED_ROWS = 1024          # so many rows stay in the cache
    MOST_SEEN = 1 << 20         # more sequences of one transaction are not told apart
    MOST_COUNTED = 128          # with more active transactions the edges of trees are not counted any more
    LONG_WALK = 64              # entries on a path
    MOST_WALKED = 1 << 22       # entries on long paths that are passed only to count them
    MOST_STEPS = 1 << 19        # of all witnesses, before targets do not tell them apart any more
    MOST_SITES = 8              # so many sites of one dependency have entries of their own


cdef struct Access:
    uint64_t event
    uint32_t slot               # NOBODY: there is none
    uint32_t site
    uint32_t number             # of its transaction, 0 for a unary one
    uint32_t region

cdef struct Here:               # the event at hand
    Access access
    uint32_t target
    uint8_t op

# Accesses by slot, open addressing. It is no table of `_hashing`, for void accesses are left out when it is made anew,
# and its entries are blocks that the next row takes over: rows come and go with each write.
cdef struct Row:
    Access *entries             # `1 << bits` of them, or NULL
    uint32_t bits
    uint32_t count

cdef struct Location:
    Access write
    Access read                 # one reader since the write: most have no other
    Row reads                   # the others

cdef struct HandOver:
    Row posts
    Row takes
    uint64_t last               # post

cdef struct TreeEdge:
    Access source
    Access sink
    uint32_t source_target
    uint32_t sink_target
    uint8_t source_op
    uint8_t sink_op
    uint8_t kind

cdef struct Learned:
    uint64_t event
    Span who
    TreeEdge edge
    uint64_t site

cdef struct Thread:
    uint32_t begun              # transactions so far
    uint32_t active
    uint64_t oldest
    uint64_t begin              # of the active one
    Learned *log
    uint32_t log_count
    uint32_t log_bits           # there is room for `1 << log_bits` entries, if `log` is not NULL
    Span known
    uint64_t last
    uint64_t shown
    Access forked
    uint32_t symbol
    uint32_t number             # of the active one, or 0
    uint32_t region             # of the active one, or NO_REGION
    uint32_t shown_target       # of `shown`, if that is in an earlier batch
    uint32_t shown_site
    uint32_t shown_region
    Link link
    uint8_t shown_op
    uint8_t joined

cdef struct Active:
    uint32_t slot
    uint32_t number
    uint32_t region
    uint32_t knowers
    Hashes seen
    uint8_t violating

cdef struct WitnessStep:
    uint64_t event
    uint32_t thread
    uint32_t target
    uint32_t site
    uint32_t number
    uint32_t region
    uint8_t op
    uint8_t edge

cdef struct Key:
    uint32_t region
    uint32_t target
    uint32_t op
    uint32_t first_site
    uint32_t last_site

cdef struct Group:
    Key key
    uint32_t same_fine          # another group whose key has the same hash, or NOT_FOUND
    uint32_t same_coarse        # the same, by its hash without the target
    uint64_t count
    uint64_t start              # of its steps
    uint32_t length
    uint32_t thread
    uint32_t number


cdef inline uint64_t mixed(uint64_t x) noexcept nogil:
    x = (x ^ (x >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t> 0x94D049BB133111EB
    return x ^ (x >> 31)


# ---- rows


cdef inline Access *probe(Row *row, uint32_t slot) noexcept nogil:
    """The slot's entry, or the empty one where it belongs. A row is never full."""
    cdef uint32_t last = (<uint32_t> 1 << row.bits) - 1
    cdef uint32_t i = place_of(slot, row.bits)
    while row.entries[i].slot != slot and row.entries[i].slot != NOBODY:
        i = (i + 1) & last
    return &row.entries[i]


cdef inline uint32_t place_of(uint32_t slot, uint32_t bits) noexcept nogil:
    return (slot * <uint32_t> 0x9E3779B1) >> (32 - bits)


cdef inline uint32_t most(uint32_t bits) noexcept nogil:
    cdef uint32_t size = <uint32_t> 1 << bits
    return size - (size + 7) // 8


@cython.final
cdef class ViolationEngine:
    """Feed it the flattened events of a well-formed trace."""

    cdef Thread *threads
    cdef Pool thread_pool
    cdef uint32_t *slot_of              # by thread: its slot; 0 if it has none (yet, or any more)
    cdef size_t symbol_capacity

    cdef Active *actives                # 64 * words
    cdef uint64_t *alive
    cdef uint64_t *reserved             # what was alive when this round began
    cdef uint32_t words
    cdef uint32_t alive_count
    cdef uint32_t cursor
    cdef uint32_t learners              # the head of the list of threads whose log is not empty
    cdef uint64_t *news                 # scratch: a set, as words

    cdef Location *locations            # those of `location_rows`: each is one cache line
    cdef Sparse location_rows
    cdef Access *releases
    cdef size_t lock_capacity
    cdef HandOver *handovers
    cdef size_t handover_capacity
    cdef Blocks blocks                  # of the entries of rows
    cdef Blocks logs
    cdef Blocks sets
    cdef uint64_t rows                  # that have entries

    cdef bint witnessing
    cdef bint stop_at_first
    cdef bint stopped
    cdef Work work
    cdef uint32_t limit
    cdef size_t pair_limit
    cdef uint64_t batch_first           # of the batch at hand, for events that `Thread.shown` points to
    cdef const uint8_t *batch_op
    cdef const uint32_t *batch_target
    cdef const uint32_t *batch_site

    cdef uint32_t *found                # violating transactions: thread, number
    cdef size_t found_capacity
    cdef size_t found_count
    cdef uint64_t *pair                 # e_a, e_b of the first violations
    cdef size_t pair_capacity
    cdef size_t pair_count

    cdef Group *group
    cdef size_t group_capacity
    cdef uint32_t group_count
    cdef WitnessStep *steps             # of all groups; after `step_count` those of the witness at hand
    cdef size_t step_capacity
    cdef size_t step_count
    cdef Map fine                       # hash of a key -> a group
    cdef Map coarse                     # hash of a key without target -> a group
    cdef const Learned **path           # scratch: entries from e_a's thread to the root's
    cdef size_t path_capacity

    cdef readonly uint64_t violations
    cdef readonly uint64_t first_event  # e_b of the first violation
    cdef readonly uint64_t dependencies # those looked at; where void accesses were dropped there are more or fewer
    cdef readonly uint64_t kept         # of these: in some tree
    cdef readonly uint64_t visited      # transactions, in walks from e_a to the root
    cdef readonly uint64_t distinct     # sequences of transactions
    cdef uint64_t walked                # entries on long walks
    cdef bint counting                  # the edges of trees: see MOST_COUNTED
    cdef readonly uint64_t forest       # edges of all trees now
    cdef readonly uint64_t largest_forest
    cdef readonly uint64_t dropped      # witnesses that found no group

    def __cinit__(self, *, bint witnesses, bint first=False, uint32_t limit=10_000, size_t pairs=0):
        """`first`: stop at the first event that violates. `pairs`: remember (e_a, e_b) of so many violations."""
        self.witnessing = witnesses
        self.stop_at_first = first
        self.limit = min(limit, 1 << 24)
        self.pair_limit = pairs
        self.counting = witnesses
        self.widen()
        self.thread_pool.used = NOBODY + 1
        ensure_room(<void **> &self.threads, &self.thread_pool.room, self.thread_pool.used, sizeof(Thread))

    def __dealloc__(self):
        cdef size_t i
        for i in range(64 * self.words):
            free(self.actives[i].seen.entries)
        free_blocks(&self.blocks)
        free_blocks(&self.logs)
        free_blocks(&self.sets)
        free_map(&self.fine)
        free_map(&self.coarse)
        free(self.threads)
        free(self.slot_of)
        free(self.actives)
        free(self.alive)
        free(self.reserved)
        free(self.news)
        free_sparse(&self.location_rows)
        free(self.releases)
        free(self.handovers)
        free(self.found)
        free(self.pair)
        free(self.group)
        free(self.steps)
        free(self.path)

    def grow(self, size_t threads, size_t locations, size_t locks, size_t handovers):
        """Make room for so many of each."""
        ensure_room(<void **> &self.slot_of, &self.symbol_capacity, threads, sizeof(uint32_t))
        ensure_room(<void **> &self.releases, &self.lock_capacity, locks, sizeof(Access))
        ensure_room(<void **> &self.handovers, &self.handover_capacity, handovers, sizeof(HandOver))
        if not has_sparse_room(&self.location_rows, locations, sizeof(Location)):
            out_of_memory()
        self.locations = <Location *> self.location_rows.rows

    def forget(self, const uint32_t[::1] dead):
        """No event is going to access these locations, which were never forgotten before."""
        cdef Py_ssize_t i
        cdef Row *reads
        for i in range(dead.shape[0]):
            if dead[i] < self.location_rows.room:
                reads = &self.locations[dead[i]].reads
                if reads.entries != NULL:
                    self.give_back(reads)
        if dead.shape[0] and not forget_rows(&self.location_rows, &dead[0], dead.shape[0], sizeof(Location)):
            out_of_memory()

    def feed(
        self,
        uint64_t first,
        const uint32_t[::1] thread,
        const uint8_t[::1] op,
        const uint32_t[::1] target,
        const uint32_t[::1] site,
    ):
        """The events `first`, `first` + 1, ... True: the first violation was found, and that was all to find."""
        cdef size_t count = op.shape[0]
        if count and not self.stopped:
            self.batch_first = first
            self.batch_op = &op[0]
            self.batch_target = &target[0]
            self.batch_site = &site[0]
            with nogil:
                self.run(&thread[0], count)
                if self.witnessing:
                    self.keep_shown()
        return bool(self.stopped)

    cdef int run(self, const uint32_t *thread, size_t count) except -1 nogil:
        cdef const uint8_t *op = self.batch_op
        cdef const uint32_t *target = self.batch_target
        cdef const uint32_t *site = self.batch_site
        cdef size_t i
        cdef uint32_t s
        cdef Thread *t
        cdef Location *x
        cdef Here here
        for i in range(count):
            if is_long(&self.work, i):
                look_up()
            if i + AHEAD < count:
                # whatever the target is: to fetch a wrong address does no harm, to mispredict a branch does
                atomsan_prefetch(&self.locations[target[i + AHEAD]])
                if self.rows > CACHED_ROWS and op[i + AHEAD // 2] <= WRITE:
                    x = &self.locations[target[i + AHEAD // 2]]
                    if x.reads.entries != NULL:
                        s = self.slot_of[thread[i + AHEAD // 2]]
                        atomsan_prefetch(&x.reads.entries[place_of(s, x.reads.bits)])
            here.op = op[i]
            if here.op == NOTHING:
                continue
            s = self.slot_of[thread[i]]
            if s == NOBODY or s & FRESH:
                self.arrive(thread[i], i, &here)
            else:
                t = &self.threads[s]
                t.last = self.batch_first + i
                if here.op != INNER:
                    t.shown = t.last
                    here.access.event = t.last
                    here.access.slot = s
                    here.access.site = site[i]
                    here.access.number = t.number
                    here.access.region = t.region
                    here.target = target[i]
                    self.step(&here)
            if self.stopped:
                break
        return 0

    cdef int arrive(self, uint32_t symbol, size_t i, Here *here) except -1 nogil:
        """The first event of a thread."""
        cdef uint32_t s = self.slot_of[symbol] & ~<uint32_t> FRESH
        if s == NOBODY:
            s = self.new_slot(symbol)
        self.slot_of[symbol] = s
        self.threads[s].last = self.threads[s].shown = self.batch_first + i
        here.access = Access(self.batch_first + i, s, self.batch_site[i], 0, NO_REGION)
        here.target = self.batch_target[i]
        if here.op != INNER:
            self.step(here)
        if self.threads[s].forked.slot != NOBODY:
            self.depend(&self.threads[s].forked, BY_FORK, here)
        return 0

    cdef inline int step(self, Here *here) except -1 nogil:
        cdef Access *release
        if here.op == READ:
            self.read(&self.locations[here.target], here)
        elif here.op == WRITE:
            self.write(&self.locations[here.target], here)
        elif here.op == ACQUIRE:
            release = &self.releases[here.target]
            if release.slot != NOBODY:
                self.depend(release, BY_LOCK, here)
        elif here.op == RELEASE:
            self.releases[here.target] = here.access
        elif here.op == BEGIN:
            self.begin(here)
        elif here.op == END:
            self.end(here.access.slot)
        elif here.op == FORK:
            self.fork(here)
        elif here.op == JOIN:
            self.join(here)
        elif here.op == POST:
            self.post(&self.handovers[here.target], here)
        elif here.op == TAKE:
            self.take(&self.handovers[here.target], here)
        return 0

    # ---- dependencies: which e_a are there for this e_b

    cdef inline int read(self, Location *x, const Here *here) except -1 nogil:
        """The last write, if this is the thread's first read since."""
        cdef Access *mine = &x.read
        if mine.slot != here.access.slot and mine.slot != NOBODY:
            mine = self.reader(x, here.access.slot)
        if mine.slot != here.access.slot and x.write.slot != NOBODY:
            self.depend(&x.write, WRITE_READ, here)
        mine[0] = here.access
        return 0

    cdef inline Access *reader(self, Location *x, uint32_t slot) except NULL nogil:
        """Where this reader's last read belongs, when another one is in `x.read`: there too, if that one is void."""
        cdef Access *mine
        if x.reads.entries != NULL:
            mine = probe(&x.reads, slot)
            if mine.slot == slot:
                return mine
        return &x.read if self.void(&x.read) else self.place(&x.reads, slot)

    cdef inline int write(self, Location *x, const Here *here) except -1 nogil:
        """Every other thread's last read since the last write; that write, if nobody read."""
        if x.read.slot != NOBODY:
            self.depend(&x.read, READ_WRITE, here)
            x.read.slot = NOBODY
            if x.reads.entries != NULL:
                self.depend_on_row(&x.reads, READ_WRITE, here, 0)
                self.give_back(&x.reads)
        elif x.write.slot != NOBODY:
            self.depend(&x.write, WRITE_WRITE, here)
        x.write = here.access
        return 0

    cdef int fork(self, const Here *here) except -1 nogil:
        cdef uint32_t s
        if self.slot_of[here.target] == NOBODY:
            s = self.new_slot(here.target)
            self.threads[s].forked = here.access
            self.slot_of[here.target] = s | FRESH
        return 0

    cdef int join(self, const Here *here) except -1 nogil:
        """The child's last event, if it had any."""
        cdef uint32_t s = self.slot_of[here.target]
        cdef Access last
        if s == NOBODY:
            return 0
        if s & FRESH:
            s &= ~<uint32_t> FRESH
        else:
            last.event = self.threads[s].last
            last.slot = s
            self.depend(&last, BY_JOIN, here)
        self.threads[s].joined = True
        if not self.threads[s].active and not self.knows_others(&self.threads[s]):
            if self.threads[s].log_count:
                self.clear_log(s)
            self.drop_slot(s)
        return 0

    cdef int post(self, HandOver *h, const Here *here) except -1 nogil:
        h.last = here.access.event
        self.place(&h.posts, here.access.slot)[0] = here.access
        return 0

    cdef int take(self, HandOver *h, const Here *here) except -1 nogil:
        """Every other thread's last post, if this thread has not taken since."""
        cdef Access *mine = self.place(&h.takes, here.access.slot)
        cdef uint64_t taken = mine.event if mine.slot == here.access.slot else 0
        if h.posts.entries != NULL and h.last >= taken:
            self.depend_on_row(&h.posts, BY_HAND_OVER, here, taken)
        mine[0] = here.access
        return 0

    cdef int depend_on_row(self, Row *row, uint8_t kind, const Here *here, uint64_t since) except -1 nogil:
        cdef Access *entry = row.entries
        cdef uint32_t i
        for i in range(<uint32_t> 1 << row.bits):
            if entry[i].slot != NOBODY and entry[i].event >= since:
                self.depend(&entry[i], kind, here)
        return 0

    cdef inline int depend(self, const Access *a, uint8_t kind, const Here *here) except -1 nogil:
        """e_a -> e_b, if they are of two threads."""
        if a.slot != here.access.slot:
            self.dependencies += 1
            if not self.void(a):
                self.tell(a, kind, here)
        return 0

    # ---- who knows which active transaction

    cdef inline bint void(self, const Access *a) noexcept nogil:
        """All transactions that its thread knew at that event have ended: it can tell nobody anything."""
        return a.event < self.threads[a.slot].oldest

    cdef int tell(self, const Access *a, uint8_t kind, const Here *here) except -1 nogil:
        """Thread v of e_b comes to know what thread u of e_a knew at e_a; a violation if that is v's own begin."""
        cdef Thread *u = &self.threads[a.slot]
        cdef Thread *v = &self.threads[here.access.slot]
        cdef uint32_t i, before = v.log_count
        cdef const Learned *entry
        if has_toiled(&self.work):
            look_up()
        if u.log_count and self.may_have_news(u, v):
            for i in range(u.log_count):
                if u.log[i].event > a.event:
                    break
                self.learn(v, &u.log[i], before, a, kind, here)
        if u.active and u.begin <= a.event and not is_in(&v.known, u.active - 1):
            self.learn_of(v, u.active - 1, before, a, kind, here)
        self.kept += v.log_count > before
        if v.active and u.log_count and is_in(&u.known, v.active - 1):
            entry = entry_of(u, v.active - 1)
            if entry.event <= a.event:
                self.violation(v.active - 1, entry, a, kind, here)
        return 0

    cdef inline bint may_have_news(self, const Thread *u, const Thread *v) noexcept nogil:
        """Quick: False if u knows of no active transaction that v does not know of."""
        cdef const uint64_t *alive = self.alive + u.known.first
        if u.known.count > 1:
            return words_meet(u.known.many, alive, u.known.count)
        if u.known.first == v.known.first and v.known.count == 1:
            return (u.known.one & alive[0] & ~v.known.one) != 0
        return (u.known.one & alive[0]) != 0

    cdef int learn(
        self, Thread *v, const Learned *theirs, uint32_t before, const Access *a, uint8_t kind, const Here *here
    ) except -1 nogil:
        """All of an entry of u's log that v does not know. `before`: the entries of v's own before this dependency."""
        cdef uint64_t *news = self.news
        cdef uint32_t first = theirs.who.first, count = theirs.who.count, own, low, high
        self.work.done += 8 + count
        memcpy(news, words_of(&theirs.who), 8 * <size_t> count)
        if not keep_words(news, self.alive + first, count):
            return 0
        low = max(first, v.known.first)
        high = min(first + count, v.known.first + v.known.count)
        if low < high:
            drop_words(news + (low - first), words_of(&v.known) + (low - v.known.first), high - low)
        own = v.active - 1
        if v.active and (own >> 6) - first < count:
            news[(own >> 6) - first] &= ~(<uint64_t> 1 << (own & 63))
        while count and news[count - 1] == 0:
            count -= 1
        while count and news[0] == 0:
            news += 1
            first += 1
            count -= 1
        if count:
            self.add(v, first, count, news, theirs.site, before, a, kind, here)
        return 0

    cdef int learn_of(
        self, Thread *v, uint32_t active, uint32_t before, const Access *a, uint8_t kind, const Here *here
    ) except -1 nogil:
        """Of the active transaction of u itself: its tree gets a path that begins here."""
        cdef uint64_t bit = <uint64_t> 1 << (active & 63)
        cdef TreeEdge edge
        cdef uint32_t site = a.site
        if kind == BY_JOIN and self.witnessing:
            self.describe(&edge, a, kind, here)
            site = edge.source.site
        return self.add(v, active >> 6, 1, &bit, site, before, a, kind, here)

    cdef int add(
        self, Thread *v, uint32_t first, uint32_t count, const uint64_t *news, uint64_t site, uint32_t before,
        const Access *a, uint8_t kind, const Here *here,
    ) except -1 nogil:
        """To v's log: one entry for each site that paths begin at, of this dependency. What is left is of several."""
        cdef uint32_t i = before
        cdef Learned *entry
        while i < v.log_count and self.witnessing and v.log[i].site != site:
            i += 1
            if i == before + MOST_SITES:
                site = SEVERAL
        if i == v.log_count:
            entry = self.new_entry(here.access.slot, here.access.event)
            entry.site = site
            if self.witnessing:
                self.describe(&entry.edge, a, kind, here)
        entry = &v.log[i]
        unite(&entry.who, &self.sets, first, count, news)
        unite(&v.known, &self.sets, first, count, news)
        if self.counting:
            self.count_edges(first, count, news)
        return 0

    cdef Learned *new_entry(self, uint32_t s, uint64_t event) except NULL nogil:
        cdef Thread *t = &self.threads[s]
        cdef void *log
        if t.log_count == 0:
            put_first(&self.threads[0].link, sizeof(Thread), &self.learners, s)
            t.oldest = min(t.oldest, event)
        if t.log == NULL or t.log_count == <uint32_t> 1 << t.log_bits:
            log = take_block(&self.logs, t.log_bits + (t.log != NULL), sizeof(Learned))
            if log == NULL:
                out_of_memory()
            if t.log != NULL:
                memcpy(log, t.log, t.log_count * sizeof(Learned))
                give_block(&self.logs, t.log, t.log_bits)
                t.log_bits += 1
            t.log = <Learned *> log
        t.log_count += 1
        memset(&t.log[t.log_count - 1], 0, sizeof(Learned))
        t.log[t.log_count - 1].event = event
        return &t.log[t.log_count - 1]

    cdef int clear_log(self, uint32_t s) except -1 nogil:
        cdef Thread *t = &self.threads[s]
        cdef uint32_t i
        for i in range(t.log_count):
            free_span(&t.log[i].who, &self.sets)
        free_span(&t.known, &self.sets)
        give_block(&self.logs, t.log, t.log_bits)
        take_out(&self.threads[0].link, sizeof(Thread), &self.learners, s)
        t.log = NULL
        t.log_count = t.log_bits = 0
        return 0

    cdef inline bint knows_others(self, const Thread *t) noexcept nogil:
        """Whether it knows an active transaction of another thread."""
        return t.log_count != 0 and has_any_of(&t.known, self.alive)

    cdef int count_edges(self, uint32_t first, uint32_t count, const uint64_t *news) noexcept nogil:
        cdef uint32_t k
        cdef uint64_t left
        for k in range(count):
            left = news[k]
            while left:
                self.actives[64 * (first + k) + atomsan_lowest(left)].knowers += 1
                self.forest += 1
                left &= left - 1
        self.largest_forest = max(self.largest_forest, self.forest)
        return 0

    # ---- active transactions

    cdef int begin(self, Here *here) except -1 nogil:
        cdef uint32_t a = self.next_active()
        cdef Active *active = &self.actives[a]
        cdef Thread *t = &self.threads[here.access.slot]
        t.begun += 1
        t.active = a + 1
        t.begin = here.access.event
        t.oldest = min(t.oldest, t.begin)
        t.number = t.begun
        t.region = here.target
        active.slot = here.access.slot
        active.number = t.number
        active.region = t.region
        active.violating = False
        here.access.number = t.number
        here.access.region = t.region
        return 0

    cdef inline uint32_t next_active(self) except? 0xFFFFFFFF nogil:
        """The next number of this round."""
        cdef uint32_t a
        cdef uint64_t free
        while True:
            while self.cursor < 64 * self.words:
                free = ~self.reserved[self.cursor >> 6] >> (self.cursor & 63)
                if free:
                    a = self.cursor + atomsan_lowest(free)
                    self.cursor = a + 1
                    self.alive[a >> 6] |= <uint64_t> 1 << (a & 63)
                    self.alive_count += 1
                    if self.counting and self.alive_count > MOST_COUNTED:
                        self.counting = False
                        self.forest = 0
                    return a
                self.cursor = (self.cursor | 63) + 1
            self.forget_ended()

    cdef int forget_ended(self) except -1 nogil:
        """Begin a round: all forget the transactions that have ended. A round has as many numbers as are active."""
        cdef uint32_t s = self.learners, next
        while s:
            next = self.threads[s].link.after
            self.tidy_log(s)
            s = next
        if 2 * self.alive_count > 64 * self.words:
            self.widen()
        memcpy(self.reserved, self.alive, self.words * sizeof(uint64_t))
        self.cursor = 0
        return 0

    cdef int widen(self) except -1 nogil:
        """Twice as many numbers; at first, 64."""
        cdef size_t old = self.words, new = max(2 * old, 1)
        if new > <size_t> 1 << 25:      # a number and 1 must fit into 32 bits
            out_of_memory()
        self.alive = <uint64_t *> grown(self.alive, old * sizeof(uint64_t), new * sizeof(uint64_t))
        self.reserved = <uint64_t *> grown(self.reserved, old * sizeof(uint64_t), new * sizeof(uint64_t))
        self.news = <uint64_t *> grown(self.news, old * sizeof(uint64_t), new * sizeof(uint64_t))
        self.actives = <Active *> grown(self.actives, 64 * old * sizeof(Active), 64 * new * sizeof(Active))
        self.words = <uint32_t> new
        return 0

    cdef int tidy_log(self, uint32_t s) except -1 nogil:
        cdef Thread *t = &self.threads[s]
        cdef uint32_t i, left = 0
        if not self.knows_others(t):
            self.clear_log(s)
        else:
            keep_only(&t.known, self.alive)
            for i in range(t.log_count):
                if keep_only(&t.log[i].who, self.alive):
                    t.log[left] = t.log[i]
                    left += 1
                else:
                    free_span(&t.log[i].who, &self.sets)
            t.log_count = left
        self.set_oldest(t)
        if t.joined and not t.active and not t.log_count:
            self.drop_slot(s)
        return 0

    cdef inline void set_oldest(self, Thread *t) noexcept nogil:
        t.oldest = t.begin if t.active else NEVER
        if t.log_count:
            t.oldest = min(t.oldest, t.log[0].event)

    cdef int end(self, uint32_t s) except -1 nogil:
        """Nobody can violate it any more: it is taken out of the active ones, and with it its tree."""
        cdef Thread *t = &self.threads[s]
        cdef uint32_t a = t.active - 1
        if t.active == 0:               # only where the trace is malformed
            return 0
        t.active = 0
        t.number = 0
        t.shown_region = t.region
        t.region = NO_REGION
        self.alive[a >> 6] &= ~(<uint64_t> 1 << (a & 63))
        self.alive_count -= 1
        if self.counting:
            self.forest -= self.actives[a].knowers
        free(self.actives[a].seen.entries)
        memset(&self.actives[a], 0, sizeof(Active))
        if t.log_count and not self.knows_others(t):
            self.clear_log(s)
        self.set_oldest(t)
        if t.joined and t.log_count == 0:
            self.drop_slot(s)
        return 0

    # ---- violations and their witnesses

    cdef int violation(
        self, uint32_t own, const Learned *entry, const Access *a, uint8_t kind, const Here *here
    ) except -1 nogil:
        """e_a's thread came to know of `own`, the transaction of e_b, by this entry."""
        cdef Active *root = &self.actives[own]
        if self.violations == 0:
            self.first_event = here.access.event
        self.violations += 1
        self.stopped = self.stop_at_first
        if not root.violating:
            root.violating = True
            ensure_room(<void **> &self.found, &self.found_capacity, 2 * self.found_count + 2, sizeof(uint32_t))
            self.found[2 * self.found_count] = self.threads[root.slot].symbol
            self.found[2 * self.found_count + 1] = root.number
            self.found_count += 1
        if self.pair_count < self.pair_limit:
            ensure_room(<void **> &self.pair, &self.pair_capacity, 2 * self.pair_count + 2, sizeof(uint64_t))
            self.pair[2 * self.pair_count] = a.event
            self.pair[2 * self.pair_count + 1] = here.access.event
            self.pair_count += 1
        if self.witnessing:
            self.witness(own, entry, a, kind, here)
        return 0

    cdef int witness(
        self, uint32_t own, const Learned *entry, const Access *a, uint8_t kind, const Here *here
    ) except -1 nogil:
        """Walk from e_a up to the root; count the sequence of transactions; keep the witness if it is a new sort."""
        cdef Active *root = &self.actives[own]
        cdef TreeEdge last
        cdef uint32_t group, length
        cdef Key key
        cdef bint is_kept
        self.describe(&last, a, kind, here)
        key.region = root.region
        key.target = here.target
        key.op = here.op
        key.first_site = <uint32_t> entry.site if entry.site != SEVERAL else self.first_site(own, entry)
        key.last_site = here.access.site
        group = self.group_of(&key)
        if group == 0:
            self.dropped += 1
        else:
            self.group[group - 1].count += 1
        is_kept = group != 0 and self.group[group - 1].count == 1
        length = self.walk(own, entry, is_kept)
        if length:
            self.count_sequence(root, &last, length)
            if is_kept:
                self.keep_steps(&self.group[group - 1], root, &last, length)
        return 0

    cdef uint32_t first_site(self, uint32_t own, const Learned *entry) except? 0xFFFFFFFE nogil:
        cdef uint32_t length = self.walk(own, entry, True)
        return self.path[length - 1].edge.source.site

    cdef uint32_t walk(self, uint32_t own, const Learned *entry, bint is_kept) except? 0xFFFFFFFF nogil:
        """The length of the path to the root of `own`; 0: it is long, nobody needs it, and enough was counted."""
        cdef uint32_t length = 0, root = self.actives[own].slot
        while True:
            ensure_room(<void **> &self.path, &self.path_capacity, length + 1, sizeof(Learned *))
            self.path[length] = entry
            length += 1
            if entry.edge.source.slot == root:
                break
            if length == LONG_WALK and not is_kept and self.walked >= MOST_WALKED:
                return 0
            entry = entry_of(&self.threads[entry.edge.source.slot], own)
        self.work.done += 8 * length
        if length > LONG_WALK:
            self.walked += length
        return length

    cdef int describe(self, TreeEdge *edge, const Access *a, uint8_t kind, const Here *here) except -1 nogil:
        cdef Thread *u = &self.threads[a.slot]
        cdef uint64_t i
        edge.kind = kind
        edge.source = a[0]
        edge.sink = here.access
        edge.sink_op = here.op
        edge.sink_target = edge.source_target = here.target
        if kind == WRITE_READ or kind == WRITE_WRITE:
            edge.source_op = WRITE
        elif kind == READ_WRITE:
            edge.source_op = READ
        elif kind == BY_LOCK:
            edge.source_op = RELEASE
        elif kind == BY_HAND_OVER:
            edge.source_op = POST
        elif kind == BY_FORK:
            edge.source_op = FORK
            edge.source_target = self.threads[here.access.slot].symbol
        else:
            # the child's last event, but for inner begins and ends, whose operation we do not get to see
            edge.source.event = u.shown
            if u.shown >= self.batch_first:
                i = u.shown - self.batch_first
                edge.source_op = self.batch_op[i]
                edge.source_target = self.batch_target[i]
                edge.source.site = self.batch_site[i]
            else:
                edge.source_op = u.shown_op
                edge.source_target = u.shown_target
                edge.source.site = u.shown_site
            edge.source.number = u.begun if edge.source_op == END else u.number
            edge.source.region = u.shown_region if edge.source_op == END else u.region
        return 0

    cdef int keep_shown(self) except -1 nogil:
        """Keep the threads' last events for `describe`, when this batch is gone."""
        cdef uint32_t s
        cdef uint64_t i
        for s in range(1, self.thread_pool.used):
            if self.threads[s].shown >= self.batch_first:
                i = self.threads[s].shown - self.batch_first
                self.threads[s].shown_op = self.batch_op[i]
                self.threads[s].shown_target = self.batch_target[i]
                self.threads[s].shown_site = self.batch_site[i]
        return 0

    cdef int count_sequence(self, Active *root, const TreeEdge *last, uint32_t length) except -1 nogil:
        """The transactions on the way, each once in a row; the root's both first and last, as in the paper."""
        cdef uint64_t hashed = 0, here = 0
        cdef uint32_t visited = 2, k
        cdef const TreeEdge *edge
        cdef uint64_t transaction = 0
        for k in range(length, 0, -1):
            edge = &self.path[k - 1].edge
            here = identity(&edge.source)
            if k < length and here != transaction:
                visited += 1
                hashed = mixed(hashed ^ here)
            transaction = identity(&edge.sink)
            visited += 1
            hashed = mixed(hashed ^ transaction)
        here = identity(&last.source)
        if here != transaction:
            visited += 1
            hashed = mixed(hashed ^ here)
        self.visited += visited
        self.distinct += self.is_new_sequence(root, hashed | (hashed == 0))
        return 0

    cdef int is_new_sequence(self, Active *root, uint64_t hashed) except -1 nogil:
        cdef uint64_t *place
        if not hashes_have_room(&root.seen, 2):
            out_of_memory()
        place = find_hash(&root.seen, hashed, hashed)
        if place[0] or root.seen.used >= MOST_SEEN:
            return 0
        place[0] = hashed
        root.seen.used += 1
        return 1

    cdef uint32_t group_of(self, const Key *key) except? 0xFFFFFFFF nogil:
        """The group of a witness, plus 1; 0 if there is no room for one more."""
        cdef uint64_t coarse_hash = mixed(mixed(<uint64_t> key.first_site << 32 | key.last_site) ^ key.region)
        cdef uint64_t fine_hash = mixed(coarse_hash ^ (<uint64_t> key.op << 32 | key.target))
        cdef uint32_t fine = found(&self.fine, fine_hash), coarse, g
        cdef bint is_full
        while fine != NOT_FOUND and not is_same(&self.group[fine].key, key):
            fine = self.group[fine].same_fine
        if fine != NOT_FOUND:
            return fine + 1
        coarse = found(&self.coarse, coarse_hash)
        while coarse != NOT_FOUND and not is_like(&self.group[coarse].key, key):
            coarse = self.group[coarse].same_coarse
        is_full = self.group_count >= self.limit or self.step_count >= MOST_STEPS
        if is_full and (coarse != NOT_FOUND or self.group_count >= 2 * self.limit or self.step_count >= 2 * MOST_STEPS):
            return coarse + 1
        g = self.group_count
        ensure_room(<void **> &self.group, &self.group_capacity, g + 1, sizeof(Group))
        self.group[g].key = key[0]
        self.group[g].same_fine = found(&self.fine, fine_hash)
        self.group[g].same_coarse = found(&self.coarse, coarse_hash)
        self.group_count += 1
        if not put(&self.fine, fine_hash, g) or (coarse == NOT_FOUND and not put(&self.coarse, coarse_hash, g)):
            out_of_memory()
        return g + 1

    cdef int keep_steps(self, Group *group, Active *root, const TreeEdge *last, uint32_t length) except -1 nogil:
        cdef uint32_t k
        cdef const TreeEdge *edge
        group.thread = self.threads[root.slot].symbol
        group.number = root.number
        group.start = self.step_count
        ensure_room(<void **> &self.steps, &self.step_capacity, self.step_count + 2 * length + 3, sizeof(WitnessStep))
        for k in range(length, 0, -1):
            edge = &self.path[k - 1].edge
            self.add_source(group, edge)
            self.add_step(&edge.sink, edge.sink_op, edge.sink_target, PROGRAM_ORDER)
        self.add_source(group, last)
        self.add_step(&last.sink, last.sink_op, last.sink_target, PROGRAM_ORDER)
        group.length = <uint32_t> (self.step_count - group.start)
        return 0

    cdef void add_source(self, const Group *group, const TreeEdge *edge) noexcept nogil:
        """The sink of one edge can be the source of the next: one step."""
        if self.step_count > group.start and self.steps[self.step_count - 1].event == edge.source.event:
            self.step_count -= 1
        self.add_step(&edge.source, edge.source_op, edge.source_target, edge.kind)

    cdef void add_step(self, const Access *a, uint8_t op, uint32_t target, uint8_t kind) noexcept nogil:
        cdef WitnessStep *step = &self.steps[self.step_count]
        step.event = a.event
        step.thread = self.threads[a.slot].symbol
        step.target = target
        step.site = a.site
        step.number = a.number
        step.region = a.region
        step.op = op
        step.edge = kind
        self.step_count += 1

    # ---- slots and rows

    cdef uint32_t new_slot(self, uint32_t symbol) except 0 nogil:
        cdef uint32_t s = take_slot(&self.thread_pool, <void **> &self.threads, sizeof(Thread))
        if s == NO_SLOT:
            out_of_memory()
        memset(&self.threads[s], 0, sizeof(Thread))
        self.threads[s].symbol = symbol
        self.threads[s].region = NO_REGION
        self.threads[s].oldest = NEVER
        return s

    cdef inline void drop_slot(self, uint32_t s) noexcept nogil:
        self.slot_of[self.threads[s].symbol] = NOBODY
        give_slot(&self.thread_pool, self.threads, sizeof(Thread), s)

    cdef Access *place(self, Row *row, uint32_t slot) except NULL nogil:
        """The slot's entry in the row: its own, or an empty one that is now counted as its own."""
        cdef Access *entry
        if row.entries == NULL:
            row.entries = self.new_entries(2)
            row.bits = 2
            row.count = 0
            self.rows += 1
        entry = probe(row, slot)
        if entry.slot == NOBODY:
            if row.count == most(row.bits):
                self.rebuild(row)
                entry = probe(row, slot)
            row.count += 1
        return entry

    cdef Access *new_entries(self, uint32_t bits) except NULL nogil:
        cdef void *entries = take_block(&self.blocks, bits, sizeof(Access))
        if entries == NULL:
            out_of_memory()
        return <Access *> entries

    cdef int rebuild(self, Row *row) except -1 nogil:
        """Leave out void entries, in twice the room that the rest needs: rows follow live readers."""
        cdef Row new
        cdef uint32_t i
        new.count = 0
        new.bits = 2
        for i in range(<uint32_t> 1 << row.bits):
            if row.entries[i].slot != NOBODY and not self.void(&row.entries[i]):
                new.count += 1
        while most(new.bits) < 2 * new.count and new.bits <= row.bits:
            new.bits += 1
        new.entries = self.new_entries(new.bits)
        for i in range(<uint32_t> 1 << row.bits):
            if row.entries[i].slot != NOBODY and not self.void(&row.entries[i]):
                probe(&new, row.entries[i].slot)[0] = row.entries[i]
        self.give_back(row)
        self.rows += 1
        row[0] = new
        return 0

    cdef inline void give_back(self, Row *row) noexcept nogil:
        give_block(&self.blocks, row.entries, row.bits)
        row.entries = NULL
        self.rows -= 1

    # ---- answers

    @property
    def transactions(self):
        """(thread, number) of each violating transaction, in the order in which they were found."""
        return self.transactions_from(0)

    def transactions_from(self, size_t start):
        """The same, from place `start` on."""
        cdef size_t count = self.found_count - start if start < self.found_count else 0
        found = np.empty((count, 2), np.uint32)
        cdef uint32_t[:, ::1] out = found
        if count:
            memcpy(&out[0, 0], self.found + 2 * start, 2 * count * sizeof(uint32_t))
        return found

    @property
    def pairs(self):
        """(e_a, e_b) of the first violations."""
        return [(self.pair[2 * i], self.pair[2 * i + 1]) for i in range(self.pair_count)]

    @property
    def groups(self):
        """(thread, number, count, steps) of each group of witnesses. A step ends with the number of its edge."""
        return self.groups_from(0)

    def groups_from(self, size_t start):
        """The same, from place `start` on. Groups are added at the end, and keep their steps."""
        cdef Group *group
        cdef WitnessStep *step
        cdef size_t i, k
        found = []
        for i in range(start, self.group_count):
            group = &self.group[i]
            steps = []
            for k in range(group.start, group.start + group.length):
                step = &self.steps[k]
                steps.append(
                    (step.event, step.thread, step.op, step.target, step.site, step.number, step.region, step.edge)
                )
            found.append((group.thread, group.number, group.count, steps))
        return found

    @property
    def slots_used(self):
        """The most threads that were known at the same time."""
        return self.thread_pool.used - 1


cdef inline uint64_t identity(const Access *a) noexcept nogil:
    """Of its transaction: thread and number, or the event itself if it is a unary one."""
    if a.number:
        return mixed(<uint64_t> a.slot << 32 | a.number)
    return mixed(~a.event)


cdef inline bint is_like(const Key *one, const Key *other) noexcept nogil:
    """The same but for the access that closes the violation."""
    return one.region == other.region and one.first_site == other.first_site and one.last_site == other.last_site


cdef inline bint is_same(const Key *one, const Key *other) noexcept nogil:
    return is_like(one, other) and one.target == other.target and one.op == other.op


cdef inline const Learned *entry_of(const Thread *t, uint32_t active) noexcept nogil:
    """The entry of its log that has an active transaction which it knows."""
    cdef const Learned *entry = t.log
    while not is_in(&entry.who, active):
        entry += 1
    return entry
