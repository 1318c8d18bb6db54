# cython: language_level=3
"""The C interface of _names.pyx, for the parsers: look-ups without the interpreter lock."""

from libc.stdint cimport uint32_t, uint64_t

from atomsan.trace._hashing cimport fibonacci

cdef extern from * nogil:
    """
    /* A name of up to 12 bytes is its own key: zero-padded, which is unambiguous because no name holds a NUL.
       The mask keeps the first n of 12 bytes, whatever the byte order of the machine. */
    typedef struct { uint64_t head; uint32_t tail; } atomsan_short_key;
    typedef struct { uint64_t head; uint32_t tail; uint32_t id_plus_1; } atomsan_short_slot;

    static const uint8_t atomsan_mask_bytes[24] = {
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

    /* Reads 12 bytes at p whatever the size: callers pad their buffers. */
    static inline atomsan_short_key atomsan_key(const char *p, size_t size) {
        atomsan_short_key key, mask;
        memcpy(&key.head, p, 8);
        memcpy(&key.tail, p + 8, 4);
        memcpy(&mask.head, atomsan_mask_bytes + 12 - size, 8);
        memcpy(&mask.tail, atomsan_mask_bytes + 20 - size, 4);
        key.head &= mask.head;
        key.tail &= mask.tail;
        return key;
    }

    #define ATOMSAN_SHORT_HASH(key) (ATOMSAN_FIBONACCI((key).head) + (key).tail * UINT64_C(0xA0761D6478BD642F))
    #define ATOMSAN_SHORT_SLOT_HASH(slot) ATOMSAN_SHORT_HASH(*(slot))
    #define ATOMSAN_NAME_IS_USED(slot) ((slot)->id_plus_1 != 0)
    #define ATOMSAN_SHORT_EQUALS(slot, key) ((slot)->head == (key).head && (slot)->tail == (key).tail)
    ATOMSAN_TABLE(atomsan_short_names, atomsan_short_slot, atomsan_short_key,
                  ATOMSAN_NAME_IS_USED, ATOMSAN_SHORT_SLOT_HASH, ATOMSAN_SHORT_EQUALS)

    /* Longer names stand one after the other in a block of bytes. */
    typedef struct { const char *name; size_t size; uint64_t hash; const char *keys; } atomsan_long_key;
    typedef struct { uint64_t hash; uint64_t key_at; uint32_t key_size; uint32_t id_plus_1; } atomsan_long_slot;

    static inline uint64_t atomsan_long_hash(const char *p, size_t size) {
        uint64_t h = size * UINT64_C(0xE7037ED1A0B428DB), word;
        for (; size >= 8; size -= 8, p += 8) {
            memcpy(&word, p, 8);
            h = (h ^ word) * UINT64_C(0xD6E8FEB86659FD93);
            h ^= h >> 32;
        }
        word = 0;
        memcpy(&word, p, size);
        h = (h ^ word) * UINT64_C(0xA0761D6478BD642F);
        return ATOMSAN_FIBONACCI(h ^ h >> 29);
    }

    #define ATOMSAN_LONG_SLOT_HASH(slot) ((slot)->hash)
    #define ATOMSAN_LONG_EQUALS(slot, key) \\
        ((slot)->hash == (key).hash && (slot)->key_size == (key).size \\
         && !memcmp((key).keys + (slot)->key_at, (key).name, (key).size))
    ATOMSAN_TABLE(atomsan_long_names, atomsan_long_slot, atomsan_long_key,
                  ATOMSAN_NAME_IS_USED, ATOMSAN_LONG_SLOT_HASH, ATOMSAN_LONG_EQUALS)

    typedef struct {
        atomsan_short_names shorts;
        atomsan_long_names longs;
        char *keys;   /* the bytes of long names; the address changes when it grows */
    } atomsan_slots;

    /* Each returns the id plus one, or 0. */
    static inline uint32_t atomsan_find_short(const atomsan_slots *slots, atomsan_short_key key, uint64_t hash) {
        return atomsan_short_names_find(&slots->shorts, key, hash)->id_plus_1;
    }

    static inline uint32_t atomsan_find_long(
            const atomsan_slots *slots, const char *p, size_t size, uint64_t hash) {
        atomsan_long_key key = {p, size, hash, slots->keys};
        return atomsan_long_names_find(&slots->longs, key, hash)->id_plus_1;
    }

    static inline uint32_t atomsan_find(const atomsan_slots *slots, const char *p, size_t size) {
        if (size <= 12) {
            atomsan_short_key key = atomsan_key(p, size);
            return atomsan_find_short(slots, key, ATOMSAN_SHORT_HASH(key));
        }
        return atomsan_find_long(slots, p, size, atomsan_long_hash(p, size));
    }
    """
    enum: SHORT_MAX "12"
    ctypedef struct ShortKey "atomsan_short_key":
        uint64_t head
        uint32_t tail
    ctypedef struct ShortSlot "atomsan_short_slot":
        uint64_t head
        uint32_t tail
        uint32_t id_plus_1
    ctypedef struct LongSlot "atomsan_long_slot":
        uint64_t hash
        uint64_t key_at
        uint32_t key_size
        uint32_t id_plus_1
    ctypedef struct ShortNames "atomsan_short_names":
        ShortSlot *entries
        uint64_t mask
        int shift
        uint64_t used
    ctypedef struct LongNames "atomsan_long_names":
        LongSlot *entries
        uint64_t mask
        int shift
        uint64_t used
    ctypedef struct Slots "atomsan_slots":
        ShortNames shorts
        LongNames longs
        char *keys
    ShortKey short_key "atomsan_key"(const char *p, size_t size)
    uint64_t short_hash "ATOMSAN_SHORT_HASH"(ShortKey key)
    uint64_t long_hash "atomsan_long_hash"(const char *p, size_t size)
    bint shorts_have_room "atomsan_short_names_has_room"(ShortNames *names, uint64_t places)
    bint longs_have_room "atomsan_long_names_has_room"(LongNames *names, uint64_t places)
    ShortSlot *short_gap "atomsan_short_names_gap"(const ShortNames *names, uint64_t hash)
    LongSlot *long_gap "atomsan_long_names_gap"(const LongNames *names, uint64_t hash)
    uint32_t find_short "atomsan_find_short"(const Slots *slots, ShortKey key, uint64_t hash)
    uint32_t find_long "atomsan_find_long"(const Slots *slots, const char *p, size_t size, uint64_t hash)
    uint32_t find "atomsan_find"(const Slots *slots, const char *p, size_t size)


cdef class NameTable:
    cdef char *arena              # the names' bytes, one after the other
    cdef size_t arena_room
    cdef uint64_t *offsets        # name i (after the numbered and the dropped ones) is arena[offsets[i]:offsets[i + 1]]
    cdef size_t offsets_room
    cdef uint64_t stored_count    # names in the arena
    cdef readonly uint64_t dropped   # names before those in the arena, which are not kept
    cdef readonly uint64_t numbered_first   # names 0 .. numbered_count - 1 are decimal numbers from here on
    cdef readonly uint64_t numbered_count
    cdef readonly uint64_t limit
    cdef Index index              # by name; made when somebody first asks
    cdef uint64_t indexed         # stored names that are in it

    cdef uint64_t size(self) noexcept nogil
    cdef int append(self, const char *p, size_t size) except -1 nogil
    cdef int make_room(self, uint64_t count, uint64_t size) except -1 nogil
    cdef bytes raw(self, uint64_t at)
    cdef int make_index(self) except -1


cdef class Index:
    cdef Slots slots
    cdef size_t keys_size
    cdef size_t keys_room

    cdef int insert(self, const char *p, size_t size, uint32_t id_plus_1) except -1 nogil
    cdef int insert_short(self, const char *p, size_t size, uint32_t id_plus_1) except -1 nogil
    cdef int insert_long(self, const char *p, size_t size, uint32_t id_plus_1) except -1 nogil


cdef class Interner:
    cdef readonly NameTable names
    cdef bint escapes
    cdef Index spellings          # as the text spells them: before escapes are undone
    cdef dict percent_names       # ids of the names that some spelling with a percent sign stood for
    cdef bint has_escapes         # there are such
    cdef bint number_run          # every name so far continued the run of numbers

    cdef uint32_t intern(self, const char *p, size_t size) except? 0xFFFFFFFF nogil
    cdef uint32_t intern_site(self, const char *p, size_t size) except? 0xFFFFFFFF nogil
    cdef int close_run(self) except -1
    cdef bint can_add(self, const char *p, size_t size) noexcept nogil
    cdef uint32_t add(self, const char *p, size_t size) except? 0xFFFFFFFF nogil
    cdef uint32_t add_name(self, const char *p, size_t size) except? 0xFFFFFFFF
