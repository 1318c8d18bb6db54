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


cdef PyObject *pool_submit(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """The pool knows how many threads it may have; the work item that it makes does not."""
    global workers
    cdef long outer = workers
    cdef PyObject *result
    if PyVectorcall_NARGS(nargsf) == 0 or not is_recording():
        return call_original(watched, args, nargsf, kwnames)
    workers = max(0, number_attribute(args[0], N_MAX_WORKERS, 0))
    result = call_original(watched, args, nargsf, kwnames)
    workers = outer
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
            record(RAW_POST, HAND_START, 0, <uintptr_t>future, <uint64_t>workers, current_site())
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


# Pools of threads of multiprocessing
#
# What they hand over goes through queues and threads of the library's own, which are not logged: the result of a call
# is, as a future. A worker knows it by the number of the call, of which there may be several parts.

cdef object thread_pool_type = None
cdef dict results_of_pools = {}
"""By the number of a call: the address of its result."""


def set_thread_pool_type(kind) -> None:
    global thread_pool_type
    thread_pool_type = kind
    results_of_pools.clear()


cdef PyObject *pool_result_init(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """A call was given to a pool, or is about to be."""
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    cdef PyObject *number
    if result == NULL or PyVectorcall_NARGS(nargsf) < 2 or not is_recording() or thread_pool_type is None:
        return result
    if not PyObject_TypeCheck(args[1], <PyTypeObject *><PyObject *>thread_pool_type):
        return result
    number = attribute(args[0], N_JOB)
    if number != NULL:
        results_of_pools[<object>number] = <uintptr_t>args[0]
        Py_DECREF(number)
        track(args[0])
        record(
            RAW_POST, HAND_START, 0, <uintptr_t>args[0], max(0, number_attribute(args[1], N_PROCESSES, 0)),
            current_site(),
        )
    return result


cdef uintptr_t result_of_pool(PyObject *number) noexcept:
    """The address of the result of a call of this number; 0: it is not of a pool of threads, or nobody waits for it."""
    if not PyLong_Check(number):
        return 0
    return results_of_pools.get(<object>number, 0)


cdef void mark_pool_job(PyObject *task) noexcept:
    """A worker has got a part of a call: its number stands first in it."""
    cdef uintptr_t result = 0
    if PyTuple_Check(task) and PyTuple_GET_SIZE(task):
        result = result_of_pool(PyTuple_GET_ITEM(task, 0))
    if result:
        record_after(RAW_TAKE, HAND_START, 0, result, 0, 0)
        record(RAW_ENTRY, KEY_NONE, 0, 0, 0, 0)


cdef void mark_pool_job_done(PyObject *number) noexcept:
    cdef uintptr_t result = result_of_pool(number)
    if result:
        record(RAW_POST, HAND_PLAIN, 0, result, 0, current_site())


cdef bint is_of_threads(PyObject *result) noexcept:
    """Whether a result is that of a pool of threads: it is known as long as it is not there, and as what it is."""
    return find(result) != NULL


cdef void mark_pool_result_comes(PyObject *result) noexcept:
    """A part of a call has been done: the thread that collects results calls the program back, if it is the last one."""
    if is_of_threads(result):
        log_take(result)


cdef void mark_pool_result_set(PyObject *result) noexcept:
    cdef PyObject *number
    if is_of_threads(result):
        log_post(result)
        number = attribute(result, N_JOB)
        if number != NULL:
            results_of_pools.pop(<object>number, None)
            Py_DECREF(number)


cdef void mark_pool_result_taken(PyObject *result) noexcept:
    if is_of_threads(result):
        log_take(result)


cdef void mark_pool_result_ran_out(PyObject *result) noexcept:
    if is_of_threads(result):
        log_future_ran_out(result)


cdef void mark_pool_result_looked(PyObject *result) noexcept:
    """After a wait for a result that may have run out, or a look whether it is there."""
    cdef PyObject *event
    cdef PyObject *flag = NULL
    if not is_of_threads(result):
        return
    event = attribute(result, N_EVENT)
    if event != NULL:
        flag = attribute(event, N_FLAG)
        Py_DECREF(event)
    if flag == Py_True:
        log_take(result)
    Py_XDECREF(flag)
