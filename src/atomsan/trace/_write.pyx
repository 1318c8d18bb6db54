# cython: language_level=3, freethreading_compatible=True
"""Writes events as lines of text, STD or CSV: every symbol is spelled once, and a line is made by copying spellings.

A writer may be used by one thread at a time.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from atomsan.trace._memory cimport ensure_room, prefetch, resized
from atomsan.trace._names cimport NameTable
from atomsan.trace._ops cimport FORK, JOIN

from atomsan.trace.events import SHORT, TARGET_KIND, Op

cdef extern from * nogil:
    """
    #include <stdint.h>
    #include <string.h>

    /* Copies `size` bytes, and up to 16 of no meaning behind them: most names are short, and a copy of fixed size is one
       instruction. */
    static inline char *atomsan_put(char *out, const char *p, size_t size) {
        memcpy(out, p, 16);
        if (size > 16) memcpy(out + 16, p + 16, size - 16);
        return out + size;
    }

    static inline char *atomsan_put_number(char *out, uint64_t number) {
        char digits[20];
        char *p = digits + 20;
        do { *--p = (char)('0' + number % 10); number /= 10; } while (number);
        memcpy(out, p, (size_t)(digits + 20 - p));
        return out + (digits + 20 - p);
    }
    """
    char *put "atomsan_put"(char *out, const char *p, size_t size)
    char *put_number "atomsan_put_number"(char *out, uint64_t number)

cdef enum:
    OPS = 10
    FLUSH_AT = 1 << 20   # bytes
    PADDING = 16         # what `put` may touch behind its bytes
    FIXED = 128          # the most a line has apart from names and columns: an operation, three numbers, signs, padding
    AHEAD = 8            # how many events before its use a name is fetched


cdef class Spellings:
    """The spellings of the symbols of one kind. Numbered sites are not stored, but written as numbers."""

    cdef NameTable names
    cdef object kind
    cdef object spell             # (kind, number, name) -> spelling, of a name that is not its own spelling
    cdef uint8_t is_sign[256]
    cdef char *arena              # the spellings one after the other, and padding
    cdef size_t arena_room
    cdef uint64_t *offsets
    cdef size_t offsets_room
    cdef uint64_t count           # spellings stored
    cdef uint64_t longest

    def __cinit__(self, names, kind, bytes signs, spell):
        cdef uint8_t sign
        self.names = names
        self.kind = kind
        self.spell = spell
        for sign in signs:
            self.is_sign[sign] = True
        ensure_room(<void **> &self.offsets, &self.offsets_room, 1, sizeof(uint64_t))

    def __dealloc__(self):
        free(self.arena)
        free(self.offsets)

    cdef int update(self) except -1:
        """Spell the symbols that are new."""
        cdef const char *name
        cdef size_t size
        cdef bytes spelling
        while self.count < self.names.stored_count:
            name = self.names.arena + self.names.offsets[self.count]
            size = self.names.offsets[self.count + 1] - self.names.offsets[self.count]
            if self.is_plain(name, size):
                self.append(name, size)
            else:
                spelling = self.spell(
                    self.kind, self.names.numbered_count + self.count, PyBytes_FromStringAndSize(name, size)
                )
                self.append(PyBytes_AS_STRING(spelling), PyBytes_GET_SIZE(spelling))
        return 0

    cdef bint is_plain(self, const char *name, size_t size) noexcept:
        """Whether the name is its own spelling. A lone `-` and an empty name may not be: the format decides."""
        cdef size_t i
        for i in range(size):
            if self.is_sign[<uint8_t> name[i]]:
                return False
        return size > 1 or (size == 1 and name[0] != c"-")

    cdef int append(self, const char *spelling, size_t size) except -1:
        cdef uint64_t used = self.offsets[self.count]
        ensure_room(<void **> &self.arena, &self.arena_room, used + size + PADDING, 1)
        ensure_room(<void **> &self.offsets, &self.offsets_room, self.count + 2, sizeof(uint64_t))
        memcpy(self.arena + used, spelling, size)
        self.count += 1
        self.offsets[self.count] = used + size
        self.longest = max(self.longest, size)
        return 0

    cdef bint has(self, uint32_t number) noexcept nogil:
        return number < self.names.numbered_count + self.count

    cdef void fetch_offset(self, uint32_t number) noexcept nogil:
        if self.has(number) and number >= self.names.numbered_count:
            prefetch(self.offsets + (number - self.names.numbered_count))

    cdef void fetch_spelling(self, uint32_t number) noexcept nogil:
        if self.has(number) and number >= self.names.numbered_count:
            prefetch(self.arena + self.offsets[number - self.names.numbered_count])

    cdef char *put(self, char *out, uint32_t number) noexcept nogil:
        cdef uint64_t i
        if number < self.names.numbered_count:
            return put_number(out, self.names.numbered_first + number)
        i = number - self.names.numbered_count
        return put(out, self.arena + self.offsets[i], self.offsets[i + 1] - self.offsets[i])


cdef class LineWriter:
    """Writes batches to a stream: `thread|op(target)|site`, or with `columns` the columns of CSV.

    `signs` are the bytes that a name cannot carry; `spell(kind, number, name)` spells a name that has one, and every
    name that is empty or a lone `-`.
    """

    cdef object stream
    cdef bint has_columns
    cdef size_t columns
    cdef Spellings threads
    cdef Spellings sites
    cdef list kinds                   # keeps alive what `targets` points to
    cdef void *targets[OPS]           # op -> Spellings
    cdef char op_text[OPS][PADDING]   # "r("
    cdef size_t op_size[OPS]
    cdef char *buffer
    cdef size_t buffer_room
    cdef size_t used

    def __cinit__(self, stream, symbols, bytes signs, spell, columns=None):
        cdef bytes word
        self.stream = stream
        self.has_columns = columns is not None
        self.columns = columns or 0
        tables = {table.kind: Spellings(table.names, table.kind, signs, spell) for table in symbols.tables()}
        self.threads = tables["threads"]
        self.sites = tables["sites"]
        self.kinds = list(tables.values())
        for op in Op:
            word = SHORT[op].encode() + b"("
            memcpy(self.op_text[op], PyBytes_AS_STRING(word), PyBytes_GET_SIZE(word))
            self.op_size[op] = PyBytes_GET_SIZE(word)
            self.targets[op] = <void *> tables[TARGET_KIND[op]]

    def __dealloc__(self):
        free(self.buffer)

    def write(self, batch):
        cdef const uint32_t[::1] thread = batch.thread
        cdef const uint8_t[::1] op = batch.op
        cdef const uint32_t[::1] target = batch.target
        cdef const uint32_t[::1] site = batch.site
        cdef size_t at = 0, count = len(batch)
        self.make_room()
        while at < count:
            with nogil:
                while at < count and self.used < FLUSH_AT:
                    if not self.knows(thread[at], op[at], target[at]):
                        break
                    # prefetched: the names of a million locations fit no cache
                    if at + 2 * AHEAD < count and op[at + AHEAD] < OPS and op[at + 2 * AHEAD] < OPS:
                        (<Spellings> self.targets[op[at + 2 * AHEAD]]).fetch_offset(target[at + 2 * AHEAD])
                        (<Spellings> self.targets[op[at + AHEAD]]).fetch_spelling(target[at + AHEAD])
                    if self.has_columns:
                        self.csv_line(thread[at], op[at], target[at])
                    else:
                        self.std_line(thread[at], op[at], target[at], site[at])
                    at += 1
            if at < count and self.used < FLUSH_AT:
                raise ValueError(f"event {batch.first + at} has a number that no symbol has")
            if self.used >= FLUSH_AT:
                self.flush()

    def flush(self):
        """Write the rest of the buffer to the stream."""
        left = memoryview(PyBytes_FromStringAndSize(self.buffer, self.used))
        self.used = 0
        while left:
            # an unbuffered stream may write less than it is given; one that returns None has written everything
            written = self.stream.write(left)
            left = left[len(left) if written is None else written :]

    cdef int make_room(self) except -1:
        """Spell new symbols, and make room for the longest possible line after FLUSH_AT bytes."""
        cdef Spellings spellings
        cdef size_t longest = FIXED + self.columns
        for spellings in self.kinds:
            spellings.update()
            longest += spellings.longest
        if self.buffer_room < FLUSH_AT + longest:
            self.buffer = <char *> resized(self.buffer, FLUSH_AT + 2 * longest)
            self.buffer_room = FLUSH_AT + 2 * longest
        return 0

    cdef bint knows(self, uint32_t thread, uint8_t op, uint32_t target) noexcept nogil:
        if self.has_columns and thread >= self.columns:
            return False
        return op < OPS and self.threads.has(thread) and (<Spellings> self.targets[op]).has(target)

    cdef void std_line(self, uint32_t thread, uint8_t op, uint32_t target, uint32_t site) noexcept nogil:
        cdef char *out = self.threads.put(self.buffer + self.used, thread)
        out[0] = c"|"
        out = put(out + 1, self.op_text[op], self.op_size[op])
        out = (<Spellings> self.targets[op]).put(out, target)
        out[0] = c")"
        out[1] = c"|"
        if self.sites.has(site):
            out = self.sites.put(out + 2, site)
        else:
            out[2] = c"-"
            out += 3
        out[0] = c"\n"
        self.used = out + 1 - self.buffer

    cdef void csv_line(self, uint32_t thread, uint8_t op, uint32_t target) noexcept nogil:
        cdef char *out = self.buffer + self.used
        memset(out, c",", thread)
        out = put(out + thread, self.op_text[op], self.op_size[op])
        if FORK <= op <= JOIN:
            out[0] = c"T"
            out = put_number(out + 1, target)
        else:
            out = (<Spellings> self.targets[op]).put(out, target)
        out[0] = c")"
        memset(out + 1, c",", self.columns - 1 - thread)
        out += self.columns - thread
        out[0] = c"\n"
        self.used = out + 1 - self.buffer
