# Encodes the effects of builtin methods and functions as steps, a byte a step; and the types that have them
#
# The table itself is `source/effects.py`. A step says what is read or written: an element, the structure, ...

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
    AT_ITERATED = 11
    AT_MAPPING = 12
    STEP_ITERATE = 0x40
    STEP_ALIAS = 0x41

_PLACES = {
    "element": AT_ELEMENT, "structure": AT_STRUCTURE, "elements": AT_ELEMENTS, "first": AT_FIRST, "last": AT_LAST,
    "keys": AT_KEYS, "argument": AT_ARGUMENT, "fields": AT_FIELDS, "everything": AT_EVERYTHING,
    "attribute": AT_ATTRIBUTE, "iterated": AT_ITERATED, "mapping": AT_MAPPING,
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
    DOES_COMPILE = 10

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
        "weakref.WeakValueDictionary": (weakref.WeakValueDictionary, CHAIN),
        "weakref.WeakKeyDictionary": (weakref.WeakKeyDictionary, CHAIN),
        "dict_keys": (type({}.keys()), KEYS), "dict_values": (type({}.values()), VALUES),
        "dict_items": (type({}.items()), ITEMS), "str": (str, TEXT), "bytes": (bytes, TEXT), "object": (object, PLAIN),
    }


# By type: its shape; by name of a method the steps of its effect with the key there and not there, and the methods by
# which it reads and writes, if it does so by others.
cdef dict containers = {
    real: (
        shape,
        {
            name: (_encoded(effect.steps), _encoded(effect.steps if effect.absent is None else effect.absent))
            for name, effect in EFFECTS[text].items()
        },
        DONE_BY.get(text, {}),
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
cdef object name_of_tzinfo = sys.intern("tzinfo")
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


cdef inline void restore_error(PyObject **saved) noexcept:
    PyErr_Restore(saved[0], saved[1], saved[2])
