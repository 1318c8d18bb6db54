# Which primitives are watched: those that the program's own code makes or uses directly

cdef object queue_adopter = None


def set_queue_adopter(adopter) -> None:
    """`adopter(type)` replaces the `_put` and `_get` that a class of the program has of its own."""
    global queue_adopter
    queue_adopter = adopter


cdef void adopt_queue(PyObject *queue) noexcept:
    cdef PyObject *method = _PyType_Lookup(Py_TYPE(queue), NAME[N_PUT])
    cdef bint is_interrupted
    if method == NULL or Py_TYPE(method) == <PyTypeObject *><PyObject *>Watched or queue_adopter is None:
        return
    Py_XDECREF(call_hidden(queue_adopter, (<object><PyObject *>Py_TYPE(queue),), &is_interrupted))


cdef Primitive *adopt(PyObject *primitive, int kind) noexcept:
    """From now on this one is watched."""
    cdef Primitive *entry
    cdef PyObject *lock
    cdef uintptr_t address = <uintptr_t>primitive
    if kind == KIND_LOCK:
        watch(primitive)
        return find(primitive)
    if kind == KIND_QUEUE:
        adopt_queue(primitive)
    entry = track(primitive)
    if entry == NULL:
        return NULL
    entry.kind = kind
    entry.is_watched = True
    entry.home = <uintptr_t>PyEval_GetGlobals()
    if kind == KIND_CONDITION:
        lock = attribute(primitive, N_LOCK)
        if lock != NULL:
            if is_lock(lock):
                watch(lock)
            elif kind_of_green(lock) != KIND_GREEN_SEMAPHORE:
                adopt(lock, kind_of_green(lock))
            Py_DECREF(lock)
    elif kind == KIND_SEMAPHORE:
        record(RAW_SEMAPHORE, KEY_NONE, 0, address, number_attribute(primitive, N_VALUE, 1), 0)
    elif kind == KIND_GREEN_SEMAPHORE:
        record(RAW_SEMAPHORE, KEY_NONE, 0, address, number_attribute(primitive, N_COUNTER, 1), 0)
    elif kind == KIND_BARRIER:
        record(RAW_BARRIER, KEY_NONE, 0, address, number_attribute(primitive, N_PARTIES, 1), 0)
    elif kind == KIND_LOOP_CONDITION:
        lock = attribute(primitive, N_LOCK)
        if lock != NULL:
            entry = track(lock)
            if entry != NULL:
                entry.kind = KIND_LOOP_LOCK
                entry.is_watched = True
            Py_DECREF(lock)
    return find(primitive)


cdef bint is_watched_object(PyObject *primitive, int kind) noexcept:
    """Asked before anything is logged of an object; one that the program's code uses directly is watched from now on."""
    cdef Primitive *entry
    if not is_recording():
        return False
    entry = find(primitive)
    if entry == NULL and called_from_instrumented_code():
        entry = adopt(primitive, kind)
    if entry == NULL or not entry.is_watched:
        return False
    if entry.named_in != trace_number:
        log_name(entry, primitive)
    return True


cdef bint watch_new(PyObject *primitive, int kind) noexcept:
    """Watch a primitive if it is the program's code that has just made it. False: it was not made, or by others."""
    if primitive == NULL or not is_recording() or not called_from_instrumented_code():
        return False
    adopt(primitive, kind)
    record(RAW_MADE, KEY_NONE, 0, <uintptr_t>primitive, 0, 0)
    return True


cdef PyObject *init_with(
    PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames, int kind
) noexcept:
    """Around the `__init__` of a primitive: it is watched if the program makes it."""
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    if result != NULL and PyVectorcall_NARGS(nargsf) > 0:
        watch_new(args[0], kind)
    return result


cdef PyObject *init_plain(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return init_with(watched, args, nargsf, kwnames, KIND_PLAIN)


cdef PyObject *init_condition(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return init_with(watched, args, nargsf, kwnames, KIND_CONDITION)


cdef PyObject *init_semaphore(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return init_with(watched, args, nargsf, kwnames, KIND_SEMAPHORE)


cdef PyObject *init_barrier(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return init_with(watched, args, nargsf, kwnames, KIND_BARRIER)


cdef PyObject *init_queue(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return init_with(watched, args, nargsf, kwnames, KIND_QUEUE)


cdef PyObject *make_rlock(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """`threading.RLock` is a function: the program calls it, and it makes the lock."""
    cdef PyObject *lock = call_original(watched, args, nargsf, kwnames)
    if lock != NULL and is_lock(lock):
        watch_new(lock, KIND_LOCK)
    return lock
