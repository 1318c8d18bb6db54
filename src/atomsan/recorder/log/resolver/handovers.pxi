# Hand-overs: posts and takes for queues, semaphores, barriers, events, conditions and futures, ordered exactly as the
# primitive orders them.
#
# State: `Nodes`, the lists of posts that nobody took yet: of an item of a queue (the entry AN_ITEM of the address table
# has its last node), of a semaphore (`Primitive.posts`), and of a barrier's waiting threads (`Primitive.waiting`).
# Always: a take of an item, a permit or a phase comes after its post; without one it is dropped. Events, conditions and
# futures have one hand-over each, which can be posted and taken any number of times. A wait that ran out takes what
# nobody posts (`take_nothing`).

cdef struct Node:
    uint32_t value
    uint32_t about        # of a barrier: the thread that waits. Of an item: its number among all that were put
    uint32_t next

# Circles of which the last node is known, so that both ends are at hand. NONE is an empty one.
cdef struct Nodes:
    Node *rows
    Pool pool             # of them
    uint32_t items_posted # so many items were put into queues


cdef inline Node *node_at(const Nodes *nodes, uint32_t number) noexcept nogil:
    return nodes.rows + number


cdef uint32_t appended(Nodes *nodes, uint32_t last, uint32_t value, uint32_t about) except? 0xFFFFFFFF nogil:
    """The last of a circle with one more node."""
    cdef uint32_t number = new_slot(&nodes.pool, <void **> &nodes.rows, sizeof(Node))
    node_at(nodes, number)[0] = Node(value, about, number)
    if last != NONE:
        node_at(nodes, number).next = node_at(nodes, last).next
        node_at(nodes, last).next = number
    return number


cdef inline const Node *first_node(const Nodes *nodes, uint32_t last) noexcept nogil:
    return node_at(nodes, node_at(nodes, last).next)


cdef uint32_t without_first(Nodes *nodes, uint32_t last) noexcept nogil:
    """The last of a circle without its first, or NONE if nothing is left."""
    cdef uint32_t first = node_at(nodes, last).next
    node_at(nodes, last).next = node_at(nodes, first).next
    give_slot(&nodes.pool, nodes.rows, sizeof(Node), first)
    return NONE if first == last else last


cdef void free_circle(Nodes *nodes, uint32_t last) noexcept nogil:
    while last != NONE:
        last = without_first(nodes, last)


cdef int renew(State *s, const RawRecord *r) except -1 nogil:
    """RAW_SEMAPHORE, RAW_BARRIER: it is new, or begins again."""
    cdef Primitive *p
    if r.object == 0:
        s.dropped.strange += 1
        return 0
    p = primitive_at(s, r.object)
    if r.op == RAW_BARRIER:
        free_circle(&s.nodes, p.waiting)
        p.waiting = p.phase = NONE
        p.parties = <uint32_t> min(r.key, <uint64_t> MOST_COUNTED)
        p.arrivals, p.departed = 0, False
        return 0
    if p.mode == AS_LOCK:
        give_up(s, p)
    free_circle(&s.nodes, p.posts)
    p.posts = NONE
    p.acquires = p.releases = p.front = 0
    p.permits, p.is_semaphore = r.key, True
    p.mode = AS_LOCK if r.key == 1 else AS_PERMITS
    return 0


cdef int post(State *s, const RawRecord *r) except -1 nogil:
    cdef Primitive *p = primitive_at(s, r.object)
    cdef uint32_t site = site_symbol(s, r.site), hand
    if r.key_kind == HAND_PERMIT:
        return post_permit(s, r, p, site)
    if r.key_kind == HAND_ITEM:
        return post_item(s, r, p, site)
    hand = hand_of(s, r, p)
    return 0 if hand == NONE else emit(s, r.thread, POST, hand, site)


cdef int take(State *s, const RawRecord *r) except -1 nogil:
    cdef Primitive *p = primitive_at(s, r.object)
    cdef uint32_t site = site_symbol(s, r.site), hand
    if r.key_kind == HAND_PERMIT:
        return take_permit(s, r, p, site)
    if r.key_kind == HAND_ITEM:
        return take_item(s, r, p, site)
    if r.key_kind == HAND_NOTHING:
        return take_nothing(s, r, p, <uint32_t> min(r.key, <uint64_t> OF_ROOM))
    hand = hand_of(s, r, p)
    if r.key_kind == HAND_START and p.workers > 1:
        s.threads.jobs += 1
        s.threads.rows[r.thread].job = s.threads.jobs
    return 0 if hand == NONE else emit(s, r.thread, TAKE, hand, site)


cdef uint32_t hand_of(State *s, const RawRecord *r, Primitive *p) except? 0xFFFFFFFE nogil:
    """The one hand-over of an object, or of a future's start. NONE: the record is about neither."""
    if r.key_kind == HAND_PLAIN:
        return whole_hand(s, p, r.object)
    if r.key_kind == HAND_START:
        if p.start == NONE:
            if r.op == RAW_POST:
                p.workers = <uint32_t> min(r.key, <uint64_t> MOST_COUNTED)
            p.start = start_hand(s, p, r.object)
        return p.start
    s.dropped.strange += 1
    return NONE


cdef uint32_t whole_hand(State *s, Primitive *p, uint64_t address) except? 0xFFFFFFFE nogil:
    if p.hand == NONE:
        p.hand = new_hand(s, p, address, HAND_OF_OBJECT)
    return p.hand


cdef int take_nothing(State *s, const RawRecord *r, Primitive *p, uint32_t of) except -1 nogil:
    """A wait without a hand-over: it splits regions, as every take does, and is ordered after nothing."""
    cdef uint32_t *hand = &p.queue_room if of == OF_ROOM else &p.nothing
    if hand[0] == NONE:
        hand[0] = new_hand(s, p, r.object, HAND_OF_NOTHING + of)
    return emit(s, r.thread, TAKE, hand[0], site_symbol(s, r.site))


# Queues

cdef int post_item(State *s, const RawRecord *r, Primitive *p, uint32_t site) except -1 nogil:
    cdef uint32_t hand = new_hand(s, p, r.object, HAND_OF_ITEM), found, row
    found = find(&s.table, r.object, AN_ITEM, r.key)
    if not found:
        row = object_at(s, r.object)
        found = insert(&s.table, r.object, AN_ITEM, r.key, NONE, &object_row(s, row).entries)
    s.nodes.items_posted += 1
    entry_at(&s.table, found).value = appended(
        &s.nodes, entry_at(&s.table, found).value, hand, s.nodes.items_posted
    )
    return emit(s, r.thread, POST, hand, site)


cdef int take_item(State *s, const RawRecord *r, Primitive *p, uint32_t site) except -1 nogil:
    """The oldest post of the same item. One that needed nobody is a take of its own kind, which splits no region."""
    cdef uint32_t found = find(&s.table, r.object, AN_ITEM, r.key), hand, number, row
    cdef Thread *t = s.threads.rows + r.thread
    cdef Entry *entry
    if not found:
        s.dropped.unmatched += 1
        return 0
    entry = entry_at(&s.table, found)
    hand, number = first_node(&s.nodes, entry.value).value, first_node(&s.nodes, entry.value).about
    entry.value = without_first(&s.nodes, entry.value)
    if entry.value == NONE:
        row = object_at(s, r.object)
        remove(&s.table, found, &object_row(s, row).entries)
    # What was there when the region began, it would have found alone, too. What came since it had to wait for, whether
    # or not it was there by the time that it was asked for.
    if r.flags & FLAG_NO_WAIT or (t.atomics and number <= t.since):
        return emit(s, r.thread, TAKE, ready_hand(s, p, hand), site)
    t.since = s.nodes.items_posted
    return emit(s, r.thread, TAKE, hand, site)


# Semaphores: the n-th acquire takes the (n - permits)-th release. One of a single permit is a lock, as long as its
# holders release it.

cdef int take_permit(State *s, const RawRecord *r, Primitive *p, uint32_t site) except -1 nogil:
    cdef uint64_t wanted
    cdef uint32_t hand = NONE
    p.acquires += 1
    if not p.is_semaphore:
        p.is_semaphore, p.mode = True, AS_PERMITS
    if p.mode == AS_LOCK:
        if p.holder == NOBODY:
            p.holder, p.depth = r.thread, 1
            return emit(s, r.thread, ACQUIRE, lock_symbol(s, p, r.object), site)
        become_permits(s, p)
    # more were taken than there can be: it had more permits than we knew of
    if p.acquires > p.releases and p.acquires - p.releases > p.permits:
        p.permits = p.acquires - p.releases
    if p.acquires <= p.permits:
        return 0
    wanted = p.acquires - p.permits
    while p.posts != NONE and p.front <= wanted:
        hand = first_node(&s.nodes, p.posts).value if p.front == wanted else NONE
        p.posts = without_first(&s.nodes, p.posts)
        p.front += 1
    # One of several permits, which nobody waited for: whose release it was is nothing to whoever takes it.
    if r.flags & FLAG_NO_WAIT and p.permits > 1:
        return 0
    return 0 if hand == NONE else emit(s, r.thread, TAKE, hand, site)


cdef int post_permit(State *s, const RawRecord *r, Primitive *p, uint32_t site) except -1 nogil:
    cdef uint32_t hand
    p.releases += 1
    if not p.is_semaphore:
        p.is_semaphore, p.mode = True, AS_PERMITS
    if p.mode == AS_LOCK:
        if p.holder == r.thread:
            p.holder, p.depth = NOBODY, 0
            return emit(s, r.thread, RELEASE, p.lock, site)
        become_permits(s, p)
    hand = new_hand(s, p, r.object, HAND_OF_PERMIT)
    if p.posts == NONE:
        p.front = p.releases
    p.posts = appended(&s.nodes, p.posts, hand, 0)
    return emit(s, r.thread, POST, hand, site)


cdef int become_permits(State *s, Primitive *p) except -1 nogil:
    """A semaphore that was a lock so far turned out to be none."""
    give_up(s, p)
    p.mode = AS_PERMITS
    return 0


# Barriers

cdef int arrive(State *s, const RawRecord *r) except -1 nogil:
    cdef Primitive *p = primitive_at(s, r.object)
    cdef uint32_t before
    if r.flags & FLAG_CALLED_BACK:
        return 0 if p.phase == NONE else emit(s, r.thread, POST, p.phase, site_symbol(s, r.site))
    before = no_longer_waiting(s, p, r.thread)
    if before != NONE and before == p.phase and p.arrivals:
        p.arrivals -= 1   # that wait was broken: it does not count
    if p.phase == NONE or (p.parties and p.arrivals >= p.parties) or (not p.parties and p.departed):
        p.phase = new_hand(s, p, r.object, HAND_OF_PHASE)
        p.arrivals, p.departed = 0, False
    p.arrivals += 1
    p.waiting = appended(&s.nodes, p.waiting, p.phase, r.thread)
    return emit(s, r.thread, POST, p.phase, site_symbol(s, r.site))


cdef int depart(State *s, const RawRecord *r) except -1 nogil:
    cdef Primitive *p = primitive_at(s, r.object)
    cdef uint32_t phase
    if r.flags & FLAG_CALLED_BACK:
        return 0 if p.phase == NONE else emit(s, r.thread, TAKE, p.phase, site_symbol(s, r.site))
    phase = no_longer_waiting(s, p, r.thread)
    if phase == NONE:
        s.dropped.unmatched += 1
        return 0
    p.departed = True
    return emit(s, r.thread, TAKE, phase, site_symbol(s, r.site))


cdef uint32_t no_longer_waiting(State *s, Primitive *p, uint32_t thread) noexcept nogil:
    """The phase of the barrier that a thread waited in, or NONE."""
    cdef Nodes *nodes = &s.nodes
    cdef uint32_t before = p.waiting, here, phase
    if before == NONE:
        return NONE
    while True:
        here = node_at(nodes, before).next
        if node_at(nodes, here).about == thread:
            break
        before = here
        if before == p.waiting:
            return NONE
    phase = node_at(nodes, here).value
    if here == p.waiting:
        p.waiting = NONE if here == before else before   # the last one goes: the one before it is the last
    without_first(nodes, before)
    return phase
