# Accesses to attributes: of objects, of their classes, of modules, and cached properties

cdef PyObject *load_attr(PyObject *self, PyObject *obj) noexcept:
    cdef Probe *probe = <Probe *>self
    cdef Found *found
    cdef Thread *thread
    cdef uint32_t number
    if S.on:
        found = attribute(probe, obj, False)
        if LIKELY(found.mode == FIELD):
            number = found.number  # in `ready`, others may come by here with objects of other types
            thread = ready(probe.site, 1)
            if thread != NULL:
                log_at(thread, probe, RAW_READ, KEY_FIELD, obj, probe.name_number, number)
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
    cdef uint32_t number = found.number
    cdef Thread *thread
    if LIKELY(found.mode == FIELD):
        thread = ready(probe.site, 1)
        if thread != NULL:
            log_at(thread, probe, RAW_WRITE, KEY_FIELD, obj, probe.name_number, number)
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
    restore_error(saved)
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
    mark_seen(S, <uint64_t>obj)
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
        # A type is looked up for loads and for stores apart: `found` is that of the load, and stays.
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
