# Accesses to elements by subscript: obj[key], obj[key] = value, del obj[key]

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
    cdef bint is_made = False
    cdef PyObject *value
    cdef Thread *thread
    cdef Key place
    if found.mode != CONTAINER or shape == TEXT or shape == PLAIN:
        if Py_TYPE(obj) == &PyMemoryView_Type:
            log_view(probe, obj, key, RAW_READ)
        return PyObject_GetItem(obj, key)
    if shape == SEQUENCE:
        log_place(probe, obj, key, number, RAW_READ)
        return PyObject_GetItem(obj, key)
    key_of(key, &place)
    if shape == MISSING and place.is_loud:
        is_there = is_there_aloud(obj, key, MAPPING)
    thread = ready(probe.site, 1)
    if thread != NULL:
        log_key(thread, probe, RAW_READ, obj, &place, number)
        if shape == MISSING and place.kind != KEY_WHOLE and not place.is_loud:
            is_there = PyDict_GetItemWithError(obj, key) != NULL
            if PyErr_Occurred() != NULL:
                PyErr_Clear()
    value = PyObject_GetItem(obj, key)
    if not is_there and value != NULL and S.on and not is_overridden(Py_TYPE(obj), &PyDict_Type, name_of_setitem):
        is_made = is_there_aloud(obj, key, MAPPING) if place.is_loud else PyDict_GetItemWithError(obj, key) != NULL
    if is_made:
        thread = ready_after(probe.site)
        if thread != NULL:
            log_key(thread, probe, RAW_WRITE, obj, &place, number)
            log_structure(thread, probe, RAW_WRITE, obj, number)
            settle()
    return value


cdef bint log_slice(Thread *thread, Probe *probe, PyObject *obj, PyObject *key, uint32_t number) noexcept:
    """Reads of the elements of a slice, and of the structure if it decides which these are. False: it is no plain one."""
    cdef Py_ssize_t size = builtin_size(obj)
    cdef Py_ssize_t start, stop, first, last, step, count, i
    if not is_plain_bound((<_Slice *>key).start) or not is_plain_bound((<_Slice *>key).stop):
        return False
    if not is_plain_bound((<_Slice *>key).step) or PySlice_Unpack(key, &start, &stop, &step) < 0:
        PyErr_Clear()
        return False
    first, last = start, stop
    count = PySlice_AdjustIndices(size, &start, &stop, step)
    if count > MOST:
        i = start + (count - 1) * step
        log_range(thread, probe, RAW_READ, obj, number, <uint64_t>min(start, i), <uint64_t>max(start, i) + 1)
    else:
        for i in range(count):
            log_at(thread, probe, RAW_READ, KEY_INDEX, obj, <uint64_t>(start + i * step), number)
    if first != start or last != stop or step != 1:
        log_structure(thread, probe, RAW_READ, obj, number)
    return True


cdef Py_ssize_t slice_start(PyObject *obj, PyObject *key) noexcept:
    """The first place that a store to a slice can change; 0: not known."""
    cdef Py_ssize_t start, stop, step
    if not is_plain_bound((<_Slice *>key).start) or not is_plain_bound((<_Slice *>key).stop):
        return 0
    if not is_plain_bound((<_Slice *>key).step) or PySlice_Unpack(key, &start, &stop, &step) < 0:
        PyErr_Clear()
        return 0
    PySlice_AdjustIndices(builtin_size(obj), &start, &stop, step)
    return start if step > 0 else 0


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
            log_elements(thread, probe, op, obj, number, SEQUENCE, slice_start(obj, key))
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
        if Py_TYPE(obj) == &PyMemoryView_Type:
            log_view(probe, obj, key, RAW_WRITE)
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
        if shape != CHAIN and where.kind != KEY_WHOLE and not where.is_loud:
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
    if Py_TYPE(key) == &PySlice_Type:
        place = slice_start(obj, key)
    log_elements(thread, probe, RAW_WRITE, obj, number, SEQUENCE, place)
    log_structure(thread, probe, RAW_WRITE, obj, number)
