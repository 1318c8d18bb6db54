# Futures of asyncio, written in C and in Python: results that are set and taken

# The state of a future is what the program does to it itself: a task is done when it ends, whoever asks.

cdef void loop_future_posts(PyObject *future) noexcept:
    if not is_recording() or is_internal():
        return
    if called_from_instrumented_code() and not is_numbered(future):
        log_future_state(RAW_WRITE, future)
    if state_of(future) == STATE_PENDING:
        log_future_post(future)


cdef void loop_future_looked_at(PyObject *future) noexcept:
    if is_recording() and called_from_instrumented_code() and not is_numbered(future):
        log_future_state(RAW_READ, future)


cdef PyObject *loop_future_done(PyObject *future, PyObject *ignored) noexcept:
    loop_future_looked_at(future)
    return original_future_done(future, ignored)


cdef PyObject *loop_future_cancelled(PyObject *future, PyObject *ignored) noexcept:
    loop_future_looked_at(future)
    return original_future_cancelled(future, ignored)


cdef void loop_future_taken(PyObject *future) noexcept:
    # In a callback of asyncio it is the callback's cause that is looked at, and that is logged when it matters.
    if is_recording() and not in_callback and find(future) != NULL:
        log_done(future)


cdef PyObject *loop_future_result(PyObject *future, PyObject *ignored) noexcept:
    loop_future_taken(future)
    return original_future_result(future, ignored)


cdef PyObject *loop_future_exception(PyObject *future, PyObject *ignored) noexcept:
    loop_future_taken(future)
    return original_future_exception(future, ignored)


cdef PyObject *loop_future_class_exception(
    PyObject *future, PyTypeObject *kind, PyObject *const *args, Py_ssize_t count, PyObject *kwnames
) noexcept:
    loop_future_taken(future)
    return original_class_exception(future, kind, args, count, kwnames)


cdef PyObject *loop_future_set_result(PyObject *future, PyObject *value) noexcept:
    loop_future_posts(future)
    return original_set_result(future, value)


cdef PyObject *loop_future_set_exception(PyObject *future, PyObject *value) noexcept:
    loop_future_posts(future)
    return original_set_exception(future, value)


cdef PyObject *loop_future_class_set_result(
    PyObject *future, PyTypeObject *kind, PyObject *const *args, Py_ssize_t count, PyObject *kwnames
) noexcept:
    loop_future_posts(future)
    return original_class_set_result(future, kind, args, count, kwnames)


cdef PyObject *loop_future_class_set_exception(
    PyObject *future, PyTypeObject *kind, PyObject *const *args, Py_ssize_t count, PyObject *kwnames
) noexcept:
    loop_future_posts(future)
    return original_class_set_exception(future, kind, args, count, kwnames)


cdef PyObject *loop_future_cancel(PyObject *future, PyObject *const *args, Py_ssize_t count, PyObject *kwnames) noexcept:
    loop_future_posts(future)
    return original_future_cancel(future, args, count, kwnames)


cdef PyObject *loop_future_class_cancel(
    PyObject *future, PyTypeObject *kind, PyObject *const *args, Py_ssize_t count, PyObject *kwnames
) noexcept:
    loop_future_posts(future)
    return original_class_cancel(future, kind, args, count, kwnames)


cdef PyObject *python_future_set(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    if PyVectorcall_NARGS(nargsf) > 0 and not is_numbered(args[0]):
        loop_future_posts(args[0])
    return call_original(watched, args, nargsf, kwnames)


cdef bint is_numbered(PyObject *future) noexcept:
    """A task written in Python sets its own result: its end is its exit, not a post."""
    cdef Primitive *entry = find(future)
    return entry != NULL and entry.number != 0


cdef PyObject *python_future_look(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    if PyVectorcall_NARGS(nargsf) > 0:
        loop_future_looked_at(args[0])
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *python_future_result(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    if PyVectorcall_NARGS(nargsf) > 0:
        loop_future_taken(args[0])
    return call_original(watched, args, nargsf, kwnames)
