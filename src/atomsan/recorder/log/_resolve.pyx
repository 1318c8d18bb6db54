# cython: language_level=3, freethreading_compatible=True
"""From the raw log to events: addresses become numbers that are never used again, locks and queues the ten operations.

Whatever comes in, what goes out is well-formed: a release has its acquire, an end its begin, nothing follows a join. A
record that fits nowhere is dropped and counted.

One hash table holds everything that hangs on an address, keyed by (address, kind, key): which location a key of an
object is, the object itself, the items of a queue. Each object has a list of its entries, so that its death takes
them all away and memory follows the objects that are alive. The usual access is one look-up, and the next ones are
prefetched meanwhile.

What is new since the last `take` (locations, objects, locks, ...) is handed out as rows of numbers; `resolving.py` has
the names.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from atomsan.recorder.log._raw cimport *
from atomsan.trace._memory cimport grown, resized
from atomsan.trace._ops cimport ACQUIRE, BEGIN, END, FORK, JOIN, POST, RELEASE, TAKE

import numpy as np

cdef extern from * nogil:
    """
    #include <stdint.h>

    typedef struct {
        uint64_t address, key;
        uint32_t value;
        uint32_t next, prev;   /* in the list of its object, plus 1; 0: none */
        uint8_t kind;
        uint16_t thread;       /* of a location: the only one that used it, or SHARED */
    } atomsan_entry;

    /* The upper half of the hash, which also numbers the home slot; and the entry, plus 1. */
    typedef struct { uint32_t tag, entry; } atomsan_slot;

    static inline uint64_t atomsan_raw_hash(uint64_t address, uint32_t kind, uint64_t key) {
        uint64_t h = (address + kind) * UINT64_C(0x9E3779B97F4A7C15) + key * UINT64_C(0xD6E8FEB86659FD93);
        h = (h ^ h >> 32) * UINT64_C(0xA0761D6478BD642F);
        return h ^ h >> 29;
    }

    static inline uint32_t atomsan_raw_tag(uint64_t address, uint32_t kind, uint64_t key) {
        return (uint32_t)(atomsan_raw_hash(address, kind, key) >> 32);
    }

    /* At most half full, so a probe ends. The entry plus 1, or 0. */
    static inline uint32_t atomsan_raw_find(
            const atomsan_slot *slots, int bits, const atomsan_entry *entries, uint32_t tag,
            uint64_t address, uint32_t kind, uint64_t key) {
        uint32_t mask = (uint32_t)((UINT64_C(1) << bits) - 1);
        for (uint32_t i = tag >> (32 - bits);; i = (i + 1) & mask) {
            uint32_t found = slots[i].entry;
            if (!found) return 0;
            if (slots[i].tag == tag) {
                const atomsan_entry *entry = entries + found - 1;
                if (entry->address == address && entry->key == key && entry->kind == kind) return found;
            }
        }
    }
    #define ATOMSAN_RAW_PREFETCH(p) __builtin_prefetch(p)

    /* What a producer in another process or thread writes, and what it reads. */
    static inline uint64_t atomsan_load(const volatile uint64_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
    static inline void atomsan_store(volatile uint64_t *p, uint64_t v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
    """
    ctypedef struct Entry "atomsan_entry":
        uint64_t address
        uint64_t key
        uint32_t value
        uint32_t next
        uint32_t prev
        uint8_t kind
        uint16_t thread
    ctypedef struct Slot "atomsan_slot":
        uint32_t tag
        uint32_t entry
    uint64_t raw_hash "atomsan_raw_hash"(uint64_t address, uint32_t kind, uint64_t key)
    uint32_t raw_tag "atomsan_raw_tag"(uint64_t address, uint32_t kind, uint64_t key)
    uint32_t raw_find "atomsan_raw_find"(
        const Slot *slots, int bits, const Entry *entries, uint32_t tag, uint64_t address, uint32_t kind, uint64_t key)
    void prefetch "ATOMSAN_RAW_PREFETCH"(const void *p)
    uint64_t load "atomsan_load"(const uint64_t *p)
    void store "atomsan_store"(uint64_t *p, uint64_t value)

cdef enum: NONE = 0xFFFFFFFF
cdef enum: NOBODY = 0xFFFFFFFF
cdef enum: AHEAD = 12
cdef enum: TAGS = 16        # room for so many: more than AHEAD, a power of two
cdef enum: COPIED = 1024    # records that are taken out of the ring at a time: as much as the nearest cache has
cdef enum: SHARED = 0xFFFF
cdef enum: HELD_BITS = 12

# Kinds of entries beside those of keys.
cdef enum:
    AN_OBJECT = 16        # value: its row
    FIELD_BY_HASH = 17    # of a namespace; key: the hash of the name
    KEY_IDENTITY = 18     # key: the serial of the object that is the key
    AN_ITEM = 19          # of a queue; value: the last of a circle of nodes
    A_NAMESPACE = 20      # the object at this address is one; in no list

# How a thread stands.
cdef enum:
    UNSEEN
    FORKED
    RUNNING
    EXITED
    JOINED

# What opened a region.
cdef enum:
    BY_PLAN
    BY_ASSIGNMENT
    BY_BLOCK
    BY_ANNOTATION

cdef enum:
    REGION_FUNCTION = 1
    REGION_HAS_LOOPS = 2
    REGION_TRAMPOLINE = 4
    REGION_OUTER = 8

cdef enum:
    SITE_FEEDS = 1        # another site is about the container that is read here
    SITE_STATEMENT = 2    # it cannot stand inside the right side of an assignment
    SITE_ENTERS = 4       # what another site read is a primitive that is entered or awaited here
    SITE_MAKES = 16       # what is stored here is a primitive that was made for it
    SITE_USED = 8         # what is read here may be a primitive, of which a method is called next

# What a hand-over is of, for its name.
cdef enum:
    HAND_OF_OBJECT
    HAND_OF_START
    HAND_OF_ITEM
    HAND_OF_PERMIT
    HAND_OF_PHASE
    HAND_OF_LOCK
    HAND_OF_NOTHING       # and from here on: this and OF_...

# What orders a primitive's users.
cdef enum:
    AS_LOCK
    AS_HANDED_LOCK        # somebody else than its holder released it once
    AS_PERMITS

cdef struct Object:
    uint64_t address
    uint64_t serial       # never used again; 0: the row is free
    uint64_t owner_serial
    uint32_t owner        # the row of the object whose namespace this is, if its serial is still that
    uint32_t number       # for its name; NONE: it has none yet
    uint32_t type
    uint32_t entries      # the first of its list, plus 1
    uint32_t primitive
    uint8_t is_namespace
    uint8_t is_key        # of another object
    uint8_t is_holder     # of another object, by a field that an atomic set goes through

cdef struct Primitive:
    uint64_t acquires
    uint64_t releases
    uint64_t permits
    uint64_t front        # which release the first of `posts` is
    uint64_t named        # hand-overs that have a number in their name
    uint64_t space        # the namespace of the global that it is the value of; 0: none
    uint32_t name         # and its name
    uint32_t via          # the location that it was stored in when it was made, or NONE
    uint32_t number       # for its name; NONE: it has none yet
    uint32_t lock         # symbol
    uint32_t hand         # symbol of its one hand-over
    uint32_t start        # the same, for a future's start
    uint32_t nothing      # the same, for waits that ran out
    uint32_t room         # the same, for puts that had to wait for room
    uint32_t holder
    uint32_t depth
    uint32_t pending      # the thread whose acquire waits for RAW_WOKEN
    uint32_t last_post    # AS_HANDED_LOCK: what the next acquire takes
    uint32_t posts        # AS_PERMITS: the releases that nobody took yet, a circle of nodes
    uint32_t parties
    uint32_t arrivals
    uint32_t phase        # symbol of the hand-over of this phase of a barrier
    uint32_t waiting      # who arrived and did not depart: a circle of nodes
    uint8_t mode
    uint8_t departed
    uint8_t is_loop
    uint8_t is_semaphore

cdef struct Node:
    uint32_t value
    uint32_t thread
    uint32_t next

cdef struct Open:
    uint32_t symbol
    uint32_t region
    uint32_t site
    uint8_t opened
    uint8_t is_function
    uint8_t is_trampoline
    uint8_t may_be_atomic # not one of those that are atomic only if a specification says so

cdef struct Recent:
    uint32_t site
    uint32_t location

cdef struct Thread:
    Open *open            # innermost last
    uint64_t wait_lock    # Condition.wait: the lock that is acquired again; 0: none
    uint64_t pending_lock # its acquire came, and waits for RAW_WOKEN; 0: none
    uint64_t made         # the primitive that it made in the last step; 0: none
    uint64_t block        # the lock of the `with` block that it entered last
    uint32_t block_site
    uint32_t pending_count
    uint32_t pending_site
    uint32_t symbol
    uint32_t depth
    uint32_t room
    uint32_t assignments  # open regions of augmented assignments
    uint32_t trampolines  # open entry functions that stood aside
    uint32_t atomics      # open regions that may be atomic
    uint8_t state
    uint8_t is_usual      # running, and nothing about it needs a second look
    uint8_t awaits_entry
    uint8_t recent_at
    uint8_t is_noted      # among `recent_threads`
    uint8_t is_met        # among `met_threads`
    Recent recent[8]      # what was read last at sites that feed others

cdef struct Site:
    uint32_t symbol       # NONE: not in the trace yet
    uint32_t same_as      # the first site that looks like this one to people
    uint32_t region
    uint32_t function
    uint32_t fed_by       # site; 0: none
    uint8_t flags

cdef struct Region:
    uint32_t label        # what it is called: a number that `resolving.py` knows
    uint32_t outer_label  # the same for an entry function
    uint32_t back_label   # and for one that is called back
    uint8_t flags

cdef struct NewLocation:
    uint64_t key
    uint32_t object
    uint32_t site
    uint32_t kind
    uint32_t is_queue     # the structure of one

cdef struct NewObject:
    uint64_t address
    uint64_t space        # the namespace of the global that it is the value of; 0: none
    uint32_t type
    uint32_t via          # location that it was reached through, or NONE
    uint32_t site
    uint32_t kind         # of the key that it was first used with
    uint32_t is_class
    uint32_t is_queue
    uint32_t name         # of that global
    uint32_t nothing

cdef struct NewPrimitive:
    uint64_t address
    uint64_t space        # as in NewObject
    uint32_t name
    uint32_t via          # location that it was reached through, or NONE
    uint32_t site         # where it was first used
    uint32_t nothing

cdef struct NewPair:
    uint32_t first
    uint32_t second

cdef struct Held:
    uint64_t object       # both by serial
    uint64_t holder
    uint32_t name

cdef struct NewHand:
    uint64_t number
    uint32_t primitive
    uint32_t what

cdef struct Rows:
    char *rows
    size_t count
    size_t room


LOCATION_ROW = np.dtype([("key", "u8"), ("object", "u4"), ("site", "u4"), ("kind", "u4"), ("is_queue", "u4")])
OBJECT_ROW = np.dtype([
    *(("address", "u8"), ("space", "u8"), ("type", "u4"), ("via", "u4"), ("site", "u4"), ("kind", "u4")),
    *(("is_class", "u4"), ("is_queue", "u4"), ("name", "u4"), ("nothing", "u4")),
])
PRIMITIVE_ROW = np.dtype([
    *(("address", "u8"), ("space", "u8"), ("name", "u4"), ("via", "u4"), ("site", "u4"), ("nothing", "u4")),
])
PAIR_ROW = np.dtype([("first", "u4"), ("second", "u4")])
HAND_ROW = np.dtype([("number", "u8"), ("primitive", "u4"), ("what", "u4")])


cdef inline void *new_row(Rows *rows, size_t width) except NULL nogil:
    cdef size_t more
    if rows.count == rows.room:
        more = 2 * rows.room + 64
        rows.rows = <char *> resized(rows.rows, more * width)
        rows.room = more
    rows.count += 1
    return rows.rows + (rows.count - 1) * width


cdef taken_rows(Rows *rows, dtype):
    taken = np.empty(rows.count, dtype)
    cdef uint8_t[::1] view = taken.view(np.uint8)
    if rows.count:
        memcpy(&view[0], rows.rows, view.shape[0])
    rows.count = 0
    return taken


cdef class Resolver:
    """The state of one recording. Definitions are given before the records that use them."""

    cdef Slot *slots
    cdef int bits
    cdef size_t used
    cdef Rows entries             # of Entry
    cdef uint32_t free_entry      # list through `next`, plus 1
    cdef Rows objects             # of Object
    cdef uint32_t free_object     # list through `entries`, plus 1
    cdef Rows primitives          # of Primitive
    cdef uint32_t free_primitive  # list through `number`, plus 1
    cdef Rows nodes               # of Node
    cdef uint32_t free_node       # list through `next`, plus 1
    cdef uint64_t serial
    cdef Rows namespaces          # addresses
    cdef NewPrimitive in_use      # where the primitive that a record is about is used
    cdef uint32_t used_thread     # and where the read is by which `in_use.via` was found; NOBODY: none
    cdef uint32_t used_read

    cdef RawRecord *copied        # those that are being resolved
    cdef Thread *threads          # by raw number
    cdef size_t thread_room
    cdef size_t thread_limit      # numbers from here on are not believed
    cdef Site *sites              # by raw number
    cdef size_t site_count
    cdef size_t site_room
    cdef Region *regions          # by the number that `define_region` gave
    cdef size_t region_count
    cdef size_t region_room
    cdef uint32_t *label_symbols  # of regions, by label; NONE: not in the trace yet
    cdef size_t label_room
    cdef uint32_t *annotated      # by raw number: region plus 1
    cdef size_t annotated_count
    cdef uint64_t *name_hashes
    cdef size_t name_count
    # what of the tables above is not as it was defined
    cdef Rows met_threads         # raw numbers
    cdef Rows met_sites

    # symbols given out so far
    cdef uint32_t location_count
    cdef uint32_t object_count
    cdef uint32_t primitive_count
    cdef uint32_t lock_count
    cdef uint32_t hand_count
    cdef uint32_t thread_count
    cdef uint32_t region_symbols
    cdef uint32_t site_symbols
    # and those that are new
    cdef Rows new_locations
    cdef Rows new_objects
    cdef Rows new_primitives
    cdef Rows new_locks           # primitive, 1: a loop, 2: a semaphore
    cdef Rows new_hands
    cdef Rows new_threads         # raw number
    cdef Rows new_regions         # label
    cdef Rows new_sites           # raw number
    cdef Rows new_holds           # of NewPair: object, the location that holds it

    cdef Held *held               # pairs that were handed out lately, by their hash: most come again

    # what `sift` needs to know of what came since the last time
    cdef bint sifts
    cdef uint32_t location_base   # locations from here on are new
    cdef uint32_t object_base
    cdef Rows new_entries         # of NewPair: entry, location
    cdef Rows new_vias            # of NewPair: primitive, location
    cdef Rows new_numbers         # of NewPair: row, number
    cdef Rows recent_threads      # raw numbers of those that read at sites that feed others
    cdef uint8_t *dead_locations  # from the base on
    cdef size_t dead_location_room
    cdef uint8_t *dead_objects
    cdef size_t dead_object_room
    cdef size_t dead_count        # of objects

    # the events made since the last `take`
    cdef uint32_t *out_thread
    cdef uint8_t *out_op
    cdef uint32_t *out_target
    cdef uint32_t *out_site
    cdef size_t out_count
    cdef size_t out_room

    cdef readonly uint64_t records
    """Records that came in."""
    cdef readonly uint64_t late
    """Records of threads that had ended: dropped."""
    cdef readonly uint64_t strange
    """Records that made no sense: dropped."""
    cdef readonly uint64_t unmatched
    """Ends, releases and takes of what was not open: dropped."""

    def __cinit__(self, *, bint sifts=False):
        # with `sifts`, `sift` is going to be called before each `take`
        self.sifts = sifts
        self.bits = 10
        self.slots = <Slot *> grown(NULL, 0, sizeof(Slot) << self.bits)
        self.copied = <RawRecord *> resized(NULL, COPIED * sizeof(RawRecord))
        self.thread_limit = 4096
        self.in_use.via = NONE
        self.used_thread = NOBODY

    def __dealloc__(self):
        cdef size_t i
        for i in range(self.thread_room):
            free(self.threads[i].open)
        for block in (
            <size_t> self.slots, <size_t> self.copied, <size_t> self.entries.rows, <size_t> self.objects.rows,
            <size_t> self.primitives.rows, <size_t> self.nodes.rows, <size_t> self.threads, <size_t> self.sites,
            <size_t> self.regions, <size_t> self.label_symbols, <size_t> self.annotated, <size_t> self.name_hashes,
            <size_t> self.new_locations.rows, <size_t> self.new_objects.rows, <size_t> self.new_primitives.rows,
            <size_t> self.new_locks.rows, <size_t> self.new_hands.rows, <size_t> self.new_threads.rows,
            <size_t> self.new_regions.rows, <size_t> self.new_sites.rows, <size_t> self.out_thread,
            <size_t> self.out_op, <size_t> self.out_target, <size_t> self.out_site,
            <size_t> self.new_entries.rows, <size_t> self.new_numbers.rows, <size_t> self.dead_locations,
            <size_t> self.dead_objects, <size_t> self.recent_threads.rows, <size_t> self.namespaces.rows,
            <size_t> self.met_threads.rows, <size_t> self.met_sites.rows, <size_t> self.new_vias.rows,
            <size_t> self.new_holds.rows, <size_t> self.held,
        ):
            free(<void *> <size_t> block)

    # Definitions

    def define_region(
        self,
        uint32_t label,
        uint32_t outer_label,
        uint32_t back_label,
        *,
        bint is_function,
        bint has_loops,
        bint is_trampoline,
        bint is_outer,
    ):
        """One more region, with the labels it has as it is, as an entry function, and called back; returns its number."""
        cdef Region *region
        cdef uint32_t most = max(label, outer_label, back_label)
        cdef size_t room, i
        if most >= 1 << 28:
            raise ValueError("more than 268435455 labels")
        if most >= self.label_room:
            room = 2 * <size_t> most + 64
            self.label_symbols = <uint32_t *> resized(self.label_symbols, 4 * room)
            for i in range(self.label_room, room):
                self.label_symbols[i] = NONE
            self.label_room = room
        if self.region_count == self.region_room:
            self.regions = <Region *> resized(self.regions, (2 * self.region_room + 64) * sizeof(Region))
            self.region_room = 2 * self.region_room + 64
        region = self.regions + self.region_count
        region.label, region.outer_label, region.back_label = label, outer_label, back_label
        region.flags = (
            is_function * REGION_FUNCTION | has_loops * REGION_HAS_LOOPS
            | is_trampoline * REGION_TRAMPOLINE | is_outer * REGION_OUTER
        )
        self.region_count += 1
        return self.region_count - 1

    def define_annotated(self, size_t number, uint32_t region):
        cdef size_t room
        if number >= 1 << 24 or region >= self.region_count:
            return
        if number >= self.annotated_count:
            room = number + number // 2 + 16
            self.annotated = <uint32_t *> grown(self.annotated, 4 * self.annotated_count, 4 * room)
            self.annotated_count = room
        self.annotated[number] = region + 1

    def define_site(
        self, size_t number, uint32_t same_as, region, uint32_t function, uint32_t fed_by, bint is_statement
    ):
        """A site by its raw number. `region`: what begins or ends there, or None. `fed_by`: a site, or 0."""
        cdef size_t room, i
        if number >= 1 << 28:
            return
        if number >= self.site_room:
            room = number + number // 2 + 256
            self.sites = <Site *> resized(self.sites, room * sizeof(Site))
            self.site_room = room
        for i in range(self.site_count, number):
            self.sites[i] = Site(NONE, i, NONE, NONE, 0, 0)
        self.site_count = max(self.site_count, number + 1)
        self.sites[number] = Site(
            NONE,
            same_as if same_as < number else number,
            NONE if region is None or region >= self.region_count else region,
            function,
            fed_by,
            is_statement * SITE_STATEMENT,
        )

    def define_feeding(self, size_t number):
        """What is read at this site is what another site is about."""
        if number < self.site_count:
            self.sites[number].flags |= SITE_FEEDS

    def define_use(self, size_t number, str how):
        """A site at which a primitive is entered ("enters"), made ("makes"), or read and then used ("reads")."""
        if number < self.site_count:
            self.sites[number].flags |= {"enters": SITE_ENTERS, "makes": SITE_MAKES, "reads": SITE_FEEDS | SITE_USED}[how]

    def define_name(self, size_t number, uint64_t hash):
        cdef size_t room, i
        if number >= 1 << 28:
            return
        if number >= self.name_count:
            room = number + number // 2 + 256
            self.name_hashes = <uint64_t *> resized(self.name_hashes, 8 * room)
            for i in range(self.name_count, room):
                self.name_hashes[i] = raw_hash(i, FIELD_BY_HASH, i)
            self.name_count = room
        self.name_hashes[number] = hash

    def define_thread(self, size_t number):
        if number < 1 << 28:
            self.thread_limit = max(self.thread_limit, number + 4096)

    def define_namespace(self, uint64_t address):
        """The object at this address, now or soon, is a dict whose keys are names: a string key is a field."""
        cdef uint32_t found = self.find(address, AN_OBJECT, 0)
        if found:
            self.make_namespace((<Entry *> self.entries.rows)[found - 1].value)
        if not self.find(address, A_NAMESPACE, 0):
            self.insert(address, A_NAMESPACE, 0, 0, NULL)
            (<uint64_t *> new_row(&self.namespaces, 8))[0] = address

    def go_on_from(self, Resolver other):
        """Know what another one was told, which is not to be fed any more. Costs what that one met, not what it knew."""
        cdef size_t i
        cdef uint32_t number
        for i in range(other.met_sites.count):
            other.sites[(<uint32_t *> other.met_sites.rows)[i]].symbol = NONE
        for i in range(other.met_threads.count):
            number = (<uint32_t *> other.met_threads.rows)[i]
            free(other.threads[number].open)
            memset(other.threads + number, 0, sizeof(Thread))
            other.threads[number].symbol = NONE
        for i in range(other.label_room):
            other.label_symbols[i] = NONE
        for i in range(other.namespaces.count):
            self.define_namespace((<uint64_t *> other.namespaces.rows)[i])
        self.sites, self.site_count, self.site_room = other.sites, other.site_count, other.site_room
        self.regions, self.region_count, self.region_room = other.regions, other.region_count, other.region_room
        self.label_symbols, self.label_room = other.label_symbols, other.label_room
        self.annotated, self.annotated_count = other.annotated, other.annotated_count
        self.name_hashes, self.name_count = other.name_hashes, other.name_count
        self.threads, self.thread_room, self.thread_limit = other.threads, other.thread_room, other.thread_limit
        other.sites, other.regions, other.label_symbols, other.annotated = NULL, NULL, NULL, NULL
        other.name_hashes, other.threads = NULL, NULL
        other.site_count = other.site_room = other.region_count = other.region_room = other.label_room = 0
        other.annotated_count = other.name_count = other.thread_room = 0
        other.met_sites.count = other.met_threads.count = 0

    # The table

    cdef inline uint32_t find(self, uint64_t address, uint32_t kind, uint64_t key) noexcept nogil:
        cdef uint32_t tag = raw_tag(address, kind, key)
        return raw_find(self.slots, self.bits, <Entry *> self.entries.rows, tag, address, kind, key)

    cdef uint32_t insert(
        self, uint64_t address, uint8_t kind, uint64_t key, uint32_t value, Object *of
    ) except? 0xFFFFFFFF nogil:
        """An entry known to be new; returns its number plus 1."""
        cdef uint32_t number
        cdef Entry *entry
        cdef Entry *entries
        if 2 * (self.used + 1) > <size_t> 1 << self.bits:
            self.rehash()
        if self.free_entry:
            number = self.free_entry
            self.free_entry = (<Entry *> self.entries.rows)[number - 1].next
        else:
            new_row(&self.entries, sizeof(Entry))
            number = self.entries.count
        entries = <Entry *> self.entries.rows
        entry = entries + number - 1
        entry.address, entry.kind, entry.key, entry.value = address, kind, key, value
        entry.next = entry.prev = 0
        entry.thread = SHARED
        if of != NULL:
            entry.next = of.entries
            if of.entries:
                entries[of.entries - 1].prev = number
            of.entries = number
        self.place(raw_tag(address, kind, key), number)
        self.used += 1
        return number

    cdef int insert_location(
        self, uint64_t address, uint8_t kind, uint64_t key, uint32_t value, Object *of, uint32_t thread
    ) except -1 nogil:
        cdef uint32_t number = self.insert(address, kind, key, value, of)
        cdef NewPair *new
        if self.sifts:
            (<Entry *> self.entries.rows)[number - 1].thread = <uint16_t> min(thread, <uint32_t> SHARED)
            new = <NewPair *> new_row(&self.new_entries, sizeof(NewPair))
            new.first, new.second = number, value
        return 0

    cdef inline void place(self, uint32_t tag, uint32_t number) noexcept nogil:
        cdef uint32_t mask = <uint32_t> ((<uint64_t> 1 << self.bits) - 1), i = tag >> (32 - self.bits)
        while self.slots[i].entry:
            i = (i + 1) & mask
        self.slots[i].tag = tag
        self.slots[i].entry = number

    cdef int rehash(self) except -1 nogil:
        cdef Slot *old = self.slots
        cdef size_t i, count = <size_t> 1 << self.bits
        if self.bits == 31:
            with gil:
                raise MemoryError("more than a billion locations are alive")
        self.slots = <Slot *> grown(NULL, 0, sizeof(Slot) * 2 * count)
        self.bits += 1
        for i in range(count):
            if old[i].entry:
                self.place(old[i].tag, old[i].entry)
        free(old)
        return 0

    cdef void remove(self, uint32_t number, Object *of) noexcept nogil:
        """Take an entry out of the table, out of its object's list, and give its row back."""
        cdef Entry *entries = <Entry *> self.entries.rows
        cdef Entry *entry = entries + number - 1
        cdef uint32_t mask = <uint32_t> ((<uint64_t> 1 << self.bits) - 1), i, hole, home
        i = raw_tag(entry.address, entry.kind, entry.key) >> (32 - self.bits)
        while self.slots[i].entry != number:
            i = (i + 1) & mask
        # those behind it that could not have their home move up, so that no probe ends too early
        hole = i
        while True:
            i = (i + 1) & mask
            if not self.slots[i].entry:
                break
            home = self.slots[i].tag >> (32 - self.bits)
            if ((i - home) & mask) >= ((i - hole) & mask):
                self.slots[hole] = self.slots[i]
                hole = i
        self.slots[hole].entry = 0
        self.used -= 1
        if entry.prev:
            entries[entry.prev - 1].next = entry.next
        elif of != NULL:
            of.entries = entry.next
        if entry.next:
            entries[entry.next - 1].prev = entry.prev
        entry.next = self.free_entry
        self.free_entry = number

    # Objects

    cdef uint32_t object_at(self, uint64_t address) except? 0xFFFFFFFF nogil:
        """The row of the object that is at this address now."""
        cdef uint32_t found = self.find(address, AN_OBJECT, 0), row
        cdef Object *obj
        if found:
            return (<Entry *> self.entries.rows)[found - 1].value
        if self.free_object:
            row = self.free_object - 1
            self.free_object = (<Object *> self.objects.rows)[row].entries
        else:
            new_row(&self.objects, sizeof(Object))
            row = self.objects.count - 1
        obj = <Object *> self.objects.rows + row
        self.serial += 1
        obj.address, obj.serial = address, self.serial
        obj.owner = obj.number = obj.primitive = NONE
        obj.type = obj.entries = 0
        obj.is_key = obj.is_holder = False
        obj.is_namespace = self.namespaces.count != 0 and self.find(address, A_NAMESPACE, 0) != 0
        self.insert(address, AN_OBJECT, 0, row, obj)
        return row

    cdef int forget(self, uint64_t address) except -1 nogil:
        """RAW_FREE."""
        cdef uint32_t found = self.find(address, AN_OBJECT, 0), row
        cdef Object *obj
        if not found:
            return 0
        row = (<Entry *> self.entries.rows)[found - 1].value
        obj = <Object *> self.objects.rows + row
        if obj.primitive != NONE:
            self.forget_primitive(obj.primitive)
            obj = <Object *> self.objects.rows + row
        if self.sifts and obj.number != NONE and obj.number >= self.object_base:
            self.bury(obj)
        while obj.entries:
            found = obj.entries
            if (<Entry *> self.entries.rows)[found - 1].kind == AN_ITEM:
                self.free_circle((<Entry *> self.entries.rows)[found - 1].value)
            self.remove(found, obj)
        obj.serial = 0
        obj.entries = self.free_object
        self.free_object = row + 1
        return 0

    cdef int bury(self, const Object *obj) except -1 nogil:
        """An object dies. If all that is known of it is new, and one thread did it all, nobody needs to know."""
        cdef Entry *entry
        cdef uint32_t number = obj.entries, thread = SHARED
        cdef size_t room
        if obj.is_namespace or obj.is_key or obj.is_holder or obj.owner != NONE:
            return 0
        while number:
            entry = <Entry *> self.entries.rows + number - 1
            number = entry.next
            if entry.kind > KEY_WHOLE and entry.kind != KEY_IDENTITY:
                continue
            if entry.thread == SHARED or entry.value < self.location_base:
                return 0
            if thread != SHARED and thread != entry.thread:
                return 0
            thread = entry.thread
        room = self.location_count - self.location_base
        if room > self.dead_location_room:
            self.dead_locations = <uint8_t *> grown(self.dead_locations, self.dead_location_room, 2 * room)
            self.dead_location_room = 2 * room
        room = self.object_count - self.object_base
        if room > self.dead_object_room:
            self.dead_objects = <uint8_t *> grown(self.dead_objects, self.dead_object_room, 2 * room)
            self.dead_object_room = 2 * room
        number = obj.entries
        while number:
            entry = <Entry *> self.entries.rows + number - 1
            number = entry.next
            if entry.kind <= KEY_WHOLE or entry.kind == KEY_IDENTITY:
                self.dead_locations[entry.value - self.location_base] = True
        self.dead_objects[obj.number - self.object_base] = True
        self.dead_count += 1
        return 0

    cdef uint32_t numbered(
        self, uint32_t row, uint32_t via, uint32_t site, uint32_t kind, bint is_class, bint is_queue
    ) except? 0xFFFFFFFF nogil:
        """The number of an object that needs a name."""
        cdef Object *obj = <Object *> self.objects.rows + row
        cdef NewObject *new
        cdef NewPair *pair
        cdef Primitive *p
        if obj.number == NONE:
            new = <NewObject *> new_row(&self.new_objects, sizeof(NewObject))
            new.address, new.type, new.via, new.site, new.kind = obj.address, obj.type, via, site, kind
            new.is_class, new.is_queue = is_class, is_queue
            new.space = new.name = 0
            if obj.primitive != NONE:
                p = <Primitive *> self.primitives.rows + obj.primitive
                new.space, new.name = p.space, p.name
                if p.via != NONE:
                    new.via = p.via
            obj.number = self.object_count
            self.object_count += 1
            if self.sifts:
                pair = <NewPair *> new_row(&self.new_numbers, sizeof(NewPair))
                pair.first, pair.second = row, obj.number
        return obj.number

    cdef int alias(self, const RawRecord *r) except -1 nogil:
        """RAW_ALIAS. Its type is that of the object at `key`."""
        cdef uint32_t row, owner
        cdef Object *obj
        if r.object == 0 or r.key == 0:
            self.strange += 1
            return 0
        row = self.object_at(r.object)
        owner = self.object_at(r.key)
        if row != owner:
            obj = <Object *> self.objects.rows + row
            obj.owner = owner
            obj.owner_serial = (<Object *> self.objects.rows)[owner].serial
            obj = <Object *> self.objects.rows + owner
            if obj.type == 0:
                obj.type = r.type
        self.make_namespace(owner)
        return 0

    cdef int name_field(self, const RawRecord *r, const Thread *t) except -1 nogil:
        """RAW_FIELD."""
        if r.object == 0 or r.key_kind != KEY_FIELD:
            self.strange += 1
        elif not self.find(r.object, KEY_FIELD, r.key):
            self.location(r, t)
        return 0

    cdef int holds(self, const RawRecord *r) except -1 nogil:
        """RAW_HOLDS. Who held something is not sifted out: what it held may be everybody's."""
        cdef uint32_t row, holder, found
        cdef uint64_t serial
        cdef Object *obj
        cdef Held *held
        cdef NewPair *new
        if r.object == 0 or r.key == 0 or r.site == 0:
            self.strange += 1
            return 0
        found = self.find(r.key, KEY_FIELD, r.site)
        if not found:
            self.unmatched += 1   # its read was dropped
            return 0
        row = self.object_at(r.object)
        holder = self.object_at(r.key)
        obj = <Object *> self.objects.rows + row
        if r.flags & FLAG_KNOWN and obj.number == NONE:
            return 0
        if self.held == NULL:
            self.held = <Held *> grown(NULL, 0, sizeof(Held) << HELD_BITS)
        (<Object *> self.objects.rows)[holder].is_holder = True
        serial = (<Object *> self.objects.rows)[holder].serial
        held = self.held + (raw_hash(obj.serial, r.site, serial) >> (64 - HELD_BITS))
        if held.object == obj.serial and held.holder == serial and held.name == r.site:
            return 0
        held.object, held.holder, held.name = obj.serial, serial, r.site
        if obj.type == 0:
            obj.type = r.type
        new = <NewPair *> new_row(&self.new_holds, sizeof(NewPair))
        new.first = self.numbered(row, NONE, 0, KEY_FIELD, False, False)
        new.second = (<Entry *> self.entries.rows)[found - 1].value
        return 0

    cdef int make_namespace(self, uint32_t row) except -1 nogil:
        """Let the fields that are known already be found by the hashes of their names."""
        cdef Object *obj = <Object *> self.objects.rows + row
        cdef uint32_t number = obj.entries
        cdef uint64_t hash
        cdef Entry *entry
        if obj.is_namespace:
            return 0
        obj.is_namespace = True
        while number:
            entry = <Entry *> self.entries.rows + number - 1
            number = entry.next
            if entry.kind == KEY_FIELD:
                hash = self.name_hash(entry.key)
            elif entry.kind == KEY_HASH:
                hash = entry.key
            else:
                continue
            # new entries go to the front of the list, which was passed
            if not self.find(obj.address, FIELD_BY_HASH, hash):
                self.insert_location(obj.address, FIELD_BY_HASH, hash, entry.value, obj, SHARED)
        return 0

    cdef inline uint64_t name_hash(self, uint64_t number) noexcept nogil:
        return self.name_hashes[number] if number < self.name_count else raw_hash(number, FIELD_BY_HASH, number)

    cdef uint32_t location(self, const RawRecord *r, const Thread *t) except? 0xFFFFFFFF nogil:
        """The location of an access that the table does not know as it stands."""
        cdef uint32_t row = self.object_at(r.object), owner, found, value
        cdef Object *obj = <Object *> self.objects.rows + row
        cdef uint8_t kind = r.key_kind
        cdef uint64_t key = r.key, shown = 0
        cdef uint32_t via = NONE
        cdef NewLocation *new
        if obj.type == 0:
            obj.type = r.type
        owner = row
        if obj.owner != NONE:
            if (<Object *> self.objects.rows)[obj.owner].serial == obj.owner_serial:
                owner = obj.owner
            else:
                obj.owner = NONE
        if kind == KEY_STRUCTURE or kind == KEY_WHOLE:
            key = 0
        elif kind == KEY_OBJECT:
            found = self.object_at(key)
            shown = self.numbered(found, NONE, 0, KEY_FIELD, False, False)
            (<Object *> self.objects.rows)[found].is_key = True
            key = (<Object *> self.objects.rows)[found].serial
            kind = KEY_IDENTITY
        obj = <Object *> self.objects.rows + owner
        if obj.is_namespace and (kind == KEY_FIELD or kind == KEY_HASH):
            if kind == KEY_FIELD:
                key = self.name_hash(key)
            kind = FIELD_BY_HASH
        found = self.find(obj.address, kind, key)
        if found:
            value = self.used_by(found, r.thread)
        else:
            value = self.location_count
            self.insert_location(obj.address, kind, key, value, obj, r.thread)
            if owner == row:
                via = self.primitive_reached_through(r, t) if r.flags & FLAG_QUEUE else self.reached_through(r, t)
            # an object whose namespace is used is no container, though nothing else was seen of it
            self.numbered(
                owner, via, r.site, r.key_kind if owner == row else KEY_FIELD,
                owner == row and r.flags & FLAG_CLASS != 0, r.flags & FLAG_QUEUE != 0,
            )
            obj = <Object *> self.objects.rows + owner
            new = <NewLocation *> new_row(&self.new_locations, sizeof(NewLocation))
            new.object, new.site, new.is_queue = obj.number, r.site, r.flags & FLAG_QUEUE != 0
            new.kind, new.key = kind, shown if kind == KEY_IDENTITY else key
            if kind == FIELD_BY_HASH and r.key_kind == KEY_FIELD:
                new.kind, new.key = KEY_FIELD, r.key
            self.location_count += 1
            if self.location_count == NONE:
                with gil:
                    raise MemoryError("more than 4294967295 locations")
        if r.key_kind != KEY_OBJECT and not self.find(r.object, r.key_kind, r.key):
            self.insert_location(r.object, r.key_kind, r.key, value, <Object *> self.objects.rows + row, r.thread)
        return value

    cdef inline int note(self, uint32_t number, uint32_t site, uint32_t location) except -1 nogil:
        """What a thread reads may be what it uses next."""
        cdef Thread *t = self.threads + number
        t.recent[t.recent_at & 7] = Recent(site, location)
        t.recent_at += 1
        if self.sifts and not t.is_noted:
            t.is_noted = True
            (<uint32_t *> new_row(&self.recent_threads, 4))[0] = number
        return 0

    cdef inline uint32_t used_by(self, uint32_t found, uint32_t thread) noexcept nogil:
        """The location of an entry, which this thread uses."""
        cdef Entry *entry = <Entry *> self.entries.rows + found - 1
        if entry.thread != thread:
            entry.thread = SHARED
        return entry.value

    cdef uint32_t reached_through(self, const RawRecord *r, const Thread *t) noexcept nogil:
        """The location that this thread read last at the site that feeds this one."""
        cdef uint32_t fed_by, i, at
        if r.site >= self.site_count or self.sites[r.site].fed_by == 0:
            return NONE
        fed_by = self.sites[r.site].fed_by
        for i in range(8):
            at = (t.recent_at - 1 - i) & 7
            if t.recent[at].site == fed_by:
                return t.recent[at].location
        return NONE

    cdef uint32_t primitive_reached_through(self, const RawRecord *r, const Thread *t) noexcept nogil:
        """The location whose value is the primitive that a record is about, if the site says so.

        Most sites do not: a thread's site is that of the last probe it came by, which may be about something else.
        """
        cdef uint32_t flags, site, i, at
        self.used_thread = NOBODY
        if r.site >= self.site_count:
            return NONE
        flags = self.sites[r.site].flags
        if flags & SITE_USED:
            at = (t.recent_at - 1) & 7
            if t.recent[at].site != r.site:
                return NONE
            self.used_thread, self.used_read = r.thread, at
            return t.recent[at].location
        if flags & SITE_ENTERS == 0 or self.sites[r.site].fed_by == 0:
            return NONE
        site = self.sites[r.site].fed_by
        for i in range(8):
            at = (t.recent_at - 1 - i) & 7
            if t.recent[at].site == site:
                self.used_thread, self.used_read = r.thread, at
                return t.recent[at].location
        return NONE

    # Nodes: circles of which the last is known, so that both ends are at hand

    cdef uint32_t new_node(self, uint32_t value, uint32_t thread) except? 0xFFFFFFFF nogil:
        cdef uint32_t number
        if self.free_node:
            number = self.free_node - 1
            self.free_node = (<Node *> self.nodes.rows)[number].next
        else:
            new_row(&self.nodes, sizeof(Node))
            number = self.nodes.count - 1
        (<Node *> self.nodes.rows)[number] = Node(value, thread, number)
        return number

    cdef uint32_t appended(self, uint32_t last, uint32_t value, uint32_t thread) except? 0xFFFFFFFF nogil:
        """The last of a circle (NONE: an empty one) with one more."""
        cdef uint32_t number = self.new_node(value, thread)
        cdef Node *nodes = <Node *> self.nodes.rows
        if last != NONE:
            nodes[number].next = nodes[last].next
            nodes[last].next = number
        return number

    cdef uint32_t without_first(self, uint32_t last) noexcept nogil:
        """The last of a circle without its first, or NONE if nothing is left."""
        cdef Node *nodes = <Node *> self.nodes.rows
        cdef uint32_t first = nodes[last].next
        nodes[last].next = nodes[first].next
        nodes[first].next = self.free_node
        self.free_node = first + 1
        return NONE if first == last else last

    cdef void free_circle(self, uint32_t last) noexcept nogil:
        while last != NONE:
            last = self.without_first(last)

    # Symbols

    cdef inline uint32_t site_symbol(self, uint32_t number) except? 0xFFFFFFFE nogil:
        if number == 0 or number >= self.site_count:
            return NONE
        if self.sites[number].symbol == NONE:
            self.new_site(number)
        return self.sites[number].symbol

    cdef int new_site(self, uint32_t number) except -1 nogil:
        cdef uint32_t first = self.sites[number].same_as
        if self.sites[first].symbol == NONE:
            (<uint32_t *> new_row(&self.new_sites, 4))[0] = first
            self.sites[first].symbol = self.site_symbols
            self.site_symbols += 1
            (<uint32_t *> new_row(&self.met_sites, 4))[0] = first
        self.sites[number].symbol = self.sites[first].symbol
        (<uint32_t *> new_row(&self.met_sites, 4))[0] = number
        return 0

    cdef uint32_t thread_symbol(self, uint32_t number) except? 0xFFFFFFFF nogil:
        cdef Thread *t = self.threads + number
        if t.symbol == NONE:
            (<uint32_t *> new_row(&self.new_threads, 4))[0] = number
            t.symbol = self.thread_count
            self.thread_count += 1
        return t.symbol

    cdef uint32_t region_symbol(self, uint32_t number, bint as_outer, bint is_back) except? 0xFFFFFFFF nogil:
        cdef Region *region = self.regions + number
        cdef uint32_t label = region.outer_label if as_outer else region.back_label if is_back else region.label
        if self.label_symbols[label] == NONE:
            (<uint32_t *> new_row(&self.new_regions, 4))[0] = label
            self.label_symbols[label] = self.region_symbols
            self.region_symbols += 1
        return self.label_symbols[label]

    cdef Primitive *primitive_at(self, uint64_t address) except NULL nogil:
        cdef uint32_t row = self.object_at(address), number
        cdef Object *obj = <Object *> self.objects.rows + row
        cdef Primitive *p
        if obj.primitive != NONE:
            p = <Primitive *> self.primitives.rows + obj.primitive
            if address == self.in_use.address and self.used_thread != NOBODY:
                self.amend(p)
            return p
        if self.free_primitive:
            number = self.free_primitive - 1
            self.free_primitive = (<Primitive *> self.primitives.rows)[number].number
        else:
            new_row(&self.primitives, sizeof(Primitive))
            number = self.primitives.count - 1
        obj.primitive = number
        p = <Primitive *> self.primitives.rows + number
        p.acquires = p.releases = p.permits = p.front = p.named = p.space = p.name = 0
        p.via = p.number = p.lock = p.hand = p.start = p.nothing = p.room = p.holder = p.pending = NONE
        p.last_post = p.posts = p.phase = p.waiting = NONE
        p.depth = p.parties = p.arrivals = 0
        p.mode, p.departed, p.is_loop, p.is_semaphore = AS_LOCK, False, False, False
        return p

    cdef int forget_primitive(self, uint32_t number) except -1 nogil:
        cdef Primitive *p = <Primitive *> self.primitives.rows + number
        if p.pending != NONE:
            self.acquire_pending(p.pending)
            p = <Primitive *> self.primitives.rows + number
        self.free_circle(p.posts)
        self.free_circle(p.waiting)
        p.number = self.free_primitive
        self.free_primitive = number + 1
        return 0

    cdef uint32_t primitive_number(self, Primitive *p, uint64_t address) except? 0xFFFFFFFF nogil:
        cdef NewPrimitive *new
        if p.number == NONE:
            new = <NewPrimitive *> new_row(&self.new_primitives, sizeof(NewPrimitive))
            new.address, new.space, new.name, new.via, new.nothing = address, p.space, p.name, p.via, 0
            new.site = self.in_use.site if address == self.in_use.address else 0
            if p.via == NONE and address == self.in_use.address:
                new.via = self.in_use.via
            p.number = self.primitive_count
            self.primitive_count += 1
            self.read_is_used()
        return p.number

    cdef void read_is_used(self) noexcept nogil:
        """What is used at this site without another read is something else, whose user came by no other probe."""
        if self.used_thread != NOBODY:
            self.threads[self.used_thread].recent[self.used_read].site = 0
            self.used_thread = NOBODY

    cdef void amend(self, Primitive *p) noexcept nogil:
        """Another use of it: if the first did not tell what it is called, and it has no name yet, this one may."""
        cdef uint32_t first = self.primitive_count - <uint32_t> self.new_primitives.count
        cdef NewPrimitive *new
        self.read_is_used()
        if p.number != NONE and p.number >= first:
            new = <NewPrimitive *> self.new_primitives.rows + p.number - first
            if new.via == NONE:
                new.via, new.site = self.in_use.via, self.in_use.site

    cdef int stored(self, uint64_t address, uint32_t location) except -1 nogil:
        """A primitive that was made for this location."""
        cdef uint32_t row = self.object_at(address)
        cdef Primitive *p = self.primitive_at(address)
        cdef NewPair *new
        p.via = location
        if self.sifts:
            new = <NewPair *> new_row(&self.new_vias, sizeof(NewPair))
            new.first, new.second = (<Object *> self.objects.rows)[row].primitive, location
        return 0

    cdef int called(self, const RawRecord *r) except -1 nogil:
        """RAW_CALLED."""
        cdef Primitive *p
        if r.object == 0 or r.key == 0:
            self.strange += 1
            return 0
        p = self.primitive_at(r.object)
        if p.space == 0:
            p.space, p.name = r.key, r.site
        return 0

    cdef uint32_t lock_symbol(self, Primitive *p, uint64_t address) except? 0xFFFFFFFF nogil:
        cdef NewPair *new
        if p.lock == NONE:
            self.primitive_number(p, address)
            new = <NewPair *> new_row(&self.new_locks, sizeof(NewPair))
            new.first = p.number
            new.second = p.is_loop | p.is_semaphore << 1
            p.lock = self.lock_count
            self.lock_count += 1
        return p.lock

    cdef uint32_t new_hand(self, Primitive *p, uint64_t address, uint32_t what) except? 0xFFFFFFFF nogil:
        cdef NewHand *new
        self.primitive_number(p, address)
        new = <NewHand *> new_row(&self.new_hands, sizeof(NewHand))
        if HAND_OF_ITEM <= what <= HAND_OF_LOCK:
            p.named += 1
        new.number, new.primitive, new.what = p.named, p.number, what
        self.hand_count += 1
        return self.hand_count - 1

    # Events

    cdef inline int put(self, uint32_t thread, uint8_t op, uint32_t target, uint32_t site) except -1 nogil:
        """An event of a thread, both by symbol."""
        cdef size_t at = self.out_count
        if at == self.out_room:
            self.widen()
        self.out_count = at + 1
        self.out_thread[at] = thread
        self.out_op[at] = op
        self.out_target[at] = target
        self.out_site[at] = site
        return 0

    cdef int widen(self) except -1 nogil:
        cdef size_t room = 2 * self.out_room + 4096
        self.out_thread = <uint32_t *> resized(self.out_thread, 4 * room)
        self.out_op = <uint8_t *> resized(self.out_op, room)
        self.out_target = <uint32_t *> resized(self.out_target, 4 * room)
        self.out_site = <uint32_t *> resized(self.out_site, 4 * room)
        self.out_room = room
        return 0

    cdef int emit(self, uint32_t number, uint8_t op, uint32_t target, uint32_t site) except -1 nogil:
        """An event of the thread of this raw number, which has not ended; `site` is a symbol."""
        cdef Thread *t = self.threads + number
        self.thread_symbol(number)
        if t.state < RUNNING:
            t.state = RUNNING
            self.settle(t)
        return self.put(t.symbol, op, target, site)

    cdef inline void settle(self, Thread *t) noexcept nogil:
        t.is_usual = t.state == RUNNING and t.assignments == 0 and t.pending_lock == 0 and t.made == 0

    cdef int need_thread(self, size_t number) except -1 nogil:
        """A row for a thread whose number is believed."""
        cdef size_t room, i
        if number >= self.thread_room:
            room = number + number // 2 + 16
            self.threads = <Thread *> grown(
                self.threads, self.thread_room * sizeof(Thread), room * sizeof(Thread)
            )
            for i in range(self.thread_room, room):
                self.threads[i].symbol = NONE
            self.thread_room = room
        if not self.threads[number].is_met:
            (<uint32_t *> new_row(&self.met_threads, 4))[0] = <uint32_t> number
            self.threads[number].is_met = True
        return 0

    cdef bint is_believed(self, uint64_t number) noexcept nogil:
        return 0 < number < self.thread_limit

    # The log

    def feed(self, const uint8_t[::1] raw):
        """Take records, in the layout of `_raw.h`. Bytes that make no whole record at the end are ignored."""
        cdef size_t count = raw.shape[0] // sizeof(RawRecord), start = 0, some
        with nogil:
            while start < count:
                # The program can write to its ring at any time, and what was looked at once must stay what it was.
                some = min(count - start, <size_t> COPIED)
                memcpy(self.copied, &raw[start * sizeof(RawRecord)], some * sizeof(RawRecord))
                self.run(self.copied, some)
                start += some
        self.records += count

    cdef int run(self, const RawRecord *records, size_t count) except -1 nogil:
        cdef size_t i
        cdef const RawRecord *r
        cdef const RawRecord *later
        cdef uint32_t tags[TAGS]   # of the records up to AHEAD, so that each is hashed once
        cdef uint32_t tag, found, location, site
        cdef Thread *t
        for i in range(min(count, <size_t> AHEAD)):
            tags[i] = raw_tag(records[i].object, records[i].key_kind, records[i].key)
        for i in range(count):
            tag = tags[i % TAGS]
            if i + AHEAD < count:
                later = records + i + AHEAD
                found = raw_tag(later.object, later.key_kind, later.key)
                tags[(i + AHEAD) % TAGS] = found
                prefetch(self.slots + (found >> (32 - self.bits)))
                # its slot is there by now, so that the entry it names can follow
                found = self.slots[tags[(i + AHEAD // 2) % TAGS] >> (32 - self.bits)].entry
                prefetch(<Entry *> self.entries.rows + found)
            r = records + i
            if r.thread < self.thread_room and self.threads[r.thread].is_usual:
                t = self.threads + r.thread
                if r.op <= RAW_WRITE:
                    if (r.flags & FLAG_AUGMENTED == 0 or t.atomics) and <uint8_t> (r.key_kind - 1) < KEY_OBJECT - 1:
                        found = raw_find(
                            self.slots, self.bits, <Entry *> self.entries.rows, tag, r.object, r.key_kind, r.key
                        )
                        if found:
                            location = self.used_by(found, r.thread)
                            site = r.site
                            if site == 0:
                                self.put(t.symbol, r.op, location, NONE)
                                continue
                            if site < self.site_count and self.sites[site].symbol != NONE:
                                if self.sites[site].flags & SITE_FEEDS:
                                    self.note(r.thread, site, location)
                                self.put(t.symbol, r.op, location, self.sites[site].symbol)
                                continue
                elif r.op == RAW_BEGIN:
                    if self.begins_as_usual(r, t):
                        continue
                elif r.op == RAW_END:
                    if self.ends_as_usual(r, t):
                        continue
            self.step(r)
        return 0

    cdef inline int begins_as_usual(self, const RawRecord *r, Thread *t) except -1 nogil:
        """What `begin` does for a function that is called by another one, if it was met before. 0: it is not that."""
        cdef Site *site
        cdef Region *region
        cdef uint32_t symbol
        cdef Open *o
        if t.awaits_entry or r.flags & FLAG_CALLED_BACK or t.depth == t.room or not 0 < r.site < self.site_count:
            return 0
        site = self.sites + r.site
        if site.region == NONE or site.symbol == NONE:
            return 0
        region = self.regions + site.region
        symbol = self.label_symbols[region.label]
        if symbol == NONE:
            return 0
        o = t.open + t.depth
        o.symbol, o.region, o.site, o.opened, o.is_trampoline = symbol, site.region, r.site, BY_PLAN, False
        o.is_function = region.flags & (REGION_FUNCTION | REGION_OUTER) != 0
        o.may_be_atomic = region.flags & REGION_OUTER == 0
        t.atomics += o.may_be_atomic
        t.depth += 1
        self.put(t.symbol, BEGIN, symbol, site.symbol)
        return 1

    cdef inline int ends_as_usual(self, const RawRecord *r, Thread *t) except -1 nogil:
        """What `end` does for the innermost region of a thread. 0: it is not that."""
        cdef Open *o
        if t.depth == 0 or not 0 < r.site < self.site_count or self.sites[r.site].symbol == NONE:
            return 0
        o = t.open + t.depth - 1
        if o.region != self.sites[r.site].region or o.opened != BY_PLAN:
            return 0
        t.depth -= 1
        t.trampolines -= o.is_trampoline
        t.atomics -= o.may_be_atomic
        self.put(t.symbol, END, o.symbol, self.sites[r.site].symbol)
        return 1

    cdef int step(self, const RawRecord *r) except -1 nogil:
        """Any record."""
        cdef Thread *t
        if r.op == RAW_FREE:
            return self.forget(r.object)
        if r.op == RAW_ALIAS:
            return self.alias(r)
        if r.op == RAW_SEMAPHORE or r.op == RAW_BARRIER:
            return self.made(r)
        if r.op == RAW_CALLED:
            return self.called(r)
        if r.op == RAW_HOLDS:
            return self.holds(r)
        if (r.op > RAW_MADE and r.op != RAW_FIELD) or not self.is_believed(r.thread):
            self.strange += 1
            return 0
        self.need_thread(r.thread)
        t = self.threads + r.thread
        if t.state >= EXITED:
            self.late += 1
            return 0
        if r.op == RAW_FIELD:
            return self.name_field(r, t)
        if t.pending_lock and r.op != RAW_WOKEN:
            self.acquire_pending(r.thread)
        if t.assignments:
            self.close_abandoned(r)
        if r.op <= RAW_WRITE:
            return self.access(r)
        if t.made or r.op == RAW_MADE:
            t.made = r.object if r.op == RAW_MADE else 0
            self.settle(t)
            if r.op == RAW_MADE:
                return 0
        if r.op == RAW_BEGIN:
            return self.begin(r)
        if r.op == RAW_END:
            return self.end(r, BY_PLAN, self.region_of(r.site))
        if r.op == RAW_BLOCK:
            t.block, t.block_site = r.object, r.site
            return self.open_region(r, BY_BLOCK, self.region_of(r.site), False, False)
        if r.op == RAW_BLOCK_END:
            return self.end(r, BY_BLOCK, self.region_of(r.site))
        if r.op == RAW_REGION:
            return self.open_region(r, BY_ANNOTATION, self.annotation(r.key), False, False)
        if r.op == RAW_REGION_END:
            return self.end(r, BY_ANNOTATION, self.annotation(r.key))
        if r.op == RAW_FORK or r.op == RAW_JOIN:
            return self.fork_or_join(r)
        if r.op == RAW_THREAD or r.op == RAW_ENTRY:
            t.awaits_entry = True
            return 0
        if r.op == RAW_EXIT:
            return self.exit(r.thread, EXITED, r.site)
        if r.object == 0:
            self.strange += 1
            return 0
        self.in_use.address, self.in_use.site = r.object, r.site
        self.in_use.via = self.primitive_reached_through(r, t)
        if t.block_site == r.site and t.block != r.object:
            # the block is on another lock, and this one is used in it: its user came by no other probe
            self.in_use.site, self.in_use.via, self.used_thread = 0, NONE, NOBODY
        if r.op == RAW_ACQUIRE or r.op == RAW_HELD:
            return self.acquire_or_delay(r)
        if r.op == RAW_RELEASE:
            return self.release(r)
        if r.op == RAW_POST:
            return self.post(r)
        if r.op == RAW_TAKE:
            return self.take_hand(r)
        if r.op == RAW_WAIT:
            t.wait_lock = r.key
            return 0
        if r.op == RAW_WOKEN:
            return self.woken(r)
        if r.op == RAW_ARRIVE:
            return self.arrive(r)
        return self.depart(r)

    cdef int access(self, const RawRecord *r) except -1 nogil:
        cdef uint32_t location, found = 0, site, region = NONE
        cdef Thread *t = self.threads + r.thread
        if r.object == 0 or r.key_kind == KEY_NONE or r.key_kind > KEY_WHOLE:
            self.strange += 1
            return 0
        if r.key_kind != KEY_OBJECT:
            found = self.find(r.object, r.key_kind, r.key)
        location = self.used_by(found, r.thread) if found else self.location(r, t)
        site = self.site_symbol(r.site)
        if site != NONE and self.sites[r.site].flags & SITE_FEEDS:
            self.note(r.thread, r.site, location)
        if t.made:
            if site != NONE and r.op == RAW_WRITE and self.sites[r.site].flags & SITE_MAKES:
                self.stored(t.made, location)
            t.made = 0
            self.settle(t)
        if r.flags & FLAG_AUGMENTED and (t.atomics == 0 or t.assignments):
            region = self.region_of(r.site)
        if region != NONE and r.op == RAW_READ and t.atomics == 0:
            # inside another region it would be none of its own
            self.open_region(r, BY_ASSIGNMENT, region, False, False)
        self.emit(r.thread, r.op, location, site)
        if region != NONE and r.op == RAW_WRITE:
            self.end_assignment(r, region)
        return 0

    # Regions

    cdef inline uint32_t region_of(self, uint32_t site) noexcept nogil:
        return self.sites[site].region if site < self.site_count else NONE

    cdef inline uint32_t annotation(self, uint64_t number) noexcept nogil:
        return self.annotated[number] - 1 if number < self.annotated_count else NONE

    cdef int begin(self, const RawRecord *r) except -1 nogil:
        cdef uint32_t region = self.region_of(r.site)
        cdef Thread *t = self.threads + r.thread
        cdef bint as_outer = False, is_trampoline = False
        cdef uint8_t flags
        if region == NONE:
            self.strange += 1
            return 0
        flags = self.regions[region].flags
        if t.awaits_entry and t.depth == t.trampolines and flags & (REGION_FUNCTION | REGION_OUTER):
            is_trampoline = flags & REGION_TRAMPOLINE != 0
            as_outer = is_trampoline or flags & REGION_HAS_LOOPS != 0
            t.awaits_entry = is_trampoline
        return self.open_region(r, BY_PLAN, region, as_outer, is_trampoline)

    cdef int open_region(
        self, const RawRecord *r, uint8_t opened, uint32_t region, bint as_outer, bint is_trampoline
    ) except -1 nogil:
        cdef Thread *t = self.threads + r.thread
        cdef Open *o
        cdef uint32_t symbol
        cdef bint is_back
        if region == NONE:
            self.strange += 1
            return 0
        # where nothing is open, there is nothing that it could be called back from
        is_back = opened == BY_PLAN and r.flags & FLAG_CALLED_BACK and t.depth
        symbol = self.region_symbol(region, as_outer, is_back)
        if t.depth == t.room:
            t.open = <Open *> resized(t.open, (2 * t.room + 8) * sizeof(Open))
            t.room = 2 * t.room + 8
        o = t.open + t.depth
        o.symbol, o.region, o.site, o.opened, o.is_trampoline = symbol, region, r.site, opened, is_trampoline
        o.is_function = opened == BY_PLAN and self.regions[region].flags & (REGION_FUNCTION | REGION_OUTER) != 0
        o.may_be_atomic = not as_outer and self.regions[region].flags & REGION_OUTER == 0
        t.atomics += o.may_be_atomic
        t.depth += 1
        t.trampolines += is_trampoline
        self.emit(r.thread, BEGIN, symbol, self.site_symbol(r.site))
        if opened == BY_ASSIGNMENT:
            t.assignments += 1
            self.settle(t)
        return 0

    cdef int close_to(self, uint32_t number, uint32_t depth, uint32_t site) except -1 nogil:
        """End a thread's regions from the inside until so many are left."""
        cdef Thread *t = self.threads + number
        cdef Open *o
        cdef uint32_t symbol = self.site_symbol(site)
        while t.depth > depth:
            t.depth -= 1
            o = t.open + t.depth
            t.assignments -= o.opened == BY_ASSIGNMENT
            t.trampolines -= o.is_trampoline
            t.atomics -= o.may_be_atomic
            self.emit(number, END, o.symbol, symbol)
        self.settle(t)
        return 0

    cdef int end(self, const RawRecord *r, uint8_t opened, uint32_t region) except -1 nogil:
        cdef Thread *t = self.threads + r.thread
        cdef uint32_t i = t.depth
        while i and region != NONE:
            i -= 1
            if t.open[i].region == region and t.open[i].opened == opened:
                return self.close_to(r.thread, i, r.site)
        self.unmatched += 1
        return 0

    cdef int end_assignment(self, const RawRecord *r, uint32_t region) except -1 nogil:
        cdef Thread *t = self.threads + r.thread
        cdef uint32_t i = t.depth
        while i:
            i -= 1
            if t.open[i].opened == BY_ASSIGNMENT and t.open[i].region == region:
                return self.close_to(r.thread, i, r.site)
            if t.open[i].is_function:
                break
        self.unmatched += t.atomics == 0
        return 0

    cdef int close_abandoned(self, const RawRecord *r) except -1 nogil:
        """An augmented assignment whose right side failed has no second half.

        That it is over shows in another statement of the same call: assignments do not nest inside one.
        """
        cdef Thread *t = self.threads + r.thread
        cdef uint32_t i = t.depth, depth = t.depth
        cdef bint is_assignment = r.op <= RAW_WRITE and r.flags & FLAG_AUGMENTED
        if r.site == 0 or r.site >= self.site_count:
            return 0
        if not is_assignment and not self.sites[r.site].flags & SITE_STATEMENT:
            return 0
        while i:
            i -= 1
            if t.open[i].is_function:
                break
            if t.open[i].opened != BY_ASSIGNMENT or self.sites[t.open[i].site].function != self.sites[r.site].function:
                continue
            if r.op == RAW_WRITE and is_assignment and t.open[i].region == self.region_of(r.site):
                break
            depth = i
        if depth < t.depth:
            self.close_to(r.thread, depth, r.site)
        return 0

    # Threads

    cdef int fork_or_join(self, const RawRecord *r) except -1 nogil:
        cdef Thread *child
        if not self.is_believed(r.key) or r.key == r.thread:
            self.strange += 1
            return 0
        self.need_thread(r.key)
        child = self.threads + r.key
        if r.op == RAW_FORK:
            if child.state != UNSEEN:
                self.strange += 1
                return 0
            self.thread_symbol(r.key)
            child.state = FORKED
            return self.emit(r.thread, FORK, child.symbol, self.site_symbol(r.site))
        if child.symbol == NONE:   # nothing of it is in the trace, so there is nothing to come after
            self.unmatched += 1
            return 0
        if child.state != JOINED:
            self.exit(r.key, JOINED, 0)
        return self.emit(r.thread, JOIN, child.symbol, self.site_symbol(r.site))

    cdef int exit(self, uint32_t number, uint8_t state, uint32_t site) except -1 nogil:
        cdef Thread *t = self.threads + number
        if t.state < EXITED:
            if t.pending_lock:
                self.acquire_pending(number)
            self.close_to(number, 0, site)
        free(t.open)
        t.open = NULL
        t.room = 0
        t.state = state
        t.is_usual = False
        return 0

    # Locks

    cdef int acquire_or_delay(self, const RawRecord *r) except -1 nogil:
        """An acquire at the end of Condition.wait waits for RAW_WOKEN, which says whether a take comes before it."""
        cdef Thread *t = self.threads + r.thread
        cdef Primitive *p
        if r.op == RAW_ACQUIRE and t.wait_lock == r.object:
            p = self.primitive_at(r.object)
            if p.holder != r.thread and p.pending == NONE:
                t.wait_lock = 0
                t.pending_lock, t.pending_site = r.object, r.site
                t.pending_count = <uint32_t> min(r.key, <uint64_t> 0x7FFFFFFF)
                p.pending = r.thread
                p.is_loop |= r.flags & FLAG_LOOP_LOCK != 0
                self.settle(t)
                return 0
        return self.acquire(
            r.thread, r.object, min(r.key, <uint64_t> 0x7FFFFFFF), r.site, r.flags & FLAG_LOOP_LOCK != 0
        )

    cdef int acquire_pending(self, uint32_t number) except -1 nogil:
        cdef Thread *t = self.threads + number
        cdef uint64_t address = t.pending_lock
        t.pending_lock = 0
        self.primitive_at(address).pending = NONE
        self.settle(t)
        return self.acquire(number, address, t.pending_count, t.pending_site, False)

    cdef int acquire(
        self, uint32_t number, uint64_t address, uint32_t count, uint32_t site, bint is_loop
    ) except -1 nogil:
        cdef Primitive *p = self.primitive_at(address)
        if p.pending != NONE:
            self.acquire_pending(p.pending)
        p.is_loop |= is_loop
        if p.mode != AS_LOCK:
            if p.last_post != NONE:
                self.emit(number, TAKE, p.last_post, self.site_symbol(site))
                p.last_post = NONE
            return 0
        if p.holder == number:
            p.depth = min(p.depth, <uint32_t> 0x7FFFFFFF) + max(count, <uint32_t> 1)
            return 0
        self.give_up(p)
        self.emit(number, ACQUIRE, self.lock_symbol(p, address), self.site_symbol(site))
        p.holder = number
        p.depth = max(count, <uint32_t> 1)
        return 0

    cdef int give_up(self, Primitive *p) except -1 nogil:
        """The holder, if there is one, does not hold it any more, though nobody saw the release."""
        if p.holder != NOBODY:
            if self.threads[p.holder].state == JOINED:
                p.lock = NONE   # nothing follows a join: from now on it is another lock
            else:
                self.emit(p.holder, RELEASE, p.lock, NONE)
            p.holder = NOBODY
        return 0

    cdef int release(self, const RawRecord *r) except -1 nogil:
        cdef Primitive *p = self.primitive_at(r.object)
        cdef uint32_t site = self.site_symbol(r.site)
        if p.pending != NONE:
            self.acquire_pending(p.pending)
        p.is_loop |= r.flags & FLAG_LOOP_LOCK != 0
        if p.mode == AS_LOCK and p.holder == r.thread:
            p.depth = p.depth - 1 if r.key and p.depth else 0
            if p.depth == 0:
                p.holder = NOBODY
                self.emit(r.thread, RELEASE, p.lock, site)
            return 0
        if p.mode == AS_LOCK and p.holder == NOBODY:
            # its acquire was not seen; the release still orders what comes after it
            self.emit(r.thread, ACQUIRE, self.lock_symbol(p, r.object), site)
            return self.emit(r.thread, RELEASE, p.lock, site)
        if p.is_loop:
            self.unmatched += 1
            return 0
        if p.mode == AS_LOCK:
            self.give_up(p)
            p.mode = AS_HANDED_LOCK
        p.last_post = self.new_hand(p, r.object, HAND_OF_LOCK)
        return self.emit(r.thread, POST, p.last_post, site)

    cdef int woken(self, const RawRecord *r) except -1 nogil:
        cdef Thread *t = self.threads + r.thread
        cdef Primitive *p
        t.wait_lock = 0
        if r.key == 1:
            p = self.primitive_at(r.object)
            if p.hand == NONE:
                p.hand = self.new_hand(p, r.object, HAND_OF_OBJECT)
            self.emit(r.thread, TAKE, p.hand, self.site_symbol(r.site))
        else:
            self.ran_out(r, self.primitive_at(r.object), OF_EVENT)
        if t.pending_lock:
            return self.acquire_pending(r.thread)
        return 0

    # Hand-overs

    cdef int made(self, const RawRecord *r) except -1 nogil:
        """A semaphore or a barrier is new, or begins again."""
        cdef Primitive *p
        if r.object == 0:
            self.strange += 1
            return 0
        p = self.primitive_at(r.object)
        if r.op == RAW_BARRIER:
            self.free_circle(p.waiting)
            p.waiting = p.phase = NONE
            p.parties = <uint32_t> min(r.key, <uint64_t> 0x7FFFFFFF)
            p.arrivals, p.departed = 0, False
            return 0
        if p.mode == AS_LOCK:
            self.give_up(p)
        self.free_circle(p.posts)
        p.posts = NONE
        p.acquires = p.releases = p.front = 0
        p.permits, p.is_semaphore = r.key, True
        p.mode = AS_LOCK if r.key == 1 else AS_PERMITS
        return 0

    cdef int post(self, const RawRecord *r) except -1 nogil:
        cdef Primitive *p = self.primitive_at(r.object)
        cdef uint32_t site = self.site_symbol(r.site), hand, found
        cdef Object *obj
        if r.key_kind == HAND_PERMIT:
            return self.return_permit(r, p, site)
        if r.key_kind == HAND_ITEM:
            hand = self.new_hand(p, r.object, HAND_OF_ITEM)
            found = self.find(r.object, AN_ITEM, r.key)
            if not found:
                obj = <Object *> self.objects.rows + self.object_at(r.object)
                found = self.insert(r.object, AN_ITEM, r.key, NONE, obj)
            hand = self.appended((<Entry *> self.entries.rows)[found - 1].value, hand, 0)
            (<Entry *> self.entries.rows)[found - 1].value = hand
            return self.emit(r.thread, POST, (<Node *> self.nodes.rows)[hand].value, site)
        hand = self.whole_hand(r, p)
        return 0 if hand == NONE else self.emit(r.thread, POST, hand, site)

    cdef uint32_t whole_hand(self, const RawRecord *r, Primitive *p) except? 0xFFFFFFFE nogil:
        """The one hand-over of an object, or of a future's start."""
        if r.key_kind == HAND_PLAIN:
            if p.hand == NONE:
                p.hand = self.new_hand(p, r.object, HAND_OF_OBJECT)
            return p.hand
        if r.key_kind == HAND_START:
            if p.start == NONE:
                p.start = self.new_hand(p, r.object, HAND_OF_START)
            return p.start
        self.strange += 1
        return NONE

    cdef int take_hand(self, const RawRecord *r) except -1 nogil:
        cdef Primitive *p = self.primitive_at(r.object)
        cdef uint32_t site = self.site_symbol(r.site), hand, found, last
        cdef Entry *entry
        cdef Node *nodes
        if r.key_kind == HAND_PERMIT:
            return self.take_permit(r, p, site)
        if r.key_kind == HAND_ITEM:
            found = self.find(r.object, AN_ITEM, r.key)
            if not found:
                self.unmatched += 1
                return 0
            entry = <Entry *> self.entries.rows + found - 1
            nodes = <Node *> self.nodes.rows
            hand = nodes[nodes[entry.value].next].value
            last = self.without_first(entry.value)
            entry.value = last
            if last == NONE:
                self.remove(found, <Object *> self.objects.rows + self.object_at(r.object))
            return self.emit(r.thread, TAKE, hand, site)
        if r.key_kind == HAND_NOTHING:
            return self.ran_out(r, p, <uint32_t> min(r.key, <uint64_t> OF_ROOM))
        hand = self.whole_hand(r, p)
        return 0 if hand == NONE else self.emit(r.thread, TAKE, hand, site)

    cdef int ran_out(self, const RawRecord *r, Primitive *p, uint32_t of) except -1 nogil:
        """A wait without a hand-over: it splits regions, as every take does, and is ordered after nothing."""
        cdef uint32_t *hand = &p.room if of == OF_ROOM else &p.nothing
        if hand[0] == NONE:
            hand[0] = self.new_hand(p, r.object, HAND_OF_NOTHING + of)
        return self.emit(r.thread, TAKE, hand[0], self.site_symbol(r.site))

    cdef int take_permit(self, const RawRecord *r, Primitive *p, uint32_t site) except -1 nogil:
        cdef uint64_t wanted
        cdef uint32_t hand = NONE
        cdef Node *nodes
        p.acquires += 1
        if not p.is_semaphore:
            p.is_semaphore, p.mode = True, AS_PERMITS
        if p.mode == AS_LOCK:
            if p.holder == NOBODY:
                p.holder, p.depth = r.thread, 1
                return self.emit(r.thread, ACQUIRE, self.lock_symbol(p, r.object), site)
            self.become_permits(p)
        # more were taken than there can be: it had more permits than we knew of
        if p.acquires > p.releases and p.acquires - p.releases > p.permits:
            p.permits = p.acquires - p.releases
        if p.acquires <= p.permits:
            return 0
        wanted = p.acquires - p.permits
        while p.posts != NONE and p.front <= wanted:
            nodes = <Node *> self.nodes.rows
            hand = nodes[nodes[p.posts].next].value if p.front == wanted else NONE
            p.posts = self.without_first(p.posts)
            p.front += 1
        return 0 if hand == NONE else self.emit(r.thread, TAKE, hand, site)

    cdef int return_permit(self, const RawRecord *r, Primitive *p, uint32_t site) except -1 nogil:
        cdef uint32_t hand
        p.releases += 1
        if not p.is_semaphore:
            p.is_semaphore, p.mode = True, AS_PERMITS
        if p.mode == AS_LOCK:
            if p.holder == r.thread:
                p.holder, p.depth = NOBODY, 0
                return self.emit(r.thread, RELEASE, p.lock, site)
            self.become_permits(p)
        hand = self.new_hand(p, r.object, HAND_OF_PERMIT)
        if p.posts == NONE:
            p.front = p.releases
        p.posts = self.appended(p.posts, hand, 0)
        return self.emit(r.thread, POST, hand, site)

    cdef int become_permits(self, Primitive *p) except -1 nogil:
        """A semaphore that was a lock so far turned out to be none."""
        self.give_up(p)
        p.mode = AS_PERMITS
        return 0

    cdef int arrive(self, const RawRecord *r) except -1 nogil:
        cdef Primitive *p = self.primitive_at(r.object)
        cdef uint32_t before = self.no_longer_waiting(p, r.thread)
        if before != NONE and before == p.phase and p.arrivals:
            p.arrivals -= 1   # that wait was broken: it does not count
        if p.phase == NONE or (p.parties and p.arrivals >= p.parties) or (not p.parties and p.departed):
            p.phase = self.new_hand(p, r.object, HAND_OF_PHASE)
            p.arrivals, p.departed = 0, False
        p.arrivals += 1
        p.waiting = self.appended(p.waiting, p.phase, r.thread)
        return self.emit(r.thread, POST, p.phase, self.site_symbol(r.site))

    cdef int depart(self, const RawRecord *r) except -1 nogil:
        cdef Primitive *p = self.primitive_at(r.object)
        cdef uint32_t phase = self.no_longer_waiting(p, r.thread)
        if phase == NONE:
            self.unmatched += 1
            return 0
        p.departed = True
        return self.emit(r.thread, TAKE, phase, self.site_symbol(r.site))

    cdef uint32_t no_longer_waiting(self, Primitive *p, uint32_t thread) noexcept nogil:
        """The phase of the barrier that a thread waited in, or NONE."""
        cdef Node *nodes = <Node *> self.nodes.rows
        cdef uint32_t i = p.waiting, phase
        if i == NONE:
            return NONE
        while True:
            if nodes[nodes[i].next].thread == thread:
                phase = nodes[nodes[i].next].value
                if nodes[i].next == p.waiting:
                    p.waiting = i   # the last one goes: the one before it is the last
                    if nodes[i].next == i:
                        self.without_first(i)
                        p.waiting = NONE
                        return phase
                self.without_first(i)
                return phase
            i = nodes[i].next
            if i == p.waiting:
                return NONE

    # What came of it

    def finish(self):
        """No more records come: what was held back is let go."""
        cdef size_t i
        for i in range(self.thread_room):
            if self.threads[i].pending_lock:
                self.acquire_pending(i)

    @property
    def waiting_events(self):
        """How many events `take` would give."""
        return self.out_count

    @property
    def waiting_holds(self):
        """How many holders of objects `take_symbols` would give."""
        return self.new_holds.count

    def sift(self):
        """Leave out what came since the last time of objects that have died, and that one thread alone had used.

        Nothing that another thread does can come between accesses to such an object, so nothing is lost with them.
        """
        cdef size_t i
        with nogil:
            if self.dead_count:
                self.leave_out()
            for i in range(self.recent_threads.count):
                self.threads[(<uint32_t *> self.recent_threads.rows)[i]].is_noted = False
            self.recent_threads.count = 0
            self.location_base, self.object_base = self.location_count, self.object_count
            self.new_entries.count = self.new_numbers.count = self.new_vias.count = 0

    cdef int leave_out(self) except -1 nogil:
        cdef uint32_t base = self.location_base, left = base, objects_left = self.object_base, target
        cdef size_t count = self.location_count - base, object_count = self.object_count - self.object_base
        cdef size_t i, kept = 0
        cdef uint32_t *places = <uint32_t *> resized(NULL, 4 * (count + 1))
        cdef uint32_t *object_places = <uint32_t *> resized(NULL, 4 * (object_count + 1))
        # `bury` made room for those that were known then
        if count > self.dead_location_room:
            self.dead_locations = <uint8_t *> grown(self.dead_locations, self.dead_location_room, count)
            self.dead_location_room = count
        if object_count > self.dead_object_room:
            self.dead_objects = <uint8_t *> grown(self.dead_objects, self.dead_object_room, object_count)
            self.dead_object_room = object_count
        for i in range(count):
            places[i] = NONE if self.dead_locations[i] else left
            left += not self.dead_locations[i]
        for i in range(object_count):
            object_places[i] = NONE if self.dead_objects[i] else objects_left
            objects_left += not self.dead_objects[i]
        for i in range(self.out_count):
            target = self.out_target[i]
            if self.out_op[i] <= RAW_WRITE and target >= base:
                target = places[target - base]
                if target == NONE:
                    continue
            self.out_thread[kept], self.out_op[kept] = self.out_thread[i], self.out_op[i]
            self.out_target[kept], self.out_site[kept] = target, self.out_site[i]
            kept += 1
        self.out_count = kept
        self.renumber(places, object_places)
        self.location_count, self.object_count = left, objects_left
        memset(self.dead_locations, 0, count)
        memset(self.dead_objects, 0, object_count)
        self.dead_count = 0
        free(places)
        free(object_places)
        return 0

    cdef inline uint32_t placed(self, const uint32_t *places, uint32_t location) noexcept nogil:
        return location if location == NONE or location < self.location_base else places[location - self.location_base]

    cdef void renumber(self, const uint32_t *places, const uint32_t *object_places) noexcept nogil:
        """What is new and stays gets the number that it has without what is left out."""
        cdef uint32_t base = self.object_base
        cdef NewLocation *locations = <NewLocation *> self.new_locations.rows
        cdef NewObject *objects = <NewObject *> self.new_objects.rows
        cdef NewPrimitive *primitives = <NewPrimitive *> self.new_primitives.rows
        cdef NewPair *pairs
        cdef Entry *entry
        cdef Object *obj
        cdef Recent *recent
        cdef uint32_t place
        cdef size_t i, j, kept = 0
        for i in range(self.new_locations.count):
            if places[i] == NONE:
                continue
            locations[kept] = locations[i]
            if locations[kept].object >= base:
                locations[kept].object = object_places[locations[kept].object - base]
            if locations[kept].kind == KEY_IDENTITY and locations[kept].key >= base:
                locations[kept].key = object_places[locations[kept].key - base]
            kept += 1
        self.new_locations.count = kept
        kept = 0
        for i in range(self.new_objects.count):
            if object_places[i] != NONE:
                objects[kept] = objects[i]
                objects[kept].via = self.placed(places, objects[kept].via)
                kept += 1
        self.new_objects.count = kept
        for i in range(self.new_primitives.count):
            primitives[i].via = self.placed(places, primitives[i].via)
        pairs = <NewPair *> self.new_holds.rows
        kept = 0
        for i in range(self.new_holds.count):
            pairs[kept].second = self.placed(places, pairs[i].second)
            pairs[kept].first = pairs[i].first if pairs[i].first < base else object_places[pairs[i].first - base]
            kept += pairs[kept].first != NONE and pairs[kept].second != NONE
        self.new_holds.count = kept
        pairs = <NewPair *> self.new_vias.rows
        for i in range(self.new_vias.count):
            # of one that died the row may be another's by now
            if (<Primitive *> self.primitives.rows)[pairs[i].first].via == pairs[i].second:
                (<Primitive *> self.primitives.rows)[pairs[i].first].via = self.placed(places, pairs[i].second)
        self.in_use.via = self.placed(places, self.in_use.via)
        # A row that was used again stands here once more, and only its last number is still in it.
        pairs = <NewPair *> self.new_entries.rows
        for i in range(self.new_entries.count):
            entry = <Entry *> self.entries.rows + pairs[i].first - 1
            if entry.kind > KEY_WHOLE and entry.kind != KEY_IDENTITY and entry.kind != FIELD_BY_HASH:
                continue
            place = self.placed(places, pairs[i].second)
            if entry.value == pairs[i].second and place != NONE:
                entry.value = place
        pairs = <NewPair *> self.new_numbers.rows
        for i in range(self.new_numbers.count):
            obj = <Object *> self.objects.rows + pairs[i].first
            if obj.number == pairs[i].second:
                obj.number = object_places[pairs[i].second - base]
        for i in range(self.recent_threads.count):
            for j in range(8):
                recent = &self.threads[(<uint32_t *> self.recent_threads.rows)[i]].recent[j]
                if recent.site:
                    recent.location = self.placed(places, recent.location)

    def take(self):
        """(thread, op, target, site): the events since the last time, in columns."""
        cdef uint32_t[::1] threads, targets, sites
        cdef uint8_t[::1] ops
        cdef size_t n = self.out_count
        columns = np.empty(n, np.uint32), np.empty(n, np.uint8), np.empty(n, np.uint32), np.empty(n, np.uint32)
        threads, ops, targets, sites = columns
        if n:
            memcpy(&threads[0], self.out_thread, 4 * n)
            memcpy(&ops[0], self.out_op, n)
            memcpy(&targets[0], self.out_target, 4 * n)
            memcpy(&sites[0], self.out_site, 4 * n)
        self.out_count = 0
        for column in columns:
            column.flags.writeable = False
        return columns

    def take_symbols(self):
        """What is new in each table since the last time, as rows of numbers."""
        return {
            "objects": taken_rows(&self.new_objects, OBJECT_ROW),
            "locations": taken_rows(&self.new_locations, LOCATION_ROW),
            "primitives": taken_rows(&self.new_primitives, PRIMITIVE_ROW),
            "locks": taken_rows(&self.new_locks, PAIR_ROW),
            "handovers": taken_rows(&self.new_hands, HAND_ROW),
            "threads": taken_rows(&self.new_threads, np.dtype(np.uint32)),
            "regions": taken_rows(&self.new_regions, np.dtype(np.uint32)),
            "sites": taken_rows(&self.new_sites, np.dtype(np.uint32)),
            "holds": taken_rows(&self.new_holds, PAIR_ROW),
        }

    def memory(self):
        """About how many bytes hang on what is alive."""
        return (
            (sizeof(Slot) << self.bits)
            + self.entries.room * sizeof(Entry)
            + self.objects.room * sizeof(Object)
            + self.primitives.room * sizeof(Primitive)
            + self.nodes.room * sizeof(Node)
            + self.thread_room * sizeof(Thread)
        )


def ring_head(const uint8_t[::1] ring):
    """How many records were written ever. What they hold can be read after this."""
    cdef const RawHead *head = <const RawHead *> &ring[0]
    return load(&head.head)


def set_ring_tail(uint8_t[::1] ring, uint64_t tail):
    """So many records were read: the producer may write over them."""
    cdef RawHead *head = <RawHead *> &ring[0]
    store(&head.tail, tail)
