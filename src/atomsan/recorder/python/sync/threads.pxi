# Starts, ends and joins of threads

cdef PyTypeObject *thread_type = NULL
cdef object thread_run = None
cdef object timer_run = None
cdef object promoter = None


def set_thread_type(thread, timer) -> None:
    global thread_type, thread_run, timer_run
    thread_type = <PyTypeObject *><PyObject *>thread
    thread_run = vars(thread)["run"]
    timer_run = vars(timer)["run"]


def set_promoter(new_promoter) -> None:
    """`promoter(function)` is called with what a thread or an executor is about to call; None: nobody is."""
    global promoter
    promoter = new_promoter


cdef void promote(PyObject *function) noexcept:
    cdef bint is_interrupted
    if promoter is not None and is_recording():
        Py_XDECREF(call_hidden(promoter, (<object>function,), &is_interrupted))


cdef PyObject *thread_object(PyObject *function) noexcept:
    """The threading.Thread whose `_bootstrap` this is (borrowed), or NULL."""
    cdef PyObject *name
    cdef bint is_bootstrap
    if thread_type == NULL or not PyMethod_Check(function):
        return NULL
    if not PyObject_TypeCheck(PyMethod_GET_SELF(function), thread_type):
        return NULL
    name = attribute(function, N_DUNDER_NAME)
    is_bootstrap = name != NULL and PyUnicode_Check(name) and PyUnicode_CompareWithASCIIString(name, b"_bootstrap") == 0
    Py_XDECREF(name)
    return PyMethod_GET_SELF(function) if is_bootstrap else NULL


cdef void promote_target(PyObject *thread) noexcept:
    cdef PyObject *run = _PyType_Lookup(Py_TYPE(thread), NAME[N_RUN])
    cdef PyObject *target
    if run == <PyObject *>thread_run:
        target = attribute(thread, N_TARGET)
    elif run == <PyObject *>timer_run:
        target = attribute(thread, N_FUNCTION)
    else:
        target = attribute(thread, N_RUN)
    if target != NULL and target != Py_None:
        promote(target)
    Py_XDECREF(target)


cdef PyObject *thread_starter(PyObject *function) noexcept:
    """A new reference to what is started in place of the function. Logs the fork."""
    cdef PyObject *thread = thread_object(function)
    cdef PyObject *name
    cdef Primitive *entry
    cdef Watched starter
    if thread != NULL:
        promote_target(thread)
        name = attribute(thread, N_NAME)
    else:
        promote(function)
        name = attribute(function, N_QUALNAME)
    starter = Watched.__new__(Watched)
    starter.function = <object>function
    starter.vectorcall = thread_main
    starter.number = new_thread(<object>name if name != NULL and PyUnicode_Check(name) else "thread")
    Py_XDECREF(name)
    if thread != NULL:
        entry = track(thread)
        if entry != NULL:
            entry.number = starter.number
            entry.has_ended = False
            if entry.is_asked:
                log_state(RAW_WRITE, thread, OF_THREAD)
    record(RAW_FORK, KEY_NONE, 0, 0, starter.number, current_site())
    Py_INCREF(<PyObject *>starter)
    return <PyObject *>starter


cdef PyObject *thread_main(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef PyObject *thread = thread_object(<PyObject *>(<Watched>watched).function)
    cdef PyObject *result
    cdef Primitive *entry
    set_current_thread((<Watched>watched).number)
    record(RAW_THREAD, KEY_NONE, 0, 0, 0, 0)
    result = call_original(watched, args, nargsf, kwnames)
    result = end_of_thread(result, <PyObject *>(<Watched>watched).function)
    record(RAW_EXIT, KEY_NONE, 0, 0, 0, 0)
    if thread != NULL:
        entry = find(thread)
        if entry != NULL and entry.number == (<Watched>watched).number:
            entry.has_ended = True
    return result


cdef PyObject *with_first(PyObject *args, PyObject *first) noexcept:
    """A copy of the arguments with another first one, whose reference it takes. NULL: an error is set."""
    cdef Py_ssize_t i
    cdef PyObject *changed = PyTuple_New(PyTuple_GET_SIZE(args))
    if changed == NULL:
        Py_DECREF(first)
        return NULL
    PyTuple_SET_ITEM(changed, 0, first)
    for i in range(1, PyTuple_GET_SIZE(args)):
        Py_INCREF(PyTuple_GET_ITEM(args, i))
        PyTuple_SET_ITEM(changed, i, PyTuple_GET_ITEM(args, i))
    return changed


cdef PyObject *start_new_thread(PyObject *module, PyObject *args) noexcept:
    cdef PyObject *changed
    cdef PyObject *result
    if not is_recording() or PyTuple_GET_SIZE(args) < 2 or not PyCallable_Check(PyTuple_GET_ITEM(args, 0)):
        return original_start(module, args)
    if not PyTuple_Check(PyTuple_GET_ITEM(args, 1)):
        return original_start(module, args)
    changed = with_first(args, thread_starter(PyTuple_GET_ITEM(args, 0)))
    if changed == NULL:
        return NULL
    result = original_start(module, changed)
    Py_DECREF(changed)
    return result


cdef PyObject *start_joinable_thread(PyObject *module, PyObject *args, PyObject *kwargs) noexcept:
    cdef PyObject *function = NULL
    cdef PyObject *starter
    cdef PyObject *changed
    cdef PyObject *result
    if PyTuple_GET_SIZE(args) > 0:
        function = PyTuple_GET_ITEM(args, 0)
    elif kwargs != NULL:
        function = PyDict_GetItemString(kwargs, b"function")
    if not is_recording() or function == NULL or not PyCallable_Check(function):
        return original_start_joinable(module, args, kwargs)
    starter = thread_starter(function)
    if PyTuple_GET_SIZE(args) > 0:
        changed = with_first(args, starter)
        result = NULL if changed == NULL else original_start_joinable(module, changed, kwargs)
    else:
        changed = PyDict_Copy(kwargs)
        if changed != NULL and PyDict_SetItemString(changed, b"function", starter) < 0:
            Py_DECREF(changed)
            changed = NULL
        Py_DECREF(starter)
        result = NULL if changed == NULL else original_start_joinable(module, args, changed)
    Py_XDECREF(changed)
    return result


cdef PyObject *thread_join(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    cdef Primitive *entry
    if result != NULL and count > 0 and is_recording():
        entry = find(args[0])
        if entry != NULL and entry.number:
            if entry.has_ended:
                record_after(RAW_JOIN, KEY_NONE, 0, 0, entry.number, current_site())
            elif not is_zero_timeout(argument(args, count, kwnames, 1, N_TIMEOUT)):
                log_ran_out(args[0], OF_THREAD)
    return result
