# The address table: a hash table by (address, kind, key), with the object at an address, the locations of its keys and
# the items of a queue. The usual access is one look-up.
#
# State: `AddressTable`. Only the functions of this file write `slots` and the links of an entry.
# Always: an entry is in the list of one object (`objects.pxi` has the head) or in none (A_NAMESPACE), so that the death
# of an object takes away all of its entries, and memory follows the objects that are alive.

cdef extern from * nogil:
    """
    #include <stdint.h>

    typedef struct {
        uint64_t address, key;
        uint32_t value;
        uint32_t before, after;    /* in the list of its object: a Link of trace/_links.pxd */
        uint8_t kind;
        uint8_t watch;         /* of a location: see resolver/wholes.pxi */
        uint16_t thread;       /* of a location: the only one that used it, or SHARED */
    } atomsan_entry;

    /* The upper half of the hash; and the entry, 0: the slot is free. */
    typedef struct { uint32_t tag, entry; } atomsan_slot;

    typedef struct { const atomsan_entry *entries; uint64_t address, key; uint32_t kind, tag; } atomsan_sought;

    static inline uint64_t atomsan_raw_hash(uint64_t address, uint32_t kind, uint64_t key) {
        uint64_t h = (address + kind) * UINT64_C(0x9E3779B97F4A7C15) + key * UINT64_C(0xD6E8FEB86659FD93);
        h = (h ^ h >> 32) * UINT64_C(0xA0761D6478BD642F);
        return h ^ h >> 29;
    }

    static inline int atomsan_slot_is(const atomsan_slot *slot, const atomsan_sought *sought) {
        const atomsan_entry *entry = sought->entries + slot->entry;
        return slot->tag == sought->tag && entry->address == sought->address && entry->key == sought->key
            && entry->kind == sought->kind;
    }

    #define ATOMSAN_SLOT_IS_USED(slot) ((slot)->entry != 0)
    #define ATOMSAN_SLOT_HASH(slot) ((uint64_t)(slot)->tag << 32)
    ATOMSAN_TABLE(atomsan_slots, atomsan_slot, const atomsan_sought *, ATOMSAN_SLOT_IS_USED, ATOMSAN_SLOT_HASH,
                  atomsan_slot_is)
    """
    ctypedef struct Entry "atomsan_entry":
        uint64_t address
        uint64_t key
        uint32_t value
        uint32_t before
        uint32_t after
        uint8_t kind
        uint8_t watch
        uint16_t thread
    ctypedef struct Slot "atomsan_slot":
        uint32_t tag
        uint32_t entry
    ctypedef struct Slots "atomsan_slots":
        Slot *entries
        uint64_t mask
        int shift
        uint64_t used
    ctypedef struct Sought "atomsan_sought":
        const Entry *entries
        uint64_t address
        uint64_t key
        uint32_t kind
        uint32_t tag
    uint64_t raw_hash "atomsan_raw_hash"(uint64_t address, uint32_t kind, uint64_t key)
    Slot *slots_find "atomsan_slots_find"(const Slots *slots, const Sought *sought, uint64_t hash)
    Slot *slots_gap "atomsan_slots_gap"(const Slots *slots, uint64_t hash)
    bint slots_have_room "atomsan_slots_has_room"(Slots *slots, uint64_t places)
    void slots_remove "atomsan_slots_remove"(Slots *slots, Slot *slot)

# Kinds of entries beside those of keys; FIELD_BY_HASH and KEY_IDENTITY of `_rows.pxd` are two more.
cdef enum:
    AN_OBJECT = 16        # value: its row
    AN_ITEM = 19          # of a queue; value: the last of a circle of nodes
    A_NAMESPACE = 20      # the object at this address is one
    AN_ELEMENT = 21       # key: the entry of a location; value: its row as an element (`wholes.pxi`)

cdef enum: SHARED = 0xFFFF
cdef enum: MOST_ENTRIES = 1 << 30

cdef struct AddressTable:
    Slots slots
    Entry *entries        # from 1 on
    Pool pool             # of them


cdef int start_table(AddressTable *table) except -1 nogil:
    table.pool.used = 1
    if not slots_have_room(&table.slots, 2):
        out_of_memory()
    return ensure_room(<void **> &table.entries, &table.pool.room, 1, sizeof(Entry))


cdef void free_table(AddressTable *table) noexcept nogil:
    free(table.slots.entries)
    free(table.entries)


cdef inline Entry *entry_at(const AddressTable *table, uint32_t number) noexcept nogil:
    """The entry of a number that `find` or `insert` gave."""
    return table.entries + number


cdef inline bint is_location(const Entry *entry) noexcept nogil:
    """Whether an entry tells which location a key is. (That of a field by its hash repeats another one.)"""
    return entry.kind <= KEY_WHOLE or entry.kind == KEY_IDENTITY


cdef inline uint32_t tag_of(uint64_t address, uint32_t kind, uint64_t key) noexcept nogil:
    return <uint32_t> (raw_hash(address, kind, key) >> 32)


cdef inline uint64_t home_of(const AddressTable *table, uint32_t tag) noexcept nogil:
    """The slot that is looked at first."""
    return (<uint64_t> tag << 32) >> table.slots.shift


cdef inline uint32_t find_tagged(
    const AddressTable *table, uint32_t tag, uint64_t address, uint32_t kind, uint64_t key
) noexcept nogil:
    """As `find`, for whoever has the tag already."""
    cdef Sought sought
    sought.entries, sought.address, sought.key, sought.kind, sought.tag = table.entries, address, key, kind, tag
    return slots_find(&table.slots, &sought, <uint64_t> tag << 32).entry


cdef inline uint32_t find(const AddressTable *table, uint64_t address, uint32_t kind, uint64_t key) noexcept nogil:
    """The number of an entry, or 0."""
    return find_tagged(table, tag_of(address, kind, key), address, kind, key)


cdef uint32_t insert(
    AddressTable *table, uint64_t address, uint8_t kind, uint64_t key, uint32_t value, uint32_t *first
) except? 0xFFFFFFFF nogil:
    """A new entry, in front of the list that starts at `first` (NULL: in none); returns its number."""
    cdef uint32_t number, tag = tag_of(address, kind, key)
    cdef Entry *entry
    cdef Slot *slot
    if table.slots.used == MOST_ENTRIES:
        with gil:
            raise MemoryError("more than a billion locations are alive")
    if not slots_have_room(&table.slots, 2):
        out_of_memory()
    number = new_slot(&table.pool, <void **> &table.entries, sizeof(Entry))
    entry = entry_at(table, number)
    entry.address, entry.kind, entry.key, entry.value = address, kind, key, value
    entry.before = entry.after = 0
    entry.thread = SHARED
    entry.watch = 0
    if first != NULL:
        put_first(&table.entries.before, sizeof(Entry), first, number)
    slot = slots_gap(&table.slots, <uint64_t> tag << 32)
    slot.tag, slot.entry = tag, number
    table.slots.used += 1
    return number


cdef void remove(AddressTable *table, uint32_t number, uint32_t *first) noexcept nogil:
    """Take an entry out of the table and out of the list that starts at `first`."""
    cdef Entry *entry = entry_at(table, number)
    cdef Sought sought
    sought.entries, sought.address, sought.key, sought.kind = table.entries, entry.address, entry.key, entry.kind
    sought.tag = tag_of(entry.address, entry.kind, entry.key)
    slots_remove(&table.slots, slots_find(&table.slots, &sought, <uint64_t> sought.tag << 32))
    take_out(&table.entries.before, sizeof(Entry), first, number)
    give_slot(&table.pool, table.entries, sizeof(Entry), number)


cdef inline uint32_t used_by(AddressTable *table, uint32_t found, uint32_t thread) noexcept nogil:
    """The location of an entry, which this thread uses."""
    cdef Entry *entry = entry_at(table, found)
    if entry.thread != thread:
        entry.thread = SHARED
    return entry.value
