# Markers in coroutines and generators of the standard library: `M[x]` logs, and gives x
#
# A Marker is a constant in the code of the function (`patches.py` puts it there). Each `mark_...` logs one operation.

ctypedef void (*Mark)(PyObject *) noexcept


@cython.final
cdef class Marker:
    cdef Mark mark

    def __init__(self, str name):
        self.mark = mark_named(name)

    def __getitem__(self, key):
        """Replaced by `marker_subscript`; here for the slot."""


cdef PyObject *marker_subscript(PyObject *marker, PyObject *primitive) noexcept:
    if is_recording():
        (<Marker>marker).mark(primitive)
    Py_INCREF(primitive)
    return primitive


(<PyTypeObject *><PyObject *>Marker).tp_as_mapping.mp_subscript = <void *>marker_subscript


cdef void mark_lock_acquired(PyObject *lock) noexcept:
    if loop_primitive(lock, KIND_LOOP_LOCK) != NULL:
        log_acquired(lock, 1)


cdef void mark_event_taken(PyObject *event) noexcept:
    if loop_primitive(event, KIND_PLAIN) != NULL:
        log_take(event)


cdef void mark_permit_taken(PyObject *semaphore) noexcept:
    if loop_primitive(semaphore, KIND_SEMAPHORE) != NULL:
        record_after(RAW_TAKE, HAND_PERMIT, 0, <uintptr_t>semaphore, 0, current_site())


cdef void mark_permit_wanted(PyObject *semaphore) noexcept:
    # Its permits are logged before the first is taken.
    loop_primitive(semaphore, KIND_SEMAPHORE)


cdef void mark_arrival(PyObject *barrier) noexcept:
    if loop_primitive(barrier, KIND_BARRIER) != NULL:
        record(RAW_ARRIVE, KEY_NONE, 0, <uintptr_t>barrier, 0, current_site())


cdef void mark_departure(PyObject *barrier) noexcept:
    if loop_primitive(barrier, KIND_BARRIER) != NULL:
        record_after(RAW_DEPART, KEY_NONE, 0, <uintptr_t>barrier, 0, current_site())


cdef void mark_wait(PyObject *condition) noexcept:
    cdef PyObject *lock
    if loop_primitive(condition, KIND_LOOP_CONDITION) != NULL:
        lock = attribute(condition, N_LOCK)
        record(RAW_WAIT, KEY_NONE, 0, <uintptr_t>condition, <uintptr_t>lock, current_site())
        Py_XDECREF(lock)


cdef void mark_notified(PyObject *condition) noexcept:
    """The lock is not back yet: the end of the wait is still to come."""
    cdef Primitive *entry = find(running_task) if running_task != NULL else NULL
    if entry != NULL:
        entry.was_notified = True


cdef void mark_woken(PyObject *condition) noexcept:
    cdef Primitive *entry
    cdef bint notified = False
    if loop_primitive(condition, KIND_LOOP_CONDITION) == NULL:
        return
    entry = find(running_task) if running_task != NULL else NULL
    if entry != NULL:
        notified = entry.was_notified
        entry.was_notified = False
    record_after(RAW_WOKEN, KEY_NONE, 0, <uintptr_t>condition, notified, current_site())


cdef PyObject *block_lock(PyObject *primitive) noexcept:
    """The lock (a new reference) of an `async with`: a lock or a condition; NULL for a semaphore, or when unwatched."""
    cdef Primitive *entry = find(primitive)
    if entry == NULL or not entry.is_watched:
        return NULL
    if entry.kind == KIND_LOOP_LOCK:
        Py_INCREF(primitive)
        return primitive
    if entry.kind == KIND_LOOP_CONDITION:
        return attribute(primitive, N_LOCK)
    return NULL


cdef void mark_block(PyObject *primitive) noexcept:
    global entering
    cdef PyObject *lock = block_lock(primitive)
    cdef PyObject *outer = entering
    if lock != NULL:
        entering = lock
        log_block(lock)
        entering = outer
        Py_DECREF(lock)


cdef void mark_block_end(PyObject *primitive) noexcept:
    cdef PyObject *lock = block_lock(primitive)
    if lock != NULL:
        log_block_end(lock)
        Py_DECREF(lock)


cdef void mark_ran_out(PyObject *primitive) noexcept:
    """The wait of a task was cancelled: of an event, or of what was known before it was waited for."""
    cdef Primitive *entry = loop_primitive(primitive, KIND_PLAIN)
    if entry == NULL:
        return
    if entry.kind == KIND_SEMAPHORE:
        log_ran_out(primitive, OF_SEMAPHORE)
    elif entry.kind == KIND_BARRIER:
        log_ran_out(primitive, OF_BARRIER)
    else:
        log_ran_out(primitive, OF_EVENT)


cdef void mark_queue_ran_out(PyObject *queue) noexcept:
    if loop_primitive(queue, KIND_QUEUE) != NULL:
        log_ran_out(queue, OF_QUEUE)


cdef void mark_queue_room(PyObject *queue) noexcept:
    if loop_primitive(queue, KIND_QUEUE) != NULL:
        log_ran_out(queue, OF_ROOM)


cdef void mark_future_ran_out(PyObject *future) noexcept:
    """`wait_for`: of a future that woke the waiting task because it was cancelled. A coroutine logs its own waits."""
    if future == empty_waker:
        log_future_ran_out(future)


cdef void mark_queue_joined(PyObject *queue) noexcept:
    if loop_primitive(queue, KIND_QUEUE) != NULL:
        log_take(queue)


cdef void mark_awaited(PyObject *awaitable) noexcept:
    log_awaited(awaitable)


cdef void mark_done(PyObject *done) noexcept:
    global last_taken
    last_taken = take_each(done)


cdef void mark_pending(PyObject *pending) noexcept:
    """Comes after `done`: those that a wait for several leaves."""
    if last_taken == 0:
        log_one_ran_out(pending)


cdef void mark_none_done(PyObject *pending) noexcept:
    log_one_ran_out(pending)


cdef void mark_taken(PyObject *future) noexcept:
    log_done(future)
