# Futures and executors of concurrent.futures
#
# All futures are logged, whoever made them: the executor makes them on the program's behalf.

cdef void log_future_post(PyObject *future) noexcept:
    """A result is about to be set, of a future of either library."""
    if not may_post():
        return
    track(future)
    log_post(future)


cdef PyObject *future_result(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """result, exception: to raise what the work raised is to take it too, to run out of time is not."""
    cdef unsigned long before = waits
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    if PyVectorcall_NARGS(nargsf) > 0 and is_recording():
        if waits != before and state_of(args[0]) != STATE_DONE:
            log_future_ran_out(args[0])
        else:
            log_done(args[0])
    return result


cdef void log_future_ran_out(PyObject *future) noexcept:
    track(future)
    log_ran_out(future, OF_FUTURE)


cdef PyObject *future_add_callback(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """A callback added to a future that is done runs here and now."""
    if PyVectorcall_NARGS(nargsf) > 0 and is_recording():
        log_done(args[0])
    return call_original(watched, args, nargsf, kwnames)


cdef int take_each(PyObject *futures) noexcept:
    """How many were taken: what was done when the thread looked before is not taken again."""
    cdef PyObject *iterator = PyObject_GetIter(futures)
    cdef PyObject *future
    cdef int count = 0
    if iterator == NULL:
        PyErr_Clear()
        return 0
    while True:
        future = PyIter_Next(iterator)
        if future == NULL:
            break
        count += log_done(future)
        Py_DECREF(future)
    PyErr_Clear()
    Py_DECREF(iterator)
    return count


cdef void log_one_ran_out(PyObject *futures) noexcept:
    """A wait for several, of which none has come: logged once, of any of them."""
    cdef PyObject *iterator = PyObject_GetIter(futures)
    cdef PyObject *future = NULL
    if iterator != NULL:
        future = PyIter_Next(iterator)
        Py_DECREF(iterator)
    PyErr_Clear()
    if future != NULL:
        log_future_ran_out(future)
        Py_DECREF(future)


cdef PyObject *futures_wait(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef unsigned long before = waits
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    if result != NULL and is_recording() and PyTuple_Check(result) and PyTuple_GET_SIZE(result) == 2:
        if take_each(PyTuple_GET_ITEM(result, 0)) == 0 and waits != before:
            log_one_ran_out(PyTuple_GET_ITEM(result, 1))
    return result


cdef PyObject *work_init(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    cdef PyObject *future
    cdef PyObject *function
    if result != NULL and count > 0 and is_recording():
        future = argument(args, count, kwnames, 1, N_FUTURE)
        function = argument(args, count, kwnames, 2, N_FN)
        if function != NULL:
            promote(function)
        if future != NULL:
            track(future)
            record(RAW_POST, HAND_START, 0, <uintptr_t>future, 0, current_site())
    return result


cdef PyObject *work_run(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef PyObject *future
    if PyVectorcall_NARGS(nargsf) > 0 and is_recording():
        future = attribute(args[0], N_FUTURE)
        if future != NULL:
            record_after(RAW_TAKE, HAND_START, 0, <uintptr_t>future, 0, 0)
            Py_DECREF(future)
        record(RAW_ENTRY, KEY_NONE, 0, 0, 0, 0)
    return call_original(watched, args, nargsf, kwnames)
