# Source that the program makes itself: texts that are given to `exec` and `eval`, and code that `compile` made of one
#
# A text is rewritten where it is run. Code stays as `compile` made it, for the program can do with it what it likes: look
# into it, compare it, marshal it. Only where recorded code gives it to `exec` or `eval`, other code runs in its place.

cdef extern from "Python.h":
    ctypedef struct PyCompilerFlags:
        int cf_flags
    int PyEval_MergeCompilerFlags(PyCompilerFlags *)
    int PyCF_MASK
    PyTypeObject PyCode_Type

cdef object dynamic = None
cdef object compiled = None
# By the address of code that `compile` made: a weak reference to it, the globals of the code that ran it last (their
# address), and what ran in its place.
cdef dict compiled_code = {}


cdef inline int inherited_flags() noexcept:
    """Those of the code that runs: its `from __future__` holds in a text that it compiles or runs."""
    cdef PyCompilerFlags flags
    flags.cf_flags = 0
    PyEval_MergeCompilerFlags(&flags)
    return flags.cf_flags & PyCF_MASK


cdef PyObject *source(PyObject *self, PyObject *text) noexcept:
    """What runs in place of a text, or of code: the same, if nothing is known of it."""
    cdef Probe *probe = <Probe *>self
    cdef PyObject *result
    cdef PyObject *namespace
    cdef bint is_interrupted
    if dynamic is None or not (PyUnicode_Check(text) or PyBytes_Check(text) or Py_TYPE(text) == &PyCode_Type):
        return new_ref(text)
    namespace = PyEval_GetGlobals()
    if namespace == NULL:
        return new_ref(text)
    if Py_TYPE(text) == &PyCode_Type:
        if not compiled_code:
            return new_ref(text)
        result = run_lately(text, namespace)
        if result != NULL:
            return new_ref(result)
    arguments = <object>text, <object>probe.name, <object>namespace, inherited_flags()
    result = _log.call_hidden(dynamic, arguments, &is_interrupted)
    if result == NULL:
        return new_ref(text)
    if Py_TYPE(text) == &PyCode_Type:
        remember_run(text, namespace, result)
    return result


cdef PyObject *run_lately(PyObject *code, PyObject *namespace) noexcept:
    """What ran in place of this code when it was run with these globals last, borrowed: a loop does so all the time. The
    code itself if it is none that `compile` made of a text; NULL: that has to be asked."""
    cdef PyObject *found
    try:
        known = compiled_code.get(<uintptr_t>code)
        if known is None:
            return code
        alive = (<tuple>known)[0]()
        if <PyObject *>alive != code:
            del compiled_code[<uintptr_t>code]  # of other code that has died since
            return code
        found = <PyObject *>(<tuple>known)[2]
        return found if found != Py_None and (<tuple>known)[1] == <uintptr_t>namespace else NULL
    except Exception:
        return code


cdef void remember_run(PyObject *code, PyObject *namespace, PyObject *instead) noexcept:
    try:
        known = compiled_code.get(<uintptr_t>code)
        if known is not None:
            compiled_code[<uintptr_t>code] = (<tuple>known)[0], <uintptr_t>namespace, <object>instead
    except Exception:
        pass


cdef PyObject *call_compile(PyObject *const *args, Py_ssize_t count, PyObject *names) noexcept:
    """`compile(text, ...)`: the call, and a note of what the code was made from."""
    cdef int inherited = inherited_flags()
    cdef PyObject *result = PyObject_Vectorcall(
        args[0], args + 1, (count - 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, names
    )
    cdef PyObject *noted
    cdef Py_ssize_t i
    cdef bint is_interrupted
    if result == NULL or compiled is None or Py_TYPE(result) != &PyCode_Type:
        return result
    try:
        given = [<object>args[i] for i in range(1, count)]
        named = {}
        for i in range(0 if names == NULL else PyTuple_GET_SIZE(names)):
            named[<object>PyTuple_GET_ITEM(names, i)] = <object>args[count + i]
        noted = _log.call_hidden(compiled, (<object>result, given, named, inherited), &is_interrupted)
        if noted != NULL and <object>noted is not None:
            compiled_code[<uintptr_t>result] = <object>noted, 0, None
        Py_XDECREF(noted)
    except Exception:
        pass
    return result


def set_dynamic(function, of_compile=None):
    """`function(text, mode, namespace, flags)` gives code for a text, or for code, that is about to be run; None: it stays
    what it is. `of_compile(code, arguments, keywords, flags)` is told what `compile` made, and gives a weak reference to
    the code if that is to be asked about."""
    global dynamic, compiled
    dynamic, compiled = function, of_compile
    compiled_code.clear()


def forget_compiled(addresses):
    """The code at these addresses is no more."""
    for address in addresses:
        compiled_code.pop(address, None)
