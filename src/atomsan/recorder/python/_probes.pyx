"""Probes: the objects in instrumented code, one for each site, that log the accesses made there.

`source/plan.py` says what each kind is given and gives back. Every hook follows one order: look up the types (may send
definitions, so other threads may run), `ready` (waits for room, asks the scheduler), then look, log and act with
nothing between that could let another thread run. Hooks are C functions in type slots: they show in no traceback.

All objects are borrowed pointers here, so that nothing is counted twice and no Python code of ours can run by accident.
"""

import abc
import array
import ast
import collections
import enum
import functools
import operator
import os
import sys
import types as kinds
import weakref
from _thread import _local as thread_local

from cpython.object cimport Py_EQ, Py_NE, PyObject, PyTypeObject, destructor
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc
from libc.string cimport memset

from atomsan.recorder.python cimport _log
from atomsan.recorder.python._writer cimport RAW_WHAT, RAW_WORD, State, Thread, put, put_access
from atomsan.recorder.log._raw cimport (
    FLAG_AUGMENTED, FLAG_CALLED_BACK, FLAG_CLASS, FLAG_KNOWN, FLAG_LOOPS, FLAG_RESUMED, FLAG_STATE,
    KEY_ELEMENTS, KEY_FIELD, KEY_HASH, KEY_INDEX, KEY_NUMBER,
    KEY_OBJECT, KEY_STRUCTURE, KEY_WHOLE, OF_SELF, RAW_ALIAS, RAW_BEGIN, RAW_END, RAW_FIELD, RAW_HOLDS, RAW_READ, RAW_WRITE,
)
from atomsan.recorder.python import key_types
from atomsan.source.effects import CALLS, DONE_BY, EFFECTS
from atomsan.source.plan import KINDS as KIND_NAMES

cdef extern from "_fast_paths.h":
    ctypedef PyObject *(*vectorcallfunc)(PyObject *, PyObject *const *, size_t, PyObject *) noexcept
    ctypedef PyObject *(*binaryfunc)(PyObject *, PyObject *) noexcept
    ctypedef int (*objobjargproc)(PyObject *, PyObject *, PyObject *) noexcept
    ctypedef int (*objobjproc)(PyObject *, PyObject *) noexcept
    ctypedef struct PySequenceMethods:
        pass
    ctypedef PyObject *(*reprfunc)(PyObject *) noexcept
    ctypedef PyObject *(*iternextfunc)(PyObject *) noexcept

    ctypedef struct Found:
        PyTypeObject *type
        uint32_t version
        uint32_t mode
        uint32_t number
        uint32_t site
        uint32_t shape
        uint32_t place
        uint64_t steps
        uint64_t absent

    ctypedef struct Probe:
        vectorcallfunc call
        uint32_t site
        uint32_t name_number
        uint32_t begin_site
        uint16_t kind
        uint16_t flags
        uint64_t word
        PyObject *name
        PyObject *text
        PyObject *function
        uint64_t steps
        uint16_t does
        uint16_t is_raw
        uint16_t is_append
        uint16_t is_entry
        uint16_t subtracts
        Found found[2]

    ctypedef struct Later:
        Probe *probe
        PyObject *object

    ctypedef struct Steps:
        Probe *probe
        PyObject *iterator
        PyObject *container
        Py_ssize_t position
        Py_ssize_t steps
        uint32_t number
        uint32_t shape

    enum:
        KINDS

    State *S
    Thread *ready(uint32_t site, uint64_t records)
    Thread *ready_after(uint32_t site)
    bint is_registered()
    void settle()
    bint matches(const Found *found, const PyTypeObject *type)
    uint32_t place_of_attribute(PyTypeObject *type, PyObject *name)
    PyTypeObject probe_type
    ctypedef PyObject *(*PyCFunction)(PyObject *, PyObject *) noexcept
    int ready_probe_types(reprfunc repr, PyCFunction reduce)
    PyTypeObject kind_types[32]
    PySequenceMethods asked_slots, inert_asked_slots
    void make_askable(PyTypeObject *type, PySequenceMethods *slots, objobjproc contains)
    int ready_kind(int kind, binaryfunc get, objobjargproc set, int is_callable)
    Probe *new_probe(int kind)
    void forget_found()
    int ready_later_type()
    PyObject *new_later(Probe *probe, PyObject *object, vectorcallfunc call)
    int ready_steps_type(iternextfunc next)
    PyObject *new_steps(Probe *probe, PyObject *iterator, PyObject *container, uint32_t number, uint32_t shape)
    void (*cells_free)(uint64_t address) noexcept
    int ready_cells_type(PyCFunction reduce)
    PyTypeObject cells_type
    PyObject *new_cells()
    void (*span_end)(Probe *probe) noexcept
    int ready_span_type()
    PyObject *new_span(Probe *probe)
    PyObject *viewed(PyObject *view)
    int ready_code_marks()
    int mark_recorded_code "mark_recorded"(PyObject *code, uint32_t module)
    void *recorded_mark(void *code)
    void forget_callers()
    uint32_t plain_call(Probe *probe)
    uint32_t find_call(int *is_callback)
    uint32_t find_site_here()
    bint is_recorded_here()
    uint32_t CALL_UNKNOWN, NO_CALL_SITE
    uint32_t (*number_of_call)(PyObject *caller, int instruction, uint32_t module) noexcept
    int (*is_invoked_by_name)(PyObject *caller, int instruction, PyObject *called) noexcept
    bint LIKELY(bint)
    bint UNLIKELY(bint)
    uint32_t list_number
    uint32_t dict_number
    uint64_t recent_keys[1024]
    uint64_t recent_epoch
    int RECENT_KEYS
    uint64_t RECENT_PLACE(uint64_t mixed)
    binaryfunc slow_load_attr, slow_store_attr, slow_method, slow_keyed_method, slow_load_name
    binaryfunc slow_store_name, slow_argument
    binaryfunc slow_get_augmented, slow_late_method
    vectorcallfunc slow_call_later
    objobjargproc slow_set_augmented, slow_begin, slow_end
    PyObject *(*get_pair)(Probe *, PyObject *, PyObject *) noexcept
    int (*set_pair)(Probe *, PyObject *, PyObject *, PyObject *) noexcept
    PyObject *fast_get_augmented(PyObject *, PyObject *)
    int fast_set_augmented(PyObject *, PyObject *, PyObject *)
    int fast_count(PyObject *, PyObject *)
    PyObject *fast_add(PyObject *, PyObject *const *, size_t, PyObject *)
    PyObject *fast_call_item(PyObject *, PyObject *const *, size_t, PyObject *)
    PyObject *fast_load_attr(PyObject *, PyObject *)
    PyObject *fast_store_attr(PyObject *, PyObject *)
    PyObject *fast_get_item(PyObject *, PyObject *)
    int fast_set_item(PyObject *, PyObject *, PyObject *)
    PyObject *fast_method(PyObject *, PyObject *)
    PyObject *fast_keyed_method(PyObject *, PyObject *)
    PyObject *fast_late_method(PyObject *, PyObject *)
    PyObject *fast_call_later(PyObject *, PyObject *const *, size_t, PyObject *)
    PyObject *fast_argument(PyObject *, PyObject *)
    PyObject *fast_load_name(PyObject *, PyObject *)
    PyObject *fast_store_name(PyObject *, PyObject *)
    int fast_begin(PyObject *, PyObject *, PyObject *)
    int fast_end(PyObject *, PyObject *, PyObject *)

cdef extern from "_driven.h":
    ctypedef struct Driven:
        uint32_t thread
    void (*driven_end)(Probe *probe, uint32_t thread) noexcept
    int ready_driven_types()
    Driven *new_driven(Probe *probe, PyObject *iterator)
    bint is_driven(PyObject *obj)

cdef extern from "_inert.h":
    PyTypeObject inert_types[32]
    int inert_count(PyObject *, PyObject *)
    PyObject *inert_add(PyObject *, PyObject *const *, size_t, PyObject *)
    int ready_inert(int kind, binaryfunc get, objobjargproc set, int is_callable)
    Probe *new_inert(int kind, vectorcallfunc call)
    void make_inert(Probe *probe, vectorcallfunc call)
    PyObject *inert_tap(PyObject *, PyObject *)
    int inert_mark(PyObject *, PyObject *, PyObject *)
    PyObject *inert_pair(PyObject *, PyObject *)
    PyObject *inert_get_attr(PyObject *, PyObject *)
    int inert_set_attr(PyObject *, PyObject *, PyObject *)
    PyObject *inert_get_item(PyObject *, PyObject *)
    int inert_set_item(PyObject *, PyObject *, PyObject *)
    PyObject *inert_contains(PyObject *, PyObject *)
    PyObject *inert_call_item(PyObject *, PyObject *const *, size_t, PyObject *)
    PyObject *inert_call(PyObject *, PyObject *const *, size_t, PyObject *)

# Declared without exceptions: what fails returns NULL or -1 with the error set, and the hook passes that on.
cdef extern from "Python.h":
    ctypedef struct _Type "PyTypeObject":
        PyTypeObject *tp_base
        destructor tp_dealloc
        unsigned long tp_flags
        unsigned int tp_version_tag
        void *tp_getattro
        void *tp_setattro
        Py_hash_t (*tp_hash)(PyObject *) noexcept
        void *tp_richcompare
        void *tp_descr_get
        void *tp_descr_set
        void *tp_iter
        PyObject *tp_mro
        PyObject *tp_dict
        Py_ssize_t tp_dictoffset

    PyTypeObject PyList_Type, PyDict_Type, PySet_Type, PyLong_Type, PyUnicode_Type, PyBytes_Type, PyTuple_Type
    PyTypeObject PyFloat_Type, PyBool_Type, PyComplex_Type, PyModule_Type, PyType_Type, PyBaseObject_Type
    PyTypeObject PyFunction_Type, PySuper_Type, PyMemberDescr_Type, PyWrapperDescr_Type, PyMethodDescr_Type
    PyTypeObject PyCFunction_Type, PySlice_Type, PyMethod_Type
    PyObject *PyMethod_GET_SELF(PyObject *)
    PyObject *PyMethod_GET_FUNCTION(PyObject *)
    PyObject *PyCFunction_GET_SELF(PyObject *)
    void *PyCFunction_GET_FUNCTION(PyObject *)
    object generic_attribute "PyObject_GenericGetAttr"(object, object)
    PyTypeObject *Py_TYPE(PyObject *)
    PyObject *Py_None
    PyObject *Py_Ellipsis
    PyObject *Py_True
    PyObject *Py_False
    unsigned long Py_TPFLAGS_HEAPTYPE
    Py_ssize_t Py_REFCNT(PyObject *)
    void Py_INCREF "Py_INCREF"(PyObject *)
    void Py_DECREF "Py_DECREF"(PyObject *)
    void Py_XDECREF "Py_XDECREF"(PyObject *)
    PyObject *_PyType_Lookup(PyTypeObject *, PyObject *)
    bint PyType_IsSubtype(PyTypeObject *, PyTypeObject *)
    bint PyType_Check(PyObject *)
    bint PyDict_Check(PyObject *)
    bint PyModule_Check(PyObject *)
    bint PyUnicode_CheckExact(PyObject *)
    bint PyUnicode_Check(PyObject *)
    bint PyBytes_Check(PyObject *)
    PyObject *PyObject_GetAttr(PyObject *, PyObject *)
    int PyObject_SetAttr(PyObject *, PyObject *, PyObject *)
    PyObject *PyObject_GenericGetAttr(PyObject *, PyObject *)
    PyObject *PyObject_GenericGetDict(PyObject *, void *)
    PyObject *PyObject_GetItem(PyObject *, PyObject *)
    int PyObject_SetItem(PyObject *, PyObject *, PyObject *)
    int PyObject_DelItem(PyObject *, PyObject *)
    Py_hash_t PyObject_Hash(PyObject *)
    PyObject *PyObject_GetIter(PyObject *)
    PyObject *PyObject_Vectorcall(PyObject *, PyObject *const *, size_t, PyObject *)
    PyObject *PyObject_VectorcallMethod(PyObject *, PyObject *const *, size_t, PyObject *)
    Py_ssize_t PyVectorcall_NARGS(size_t)
    size_t PY_VECTORCALL_ARGUMENTS_OFFSET
    int PySequence_Contains(PyObject *, PyObject *)
    PyObject *PyDict_GetItemWithError(PyObject *, PyObject *)
    int PyDict_Next(PyObject *, Py_ssize_t *, PyObject **, PyObject **)
    Py_ssize_t PyDict_Size(PyObject *)
    int PySet_Contains(PyObject *, PyObject *)
    PyObject *PyList_GET_ITEM(PyObject *, Py_ssize_t)
    Py_ssize_t PyTuple_GET_SIZE(PyObject *)
    PyObject *PyTuple_GET_ITEM(PyObject *, Py_ssize_t)
    Py_ssize_t PyLong_AsSsize_t(PyObject *)
    PyObject *PyModule_GetDict(PyObject *)
    PyObject *PyEval_GetGlobals()
    PyObject *PyErr_Occurred()
    void PyErr_Clear()
    int PySlice_Unpack(PyObject *, Py_ssize_t *, Py_ssize_t *, Py_ssize_t *)
    Py_ssize_t PySlice_AdjustIndices(Py_ssize_t, Py_ssize_t *, Py_ssize_t *, Py_ssize_t)
    ctypedef struct _Slice "PySliceObject":
        PyObject *start
        PyObject *stop
        PyObject *step
    void PyErr_Fetch(PyObject **, PyObject **, PyObject **)
    void PyErr_Restore(PyObject *, PyObject *, PyObject *)
    void PyErr_SetString(PyObject *, const char *)
    PyObject *PyExc_TypeError
    int _PySet_NextEntry(PyObject *, Py_ssize_t *, PyObject **, Py_hash_t *)

cdef extern from *:
    """
    typedef struct { PyObject_HEAD PyTypeObject *type; PyObject *obj; PyTypeObject *obj_type; } SuperObject;
    static inline PyObject *super_object(PyObject *self) { return ((SuperObject *)self)->obj; }
    static inline PyTypeObject *super_type(PyObject *self) { return ((SuperObject *)self)->type; }
    static inline PyTypeObject *descriptor_type(PyObject *self) { return ((PyDescrObject *)self)->d_type; }
    static inline int equals_minus_one(PyObject *number) {
        if (PyFloat_Check(number)) return PyFloat_AS_DOUBLE(number) == -1.0;
        if (PyComplex_Check(number)) {
            return PyComplex_RealAsDouble(number) == -1.0 && PyComplex_ImagAsDouble(number) == 0.0;
        }
        int overflow = 0;
        return PyLong_AsLongAndOverflow(number, &overflow) == -1 && !overflow;
    }
    /* Of an integer; what no key can be, for all others and for those that are too large to be their own hash. */
    static inline Py_ssize_t small_value(PyObject *number) {
        int overflow = 0;
        if (!PyLong_CheckExact(number)) return PY_SSIZE_T_MIN;
        long value = PyLong_AsLongAndOverflow(number, &overflow);
        return overflow ? PY_SSIZE_T_MIN : value;
    }
    /* As the interpreter lays it out. */
    typedef struct { PyObject_HEAD PyObject *start, *stop, *step, *length; } RangeObject;
    #define step_of(iterator) (Py_TYPE(iterator)->tp_iternext(iterator))
    #define list_subscript(o, k) (PyList_Type.tp_as_mapping->mp_subscript(o, k))
    #define list_store(o, k, v) (PyList_Type.tp_as_mapping->mp_ass_subscript(o, k, v))
    #define dict_subscript(o, k) (PyDict_Type.tp_as_mapping->mp_subscript(o, k))
    #define dict_store(o, k, v) (PyDict_Type.tp_as_mapping->mp_ass_subscript(o, k, v))
    """
    PyObject *super_object(PyObject *)
    PyTypeObject *super_type(PyObject *)
    ctypedef struct _Range "RangeObject":
        PyObject *start
        PyObject *step
        PyObject *length
    bint equals_minus_one(PyObject *)
    Py_ssize_t small_value(PyObject *)
    PyTypeObject *descriptor_type(PyObject *)
    PyObject *step_of(PyObject *)
    PyObject *list_subscript(PyObject *, PyObject *)
    int list_store(PyObject *, PyObject *, PyObject *)
    PyObject *dict_subscript(PyObject *, PyObject *)
    int dict_store(PyObject *, PyObject *, PyObject *)

# Modes: how a probe handles objects of a type.
cdef enum:
    SKIP = 0
    FIELD = 1            # the attribute is the object's own
    FIELD_OR_CLASS = 2   # the object's own, or else the class's
    CACHED = 3           # functools.cached_property
    ALIAS = 4            # __dict__
    MODULE = 5
    CLASS = 6            # the object is a class
    CONTAINER = 7        # has elements; `shape` says how they are named
    HOLDER = 8           # as FIELD, and an atomic set goes through it: what it holds is logged
    LOCAL = 9            # threading.local: each thread has others

cdef enum:
    SEQUENCE = 1     # by place
    MAPPING = 2      # a dict: by key
    SET = 3          # by key
    CHAIN = 4        # by key, and whether a key is there cannot be asked without running Python code
    KEYS = 5         # views: about their dictionary
    VALUES = 6
    ITEMS = 7
    MISSING = 8      # a dict that makes missing elements
    TEXT = 9         # nothing of its own, but methods that read their argument
    PLAIN = 10       # an object that is no container, with a method about its attributes

# Elements that are logged one by one, at most; more are one record (KEY_ELEMENTS).
cdef Py_ssize_t MOST = 64
cdef uint64_t ROOM = 4 * 64 + 8
# The same for `update`, each key of which is a store, and for iterations, of which each step reads its own element.
cdef Py_ssize_t MOST_STORES = 4096
cdef Py_ssize_t MOST_STEPS = 1 << 16
cdef uint64_t TO_THE_END = 0xFFFFFFFF


# One module, so that the compiler can inline across it; one file for each kind of access.

include "probes/effects.pxi"
include "probes/type_lookup.pxi"
include "probes/keys.pxi"
include "probes/records.pxi"
include "probes/field_values.pxi"
include "probes/attributes.pxi"
include "probes/modules.pxi"
include "probes/memory_views.pxi"
include "probes/items.pxi"
include "probes/names.pxi"
include "probes/methods.pxi"
include "probes/calls.pxi"
include "probes/getters.pxi"
include "probes/iteration.pxi"
include "probes/patterns.pxi"
include "probes/regions.pxi"
include "probes/texts.pxi"


# --- making probes ---------------------------------------------------------------------------------------------------

cdef PyObject *show(PyObject *self) noexcept:
    cdef Probe *probe = <Probe *>self
    cdef PyObject *result = NULL
    try:
        name = <object>probe.name if probe.name != NULL else ""
        text = f"<atomsan {KIND_NAMES[probe.kind]} {name}>" if name else f"<atomsan {KIND_NAMES[probe.kind]}>"
        result = <PyObject *>text
        Py_INCREF(result)
    except Exception:
        pass
    return result


# --- pickling -------------------------------------------------------------------------------------------------------
#
# Tools such as cloudpickle send functions with the constants of their code. A probe that comes back to the process that
# pickled it is the same probe; anywhere else its site means nothing, and it is one that does its work and logs nothing.

# By what a pickle calls it, each probe that was pickled here, and the other way round. They stay: a pickle can be loaded
# at any time. The keys have the process in them, because a child that was forked goes on with a copy of both.
cdef dict pickled = {}
cdef dict pickle_keys = {}
cdef bytes pickling_process = b""


cdef PyObject *reduce_probe(PyObject *self, PyObject *nothing) noexcept:
    cdef PyObject *result = NULL
    try:
        reduced = reduction(<Probe *>self)
        result = <PyObject *>reduced
        Py_INCREF(result)
    except Exception:
        PyErr_SetString(PyExc_TypeError, "cannot pickle this probe")
    return result


cdef tuple reduction(Probe *probe):
    global pickling_process
    key = pickle_keys.get(<uintptr_t>probe)
    if key is None:
        if not pickling_process:
            pickling_process = os.urandom(12)
        key = (pickling_process, os.getpid(), len(pickled))
        pickled[key] = <object><PyObject *>probe
        pickle_keys[<uintptr_t>probe] = key
    return _unpickled, (key, KIND_NAMES[probe.kind], <object>probe.name)


def _unpickled(key, kind, name):
    """The probe that was pickled, or in another process one of its kind that logs nothing."""
    cdef Probe *probe
    known = pickled.get(key)
    if known is not None:
        return known
    name = sys.intern(name)
    text = ""
    probe = new_inert(_numbers[kind], inert_call_of(kind))
    if probe == NULL:
        raise MemoryError
    probe.name = new_ref(<PyObject *>name)
    probe.text = new_ref(<PyObject *>text)
    made = <object><PyObject *>probe
    Py_DECREF(<PyObject *>probe)
    return made


cdef vectorcallfunc inert_call_of(str kind):
    return inert_call_item if kind == "item" else inert_add if kind == "aug_attr" else inert_call


cdef PyObject *reduce_cells(PyObject *self, PyObject *nothing) noexcept:
    """A function that is pickled with its closure variables gets new ones."""
    cdef PyObject *result = NULL
    try:
        reduced = _unpickled_cells, ()
        result = <PyObject *>reduced
        Py_INCREF(result)
    except Exception:
        PyErr_SetString(PyExc_TypeError, "cannot pickle closure variables")
    return result


def _unpickled_cells():
    cdef PyObject *cells = new_cells()
    if cells == NULL:
        raise MemoryError
    made = <object>cells
    Py_DECREF(cells)
    return made


cdef dict _numbers = {name: number for number, name in enumerate(KIND_NAMES)}


cdef ready_types():
    if ready_probe_types(show, reduce_probe) < 0 or ready_later_type() < 0 or ready_steps_type(next_step) < 0:
        raise SystemError("the types of probes")
    if ready_cells_type(reduce_cells) < 0 or ready_span_type() < 0 or ready_driven_types() < 0 or len(KIND_NAMES) > KINDS:
        raise SystemError("the types of probes")
    ready_one("load_attr", 0, fast_load_attr, NULL, inert_tap, NULL)
    ready_one("store_attr", 0, fast_store_attr, NULL, inert_tap, NULL)
    make_askable(&kind_types[_numbers["aug_attr"]], &asked_slots, fast_count)
    make_askable(&inert_types[_numbers["aug_attr"]], &inert_asked_slots, inert_count)
    ready_one("aug_attr", 1, fast_get_augmented, fast_set_augmented, inert_get_attr, inert_set_attr)
    ready_one("item", 1, fast_get_item, fast_set_item, inert_get_item, inert_set_item)
    ready_one("aug_item", 0, fast_get_item, fast_set_item, inert_get_item, inert_set_item)
    ready_one("load_name", 0, fast_load_name, NULL, inert_tap, NULL)
    ready_one("store_name", 0, fast_store_name, NULL, inert_tap, NULL)
    ready_one("cells", 0, make_cells, NULL, inert_tap, NULL)
    ready_one("load_cell", 0, load_cell, NULL, inert_pair, NULL)
    ready_one("store_cell", 0, store_cell, NULL, inert_pair, NULL)
    ready_one("method", 0, fast_method, NULL, inert_tap, NULL)
    ready_one("keyed_method", 0, fast_keyed_method, NULL, inert_pair, NULL)
    ready_one("late_method", 0, fast_late_method, NULL, inert_get_attr, NULL)
    ready_one("argument", 0, fast_argument, NULL, inert_tap, NULL)
    ready_one("call", 1, NULL, NULL, NULL, NULL)
    ready_one("iterate", 0, iterate, NULL, inert_tap, NULL)
    ready_one("unpack", 0, unpack, NULL, inert_tap, NULL)
    ready_one("truth", 0, unpack, NULL, inert_tap, NULL)
    ready_one("contains", 0, contains, NULL, inert_pair, NULL)
    ready_one("late_contains", 0, late_contains, NULL, inert_contains, NULL)
    ready_one("identity", 0, identity, NULL, inert_tap, NULL)
    ready_one("with", 0, at_site, NULL, inert_tap, NULL)
    ready_one("await", 0, at_await, NULL, inert_tap, NULL)
    ready_one("begin", 0, NULL, fast_begin, NULL, inert_mark)
    ready_one("end", 0, NULL, fast_end, NULL, inert_mark)
    ready_one("suspend", 0, suspend, NULL, inert_tap, NULL)
    ready_one("resume", 0, resume, NULL, inert_tap, NULL)
    ready_one("span", 0, span, NULL, inert_tap, NULL)
    ready_one("drive", 0, drive, drive_by_hand, inert_tap, inert_mark)
    ready_one("enter", 0, enter, NULL, inert_tap, NULL)
    ready_one("match", 0, match_subject, NULL, inert_tap, NULL)
    ready_one("source", 0, source, NULL, inert_tap, NULL)


cdef ready_one(
    str kind, int is_callable, binaryfunc get, objobjargproc set, binaryfunc inert_get, objobjargproc inert_set
):
    if ready_kind(_numbers[kind], get, set, is_callable) < 0:
        raise SystemError("the types of probes")
    if ready_inert(_numbers[kind], inert_get, inert_set, is_callable) < 0:
        raise SystemError("the types of probes")


cdef Probe *made(object row, uint32_t site, dict begins, bint is_entry) except NULL:
    cdef int kind = _numbers[row.kind]
    cdef Probe *probe = new_probe(kind)
    if probe == NULL:
        raise MemoryError
    name = sys.intern(row.name)
    probe.kind = kind
    probe.site = site
    probe.begin_site = begins.get(row.region, site)
    probe.name = new_ref(<PyObject *>name)
    probe.text = new_ref(<PyObject *>row.text)
    if row.kind.endswith(("_attr", "_name", "_cell", "method")):
        probe.name_number = _log.name_number(name)
    if row.kind in ("aug_attr", "aug_item") or row.region >= 0 and row.kind.endswith(("_name", "_cell")):
        probe.flags = FLAG_AUGMENTED
    elif row.kind == "begin" and row.name:
        probe.flags = FLAG_LOOPS
    probe.word = RAW_WORD(0, 0, KEY_FIELD, probe.flags)
    probe.is_append = name == "append"
    probe.is_entry = is_entry
    if row.kind == "unpack":
        probe.steps = AT_STRUCTURE | (AT_ELEMENTS if name == "**" else AT_ITERATED) << 8
    elif row.kind == "truth":
        probe.steps = AT_STRUCTURE
    elif row.kind in ("argument", "call") and name in CALLS:
        known = CALLS[name]
        probe.steps = _encoded(known.effect.steps)
        probe.does = DOES_AUGMENT if known.does.startswith("augment") else _DOES.get(known.does, DOES_NOTHING)
        probe.is_raw = name.startswith("object.")
    if row.kind == "call":
        probe.call = call
        if name == "compile":
            probe.does = DOES_COMPILE
    elif row.kind == "item":
        probe.call = fast_call_item
    elif row.kind == "aug_attr":
        probe.call = fast_add
        probe.subtracts = row.step == "-"
        if len(row.step) > 1:
            by = int(row.step)
            probe.function = new_ref(<PyObject *>by)
    return probe


def make_probes(plan, first_site):
    """The probes of a module: one for each row of its plan, in the same order."""
    cdef Probe *probe
    begins = {}
    for number, row in enumerate(plan.probes):
        if row.kind == "begin":
            begins.setdefault(row.region, first_site + number)
    if plan.shared_names:
        shared_names.setdefault(plan.module, set()).update(plan.shared_names)
    stored_outside.update(plan.stored_outside)
    probes = []
    for number, row in enumerate(plan.probes):
        is_entry = row.kind in ("begin", "resume", "span") and row.region >= 0
        is_entry = is_entry and plan.regions[row.region].origin != "loop"
        own_begins = begins if row.kind in ("begin", "end", "suspend", "resume", "drive") else {}
        probe = made(row, first_site + number, own_begins, is_entry)
        probes.append(<object><PyObject *>probe)
        Py_DECREF(<PyObject *>probe)
    for number, row in enumerate(plan.probes):
        if row.kind == "match":
            patterns, count = ast.literal_eval(row.step)
            reads = interned(patterns), tuple(probes[number + 1 : number + 1 + count])
            (<Probe *><PyObject *>probes[number]).function = new_ref(<PyObject *>reads)
    return probes


def are_in_use(list probes):
    """Whether code with some of these probes is left, or one that was pickled: more than the list has them."""
    cdef Probe *probe
    cdef Py_ssize_t number = 0
    while number < len(probes):
        probe = <Probe *>PyList_GET_ITEM(<PyObject *>probes, number)
        if Py_REFCNT(<PyObject *>probe) > 1:
            return True
        number += 1
        if KIND_NAMES[probe.kind] == "match":
            number += len((<tuple><object>probe.function)[1])  # only the match has these
    return False


def silence(probes):
    """These probes do what the source says, and log nothing from now on."""
    cdef Probe *probe
    for one in probes:
        probe = <Probe *><PyObject *>one
        make_inert(probe, inert_call_of(KIND_NAMES[probe.kind]))


def is_instrumented(code):
    """Whether there are probes in this code object."""
    for constant in code.co_consts:
        if PyType_IsSubtype(Py_TYPE(<PyObject *>constant), &probe_type):
            return True
    return False


def is_recorded(code):
    """Whether this code was made by us, also where there are no probes in it."""
    return recorded_mark(<void *><PyObject *>code) != NULL


def mark_recorded(code, first_site):
    """This code and what is in it is recorded, also where there are no probes: what it calls is not called back.

    `first_site` is that of its module.
    """
    if mark_recorded_code(<PyObject *>code, first_site) < 0:
        raise SystemError("cannot mark code")
    return code


def set_invokes(function):
    """`function(caller, instruction, called)` says whether code invokes other code by its name there. None: it does not."""
    global invokes
    invokes = function


def set_call_sites(function):
    """`function(caller, instruction, site)` numbers the site of a call that code makes; 0: it has none. `site` is one of
    the same module. None: no call has a site."""
    global call_sites
    call_sites = function


def set_promoter(function):
    """`function(function)` is called with what an entry function calls that does nothing else; None: nothing is."""
    global promoter
    promoter = function


def set_awaited(function):
    """`function(awaitable)` is called before it is awaited; None: nothing is."""
    global awaited
    awaited = function


cdef void forget_types() noexcept:
    global list_number, dict_number, cells_number
    list_number = dict_number = cells_number = 0
    forget_found()
    forget_held()
    forget_callers()


S = _log.state()
_log.on_attach(forget_types)
_log.on_call_site(site_here)
cells_free = _log.log_free
span_end = end_span
driven_end = end_driven
slow_load_attr = load_attr
slow_store_attr = store_attr
get_pair = get_item
set_pair = set_item
slow_get_augmented = get_augmented
slow_set_augmented = set_augmented
slow_method = method
slow_late_method = late_method
slow_call_later = call_later
slow_keyed_method = keyed_method
slow_argument = argument
slow_load_name = load_name
slow_store_name = store_name
slow_begin = begin
slow_end = end
is_invoked_by_name = ask_session
number_of_call = ask_for_site
if ready_code_marks() < 0:
    raise SystemError("no room for marks of code")
ready_types()
globals()["Probe"] = <object><PyObject *>&probe_type
