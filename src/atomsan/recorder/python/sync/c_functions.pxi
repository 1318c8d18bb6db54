# Replaces the C functions of locks, simple queues, futures and thread starts by hooks, and restores them

cdef struct Replaced:
    PyMethodDef *definition
    void *original

cdef Replaced replaced[64]
cdef int replaced_count = 0


cdef void *replace(object owner, str name, int flags, void *hook, void *known) except? NULL:
    """Puts a hook into a method or function; returns the original.

    NULL: it is not what we know, and not watched. `known` is the original of another method that has this hook.
    """
    global replaced_count
    cdef object found = vars(owner).get(name)
    cdef PyMethodDef *definition
    cdef void *original
    if found is None:
        return known
    if Py_TYPE(<PyObject *>found) == &PyMethodDescr_Type:
        definition = (<PyMethodDescrObject *><void *>found).d_method
    elif Py_TYPE(<PyObject *>found) == &PyCFunction_Type:
        definition = (<PyCFunctionObject *><void *>found).m_ml
    else:
        return known
    original = definition.ml_meth
    if definition.ml_flags != flags or original == hook or replaced_count == 64:
        return known
    if known != NULL and original != known:
        return known
    replaced[replaced_count].definition = definition
    replaced[replaced_count].original = original
    replaced_count += 1
    definition.ml_meth = hook
    return original


cdef PyTypeObject *lock_type = NULL
cdef PyTypeObject *rlock_type = NULL
cdef PyTypeObject *simple_queue_type = NULL
cdef KeywordsFunction original_acquire, original_rlock_acquire, original_start_joinable
cdef PlainFunction original_release, original_exit, original_locked, original_allocate, original_start
cdef PlainFunction original_rlock_release, original_rlock_exit, original_is_owned, original_recursion_count
cdef PlainFunction original_release_save, original_acquire_restore
cdef PlainFunction original_simple_empty, original_simple_qsize
cdef FastFunction original_simple_put, original_simple_put_nowait
cdef ClassFunction original_simple_get, original_simple_get_nowait
cdef NewFunction original_lock_new, original_rlock_new, original_simple_new
cdef Destructor original_lock_dealloc, original_rlock_dealloc, original_simple_dealloc
cdef PlainFunction original_future_result, original_future_exception, original_set_result, original_set_exception
cdef PlainFunction original_future_done, original_future_cancelled
cdef ClassFunction original_class_exception, original_class_set_result, original_class_set_exception
cdef ClassFunction original_class_cancel
cdef FastFunction original_future_cancel


cdef void *method_of(object owner, str name):
    """The C function of a method."""
    cdef object found = vars(owner)[name]
    return (<PyMethodDescrObject *><void *>found).d_method.ml_meth


cdef void *function_of(object module, str name):
    """The C function of a function of a module."""
    cdef object found = getattr(module, name)
    return (<PyCFunctionObject *><void *>found).m_ml.ml_meth


def replace_locks(module) -> None:
    """`_thread`: locks, and the start of threads."""
    global lock_type, rlock_type, original_acquire, original_release, original_exit, original_locked, original_allocate
    global original_rlock_acquire, original_rlock_release, original_rlock_exit, original_is_owned
    global original_recursion_count, original_release_save, original_acquire_restore, original_start
    global original_start_joinable, original_lock_new, original_rlock_new, original_lock_dealloc, original_rlock_dealloc
    cdef int keywords = METH_VARARGS | METH_KEYWORDS
    lock, rlock = module.LockType, module.RLock
    lock_type = <PyTypeObject *><PyObject *>lock
    rlock_type = <PyTypeObject *><PyObject *>rlock
    original_locked = <PlainFunction>method_of(lock, "locked")
    original_is_owned = <PlainFunction>method_of(rlock, "_is_owned")
    original_recursion_count = <PlainFunction>method_of(rlock, "_recursion_count")
    # First the originals of everything, then the hooks: another thread may call one as soon as it is there.
    original_acquire = <KeywordsFunction>method_of(lock, "acquire")
    original_release = <PlainFunction>method_of(lock, "release")
    original_exit = <PlainFunction>method_of(lock, "__exit__")
    original_rlock_acquire = <KeywordsFunction>method_of(rlock, "acquire")
    original_rlock_release = <PlainFunction>method_of(rlock, "release")
    original_rlock_exit = <PlainFunction>method_of(rlock, "__exit__")
    original_release_save = <PlainFunction>method_of(rlock, "_release_save")
    original_acquire_restore = <PlainFunction>method_of(rlock, "_acquire_restore")
    for name in ("acquire", "acquire_lock"):
        replace(lock, name, keywords, <void *>lock_acquire, <void *>original_acquire)
    for name in ("release", "release_lock"):
        replace(lock, name, METH_NOARGS, <void *>lock_release, <void *>original_release)
    for name in ("locked", "locked_lock"):
        replace(lock, name, METH_NOARGS, <void *>lock_locked, <void *>original_locked)
    replace(lock, "__enter__", keywords, <void *>lock_enter, <void *>original_acquire)
    replace(lock, "__exit__", METH_VARARGS, <void *>lock_exit, <void *>original_exit)
    replace(rlock, "acquire", keywords, <void *>rlock_acquire, <void *>original_rlock_acquire)
    replace(rlock, "release", METH_NOARGS, <void *>rlock_release, <void *>original_rlock_release)
    replace(rlock, "__enter__", keywords, <void *>rlock_enter, <void *>original_rlock_acquire)
    replace(rlock, "__exit__", METH_VARARGS, <void *>rlock_exit, <void *>original_rlock_exit)
    replace(rlock, "_release_save", METH_NOARGS, <void *>rlock_release_save, <void *>original_release_save)
    replace(rlock, "_acquire_restore", METH_VARARGS, <void *>rlock_acquire_restore, <void *>original_acquire_restore)
    original_allocate = <PlainFunction>function_of(module, "allocate_lock")
    for name in ("allocate_lock", "allocate"):
        replace(module, name, METH_NOARGS, <void *>allocate_lock, <void *>original_allocate)
    original_start = <PlainFunction>function_of(module, "start_new_thread")
    for name in ("start_new_thread", "start_new"):
        replace(module, name, METH_VARARGS, <void *>start_new_thread, <void *>original_start)
    if hasattr(module, "start_joinable_thread"):
        original_start_joinable = <KeywordsFunction>function_of(module, "start_joinable_thread")
        replace(module, "start_joinable_thread", keywords, <void *>start_joinable_thread, <void *>original_start_joinable)
    original_lock_new = <NewFunction>lock_type.tp_new
    original_rlock_new = <NewFunction>rlock_type.tp_new
    # The log watches deaths in this slot too. If it put our function back after we had left, it is there still.
    if lock_type.tp_dealloc != <void *>lock_dealloc:
        original_lock_dealloc = <Destructor>lock_type.tp_dealloc
        lock_type.tp_dealloc = <void *>lock_dealloc
    if rlock_type.tp_dealloc != <void *>rlock_dealloc:
        original_rlock_dealloc = <Destructor>rlock_type.tp_dealloc
        rlock_type.tp_dealloc = <void *>rlock_dealloc
    if original_lock_new != NULL:
        lock_type.tp_new = <void *>lock_new
    rlock_type.tp_new = <void *>rlock_new


def replace_simple_queue(queue) -> None:
    """`_queue.SimpleQueue`"""
    global simple_queue_type, original_simple_put, original_simple_put_nowait, original_simple_get
    global original_simple_get_nowait, original_simple_empty, original_simple_qsize, original_simple_new
    global original_simple_dealloc
    cdef int fast = METH_FASTCALL | METH_KEYWORDS
    simple_queue_type = <PyTypeObject *><PyObject *>queue
    original_simple_put = <FastFunction>method_of(queue, "put")
    original_simple_put_nowait = <FastFunction>method_of(queue, "put_nowait")
    original_simple_get = <ClassFunction>method_of(queue, "get")
    original_simple_get_nowait = <ClassFunction>method_of(queue, "get_nowait")
    original_simple_empty = <PlainFunction>method_of(queue, "empty")
    original_simple_qsize = <PlainFunction>method_of(queue, "qsize")
    replace(queue, "put", fast, <void *>simple_put, <void *>original_simple_put)
    replace(queue, "put_nowait", fast, <void *>simple_put_nowait, <void *>original_simple_put_nowait)
    replace(queue, "get", fast | METH_METHOD, <void *>simple_get, <void *>original_simple_get)
    replace(queue, "get_nowait", fast | METH_METHOD, <void *>simple_get_nowait, <void *>original_simple_get_nowait)
    replace(queue, "empty", METH_NOARGS, <void *>simple_empty, <void *>original_simple_empty)
    replace(queue, "qsize", METH_NOARGS, <void *>simple_qsize, <void *>original_simple_qsize)
    original_simple_new = <NewFunction>simple_queue_type.tp_new
    simple_queue_type.tp_new = <void *>simple_new
    if simple_queue_type.tp_dealloc != <void *>simple_dealloc:
        original_simple_dealloc = <Destructor>simple_queue_type.tp_dealloc
        simple_queue_type.tp_dealloc = <void *>simple_dealloc


def replace_futures(future, task) -> None:
    """`_asyncio.Future` and `_asyncio.Task`. Which calling convention they have changes from version to version."""
    global original_future_result, original_future_exception, original_set_result, original_set_exception
    global original_class_exception, original_class_set_result, original_class_set_exception, original_class_cancel
    global original_future_cancel, original_future_done, original_future_cancelled
    cdef int fast = METH_FASTCALL | METH_KEYWORDS
    cdef int of_class = METH_METHOD | METH_FASTCALL | METH_KEYWORDS
    cdef void *function
    original_future_result = <PlainFunction>method_of(future, "result")
    original_future_done = <PlainFunction>method_of(future, "done")
    original_future_cancelled = <PlainFunction>method_of(future, "cancelled")
    original_future_exception = <PlainFunction>method_of(future, "exception")
    original_class_exception = <ClassFunction>method_of(future, "exception")
    original_set_result = <PlainFunction>method_of(future, "set_result")
    original_class_set_result = <ClassFunction>method_of(future, "set_result")
    original_set_exception = <PlainFunction>method_of(future, "set_exception")
    original_class_set_exception = <ClassFunction>method_of(future, "set_exception")
    original_future_cancel = <FastFunction>method_of(future, "cancel")
    original_class_cancel = <ClassFunction>method_of(future, "cancel")
    for kind in (future, task):
        replace(kind, "result", METH_NOARGS, <void *>loop_future_result, <void *>original_future_result)
        function = <void *>original_future_exception
        replace(kind, "exception", METH_NOARGS, <void *>loop_future_exception, function)
        replace(kind, "exception", of_class, <void *>loop_future_class_exception, function)
    replace(future, "done", METH_NOARGS, <void *>loop_future_done, <void *>original_future_done)
    replace(future, "cancelled", METH_NOARGS, <void *>loop_future_cancelled, <void *>original_future_cancelled)
    function = <void *>original_set_result
    replace(future, "set_result", METH_O, <void *>loop_future_set_result, function)
    replace(future, "set_result", of_class, <void *>loop_future_class_set_result, function)
    function = <void *>original_set_exception
    replace(future, "set_exception", METH_O, <void *>loop_future_set_exception, function)
    replace(future, "set_exception", of_class, <void *>loop_future_class_set_exception, function)
    function = <void *>original_future_cancel
    replace(future, "cancel", fast, <void *>loop_future_cancel, function)
    replace(future, "cancel", of_class, <void *>loop_future_class_cancel, function)


cdef void put_back(PyTypeObject *kind, void *ours, void *theirs) noexcept:
    if kind.tp_dealloc == ours:
        kind.tp_dealloc = theirs


def restore_all() -> None:
    """Every C function is again the one it was."""
    global replaced_count, lock_type, rlock_type, simple_queue_type
    while replaced_count > 0:
        replaced_count -= 1
        replaced[replaced_count].definition.ml_meth = replaced[replaced_count].original
    if lock_type != NULL:
        put_back(lock_type, <void *>lock_dealloc, <void *>original_lock_dealloc)
        lock_type.tp_new = <void *>original_lock_new
        put_back(rlock_type, <void *>rlock_dealloc, <void *>original_rlock_dealloc)
        rlock_type.tp_new = <void *>original_rlock_new
    if simple_queue_type != NULL:
        put_back(simple_queue_type, <void *>simple_dealloc, <void *>original_simple_dealloc)
        simple_queue_type.tp_new = <void *>original_simple_new
    lock_type = rlock_type = simple_queue_type = NULL


def addresses() -> dict[str, int]:
    """Where the C functions that can be replaced are at present: for the test that all are put back."""
    import _asyncio
    import _queue
    import _thread
    cdef object found
    result = {}
    for owner in (_thread.LockType, _thread.RLock, _queue.SimpleQueue, _asyncio.Future, _asyncio.Task, _thread):
        for name, found in vars(owner).items():
            if Py_TYPE(<PyObject *>found) == &PyMethodDescr_Type:
                result[f"{owner}.{name}"] = <uintptr_t>method_of(owner, name)
            elif Py_TYPE(<PyObject *>found) == &PyCFunction_Type and name != "__new__":
                result[f"{owner}.{name}"] = <uintptr_t>function_of(owner, name)
        if isinstance(owner, type):
            result[f"{owner} dealloc"] = <uintptr_t>(<PyTypeObject *><PyObject *>owner).tp_dealloc
            result[f"{owner} new"] = <uintptr_t>(<PyTypeObject *><PyObject *>owner).tp_new
    return result
