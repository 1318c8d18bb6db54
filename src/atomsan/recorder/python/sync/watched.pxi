# Watched: a Python function of the standard library, with a hook around it

@cython.final
cdef class Watched:
    """Stands in for a function: whatever is asked of it, its attributes, its repr, its type, the function answers."""

    cdef Hook vectorcall
    cdef object function
    cdef uint32_t number
    """Of the thread that it starts; 0 for the functions of classes and modules."""
    cdef object __weakref__

    def __init__(self, function, str hook):
        self.function = function
        self.vectorcall = hook_named(hook)


def original(watched: Watched) -> object:
    return watched.function


def is_watched(value: object) -> bool:
    return type(value) is Watched


cdef PyObject *watched_get(PyObject *watched, PyObject *instance, PyObject *owner) noexcept:
    if instance == NULL or instance == Py_None:
        Py_INCREF(watched)
        return watched
    return PyMethod_New(watched, instance)


cdef PyObject *watched_reduce(PyObject *watched, PyObject *ignored) noexcept:
    """As functions do: by name."""
    return PyObject_GetAttr(<PyObject *>(<Watched>watched).function, NAME[N_QUALNAME])


cdef PyMethodDef reduce_definition
reduce_definition.ml_name = b"__reduce_ex__"
reduce_definition.ml_meth = <void *>watched_reduce
reduce_definition.ml_flags = METH_O
reduce_definition.ml_doc = NULL


cdef PyObject *watched_attribute(PyObject *watched, PyObject *name) noexcept:
    if PyUnicode_CompareWithASCIIString(name, b"__reduce_ex__") == 0:
        return PyCFunction_New(&reduce_definition, watched)
    return PyObject_GetAttr(<PyObject *>(<Watched>watched).function, name)


cdef int watched_set_attribute(PyObject *watched, PyObject *name, PyObject *value) noexcept:
    return PyObject_SetAttr(<PyObject *>(<Watched>watched).function, name, value)


cdef PyObject *watched_repr(PyObject *watched) noexcept:
    return PyObject_Repr(<PyObject *>(<Watched>watched).function)


cdef void prepare_watched():
    # By hand, because the slots that Cython makes add its own lines to tracebacks.
    cdef PyTypeObject *kind = <PyTypeObject *><PyObject *>Watched
    cdef Watched sample = Watched.__new__(Watched)
    kind.tp_vectorcall_offset = <char *>&sample.vectorcall - <char *><PyObject *>sample
    kind.tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR
    kind.tp_call = <void *>PyVectorcall_Call
    kind.tp_descr_get = <void *>watched_get
    kind.tp_getattro = <void *>watched_attribute
    kind.tp_setattro = <void *>watched_set_attribute
    kind.tp_repr = <void *>watched_repr
    PyType_Modified(kind)


prepare_watched()


cdef inline PyObject *call_original(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return PyObject_Vectorcall(<PyObject *>(<Watched>watched).function, args, nargsf, kwnames)


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
            Py_DECREF(lock)
    elif kind == KIND_SEMAPHORE:
        record(RAW_SEMAPHORE, KEY_NONE, 0, address, number_attribute(primitive, N_VALUE, 1), 0)
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
    if entry.told != trace_number:
        tell_name(entry, primitive)
    return True


cdef bint watch_new(PyObject *primitive, int kind) noexcept:
    """A primitive that the program's code has just made is watched from now on. False: it was not made, or by others."""
    if primitive == NULL or not is_recording() or not called_from_instrumented_code():
        return False
    adopt(primitive, kind)
    record(RAW_MADE, KEY_NONE, 0, <uintptr_t>primitive, 0, 0)
    return True


cdef PyObject *made(
    PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames, int kind
) noexcept:
    """Around the `__init__` of a primitive."""
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    if result != NULL and PyVectorcall_NARGS(nargsf) > 0:
        watch_new(args[0], kind)
    return result


cdef PyObject *init_plain(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return made(watched, args, nargsf, kwnames, KIND_PLAIN)


cdef PyObject *init_condition(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return made(watched, args, nargsf, kwnames, KIND_CONDITION)


cdef PyObject *init_semaphore(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return made(watched, args, nargsf, kwnames, KIND_SEMAPHORE)


cdef PyObject *init_barrier(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return made(watched, args, nargsf, kwnames, KIND_BARRIER)


cdef PyObject *init_queue(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return made(watched, args, nargsf, kwnames, KIND_QUEUE)


cdef PyObject *make_rlock(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """`threading.RLock` is a function: the program calls it, and it makes the lock."""
    cdef PyObject *lock = call_original(watched, args, nargsf, kwnames)
    if lock != NULL and is_lock(lock):
        watch_new(lock, KIND_LOCK)
    return lock
