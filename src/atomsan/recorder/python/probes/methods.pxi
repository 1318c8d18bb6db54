# Calls of methods and builtin functions: logs the effect that the table of effects has for them

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
    cdef bint is_asked = False
    cdef bint is_absent = False
    cdef bint gives_keys = iterates_keys(shape)
    cdef bint other_gives_keys = False
    key.kind = KEY_WHOLE
    key.key = 0
    key.is_loud = False
    if argument != NULL and shape != SEQUENCE and shape != TEXT:
        if ((steps or absent) & 0xff & ~<uint64_t>STEP_WRITE) == AT_ELEMENT:
            key_of(argument, &key)
    if is_bulky(steps):
        records = ROOM
        if argument != NULL:
            other_shape = builtin_shape(argument, &other_number)
            other_gives_keys = iterates_keys(other_shape)
            other = argument
            if other_shape >= KEYS and other_shape <= ITEMS:
                other = viewed(argument)
                other_shape = MAPPING
            if other_shape == MAPPING and has_step(steps, AT_KEYS) and MOST < PyDict_Size(other) <= MOST_STORES:
                records += <uint64_t>PyDict_Size(other)
    if KEYS <= shape <= ITEMS:
        obj = viewed(obj)
        shape = MAPPING
    if steps != absent and key.kind != KEY_WHOLE and shape != CHAIN:
        is_asked = True
        if key.is_loud:
            is_absent = not is_there_aloud(obj, argument, shape)
    if records >= ROOM:
        learn_keys(obj, shape)
        if other != NULL:
            learn_keys(other, other_shape)
    thread = ready(probe.site, records)
    if thread == NULL:
        return
    if is_asked and not key.is_loud:
        is_absent = not is_there(obj, argument, shape)
    if is_absent:
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
        elif step == AT_ITERATED:
            if not gives_keys:
                log_elements(thread, probe, op, obj, number, shape, 0)
        elif step == AT_FIRST:
            if size_of(obj, shape) > 0:
                log_at(thread, probe, op, KEY_INDEX, obj, 0, number)
        elif step == AT_LAST:
            log_last(thread, probe, op, obj, number, shape, argument)
        elif step == AT_KEYS:
            log_merge(thread, probe, obj, number, other, other_shape, <Py_ssize_t>(records - ROOM) + MOST)
        elif step == AT_ARGUMENT or step == AT_MAPPING:
            if other != NULL and SEQUENCE <= other_shape <= SET:
                log_structure(thread, probe, op, other, other_number)
                if step == AT_MAPPING or not other_gives_keys:
                    log_elements(thread, probe, op, other, other_number, other_shape, 0)


cdef inline bint iterates_keys(uint32_t shape) noexcept:
    """Whether iterating gives the keys of a mapping, which are its structure, and no element."""
    return shape == MAPPING or shape == MISSING or shape == CHAIN or shape == KEYS


cdef inline bint is_bulky(uint64_t steps) noexcept:
    cdef uint32_t step
    while steps:
        step = <uint32_t>(steps & 0x7f)
        if step == AT_ELEMENTS or step == AT_ITERATED or step == AT_LAST or step == AT_KEYS:
            return True
        if step == AT_ARGUMENT or step == AT_MAPPING:
            return True
        steps >>= 8
    return False


cdef inline bint has_step(uint64_t steps, uint32_t wanted) noexcept:
    while steps:
        if (steps & 0x7f) == wanted:
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
    restore_error(saved)
    return shape


cdef void log_last(
    Thread *thread, Probe *probe, uint32_t op, PyObject *obj, uint32_t number, uint32_t shape, PyObject *argument
) noexcept:
    """The last element, or of a sequence everything from the place that the argument says."""
    cdef Py_ssize_t size, place
    cdef Py_ssize_t position
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
    else:
        # it is not before the place that it would have if nothing had been removed
        position = size - 1
        while PyDict_Next(obj, &position, &key, &value):
            last = key
        if last != NULL:
            log_known_key(thread, probe, op, obj, last, number)


cdef void log_merge(
    Thread *thread, Probe *probe, PyObject *obj, uint32_t number, PyObject *other, uint32_t other_shape, Py_ssize_t room
) noexcept:
    """`update`: a store for each key of the argument, if there are not more than `room`."""
    cdef Py_ssize_t position = 0
    cdef PyObject *key = NULL
    cdef PyObject *value = NULL
    cdef Key found
    cdef bint is_new = False
    if other == NULL or other_shape != MAPPING or PyDict_Size(other) > room:
        log_at(thread, probe, RAW_WRITE, KEY_WHOLE, obj, 0, number)
        log_structure(thread, probe, RAW_WRITE, obj, number)
        return
    while PyDict_Next(other, &position, &key, &value):
        log_known_key(thread, probe, RAW_WRITE, obj, key, number)
        if not is_new and PyDict_Check(obj):
            find_key(key, &found, False)
            # one that cannot be asked about now counts as new
            is_new = found.kind == KEY_WHOLE or found.is_loud or not is_there(obj, key, MAPPING)
    if is_new or not PyDict_Check(obj):
        log_structure(thread, probe, RAW_WRITE, obj, number)


cdef bint log_method(Probe *probe, PyObject *obj, PyObject *argument) noexcept:
    """A call of a method that may be one with effects. False: an error is set."""
    cdef Found *found
    cdef PyTypeObject *type = Py_TYPE(obj)
    if type == &PyUnicode_Type and argument == NULL:
        return True
    if type == &PySuper_Type and log_inherited(probe, obj, argument):
        return True
    found = container(probe, obj, <object>probe.name)
    if found.mode == CONTAINER:
        if found.steps or found.absent:
            if found.shape == PLAIN:
                log_named(probe, obj, argument, found.steps)
            else:
                log_steps(probe, obj, argument, found.shape, found.number, found.steps, found.absent)
        return True
    if not (<_Type *>type).tp_flags & Py_TPFLAGS_HEAPTYPE and type != &PyModule_Type and not PyType_Check(obj):
        return True
    return load_uncached(probe, obj)


cdef bint find_by_super(Found *found, Probe *probe, PyObject *super) noexcept:
    """Whether `super().append` in a class that extends a container is a method of that, and what it does."""
    cdef PyObject *obj = super_object(super)
    memset(found, 0, sizeof(Found))
    if obj == NULL or PyType_Check(obj):
        return False
    find_inherited(found, Py_TYPE(obj), super_type(super), <object>probe.name)
    return found.mode == CONTAINER and found.shape != PLAIN and found.shape != TEXT


cdef bint log_inherited(Probe *probe, PyObject *super, PyObject *argument) noexcept:
    """`super().append(x)`. False: it is no method of a container."""
    cdef PyObject *obj = super_object(super)
    cdef Found found
    if not find_by_super(&found, probe, super):
        return False
    if found.steps or found.absent:
        log_steps(probe, obj, argument, found.shape, found.number, found.steps, found.absent)
    return True


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
    restore_error(saved)
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
    """`obj.name`, or a stand-in for it that logs when it is called, after the arguments are evaluated."""
    cdef Probe *probe = <Probe *>self
    cdef Found *found
    cdef Found inherited
    if S.on:
        if Py_TYPE(obj) == &PySuper_Type and find_by_super(&inherited, probe, obj):
            return new_later(probe, obj, fast_call_later)
        found = container(probe, obj, <object>probe.name)
        if found.mode == CONTAINER:
            if (found.steps or found.absent) and found.shape != PLAIN:
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
        log_fields(probe, obj)
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
    found = container(probe, obj, name_of_len if probe.steps == AT_STRUCTURE else name_of_iter)
    if found.mode != CONTAINER or found.shape == TEXT or found.shape == PLAIN:
        return False
    log_steps(probe, obj, NULL, found.shape, found.number, probe.steps, probe.steps)
    return True


cdef void log_fields(Probe *probe, PyObject *obj) noexcept:
    """Each attribute of an object: `copy.copy(obj)`."""
    cdef PyObject *names
    if not (<_Type *>Py_TYPE(obj)).tp_flags & Py_TPFLAGS_HEAPTYPE or PyType_Check(obj):
        return
    names = PyObject_GenericGetDict(obj, NULL)
    if names == NULL:
        PyErr_Clear()
        return
    try:
        # A copy of the names, because numbering them can let other threads run.
        texts = [text for text in <object>names if type(text) is str]
        for text in texts[:MOST]:
            log_attribute(probe, obj, <PyObject *>text, RAW_READ, False)
    except Exception:
        pass
    Py_DECREF(names)


# `log_deep` goes so deep, and into so many elements of a container as are logged one by one.
cdef int MOST_DEPTH = 4
cdef str UNREAD = (
    "json.dumps, copy.deepcopy or the like went into more than 64 elements of a container or more than 5 levels deep:"
    " what is read there is not in the trace"
)
cdef frozenset plain_types = frozenset((str, int, float, complex, bool, bytes, type(None)))
cdef bint unread_is_noted = False


cdef void log_deep(Probe *probe, PyObject *obj, int depth) noexcept:
    """A container or object and what is in it: `json.dumps`, `copy.deepcopy`."""
    cdef PyTypeObject *type = Py_TYPE(obj)
    cdef uint32_t number = 0
    cdef uint32_t shape
    cdef PyObject *saved[3]
    cdef Thread *thread
    if type == &PyUnicode_Type or type == &PyLong_Type or obj == Py_None:
        return
    if depth > MOST_DEPTH:
        if holds_others(<object>obj):
            note_unread()
        return
    shape = builtin_shape(obj, &number)
    if KEYS <= shape <= ITEMS:
        return
    if shape:
        learn_keys(obj, shape)
        thread = ready(probe.site, ROOM)
        if thread == NULL:
            return
        log_structure(thread, probe, RAW_READ, obj, number)
        log_elements(thread, probe, RAW_READ, obj, number, shape, 0)
    elif type != &PyTuple_Type:
        log_fields(probe, obj)
    keep_error(saved)
    try:
        for inner in contents(<object>obj, shape):
            log_deep(probe, <PyObject *>inner, depth + 1)
    except Exception:
        pass
    restore_error(saved)


cdef list contents(object obj, uint32_t shape):
    """The elements or values, copied to a list: logging can let other threads run."""
    if shape == MAPPING:
        return looked_into(list(dict.values(obj)))
    if shape == SEQUENCE and type(obj) in (list, collections.deque) or type(obj) is tuple:
        return looked_into(list(obj))
    if not shape and isinstance(getattr(type(obj), "__dict__", None), kinds.MappingProxyType):
        names = <PyObject *>PyObject_GenericGetDict(<PyObject *>obj, NULL)
        if names == NULL:
            PyErr_Clear()
            return []
        values = list((<object>names).values())
        Py_DECREF(names)
        return looked_into(values)
    return []


cdef list looked_into(list inner):
    """The first ones."""
    cdef Py_ssize_t i
    for i in range(MOST, len(inner)):
        if unread_is_noted:
            break
        if holds_others(inner[i]):
            note_unread()
    return inner[:MOST]


cdef inline bint holds_others(object obj):
    return type(obj) not in plain_types


cdef void note_unread():
    """Tell the reader, once for a trace, that reads are missing."""
    global unread_is_noted
    if not unread_is_noted:
        unread_is_noted = True
        _log.define(["gap", UNREAD])
