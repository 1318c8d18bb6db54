/* Layout of the raw log: the recorded program writes it and the resolver reads it, 32 bytes a record, in the order of
 * the run. Addresses are those of the recorded process; no other stage ever sees one.
 *
 * The ring is a piece of memory that two processes (or two threads) can share: one page of head, then the records. The
 * program is the only writer of `head`, the reader the only writer of `tail`. A record is there once `head` has passed
 * it, so a program that is killed loses nothing that it had logged.
 */
#ifndef ATOMSAN_RAW_H
#define ATOMSAN_RAW_H

#include <stdint.h>

typedef struct {
    uint64_t object;   /* the address of the object, container, namespace, lock or other primitive; 0: none */
    uint64_t key;      /* what of it: see the kinds of keys, and the operations */
    uint32_t type;     /* number of the object's type (a definition); 0: not known */
    uint32_t site;     /* number of the site (a definition); 0: none */
    uint32_t thread;   /* number of the thread or task (a definition), from 1 */
    uint8_t op;
    uint8_t key_kind;
    uint16_t flags;
} RawRecord;

typedef struct {
    uint64_t magic;              /* RAW_MAGIC */
    uint64_t capacity;           /* records; a power of two */
    volatile uint64_t head;      /* records written ever, by the program */
    volatile uint64_t tail;      /* records read ever, by the reader */
    volatile uint64_t lost;      /* records that found no room: the reader is dead, or took nothing for too long */
    volatile uint32_t stop;      /* the reader wants no more: probes log nothing from then on */
    volatile uint32_t closed;    /* the program ended its recording in good order */
    volatile uint32_t waiting;   /* the program waits for room */
    volatile uint32_t unsent;    /* definitions that could not be written: the program closed their file, or it is full */
    volatile uint32_t patience;  /* milliseconds: the reader is not waited for any more if it takes nothing for so long */
    volatile uint32_t unfollowed; /* forked processes that were to be recorded, and could not be */
} RawHead;                       /* and zeros up to the first record, which the program relies on */

#define RAW_MAGIC 0x31676f6c6d6f7461ULL   /* "atomlog1" */
#define RAW_HEAD_BYTES 4096

/* Operations. The first ten are those of the trace. */
enum {
    RAW_READ = 0,       /* object, key */
    RAW_WRITE = 1,      /* object, key */
    RAW_ACQUIRE = 2,    /* object: the lock; key: how many times at once (RLock restored after a wait), else 1 */
    RAW_RELEASE = 3,    /* object: the lock; key: 0 all of them (RLock before a wait), else 1. Before it is released */
    RAW_FORK = 4,       /* key: the new thread's number. Before it starts */
    RAW_JOIN = 5,       /* key: the ended thread's number */
    RAW_BEGIN = 6,      /* site: that of the region (its definition says which); object: the receiver, or 0;
                         * key: the site of the call, or 0. It may be called back where nothing is open: then it is a
                         * call like any other */
    RAW_END = 7,        /* site: as of its begin */
    RAW_POST = 8,       /* object: the primitive; key, key_kind: which of its hand-overs, see HAND_... */
    RAW_TAKE = 9,
    /* Not in the trace: what the resolver needs to know. */
    RAW_FREE = 10,      /* object died: its address may be used again */
    RAW_ALIAS = 11,     /* object is the namespace (__dict__) of the object at key: the same locations */
    RAW_THREAD = 12,    /* the thread's first record: what it calls first is its entry function */
    RAW_EXIT = 13,      /* the thread's last record */
    RAW_ENTRY = 14,     /* a new piece of work for this thread (an executor's work item): as RAW_THREAD */
    RAW_WAIT = 15,      /* Condition.wait: object: the condition; key: its lock. The lock's release follows */
    RAW_WOKEN = 16,     /* Condition.wait returned; object; key: 1 notified, 0 it ran out. The lock's acquire
                         * came before */
    RAW_SEMAPHORE = 17, /* object: a semaphore was made; key: its permits */
    RAW_BARRIER = 18,   /* object: a barrier was made; key: its parties */
    RAW_ARRIVE = 19,    /* object: the barrier; before the wait */
    RAW_DEPART = 20,    /* object: the barrier; after a wait that was not broken */
    RAW_REGION = 21,    /* an annotated region begins: key: its number (definition "region") */
    RAW_REGION_END = 22,
    RAW_BLOCK = 23,     /* a `with` block on a lock begins: site: that of the with statement */
    RAW_BLOCK_END = 24,
    RAW_HELD = 25,      /* object: a lock that was held when recording began, by this thread */
    RAW_CALLED = 26,    /* object: a primitive; it is the value of a global variable. key: address of the namespace;
                         * site: number of the name (definition "name") */
    RAW_MADE = 27,      /* object: a primitive that was made just now: what is written next may say what it is called */
    RAW_HOLDS = 28,     /* object: is held by a field, itself or in a container; type: its own. key: the object whose
                         * field it is; site: number of the field's name. That was accessed before, or RAW_FIELD came */
    RAW_FIELD = 29      /* object, key: as in a read, but nothing was accessed: what the field holds follows */
};

/* What `key` is. */
enum {
    KEY_NONE = 0,
    KEY_FIELD = 1,      /* number of a name (definition "name"): attribute, global, closure variable */
    KEY_INDEX = 2,      /* a place in a sequence, from 0 */
    KEY_HASH = 3,       /* the language's hash of an exact key; in Python a str, bytes, None, or a tuple of such */
    KEY_NUMBER = 4,     /* the language's hash of a number (in Python, of -1: -1): equal numbers are equal keys.
                         * Integers that are their own hash come without a definition of the key */
    KEY_OBJECT = 5,     /* address of an object whose hash is its identity */
    KEY_STRUCTURE = 6,  /* which elements there are, and in which order */
    KEY_WHOLE = 7,      /* a key that cannot be told apart without running the program's code: the whole container */
    KEY_ELEMENTS = 8    /* all elements at once. Of a sequence, those from the lower half of the key up to the upper half,
                         * which is not one of them; 0xFFFFFFFF: to the end. The structure has a record of its own */
};

/* What the key of a post or take is: the resolver makes hand-overs of it that order exactly as the primitive does. */
enum {
    HAND_PLAIN = 0,     /* one hand-over for the object: Event, Condition (posts only), queue joins, futures */
    HAND_ITEM = 1,      /* key: address of an item of a queue. A take gets the oldest post of the same item */
    HAND_PERMIT = 2,    /* a semaphore: the n-th acquire takes the (n - permits)-th release */
    HAND_START = 3,     /* of a future: handed to a worker; HAND_PLAIN is its result. Of a post, key: the most workers */
    HAND_NOTHING = 4    /* takes only: a wait has ended without a hand-over. There was something to wait for and others
                         * could act, so regions are split here; nobody posts it, so it orders nothing.
                         * key: what was waited for, see OF_... */
};

/* What was waited for, or has a state, for its name where nothing else tells. */
enum {
    OF_EVENT = 0,
    OF_FUTURE = 1,
    OF_QUEUE = 2,
    OF_SEMAPHORE = 3,
    OF_BARRIER = 4,
    OF_THREAD = 5,
    OF_ROOM = 6,        /* a put that had to wait for room in its queue, and got it */
    OF_LOCK = 7,        /* not waited for: with FLAG_STATE */
    OF_SELF = 8         /* the same: who a thread is, and what it has for itself (threading.local); object: of ours */
};

/* Flags. */
enum {
    FLAG_AUGMENTED = 1,   /* half of an augmented assignment: the site's region is around both halves */
    FLAG_LOOP_LOCK = 2,   /* acquire, release: of an asyncio loop (kind `loop`) */
    FLAG_NO_WAIT = 4,     /* a take that could not have waited */
    FLAG_CLASS = 8,       /* the object is a class, and `type` the number of that class itself */
    FLAG_QUEUE = 16,      /* KEY_STRUCTURE: of a queue. A write is a put or a get, a read is a look at its size.
                           * type: the site of the call, or 0 */
    FLAG_CALLED_BACK = 32, /* begin: of a function that a library calls back. RAW_DEPART, RAW_ARRIVE: before and after
                           * the action of a barrier, which one thread does when all have arrived */
    FLAG_KNOWN = 64,      /* RAW_HOLDS: only if the object is known already. A container has its name from its use */
    FLAG_RESUMED = 128,   /* begin: of a generator that runs again */
    FLAG_REENTRANT = 256, /* acquire: of a lock that its holder can acquire again */
    FLAG_PICKS = 512,     /* with FLAG_QUEUE: what is put may come out before what was there (LifoQueue, PriorityQueue) */
    FLAG_LOOPS = 1024,    /* begin: of a function whose outermost loops have regions in the code that runs */
    FLAG_STATE = 2048     /* KEY_STRUCTURE: of the state of a primitive, which is set and asked for (Event.is_set).
                           * key: of what, see OF_...; type: as with FLAG_QUEUE */
};

#endif
