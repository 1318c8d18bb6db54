# cython: language_level=3
"""The C face of _names.pyx, for the parsers: look-ups without the interpreter lock."""

from libc.stdint cimport uint32_t, uint64_t


cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    /* A name of up to 12 bytes is its own key: zero-padded, which is unambiguous because no name holds a NUL.
       key_mask[n] keeps the first n of 12 bytes, whatever the byte order of the machine. */
    typedef struct { uint64_t head; uint32_t tail; } atomsan_short_key;
    typedef struct { uint64_t head; uint32_t tail; uint32_t id_plus_1; } atomsan_short_slot;
    typedef struct { uint64_t hash; uint64_t key_at; uint32_t key_size; uint32_t id_plus_1; } atomsan_long_slot;

    typedef struct {
        atomsan_short_slot *short_slots;
        atomsan_long_slot *long_slots;
        uint64_t short_mask, long_mask;   /* slots, a power of two, minus one */
        int short_shift, long_shift;      /* what a hash is shifted by to give a slot's number */
        char *keys;   /* the bytes of long keys; the address changes when it grows */
    } atomsan_slots;

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

    /* Fibonacci hashing: a slot is numbered by the top bits of the product, which every byte of the key reaches. */
    static inline uint64_t atomsan_short_hash(atomsan_short_key key) {
        return key.head * UINT64_C(0x9E3779B97F4A7C15) + key.tail * UINT64_C(0xA0761D6478BD642F);
    }

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
        return (h ^ h >> 29) * UINT64_C(0x9E3779B97F4A7C15);
    }

    /* Open addressing, at most half full, so a probe ends. Each returns the id plus one, or 0. */
    static inline uint32_t atomsan_find_short(const atomsan_slots *slots, atomsan_short_key key, uint64_t hash) {
        for (uint64_t i = hash >> slots->short_shift;; i = (i + 1) & slots->short_mask) {
            const atomsan_short_slot *slot = slots->short_slots + i;
            if (slot->head == key.head && slot->tail == key.tail && slot->id_plus_1) return slot->id_plus_1;
            if (!slot->id_plus_1) return 0;
        }
    }

    static inline uint32_t atomsan_find_long(
            const atomsan_slots *slots, const char *p, size_t size, uint64_t hash) {
        for (uint64_t i = hash >> slots->long_shift;; i = (i + 1) & slots->long_mask) {
            const atomsan_long_slot *slot = slots->long_slots + i;
            if (!slot->id_plus_1) return 0;
            if (slot->hash == hash && slot->key_size == size && !memcmp(slots->keys + slot->key_at, p, size))
                return slot->id_plus_1;
        }
    }

    static inline uint32_t atomsan_find(const atomsan_slots *slots, const char *p, size_t size) {
        if (size <= 12) {
            atomsan_short_key key = atomsan_key(p, size);
            return atomsan_find_short(slots, key, atomsan_short_hash(key));
        }
        return atomsan_find_long(slots, p, size, atomsan_long_hash(p, size));
    }
    #define ATOMSAN_PREFETCH(p) __builtin_prefetch(p)
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
    ShortKey short_key "atomsan_key"(const char *p, size_t size) nogil
    uint64_t short_hash "atomsan_short_hash"(ShortKey key) nogil
    uint64_t long_hash "atomsan_long_hash"(const char *p, size_t size) nogil
    ctypedef struct Slots "atomsan_slots":
        ShortSlot *short_slots
        LongSlot *long_slots
        uint64_t short_mask
        uint64_t long_mask
        int short_shift
        int long_shift
        char *keys
    uint32_t find_short "atomsan_find_short"(const Slots *slots, ShortKey key, uint64_t hash) nogil
    uint32_t find_long "atomsan_find_long"(const Slots *slots, const char *p, size_t size, uint64_t hash) nogil
    uint32_t find "atomsan_find"(const Slots *slots, const char *p, size_t size) nogil
    void prefetch "ATOMSAN_PREFETCH"(const void *p) nogil


cdef class NameTable:
    cdef char *arena              # the names' bytes, one after the other
    cdef size_t arena_room
    cdef uint64_t *offsets        # name i (after the numbered ones) is arena[offsets[i]:offsets[i + 1]]
    cdef size_t offsets_room
    cdef uint64_t stored_count    # names in the arena
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
    cdef uint64_t short_used
    cdef uint64_t long_used
    cdef size_t keys_size
    cdef size_t keys_room

    cdef int insert(self, const char *p, size_t size, uint32_t id_plus_1) except -1 nogil
    cdef int grow_short(self) except -1 nogil
    cdef int grow_long(self) except -1 nogil


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
