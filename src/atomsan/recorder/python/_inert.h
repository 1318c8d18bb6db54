/* Inert probes: they do what the source says and log nothing.
 *
 * A probe becomes inert when its code was pickled (cloudpickle sends functions with their constants) and is loaded in
 * another process, where its site means nothing; and when another recording of this process begins, which its code is
 * not part of.
 */
#ifndef ATOMSAN_INERT_H
#define ATOMSAN_INERT_H

#include "_probes.h"

static PyTypeObject inert_types[KINDS];
static PyMappingMethods inert_slots[KINDS];

static PyObject *inert_tap(PyObject *self, PyObject *obj) { return Py_NewRef(obj); }

static int inert_mark(PyObject *self, PyObject *key, PyObject *nothing) { return 0; }

static PyObject *inert_pair(PyObject *self, PyObject *pair) { return Py_NewRef(PyTuple_GET_ITEM(pair, 0)); }

static PyObject *inert_get_attr(PyObject *self, PyObject *obj) { return PyObject_GetAttr(obj, ((Probe *)self)->name); }

static int inert_set_attr(PyObject *self, PyObject *obj, PyObject *value) {
    return PyObject_SetAttr(obj, ((Probe *)self)->name, value);
}

/* Not at once, then. */
static int inert_count(PyObject *self, PyObject *obj) { return 0; }

static PyObject *inert_add(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
    return Py_NewRef(Py_False);
}

static PyObject *inert_get_item(PyObject *self, PyObject *pair) {
    return PyObject_GetItem(PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1));
}

static int inert_set_item(PyObject *self, PyObject *pair, PyObject *value) {
    PyObject *obj = PyTuple_GET_ITEM(pair, 0), *key = PyTuple_GET_ITEM(pair, 1);
    return value == NULL ? PyObject_DelItem(obj, key) : PyObject_SetItem(obj, key, value);
}

static PyObject *inert_contains(PyObject *self, PyObject *pair) {
    int answer = PySequence_Contains(PyTuple_GET_ITEM(pair, 1), PyTuple_GET_ITEM(pair, 0));
    return answer < 0 ? NULL : PyBool_FromLong(answer);
}

static PyObject *inert_call_item(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    if (count == 2) return PyObject_GetItem(args[0], args[1]);
    if (count == 3) return PyObject_SetItem(args[0], args[1], args[2]) < 0 ? NULL : Py_NewRef(Py_None);
    PyErr_SetString(PyExc_TypeError, "an item has an object and a key");
    return NULL;
}

static PyObject *inert_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    if (count < 1) {
        PyErr_SetString(PyExc_TypeError, "a probe of a call wants the function");
        return NULL;
    }
    return PyObject_Vectorcall(args[0], args + 1, (size_t)(count - 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, names);
}

static int ready_inert(int kind, binaryfunc get, objobjargproc set, int is_callable) {
    return ready_type(&inert_types[kind], &inert_slots[kind], get, set, is_callable);
}

static Probe *new_inert(int kind, vectorcallfunc call) {
    Probe *probe = new_probe_of(&inert_types[kind]);
    if (probe != NULL) {
        probe->kind = (uint16_t)kind;
        probe->call = call;
    }
    return probe;
}

/* What it has given to others (iterators, stand-ins for methods) has no site from now on. */
static void make_inert(Probe *probe, vectorcallfunc call) {
    Py_SET_TYPE((PyObject *)probe, &inert_types[probe->kind]);
    probe->call = call;
    probe->site = probe->begin_site = 0;
    memset(probe->found, 0, sizeof(probe->found));
}

#endif
