"""`_writer.h` for Cython: the state of the log, and how a record is written inline."""

from libc.stdint cimport uint32_t, uint64_t

from atomsan.recorder.log._raw cimport RawHead, RawRecord

cdef extern from "_writer.h":
    ctypedef struct Thread:
        uint64_t epoch
        uint64_t live
        uint32_t number
        uint32_t site
        const void *base

    ctypedef struct State:
        int on
        int attached
        int watching
        uint64_t next
        uint64_t limit
        uint64_t hard_limit
        RawRecord *records
        uint64_t mask
        RawHead *head
        uint64_t epoch
        uint64_t live
        uint32_t *seen
        Thread *(*enter)() noexcept
        int (*make_room)(uint64_t records, int may_wait) noexcept

    uint64_t NOT_LIVE

    enum:
        SLACK
        SEEN_SLOTS

    bint LIKELY(bint)
    bint UNLIKELY(bint)
    void mark_seen(State *s, uint64_t address)
    int has_room(State *s, uint64_t records)
    void put(State *s, uint64_t object, uint64_t key, uint64_t what, uint64_t word)
    void put_access(State *s, uint64_t object, uint64_t key, uint64_t what, uint64_t word)
    uint64_t RAW_WORD(uint64_t thread, uint64_t op, uint64_t key_kind, uint64_t flags)
    uint64_t RAW_WHAT(uint64_t type, uint64_t site)
