# Tasks of asyncio and the loop: a task is a thread of the trace while one of its steps runs

cdef PyObject *internal_globals[4]
cdef int internal_globals_count = 0


def set_internal_modules(modules) -> None:
    """Modules that wake their waiters through futures of their own; what they mean by it is logged otherwise."""
    global internal_globals_count
    internal_globals_count = 0
    for module in modules:
        namespace = vars(module)
        internal_globals[internal_globals_count] = <PyObject *>namespace
        internal_globals_count += 1


cdef bint is_internal() noexcept:
    cdef PyObject *running = PyEval_GetGlobals()
    cdef int i
    for i in range(internal_globals_count):
        if internal_globals[i] == running:
            return True
    return False


cdef bint may_post() noexcept:
    """Whether a post of the running code is one to log.

    A callback of asyncio itself (the end of a sleep, of a wait, of a gather) belongs to no task. It passes on the order
    of what it was called for; one that was called for nothing (a timer) orders nothing.
    """
    global cause, ordered
    cdef PyObject *future = cause
    if not in_callback:
        return True
    if future != NULL:
        cause = NULL
        ordered = True
        log_done(future)
    return ordered


cdef int log_done(PyObject *future) noexcept:
    """The running thread has seen that a future or task is done; `gather`: that all of its parts are.

    Gives how many takes and joins were logged.
    """
    cdef Primitive *entry
    cdef PyObject *children
    cdef Py_ssize_t i
    cdef uint32_t thread
    cdef int count = 0
    if state_of(future) != STATE_DONE:
        return 0
    entry = find(future)
    # A future that is not known was never posted: it orders nothing.
    if entry != NULL and not (entry.number and not entry.has_ended):
        thread = thread_here()
        if entry.taker == thread:
            return 0
        entry.taker = thread
        count = 1
        if entry.number:
            record_after(RAW_JOIN, KEY_NONE, 0, 0, entry.number, current_site())
            return count
        log_take(future)
    if strcmp(Py_TYPE(future).tp_name, b"_GatheringFuture") == 0:
        children = attribute(future, N_CHILDREN)
        if children != NULL:
            if PyList_Check(children):
                for i in range(PyList_GET_SIZE(children)):
                    count += log_done(PyList_GET_ITEM(children, i))
            Py_DECREF(children)
    return count


cdef void log_awaited(PyObject *obj) noexcept:
    cdef Primitive *entry
    if is_recording() and primitive_count:
        entry = find(obj)
        # Only what is known to be a task or a future: no attribute of anything else is looked at.
        if entry != NULL and entry.ref != NULL and (entry.number or entry.kind == KIND_PLAIN):
            log_done(obj)


def awaited(obj) -> None:
    """`obj` is about to be awaited: a task that has ended is joined, because nothing will wake the awaiting one."""
    log_awaited(<PyObject *>obj)


cdef Primitive *number_task(PyObject *task) noexcept:
    """A task that is new to us gets its number, and the running thread forks it."""
    cdef Primitive *entry = track(task)
    cdef PyObject *method
    cdef PyObject *name = NULL
    if entry == NULL or entry.number:
        return entry
    method = attribute(task, N_GET_NAME)
    if method != NULL:
        name = PyObject_CallNoArgs(method)
        if name == NULL:
            PyErr_Clear()
        Py_DECREF(method)
    entry = find(task)
    if entry != NULL:
        entry.number = new_thread((<object>name if name != NULL and PyUnicode_Check(name) else "task", "task"))
        record(RAW_FORK, KEY_NONE, 0, 0, entry.number, current_site())
    Py_XDECREF(name)
    return find(task)


cdef PyObject *create_task(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef PyObject *task = call_original(watched, args, nargsf, kwnames)
    # An eager task that has ended already ran as part of its maker.
    if task != NULL and is_recording() and state_of(task) == STATE_PENDING:
        may_post()
        number_task(task)
    return task


cdef PyObject *name_task(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """Up to 3.12 a task gets the name that the program gave it after it was made."""
    cdef Primitive *entry
    if PyVectorcall_NARGS(nargsf) == 2 and is_recording() and PyUnicode_Check(args[1]):
        entry = find(args[0])
        if entry != NULL and entry.number:
            define(["thread", entry.number, <object>args[1], "task"])
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *task_of_step(PyObject *callback) noexcept:
    """The task (a new reference) of which this callback of the loop is a step, or NULL."""
    cdef PyObject *name
    cdef bint is_step
    cdef const char *kind = Py_TYPE(callback).tp_name
    if strcmp(kind, b"TaskStepMethWrapper") == 0 or strcmp(kind, b"_asyncio.TaskStepMethWrapper") == 0:
        return attribute(callback, N_SELF)
    if PyCFunction_Check(callback):
        if strcmp((<PyCFunctionObject *>callback).m_ml.ml_name, b"task_wakeup") != 0:
            return NULL
        return attribute(callback, N_SELF)
    if not PyMethod_Check(callback) or task_type is None:
        return NULL
    if not PyObject_TypeCheck(PyMethod_GET_SELF(callback), <PyTypeObject *><PyObject *>task_type):
        return NULL
    name = attribute(callback, N_DUNDER_NAME)
    is_step = name != NULL and PyUnicode_Check(name) and (
        PyUnicode_CompareWithASCIIString(name, b"__step") == 0 or PyUnicode_CompareWithASCIIString(name, b"__wakeup") == 0
    )
    Py_XDECREF(name)
    if not is_step:
        return NULL
    Py_INCREF(PyMethod_GET_SELF(callback))
    return PyMethod_GET_SELF(callback)


cdef object task_type = None


def set_task_type(python_task) -> None:
    """asyncio's Task as written in Python; the steps of the C one can be told by their type."""
    global task_type
    task_type = python_task


cdef PyObject *first_argument(PyObject *handle) noexcept:
    """Of the callback of a handle; a new reference or NULL."""
    cdef PyObject *args = attribute(handle, N_ARGS)
    cdef PyObject *first = NULL
    if args != NULL and PyTuple_Check(args) and PyTuple_GET_SIZE(args) > 0:
        first = PyTuple_GET_ITEM(args, 0)
        Py_INCREF(first)
    Py_XDECREF(args)
    return first


cdef object own_module(PyObject *callback):
    """The name of the module of asyncio that a callback's function stands in; None if it is the program's, or in C."""
    cdef PyObject *function = PyMethod_GET_FUNCTION(callback) if PyMethod_Check(callback) else callback
    cdef PyObject *name
    if not PyFunction_Check(function):
        return None
    name = PyDict_GetItemString(PyFunction_GetGlobals(function), b"__name__")
    if name == NULL or not PyUnicode_Check(name) or not (<str>(<object>name)).startswith("asyncio."):
        return None
    return <object>name


cdef PyObject *without_partials(PyObject *callback) noexcept:
    """The function of a partial call; a new reference."""
    cdef PyObject *function
    Py_INCREF(callback)
    while strcmp(Py_TYPE(callback).tp_name, b"functools.partial") == 0:
        function = attribute(callback, N_FUNC)
        if function == NULL:
            break
        Py_DECREF(callback)
        callback = function
    return callback


cdef bint is_of_library(PyObject *callback) noexcept:
    """Whether a callback is asyncio's own: it handles no data of the program."""
    cdef PyObject *function = PyMethod_GET_FUNCTION(callback) if PyMethod_Check(callback) else callback
    return not PyFunction_Check(function) or own_module(callback) is not None


cdef bint may_run_program(PyObject *callback) noexcept:
    """Whether a callback may run code of the program. Those of transports do, of futures and tasks only wake others."""
    if PyCFunction_Check(callback):
        return False
    return own_module(callback) not in ("asyncio.futures", "asyncio.tasks", "asyncio.timeouts")


cdef void take_posted(PyObject *callback, PyObject *loop) noexcept:
    """Take a callback that a thread or task handed to the loop, by call_soon_threadsafe and the like."""
    global ordered
    cdef Primitive *entry = find(callback)
    if entry == NULL or entry.posted == 0:
        return
    entry.posted -= 1
    if entry.posted == 0 and entry.ref == NULL and not entry.is_watched:
        drop(callback)
    ordered = True
    record_after(RAW_TAKE, HAND_ITEM, 0, <uintptr_t>loop, <uintptr_t>callback, 0)


cdef PyObject *run_step(
    PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames, PyObject *loop, PyObject *task,
    PyObject *waker,
) noexcept:
    global running_task, empty_waker
    cdef Primitive *entry = number_task(task)
    cdef PyObject *outer_task = running_task
    cdef PyObject *result
    cdef uint32_t outer = thread_here()
    cdef const void *outer_base
    if loop != NULL:
        track(loop)
        entry = find(task)
    if entry != NULL:
        set_current_thread(entry.number)
        if not entry.has_started:
            entry.has_started = True
            record(RAW_THREAD, KEY_NONE, 0, 0, 0, 0)
    record_after(RAW_ACQUIRE, KEY_NONE, FLAG_LOOP_LOCK, <uintptr_t>loop, 1, 0)
    if waker != NULL and log_done(waker) == 0:
        empty_waker = waker
    running_task = task
    outer_base = set_base(frame_here())
    result = call_original(watched, args, nargsf, kwnames)
    set_base(outer_base)
    running_task = outer_task
    empty_waker = NULL
    record(RAW_RELEASE, KEY_NONE, FLAG_LOOP_LOCK, <uintptr_t>loop, 1, 0)
    if state_of(task) == STATE_DONE:
        record(RAW_EXIT, KEY_NONE, 0, 0, 0, 0)
        entry = find(task)
        if entry != NULL:
            entry.has_ended = True
    set_current_thread(outer)
    return result


cdef PyObject *run_alone(
    PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames, PyObject *loop
) noexcept:
    """A callback that is no step of a task: no step runs meanwhile."""
    cdef PyObject *result
    if loop != NULL:
        track(loop)
        record_after(RAW_ACQUIRE, KEY_NONE, FLAG_LOOP_LOCK, <uintptr_t>loop, 1, 0)
    result = call_original(watched, args, nargsf, kwnames)
    if loop != NULL:
        record(RAW_RELEASE, KEY_NONE, FLAG_LOOP_LOCK, <uintptr_t>loop, 1, 0)
    return result


cdef PyObject *run_handle(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """asyncio.Handle._run: everything a loop of asyncio does comes through here."""
    cdef PyObject *callback
    cdef PyObject *first
    cdef PyObject *loop
    cdef PyObject *result
    if PyVectorcall_NARGS(nargsf) == 0 or not is_recording():
        return call_original(watched, args, nargsf, kwnames)
    callback = attribute(args[0], N_CALLBACK)
    if callback == NULL:
        return call_original(watched, args, nargsf, kwnames)
    loop = attribute(args[0], N_LOOP)
    first = first_argument(args[0])
    result = run_in_loop(watched, args, nargsf, kwnames, loop, callback, first)
    Py_XDECREF(first)
    Py_XDECREF(loop)
    Py_DECREF(callback)
    return result


cdef PyObject *run_in_loop(
    PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames, PyObject *loop, PyObject *callback,
    PyObject *first,
) noexcept:
    """A loop runs a callback, the first argument of which this is: a step of a task, or something else."""
    global in_callback, cause, ordered
    cdef PyObject *function
    cdef PyObject *task
    cdef PyObject *result
    take_posted(callback, loop)
    task = task_of_step(callback)
    if task != NULL:
        result = run_step(watched, args, nargsf, kwnames, loop, task, first)
        Py_DECREF(task)
        ordered = False
        return result
    if first != NULL and state_of(first) != STATE_DONE:
        first = NULL
    function = without_partials(callback)
    in_callback = is_of_library(function)
    cause = first
    if first != NULL and (not in_callback or has_ended_task(first)):
        # The last of several tasks wakes who waits for all of them: each is joined as it ends.
        cause = NULL
        ordered = True
        log_done(first)
    if may_run_program(function):
        result = run_alone(watched, args, nargsf, kwnames, loop)
    else:
        result = call_original(watched, args, nargsf, kwnames)
    Py_DECREF(function)
    in_callback = False
    cause = NULL
    ordered = False
    return result


cdef bint has_ended_task(PyObject *future) noexcept:
    cdef Primitive *entry = find(future)
    return entry != NULL and entry.number != 0 and entry.has_ended


cdef void hand_to_loop(PyObject *loop, PyObject *callback) noexcept:
    cdef Primitive *entry
    cdef PyObject *task = task_of_step(callback)
    if task != NULL:
        # A future that is done wakes a task, a new task makes its first step: that order is logged as what it is.
        Py_DECREF(task)
        return
    entry = add(callback)
    if entry == NULL:
        return
    entry.posted += 1
    track(loop)
    record(RAW_POST, HAND_ITEM, 0, <uintptr_t>loop, <uintptr_t>callback, current_site())


cdef PyObject *call_threadsafe(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef PyObject *callback = argument(args, PyVectorcall_NARGS(nargsf), kwnames, 1, N_CALLBACK_ARGUMENT)
    if callback != NULL and PyVectorcall_NARGS(nargsf) > 0 and is_recording():
        hand_to_loop(args[0], callback)
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *call_soon(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef PyObject *callback
    if PyVectorcall_NARGS(nargsf) > 0 and is_recording() and called_from_instrumented_code():
        callback = argument(args, PyVectorcall_NARGS(nargsf), kwnames, 1, N_CALLBACK_ARGUMENT)
        if callback != NULL:
            hand_to_loop(args[0], callback)
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *call_later(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """call_later, call_at: the first argument is the time."""
    cdef PyObject *callback
    if PyVectorcall_NARGS(nargsf) > 0 and is_recording() and called_from_instrumented_code():
        callback = argument(args, PyVectorcall_NARGS(nargsf), kwnames, 2, N_CALLBACK_ARGUMENT)
        if callback != NULL:
            hand_to_loop(args[0], callback)
    return call_original(watched, args, nargsf, kwnames)


# Loops that do not run asyncio's handles (uvloop): what is given to them is replaced by what runs it as a handle would.

cdef PyObject *run_by_other_loop(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef Watched callback = <Watched>watched
    cdef PyObject *first = args[0] if PyVectorcall_NARGS(nargsf) > 0 else NULL
    if not is_recording():
        return call_original(watched, args, nargsf, kwnames)
    return run_in_loop(
        watched, args, nargsf, kwnames, <PyObject *>callback.loop, <PyObject *>callback.function, first
    )


cdef PyObject *give_to_other_loop(
    PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames, Py_ssize_t place
) noexcept:
    """Call the original with another callback, which is the argument at this place."""
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf), more = 0, i
    cdef PyObject **changed
    cdef PyObject *result
    cdef Watched callback
    if count <= place or not is_recording() or not PyCallable_Check(args[place]) or is_running_watched(args[place]):
        return call_original(watched, args, nargsf, kwnames)
    if kwnames != NULL:
        more = PyTuple_GET_SIZE(kwnames)
    changed = <PyObject **>calloc(count + more, sizeof(PyObject *))
    if changed == NULL:
        return call_original(watched, args, nargsf, kwnames)
    callback = Watched.__new__(Watched)
    callback.function = <object>args[place]
    callback.loop = <object>args[0]
    callback.vectorcall = run_by_other_loop
    for i in range(count + more):
        changed[i] = args[i]
    changed[place] = <PyObject *>callback
    result = call_original(watched, changed, count, kwnames)
    free(changed)
    return result


cdef bint is_running_watched(PyObject *callback) noexcept:
    """Of a loop's own function that gives it on to another one."""
    return Py_TYPE(callback) == <PyTypeObject *><PyObject *>Watched and (<Watched>callback).vectorcall == run_by_other_loop


cdef PyObject *other_loop_call(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    if PyVectorcall_NARGS(nargsf) > 1 and is_recording() and called_from_instrumented_code():
        hand_to_loop(args[0], args[1])
    return give_to_other_loop(watched, args, nargsf, kwnames, 1)


cdef PyObject *other_loop_call_threadsafe(
    PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames
) noexcept:
    if PyVectorcall_NARGS(nargsf) > 1 and is_recording():
        hand_to_loop(args[0], args[1])
    return give_to_other_loop(watched, args, nargsf, kwnames, 1)


cdef PyObject *other_loop_call_later(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """call_later, call_at: the first argument is the time."""
    if PyVectorcall_NARGS(nargsf) > 2 and is_recording() and called_from_instrumented_code():
        hand_to_loop(args[0], args[2])
    return give_to_other_loop(watched, args, nargsf, kwnames, 2)
