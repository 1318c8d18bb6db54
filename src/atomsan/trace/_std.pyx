# cython: language_level=3, freethreading_compatible=True
"""The STD parser: `thread|op(target)|site`, one event a line, at about the speed of a checksum.

The text is taken in windows of whole lines. First every `|` and newline of the window is found, 64 bytes at a time. Then
lines are taken apart in groups of 64: keys are hashed and their slots prefetched for the whole group before the first
look-up, so that a million variables do not cost a million stalls. A line that is not the plain case is read by
`std_line` in Python: a blank one, a bare `begin`, a very long one, or one that is wrong.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memchr

from atomsan.trace._names cimport (
    SHORT_MAX,
    ShortKey,
    Slots,
    find,
    find_long,
    find_short,
    long_hash,
    prefetch,
    short_hash,
    short_key,
)
from atomsan.trace._text cimport BEGIN, END, FORK, JOIN, NO_OP, NO_SITE, WRITE, TextParser

from atomsan.trace.formats.std import std_line

cdef extern from "_scan.h":
    size_t find_marks "atomsan_find_marks"(const char *text, size_t start, size_t stop, uint32_t *out) nogil
    uint8_t std_op "atomsan_std_op"(const char *p, size_t *size) nogil

cdef extern from * nogil:
    """
    #include <string.h>
    static const char *atomsan_last_newline(const char *p, size_t size) {
        while (size && p[size - 1] != '\\n') size--;
        return size ? p + size - 1 : NULL;
    }
    """
    const char *last_newline "atomsan_last_newline"(const char *p, size_t size)

cdef enum:
    WINDOW = 1 << 14
    GROUP = 64

cdef struct Line:
    const char *target
    size_t size
    ShortKey key          # of a short target
    uint64_t hash
    uint32_t thread
    uint32_t site
    uint32_t child        # of a fork or join, plus one
    uint8_t op


cdef class StdParser(TextParser):
    """Feeds on STD text."""

    cdef uint32_t marks[WINDOW + 64]
    cdef Line lines[GROUP]

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
        """Read plain lines until one is not, the window ends or the batch is full; returns how many."""
        cdef size_t done = 0, n
        while True:
            n = self.take_apart(base, at, marks + 3 * done, (count - 3 * done) // 3)
            if n:
                self.store(n)
            done += n
            if n < GROUP:
                return done

    cdef size_t take_apart(self, const char *base, size_t *at, const uint32_t *marks, size_t most) except? 0 nogil:
        """Find the fields of up to 64 plain lines and start fetching the slots of their targets."""
        cdef size_t n = 0, start = at[0], op_size = 0, size
        cdef const char *bar
        cdef const char *second
        cdef const char *newline
        cdef Line *line
        cdef uint32_t found
        cdef const Slots *variables = &self.variables.spellings.slots
        cdef const Slots *threads = &self.threads.spellings.slots
        cdef const Slots *sites = &self.sites.spellings.slots
        cdef bint plain_sites = not self.sites.number_run
        most = min(most, <size_t> GROUP, self.room - self.filled)
        while n < most:
            bar = base + marks[3 * n]
            second = base + marks[3 * n + 1]
            newline = base + marks[3 * n + 2]
            if bar[0] != c"|" or second[0] != c"|" or newline[0] != c"\n" or (second - 1)[0] != c")":
                break
            line = self.lines + n
            line.op = std_op(bar + 1, &op_size)
            line.target = bar + 1 + op_size
            if line.op == NO_OP or bar == base + start or line.target > second - 1:
                break
            line.size = second - 1 - line.target
            if line.size == 0 and not BEGIN <= line.op <= END:
                break
            if line.size <= SHORT_MAX:
                line.key = short_key(line.target, line.size)
                line.hash = short_hash(line.key)
                if line.op <= WRITE:
                    prefetch(variables.short_slots + (line.hash & variables.short_mask))
            else:
                line.hash = long_hash(line.target, line.size)
                if line.op <= WRITE:
                    prefetch(variables.long_slots + (line.hash & variables.long_mask))
            if (newline - 1)[0] == c"\r":
                newline -= 1
            if newline <= second + 1:
                break
            size = bar - (base + start)
            found = find(threads, base + start, size)
            if not found:
                if not self.threads.can_add(base + start, size):
                    break
                found = self.threads.add(base + start, size) + 1
            line.thread = found - 1
            size = newline - second - 1
            if size == 1 and second[1] == c"-":
                line.site = NO_SITE
            else:
                found = find(sites, second + 1, size) if plain_sites else 0
                if not found:
                    if not self.sites.can_add(second + 1, size):
                        break
                    found = self.sites.intern_site(second + 1, size) + 1
                line.site = found - 1
            if FORK <= line.op <= JOIN:
                # threads are numbered in the order in which the text names them, so the child's turn is now
                if not self.threads.can_add(line.target, line.size):
                    break
                line.child = self.threads.intern(line.target, line.size) + 1
            start = marks[3 * n + 2] + 1
            n += 1
        at[0] = start
        return n

    cdef int store(self, size_t n) except -1 nogil:
        """Give the targets their numbers and write the events of n lines."""
        cdef size_t i, filled = self.filled
        cdef Line *line
        cdef uint32_t found
        cdef const Slots *variables = &self.variables.spellings.slots
        cdef uint32_t *thread_column = &self.thread_column[filled]
        cdef uint8_t *op_column = &self.op_column[filled]
        cdef uint32_t *target_column = &self.target_column[filled]
        cdef uint32_t *site_column = &self.site_column[filled]
        self.note_jump()
        for i in range(n):
            line = self.lines + i
            found = line.child if FORK <= line.op <= JOIN else 0
            if line.op <= WRITE:
                if line.size <= SHORT_MAX:
                    found = find_short(variables, line.key, line.hash)
                else:
                    found = find_long(variables, line.target, line.size, line.hash)
            thread_column[i] = line.thread
            op_column[i] = line.op
            site_column[i] = line.site
            target_column[i] = (
                found - 1 if found else self.intern_target(line.op, line.target, line.size)
            )
            # an error in a later line of the group must leave the earlier ones counted
            self.filled += 1
            self.line += 1
        self.next_line = self.line + 1
        return 0

    cdef size_t odd_line(self, const char *base, size_t at, size_t stop) except? 0 nogil:
        """Read one line that is not plain; returns where the next one starts."""
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
