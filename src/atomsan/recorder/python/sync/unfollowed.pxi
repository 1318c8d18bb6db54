# Tasks of libraries that are not told apart: it is said once in a trace that nothing is known of what they do to each other

cdef dict _said = {}
"""By the sentence, the trace in which it was said last."""

cdef list _said_of_each = []
"""What is so of each trace."""


def say_of_each_trace(str sentence) -> None:
    """Nothing is known to hold of this trace, nor of those that this recording has after it."""
    if sentence not in _said_of_each:
        _said_of_each.append(sentence)
        define(["unfollowed", sentence])


cdef str TRIO = (
    "tasks of trio were not followed: they look like one thread, so what they do to each other was not checked"
)
cdef str TRIO_THREADS = (
    "threads of trio were not followed: what orders them and the tasks that wait for them was not seen, so findings may be"
    " wrong and others missing"
)
cdef str TRIO_LIMITERS = (
    "capacity limiters of trio were not followed: whom they keep out was not seen, so findings may be wrong"
)
cdef str CURIO = (
    "tasks of curio were not followed: they look like one thread, so what they do to each other was not checked"
)
cdef str EVENTLET = (
    "locks, queues and events of eventlet were not followed: what they order was not seen, so findings may be wrong"
    " and others missing"
)
cdef str NATIVE_POOL = (
    "jobs of gevent.threadpool were not followed: what their results order was not seen, so findings may be wrong"
    " and others missing"
)
cdef str GREENLETS_LOST = (
    "greenlets were not followed to the end: the program's own trace function of greenlet raised, and greenlet took ours"
    " away with it"
)


cdef void say_unfollowed(str sentence) noexcept:
    cdef PyObject *error[3]
    cdef bint has_error
    if not is_recording():
        return
    has_error = keep_error(error)
    if _said.get(sentence) != trace_number:
        _said[sentence] = trace_number
        define(["unfollowed", sentence])
    if has_error:
        restore_error(error)


cdef PyObject *unfollowed_curio(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    say_unfollowed(CURIO)
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *unfollowed_eventlet(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    say_unfollowed(EVENTLET)
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *unfollowed_pool(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    if called_from_instrumented_code():
        say_unfollowed(NATIVE_POOL)
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *unfollowed_trio_threads(
    PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames
) noexcept:
    say_unfollowed(TRIO_THREADS)
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *unfollowed_trio_limiters(
    PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames
) noexcept:
    if called_from_instrumented_code():
        say_unfollowed(TRIO_LIMITERS)
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *unfollowed_trio(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """`Runner.spawn_impl`: every task. The main one, and those of trio itself, are no task beside others."""
    cdef PyObject *main_task
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    if count > 0 and is_recording() and argument(args, count, kwnames, count, N_SYSTEM_TASK) != Py_True:
        main_task = attribute(args[0], N_MAIN_TASK)
        if main_task != NULL and main_task != Py_None:
            say_unfollowed(TRIO)
        Py_XDECREF(main_task)
    return call_original(watched, args, nargsf, kwnames)
