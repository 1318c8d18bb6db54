# cython: language_level=3
"""C interface of `_text.pyx`, for the text parsers: looking up names, and adding events to the columns."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from atomsan.trace._memory cimport prefetch
from atomsan.trace._names cimport (
    SHORT_MAX,
    Interner,
    ShortKey,
    Slots,
    find_long,
    find_short,
    long_hash,
    short_hash,
    short_key,
)

cdef enum: NO_OP = 255   # what is no operation

cdef enum: NO_SITE = 0xFFFFFFFF

cdef enum: GROUP = 64   # lines a parser looks at before it looks up their names


# A name that is looked up in two steps, so that the memory it needs can be fetched in between.
cdef struct Sought:
    const char *name
    size_t size
    ShortKey key     # of a short name
    uint64_t hash


cdef inline void seek(Sought *sought, const Slots *slots) noexcept nogil:
    if sought.size <= SHORT_MAX:
        sought.key = short_key(sought.name, sought.size)
        sought.hash = short_hash(sought.key)
        prefetch(slots.shorts.entries + (sought.hash >> slots.shorts.shift))
    else:
        sought.hash = long_hash(sought.name, sought.size)
        prefetch(slots.longs.entries + (sought.hash >> slots.longs.shift))


cdef inline void seek_further(const Sought *sought, const Slots *slots) noexcept nogil:
    """Fetch what the slot of a long name points to. Worth its while where most names are long."""
    if sought.size > SHORT_MAX:
        prefetch(slots.keys + slots.longs.entries[sought.hash >> slots.longs.shift].key_at)


cdef inline uint32_t find_sought(const Sought *sought, const Slots *slots) noexcept nogil:
    """The name's number plus one, or 0."""
    if sought.size <= SHORT_MAX:
        return find_short(slots, sought.key, sought.hash)
    return find_long(slots, sought.name, sought.size, sought.hash)


cdef class TextParser:
    cdef readonly Interner threads
    cdef readonly Interner locations
    cdef readonly Interner locks
    cdef readonly Interner regions
    cdef readonly Interner handovers
    cdef readonly Interner sites
    cdef uint32_t[::1] thread_column
    cdef uint8_t[::1] op_column
    cdef uint32_t[::1] target_column
    cdef uint32_t[::1] site_column
    cdef object columns           # the same four as numpy arrays
    cdef list made                # the last few sets of columns, this one included
    cdef list own_references      # to each of a set's columns while no batch uses it
    cdef readonly size_t room     # events a batch can take
    cdef readonly size_t filled   # events in the batch so far
    cdef readonly uint64_t first  # number of the batch's first event
    cdef readonly uint64_t line   # lines read so far
    # wherever an event is not on the line after its predecessor's: which event, and its line
    cdef object jump_events
    cdef object jump_lines
    cdef uint64_t next_line       # the line the next event is expected on

    cdef size_t read(self, const char *base, size_t at, size_t stop) except? 0 nogil
    cdef size_t before_nul(self, const char *base, size_t start, size_t stop) except? 0
    cdef const Slots *target_slots(self, uint8_t op) noexcept nogil
    cdef uint32_t intern_sought(self, uint8_t op, const Sought *target) except? 0xFFFFFFFF nogil
    cdef uint32_t intern_target(self, uint8_t op, const char *p, size_t size) except? 0xFFFFFFFF nogil
    cdef int note_jump(self) except -1 nogil
    cdef int emit(self, uint32_t thread, uint8_t op, uint32_t target, uint32_t site) except -1 nogil
