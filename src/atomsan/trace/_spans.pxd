# cython: language_level=3
"""Sets of numbers as bits, in as many words as lie between the first number and the last: a set of one word has no block.

Blocks come from a pool, whose owner is that of the sets. A set whose bytes are all zero is empty. Words that lie beyond
`count` in a block are zero.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy, memset

from atomsan.trace._memory cimport out_of_memory
from atomsan.trace._pools cimport Blocks, give_block, take_block

cdef extern from * nogil:
    """
    #include <stddef.h>
    #include <stdint.h>
    #define ATOMSAN_LEADING_ZEROS(number) __builtin_clzll(number)

    /* Plain loops over words, which the compiler turns into vector instructions. The answer: is any bit set? */
    CYTHON_UNUSED static int atomsan_meet(const uint64_t *one, const uint64_t *other, size_t count) {
        uint64_t any = 0;
        for (size_t k = 0; k < count; k++) any |= one[k] & other[k];
        return any != 0;
    }
    CYTHON_UNUSED static int atomsan_keep(uint64_t *words, const uint64_t *other, size_t count) {
        uint64_t any = 0;
        for (size_t k = 0; k < count; k++) any |= words[k] &= other[k];
        return any != 0;
    }
    CYTHON_UNUSED static void atomsan_drop(uint64_t *words, const uint64_t *other, size_t count) {
        for (size_t k = 0; k < count; k++) words[k] &= ~other[k];
    }
    CYTHON_UNUSED static void atomsan_add(uint64_t *words, const uint64_t *other, size_t count) {
        for (size_t k = 0; k < count; k++) words[k] |= other[k];
    }
    """
    uint32_t leading_zeros "ATOMSAN_LEADING_ZEROS"(uint64_t number)
    bint words_meet "atomsan_meet"(const uint64_t *one, const uint64_t *other, size_t count)
    bint keep_words "atomsan_keep"(uint64_t *words, const uint64_t *other, size_t count)
    void drop_words "atomsan_drop"(uint64_t *words, const uint64_t *other, size_t count)
    void add_words "atomsan_add"(uint64_t *words, const uint64_t *other, size_t count)


cdef struct Span:
    uint64_t *many
    uint64_t one            # in place of `many`, if `count` is 1
    uint32_t first          # word
    uint32_t count          # of words; 0: the set is empty


cdef inline uint64_t *words_of(const Span *span) noexcept nogil:
    return <uint64_t *> &span.one if span.count == 1 else span.many


cdef inline bint is_in(const Span *span, uint32_t number) noexcept nogil:
    cdef uint32_t at = (number >> 6) - span.first       # a large number where it lies before the first
    return at < span.count and words_of(span)[at] >> (number & 63) & 1


cdef inline bint has_any_of(const Span *span, const uint64_t *words) noexcept nogil:
    """Whether a number of the set is in `words`, which begin with word 0."""
    return words_meet(words_of(span), words + span.first, span.count)


cdef inline bint keep_only(Span *span, const uint64_t *words) noexcept nogil:
    """Take out what is not in `words`, which begin with word 0. False: nothing is left."""
    return keep_words(words_of(span), words + span.first, span.count)


cdef inline uint32_t power_for(uint32_t count) noexcept nogil:
    """The least power of two that is at least `count`."""
    return 0 if count <= 1 else 64 - leading_zeros(count - 1)


cdef inline int unite(Span *span, Blocks *pool, uint32_t first, uint32_t count, const uint64_t *words) except -1 nogil:
    """Add the numbers that are in these words, of which the first is number `first`."""
    if span.count == 0:
        span.first = first
        if count == 1:
            span.one = words[0]
        else:
            span.many = new_words(pool, count)
            memcpy(span.many, words, 8 * <size_t> count)
        span.count = count
        return 0
    if first < span.first or first + count > span.first + span.count:
        widen_span(span, pool, min(first, span.first), max(first + count, span.first + span.count))
    if count == 1:
        words_of(span)[first - span.first] |= words[0]
    else:
        add_words(words_of(span) + (first - span.first), words, count)
    return 0


cdef inline int widen_span(Span *span, Blocks *pool, uint32_t first, uint32_t end) except -1 nogil:
    cdef uint32_t count = end - first
    cdef uint64_t *wider
    if span.count == 1 or first < span.first or power_for(count) > power_for(span.count):
        wider = new_words(pool, count)
        memcpy(wider + (span.first - first), words_of(span), 8 * <size_t> span.count)
        free_span(span, pool)
        span.many = wider
    span.first, span.count = first, count
    return 0


cdef inline uint64_t *new_words(Blocks *pool, uint32_t count) except NULL nogil:
    cdef void *words = take_block(pool, power_for(count), sizeof(uint64_t))
    if words == NULL:
        out_of_memory()
    return <uint64_t *> words


cdef inline void free_span(Span *span, Blocks *pool) noexcept nogil:
    if span.count > 1:
        give_block(pool, span.many, power_for(span.count))
    memset(span, 0, sizeof(Span))
