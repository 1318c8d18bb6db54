# cython: language_level=3, freethreading_compatible=True
"""Parser for STD: `thread|op(target)|site`, one event a line, at about the speed of a checksum.

The text is parsed in windows of whole lines. First every `|` and newline of the window is found, 64 bytes at a time.
Then lines are split in groups of 64: keys are hashed and their slots prefetched for the whole group before the first
look-up, so that a million locations do not cost a million cache misses. Unusual lines are parsed in Python, by
`std_line`: blank lines, a bare `begin`, very long lines, and errors.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memchr

from atomsan.trace._names cimport Slots, find
from atomsan.trace._ops cimport BEGIN, END, FORK, JOIN
from atomsan.trace._text cimport GROUP, NO_OP, NO_SITE, Sought, TextParser, find_sought, seek

from atomsan.trace.formats.std import std_line

cdef extern from "_scan.h":
    size_t find_marks "atomsan_find_marks"(const char *text, size_t start, size_t stop, uint32_t *out) nogil
    uint8_t std_op "atomsan_std_op"(const char *p, size_t *size) nogil
    enum: CACHE_SIZE "(1 << ATOMSAN_CACHE_BITS)"
    ctypedef struct CacheLine "atomsan_cache_line":
        uint64_t key
        uint32_t id_plus_1
    uint64_t cache_key "atomsan_cache_key"(const char *p, size_t size) nogil
    CacheLine *cached "atomsan_cached"(CacheLine *cache, uint64_t key) nogil

cdef extern from * nogil:
    """
    #include <string.h>
    static const char *atomsan_last_newline(const char *p, size_t size) {
        while (size && p[size - 1] != '\\n') size--;
        return size ? p + size - 1 : NULL;
    }
    """
    const char *last_newline "atomsan_last_newline"(const char *p, size_t size)

cdef enum: WINDOW = 1 << 14

cdef enum:
    THREAD
    SITE

cdef struct Line:
    Sought target
    uint32_t thread
    uint32_t site
    uint8_t op


cdef class StdParser(TextParser):
    """Parses STD text."""

    cdef uint32_t marks[WINDOW + 64]
    cdef Line lines[GROUP]
    cdef const Slots *slots[10]           # where the targets of each operation are looked up
    cdef CacheLine caches[2][CACHE_SIZE]  # of threads and of sites

    def __init__(self, symbols, size_t room):
        super().__init__(symbols, room)
        for op in range(10):
            self.slots[<uint8_t> op] = self.target_slots(op)

    cdef size_t read(self, const char *base, size_t at, size_t stop) except? 0 nogil:
        while at < stop and self.filled < self.room:
            at = self.window(base, at, stop)
        return at

    cdef size_t window(self, const char *base, size_t at, size_t stop) except? 0 nogil:
        """Read the lines of one window, or until the batch is full; returns where the next line starts."""
        cdef size_t window_stop = stop, count, i = 0
        cdef const char *newline
        if stop - at > WINDOW:
            newline = last_newline(base + at, WINDOW)
            if newline == NULL:
                return self.odd_line(base, at, stop)
            window_stop = newline - base + 1
        count = find_marks(base, at, window_stop, self.marks)
        while i < count and self.filled < self.room:
            i += 3 * self.group(base, &at, self.marks + i, count - i)
            if i < count and self.filled < self.room:
                at = self.odd_line(base, at, stop)
                while i < count and self.marks[i] < at:
                    i += 1
        return at

    cdef size_t group(self, const char *base, size_t *at, const uint32_t *marks, size_t count) except? 0 nogil:
        """Parse usual lines until an unusual one, the end of the window or a full batch; returns how many."""
        cdef size_t done = 0, n
        while True:
            n = self.take_apart(base, at, marks + 3 * done, (count - 3 * done) // 3)
            if n:
                self.store(n)
            done += n
            if n < GROUP:
                return done

    cdef size_t take_apart(self, const char *base, size_t *at, const uint32_t *marks, size_t most) except? 0 nogil:
        """Find the fields of up to 64 usual lines and prefetch the slots of their targets."""
        cdef size_t n = 0, op_size = 0, size
        cdef const char *start = base + at[0]
        cdef const char *bar
        cdef const char *second
        cdef const char *newline
        cdef Line *line
        cdef uint32_t found
        most = min(most, <size_t> GROUP, self.room - self.filled)
        while n < most:
            bar = base + marks[3 * n]
            second = base + marks[3 * n + 1]
            newline = base + marks[3 * n + 2]
            if bar[0] != c"|" or second[0] != c"|" or newline[0] != c"\n" or (second - 1)[0] != c")":
                break
            line = self.lines + n
            line.op = std_op(bar + 1, &op_size)
            line.target.name = bar + 1 + op_size
            if line.op == NO_OP or bar == start or line.target.name > second - 1:
                break
            line.target.size = second - 1 - line.target.name
            if line.target.size == 0 and not BEGIN <= line.op <= END:
                break
            seek(&line.target, self.slots[line.op])

            found = self.few(THREAD, start, bar - start)
            if not found:
                break
            line.thread = found - 1

            size = newline - second - 1
            size -= (newline - 1)[0] == c"\r"
            if size == 1 and second[1] == c"-":
                line.site = NO_SITE
            elif size == 0:
                break
            else:
                found = self.few(SITE, second + 1, size)
                if not found:
                    break
                line.site = found - 1
            if FORK <= line.op <= JOIN and not self.name_child(&line.target):
                break
            start = newline + 1
            n += 1
        at[0] = start - base
        return n

    cdef inline uint32_t few(self, uint8_t kind, const char *p, size_t size) except? 0 nogil:
        """The number plus one of a thread or a site; 0 if its name is new and unusual."""
        cdef uint64_t key
        cdef CacheLine *line
        if size > 8:
            return self.find_or_add(kind, p, size)
        key = cache_key(p, size)
        line = cached(self.caches[kind], key)
        if line.key != key:
            line.id_plus_1 = self.find_or_add(kind, p, size)
            line.key = key if line.id_plus_1 else 0
        return line.id_plus_1

    cdef uint32_t find_or_add(self, uint8_t kind, const char *p, size_t size) except? 0 nogil:
        cdef uint32_t found
        if kind == THREAD:
            found = find(&self.threads.spellings.slots, p, size)
            if not found and self.threads.can_add(p, size):
                found = self.threads.add(p, size) + 1
        else:
            found = find(&self.sites.spellings.slots, p, size)
            if not found and self.sites.can_add(p, size):
                found = self.sites.intern_site(p, size) + 1
        return found

    cdef bint name_child(self, const Sought *target) except -1 nogil:
        """Number the threads in the order of the text: a child is numbered with the line that forks it."""
        if not find_sought(target, self.slots[FORK]):
            if not self.threads.can_add(target.name, target.size):
                return False
            self.threads.add(target.name, target.size)
        return True

    cdef int store(self, size_t n) except -1 nogil:
        """Give the targets their numbers and write the events of n lines."""
        cdef size_t i, filled = self.filled
        cdef Line *line
        cdef uint32_t found
        cdef uint32_t *thread_column = &self.thread_column[filled]
        cdef uint8_t *op_column = &self.op_column[filled]
        cdef uint32_t *target_column = &self.target_column[filled]
        cdef uint32_t *site_column = &self.site_column[filled]
        self.note_jump()
        for i in range(n):
            line = self.lines + i
            thread_column[i] = line.thread
            op_column[i] = line.op
            site_column[i] = line.site
            found = find_sought(&line.target, self.slots[line.op])
            if not found:
                # if the name is refused, the lines before it still count
                self.filled = filled + i
                self.line += i
                found = self.intern_target(line.op, line.target.name, line.target.size) + 1
                self.line -= i
            target_column[i] = found - 1
        self.filled = filled + n
        self.line += n
        self.next_line = self.line + 1
        return 0

    cdef size_t odd_line(self, const char *base, size_t at, size_t stop) except? 0 nogil:
        """Parse one unusual line; returns where the next one starts."""
        cdef size_t size = <const char *> memchr(base + at, c"\n", stop - at) - (base + at)
        with gil:
            self.slow_line(PyBytes_FromStringAndSize(base + at, size))
        self.line += 1
        return at + size + 1

    cdef int slow_line(self, bytes line) except -1:
        fields = std_line(line, self.line + 1)
        if fields is not None:
            thread, op, target, site = fields
            self.emit(
                self.threads.spelled(thread),
                op,
                self.interner(op).spelled(target),
                NO_SITE if site == b"-" else self.sites.spelled_site(site),
            )
        return 0
