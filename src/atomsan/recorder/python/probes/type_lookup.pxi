# Type lookup: how a type implements an attribute or method, cached in the probe by type and version

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
    """How the attribute of this name is accessed on objects of this type: a field, of the class, cached, ..."""
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
        define_field(probe, obj, number)
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
    restore_error(saved)
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
