# cython: language_level=3
"""Counts by a hash of 64 bits that are forgotten all at once, which costs nothing: an entry of another era is free."""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free

cdef struct Count:
    uint64_t key
    uint32_t era
    uint32_t count

cdef struct Counts:       # all zero: empty
    Count *entries
    uint64_t mask
    uint64_t used         # entries of this era
    uint32_t era


cdef inline Count *_place(const Counts *counts, uint64_t key) noexcept nogil:
    """The entry of a key, or the free one where it belongs. Keys are well mixed."""
    cdef uint64_t i = key & counts.mask
    while counts.entries[i].era == counts.era and counts.entries[i].key != key:
        i = (i + 1) & counts.mask
    return &counts.entries[i]


cdef inline bint _grow(Counts *counts) noexcept nogil:
    cdef Counts wider
    cdef uint64_t i, size = counts.mask + 1 if counts.entries != NULL else 0
    wider.mask = 2 * size - 1 if size else 31
    wider.used, wider.era = counts.used, 1
    wider.entries = <Count *> calloc(wider.mask + 1, sizeof(Count))
    if wider.entries == NULL:
        return False
    for i in range(size):
        if counts.entries[i].era == counts.era:
            _place(&wider, counts.entries[i].key)[0] = Count(counts.entries[i].key, 1, counts.entries[i].count)
    free(counts.entries)
    counts[0] = wider
    return True


cdef inline uint32_t *counted(Counts *counts, uint64_t key) noexcept nogil:
    """The count of a key, which is 0 if it is new; NULL: no memory."""
    cdef Count *entry
    if (counts.entries == NULL or 2 * (counts.used + 1) > counts.mask + 1) and not _grow(counts):
        return NULL
    entry = _place(counts, key)
    if entry.era != counts.era:
        entry[0] = Count(key, counts.era, 0)
        counts.used += 1
    return &entry.count


cdef inline void forget_all(Counts *counts) noexcept nogil:
    if counts.used:
        counts.used = 0
        counts.era += 1
        if not counts.era:
            free_counts(counts)


cdef inline void free_counts(Counts *counts) noexcept nogil:
    free(counts.entries)
    counts.entries, counts.mask, counts.used, counts.era = NULL, 0, 0, 0
