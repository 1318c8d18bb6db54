# Begins and ends of regions, sites of `with` and `await`, and source that is given to `exec`

cdef PyObject *at_site(PyObject *self, PyObject *obj) noexcept:
    """`with` and `await`: the primitive asks for the site."""
    if S.on:
        ready_after((<Probe *>self).site)
    return new_ref(obj)


cdef object awaited = None


cdef PyObject *at_await(PyObject *self, PyObject *obj) noexcept:
    cdef PyObject *saved[3]
    if S.on:
        ready_after((<Probe *>self).site)
        if awaited is not None:
            keep_error(saved)
            try:
                awaited(<object>obj)
            except Exception:
                pass
            restore_error(saved)
    return new_ref(obj)


cdef int begin(PyObject *self, PyObject *receiver, PyObject *nothing) noexcept:
    cdef Probe *probe = <Probe *>self
    cdef Thread *thread
    cdef uint64_t about = 0
    cdef uint32_t number = 0, flags = probe.flags, call
    if S.on:
        call = call_of(probe, &flags)
        if receiver != Py_None:
            if matches(&probe.found[0], Py_TYPE(receiver)):
                number = probe.found[0].number
            else:
                number = receiver_number(probe, receiver)
            about = <uint64_t>receiver if number else 0
        thread = ready(probe.site, 1)
        if thread != NULL:
            if about:
                mark_seen(S, about)
            put(S, about, call, RAW_WHAT(number, probe.begin_site), RAW_WORD(thread.number, RAW_BEGIN, 0, flags))
    return 0


cdef inline uint32_t call_of(Probe *probe, uint32_t *flags) noexcept:
    """The site of the call that begins a function, or 0. Sets a flag if it is called back. Other threads may run."""
    cdef uint32_t site
    cdef int is_callback
    if not probe.is_entry:
        return 0
    site = plain_call(probe)
    if site == CALL_UNKNOWN:
        site = find_call(&is_callback)
        if is_callback:
            flags[0] |= FLAG_CALLED_BACK
    return site


cdef object call_sites = None


cdef uint32_t ask_for_site(PyObject *caller, int instruction, uint32_t module) noexcept:
    cdef PyObject *result
    cdef uint32_t site
    if call_sites is None:
        return 0
    result = _log.call_hidden_again(call_sites, (<object>caller, instruction, module))
    if result == NULL:
        return 0
    site = <uint32_t>PyLong_AsSsize_t(result)
    Py_DECREF(result)
    return site or NO_CALL_SITE


cdef uint32_t site_here() noexcept:
    return find_site_here()


cdef object invokes = None


cdef int ask_session(PyObject *caller, int instruction, PyObject *called) noexcept:
    cdef PyObject *result
    cdef int answer
    if invokes is None:
        return -1
    result = _log.call_hidden_again(invokes, (<object>caller, instruction, <object>called))
    if result == NULL:
        return -1
    answer = result == Py_True
    Py_DECREF(result)
    return answer


cdef uint32_t receiver_number(Probe *probe, PyObject *receiver) noexcept:
    cdef PyTypeObject *type = Py_TYPE(receiver)
    cdef uint32_t number = _log.number_of_type(<PyObject *>type)
    cdef Found *found = &probe.found[0]
    _PyType_Lookup(type, <PyObject *>name_of_len)  # gives the type a version
    found.type = type
    found.number = number
    conclude(found, type)
    return number


cdef inline void log_region(Probe *probe, uint32_t op, uint32_t flags) noexcept:
    cdef Thread *thread
    cdef uint32_t call
    if S.on:
        call = call_of(probe, &flags) if op == RAW_BEGIN else 0
        thread = ready(probe.site, 1)
        if thread != NULL:
            put(S, 0, call, RAW_WHAT(0, probe.begin_site), RAW_WORD(thread.number, op, 0, flags))


cdef int end(PyObject *self, PyObject *key, PyObject *nothing) noexcept:
    log_region(<Probe *>self, RAW_END, 0)
    return 0


cdef PyObject *suspend(PyObject *self, PyObject *obj) noexcept:
    log_region(<Probe *>self, RAW_END, 0)
    return new_ref(obj)


cdef PyObject *resume(PyObject *self, PyObject *obj) noexcept:
    log_region(<Probe *>self, RAW_BEGIN, FLAG_RESUMED)
    return new_ref(obj)


cdef PyObject *span(PyObject *self, PyObject *obj) noexcept:
    cdef PyObject *made = new_span(<Probe *>self)
    if made != NULL:
        log_region(<Probe *>self, RAW_BEGIN, 0)
    return made


cdef void end_span(Probe *probe) noexcept:
    cdef Thread *thread
    if S.on:
        # An object is being freed: from the reserve, without waiting.
        thread = ready_after(probe.site)
        if thread != NULL:
            put(S, 0, 0, RAW_WHAT(0, probe.begin_site), RAW_WORD(thread.number, RAW_END, 0, 0))


cdef PyObject *drive(PyObject *self, PyObject *obj) noexcept:
    """The iterable of a loop; for a generator of recorded code, an iterator whose life is the region of the loop."""
    cdef Probe *probe = <Probe *>self
    cdef Thread *thread
    cdef Driven *made
    if not S.on or not is_driven(obj):
        return new_ref(obj)
    made = new_driven(probe, obj)
    if made != NULL:
        thread = ready(probe.site, 1)
        if thread != NULL:
            made.thread = thread.number
            put(S, 0, 0, RAW_WHAT(0, probe.begin_site), RAW_WORD(thread.number, RAW_BEGIN, 0, 0))
    return <PyObject *>made


cdef int drive_by_hand(PyObject *self, PyObject *obj, PyObject *nothing) noexcept:
    if S.on and is_driven(obj):
        log_region(<Probe *>self, RAW_BEGIN, 0)
    return 0


cdef void end_driven(Probe *probe, uint32_t number) noexcept:
    """A coroutine that is given up may be freed by any thread: then the region ends with what is around it."""
    cdef Thread *thread
    if S.on:
        thread = ready_after(probe.site)
        if thread != NULL and thread.number == number:
            put(S, 0, 0, RAW_WHAT(0, probe.begin_site), RAW_WORD(thread.number, RAW_END, 0, 0))


cdef object promoter = None


cdef PyObject *enter(PyObject *self, PyObject *function) noexcept:
    """What the entry function of a thread calls, if it does nothing else: that is one, too."""
    cdef bint is_interrupted
    if S.on and promoter is not None:
        Py_XDECREF(_log.call_hidden(promoter, (<object>function,), &is_interrupted))
    return new_ref(function)


cdef extern from "Python.h":
    ctypedef struct PyCompilerFlags:
        int cf_flags
    int PyEval_MergeCompilerFlags(PyCompilerFlags *)
    int PyCF_MASK


cdef object dynamic = None


cdef PyObject *source(PyObject *self, PyObject *text) noexcept:
    cdef Probe *probe = <Probe *>self
    cdef PyObject *result
    cdef PyObject *namespace
    cdef PyCompilerFlags flags
    cdef bint is_interrupted
    if dynamic is None or not (PyUnicode_Check(text) or PyBytes_Check(text)):
        return new_ref(text)
    namespace = PyEval_GetGlobals()
    if namespace == NULL:
        return new_ref(text)
    flags.cf_flags = 0
    PyEval_MergeCompilerFlags(&flags)  # `from __future__` of the code that runs the text holds in the text
    arguments = <object>text, <object>probe.name, <object>namespace, flags.cf_flags & PyCF_MASK
    result = _log.call_hidden(dynamic, arguments, &is_interrupted)
    return new_ref(text) if result == NULL else result
