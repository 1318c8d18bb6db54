/* Writes a record to the ring, inline: the hot path of every event.
 *
 * There is one State for the process. It is only touched with the GIL held, which makes the log a total order that is
 * the real one: nothing between an access and its record lets another thread run. `_log` owns it; the other compiled
 * modules get a pointer to it.
 */
#ifndef ATOMSAN_WRITER_H
#define ATOMSAN_WRITER_H

#include <Python.h>
#include <stddef.h>
#include <string.h>
#include "../log/_raw.h"

/* An OS thread. A thread-local variable, because that starts at zero for each new thread, while the addresses of thread
 * states and the identifiers of threads are used again. */
typedef struct {
    uint64_t epoch;    /* the recording in which `number` holds */
    uint64_t live;     /* the same, if `number` is not 0: is that of the State while events of this thread are logged */
    uint32_t number;   /* the thread or task that runs; 0: it is not recorded */
    uint32_t site;     /* of the last probe */
    const void *base;  /* the frame that runs a step of the task: it and those below belong to others; NULL: none */
} Thread;

typedef struct State {
    int on;                /* probes log. 0 when not attached, paused, stopped by the reader, or in a forked child */
    int attached;          /* there is a ring: the death of objects is logged even while paused */
    int watching;          /* the hooks on deaths stand: what is known by its address is true. Until `detach` */
    uint64_t next;         /* of the ring: records written ever */
    uint64_t limit;        /* up to here records are written without a look at anything */
    uint64_t hard_limit;   /* up to here there is room; above `limit` for records that must not wait */
    RawRecord *records;
    uint64_t mask;
    RawHead *head;
    uint64_t epoch;        /* counts attachments */
    uint64_t live;         /* the same while `on`, else NOT_LIVE */
    uint32_t *seen;        /* which addresses stand in the log: see mark_seen */
    Thread *(*enter)(void);               /* the calling thread, registered; NULL: not now */
    int (*make_room)(uint64_t records, int may_wait);
} State;

#define NOT_LIVE UINT64_MAX
#define SLACK 4096          /* records that are kept free for those that must not wait */
#define PREFETCH_BYTES 1024 /* so far ahead is memory made ready to be written to; less and more gain less */

#if defined(__GLIBC__)
#define ATOMSAN_THREAD_LOCAL static __thread __attribute__((tls_model("initial-exec")))
#else
#define ATOMSAN_THREAD_LOCAL static __thread
#endif

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Objects are 16 bytes apart, so 2**20 slots map 16 MB one to one; the value says which 16 MB. A slot that had to serve
 * two at a time is MIXED for ever: then the death of an object that is not in the log may be logged, which is harmless,
 * but never is one forgotten. */
#define SEEN_SLOTS (1u << 20)
#define SEEN_MIXED 1u
#define SEEN_SLOT(address) (((address) >> 4) & (SEEN_SLOTS - 1))
#define SEEN_VALUE(address) ((uint32_t)((address) >> 24) + 2u)

static inline void mark_seen(State *s, uint64_t address) {
    uint32_t *slot = s->seen + SEEN_SLOT(address);
    uint32_t value = SEEN_VALUE(address);
    if (LIKELY(*slot == value)) return;
    *slot = *slot ? SEEN_MIXED : value;
}

/* Room for so many records, waited for if there is none. */
static inline int has_room(State *s, uint64_t records) {
    return LIKELY(s->next + records <= s->limit) || s->make_room(records, 1);
}

#define RAW_WORD(thread, op, key_kind, flags) \
    ((uint64_t)(thread) | (uint64_t)(op) << 32 | (uint64_t)(key_kind) << 40 | (uint64_t)(flags) << 48)
#define RAW_WHAT(type, site) ((uint64_t)(type) | (uint64_t)(site) << 32)

/* Where the next record goes. */
static inline uint64_t *place_at(State *s, uint64_t next) { return (uint64_t *)(s->records + (next & s->mask)); }

/* Two words at a time: this is the layout of RawRecord on a little-endian machine. */
static inline void put_at(
    State *s, uint64_t *record, uint64_t next, uint64_t object, uint64_t key, uint64_t what, uint64_t word
) {
    /* A line of the ring is the reader's until it is taken back, which takes longer than a record. */
    __builtin_prefetch((const char *)record + PREFETCH_BYTES, 1);
    record[0] = object;
    record[1] = key;
    record[2] = what;
    record[3] = word;
    s->next = ++next;
    __atomic_store_n(&s->head->head, next, __ATOMIC_RELEASE);
}

/* A record for which there is room. */
static inline void put(State *s, uint64_t object, uint64_t key, uint64_t what, uint64_t word) {
    uint64_t next = s->next;
    put_at(s, place_at(s, next), next, object, key, what, word);
}

/* Whether the record in front of this place is the same one: then a read adds nothing, and is not logged. In front of
 * the first place is the end of the head, which is zero: a read there is logged once more, and does no harm. */
static inline int is_last(const uint64_t *place, uint64_t object, uint64_t key, uint64_t what, uint64_t word) {
    const uint64_t *record = place - sizeof(RawRecord) / sizeof(uint64_t);
    return UNLIKELY(record[0] == object) && record[1] == key && record[2] == what && record[3] == word;
}

/* The operation stands in the word, and once more where it is known when this is compiled. */
ALWAYS_INLINE void put_access_of(State *s, unsigned op, uint64_t object, uint64_t key, uint64_t what, uint64_t word) {
    uint64_t next = s->next;
    uint64_t *place = place_at(s, next);
    if (op == RAW_READ && is_last(place, object, key, what, word)) return;
    mark_seen(s, object);
    put_at(s, place, next, object, key, what, word);
}

static inline void put_access(State *s, uint64_t object, uint64_t key, uint64_t what, uint64_t word) {
    put_access_of(s, (unsigned)(word >> 32 & 0xff), object, key, what, word);
}

#endif
