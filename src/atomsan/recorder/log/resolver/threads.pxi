# Threads: the state of each, from its fork to its join.
#
# State: `Threads`, rows by the raw numbers of threads. A row has fields for other parts, which alone write them:
# regions (`open` and what counts it), locks (`wait_lock`, `pending_...`) and naming (`made`, `block...`, `recent...`).
# Always: nothing comes after a thread's exit, and nothing of it comes after its join. `is_usual` is true only if a
# thread runs and the short way through `resolve` is right for it; who changes a field that `settle` looks at calls
# `settle`.

# How a thread stands.
cdef enum:
    UNSEEN
    FORKED
    RUNNING
    EXITED
    JOINED

# A thread's number is believed up to that many beyond the last one that was defined.
cdef enum: MOST_UNDEFINED = 4096
cdef enum: RECENT = 8     # a power of two

cdef struct Open:
    uint32_t symbol
    uint32_t region
    uint32_t site
    uint8_t opened        # BY_...
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
    uint64_t block        # the lock of the block that it entered last
    uint32_t block_site
    uint32_t pending_count
    uint32_t pending_site
    uint32_t symbol
    uint32_t depth
    uint32_t room
    uint32_t assignments  # open regions of augmented assignments
    uint32_t trampolines  # open entry functions that stood aside
    uint32_t atomics      # open regions that may be atomic
    uint32_t job          # of a pool: which of all jobs it does; 0: none
    uint32_t since        # how many items had been put into queues when the outermost of these began, or a get split it
    uint8_t state
    uint8_t is_usual
    uint8_t awaits_entry
    uint8_t recent_at
    uint8_t is_noted      # among those that sifting has to renumber
    uint8_t is_met        # among `met`
    Recent recent[RECENT] # what was read last at sites that feed others

cdef struct Threads:
    Thread *rows
    size_t room
    size_t limit          # numbers from here on are not believed
    uint32_t jobs         # so many jobs of pools began
    Rows met              # raw numbers of the rows that are in use


cdef void free_threads(Threads *threads) noexcept nogil:
    cdef size_t i
    for i in range(threads.room):
        free(threads.rows[i].open)
    free(threads.rows)
    free_rows(&threads.met)


cdef void take_over_threads(Threads *threads, Threads *other) noexcept nogil:
    """Take the room of a resolver that is not fed any more. Costs what that one met."""
    cdef size_t i
    cdef Thread *t
    for i in range(other.met.count):
        t = other.rows + number_at(&other.met, i)
        free(t.open)
        memset(t, 0, sizeof(Thread))
        t.symbol = NONE
    other.met.count = 0
    free_threads(threads)
    threads[0] = other[0]
    memset(other, 0, sizeof(Threads))


cdef int need_thread(Threads *threads, size_t number) except -1 nogil:
    """A row for a thread whose number is believed."""
    cdef size_t i, before = threads.room
    if number >= before:
        ensure_room(<void **> &threads.rows, &threads.room, number + 1, sizeof(Thread))
        for i in range(before, threads.room):
            threads.rows[i].symbol = NONE
    if not threads.rows[number].is_met:
        add_number(&threads.met, <uint32_t> number)
        threads.rows[number].is_met = True
    return 0


cdef inline bint is_believed(const Threads *threads, uint64_t number) noexcept nogil:
    return 0 < number < threads.limit


cdef inline uint32_t user_of(const Threads *threads, uint32_t number) noexcept nogil:
    """Who uses data: a thread; or a job of a pool, which another thread could have done."""
    cdef uint32_t job = threads.rows[number].job
    return <uint32_t> 0x80000000 | job if job else number


cdef inline void settle(Thread *t) noexcept nogil:
    t.is_usual = t.state == RUNNING and t.assignments == 0 and t.pending_lock == 0 and t.made == 0


cdef int fork_or_join(State *s, const RawRecord *r) except -1 nogil:
    cdef Thread *child
    if not is_believed(&s.threads, r.key) or r.key == r.thread:
        s.dropped.strange += 1
        return 0
    need_thread(&s.threads, r.key)
    child = s.threads.rows + r.key
    if r.op == RAW_FORK:
        if child.state != UNSEEN:
            s.dropped.strange += 1
            return 0
        thread_symbol(s, r.key)
        child.state = FORKED
        return emit(s, r.thread, FORK, child.symbol, site_symbol(s, r.site))
    if child.symbol == NONE:   # nothing of it is in the trace, so there is nothing to come after
        s.dropped.unmatched += 1
        return 0
    if child.state != JOINED:
        exit_thread(s, r.key, JOINED, 0)
    return emit(s, r.thread, JOIN, child.symbol, site_symbol(s, r.site))


cdef int exit_thread(State *s, uint32_t number, uint8_t state, uint32_t site) except -1 nogil:
    """End what is open of a thread that has not ended yet. `state`: EXITED or JOINED."""
    cdef Thread *t = s.threads.rows + number
    if t.state < EXITED:
        if t.pending_lock:
            acquire_pending(s, number)
        close_to(s, number, 0, site)
    free(t.open)
    t.open = NULL
    t.room = 0
    t.state = state
    t.is_usual = False
    return 0
