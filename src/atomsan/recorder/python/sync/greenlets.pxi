# Greenlets: a greenlet is a thread of the trace while it runs, and the greenlets of one OS thread share a lock, as the
# tasks of a loop do: nobody of them comes in between what one does from switch to switch, and a switch orders nothing. One
# that switches to a greenlet of which it is the parent waits until somebody switches back.
#
# greenlet calls our trace function after each switch, in the greenlet that runs from now on. The program's own trace
# function is called by ours. Each OS thread has a trace function of its own; it gets ours when a greenlet is made in it.
#
# Always: the running greenlet holds the lock of its OS thread, from the first fork of another greenlet on. What an
# operation has noted of itself (`Kept`) is that of the greenlet that it runs in.

cdef extern from *:
    """
    static __thread uint64_t atomsan_green_epoch;      /* the recording in which the OS thread's greenlets are threads */
    static __thread PyObject *atomsan_green_root;      /* its first greenlet, which stands for their lock */
    static __thread PyObject *atomsan_own_trace;       /* the trace function of the program, or NULL */
    static __thread int atomsan_is_traced;             /* our trace function is there */
    static __thread PyObject *atomsan_linked_to;       /* the greenlet whose end starts the one that runs next, or NULL */
    static __thread PyObject *atomsan_green_op;        /* the primitive of gevent that is being used: it uses itself */
    """
    uint64_t green_epoch "atomsan_green_epoch"
    PyObject *green_root "atomsan_green_root"
    PyObject *own_trace "atomsan_own_trace"
    bint is_traced "atomsan_is_traced"
    PyObject *green_op "atomsan_green_op"
    PyObject *linked_to "atomsan_linked_to"

cdef extern from "Python.h":
    void *PyCapsule_Import(const char *name, int no_block)
    PyObject *PyObject_CallObject(PyObject *callable, PyObject *args)
    PyObject *PyThreadState_GetDict()
    PyObject *PyTuple_Pack(Py_ssize_t n, ...)

ctypedef PyObject *(*CurrentGreenlet)() noexcept
ctypedef PyObject *(*ParentOf)(PyObject *) noexcept
ctypedef int (*StateOf)(PyObject *) noexcept

# Where these functions stand in the table that greenlet has for C.
cdef enum:
    GREENLET_GET_CURRENT = 4, GREENLET_STARTED = 9, GREENLET_ACTIVE = 10, GREENLET_GET_PARENT = 11

cdef PyTypeObject *greenlet_type = NULL
cdef CurrentGreenlet current_greenlet = NULL
cdef ParentOf parent_of = NULL
cdef StateOf has_begun = NULL
cdef StateOf is_active = NULL
cdef NewFunction original_greenlet_new = NULL
cdef PlainFunction original_settrace = NULL
cdef PlainFunction original_gettrace = NULL
cdef object hub_type = None
cdef str OWN_TRACE = "atomsan: greenlet.settrace"


cdef Kept kept_now() noexcept:
    cdef OsThread *here = os_thread()
    cdef Kept kept
    kept.entering, kept.in_queue, kept.sizing, kept.used_future = entering, in_queue, sizing, used_future
    kept.running_task, kept.cause, kept.empty_waker, kept.green_op = running_task, cause, empty_waker, green_op
    kept.put_since, kept.waits, kept.workers, kept.base = put_since, waits, workers, here.base
    kept.get_mode, kept.last_taken, kept.number, kept.site = get_mode, last_taken, here.number, current_site()
    kept.in_callback, kept.ordered = in_callback, ordered
    return kept


cdef void go_on_with(Kept *kept) noexcept:
    global entering, in_queue, sizing, used_future, running_task, cause, empty_waker, green_op
    global put_since, waits, workers, get_mode, last_taken, in_callback, ordered
    cdef OsThread *here = os_thread()
    entering, in_queue, sizing, used_future = kept.entering, kept.in_queue, kept.sizing, kept.used_future
    running_task, cause, empty_waker, green_op = kept.running_task, kept.cause, kept.empty_waker, kept.green_op
    put_since, waits, workers, get_mode = kept.put_since, kept.waits, kept.workers, kept.get_mode
    last_taken, in_callback, ordered = kept.last_taken, kept.in_callback, kept.ordered
    set_current_thread(kept.number)
    here.base, here.site = kept.base, kept.site


cdef PyObject *root_of(PyObject *greenlet) noexcept:
    """The first greenlet of its OS thread (borrowed: that has it)."""
    cdef PyObject *parent
    while True:
        parent = parent_of(greenlet)
        if parent == NULL:
            PyErr_Clear()
            return greenlet
        Py_DECREF(parent)   # its child has it
        greenlet = parent


cdef inline bint are_threads() noexcept:
    """Whether the greenlets of this OS thread have become threads of this recording."""
    return green_epoch == log_head().epoch


cdef void begin_greenlets(PyObject *current) noexcept:
    """The running greenlet stands for the OS thread, and holds the lock from now on."""
    global green_epoch, green_root
    cdef Primitive *entry
    cdef uint32_t number = thread_here()
    green_root = root_of(current)
    green_epoch = log_head().epoch
    track(green_root)
    entry = track(current)
    if entry != NULL and entry.number == 0:
        entry.number = number
    if entry != NULL:
        entry.has_started = entry.was_forked = True
    define(["primitive", <uintptr_t>green_root, "loop", "greenlets" if hub_type is None else "greenlets of gevent"])
    record_after(RAW_ACQUIRE, KEY_NONE, FLAG_LOOP_LOCK, <uintptr_t>green_root, 1, 0)


cdef object name_of_run(PyObject *run):
    """What a greenlet is called: as the function that it runs."""
    cdef PyObject *name = attribute(run, N_QUALNAME) if run != NULL else NULL
    shown = "greenlet"
    if name != NULL:
        if PyUnicode_Check(name):
            shown = <object>name
        Py_DECREF(name)
    return shown


cdef void number_greenlet(PyObject *greenlet, PyObject *run) noexcept:
    """A greenlet that is new to us gets its number. `run`: what it is going to call, or NULL."""
    cdef Primitive *entry = track(greenlet)
    cdef Primitive *of_thread
    cdef PyObject *thread = thread_object(run) if run != NULL else NULL
    cdef PyObject *name
    cdef uint32_t number = 0
    if entry == NULL or entry.number:
        return
    if thread != NULL:
        promote_target(thread)
    elif run != NULL:
        promote(run)
    shown = name_of_run(run)
    if thread != NULL:
        name = attribute(thread, N_NAME)
        if name != NULL:
            shown = str(<object>name) if PyUnicode_Check(name) else shown
            Py_DECREF(name)
    try:
        number = new_thread((shown, "task"))
    except Exception:
        return
    entry = find(greenlet)
    if entry == NULL:
        return
    entry.number = number
    if thread != NULL:
        entry.ends_with = <uintptr_t>thread
        of_thread = track(thread)
        if of_thread != NULL:
            of_thread.number, of_thread.has_ended = number, False


cdef void fork_greenlet(PyObject *greenlet, PyObject *run) noexcept:
    """The running greenlet starts another one, or arranges that it will be started."""
    cdef Primitive *entry
    cdef PyObject *current
    if not log_head().attached or running_task != NULL:
        return
    if not are_threads():
        current = current_greenlet()
        if current == NULL:
            PyErr_Clear()
            return
        begin_greenlets(current)
        Py_DECREF(current)
    number_greenlet(greenlet, run)
    entry = find(greenlet)
    if entry != NULL and entry.number and not entry.was_forked:
        entry.was_forked = True
        record(RAW_FORK, KEY_NONE, 0, 0, entry.number, current_site())


cdef bint is_hub(PyObject *greenlet) noexcept:
    return hub_type is not None and PyObject_TypeCheck(greenlet, <PyTypeObject *><PyObject *>hub_type)


cdef bint is_child(PyObject *greenlet, PyObject *of) noexcept:
    """Whether a greenlet that switches to this one calls it, as a task awaits another one. A hub is no work of anybody."""
    cdef PyObject *parent
    if is_hub(greenlet) or is_hub(of):
        return False
    parent = parent_of(greenlet)
    if parent == NULL:
        PyErr_Clear()
        return False
    Py_DECREF(parent)
    return parent == of


cdef void leave(PyObject *origin) noexcept:
    """The greenlet that ran until now does not run any more, or has ended."""
    cdef Primitive *entry = find(origin)
    cdef Primitive *other
    record(RAW_RELEASE, KEY_NONE, FLAG_LOOP_LOCK, <uintptr_t>green_root, 1, 0)
    if entry == NULL:
        return
    if has_begun(origin) and not is_active(origin):
        if entry.group:
            record(RAW_POST, HAND_PLAIN, 0, entry.group, 0, 0)
        record(RAW_EXIT, KEY_NONE, 0, 0, 0, 0)
        entry.has_ended = True
        other = find(<void *>entry.ends_with) if entry.ends_with else NULL
        if other != NULL and other.number == entry.number:
            other.has_ended = True
        return
    if entry.kept == NULL:
        entry.kept = <Kept *>calloc(1, sizeof(Kept))
    if entry.kept != NULL:
        entry.kept[0] = kept_now()


cdef void arrive(PyObject *target) noexcept:
    global linked_to
    cdef Primitive *entry = find(target)
    cdef Kept fresh
    cdef bint is_first
    if entry == NULL:
        return
    is_first = not entry.has_started
    entry.has_started = True
    if entry.kept != NULL:
        go_on_with(entry.kept)
    else:
        memset(&fresh, 0, sizeof(Kept))
        fresh.number = entry.number
        go_on_with(&fresh)
    if is_first:
        record(RAW_THREAD, KEY_NONE, 0, 0, 0, 0)
    record_after(RAW_ACQUIRE, KEY_NONE, FLAG_LOOP_LOCK, <uintptr_t>green_root, 1, 0)
    if is_first and linked_to != NULL:
        entry = find(linked_to)
        linked_to = NULL
        if entry != NULL and entry.number and entry.has_ended:
            record_after(RAW_JOIN, KEY_NONE, 0, 0, entry.number, current_site())


cdef void switched(PyObject *origin, PyObject *target) noexcept:
    """After a switch. A greenlet that a task of asyncio runs is part of the task: it runs while that has its step."""
    cdef Primitive *entry
    cdef PyObject *run
    cdef bint is_back
    if not log_head().attached or running_task != NULL:
        return
    if not are_threads():
        begin_greenlets(origin)
    entry = find(origin)
    if entry != NULL:
        entry.awaits_child = is_child(target, origin)
    entry = find(target)
    is_back = entry != NULL and entry.awaits_child and (is_active(origin) or not has_begun(origin))
    if entry == NULL or not entry.was_forked:
        # of a class that says itself what its greenlets run
        run = _PyType_Lookup(Py_TYPE(target), NAME[N_RUN])
        fork_greenlet(target, run if run != NULL and PyFunction_Check(run) else NULL)
    if is_back:
        log_post(target)
    leave(origin)
    arrive(target)
    if is_back:
        log_take(target)
    entry = find(origin)
    if entry != NULL and entry.has_ended and not is_hub(target):
        # whoever goes on because a greenlet has ended; a hub goes on with whatever comes next
        record_after(RAW_JOIN, KEY_NONE, 0, 0, entry.number, current_site())


cdef PyObject *greenlet_traced(PyObject *unused, PyObject *args) noexcept:
    """Called by greenlet with (event, (origin, target))."""
    global own_trace, is_traced
    cdef PyObject *pair
    cdef PyObject *result
    cdef PyObject *own = own_trace
    if PyTuple_GET_SIZE(args) == 2:
        pair = PyTuple_GET_ITEM(args, 1)
        if PyTuple_Check(pair) and PyTuple_GET_SIZE(pair) == 2:
            switched(PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1))
    if own == NULL:
        Py_INCREF(Py_None)
        return Py_None
    Py_INCREF(own)
    result = PyObject_CallObject(own, args)
    Py_DECREF(own)
    if result == NULL:
        # greenlet takes away a trace function that raises, and that is ours
        set_own_trace(NULL)
        is_traced = False
        say_unfollowed(GREENLETS_LOST)
    return result


cdef PyMethodDef traced_definition
traced_definition.ml_name = b"trace"
traced_definition.ml_meth = <void *>greenlet_traced
traced_definition.ml_flags = METH_VARARGS
traced_definition.ml_doc = NULL
cdef PyObject *our_trace = PyCFunction_New(&traced_definition, NULL)


cdef void set_own_trace(PyObject *function) noexcept:
    """The trace function that the program has in this OS thread. The OS thread keeps it, as greenlet would."""
    global own_trace
    cdef PyObject *error[3]
    cdef bint has_error = keep_error(error)
    cdef PyObject *kept = PyThreadState_GetDict()
    if kept != NULL:
        (<dict>(<object>kept))[OWN_TRACE] = None if function == NULL else <object>function
        own_trace = function
    if has_error:
        restore_error(error)


cdef void trace_here() noexcept:
    """Our trace function is that of this OS thread from now on."""
    global is_traced
    cdef PyObject *args
    cdef PyObject *before
    if is_traced or original_settrace == NULL:
        return
    args = PyTuple_Pack(1, our_trace)
    if args == NULL:
        PyErr_Clear()
        return
    is_traced = True
    before = original_settrace(NULL, args)
    Py_DECREF(args)
    if before == NULL:
        PyErr_Clear()
        return
    if before != Py_None and before != our_trace:
        set_own_trace(before)
    Py_DECREF(before)


cdef PyObject *greenlet_settrace(PyObject *module, PyObject *args) noexcept:
    cdef PyObject *before = own_trace if own_trace != NULL else Py_None
    if not is_traced or PyTuple_GET_SIZE(args) != 1:
        return original_settrace(module, args)
    Py_INCREF(before)
    set_own_trace(NULL if PyTuple_GET_ITEM(args, 0) == Py_None else PyTuple_GET_ITEM(args, 0))
    return before


cdef PyObject *greenlet_gettrace(PyObject *module, PyObject *ignored) noexcept:
    cdef PyObject *own = own_trace if own_trace != NULL else Py_None
    if not is_traced:
        return original_gettrace(module, ignored)
    Py_INCREF(own)
    return own


cdef PyObject *greenlet_new(PyTypeObject *kind, PyObject *args, PyObject *kwargs) noexcept:
    """A greenlet is made. It is started by whoever switches to it first."""
    cdef PyObject *greenlet = original_greenlet_new(kind, args, kwargs)
    cdef PyObject *run = NULL
    if greenlet == NULL or not is_recording():
        return greenlet
    trace_here()
    if kind.tp_init == greenlet_type.tp_init and running_task == NULL:
        if PyTuple_GET_SIZE(args) > 0:
            run = PyTuple_GET_ITEM(args, 0)
        elif kwargs != NULL:
            run = PyDict_GetItemString(kwargs, b"run")
        if run != NULL and PyCallable_Check(run):
            number_greenlet(greenlet, run)
    return greenlet


def follow_greenlets(module) -> None:
    """greenlet has been imported: its greenlets are followed from now on."""
    global greenlet_type, current_greenlet, parent_of, has_begun, is_active
    global original_greenlet_new, original_settrace, original_gettrace
    cdef void **table = <void **>PyCapsule_Import(b"greenlet._C_API", 0)
    if table == NULL:
        PyErr_Clear()
        raise LookupError("greenlet._C_API")
    kind = module.greenlet
    greenlet_type = <PyTypeObject *><PyObject *>kind
    current_greenlet = <CurrentGreenlet>table[<int>GREENLET_GET_CURRENT]
    has_begun, is_active = <StateOf>table[<int>GREENLET_STARTED], <StateOf>table[<int>GREENLET_ACTIVE]
    parent_of = <ParentOf>table[<int>GREENLET_GET_PARENT]
    # These stay. Other OS threads keep our trace function, of which nobody is to know. Classes that are derived meanwhile
    # have our `tp_new` too, and `__new__` wants it to be the same for all of them.
    if greenlet_type.tp_new != <void *>greenlet_new:
        original_greenlet_new = <NewFunction>greenlet_type.tp_new
        greenlet_type.tp_new = <void *>greenlet_new
        original_settrace = <PlainFunction>stand_in(module.settrace, <void *>greenlet_settrace)
        original_gettrace = <PlainFunction>stand_in(module.gettrace, <void *>greenlet_gettrace)
    on_entered(trace_here)
    trace_here()


cdef void *stand_in(object function, void *hook) except NULL:
    """Puts a hook into a function of C, for good; returns the original."""
    cdef PyMethodDef *definition = (<PyCFunctionObject *><void *>function).m_ml
    cdef void *original = definition.ml_meth
    definition.ml_meth = hook
    return original


def leave_greenlets() -> None:
    """Nothing is watched any more: this OS thread has the program's own trace function again."""
    global is_traced
    cdef PyObject *args
    cdef PyObject *before
    on_entered(NULL)
    if not is_traced:
        return
    args = PyTuple_Pack(1, own_trace if own_trace != NULL else Py_None)
    if args == NULL:
        PyErr_Clear()
        return
    before = original_settrace(NULL, args)
    Py_DECREF(args)
    Py_XDECREF(before)
    is_traced = False
    set_own_trace(NULL)


def set_hub_type(kind) -> None:
    """Greenlets that only switch to others, and call them back."""
    global hub_type
    hub_type = kind
