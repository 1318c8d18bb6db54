# Primitives of gevent: locks, semaphores, events, results, queues, the ends of greenlets, pools
#
# Most are types in C whose methods call each other there, so a hook stands around each method that a program calls. One
# that does call another by its name (a subclass in Python) comes here again: `green_op` is the primitive whose method
# runs already. What happens in one method up to a switch is one step of the greenlet, so it is logged before or after.

cdef object green_lock_types = ()
cdef object green_rlock_types = ()


def set_green_locks(plain, reentrant) -> None:
    """The classes of locks, which their holder releases: those of a single acquire, and those of several."""
    global green_lock_types, green_rlock_types
    green_lock_types, green_rlock_types = tuple(plain), tuple(reentrant)


cdef bint is_one_of(PyObject *obj, object types) noexcept:
    for kind in <tuple>types:
        if PyObject_TypeCheck(obj, <PyTypeObject *><PyObject *>kind):
            return True
    return False


cdef int kind_of_green(PyObject *lock) noexcept:
    if is_one_of(lock, green_rlock_types):
        return KIND_GREEN_RLOCK
    return KIND_GREEN_LOCK if is_one_of(lock, green_lock_types) else KIND_GREEN_SEMAPHORE


cdef bint is_green_held(PyObject *lock, int kind) noexcept:
    """Whether a release of it is no mistake."""
    cdef PyObject *answer
    cdef PyObject *method
    cdef bint is_held
    if kind == KIND_GREEN_LOCK:
        return number_attribute(lock, N_COUNTER, 0) == 0
    if kind == KIND_GREEN_SEMAPHORE:
        return number_attribute(lock, N_COUNTER, 0) < number_attribute(lock, N_INITIAL_VALUE, 1 << 30)
    method = attribute(lock, N_IS_OWNED)
    if method == NULL:
        return True
    answer = PyObject_CallNoArgs(method)
    Py_DECREF(method)
    if answer == NULL:
        PyErr_Clear()
        return True
    is_held = answer == Py_True
    Py_DECREF(answer)
    return is_held


cdef PyObject *green_call(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """The original, in which the object's own calls of itself are not looked at."""
    global green_op
    cdef PyObject *outer = green_op
    cdef PyObject *result
    green_op = args[0]
    result = call_original(watched, args, nargsf, kwnames)
    green_op = outer
    return result


cdef bint is_green(PyObject *const *args, size_t nargsf, int kind) noexcept:
    """Whether this is a use of a watched primitive, by the program or by what it calls."""
    if PyVectorcall_NARGS(nargsf) == 0 or args[0] == green_op:
        return False
    return is_watched_object(args[0], kind)


cdef PyObject *green_acquire(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    cdef int kind = kind_of_green(args[0]) if count and is_recording() else KIND_PLAIN
    cdef PyObject *result
    cdef bint may_wait
    if kind == KIND_PLAIN or not is_green(args, nargsf, kind):
        return call_original(watched, args, nargsf, kwnames)
    may_wait = not is_false(argument(args, count, kwnames, 1, N_BLOCKING))
    may_wait = may_wait and not is_zero_timeout(argument(args, count, kwnames, 2, N_TIMEOUT))
    result = green_call(watched, args, nargsf, kwnames)
    if result == NULL:
        return result
    if kind == KIND_GREEN_SEMAPHORE and result == Py_True:
        record_after(
            RAW_TAKE, HAND_PERMIT, 0 if may_wait else FLAG_NO_WAIT, <uintptr_t>args[0], 0, current_site()
        )
    elif kind == KIND_GREEN_SEMAPHORE and may_wait:
        log_ran_out(args[0], OF_SEMAPHORE)
    elif kind != KIND_GREEN_SEMAPHORE and not is_false(result):
        log_acquired(args[0], 1)
    return result


cdef PyObject *green_enter(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef int kind = kind_of_green(args[0]) if PyVectorcall_NARGS(nargsf) and is_recording() else KIND_PLAIN
    cdef PyObject *result
    cdef bint has_block = False
    if kind == KIND_PLAIN or not is_green(args, nargsf, kind):
        return call_original(watched, args, nargsf, kwnames)
    if kind != KIND_GREEN_SEMAPHORE:
        has_block = log_block(args[0])
    result = green_call(watched, args, nargsf, kwnames)
    if result == NULL:
        if has_block:
            log_block_end(args[0])
    elif kind == KIND_GREEN_SEMAPHORE:
        record_after(RAW_TAKE, HAND_PERMIT, 0, <uintptr_t>args[0], 0, current_site())
    else:
        log_acquired(args[0], 1)
    return result


cdef PyObject *release_green(
    PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames, int how_many, bint is_exit
) noexcept:
    cdef int kind = kind_of_green(args[0]) if PyVectorcall_NARGS(nargsf) and is_recording() else KIND_PLAIN
    cdef PyObject *result
    if kind == KIND_PLAIN or not is_green(args, nargsf, kind):
        return call_original(watched, args, nargsf, kwnames)
    if is_green_held(args[0], kind):
        if kind == KIND_GREEN_SEMAPHORE:
            record(RAW_POST, HAND_PERMIT, 0, <uintptr_t>args[0], 0, current_site())
        else:
            log_released(args[0], how_many)
    result = green_call(watched, args, nargsf, kwnames)
    if is_exit and kind != KIND_GREEN_SEMAPHORE:
        log_block_end(args[0])
    return result


cdef PyObject *green_release(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return release_green(watched, args, nargsf, kwnames, 1, False)


cdef PyObject *green_exit(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return release_green(watched, args, nargsf, kwnames, 1, True)


cdef PyObject *green_release_save(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return release_green(watched, args, nargsf, kwnames, 0, False)


cdef PyObject *green_acquire_restore(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef PyObject *result
    cdef PyObject *depth
    cdef long many = 1
    if not is_green(args, nargsf, KIND_GREEN_RLOCK):
        return call_original(watched, args, nargsf, kwnames)
    if PyVectorcall_NARGS(nargsf) > 1 and PyTuple_Check(args[1]) and PyTuple_GET_SIZE(args[1]) > 0:
        depth = PyTuple_GET_ITEM(args[1], 0)
        many = PyLong_AsLong(depth) if PyLong_Check(depth) else 1
    result = green_call(watched, args, nargsf, kwnames)
    if result != NULL:
        log_acquired(args[0], <int>many)
    return result


cdef PyObject *green_locked(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef int kind = kind_of_green(args[0]) if PyVectorcall_NARGS(nargsf) and is_recording() else KIND_GREEN_SEMAPHORE
    if kind != KIND_GREEN_SEMAPHORE and is_green(args, nargsf, kind):
        log_asked(args[0], find(args[0]), OF_LOCK)
    return call_original(watched, args, nargsf, kwnames)


# Events and results

cdef PyObject *green_set(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    if is_green(args, nargsf, KIND_PLAIN):
        log_state(RAW_WRITE, args[0], OF_EVENT)
        log_post(args[0])
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *green_clear(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    if is_green(args, nargsf, KIND_PLAIN):
        log_state(RAW_WRITE, args[0], OF_EVENT)
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *green_is_set(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    if is_green(args, nargsf, KIND_PLAIN):
        log_state(RAW_READ, args[0], OF_EVENT)
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *green_wait(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """Event.wait"""
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    cdef bint watch_it = is_green(args, nargsf, KIND_PLAIN)
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    if watch_it and result == Py_True:
        log_take(args[0])
    elif watch_it and not is_zero_timeout(argument(args, count, kwnames, 1, N_TIMEOUT)):
        log_ran_out(args[0], OF_EVENT)
    return result


# A result is set by a greenlet that has ended, as often as by the program: it is watched whoever does.

cdef void post_green_result(PyObject *result) noexcept:
    if is_recording() and result != green_op:
        if called_from_instrumented_code():
            log_future_state(RAW_WRITE, result)
        track(result)
        log_post(result)


cdef PyObject *green_result_set(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    if PyVectorcall_NARGS(nargsf) > 0:
        post_green_result(args[0])
    return call_original(watched, args, nargsf, kwnames)


cdef bint is_green_ready(PyObject *result) noexcept:
    """Of a result or an event. No code of the program runs: `ready` is a method of the types in C."""
    cdef PyObject *method = attribute(result, N_READY)
    cdef PyObject *answer
    cdef PyObject *error[3]
    cdef bint is_ready, has_error
    if method == NULL:
        return False
    has_error = keep_error(error)
    answer = PyObject_CallNoArgs(method)
    is_ready = answer != NULL and answer != Py_None and PyObject_IsTrue(answer) == 1
    Py_XDECREF(answer)
    PyErr_Clear()
    if has_error:
        restore_error(error)
    Py_DECREF(method)
    return is_ready


cdef PyObject *green_result_got(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """get, wait, result, get_nowait: to raise what was set is to take it, too."""
    cdef PyObject *outer = green_op
    cdef PyObject *result
    if PyVectorcall_NARGS(nargsf) == 0 or not is_recording() or args[0] == outer:
        return call_original(watched, args, nargsf, kwnames)
    result = green_call(watched, args, nargsf, kwnames)
    take_green(args[0])
    return result


cdef void take_green(PyObject *obj) noexcept:
    """Something that can be waited for, and perhaps has come: a greenlet has ended, a result or an event is set."""
    cdef Primitive *entry = find(obj)
    if entry == NULL:
        return
    if entry.number:
        if entry.has_ended:
            record_after(RAW_JOIN, KEY_NONE, 0, 0, entry.number, current_site())
    elif entry.ref != NULL and is_green_ready(obj):
        log_take(obj)


# Ends of greenlets

cdef PyObject *green_start(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """Greenlet.start, start_later: the hub is going to run it."""
    cdef PyObject *run
    if PyVectorcall_NARGS(nargsf) > 0 and is_recording() and not is_active(args[0]):
        trace_here()
        run = attribute(args[0], N_GREENLET_RUN)
        fork_greenlet(args[0], run)
        Py_XDECREF(run)
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *green_spawn_raw(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef PyObject *greenlet = call_original(watched, args, nargsf, kwnames)
    if greenlet != NULL and PyVectorcall_NARGS(nargsf) > 0 and is_recording():
        fork_greenlet(greenlet, args[0])
    return greenlet


cdef PyObject *green_join(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """join, get, kill, and the end of `with`: they may have waited for nothing, and then nothing is logged."""
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    if PyVectorcall_NARGS(nargsf) > 0 and is_recording():
        take_green(args[0])
    return result


cdef PyObject *green_wait_for(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """wait, joinall: they give what has come. `wait()` waits for all greenlets there are."""
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    cdef Py_ssize_t i
    if result == NULL or not is_recording():
        return result
    if PyList_Check(result):
        for i in range(PyList_GET_SIZE(result)):
            take_green(PyList_GET_ITEM(result, i))
    elif result == Py_True:
        take_all_ended()
    return result


cdef void take_all_ended() noexcept:
    cdef list numbers = []
    cdef Primitive *entry
    cdef size_t i
    for i in range(bucket_count):
        entry = buckets[i]
        while entry != NULL:
            if entry.number and entry.has_ended:
                numbers.append(entry.number)
            entry = entry.next
    for number in numbers:
        record_after(RAW_JOIN, KEY_NONE, 0, 0, number, current_site())


# Pools and groups: a greenlet of one hands its end to the group, and who waits for the group takes it.

cdef PyObject *green_group_add(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef Primitive *entry
    if PyVectorcall_NARGS(nargsf) > 1 and is_recording():
        track(args[0])
        entry = track(args[1])
        if entry != NULL:
            entry.group = <uintptr_t>args[0]
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *green_group_join(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """join, kill, map: all that were added have ended, unless the time was up."""
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    if result != NULL and PyVectorcall_NARGS(nargsf) > 0 and is_recording() and find(args[0]) != NULL:
        log_take(args[0])
    return result


cdef PyObject *green_map(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """imap, imap_unordered"""
    cdef PyObject *iterator = call_original(watched, args, nargsf, kwnames)
    cdef Primitive *entry
    if iterator != NULL and PyVectorcall_NARGS(nargsf) > 0 and is_recording():
        track(args[0])
        entry = track(iterator)
        if entry != NULL:
            entry.mapped_by = <uintptr_t>args[0]
    return iterator


# Slots: methods that C calls without looking for their names

ctypedef PyObject *(*NextFunction)(PyObject *) noexcept

cdef enum: MOST_SLOTS = 16

cdef struct Slot:
    PyTypeObject *kind
    NextFunction next
    KeywordsFunction call

cdef Slot slots[16]
cdef int slot_count = 0


cdef Slot *slot_of(PyTypeObject *kind) noexcept:
    """The original slots of this type, or of the one that it has them from."""
    cdef int i
    while kind != NULL:
        for i in range(slot_count):
            if slots[i].kind == kind:
                return &slots[i]
        kind = kind.tp_base
    return NULL


cdef PyObject *green_queue_next(PyObject *queue) noexcept:
    cdef Slot *slot = slot_of(Py_TYPE(queue))
    cdef bint watch_it = is_watched_object(queue, KIND_PLAIN)
    cdef uint32_t call = site_of_call() if watch_it else 0
    cdef PyObject *item = slot.next(queue)
    if watch_it and item != NULL:
        log_got(queue, item, call, True)
    return item


cdef PyObject *green_waited_next(PyObject *iterator) noexcept:
    """iwait: what has come next."""
    cdef PyObject *item = slot_of(Py_TYPE(iterator)).next(iterator)
    if item != NULL and is_recording():
        take_green(item)
    return item


cdef PyObject *green_mapped_next(PyObject *iterator) noexcept:
    """imap, and map by it: a result of a greenlet of the pool. Which one it was is not known: of those that have ended."""
    cdef PyObject *item = slot_of(Py_TYPE(iterator)).next(iterator)
    cdef Primitive *entry
    if item == NULL or not is_recording():
        return item
    entry = find(iterator)
    if entry != NULL and entry.mapped_by and find(<void *>entry.mapped_by) != NULL:
        log_take(<PyObject *>entry.mapped_by)
    return item


cdef PyObject *green_result_called(PyObject *result, PyObject *args, PyObject *kwargs) noexcept:
    """A result as the callback of a greenlet: it is set to what that has for a result."""
    cdef Primitive *entry
    if is_recording() and PyTuple_GET_SIZE(args) > 0:
        entry = find(PyTuple_GET_ITEM(args, 0))
        if entry != NULL and entry.number and entry.has_ended:
            record_after(RAW_JOIN, KEY_NONE, 0, 0, entry.number, current_site())
        post_green_result(result)
    return slot_of(Py_TYPE(result)).call(result, args, kwargs)


cdef PyObject *green_link_called(PyObject *link, PyObject *args, PyObject *kwargs) noexcept:
    """What was linked to a greenlet runs, in a greenlet of its own, because that has ended."""
    global linked_to
    cdef PyObject *result
    if is_recording() and PyTuple_GET_SIZE(args) > 0:
        linked_to = PyTuple_GET_ITEM(args, 0)
    result = slot_of(Py_TYPE(link)).call(link, args, kwargs)
    linked_to = NULL
    return result


def replace_slot(kind, str what) -> None:
    """`queue`, `waited` or `mapped`: the next item of one; `result` or `link`: the call of one."""
    global slot_count
    cdef PyTypeObject *type = <PyTypeObject *><PyObject *>kind
    if slot_count == MOST_SLOTS:
        raise LookupError(what)
    slots[slot_count] = Slot(type, <NextFunction>type.tp_iternext, <KeywordsFunction>type.tp_call)
    slot_count += 1
    if what == "result":
        type.tp_call = <void *>green_result_called
    elif what == "link":
        type.tp_call = <void *>green_link_called
    elif what == "queue":
        type.tp_iternext = <void *>green_queue_next
    elif what == "waited":
        type.tp_iternext = <void *>green_waited_next
    else:
        type.tp_iternext = <void *>green_mapped_next


def restore_slots() -> None:
    global slot_count
    while slot_count > 0:
        slot_count -= 1
        slots[slot_count].kind.tp_iternext = <void *>slots[slot_count].next
        slots[slot_count].kind.tp_call = <void *>slots[slot_count].call


# Queues

cdef PyObject *green_put(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """put, put_nowait. One that has to wait for room is in the log where it began to."""
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    cdef PyObject *item = argument(args, count, kwnames, 1, N_ITEM)
    if item != NULL and is_green(args, nargsf, KIND_PLAIN):
        log_put(args[0], item)
        return green_call(watched, args, nargsf, kwnames)
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *green_get(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    return get_green(watched, args, nargsf, kwnames, not is_false(argument(args, count, kwnames, 1, N_BLOCK)))


cdef PyObject *green_get_nowait(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return get_green(watched, args, nargsf, kwnames, False)


cdef PyObject *get_green(
    PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames, bint may_wait
) noexcept:
    cdef uint32_t call
    cdef PyObject *item
    if not is_green(args, nargsf, KIND_PLAIN):
        return call_original(watched, args, nargsf, kwnames)
    call = site_of_call()
    item = green_call(watched, args, nargsf, kwnames)
    if item != NULL:
        log_got(args[0], item, call, may_wait)
    elif may_wait:
        log_ran_out(args[0], OF_QUEUE)
    return item


cdef PyObject *green_size(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """empty, full, qsize, peek"""
    if is_green(args, nargsf, KIND_PLAIN):
        log_structure(RAW_READ, args[0])
        return green_call(watched, args, nargsf, kwnames)
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *green_task_done(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    if is_green(args, nargsf, KIND_PLAIN):
        log_post(args[0])
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *green_queue_join(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef bint watch_it = is_green(args, nargsf, KIND_PLAIN)
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    if watch_it and result == Py_True:
        log_take(args[0])
    elif watch_it:
        log_ran_out(args[0], OF_QUEUE)
    return result
