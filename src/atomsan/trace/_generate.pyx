# cython: language_level=3, freethreading_compatible=True
"""The engines of the trace generator: columns filled with events, from nothing but integers and a seed.

`PlannedEngine` makes the kinds whose answer is known beforehand. Why it is known:

- A region takes its locks in ascending order and releases none before it has all (two-phase locking); a
  lock's variables are accessed only by its holder. Other variables belong to one thread or are never
  written once a second thread can see them. Takes come before a region's last acquire, posts after it. So
  every order into a region arrives before the first that leaves it: at the region's last acquire all of it
  could have happened at once. Events outside regions, forks and joins (always outside regions) are such
  points themselves. Order follows the points: no cycle, no violating transaction.
- An injected violation is a read, another thread's write outside regions and locks, and a write, of a
  variable of its own; the read comes after the region's last acquire and before its first release. Of all
  orders into the region only the one into that last write arrives after one has left, so the region
  violates by exactly one dependency, and no other does.
- The open region of `long-region` has no order into it at all.

The number of events is kept exactly by paying beforehand: whatever is started (a region, a fork and its
join, a violation) takes all its events out of `left` at once, so when `left` is spent the rest only runs
out.

`RandomEngine` makes arbitrary well-formed traces of every operation, whose answer nobody knows.

Both hold memory for threads, locks and violations; never for variables or events.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

from atomsan.trace._ops cimport ACQUIRE, BEGIN, END, FORK, JOIN, POST, READ, RELEASE, TAKE, WRITE

import numpy as np

cdef enum:
    NONE = 0xFFFFFFFF
    MOST_LOCKS = 8       # of one region
    VIOLATION_COST = 5   # begin, read, the other's write, write, end
    RECENT = 64          # a reader of a long region's variables takes one of so many last ones
    POINTS = 4           # sites of one operation in one region
    COLUMNS = 7          # of `PlannedEngine.injected`

MOST_REGION_LOCKS = MOST_LOCKS
VIOLATION_EVENTS = VIOLATION_COST


# ---- chance: splitmix64, ours so that a seed gives the same trace whatever the platform or the version of a library


cdef inline uint64_t mixed(uint64_t x) noexcept nogil:
    x = (x ^ (x >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t> 0x94D049BB133111EB
    return x ^ (x >> 31)


cdef inline uint64_t draw(uint64_t *random) noexcept nogil:
    random[0] += <uint64_t> 0x9E3779B97F4A7C15
    return mixed(random[0])


cdef inline uint64_t low(uint64_t x) noexcept nogil:
    return x & <uint64_t> 0xFFFFFFFF


cdef inline uint32_t scaled(uint64_t half, uint32_t bound) noexcept nogil:
    """One half of a draw as a number in 0..bound-1. Its bias, one in 2**32 / bound, is nothing to generated traces."""
    return <uint32_t> ((half * bound) >> 32)


cdef inline uint32_t below(uint64_t *random, uint32_t bound) noexcept nogil:
    return scaled(draw(random) >> 32, bound)


cdef inline bint happens(uint64_t *random, uint64_t share) noexcept nogil:
    """True in `share` of 2**32 cases."""
    return (draw(random) >> 32) < share


# ---- where the events go


cdef struct Output:
    uint32_t *thread
    uint8_t *op
    uint32_t *target
    uint32_t *site
    size_t filled
    uint64_t emitted     # events since the start of the trace
    # A site has one operation, if there are ten or more: `op_sites` is its first one, a region adds its own part.
    uint32_t op_sites[10]
    uint32_t region_sites   # the parts regions can have
    uint32_t points         # mask of the points within such a part


cdef void lay_out_sites(Output *out, uint32_t sites) noexcept:
    cdef uint32_t of_one_op = max(sites // 10, 1), op
    for op in range(10):
        out.op_sites[op] = op * of_one_op if sites >= 10 else op % sites
    out.points = POINTS - 1 if of_one_op >= POINTS else 0
    out.region_sites = of_one_op - out.points


cdef inline uint32_t site_part(const Output *out, uint32_t region) noexcept nogil:
    return <uint32_t> (<uint64_t> region * POINTS % out.region_sites)


cdef void direct(
    Output *out, uint32_t[::1] thread, uint8_t[::1] op, uint32_t[::1] target, uint32_t[::1] site
) noexcept:
    """The next events go into these columns."""
    out.thread = &thread[0]
    out.op = &op[0]
    out.target = &target[0]
    out.site = &site[0]
    out.filled = 0


cdef inline void emit(
    Output *out, uint32_t thread, uint8_t op, uint32_t target, uint32_t part, uint32_t point
) noexcept nogil:
    cdef size_t at = out.filled
    out.thread[at] = thread
    out.op[at] = op
    out.target[at] = target
    out.site[at] = out.op_sites[op] + part + (point & out.points)
    out.filled = at + 1
    out.emitted += 1


# ---- the kinds with a known answer

cdef enum State:
    ABSENT      # not forked yet
    IDLE        # outside regions, holding no lock
    BUSY        # in a region, or in a critical section outside regions
    DONE        # has no more events

cdef enum Stage:
    NOTHING     # no violation in this region, or it is complete
    TO_READ     # when all locks are taken
    AWAITING    # has read; the remote thread has yet to write
    TO_WRITE

cdef struct Worker:
    State state
    uint32_t ready_at       # its place among the ready ones; NONE: it waits (lock, remote write, child's end)
    uint32_t next_waiting   # for the same lock
    uint32_t transactions   # regular ones begun: the number of the current or last one
    bint regular            # in a region (BUSY only)
    uint32_t region         # the outermost one
    uint32_t part           # of the sites
    # what is still to do before the end
    uint32_t accesses
    uint32_t inner          # inner regions to open
    uint32_t depth          # inner regions open
    uint32_t wanted         # locks to take: locks[held], locks[held + 1], ... in ascending order
    uint32_t held           # locks[0..held-1]; once one was released, in any order
    uint32_t locks[MOST_LOCKS]
    Stage stage
    uint32_t violation      # the one in this region
    uint32_t remote         # the thread that writes in its middle
    uint32_t owed           # the violation whose remote write is this thread's next event, or NONE
    uint32_t own_first      # its own variables
    uint32_t own_count


@cython.final
cdef class PlannedEngine:
    """Serializable but for the violations asked for. See the top of the file."""

    cdef uint64_t random
    cdef Output out
    cdef uint64_t events, left
    cdef uint32_t threads, lock_count, regions, handovers
    # variables: [0, locked) the locks', then the threads' own, then the shared ones, then one a violation
    cdef uint32_t shared_first, shared_count, dedicated_first
    cdef uint32_t region_length, nesting
    cdef uint64_t read_share, locality, lock_share, region_share, section_share, handover_share
    cdef uint32_t outside_part   # of the sites, outside regions
    cdef Worker *workers
    cdef uint32_t *ready
    cdef uint32_t ready_count
    cdef uint32_t current        # the thread whose turn it is
    cdef uint32_t turn           # steps it still has
    cdef uint32_t longest_turn
    cdef uint32_t *holder        # of each lock, or NONE
    cdef uint32_t *first_waiting
    cdef uint32_t *last_waiting
    cdef uint32_t *lock_variables   # lock l has lock_variables[l] .. lock_variables[l + 1] - 1
    cdef uint32_t to_fork, forked, joined   # children; T0 is the parent of all
    cdef bint parent_waits
    cdef uint32_t violations, bound  # asked for; given to a region so far
    cdef uint64_t violations_first, violations_span, due   # where they may be; where the next one is wanted
    cdef uint32_t remote         # an idle thread kept for the next violation, or NONE
    cdef uint64_t[:, ::1] injections
    cdef readonly object injected   # rows: thread, transaction, region, variable, the three events
    cdef bint long
    cdef uint32_t published      # of the shared variables, by the long region

    def __cinit__(self, uint32_t threads, uint32_t locks, **others):
        self.workers = <Worker *> calloc(threads, sizeof(Worker))
        self.ready = <uint32_t *> malloc(threads * sizeof(uint32_t))
        self.holder = <uint32_t *> malloc((locks + 1) * sizeof(uint32_t))
        self.first_waiting = <uint32_t *> malloc((locks + 1) * sizeof(uint32_t))
        self.last_waiting = <uint32_t *> malloc((locks + 1) * sizeof(uint32_t))
        self.lock_variables = <uint32_t *> malloc((locks + 1) * sizeof(uint32_t))
        if (
            self.workers == NULL or self.ready == NULL or self.holder == NULL or self.first_waiting == NULL
            or self.last_waiting == NULL or self.lock_variables == NULL
        ):
            raise MemoryError

    def __dealloc__(self):
        free(self.workers)
        free(self.ready)
        free(self.holder)
        free(self.first_waiting)
        free(self.last_waiting)
        free(self.lock_variables)

    def __init__(
        self,
        *,
        uint64_t seed,
        uint64_t events,
        uint32_t threads,
        uint32_t locks,
        uint32_t locked_variables,
        uint32_t own_variables,
        uint32_t shared_variables,
        uint32_t regions,
        uint32_t handovers,
        uint32_t sites,
        uint32_t region_length,
        uint32_t nesting,
        uint64_t read_share,
        uint64_t locality,
        uint64_t lock_share,
        uint64_t region_share,
        uint64_t section_share,
        uint64_t handover_share,
        uint32_t longest_turn,
        uint32_t violations,
        uint64_t violations_first,
        bint long_region,
    ):
        self.random = mixed(seed)
        self.events = events
        self.threads = threads
        self.lock_count = locks
        self.regions = regions
        self.handovers = handovers
        self.region_length = region_length
        self.nesting = nesting
        self.read_share = read_share
        self.locality = locality
        self.lock_share = lock_share
        self.region_share = region_share
        self.section_share = section_share
        self.handover_share = handover_share if handovers else 0
        self.longest_turn = longest_turn
        self.shared_first = locked_variables + own_variables
        self.shared_count = shared_variables
        self.dedicated_first = self.shared_first + shared_variables
        self.violations = violations
        self.violations_first = violations_first
        self.violations_span = events - violations_first
        self.long = long_region
        self.injected = np.zeros((violations, COLUMNS), np.uint64)
        self.injections = self.injected
        self.remote = NONE
        lay_out_sites(&self.out, sites)
        self.outside_part = site_part(&self.out, regions)
        self.hand_out_variables(locked_variables, own_variables)
        self.pay_beforehand()
        self.next_due()
        self.start(0)

    cdef void hand_out_variables(self, uint64_t locked, uint64_t own) noexcept:
        cdef uint64_t i
        for i in range(self.lock_count):
            self.holder[i] = self.first_waiting[i] = NONE
            self.lock_variables[i] = <uint32_t> (i * locked // self.lock_count)
        self.lock_variables[self.lock_count] = <uint32_t> locked
        for i in range(self.threads):
            self.workers[i].ready_at = self.workers[i].owed = NONE
            self.workers[i].part = self.outside_part
            self.workers[i].own_first = <uint32_t> (locked + i * own // self.threads)
            self.workers[i].own_count = <uint32_t> ((i + 1) * own // self.threads - i * own // self.threads)

    cdef void pay_beforehand(self) noexcept:
        """Children are forked, and joined but by a long region, as far as the events go.

        That violations fit was checked in generator.py.
        """
        cdef uint64_t fixed = 2 if self.long else VIOLATION_COST * <uint64_t> self.violations
        cdef uint64_t child_cost = 1 if self.long else 2
        self.left = self.events - min(self.events, fixed)
        self.to_fork = <uint32_t> min(<uint64_t> self.threads - 1, self.left // child_cost)
        self.left -= self.to_fork * child_cost

    def fill(self, uint32_t[::1] thread, uint8_t[::1] op, uint32_t[::1] target, uint32_t[::1] site):
        """Write the next events into the columns; returns how many, which is less than there is room for at the end."""
        cdef size_t room = min(<uint64_t> thread.shape[0], self.events - self.out.emitted)
        cdef uint64_t choice
        if room == 0:
            return 0
        direct(&self.out, thread, op, target, site)
        with nogil:
            while self.out.filled < room and self.ready_count:
                if self.turn == 0 or self.workers[self.current].ready_at == NONE:
                    choice = draw(&self.random)
                    self.current = self.ready[scaled(choice >> 32, self.ready_count)]
                    self.turn = 1 + scaled(low(choice), self.longest_turn)
                self.turn -= 1
                self.step(self.current)
        if self.out.filled < room:
            raise AssertionError(f"every thread waits after {self.out.emitted} of {self.events} events")
        return room

    cdef void step(self, uint32_t t) noexcept nogil:
        """Emit at most one event of a thread; none if it finds that it has to wait or is done."""
        if self.long and t == 0:
            self.long_step()
        elif self.workers[t].state == BUSY:
            self.busy_step(t)
        else:
            self.idle_step(t)

    # -- who can run

    cdef void start(self, uint32_t t) noexcept nogil:
        self.workers[t].state = IDLE
        self.wake(t)

    cdef void wake(self, uint32_t t) noexcept nogil:
        if self.workers[t].ready_at == NONE:
            self.workers[t].ready_at = self.ready_count
            self.ready[self.ready_count] = t
            self.ready_count += 1

    cdef void pause(self, uint32_t t) noexcept nogil:
        cdef uint32_t at = self.workers[t].ready_at, last
        self.ready_count -= 1
        last = self.ready[self.ready_count]
        self.ready[at] = last
        self.workers[last].ready_at = at
        self.workers[t].ready_at = NONE

    cdef void finish(self, uint32_t t) noexcept nogil:
        self.pause(t)
        self.workers[t].state = DONE
        if self.parent_waits:
            self.parent_waits = False
            self.wake(0)

    cdef void wait_for(self, uint32_t t, uint32_t lock) noexcept nogil:
        self.pause(t)
        self.workers[t].next_waiting = NONE
        if self.first_waiting[lock] == NONE:
            self.first_waiting[lock] = t
        else:
            self.workers[self.last_waiting[lock]].next_waiting = t
        self.last_waiting[lock] = t

    cdef void free_lock(self, uint32_t lock) noexcept nogil:
        """Wakes one that waits. It may find the lock taken again; then that one's release wakes the next."""
        cdef uint32_t t = self.first_waiting[lock]
        self.holder[lock] = NONE
        if t != NONE:
            self.first_waiting[lock] = self.workers[t].next_waiting
            self.wake(t)

    # -- outside regions

    cdef void idle_step(self, uint32_t t) noexcept nogil:
        cdef Worker *w = self.workers + t
        cdef uint32_t cost
        if w.owed != NONE:
            self.remote_write(t)
        elif t == 0 and self.forked < self.to_fork:
            self.fork()
        elif self.bound < self.violations and (self.left == 0 or self.out.emitted >= self.due):
            self.toward_violation(t)
        elif self.left == 0:
            self.run_out(t)
        elif happens(&self.random, self.region_share):
            cost = self.plan_region(w)
            if cost <= self.left:
                self.left -= cost
                self.begin(t)
            else:
                self.outside_access(t)
        elif happens(&self.random, self.section_share) and self.left >= 5:
            self.plan_section(w)
            self.left -= 2 + w.accesses
            self.busy_step(t)
        else:
            self.outside_access(t)

    cdef void outside_access(self, uint32_t t) noexcept nogil:
        cdef Worker *w = self.workers + t
        w.accesses = w.inner = w.held = w.wanted = 0
        self.left -= 1
        if happens(&self.random, self.handover_share):
            self.emit_handover(t, POST + below(&self.random, 2))
        else:
            self.access(t)

    cdef void fork(self) noexcept nogil:
        self.forked += 1
        emit(&self.out, 0, FORK, self.forked, self.workers[0].part, 0)
        self.start(self.forked)

    cdef void run_out(self, uint32_t t) noexcept nogil:
        """Nothing more is to be started: children stop, the parent joins them in order."""
        if t != 0 or self.joined == self.forked:
            self.finish(t)
        elif self.workers[self.joined + 1].state == DONE:
            self.joined += 1
            emit(&self.out, 0, JOIN, self.joined, self.outside_part, 0)
        else:
            self.parent_waits = True
            self.pause(t)

    cdef uint32_t plan_region(self, Worker *w) noexcept nogil:
        """Decide what a region will do; returns how many events that is."""
        w.accesses = 1 + below(&self.random, 2 * self.region_length - 1)
        w.inner = below(&self.random, self.nesting)
        w.region = below(&self.random, self.regions)
        w.held = w.wanted = 0
        while w.wanted < min(<uint32_t> MOST_LOCKS, self.lock_count) and happens(&self.random, self.lock_share):
            if not self.want(w, below(&self.random, self.lock_count)):
                break
        return 2 + w.accesses + 2 * w.inner + 2 * w.wanted

    cdef bint want(self, Worker *w, uint32_t lock) noexcept nogil:
        """Add a lock to the ascending set; False if it is in it already."""
        cdef uint32_t at = w.wanted, i
        while at and w.locks[at - 1] > lock:
            at -= 1
        if at and w.locks[at - 1] == lock:
            return False
        for i in range(w.wanted, at, -1):
            w.locks[i] = w.locks[i - 1]
        w.locks[at] = lock
        w.wanted += 1
        return True

    cdef void plan_section(self, Worker *w) noexcept nogil:
        w.accesses = 1 + below(&self.random, 3)
        w.inner = w.held = w.wanted = 0
        self.want(w, below(&self.random, self.lock_count))
        w.regular = False
        w.state = BUSY

    cdef void begin(self, uint32_t t) noexcept nogil:
        cdef Worker *w = self.workers + t
        w.regular = True
        w.state = BUSY
        w.depth = 0
        w.transactions += 1
        w.part = site_part(&self.out, w.region)
        emit(&self.out, t, BEGIN, w.region, w.part, 0)

    # -- in a region, or in a critical section outside

    cdef void busy_step(self, uint32_t t) noexcept nogil:
        cdef Worker *w = self.workers + t
        cdef uint32_t weight, locking, write, choice
        if w.stage == TO_READ and w.wanted == 0:
            self.local_read(t)
            return
        # locks are taken early and released late, so that most accesses come while they are held
        weight = w.accesses if w.wanted else 4 * w.accesses
        locking = 4 * w.wanted if w.wanted else w.held
        write = w.stage == TO_WRITE
        choice = weight + locking + w.inner + w.depth + write
        if choice == 0:
            self.leave(t)
            return
        choice = below(&self.random, choice)
        if choice < weight:
            w.accesses -= 1
            if happens(&self.random, self.handover_share):
                self.emit_handover(t, TAKE if w.wanted else POST)
            else:
                self.access(t)
        elif choice < weight + locking:
            if w.wanted:
                self.acquire(t)
            else:
                self.release(t)
        elif choice < weight + locking + write:
            self.local_write(t)
        elif choice < weight + locking + write + w.inner:
            w.inner -= 1
            w.depth += 1
            emit(&self.out, t, BEGIN, (w.region + w.depth) % self.regions, w.part, w.depth)
        else:
            emit(&self.out, t, END, (w.region + w.depth) % self.regions, w.part, w.depth)
            w.depth -= 1

    cdef void leave(self, uint32_t t) noexcept nogil:
        cdef Worker *w = self.workers + t
        if w.stage == AWAITING:
            self.pause(t)
            return
        w.state = IDLE
        if w.regular:
            emit(&self.out, t, END, w.region, w.part, 0)
            w.part = self.outside_part
        else:
            self.idle_step(t)

    cdef void acquire(self, uint32_t t) noexcept nogil:
        cdef Worker *w = self.workers + t
        cdef uint32_t lock = w.locks[w.held]
        if self.holder[lock] != NONE:
            self.wait_for(t, lock)
            return
        self.holder[lock] = t
        w.held += 1
        w.wanted -= 1
        emit(&self.out, t, ACQUIRE, lock, w.part, w.held)

    cdef void release(self, uint32_t t) noexcept nogil:
        cdef Worker *w = self.workers + t
        cdef uint32_t at = below(&self.random, w.held), lock = w.locks[at]
        emit(&self.out, t, RELEASE, lock, w.part, w.held)
        w.held -= 1
        w.locks[at] = w.locks[w.held]
        self.free_lock(lock)

    cdef void emit_handover(self, uint32_t t, uint8_t op) noexcept nogil:
        emit(&self.out, t, op, below(&self.random, self.handovers), self.workers[t].part, 0)

    cdef void access(self, uint32_t t) noexcept nogil:
        """Read or write what this thread may: its own, its locks', and to read only, what is shared."""
        cdef Worker *w = self.workers + t
        cdef uint64_t choice = draw(&self.random), pick = draw(&self.random)
        cdef uint8_t op = WRITE if low(choice) >= self.read_share else READ
        cdef uint32_t lock, first = w.own_first, count = w.own_count
        if (choice >> 32) >= self.locality or count == 0:
            # a lock's, if one is held; but of the reads one in eight is of shared data even so
            if w.held and (op == WRITE or count == 0 or pick & 7):
                lock = w.locks[scaled(low(pick), w.held)]
                if self.lock_variables[lock + 1] > self.lock_variables[lock]:
                    first = self.lock_variables[lock]
                    count = self.lock_variables[lock + 1] - first
            if first == w.own_first and (op == READ or count == 0):
                op = READ
                first, count = self.shared_first, self.shared_count
                if self.long:
                    count = min(self.published, <uint32_t> RECENT)
                    first += self.published - count
        emit(&self.out, t, op, first + scaled(pick >> 32, count), w.part, w.accesses)

    # -- violations

    cdef void next_due(self) noexcept nogil:
        """Each has a slice of the trace, and a place in it by chance."""
        cdef uint64_t width
        if self.bound < self.violations:
            width = self.violations_span // self.violations
            self.due = self.violations_first + self.bound * width + draw(&self.random) % max(width, <uint64_t> 1)

    cdef void toward_violation(self, uint32_t t) noexcept nogil:
        """The first thread that comes is kept to write from outside, the second begins the region.

        Nothing can be started any more if `left` is 0; then T0 and T1 do the rest, in regions paid for beforehand.
        """
        cdef Worker *w = self.workers + t
        cdef uint32_t cost
        if self.left == 0 and t > 1:
            self.finish(t)
        elif self.remote == NONE:
            self.remote = t
            self.pause(t)
        else:
            cost = self.plan_region(w)
            if cost - 2 <= self.left:
                self.left -= cost - 2
            else:
                w.accesses = w.inner = w.wanted = 0
            w.stage = TO_READ
            w.violation = self.bound
            w.remote = self.remote
            self.remote = NONE
            self.bound += 1
            self.next_due()
            self.begin(t)

    cdef void local_read(self, uint32_t t) noexcept nogil:
        cdef Worker *w = self.workers + t
        cdef uint64_t *row = &self.injections[w.violation, 0]
        row[0] = t
        row[1] = w.transactions
        row[2] = w.region
        row[3] = self.dedicated_first + w.violation
        row[4] = self.out.emitted
        emit(&self.out, t, READ, self.dedicated_first + w.violation, w.part, 0)
        w.stage = AWAITING
        self.workers[w.remote].owed = w.violation
        self.wake(w.remote)

    cdef void remote_write(self, uint32_t t) noexcept nogil:
        cdef Worker *w = self.workers + t
        cdef uint64_t *row = &self.injections[w.owed, 0]
        row[5] = self.out.emitted
        emit(&self.out, t, WRITE, self.dedicated_first + w.owed, w.part, 0)
        w.owed = NONE
        self.workers[row[0]].stage = TO_WRITE
        self.wake(<uint32_t> row[0])

    cdef void local_write(self, uint32_t t) noexcept nogil:
        cdef Worker *w = self.workers + t
        self.injections[w.violation, 6] = self.out.emitted
        emit(&self.out, t, WRITE, self.dedicated_first + w.violation, w.part, 0)
        w.stage = NOTHING

    # -- the long region

    cdef void long_step(self) noexcept nogil:
        """T0 opens its region, forks all others in it, and publishes variables at an even pace; it never ends it."""
        cdef Worker *w = self.workers
        if w.transactions == 0:
            w.transactions = 1
            w.part = site_part(&self.out, 0)
            emit(&self.out, 0, BEGIN, 0, w.part, 0)
        elif self.published == 0:
            self.publish()
        elif self.forked < self.to_fork:
            self.fork()
        elif self.left == 0:
            self.finish(0)
        else:
            self.left -= 1
            if self.published < self.shared_count and self.publication_is_due():
                self.publish()
            else:
                self.access(0)

    cdef bint publication_is_due(self) noexcept nogil:
        return self.out.emitted >= <uint64_t> (<double> self.events * self.published / self.shared_count)

    cdef void publish(self) noexcept nogil:
        emit(&self.out, 0, WRITE, self.shared_first + self.published, self.workers[0].part, 1)
        self.published += 1


# ---- anything that is well-formed

cdef struct Actor:
    uint32_t depth      # regions open
    uint32_t held       # locks held, each counted once


@cython.final
cdef class RandomEngine:
    """Each step draws a thread and an operation until the two are legal; a plain access always is."""

    cdef uint64_t random
    cdef Output out
    cdef uint64_t events
    cdef uint32_t threads, locks, variables, regions, handovers, nesting
    cdef uint64_t read_share
    cdef Actor *actors
    cdef uint32_t *open_regions  # nesting of them a thread
    cdef uint32_t *holder        # of each lock, or NONE
    cdef uint32_t *holds         # how often it is held
    cdef uint32_t *order         # threads: the live ones, then those that a fork can still start
    cdef uint32_t live, unborn
    cdef uint32_t current        # place in `order` of the thread whose turn it is
    cdef uint32_t turn           # steps it still has
    cdef uint32_t longest_turn

    def __cinit__(self, uint32_t threads, uint32_t locks, uint32_t nesting, **others):
        self.actors = <Actor *> calloc(threads, sizeof(Actor))
        self.open_regions = <uint32_t *> malloc(<size_t> threads * nesting * sizeof(uint32_t))
        self.holder = <uint32_t *> malloc((locks + 1) * sizeof(uint32_t))
        self.holds = <uint32_t *> calloc(locks + 1, sizeof(uint32_t))
        self.order = <uint32_t *> malloc(threads * sizeof(uint32_t))
        if (
            self.actors == NULL or self.open_regions == NULL or self.holder == NULL or self.holds == NULL
            or self.order == NULL
        ):
            raise MemoryError

    def __dealloc__(self):
        free(self.actors)
        free(self.open_regions)
        free(self.holder)
        free(self.holds)
        free(self.order)

    def __init__(
        self,
        *,
        uint64_t seed,
        uint64_t events,
        uint32_t threads,
        uint32_t locks,
        uint32_t variables,
        uint32_t regions,
        uint32_t handovers,
        uint32_t sites,
        uint32_t nesting,
        uint64_t read_share,
        uint32_t longest_turn,
    ):
        cdef uint32_t i
        self.random = mixed(seed)
        self.events = events
        self.threads = threads
        self.locks = locks
        self.variables = variables
        self.regions = regions
        self.handovers = handovers
        self.nesting = nesting
        self.read_share = read_share
        self.longest_turn = longest_turn
        lay_out_sites(&self.out, sites)
        for i in range(locks):
            self.holder[i] = NONE
        for i in range(threads):
            self.order[i] = i
        # some threads are there from the start, as in a trace that begins in the middle of a run
        self.live = 1 + (below(&self.random, threads - 1) if threads > 1 else 0)
        self.unborn = threads - self.live

    def fill(self, uint32_t[::1] thread, uint8_t[::1] op, uint32_t[::1] target, uint32_t[::1] site):
        """Write the next events into the columns; returns how many, which is less than there is room for at the end."""
        cdef size_t room = min(<uint64_t> thread.shape[0], self.events - self.out.emitted)
        cdef uint64_t choice
        if room == 0:
            return 0
        direct(&self.out, thread, op, target, site)
        with nogil:
            while self.out.filled < room:
                if self.turn == 0 or self.current >= self.live:
                    choice = draw(&self.random)
                    self.current = scaled(choice >> 32, self.live)
                    self.turn = 1 + scaled(low(choice), self.longest_turn)
                self.turn -= 1
                self.step(self.order[self.current])
        return room

    cdef void step(self, uint32_t t) noexcept nogil:
        cdef uint32_t choice = below(&self.random, 22)
        cdef uint8_t op
        if choice < 8:
            # two statements: C does not say which argument is drawn first
            op = READ if happens(&self.random, self.read_share) else WRITE
            self.emit(t, op, below(&self.random, self.variables))
        elif choice < 11:
            self.begin(t)
        elif choice < 13:
            self.end(t)
        elif choice < 15:
            self.acquire(t)
        elif choice < 18:
            self.release(t)
        elif choice < 19:
            self.fork(t)
        elif choice < 20:
            self.join(t)
        elif self.handovers:
            self.emit(t, POST + choice % 2, below(&self.random, self.handovers))

    cdef void emit(self, uint32_t t, uint8_t op, uint32_t target) noexcept nogil:
        """A region's events have sites of its own."""
        cdef uint32_t depth = self.actors[t].depth
        cdef uint32_t region = self.open_regions[<size_t> t * self.nesting + depth - 1] if depth else self.regions
        emit(&self.out, t, op, target, site_part(&self.out, region), target)

    cdef void begin(self, uint32_t t) noexcept nogil:
        cdef uint32_t region = below(&self.random, self.regions), depth = self.actors[t].depth
        if depth < self.nesting:
            self.open_regions[<size_t> t * self.nesting + depth] = region
            self.actors[t].depth += 1
            self.emit(t, BEGIN, region)

    cdef void end(self, uint32_t t) noexcept nogil:
        cdef uint32_t depth = self.actors[t].depth
        if depth:
            self.emit(t, END, self.open_regions[<size_t> t * self.nesting + depth - 1])
            self.actors[t].depth -= 1

    cdef void acquire(self, uint32_t t) noexcept nogil:
        cdef uint32_t lock
        if self.locks == 0:
            return
        lock = below(&self.random, self.locks)
        if self.holder[lock] == NONE or self.holder[lock] == t:
            self.actors[t].held += self.holder[lock] == NONE
            self.holder[lock] = t
            self.holds[lock] += 1
            self.emit(t, ACQUIRE, lock)

    cdef void release(self, uint32_t t) noexcept nogil:
        """Looks at a few locks only, so that many do not cost much."""
        cdef uint32_t lock, i
        if self.actors[t].held == 0:
            return
        lock = below(&self.random, self.locks)
        for i in range(min(self.locks, <uint32_t> 64)):
            if self.holder[lock] == t:
                self.emit(t, RELEASE, lock)
                self.holds[lock] -= 1
                if self.holds[lock] == 0:
                    self.holder[lock] = NONE
                    self.actors[t].held -= 1
                return
            lock = lock + 1 if lock + 1 < self.locks else 0

    cdef void fork(self, uint32_t t) noexcept nogil:
        cdef uint32_t at
        if self.unborn:
            at = self.live + below(&self.random, self.unborn)
            self.emit(t, FORK, self.order[at])
            self.order[at], self.order[self.live] = self.order[self.live], self.order[at]
            self.live += 1
            self.unborn -= 1

    cdef void join(self, uint32_t t) noexcept nogil:
        """Before the last eighth of the trace three threads stay; one in the middle of something is joined rarely."""
        cdef uint32_t at = below(&self.random, self.live), child = self.order[at]
        if child == t or (self.live <= 3 and self.out.emitted < self.events - self.events // 8):
            return
        if (self.actors[child].depth or self.actors[child].held) and below(&self.random, 8):
            return
        self.emit(t, JOIN, child)
        # the gap is closed by the last live thread, and its place by the last one that a fork can start
        self.live -= 1
        self.order[at] = self.order[self.live]
        self.order[self.live] = self.order[self.live + self.unborn]
