# The address table: everything that hangs on an address, by (address, kind, key). It tells which location a key of an
# object is, the object itself, and the items of a queue. The usual access is one look-up.
#
# State: `AddressTable`. Only the functions of this file write `slots` and the links of an entry.
# Always: at most half of the slots are in use, so that a probe ends. An entry is in the list of one object
# (`objects.pxi` has the head) or in none (A_NAMESPACE), so that the death of an object takes away all of its entries,
# and memory follows the objects that are alive. Rows of removed entries are used again.

cdef extern from * nogil:
    """
    #include <stdint.h>

    typedef struct {
        uint64_t address, key;
        uint32_t value;
        uint32_t next, prev;   /* in the list of its object, plus 1; 0: none */
        uint8_t kind;
        uint16_t thread;       /* of a location: the only one that used it, or SHARED */
    } atomsan_entry;

    /* The upper half of the hash, which also numbers the home slot; and the entry, plus 1. */
    typedef struct { uint32_t tag, entry; } atomsan_slot;

    static inline uint64_t atomsan_raw_hash(uint64_t address, uint32_t kind, uint64_t key) {
        uint64_t h = (address + kind) * UINT64_C(0x9E3779B97F4A7C15) + key * UINT64_C(0xD6E8FEB86659FD93);
        h = (h ^ h >> 32) * UINT64_C(0xA0761D6478BD642F);
        return h ^ h >> 29;
    }

    static inline uint32_t atomsan_raw_tag(uint64_t address, uint32_t kind, uint64_t key) {
        return (uint32_t)(atomsan_raw_hash(address, kind, key) >> 32);
    }

    /* The entry plus 1, or 0. */
    static inline uint32_t atomsan_raw_find(
            const atomsan_slot *slots, int bits, const atomsan_entry *entries, uint32_t tag,
            uint64_t address, uint32_t kind, uint64_t key) {
        uint32_t mask = (uint32_t)((UINT64_C(1) << bits) - 1);
        for (uint32_t i = tag >> (32 - bits);; i = (i + 1) & mask) {
            uint32_t found = slots[i].entry;
            if (!found) return 0;
            if (slots[i].tag == tag) {
                const atomsan_entry *entry = entries + found - 1;
                if (entry->address == address && entry->key == key && entry->kind == kind) return found;
            }
        }
    }
    #define ATOMSAN_RAW_PREFETCH(p) __builtin_prefetch(p)
    """
    ctypedef struct Entry "atomsan_entry":
        uint64_t address
        uint64_t key
        uint32_t value
        uint32_t next
        uint32_t prev
        uint8_t kind
        uint16_t thread
    ctypedef struct Slot "atomsan_slot":
        uint32_t tag
        uint32_t entry
    uint64_t raw_hash "atomsan_raw_hash"(uint64_t address, uint32_t kind, uint64_t key)
    uint32_t raw_tag "atomsan_raw_tag"(uint64_t address, uint32_t kind, uint64_t key)
    uint32_t raw_find "atomsan_raw_find"(
        const Slot *slots, int bits, const Entry *entries, uint32_t tag, uint64_t address, uint32_t kind, uint64_t key)
    void prefetch "ATOMSAN_RAW_PREFETCH"(const void *p)

# Kinds of entries beside those of keys; FIELD_BY_HASH and KEY_IDENTITY of `_rows.pxd` are two more.
cdef enum:
    AN_OBJECT = 16        # value: its row
    AN_ITEM = 19          # of a queue; value: the last of a circle of nodes
    A_NAMESPACE = 20      # the object at this address is one

cdef enum: SHARED = 0xFFFF
cdef enum: FIRST_BITS = 10

cdef struct AddressTable:
    Slot *slots
    int bits              # there are 2 ** bits slots
    size_t used
    Rows entries          # of Entry
    uint32_t free         # the first row that is not in use, plus 1; a list through `next`


cdef int start_table(AddressTable *table) except -1 nogil:
    table.bits = FIRST_BITS
    table.slots = <Slot *> grown(NULL, 0, sizeof(Slot) << table.bits)
    return 0


cdef void free_table(AddressTable *table) noexcept nogil:
    free(table.slots)
    table.slots = NULL
    free_rows(&table.entries)


cdef inline Entry *entry_at(const AddressTable *table, uint32_t number) noexcept nogil:
    """The entry of a number that `find` or `insert` gave."""
    return <Entry *> table.entries.rows + number - 1


cdef inline bint is_location(const Entry *entry) noexcept nogil:
    """Whether an entry tells which location a key is. (That of a field by its hash repeats another one.)"""
    return entry.kind <= KEY_WHOLE or entry.kind == KEY_IDENTITY


cdef inline uint32_t find(const AddressTable *table, uint64_t address, uint32_t kind, uint64_t key) noexcept nogil:
    """The number of an entry plus 1, or 0."""
    cdef uint32_t tag = raw_tag(address, kind, key)
    return raw_find(table.slots, table.bits, <Entry *> table.entries.rows, tag, address, kind, key)


cdef uint32_t insert(
    AddressTable *table, uint64_t address, uint8_t kind, uint64_t key, uint32_t value, uint32_t *first
) except? 0xFFFFFFFF nogil:
    """A new entry, in front of the list that starts at `first` (NULL: in none); returns its number plus 1."""
    cdef uint32_t number
    cdef Entry *entry
    if 2 * (table.used + 1) > <size_t> 1 << table.bits:
        rehash(table)
    if table.free:
        number = table.free
        table.free = entry_at(table, number).next
    else:
        new_row(&table.entries, sizeof(Entry))
        number = table.entries.count
    entry = entry_at(table, number)
    entry.address, entry.kind, entry.key, entry.value = address, kind, key, value
    entry.next = entry.prev = 0
    entry.thread = SHARED
    if first != NULL:
        entry.next = first[0]
        if first[0]:
            entry_at(table, first[0]).prev = number
        first[0] = number
    place(table, raw_tag(address, kind, key), number)
    table.used += 1
    return number


cdef inline void place(AddressTable *table, uint32_t tag, uint32_t number) noexcept nogil:
    cdef uint32_t mask = <uint32_t> ((<uint64_t> 1 << table.bits) - 1), i = tag >> (32 - table.bits)
    while table.slots[i].entry:
        i = (i + 1) & mask
    table.slots[i].tag = tag
    table.slots[i].entry = number


cdef int rehash(AddressTable *table) except -1 nogil:
    cdef Slot *old = table.slots
    cdef size_t i, count = <size_t> 1 << table.bits
    if table.bits == 31:
        with gil:
            raise MemoryError("more than a billion locations are alive")
    table.slots = <Slot *> grown(NULL, 0, sizeof(Slot) * 2 * count)
    table.bits += 1
    for i in range(count):
        if old[i].entry:
            place(table, old[i].tag, old[i].entry)
    free(old)
    return 0


cdef void remove(AddressTable *table, uint32_t number, uint32_t *first) noexcept nogil:
    """Take an entry out of the table and out of the list that starts at `first`."""
    cdef Entry *entry = entry_at(table, number)
    cdef uint32_t mask = <uint32_t> ((<uint64_t> 1 << table.bits) - 1), i, hole, home
    i = raw_tag(entry.address, entry.kind, entry.key) >> (32 - table.bits)
    while table.slots[i].entry != number:
        i = (i + 1) & mask
    # those behind it that could not have their home move up, so that no probe ends too early
    hole = i
    while True:
        i = (i + 1) & mask
        if not table.slots[i].entry:
            break
        home = table.slots[i].tag >> (32 - table.bits)
        if ((i - home) & mask) >= ((i - hole) & mask):
            table.slots[hole] = table.slots[i]
            hole = i
    table.slots[hole].entry = 0
    table.used -= 1
    if entry.prev:
        entry_at(table, entry.prev).next = entry.next
    else:
        first[0] = entry.next
    if entry.next:
        entry_at(table, entry.next).prev = entry.prev
    entry.next = table.free
    table.free = number


cdef inline uint32_t used_by(AddressTable *table, uint32_t found, uint32_t thread) noexcept nogil:
    """The location of an entry, which this thread uses."""
    cdef Entry *entry = entry_at(table, found)
    if entry.thread != thread:
        entry.thread = SHARED
    return entry.value
