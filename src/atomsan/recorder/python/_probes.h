/* Layout and types of probes, and of the objects that they hand to the program (bound methods, iterators, closures).
 *
 * There is one static type for each kind of probe, because what a subscript does is decided by the type. Made by hand,
 * so that no hook is a Python function: no frame, no traceback.
 */
#ifndef ATOMSAN_PROBES_H
#define ATOMSAN_PROBES_H

#include "_writer.h"
#include <structmember.h>

#if PY_VERSION_HEX >= 0x030D0000
/* Exported by the interpreter, but not declared any more: the only way through a set that runs nothing else. */
PyAPI_FUNC(int) _PySet_NextEntry(PyObject *set, Py_ssize_t *position, PyObject **key, Py_hash_t *hash);
#endif

/* Result of looking up a type at a site. It holds while the type's version does; versions are never used again, so
 * neither a class that was changed nor a new class at the address of a dead one is mistaken. */
typedef struct {
    PyTypeObject *type;
    uint32_t version;
    uint32_t mode;        /* directly behind the version: is_field compares both at once */
    uint32_t number;      /* of the type; with the next field, the word of a record that says what was accessed where */
    uint32_t site;        /* of the probe */
    uint32_t shape;       /* of a container */
    uint32_t place;       /* of an attribute among the values that an object of the type has inline, plus 1; 0: none */
    uint64_t steps;       /* of a method: a byte each, the first one lowest */
    uint64_t absent;      /* if the key is not there */
} Found;

typedef struct Probe {
    PyObject_HEAD
    vectorcallfunc call;
    struct Probe *before, *after;   /* all probes, in a ring with `all_probes` */
    uint32_t site;
    uint32_t name_number;
    uint32_t begin_site;   /* of a region: that of its begin */
    uint16_t kind;
    uint16_t flags;        /* of its records */
    uint64_t word;         /* the last word of a record about an attribute, without operation and thread */
    PyObject *name;
    PyObject *text;
    PyObject *function;    /* call: what `name` is, once that is known. aug_attr: what is added where it is not given */
    union {
        uint64_t steps;        /* argument, call, and others that have steps */
        const void *called_from;   /* is_entry: the instruction of recorded code that called it last, at `call_site`.
                                    * No such code has died since, so it is in no other code */
    };
    uint16_t does;         /* call */
    uint16_t is_raw;       /* call: object.__setattr__ and the like, which do what they say whatever the class defines */
    uint16_t is_append;    /* late_method: of this name */
    uint16_t is_entry;     /* begin, resume, span: of a function. Who called it matters */
    uint16_t subtracts;    /* aug_attr: what it is given */
    uint32_t call_site;    /* is_entry */
    Found found[2];        /* the types that were met last */
} Probe;

/* Stands for a bound method until it is called (late_method). */
typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    Probe *probe;
    PyObject *object;
} Later;

/* Iterates, and logs reads (iterate). */
typedef struct {
    PyObject_HEAD
    Probe *probe;
    PyObject *iterator;
    PyObject *container;
    Py_ssize_t position;   /* in a dictionary: as PyDict_Next wants it */
    Py_ssize_t steps;
    uint32_t number;
    uint32_t shape;
} Steps;

static State *S;
static Thread nobody;   /* whose `live` is 0, which the State's never is */
ATOMSAN_THREAD_LOCAL Thread *mine = &nobody;

/* The running thread, if it is recorded: then there is room for so many records, and nothing runs before they are put. */
static inline Thread *ready(uint32_t site, uint64_t records) {
    Thread *thread = mine;
    if (UNLIKELY(thread->epoch != S->epoch)) mine = thread = S->enter();
    if (UNLIKELY(thread->number == 0)) return NULL;
    thread->site = site;
    if (UNLIKELY(S->next + records > S->limit) && !S->make_room(records, 1)) return NULL;
    return thread;
}

/* Whether the running thread has a number. To give it one, code has to run, and so other threads may. */
static inline int is_registered(void) { return LIKELY(mine->epoch == S->epoch); }

/* The same after an access: takes from the reserve, and whoever calls waits afterwards (`settle`). */
static inline Thread *ready_after(uint32_t site) {
    Thread *thread = mine;
    if (UNLIKELY(thread->epoch != S->epoch)) mine = thread = S->enter();
    if (UNLIKELY(thread->number == 0)) return NULL;
    thread->site = site;
    if (UNLIKELY(S->next >= S->limit) && !S->make_room(1, 0) && !S->make_room(1, 1)) return NULL;
    return thread;
}

static inline void settle(void) {
    if (UNLIKELY(S->next >= S->limit)) S->make_room(1, 1);
}

static inline int matches(const Found *found, const PyTypeObject *type) {
    return found->type == type && found->version == type->tp_version_tag;
}

/* --- attributes as the interpreter keeps them ---
 *
 * Objects of most classes have their attributes in an array, in the order of the keys that all objects of the class
 * share. The interpreter's own specialised instructions go there directly, guarded by the version of the type; so do
 * the probes that do the access themselves. These are its private structures: of versions that are not known here,
 * nothing is found, and the access goes the general way.
 */
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030E0000 && !defined(Py_GIL_DISABLED)
typedef struct {
    Py_ssize_t references;
    uint8_t log2_size, log2_index_bytes, kind;
    uint32_t version;
    Py_ssize_t usable, entries;
    char indices[];
} SharedKeys;

#define KEYS_SPLIT 2

static uint32_t place_of_attribute(PyTypeObject *type, PyObject *name) {
    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || !(type->tp_flags & Py_TPFLAGS_MANAGED_DICT)) return 0;
    SharedKeys *keys = (SharedKeys *)((PyHeapTypeObject *)type)->ht_cached_keys;
    if (keys == NULL || keys->kind != KEYS_SPLIT) return 0;
    PyObject **entries = (PyObject **)(keys->indices + ((size_t)1 << keys->log2_index_bytes));
    for (Py_ssize_t i = 0; i < keys->entries; i++) {
        if (entries[2 * i] == name) return (uint32_t)i + 1;
    }
    return 0;
}

/* Where the attribute of a known place is, if this object has its values inline and has this one; else NULL. */
static inline PyObject **inline_value(PyObject *obj, uint32_t place) {
#if PY_VERSION_HEX >= 0x030D0000
    uint8_t *values = (uint8_t *)obj + sizeof(PyObject);
    if (!(Py_TYPE(obj)->tp_flags & Py_TPFLAGS_INLINE_VALUES) || ((PyObject **)obj)[-3] != NULL || !values[3]) return NULL;
    PyObject **all = (PyObject **)(values + sizeof(PyObject *));
#elif PY_VERSION_HEX >= 0x030C0000
    uintptr_t values = ((uintptr_t *)obj)[-3];
    if (!(values & 1)) return NULL;
    PyObject **all = (PyObject **)(values + 1);
#else
    PyObject **all = ((PyObject ***)obj)[-4];
    if (all == NULL) return NULL;
#endif
    return all[place - 1] == NULL ? NULL : all + place - 1;
}
#else
static uint32_t place_of_attribute(PyTypeObject *type, PyObject *name) { return 0; }
static inline PyObject **inline_value(PyObject *obj, uint32_t place) { return NULL; }
#endif

static PyTypeObject probe_type = {PyVarObject_HEAD_INIT(NULL, 0)};
static PyTypeObject later_type = {PyVarObject_HEAD_INIT(NULL, 0)};
static PyTypeObject steps_type = {PyVarObject_HEAD_INIT(NULL, 0)};
static PyTypeObject cells_type = {PyVarObject_HEAD_INIT(NULL, 0)};
#define KINDS 32   /* room for those of source/plan.py */
static PyTypeObject kind_types[KINDS];
static PyMappingMethods kind_slots[KINDS];

static Probe all_probes = {.before = &all_probes, .after = &all_probes};

static void forget_found(void) {
    for (Probe *probe = all_probes.after; probe != &all_probes; probe = probe->after) {
        memset(probe->found, 0, sizeof(probe->found));
    }
}

static void probe_dealloc(PyObject *self) {
    Probe *probe = (Probe *)self;
    probe->before->after = probe->after;
    probe->after->before = probe->before;
    Py_CLEAR(probe->name);
    Py_CLEAR(probe->text);
    Py_CLEAR(probe->function);
    PyObject_Free(self);
}

static PyMethodDef probe_methods[] = {{"__reduce__", NULL, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};

static int ready_probe_types(reprfunc repr, PyCFunction reduce) {
    probe_type.tp_name = "atomsan.recorder.python._probes.Probe";
    probe_type.tp_basicsize = sizeof(Probe);
    probe_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    probe_type.tp_doc = "A site of the source: logs what happens there.";
    probe_type.tp_dealloc = probe_dealloc;
    probe_type.tp_repr = repr;
    probe_methods[0].ml_meth = reduce;
    probe_type.tp_methods = probe_methods;
    return PyType_Ready(&probe_type);
}

static int ready_type(
    PyTypeObject *type, PyMappingMethods *slots, binaryfunc get, objobjargproc set, int is_callable
) {
    Py_SET_REFCNT((PyObject *)type, 1);
    type->tp_name = probe_type.tp_name;
    type->tp_base = &probe_type;
    type->tp_basicsize = sizeof(Probe);
    type->tp_dealloc = probe_dealloc;
    type->tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    slots->mp_subscript = get;
    slots->mp_ass_subscript = set;
    type->tp_as_mapping = slots;
    if (is_callable) {
        type->tp_call = PyVectorcall_Call;
        type->tp_vectorcall_offset = offsetof(Probe, call);
        type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
    }
    return PyType_Ready(type);
}

/* Kinds whose probes are asked `obj in P`. Before they are made ready. */
static PySequenceMethods asked_slots, inert_asked_slots;

static void make_askable(PyTypeObject *type, PySequenceMethods *slots, objobjproc contains) {
    slots->sq_contains = contains;
    type->tp_as_sequence = slots;
}

static int ready_kind(int kind, binaryfunc get, objobjargproc set, int is_callable) {
    return ready_type(&kind_types[kind], &kind_slots[kind], get, set, is_callable);
}

static Probe *new_probe_of(PyTypeObject *type) {
    Probe *probe = PyObject_New(Probe, type);
    if (probe == NULL) return NULL;
    memset((char *)probe + sizeof(PyObject), 0, sizeof(Probe) - sizeof(PyObject));
    probe->before = &all_probes;
    probe->after = all_probes.after;
    probe->after->before = probe;
    all_probes.after = probe;
    return probe;
}

static Probe *new_probe(int kind) { return new_probe_of(&kind_types[kind]); }

/* --- the stand-in of a bound method --- */

static int later_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(((Later *)self)->object);
    return 0;
}

/* Most are called at once and die: a few are kept, to be used again. */
#define KEPT_LATERS 16
static Later *kept_laters[KEPT_LATERS];
static int kept_later_count = 0;

static void later_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    Py_CLEAR(((Later *)self)->probe);
    Py_CLEAR(((Later *)self)->object);
    if (kept_later_count < KEPT_LATERS) {
        kept_laters[kept_later_count++] = (Later *)self;
    } else {
        PyObject_GC_Del(self);
    }
}

/* Of everything but a call it is the method that it stands for. */
static PyObject *later_getattro(PyObject *self, PyObject *name) {
    PyObject *method = PyObject_GetAttr(((Later *)self)->object, ((Later *)self)->probe->name);
    if (method == NULL) return NULL;
    PyObject *value = PyObject_GetAttr(method, name);
    Py_DECREF(method);
    return value;
}

static int ready_later_type(void) {
    later_type.tp_name = "builtin_function_or_method";
    later_type.tp_basicsize = sizeof(Later);
    later_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL
                          | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    later_type.tp_dealloc = later_dealloc;
    later_type.tp_traverse = later_traverse;
    later_type.tp_getattro = later_getattro;
    later_type.tp_call = PyVectorcall_Call;
    later_type.tp_vectorcall_offset = offsetof(Later, call);
    return PyType_Ready(&later_type);
}

static PyObject *new_later(Probe *probe, PyObject *object, vectorcallfunc call) {
    Later *later;
    if (LIKELY(kept_later_count > 0)) {
        later = kept_laters[--kept_later_count];
        _Py_NewReference((PyObject *)later);
    } else {
        later = PyObject_GC_New(Later, &later_type);
        if (later == NULL) return NULL;
    }
    later->call = call;
    later->probe = (Probe *)Py_NewRef((PyObject *)probe);
    later->object = Py_NewRef(object);
    PyObject_GC_Track(later);
    return (PyObject *)later;
}

/* --- the iterator that logs --- */

static int steps_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(((Steps *)self)->iterator);
    Py_VISIT(((Steps *)self)->container);
    return 0;
}

static int steps_clear(PyObject *self) {
    Py_CLEAR(((Steps *)self)->iterator);
    Py_CLEAR(((Steps *)self)->container);
    return 0;
}

static void steps_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    steps_clear(self);
    Py_CLEAR(((Steps *)self)->probe);
    PyObject_GC_Del(self);
}

static PyObject *steps_length_hint(PyObject *self, PyObject *nothing) {
    PyObject *iterator = ((Steps *)self)->iterator;
    if (iterator == NULL) return PyLong_FromLong(0);
    return PyLong_FromSsize_t(PyObject_LengthHint(iterator, 0));
}

static PyMethodDef steps_methods[] = {{"__length_hint__", steps_length_hint, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};

static int ready_steps_type(iternextfunc next) {
    steps_type.tp_name = "iterator";
    steps_type.tp_basicsize = sizeof(Steps);
    steps_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    steps_type.tp_dealloc = steps_dealloc;
    steps_type.tp_traverse = steps_traverse;
    steps_type.tp_clear = steps_clear;
    steps_type.tp_iter = PyObject_SelfIter;
    steps_type.tp_iternext = next;
    steps_type.tp_methods = steps_methods;
    return PyType_Ready(&steps_type);
}

static PyObject *new_steps(Probe *probe, PyObject *iterator, PyObject *container, uint32_t number, uint32_t shape) {
    Steps *steps = PyObject_GC_New(Steps, &steps_type);
    if (steps == NULL) {
        Py_DECREF(iterator);
        return NULL;
    }
    steps->probe = (Probe *)Py_NewRef((PyObject *)probe);
    steps->iterator = iterator;
    steps->container = Py_NewRef(container);
    steps->position = 0;
    steps->steps = 0;
    steps->number = number;
    steps->shape = shape;
    PyObject_GC_Track(steps);
    return (PyObject *)steps;
}

/* --- the identity of the closure variables of one activation --- */

static void (*cells_free)(uint64_t address);

static void cells_dealloc(PyObject *self) {
    cells_free((uint64_t)(uintptr_t)self);
    PyObject_Free(self);
}

static PyMethodDef cells_methods[] = {{"__reduce__", NULL, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};

static int ready_cells_type(PyCFunction reduce) {
    cells_methods[0].ml_meth = reduce;
    cells_type.tp_methods = cells_methods;
    cells_type.tp_name = "cells";
    cells_type.tp_basicsize = sizeof(PyObject);
    cells_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    cells_type.tp_dealloc = cells_dealloc;
    return PyType_Ready(&cells_type);
}

static inline PyObject *new_cells(void) { return PyObject_New(PyObject, &cells_type); }

/* --- a region that ends when this dies --- */

typedef struct {
    PyObject_HEAD
    Probe *probe;
} Span;

static PyTypeObject span_type = {PyVarObject_HEAD_INIT(NULL, 0)};
static void (*span_end)(Probe *probe);

static void span_dealloc(PyObject *self) {
    span_end(((Span *)self)->probe);
    Py_DECREF((PyObject *)((Span *)self)->probe);
    PyObject_Free(self);
}

static int ready_span_type(void) {
    span_type.tp_name = "span";
    span_type.tp_basicsize = sizeof(Span);
    span_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    span_type.tp_dealloc = span_dealloc;
    return PyType_Ready(&span_type);
}

static PyObject *new_span(Probe *probe) {
    Span *span = PyObject_New(Span, &span_type);
    if (span != NULL) span->probe = (Probe *)Py_NewRef((PyObject *)probe);
    return (PyObject *)span;
}

/* The dictionary behind a view; its layout is the same for dict and OrderedDict. */
typedef struct {
    PyObject_HEAD
    PyObject *dictionary;
} View;

static inline PyObject *viewed(PyObject *view) { return ((View *)view)->dictionary; }

#endif
