# Tasks of trio: a task is a thread of the trace while one of its steps runs, and the run loop is a lock, as in asyncio
#
# trio tells an instrument of ours when a step begins and ends. Whatever wakes a task does so by `Runner.reschedule`: a task
# that does it hands over to the one that it wakes. A lock or a semaphore is given to the one that waits for it right there:
# then that is what it gets. What a woken task gets is logged when its next step begins.
#
# Always: `woken_for` has an entry for each task that was woken and has not run yet, by its address.

cdef extern from *:
    """
    static __thread uint32_t atomsan_outside_task;     /* the number of the thread around the running step of trio */
    static __thread const void *atomsan_outside_base;  /* and its base */
    static __thread PyObject *atomsan_given;           /* the lock, semaphore or channel that wakes somebody: it is given */
    static __thread PyObject *atomsan_given_item;      /* of a channel: the item */
    """
    uint32_t outside_task "atomsan_outside_task"
    const void *outside_base "atomsan_outside_base"
    PyObject *given "atomsan_given"
    PyObject *given_item "atomsan_given_item"

cdef extern from "_frames.h":
    const void *frame_below()

cdef enum: GIVEN_WAKE, GIVEN_LOCK, GIVEN_PERMIT, GIVEN_ITEM, GIVEN_NOTICE, GIVEN_END

cdef dict woken_for = {}
cdef object instrument_adder = None


def set_instrument_adder(adder) -> None:
    """`adder(runner)` lets our instrument know of the steps of its tasks; None: nobody is followed."""
    global instrument_adder
    instrument_adder = adder
    woken_for.clear()


cdef PyObject *trio_set_up(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """setup_runner: a run begins."""
    cdef PyObject *runner = call_original(watched, args, nargsf, kwnames)
    cdef bint is_interrupted
    cdef Primitive *entry
    if runner == NULL or not is_recording() or instrument_adder is None:
        return runner
    entry = track(runner)
    if entry != NULL:
        entry.has_started = True
        define(["primitive", <uintptr_t>runner, "loop", "tasks of trio"])
        Py_XDECREF(call_hidden(instrument_adder, (<object>runner,), &is_interrupted))
    return runner


cdef bint is_followed_run(PyObject *runner) noexcept:
    cdef Primitive *entry = find(runner)
    return entry != NULL and entry.has_started


cdef PyObject *trio_spawn(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """Runner.spawn_impl"""
    cdef PyObject *task
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    if count < 2 or not is_recording():
        return call_original(watched, args, nargsf, kwnames)
    if not is_followed_run(args[0]):
        return unfollowed_trio(watched, args, nargsf, kwnames)
    promote(args[1])
    task = call_original(watched, args, nargsf, kwnames)
    if task != NULL:
        number_trio(task)
    return task


cdef Primitive *number_trio(PyObject *task) noexcept:
    """A task that is new to us gets its number, and the running thread forks it."""
    cdef Primitive *entry = track(task)
    cdef PyObject *name
    cdef uint32_t number
    if entry == NULL or entry.number:
        return entry
    name = attribute(task, N_PLAIN_NAME)
    try:
        number = new_thread((<object>name if name != NULL and PyUnicode_Check(name) else "task", "task"))
    except Exception:
        number = 0
    Py_XDECREF(name)
    entry = find(task)
    if entry != NULL and number:
        entry.number = number
        record(RAW_FORK, KEY_NONE, 0, 0, number, current_site())
    return find(task)


def trio_step_begins(task) -> None:
    """before_task_step"""
    global running_task, outside_task, outside_base
    cdef PyObject *runner
    cdef Primitive *entry
    if not is_recording():
        return
    entry = number_trio(<PyObject *>task)
    if entry == NULL or not entry.number:
        return
    runner = attribute(<PyObject *>task, N_RUNNER)
    if runner == NULL:
        return
    outside_task = thread_here()
    outside_base = set_base(frame_below())
    entry = find(<PyObject *>task)
    set_current_thread(entry.number)
    if not entry.has_started:
        entry.has_started = True
        record(RAW_THREAD, KEY_NONE, 0, 0, 0, 0)
    running_task = <PyObject *>task
    record_after(RAW_ACQUIRE, KEY_NONE, FLAG_LOOP_LOCK, <uintptr_t>runner, 1, 0)
    Py_DECREF(runner)
    for what, obj, key in woken_for.pop(<uintptr_t><PyObject *>task, ()):
        log_given(what, <uintptr_t>obj, <uintptr_t>key)


def trio_step_ends(task) -> None:
    """after_task_step"""
    global running_task
    cdef PyObject *runner
    cdef Primitive *entry
    if running_task != <PyObject *>task:
        return
    running_task = NULL
    runner = attribute(<PyObject *>task, N_RUNNER)
    if runner != NULL:
        record(RAW_RELEASE, KEY_NONE, FLAG_LOOP_LOCK, <uintptr_t>runner, 1, 0)
        Py_DECREF(runner)
    entry = find(<PyObject *>task)
    if entry != NULL and entry.has_ended:
        record(RAW_EXIT, KEY_NONE, 0, 0, 0, 0)
    set_base(outside_base)
    set_current_thread(outside_task)


cdef void log_given(int what, uintptr_t obj, uintptr_t key) noexcept:
    """What a task got while it slept. The objects are those that were watched then, and may be gone."""
    cdef PyObject *primitive = <PyObject *>obj
    if find(primitive) == NULL:
        return
    if what == GIVEN_LOCK:
        log_acquired(primitive, 1)
    elif what == GIVEN_PERMIT:
        record_after(RAW_TAKE, HAND_PERMIT, 0, obj, 0, current_site())
    elif what == GIVEN_ITEM:
        log_got(primitive, <PyObject *>key, 0, True)
    else:
        log_take(primitive)


cdef void note_woken(PyObject *task, int what, PyObject *obj, PyObject *key) noexcept:
    woken_for.setdefault(<uintptr_t>task, []).append((what, <uintptr_t>obj, <uintptr_t>key))


cdef PyObject *trio_reschedule(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """Runner.reschedule: a task is going to run."""
    cdef PyObject *task
    cdef Primitive *entry
    if PyVectorcall_NARGS(nargsf) > 1 and is_recording() and running_task != NULL and running_task != args[1]:
        task = args[1]
        entry = find(task)
        if entry != NULL and entry.has_started and entry.number:
            if given == NULL:
                log_post(task)
                note_woken(task, GIVEN_WAKE, task, NULL)
            elif given_item != NULL:
                note_woken(task, GIVEN_ITEM, given, given_item)
            else:
                entry = find(given)
                if entry != NULL:
                    note_woken(task, GIVEN_PERMIT if entry.kind == KIND_SEMAPHORE else GIVEN_LOCK, given, NULL)
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *giving(
    PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames, PyObject *primitive, PyObject *item
) noexcept:
    """The original, which gives a primitive to whoever it wakes."""
    global given, given_item
    cdef PyObject *outer = given
    cdef PyObject *outer_item = given_item
    cdef PyObject *result
    given, given_item = primitive, item
    result = call_original(watched, args, nargsf, kwnames)
    given, given_item = outer, outer_item
    return result


# Ends of tasks: they are handed to the nursery, and the nursery's own task takes them when all have ended.

cdef PyObject *trio_task_exited(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef Primitive *entry
    cdef PyObject *nursery
    if PyVectorcall_NARGS(nargsf) > 1 and is_recording() and running_task == args[1]:
        nursery = attribute(args[1], N_PARENT_NURSERY)
        if nursery != NULL and nursery != Py_None:
            track(nursery)
            log_post(nursery)
        Py_XDECREF(nursery)
        entry = find(args[1])
        if entry != NULL:
            entry.has_ended = True
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *trio_nursery_closed(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """Nursery._check_nursery_closed: called when a task of it has ended, or its block; then it has waited, or need not."""
    cdef PyObject *parent
    cdef PyObject *closed
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    if result == NULL or PyVectorcall_NARGS(nargsf) == 0 or not is_recording() or find(args[0]) == NULL:
        return result
    closed = attribute(args[0], N_CLOSED)
    parent = attribute(args[0], N_PARENT_TASK)
    if closed == Py_True and parent != NULL:
        if running_task == parent:
            log_take(args[0])
        else:
            note_woken(parent, GIVEN_END, args[0], NULL)
    Py_XDECREF(closed)
    Py_XDECREF(parent)
    return result


# Locks, semaphores, conditions and events. Who made one does not show in a coroutine: all are watched.

cdef PyObject *trio_lock_acquire(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """acquire_nowait; `acquire` begins with it."""
    cdef bint watch_it = PyVectorcall_NARGS(nargsf) > 0 and loop_primitive(args[0], KIND_LOOP_LOCK) != NULL
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    if watch_it and result != NULL:
        log_acquired(args[0], 1)
    return result


cdef PyObject *trio_lock_release(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef PyObject *owner
    if PyVectorcall_NARGS(nargsf) == 0 or loop_primitive(args[0], KIND_LOOP_LOCK) == NULL:
        return call_original(watched, args, nargsf, kwnames)
    owner = attribute(args[0], N_OWNER)
    if owner != NULL and owner == running_task:
        log_released(args[0], 1)
    Py_XDECREF(owner)
    return giving(watched, args, nargsf, kwnames, args[0], NULL)


cdef PyObject *trio_permit_acquire(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef bint watch_it = PyVectorcall_NARGS(nargsf) > 0 and loop_primitive(args[0], KIND_SEMAPHORE) != NULL
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    if watch_it and result != NULL:
        record_after(
            RAW_TAKE, HAND_PERMIT, FLAG_NO_WAIT if called_from_instrumented_code() else 0, <uintptr_t>args[0], 0,
            current_site(),
        )
    return result


cdef PyObject *trio_permit_release(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef PyObject *most
    cdef bint is_too_much
    if PyVectorcall_NARGS(nargsf) == 0 or loop_primitive(args[0], KIND_SEMAPHORE) == NULL:
        return call_original(watched, args, nargsf, kwnames)
    most = attribute(args[0], N_MAX_VALUE)
    is_too_much = most != NULL and PyLong_Check(most) and number_attribute(args[0], N_VALUE, 0) >= PyLong_AsLong(most)
    Py_XDECREF(most)
    if not is_too_much:
        record(RAW_POST, HAND_PERMIT, 0, <uintptr_t>args[0], 0, current_site())
    return giving(watched, args, nargsf, kwnames, args[0], NULL)


cdef PyObject *trio_notify(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """Condition.notify, notify_all: who waits for the condition waits for its lock from now on."""
    cdef PyObject *lot
    cdef PyObject *result
    before = None
    if PyVectorcall_NARGS(nargsf) == 0 or loop_primitive(args[0], KIND_LOOP_CONDITION) == NULL:
        return call_original(watched, args, nargsf, kwnames)
    lot = attribute(args[0], N_LOT)
    before = parked_in(lot)
    result = call_original(watched, args, nargsf, kwnames)
    if result != NULL and before:
        log_post(args[0])
        left = parked_in(lot) or ()
        for task in before:
            if task not in left:
                note_woken(<PyObject *>task, GIVEN_NOTICE, args[0], NULL)
    Py_XDECREF(lot)
    return result


cdef list parked_in(PyObject *lot):
    """The tasks that wait there: the keys of a dictionary of trio's own."""
    cdef PyObject *parked = attribute(lot, N_PARKED) if lot != NULL else NULL
    found = [] if parked == NULL or not isinstance(<object>parked, dict) else list(<object>parked)
    Py_XDECREF(parked)
    return found


# Channels of memory: what is sent is an item of the state that both ends have.

cdef PyObject *trio_send(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """send_nowait; `send` begins with it, and waits if there is no room."""
    cdef PyObject *item = argument(args, PyVectorcall_NARGS(nargsf), kwnames, 1, N_VALUE_ARGUMENT)
    cdef PyObject *state
    cdef PyObject *result
    cdef bint may_wait
    if item == NULL or PyVectorcall_NARGS(nargsf) == 0 or not is_recording():
        return call_original(watched, args, nargsf, kwnames)
    state = attribute(args[0], N_STATE)
    if state == NULL or loop_primitive(state, KIND_PLAIN) == NULL:
        Py_XDECREF(state)
        return call_original(watched, args, nargsf, kwnames)
    may_wait = not called_from_instrumented_code()
    if may_wait or has_room_for(state):
        log_put(state, item)
    result = giving(watched, args, nargsf, kwnames, state, item)
    Py_DECREF(state)
    return result


cdef bint has_room_for(PyObject *state) noexcept:
    """Whether a channel takes an item now: somebody waits for it, or there is room."""
    cdef PyObject *data = attribute(state, N_DATA)
    cdef PyObject *waiting = attribute(state, N_RECEIVE_TASKS)
    cdef PyObject *most = attribute(state, N_MAX_BUFFER_SIZE)
    has_room = True
    try:
        has_room = bool(<object>waiting) or len(<object>data) < <object>most
    except Exception:
        pass
    Py_XDECREF(data)
    Py_XDECREF(waiting)
    Py_XDECREF(most)
    return has_room


cdef PyObject *trio_receive(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """receive_nowait; `receive` begins with it. It may wake who waits to send: there is room."""
    cdef PyObject *state = NULL
    cdef PyObject *item
    cdef uint32_t call
    if PyVectorcall_NARGS(nargsf) == 0 or not is_recording():
        return call_original(watched, args, nargsf, kwnames)
    state = attribute(args[0], N_STATE)
    if state == NULL or loop_primitive(state, KIND_PLAIN) == NULL:
        Py_XDECREF(state)
        return call_original(watched, args, nargsf, kwnames)
    call = site_of_call()
    item = call_original(watched, args, nargsf, kwnames)
    if item != NULL:
        log_got(state, item, call, not called_from_instrumented_code())
    Py_DECREF(state)
    return item
