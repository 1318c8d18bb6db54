# cython: language_level=3, freethreading_compatible=True
"""Divides events into units, and names the shape of each: the loop of `predictors/units.py`.

A *form* is what a unit does, with locations and locks numbered by first use; a *shape* is a form on certain locations and
locks. Things of one unit are compared by hashes of 64 bits to find what is done again.

Where a thread takes a lock while it holds others is kept in rows, each with the row of what it took before: a lock of a
depth costs the same, whatever the depth. Only those that can be part of a cycle are told.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, qsort
from libc.string cimport memcmp, memcpy

from atomsan.predictors.engines._counting cimport Counts, counted, forget_all, free_counts
from atomsan.predictors.engines._mixing cimport mixed
from atomsan.trace._hashing cimport Map, NOT_FOUND, found, free_map, put
from atomsan.trace._memory cimport ensure_room, out_of_memory
from atomsan.trace._ops cimport ACQUIRE, BEGIN, END, FORK, JOIN, NOTHING, POST, READ, RELEASE, TAKE, WRITE

import numpy as np

cdef enum:
    NONE = 0xFFFFFFFF
    JOINED = 0x100        # of the same call as the step before
    READS = 1             # of a slot of a form: what is done to it
    WRITES = 2
    THROUGHOUT = 4        # one block of this lock has all accesses in it
    SPIN = 0x80000000     # a hand-over: by a write that a loop waited for
    KEPT_ALIKE = 2
    MOST_ORDERED = 64     # periods of one unit
    EVENTS_IN_A_TICK = 1 << 17

# What is known of an object; from FRESH on, by twos, the thread that made it and did not give it to others yet, and
# whether that was the body of a module.
cdef enum:
    UNSEEN = 0
    SEEN = 1
    FRESH = 2

# What a site makes (`publication.py`): numbers above are classes whose constructor it is in.
cdef enum:
    NOTHING_MADE = 0
    MODULE_BODY = 1

cdef struct StepRow:
    uint32_t what         # operation, and JOINED
    uint32_t target
    uint32_t site
    uint32_t inside

cdef struct Held:
    uint32_t lock
    uint32_t site         # of its acquire
    uint64_t event
    uint32_t start        # where in the steps its acquire is
    uint32_t serial       # of its block in the unit, from 1
    uint32_t accesses     # how many the unit had then
    uint32_t wait         # its row, plus 1; 0: it has none
    uint64_t chain        # hash of the locks that are held, up to this one
    bint is_closed        # no lock that was acquired before is released in its block
    bint is_loop

cdef struct ThreadRow:
    bint is_known
    bint is_inside
    uint32_t first        # period of the unit
    uint32_t last         # the one of its last access
    uint32_t period       # the one now
    uint32_t ordered      # how often it began a new one inside the unit
    uint32_t transaction  # the first one of the unit; 0: it has none
    uint32_t begun
    uint32_t serial
    uint32_t accesses
    uint32_t call_site
    uint32_t *regions
    size_t region_count, region_room
    Held *held
    size_t held_count, held_room
    StepRow *steps
    size_t step_count, step_room
    uint64_t *events
    size_t event_room
    Counts called         # what the call that is at work has accessed
    Counts alike          # how often something was done in a block of the unit
    uint32_t *fresh       # objects; some of them are not any more
    size_t fresh_count, fresh_room

# A lock that is held while others are taken; or one that is taken, of which a thread waits for the release.
cdef struct WaitRow:
    uint32_t lock
    uint32_t site         # of its acquire
    uint64_t event
    uint32_t before       # the row of the lock that was taken before and is held, plus 1
    uint32_t thread       # that waits; NONE: this is only held by those that do
    uint32_t period
    bint is_loop

cdef struct FormRow:
    uint64_t words        # where its key begins
    uint32_t size
    uint32_t locations
    uint32_t slots
    uint32_t nodes        # of its tree, without the root
    uint64_t uses         # where those of its slots begin

cdef struct ShapeRow:
    uint32_t form
    uint32_t count
    uint32_t first        # occurrence, plus 1
    uint32_t last
    uint64_t entities     # where its locations, then its locks begin

cdef struct OccurrenceRow:
    uint32_t shape
    uint32_t thread
    uint32_t first        # period
    uint32_t last
    uint32_t transaction
    uint32_t next         # of the same shape, plus 1
    uint64_t events
    uint64_t again        # the events of the next one by that thread in these periods, plus 1
    uint32_t transaction_again


cdef class UnitTable:
    """Feed it flattened events; it calls `order`, `waits`, `executed` and `cut` with what it does not keep itself.

    `is_recorded`: of a program that was recorded, what is done at another site is not the same, and a unit goes on where
    it lets other threads go on (fork, post) and where it takes what was there before.
    """

    cdef ThreadRow *threads
    cdef size_t thread_room
    cdef ShapeRow *shapes
    cdef size_t shape_room
    cdef readonly uint32_t shape_count
    cdef uint32_t *entities
    cdef size_t entity_count, entity_room
    cdef OccurrenceRow *occurrences
    cdef size_t occurrence_room
    cdef uint32_t occurrence_count
    cdef uint64_t *events
    cdef size_t event_count, event_room
    cdef Map form_of, shape_of, last_of, waits_seen
    cdef FormRow *forms
    cdef size_t form_room
    cdef readonly uint32_t form_count
    cdef uint32_t *words
    cdef size_t word_count, word_room
    cdef uint8_t *uses
    cdef size_t use_count, use_room
    cdef WaitRow *wait_rows
    cdef size_t wait_count, wait_room
    cdef size_t most_locks        # every lock is below
    cdef uint32_t *location_mark
    cdef uint32_t *location_slot
    cdef size_t location_room, location_slot_room
    cdef uint32_t *lock_mark
    cdef uint32_t *lock_slot
    cdef size_t lock_room, lock_slot_room
    cdef uint32_t *key
    cdef size_t key_room
    cdef uint32_t *used
    cdef size_t used_room
    cdef uint32_t *used_since     # by lock of a form that is looked at: how many accesses were before its last acquire
    cdef size_t used_since_room
    cdef uint32_t main_thread     # the one that the trace begins with
    cdef uint32_t *object_state
    cdef size_t object_room
    cdef const uint32_t[::1] objects, classes, makers
    cdef const uint8_t[::1] module_regions
    cdef const uint64_t[::1] spin_events
    cdef const uint32_t[::1] spin_writes
    cdef size_t spin              # the next of them
    cdef uint32_t mark
    cdef bint is_recorded
    cdef readonly uint64_t units
    cdef readonly uint64_t transactions
    cdef readonly bint is_nested, is_shortened
    cdef object order, waits, executed, cut, tick

    def __cinit__(self, *, bint is_recorded, spins, order, waits, executed, cut, tick):
        self.spin_events, self.spin_writes = spins
        self.main_thread = NONE
        self.is_recorded = is_recorded
        self.order, self.waits, self.executed, self.cut, self.tick = order, waits, executed, cut, tick
        self.is_nested = True

    def __dealloc__(self):
        cdef size_t t
        for t in range(self.thread_room):
            free(self.threads[t].regions)
            free(self.threads[t].held)
            free(self.threads[t].steps)
            free(self.threads[t].events)
            free(self.threads[t].fresh)
            free_counts(&self.threads[t].called)
            free_counts(&self.threads[t].alike)
        free(self.threads)
        free(self.object_state)
        free(self.shapes)
        free(self.entities)
        free(self.occurrences)
        free(self.events)
        free(self.forms)
        free(self.words)
        free(self.uses)
        free(self.wait_rows)
        free_map(&self.form_of)
        free_map(&self.shape_of)
        free_map(&self.last_of)
        free_map(&self.waits_seen)
        free(self.location_mark)
        free(self.location_slot)
        free(self.lock_mark)
        free(self.lock_slot)
        free(self.key)
        free(self.used)
        free(self.used_since)

    def feed(
        self,
        batch,
        const uint8_t[::1] shared,
        const uint8_t[::1] loops,
        const uint8_t[::1] calls,
        const uint8_t[::1] ready,
        made,
    ):
        """Take a flattened batch.

        By number: `shared` locations, locks that are `loops`, sites of `calls`, and hand-overs that are `ready`; what is
        not in these is none. `made`: what makes objects (`publication.Made`).
        """
        cdef const uint32_t[::1] thread_view = batch.thread, target_view = batch.target, site_view = batch.site
        cdef const uint8_t[::1] op_view = batch.op, original_view = batch.original
        cdef uint64_t first = batch.first
        cdef size_t i, count = op_view.shape[0]
        cdef uint32_t target, site
        cdef uint8_t op
        cdef bint is_loop, is_shared, is_spin = False
        cdef ThreadRow *thread
        self.objects, self.classes, self.makers, self.module_regions = made
        ensure_room(<void **> &self.object_state, &self.object_room, self.objects.shape[0] + 1, sizeof(uint32_t))
        ensure_room(<void **> &self.threads, &self.thread_room, batch.threads, sizeof(ThreadRow))
        ensure_room(<void **> &self.location_mark, &self.location_room, batch.locations, sizeof(uint32_t))
        ensure_room(<void **> &self.location_slot, &self.location_slot_room, batch.locations, sizeof(uint32_t))
        ensure_room(<void **> &self.lock_mark, &self.lock_room, batch.locks, sizeof(uint32_t))
        ensure_room(<void **> &self.lock_slot, &self.lock_slot_room, batch.locks, sizeof(uint32_t))
        self.most_locks = batch.locks
        if count and self.main_thread == NONE:
            self.main_thread = thread_view[0]
        for i in range(count):
            if i % EVENTS_IN_A_TICK == 0:
                self.tick()
            op, target, site = op_view[i], target_view[i], site_view[i]
            thread = &self.threads[thread_view[i]]
            if op <= WRITE:
                is_shared = target < <size_t> shared.shape[0] and shared[target]
                if target < <size_t> self.objects.shape[0] and self.is_fresh(
                    thread, thread_view[i], op, target, site
                ):
                    continue
                if not is_shared:
                    continue
                if op == WRITE:
                    self.publish(thread)
                is_spin = self.spin < <size_t> self.spin_events.shape[0] and self.spin_events[self.spin] == first + i
                if is_spin and op == READ:
                    # the reads before it are of a unit that waits
                    self.ordered(thread, thread_view[i], TAKE, SPIN | self.spin_writes[self.spin], first + i, False)
            if not thread.is_known:
                thread.is_known, thread.call_site = True, NONE
            if op <= WRITE:
                self.access(thread, op, target, site, first + i, site < <size_t> calls.shape[0] and calls[site])
                if is_spin and op == WRITE:
                    self.ordered(thread, thread_view[i], POST, SPIN | self.spin_writes[self.spin], first + i, False)
                self.spin += is_spin
            else:
                is_loop = False
                if ACQUIRE <= original_view[i] <= RELEASE:
                    is_loop = target < <size_t> loops.shape[0] and loops[target]
                    if op == NOTHING and is_loop:
                        op = original_view[i]
                if op == ACQUIRE:
                    self.acquire(thread, thread_view[i], target, site, first + i, is_loop)
                elif op == RELEASE:
                    self.release(thread, target, first + i)
                elif op == BEGIN:
                    self.transactions += 1
                    self.begin(thread, target)
                elif op == END:
                    thread.is_inside = False
                elif op == FORK or op == JOIN or op == POST or op == TAKE:
                    if op == FORK or op == POST:
                        self.publish(thread)
                    self.ordered(
                        thread, thread_view[i], op, target, first + i,
                        op == TAKE and target < <size_t> ready.shape[0] and ready[target],
                    )
                end_call(thread)
            if not (thread.is_inside or thread.held_count):
                self.close(thread, thread_view[i])

    def finish(self):
        """The units that are not over end here; then what may be part of a deadlock is told."""
        cdef size_t t
        for t in range(self.thread_room):
            if self.threads[t].is_known:
                self.close(&self.threads[t], t)
        self.tell_waits()

    cdef bint is_fresh(self, ThreadRow *thread, uint32_t number, uint8_t op, uint32_t location, uint32_t site) except -1:
        """Whether nobody else can have what is accessed, as far as was seen."""
        cdef uint32_t object = self.objects[location]
        cdef uint32_t *state = &self.object_state[object]
        cdef uint32_t maker = self.makers[site] if site < <size_t> self.makers.shape[0] else <uint32_t> NOTHING_MADE
        if state[0] >= FRESH and (state[0] - FRESH) // 2 == number and (
            maker == MODULE_BODY or (state[0] - FRESH) % 2 == 0
        ):
            return True
        if state[0] != UNSEEN or op != WRITE or not self.makes(thread, number, location, maker):
            state[0] = SEEN
            return False
        state[0] = FRESH + 2 * number + (maker == MODULE_BODY)
        ensure_room(<void **> &thread.fresh, &thread.fresh_room, thread.fresh_count + 1, sizeof(uint32_t))
        thread.fresh[thread.fresh_count] = object
        thread.fresh_count += 1
        return True

    cdef bint makes(self, ThreadRow *thread, uint32_t number, uint32_t location, uint32_t maker) noexcept:
        """Whether this is the constructor of the class of what is accessed, or a module that is imported."""
        if maker == MODULE_BODY:
            # in a function that imports it, and not in the program's own module: that is the code of the main thread
            return number != self.main_thread or (
                thread.is_inside and thread.region_count > 0 and not self.module_regions[thread.regions[0]]
            )
        return maker != NOTHING_MADE and maker == self.classes[location]

    cdef void publish(self, ThreadRow *thread) noexcept:
        """Others may have all that the thread has from here on."""
        cdef size_t i
        for i in range(thread.fresh_count):
            self.object_state[thread.fresh[i]] = SEEN
        thread.fresh_count = 0

    cdef int ordered(
        self, ThreadRow *thread, uint32_t number, uint8_t op, uint32_t target, uint64_t event, bint is_ready
    ) except -1:
        """A new period begins; as a rule, in another unit."""
        cdef bint is_busy = thread.is_inside or thread.held_count
        cdef bint goes_on = is_busy and self.is_recorded and (op == FORK or op == POST or is_ready)
        self.is_shortened = self.is_shortened or (goes_on and thread.ordered >= MOST_ORDERED)
        if goes_on and thread.ordered < MOST_ORDERED:
            thread.ordered += 1
            # what was done before may have to come before another unit, and what is done again may not
            forget_all(&thread.alike)
            thread.period = self.order(number, op, target, event, True)
            if is_ready:
                thread.first = thread.last = thread.period
                if thread.is_inside:
                    self.cut(thread.regions[thread.region_count - 1])
            return 0
        if thread.transaction and is_busy:
            self.cut(thread.regions[thread.region_count - 1])
        self.close(thread, number)
        thread.first = thread.period = self.order(number, op, target, event, False)
        return 0

    # ---- the steps of a unit

    cdef int begin(self, ThreadRow *thread, uint32_t region) except -1:
        ensure_room(<void **> &thread.regions, &thread.region_room, thread.region_count + 1, sizeof(uint32_t))
        thread.regions[thread.region_count] = region
        thread.region_count += 1
        thread.is_inside = True
        thread.begun += 1
        if not thread.transaction:
            thread.transaction = thread.begun
        return 0

    cdef int access(
        self, ThreadRow *thread, uint8_t op, uint32_t target, uint32_t site, uint64_t event, bint is_call
    ) except -1:
        cdef uint32_t inside = thread.begun - thread.transaction + 1 if thread.is_inside else 0
        cdef uint64_t what = mixed(mixed(op, target), inside)
        cdef bint is_joined
        # a call accesses a location once, so what comes again is another call
        if not is_call or site != thread.call_site or count_of(&thread.called, what)[0]:
            end_call(thread)
        is_joined = thread.call_site == site and site != NONE
        if is_call:
            thread.call_site = site
            count_of(&thread.called, what)[0] = 1
        if self.is_new(thread, mixed(what, site) if self.is_recorded else what):
            self.add(thread, op | JOINED if is_joined else op, target, site, inside, event)
            thread.accesses += 1
            thread.last = thread.period
        else:
            end_call(thread)
        return 0

    cdef bint is_new(self, ThreadRow *thread, uint64_t what) except -1:
        """Whether there is not enough of the same in the innermost lock block."""
        cdef uint64_t key = mixed(thread.held[thread.held_count - 1].serial if thread.held_count else 0, what)
        cdef uint32_t *alike = count_of(&thread.alike, key)
        if alike[0] >= KEPT_ALIKE:
            return False
        alike[0] += 1
        return True

    cdef int add(
        self, ThreadRow *thread, uint32_t what, uint32_t target, uint32_t site, uint32_t inside, uint64_t event
    ) except -1:
        ensure_room(<void **> &thread.steps, &thread.step_room, thread.step_count + 1, sizeof(StepRow))
        ensure_room(<void **> &thread.events, &thread.event_room, thread.step_count + 1, sizeof(uint64_t))
        thread.steps[thread.step_count] = StepRow(what, target, site, inside)
        thread.events[thread.step_count] = event
        thread.step_count += 1
        return 0

    cdef int acquire(
        self, ThreadRow *thread, uint32_t number, uint32_t lock, uint32_t site, uint64_t event, bint is_loop
    ) except -1:
        cdef bint is_new = thread.held_count and not is_loop and self.is_new_wait(thread, number, lock)
        self.hold(thread, lock, site, event, is_loop)
        if is_new:
            self.wait(thread, number)
        return 0

    cdef int hold(self, ThreadRow *thread, uint32_t lock, uint32_t site, uint64_t event, bint is_loop) except -1:
        cdef uint64_t chain = thread.held[thread.held_count - 1].chain if thread.held_count else 1
        ensure_room(<void **> &thread.held, &thread.held_room, thread.held_count + 1, sizeof(Held))
        thread.serial += 1
        thread.held[thread.held_count] = Held(
            lock, site, event, <uint32_t> thread.step_count, thread.serial, thread.accesses, 0, mixed(chain, lock),
            True, is_loop
        )
        thread.held_count += 1
        return self.add(thread, ACQUIRE, lock, 0, 0, event)

    # ---- locks that are taken while others are held

    cdef bint is_new_wait(self, ThreadRow *thread, uint32_t number, uint32_t lock) except -1:
        """Whether the thread did not take it in this period with these locks held."""
        cdef uint64_t key = mixed(mixed(thread.held[thread.held_count - 1].chain, lock), mixed(number, thread.period))
        if found(&self.waits_seen, key) != NOT_FOUND:
            return False
        if not put(&self.waits_seen, key, 1):
            out_of_memory()
        return True

    cdef int wait(self, ThreadRow *thread, uint32_t number) except -1:
        """The last of the locks was taken while those before it were held."""
        cdef size_t first = thread.held_count, i
        cdef WaitRow *row
        cdef Held *held
        while first and not thread.held[first - 1].wait:
            first -= 1
        for i in range(first, thread.held_count):
            held = &thread.held[i]
            if self.wait_count >= NONE - 1:
                out_of_memory()
            ensure_room(<void **> &self.wait_rows, &self.wait_room, self.wait_count + 1, sizeof(WaitRow))
            self.wait_rows[self.wait_count] = WaitRow(
                held.lock, held.site, held.event, thread.held[i - 1].wait if i else 0, NONE, 0, held.is_loop
            )
            self.wait_count += 1
            held.wait = <uint32_t> self.wait_count
        row = &self.wait_rows[self.wait_count - 1]
        row.thread, row.period = number, thread.period
        return 0

    cdef void chain_again(self, ThreadRow *thread, size_t at) noexcept:
        """The locks from a place on stand behind other ones than before."""
        cdef size_t i
        for i in range(at, thread.held_count):
            thread.held[i].chain = mixed(thread.held[i - 1].chain if i else 1, thread.held[i].lock)
            thread.held[i].wait = 0

    cdef int tell_waits(self) except -1:
        """Call `waits` with those that may be part of a cycle of locks."""
        cdef uint8_t[::1] circular = self.circular_locks()
        cdef WaitRow *row
        cdef uint32_t before
        cdef size_t i
        for i in range(self.wait_count):
            row = &self.wait_rows[i]
            if row.thread == NONE or not circular[row.lock]:
                continue
            held = []
            before = row.before
            while before:
                held.append((
                    self.wait_rows[before - 1].lock, self.wait_rows[before - 1].event, self.wait_rows[before - 1].site
                ))
                before = self.wait_rows[before - 1].before
            self.waits(row.thread, row.period, held[::-1], row.lock, row.event, row.site)
        return 0

    cdef uint8_t[::1] circular_locks(self):
        """By lock: 1 if it can be part of a cycle: what is before all others, or behind them, is taken away in turn.

        A lock was taken before each that was taken while it was held: either at once, or before one that was.
        """
        cdef uint8_t[::1] circular = np.ones(self.most_locks + 1, np.uint8)
        cdef uint32_t[::1] froms, tos, ends
        cdef size_t edges = 0, direction
        froms, tos = np.empty(2 * self.wait_count + 1, np.uint32), np.empty(2 * self.wait_count + 1, np.uint32)
        cdef WaitRow *row
        cdef uint32_t before
        cdef size_t i
        for i in range(self.wait_count):
            row = &self.wait_rows[i]
            before = row.before
            while row.thread != NONE and before:
                if edges >= <size_t> froms.shape[0]:
                    froms, tos = np.resize(froms, 2 * edges), np.resize(tos, 2 * edges)
                froms[edges], tos[edges] = self.wait_rows[before - 1].lock, row.lock
                edges += 1
                # nobody waits for a loop: what was held around it leads on by itself
                before = self.wait_rows[before - 1].before if self.wait_rows[before - 1].is_loop else 0
        for direction in range(2):
            without_first(circular, froms[:edges], tos[:edges])
            froms, tos = tos, froms
        return circular

    cdef int release(self, ThreadRow *thread, uint32_t lock, uint64_t event) except -1:
        cdef size_t at = thread.held_count, i
        cdef Held block
        cdef bint is_innermost
        while at and thread.held[at - 1].lock != lock:
            at -= 1
        if not at:
            return 0
        at -= 1
        block, is_innermost = thread.held[at], at + 1 == thread.held_count
        for i in range(at, thread.held_count - 1):
            thread.held[i] = thread.held[i + 1]
            thread.held[i].is_closed = False
        thread.held_count -= 1
        self.chain_again(thread, at)
        self.is_nested = self.is_nested and is_innermost
        self.add(thread, RELEASE, lock, 0, 0, event)
        if is_innermost and block.is_closed:
            # An outermost block without accesses holds nobody up for good: what others do in a block of the same lock
            # can come before it or after it as a whole. Inside another block that is so only if no deadlock can happen.
            if (block.accesses == thread.accesses and not thread.held_count) or not self.is_new(
                thread, self.hashed(thread, block.start)
            ):
                thread.step_count = block.start
                thread.accesses = block.accesses
        return 0

    cdef uint64_t hashed(self, ThreadRow *thread, size_t start) noexcept:
        cdef uint64_t found_hash = 1
        cdef StepRow *step
        cdef size_t i
        for i in range(start, thread.step_count):
            step = &thread.steps[i]
            found_hash = mixed(mixed(found_hash, step.what if self.is_recorded else step.what & 0xFF), step.target)
            found_hash = mixed(found_hash, step.inside)
            if self.is_recorded:
                found_hash = mixed(found_hash, step.site)
        return found_hash

    # ---- the end of a unit

    cdef int close(self, ThreadRow *thread, uint32_t number) except -1:
        """The unit of a thread ends. If it is still busy, what follows is another one, with the locks that are held."""
        cdef size_t i, held_count = thread.held_count
        cdef bint is_busy = thread.is_inside or held_count
        if thread.accesses:
            for i in range(held_count, 0, -1):
                # to others they are released where the unit ends
                self.add(thread, RELEASE, thread.held[i - 1].lock, 0, 0, thread.events[thread.step_count - 1])
            self.unit(thread, number)
        if thread.step_count or thread.serial:
            thread.step_count, thread.accesses, thread.serial, thread.held_count = 0, 0, 0, 0
            forget_all(&thread.alike)
            for i in range(held_count):
                self.hold(
                    thread, thread.held[i].lock, thread.held[i].site, thread.held[i].event, thread.held[i].is_loop
                )
        thread.first, thread.ordered = thread.period, 0
        if not is_busy:
            thread.transaction, thread.region_count = 0, 0
        return 0

    cdef int unit(self, ThreadRow *thread, uint32_t number) except -1:
        cdef uint32_t locations = 0, locks = 0, shape, known, form
        cdef size_t i, size
        cdef uint64_t hash_value
        self.units += 1
        size = 1 + thread.region_count + 4 * thread.step_count
        ensure_room(<void **> &self.key, &self.key_room, size, sizeof(uint32_t))
        ensure_room(<void **> &self.used, &self.used_room, 2 * thread.step_count, sizeof(uint32_t))
        self.rename(thread, &locations, &locks)
        form = self.form(size, locations, locks)
        # the locks stand behind the last of the locations
        hash_value = form
        for i in range(locations):
            hash_value = mixed(hash_value, self.used[i])
        for i in range(locks):
            self.used[locations + i] = self.used[thread.step_count + i]
            hash_value = mixed(hash_value, self.used[locations + i])
        shape = self.shape(form, hash_value, locations + locks)
        self.shapes[shape].count += 1
        known = self.last_by(shape, number)
        if (
            known == NOT_FOUND
            or self.occurrences[known].first != thread.first
            or self.occurrences[known].last != thread.last
        ):
            self.occur(thread, number, shape)
        elif not self.occurrences[known].again:
            self.occurrences[known].again = self.keep_events(thread) + 1
            self.occurrences[known].transaction_again = thread.transaction
        if self.executed is not None:
            self.executed(
                number, shape, thread.first, thread.last, thread.transaction,
                tuple([thread.events[i] for i in range(thread.step_count)]),
            )
        return 0

    cdef uint32_t last_by(self, uint32_t shape, uint32_t number) noexcept:
        """The last occurrence of a shape by a thread, or NOT_FOUND. The first one of a shape is in no table."""
        cdef uint32_t first = self.shapes[shape].first, known
        if not first:
            return NOT_FOUND
        known = found(&self.last_of, <uint64_t> shape << 32 | number)
        if known == NOT_FOUND and self.occurrences[first - 1].thread == number:
            return first - 1
        return known

    cdef int rename(self, ThreadRow *thread, uint32_t *locations, uint32_t *locks) except -1:
        """Write the key of the form; and what it is about: locations from the beginning of `used`, locks from behind."""
        cdef uint32_t *key = self.key
        cdef StepRow *step
        cdef uint32_t slot
        cdef size_t i
        self.mark += 1
        key[0] = <uint32_t> thread.region_count
        memcpy(key + 1, thread.regions, thread.region_count * sizeof(uint32_t))
        key += 1 + thread.region_count
        for i in range(thread.step_count):
            step = &thread.steps[i]
            if step.what & 0xFF <= WRITE:
                if self.location_mark[step.target] != self.mark:
                    self.location_mark[step.target], self.location_slot[step.target] = self.mark, locations[0]
                    self.used[locations[0]] = step.target
                    locations[0] += 1
                slot = self.location_slot[step.target]
            else:
                if self.lock_mark[step.target] != self.mark:
                    self.lock_mark[step.target], self.lock_slot[step.target] = self.mark, locks[0]
                    self.used[thread.step_count + locks[0]] = step.target
                    locks[0] += 1
                slot = self.lock_slot[step.target]
            key[0], key[1], key[2], key[3] = step.what, slot, step.site, step.inside
            key += 4
        return 0

    cdef uint32_t form(self, size_t size, uint32_t locations, uint32_t locks) except? NONE:
        """The number of the form of the key."""
        cdef uint64_t hash_value = size
        cdef uint32_t number
        cdef FormRow *row
        cdef size_t i
        for i in range(0, size - 1, 2):
            hash_value = mixed(hash_value, <uint64_t> self.key[i] << 32 | self.key[i + 1])
        if size % 2:
            hash_value = mixed(hash_value, self.key[size - 1])
        while True:
            number = found(&self.form_of, hash_value)
            if number == NOT_FOUND:
                break
            row = &self.forms[number]
            if row.size == size and not memcmp(self.words + row.words, self.key, size * sizeof(uint32_t)):
                return number
            hash_value += 1
        number = self.form_count
        if not put(&self.form_of, hash_value, number):
            out_of_memory()
        ensure_room(<void **> &self.forms, &self.form_room, <size_t> number + 1, sizeof(FormRow))
        ensure_room(<void **> &self.words, &self.word_room, self.word_count + size, sizeof(uint32_t))
        ensure_room(<void **> &self.uses, &self.use_room, self.use_count + locations + locks, sizeof(uint8_t))
        memcpy(self.words + self.word_count, self.key, size * sizeof(uint32_t))
        self.forms[number] = FormRow(self.word_count, <uint32_t> size, locations, locations + locks, 0, self.use_count)
        self.word_count += size
        self.use_count += locations + locks
        self.form_count += 1
        self.use(&self.forms[number])
        return number

    cdef int use(self, FormRow *form) except -1:
        """Note what is done to the slots of a new form."""
        cdef uint32_t *key = self.words + form.words
        cdef uint8_t *uses = self.uses + form.uses
        cdef uint32_t steps = (form.size - 1 - key[0]) // 4, accesses = 0, done = 0, i
        cdef uint32_t what, slot
        key += 1 + key[0]
        ensure_room(<void **> &self.used_since, &self.used_since_room, form.slots + 1, sizeof(uint32_t))
        for i in range(steps):
            accesses += key[4 * i] & 0xFF <= WRITE
        for i in range(steps):
            what, slot = key[4 * i] & 0xFF, key[4 * i + 1]
            form.nodes += what != RELEASE
            if what <= WRITE:
                done += 1
                uses[slot] |= WRITES if what == WRITE else READS
            elif what == ACQUIRE:
                self.used_since[slot] = done
            elif done - self.used_since[slot] == accesses:
                uses[form.locations + slot] = THROUGHOUT
        return 0

    cdef uint32_t shape(self, uint32_t form, uint64_t hash_value, size_t size) except? NONE:
        cdef uint32_t number
        cdef ShapeRow *row
        while True:
            number = found(&self.shape_of, hash_value)
            if number == NOT_FOUND:
                break
            row = &self.shapes[number]
            if row.form == form and not memcmp(self.entities + row.entities, self.used, size * sizeof(uint32_t)):
                return number
            hash_value += 1
        number = self.shape_count
        if not put(&self.shape_of, hash_value, number):
            out_of_memory()
        ensure_room(<void **> &self.shapes, &self.shape_room, <size_t> number + 1, sizeof(ShapeRow))
        ensure_room(<void **> &self.entities, &self.entity_room, self.entity_count + size, sizeof(uint32_t))
        memcpy(self.entities + self.entity_count, self.used, size * sizeof(uint32_t))
        self.shapes[number] = ShapeRow(form, 0, 0, 0, self.entity_count)
        self.entity_count += size
        self.shape_count += 1
        return number

    cdef int occur(self, ThreadRow *thread, uint32_t number, uint32_t shape) except -1:
        cdef uint32_t at = self.occurrence_count
        cdef ShapeRow *row = &self.shapes[shape]
        ensure_room(<void **> &self.occurrences, &self.occurrence_room, <size_t> at + 1, sizeof(OccurrenceRow))
        self.occurrences[at] = OccurrenceRow(
            shape, number, thread.first, thread.last, thread.transaction, 0, self.keep_events(thread), 0, 0
        )
        self.occurrence_count += 1
        if row.first:
            self.occurrences[row.last - 1].next = at + 1
            if not put(&self.last_of, <uint64_t> shape << 32 | number, at):
                out_of_memory()
        else:
            row.first = at + 1
        row.last = at + 1
        return 0

    cdef uint64_t keep_events(self, ThreadRow *thread) except? 0xFFFFFFFFFFFFFFFF:
        """Where the events of the steps are kept."""
        cdef uint64_t at = self.event_count
        ensure_room(<void **> &self.events, &self.event_room, at + thread.step_count, sizeof(uint64_t))
        memcpy(self.events + at, thread.events, thread.step_count * sizeof(uint64_t))
        self.event_count += thread.step_count
        return at

    # ---- what was found

    def stop_telling(self):
        """Do not call `executed` any more."""
        self.executed = None

    def shape_of_number(self, uint32_t number):
        """The form of a shape, how many units have it, its locations and its locks."""
        if number >= self.shape_count:
            raise IndexError(number)
        cdef ShapeRow row = self.shapes[number]
        cdef FormRow *form = &self.forms[row.form]
        cdef uint32_t i
        return (
            row.form,
            row.count,
            tuple([self.entities[row.entities + i] for i in range(form.locations)]),
            tuple([self.entities[row.entities + i] for i in range(form.locations, form.slots)]),
        )

    def form_of_number(self, uint32_t number):
        """The key of a form, and how many locations and locks it has."""
        if number >= self.form_count:
            raise IndexError(number)
        cdef FormRow *row = &self.forms[number]
        key = PyBytes_FromStringAndSize(<char *> (self.words + row.words), row.size * sizeof(uint32_t))
        return key, row.locations, row.slots - row.locations

    def form_columns(self):
        """By form: how many locations, where its slots begin, and whether it is a transaction; by slot: its uses."""
        cdef uint32_t[::1] locations = np.empty(self.form_count, np.uint32)
        cdef uint32_t[::1] starts = np.empty(self.form_count + 1, np.uint32)
        cdef uint8_t[::1] is_transaction = np.empty(self.form_count, np.uint8)
        cdef uint8_t[::1] uses = np.zeros(self.use_count + 1, np.uint8)
        cdef FormRow *row
        cdef uint32_t i
        for i in range(self.form_count):
            row = &self.forms[i]
            locations[i], starts[i] = row.locations, <uint32_t> row.uses
            is_transaction[i] = self.words[row.words] > 0
        starts[self.form_count] = <uint32_t> self.use_count
        if self.use_count:
            memcpy(&uses[0], self.uses, self.use_count)
        return np.asarray(locations), np.asarray(starts), np.asarray(is_transaction), np.asarray(uses)

    @property
    def nodes(self):
        """Of the trees of all forms, without the roots."""
        cdef uint64_t nodes = 0
        cdef uint32_t i
        for i in range(self.form_count):
            nodes += self.forms[i].nodes
        return nodes

    def occurrences_of(self, uint32_t number, size_t steps):
        """The occurrences of a shape of so many steps: thread, first and last period, transaction, events of each."""
        if number >= self.shape_count:
            raise IndexError(number)
        cdef uint32_t at = self.shapes[number].first
        cdef OccurrenceRow *row
        cdef size_t i
        rows = []
        while at:
            row = &self.occurrences[at - 1]
            events = tuple([self.events[row.events + i] for i in range(steps)])
            rows.append((row.thread, row.first, row.last, row.transaction, events))
            at = row.next
        return rows

    def occurrence_of(self, uint32_t number, size_t steps, uint32_t thread, uint32_t first, uint32_t last):
        """The occurrence of a shape of so many steps by a thread, from a period to another: one of those rows."""
        if number >= self.shape_count:
            raise IndexError(number)
        cdef uint32_t at = self.shapes[number].first
        cdef OccurrenceRow *row
        cdef size_t i
        while at:
            row = &self.occurrences[at - 1]
            if row.thread == thread and row.first == first and row.last == last:
                events = tuple([self.events[row.events + i] for i in range(steps)])
                return thread, first, last, row.transaction, events
            at = row.next
        raise LookupError(number)

    def occurrence_again(self, uint32_t number, size_t steps, uint32_t thread, uint32_t first, uint32_t last):
        """The next occurrence after that one, of the same thread and periods: transaction and events, or None."""
        if number >= self.shape_count:
            raise IndexError(number)
        cdef uint32_t at = self.shapes[number].first
        cdef OccurrenceRow *row
        cdef size_t i
        while at:
            row = &self.occurrences[at - 1]
            if row.thread == thread and row.first == first and row.last == last:
                if not row.again:
                    return None
                return row.transaction_again, tuple([self.events[row.again - 1 + i] for i in range(steps)])
            at = row.next
        return None

    def shape_columns(self):
        """By shape: its form, and where its entities begin; all entities; and the number that locks begin with."""
        cdef uint32_t[::1] forms = np.empty(self.shape_count, np.uint32)
        cdef uint64_t[::1] starts = np.empty(self.shape_count + 1, np.uint64)
        cdef uint32_t[::1] entities = np.empty(self.entity_count, np.uint32)
        cdef uint32_t offset = <uint32_t> self.location_room, i
        cdef FormRow *form
        cdef uint64_t k
        for i in range(self.shape_count):
            forms[i], starts[i] = self.shapes[i].form, self.shapes[i].entities
            form = &self.forms[self.shapes[i].form]
            for k in range(starts[i], starts[i] + form.slots):
                entities[k] = self.entities[k] + (0 if k < starts[i] + form.locations else offset)
        starts[self.shape_count] = self.entity_count
        return np.asarray(forms), np.asarray(starts), np.asarray(entities), offset

    def occurrence_columns(self):
        """By occurrence: its shape, thread, and first and last period, sorted by these; by shape: the first of them."""
        cdef uint32_t[::1] shapes = np.empty(self.occurrence_count, np.uint32)
        cdef uint32_t[::1] threads = np.empty(self.occurrence_count, np.uint32)
        cdef uint32_t[::1] firsts = np.empty(self.occurrence_count, np.uint32)
        cdef uint32_t[::1] lasts = np.empty(self.occurrence_count, np.uint32)
        cdef uint64_t[::1] starts = np.empty(self.shape_count + 1, np.uint64)
        cdef OccurrenceRow *rows = NULL
        cdef size_t room = 0, count, i
        cdef uint32_t shape, at, place = 0
        try:
            for shape in range(self.shape_count):
                starts[shape] = place
                at, count = self.shapes[shape].first, 0
                while at:
                    ensure_room(<void **> &rows, &room, count + 1, sizeof(OccurrenceRow))
                    rows[count] = self.occurrences[at - 1]
                    at = rows[count].next
                    count += 1
                if count > 1:
                    qsort(rows, count, sizeof(OccurrenceRow), compare_times)
                for i in range(count):
                    shapes[place], threads[place] = shape, rows[i].thread
                    firsts[place], lasts[place] = rows[i].first, rows[i].last
                    place += 1
        finally:
            free(rows)
        starts[self.shape_count] = place
        return np.asarray(shapes), np.asarray(threads), np.asarray(firsts), np.asarray(lasts), np.asarray(starts)


cdef int compare_times(const void *one, const void *other) noexcept nogil:
    cdef const OccurrenceRow *a = <const OccurrenceRow *> one
    cdef const OccurrenceRow *b = <const OccurrenceRow *> other
    if a.thread != b.thread:
        return -1 if a.thread < b.thread else 1
    if a.first != b.first:
        return -1 if a.first < b.first else 1
    return (a.last > b.last) - (a.last < b.last)


cdef int without_first(uint8_t[::1] kept, const uint32_t[::1] froms, const uint32_t[::1] tos) except -1:
    """Of vertices that are kept, take away in turn those to which no edge leads."""
    cdef size_t vertices = kept.shape[0], edges = froms.shape[0], i
    cdef uint32_t[::1] incoming = np.zeros(vertices, np.uint32), ready = np.empty(vertices, np.uint32)
    cdef uint32_t[::1] starts = np.zeros(vertices + 1, np.uint32), outgoing = np.empty(edges, np.uint32)
    cdef size_t done = 0, count = 0
    cdef uint32_t vertex
    for i in range(edges):
        if kept[froms[i]] and kept[tos[i]]:
            incoming[tos[i]] += 1
            starts[froms[i]] += 1
    for i in range(1, vertices + 1):
        starts[i] += starts[i - 1]
    for i in range(edges):
        if kept[froms[i]] and kept[tos[i]]:
            starts[froms[i]] -= 1
            outgoing[starts[froms[i]]] = tos[i]
    for i in range(vertices):
        if kept[i] and not incoming[i]:
            ready[count] = <uint32_t> i
            count += 1
    while done < count:
        vertex = ready[done]
        done += 1
        kept[vertex] = 0
        for i in range(starts[vertex], starts[vertex + 1]):
            incoming[outgoing[i]] -= 1
            if not incoming[outgoing[i]]:
                ready[count] = outgoing[i]
                count += 1
    return 0


cdef inline uint32_t *count_of(Counts *counts, uint64_t key) except NULL:
    cdef uint32_t *count = counted(counts, key)
    if count == NULL:
        out_of_memory()
    return count


cdef inline void end_call(ThreadRow *thread) noexcept:
    if thread.call_site != NONE:
        thread.call_site = NONE
        forget_all(&thread.called)
