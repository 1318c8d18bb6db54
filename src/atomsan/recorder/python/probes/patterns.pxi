# Patterns: the reads that the interpreter makes while it matches the subject of a `match`, which has no code for probes
#
# The probe of the subject follows the patterns (`source/match_patterns.py` has their form) before the interpreter does,
# in the same order, and logs what that is about to read. Nothing lets other threads run in between, as long as no code of
# the program runs: so it goes as far as that can be told, and no further. No code of the program runs on our behalf.

cdef enum:
    NO_MATCH = 0
    IS_MATCH = 1
    NOT_TOLD = 2        # code of the program decides, or has to run: what is read from here on is not known

cdef enum: MOST_PARTS = 16      # of one pattern

cdef struct Matching:
    PyObject *rows      # the probes of the reads
    Thread *thread      # NULL: nothing is logged yet, types and keys are only learned
    uint64_t room       # records that may still be logged

cdef extern from "Python.h":
    unsigned long Py_TPFLAGS_SEQUENCE, Py_TPFLAGS_MAPPING
    int PyObject_RichCompareBool(PyObject *, PyObject *, int)
    
cdef object name_of_class = sys.intern("__class__")
cdef object name_of_get = sys.intern("get")
cdef object name_of_keys = sys.intern("keys")
cdef object name_of_match_args = sys.intern("__match_args__")
cdef object name_of_instancecheck = sys.intern("__instancecheck__")
cdef object name_of_member_map = sys.intern("_member_map_")
cdef PyObject *object_class = _PyType_Lookup(&PyBaseObject_Type, <PyObject *>"__class__")
cdef PyObject *type_instancecheck = _PyType_Lookup(&PyType_Type, <PyObject *>"__instancecheck__")
cdef dict builtin_names = sys.modules["builtins"].__dict__
# Their only positional pattern is about the subject itself.
cdef frozenset selves = frozenset((bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple))


def interned(pattern):
    """The same with the names in it as they are in dictionaries."""
    if type(pattern) is tuple:
        return tuple(map(interned, pattern))
    return sys.intern(pattern) if type(pattern) is str else pattern


cdef PyObject *match_subject(PyObject *self, PyObject *subject) noexcept:
    cdef Probe *probe = <Probe *>self
    cdef PyObject *saved[3]
    if S.on and probe.function != NULL:
        keep_error(saved)
        follow_cases(probe, subject)
        restore_error(saved)
    return new_ref(subject)


cdef void follow_cases(Probe *probe, PyObject *subject) noexcept:
    cdef Matching matching
    matching.rows = PyTuple_GET_ITEM(probe.function, 1)
    matching.thread = NULL
    matching.room = ROOM
    follow_each(&matching, PyTuple_GET_ITEM(probe.function, 0), subject)
    matching.thread = ready(probe.site, ROOM)
    matching.room = ROOM
    if matching.thread != NULL:
        follow_each(&matching, PyTuple_GET_ITEM(probe.function, 0), subject)


cdef void follow_each(Matching *matching, PyObject *cases, PyObject *subject) noexcept:
    """Up to the case that is taken, or to a guard, which is code of its own."""
    cdef Py_ssize_t i
    for i in range(PyTuple_GET_SIZE(cases)):
        if follow_pattern(matching, PyTuple_GET_ITEM(cases, i), subject) != NO_MATCH:
            return


cdef int follow_pattern(Matching *matching, PyObject *pattern, PyObject *subject) noexcept:
    """Whether a pattern matches. What is read for that is logged."""
    cdef Py_ssize_t i
    cdef int told
    if PyTuple_GET_SIZE(pattern) == 0:
        return IS_MATCH
    form = <str>PyTuple_GET_ITEM(pattern, 0)
    if form == "_":
        return IS_MATCH
    if form == "is":
        return IS_MATCH if subject == PyTuple_GET_ITEM(pattern, 1) else NO_MATCH
    if form == "equals":
        return is_equal(subject, PyTuple_GET_ITEM(pattern, 1))
    if form == "equal to":
        return is_equal(subject, named(PyTuple_GET_ITEM(pattern, 1)))
    if form == "or":
        for i in range(1, PyTuple_GET_SIZE(pattern)):
            told = follow_pattern(matching, PyTuple_GET_ITEM(pattern, i), subject)
            if told != NO_MATCH:
                return told
        return NO_MATCH
    if form == "class":
        return follow_class(matching, pattern, subject)
    if form == "mapping":
        return follow_mapping(matching, pattern, subject)
    if form == "sequence":
        return follow_sequence(matching, pattern, subject)
    return NOT_TOLD


cdef int follow_parts(
    Matching *matching, PyObject *pattern, Py_ssize_t count, PyObject **values, int told
) noexcept:
    """The patterns of what was read; the values are given back."""
    cdef Py_ssize_t i
    for i in range(count):
        if told == IS_MATCH:
            told = follow_pattern(matching, PyTuple_GET_ITEM(PyTuple_GET_ITEM(pattern, i + 2), 2), values[i])
    for i in range(count):
        Py_DECREF(values[i])
    return told


# Values

cdef inline bint is_scalar(PyObject *value) noexcept:
    cdef PyTypeObject *type = Py_TYPE(value)
    return type == &PyUnicode_Type or is_number(type) or type == &PyBytes_Type or value == Py_None


cdef int is_equal(PyObject *value, PyObject *other) noexcept:
    cdef int answer
    if other == NULL:
        return NOT_TOLD
    if is_scalar(value) and is_scalar(other):
        answer = PyObject_RichCompareBool(value, other, Py_EQ)
        if answer < 0:
            PyErr_Clear()  # `python -bb` about bytes and text
            return NOT_TOLD
        return IS_MATCH if answer else NO_MATCH
    if (is_scalar(value) or is_identity(Py_TYPE(value))) and (is_scalar(other) or is_identity(Py_TYPE(other))):
        return IS_MATCH if value == other else NO_MATCH
    return NOT_TOLD


cdef PyObject *named(PyObject *parts) noexcept:
    """What a dotted name of a global stands for, borrowed; NULL: that is not known without running code."""
    cdef PyObject *value = global_named(PyTuple_GET_ITEM(parts, 0))
    cdef PyObject *name
    cdef Py_ssize_t i
    for i in range(1, PyTuple_GET_SIZE(parts)):
        if value == NULL:
            break
        name = PyTuple_GET_ITEM(parts, i)
        if Py_TYPE(value) == &PyModule_Type:
            value = PyDict_GetItemWithError(PyModule_GetDict(value), name)
        else:
            value = member_named(value, name)
    PyErr_Clear()
    return value


cdef PyObject *global_named(PyObject *name) noexcept:
    cdef PyObject *names = PyEval_GetGlobals()
    cdef PyObject *value = PyDict_GetItemWithError(names, name) if names != NULL else NULL
    return value if value != NULL else PyDict_GetItemWithError(<PyObject *>builtin_names, name)


cdef PyObject *member_named(PyObject *cls, PyObject *name) noexcept:
    """A member of an enumeration, or a plain attribute of a class."""
    cdef PyObject *value
    if not PyType_Check(cls) or (<_Type *>Py_TYPE(cls)).tp_getattro != (<_Type *>&PyType_Type).tp_getattro:
        if not PyType_Check(cls) or not PyType_IsSubtype(<PyTypeObject *>cls, enum_type):
            return NULL
    if PyType_IsSubtype(<PyTypeObject *>cls, enum_type):
        value = _PyType_Lookup(<PyTypeObject *>cls, <PyObject *>name_of_member_map)
        return PyDict_GetItemWithError(value, name) if value != NULL and PyDict_Check(value) else NULL
    if _PyType_Lookup(Py_TYPE(cls), name) != NULL:
        return NULL
    value = _PyType_Lookup(<PyTypeObject *>cls, name)
    return NULL if value == NULL or (<_Type *>Py_TYPE(value)).tp_descr_get != NULL else value


# Classes

cdef int follow_class(Matching *matching, PyObject *pattern, PyObject *subject) noexcept:
    cdef PyObject *cls = named(PyTuple_GET_ITEM(pattern, 1))
    cdef PyObject *values[MOST_PARTS]
    cdef PyObject *names = NULL
    cdef PyObject *part
    cdef PyObject *name
    cdef Py_ssize_t count = 0
    cdef Py_ssize_t parts = PyTuple_GET_SIZE(pattern) - 2
    cdef int told
    if cls == NULL or not PyType_Check(cls) or parts > MOST_PARTS:
        return NOT_TOLD
    told = is_of_class(subject, <PyTypeObject *>cls)
    if told == IS_MATCH and parts and is_about_itself(cls, pattern):
        return follow_pattern(matching, PyTuple_GET_ITEM(PyTuple_GET_ITEM(pattern, 2), 2), subject)
    while told == IS_MATCH and count < parts:
        part = PyTuple_GET_ITEM(pattern, count + 2)
        name = PyTuple_GET_ITEM(part, 0)
        if name == Py_None:
            name = positional_name(cls, count)
        values[count] = NULL
        told = NOT_TOLD
        if name != NULL:
            told = read_attribute(matching, PyTuple_GET_ITEM(part, 1), subject, name, &values[count])
        if told == IS_MATCH:
            count += 1
    return follow_parts(matching, pattern, count, values, told)


cdef int is_of_class(PyObject *subject, PyTypeObject *cls) noexcept:
    cdef PyTypeObject *type = Py_TYPE(subject)
    cdef PyObject *check
    if type == cls:
        return IS_MATCH
    check = _PyType_Lookup(Py_TYPE(<PyObject *>cls), <PyObject *>name_of_instancecheck)
    if check != type_instancecheck and not is_of_library(check):
        return NOT_TOLD
    if PyType_IsSubtype(type, cls):
        return IS_MATCH
    if check != type_instancecheck or _PyType_Lookup(type, <PyObject *>name_of_class) != object_class:
        return NOT_TOLD  # an abstract class, which others may be registered with; or a stand-in
    if (<_Type *>type).tp_getattro != <void *>PyObject_GenericGetAttr and (<_Type *>type).tp_flags & Py_TPFLAGS_HEAPTYPE:
        if _PyType_Lookup(type, <PyObject *>name_of_getattribute) != object_getattribute:
            return NOT_TOLD
    return NO_MATCH


cdef bint is_of_library(PyObject *check) noexcept:
    """`ABCMeta.__instancecheck__`: a class that extends another is one."""
    return check == <PyObject *>abstract_instancecheck


cdef object abstract_instancecheck = abc.ABCMeta.__dict__["__instancecheck__"]


cdef bint is_about_itself(PyObject *cls, PyObject *pattern) noexcept:
    """`str(name)`: the one positional pattern is for the subject."""
    if PyTuple_GET_ITEM(PyTuple_GET_ITEM(pattern, 2), 0) != Py_None:
        return False
    return _PyType_Lookup(<PyTypeObject *>cls, <PyObject *>name_of_match_args) == NULL and extends_self(cls)


cdef bint extends_self(PyObject *cls) noexcept:
    cdef PyObject *mro = (<_Type *>cls).tp_mro
    cdef Py_ssize_t i
    try:
        for i in range(PyTuple_GET_SIZE(mro)):
            if <object>PyTuple_GET_ITEM(mro, i) in selves:
                return True
    except Exception:
        pass
    return False


cdef PyObject *positional_name(PyObject *cls, Py_ssize_t place) noexcept:
    cdef PyObject *names = _PyType_Lookup(<PyTypeObject *>cls, <PyObject *>name_of_match_args)
    cdef PyObject *name
    if names == NULL or not PyTuple_CheckExact(names) or place >= PyTuple_GET_SIZE(names):
        return NULL
    name = PyTuple_GET_ITEM(names, place)
    return name if PyUnicode_CheckExact(name) else NULL


cdef int read_attribute(
    Matching *matching, PyObject *row, PyObject *obj, PyObject *name, PyObject **value
) noexcept:
    """Logs the read of an attribute that runs no code, and gives its value: a new reference."""
    cdef Probe *probe = row_of(matching, row)
    cdef PyTypeObject *type = Py_TYPE(obj)
    cdef PyObject *found = _PyType_Lookup(type, name)
    cdef uint32_t mode = attribute_mode(type, name, found, False)
    cdef PyObject *holder = NULL
    cdef uint32_t number = 0
    cdef uint32_t name_number = 0
    if mode == SKIP and found != NULL and not (<_Type *>type).tp_flags & Py_TPFLAGS_HEAPTYPE:
        return NOT_TOLD
    if mode != FIELD and mode != FIELD_OR_CLASS:
        return NOT_TOLD
    if mode == FIELD_OR_CLASS:
        holder = holder_of(type, name)
    if matching.thread == NULL:
        number = _log.number_of_type(<PyObject *>type)
        if holder != NULL:
            _log.number_of_type(holder)
        name_number = number_of_name(name, True)
        if number and probe.name == name:
            define_field(probe, obj, number)
    else:
        number, name_number = _log.known_type(<PyObject *>type), number_of_name(name, False)
        if number == 0 or name_number == 0 or matching.room < 2:
            return NOT_TOLD
        matching.room -= 2
        log_at(matching.thread, probe, RAW_READ, KEY_FIELD, obj, name_number, number)
    value[0] = PyObject_GenericGetAttr(obj, name)
    if value[0] == NULL:
        PyErr_Clear()
        return NO_MATCH if (<_Type *>type).tp_getattro == <void *>PyObject_GenericGetAttr else NOT_TOLD
    if holder != NULL and value[0] == found and matching.thread != NULL and _log.known_type(holder):
        put_access(
            S, <uint64_t>holder, name_number, RAW_WHAT(_log.known_type(holder), probe.site),
            RAW_WORD(matching.thread.number, RAW_READ, KEY_FIELD, FLAG_CLASS),
        )
    return IS_MATCH


cdef inline Probe *row_of(Matching *matching, PyObject *row) noexcept:
    return <Probe *>PyTuple_GET_ITEM(matching.rows, PyLong_AsSsize_t(row) - 1)


cdef uint32_t number_of_name(PyObject *name, bint may_define) noexcept:
    if not may_define:
        return _log.known_name(<object>name)
    try:
        return _log.name_number(sys.intern(<object>name))
    except Exception:
        return 0


# Mappings

cdef int follow_mapping(Matching *matching, PyObject *pattern, PyObject *subject) noexcept:
    cdef PyObject *values[MOST_PARTS]
    cdef Py_ssize_t count = 0
    cdef Py_ssize_t parts = PyTuple_GET_SIZE(pattern) - 2
    cdef PyObject *rest = PyTuple_GET_ITEM(pattern, parts + 1)
    cdef PyObject *part
    cdef PyObject *key
    cdef uint32_t number
    cdef int told = IS_MATCH
    if not (<_Type *>Py_TYPE(subject)).tp_flags & Py_TPFLAGS_MAPPING:
        return NO_MATCH
    number = plain_number(matching, subject, MAPPING, name_of_get, name_of_keys)
    if number == 0 or parts > MOST_PARTS:
        return NOT_TOLD
    if parts > PyDict_Size(subject):
        log_read_structure(matching, row_of(matching, PyTuple_GET_ITEM(PyTuple_GET_ITEM(pattern, 1), 1)), subject, number)
        return NO_MATCH
    while told == IS_MATCH and count < parts:
        part = PyTuple_GET_ITEM(pattern, count + 1)
        key = literal_key(PyTuple_GET_ITEM(part, 0))
        told = NOT_TOLD
        if key != NULL:
            told = read_element(matching, PyTuple_GET_ITEM(part, 1), subject, number, key, &values[count])
        if told == IS_MATCH:
            count += 1
    if told == IS_MATCH and rest != Py_None:
        log_read_whole(matching, row_of(matching, rest), subject, number, MAPPING)
    return follow_mapped(matching, pattern, count, values, told)


cdef int follow_mapped(
    Matching *matching, PyObject *pattern, Py_ssize_t count, PyObject **values, int told
) noexcept:
    cdef Py_ssize_t i
    for i in range(count):
        if told == IS_MATCH:
            told = follow_pattern(matching, PyTuple_GET_ITEM(PyTuple_GET_ITEM(pattern, i + 1), 2), values[i])
    for i in range(count):
        Py_DECREF(values[i])
    return told


cdef PyObject *literal_key(PyObject *key) noexcept:
    """The value of a key; NULL: not known, or not one that is looked up without code of the program."""
    cdef PyObject *value = NULL
    form = <str>PyTuple_GET_ITEM(key, 0)
    if form == "equals":
        value = PyTuple_GET_ITEM(key, 1)
    elif form == "equal to":
        value = named(PyTuple_GET_ITEM(key, 1))
    if value == NULL or not (is_scalar(value) or is_identity(Py_TYPE(value))):
        return NULL
    return value


cdef int read_element(
    Matching *matching, PyObject *row, PyObject *obj, uint32_t number, PyObject *key, PyObject **value
) noexcept:
    cdef Key where
    if matching.thread == NULL:
        key_of(key, &where)
    else:
        find_key(key, &where, False)
        if matching.room < 1:
            return NOT_TOLD
        matching.room -= 1
        log_key(matching.thread, row_of(matching, row), RAW_READ, obj, &where, number)
    if where.is_loud:
        return NOT_TOLD
    value[0] = PyDict_GetItemWithError(obj, key)
    if value[0] == NULL:
        PyErr_Clear()
        return NO_MATCH
    Py_INCREF(value[0])
    return IS_MATCH


cdef uint32_t plain_number(Matching *matching, PyObject *obj, uint32_t wanted, object one, object other) noexcept:
    """The number of the type of a container whose methods are the builtin ones; 0: it is none, or not known yet."""
    cdef PyTypeObject *type = Py_TYPE(obj)
    cdef PyTypeObject *base = NULL
    if wanted == MAPPING:
        base = &PyDict_Type if PyDict_Check(obj) else NULL
    elif PyType_IsSubtype(type, &PyList_Type):
        base = &PyList_Type
    elif PyType_IsSubtype(type, &PyTuple_Type):
        base = &PyTuple_Type
    if base == NULL:
        return 0
    if type != base and (redefines(type, base, one) or redefines(type, base, other) or redefines(type, base, name_of_len)):
        return 0
    return _log.number_of_type(<PyObject *>type) if matching.thread == NULL else _log.known_type(<PyObject *>type)


cdef bint redefines(PyTypeObject *type, PyTypeObject *base, object method) noexcept:
    """Whether a class that extends a builtin type has code of its own for a method."""
    cdef PyObject *found = _PyType_Lookup(type, <PyObject *>method)
    if found == NULL or found == _PyType_Lookup(base, <PyObject *>method):
        return found == NULL
    return Py_TYPE(found) != &PyMethodDescr_Type and Py_TYPE(found) != &PyWrapperDescr_Type


# Sequences

cdef int follow_sequence(Matching *matching, PyObject *pattern, PyObject *subject) noexcept:
    cdef Probe *probe = row_of(matching, PyTuple_GET_ITEM(pattern, 1))
    cdef PyObject *before = PyTuple_GET_ITEM(pattern, 3)
    cdef PyObject *after = PyTuple_GET_ITEM(pattern, 4)
    cdef Py_ssize_t least = PyTuple_GET_SIZE(before) + PyTuple_GET_SIZE(after)
    cdef Py_ssize_t size
    cdef uint32_t number
    cdef bint is_fitting
    how = <str>PyTuple_GET_ITEM(pattern, 2)
    if not (<_Type *>Py_TYPE(subject)).tp_flags & Py_TPFLAGS_SEQUENCE:
        return NO_MATCH
    if how == "nothing":
        return IS_MATCH
    number = plain_number(matching, subject, SEQUENCE, name_of_iter, name_of_getitem)
    if number == 0:
        return NOT_TOLD
    is_tuple = not PyType_IsSubtype(Py_TYPE(subject), &PyList_Type)
    size = PyTuple_GET_SIZE(subject) if is_tuple else builtin_size(subject)
    is_fitting = size >= least if how.endswith("least") else size == least
    if not is_tuple:
        log_read_structure(matching, probe, subject, number)
        if is_fitting and how.startswith("unpack"):
            log_read_whole(matching, probe, subject, number, SEQUENCE)
        elif is_fitting and how.startswith("subscript"):
            log_places(matching, probe, subject, number, before, 0)
            log_places(matching, probe, subject, number, after, size - PyTuple_GET_SIZE(after))
    if not is_fitting:
        return NO_MATCH
    return follow_items(matching, subject, is_tuple, before, after, size)


cdef int follow_items(
    Matching *matching, PyObject *subject, bint is_tuple, PyObject *before, PyObject *after, Py_ssize_t size
) noexcept:
    cdef Py_ssize_t i, place
    cdef Py_ssize_t first = PyTuple_GET_SIZE(before)
    cdef PyObject *part
    cdef PyObject *item
    cdef int told = IS_MATCH
    for i in range(first + PyTuple_GET_SIZE(after)):
        part = PyTuple_GET_ITEM(before, i) if i < first else PyTuple_GET_ITEM(after, i - first)
        place = i if i < first else size - PyTuple_GET_SIZE(after) + i - first
        if told == IS_MATCH and PyTuple_GET_SIZE(part):
            item = PyTuple_GET_ITEM(subject, place) if is_tuple else PyList_GET_ITEM(subject, place)
            Py_INCREF(item)
            told = follow_pattern(matching, part, item)
            Py_DECREF(item)
            if not is_tuple and builtin_size(subject) != size:
                return NOT_TOLD  # while types were learned
    return told


cdef void log_places(
    Matching *matching, Probe *probe, PyObject *obj, uint32_t number, PyObject *patterns, Py_ssize_t first
) noexcept:
    """An item for each pattern but `_`."""
    cdef Py_ssize_t i
    for i in range(PyTuple_GET_SIZE(patterns)):
        if matching.thread != NULL and matching.room and not is_wildcard(PyTuple_GET_ITEM(patterns, i)):
            matching.room -= 1
            log_at(matching.thread, probe, RAW_READ, KEY_INDEX, obj, <uint64_t>(first + i), number)


cdef inline bint is_wildcard(PyObject *pattern) noexcept:
    return PyTuple_GET_SIZE(pattern) == 1 and <str>PyTuple_GET_ITEM(pattern, 0) == "_"


cdef void log_read_structure(Matching *matching, Probe *probe, PyObject *obj, uint32_t number) noexcept:
    if matching.thread != NULL and matching.room:
        matching.room -= 1
        log_structure(matching.thread, probe, RAW_READ, obj, number)


cdef void log_read_whole(Matching *matching, Probe *probe, PyObject *obj, uint32_t number, uint32_t shape) noexcept:
    cdef Py_ssize_t size = size_of(obj, shape)
    if matching.thread == NULL:
        learn_keys(obj, shape)
        return
    log_read_structure(matching, probe, obj, number)
    if size <= MOST and <uint64_t>size <= matching.room:
        matching.room -= <uint64_t>size
        log_elements(matching.thread, probe, RAW_READ, obj, number, shape, 0)
    elif matching.room:
        matching.room -= 1
        log_range(matching.thread, probe, RAW_READ, obj, number, 0, TO_THE_END)
