# Accesses to global and closure variables

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
    if S.on:
        if probe.flags:
            log_changed(probe, value)
        log_variable_store(probe, PyEval_GetGlobals(), 0, value == Py_Ellipsis)
    return new_ref(value)


cdef inline void log_variable_store(Probe *probe, PyObject *namespace, uint32_t number, bint is_done) noexcept:
    """The write of a variable that comes next, so that nothing may run in between; or that is done, so that nothing may
    have run since."""
    cdef Thread *thread = ready_after(probe.site) if is_done else ready(probe.site, 1)
    if thread != NULL:
        log_at(thread, probe, RAW_WRITE, KEY_FIELD, namespace, probe.name_number, number)
        if is_done:
            settle()


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
    cdef PyObject *value = PyTuple_GET_ITEM(pair, 0)
    if S.on and Py_TYPE(cells) == &cells_type:
        if probe.flags:
            log_changed(probe, value)
        log_variable_store(probe, cells, the_cells_number(), value == Py_Ellipsis)
    return new_ref(value)
