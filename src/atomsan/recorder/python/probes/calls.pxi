# Calls of functions with effects (setattr, operator.setitem, map, ...): the probe logs the effect and makes the call

cdef PyObject *call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) noexcept:
    """P(f, a, b, k=c): logs what f does if it is the function that its name says, and calls it."""
    cdef Probe *probe = <Probe *>self
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    if count < 1:
        PyErr_SetString(PyExc_TypeError, "a probe of a call wants the function")
        return NULL
    if S.on and is_function(probe, args[0]):
        if probe.does == DOES_COMPILE:
            return call_compile(args, count, names)
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
        restore_error(saved)
    if probe.function == NULL:
        return False
    return function == probe.function


def _resolved(name):
    """The function of a canonical name; None if its module was not imported."""
    module, _, attribute = name.rpartition(".")
    if not module:
        return getattr(sys.modules["builtins"], name, None)
    if module in ("object", "type", "dict", "list"):
        return getattr(getattr(sys.modules["builtins"], module), attribute, None)
    if module in sys.modules:
        return getattr(sys.modules[module], attribute, None)
    outer, _, cls = module.rpartition(".")
    return getattr(getattr(sys.modules.get(outer), cls, None), attribute, None)
