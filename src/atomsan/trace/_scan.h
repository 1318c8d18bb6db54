/* Inner loops of the STD and CSV parsers and of validation: finds delimiters and operations 64 bytes at a time, reads
   the spelling of an operation, checks the range of numbers, and caches names. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>

static inline uint64_t atomsan_marks64(const char *p) {
    const __m128i bar = _mm_set1_epi8('|'), newline = _mm_set1_epi8('\n');
    uint64_t marks = 0;
    for (int part = 0; part < 4; part++) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(p + 16 * part));
        __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(bytes, bar), _mm_cmpeq_epi8(bytes, newline));
        marks |= (uint64_t)(uint32_t)_mm_movemask_epi8(hit) << (16 * part);
    }
    return marks;
}
#else
static inline uint64_t atomsan_marks64(const char *p) {
    uint64_t marks = 0;
    for (int i = 0; i < 64; i++) marks |= (uint64_t)(p[i] == '|' || p[i] == '\n') << i;
    return marks;
}
#endif

/* Which of 64 operations are neither reads nor writes; all are below 128. */
#if defined(__SSE2__)
static inline uint64_t atomsan_others64(const uint8_t *p) {
    const __m128i write = _mm_set1_epi8(1);
    uint64_t others = 0;
    for (int part = 0; part < 4; part++) {
        __m128i ops = _mm_loadu_si128((const __m128i *)(p + 16 * part));
        others |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpgt_epi8(ops, write)) << (16 * part);
    }
    return others;
}
#else
static inline uint64_t atomsan_others64(const uint8_t *p) {
    uint64_t others = 0;
    for (int i = 0; i < 64; i++) others |= (uint64_t)(p[i] > 1) << i;
    return others;
}
#endif

/* Whether every number of some events is in range: the threads below `threads`, the sites below `sites` or none (which
   wraps to 0), the locations of accesses below `locations`, the operations below 10. A difference is negative where one
   is not; limits beyond 2^31 may say no where yes would be right. */
static inline int atomsan_in_range(
        const uint32_t *thread, const uint8_t *op, const uint32_t *target, const uint32_t *site, size_t count,
        uint32_t threads, uint32_t locations, uint32_t sites) {
    uint32_t signs = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t is_access = -(uint32_t)(op[i] <= 1);
        signs |= (threads - 1 - thread[i]) | (sites - (site[i] + 1)) | (9 - (uint32_t)op[i])
            | (locations - 1 - (target[i] & is_access));
    }
    return !(signs >> 31);
}

/* Appends the positions of the marks in text[from:to] to `out`, which has room for one a byte and 8 more.
   Reads up to 63 bytes past `to`. */
static inline size_t atomsan_find_marks(const char *text, size_t from, size_t to, uint32_t *out) {
    size_t count = 0;
    for (size_t at = from; at < to; at += 64) {
        uint64_t marks = atomsan_marks64(text + at);
        if (to - at < 64) marks &= (UINT64_C(1) << (to - at)) - 1;
        while (marks) {
            out[count++] = (uint32_t)(at + (size_t)__builtin_ctzll(marks));
            marks &= marks - 1;
        }
    }
    return count;
}

/* The operation spelled at p, and how many bytes "op(" takes; 255 if none is. Reads 8 bytes. */
static inline uint8_t atomsan_std_op(const char *p, size_t *size) {
#define ATOMSAN_OP(word, number) \
    if (!memcmp(p, word, sizeof(word) - 1)) { *size = sizeof(word) - 1; return number; } break;
    if (p[1] == '(' && ((p[0] == 'r') | (p[0] == 'w'))) {
        *size = 2;
        return p[0] == 'w'; /* no branch on it: which of the two comes next cannot be predicted */
    }
    switch (p[0]) {
        case 'a': ATOMSAN_OP("acq(", 2)
        case 'r': ATOMSAN_OP("rel(", 3)
        case 'f': ATOMSAN_OP("fork(", 4)
        case 'j': ATOMSAN_OP("join(", 5)
        case 'b': ATOMSAN_OP("begin(", 6)
        case 'e': ATOMSAN_OP("end(", 7)
        case 'p': ATOMSAN_OP("post(", 8)
        case 't': ATOMSAN_OP("take(", 9)
    }
    return 255;
#undef ATOMSAN_OP
}

/* A small cache before a table of names, for threads and sites: few names, one look-up a line. It takes names of up to
   8 bytes, which it compares as one integer: the bytes at one end, zeros at the other, unambiguous without NULs. */
#define ATOMSAN_CACHE_BITS 10
typedef struct { uint64_t key; uint32_t id_plus_1; } atomsan_cache_line;

static inline uint64_t atomsan_cache_key(const char *p, size_t size) {
    uint64_t key;
    memcpy(&key, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return key >> (64 - 8 * size);
#else
    return key << (64 - 8 * size);
#endif
}

static inline atomsan_cache_line *atomsan_cached(atomsan_cache_line *cache, uint64_t key) {
    return cache + (key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - ATOMSAN_CACHE_BITS));
}
