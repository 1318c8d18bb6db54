# cython: language_level=3, freethreading_compatible=True
"""Parser for RoadRunner's text. `formats/roadrunner.py` has the meaning of its lines.

Lines are split in groups of 64 events, and then each is looked up and turned into events. Most lines are one event.
Where a line means several (a Wait for a lock held three times, an event after a delayed Join), the events are *owed*:
they are added before the next line is parsed, one by one, as far as the batch has room.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memchr, memcmp

from atomsan.trace._memory cimport ensure_room
from atomsan.trace._ops cimport ACQUIRE, FORK, JOIN, POST, RELEASE, TAKE, WRITE
from atomsan.trace._text cimport GROUP, NO_OP, NO_SITE, Sought, TextParser, seek, seek_further

from atomsan.errors import InputError
from atomsan.trace.formats.roadrunner import refusal

cdef extern from * nogil:
    """
    #include <string.h>
    enum { ATOMSAN_WAIT = 10, ATOMSAN_BARRIER = 11 };

    /* The event that starts at p, and how many bytes "Word(" takes; 255 if none does. Volatile accesses have no
       site. */
    static inline uint8_t atomsan_rr_op(const char *p, size_t *size, int *has_site) {
    #define ATOMSAN_WORD(word, number) \\
        if (!memcmp(p, word "(", sizeof(word))) { *size = sizeof(word); return number; }
        *has_site = 1;
        switch (*p) {
        case 'R':
            ATOMSAN_WORD("Rd", 0)
            ATOMSAN_WORD("Release", 3)
            break;
        case 'W':
            ATOMSAN_WORD("Wr", 1)
            ATOMSAN_WORD("Wait", ATOMSAN_WAIT)
            break;
        case 'A':
            ATOMSAN_WORD("ARd", 0)
            ATOMSAN_WORD("AWr", 1)
            ATOMSAN_WORD("Acquire", 2)
            break;
        case 'E':
            ATOMSAN_WORD("Enter", 6)
            ATOMSAN_WORD("Exit", 7)
            break;
        case 'V':
            *has_site = 0;
            ATOMSAN_WORD("VRd", 0)
            ATOMSAN_WORD("VWr", 1)
            break;
        case 'S':
            ATOMSAN_WORD("Start", 4)
            break;
        case 'J':
            ATOMSAN_WORD("Join", 5)
            break;
        case 'B':
            ATOMSAN_WORD("Barrier", ATOMSAN_BARRIER)
            break;
        }
        return 255;
    #undef ATOMSAN_WORD
    }

    static inline int atomsan_is_blank(char c) { return c == ' ' || c == '\\t' || c == '\\r'; }
    """
    enum: WAIT "ATOMSAN_WAIT"
    enum: BARRIER "ATOMSAN_BARRIER"
    uint8_t rr_op "atomsan_rr_op"(const char *p, size_t *size, int *has_site)
    bint is_blank "atomsan_is_blank"(char c)

# What a thread's last line leaves unfinished.
cdef enum Open:
    NOTHING = 0
    STARTED         # a Start that may be printed again
    JOINING         # a delayed Join
    WAITING         # a Wait whose second line may follow

# What to do with an event whose thread has something unfinished.
cdef enum Next:
    ADD             # it is an event of its own
    DONE            # it is the second line of what was unfinished
    LATER           # owed events come first

cdef struct ThreadState:
    uint64_t line       # how many lines are before the delayed Join
    uint32_t target     # the thread started or joined, the lock waited for
    uint32_t depth      # how often the thread held that lock
    uint8_t open

cdef struct LockState:
    uint32_t holder
    uint32_t depth

cdef struct Owed:
    uint64_t line       # how many lines stand before the one that the events belong to
    uint32_t count
    uint32_t thread
    uint32_t target
    uint8_t op

cdef struct EventLine:
    Sought target
    const char *start
    const char *thread
    size_t thread_size
    const char *rest    # what follows the bracket
    const char *end
    uint64_t line       # how many lines stand before it
    uint8_t op
    int has_site
    bint is_whole       # it has a thread, a target and a closing bracket


cdef const char *closing(const char *p, const char *end) noexcept nogil:
    """The bracket that closes the one opened before p, or NULL."""
    cdef const char *close = <const char *> memchr(p, c")", end - p)
    cdef size_t depth = 1
    if close == NULL or memchr(p, c"(", close - p) == NULL:
        return close
    while p < end:
        if p[0] == c"(":
            depth += 1
        elif p[0] == c")":
            depth -= 1
            if depth == 0:
                return p
        p += 1
    return NULL


cdef bint take_apart(EventLine *event, const char *line, const char *end) noexcept nogil:
    """Find the parts of a line. False if it is not an event."""
    cdef const char *p = line + 1
    cdef size_t word_size = 0
    if line[0] != c"@":
        return False
    while p < end and is_blank(p[0]):
        p += 1
    event.op = rr_op(p, &word_size, &event.has_site)
    if event.op == NO_OP or p == line + 1:
        return False
    event.start = line
    event.end = end
    event.is_whole = find_arguments(event, p + word_size)
    return True


cdef bint find_arguments(EventLine *event, const char *p) noexcept nogil:
    """Find the thread and the target behind the opening bracket. False if one of them or the closing one is missing."""
    cdef const char *end = event.end
    event.thread = p
    while p < end and p[0] != c"," and p[0] != c"(" and p[0] != c")" and not is_blank(p[0]):
        p += 1
    event.thread_size = p - event.thread
    if p == end or p[0] != c"," or event.thread_size == 0:
        return False
    event.target.name = p + 1
    p = closing(event.target.name, end)
    if p == NULL or p == event.target.name:
        return False
    event.target.size = p - event.target.name
    event.rest = p + 1
    return True


cdef const char *last_word(const char *p, const char *end, size_t *size) noexcept nogil:
    """The last of at least two words in p..end, or NULL."""
    cdef const char *word
    while end > p and is_blank((end - 1)[0]):
        end -= 1
    word = end
    while word > p and not is_blank((word - 1)[0]):
        word -= 1
    size[0] = end - word
    while p < word and is_blank(p[0]):
        p += 1
    return word if p < word else NULL


cdef const char *past_value(const char *p, const char *end) noexcept nogil:
    """Where `[value]` or `[old -> new]` ends; `end` if its line was broken by a newline in the value."""
    while p + 1 < end and not (p[0] == c"]" and is_blank(p[1])):
        p += 1
    return p + 1


cdef class RoadRunnerParser(TextParser):
    """Parses the text of RoadRunner's printing tools."""

    cdef ThreadState *thread_states
    cdef size_t threads_room
    cdef LockState *lock_states
    cdef size_t locks_room
    cdef EventLine events[GROUP]
    cdef uint64_t line_after      # how many lines stand before the one after the group
    cdef Owed owed
    cdef size_t joins_checked     # by `finish`: threads whose delayed Join was added
    cdef dict barriers            # (thread, barrier) -> how often it was entered

    def __init__(self, symbols, size_t room):
        super().__init__(symbols, room, escapes=False)   # Java names have no percent escapes
        self.barriers = {}

    def __dealloc__(self):
        free(self.thread_states)
        free(self.lock_states)

    cdef size_t read(self, const char *base, size_t at, size_t stop) except? 0 nogil:
        cdef size_t i, n
        self.pay()
        while at < stop and self.filled < self.room:
            n = self.stage(base, &at, stop)
            for i in range(n):
                self.line = self.events[i].line
                if not self.read_event(self.events + i):
                    return self.events[i].start - base
            self.line = self.line_after
        return at

    def finish(self):
        while self.pay() and self.filled < self.room:
            if self.joins_checked == min(<uint64_t> self.threads_room, self.threads.names.size()):
                return True
            self.end_join(self.joins_checked)
            self.joins_checked += 1
        return False

    cdef bint pay(self) except -1 nogil:
        """Add the events owed. False if there is no room for all of them."""
        cdef uint64_t line = self.line
        if self.owed.count:
            self.line = self.owed.line
            while self.owed.count and self.filled < self.room:
                self.emit(self.owed.thread, self.owed.op, self.owed.target, NO_SITE)
                self.owed.count -= 1
            self.line = line
        return self.owed.count == 0

    cdef void owe(self, uint32_t count, uint32_t thread, uint8_t op, uint32_t target, uint64_t line) noexcept nogil:
        self.owed.count = count
        self.owed.thread = thread
        self.owed.op = op
        self.owed.target = target
        self.owed.line = line

    cdef size_t stage(self, const char *base, size_t *at, size_t stop) noexcept nogil:
        """Split lines until there are 64 events or no more lines; returns the number of events."""
        cdef const char *newline
        cdef EventLine *event
        cdef size_t i, n = 0
        self.line_after = self.line
        while at[0] < stop and n < GROUP:
            newline = <const char *> memchr(base + at[0], c"\n", stop - at[0])
            event = self.events + n
            if take_apart(event, base + at[0], newline):
                event.line = self.line_after
                if event.is_whole and event.op <= TAKE:
                    seek(&event.target, self.target_slots(event.op))
                n += 1
            self.line_after += 1
            at[0] = newline - base + 1
        for i in range(n):
            event = self.events + i
            if event.is_whole and event.op <= TAKE:
                seek_further(&event.target, self.target_slots(event.op))
        return n

    cdef bint read_event(self, EventLine *event) except -1 nogil:
        """Parse one line. False if the batch has no room for it."""
        cdef uint32_t thread
        cdef Next next = LATER
        while next == LATER:
            if not self.pay() or self.filled == self.room:
                return False
            if not event.is_whole:
                with gil:
                    self.refuse(event)
            thread = self.threads.intern(event.thread, event.thread_size)
            ensure_room(<void **> &self.thread_states, &self.threads_room, <size_t> thread + 1, sizeof(ThreadState))
            next = self.settle(thread, event) if self.thread_states[thread].open else ADD
        if next == ADD:
            self.add(thread, event)
        self.pay()
        return True

    cdef int add(self, uint32_t thread, EventLine *event) except -1 nogil:
        """Add the event of one line, or remember it if its second line is to come."""
        cdef uint32_t target, site = NO_SITE
        if event.op == BARRIER:
            with gil:
                return self.add_barrier(thread, event)
        if event.op == WAIT:
            return self.begin_wait(thread, self.intern_target(ACQUIRE, event.target.name, event.target.size))
        target = self.intern_sought(event.op, &event.target)
        if event.op == JOIN:
            self.leave_open(thread, JOINING, target)
            return 0
        if event.op <= WRITE:
            if event.has_site:
                site = self.site(event.rest, event.end)
        elif event.op <= RELEASE:
            self.count_lock(thread, event.op, target)
        elif event.op == FORK:
            self.leave_open(thread, STARTED, target)
        return self.emit(thread, event.op, target, site)

    cdef Next settle(self, uint32_t thread, EventLine *event) except? LATER nogil:
        """Finish what the thread's last line left unfinished."""
        cdef ThreadState *state = self.thread_states + thread
        cdef uint8_t opened = state.open
        cdef bint is_second
        if opened == WAITING:
            is_second = (
                event.op == WAIT
                and self.intern_target(ACQUIRE, event.target.name, event.target.size) == state.target
            )
            self.end_wait(thread)
        elif opened == STARTED:
            is_second = event.op == FORK and self.intern_sought(FORK, &event.target) == state.target
        else:
            is_second = event.op == JOIN and self.intern_sought(JOIN, &event.target) == state.target
            if is_second:
                state.line = self.line
            self.end_join(thread)
        state.open = NOTHING
        if is_second:
            return DONE
        return LATER if self.owed.count else ADD

    cdef void leave_open(self, uint32_t thread, Open open, uint32_t target) noexcept nogil:
        cdef ThreadState *state = self.thread_states + thread
        state.open = open
        state.target = target
        state.line = self.line

    cdef void end_join(self, uint32_t thread) noexcept nogil:
        cdef ThreadState *state = self.thread_states + thread
        if state.open == JOINING:
            state.open = NOTHING
            self.owe(1, thread, JOIN, state.target, state.line)

    cdef int begin_wait(self, uint32_t thread, uint32_t lock) except -1 nogil:
        ensure_room(<void **> &self.lock_states, &self.locks_room, <size_t> lock + 1, sizeof(LockState))
        self.leave_open(thread, WAITING, lock)
        self.thread_states[thread].depth = 0
        if self.lock_states[lock].holder == thread:
            self.thread_states[thread].depth = self.lock_states[lock].depth
            self.lock_states[lock].depth = 0
        self.owe(self.thread_states[thread].depth, thread, RELEASE, lock, self.line)
        return 0

    cdef void end_wait(self, uint32_t thread) noexcept nogil:
        cdef ThreadState *state = self.thread_states + thread
        self.lock_states[state.target].holder = thread
        self.lock_states[state.target].depth = state.depth
        self.owe(state.depth, thread, ACQUIRE, state.target, self.line)

    cdef int count_lock(self, uint32_t thread, uint8_t op, uint32_t lock) except -1 nogil:
        """Count how often the lock's holder holds it. Well-formedness is validated later."""
        cdef LockState *state
        ensure_room(<void **> &self.lock_states, &self.locks_room, <size_t> lock + 1, sizeof(LockState))
        state = self.lock_states + lock
        if state.holder != thread:
            state.holder = thread
            state.depth = 0
        if op == ACQUIRE:
            state.depth += 1
        elif state.depth:
            state.depth -= 1
        return 0

    cdef uint32_t site(self, const char *rest, const char *end) except? 0xFFFFFFFF nogil:
        """The site that an access names after the state of its location."""
        cdef size_t size = 0
        cdef const char *word
        if rest < end and rest[0] == c"[":
            rest = past_value(rest, end)
        word = last_word(rest, end, &size)
        if word == NULL or (size == 7 and not memcmp(word, b"NullLoc", 7)):
            return NO_SITE
        return self.sites.intern(word, size)

    cdef int add_barrier(self, uint32_t thread, EventLine *event) except -1:
        cdef bytes target = PyBytes_FromStringAndSize(event.target.name, event.target.size)
        barrier, _, step = target.rpartition(b",")
        if not barrier or step not in (b"Enter", b"Exit"):
            self.refuse(event)
        phase = self.barriers.get((thread, barrier), 0) + (step == b"Enter")
        self.barriers[thread, barrier] = phase
        # an Exit without an Enter gives no order
        if phase:
            handover = self.handovers.spelled(b"%b#%d" % (barrier, phase))
            self.emit(thread, POST if step == b"Enter" else TAKE, handover, NO_SITE)
        return 0

    cdef int refuse(self, EventLine *event) except -1:
        line = PyBytes_FromStringAndSize(event.start, event.end - event.start)
        raise InputError(refusal(line), line=self.line + 1)
