# Primitives, and those that are locks: who holds each.
#
# State: `Primitives`. A row for each primitive that is alive and was used; rows of dead ones are used again. Fields from
# `parties` on, and `posts` and the counts of permits, are those of `handovers.pxi`; `via`, `space`, `name` of `naming.pxi`.
# Always: a lock has one holder at most, and an acquire comes before its release. If that is not how the program used it,
# nobody saw some step, or it is no lock: the holder gives it up, or it becomes a hand-over (`mode`).

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

cdef struct Primitives:
    Rows rows             # of Primitive
    uint32_t free         # the first row that is not in use, plus 1; a list through `number`


cdef inline Primitive *primitive_row(State *s, uint32_t number) noexcept nogil:
    return <Primitive *> s.primitives.rows.rows + number


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
    if s.primitives.free:
        number = s.primitives.free - 1
        s.primitives.free = primitive_row(s, number).number
    else:
        new_row(&s.primitives.rows, sizeof(Primitive))
        number = s.primitives.rows.count - 1
    obj.primitive = number
    p = primitive_row(s, number)
    p.acquires = p.releases = p.permits = p.front = p.named = p.space = p.name = 0
    p.via = p.number = p.lock = p.hand = p.start = p.nothing = p.queue_room = p.holder = p.pending = NONE
    p.last_post = p.posts = p.phase = p.waiting = NONE
    p.depth = p.parties = p.arrivals = 0
    p.mode, p.departed, p.is_loop, p.is_semaphore = AS_LOCK, False, False, False
    return p


cdef int free_primitive(State *s, uint32_t number) except -1 nogil:
    cdef Primitive *p = primitive_row(s, number)
    if p.pending != NONE:
        acquire_pending(s, p.pending)
        p = primitive_row(s, number)
    free_circle(&s.nodes, p.posts)
    free_circle(&s.nodes, p.waiting)
    p.number = s.primitives.free
    s.primitives.free = number + 1
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


cdef int acquire_or_delay(State *s, const RawRecord *r) except -1 nogil:
    """An acquire at the end of Condition.wait waits for RAW_WOKEN, which says whether a take comes before it."""
    cdef Thread *t = s.threads.rows + r.thread
    cdef Primitive *p
    cdef uint32_t count = <uint32_t> min(r.key, <uint64_t> MOST_COUNTED)
    cdef bint is_loop = r.flags & FLAG_LOOP_LOCK != 0
    if r.op == RAW_ACQUIRE and t.wait_lock == r.object:
        p = primitive_at(s, r.object)
        if p.holder != r.thread and p.pending == NONE:
            t.wait_lock = 0
            t.pending_lock, t.pending_site, t.pending_count = r.object, r.site, count
            p.pending = r.thread
            p.is_loop |= is_loop
            settle(t)
            return 0
    return acquire(s, r.thread, r.object, count, r.site, is_loop)


cdef int acquire_pending(State *s, uint32_t number) except -1 nogil:
    """The acquire that a thread held back."""
    cdef Thread *t = s.threads.rows + number
    cdef uint64_t address = t.pending_lock
    t.pending_lock = 0
    primitive_at(s, address).pending = NONE
    settle(t)
    return acquire(s, number, address, t.pending_count, t.pending_site, False)


cdef int acquire(
    State *s, uint32_t number, uint64_t address, uint32_t count, uint32_t site, bint is_loop
) except -1 nogil:
    cdef Primitive *p = primitive_at(s, address)
    if p.pending != NONE:
        acquire_pending(s, p.pending)
    p.is_loop |= is_loop
    if p.mode != AS_LOCK:
        if p.last_post != NONE:
            emit(s, number, TAKE, p.last_post, site_symbol(s, site))
            p.last_post = NONE
        return 0
    if p.holder == number:
        p.depth = min(p.depth, <uint32_t> MOST_COUNTED) + max(count, <uint32_t> 1)
        return 0
    give_up(s, p)
    emit(s, number, ACQUIRE, lock_symbol(s, p, address), site_symbol(s, site))
    p.holder = number
    p.depth = max(count, <uint32_t> 1)
    return 0


cdef int give_up(State *s, Primitive *p) except -1 nogil:
    """The holder, if there is one, does not hold it any more, though nobody saw the release."""
    if p.holder != NOBODY:
        if s.threads.rows[p.holder].state == JOINED:
            p.lock = NONE   # nothing follows a join: from now on it is another lock
        else:
            emit(s, p.holder, RELEASE, p.lock, NONE)
        p.holder = NOBODY
    return 0


cdef int release(State *s, const RawRecord *r) except -1 nogil:
    cdef Primitive *p = primitive_at(s, r.object)
    cdef uint32_t site = site_symbol(s, r.site)
    if p.pending != NONE:
        acquire_pending(s, p.pending)
    p.is_loop |= r.flags & FLAG_LOOP_LOCK != 0
    if p.mode == AS_LOCK and p.holder == r.thread:
        p.depth = p.depth - 1 if r.key and p.depth else 0
        if p.depth == 0:
            p.holder = NOBODY
            emit(s, r.thread, RELEASE, p.lock, site)
        return 0
    if p.mode == AS_LOCK and p.holder == NOBODY:
        # its acquire was not seen; the release still orders what comes after it
        emit(s, r.thread, ACQUIRE, lock_symbol(s, p, r.object), site)
        return emit(s, r.thread, RELEASE, p.lock, site)
    if p.is_loop:
        s.dropped.unmatched += 1
        return 0
    if p.mode == AS_LOCK:
        give_up(s, p)
        p.mode = AS_HANDED_LOCK
    p.last_post = new_hand(s, p, r.object, HAND_OF_LOCK)
    return emit(s, r.thread, POST, p.last_post, site)


cdef int woken(State *s, const RawRecord *r) except -1 nogil:
    """RAW_WOKEN: the take, if there was one, and then the acquire that waited for it."""
    cdef Thread *t = s.threads.rows + r.thread
    cdef Primitive *p = primitive_at(s, r.object)
    t.wait_lock = 0
    if r.key == 1:
        emit(s, r.thread, TAKE, whole_hand(s, p, r.object), site_symbol(s, r.site))
    else:
        take_nothing(s, r, p, OF_EVENT)
    if t.pending_lock:
        return acquire_pending(s, r.thread)
    return 0
