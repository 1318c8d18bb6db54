# Iteration, unpacking, truth tests and membership tests of containers

cdef int A_LOOP = KIND_NAMES.index("iterate")


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
        if steps.shape == VALUES or steps.shape == ITEMS:
            learn_next_key(steps)
        thread = ready(steps.probe.site, 2)
        if thread != NULL:
            log_step(thread, steps)
    return step_of(steps.iterator)


cdef inline void learn_next_key(Steps *steps) noexcept:
    """See to it that the type of the next key is known when its element is logged."""
    cdef Py_ssize_t position = steps.position
    cdef PyObject *key = NULL
    cdef PyObject *value = NULL
    if Py_TYPE(steps.container) == &PyDict_Type and PyDict_Next(steps.container, &position, &key, &value):
        if Py_TYPE(key) != &PyUnicode_Type and not is_number(Py_TYPE(key)) and is_unknown(key):
            Py_INCREF(key)
            learn_key(key)
            Py_DECREF(key)


cdef void log_step(Thread *thread, Steps *steps) noexcept:
    """The element that comes next, where the order of the iteration says which; else, and at both ends, the structure.

    Between the ends the reads of elements stand for it: a change of the structure is between the reads at the ends.
    Where no element says that there is a second step (a set, the keys of a dict, the end), the structure is read once more
    there, also if nothing was logged since: code ran, but for iterations that are all inside one call (`list(map(f, s))`).
    After very many steps, the rest is read at once."""
    cdef PyObject *key = NULL
    cdef PyObject *value = NULL
    cdef bint has_element = False
    if steps.steps == MOST_STEPS and (steps.shape == SEQUENCE or steps.shape == VALUES or steps.shape == ITEMS):
        log_range(thread, steps.probe, RAW_READ, steps.container, steps.number, <uint64_t>steps.steps, TO_THE_END)
    elif steps.steps < MOST_STEPS:
        if steps.shape == SEQUENCE:
            has_element = steps.steps < builtin_size(steps.container)
            if has_element:
                log_at(thread, steps.probe, RAW_READ, KEY_INDEX, steps.container, <uint64_t>steps.steps, steps.number)
        elif (steps.shape == VALUES or steps.shape == ITEMS) and Py_TYPE(steps.container) == &PyDict_Type:
            has_element = PyDict_Next(steps.container, &steps.position, &key, &value) != 0
            if has_element:
                log_known_key(thread, steps.probe, RAW_READ, steps.container, key, steps.number)
    if not has_element and steps.steps == 1 and steps.probe.kind == A_LOOP:
        log_structure_again(thread, steps.probe, steps.container, steps.number)
    elif not has_element or steps.steps == 0:
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
