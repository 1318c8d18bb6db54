# Names of primitives: finds the global variable that holds a primitive, and logs it (RAW_CALLED)
#
# A primitive in an attribute is named by the reader of the log, because the code that uses it reads the attribute. Of a
# global that no function writes, nothing else is in the log.

cdef uint32_t trace_number = 1

cdef enum:
    MOST_LOOKS = 2         # it may get its name after it was first used
    MOST_GLOBALS = 2000    # of a module, that are looked at


def start_trace() -> None:
    """Another trace begins: names are logged again."""
    global trace_number
    trace_number += 1
    for sentence in _said_of_each:
        define(["unfollowed", sentence])


cdef PyObject *global_name(PyObject *namespace, PyObject *value) noexcept:
    """The global variable that has this value (borrowed), or NULL."""
    cdef Py_ssize_t position = 0, count = 0
    cdef PyObject *key
    cdef PyObject *found
    while count < MOST_GLOBALS and PyDict_Next(namespace, &position, &key, &found):
        if found == value and Py_TYPE(key) == &PyUnicode_Type:
            return key
        count += 1
    return NULL


cdef PyObject *named_somewhere(PyObject *value, PyObject **name) noexcept:
    """The namespace of the first module that has a global variable of this value."""
    cdef uintptr_t address
    for key in namespaces:
        address = key
        if is_instrumented_namespace(<PyObject *>address):
            name[0] = global_name(<PyObject *>address, value)
            if name[0] != NULL:
                return <PyObject *>address
    return NULL


cdef void log_name(Primitive *entry, PyObject *primitive) noexcept:
    """Log the name of a primitive, once in a trace. It is looked for again if it has none yet."""
    cdef PyObject *namespace = <PyObject *>entry.home
    cdef PyObject *name = NULL
    cdef PyObject *inner
    cdef PyObject *error[3]
    cdef int kind = entry.kind
    cdef uint32_t number = 0
    entry.looks += 1
    if entry.looks >= MOST_LOOKS:
        entry.named_in, entry.looks = trace_number, 0
    if is_instrumented_namespace(namespace):
        name = global_name(namespace, primitive)
    else:
        # made by somebody else, or before the recording
        namespace = named_somewhere(primitive, &name)
    if name == NULL:
        namespace = PyEval_GetGlobals()
        if namespace == <PyObject *>entry.home or not is_instrumented_namespace(namespace):
            return
        name = global_name(namespace, primitive)
        if name == NULL:
            return
    entry.named_in, entry.looks = trace_number, 0
    PyErr_Fetch(&error[0], &error[1], &error[2])
    try:
        number = name_number(<object>name)
    except Exception:
        pass
    if number:
        log_record(RAW_CALLED, KEY_NONE, 0, <uintptr_t>primitive, <uintptr_t>namespace, number)
        if kind == KIND_CONDITION or kind == KIND_LOOP_CONDITION:
            # who enters the condition has its lock
            inner = attribute(primitive, N_LOCK)
            if inner != NULL:
                log_record(RAW_CALLED, KEY_NONE, 0, <uintptr_t>inner, <uintptr_t>namespace, number)
                Py_DECREF(inner)
    PyErr_Restore(error[0], error[1], error[2])
