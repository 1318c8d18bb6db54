"""`_raw.h` for Cython: the layout of the raw log."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

cdef extern from "../log/_raw.h" nogil:
    ctypedef struct RawRecord:
        uint64_t object
        uint64_t key
        uint32_t type
        uint32_t site
        uint32_t thread
        uint8_t op
        uint8_t key_kind
        uint16_t flags

    ctypedef struct RawHead:
        uint64_t magic
        uint64_t capacity
        uint64_t head
        uint64_t tail
        uint64_t lost
        uint32_t stop
        uint32_t closed
        uint32_t waiting
        uint32_t unsent
        uint32_t patience
        uint32_t unfollowed

    enum:
        RAW_MAGIC
        RAW_HEAD_BYTES

    enum:
        RAW_READ, RAW_WRITE, RAW_ACQUIRE, RAW_RELEASE, RAW_FORK, RAW_JOIN, RAW_BEGIN, RAW_END, RAW_POST, RAW_TAKE
        RAW_FREE, RAW_ALIAS, RAW_THREAD, RAW_EXIT, RAW_ENTRY, RAW_WAIT, RAW_WOKEN, RAW_SEMAPHORE, RAW_BARRIER
        RAW_ARRIVE, RAW_DEPART, RAW_REGION, RAW_REGION_END, RAW_BLOCK, RAW_BLOCK_END, RAW_HELD,
        RAW_CALLED, RAW_MADE, RAW_HOLDS, RAW_FIELD

    enum:
        KEY_NONE, KEY_FIELD, KEY_INDEX, KEY_HASH, KEY_NUMBER, KEY_OBJECT, KEY_STRUCTURE, KEY_WHOLE, KEY_ELEMENTS

    enum:
        HAND_PLAIN, HAND_ITEM, HAND_PERMIT, HAND_START, HAND_NOTHING

    enum:
        OF_EVENT, OF_FUTURE, OF_QUEUE, OF_SEMAPHORE, OF_BARRIER, OF_THREAD, OF_ROOM, OF_LOCK, OF_SELF

    enum:
        FLAG_AUGMENTED, FLAG_LOOP_LOCK, FLAG_NO_WAIT, FLAG_CLASS, FLAG_QUEUE, FLAG_CALLED_BACK, FLAG_KNOWN,
        FLAG_RESUMED, FLAG_REENTRANT, FLAG_PICKS, FLAG_LOOPS, FLAG_STATE
