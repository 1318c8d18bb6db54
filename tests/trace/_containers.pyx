# cython: language_level=3
"""The shared containers of the compiled modules, for test_containers.py to call from Python."""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free

from atomsan.trace._generations cimport Ref, begin_generation, end_generation, reference, refers_to, slot_of
from atomsan.trace._hashing cimport NOT_FOUND, Map, fibonacci, forget, found, free_map, put
from atomsan.trace._links cimport Link, put_behind, put_first, take_out
from atomsan.trace._memory cimport ensure_room, has_room
from atomsan.trace._pools cimport NO_SLOT, Blocks, Pool, free_blocks, give_block, give_slot, take_block, take_slot

cdef extern from * nogil:
    """
    /* Keys of the same sixteenth collide. */
    typedef struct { uint32_t key, value; } clash;
    #define CLASH_HASH(entry) ((uint64_t)((entry)->key & 15) << 60)
    #define CLASH_IS_USED(entry) ((entry)->value != 0)
    #define CLASH_EQUALS(entry, sought) ((entry)->key == (sought))
    ATOMSAN_TABLE(clashes, clash, uint32_t, CLASH_IS_USED, CLASH_HASH, CLASH_EQUALS)
    """
    ctypedef struct Clash "clash":
        uint32_t key
        uint32_t value
    ctypedef struct ClashTable "clashes":
        Clash *entries
        uint64_t mask
        int shift
        uint64_t used
    Clash *clash_find "clashes_find"(const ClashTable *table, uint32_t key, uint64_t hash)
    Clash *clash_gap "clashes_gap"(const ClashTable *table, uint64_t hash)
    bint clash_has_room "clashes_has_room"(ClashTable *table, uint64_t places)
    void clash_remove "clashes_remove"(ClashTable *table, Clash *entry)


cdef struct Row:
    uint32_t number       # also the link of a free slot
    uint32_t generation
    Link link


cdef class Array:
    """Numbers by place."""

    cdef uint64_t *rows
    cdef readonly size_t room

    def __dealloc__(self):
        free(self.rows)

    def grow(self, size_t needed):
        ensure_room(<void **> &self.rows, &self.room, needed, sizeof(uint64_t))

    def refuses(self, size_t needed):
        return not has_room(<void **> &self.rows, &self.room, needed, sizeof(uint64_t))

    def __getitem__(self, size_t at):
        return self.rows[at]

    def __setitem__(self, size_t at, uint64_t value):
        self.rows[at] = value


cdef class Slots:
    """Slots with a number each, and references to them."""

    cdef Row *rows
    cdef Pool pool

    def __cinit__(self, uint32_t first=0):
        self.pool.used = first

    def __dealloc__(self):
        free(self.rows)

    @property
    def used(self):
        return self.pool.used

    def exhaust(self):
        """Pretend that every number was given out."""
        self.pool.used = NO_SLOT

    def take(self, uint32_t number):
        """(slot, reference to it), or None."""
        cdef uint32_t slot = take_slot(&self.pool, <void **> &self.rows, sizeof(Row))
        if slot == NO_SLOT:
            return None
        begin_generation(&self.rows[slot].generation)
        self.rows[slot].number = number
        return slot, reference(slot, self.rows[slot].generation)

    def give(self, uint32_t slot):
        """Whether the slot will be used again."""
        if not end_generation(&self.rows[slot].generation):
            return False
        give_slot(&self.pool, self.rows, sizeof(Row), slot)
        return True

    def age(self, uint32_t slot, uint32_t generation):
        self.rows[slot].generation = generation

    def look(self, Ref ref):
        """The number that a reference leads to, or None if it is void."""
        if ref == 0 or not refers_to(ref, self.rows[slot_of(ref)].generation):
            return None
        return self.rows[slot_of(ref)].number


cdef class Lists:
    """Rows from 1 on, each in one of some lists, or in none."""

    cdef Row *rows
    cdef uint32_t *firsts
    cdef size_t row_room, list_room

    def __cinit__(self, size_t rows, size_t lists):
        ensure_room(<void **> &self.rows, &self.row_room, rows + 1, sizeof(Row))
        ensure_room(<void **> &self.firsts, &self.list_room, lists, sizeof(uint32_t))

    def __dealloc__(self):
        free(self.rows)
        free(self.firsts)

    def put_first(self, size_t list, uint32_t row):
        put_first(&self.rows[0].link, sizeof(Row), &self.firsts[list], row)

    def put_behind(self, size_t list, uint32_t earlier, uint32_t row):
        put_behind(&self.rows[0].link, sizeof(Row), &self.firsts[list], earlier, row)

    def take_out(self, size_t list, uint32_t row):
        take_out(&self.rows[0].link, sizeof(Row), &self.firsts[list], row)

    def rows_of(self, size_t list):
        """The list forwards, after a look at the way back."""
        cdef uint32_t row = self.firsts[list], before = 0
        rows = []
        while row:
            if self.rows[row].link.before != before:
                raise AssertionError(f"row {row} has {self.rows[row].link.before} before it, not {before}")
            rows.append(row)
            before, row = row, self.rows[row].link.after
        return rows


cdef class Memory:
    """Blocks of `unit << power` bytes."""

    cdef Blocks blocks
    cdef size_t unit

    def __cinit__(self, size_t unit):
        self.unit = unit

    def __dealloc__(self):
        free_blocks(&self.blocks)

    def take(self, uint32_t power):
        cdef char *block = <char *> take_block(&self.blocks, power, self.unit)
        return <size_t> block, (<char *> block)[: self.unit << power]

    def give(self, size_t block, uint32_t power):
        give_block(&self.blocks, <void *> block, power)

    def fill(self, size_t block, uint32_t power, int byte):
        cdef size_t i
        for i in range(self.unit << power):
            (<char *> block)[i] = byte

    def read(self, size_t block, uint32_t power):
        return (<char *> block)[: self.unit << power]

    def free_all(self):
        free_blocks(&self.blocks)


cdef class NumberMap:
    """`Map`, as a dictionary."""

    cdef Map map

    def __dealloc__(self):
        free_map(&self.map)

    def __len__(self):
        return self.map.used

    def get(self, uint64_t key):
        cdef uint32_t value = found(&self.map, key)
        return None if value == NOT_FOUND else value

    def put(self, uint64_t key, uint32_t value):
        if not put(&self.map, key, value):
            raise MemoryError

    def forget(self, uint64_t key):
        forget(&self.map, key)

    def free(self):
        free_map(&self.map)


cdef class Clashes:
    """A table in which sixteen runs of keys collide, from a number to one that is not 0."""

    cdef ClashTable table

    def __dealloc__(self):
        free(self.table.entries)

    def __len__(self):
        return self.table.used

    @property
    def size(self):
        return self.table.mask + 1

    def get(self, uint32_t key):
        return self.entry(key).value if self.table.used else 0

    def put(self, uint32_t key, uint32_t value, uint64_t places):
        cdef Clash *entry
        if not clash_has_room(&self.table, places):
            raise MemoryError
        entry = self.entry(key)
        self.table.used += entry.value == 0
        entry.key, entry.value = key, value

    def put_new(self, uint32_t key, uint32_t value):
        cdef Clash *entry
        if not clash_has_room(&self.table, 2):
            raise MemoryError
        entry = clash_gap(&self.table, <uint64_t> (key & 15) << 60)
        entry.key, entry.value = key, value
        self.table.used += 1

    def forget(self, uint32_t key):
        cdef Clash *entry
        if self.table.used:
            entry = self.entry(key)
            if entry.value:
                clash_remove(&self.table, entry)

    cdef Clash *entry(self, uint32_t key) noexcept:
        return clash_find(&self.table, key, <uint64_t> (key & 15) << 60)


def spread(uint64_t key):
    return fibonacci(key)
