# Watched: a Python function of the standard library with a hook around it, which passes for the function

@cython.final
cdef class Watched:
    """Stands in for a function: whatever is asked of it, its attributes, its repr, its type, the function answers."""

    cdef Hook vectorcall
    cdef object function
    cdef uint32_t number
    """Of the thread that it starts; 0 for the functions of classes and modules."""
    cdef object loop
    """Of a callback: the loop that it was given to."""
    cdef object __weakref__

    def __init__(self, function, str hook):
        self.function = function
        self.vectorcall = hook_named(hook)


def original(watched: Watched) -> object:
    return watched.function


def is_watched(value: object) -> bool:
    return type(value) is Watched


cdef PyObject *watched_get(PyObject *watched, PyObject *instance, PyObject *owner) noexcept:
    if instance == NULL or instance == Py_None:
        Py_INCREF(watched)
        return watched
    return PyMethod_New(watched, instance)


cdef PyObject *watched_reduce(PyObject *watched, PyObject *ignored) noexcept:
    """As functions do: by name."""
    return PyObject_GetAttr(<PyObject *>(<Watched>watched).function, NAME[N_QUALNAME])


cdef PyMethodDef reduce_definition
reduce_definition.ml_name = b"__reduce_ex__"
reduce_definition.ml_meth = <void *>watched_reduce
reduce_definition.ml_flags = METH_O
reduce_definition.ml_doc = NULL


cdef PyObject *watched_attribute(PyObject *watched, PyObject *name) noexcept:
    if PyUnicode_CompareWithASCIIString(name, b"__reduce_ex__") == 0:
        return PyCFunction_New(&reduce_definition, watched)
    return PyObject_GetAttr(<PyObject *>(<Watched>watched).function, name)


cdef int watched_set_attribute(PyObject *watched, PyObject *name, PyObject *value) noexcept:
    return PyObject_SetAttr(<PyObject *>(<Watched>watched).function, name, value)


cdef PyObject *watched_repr(PyObject *watched) noexcept:
    return PyObject_Repr(<PyObject *>(<Watched>watched).function)


cdef void prepare_watched():
    # By hand, because the slots that Cython makes add its own lines to tracebacks.
    cdef PyTypeObject *kind = <PyTypeObject *><PyObject *>Watched
    cdef Watched sample = Watched.__new__(Watched)
    kind.tp_vectorcall_offset = <char *>&sample.vectorcall - <char *><PyObject *>sample
    kind.tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR
    kind.tp_call = <void *>PyVectorcall_Call
    kind.tp_descr_get = <void *>watched_get
    kind.tp_getattro = <void *>watched_attribute
    kind.tp_setattro = <void *>watched_set_attribute
    kind.tp_repr = <void *>watched_repr
    PyType_Modified(kind)


prepare_watched()


cdef inline PyObject *call_original(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return PyObject_Vectorcall(<PyObject *>(<Watched>watched).function, args, nargsf, kwnames)


def set_in_type(owner: type, str name, value) -> None:
    """An attribute of a type in C, which Python code cannot set."""
    (<dict>(<object>(<PyTypeObject *><PyObject *>owner).tp_dict))[name] = value
    PyType_Modified(<PyTypeObject *><PyObject *>owner)
