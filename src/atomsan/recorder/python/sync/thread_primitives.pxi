# Primitives of threading: Condition, Event, Semaphore, Barrier

cdef void log_post(PyObject *primitive) noexcept:
    record(RAW_POST, HAND_PLAIN, 0, <uintptr_t>primitive, 0, current_site())


cdef void log_take(PyObject *primitive) noexcept:
    record_after(RAW_TAKE, HAND_PLAIN, 0, <uintptr_t>primitive, 0, current_site())


# A wait that has ended without a hand-over (it timed out, or there is room in a queue) is logged if the thread has
# really waited: most primitives are made of conditions, so that `waits` has changed then. A call that must not wait, or
# did not need to, is no wait.

cdef void log_ran_out(PyObject *primitive, int of) noexcept:
    record_after(RAW_TAKE, HAND_NOTHING, 0, <uintptr_t>primitive, of, current_site())


cdef PyObject *condition_enter(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    global entering
    cdef PyObject *outer = entering
    cdef PyObject *lock = NULL
    cdef PyObject *result
    if PyVectorcall_NARGS(nargsf) > 0 and is_recording() and called_from_instrumented_code():
        is_watched_object(args[0], KIND_CONDITION)
        lock = attribute(args[0], N_LOCK)
    entering = lock
    result = call_original(watched, args, nargsf, kwnames)
    entering = outer
    Py_XDECREF(lock)
    return result


cdef PyObject *condition_wait(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    global waits
    cdef PyObject *lock
    cdef PyObject *result
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    if not is_zero_timeout(argument(args, count, kwnames, 1, N_TIMEOUT)):
        waits += 1
    if count == 0 or not is_watched_object(args[0], KIND_CONDITION):
        return call_original(watched, args, nargsf, kwnames)
    lock = attribute(args[0], N_LOCK)
    if lock == NULL or not is_held(lock):
        Py_XDECREF(lock)
        return call_original(watched, args, nargsf, kwnames)
    record(RAW_WAIT, KEY_NONE, 0, <uintptr_t>args[0], <uintptr_t>lock, current_site())
    result = call_original(watched, args, nargsf, kwnames)
    record_after(RAW_WOKEN, KEY_NONE, 0, <uintptr_t>args[0], result == Py_True, current_site())
    Py_DECREF(lock)
    return result


cdef PyObject *condition_notify(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    # notify_all comes here too, through notify.
    cdef PyObject *lock
    if PyVectorcall_NARGS(nargsf) > 0 and is_watched_object(args[0], KIND_CONDITION):
        lock = attribute(args[0], N_LOCK)
        if lock != NULL:
            if is_held(lock):
                log_post(args[0])
            Py_DECREF(lock)
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *event_use(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """set, clear, is_set: the markers in them log, of what is watched; here is seen whether the program uses it."""
    if PyVectorcall_NARGS(nargsf) > 0:
        is_watched_object(args[0], KIND_PLAIN)
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *take_if_true(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """Event.wait. `is_set` is only a read of the state: a flag that is polled (`while not stop.is_set()`) is not waited
    for, and taking it would order everything the poller does next after the one who set it, as if it had waited."""
    cdef bint watch_it = PyVectorcall_NARGS(nargsf) > 0 and is_watched_object(args[0], KIND_PLAIN)
    cdef unsigned long before = waits
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    if watch_it and result == Py_True:
        log_take(args[0])
    elif watch_it and waits != before:
        log_ran_out(args[0], OF_EVENT)
    return result


cdef PyObject *semaphore_acquire(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    cdef bint watch_it = count > 0 and is_watched_object(args[0], KIND_SEMAPHORE)
    cdef unsigned long before = waits
    cdef uint16_t flags = 0
    cdef PyObject *result
    if watch_it and (
        is_false(argument(args, count, kwnames, 1, N_BLOCKING))
        or is_zero_timeout(argument(args, count, kwnames, 2, N_TIMEOUT))
    ):
        flags = FLAG_NO_WAIT
    result = call_original(watched, args, nargsf, kwnames)
    if watch_it and result == Py_True:
        record_after(RAW_TAKE, HAND_PERMIT, flags, <uintptr_t>args[0], 0, current_site())
    elif watch_it and waits != before:
        log_ran_out(args[0], OF_SEMAPHORE)
    return result


cdef PyObject *semaphore_release(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    cdef PyObject *how_many
    cdef long n = 1, bound
    if count > 0 and is_watched_object(args[0], KIND_SEMAPHORE):
        how_many = argument(args, count, kwnames, 1, N_N)
        if how_many != NULL:
            n = PyLong_AsLong(how_many) if PyLong_Check(how_many) else 0
            if n == -1 and PyErr_Occurred():
                PyErr_Clear()
        bound = number_attribute(args[0], N_INITIAL_VALUE, -1)
        # One release too many raises, and gives no permit.
        if bound < 0 or number_attribute(args[0], N_VALUE, 0) + n <= bound:
            while n > 0:
                record(RAW_POST, HAND_PERMIT, 0, <uintptr_t>args[0], 0, current_site())
                n -= 1
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *barrier_wait(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef bint watch_it = PyVectorcall_NARGS(nargsf) > 0 and is_watched_object(args[0], KIND_BARRIER)
    cdef unsigned long before = waits
    cdef PyObject *result
    if watch_it:
        record(RAW_ARRIVE, KEY_NONE, 0, <uintptr_t>args[0], 0, current_site())
    result = call_original(watched, args, nargsf, kwnames)
    if watch_it and result != NULL:
        record_after(RAW_DEPART, KEY_NONE, 0, <uintptr_t>args[0], 0, current_site())
    elif watch_it and waits != before:
        log_ran_out(args[0], OF_BARRIER)
    return result


cdef PyObject *barrier_release(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """The last thread that arrives does the barrier's action, while all others wait: after they came, before they go."""
    cdef bint watch_it = PyVectorcall_NARGS(nargsf) > 0 and is_watched_object(args[0], KIND_BARRIER)
    cdef PyObject *result
    watch_it = watch_it and has_attribute(args[0], N_ACTION)
    if watch_it:
        record_after(RAW_DEPART, KEY_NONE, FLAG_CALLED_BACK, <uintptr_t>args[0], 0, current_site())
    result = call_original(watched, args, nargsf, kwnames)
    if watch_it and result != NULL:
        record(RAW_ARRIVE, KEY_NONE, FLAG_CALLED_BACK, <uintptr_t>args[0], 0, current_site())
    return result
