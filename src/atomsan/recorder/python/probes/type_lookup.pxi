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
    if mode != SKIP and mode != MODULE and mode != CLASS and mode != LOCAL:
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
        return SKIP if is_store else LOCAL
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
    cdef Found answer
    cdef Found *found
    memset(&answer, 0, sizeof(Found))
    _PyType_Lookup(type, <PyObject *>method)  # gives the type a version
    find_inherited(&answer, type, NULL, method)
    found = remember(probe, type)
    found.number = answer.number
    found.shape = answer.shape
    found.mode = answer.mode
    found.steps = answer.steps
    found.absent = answer.absent
    conclude(found, type)
    return found


cdef void find_inherited(Found *found, PyTypeObject *type, PyTypeObject *below, object method) noexcept:
    """The same, of the method that objects of this type have, or that `super()` finds in a method of `below`."""
    cdef PyObject *saved[3]
    cdef PyObject *mro = (<_Type *>type).tp_mro
    cdef PyObject *base = NULL
    cdef Py_ssize_t i
    cdef bint is_behind = below == NULL
    found.mode = SKIP
    keep_error(saved)
    for i in range(0 if mro == NULL else PyTuple_GET_SIZE(mro)):
        base = PyTuple_GET_ITEM(mro, i)
        try:
            known = containers.get(<object>base) if is_behind else None
        except Exception:
            known = None
        if known is not None:
            describe(found, type, <PyTypeObject *>base, below == NULL, method, known)
            break
        if is_behind and below != NULL and has_own(<PyTypeObject *>base, <PyObject *>method):
            break  # code of a class in between runs
        is_behind = is_behind or base == <PyObject *>below
    restore_error(saved)


cdef void describe(
    Found *found, PyTypeObject *type, PyTypeObject *base, bint is_own, object method, tuple known
) noexcept:
    """What the method of a container does to an object of this type, which extends it. `is_own`: unless overridden."""
    cdef uint32_t shape = known[0]
    if is_own and is_overridden(type, base, method):
        shape = 0
    elif method in known[1]:
        found.steps, found.absent = known[1][method]
        if type != base and method in known[2]:
            reads_by, writes_by = known[2][method]
            if reads_by and is_overridden(type, base, reads_by):
                found.steps, found.absent = without(found.steps, 0), without(found.absent, 0)
            if writes_by and is_overridden(type, base, writes_by):
                found.steps, found.absent = without(found.steps, STEP_WRITE), without(found.absent, STEP_WRITE)
    if shape == MAPPING and _PyType_Lookup(type, <PyObject *>name_of_missing) != NULL:
        shape = MISSING
    if shape == PLAIN and type != &PySuper_Type and not found.steps:
        shape = 0
    if shape and shape != TEXT and shape != PLAIN:
        found.number = _log.number_of_type(<PyObject *>type)
        if found.number == 0:
            shape = 0
    found.shape = shape
    found.mode = CONTAINER if shape else SKIP


cdef inline bint is_overridden(PyTypeObject *type, PyTypeObject *base, object method) noexcept:
    return _PyType_Lookup(type, <PyObject *>method) != _PyType_Lookup(base, <PyObject *>method)


cdef inline bint has_own(PyTypeObject *type, PyObject *method) noexcept:
    cdef PyObject *names = dictionary_of(type)
    return names != NULL and PyDict_GetItemWithError(names, method) != NULL


cdef uint64_t without(uint64_t steps, uint32_t op) noexcept:
    """The steps but for the reads, or the writes, of the container itself."""
    cdef uint64_t kept = 0
    cdef int place = 0
    cdef uint32_t step
    while steps:
        step = <uint32_t>(steps & 0x7f)
        if (steps & STEP_WRITE) != op or step == AT_ARGUMENT or step == AT_MAPPING:
            kept |= (steps & 0xff) << place
            place += 8
        steps >>= 8
    return kept


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
