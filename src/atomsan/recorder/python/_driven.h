/* What a loop goes over that a generator of recorded code drives: its life is the region of the loop.
 *
 * A loop has its iterator on the stack of its frame, and lets it go in whichever way it is left. What the generator does
 * then, because it is closed, is still in the region.
 */
#ifndef ATOMSAN_DRIVEN_H
#define ATOMSAN_DRIVEN_H

#include "_callers.h"

typedef struct {
    PyObject_HEAD
    Probe *probe;
    PyObject *iterator;    /* a generator, or what goes over one */
    uint32_t thread;       /* in which the region began; 0: in none */
} Driven;

static PyTypeObject driven_type = {PyVarObject_HEAD_INIT(NULL, 0)};
static PyTypeObject driven_async_type = {PyVarObject_HEAD_INIT(NULL, 0)};
static PyAsyncMethods driven_async;
static void (*driven_end)(Probe *probe, uint32_t thread);

static int driven_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(((Driven *)self)->iterator);
    return 0;
}

static int driven_clear(PyObject *self) {
    Py_CLEAR(((Driven *)self)->iterator);
    return 0;
}

static void driven_dealloc(PyObject *self) {
    Driven *driven = (Driven *)self;
    PyObject_GC_UnTrack(self);
    Py_CLEAR(driven->iterator);
    driven_end(driven->probe, driven->thread);
    Py_DECREF((PyObject *)driven->probe);
    PyObject_GC_Del(self);
}

static PyObject *driven_next(PyObject *self) {
    PyObject *iterator = ((Driven *)self)->iterator;
    return iterator == NULL ? NULL : Py_TYPE(iterator)->tp_iternext(iterator);
}

static PyObject *driven_anext(PyObject *self) {
    PyObject *iterator = ((Driven *)self)->iterator;
    if (iterator != NULL) return Py_TYPE(iterator)->tp_as_async->am_anext(iterator);
    PyErr_SetNone(PyExc_StopAsyncIteration);
    return NULL;
}

static int ready_driven(PyTypeObject *type) {
    type->tp_basicsize = sizeof(Driven);
    type->tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    type->tp_dealloc = driven_dealloc;
    type->tp_traverse = driven_traverse;
    type->tp_clear = driven_clear;
    return PyType_Ready(type);
}

/* The names are those that messages have about a loop of the wrong kind. */
static int ready_driven_types(void) {
    driven_type.tp_name = "generator";
    driven_type.tp_iter = PyObject_SelfIter;
    driven_type.tp_iternext = driven_next;
    driven_async.am_aiter = PyObject_SelfIter;
    driven_async.am_anext = driven_anext;
    driven_async_type.tp_name = "async_generator";
    driven_async_type.tp_as_async = &driven_async;
    return ready_driven(&driven_type) < 0 ? -1 : ready_driven(&driven_async_type);
}

static Driven *new_driven(Probe *probe, PyObject *iterator) {
    Driven *driven = PyObject_GC_New(Driven, PyAsyncGen_CheckExact(iterator) ? &driven_async_type : &driven_type);
    if (driven == NULL) return NULL;
    driven->probe = (Probe *)Py_NewRef((PyObject *)probe);
    driven->iterator = Py_NewRef(iterator);
    driven->thread = 0;
    PyObject_GC_Track(driven);
    return driven;
}

/* A generator expression is none here: what it does belongs to the function that it stands in. */
static int is_recorded_generator(PyObject *obj) {
    if (!PyGen_CheckExact(obj) && !PyAsyncGen_CheckExact(obj)) return 0;
#if PY_VERSION_HEX >= 0x030C0000
    PyCodeObject *code = PyGen_GetCode((PyGenObject *)obj);
#else
    PyCodeObject *code = (PyCodeObject *)Py_NewRef((PyObject *)((PyGenObject *)obj)->gi_code);
#endif
    int is_expression = PyUnicode_GET_LENGTH(code->co_name) && PyUnicode_READ_CHAR(code->co_name, 0) == '<';
    int is_recorded = !is_expression && recorded_mark(code) != NULL;
    Py_DECREF(code);
    return is_recorded;
}

static int is_generator_in(PyObject *obj, void *is_in_tuple) {
    if (PyTuple_CheckExact(obj) && is_in_tuple == NULL) return Py_TYPE(obj)->tp_traverse(obj, is_generator_in, obj);
    return is_recorded_generator(obj);
}

/* Whether it is a generator of recorded code, or one of `enumerate`, `zip`, `map` or `filter` over such a generator. */
static int is_driven(PyObject *obj) {
    PyTypeObject *type = Py_TYPE(obj);
    if (type == &PyEnum_Type || type == &PyZip_Type || type == &PyMap_Type || type == &PyFilter_Type) {
        return type->tp_traverse(obj, is_generator_in, NULL);
    }
    return is_recorded_generator(obj);
}

#endif
