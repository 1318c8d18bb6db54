"""Probes: the objects that stand in instrumented code, one for each site, and log what happens there.

`source/plan.py` says what each kind is given and gives back. Every hook follows one order: find out about the types
(may send definitions, so other threads may run), `ready` (waits for room, makes noise), then look, log and act with
nothing between that could let another thread run. Hooks are C functions in type slots: they show in no traceback.

All objects are borrowed pointers here, so that nothing is counted twice and no Python code of ours can run by accident.
"""

import array
import collections
import enum
import functools
import os
import sys
import types as kinds
from _thread import _local as thread_local

from cpython.object cimport Py_EQ, Py_NE, PyObject, PyTypeObject, destructor
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc
from libc.string cimport memset

from atomsan.recorder cimport _log
from atomsan.recorder._hot cimport RAW_WHAT, RAW_WORD, State, Thread, put, put_access
from atomsan.recorder._raw cimport (
    FLAG_AUGMENTED, FLAG_CALLED_BACK, FLAG_CLASS, FLAG_KNOWN, KEY_FIELD, KEY_HASH, KEY_INDEX, KEY_NUMBER, KEY_OBJECT,
    KEY_STRUCTURE, KEY_WHOLE, RAW_ALIAS, RAW_BEGIN, RAW_END, RAW_FIELD, RAW_HOLDS, RAW_READ, RAW_WRITE,
)
from atomsan.source.effects import CALLS, EFFECTS
from atomsan.source.plan import KINDS as KIND_NAMES

cdef extern from "_fast.h":
    ctypedef PyObject *(*vectorcallfunc)(PyObject *, PyObject *const *, size_t, PyObject *) noexcept
    ctypedef PyObject *(*binaryfunc)(PyObject *, PyObject *) noexcept
    ctypedef int (*objobjargproc)(PyObject *, PyObject *, PyObject *) noexcept
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
    int mark_recorded_code "mark_recorded"(PyObject *code)
    bint is_recorded_code(PyObject *code)
    bint is_called_plainly(Probe *probe)
    bint is_called_by_recorded(Probe *probe)
    bint is_called_back()
    int (*asks)(PyObject *caller, int instruction, PyObject *called) noexcept
    bint LIKELY(bint)
    bint UNLIKELY(bint)
    uint32_t list_number
    uint32_t dict_number
    uint64_t recent_keys[1024]
    uint64_t recent_epoch
    int RECENT_KEYS
    uint64_t RECENT_PLACE(uint64_t mixed)
    binaryfunc slow_load_attr, slow_store_attr, slow_method, slow_keyed_method, slow_load_name
    binaryfunc slow_store_name, slow_begin, slow_end, slow_argument
    binaryfunc slow_get_augmented, slow_late_method
    vectorcallfunc slow_call_later
    objobjargproc slow_set_augmented
    PyObject *(*get_pair)(Probe *, PyObject *, PyObject *) noexcept
    int (*set_pair)(Probe *, PyObject *, PyObject *, PyObject *) noexcept
    PyObject *fast_get_augmented(PyObject *, PyObject *)
    int fast_set_augmented(PyObject *, PyObject *, PyObject *)
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
    PyObject *fast_begin(PyObject *, PyObject *)
    PyObject *fast_end(PyObject *, PyObject *)

cdef extern from "_inert.h":
    int ready_inert(int kind, binaryfunc get, objobjargproc set, int is_callable)
    Probe *new_inert(int kind, vectorcallfunc call)
    PyObject *inert_tap(PyObject *, PyObject *)
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
        void *tp_hash
        void *tp_richcompare
        void *tp_descr_get
        void *tp_descr_set
        void *tp_iter
        PyObject *tp_mro
        PyObject *tp_dict
        Py_ssize_t tp_dictoffset

    PyTypeObject PyList_Type, PyDict_Type, PySet_Type, PyLong_Type, PyUnicode_Type, PyBytes_Type, PyTuple_Type
    PyTypeObject PyFloat_Type, PyBool_Type, PyComplex_Type, PyModule_Type, PyType_Type, PyBaseObject_Type
    PyTypeObject PyFunction_Type, PySuper_Type, PyMemberDescr_Type, PyGetSetDescr_Type, PyProperty_Type
    PyTypeObject PyStaticMethod_Type, PyClassMethod_Type, PyWrapperDescr_Type, PyMethodDescr_Type
    PyTypeObject PyClassMethodDescr_Type, PyCFunction_Type, PySlice_Type
    PyTypeObject *Py_TYPE(PyObject *)
    PyObject *Py_None
    PyObject *Py_True
    PyObject *Py_False
    unsigned long Py_TPFLAGS_HEAPTYPE
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
    Py_ssize_t PyObject_Size(PyObject *)
    Py_hash_t PyObject_Hash(PyObject *)
    PyObject *PyObject_GetIter(PyObject *)
    PyObject *PyObject_Vectorcall(PyObject *, PyObject *const *, size_t, PyObject *)
    PyObject *PyObject_VectorcallMethod(PyObject *, PyObject *const *, size_t, PyObject *)
    Py_ssize_t PyVectorcall_NARGS(size_t)
    size_t PY_VECTORCALL_ARGUMENTS_OFFSET
    PyObject *PyObject_VectorcallMethod(PyObject *, PyObject *const *, size_t, PyObject *)
    int PySequence_Contains(PyObject *, PyObject *)
    PyObject *PyIter_Next(PyObject *)
    PyObject *PyDict_GetItemWithError(PyObject *, PyObject *)
    int PyDict_Next(PyObject *, Py_ssize_t *, PyObject **, PyObject **)
    Py_ssize_t PyDict_Size(PyObject *)
    int PyDict_SetItem(PyObject *, PyObject *, PyObject *)
    int PySet_Contains(PyObject *, PyObject *)
    Py_ssize_t PyList_GET_SIZE(PyObject *)
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
    bint PyIndex_Check(PyObject *)
    int _PySet_NextEntry(PyObject *, Py_ssize_t *, PyObject **, Py_hash_t *)

cdef extern from *:
    """
    typedef struct { PyObject_HEAD PyTypeObject *type; PyObject *obj; PyTypeObject *obj_type; } SuperObject;
    static inline PyObject *super_object(PyObject *self) { return ((SuperObject *)self)->obj; }
    static inline PyTypeObject *descriptor_type(PyObject *self) { return ((PyDescrObject *)self)->d_type; }
    static inline int equals_minus_one(PyObject *number) {
        if (PyFloat_CheckExact(number)) return PyFloat_AS_DOUBLE(number) == -1.0;
        if (PyComplex_CheckExact(number)) {
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
    #define step_of(iterator) (Py_TYPE(iterator)->tp_iternext(iterator))
    #define list_subscript(o, k) (PyList_Type.tp_as_mapping->mp_subscript(o, k))
    #define list_store(o, k, v) (PyList_Type.tp_as_mapping->mp_ass_subscript(o, k, v))
    #define dict_subscript(o, k) (PyDict_Type.tp_as_mapping->mp_subscript(o, k))
    #define dict_store(o, k, v) (PyDict_Type.tp_as_mapping->mp_ass_subscript(o, k, v))
    """
    PyObject *super_object(PyObject *)
    bint equals_minus_one(PyObject *)
    Py_ssize_t small_value(PyObject *)
    PyTypeObject *descriptor_type(PyObject *)
    PyObject *step_of(PyObject *)
    PyObject *list_subscript(PyObject *, PyObject *)
    int list_store(PyObject *, PyObject *, PyObject *)
    PyObject *dict_subscript(PyObject *, PyObject *)
    int dict_store(PyObject *, PyObject *, PyObject *)

# What a probe does with objects of a type.
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

# Elements that are logged one by one, at most; of a larger container it is the whole.
cdef Py_ssize_t MOST = 64
cdef uint64_t ROOM = 4 * 64 + 8


# --- steps: the effects of methods and functions --------------------------------------------------------------------

cdef enum:
    STEP_WRITE = 0x80
    AT_ELEMENT = 1
    AT_STRUCTURE = 2
    AT_ELEMENTS = 3
    AT_FIRST = 4
    AT_LAST = 5
    AT_KEYS = 6
    AT_ARGUMENT = 7
    AT_FIELDS = 8
    AT_EVERYTHING = 9
    AT_ATTRIBUTE = 10
    STEP_ITERATE = 0x40
    STEP_ALIAS = 0x41

_PLACES = {
    "element": AT_ELEMENT, "structure": AT_STRUCTURE, "elements": AT_ELEMENTS, "first": AT_FIRST, "last": AT_LAST,
    "keys": AT_KEYS, "argument": AT_ARGUMENT, "fields": AT_FIELDS, "everything": AT_EVERYTHING,
    "attribute": AT_ATTRIBUTE,
}

cdef enum:
    DOES_NOTHING = 0
    DOES_READ_ATTRIBUTE = 1
    DOES_WRITE_ATTRIBUTE = 2
    DOES_READ_ITEM = 3
    DOES_WRITE_ITEM = 4
    DOES_DELETE_ITEM = 5
    DOES_EACH = 6
    DOES_SECOND = 7
    DOES_ITERATE = 8
    DOES_AUGMENT = 9

_DOES = {
    "attribute read": DOES_READ_ATTRIBUTE, "attribute ask": DOES_READ_ATTRIBUTE,
    "attribute write": DOES_WRITE_ATTRIBUTE, "attribute delete": DOES_WRITE_ATTRIBUTE,
    "item read": DOES_READ_ITEM, "item ask": DOES_READ_ITEM, "item write": DOES_WRITE_ITEM,
    "item delete": DOES_DELETE_ITEM, "each": DOES_EACH, "second": DOES_SECOND, "iterate": DOES_ITERATE,
}


def _encoded(text):
    """The steps of an effect, a byte each."""
    code = 0
    for place, step in enumerate(filter(None, text.split(", "))):
        verb, _, where = step.partition(" ")
        if verb == "iterate":
            byte = STEP_ITERATE
        elif verb == "alias":
            byte = STEP_ALIAS
        else:
            byte = _PLACES[where] | (STEP_WRITE if verb == "write" else 0)
        code |= byte << 8 * place
    return code


def _real_types():
    """The types of the table of effects, with their shapes."""
    return {
        "list": (list, SEQUENCE), "bytearray": (bytearray, SEQUENCE), "array.array": (array.array, SEQUENCE),
        "collections.deque": (collections.deque, SEQUENCE), "dict": (dict, MAPPING),
        "collections.defaultdict": (collections.defaultdict, MISSING),
        "collections.OrderedDict": (collections.OrderedDict, MAPPING), "collections.Counter": (collections.Counter, MAPPING),
        "collections.ChainMap": (collections.ChainMap, CHAIN), "set": (set, SET),
        "dict_keys": (type({}.keys()), KEYS), "dict_values": (type({}.values()), VALUES),
        "dict_items": (type({}.items()), ITEMS), "str": (str, TEXT), "bytes": (bytes, TEXT), "object": (object, PLAIN),
    }


# By type: its shape, and by name of a method the steps of its effect with the key there and not there.
cdef dict containers = {
    real: (
        shape,
        {
            name: (_encoded(effect.steps), _encoded(effect.steps if effect.absent is None else effect.absent))
            for name, effect in EFFECTS[text].items()
        },
    )
    for text, (real, shape) in _real_types().items()
}
for _ordered, _plain in (
    (type(collections.OrderedDict().keys()), type({}.keys())),
    (type(collections.OrderedDict().values()), type({}.values())),
    (type(collections.OrderedDict().items()), type({}.items())),
):
    containers[_ordered] = containers[_plain]

cdef PyTypeObject *deque_type = <PyTypeObject *>collections.deque
cdef PyTypeObject *local_type = <PyTypeObject *>thread_local
cdef PyTypeObject *cached_property_type = <PyTypeObject *>functools.cached_property
cdef PyTypeObject *namespace_type = <PyTypeObject *>kinds.SimpleNamespace
cdef PyTypeObject *enum_type = <PyTypeObject *>enum.Enum
cdef PyObject *object_getattribute = _PyType_Lookup(&PyBaseObject_Type, <PyObject *>"__getattribute__")
cdef PyObject *enum_hash = _PyType_Lookup(enum_type, <PyObject *>"__hash__")
cdef object name_of_dict = sys.intern("__dict__")
cdef object name_of_getattribute = sys.intern("__getattribute__")
cdef object name_of_getitem = sys.intern("__getitem__")
cdef object name_of_setitem = sys.intern("__setitem__")
cdef object name_of_delitem = sys.intern("__delitem__")
cdef object name_of_hash = sys.intern("__hash__")
cdef object name_of_missing = sys.intern("__missing__")
cdef object name_of_contains = sys.intern("__contains__")
cdef object name_of_iter = sys.intern("__iter__")
cdef object name_of_len = sys.intern("__len__")


class _Sample:
    """Has the deallocator that every class of a program has."""

cdef destructor class_dealloc = (<_Type *>_Sample).tp_dealloc
cdef uint32_t cells_number = 0


cdef inline PyObject *new_ref(PyObject *obj) noexcept:
    Py_INCREF(obj)
    return obj


cdef inline void keep_error(PyObject **saved) noexcept:
    PyErr_Fetch(&saved[0], &saved[1], &saved[2])


cdef inline void give_error_back(PyObject **saved) noexcept:
    PyErr_Restore(saved[0], saved[1], saved[2])


# --- what is found out about a type ---------------------------------------------------------------------------------

cdef inline Found *remember(Probe *probe, PyTypeObject *type) noexcept:
    """An entry for this type, the first; what was first is second. Valid once its version is set."""
    cdef Found *found = &probe.found[0]
    probe.found[1] = found[0]
    found.type = type
    found.version = 0
    found.number = 0
    found.site = probe.site
    found.mode = SKIP
    found.shape = 0
    found.place = 0
    found.steps = 0
    found.absent = 0
    return found


cdef inline void conclude(Found *found, PyTypeObject *type) noexcept:
    # A type without a version (it had too many) has to be looked at each time.
    found.version = (<_Type *>type).tp_version_tag
    if found.version == 0:
        found.type = NULL


cdef Found *find_attribute(Probe *probe, PyObject *obj, bint is_store) noexcept:
    """What an attribute of this name is to objects of this type."""
    cdef PyTypeObject *type = Py_TYPE(obj)
    cdef Found *found
    cdef PyObject *attribute = _PyType_Lookup(type, probe.name)
    cdef uint32_t mode = attribute_mode(type, probe.name, attribute, is_store)
    cdef uint32_t number = 0
    if mode != SKIP and mode != MODULE and mode != CLASS:
        number = _log.number_of_type(<PyObject *>type)
        if number == 0:
            mode = SKIP
    if not is_store and (mode == FIELD or mode == FIELD_OR_CLASS):
        tell_field(probe, obj, number)
        if mode == FIELD and is_followed(type, probe.name, probe.name_number, number):
            mode = HOLDER
    found = remember(probe, type)
    found.mode = mode
    found.number = number
    if mode == FIELD and attribute == NULL:
        found.place = place_of_attribute(type, probe.name)
    conclude(found, type)
    return found


cdef uint32_t attribute_mode(PyTypeObject *type, PyObject *name, PyObject *attribute, bint is_store) noexcept:
    cdef _Type *t = <_Type *>type
    if PyType_IsSubtype(type, &PyType_Type):
        if (t.tp_setattro if is_store else t.tp_getattro) != (
            (<_Type *>&PyType_Type).tp_setattro if is_store else (<_Type *>&PyType_Type).tp_getattro
        ):
            return SKIP
        return CLASS
    if PyType_IsSubtype(type, &PyModule_Type):
        return MODULE
    if not (t.tp_flags & Py_TPFLAGS_HEAPTYPE) and type != &PyFunction_Type and type != namespace_type:
        return SKIP
    if PyType_IsSubtype(type, local_type):
        return SKIP
    if is_store:
        if t.tp_setattro != (<_Type *>&PyBaseObject_Type).tp_setattro:
            return SKIP
    elif t.tp_getattro != (<_Type *>&PyBaseObject_Type).tp_getattro:
        # With __getattr__ alone the attribute is looked for as always, first; with __getattribute__ it is not.
        if _PyType_Lookup(type, <PyObject *>name_of_getattribute) != object_getattribute:
            return SKIP
    if attribute == NULL:
        return FIELD
    if <object>name == name_of_dict:
        return SKIP if is_store else ALIAS
    return descriptor_mode(attribute, is_store)


cdef uint32_t descriptor_mode(PyObject *attribute, bint is_store) noexcept:
    """The same, for an attribute that is found on the class."""
    cdef _Type *kind = <_Type *>Py_TYPE(attribute)
    if Py_TYPE(attribute) == &PyMemberDescr_Type:
        # One of __slots__; those of builtin types are nobody's data.
        return FIELD if (<_Type *>descriptor_type(attribute)).tp_dealloc == class_dealloc else SKIP
    if kind.tp_descr_set != NULL:
        return SKIP
    if is_store:
        return FIELD
    if PyType_IsSubtype(Py_TYPE(attribute), cached_property_type):
        return CACHED
    return SKIP if kind.tp_descr_get != NULL else FIELD_OR_CLASS


cdef Found *find_container(Probe *probe, PyObject *obj, object method) noexcept:
    """Whether this is a container whose `method` is the builtin one, and what that does."""
    cdef PyTypeObject *type = Py_TYPE(obj)
    cdef Found *found
    cdef PyObject *saved[3]
    cdef PyObject *mro = (<_Type *>type).tp_mro
    cdef PyObject *base = NULL
    cdef uint32_t number = 0
    cdef uint32_t shape = 0
    cdef uint64_t steps = 0
    cdef uint64_t absent = 0
    cdef Py_ssize_t i
    keep_error(saved)
    _PyType_Lookup(type, <PyObject *>method)  # gives the type a version
    if mro != NULL:
        for i in range(PyTuple_GET_SIZE(mro)):
            base = PyTuple_GET_ITEM(mro, i)
            try:
                known = containers.get(<object>base)
            except Exception:
                known = None
            if known is None:
                continue
            shape = known[0]
            if _PyType_Lookup(type, <PyObject *>method) != _PyType_Lookup(<PyTypeObject *>base, <PyObject *>method):
                shape = 0
            elif <object>method in known[1]:
                steps, absent = known[1][<object>method]
            if shape == MAPPING and _PyType_Lookup(type, <PyObject *>name_of_missing) != NULL:
                shape = MISSING
            break
    if shape == PLAIN and type != &PySuper_Type and not steps:
        shape = 0
    if shape and shape != TEXT and shape != PLAIN:
        number = _log.number_of_type(<PyObject *>type)
        if number == 0:
            shape = 0
    found = remember(probe, type)
    found.number = number
    found.shape = shape
    found.mode = CONTAINER if shape else SKIP
    found.steps = steps
    found.absent = absent
    conclude(found, type)
    give_error_back(saved)
    return found


cdef inline Found *container(Probe *probe, PyObject *obj, object method) noexcept:
    if matches(&probe.found[0], Py_TYPE(obj)):
        return &probe.found[0]
    if matches(&probe.found[1], Py_TYPE(obj)):
        return &probe.found[1]
    return find_container(probe, obj, method)


cdef inline Found *attribute(Probe *probe, PyObject *obj, bint is_store) noexcept:
    if matches(&probe.found[0], Py_TYPE(obj)):
        return &probe.found[0]
    if matches(&probe.found[1], Py_TYPE(obj)):
        return &probe.found[1]
    return find_attribute(probe, obj, is_store)


# --- keys -----------------------------------------------------------------------------------------------------------

cdef struct Key:
    uint64_t key
    uint8_t kind


cdef inline bint is_exact(PyObject *key, int depth) noexcept:
    """Whether hash and equality of this key run no code of the program."""
    cdef PyTypeObject *type = Py_TYPE(key)
    cdef Py_ssize_t i
    if (
        type == &PyUnicode_Type or type == &PyLong_Type or type == &PyBytes_Type or key == Py_None
        or type == &PyBool_Type or type == &PyFloat_Type or type == &PyComplex_Type
    ):
        return True
    if type != &PyTuple_Type or depth > 8:
        return False
    for i in range(PyTuple_GET_SIZE(key)):
        if not is_exact(PyTuple_GET_ITEM(key, i), depth + 1):
            return False
    return True


cdef inline void name_key(Key *found, PyObject *key) noexcept:
    global recent_epoch
    cdef uint64_t mixed = found.key ^ found.kind
    cdef uint64_t place = RECENT_PLACE(mixed)
    cdef Py_ssize_t i
    if recent_epoch != S.epoch:
        for i in range(RECENT_KEYS):
            recent_keys[i] = 0
        recent_epoch = S.epoch
    if recent_keys[place] != mixed or mixed == 0:
        recent_keys[place] = mixed
        _log.define_key(found.kind, found.key, key)


cdef inline bint is_number(PyTypeObject *type) noexcept:
    return type == &PyLong_Type or type == &PyBool_Type or type == &PyFloat_Type or type == &PyComplex_Type


cdef inline uint64_t number_key(PyObject *key) noexcept:
    """Its hash, which equal numbers share; but -1 is -1, because its hash is that of -2, and -1 is no number's hash."""
    cdef Py_hash_t hash = PyObject_Hash(key)
    if hash == -2 and equals_minus_one(key):
        return <uint64_t>-1
    return <uint64_t>hash


cdef void key_of(PyObject *key, Key *found) noexcept:
    """The location of the element of a dict or set. May send a definition."""
    cdef PyTypeObject *type = Py_TYPE(key)
    if is_number(type):
        found.kind = KEY_NUMBER
        found.key = number_key(key)
        # A small integer is its own key, and needs no name.
        if type != &PyBool_Type and <Py_ssize_t>found.key != small_value(key):
            name_key(found, key)
    elif is_exact(key, 0):
        found.kind = KEY_HASH
        found.key = <uint64_t>PyObject_Hash(key)
        name_key(found, key)
    elif is_identity(type) and _log.number_of_type(<PyObject *>type):
        found.kind = KEY_OBJECT
        found.key = <uint64_t>key
    else:
        found.kind = KEY_WHOLE
        found.key = 0


cdef bint is_identity(PyTypeObject *type) noexcept:
    cdef _Type *t = <_Type *>type
    if t.tp_hash == (<_Type *>&PyBaseObject_Type).tp_hash:
        return t.tp_richcompare == (<_Type *>&PyBaseObject_Type).tp_richcompare
    # Members of an enumeration hash by name, and are equal only to themselves.
    return (
        PyType_IsSubtype(type, enum_type) and t.tp_richcompare == (<_Type *>&PyBaseObject_Type).tp_richcompare
        and _PyType_Lookup(type, <PyObject *>name_of_hash) == enum_hash
    )


# --- records --------------------------------------------------------------------------------------------------------

cdef inline void log_at(
    Thread *thread, Probe *probe, uint32_t op, uint8_t key_kind, PyObject *obj, uint64_t key, uint32_t number
) noexcept:
    put_access(
        S, <uint64_t>obj, key, RAW_WHAT(number, probe.site), RAW_WORD(thread.number, op, key_kind, probe.flags)
    )


cdef inline void log_key(Thread *thread, Probe *probe, uint32_t op, PyObject *obj, Key *key, uint32_t number) noexcept:
    log_at(thread, probe, op, key.kind, obj, key.key, number)
    if key.kind == KEY_OBJECT:
        see(key.key)


cdef extern from "_hot.h":
    void mark_seen(State *s, uint64_t address)


cdef inline void see(uint64_t address) noexcept:
    mark_seen(S, address)


cdef inline void log_structure(Thread *thread, Probe *probe, uint32_t op, PyObject *obj, uint32_t number) noexcept:
    log_at(thread, probe, op, KEY_STRUCTURE, obj, 0, number)


cdef void log_elements(
    Thread *thread, Probe *probe, uint32_t op, PyObject *obj, uint32_t number, uint32_t shape, Py_ssize_t start
) noexcept:
    """Each element from `start` on; of a dict without definitions, which could let other threads run."""
    cdef Py_ssize_t size, i
    cdef Py_ssize_t position = 0
    cdef PyObject *key = NULL
    cdef PyObject *value = NULL
    cdef Py_hash_t hash = 0
    if shape == CHAIN:
        log_at(thread, probe, op, KEY_WHOLE, obj, 0, number)
        return
    size = size_of(obj, shape)
    if size - start > MOST:
        log_at(thread, probe, op, KEY_WHOLE, obj, 0, number)
        return
    if shape == SEQUENCE:
        for i in range(start, size):
            log_at(thread, probe, op, KEY_INDEX, obj, <uint64_t>i, number)
    elif shape == SET:
        while _PySet_NextEntry(obj, &position, &key, &hash):
            log_known_key(thread, probe, op, obj, key, number)
    else:
        while PyDict_Next(obj, &position, &key, &value):
            log_known_key(thread, probe, op, obj, key, number)


cdef inline Py_ssize_t size_of(PyObject *obj, uint32_t shape) noexcept:
    """Of a builtin container or of a class that extends one: never by code of the program."""
    if shape == MAPPING or shape == MISSING:
        return PyDict_Size(obj)
    return builtin_size(obj)


cdef extern from *:
    """
    /* The size as the builtin type sees it, though a class may define its own __len__. */
    static inline Py_ssize_t builtin_size(PyObject *obj) {
        if (PyList_Check(obj) || PyByteArray_Check(obj)) return Py_SIZE(obj);
        if (PyAnySet_Check(obj)) return PySet_GET_SIZE(obj);
        return Py_SIZE(obj);   /* deque and array keep it there, too */
    }
    """
    Py_ssize_t builtin_size(PyObject *)


cdef void log_known_key(
    Thread *thread, Probe *probe, uint32_t op, PyObject *obj, PyObject *key, uint32_t number
) noexcept:
    """An element by a key that is in the container: it was named when it was stored, if we saw that."""
    cdef PyTypeObject *type = Py_TYPE(key)
    if not is_exact(key, 0):
        if is_identity(type):
            see(<uint64_t>key)
            log_at(thread, probe, op, KEY_OBJECT, obj, <uint64_t>key, number)
        else:
            log_at(thread, probe, op, KEY_WHOLE, obj, 0, number)
    elif is_number(type):
        log_at(thread, probe, op, KEY_NUMBER, obj, number_key(key), number)
    else:
        log_at(thread, probe, op, KEY_HASH, obj, <uint64_t>PyObject_Hash(key), number)


# --- what fields hold -----------------------------------------------------------------------------------------------
#
# Of fields that an atomic set goes through, and of no others, the log says which objects they hold: RAW_HOLDS, once for
# each object as far as the tables below remember. They forget what has died, because its address may be another's.
# Nothing here runs code of the program: values are taken where they lie, and their types are compared by address.

cdef enum:
    REMEMBERED_BITS = 11   # pairs that were logged: so many places
    WAYS = 4               # for so many pairs each
    LOOK_BITS = 11         # containers that were looked at
    STAMP_BITS = 12
    TYPE_BITS = 6
    TOLD_BITS = 10
    AT_ONCE = 256          # elements that are looked at before others may run
    EACH_LOOK = 16         # elements of a container that was seen whole and has not grown: they go round
    MOST_ROUNDS = 1 << 13
    DEEPEST = 4            # containers in containers

cdef struct Remembered:
    uint64_t holder
    uint64_t value
    uint32_t name
    uint32_t holder_stamp
    uint32_t value_stamp

cdef struct Look:
    uint64_t holder
    uint64_t container
    uint32_t name
    uint32_t stamp         # of the container
    Py_ssize_t size
    Py_ssize_t next        # where the next look begins
    Py_ssize_t end         # where it ended when it was seen whole; -1: it was not, so far

cdef struct HeldType:
    PyTypeObject *type
    uint32_t version
    uint32_t number        # 0: no fields of such objects are recorded
    int container          # how to look into it; IN_NOTHING: it is none
    bint is_instance       # it can have fields that are recorded

cdef struct Walk:
    uint64_t holder
    uint32_t name
    Thread *thread         # NULL: what is new is counted, and nothing is logged yet
    Py_ssize_t left        # elements
    Py_ssize_t new
    PyTypeObject *unknown  # a type that needs a number first
    bint is_cut            # there are elements left that should be looked at now

cdef list followed = []           # patterns for the names of a class and of a field
cdef dict followed_pairs = {}     # by number of a type and of a name: whether there is a pattern for it
cdef set told_fields = set()
cdef uint64_t told_here[1024]     # by site and type, lately
cdef Remembered *remembered = NULL
cdef Look *looks = NULL
cdef uint32_t *stamps = NULL      # count the deaths at addresses
cdef uint32_t next_way = 0
cdef HeldType held_types[64]      # those that were met lately
cdef object qualname_of = type.__dict__["__qualname__"].__get__
cdef object module_of = type.__dict__["__module__"].__get__


cdef inline uint64_t mixed_up(uint64_t one, uint64_t other) noexcept:
    cdef uint64_t mixed = (one ^ other * <uint64_t>0xD6E8FEB86659FD93) * <uint64_t>0x9E3779B97F4A7C15
    return mixed ^ mixed >> 31


cdef inline uint32_t *stamp_of(uint64_t address) noexcept:
    return stamps + (address * <uint64_t>0x9E3779B97F4A7C15 >> (64 - STAMP_BITS))


cdef void stamp_death(uint64_t address) noexcept:
    stamp_of(address)[0] += 1


cdef void forget_held() noexcept:
    memset(held_types, 0, sizeof(held_types))
    memset(told_here, 0, sizeof(told_here))
    followed_pairs.clear()
    told_fields.clear()
    if stamps != NULL:
        memset(remembered, 0, WAYS * sizeof(Remembered) << REMEMBERED_BITS)
        memset(looks, 0, sizeof(Look) << LOOK_BITS)


def follow(patterns):
    """Log what is held by fields: pairs of patterns, for the name of the class and of the field. Adds to what is known."""
    global remembered, looks, stamps
    if not patterns:
        return
    if stamps == NULL:
        remembered = <Remembered *>calloc(<size_t>WAYS << REMEMBERED_BITS, sizeof(Remembered))
        looks = <Look *>calloc(<size_t>1 << LOOK_BITS, sizeof(Look))
        stamps = <uint32_t *>calloc(<size_t>1 << STAMP_BITS, sizeof(uint32_t))
        if remembered == NULL or looks == NULL or stamps == NULL:
            raise MemoryError
    followed.extend(patterns)
    followed_pairs.clear()
    _log.at_death(stamp_death)
    forget_found()


def follow_nothing():
    """As if nobody had asked what fields hold."""
    followed.clear()
    followed_pairs.clear()
    _log.at_death(NULL)
    forget_found()


def look_again():
    """Another trace begins: what was logged stands in the one before."""
    forget_held()


cdef bint is_followed(PyTypeObject *type, PyObject *name, uint32_t name_number, uint32_t number) noexcept:
    """Whether an atomic set goes through this field of objects of this type."""
    cdef PyObject *saved[3]
    if not followed:
        return False
    keep_error(saved)
    try:
        known = followed_pairs.get((number, name_number))
        if known is None:
            shown = qualname_of(<object>type)
            known = followed_pairs[number, name_number] = any(
                [field.fullmatch(<object>name) and of.fullmatch(shown) for of, field in followed]
            )
    except Exception:
        known = False
    give_error_back(saved)
    return known


cdef bint is_of_program(PyTypeObject *type) noexcept:
    """Whether a class without a number is one of the instrumented modules: it can get one then."""
    cdef PyObject *saved[3]
    cdef bint answer = False
    if not (<_Type *>type).tp_flags & Py_TPFLAGS_HEAPTYPE:
        return False
    keep_error(saved)
    try:
        module = module_of(<object>type)
        answer = PyUnicode_CheckExact(<PyObject *>module) and (
            module == "__main__" or module in list(_log.namespaces.values())
        )
    except Exception:
        pass
    give_error_back(saved)
    return answer


cdef PyObject *value_in_dict(PyObject *obj, PyObject *name) noexcept:
    """What an object has under this name in its own dictionary: a new reference, or NULL."""
    cdef PyObject *names = PyObject_GenericGetDict(obj, NULL)
    cdef PyObject *value = NULL
    if names != NULL:
        value = PyDict_GetItemWithError(names, name)
        if value != NULL:
            Py_INCREF(value)
        Py_DECREF(names)
    if value == NULL:
        PyErr_Clear()
    return value


cdef PyObject *value_of_field(PyObject *obj, PyObject *name, bint is_cached) noexcept:
    """The same for whatever is a field; `is_cached`: a cached property, which asking for would compute."""
    cdef PyObject *value
    if is_cached:
        return value_in_dict(obj, name)
    value = PyObject_GenericGetAttr(obj, name)
    if value == NULL:
        PyErr_Clear()
    return value


cdef extern from *:
    """
    enum { IN_NOTHING, IN_LIST, IN_TUPLE, IN_DICT, IN_SET, IN_DEQUE };
    static inline int kind_of_container(PyObject *value, PyTypeObject *deque, int is_class) {
        if (PyList_Check(value)) return IN_LIST;
        if (PyDict_Check(value)) return IN_DICT;
        if (PyTuple_Check(value)) return IN_TUPLE;
        if (PyAnySet_CheckExact(value) || (is_class && PyAnySet_Check(value))) return IN_SET;
        if (Py_TYPE(value) == deque || (is_class && PyType_IsSubtype(Py_TYPE(value), deque))) return IN_DEQUE;
        return IN_NOTHING;
    }
    static inline Py_ssize_t size_of_container(PyObject *value, int kind) {
        return kind == IN_DICT ? PyDict_Size(value) : kind == IN_SET ? PySet_GET_SIZE(value) : Py_SIZE(value);
    }
    /* The element at a position, which moves on; borrowed. NULL: there is none any more. */
    static inline PyObject *element_at(PyObject *container, int kind, Py_ssize_t *position, PyTypeObject *deque) {
        PyObject *key = NULL, *value = NULL;
        Py_hash_t hash;
        switch (kind) {
        case IN_DICT: return PyDict_Next(container, position, &key, &value) ? value : NULL;
        case IN_SET: return _PySet_NextEntry(container, position, &key, &hash) ? key : NULL;
        }
        if (*position >= Py_SIZE(container)) return NULL;
        Py_ssize_t place = (*position)++;
        if (kind == IN_LIST) return PyList_GET_ITEM(container, place);
        if (kind == IN_TUPLE) return PyTuple_GET_ITEM(container, place);
        value = deque->tp_as_sequence->sq_item(container, place);
        if (value == NULL) PyErr_Clear();
        else Py_DECREF(value);   /* the deque has it */
        return value;
    }
    """
    enum:
        IN_NOTHING, IN_LIST, IN_TUPLE, IN_DICT, IN_SET, IN_DEQUE
    int kind_of_container(PyObject *value, PyTypeObject *deque, int is_class)
    Py_ssize_t size_of_container(PyObject *value, int kind)
    PyObject *element_at(PyObject *container, int kind, Py_ssize_t *position, PyTypeObject *deque)


cdef inline bint is_instance(PyObject *value) noexcept:
    """Whether it is an object with fields that can be recorded."""
    cdef PyTypeObject *type = Py_TYPE(value)
    if (<_Type *>type).tp_dealloc != class_dealloc and type != namespace_type:
        return False
    return not (
        PyType_Check(value) or PyModule_Check(value) or PyType_IsSubtype(type, local_type)
        or PyType_IsSubtype(type, enum_type)
    )


cdef HeldType *held_type(PyObject *value) noexcept:
    """What a value of this type is."""
    cdef PyTypeObject *type = Py_TYPE(value)
    cdef HeldType *known = held_types + (<uint64_t>type * <uint64_t>0x9E3779B97F4A7C15 >> (64 - TYPE_BITS))
    if LIKELY(known.type == type and known.version == (<_Type *>type).tp_version_tag and known.version):
        return known
    _PyType_Lookup(type, <PyObject *>name_of_len)  # gives the type a version
    known.type = type
    known.container = kind_of_container(value, deque_type, (<_Type *>type).tp_dealloc == class_dealloc)
    known.is_instance = is_instance(value)
    known.number = _log.known_type(<PyObject *>type) if known.is_instance else 0
    # one that has no number yet may get one
    known.version = 0 if known.is_instance and not known.number else (<_Type *>type).tp_version_tag
    return known


cdef void walk_value(Walk *walk, PyObject *value, int depth) noexcept:
    """What a field holds, or a container in it has: an object, or the next container."""
    cdef HeldType type = held_type(value)[0]
    if type.container and depth < DEEPEST:
        walk_container(walk, value, type.container, depth)
    if type.number:
        note_held(walk, value, type.number, FLAG_KNOWN if type.container else 0)
    elif type.is_instance and walk.unknown == NULL and walk.thread == NULL and is_of_program(type.type):
        walk.unknown = type.type


cdef void note_held(Walk *walk, PyObject *value, uint32_t number, uint32_t flags) noexcept:
    global next_way
    cdef uint64_t address = <uint64_t>value
    cdef Remembered *ways = remembered + WAYS * (mixed_up(walk.holder + walk.name, address) >> (64 - REMEMBERED_BITS))
    cdef Remembered *slot
    cdef int i
    for i in range(0 if flags else WAYS):
        slot = ways + i
        if (
            slot.value == address and slot.holder == walk.holder and slot.name == walk.name
            and slot.value_stamp == stamp_of(address)[0] and slot.holder_stamp == stamp_of(walk.holder)[0]
        ):
            return
    if walk.thread == NULL:
        walk.new += 1
        return
    if walk.new == 0:
        return  # it came meanwhile, and there is no room
    walk.new -= 1
    see(address)
    put(S, address, walk.holder, RAW_WHAT(number, walk.name), RAW_WORD(walk.thread.number, RAW_HOLDS, 0, flags))
    next_way += 1
    slot = ways + next_way % WAYS
    slot.holder, slot.value, slot.name = walk.holder, address, walk.name
    slot.holder_stamp, slot.value_stamp = stamp_of(walk.holder)[0], stamp_of(address)[0]


cdef void walk_container(Walk *walk, PyObject *container, int kind, int depth) noexcept:
    """Some of its elements: all of them if they are few, and others each time if they are many."""
    cdef uint64_t address = <uint64_t>container
    cdef Look *look = looks + (mixed_up(walk.holder + walk.name, address) >> (64 - LOOK_BITS))
    cdef Look now
    cdef Py_ssize_t size = size_of_container(container, kind)
    cdef Py_ssize_t most = EACH_LOOK
    cdef Py_ssize_t front = 0
    cdef Py_ssize_t more = 0
    now.holder, now.container, now.name, now.stamp = walk.holder, address, walk.name, stamp_of(address)[0]
    now.size, now.next, now.end = size, 0, -1
    if (
        look.container == address and look.holder == walk.holder and look.name == walk.name and look.stamp == now.stamp
    ):
        now.next, now.end = look.next, look.end
        if size > look.size and now.end >= 0:
            # what is new stands behind what was there, or before it; in a set it can be anywhere
            more = size - look.size if kind != IN_DICT and kind != IN_SET else 0
            now.next, now.end = 0 if kind == IN_SET or more > EACH_LOOK else now.end, -1
    if now.end < 0:
        most = size + 1
    walk_elements(walk, container, kind, depth, &front, min(more, <Py_ssize_t>EACH_LOOK))
    if walk_elements(walk, container, kind, depth, &now.next, most):
        now.end, now.next = now.next, 0
    elif now.end < 0:
        walk.is_cut = True
    if walk.thread != NULL:
        see(address)
        look[0] = now


cdef bint walk_elements(
    Walk *walk, PyObject *container, int kind, int depth, Py_ssize_t *position, Py_ssize_t most
) noexcept:
    """So many elements from a position on, which moves with them. True: it came to the end."""
    cdef PyObject *element
    cdef Py_ssize_t before
    while most > 0 and walk.left > 0:
        before = position[0]
        element = element_at(container, kind, position, deque_type)
        if element == NULL:
            return True
        walk.left -= 1
        walk_value(walk, element, depth + 1)
        if walk.is_cut:
            position[0] = before  # it is a container itself, and not done with
            return False
        most -= 1
    return False


cdef void prepare(Walk *walk, PyObject *obj, PyObject *name, uint32_t name_number, bint is_cached) noexcept:
    """Count what is new in a field, and number its types, which may let other threads run."""
    cdef PyObject *value
    cdef PyTypeObject *type
    cdef int times
    for times in range(8):
        walk.holder, walk.name, walk.thread = <uint64_t>obj, name_number, NULL
        walk.left, walk.new, walk.unknown, walk.is_cut = AT_ONCE, 0, NULL, False
        value = value_of_field(obj, name, is_cached)
        if value == NULL:
            return
        walk_value(walk, value, 0)
        type = walk.unknown
        if type != NULL:
            Py_INCREF(<PyObject *>type)
        Py_DECREF(value)  # before other threads run: it could be the last reference by then
        if type == NULL:
            return
        _log.number_of_type(<PyObject *>type)
        Py_DECREF(<PyObject *>type)


cdef void catch_up(
    Walk *walk, Probe *probe, PyObject *obj, PyObject *name, uint32_t name_number, uint32_t number, bint is_cached
) noexcept:
    """Prepare; and of containers that are large and new, log what there will be no room for with the read."""
    cdef Thread *thread
    cdef PyObject *value
    cdef int times
    for times in range(MOST_ROUNDS):
        prepare(walk, obj, name, name_number, is_cached)
        if not walk.is_cut:
            return
        thread = ready(probe.site, <uint64_t>(walk.new + 2))
        value = value_of_field(obj, name, is_cached) if thread != NULL else NULL
        if value == NULL:
            return
        see(<uint64_t>obj)
        put(
            S, <uint64_t>obj, name_number, RAW_WHAT(number, probe.site), RAW_WORD(thread.number, RAW_FIELD, KEY_FIELD, 0)
        )
        log_held(walk, thread, value)
        Py_DECREF(value)
    prepare(walk, obj, name, name_number, is_cached)


cdef void log_held(Walk *walk, Thread *thread, PyObject *value) noexcept:
    """What a field holds now. There is room for one more than was counted."""
    walk.thread, walk.is_cut = thread, False
    walk.left = AT_ONCE
    walk.new += 1
    walk_value(walk, value, 0)


cdef void load_followed(
    Probe *probe, PyObject *obj, PyObject *name, uint32_t name_number, uint32_t number, uint16_t flags
) noexcept:
    """A read of a field, and what it holds."""
    cdef Walk walk
    cdef Thread *thread
    cdef PyObject *value
    catch_up(&walk, probe, obj, name, name_number, number, False)
    thread = ready(probe.site, <uint64_t>(walk.new + 2))
    if thread == NULL:
        return
    put_access(
        S, <uint64_t>obj, name_number, RAW_WHAT(number, probe.site), RAW_WORD(thread.number, RAW_READ, KEY_FIELD, flags)
    )
    value = value_of_field(obj, name, False)
    if value != NULL:
        log_held(&walk, thread, value)
        Py_DECREF(value)


cdef void tell_field(Probe *probe, PyObject *obj, uint32_t number) noexcept:
    """Say once of which class the objects are that a field holds, itself or in a container."""
    cdef uint64_t here = <uint64_t>probe.site << 32 | number
    cdef uint64_t *last = told_here + (here * <uint64_t>0x9E3779B97F4A7C15 >> (64 - TOLD_BITS))
    cdef PyObject *value
    cdef PyObject *element
    cdef HeldType type
    cdef PyObject *saved[3]
    cdef Py_ssize_t position
    cdef int depth
    if last[0] == here:
        return  # a site of many types, of which each is found out about again and again
    last[0] = here
    element = value = value_of_field(obj, probe.name, False)
    type.is_instance = False
    for depth in range(DEEPEST):
        if element == NULL:
            break
        type = held_type(element)[0]
        if type.container == IN_NOTHING:
            break
        position = 0
        element = element_at(element, type.container, &position, deque_type)
    if element == NULL or not type.is_instance:
        Py_XDECREF(value)
        return
    Py_INCREF(<PyObject *>type.type)
    Py_DECREF(value)  # before other threads run: it could be the last reference by then
    if type.number == 0 and is_of_program(type.type):
        type.number = _log.number_of_type(<PyObject *>type.type)
    Py_DECREF(<PyObject *>type.type)
    if type.number == 0:
        return
    keep_error(saved)
    try:
        told = number, probe.name_number, type.number
        if told not in told_fields:
            told_fields.add(told)
            _log.define(["field", *told])
    except Exception:
        pass
    give_error_back(saved)


# --- attributes -----------------------------------------------------------------------------------------------------

cdef PyObject *load_attr(PyObject *self, PyObject *obj) noexcept:
    cdef Probe *probe = <Probe *>self
    cdef Found *found
    cdef Thread *thread
    if S.on:
        found = attribute(probe, obj, False)
        if LIKELY(found.mode == FIELD):
            thread = ready(probe.site, 1)
            if thread != NULL:
                log_at(thread, probe, RAW_READ, KEY_FIELD, obj, probe.name_number, found.number)
        elif found.mode == HOLDER:
            load_followed(probe, obj, probe.name, probe.name_number, found.number, probe.flags)
        elif found.mode != SKIP and not load_special(probe, obj, found.mode, found.number):
            return NULL
    return new_ref(obj)


cdef PyObject *store_attr(PyObject *self, PyObject *obj) noexcept:
    cdef Probe *probe = <Probe *>self
    if S.on:
        log_store(probe, obj)
    return new_ref(obj)


cdef inline void log_store(Probe *probe, PyObject *obj) noexcept:
    cdef Found *found = attribute(probe, obj, True)
    cdef Thread *thread
    if LIKELY(found.mode == FIELD):
        thread = ready(probe.site, 1)
        if thread != NULL:
            log_at(thread, probe, RAW_WRITE, KEY_FIELD, obj, probe.name_number, found.number)
    elif found.mode == MODULE:
        log_module(probe, obj, RAW_WRITE)
    elif found.mode == CLASS:
        log_class(probe, obj, obj, RAW_WRITE)


cdef bint load_special(Probe *probe, PyObject *obj, uint32_t mode, uint32_t number) noexcept:
    """A read that is not just that of a field. False: an error is set."""
    if mode == FIELD_OR_CLASS:
        load_inherited(probe, obj, number)
    elif mode == MODULE:
        if reads_are_logged(obj, probe.name):
            log_module(probe, obj, RAW_READ)
    elif mode == CLASS:
        load_from_class(probe, obj)
    elif mode == ALIAS:
        log_alias(probe, obj)
    elif mode == CACHED:
        return load_cached(probe, obj, number)
    return True


cdef void load_inherited(Probe *probe, PyObject *obj, uint32_t number) noexcept:
    """An attribute that the class has too: a read of the object's own and, if it has none, of the class's."""
    cdef Thread *thread
    cdef PyObject *value
    cdef PyObject *holder = holder_of(Py_TYPE(obj), probe.name)
    cdef uint32_t holder_number = _log.number_of_type(holder) if holder != NULL else 0
    cdef Walk walk
    cdef bint goes_on = is_followed(Py_TYPE(obj), probe.name, probe.name_number, number)
    walk.new = 0
    if goes_on:
        catch_up(&walk, probe, obj, probe.name, probe.name_number, number, False)
    thread = ready(probe.site, <uint64_t>(walk.new + 3))
    if thread == NULL:
        return
    log_at(thread, probe, RAW_READ, KEY_FIELD, obj, probe.name_number, number)
    value = PyObject_GenericGetAttr(obj, probe.name)
    if value == NULL:
        PyErr_Clear()
        return
    if holder_number and value == _PyType_Lookup(Py_TYPE(obj), probe.name):
        log_class_record(thread, probe, holder, holder_number, RAW_READ)
    if goes_on:
        log_held(&walk, thread, value)
    Py_DECREF(value)


cdef PyObject *holder_of(PyTypeObject *type, PyObject *name) noexcept:
    """The class in whose own dictionary an attribute is found."""
    cdef PyObject *mro = (<_Type *>type).tp_mro
    cdef PyObject *saved[3]
    cdef PyObject *found = NULL
    cdef PyObject *names
    cdef Py_ssize_t i
    if mro == NULL:
        return NULL
    keep_error(saved)
    for i in range(PyTuple_GET_SIZE(mro)):
        names = dictionary_of(<PyTypeObject *>PyTuple_GET_ITEM(mro, i))
        if names != NULL and PyDict_GetItemWithError(names, name) != NULL:
            found = PyTuple_GET_ITEM(mro, i)
            break
    give_error_back(saved)
    return found


cdef extern from *:
    """
    /* Borrowed. From 3.12 on, builtin types keep theirs elsewhere; those have no attributes that anybody writes. */
    static inline PyObject *dictionary_of(PyTypeObject *type) { return type->tp_dict; }
    """
    PyObject *dictionary_of(PyTypeObject *)


cdef inline void log_class_record(Thread *thread, Probe *probe, PyObject *cls, uint32_t number, uint32_t op) noexcept:
    put_access(
        S, <uint64_t>cls, probe.name_number, RAW_WHAT(number, probe.site),
        RAW_WORD(thread.number, op, KEY_FIELD, probe.flags | FLAG_CLASS),
    )


cdef void log_class(Probe *probe, PyObject *obj, PyObject *cls, uint32_t op) noexcept:
    cdef uint32_t number = _log.number_of_type(cls)
    cdef Thread *thread
    if number == 0 or not (<_Type *>cls).tp_flags & Py_TPFLAGS_HEAPTYPE:
        return
    thread = ready(probe.site, 1)
    if thread != NULL:
        log_class_record(thread, probe, cls, number, op)


cdef void load_from_class(Probe *probe, PyObject *obj) noexcept:
    """`Class.attribute`: a read of the class that holds it. Methods and the like are no data."""
    cdef PyObject *value = _PyType_Lookup(<PyTypeObject *>obj, probe.name)
    cdef PyObject *holder
    if PyType_IsSubtype(<PyTypeObject *>obj, enum_type):
        return  # its members are constants
    if value != NULL:
        if (<_Type *>Py_TYPE(value)).tp_descr_get != NULL or PyType_Check(value):
            return
        holder = holder_of(<PyTypeObject *>obj, probe.name)
        if holder != NULL:
            log_class(probe, obj, holder, RAW_READ)
    elif _PyType_Lookup(Py_TYPE(obj), probe.name) == NULL:
        log_class(probe, obj, obj, RAW_READ)


cdef void log_alias(Probe *probe, PyObject *obj) noexcept:
    cdef PyObject *names
    cdef Thread *thread = ready(probe.site, 1)
    if thread == NULL:
        return
    names = PyObject_GenericGetDict(obj, NULL)
    if names == NULL:
        PyErr_Clear()
        return
    put_access(
        S, <uint64_t>names, <uint64_t>obj, RAW_WHAT(_log.type_number(obj), probe.site),
        RAW_WORD(thread.number, RAW_ALIAS, 0, 0),
    )
    see(<uint64_t>obj)
    Py_DECREF(names)


cdef bint load_cached(Probe *probe, PyObject *obj, uint32_t number) noexcept:
    """functools.cached_property: the first read computes it, which is then a write."""
    cdef PyObject *value
    cdef Thread *thread
    cdef Walk walk
    cdef bint goes_on = is_followed(Py_TYPE(obj), probe.name, probe.name_number, number)
    walk.new = 0
    if goes_on:
        catch_up(&walk, probe, obj, probe.name, probe.name_number, number, True)
    thread = ready(probe.site, <uint64_t>(walk.new + 2))
    if thread == NULL:
        return True
    log_at(thread, probe, RAW_READ, KEY_FIELD, obj, probe.name_number, number)
    value = value_in_dict(obj, probe.name)
    if value != NULL:
        if goes_on:
            log_held(&walk, thread, value)
        Py_DECREF(value)
        return True
    value = PyObject_GetAttr(obj, probe.name)
    if value == NULL:
        return False
    Py_DECREF(value)
    if S.on:
        thread = ready_after(probe.site)
        if thread != NULL:
            log_at(thread, probe, RAW_WRITE, KEY_FIELD, obj, probe.name_number, number)
            settle()
    return True


cdef PyObject *get_augmented(PyObject *self, PyObject *obj) noexcept:
    """The first half of `obj.name += value`."""
    cdef Probe *probe = <Probe *>self
    cdef PyObject *tapped = load_attr(self, obj)
    if tapped == NULL:
        return NULL
    Py_DECREF(tapped)
    return PyObject_GetAttr(obj, probe.name)


cdef int set_augmented(PyObject *self, PyObject *obj, PyObject *value) noexcept:
    cdef Probe *probe = <Probe *>self
    if value == NULL:
        PyErr_SetString(PyExc_TypeError, "not an augmented assignment")
        return -1
    if S.on:
        log_changed(probe, value)
        # What a type is to a load is not what it is to a store: both look up the type, none changes what is found.
        log_augmented_store(probe, obj)
    return PyObject_SetAttr(obj, probe.name, value)


cdef void log_augmented_store(Probe *probe, PyObject *obj) noexcept:
    cdef Found *found = attribute(probe, obj, False)
    cdef Thread *thread
    cdef uint32_t mode = found.mode
    cdef uint32_t number = found.number
    if mode != FIELD and mode != HOLDER:
        mode = attribute_mode(Py_TYPE(obj), probe.name, _PyType_Lookup(Py_TYPE(obj), probe.name), True)
        if mode == MODULE:
            log_module(probe, obj, RAW_WRITE)
            return
        if mode == CLASS:
            log_class(probe, obj, obj, RAW_WRITE)
            return
        number = _log.type_number(obj) if mode == FIELD else 0
        if number == 0:
            return
    elif (<_Type *>Py_TYPE(obj)).tp_setattro != (<_Type *>&PyBaseObject_Type).tp_setattro:
        return
    thread = ready(probe.site, 1)
    if thread != NULL:
        log_at(thread, probe, RAW_WRITE, KEY_FIELD, obj, probe.name_number, number)


cdef void log_changed(Probe *probe, PyObject *value) noexcept:
    """The result of an augmented assignment: a builtin container was changed in place."""
    cdef PyTypeObject *type = Py_TYPE(value)
    cdef uint32_t number
    cdef Thread *thread
    if type != &PyList_Type and type != &PySet_Type and type != &PyDict_Type and type != deque_type:
        return
    number = _log.number_of_type(<PyObject *>type)
    thread = ready_after(probe.site)
    if thread != NULL and number:
        log_structure(thread, probe, RAW_WRITE, value, number)
        settle()


# --- modules --------------------------------------------------------------------------------------------------------

cdef dict shared_names = {}     # by name of the module: those of its globals that functions write
cdef set written_outside = set()


cdef bint reads_are_logged(PyObject *module, PyObject *name) noexcept:
    cdef PyObject *names = PyModule_GetDict(module)
    cdef PyObject *saved[3]
    cdef bint answer = False
    if names == NULL:
        return False
    if not written_outside and not _log.is_instrumented_namespace(names):
        return False
    keep_error(saved)
    try:
        if _log.is_instrumented_namespace(names):
            module_name = _log.namespaces.get(<uint64_t>names)
            answer = <object>name in shared_names.get(module_name, ())
        if not answer and written_outside:
            answer = (<uint64_t>names, <object>name) in written_outside
    except Exception:
        pass
    give_error_back(saved)
    return answer


cdef void log_module(Probe *probe, PyObject *module, uint32_t op) noexcept:
    cdef PyObject *names = PyModule_GetDict(module)
    cdef PyObject *saved[3]
    cdef Thread *thread
    if names == NULL:
        return
    if op == RAW_WRITE:
        keep_error(saved)
        try:
            note_written(<uint64_t>names, <object>names, <object>probe.name)
        except Exception:
            pass
        give_error_back(saved)
    thread = ready(probe.site, 1)
    if thread != NULL:
        log_at(thread, probe, op, KEY_FIELD, names, probe.name_number, 0)


cdef note_written(uint64_t address, dict names, str name):
    written = address, name
    if written not in written_outside:
        written_outside.add(written)
        if address not in _log.namespaces:
            _log.name_namespace(address, names.get("__name__"))


# --- items ----------------------------------------------------------------------------------------------------------

cdef inline bint place_of(PyObject *obj, PyObject *key, Py_ssize_t *place, bint *is_negative) noexcept:
    """The place in a sequence that an exact integer means; False if there is none."""
    cdef Py_ssize_t size = builtin_size(obj)
    place[0] = PyLong_AsSsize_t(key)
    is_negative[0] = False
    if place[0] < 0:
        if place[0] == -1 and PyErr_Occurred() != NULL:
            PyErr_Clear()
            return False
        place[0] += size
        is_negative[0] = True
    return 0 <= place[0] < size


cdef PyObject *get_item(Probe *probe, PyObject *obj, PyObject *key) noexcept:
    if LIKELY(S.on):
        return logged_item(probe, obj, key)
    return PyObject_GetItem(obj, key)


cdef PyObject *logged_item(Probe *probe, PyObject *obj, PyObject *key) noexcept:
    cdef PyTypeObject *type = Py_TYPE(obj)
    cdef Thread *thread
    cdef Py_ssize_t place
    cdef bint is_negative
    cdef Key found
    if type == &PyDict_Type:
        key_of(key, &found)
        thread = ready(probe.site, 1)
        if thread != NULL:
            log_key(thread, probe, RAW_READ, obj, &found, the_dict_number())
        return dict_subscript(obj, key)
    if type == &PyList_Type and Py_TYPE(key) == &PyLong_Type:
        thread = ready(probe.site, 2)
        if place_of(obj, key, &place, &is_negative):
            if thread != NULL:
                log_at(thread, probe, RAW_READ, KEY_INDEX, obj, <uint64_t>place, the_list_number())
                if is_negative:
                    log_structure(thread, probe, RAW_READ, obj, list_number)
            return new_ref(PyList_GET_ITEM(obj, place))
        if thread != NULL:
            log_structure(thread, probe, RAW_READ, obj, the_list_number())
        return list_subscript(obj, key)
    if type == &PyTuple_Type or type == &PyUnicode_Type or type == &PyBytes_Type:
        return PyObject_GetItem(obj, key)
    return other_item(probe, obj, key)


cdef inline uint32_t the_list_number() noexcept:
    global list_number
    if UNLIKELY(list_number == 0):
        list_number = _log.number_of_type(<PyObject *>&PyList_Type)
    return list_number


cdef inline uint32_t the_dict_number() noexcept:
    global dict_number
    if UNLIKELY(dict_number == 0):
        dict_number = _log.number_of_type(<PyObject *>&PyDict_Type)
    return dict_number


cdef PyObject *other_item(Probe *probe, PyObject *obj, PyObject *key) noexcept:
    """Subclasses, the containers of `collections`, slices, and everything that has a __getitem__ of its own."""
    cdef Found *found = container(probe, obj, name_of_getitem)
    cdef uint32_t shape = found.shape
    cdef uint32_t number = found.number
    cdef bint is_there = True
    cdef PyObject *value
    cdef Thread *thread
    cdef Key place
    if found.mode != CONTAINER or shape == TEXT or shape == PLAIN:
        return PyObject_GetItem(obj, key)
    if shape == SEQUENCE:
        log_place(probe, obj, key, number, RAW_READ)
        return PyObject_GetItem(obj, key)
    key_of(key, &place)
    thread = ready(probe.site, 1)
    if thread != NULL:
        log_key(thread, probe, RAW_READ, obj, &place, number)
        if shape == MISSING and place.kind != KEY_WHOLE:
            is_there = PyDict_GetItemWithError(obj, key) != NULL
            if PyErr_Occurred() != NULL:
                PyErr_Clear()
    value = PyObject_GetItem(obj, key)
    if not is_there and value != NULL and S.on and PyDict_GetItemWithError(obj, key) != NULL:
        thread = ready_after(probe.site)
        if thread != NULL:
            log_key(thread, probe, RAW_WRITE, obj, &place, number)
            log_structure(thread, probe, RAW_WRITE, obj, number)
            settle()
    return value


cdef bint log_slice(Thread *thread, Probe *probe, PyObject *obj, PyObject *key, uint32_t number) noexcept:
    """Reads of the elements of a slice, and of the structure if it decides which these are. False: it is no plain one."""
    cdef Py_ssize_t size = builtin_size(obj)
    cdef Py_ssize_t start, stop, first, last, step, i
    if not is_plain_bound((<_Slice *>key).start) or not is_plain_bound((<_Slice *>key).stop):
        return False
    if not is_plain_bound((<_Slice *>key).step) or PySlice_Unpack(key, &start, &stop, &step) < 0:
        PyErr_Clear()
        return False
    if step != 1:
        return False
    first, last = start, stop
    PySlice_AdjustIndices(size, &start, &stop, step)
    if stop - start > MOST:
        return False
    for i in range(start, stop):
        log_at(thread, probe, RAW_READ, KEY_INDEX, obj, <uint64_t>i, number)
    if first != start or last != stop:
        log_structure(thread, probe, RAW_READ, obj, number)
    return True


cdef inline bint is_plain_bound(PyObject *bound) noexcept:
    """Neither the program's code nor an error comes of asking what it is."""
    return bound == Py_None or Py_TYPE(bound) == &PyLong_Type


cdef void log_place(Probe *probe, PyObject *obj, PyObject *key, uint32_t number, uint32_t op) noexcept:
    """A place in a sequence, or a slice of it."""
    cdef Thread *thread = ready(probe.site, ROOM)
    cdef Py_ssize_t place
    cdef bint is_negative
    if thread == NULL:
        return
    if Py_TYPE(key) == &PyLong_Type and place_of(obj, key, &place, &is_negative):
        log_at(thread, probe, op, KEY_INDEX, obj, <uint64_t>place, number)
        if is_negative:
            log_structure(thread, probe, RAW_READ, obj, number)
    elif Py_TYPE(key) == &PySlice_Type:
        if op != RAW_READ or not log_slice(thread, probe, obj, key, number):
            log_elements(thread, probe, op, obj, number, SEQUENCE, 0)
            log_structure(thread, probe, op, obj, number)
    elif Py_TYPE(key) == &PyLong_Type:
        log_structure(thread, probe, RAW_READ, obj, number)
    else:
        log_at(thread, probe, op, KEY_WHOLE, obj, 0, number)


cdef int set_item(Probe *probe, PyObject *obj, PyObject *key, PyObject *value) noexcept:
    if not S.on:
        return PyObject_DelItem(obj, key) if value == NULL else PyObject_SetItem(obj, key, value)
    if probe.flags and value != NULL:
        log_changed(probe, value)
    if value == NULL:
        return delete_item(probe, obj, key)
    return store_item(probe, obj, key, value)


cdef int store_item(Probe *probe, PyObject *obj, PyObject *key, PyObject *value) noexcept:
    cdef PyTypeObject *type = Py_TYPE(obj)
    cdef Found *found
    cdef Thread *thread
    cdef Py_ssize_t place
    cdef bint is_negative
    cdef Key where
    if type == &PyDict_Type:
        return store_by_key(probe, obj, key, value, MAPPING, the_dict_number(), True)
    if type == &PyList_Type and Py_TYPE(key) == &PyLong_Type:
        thread = ready(probe.site, 2)
        if place_of(obj, key, &place, &is_negative):
            if thread != NULL:
                log_at(thread, probe, RAW_WRITE, KEY_INDEX, obj, <uint64_t>place, the_list_number())
                if is_negative:
                    log_structure(thread, probe, RAW_READ, obj, list_number)
        elif thread != NULL:
            log_structure(thread, probe, RAW_READ, obj, the_list_number())
        return list_store(obj, key, value)
    found = container(probe, obj, name_of_setitem)
    if found.mode != CONTAINER or found.shape == TEXT or found.shape == PLAIN:
        return PyObject_SetItem(obj, key, value)
    if found.shape == SEQUENCE:
        log_place(probe, obj, key, found.number, RAW_WRITE)
        return PyObject_SetItem(obj, key, value)
    return store_by_key(probe, obj, key, value, found.shape, found.number, False)


cdef inline int store_by_key(
    Probe *probe, PyObject *obj, PyObject *key, PyObject *value, uint32_t shape, uint32_t number, bint is_dict
) noexcept:
    """The element is logged before the store, which can free the old value and so run code; the structure after it,
    because only then is it known whether the key was new, and then there was no old value."""
    cdef Key where
    cdef Thread *thread
    cdef Py_ssize_t size
    cdef int status
    key_of(key, &where)
    thread = ready(probe.site, 2)
    if thread == NULL:
        return PyObject_SetItem(obj, key, value)
    log_key(thread, probe, RAW_WRITE, obj, &where, number)
    if shape == CHAIN:
        log_structure(thread, probe, RAW_WRITE, obj, number)
        return PyObject_SetItem(obj, key, value)
    size = PyDict_Size(obj)
    status = dict_store(obj, key, value) if is_dict else PyObject_SetItem(obj, key, value)
    if PyDict_Size(obj) > size and S.on:
        thread = ready_after(probe.site)
        if thread != NULL:
            log_structure(thread, probe, RAW_WRITE, obj, number)
            settle()
    return status


cdef int delete_item(Probe *probe, PyObject *obj, PyObject *key) noexcept:
    """What is removed is kept until the removal is logged: freeing it can run code."""
    cdef Found *found = container(probe, obj, name_of_delitem)
    cdef uint32_t number = found.number
    cdef uint32_t shape = found.shape
    cdef PyObject *old = NULL
    cdef Thread *thread
    cdef Key where
    cdef int status
    if found.mode != CONTAINER or shape == TEXT or shape == PLAIN:
        return PyObject_DelItem(obj, key)
    if shape == SEQUENCE:
        log_removal(probe, obj, key, number)
        return PyObject_DelItem(obj, key)
    key_of(key, &where)
    thread = ready(probe.site, 2)
    if thread != NULL:
        if shape != CHAIN and where.kind != KEY_WHOLE:
            old = PyDict_GetItemWithError(obj, key)
            if old == NULL:
                log_key(thread, probe, RAW_READ, obj, &where, number)
                return PyObject_DelItem(obj, key)
            Py_INCREF(old)
        log_key(thread, probe, RAW_WRITE, obj, &where, number)
        log_structure(thread, probe, RAW_WRITE, obj, number)
    status = PyObject_DelItem(obj, key)
    Py_XDECREF(old)
    return status


cdef void log_removal(Probe *probe, PyObject *obj, PyObject *key, uint32_t number) noexcept:
    """Everything behind it moves up."""
    cdef Thread *thread = ready(probe.site, ROOM)
    cdef Py_ssize_t place = 0
    cdef bint is_negative
    if thread == NULL:
        return
    if Py_TYPE(key) == &PyLong_Type and not place_of(obj, key, &place, &is_negative):
        log_structure(thread, probe, RAW_READ, obj, number)
        return
    log_elements(thread, probe, RAW_WRITE, obj, number, SEQUENCE, place)
    log_structure(thread, probe, RAW_WRITE, obj, number)


# --- names and closure variables ------------------------------------------------------------------------------------

cdef PyObject *load_name(PyObject *self, PyObject *value) noexcept:
    cdef Probe *probe = <Probe *>self
    cdef Thread *thread
    cdef PyObject *again
    if S.on:
        if not is_registered():
            # The value was loaded before other threads ran: it is loaded again.
            ready_after(probe.site)
            again = PyDict_GetItemWithError(PyEval_GetGlobals(), probe.name)
            if again != NULL:
                value = again
            elif PyErr_Occurred() != NULL:
                PyErr_Clear()
        thread = ready_after(probe.site) if S.on else NULL
        if thread != NULL:
            Py_INCREF(value)
            log_at(thread, probe, RAW_READ, KEY_FIELD, PyEval_GetGlobals(), probe.name_number, 0)
            settle()
            return value
    return new_ref(value)


cdef PyObject *store_name(PyObject *self, PyObject *value) noexcept:
    cdef Probe *probe = <Probe *>self
    cdef Thread *thread
    if S.on:
        if probe.flags:
            log_changed(probe, value)
        thread = ready(probe.site, 1)
        if thread != NULL:
            log_at(thread, probe, RAW_WRITE, KEY_FIELD, PyEval_GetGlobals(), probe.name_number, 0)
    return new_ref(value)


cdef PyObject *make_cells(PyObject *self, PyObject *value) noexcept:
    if S.on:
        the_cells_number()
    return new_cells()


cdef inline uint32_t the_cells_number() noexcept:
    global cells_number
    if UNLIKELY(cells_number == 0):
        cells_number = _log.number_of_type(<PyObject *>&cells_type)
    return cells_number


cdef PyObject *load_cell(PyObject *self, PyObject *pair) noexcept:
    cdef Probe *probe = <Probe *>self
    cdef PyObject *cells = PyTuple_GET_ITEM(pair, 1)
    cdef Thread *thread
    cdef uint32_t number
    if S.on and Py_TYPE(cells) == &cells_type:
        if UNLIKELY(not is_registered() or cells_number == 0):
            # Other threads may run while this is made up for, and the variable cannot be loaded again: better no record
            # than one in the wrong place.
            the_cells_number()
            ready_after(probe.site)
            settle()
            return new_ref(PyTuple_GET_ITEM(pair, 0))
        number = cells_number
        thread = ready_after(probe.site)
        if thread != NULL:
            log_at(thread, probe, RAW_READ, KEY_FIELD, cells, probe.name_number, number)
            settle()
    return new_ref(PyTuple_GET_ITEM(pair, 0))


cdef PyObject *store_cell(PyObject *self, PyObject *pair) noexcept:
    cdef Probe *probe = <Probe *>self
    cdef PyObject *cells = PyTuple_GET_ITEM(pair, 1)
    cdef Thread *thread
    cdef uint32_t number
    if S.on and Py_TYPE(cells) == &cells_type:
        if probe.flags:
            log_changed(probe, PyTuple_GET_ITEM(pair, 0))
        number = the_cells_number()
        thread = ready(probe.site, 1)
        if thread != NULL:
            log_at(thread, probe, RAW_WRITE, KEY_FIELD, cells, probe.name_number, number)
    return new_ref(PyTuple_GET_ITEM(pair, 0))


# --- methods and functions with effects -----------------------------------------------------------------------------

cdef bint is_there(PyObject *obj, PyObject *key, uint32_t shape) noexcept:
    """Whether a key, which runs no code, is in a dict or set."""
    cdef bint answer
    if shape == SET:
        answer = PySet_Contains(obj, key) == 1
    else:
        answer = PyDict_GetItemWithError(obj, key) != NULL
    if PyErr_Occurred() != NULL:
        PyErr_Clear()
    return answer


cdef void log_steps(
    Probe *probe, PyObject *obj, PyObject *argument, uint32_t shape, uint32_t number, uint64_t steps, uint64_t absent
) noexcept:
    """The events of a method or function; `argument` may be NULL: there is none, or it is not known."""
    cdef Key key
    cdef Thread *thread
    cdef uint64_t records = 2
    cdef uint32_t step, op
    cdef PyObject *other = NULL
    cdef uint32_t other_number = 0
    cdef uint32_t other_shape = 0
    key.kind = KEY_WHOLE
    key.key = 0
    if argument != NULL and shape != SEQUENCE and shape != TEXT:
        if (steps & 0xff & ~<uint64_t>STEP_WRITE) == AT_ELEMENT:
            key_of(argument, &key)
    if is_bulky(steps):
        records = ROOM
        if argument != NULL:
            other_shape = builtin_shape(argument, &other_number)
            other = argument
            if other_shape >= KEYS and other_shape <= ITEMS:
                other = viewed(argument)
                other_shape = MAPPING
    if KEYS <= shape <= ITEMS:
        obj = viewed(obj)
        shape = MAPPING
    thread = ready(probe.site, records)
    if thread == NULL:
        return
    if steps != absent and key.kind != KEY_WHOLE and shape != CHAIN and not is_there(obj, argument, shape):
        steps = absent
    elif steps != absent and key.kind == KEY_WHOLE:
        # Not known whether it is there: the stronger of the two.
        steps = absent if (absent & 0xff) & STEP_WRITE else steps
    while steps:
        step = <uint32_t>(steps & 0x7f)
        op = RAW_WRITE if steps & STEP_WRITE else RAW_READ
        steps >>= 8
        if step == AT_STRUCTURE:
            log_structure(thread, probe, op, obj, number)
        elif step == AT_ELEMENT:
            log_key(thread, probe, op, obj, &key, number)
        elif step == AT_ELEMENTS:
            log_elements(thread, probe, op, obj, number, shape, 0)
        elif step == AT_FIRST:
            if size_of(obj, shape) > 0:
                log_at(thread, probe, op, KEY_INDEX, obj, 0, number)
        elif step == AT_LAST:
            log_last(thread, probe, op, obj, number, shape, argument)
        elif step == AT_KEYS:
            log_merge(thread, probe, obj, number, other, other_shape)
        elif step == AT_ARGUMENT:
            if other != NULL and SEQUENCE <= other_shape <= SET:
                log_structure(thread, probe, op, other, other_number)
                log_elements(thread, probe, op, other, other_number, other_shape, 0)


cdef inline bint is_bulky(uint64_t steps) noexcept:
    cdef uint32_t step
    while steps:
        step = <uint32_t>(steps & 0x7f)
        if step == AT_ELEMENTS or step == AT_LAST or step == AT_KEYS or step == AT_ARGUMENT:
            return True
        steps >>= 8
    return False


cdef uint32_t builtin_shape(PyObject *obj, uint32_t *number) noexcept:
    """Of an object of exactly a builtin container type."""
    cdef PyObject *saved[3]
    cdef uint32_t shape = 0
    cdef PyTypeObject *type = Py_TYPE(obj)
    if type == &PyTuple_Type or type == &PyUnicode_Type or type == &PyLong_Type or obj == Py_None:
        return 0
    keep_error(saved)
    try:
        known = containers.get(<object><PyObject *>type)
        if known is not None:
            shape = known[0]
    except Exception:
        pass
    if shape == TEXT or shape == PLAIN:
        shape = 0
    if shape:
        number[0] = _log.number_of_type(<PyObject *>(type if not KEYS <= shape <= ITEMS else Py_TYPE(viewed(obj))))
        if number[0] == 0:
            shape = 0
    if shape == MISSING:
        shape = MAPPING
    give_error_back(saved)
    return shape


cdef void log_last(
    Thread *thread, Probe *probe, uint32_t op, PyObject *obj, uint32_t number, uint32_t shape, PyObject *argument
) noexcept:
    """The last element, or of a sequence everything from the place that the argument says."""
    cdef Py_ssize_t size, place
    cdef Py_ssize_t position = 0
    cdef bint is_negative
    cdef PyObject *key = NULL
    cdef PyObject *last = NULL
    cdef PyObject *value = NULL
    if shape == CHAIN:
        log_at(thread, probe, op, KEY_WHOLE, obj, 0, number)
        return
    size = size_of(obj, shape)
    if size <= 0:
        return
    if shape == SEQUENCE:
        place = size - 1
        if argument != NULL and Py_TYPE(argument) == &PyLong_Type:
            if not place_of(obj, argument, &place, &is_negative):
                return
        log_elements(thread, probe, op, obj, number, shape, place)
    elif size > MOST:
        log_at(thread, probe, op, KEY_WHOLE, obj, 0, number)
    else:
        while PyDict_Next(obj, &position, &key, &value):
            last = key
        if last != NULL:
            log_known_key(thread, probe, op, obj, last, number)


cdef void log_merge(
    Thread *thread, Probe *probe, PyObject *obj, uint32_t number, PyObject *other, uint32_t other_shape
) noexcept:
    """`update`: a store for each key of the argument."""
    cdef Py_ssize_t position = 0
    cdef PyObject *key = NULL
    cdef PyObject *value = NULL
    cdef bint is_new = False
    if other == NULL or other_shape != MAPPING or PyDict_Size(other) > MOST:
        log_at(thread, probe, RAW_WRITE, KEY_WHOLE, obj, 0, number)
        log_structure(thread, probe, RAW_WRITE, obj, number)
        return
    while PyDict_Next(other, &position, &key, &value):
        log_known_key(thread, probe, RAW_WRITE, obj, key, number)
        if not is_new and PyDict_Check(obj) and not (is_exact(key, 0) and is_there(obj, key, MAPPING)):
            is_new = True
    if is_new or not PyDict_Check(obj):
        log_structure(thread, probe, RAW_WRITE, obj, number)


cdef bint log_method(Probe *probe, PyObject *obj, PyObject *argument) noexcept:
    """A call of a method that may be one with effects. False: an error is set."""
    cdef Found *found
    cdef PyTypeObject *type = Py_TYPE(obj)
    if type == &PyUnicode_Type and argument == NULL:
        return True
    found = container(probe, obj, <object>probe.name)
    if found.mode == CONTAINER:
        if found.steps:
            if found.shape == PLAIN:
                log_named(probe, obj, argument, found.steps)
            else:
                log_steps(probe, obj, argument, found.shape, found.number, found.steps, found.absent)
        return True
    if not (<_Type *>type).tp_flags & Py_TPFLAGS_HEAPTYPE and type != &PyModule_Type and not PyType_Check(obj):
        return True
    return load_uncached(probe, obj)


cdef bint load_uncached(Probe *probe, PyObject *obj) noexcept:
    """A read of the attribute that is about to be called, at a probe whose memory is for containers."""
    cdef PyTypeObject *type = Py_TYPE(obj)
    cdef uint32_t mode = attribute_mode(type, probe.name, _PyType_Lookup(type, probe.name), False)
    cdef uint32_t number = 0
    cdef Thread *thread
    if mode == SKIP:
        return True
    if mode != MODULE and mode != CLASS:
        number = _log.number_of_type(<PyObject *>type)
        if number == 0:
            return True
    if mode != FIELD:
        return load_special(probe, obj, mode, number)
    thread = ready(probe.site, 1)
    if thread != NULL:
        log_at(thread, probe, RAW_READ, KEY_FIELD, obj, probe.name_number, number)
    return True


cdef void log_named(Probe *probe, PyObject *obj, PyObject *name, uint64_t steps) noexcept:
    """`super().__setattr__(name, value)`, `obj.__setattr__(name, value)`."""
    if Py_TYPE(obj) == &PySuper_Type:
        obj = super_object(obj)
    if obj != NULL and name != NULL and PyUnicode_CheckExact(name):
        log_attribute(probe, obj, name, RAW_WRITE if steps & STEP_WRITE else RAW_READ, True)


cdef void log_attribute(Probe *probe, PyObject *obj, PyObject *name, uint32_t op, bint is_raw) noexcept:
    """An attribute whose name is known only now. `is_raw`: by object's own method, whatever the class defines."""
    cdef PyTypeObject *type = Py_TYPE(obj)
    cdef PyObject *found = _PyType_Lookup(type, name)
    cdef PyObject *saved[3]
    cdef uint32_t mode, own
    cdef uint32_t number = 0
    cdef uint32_t name_number = 0
    cdef Thread *thread
    if is_raw and (<_Type *>type).tp_flags & Py_TPFLAGS_HEAPTYPE and not PyType_Check(obj):
        mode = FIELD if found == NULL else descriptor_mode(found, op == RAW_WRITE)
    else:
        mode = attribute_mode(type, name, found, op == RAW_WRITE)
    own = mode
    if mode == FIELD_OR_CLASS or mode == CACHED:
        mode = FIELD
    if mode == SKIP or mode == ALIAS:
        return
    if mode == CLASS and op == RAW_READ:
        found = _PyType_Lookup(<PyTypeObject *>obj, name)
        if found != NULL and ((<_Type *>Py_TYPE(found)).tp_descr_get != NULL or PyType_Check(found)):
            return
        if found != NULL:
            obj = holder_of(<PyTypeObject *>obj, name)
    if mode == MODULE:
        if op == RAW_READ and not reads_are_logged(obj, name):
            return
        obj = PyModule_GetDict(obj)
    if obj == NULL:
        return
    if mode != MODULE:
        number = _log.number_of_type(obj if mode == CLASS else <PyObject *>type)
        if number == 0:
            return
    keep_error(saved)
    try:
        name_number = _log.name_number(sys.intern(<object>name))
        if mode == MODULE and op == RAW_WRITE:
            note_written(<uint64_t>obj, <object>obj, <object>name)
    except Exception:
        pass
    give_error_back(saved)
    if name_number == 0:
        return
    if op == RAW_READ and mode == FIELD and own != CACHED and is_followed(type, name, name_number, number):
        load_followed(probe, obj, name, name_number, number, 0)
        return
    thread = ready(probe.site, 1)
    if thread != NULL:
        put_access(
            S, <uint64_t>obj, name_number, RAW_WHAT(number, probe.site),
            RAW_WORD(thread.number, op, KEY_FIELD, FLAG_CLASS if mode == CLASS else 0),
        )


cdef PyObject *method(PyObject *self, PyObject *obj) noexcept:
    if S.on and not log_method(<Probe *>self, obj, NULL):
        return NULL
    return new_ref(obj)


cdef PyObject *keyed_method(PyObject *self, PyObject *pair) noexcept:
    cdef PyObject *obj = PyTuple_GET_ITEM(pair, 0)
    if S.on and not log_method(<Probe *>self, obj, PyTuple_GET_ITEM(pair, 1)):
        return NULL
    return new_ref(obj)


cdef PyObject *late_method(PyObject *self, PyObject *obj) noexcept:
    """What `obj.name` is, or a stand-in that logs when it is called: the arguments are evaluated between."""
    cdef Probe *probe = <Probe *>self
    cdef Found *found
    if S.on:
        found = container(probe, obj, <object>probe.name)
        if found.mode == CONTAINER:
            if found.steps and found.shape != PLAIN:
                return new_later(probe, obj, fast_call_later)
        elif (<_Type *>Py_TYPE(obj)).tp_flags & Py_TPFLAGS_HEAPTYPE or Py_TYPE(obj) == &PyModule_Type:
            if not load_uncached(probe, obj):
                return NULL
    return PyObject_GetAttr(obj, probe.name)


cdef PyObject *call_later(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) noexcept:
    cdef Later *later = <Later *>self
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    cdef PyObject *bound
    cdef PyObject *result
    cdef PyObject *saved
    cdef PyObject **whole
    if S.on and not log_method(later.probe, later.object, args[0] if count > 0 else NULL):
        return NULL
    if nargsf & PY_VECTORCALL_ARGUMENTS_OFFSET:
        # there is room for the object before its arguments: no bound method need be made
        whole = <PyObject **>args - 1
        saved = whole[0]
        whole[0] = later.object
        result = PyObject_VectorcallMethod(later.probe.name, whole, count + 1, names)
        whole[0] = saved
        return result
    bound = PyObject_GetAttr(later.object, later.probe.name)
    if bound == NULL:
        return NULL
    result = PyObject_Vectorcall(bound, args, nargsf, names)
    Py_DECREF(bound)
    return result


cdef PyObject *argument(PyObject *self, PyObject *obj) noexcept:
    cdef Probe *probe = <Probe *>self
    if S.on:
        return logged_argument(probe, obj)
    return new_ref(obj)


cdef PyObject *logged_argument(Probe *probe, PyObject *obj) noexcept:
    cdef uint32_t step = <uint32_t>(probe.steps & 0x7f)
    if step == STEP_ITERATE:
        return iterating(probe, obj)
    if step == STEP_ALIAS:
        if (<_Type *>Py_TYPE(obj)).tp_flags & Py_TPFLAGS_HEAPTYPE and not PyType_Check(obj):
            log_alias(probe, obj)
    elif step == AT_EVERYTHING:
        log_deep(probe, obj, 0)
    elif not log_whole(probe, obj) and has_fields(probe.steps):
        log_fields(probe, obj, NULL)
    return new_ref(obj)


cdef inline bint has_fields(uint64_t steps) noexcept:
    while steps:
        if steps & 0x7f == AT_FIELDS:
            return True
        steps >>= 8
    return False


cdef bint log_whole(Probe *probe, PyObject *obj) noexcept:
    """The effect of the probe's function on a container. False: it is none."""
    cdef PyTypeObject *type = Py_TYPE(obj)
    cdef Found *found
    if type == &PyTuple_Type or type == &PyUnicode_Type or type == &PyLong_Type:
        return True
    found = container(probe, obj, name_of_len)
    if found.mode != CONTAINER or found.shape == TEXT or found.shape == PLAIN:
        return False
    log_steps(probe, obj, NULL, found.shape, found.number, probe.steps, probe.steps)
    return True


cdef void log_fields(Probe *probe, PyObject *obj, PyObject **values) noexcept:
    """Each attribute of an object: `copy.copy(obj)`."""
    cdef PyObject *names
    cdef PyObject *key = NULL
    cdef PyObject *value = NULL
    cdef Py_ssize_t position = 0
    cdef Py_ssize_t size, i
    if not (<_Type *>Py_TYPE(obj)).tp_flags & Py_TPFLAGS_HEAPTYPE or PyType_Check(obj):
        return
    names = PyObject_GenericGetDict(obj, NULL)
    if names == NULL:
        PyErr_Clear()
        return
    size = 0
    try:
        # A copy of the names, because numbering them can let other threads run.
        texts = [text for text in <object>names if type(text) is str]
        for text in texts[:MOST]:
            log_attribute(probe, obj, <PyObject *>text, RAW_READ, False)
    except Exception:
        pass
    Py_DECREF(names)


cdef void log_deep(Probe *probe, PyObject *obj, int depth) noexcept:
    """A container or object and what is in it: `json.dumps`, `copy.deepcopy`."""
    cdef PyTypeObject *type = Py_TYPE(obj)
    cdef uint32_t number = 0
    cdef uint32_t shape
    cdef PyObject *saved[3]
    cdef Thread *thread
    if type == &PyUnicode_Type or type == &PyLong_Type or obj == Py_None or depth > 4:
        return
    shape = builtin_shape(obj, &number)
    if KEYS <= shape <= ITEMS:
        return
    if shape:
        thread = ready(probe.site, ROOM)
        if thread == NULL:
            return
        log_structure(thread, probe, RAW_READ, obj, number)
        log_elements(thread, probe, RAW_READ, obj, number, shape, 0)
    elif type != &PyTuple_Type:
        log_fields(probe, obj, NULL)
    keep_error(saved)
    try:
        for inner in contents(<object>obj, shape):
            log_deep(probe, <PyObject *>inner, depth + 1)
    except Exception:
        pass
    give_error_back(saved)


cdef list contents(object obj, uint32_t shape):
    """What is in it, as a list: logging can let other threads run."""
    if shape == MAPPING:
        return list(dict.values(obj))[:MOST]
    if shape == SEQUENCE and type(obj) in (list, collections.deque) or type(obj) is tuple:
        return list(obj)[:MOST]
    if not shape and isinstance(getattr(type(obj), "__dict__", None), kinds.MappingProxyType):
        names = <PyObject *>PyObject_GenericGetDict(<PyObject *>obj, NULL)
        if names == NULL:
            PyErr_Clear()
            return []
        values = list((<object>names).values())[:MOST]
        Py_DECREF(names)
        return values
    return []


# --- calls that are seen as a whole ---------------------------------------------------------------------------------

cdef PyObject *call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) noexcept:
    """P(f, a, b, k=c): logs what f does if it is the function that its name says, and calls it."""
    cdef Probe *probe = <Probe *>self
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    if count < 1:
        PyErr_SetString(PyExc_TypeError, "a probe of a call wants the function")
        return NULL
    if S.on and is_function(probe, args[0]):
        if probe.does == DOES_ITERATE:
            return call_iterating(probe, args, count, names)
        if probe.does == DOES_WRITE_ITEM and count == 4 and names == NULL:
            if not is_own_method(args, name_of_setitem):
                return call_method_of_base(probe, args, count)
            if store_item(probe, args[1], args[2], args[3]) < 0:
                return NULL
            return new_ref(Py_None)
        if probe.does == DOES_DELETE_ITEM and count == 3 and names == NULL:
            if not is_own_method(args, name_of_delitem):
                return call_method_of_base(probe, args, count)
            if delete_item(probe, args[1], args[2]) < 0:
                return NULL
            return new_ref(Py_None)
        log_call(probe, args, count)
    return PyObject_Vectorcall(args[0], args + 1, (count - 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, names)


cdef inline bint is_own_method(PyObject *const *args, object name) noexcept:
    """Whether `f(obj, key)` does what `obj[key]` would: operator.setitem always, dict.__setitem__ unless obj has its own."""
    if Py_TYPE(args[0]) != &PyWrapperDescr_Type and Py_TYPE(args[0]) != &PyMethodDescr_Type:
        return Py_TYPE(args[0]) == &PyCFunction_Type
    return _PyType_Lookup(Py_TYPE(args[1]), <PyObject *>name) == args[0]


cdef PyObject *call_method_of_base(Probe *probe, PyObject *const *args, Py_ssize_t count) noexcept:
    """dict.__setitem__(obj, key, value), where the class of obj has a method of its own that is not to be called."""
    cdef Thread *thread
    cdef Py_ssize_t size
    cdef PyObject *result
    cdef Key where
    cdef uint32_t number
    if not PyDict_Check(args[1]):
        return PyObject_Vectorcall(args[0], args + 1, (count - 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL)
    number = _log.number_of_type(<PyObject *>Py_TYPE(args[1]))
    key_of(args[2], &where)
    thread = ready(probe.site, 2)
    if thread != NULL:
        log_key(thread, probe, RAW_WRITE, args[1], &where, number)
    size = PyDict_Size(args[1])
    result = PyObject_Vectorcall(args[0], args + 1, (count - 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL)
    if thread != NULL and PyDict_Size(args[1]) != size and S.on:
        thread = ready_after(probe.site)
        if thread != NULL:
            log_structure(thread, probe, RAW_WRITE, args[1], number)
            settle()
    return result


cdef void log_call(Probe *probe, PyObject *const *args, Py_ssize_t count) noexcept:
    cdef Py_ssize_t i
    cdef PyObject *tapped
    if count < 2:
        return
    if probe.does == DOES_READ_ATTRIBUTE or probe.does == DOES_WRITE_ATTRIBUTE:
        if count > 2 and PyUnicode_CheckExact(args[2]):
            log_attribute(
                probe, args[1], args[2], RAW_READ if probe.does == DOES_READ_ATTRIBUTE else RAW_WRITE, probe.is_raw != 0
            )
    elif probe.does == DOES_READ_ITEM:
        if count > 2:
            log_contained(probe, args[1], args[2], name_of_getitem)
    elif probe.does == DOES_EACH:
        for i in range(1, count):
            log_whole(probe, args[i])
    elif probe.does == DOES_SECOND:
        if count > 2:
            log_whole(probe, args[2])
    elif probe.does == DOES_AUGMENT:
        log_augmenting(probe, args[1], args[2] if count > 2 else NULL)
    elif probe.steps:
        tapped = logged_argument(probe, args[1])
        Py_XDECREF(tapped)


cdef void log_augmenting(Probe *probe, PyObject *obj, PyObject *other) noexcept:
    """operator.iadd and the like, of a builtin container."""
    cdef uint32_t number = 0
    cdef uint32_t shape = builtin_shape(obj, &number)
    cdef Thread *thread
    if not SEQUENCE <= shape <= SET:
        return
    thread = ready(probe.site, 1)
    if thread != NULL:
        log_structure(thread, probe, RAW_WRITE, obj, number)


cdef PyObject *call_iterating(Probe *probe, PyObject *const *args, Py_ssize_t count, PyObject *names) noexcept:
    """map, filter, zip: they iterate later, and so the containers are given to them as iterators that log."""
    cdef PyObject *given[16]
    cdef PyObject *result
    cdef Py_ssize_t named = 0 if names == NULL else PyTuple_GET_SIZE(names)
    cdef Py_ssize_t i
    if count + named > 16:
        return PyObject_Vectorcall(args[0], args + 1, count - 1, names)
    for i in range(1, count + named):
        given[i] = iterating(probe, args[i]) if i < count else new_ref(args[i])
        if given[i] == NULL:
            given[i] = new_ref(args[i])
            PyErr_Clear()
    result = PyObject_Vectorcall(args[0], given + 1, count - 1, names)
    for i in range(1, count + named):
        Py_DECREF(given[i])
    return result


cdef bint is_function(Probe *probe, PyObject *function) noexcept:
    cdef PyObject *saved[3]
    if probe.function == NULL:
        keep_error(saved)
        try:
            known = _resolved(<object>probe.name)
            if known is not None:
                Py_INCREF(<PyObject *>known)
                probe.function = <PyObject *>known
        except Exception:
            pass
        give_error_back(saved)
    if probe.function == NULL:
        return False
    return function == probe.function


def _resolved(name):
    """What the canonical name of a function stands for; None if its module was not imported."""
    module, _, attribute = name.rpartition(".")
    if not module:
        return getattr(sys.modules["builtins"], name, None)
    if module in ("object", "type", "dict", "list"):
        return getattr(getattr(sys.modules["builtins"], module), attribute, None)
    if module in sys.modules:
        return getattr(sys.modules[module], attribute, None)
    outer, _, cls = module.rpartition(".")
    return getattr(getattr(sys.modules.get(outer), cls, None), attribute, None)


# --- iteration, truth, membership -----------------------------------------------------------------------------------

cdef PyObject *iterate(PyObject *self, PyObject *obj) noexcept:
    if S.on:
        return iterating(<Probe *>self, obj)
    return new_ref(obj)


cdef PyObject *iterating(Probe *probe, PyObject *obj) noexcept:
    """The object, or an iterator over it that logs."""
    cdef PyTypeObject *type = Py_TYPE(obj)
    cdef PyObject *iterator
    cdef PyObject *about = obj
    cdef Found *found
    cdef uint32_t shape, number
    if type == &PyTuple_Type or type == &PyUnicode_Type:
        return new_ref(obj)
    found = container(probe, obj, name_of_iter)
    shape = found.shape
    number = found.number
    if found.mode != CONTAINER or shape == TEXT or shape == PLAIN:
        return new_ref(obj)
    iterator = PyObject_GetIter(obj)
    if iterator == NULL:
        return NULL
    if KEYS <= shape <= ITEMS:
        about = viewed(obj)
        number = _log.type_number(about)
        if number == 0:
            return iterator
    return new_steps(probe, iterator, about, number, shape)


cdef PyObject *next_step(PyObject *self) noexcept:
    cdef Steps *steps = <Steps *>self
    cdef Thread *thread
    if steps.iterator == NULL:
        return NULL
    if S.on:
        thread = ready(steps.probe.site, 2)
        if thread != NULL:
            log_step(thread, steps)
    return step_of(steps.iterator)


cdef void log_step(Thread *thread, Steps *steps) noexcept:
    """The element that comes next, where the order of the iteration says which; else, and at both ends, the structure.

    Between the ends the reads of elements stand for it: a change of the structure is between the reads at the ends."""
    cdef PyObject *key = NULL
    cdef PyObject *value = NULL
    cdef bint has_element = False
    if steps.steps < MOST:
        if steps.shape == SEQUENCE:
            has_element = steps.steps < builtin_size(steps.container)
            if has_element:
                log_at(thread, steps.probe, RAW_READ, KEY_INDEX, steps.container, <uint64_t>steps.steps, steps.number)
        elif (steps.shape == VALUES or steps.shape == ITEMS) and Py_TYPE(steps.container) == &PyDict_Type:
            has_element = PyDict_Next(steps.container, &steps.position, &key, &value) != 0
            if has_element:
                log_known_key(thread, steps.probe, RAW_READ, steps.container, key, steps.number)
    if not has_element or steps.steps == 0:
        log_structure(thread, steps.probe, RAW_READ, steps.container, steps.number)
    steps.steps += 1


cdef PyObject *unpack(PyObject *self, PyObject *obj) noexcept:
    """Unpacking and truth tests: the steps of the probe."""
    if S.on:
        log_whole(<Probe *>self, obj)
    return new_ref(obj)


cdef PyObject *contains(PyObject *self, PyObject *pair) noexcept:
    cdef PyObject *obj = PyTuple_GET_ITEM(pair, 0)
    if S.on:
        log_contained(<Probe *>self, obj, PyTuple_GET_ITEM(pair, 1), name_of_contains)
    return new_ref(obj)


cdef void log_contained(Probe *probe, PyObject *obj, PyObject *key, object how) noexcept:
    cdef Found *found
    if Py_TYPE(obj) == &PyTuple_Type or Py_TYPE(obj) == &PyUnicode_Type:
        return
    found = container(probe, obj, how)
    if found.mode != CONTAINER or found.shape == TEXT or found.shape == PLAIN:
        return
    if found.shape == SEQUENCE and how is name_of_getitem:
        log_place(probe, obj, key, found.number, RAW_READ)
    elif found.shape == SEQUENCE or found.shape == VALUES or found.shape == ITEMS:
        log_steps(probe, obj, NULL, found.shape, found.number, AT_STRUCTURE | AT_ELEMENTS << 8, AT_STRUCTURE | AT_ELEMENTS << 8)
    else:
        log_steps(probe, obj, key, found.shape, found.number, AT_ELEMENT, AT_ELEMENT)


cdef PyObject *late_contains(PyObject *self, PyObject *pair) noexcept:
    cdef PyObject *key = PyTuple_GET_ITEM(pair, 0)
    cdef PyObject *obj = PyTuple_GET_ITEM(pair, 1)
    cdef int answer
    if S.on:
        log_contained(<Probe *>self, obj, key, name_of_contains)
    answer = PySequence_Contains(obj, key)
    if answer < 0:
        return NULL
    return new_ref(Py_True if answer else Py_False)


# --- regions and sites ----------------------------------------------------------------------------------------------

cdef PyObject *at_site(PyObject *self, PyObject *obj) noexcept:
    """`with` and `await`: the primitive asks for the site."""
    if S.on:
        ready_after((<Probe *>self).site)
    return new_ref(obj)


cdef object awaited = None


cdef PyObject *at_await(PyObject *self, PyObject *obj) noexcept:
    cdef PyObject *saved[3]
    if S.on:
        ready_after((<Probe *>self).site)
        if awaited is not None:
            keep_error(saved)
            try:
                awaited(<object>obj)
            except Exception:
                pass
            give_error_back(saved)
    return new_ref(obj)


cdef PyObject *begin(PyObject *self, PyObject *receiver) noexcept:
    cdef Probe *probe = <Probe *>self
    cdef Thread *thread
    cdef Found *found
    cdef uint64_t about = 0
    cdef uint32_t number = 0, flags
    if S.on:
        flags = flags_of_call(probe)
        if receiver != Py_None:
            if matches(&probe.found[0], Py_TYPE(receiver)):
                number = probe.found[0].number
            else:
                number = receiver_number(probe, receiver)
            about = <uint64_t>receiver if number else 0
        thread = ready(probe.site, 1)
        if thread != NULL:
            if about:
                see(about)
            put(S, about, 0, RAW_WHAT(number, probe.begin_site), RAW_WORD(thread.number, RAW_BEGIN, 0, flags))
    return new_ref(receiver)


cdef inline uint32_t flags_of_call(Probe *probe) noexcept:
    """Of a begin. Other threads may run."""
    if not probe.is_entry or is_called_plainly(probe) or is_called_by_recorded(probe) or not is_called_back():
        return 0
    return FLAG_CALLED_BACK


cdef object invokes = None


cdef int ask(PyObject *caller, int instruction, PyObject *called) noexcept:
    cdef PyObject *saved[3]
    cdef int answer = -1
    if invokes is None:
        return -1
    keep_error(saved)
    PyThreadState_EnterTracing(PyThreadState_Get())  # a debugger is to see none of our frames
    try:
        answer = bool(invokes(<object>caller, instruction, <object>called))
    except BaseException as error:
        _log.pass_on(error, invokes)
    PyThreadState_LeaveTracing(PyThreadState_Get())
    give_error_back(saved)
    return answer


cdef uint32_t receiver_number(Probe *probe, PyObject *receiver) noexcept:
    cdef PyTypeObject *type = Py_TYPE(receiver)
    cdef uint32_t number = _log.number_of_type(<PyObject *>type)
    cdef Found *found = &probe.found[0]
    _PyType_Lookup(type, <PyObject *>name_of_len)  # gives the type a version
    found.type = type
    found.number = number
    conclude(found, type)
    return number


cdef inline void log_region(Probe *probe, uint32_t op) noexcept:
    cdef Thread *thread
    cdef uint32_t flags
    if S.on:
        flags = flags_of_call(probe) if op == RAW_BEGIN else 0
        thread = ready(probe.site, 1)
        if thread != NULL:
            put(S, 0, 0, RAW_WHAT(0, probe.begin_site), RAW_WORD(thread.number, op, 0, flags))


cdef PyObject *end(PyObject *self, PyObject *obj) noexcept:
    log_region(<Probe *>self, RAW_END)
    return new_ref(obj)


cdef PyObject *resume(PyObject *self, PyObject *obj) noexcept:
    log_region(<Probe *>self, RAW_BEGIN)
    return new_ref(obj)


cdef PyObject *span(PyObject *self, PyObject *obj) noexcept:
    cdef PyObject *made = new_span(<Probe *>self)
    if made != NULL:
        log_region(<Probe *>self, RAW_BEGIN)
    return made


cdef void end_span(Probe *probe) noexcept:
    cdef Thread *thread
    if S.on:
        # An object is being freed: from the reserve, without waiting.
        thread = ready_after(probe.site)
        if thread != NULL:
            put(S, 0, 0, RAW_WHAT(0, probe.begin_site), RAW_WORD(thread.number, RAW_END, 0, 0))


cdef extern from "Python.h":
    ctypedef struct PyCompilerFlags:
        int cf_flags
    int PyEval_MergeCompilerFlags(PyCompilerFlags *)
    int PyCF_MASK
    ctypedef struct PyThreadState
    PyThreadState *PyThreadState_Get()
    void PyThreadState_EnterTracing(PyThreadState *)
    void PyThreadState_LeaveTracing(PyThreadState *)


cdef object dynamic = None


cdef PyObject *source(PyObject *self, PyObject *text) noexcept:
    cdef Probe *probe = <Probe *>self
    cdef PyObject *saved[3]
    cdef PyObject *result = text
    cdef PyObject *namespace
    cdef PyCompilerFlags flags
    if dynamic is None or not (PyUnicode_Check(text) or PyBytes_Check(text)):
        return new_ref(text)
    namespace = PyEval_GetGlobals()
    if namespace == NULL:
        return new_ref(text)
    flags.cf_flags = 0
    PyEval_MergeCompilerFlags(&flags)  # `from __future__` of the code that runs the text holds in the text
    keep_error(saved)
    PyThreadState_EnterTracing(PyThreadState_Get())  # a debugger is to see none of our frames
    try:
        code = dynamic(<object>text, <object>probe.name, <object>namespace, flags.cf_flags & PyCF_MASK)
        result = <PyObject *>code
        Py_INCREF(result)
    except BaseException as error:
        result = new_ref(text)
        _log.pass_on(error, dynamic)
    PyThreadState_LeaveTracing(PyThreadState_Get())
    give_error_back(saved)
    return result


# --- making them ----------------------------------------------------------------------------------------------------

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
    probe = new_inert(_numbers[kind], inert_call_item if kind == "item" else inert_call)
    if probe == NULL:
        raise MemoryError
    probe.name = new_ref(<PyObject *>name)
    probe.text = new_ref(<PyObject *>text)
    made = <object><PyObject *>probe
    Py_DECREF(<PyObject *>probe)
    return made


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
    if ready_cells_type(reduce_cells) < 0 or ready_span_type() < 0 or len(KIND_NAMES) > KINDS:
        raise SystemError("the types of probes")
    ready_one("load_attr", 0, fast_load_attr, NULL, inert_tap, NULL)
    ready_one("store_attr", 0, fast_store_attr, NULL, inert_tap, NULL)
    ready_one("aug_attr", 0, fast_get_augmented, fast_set_augmented, inert_get_attr, inert_set_attr)
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
    ready_one("with", 0, at_site, NULL, inert_tap, NULL)
    ready_one("await", 0, at_await, NULL, inert_tap, NULL)
    ready_one("begin", 0, fast_begin, NULL, inert_tap, NULL)
    ready_one("end", 0, fast_end, NULL, inert_tap, NULL)
    ready_one("suspend", 0, fast_end, NULL, inert_tap, NULL)
    ready_one("resume", 0, resume, NULL, inert_tap, NULL)
    ready_one("span", 0, span, NULL, inert_tap, NULL)
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
    probe.word = RAW_WORD(0, 0, KEY_FIELD, probe.flags)
    probe.is_append = name == "append"
    probe.is_entry = is_entry
    if row.kind == "unpack":
        probe.steps = AT_STRUCTURE | AT_ELEMENTS << 8
    elif row.kind == "truth":
        probe.steps = AT_STRUCTURE
    elif row.kind in ("argument", "call") and name in CALLS:
        known = CALLS[name]
        probe.steps = _encoded(known.effect.steps)
        probe.does = DOES_AUGMENT if known.does.startswith("augment") else _DOES.get(known.does, DOES_NOTHING)
        probe.is_raw = name.startswith("object.")
    if row.kind == "call":
        probe.call = call
    elif row.kind == "item":
        probe.call = fast_call_item
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
    probes = []
    for number, row in enumerate(plan.probes):
        is_entry = row.kind in ("begin", "resume", "span") and row.region >= 0
        is_entry = is_entry and plan.regions[row.region].origin != "loop"
        own_begins = begins if row.kind in ("begin", "end", "suspend", "resume") else {}
        probe = made(row, first_site + number, own_begins, is_entry)
        probes.append(<object><PyObject *>probe)
        Py_DECREF(<PyObject *>probe)
    return probes


def is_instrumented(code):
    """Whether there are probes in this code object."""
    for constant in code.co_consts:
        if PyType_IsSubtype(Py_TYPE(<PyObject *>constant), &probe_type):
            return True
    return False


def mark_recorded(code):
    """This code and what is in it is recorded, also where there are no probes: what it calls is not called back."""
    if mark_recorded_code(<PyObject *>code) < 0:
        raise SystemError("cannot mark code")
    return code


def set_invokes(function):
    """`function(caller, instruction, called)` says whether code invokes other code by its name there. None: it does not."""
    global invokes
    invokes = function


def set_dynamic(function):
    """`function(text, mode, namespace, flags)` gives code for a text that is about to be run; None: the text stays."""
    global dynamic
    dynamic = function


def set_awaited(function):
    """`function(awaitable)` is called before it is awaited; None: nothing is."""
    global awaited
    awaited = function


cdef void forget_types() noexcept:
    global list_number, dict_number, cells_number
    list_number = dict_number = cells_number = 0
    forget_found()
    forget_held()


S = _log.state()
_log.at_attachment(forget_types)
cells_free = _log.log_free
span_end = end_span
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
asks = ask
if ready_code_marks() < 0:
    raise SystemError("no room for marks of code")
ready_types()
globals()["Probe"] = <object><PyObject *>&probe_type
