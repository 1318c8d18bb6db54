# Primitives of asyncio: locks, events, conditions, semaphores, barriers
#
# Who made one is known from its `__init__`. Those that were made before the recording are watched, because a coroutine
# has no caller that could be looked at.

cdef Primitive *loop_primitive(PyObject *primitive, int kind) noexcept:
    """The entry of a watched one, or NULL."""
    cdef Primitive *entry
    if not is_recording():
        return NULL
    entry = find(primitive)
    if entry == NULL or entry.ref == NULL:
        entry = adopt(primitive, kind)
    if entry == NULL or not entry.is_watched:
        return NULL
    if entry.named_in != trace_number:
        log_name(entry, primitive)
        entry = find(primitive)
    return entry


cdef PyObject *init_for_loop(
    PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames, int kind
) noexcept:
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    if result != NULL and PyVectorcall_NARGS(nargsf) > 0 and is_recording() and not watch_new(args[0], kind):
        # The library's own: known, and not watched. A class's own __init__ calls its base's: watched stays watched.
        track(args[0])
    return result


cdef PyObject *init_loop_lock(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return init_for_loop(watched, args, nargsf, kwnames, KIND_LOOP_LOCK)


cdef PyObject *init_loop_plain(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return init_for_loop(watched, args, nargsf, kwnames, KIND_PLAIN)


cdef PyObject *init_loop_condition(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return init_for_loop(watched, args, nargsf, kwnames, KIND_LOOP_CONDITION)


cdef PyObject *init_loop_semaphore(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return init_for_loop(watched, args, nargsf, kwnames, KIND_SEMAPHORE)


cdef PyObject *init_loop_barrier(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return init_for_loop(watched, args, nargsf, kwnames, KIND_BARRIER)


cdef PyObject *init_loop_queue(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return init_for_loop(watched, args, nargsf, kwnames, KIND_QUEUE)


cdef bint is_loop_lock_held(PyObject *lock) noexcept:
    cdef PyObject *locked = attribute(lock, N_LOCKED)
    Py_XDECREF(locked)
    return locked == Py_True


cdef PyObject *loop_lock_release(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    if PyVectorcall_NARGS(nargsf) > 0 and loop_primitive(args[0], KIND_LOOP_LOCK) != NULL:
        if is_loop_lock_held(args[0]):
            log_released(args[0], 1)
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *loop_event_set(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    if PyVectorcall_NARGS(nargsf) > 0 and loop_primitive(args[0], KIND_PLAIN) != NULL:
        log_state(RAW_WRITE, args[0], OF_EVENT)
        log_post(args[0])
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *loop_event_clear(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    if PyVectorcall_NARGS(nargsf) > 0 and loop_primitive(args[0], KIND_PLAIN) != NULL:
        log_state(RAW_WRITE, args[0], OF_EVENT)
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *loop_event_is_set(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    if PyVectorcall_NARGS(nargsf) > 0 and loop_primitive(args[0], KIND_PLAIN) != NULL:
        log_state(RAW_READ, args[0], OF_EVENT)
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *loop_condition_notify(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef PyObject *lock
    if PyVectorcall_NARGS(nargsf) > 0 and loop_primitive(args[0], KIND_LOOP_CONDITION) != NULL:
        lock = attribute(args[0], N_LOCK)
        if lock != NULL:
            if is_loop_lock_held(lock):
                log_post(args[0])
            Py_DECREF(lock)
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *loop_semaphore_release(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    # A bounded one looks first whether it may, and then comes here.
    if PyVectorcall_NARGS(nargsf) > 0 and loop_primitive(args[0], KIND_SEMAPHORE) != NULL:
        record(RAW_POST, HAND_PERMIT, 0, <uintptr_t>args[0], 0, current_site())
    return call_original(watched, args, nargsf, kwnames)
