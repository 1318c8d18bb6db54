/* Hooks on deallocation: RAW_FREE for each object that stands in the log, at the moment when its memory is given back.
 *
 * Each hook takes the place of the tp_dealloc of one type and calls it. For the classes of a program that is the
 * tp_dealloc of `object` (or of the builtin type they extend), to which the interpreter comes last, after finalizers and
 * weak references, and not if the object was brought back to life. A hook is of its type for ever: types that are made
 * while it stands may inherit it, and must find it working after the end of the recording.
 */
#ifndef ATOMSAN_DEALLOC_H
#define ATOMSAN_DEALLOC_H

#include "_writer.h"

#define HOOKS 48

typedef struct {
    PyTypeObject *type;
    destructor original;
    int nests;
} Hook;

static Hook hooks[HOOKS];
static int hook_count = 0;
static State *free_state = NULL;
static void (*log_known_free)(State *s, uint64_t address) = NULL;

static inline void log_dealloc(PyObject *self) {
    State *s = free_state;
    uint64_t address = (uint64_t)(uintptr_t)self;
    if (UNLIKELY(!s->watching)) return;
    uint32_t *slot = s->seen + SEEN_SLOT(address);
    if (LIKELY(*slot == 0)) return;
    if (*slot == SEEN_VALUE(address)) *slot = 0;
    else if (*slot != SEEN_MIXED) return;
    log_known_free(s, address);
}

/* The interpreter's own deallocators guard against deep nesting only while they are the tp_dealloc of the object's type;
 * so the hook does that in their place, for those (`nests`) that bear to be called with an object that the collector
 * does not track any more. Subtypes come here from a deallocator that has done it. */
#define DEFINE_HOOK(n)                                                  \
    static void hook_##n(PyObject *self) {                              \
        if (!hooks[n].nests || Py_TYPE(self)->tp_dealloc != hook_##n) { \
            log_dealloc(self);                                            \
            hooks[n].original(self);                                    \
            return;                                                     \
        }                                                               \
        PyObject_GC_UnTrack(self);                                      \
        Py_TRASHCAN_BEGIN(self, hook_##n)                               \
        log_dealloc(self);                                                \
        hooks[n].original(self);                                        \
        Py_TRASHCAN_END                                                 \
    }

#define EACH_HOOK(m)                                                                                                  \
    m(0) m(1) m(2) m(3) m(4) m(5) m(6) m(7) m(8) m(9) m(10) m(11) m(12) m(13) m(14) m(15) m(16) m(17) m(18) m(19)     \
    m(20) m(21) m(22) m(23) m(24) m(25) m(26) m(27) m(28) m(29) m(30) m(31) m(32) m(33) m(34) m(35) m(36) m(37)       \
    m(38) m(39) m(40) m(41) m(42) m(43) m(44) m(45) m(46) m(47)

EACH_HOOK(DEFINE_HOOK)

#define HOOK_NAME(n) hook_##n,
static const destructor hook_functions[HOOKS] = {EACH_HOOK(HOOK_NAME)};

/* Hooks a builtin type, and so the classes that extend it. False: it cannot be watched. */
static int hook_type(PyTypeObject *type, int nests) {
    for (int i = 0; i < hook_count; i++) {
        if (hooks[i].type == type) {
            if (type->tp_dealloc == hooks[i].original) type->tp_dealloc = hook_functions[i];
            return type->tp_dealloc == hook_functions[i];
        }
        /* Inherited while the hook stood: its own dealloc is that of the base, and is watched with it. */
        if (type->tp_dealloc == hook_functions[i]) return 1;
    }
    if (hook_count == HOOKS) return 0;
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) Py_INCREF(type);
    hooks[hook_count].type = type;
    hooks[hook_count].original = type->tp_dealloc;
    hooks[hook_count].nests = nests || type->tp_dealloc == ((PyTypeObject *)PyExc_BaseException)->tp_dealloc;
    type->tp_dealloc = hook_functions[hook_count];
    hook_count++;
    return 1;
}

static void unhook_types(void) {
    for (int i = 0; i < hook_count; i++) {
        if (hooks[i].type->tp_dealloc == hook_functions[i]) hooks[i].type->tp_dealloc = hooks[i].original;
    }
}

static void rehook_types(void) {
    for (int i = 0; i < hook_count; i++) hook_type(hooks[i].type, 0);
}

#endif
