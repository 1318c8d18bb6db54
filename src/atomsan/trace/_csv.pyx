# cython: language_level=3, freethreading_compatible=True
"""Parser for CSV: one filled column a line, `,,r(x),`.

Lines are split in groups of 64, and then the names of the group are looked up. Unusual lines are parsed in Python, by
`csv_line`: blank lines, `sync`, a bare `begin`, and errors.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memchr

from atomsan.trace._memory cimport ensure_room
from atomsan.trace._ops cimport BEGIN, END
from atomsan.trace._text cimport GROUP, NO_OP, NO_SITE, Sought, TextParser, seek

from atomsan.trace.formats.csv import csv_line

cdef extern from "_scan.h":
    uint8_t std_op "atomsan_std_op"(const char *p, size_t *size) nogil

cdef extern from * nogil:
    """
    /* A trace of many threads is mostly commas: eight at a time. */
    static const char atomsan_commas[8] = {',', ',', ',', ',', ',', ',', ',', ','};

    static inline const char *atomsan_past_commas(const char *p) {
        while (!memcmp(p, atomsan_commas, 8)) p += 8;
        while (*p == ',') p++;
        return p;
    }

    /* The last byte of start..end that is not a comma, or `start`. */
    static inline const char *atomsan_before_commas(const char *start, const char *end) {
        while (end - start > 8 && !memcmp(end - 8, atomsan_commas, 8)) end -= 8;
        while (end - start > 1 && end[-1] == ',') end--;
        return end - 1;
    }

    static inline uint8_t atomsan_csv_op(const char *p, size_t *size) {
        uint8_t op = atomsan_std_op(p, size);
        if (op != 255) return op;
        if (!memcmp(p, "start(", 6)) { *size = 6; return 4; }
        if (!memcmp(p, "enter(", 6)) { *size = 6; return 6; }
        if (!memcmp(p, "exit(", 5)) { *size = 5; return 7; }
        return 255;
    }
    """
    const char *past_commas "atomsan_past_commas"(const char *p)
    const char *before_commas "atomsan_before_commas"(const char *start, const char *end)
    uint8_t csv_op "atomsan_csv_op"(const char *p, size_t *size)

# The most events one line can give: sync(x) gives four.
cdef enum: LINE_EVENTS = 4

cdef struct Cell:
    Sought target
    size_t column
    uint8_t op


cdef bint is_one_cell(const char *target, const char *close) noexcept nogil:
    """Whether no `)` before the last one closes the operation with a comma after it."""
    cdef Py_ssize_t depth = 1
    if memchr(target, c")", close - target) == NULL:
        return True
    while target < close:
        if target[0] == c"(":
            depth += 1
        elif target[0] == c")":
            depth -= 1
            if depth == 0 and target[1] == c",":
                return False
        target += 1
    return True


cdef class CsvParser(TextParser):
    """Parses CSV text. A batch must have room for four events."""

    cdef uint32_t *column_threads   # column -> number of its thread, plus one; 0 if the column was never filled
    cdef size_t column_room
    cdef Cell cells[GROUP]

    def __init__(self, symbols, size_t room):
        if room < LINE_EVENTS:
            raise ValueError(f"a batch needs room for {LINE_EVENTS} events")
        super().__init__(symbols, room)

    def __dealloc__(self):
        free(self.column_threads)

    cdef size_t read(self, const char *base, size_t at, size_t stop) except? 0 nogil:
        cdef const char *newline = NULL
        cdef size_t n
        while at < stop and self.filled + LINE_EVENTS <= self.room:
            n = 0
            while at < stop and n < GROUP and self.filled + n < self.room:
                newline = <const char *> memchr(base + at, c"\n", stop - at)
                if not self.take_apart(self.cells + n, base + at, newline):
                    break
                n += 1
                at = newline - base + 1
            if n:
                self.store(n)
            else:
                with gil:
                    self.odd_line(PyBytes_FromStringAndSize(base + at, newline - (base + at)))
                self.line += 1
                at = newline - base + 1
        return at

    cdef bint take_apart(self, Cell *cell, const char *line, const char *end) noexcept nogil:
        """Find the parts of a line with one usual cell; False if the line is unusual."""
        cdef const char *start = past_commas(line)
        cdef const char *close
        cdef size_t op_size = 0
        cell.op = csv_op(start, &op_size)
        if cell.op == NO_OP:
            return False
        if (end - 1)[0] == c"\r":
            end -= 1
        close = before_commas(start, end)
        cell.target.name = start + op_size
        if close < cell.target.name or close[0] != c")" or not is_one_cell(cell.target.name, close):
            return False
        if close == cell.target.name and not BEGIN <= cell.op <= END:
            return False
        cell.target.size = close - cell.target.name
        cell.column = start - line
        seek(&cell.target, self.target_slots(cell.op))
        return True

    cdef int store(self, size_t n) except -1 nogil:
        """Write the events of n lines."""
        cdef size_t i
        cdef Cell *cell
        for i in range(n):
            cell = self.cells + i
            self.emit(self.thread_of(cell.column), cell.op, self.intern_sought(cell.op, &cell.target), NO_SITE)
            self.line += 1
        return 0

    cdef uint32_t thread_of(self, size_t column) except? 0xFFFFFFFF nogil:
        if column < self.column_room and self.column_threads[column]:
            return self.column_threads[column] - 1
        with gil:
            return self.new_column(column)

    cdef uint32_t new_column(self, size_t column) except? 0xFFFFFFFF:
        ensure_room(<void **> &self.column_threads, &self.column_room, column + 1, sizeof(uint32_t))
        self.column_threads[column] = self.threads.spelled(b"T%d" % column) + 1
        return self.column_threads[column] - 1

    cdef int odd_line(self, bytes line) except -1:
        found = csv_line(line, self.line + 1)
        if found is not None:
            column, events = found
            for op, target in events:
                self.emit(self.thread_of(column), op, self.interner(op).spelled(target), NO_SITE)
        return 0
