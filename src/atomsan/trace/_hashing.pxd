# cython: language_level=3
"""Hash tables by open addressing, for entries of any type; and `Map`, the table from a 64-bit key to a number.

ATOMSAN_TABLE(Table, Entry, Key, IS_USED, HASH, EQUALS) defines the C type `Table` and its functions, compiled for just
these entries. IS_USED(entry) tells whether an entry is in use, HASH(entry) gives the hash that it was put in by, and
EQUALS(entry, key) compares: each is the name of a macro or function that takes a pointer to an entry. An entry whose
bytes are all zero is free. A table whose bytes are all zero is empty: it must get room before anything is looked up.

    Entry *Table_find(table, key, hash)     the entry of the key, or the free one where it belongs
    Entry *Table_gap(table, hash)           the free entry where a key belongs that is known to be new
    int Table_has_room(table, places)       room for one more, with so many places, 2 or more, an entry; 0: no memory
    void Table_remove(table, entry)         take an entry out; whoever put it in counts `used` up, this counts it down

Keys are found by the upper bits of their hash, so these must be well mixed. A table is never full, so a probe ends.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free

from atomsan.trace._memory cimport prefetch

cdef extern from * nogil:
    """
    #include <stdint.h>
    #include <stdlib.h>
    #include <string.h>
    #ifdef __linux__
    #include <sys/mman.h>
    #endif

    /* Zeroed memory. Large tables are hit at random, and with small pages nearly every hit misses the TLB too: on Linux
       they get huge pages (a third of the time at a million locations). */
    ATOMSAN_RARE void *atomsan_zeroed(size_t count, size_t size) {
    #ifdef MADV_HUGEPAGE
        const size_t huge = (size_t)1 << 21;
        void *block;
        if (count * size >= 2 * huge) {
            if (posix_memalign(&block, huge, count * size)) return NULL;
            madvise(block, count * size, MADV_HUGEPAGE);
            return memset(block, 0, count * size);
        }
    #endif
        return calloc(count, size);
    }

    #define ATOMSAN_TABLE(Table, Entry, Key, IS_USED, HASH, EQUALS) \\
        typedef struct { Entry *entries; uint64_t mask; int shift; uint64_t used; } Table; \\
    \\
        static CYTHON_UNUSED inline Entry *Table##_find(const Table *table, Key key, uint64_t hash) { \\
            uint64_t i = hash >> table->shift; \\
            while (IS_USED(&table->entries[i]) && !EQUALS(&table->entries[i], key)) i = (i + 1) & table->mask; \\
            return &table->entries[i]; \\
        } \\
    \\
        static CYTHON_UNUSED inline Entry *Table##_gap(const Table *table, uint64_t hash) { \\
            uint64_t i = hash >> table->shift; \\
            while (IS_USED(&table->entries[i])) i = (i + 1) & table->mask; \\
            return &table->entries[i]; \\
        } \\
    \\
        ATOMSAN_RARE int Table##_grow(Table *table) { \\
            Table wider; \\
            uint64_t i, size = table->entries ? table->mask + 1 : 0; \\
            wider.mask = size ? 2 * size - 1 : 63; \\
            wider.shift = size ? table->shift - 1 : 64 - 6; \\
            wider.used = table->used; \\
            wider.entries = (Entry *) atomsan_zeroed(wider.mask + 1, sizeof(Entry)); \\
            if (!wider.entries) return 0; \\
            for (i = 0; i < size; i++) \\
                if (IS_USED(&table->entries[i])) *Table##_gap(&wider, HASH(&table->entries[i])) = table->entries[i]; \\
            free(table->entries); \\
            *table = wider; \\
            return 1; \\
        } \\
    \\
        static CYTHON_UNUSED inline int Table##_has_room(Table *table, uint64_t places) { \\
            return (table->entries && places * (table->used + 1) <= table->mask + 1) || Table##_grow(table); \\
        } \\
    \\
        /* What stands behind the gap and may stand in it moves up, so that no mark for "was here" is needed. */ \\
        static CYTHON_UNUSED void Table##_remove(Table *table, Entry *entry) { \\
            uint64_t home, mask = table->mask, gap = (uint64_t) (entry - table->entries), i = (gap + 1) & mask; \\
            for (; IS_USED(&table->entries[i]); i = (i + 1) & mask) { \\
                home = HASH(&table->entries[i]) >> table->shift; \\
                if (((i - home) & mask) >= ((i - gap) & mask)) { \\
                    table->entries[gap] = table->entries[i]; \\
                    gap = i; \\
                } \\
            } \\
            memset(&table->entries[gap], 0, sizeof(Entry)); \\
            table->used--; \\
        }

    /* Fibonacci hashing: keys that follow one another are spread evenly over the upper bits. */
    #define ATOMSAN_FIBONACCI(key) ((key) * UINT64_C(0x9E3779B97F4A7C15))

    typedef struct { uint64_t key; uint32_t value_plus_1; } atomsan_map_entry;
    #define ATOMSAN_MAP_HASH(entry) ATOMSAN_FIBONACCI((entry)->key)
    #define ATOMSAN_MAP_IS_USED(entry) ((entry)->value_plus_1 != 0)
    #define ATOMSAN_MAP_EQUALS(entry, sought) ((entry)->key == (sought))
    ATOMSAN_TABLE(atomsan_map, atomsan_map_entry, uint64_t, ATOMSAN_MAP_IS_USED, ATOMSAN_MAP_HASH, ATOMSAN_MAP_EQUALS)
    """
    ctypedef struct MapEntry "atomsan_map_entry":
        uint64_t key
        uint32_t value_plus_1
    ctypedef struct Map "atomsan_map":      # all zero: empty
        MapEntry *entries
        uint64_t used
    uint64_t fibonacci "ATOMSAN_FIBONACCI"(uint64_t key)
    MapEntry *map_find "atomsan_map_find"(const Map *map, uint64_t key, uint64_t hash)
    bint map_has_room "atomsan_map_has_room"(Map *map, uint64_t places)
    void map_remove "atomsan_map_remove"(Map *map, MapEntry *entry)

cdef enum: NOT_FOUND = 0xFFFFFFFF


cdef inline uint32_t found(const Map *map, uint64_t key) noexcept nogil:
    """The key's value, or NOT_FOUND."""
    if map.entries == NULL:
        return NOT_FOUND
    return map_find(map, key, fibonacci(key)).value_plus_1 - 1      # 0 wraps to NOT_FOUND


cdef inline bint put(Map *map, uint64_t key, uint32_t value) noexcept nogil:
    """Give the key a value, or another one. False: no memory."""
    cdef MapEntry *entry
    if not map_has_room(map, 2):
        return False
    entry = map_find(map, key, fibonacci(key))
    map.used += entry.value_plus_1 == 0
    entry.key, entry.value_plus_1 = key, value + 1
    return True


cdef inline void forget(Map *map, uint64_t key) noexcept nogil:
    """Take the key out, if it is there."""
    cdef MapEntry *entry
    if map.entries != NULL:
        entry = map_find(map, key, fibonacci(key))
        if entry.value_plus_1:
            map_remove(map, entry)


cdef inline void free_map(Map *map) noexcept nogil:
    free(map.entries)
    map.entries, map.used = NULL, 0
