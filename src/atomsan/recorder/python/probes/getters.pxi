# Getters: attrgetter, itemgetter and methodcaller of `operator`, which access objects without any code that has probes
#
# Those that recorded code makes log, wherever they are called (`map`, `sorted(key=...)`, a library): at the site in recorded
# code at which the thread stands.

cdef extern from *:
    """
    /* As the interpreter lays them out; `watch_getters` looks whether it does. */
    typedef struct { PyObject_HEAD Py_ssize_t count; PyObject *names; vectorcallfunc call; } AttrGetter;
    typedef struct { PyObject_HEAD Py_ssize_t count; PyObject *items; Py_ssize_t index; vectorcallfunc call; } ItemGetter;
    typedef struct { PyObject_HEAD PyObject *name; PyObject *args; } MethodCaller;
    typedef PyObject *(*NewGetter)(PyTypeObject *, PyObject *, PyObject *);
    typedef PyObject *(*CallGetter)(PyObject *, PyObject *, PyObject *);
    #define basic_size(type) ((type)->tp_basicsize)
    #define has_vectorcall(type) (((type)->tp_flags & Py_TPFLAGS_HAVE_VECTORCALL) != 0)
    """
    ctypedef struct AttrGetter:
        Py_ssize_t count
        PyObject *names
        vectorcallfunc call
    ctypedef struct ItemGetter:
        Py_ssize_t count
        PyObject *items
        vectorcallfunc call
    ctypedef struct MethodCaller:
        PyObject *name
        PyObject *args
    ctypedef PyObject *(*NewGetter)(PyTypeObject *, PyObject *, PyObject *) noexcept
    ctypedef PyObject *(*CallGetter)(PyObject *, PyObject *, PyObject *) noexcept
    Py_ssize_t basic_size(PyTypeObject *)
    bint has_vectorcall(PyTypeObject *)
    PyObject *PyTuple_New(Py_ssize_t)
    void PyTuple_SET_ITEM(PyObject *, Py_ssize_t, PyObject *)
    bint PyTuple_CheckExact(PyObject *)

cdef extern from "Python.h":
    ctypedef struct _Made "PyTypeObject":
        void *tp_new
        void *tp_call

cdef PyTypeObject *attrgetter_type = <PyTypeObject *>operator.attrgetter
cdef PyTypeObject *itemgetter_type = <PyTypeObject *>operator.itemgetter
cdef PyTypeObject *methodcaller_type = <PyTypeObject *>operator.methodcaller
cdef NewGetter original_attrgetter_new = NULL
cdef NewGetter original_itemgetter_new = NULL
cdef CallGetter original_methodcaller_call = NULL
cdef vectorcallfunc original_attrgetter_call = NULL
cdef vectorcallfunc original_itemgetter_call = NULL


cdef PyObject *attrgetter_new(PyTypeObject *kind, PyObject *args, PyObject *kwargs) noexcept:
    cdef PyObject *getter = original_attrgetter_new(kind, args, kwargs)
    if getter != NULL and S.on and is_recorded_here():
        (<AttrGetter *>getter).call = call_attrgetter
    return getter


cdef PyObject *itemgetter_new(PyTypeObject *kind, PyObject *args, PyObject *kwargs) noexcept:
    cdef PyObject *getter = original_itemgetter_new(kind, args, kwargs)
    if getter != NULL and S.on and is_recorded_here():
        (<ItemGetter *>getter).call = call_itemgetter
    return getter


cdef bint stand_at_site(Probe *probe) noexcept:
    """Makes a probe for one access, where the thread stands. False: nothing is recorded there."""
    memset(probe, 0, sizeof(Probe))
    probe.site = find_site_here()
    return probe.site != 0


cdef PyObject *call_attrgetter(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) noexcept:
    cdef AttrGetter *getter = <AttrGetter *>self
    cdef Probe probe
    cdef PyObject *result
    cdef PyObject *value
    cdef Py_ssize_t i
    if not S.on or PyVectorcall_NARGS(nargsf) != 1 or names != NULL or not stand_at_site(&probe):
        return original_attrgetter_call(self, args, nargsf, names)
    if getter.count == 1:
        return get_dotted(&probe, args[0], PyTuple_GET_ITEM(getter.names, 0))
    result = PyTuple_New(getter.count)
    for i in range(getter.count if result != NULL else 0):
        value = get_dotted(&probe, args[0], PyTuple_GET_ITEM(getter.names, i))
        if value == NULL:
            Py_DECREF(result)
            return NULL
        PyTuple_SET_ITEM(result, i, value)
    return result


cdef PyObject *get_dotted(Probe *probe, PyObject *obj, PyObject *name) noexcept:
    """An attribute by its name, or by a tuple of names an attribute of an attribute."""
    cdef PyObject *value = new_ref(obj)
    cdef PyObject *part
    cdef PyObject *inner
    cdef bint is_dotted = PyTuple_CheckExact(name)
    cdef Py_ssize_t i
    for i in range(PyTuple_GET_SIZE(name) if is_dotted else 1):
        part = PyTuple_GET_ITEM(name, i) if is_dotted else name
        if PyUnicode_CheckExact(part):
            log_attribute(probe, value, part, RAW_READ, False)
        inner = PyObject_GetAttr(value, part)
        Py_DECREF(value)
        value = inner
        if value == NULL:
            break
    return value


cdef PyObject *call_itemgetter(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) noexcept:
    cdef ItemGetter *getter = <ItemGetter *>self
    cdef Probe probe
    cdef PyObject *result
    cdef PyObject *value
    cdef Py_ssize_t i
    if not S.on or PyVectorcall_NARGS(nargsf) != 1 or names != NULL or not stand_at_site(&probe):
        return original_itemgetter_call(self, args, nargsf, names)
    if getter.count == 1:
        return get_item(&probe, args[0], getter.items)
    result = PyTuple_New(getter.count)
    for i in range(getter.count if result != NULL else 0):
        value = get_item(&probe, args[0], PyTuple_GET_ITEM(getter.items, i))
        if value == NULL:
            Py_DECREF(result)
            return NULL
        PyTuple_SET_ITEM(result, i, value)
    return result


cdef PyObject *call_methodcaller(PyObject *self, PyObject *args, PyObject *kwargs) noexcept:
    """Of a container; a method of the program's own has its probes."""
    cdef MethodCaller *caller = <MethodCaller *>self
    cdef PyObject *obj
    cdef Found *found
    cdef Probe probe
    if S.on and PyTuple_GET_SIZE(args) == 1 and is_recorded_here() and stand_at_site(&probe):
        obj = PyTuple_GET_ITEM(args, 0)
        found = container(&probe, obj, <object>caller.name)
        if found.mode == CONTAINER and (found.steps or found.absent) and found.shape != PLAIN:
            log_steps(
                &probe, obj, PyTuple_GET_ITEM(caller.args, 0) if PyTuple_GET_SIZE(caller.args) else NULL,
                found.shape, found.number, found.steps, found.absent,
            )
    return original_methodcaller_call(self, args, kwargs)


def watch_getters():
    """From now on, getters that recorded code makes log. One that this Python lays out otherwise is left alone."""
    global original_attrgetter_new, original_itemgetter_new, original_methodcaller_call
    global original_attrgetter_call, original_itemgetter_call
    cdef PyObject *sample
    if original_attrgetter_new != NULL:
        return
    names = operator.attrgetter("name")
    sample = <PyObject *>names
    if has_vectorcall(attrgetter_type) and basic_size(attrgetter_type) == sizeof(AttrGetter):
        if (<AttrGetter *>sample).count == 1 and PyTuple_CheckExact((<AttrGetter *>sample).names):
            original_attrgetter_call = (<AttrGetter *>sample).call
            original_attrgetter_new = <NewGetter>(<_Made *>attrgetter_type).tp_new
            (<_Made *>attrgetter_type).tp_new = <void *>attrgetter_new
    items = operator.itemgetter(None)
    sample = <PyObject *>items
    if has_vectorcall(itemgetter_type) and basic_size(itemgetter_type) == sizeof(ItemGetter):
        if (<ItemGetter *>sample).count == 1 and (<ItemGetter *>sample).items == Py_None:
            original_itemgetter_call = (<ItemGetter *>sample).call
            original_itemgetter_new = <NewGetter>(<_Made *>itemgetter_type).tp_new
            (<_Made *>itemgetter_type).tp_new = <void *>itemgetter_new
    caller = operator.methodcaller("name", None)
    sample = <PyObject *>caller
    if not has_vectorcall(methodcaller_type) and PyTuple_CheckExact((<MethodCaller *>sample).args):
        original_methodcaller_call = <CallGetter>(<_Made *>methodcaller_type).tp_call
        (<_Made *>methodcaller_type).tp_call = <void *>call_methodcaller


def unwatch_getters():
    """New ones are plain again; those that were made before log nothing while nothing is recorded."""
    global original_attrgetter_new, original_itemgetter_new, original_methodcaller_call
    if original_attrgetter_new != NULL:
        (<_Made *>attrgetter_type).tp_new = <void *>original_attrgetter_new
    if original_itemgetter_new != NULL:
        (<_Made *>itemgetter_type).tp_new = <void *>original_itemgetter_new
    if original_methodcaller_call != NULL:
        (<_Made *>methodcaller_type).tp_call = <void *>original_methodcaller_call
    original_attrgetter_new = original_itemgetter_new = NULL
    original_methodcaller_call = NULL
