# State of primitives: whether an event is set, a future done, a lock taken, a thread started
#
# Who asks reads it, who changes it writes it, at the line of the program that does. That orders nothing and splits
# nothing: a state is data. Most is logged by markers next to the access itself, so that the log has its order.

cdef void log_state(uint8_t op, PyObject *primitive, int of) noexcept:
    """Before the access."""
    cdef PyObject *error[3]
    cdef bint has_error = keep_error(error)
    log_held(op, FLAG_STATE, <uintptr_t>primitive, of, call_site(), current_site(), False)
    if has_error:
        restore_error(error)


cdef inline bint is_watched_already(PyObject *primitive) noexcept:
    cdef Primitive *entry = find(primitive)
    return entry != NULL and entry.is_watched


cdef void mark_event_read(PyObject *event) noexcept:
    if is_watched_already(event):
        log_state(RAW_READ, event, OF_EVENT)


cdef void mark_event_cleared(PyObject *event) noexcept:
    if is_watched_already(event):
        log_state(RAW_WRITE, event, OF_EVENT)


cdef void mark_event_set(PyObject *event) noexcept:
    """The hand-over comes behind the write: it is the end of what was done before."""
    if is_watched_already(event):
        log_state(RAW_WRITE, event, OF_EVENT)
        log_post(event)


# Of a future, only what the program itself does: it makes none of those that an executor gives it, and sets none.

cdef void log_future_state(uint8_t op, PyObject *future) noexcept:
    track(future)
    log_state(op, future, OF_FUTURE)


cdef PyObject *future_use(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """done, cancelled, running, set_result, set_exception, cancel: the markers in them log."""
    global used_future
    cdef PyObject *outer = used_future
    cdef PyObject *result
    used_future = NULL
    if PyVectorcall_NARGS(nargsf) > 0 and is_recording() and called_from_instrumented_code():
        used_future = args[0]
    result = call_original(watched, args, nargsf, kwnames)
    used_future = outer
    return result


cdef void mark_future_read(PyObject *future) noexcept:
    if future == used_future:
        log_future_state(RAW_READ, future)


cdef void mark_future_refused(PyObject *future) noexcept:
    """A result, or a cancel, of a future that is done. What it would have changed a moment ago, it writes."""
    if future == used_future:
        log_future_state(RAW_WRITE, future)


cdef void mark_future_written(PyObject *future) noexcept:
    if future == used_future:
        log_future_state(RAW_WRITE, future)
    log_future_post(future)


# Of a lock and a thread, nothing is logged before somebody has asked for the state: most programs never do. A release
# is no write: who asks wants to know whether it is free to be taken, which only others that take it can change.

cdef void log_asked(PyObject *primitive, Primitive *entry, int of) noexcept:
    if entry != NULL:
        entry.is_asked = True
        log_state(RAW_READ, primitive, of)


cdef PyObject *lock_locked(PyObject *lock, PyObject *ignored) noexcept:
    if is_watched_object(lock, KIND_LOCK):
        log_asked(lock, find(lock), OF_LOCK)
    return original_locked(lock, ignored)


cdef PyObject *loop_lock_locked(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    if PyVectorcall_NARGS(nargsf) > 0 and is_recording() and called_from_instrumented_code():
        log_asked(args[0], loop_primitive(args[0], KIND_LOOP_LOCK), OF_LOCK)
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *thread_is_alive(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    if PyVectorcall_NARGS(nargsf) > 0 and is_recording() and called_from_instrumented_code():
        log_asked(args[0], track(args[0]), OF_THREAD)
    return call_original(watched, args, nargsf, kwnames)
