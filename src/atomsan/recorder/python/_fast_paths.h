/* Fast paths of the most frequent probes: the same type as the last time, a registered thread, room in the ring.
 *
 * Everything else is left to the full hook of `_probes.pyx` (`slow_...`), which is reached through a variable so that
 * the compiler does not merge the two: a function that calls nothing need not save registers, and that is half of its
 * cost.
 */
#ifndef ATOMSAN_FAST_PATHS_H
#define ATOMSAN_FAST_PATHS_H

#include "_callers.h"
#include "_probes.h"

/* A field that an atomic set goes through (HOLDER) is none of these: it is for the full hook. */
enum { MODE_SKIP = 0, MODE_FIELD = 1, MODE_CONTAINER = 7 };
enum { STEP_READ_ELEMENT = 1, STEP_WRITE_STRUCTURE = 0x82, STEP_READ_STRUCTURE = 2 };
enum { SHAPE_MAPPING = 2 };

static binaryfunc slow_load_attr, slow_store_attr, slow_method, slow_keyed_method, slow_load_name;
static binaryfunc slow_store_name, slow_argument;
static binaryfunc slow_get_augmented, slow_late_method;
static vectorcallfunc slow_call_later;
static objobjargproc slow_set_augmented, slow_begin, slow_end;
static PyObject *(*get_pair)(Probe *probe, PyObject *obj, PyObject *key);
static int (*set_pair)(Probe *probe, PyObject *obj, PyObject *key, PyObject *value);
static uint32_t list_number = 0, dict_number = 0;

/* Keys that were given a name lately, by their hash: most keys are met again and again. */
#define RECENT_KEYS 1024
static uint64_t recent_keys[RECENT_KEYS];
static uint64_t recent_epoch = 0;
#define RECENT_PLACE(mixed) (((mixed) * 0x9E3779B97F4A7C15ull) >> 54)

static inline int is_live(const Thread *thread) {
    return LIKELY(thread->live == S->live) && LIKELY(S->next + 2 <= S->limit);
}

/* Inline wherever it stands: the compiler by itself decides by the size of the whole module. */
ALWAYS_INLINE void fast_put(
    Probe *p, Thread *t, PyObject *obj, uint64_t key, uint32_t number, unsigned op, unsigned kind
) {
    t->site = p->site;
    uint64_t what = RAW_WHAT(number, p->site), word = RAW_WORD(t->number, op, kind, p->flags);
    put_access_of(S, op, (uint64_t)(uintptr_t)obj, key, what, word);
}

/* The same for an attribute: its words are made already. */
static inline void put_field_of(Probe *p, const Found *found, Thread *t, PyObject *obj, unsigned op) {
    uint64_t what, word = p->word | (uint64_t)op << 32 | t->number;
    memcpy(&what, &found->number, sizeof(what));
    t->site = found->site;
    put_access_of(S, op, (uint64_t)(uintptr_t)obj, p->name_number, what, word);
}

static inline void put_field(Probe *p, Thread *t, PyObject *obj, unsigned op) { put_field_of(p, p->found, t, obj, op); }

/* Whether the attribute is a field of objects of this type: `matches`, and the mode, which stands behind the version. */
static inline int is_field(const Found *found, const PyTypeObject *type) {
    uint64_t both;
    memcpy(&both, &found->version, sizeof(both));
    return found->type == type && both == ((uint64_t)MODE_FIELD << 32 | type->tp_version_tag);
}

static PyObject *fast_load_attr(PyObject *self, PyObject *obj) {
    Probe *p = (Probe *)self;
    Thread *t = mine;
    if (is_live(t)) {
        if (LIKELY(is_field(p->found, Py_TYPE(obj)))) {
            put_field(p, t, obj, RAW_READ);
            return Py_NewRef(obj);
        }
        if (matches(p->found, Py_TYPE(obj)) && p->found->mode == MODE_SKIP) return Py_NewRef(obj);
    }
    return slow_load_attr(self, obj);
}

static PyObject *fast_store_attr(PyObject *self, PyObject *obj) {
    Probe *p = (Probe *)self;
    Thread *t = mine;
    if (is_live(t) && LIKELY(is_field(p->found, Py_TYPE(obj)))) {
        put_field(p, t, obj, RAW_WRITE);
        return Py_NewRef(obj);
    }
    return slow_store_attr(self, obj);
}

/* The value of a small integer that is not negative; -1 for all others. */
static inline Py_ssize_t small_integer(PyObject *key) {
    if (!PyLong_CheckExact(key)) return -1;
#if PY_VERSION_HEX >= 0x030C0000
    return PyUnstable_Long_IsCompact((PyLongObject *)key) ? PyUnstable_Long_CompactValue((PyLongObject *)key) : -1;
#else
    Py_ssize_t digits = Py_SIZE(key);
    if (digits == 0) return 0;
    return digits == 1 ? (Py_ssize_t)((PyLongObject *)key)->ob_digit[0] : -1;
#endif
}

/* The location of a text that has a name already, or of a small integer. */
static inline int known_key(PyObject *key, uint64_t *where, unsigned *kind) {
    if (LIKELY(PyUnicode_CheckExact(key))) {
        Py_hash_t hash = ((PyASCIIObject *)key)->hash;
        uint64_t mixed = (uint64_t)hash ^ KEY_HASH;
        *where = (uint64_t)hash;
        *kind = KEY_HASH;
        return LIKELY(hash != -1) && LIKELY(recent_keys[RECENT_PLACE(mixed)] == mixed) && LIKELY(recent_epoch == S->epoch);
    }
    Py_ssize_t number = small_integer(key);
    *where = (uint64_t)number;
    *kind = KEY_NUMBER;
    return number >= 0;
}

/* Of no type that an augmented assignment changes in its place. */
static inline int is_plain(PyObject *value) {
    return PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyUnicode_CheckExact(value);
}

static inline PyObject *item_of(Probe *p, PyObject *obj, PyObject *key) {
    Thread *t = mine;
    uint64_t where;
    unsigned kind;
    if (is_live(t)) {
        if (PyDict_CheckExact(obj)) {
            if (known_key(key, &where, &kind) && LIKELY(dict_number)) {
                fast_put(p, t, obj, where, dict_number, RAW_READ, kind);
                return PyDict_Type.tp_as_mapping->mp_subscript(obj, key);
            }
        } else if (PyList_CheckExact(obj)) {
            Py_ssize_t place = small_integer(key);
            if ((size_t)place < (size_t)PyList_GET_SIZE(obj) && LIKELY(list_number)) {
                fast_put(p, t, obj, (uint64_t)place, list_number, RAW_READ, KEY_INDEX);
                return Py_NewRef(PyList_GET_ITEM(obj, place));
            }
        } else if (PyUnicode_CheckExact(obj)) {
            return PyUnicode_Type.tp_as_mapping->mp_subscript(obj, key);
        } else if (PyTuple_CheckExact(obj)) {
            return PyTuple_Type.tp_as_mapping->mp_subscript(obj, key);
        }
    }
    return get_pair(p, obj, key);
}

static inline int store_item_of(Probe *p, PyObject *obj, PyObject *key, PyObject *value) {
    Thread *t = mine;
    uint64_t where;
    unsigned kind;
    if (is_live(t) && value != NULL && (p->flags == 0 || is_plain(value))) {
        if (PyDict_CheckExact(obj)) {
            if (known_key(key, &where, &kind) && LIKELY(dict_number)) {
                Py_ssize_t size = ((PyDictObject *)obj)->ma_used;
                fast_put(p, t, obj, where, dict_number, RAW_WRITE, kind);
                int status = PyDict_SetItem(obj, key, value);
                /* A new key: nothing was replaced, so nothing has run, and is_live saw to the room. */
                if (UNLIKELY(((PyDictObject *)obj)->ma_used > size)) {
                    if (S->next < S->hard_limit && t->live == S->live) {
                        fast_put(p, t, obj, 0, dict_number, RAW_WRITE, KEY_STRUCTURE);
                    }
                }
                return status;
            }
        } else if (PyList_CheckExact(obj)) {
            Py_ssize_t place = small_integer(key);
            if ((size_t)place < (size_t)PyList_GET_SIZE(obj) && LIKELY(list_number)) {
                fast_put(p, t, obj, (uint64_t)place, list_number, RAW_WRITE, KEY_INDEX);
                PyObject *old = PyList_GET_ITEM(obj, place);
                PyList_SET_ITEM(obj, place, Py_NewRef(value));
                Py_DECREF(old);
                return 0;
            }
        }
    }
    return set_pair(p, obj, key, value);
}

static PyObject *fast_get_item(PyObject *self, PyObject *pair) {
    return item_of((Probe *)self, PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1));
}

static int fast_set_item(PyObject *self, PyObject *pair, PyObject *value) {
    return store_item_of((Probe *)self, PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1), value);
}

/* P(obj, key) and P(obj, key, value): the same without making a pair, which costs more than all the rest. */
static PyObject *fast_call_item(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    if (LIKELY(count == 2)) return item_of((Probe *)self, args[0], args[1]);
    if (count == 3) return store_item_of((Probe *)self, args[0], args[1], args[2]) < 0 ? NULL : Py_NewRef(Py_None);
    PyErr_SetString(PyExc_TypeError, "an item has an object and a key");
    return NULL;
}

static PyObject *fast_get_augmented(PyObject *self, PyObject *obj) {
    Probe *p = (Probe *)self;
    Thread *t = mine;
    if (is_live(t) && LIKELY(is_field(p->found, Py_TYPE(obj)))) {
        put_field(p, t, obj, RAW_READ);
        if (LIKELY(p->found->place)) {
            PyObject **value = inline_value(obj, p->found->place);
            if (LIKELY(value != NULL)) return Py_NewRef(*value);
        }
        return Py_TYPE(obj)->tp_getattro(obj, p->name);
    }
    return slow_get_augmented(self, obj);
}

static int fast_set_augmented(PyObject *self, PyObject *obj, PyObject *value) {
    Probe *p = (Probe *)self;
    Thread *t = mine;
    if (is_live(t) && LIKELY(is_field(p->found, Py_TYPE(obj))) && value != NULL && is_plain(value)
        && Py_TYPE(obj)->tp_setattro == PyBaseObject_Type.tp_setattro) {
        put_field(p, t, obj, RAW_WRITE);
        if (LIKELY(p->found->place)) {
            PyObject **place = inline_value(obj, p->found->place);
            if (LIKELY(place != NULL)) {
                PyObject *old = *place;
                *place = Py_NewRef(value);
                Py_DECREF(old);
                return 0;
            }
        }
        return PyObject_GenericSetAttr(obj, p->name, value);
    }
    return slow_set_augmented(self, obj, value);
}

/* Numbers that are no more than that: what is done with them runs no code of the program. NULL: they are not, or it
 * fails, which is for the interpreter to tell. */
static inline PyObject *sum_of(PyObject *old, PyObject *by, int subtracts) {
    PyNumberMethods *methods;
    if (LIKELY(PyLong_CheckExact(old)) && LIKELY(PyLong_CheckExact(by))) methods = PyLong_Type.tp_as_number;
    else if ((PyFloat_CheckExact(old) || PyLong_CheckExact(old)) && (PyFloat_CheckExact(by) || PyLong_CheckExact(by))) {
        methods = PyFloat_Type.tp_as_number;
    } else return NULL;
    PyObject *sum = (subtracts ? methods->nb_subtract : methods->nb_add)(old, by);
    if (UNLIKELY(sum == NULL)) PyErr_Clear();
    return sum;
}

/* obj.name += by, both accesses at once: in the interpreter, too, no other thread comes between them if it is numbers
 * that are added. 0: that is not all there is to it, and nothing was done. */
static inline int added_at_once(Probe *p, PyObject *obj, PyObject *by) {
    Thread *t = mine;
    PyTypeObject *type = Py_TYPE(obj);
    const Found *found = LIKELY(is_field(p->found, type)) ? p->found : p->found + 1;
    if (!is_live(t) || UNLIKELY(!is_field(found, type))) return 0;
    if (UNLIKELY(type->tp_setattro != PyBaseObject_Type.tp_setattro)) return 0;
    PyObject **place = LIKELY(found->place) ? inline_value(obj, found->place) : NULL;
    PyObject *old, *sum;
    if (LIKELY(place != NULL)) {
        old = *place;
        sum = sum_of(old, by, p->subtracts);
        if (UNLIKELY(sum == NULL)) return 0;
        *place = sum;
    } else {
        /* One of __slots__. In a dictionary there may be keys that have to be compared by code of the program. */
        if (type->tp_getattro != PyBaseObject_Type.tp_getattro || _PyType_Lookup(type, p->name) == NULL) return 0;
        old = PyObject_GenericGetAttr(obj, p->name);
        sum = old == NULL ? NULL : sum_of(old, by, p->subtracts);
        int status = sum == NULL ? -1 : PyObject_GenericSetAttr(obj, p->name, sum);
        Py_XDECREF(sum);
        if (UNLIKELY(status < 0)) {
            Py_XDECREF(old);
            PyErr_Clear();
            return 0;
        }
    }
    put_field_of(p, found, t, obj, RAW_READ);
    put_field_of(p, found, t, obj, RAW_WRITE);
    Py_DECREF(old);
    return 1;
}

static int fast_count(PyObject *self, PyObject *obj) {
    PyObject *by = ((Probe *)self)->function;
    return LIKELY(by != NULL) && added_at_once((Probe *)self, obj, by);
}

static PyObject *fast_add(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
    int is_done = LIKELY(PyVectorcall_NARGS(nargsf) == 2) && added_at_once((Probe *)self, args[0], args[1]);
    return Py_NewRef(is_done ? Py_True : Py_False);
}

static PyObject *fast_method(PyObject *self, PyObject *obj) {
    Probe *p = (Probe *)self;
    Thread *t = mine;
    if (is_live(t) && LIKELY(matches(p->found, Py_TYPE(obj))) && p->found->mode == MODE_CONTAINER
        && p->found->steps == STEP_WRITE_STRUCTURE) {
        fast_put(p, t, obj, 0, p->found->number, RAW_WRITE, KEY_STRUCTURE);
        return Py_NewRef(obj);
    }
    return slow_method(self, obj);
}

/* A call of what late_method returned: list.append. */
static PyObject *fast_call_later(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
    Later *later = (Later *)self;
    Probe *p = later->probe;
    Thread *t = mine;
    if (is_live(t) && p->is_append && PyList_CheckExact(later->object) && PyVectorcall_NARGS(nargsf) == 1 && names == NULL
        && LIKELY(list_number)) {
        fast_put(p, t, later->object, 0, list_number, RAW_WRITE, KEY_STRUCTURE);
        return PyList_Append(later->object, args[0]) < 0 ? NULL : Py_NewRef(Py_None);
    }
    return slow_call_later(self, args, nargsf, names);
}

static PyObject *fast_late_method(PyObject *self, PyObject *obj) {
    Probe *p = (Probe *)self;
    if (is_live(mine) && LIKELY(matches(p->found, Py_TYPE(obj))) && p->found->mode == MODE_CONTAINER
        && p->found->steps == STEP_WRITE_STRUCTURE) {
        return new_later(p, obj, fast_call_later);
    }
    return slow_late_method(self, obj);
}

static PyObject *fast_keyed_method(PyObject *self, PyObject *pair) {
    Probe *p = (Probe *)self;
    Thread *t = mine;
    PyObject *obj = PyTuple_GET_ITEM(pair, 0);
    uint64_t where;
    unsigned kind;
    if (is_live(t) && LIKELY(matches(p->found, Py_TYPE(obj))) && p->found->mode == MODE_CONTAINER
        && p->found->steps == STEP_READ_ELEMENT && p->found->absent == STEP_READ_ELEMENT
        && p->found->shape == SHAPE_MAPPING && known_key(PyTuple_GET_ITEM(pair, 1), &where, &kind)) {
        fast_put(p, t, obj, where, p->found->number, RAW_READ, kind);
        return Py_NewRef(obj);
    }
    return slow_keyed_method(self, pair);
}

/* len(x): a read of the structure of a container that is no view. */
static PyObject *fast_argument(PyObject *self, PyObject *obj) {
    Probe *p = (Probe *)self;
    Thread *t = mine;
    if (PyUnicode_CheckExact(obj) && is_live(t) && p->steps == STEP_READ_STRUCTURE) return Py_NewRef(obj);
    if (p->steps == STEP_READ_STRUCTURE && is_live(t) && LIKELY(matches(p->found, Py_TYPE(obj)))
        && p->found->mode == MODE_CONTAINER && p->found->shape <= 4) {
        fast_put(p, t, obj, 0, p->found->number, RAW_READ, KEY_STRUCTURE);
        return Py_NewRef(obj);
    }
    return slow_argument(self, obj);
}

static PyObject *fast_load_name(PyObject *self, PyObject *value) {
    Probe *p = (Probe *)self;
    Thread *t = mine;
    if (is_live(t)) {
        fast_put(p, t, PyEval_GetGlobals(), p->name_number, 0, RAW_READ, KEY_FIELD);
        return Py_NewRef(value);
    }
    return slow_load_name(self, value);
}

static PyObject *fast_store_name(PyObject *self, PyObject *value) {
    Probe *p = (Probe *)self;
    Thread *t = mine;
    if (is_live(t) && (p->flags == 0 || PyLong_CheckExact(value))) {
        fast_put(p, t, PyEval_GetGlobals(), p->name_number, 0, RAW_WRITE, KEY_FIELD);
        return Py_NewRef(value);
    }
    return slow_store_name(self, value);
}

/* del P[receiver]: of all that can be done to a subscript, what the interpreter does least for. */
static int fast_begin(PyObject *self, PyObject *receiver, PyObject *nothing) {
    Probe *p = (Probe *)self;
    Thread *t = mine;
    uint64_t about = 0;
    uint32_t number = 0, call = 0;
    if (is_live(t)) {
        if (LIKELY(p->is_entry) && UNLIKELY((call = plain_call(p)) == CALL_UNKNOWN)) {
            return slow_begin(self, receiver, nothing);
        }
        if (receiver != Py_None) {
            if (UNLIKELY(!matches(p->found, Py_TYPE(receiver)))) return slow_begin(self, receiver, nothing);
            number = p->found->number;
            if (number) {
                about = (uint64_t)(uintptr_t)receiver;
                mark_seen(S, about);
            }
        }
        t->site = p->site;
        put(S, about, call, RAW_WHAT(number, p->begin_site), RAW_WORD(t->number, RAW_BEGIN, 0, p->flags));
        return 0;
    }
    return slow_begin(self, receiver, nothing);
}

static int fast_end(PyObject *self, PyObject *key, PyObject *nothing) {
    Probe *p = (Probe *)self;
    Thread *t = mine;
    if (is_live(t)) {
        t->site = p->site;
        put(S, 0, 0, RAW_WHAT(0, p->begin_site), RAW_WORD(t->number, RAW_END, 0, 0));
        return 0;
    }
    return slow_end(self, key, nothing);
}

#endif
