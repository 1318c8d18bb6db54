# cython: language_level=3, freethreading_compatible=True
"""The resolver: from the raw log to events. Addresses become numbers that are never used again, and what threads do
with locks, queues and the like becomes the ten operations of a trace.

The events are well-formed, whatever the log holds: a release has its acquire, an end its begin, nothing follows a
join. A record that fits nowhere is dropped and counted.

Records go through `resolve`, which has a short way for the usual ones, and else through `step` to the part that knows
them. The parts stand in `resolver/`; each opens with its state and what always holds of it, and `State` has them all.
`take_symbols` hands out new symbols as rows of numbers, and `names.py` names them.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from atomsan.recorder.log._raw cimport *
from atomsan.recorder.log._rows cimport (
    FIELD_BY_HASH, KEY_IDENTITY, NONE, PART_ITEMS, PART_PICKED, PART_SELF, PART_STATE, NewHand, NewLocation, NewObject,
    NewPair, NewPrimitive,
)
from atomsan.trace cimport _hashing
from atomsan.trace._links cimport put_first, take_out
from atomsan.trace._memory cimport ensure_room, grown, out_of_memory, prefetch, resized
from atomsan.trace._ops cimport ACQUIRE, BEGIN, END, FORK, JOIN, POST, RELEASE, TAKE
from atomsan.trace._pools cimport NO_SLOT, Pool, give_slot, take_slot

import numpy as np

cdef struct State

include "resolver/rows.pxi"        # arrays that grow
include "resolver/addresses.pxi"   # everything that hangs on an address
include "resolver/program.pxi"     # sites, regions and names, as they were defined
include "resolver/threads.pxi"     # from fork to join
include "resolver/primitives.pxi"  # locks, queues, ...: which one is at an address
include "resolver/events.pxi"      # what comes out
include "resolver/symbols.pxi"     # what is new in it
include "resolver/wholes.pxi"      # accesses to all elements at once
include "resolver/objects.pxi"     # which object is at an address, which location a key of it is
include "resolver/naming.pxi"      # how objects and primitives were reached
include "resolver/regions.pxi"     # what is open
include "resolver/locks.pxi"       # who holds which
include "resolver/handovers.pxi"   # posts and takes
include "resolver/sifting.pxi"     # leaves out what one thread alone used

cdef struct State:
    AddressTable table
    Program program
    Threads threads
    Objects objects
    Wholes wholes
    Primitives primitives
    Nodes nodes
    Naming naming
    Symbols symbols
    Sifting sifting
    Events events
    Dropped dropped

cdef enum: AHEAD = 12
cdef enum: TAGS = 16        # room for so many: more than AHEAD, a power of two
cdef enum: COPIED = 1024    # records that are taken out of the ring at a time: as much as the nearest cache has

LOCATION_ROW = np.dtype([("key", "u8"), ("object", "u4"), ("site", "u4"), ("kind", "u4"), ("part", "u4")])
OBJECT_ROW = np.dtype([
    *(("address", "u8"), ("space", "u8"), ("type", "u4"), ("via", "u4"), ("site", "u4"), ("kind", "u4")),
    *(("is_class", "u4"), ("primitive", "u4"), ("name", "u4"), ("unused", "u4")),
])
PRIMITIVE_ROW = np.dtype([
    *(("address", "u8"), ("space", "u8"), ("name", "u4"), ("via", "u4"), ("site", "u4"), ("unused", "u4")),
])
PAIR_ROW = np.dtype([("first", "u4"), ("second", "u4")])
LATE_ROW = np.dtype([("position", "u8"), *((name, "u4") for name in ("thread", "op", "target", "site"))])
HAND_ROW = np.dtype([("number", "u8"), ("primitive", "u4"), ("what", "u4")])


cdef int resolve(State *s, const RawRecord *records, size_t count) except -1 nogil:
    """Records in their order. What the next ones look up is prefetched meanwhile."""
    cdef size_t i
    cdef const RawRecord *r
    cdef const RawRecord *later
    cdef uint32_t tags[TAGS]   # of the records up to AHEAD, so that each is hashed once
    cdef uint32_t tag, found
    cdef Thread *t
    for i in range(min(count, <size_t> AHEAD)):
        tags[i] = tag_of(records[i].object, records[i].key_kind, records[i].key)
    for i in range(count):
        tag = tags[i % TAGS]
        if i + AHEAD < count:
            later = records + i + AHEAD
            found = tag_of(later.object, later.key_kind, later.key)
            tags[(i + AHEAD) % TAGS] = found
            prefetch(s.table.slots.entries + home_of(&s.table, found))
            # its slot is there by now, so that the entry it names can follow
            found = s.table.slots.entries[home_of(&s.table, tags[(i + AHEAD // 2) % TAGS])].entry
            prefetch(s.table.entries + found)
        r = records + i
        if r.thread < s.threads.room and s.threads.rows[r.thread].is_usual:
            t = s.threads.rows + r.thread
            if r.op <= RAW_WRITE:
                if accesses_as_usual(s, r, t, tag):
                    continue
            elif r.op == RAW_BEGIN:
                if begins_as_usual(s, r, t):
                    continue
            elif r.op == RAW_END:
                if ends_as_usual(s, r, t):
                    continue
        step(s, r)
    return 0


cdef inline int accesses_as_usual(State *s, const RawRecord *r, Thread *t, uint32_t tag) except -1 nogil:
    """What `access` does if location and site were met before. 0: it is not that."""
    cdef uint32_t found, location, site = r.site
    if (r.flags & FLAG_AUGMENTED and t.atomics == 0) or <uint8_t> (r.key_kind - 1) >= KEY_OBJECT - 1:
        return 0
    found = find_tagged(&s.table, tag, r.object, r.key_kind, r.key)
    if not found:
        return 0
    if site == 0:
        touch(s, r, found)
        put(&s.events, t.symbol, r.op, used_by(&s.table, found, r.thread), NONE)
        return 1
    if site >= s.program.site_count or s.program.sites[site].symbol == NONE:
        return 0
    touch(s, r, found)
    location = used_by(&s.table, found, r.thread)
    if s.program.sites[site].flags & SITE_FEEDS:
        note(s, r.thread, site, location)
    put(&s.events, t.symbol, r.op, location, s.program.sites[site].symbol)
    return 1


cdef int step(State *s, const RawRecord *r) except -1 nogil:
    """Any record."""
    if r.op == RAW_FREE:
        return free_object(s, r.object)
    if r.op == RAW_ALIAS:
        return alias(s, r)
    if r.op == RAW_SEMAPHORE or r.op == RAW_BARRIER:
        return renew(s, r)
    if r.op == RAW_CALLED:
        return called(s, r)
    if r.op == RAW_HOLDS:
        return holds(s, r)
    if (r.op > RAW_MADE and r.op != RAW_FIELD) or not is_believed(&s.threads, r.thread):
        s.dropped.strange += 1
        return 0
    return step_of_thread(s, r)


cdef int step_of_thread(State *s, const RawRecord *r) except -1 nogil:
    """A record of a thread whose number is believed."""
    cdef Thread *t
    need_thread(&s.threads, r.thread)
    t = s.threads.rows + r.thread
    if t.state >= EXITED:
        s.dropped.late += 1
        return 0
    if r.op == RAW_FIELD:
        return name_field(s, r, t)
    if t.pending_lock and r.op != RAW_WOKEN:
        acquire_pending(s, r.thread)
    if t.assignments:
        close_abandoned(s, r)
    if r.op <= RAW_WRITE:
        return access(s, r)
    if t.made or r.op == RAW_MADE:
        t.made = r.object if r.op == RAW_MADE else 0
        settle(t)
        if r.op == RAW_MADE:
            return 0
    if r.op in (RAW_BEGIN, RAW_END, RAW_BLOCK, RAW_BLOCK_END, RAW_REGION, RAW_REGION_END):
        return begin_or_end(s, r)
    if r.op == RAW_FORK or r.op == RAW_JOIN:
        return fork_or_join(s, r)
    if r.op == RAW_THREAD or r.op == RAW_ENTRY:
        t.awaits_entry = True
        return 0
    if r.op == RAW_EXIT:
        return exit_thread(s, r.thread, EXITED, r.site)
    return use_primitive(s, r, t)


cdef int access(State *s, const RawRecord *r) except -1 nogil:
    """RAW_READ, RAW_WRITE."""
    cdef uint32_t location = NONE, site, region = NONE
    cdef Thread *t = s.threads.rows + r.thread
    cdef RawRecord any_key
    if r.object == 0 or r.key_kind == KEY_NONE or r.key_kind > KEY_ELEMENTS:
        s.dropped.strange += 1
        return 0
    if r.key_kind == KEY_ELEMENTS and is_namespace_at(s, r.object):
        any_key = r[0]
        any_key.key_kind, any_key.key = KEY_WHOLE, 0
        r = &any_key
    if r.key_kind < KEY_ELEMENTS:
        location = location_used(s, r, t)
    site = site_symbol(s, r.site)
    if r.key_kind < KEY_ELEMENTS and site != NONE and s.program.sites[r.site].flags & SITE_FEEDS:
        note(s, r.thread, r.site, location)
    if r.flags & (FLAG_QUEUE | FLAG_STATE) and is_call(&s.program, r.type):
        site = site_symbol(s, r.type)
    if t.made:
        if location != NONE and site != NONE and r.op == RAW_WRITE and s.program.sites[r.site].flags & SITE_MAKES:
            stored(s, t.made, location)
        t.made = 0
        settle(t)
    if r.flags & FLAG_AUGMENTED and (t.atomics == 0 or t.assignments):
        region = region_of(&s.program, r.site)
    if region != NONE and r.op == RAW_READ and t.atomics == 0:
        # inside another region it would be none of its own
        open_region(s, r, BY_ASSIGNMENT, region, False, False)
    if r.key_kind == KEY_ELEMENTS:
        access_whole(s, r, site)
    else:
        emit(s, r.thread, r.op, location, site)
    if region != NONE and r.op == RAW_WRITE:
        end_assignment(s, r, region)
    return 0


cdef inline uint32_t location_used(State *s, const RawRecord *r, const Thread *t) except? 0xFFFFFFFF nogil:
    """The location of an access, which is being made."""
    cdef uint32_t found = 0
    if r.key_kind != KEY_OBJECT:
        found = find(&s.table, r.object, r.key_kind, r.key)
    if not found:
        return location_of(s, r, t)
    touch(s, r, found)
    return used_by(&s.table, found, r.thread)


cdef void mark_clue(uint8_t[::1] marks, const uint32_t[::1] dead, uint32_t location) noexcept:
    cdef Py_ssize_t low = 0, high = dead.shape[0] - 1, middle
    if location < dead[0] or location > dead[high]:
        return
    while low < high:
        middle = (low + high) // 2
        if dead[middle] < location:
            low = middle + 1
        else:
            high = middle
    if dead[low] == location:
        marks[low] = True


cdef class Resolver:
    """Resolves one trace. Definitions are given before the records that use them."""

    cdef State state
    cdef RawRecord *copied        # those that are being resolved

    cdef readonly uint64_t records
    """Records that came in."""

    def __cinit__(self, *, bint sifts=False):
        """With `sifts`, `sift` is going to be called before each `take`."""
        self.copied = <RawRecord *> resized(NULL, COPIED * sizeof(RawRecord))
        start_table(&self.state.table)
        self.state.threads.limit = MOST_UNDEFINED
        self.state.sifting.is_on = sifts
        self.state.naming.in_use.via = NONE
        self.state.naming.read_thread = NOBODY

    def __dealloc__(self):
        free(self.copied)
        free_table(&self.state.table)
        free_program(&self.state.program)
        free_threads(&self.state.threads)
        free_objects(&self.state.objects)
        free_wholes(&self.state.wholes)
        free(self.state.primitives.rows)
        free(self.state.nodes.rows)
        free_symbols(&self.state.symbols)
        free_sifting(&self.state.sifting)
        free_events(&self.state.events)

    @property
    def late(self):
        """Records of threads that had ended: dropped."""
        return self.state.dropped.late

    @property
    def strange(self):
        """Records that made no sense: dropped."""
        return self.state.dropped.strange

    @property
    def unmatched(self):
        """Ends, releases and takes of what was not open: dropped."""
        return self.state.dropped.unmatched

    @property
    def unknown_conflicts(self):
        """Accesses to elements that may conflict with an access to many of them that is not remembered any more."""
        return self.state.wholes.unknown

    @property
    def early_loops(self):
        """Stores to elements that a long loop had read at once, perhaps before it got there."""
        return self.state.wholes.early

    # Definitions

    def define_region(
        self,
        uint32_t label,
        uint32_t outer_label,
        uint32_t back_label,
        uint32_t resumed_label,
        *,
        bint is_function,
        bint is_trampoline,
        bint is_outer,
        bint is_statement,
    ):
        """One more region, with its labels: as it is, as an entry function, called back, and resumed; returns its number."""
        cdef uint8_t flags = (
            is_function * REGION_FUNCTION | is_trampoline * REGION_TRAMPOLINE
            | is_outer * REGION_OUTER | is_statement * REGION_STATEMENT
        )
        return add_region(&self.state.program, Region(label, outer_label, back_label, resumed_label, flags))

    def define_annotated(self, size_t number, uint32_t region):
        """An annotated region by its raw number. `region`: what `define_region` gave."""
        add_annotated(&self.state.program, number, region)

    def define_site(
        self, size_t number, uint32_t same_as, region, uint32_t function, uint32_t fed_by, bint is_statement
    ):
        """A site by its raw number. `region`: what begins or ends there, or None. `fed_by`: a site, or 0."""
        cdef Site site
        site.symbol = NONE
        site.same_as = self.first_of(same_as, <uint32_t> number)
        site.region = NONE if region is None or region >= self.state.program.region_count else region
        site.function, site.fed_by, site.flags = function, fed_by, is_statement * SITE_STATEMENT
        add_site(&self.state.program, number, site)

    def define_call(self, size_t number, uint32_t same_as):
        """The site of a call by its raw number. `same_as`: the first site of a call that looks like this one."""
        cdef uint32_t first = self.first_of(same_as, <uint32_t> number)
        add_site(&self.state.program, number, Site(NONE, first, NONE, NONE, 0, SITE_CALL))

    cdef uint32_t first_of(self, uint32_t same_as, uint32_t number):
        """What a site is the same as: one that is known, or itself. Threads can define theirs in any order."""
        return same_as if same_as < self.state.program.site_count else number

    def define_feeding(self, size_t number):
        """What is read at this site is what another site is about."""
        if number < self.state.program.site_count:
            self.state.program.sites[number].flags |= SITE_FEEDS

    def define_use(self, size_t number, str how):
        """A site at which a primitive is entered ("enters"), made ("makes"), or read and then used ("reads")."""
        cdef uint8_t flags = {"enters": SITE_ENTERS, "makes": SITE_MAKES, "reads": SITE_FEEDS | SITE_USED}[how]
        if number < self.state.program.site_count:
            self.state.program.sites[number].flags |= flags

    def define_name(self, size_t number, uint64_t hash):
        """The hash that a name has as a string key, by the name's raw number."""
        add_name(&self.state.program, number, hash)

    def define_thread(self, size_t number):
        """There is going to be a thread of this raw number."""
        if number < MOST_NUMBERS:
            self.state.threads.limit = max(self.state.threads.limit, number + MOST_UNDEFINED)

    def define_namespace(self, uint64_t address):
        """The object at this address, now or soon, is a namespace: a string key of it is a field."""
        add_namespace(&self.state, address)

    def take_over(self, Resolver other):
        """Take over the definitions of another resolver, which is not to be fed any more."""
        cdef Rows *namespaces = &other.state.objects.namespaces
        cdef size_t i
        take_over_program(&self.state.program, &other.state.program)
        take_over_threads(&self.state.threads, &other.state.threads)
        for i in range(namespaces.count):
            add_namespace(&self.state, (<uint64_t *> namespaces.rows)[i])

    # The log

    def feed(self, const uint8_t[::1] raw):
        """Take records, in the layout of `_raw.h`. Bytes that make no whole record at the end are ignored."""
        cdef size_t count = raw.shape[0] // sizeof(RawRecord), start = 0, some
        with nogil:
            while start < count:
                # The program can write to its ring at any time, and what was looked at once must stay what it was.
                some = min(count - start, <size_t> COPIED)
                memcpy(self.copied, &raw[start * sizeof(RawRecord)], some * sizeof(RawRecord))
                resolve(&self.state, self.copied, some)
                start += some
        self.records += count

    def finish(self):
        """No more records come: acquires that were held back are let go."""
        cdef size_t i
        for i in range(self.state.threads.room):
            if self.state.threads.rows[i].pending_lock:
                acquire_pending(&self.state, i)

    # The trace

    @property
    def waiting_events(self):
        """How many events `take` would give."""
        return self.state.events.count

    @property
    def waiting_holds(self):
        """How many holders of objects `take_symbols` would give."""
        return self.state.symbols.new_holds.count

    def sift(self):
        """Leave out what came since the last time of objects that have died, and that one thread alone had used."""
        with nogil:
            sift_events(&self.state)

    def take(self):
        """(thread, op, target, site): the events since the last time, in columns."""
        with nogil:
            fill_points(&self.state)
        self.state.wholes.given += self.state.events.count
        return taken_events(&self.state.events)

    def take_insertions(self):
        """Events that belong between those that were taken before, as rows, by the position that they stand before."""
        return taken_rows(&self.state.wholes.late, LATE_ROW)

    def take_dead(self):
        """The numbers of objects and of locations that died since the last time, these in order: none comes again."""
        number = np.dtype(np.uint32)
        locations = taken_rows(&self.state.objects.dead_locations, number)
        locations.sort()
        if len(locations):
            # two keys of an object can be one location
            locations = locations[np.append(True, locations[1:] != locations[:-1])]
        return taken_rows(&self.state.objects.dead, number), locations

    def are_clues(self, const uint32_t[::1] dead):
        """Of dead locations, in ascending order: whether what is new can still be named after them."""
        cdef Threads *threads = &self.state.threads
        cdef Primitives *primitives = &self.state.primitives
        cdef size_t i, k
        found = np.zeros(dead.shape[0], np.bool_)
        cdef uint8_t[::1] marks = found.view(np.uint8)
        if not dead.shape[0]:
            return found
        mark_clue(marks, dead, self.state.naming.in_use.via)
        for i in range(threads.room):
            for k in range(<size_t> RECENT):
                if threads.rows[i].recent[k].site:
                    mark_clue(marks, dead, threads.rows[i].recent[k].location)
        for i in range(primitives.pool.used):
            mark_clue(marks, dead, primitives.rows[i].via)
        return found

    def take_symbols(self):
        """What is new in each table since the last time, as rows of numbers."""
        cdef Symbols *symbols = &self.state.symbols
        number = np.dtype(np.uint32)
        return {
            "objects": taken_rows(&symbols.new_objects, OBJECT_ROW),
            "locations": taken_rows(&symbols.new_locations, LOCATION_ROW),
            "primitives": taken_rows(&symbols.new_primitives, PRIMITIVE_ROW),
            "locks": taken_rows(&symbols.new_locks, PAIR_ROW),
            "handovers": taken_rows(&symbols.new_hands, HAND_ROW),
            "threads": taken_rows(&symbols.new_threads, number),
            "regions": taken_rows(&symbols.new_regions, number),
            "sites": taken_rows(&symbols.new_sites, PAIR_ROW),
            "holds": taken_rows(&symbols.new_holds, PAIR_ROW),
        }

    def memory(self):
        """About how many bytes hang on what is alive."""
        return (
            (self.state.table.slots.mask + 1) * sizeof(Slot)
            + self.state.table.pool.room * sizeof(Entry)
            + self.state.objects.pool.room * sizeof(Object)
            + self.state.primitives.pool.room * sizeof(Primitive)
            + self.state.nodes.pool.room * sizeof(Node)
            + self.state.threads.room * sizeof(Thread)
            + self.state.wholes.pool.room * sizeof(Whole)
            + self.state.wholes.element_pool.room * sizeof(Element)
            + self.state.wholes.points.room
        )
