# cython: language_level=3, freethreading_compatible=True
"""Base of the text parsers: turns lines into columns and names into numbers.

A parser is fed pieces of text that end with a line; its caller takes the batch when it is full. Only one thread may
feed and take at a time; the loops run without the interpreter lock.
"""

from array import array
from bisect import bisect_right
from sys import getrefcount

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memchr

from atomsan.trace._names cimport Interner, Slots
from atomsan.trace._ops cimport END, JOIN, RELEASE, WRITE

import numpy as np

from atomsan.errors import InputError
from atomsan.trace.events import Batch


# The number of batches whose memory is reused. So many are in use at a time during a check: one being filled, one being
# validated, one that waits for the checkers, one being checked, and one that is done.
MOST_KEPT = 5


def references(columns):
    """The number of references to each column. A batch, or anything made from it, has one more."""
    return [getrefcount(column) for column in columns]


cdef class TextParser:
    """Symbols and columns; a subclass adds `read`, which fills the columns from lines.

    Call `feed` for each piece of the text, and `take` whenever it stopped before the end of its piece; after the last
    piece call `finish` until it returns True, with a `take` after each call that returned False.
    """

    def __init__(self, symbols, size_t room, bint escapes=True):
        self.threads = Interner(symbols.threads.names, escapes)
        self.locations = Interner(symbols.locations.names, escapes)
        self.locks = Interner(symbols.locks.names, escapes)
        self.regions = Interner(symbols.regions.names, escapes)
        self.handovers = Interner(symbols.handovers.names, escapes)
        self.sites = Interner(symbols.sites.names, escapes)
        self.room = room
        self.first = 0
        self.line = 0
        self.jump_events = array("Q")
        self.jump_lines = array("Q")
        self.next_line = 1
        self.made = []
        self.own_references = []
        self.new_columns()

    def new_columns(self):
        """Start a batch: in the memory of one that is no longer referenced, or else in new memory.

        Fresh memory costs a page fault for every page, together a fifth of the time of parsing.
        """
        free = [columns for columns in self.made if references(columns) == self.own_references]
        if free:
            self.columns = free[0]
        else:
            self.columns = (
                np.empty(self.room, np.uint32),
                np.empty(self.room, np.uint8),
                np.empty(self.room, np.uint32),
                np.empty(self.room, np.uint32),
            )
            self.own_references = references(self.columns)
            self.made = (self.made + [self.columns])[max(0, len(self.made) + 1 - MOST_KEPT):]
        self.thread_column, self.op_column, self.target_column, self.site_column = self.columns
        self.filled = 0

    def feed(self, const uint8_t[::1] text, size_t start, size_t stop):
        """Parse the lines of text[start:stop]; returns where the first line starts for which the batch has no room.

        text[stop - 1] must be a newline, and 64 bytes more must be readable. The error of a bad line is raised after
        all lines before it were parsed.
        """
        cdef const char *base = <const char *> &text[0]
        if memchr(base + start, 0, stop - start) != NULL:
            stop = self.before_nul(base, start, stop)
        try:
            with nogil:
                start = self.read(base, start, stop)
        except InputError as error:
            if error.line is None:
                error.place = error.place._replace(line=self.line + 1)
            raise
        return start

    cdef size_t read(self, const char *base, size_t at, size_t stop) except? 0 nogil:
        """Read lines from base[at:stop] while the batch has room; returns where the next one starts."""
        with gil:
            raise NotImplementedError   # a parser is one of the subclasses: each reads its own format

    cdef size_t before_nul(self, const char *base, size_t start, size_t stop) except? 0:
        """Where the line with the first NUL starts. The lines before it are parsed; the line itself is refused."""
        cdef size_t at = <const char *> memchr(base + start, 0, stop - start) - base
        while at > start and base[at - 1] != c"\n":
            at -= 1
        if at == start:
            raise InputError("the line holds a NUL byte", line=self.line + 1)
        return at

    def finish(self):
        """Add the events that were delayed until the last line. False if there is no room for all of them."""
        return True

    def take(self):
        """The batch so far; the parser goes on with a new one."""
        columns = [column[: self.filled] for column in self.columns]
        for column in columns:
            column.flags.writeable = False
        batch = Batch(self.first, *columns)
        self.first += self.filled
        self.new_columns()
        return batch

    def line_of(self, uint64_t event):
        """The line (from 1) of an event."""
        at = bisect_right(self.jump_events, event) - 1
        if at < 0:
            return event + 1
        return self.jump_lines[at] + event - self.jump_events[at]

    cdef const Slots *target_slots(self, uint8_t op) noexcept nogil:
        """Where the targets of an operation are looked up."""
        if op <= WRITE:
            return &self.locations.spellings.slots
        if op <= RELEASE:
            return &self.locks.spellings.slots
        if op <= JOIN:
            return &self.threads.spellings.slots
        if op <= END:
            return &self.regions.spellings.slots
        return &self.handovers.spellings.slots

    cdef uint32_t intern_sought(self, uint8_t op, const Sought *target) except? 0xFFFFFFFF nogil:
        cdef uint32_t found = find_sought(target, self.target_slots(op))
        return found - 1 if found else self.intern_target(op, target.name, target.size)

    cdef uint32_t intern_target(self, uint8_t op, const char *p, size_t size) except? 0xFFFFFFFF nogil:
        if op <= WRITE:
            return self.locations.intern(p, size)
        if op <= RELEASE:
            return self.locks.intern(p, size)
        if op <= JOIN:
            return self.threads.intern(p, size)
        if op <= END:
            return self.regions.intern(p, size)
        return self.handovers.intern(p, size)

    def interner(self, op):
        """The interner of an operation's targets."""
        return (self.locations, self.locks, self.threads, self.regions, self.handovers)[op // 2]

    cdef int note_jump(self) except -1 nogil:
        """Keep the line of the next event, if it is not the one that one event a line would give."""
        if self.line + 1 != self.next_line:
            with gil:
                self.jump_events.append(self.first + self.filled)
                self.jump_lines.append(self.line + 1)
            self.next_line = self.line + 1
        return 0

    cdef int emit(self, uint32_t thread, uint8_t op, uint32_t target, uint32_t site) except -1 nogil:
        """Add an event of the line being parsed (line + 1). The caller must have made sure that there is room."""
        cdef size_t at = self.filled
        self.note_jump()
        self.thread_column[at] = thread
        self.op_column[at] = op
        self.target_column[at] = target
        self.site_column[at] = site
        self.filled = at + 1
        self.next_line = self.line + 2
        return 0
