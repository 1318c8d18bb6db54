# Locks: the holder of each, and its acquire and release events.
#
# State: `holder`, `depth`, `pending`, `last_post`, `mode`, `is_loop` and `is_reentrant` of a primitive (`primitives.pxi`);
# of a thread the lock that it waits for (`wait_lock`, `pending_...` in `threads.pxi`).
# Always: a lock has one holder at most, and an acquire comes before its release. If that is not how the program used
# it, nobody saw some step, or it is no lock: the holder gives it up, or it becomes a hand-over (`mode`).

cdef int acquire_or_delay(State *s, const RawRecord *r) except -1 nogil:
    """An acquire at the end of Condition.wait waits for RAW_WOKEN, which says whether a take comes before it."""
    cdef Thread *t = s.threads.rows + r.thread
    cdef Primitive *p
    cdef uint32_t count = <uint32_t> min(r.key, <uint64_t> MOST_COUNTED)
    cdef bint is_loop = r.flags & FLAG_LOOP_LOCK != 0
    if r.flags & FLAG_REENTRANT:
        primitive_at(s, r.object).is_reentrant = True
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
