# The events made since the last `take`, in columns of symbols.
#
# State: `Events`. Only `put` adds to it, and only sifting takes something out.
# Always: what stands here is well-formed, whatever was logged. Parts that know a record to fit nowhere drop and count
# it (`Dropped`) instead of putting an event.

cdef struct Events:
    uint32_t *thread
    uint8_t *op
    uint32_t *target
    uint32_t *site
    size_t count
    size_t room

cdef struct Dropped:
    uint64_t late         # records of threads that had ended
    uint64_t strange      # records that made no sense
    uint64_t unmatched    # ends, releases and takes of what was not open


cdef void free_events(Events *events) noexcept nogil:
    free(events.thread)
    free(events.op)
    free(events.target)
    free(events.site)


cdef inline int put(Events *events, uint32_t thread, uint8_t op, uint32_t target, uint32_t site) except -1 nogil:
    cdef size_t at = events.count
    if at == events.room:
        widen(events)
    events.count = at + 1
    events.thread[at] = thread
    events.op[at] = op
    events.target[at] = target
    events.site[at] = site
    return 0


cdef int widen(Events *events) except -1 nogil:
    cdef size_t room = 2 * events.room + 4096
    events.thread = <uint32_t *> resized(events.thread, 4 * room)
    events.op = <uint8_t *> resized(events.op, room)
    events.target = <uint32_t *> resized(events.target, 4 * room)
    events.site = <uint32_t *> resized(events.site, 4 * room)
    events.room = room
    return 0


cdef int emit(State *s, uint32_t number, uint8_t op, uint32_t target, uint32_t site) except -1 nogil:
    """An event of the thread of this raw number, which has not ended; `site` is a symbol."""
    cdef Thread *t = s.threads.rows + number
    thread_symbol(s, number)
    if t.state < RUNNING:
        t.state = RUNNING
        settle(t)
    return put(&s.events, t.symbol, op, target, site)


cdef taken_events(Events *events):
    """(thread, op, target, site): the columns as read-only arrays of numpy; there are none then."""
    cdef uint32_t[::1] threads, targets, sites
    cdef uint8_t[::1] ops
    cdef size_t n = events.count
    columns = np.empty(n, np.uint32), np.empty(n, np.uint8), np.empty(n, np.uint32), np.empty(n, np.uint32)
    threads, ops, targets, sites = columns
    if n:
        memcpy(&threads[0], events.thread, 4 * n)
        memcpy(&ops[0], events.op, n)
        memcpy(&targets[0], events.target, 4 * n)
        memcpy(&sites[0], events.site, 4 * n)
    events.count = 0
    for column in columns:
        column.flags.writeable = False
    return columns
