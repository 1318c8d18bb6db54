# Inspects arguments, and attributes of primitives, without running the program's code

cdef tuple NAMES = (
    "_lock", "_value", "_parties", "_state", "future", "_name", "_target", "function", "run", "_loop", "_callback",
    "_args", "_children", "_locked", "__name__", "get_name", "_put", "_initial_value", "__qualname__", "func",
    "__self__", "block", "item", "n", "fn", "callback", "timeout", "blocking", "_max_workers",
    "_processes", "_job", "_event", "_flag", "_pool", "_action", "counter", "ready", "_is_owned", "_run",
    "system_task", "main_task", "name", "_runner", "_parent_nursery", "_closed", "_parent_task", "_owner", "_max_value",
    "_lot", "_parked", "value", "data", "receive_tasks", "max_buffer_size",
)
cdef PyObject *NAME[54]
cdef enum:
    N_LOCK, N_VALUE, N_PARTIES, N_STATE, N_FUTURE, N_NAME, N_TARGET, N_FUNCTION, N_RUN, N_LOOP, N_CALLBACK
    N_ARGS, N_CHILDREN, N_LOCKED, N_DUNDER_NAME, N_GET_NAME, N_PUT, N_INITIAL_VALUE, N_QUALNAME, N_FUNC
    N_SELF, N_BLOCK, N_ITEM, N_N, N_FN, N_CALLBACK_ARGUMENT, N_TIMEOUT, N_BLOCKING, N_MAX_WORKERS
    N_PROCESSES, N_JOB, N_EVENT, N_FLAG, N_POOL, N_ACTION, N_COUNTER, N_READY, N_IS_OWNED, N_GREENLET_RUN
    N_SYSTEM_TASK, N_MAIN_TASK, N_PLAIN_NAME, N_RUNNER, N_PARENT_NURSERY, N_CLOSED, N_PARENT_TASK, N_OWNER, N_MAX_VALUE
    N_LOT, N_PARKED, N_VALUE_ARGUMENT, N_DATA, N_RECEIVE_TASKS, N_MAX_BUFFER_SIZE
cdef int _name_index
for _name_index in range(54):
    NAME[_name_index] = <PyObject *>NAMES[_name_index]


cdef PyObject *attribute(PyObject *obj, int name) noexcept:
    """A new reference, or NULL with no error set; an error that is set already stays."""
    cdef PyObject *error[3]
    cdef bint has_error = keep_error(error)
    cdef PyObject *result = PyObject_GetAttr(obj, NAME[name])
    if result == NULL:
        PyErr_Clear()
    if has_error:
        restore_error(error)
    return result


cdef bint has_attribute(PyObject *obj, int name) noexcept:
    """Whether it has one that is not None."""
    cdef PyObject *value = attribute(obj, name)
    cdef bint result = value != NULL and value != Py_None
    if value != NULL:
        Py_DECREF(value)
    return result


cdef long number_attribute(PyObject *obj, int name, long otherwise) noexcept:
    cdef PyObject *value = attribute(obj, name)
    cdef long result = otherwise
    if value == NULL:
        return otherwise
    if PyLong_Check(value):
        result = PyLong_AsLong(value)
        if result == -1 and PyErr_Occurred():
            PyErr_Clear()
    Py_DECREF(value)
    return result


cdef int state_of(PyObject *future) noexcept:
    """Of a future or task, of concurrent.futures or asyncio."""
    cdef PyObject *state = attribute(future, N_STATE)
    cdef int result = STATE_UNKNOWN
    if state == NULL:
        return result
    if PyUnicode_Check(state):
        if PyUnicode_CompareWithASCIIString(state, b"PENDING") == 0:
            result = STATE_PENDING
        elif PyUnicode_CompareWithASCIIString(state, b"RUNNING") == 0:
            result = STATE_RUNNING
        else:
            result = STATE_DONE
    Py_DECREF(state)
    return result


cdef PyObject *argument(PyObject *const *args, Py_ssize_t count, PyObject *kwnames, Py_ssize_t place, int name) noexcept:
    """A borrowed reference to an argument by its place or its name; NULL: it is not there."""
    cdef Py_ssize_t i
    if place < count:
        return args[place]
    if kwnames != NULL:
        for i in range(PyTuple_GET_SIZE(kwnames)):
            if (<object>PyTuple_GET_ITEM(kwnames, i)) is (<object>NAME[name]):
                return args[count + i]
    return NULL


cdef inline bint is_false(PyObject *flag) noexcept:
    """Of the `block` of a get and the like: only what has no truth test of its own is looked at."""
    return flag == Py_False or (flag != NULL and PyLong_Check(flag) and PyLong_AsLong(flag) == 0)


cdef bint is_zero_timeout(PyObject *timeout) noexcept:
    """Whether who gives this `timeout` does not wait at all; None, or nothing: until it is there."""
    cdef double seconds
    if timeout == NULL:
        return False
    if PyFloat_Check(timeout):
        return PyFloat_AS_DOUBLE(timeout) <= 0
    if not PyLong_Check(timeout):
        return False
    seconds = PyLong_AsLong(timeout)
    if seconds == -1 and PyErr_Occurred():
        PyErr_Clear()
        return False
    return seconds <= 0
