# cython: language_level=3, freethreading_compatible=True
"""Parser for the binary log of the Davida and RegionTrack tools.

A number is turned into its name before it is looked up: `V` and ten digits fit the 12 bytes that the interner compares
as two integers, so a name is as fast a key as the number, and the tables of the text parsers can be used. As there, the
names of 64 events are made before the first look-up.
"""

from libc.stdint cimport int32_t, uint8_t

from atomsan.trace._ops cimport ACQUIRE, BEGIN, END, READ, RELEASE, WRITE
from atomsan.trace._text cimport GROUP, NO_SITE, Sought, TextParser, seek

from atomsan.errors import InputError

cdef extern from * nogil:
    """
    #include <stdint.h>

    static inline int32_t atomsan_big_endian(const uint8_t *p) {
        return (int32_t)((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]);
    }

    /* Writes `letter` and the number so that they end before `end`; returns where they start. */
    static inline char *atomsan_numbered(char *end, char letter, int32_t number) {
        uint32_t left = number < 0 ? 0u - (uint32_t)number : (uint32_t)number;
        do { *--end = (char)('0' + left % 10); left /= 10; } while (left);
        if (number < 0) *--end = '-';
        *--end = letter;
        return end;
    }
    """
    int32_t big_endian "atomsan_big_endian"(const uint8_t *p)
    char *numbered "atomsan_numbered"(char *end, char letter, int32_t number)

EVENT_BYTES = 12

cdef enum:
    FIRST_OP = 20
    OPS = 6
    SIZE = 12             # of an event, and of the longest name
    NAME_ROOM = 2 * SIZE  # an interner reads 12 bytes from a name's start on

# By operation of the log, from FIRST_OP on.
cdef uint8_t[OPS] OP = [BEGIN, END, READ, WRITE, ACQUIRE, RELEASE]
cdef char[OPS] LETTER = [c"m", c"m", c"V", c"V", c"L", c"L"]


cdef struct Staged:
    Sought target
    char[NAME_ROOM] room   # the target's name stands at the end of the first half
    int32_t thread
    uint8_t op


cdef class DavidaParser(TextParser):
    """Parses events in place of lines."""

    cdef Staged staged[GROUP]

    def feed(self, const uint8_t[::1] data, size_t start, size_t stop):
        """Parse the events of data[start:stop]; returns where the first one starts for which the batch has no room."""
        cdef size_t n
        while start < stop and self.filled < self.room:
            with nogil:
                n = self.stage(&data[start], (stop - start) // SIZE)
                self.store(n)
            start += n * SIZE
            if n == 0:
                raise InputError(
                    f"{big_endian(&data[start + 4])} is no operation: it is one of {FIRST_OP} to {FIRST_OP + OPS - 1}",
                    event=self.first + self.filled,
                )
        return start

    cdef size_t stage(self, const uint8_t *event, size_t most) noexcept nogil:
        """Name the targets of some events; returns how many. 0 only if the first has an unknown operation."""
        cdef size_t n = 0
        cdef int32_t op
        cdef char *end
        cdef Staged *staged
        most = min(most, <size_t> GROUP, self.room - self.filled)
        while n < most:
            op = big_endian(event + 4)
            if not FIRST_OP <= op < FIRST_OP + OPS:
                break
            staged = self.staged + n
            staged.op = OP[op - FIRST_OP]
            staged.thread = big_endian(event)
            end = staged.room + SIZE
            staged.target.name = numbered(end, LETTER[op - FIRST_OP], big_endian(event + 8))
            staged.target.size = end - staged.target.name
            seek(&staged.target, self.target_slots(staged.op))
            event += SIZE
            n += 1
        return n

    cdef int store(self, size_t n) except -1 nogil:
        """Write n events."""
        cdef size_t i, at
        cdef char[NAME_ROOM] room
        cdef char *end = room + SIZE
        cdef char *name
        cdef Staged *staged
        for i in range(n):
            staged = self.staged + i
            at = self.filled
            name = numbered(end, c"T", staged.thread)
            self.thread_column[at] = self.threads.intern(name, end - name)
            self.target_column[at] = self.intern_sought(staged.op, &staged.target)
            self.op_column[at] = staged.op
            self.site_column[at] = NO_SITE
            self.filled = at + 1
        return 0
