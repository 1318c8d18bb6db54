# Primitives (locks, semaphores, conditions, queues, ...): the one at an address, and the dispatch of its records to
# `locks.pxi` and `handovers.pxi`.
#
# State: `Primitives`. A row for each primitive that is alive and was used; rows of dead ones are used again. Who writes
# which field: `locks.pxi` says which are its own, `naming.pxi` has those of the name, `handovers.pxi` the others.
# Always: a row belongs to one object, which has its number (`Object.primitive`), and dies with it.

cdef enum: NOBODY = 0xFFFFFFFF

# What orders a primitive's users.
cdef enum:
    AS_LOCK
    AS_HANDED_LOCK        # somebody else than its holder released it once
    AS_PERMITS

# Counts from the log are cut off here, so that none overflows.
cdef enum: MOST_COUNTED = 0x7FFFFFFF

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
    uint32_t workers      # how many threads may take it: those of a pool; 0: not known
    uint32_t nothing      # the same, for waits that ran out
    uint32_t queue_room   # the same, for puts that had to wait for room
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
    uint8_t is_reentrant

cdef struct Primitives:
    Primitive *rows
    Pool pool             # of them


cdef inline Primitive *primitive_row(State *s, uint32_t number) noexcept nogil:
    return s.primitives.rows + number


cdef Primitive *primitive_at(State *s, uint64_t address) except NULL nogil:
    """The primitive that is at this address now."""
    cdef uint32_t row = object_at(s, address), number
    cdef Object *obj = object_row(s, row)
    cdef Primitive *p
    if obj.primitive != NONE:
        p = primitive_row(s, obj.primitive)
        if address == s.naming.in_use.address and s.naming.read_thread != NOBODY:
            amend(s, p)
        return p
    number = new_slot(&s.primitives.pool, <void **> &s.primitives.rows, sizeof(Primitive))
    obj.primitive = number
    p = primitive_row(s, number)
    p.acquires = p.releases = p.permits = p.front = p.named = p.space = p.name = 0
    p.via = p.number = p.lock = p.hand = p.start = p.nothing = p.queue_room = p.holder = p.pending = NONE
    p.last_post = p.posts = p.phase = p.waiting = NONE
    p.depth = p.parties = p.arrivals = p.workers = 0
    p.mode, p.departed, p.is_loop, p.is_semaphore, p.is_reentrant = AS_LOCK, False, False, False, False
    return p


cdef int free_primitive(State *s, uint32_t number) except -1 nogil:
    cdef Primitive *p = primitive_row(s, number)
    if p.pending != NONE:
        acquire_pending(s, p.pending)
        p = primitive_row(s, number)
    free_circle(&s.nodes, p.posts)
    free_circle(&s.nodes, p.waiting)
    p.via = NONE
    give_slot(&s.primitives.pool, s.primitives.rows, sizeof(Primitive), number)
    return 0


cdef int use_primitive(State *s, const RawRecord *r, Thread *t) except -1 nogil:
    """Any record of a thread that uses a primitive."""
    if r.object == 0:
        s.dropped.strange += 1
        return 0
    look_at_use(s, r, t)
    if r.op == RAW_ACQUIRE or r.op == RAW_HELD:
        return acquire_or_delay(s, r)
    if r.op == RAW_RELEASE:
        return release(s, r)
    if r.op == RAW_POST:
        return post(s, r)
    if r.op == RAW_TAKE:
        return take(s, r)
    if r.op == RAW_WAIT:
        t.wait_lock = r.key
        return 0
    if r.op == RAW_WOKEN:
        return woken(s, r)
    if r.op == RAW_ARRIVE:
        return arrive(s, r)
    return depart(s, r)
