# Queues of `queue` and asyncio, and simple queues
#
# Most is logged in `_put`, `_get` and `_qsize`: these run under the queue's mutex, so that the log has exactly the
# queue's order, and a put or get that fails leaves no trace.

cdef uint32_t site_of_call() noexcept:
    cdef PyObject *error[3]
    cdef bint has_error = keep_error(error)
    cdef uint32_t site = call_site()
    if has_error:
        restore_error(error)
    return site


cdef bint gives_in_order(PyObject *queue) noexcept:
    """Whether it is known to give its items in the order in which it got them."""
    cdef PyTypeObject *kind = Py_TYPE(queue)
    if kind == simple_queue_type:
        return True
    return strcmp(kind.tp_name, "Queue") == 0 and (
        kind.tp_base == &PyBaseObject_Type or strcmp(kind.tp_base.tp_name, "_LoopBoundMixin") == 0
    )


cdef void log_access(uint8_t op, PyObject *queue, uint32_t call, bint has_happened) noexcept:
    cdef PyObject *error[3]
    cdef bint has_error = keep_error(error)
    cdef uint16_t flags = FLAG_QUEUE if gives_in_order(queue) else FLAG_QUEUE | FLAG_PICKS
    log_held(op, flags, <uintptr_t>queue, 0, call, current_site(), has_happened)
    if has_error:
        restore_error(error)


cdef void log_structure(uint8_t op, PyObject *queue) noexcept:
    log_access(op, queue, site_of_call(), False)


cdef void log_put(PyObject *queue, PyObject *item) noexcept:
    log_structure(RAW_WRITE, queue)
    record(RAW_POST, HAND_ITEM, 0, <uintptr_t>queue, <uintptr_t>item, current_site())


cdef void log_got(PyObject *queue, PyObject *item, uint32_t call, bint waited) noexcept:
    """A get changes the queue. One that can wait is also a hand-over, which splits the region that it stands in if the
    item was put since that began (`take_item` of the resolver): behind the access, so that nothing but what was before
    the wait is in one region with it. One that finds nothing, and did not wait, leaves no trace: it fails in the same
    step, which is what people do in place of looking first."""
    cdef uint16_t flags = 0 if waited else FLAG_NO_WAIT
    log_access(RAW_WRITE, queue, call, True)
    record_after(RAW_TAKE, HAND_ITEM, flags, <uintptr_t>queue, <uintptr_t>item, current_site())


cdef PyObject *queue_use(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """put, put_nowait: `_put` logs; here is seen whether it is the program that puts."""
    global put_since
    cdef bint watch_it = PyVectorcall_NARGS(nargsf) > 0 and is_watched_object(args[0], KIND_QUEUE)
    cdef unsigned long before = waits
    cdef unsigned long outer = put_since
    cdef PyObject *result
    put_since = before + 1
    result = call_original(watched, args, nargsf, kwnames)
    put_since = outer
    if watch_it and result == NULL and waits != before:
        log_ran_out(args[0], OF_QUEUE)
    return result


cdef PyObject *queue_get(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    global get_mode
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    cdef int outer = get_mode
    cdef unsigned long before = waits
    cdef bint may_wait
    cdef PyObject *result
    if count == 0 or not is_watched_object(args[0], KIND_QUEUE):
        return call_original(watched, args, nargsf, kwnames)
    may_wait = not is_false(argument(args, count, kwnames, 1, N_BLOCK))
    get_mode = GET_WAITING if may_wait else GET_NO_WAIT
    result = call_original(watched, args, nargsf, kwnames)
    get_mode = outer
    if result == NULL and waits != before:
        log_ran_out(args[0], OF_QUEUE)
    return result


cdef PyObject *loop_queue_get_nowait(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """asyncio's `get` waits until there is something, and calls `get_nowait`."""
    global get_mode
    cdef int outer = get_mode
    cdef bint may_wait
    cdef PyObject *result
    if PyVectorcall_NARGS(nargsf) == 0 or loop_primitive(args[0], KIND_QUEUE) == NULL:
        return call_original(watched, args, nargsf, kwnames)
    may_wait = not called_from_instrumented_code()
    get_mode = GET_WAITING if may_wait else GET_NO_WAIT
    result = call_original(watched, args, nargsf, kwnames)
    get_mode = outer
    return result


cdef PyObject *loop_queue_put_nowait(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    if PyVectorcall_NARGS(nargsf) > 0:
        loop_primitive(args[0], KIND_QUEUE)
    return call_original(watched, args, nargsf, kwnames)


cdef bint is_logged_queue(PyObject *queue) noexcept:
    cdef Primitive *entry
    if queue == in_queue or not is_recording():
        return False
    entry = find(queue)
    return entry != NULL and entry.is_watched


cdef PyObject *queue_inner_put(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    global in_queue, put_since
    cdef PyObject *outer = in_queue
    cdef PyObject *result
    if PyVectorcall_NARGS(nargsf) < 2 or not is_logged_queue(args[0]):
        return call_original(watched, args, nargsf, kwnames)
    if put_since and put_since != waits + 1:
        log_ran_out(args[0], OF_ROOM)
        put_since = waits + 1
    log_put(args[0], args[1])
    in_queue = args[0]
    result = call_original(watched, args, nargsf, kwnames)
    in_queue = outer
    return result


cdef PyObject *queue_inner_get(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    global in_queue
    cdef PyObject *outer = in_queue
    cdef PyObject *result
    cdef uint32_t call
    cdef bint waited = get_mode == GET_WAITING
    if PyVectorcall_NARGS(nargsf) < 1 or not is_logged_queue(args[0]):
        return call_original(watched, args, nargsf, kwnames)
    call = site_of_call()
    in_queue = args[0]
    result = call_original(watched, args, nargsf, kwnames)
    in_queue = outer
    if result != NULL:
        log_got(args[0], result, call, waited)
    return result


cdef PyObject *queue_inner_size(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    global sizing
    if PyVectorcall_NARGS(nargsf) > 0 and args[0] == sizing:
        sizing = NULL
        log_structure(RAW_READ, args[0])
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *queue_size(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    global sizing
    cdef PyObject *outer = sizing
    cdef PyObject *result
    if PyVectorcall_NARGS(nargsf) == 0 or not is_recording() or not called_from_instrumented_code():
        return call_original(watched, args, nargsf, kwnames)
    if not is_watched_object(args[0], KIND_QUEUE):
        return call_original(watched, args, nargsf, kwnames)
    sizing = args[0]
    result = call_original(watched, args, nargsf, kwnames)
    sizing = outer
    return result


cdef PyObject *loop_queue_size(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """asyncio's queues have no mutex and need none: nothing comes between this and the look."""
    if PyVectorcall_NARGS(nargsf) > 0 and is_recording() and called_from_instrumented_code():
        if loop_primitive(args[0], KIND_QUEUE) != NULL:
            log_structure(RAW_READ, args[0])
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *queue_task_done(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    if PyVectorcall_NARGS(nargsf) > 0 and is_watched_object(args[0], KIND_QUEUE):
        log_post(args[0])
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *queue_join(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef bint watch_it = PyVectorcall_NARGS(nargsf) > 0 and is_watched_object(args[0], KIND_QUEUE)
    cdef unsigned long before = waits
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    if watch_it and result != NULL:
        log_take(args[0])
    elif watch_it and waits != before:
        log_ran_out(args[0], OF_QUEUE)
    return result


cdef PyObject *simple_put(PyObject *queue, PyObject *const *args, Py_ssize_t count, PyObject *kwnames) noexcept:
    cdef PyObject *item = argument(args, count, kwnames, 0, N_ITEM)
    if item != NULL and is_watched_object(queue, KIND_LOCK):
        log_put(queue, item)
    return original_simple_put(queue, args, count, kwnames)


cdef PyObject *simple_put_nowait(PyObject *queue, PyObject *const *args, Py_ssize_t count, PyObject *kwnames) noexcept:
    cdef PyObject *item = argument(args, count, kwnames, 0, N_ITEM)
    if item != NULL and is_watched_object(queue, KIND_LOCK):
        log_put(queue, item)
    return original_simple_put_nowait(queue, args, count, kwnames)


cdef PyObject *simple_get(
    PyObject *queue, PyTypeObject *kind, PyObject *const *args, Py_ssize_t count, PyObject *kwnames
) noexcept:
    cdef bint watched = is_watched_object(queue, KIND_LOCK)
    cdef bint may_wait = not is_false(argument(args, count, kwnames, 0, N_BLOCK))
    cdef bint has_time = may_wait and not is_zero_timeout(argument(args, count, kwnames, 1, N_TIMEOUT))
    cdef uint32_t call = site_of_call() if watched else 0
    cdef PyObject *item = original_simple_get(queue, kind, args, count, kwnames)
    if watched and item != NULL:
        log_got(queue, item, call, may_wait)
    elif watched and has_time:
        log_ran_out(queue, OF_QUEUE)
    return item


cdef PyObject *simple_get_nowait(
    PyObject *queue, PyTypeObject *kind, PyObject *const *args, Py_ssize_t count, PyObject *kwnames
) noexcept:
    cdef bint watched = is_watched_object(queue, KIND_LOCK)
    cdef uint32_t call = site_of_call() if watched else 0
    cdef PyObject *item = original_simple_get_nowait(queue, kind, args, count, kwnames)
    if watched and item != NULL:
        log_got(queue, item, call, False)
    return item


cdef PyObject *simple_empty(PyObject *queue, PyObject *ignored) noexcept:
    if is_watched_object(queue, KIND_LOCK):
        log_structure(RAW_READ, queue)
    return original_simple_empty(queue, ignored)


cdef PyObject *simple_qsize(PyObject *queue, PyObject *ignored) noexcept:
    if is_watched_object(queue, KIND_LOCK):
        log_structure(RAW_READ, queue)
    return original_simple_qsize(queue, ignored)


cdef PyObject *simple_new(PyTypeObject *kind, PyObject *args, PyObject *kwargs) noexcept:
    cdef PyObject *queue = original_simple_new(kind, args, kwargs)
    watch_new(queue, KIND_LOCK)
    return queue


cdef void simple_dealloc(PyObject *queue) noexcept:
    forget_freed(queue)
    original_simple_dealloc(queue)
