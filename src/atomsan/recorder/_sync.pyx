"""What the threads, locks, queues, futures and tasks of the recorded program log.

The program must not see that it is watched, so nothing here runs in a Python frame, and nothing replaces a type:

- methods of C types and functions of C modules get another C function in their `PyMethodDef`. Bound methods that were
  made long before are watched too;
- plain Python functions of the standard library are replaced by a `Watched`, which calls them and passes for them;
- in coroutines and generators a `Marker` is put into the code itself (see `primitives.py`), because a wrapper around
  a coroutine would show.

Hooks are `noexcept` functions on `PyObject *` that return NULL with the error set: Cython adds no traceback to those.
Every hook does nothing but call the original when nothing is recorded, so that one left behind (a bound method kept by
the program) does no harm.

Who is watched. A primitive that the program's own code made, or uses directly though somebody else made it (before the
recording, say). Locks that the standard library makes for itself are how its primitives work, not what the program
means: they are not in the log, the primitives are.
"""

cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport strcmp

from atomsan.recorder._log cimport (
    called_from_instrumented_code, current_site, current_thread, define, is_instrumented_namespace, is_recording,
    log_after, log_free, log_record, name_number, namespaces, new_thread, pass_on,
    set_current_thread,
)
from atomsan.recorder._raw cimport *


cdef extern from "Python.h":
    ctypedef struct PyMethodDef:
        const char *ml_name
        void *ml_meth
        int ml_flags
        const char *ml_doc
    ctypedef struct PyMethodDescrObject:
        PyMethodDef *d_method
    ctypedef struct PyCFunctionObject:
        PyMethodDef *m_ml
        PyObject *m_self
    ctypedef struct PyMappingMethods:
        void *mp_subscript
    ctypedef struct PyTypeObject:
        const char *tp_name
        void *tp_dealloc
        void *tp_new
        void *tp_call
        void *tp_repr
        void *tp_getattro
        void *tp_setattro
        void *tp_descr_get
        PyMappingMethods *tp_as_mapping
        Py_ssize_t tp_vectorcall_offset
        unsigned long tp_flags

    int METH_VARARGS, METH_KEYWORDS, METH_NOARGS, METH_O, METH_FASTCALL, METH_METHOD
    unsigned long Py_TPFLAGS_HAVE_VECTORCALL, Py_TPFLAGS_METHOD_DESCRIPTOR
    PyTypeObject PyMethodDescr_Type, PyCFunction_Type, PyUnicode_Type
    PyObject *Py_None
    PyObject *Py_True
    PyObject *Py_False

    PyTypeObject *Py_TYPE(PyObject *o)
    void Py_INCREF "Py_INCREF"(PyObject *o)
    void Py_DECREF "Py_DECREF"(PyObject *o)
    void Py_XDECREF "Py_XDECREF"(PyObject *o)
    bint PyCallable_Check(PyObject *o)
    bint PyObject_TypeCheck(PyObject *o, PyTypeObject *type)
    bint PyMethod_Check(PyObject *o)
    bint PyCFunction_Check(PyObject *o)
    bint PyFunction_Check(PyObject *o)
    bint PyTuple_Check(PyObject *o)
    bint PyList_Check(PyObject *o)
    bint PyLong_Check(PyObject *o)
    bint PyFloat_Check(PyObject *o)
    bint PyUnicode_Check(PyObject *o)
    bint PyDict_Check(PyObject *o)
    PyObject *PyMethod_New(PyObject *function, PyObject *self)
    PyObject *PyMethod_GET_SELF(PyObject *method)
    PyObject *PyMethod_GET_FUNCTION(PyObject *method)
    PyObject *PyFunction_GetGlobals(PyObject *function)
    PyObject *PyCFunction_New(PyMethodDef *definition, PyObject *self)
    PyObject *PyVectorcall_Call(PyObject *callable, PyObject *args, PyObject *kwargs)
    Py_ssize_t PyVectorcall_NARGS(size_t nargsf)
    PyObject *PyObject_Vectorcall(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
    PyObject *PyObject_CallOneArg(PyObject *callable, PyObject *arg)
    PyObject *PyObject_CallNoArgs(PyObject *callable)
    PyObject *PyObject_GetAttr(PyObject *o, PyObject *name)
    int PyObject_SetAttr(PyObject *o, PyObject *name, PyObject *value)
    PyObject *PyObject_Repr(PyObject *o)
    PyObject *PyObject_GetIter(PyObject *o)
    PyObject *PyIter_Next(PyObject *iterator)
    int PyObject_IsTrue(PyObject *o)
    PyObject *_PyType_Lookup(PyTypeObject *type, PyObject *name)
    Py_ssize_t PyTuple_GET_SIZE(PyObject *o)
    PyObject *PyTuple_GET_ITEM(PyObject *o, Py_ssize_t i)
    void PyTuple_SET_ITEM(PyObject *o, Py_ssize_t i, PyObject *item)
    PyObject *PyTuple_New(Py_ssize_t size)
    Py_ssize_t PyList_GET_SIZE(PyObject *o)
    PyObject *PyList_GET_ITEM(PyObject *o, Py_ssize_t i)
    int PyDict_Next(PyObject *o, Py_ssize_t *position, PyObject **key, PyObject **value)
    PyObject *PyDict_GetItemString(PyObject *o, const char *key)
    PyObject *PyDict_Copy(PyObject *o)
    int PyDict_SetItemString(PyObject *o, const char *key, PyObject *value)
    long PyLong_AsLong(PyObject *o)
    double PyFloat_AS_DOUBLE(PyObject *o)
    int PyUnicode_CompareWithASCIIString(PyObject *o, const char *text)
    PyObject *PyEval_GetGlobals()
    PyObject *PyWeakref_NewRef(PyObject *o, PyObject *callback)
    PyObject *PyErr_Occurred()
    void PyErr_Clear()
    void PyErr_Fetch(PyObject **type, PyObject **value, PyObject **traceback)
    void PyErr_Restore(PyObject *type, PyObject *value, PyObject *traceback)
    void PyErr_NormalizeException(PyObject **type, PyObject **value, PyObject **traceback)
    void PyType_Modified(PyTypeObject *type)

ctypedef PyObject *(*KeywordsFunction)(PyObject *, PyObject *, PyObject *) noexcept
ctypedef PyObject *(*PlainFunction)(PyObject *, PyObject *) noexcept
ctypedef PyObject *(*FastFunction)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *) noexcept
ctypedef PyObject *(*ClassFunction)(PyObject *, PyTypeObject *, PyObject *const *, Py_ssize_t, PyObject *) noexcept
ctypedef PyObject *(*NewFunction)(PyTypeObject *, PyObject *, PyObject *) noexcept
ctypedef void (*Destructor)(PyObject *) noexcept
ctypedef PyObject *(*Hook)(PyObject *, PyObject *const *, size_t, PyObject *) noexcept

cdef extern from *:
    """
    /* What the OS thread is in the middle of. */
    static __thread PyObject *atomsan_entering;     /* the lock of the condition whose __enter__ runs */
    static __thread PyObject *atomsan_in_queue;     /* the queue whose _put or _get runs: an override calls its super's */
    static __thread PyObject *atomsan_sizing;       /* the queue whose empty, full or qsize runs */
    static __thread int atomsan_get_mode;           /* how the running get waits: GET_... */
    static __thread PyObject *atomsan_task;         /* the task whose step runs */
    static __thread int atomsan_in_callback;        /* a callback of asyncio itself runs, not a task's step */
    static __thread PyObject *atomsan_cause;        /* the future that callback was called for; NULL once it is logged */
    static __thread int atomsan_ordered;            /* something was taken in this callback */
    static __thread unsigned long atomsan_waits;    /* how often it has waited at a condition, whosoever */
    static __thread PyObject *atomsan_waker;        /* the future that woke the running step, if that took nothing */
    static __thread int atomsan_taken;              /* how many the last `done` marker took */

    /* What the interpreter does with an exception that nobody caught in a thread of `_thread`. Up to 3.12 it shows the
     * hook the function that was started, which would be our stand-in; from 3.13 on only its repr. */
    static PyObject *atomsan_end_of_thread(PyObject *result, PyObject *function) {
    #if PY_VERSION_HEX < 0x030D0000
        if (result == NULL) {
            if (PyErr_ExceptionMatches(PyExc_SystemExit)) PyErr_Clear();
            else _PyErr_WriteUnraisableMsg("in thread started by", function);
            result = Py_NewRef(Py_None);
        }
    #endif
        return result;
    }
    """
    PyObject *end_of_thread "atomsan_end_of_thread"(PyObject *result, PyObject *function)
    PyObject *entering "atomsan_entering"
    PyObject *in_queue "atomsan_in_queue"
    PyObject *sizing "atomsan_sizing"
    int get_mode "atomsan_get_mode"
    PyObject *running_task "atomsan_task"
    bint in_callback "atomsan_in_callback"
    PyObject *cause "atomsan_cause"
    bint ordered "atomsan_ordered"
    unsigned long waits "atomsan_waits"
    PyObject *empty_waker "atomsan_waker"
    int last_taken "atomsan_taken"

cdef enum:
    GET_ANY, GET_WAITING, GET_NO_WAIT

# What there is to do when a primitive becomes a watched one.
cdef enum:
    KIND_PLAIN, KIND_LOCK, KIND_CONDITION, KIND_SEMAPHORE, KIND_BARRIER, KIND_QUEUE, KIND_LOOP_LOCK, KIND_LOOP_CONDITION

cdef enum:
    STATE_UNKNOWN, STATE_PENDING, STATE_RUNNING, STATE_DONE


# ---------------------------------------------------------------------------------------------------------------------
# Logging, also where an error is set: the first record of a thread registers it, and that runs Python code.

cdef void record(uint8_t op, uint8_t key_kind, uint16_t flags, uint64_t obj, uint64_t key, uint32_t site) noexcept:
    cdef PyObject *kind
    cdef PyObject *value
    cdef PyObject *traceback
    if PyErr_Occurred() == NULL:
        log_record(op, key_kind, flags, obj, key, site)
        return
    PyErr_Fetch(&kind, &value, &traceback)
    log_record(op, key_kind, flags, obj, key, site)
    PyErr_Restore(kind, value, traceback)


cdef void record_after(uint8_t op, uint8_t key_kind, uint16_t flags, uint64_t obj, uint64_t key, uint32_t site) noexcept:
    cdef PyObject *kind
    cdef PyObject *value
    cdef PyObject *traceback
    if PyErr_Occurred() == NULL:
        log_after(op, key_kind, flags, obj, key, site)
        return
    PyErr_Fetch(&kind, &value, &traceback)
    log_after(op, key_kind, flags, obj, key, site)
    PyErr_Restore(kind, value, traceback)


cdef uint32_t thread_here() noexcept:
    cdef PyObject *kind
    cdef PyObject *value
    cdef PyObject *traceback
    cdef uint32_t number
    if PyErr_Occurred() == NULL:
        return current_thread()
    PyErr_Fetch(&kind, &value, &traceback)
    number = current_thread()
    PyErr_Restore(kind, value, traceback)
    return number


# ---------------------------------------------------------------------------------------------------------------------
# What is known of each primitive, by address. Entries leave when the object dies.

cdef struct Block:
    uint32_t thread
    uint32_t site
    Block *outer

cdef struct Primitive:
    uintptr_t address
    Primitive *next         # of the same bucket
    PyObject *ref           # a weak reference with `_forget` as its callback; NULL for objects of C types
    uintptr_t home          # the globals of the code that made it, or was the first that used it
    uintptr_t target        # of an entry that stands for a weak reference: the object it refers to
    Block *blocks           # the `with` blocks on this lock that are open or waiting for it
    uint32_t number         # of a thread or task
    uint32_t taker          # of a future or task that is done: the thread that saw it last. It need not be told twice
    uint32_t posted         # hand-overs to the loop of this callback that it has not taken yet
    int depth               # of a lock: acquires that are in the log and not released yet
    uint32_t told           # the trace in which it was said what it is called, or that this cannot be said
    uint8_t looks           # how often it was looked for
    uint8_t kind
    bint is_watched
    bint has_started, has_ended    # of a thread or task
    bint was_notified              # of a task: the wait it is in was notified

cdef Primitive **buckets = NULL
cdef size_t bucket_count = 0
cdef size_t primitive_count = 0


cdef inline size_t bucket_of(uintptr_t address) noexcept:
    return ((address >> 4) * <size_t>0x9E3779B97F4A7C15) >> 20 & (bucket_count - 1)


cdef inline Primitive *find(void *address) noexcept:
    cdef Primitive *entry
    if primitive_count == 0:
        return NULL
    entry = buckets[bucket_of(<uintptr_t>address)]
    while entry != NULL and entry.address != <uintptr_t>address:
        entry = entry.next
    return entry


cdef void grow() noexcept:
    global buckets, bucket_count
    cdef size_t old_count = bucket_count, i
    cdef Primitive **old = buckets
    cdef Primitive *entry
    cdef Primitive *following
    cdef Primitive **larger = <Primitive **>calloc(max(old_count * 2, <size_t>1024), sizeof(Primitive *))
    if larger == NULL:
        return
    buckets = larger
    bucket_count = max(old_count * 2, <size_t>1024)
    for i in range(old_count):
        entry = old[i]
        while entry != NULL:
            following = entry.next
            entry.next = buckets[bucket_of(entry.address)]
            buckets[bucket_of(entry.address)] = entry
            entry = following
    free(old)


cdef Primitive *add(void *address) noexcept:
    """The entry of this address, new if need be; NULL when memory is short: then it is not watched."""
    global primitive_count
    cdef Primitive *entry = find(address)
    if entry != NULL:
        return entry
    if primitive_count >= bucket_count:
        grow()
    if bucket_count == 0:
        return NULL
    entry = <Primitive *>calloc(1, sizeof(Primitive))
    if entry == NULL:
        return NULL
    entry.address = <uintptr_t>address
    entry.next = buckets[bucket_of(entry.address)]
    buckets[bucket_of(entry.address)] = entry
    primitive_count += 1
    return entry


cdef PyObject *drop(void *address) noexcept:
    """Forgets the entry; returns its weak reference, to be released by the caller once nothing is half done."""
    global primitive_count
    cdef Primitive **place
    cdef Primitive *entry
    cdef Block *block
    cdef PyObject *ref
    if primitive_count == 0:
        return NULL
    place = &buckets[bucket_of(<uintptr_t>address)]
    while place[0] != NULL and place[0].address != <uintptr_t>address:
        place = &place[0].next
    entry = place[0]
    if entry == NULL:
        return NULL
    place[0] = entry.next
    primitive_count -= 1
    while entry.blocks != NULL:
        block = entry.blocks
        entry.blocks = block.outer
        free(block)
    ref = entry.ref
    free(entry)
    return ref


cdef void died(void *address) noexcept:
    """An object of a C type that is being deallocated."""
    if primitive_count and find(address) != NULL:
        drop(address)
        log_free(<uintptr_t>address)


cdef PyObject *forget(PyObject *unused, PyObject *ref) noexcept:
    """The callback of the weak references: called before the object's memory is given back."""
    cdef Primitive *entry = find(ref)
    cdef uintptr_t target
    if entry != NULL:
        target = entry.target
        drop(ref)
        log_free(target)
        Py_XDECREF(drop(<void *>target))
    Py_INCREF(Py_None)
    return Py_None


cdef PyMethodDef forget_definition
forget_definition.ml_name = b"forget"
forget_definition.ml_meth = <void *>forget
forget_definition.ml_flags = METH_O
forget_definition.ml_doc = NULL
cdef PyObject *forget_callback = PyCFunction_New(&forget_definition, NULL)


cdef Primitive *track(PyObject *primitive) noexcept:
    """The entry of an object, new if need be: it leaves the table, and RAW_FREE is logged, when the object dies."""
    cdef Primitive *entry = find(primitive)
    cdef PyObject *ref
    if entry != NULL and entry.ref != NULL:
        return entry
    # First the reference: making it can start a garbage collection, in which entries leave.
    ref = PyWeakref_NewRef(primitive, forget_callback)
    if ref == NULL:
        PyErr_Clear()
        return add(primitive)
    entry = add(ref)
    if entry != NULL:
        entry.target = <uintptr_t>primitive
    entry = add(primitive)
    if entry == NULL:
        drop(ref)
        Py_DECREF(ref)
    else:
        entry.ref = ref
    return entry


def forget_all() -> None:
    """Nothing is watched any more, and nothing that a watched primitive did counts for the next recording."""
    cdef size_t i
    cdef list references = []
    cdef PyObject *ref
    for i in range(bucket_count):
        while buckets[i] != NULL:
            ref = drop(<void *>buckets[i].address)
            if ref != NULL:
                references.append(<object>ref)
                Py_DECREF(ref)
    # They die here, with their callbacks, when the table knows them no more.
    references.clear()


# ---------------------------------------------------------------------------------------------------------------------
# Attributes and arguments, without running the program's code

cdef tuple NAMES = (
    "_lock", "_value", "_parties", "_state", "future", "_name", "_target", "function", "run", "func", "_loop", "_callback",
    "_args", "_children", "_locked", "__name__", "get_name", "_put", "_bootstrap", "_initial_value", "__qualname__",
    "__self__", "block", "item", "n", "fn", "callback", "_unfinished_tasks", "timeout",
)
cdef PyObject *NAME[29]
cdef enum:
    N_LOCK, N_VALUE, N_PARTIES, N_STATE, N_FUTURE, N_NAME, N_TARGET, N_FUNCTION, N_RUN, N_FUNC, N_LOOP, N_CALLBACK
    N_ARGS, N_CHILDREN, N_LOCKED, N_DUNDER_NAME, N_GET_NAME, N_PUT, N_BOOTSTRAP, N_INITIAL_VALUE, N_QUALNAME
    N_SELF, N_BLOCK, N_ITEM, N_N, N_FN, N_CALLBACK_ARGUMENT, N_UNFINISHED, N_TIMEOUT
cdef int _name_index
for _name_index in range(29):
    NAME[_name_index] = <PyObject *>NAMES[_name_index]


cdef PyObject *attribute(PyObject *obj, int name) noexcept:
    """A new reference, or NULL with no error set; an error that is set already stays."""
    cdef PyObject *kind
    cdef PyObject *value
    cdef PyObject *traceback
    cdef PyObject *result
    PyErr_Fetch(&kind, &value, &traceback)
    result = PyObject_GetAttr(obj, NAME[name])
    if result == NULL:
        PyErr_Clear()
    PyErr_Restore(kind, value, traceback)
    return result


cdef long number_attribute(PyObject *obj, int name, long otherwise) noexcept:
    cdef PyObject *value = attribute(obj, name)
    cdef long result = otherwise
    if value == NULL:
        return otherwise
    if PyLong_Check(value):
        result = PyLong_AsLong(value)
        if result == -1 and PyErr_Occurred():
            PyErr_Clear()
    Py_DECREF(value)
    return result


cdef int state_of(PyObject *future) noexcept:
    """Of a future or task, of concurrent.futures or asyncio."""
    cdef PyObject *state = attribute(future, N_STATE)
    cdef int result = STATE_UNKNOWN
    if state == NULL:
        return result
    if PyUnicode_Check(state):
        if PyUnicode_CompareWithASCIIString(state, b"PENDING") == 0:
            result = STATE_PENDING
        elif PyUnicode_CompareWithASCIIString(state, b"RUNNING") == 0:
            result = STATE_RUNNING
        else:
            result = STATE_DONE
    Py_DECREF(state)
    return result


cdef PyObject *argument(PyObject *const *args, Py_ssize_t count, PyObject *kwnames, Py_ssize_t place, int name) noexcept:
    """A borrowed reference to an argument by its place or its name; NULL: it is not there."""
    cdef Py_ssize_t i
    if place < count:
        return args[place]
    if kwnames != NULL:
        for i in range(PyTuple_GET_SIZE(kwnames)):
            if (<object>PyTuple_GET_ITEM(kwnames, i)) is (<object>NAME[name]):
                return args[count + i]
    return NULL


cdef inline bint is_false(PyObject *flag) noexcept:
    """Of the `block` of a get: only what has no truth test of its own is looked at."""
    return flag == Py_False or (flag != NULL and PyLong_Check(flag) and PyLong_AsLong(flag) == 0)


cdef bint is_no_time(PyObject *timeout) noexcept:
    """Whether who gives this `timeout` does not wait at all; None, or nothing: until it is there."""
    cdef double seconds
    if timeout == NULL:
        return False
    if PyFloat_Check(timeout):
        return PyFloat_AS_DOUBLE(timeout) <= 0
    if not PyLong_Check(timeout):
        return False
    seconds = PyLong_AsLong(timeout)
    if seconds == -1 and PyErr_Occurred():
        PyErr_Clear()
        return False
    return seconds <= 0


# ---------------------------------------------------------------------------------------------------------------------
# Replacing and putting back the functions of C types and modules

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
    global original_future_cancel
    cdef int fast = METH_FASTCALL | METH_KEYWORDS
    cdef int of_class = METH_METHOD | METH_FASTCALL | METH_KEYWORDS
    cdef void *function
    original_future_result = <PlainFunction>method_of(future, "result")
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


# ---------------------------------------------------------------------------------------------------------------------
# What the program calls them. Of an attribute the reader of the log knows, because the code that uses it reads it; of a
# global that no function writes nothing is in the log.

cdef uint32_t trace_number = 1

cdef enum:
    MOST_LOOKS = 2         # it may get its name after it was first used
    MOST_GLOBALS = 2000    # of a module, that are looked at


def name_again() -> None:
    """What is recorded from now on is another trace: names are said again."""
    global trace_number
    trace_number += 1


cdef PyObject *global_name(PyObject *namespace, PyObject *value) noexcept:
    """The global variable that has this value (borrowed), or NULL."""
    cdef Py_ssize_t position = 0, count = 0
    cdef PyObject *key
    cdef PyObject *found
    while count < MOST_GLOBALS and PyDict_Next(namespace, &position, &key, &found):
        if found == value and Py_TYPE(key) == &PyUnicode_Type:
            return key
        count += 1
    return NULL


cdef PyObject *named_somewhere(PyObject *value, PyObject **name) noexcept:
    """The namespace of the first module that has a global variable of this value."""
    cdef uintptr_t address
    for key in namespaces:
        address = key
        if is_instrumented_namespace(<PyObject *>address):
            name[0] = global_name(<PyObject *>address, value)
            if name[0] != NULL:
                return <PyObject *>address
    return NULL


cdef void tell_name(Primitive *entry, PyObject *primitive) noexcept:
    """Where the log says nothing of it, say what a primitive is called: once for each of them."""
    cdef PyObject *namespace = <PyObject *>entry.home
    cdef PyObject *name = NULL
    cdef PyObject *inner
    cdef PyObject *error[3]
    cdef int kind = entry.kind
    cdef uint32_t number = 0
    entry.looks += 1
    if entry.looks >= MOST_LOOKS:
        entry.told, entry.looks = trace_number, 0
    if is_instrumented_namespace(namespace):
        name = global_name(namespace, primitive)
    else:
        # made by somebody else, or before the recording
        namespace = named_somewhere(primitive, &name)
    if name == NULL:
        namespace = PyEval_GetGlobals()
        if namespace == <PyObject *>entry.home or not is_instrumented_namespace(namespace):
            return
        name = global_name(namespace, primitive)
        if name == NULL:
            return
    entry.told, entry.looks = trace_number, 0
    PyErr_Fetch(&error[0], &error[1], &error[2])
    try:
        number = name_number(<object>name)
    except Exception:
        pass
    if number:
        log_record(RAW_CALLED, KEY_NONE, 0, <uintptr_t>primitive, <uintptr_t>namespace, number)
        if kind == KIND_CONDITION or kind == KIND_LOOP_CONDITION:
            # who enters the condition has its lock
            inner = attribute(primitive, N_LOCK)
            if inner != NULL:
                log_record(RAW_CALLED, KEY_NONE, 0, <uintptr_t>inner, <uintptr_t>namespace, number)
                Py_DECREF(inner)
    PyErr_Restore(error[0], error[1], error[2])


# ---------------------------------------------------------------------------------------------------------------------
# _thread.lock and _thread.RLock

cdef bint is_watched_lock(PyObject *lock) noexcept:
    """Asked before anything is logged of a lock; one that the program's code uses directly is watched from now on."""
    cdef Primitive *entry
    if not is_recording():
        return False
    entry = find(lock)
    if entry == NULL and called_from_instrumented_code():
        watch(lock)
        entry = find(lock)
    if entry == NULL or not entry.is_watched:
        return False
    if entry.told != trace_number:
        tell_name(entry, lock)
    return True


cdef void watch_new(PyObject *primitive) noexcept:
    """A lock or simple queue was made."""
    if primitive != NULL and is_recording() and called_from_instrumented_code():
        watch(primitive)
        record(RAW_MADE, KEY_NONE, 0, <uintptr_t>primitive, 0, 0)


cdef void watch(PyObject *primitive) noexcept:
    cdef Primitive *entry = add(primitive)
    if entry != NULL:
        entry.kind = KIND_LOCK
        entry.is_watched = True
        entry.home = <uintptr_t>PyEval_GetGlobals()


cdef bint is_lock(PyObject *obj) noexcept:
    return lock_type != NULL and (Py_TYPE(obj) == lock_type or PyObject_TypeCheck(obj, rlock_type))


cdef bint is_held(PyObject *lock) noexcept:
    """Whether the running thread may release it."""
    cdef PyObject *answer
    if Py_TYPE(lock) == lock_type:
        answer = original_locked(lock, NULL)
    elif PyObject_TypeCheck(lock, rlock_type):
        answer = original_is_owned(lock, NULL)
    else:
        return True
    Py_XDECREF(answer)
    return answer == Py_True


cdef void log_acquired(PyObject *lock, int count) noexcept:
    cdef Primitive *entry = find(lock)
    if entry == NULL:
        return
    entry.depth += count
    record_after(RAW_ACQUIRE, KEY_NONE, 0, <uintptr_t>lock, count, current_site())


cdef void log_released(PyObject *lock, int how_many) noexcept:
    """Before a release that cannot fail. `how_many` is 0 for all of them."""
    cdef Primitive *entry = find(lock)
    cdef PyObject *count
    if entry == NULL:
        return
    if entry.depth <= 0:
        entry.depth = 1
        if rlock_type != NULL and PyObject_TypeCheck(lock, rlock_type):
            count = original_recursion_count(lock, NULL)
            if count != NULL:
                entry.depth = PyLong_AsLong(count)
                Py_DECREF(count)
        record(RAW_HELD, KEY_NONE, 0, <uintptr_t>lock, entry.depth, 0)
        entry = find(lock)
        if entry == NULL:
            return
    entry.depth = 0 if how_many == 0 else entry.depth - how_many
    record(RAW_RELEASE, KEY_NONE, 0, <uintptr_t>lock, how_many, current_site())


cdef bint log_block(PyObject *lock) noexcept:
    """Before a `with` statement of the program acquires: the site is remembered for the end of the block."""
    cdef Primitive *entry = find(lock)
    cdef Block *block
    cdef uint32_t site = current_site()
    if site == 0 or entry == NULL or not (entering == lock or called_from_instrumented_code()):
        return False
    block = <Block *>calloc(1, sizeof(Block))
    if block == NULL:
        return False
    block.thread = thread_here()
    block.site = site
    block.outer = entry.blocks
    entry.blocks = block
    record(RAW_BLOCK, KEY_NONE, 0, <uintptr_t>lock, 0, site)
    return True


cdef void log_block_end(PyObject *lock) noexcept:
    cdef Primitive *entry = find(lock)
    cdef Block **place
    cdef Block *block
    cdef uint32_t thread, site
    if entry == NULL or entry.blocks == NULL:
        return
    thread = thread_here()
    place = &entry.blocks
    while place[0] != NULL and place[0].thread != thread:
        place = &place[0].outer
    block = place[0]
    if block == NULL:
        return
    site = block.site
    place[0] = block.outer
    free(block)
    record_after(RAW_BLOCK_END, KEY_NONE, 0, <uintptr_t>lock, 0, site)


cdef PyObject *acquire_with(PyObject *lock, PyObject *args, PyObject *kwargs, KeywordsFunction original) noexcept:
    cdef bint watched = is_watched_lock(lock)
    cdef PyObject *result = original(lock, args, kwargs)
    if watched and result == Py_True:
        log_acquired(lock, 1)
    return result


cdef PyObject *enter_with(PyObject *lock, PyObject *args, PyObject *kwargs, KeywordsFunction original) noexcept:
    cdef bint watched = is_watched_lock(lock)
    cdef bint has_block = watched and log_block(lock)
    cdef PyObject *result = original(lock, args, kwargs)
    if watched and result == Py_True:
        log_acquired(lock, 1)
    elif has_block:
        log_block_end(lock)
    return result


cdef PyObject *release_with(PyObject *lock, PyObject *ignored, PlainFunction original) noexcept:
    if is_watched_lock(lock) and is_held(lock):
        log_released(lock, 1)
    return original(lock, ignored)


cdef PyObject *exit_with(PyObject *lock, PyObject *args, PlainFunction original) noexcept:
    cdef bint watched = is_watched_lock(lock) and is_held(lock)
    cdef PyObject *result
    if watched:
        log_released(lock, 1)
    result = original(lock, args)
    if watched:
        log_block_end(lock)
    return result


cdef PyObject *lock_acquire(PyObject *lock, PyObject *args, PyObject *kwargs) noexcept:
    return acquire_with(lock, args, kwargs, original_acquire)


cdef PyObject *lock_enter(PyObject *lock, PyObject *args, PyObject *kwargs) noexcept:
    return enter_with(lock, args, kwargs, original_acquire)


cdef PyObject *lock_release(PyObject *lock, PyObject *ignored) noexcept:
    return release_with(lock, ignored, original_release)


cdef PyObject *lock_exit(PyObject *lock, PyObject *args) noexcept:
    return exit_with(lock, args, original_exit)


cdef PyObject *rlock_acquire(PyObject *lock, PyObject *args, PyObject *kwargs) noexcept:
    return acquire_with(lock, args, kwargs, original_rlock_acquire)


cdef PyObject *rlock_enter(PyObject *lock, PyObject *args, PyObject *kwargs) noexcept:
    return enter_with(lock, args, kwargs, original_rlock_acquire)


cdef PyObject *rlock_release(PyObject *lock, PyObject *ignored) noexcept:
    return release_with(lock, ignored, original_rlock_release)


cdef PyObject *rlock_exit(PyObject *lock, PyObject *args) noexcept:
    return exit_with(lock, args, original_rlock_exit)


cdef PyObject *rlock_release_save(PyObject *lock, PyObject *ignored) noexcept:
    if is_watched_lock(lock) and is_held(lock):
        log_released(lock, 0)
    return original_release_save(lock, ignored)


cdef PyObject *rlock_acquire_restore(PyObject *lock, PyObject *args) noexcept:
    cdef bint watched = is_watched_lock(lock)
    cdef PyObject *state
    cdef PyObject *result = original_acquire_restore(lock, args)
    if watched and result != NULL:
        # The original has parsed them: args is ((count, owner),).
        state = PyTuple_GET_ITEM(args, 0)
        log_acquired(lock, PyLong_AsLong(PyTuple_GET_ITEM(state, 0)))
    return result


cdef PyObject *allocate_lock(PyObject *module, PyObject *ignored) noexcept:
    cdef PyObject *lock = original_allocate(module, ignored)
    watch_new(lock)
    return lock


cdef PyObject *lock_new(PyTypeObject *kind, PyObject *args, PyObject *kwargs) noexcept:
    cdef PyObject *lock = original_lock_new(kind, args, kwargs)
    watch_new(lock)
    return lock


cdef PyObject *rlock_new(PyTypeObject *kind, PyObject *args, PyObject *kwargs) noexcept:
    cdef PyObject *lock = original_rlock_new(kind, args, kwargs)
    watch_new(lock)
    return lock


cdef void lock_dealloc(PyObject *lock) noexcept:
    died(lock)
    original_lock_dealloc(lock)


cdef void rlock_dealloc(PyObject *lock) noexcept:
    died(lock)
    original_rlock_dealloc(lock)


# ---------------------------------------------------------------------------------------------------------------------
# Watched: a Python function of the standard library, with a hook around it

@cython.final
cdef class Watched:
    """Stands in for a function: whatever is asked of it, its attributes, its repr, its type, the function answers."""

    cdef Hook vectorcall
    cdef object function
    cdef uint32_t number
    """Of the thread that it starts; 0 for the functions of classes and modules."""
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


cdef extern from "Python.h":
    ctypedef struct PyThreadState
    PyThreadState *PyThreadState_Get()
    void PyThreadState_EnterTracing(PyThreadState *)
    void PyThreadState_LeaveTracing(PyThreadState *)


cdef object queue_adopter = None


def set_queue_adopter(adopter) -> None:
    """`adopter(type)` replaces the `_put` and `_get` that a class of the program has of its own."""
    global queue_adopter
    queue_adopter = adopter


cdef PyObject *call_unseen(PyObject *function, PyObject *argument) noexcept:
    """Call a function of ours: a debugger is to see none of our frames."""
    cdef PyThreadState *state = PyThreadState_Get()
    cdef PyObject *result
    PyThreadState_EnterTracing(state)
    result = PyObject_CallOneArg(function, argument)
    PyThreadState_LeaveTracing(state)
    return result


cdef void pass_error_on(PyObject *function) noexcept:
    """An error of a function of ours that is set is forgotten, unless it is the program's."""
    cdef PyObject *error[3]
    PyErr_Fetch(&error[0], &error[1], &error[2])
    PyErr_NormalizeException(&error[0], &error[1], &error[2])
    if error[1] != NULL:
        try:
            if error[2] != NULL:
                (<object>error[1]).__traceback__ = <object>error[2]
            pass_on(<object>error[1], <object>function)
        except BaseException:
            pass
    Py_XDECREF(error[0])
    Py_XDECREF(error[1])
    Py_XDECREF(error[2])


cdef void adopt_queue(PyObject *queue) noexcept:
    cdef PyObject *method = _PyType_Lookup(Py_TYPE(queue), NAME[N_PUT])
    cdef PyObject *result
    if method == NULL or Py_TYPE(method) == <PyTypeObject *><PyObject *>Watched or queue_adopter is None:
        return
    result = call_unseen(<PyObject *>queue_adopter, <PyObject *>Py_TYPE(queue))
    if result == NULL:
        pass_error_on(<PyObject *>queue_adopter)
    Py_XDECREF(result)


cdef Primitive *adopt(PyObject *primitive, int kind) noexcept:
    """From now on this one is watched."""
    cdef Primitive *entry
    cdef PyObject *lock
    cdef uintptr_t address = <uintptr_t>primitive
    if kind == KIND_QUEUE:
        adopt_queue(primitive)
    entry = track(primitive)
    if entry == NULL:
        return NULL
    entry.kind = kind
    entry.is_watched = True
    entry.home = <uintptr_t>PyEval_GetGlobals()
    if kind == KIND_CONDITION:
        lock = attribute(primitive, N_LOCK)
        if lock != NULL:
            if is_lock(lock):
                watch(lock)
            Py_DECREF(lock)
    elif kind == KIND_SEMAPHORE:
        record(RAW_SEMAPHORE, KEY_NONE, 0, address, number_attribute(primitive, N_VALUE, 1), 0)
    elif kind == KIND_BARRIER:
        record(RAW_BARRIER, KEY_NONE, 0, address, number_attribute(primitive, N_PARTIES, 1), 0)
    elif kind == KIND_LOOP_CONDITION:
        lock = attribute(primitive, N_LOCK)
        if lock != NULL:
            entry = track(lock)
            if entry != NULL:
                entry.kind = KIND_LOOP_LOCK
                entry.is_watched = True
            Py_DECREF(lock)
    return find(primitive)


cdef bint is_watched_object(PyObject *primitive, int kind) noexcept:
    """Asked before anything is logged of an object; one that the program's code uses directly is watched from now on."""
    cdef Primitive *entry
    if not is_recording():
        return False
    entry = find(primitive)
    if entry == NULL and called_from_instrumented_code():
        entry = adopt(primitive, kind)
    if entry == NULL or not entry.is_watched:
        return False
    if entry.told != trace_number:
        tell_name(entry, primitive)
    return True


cdef PyObject *made(
    PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames, int kind
) noexcept:
    """Around the `__init__` of a primitive."""
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    if result != NULL and PyVectorcall_NARGS(nargsf) > 0 and is_recording() and called_from_instrumented_code():
        adopt(args[0], kind)
        record(RAW_MADE, KEY_NONE, 0, <uintptr_t>args[0], 0, 0)
    return result


cdef PyObject *init_plain(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return made(watched, args, nargsf, kwnames, KIND_PLAIN)


cdef PyObject *init_condition(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return made(watched, args, nargsf, kwnames, KIND_CONDITION)


cdef PyObject *init_semaphore(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return made(watched, args, nargsf, kwnames, KIND_SEMAPHORE)


cdef PyObject *init_barrier(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return made(watched, args, nargsf, kwnames, KIND_BARRIER)


cdef PyObject *init_queue(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return made(watched, args, nargsf, kwnames, KIND_QUEUE)


cdef PyObject *make_rlock(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """`threading.RLock` is a function: the program calls it, and it makes the lock."""
    cdef PyObject *lock = call_original(watched, args, nargsf, kwnames)
    if lock != NULL and is_lock(lock):
        watch_new(lock)
    return lock


# ---------------------------------------------------------------------------------------------------------------------
# threading.Condition, Event, Semaphore, Barrier

cdef void log_post(PyObject *primitive) noexcept:
    record(RAW_POST, HAND_PLAIN, 0, <uintptr_t>primitive, 0, current_site())


cdef void log_take(PyObject *primitive) noexcept:
    record_after(RAW_TAKE, HAND_PLAIN, 0, <uintptr_t>primitive, 0, current_site())


# A wait that has ended without what it waited for is logged where it has waited indeed: most primitives are made of
# conditions, so that `waits` is another number then. A call that was told not to wait, or that did not need to, is no
# wait, whatever came of it.

cdef void log_ran_out(PyObject *primitive, int of) noexcept:
    record_after(RAW_TAKE, HAND_NOTHING, 0, <uintptr_t>primitive, of, current_site())


cdef PyObject *condition_enter(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    global entering
    cdef PyObject *outer = entering
    cdef PyObject *lock = NULL
    cdef PyObject *result
    if PyVectorcall_NARGS(nargsf) > 0 and is_recording() and called_from_instrumented_code():
        is_watched_object(args[0], KIND_CONDITION)
        lock = attribute(args[0], N_LOCK)
    entering = lock
    result = call_original(watched, args, nargsf, kwnames)
    entering = outer
    Py_XDECREF(lock)
    return result


cdef PyObject *condition_wait(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    global waits
    cdef PyObject *lock
    cdef PyObject *result
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    if not is_no_time(argument(args, count, kwnames, 1, N_TIMEOUT)):
        waits += 1
    if count == 0 or not is_watched_object(args[0], KIND_CONDITION):
        return call_original(watched, args, nargsf, kwnames)
    lock = attribute(args[0], N_LOCK)
    if lock == NULL or not is_held(lock):
        Py_XDECREF(lock)
        return call_original(watched, args, nargsf, kwnames)
    record(RAW_WAIT, KEY_NONE, 0, <uintptr_t>args[0], <uintptr_t>lock, current_site())
    result = call_original(watched, args, nargsf, kwnames)
    record_after(RAW_WOKEN, KEY_NONE, 0, <uintptr_t>args[0], result == Py_True, current_site())
    Py_DECREF(lock)
    return result


cdef PyObject *condition_notify(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    # notify_all comes here too, through notify.
    cdef PyObject *lock
    if PyVectorcall_NARGS(nargsf) > 0 and is_watched_object(args[0], KIND_CONDITION):
        lock = attribute(args[0], N_LOCK)
        if lock != NULL:
            if is_held(lock):
                log_post(args[0])
            Py_DECREF(lock)
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *post_before(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """Event.set"""
    if PyVectorcall_NARGS(nargsf) > 0 and is_watched_object(args[0], KIND_PLAIN):
        log_post(args[0])
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *take_if_true(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """Event.wait. `is_set` logs nothing: a flag that is polled (`while not stop.is_set()`) is not waited for, and
    taking it would order everything the poller does next after the one who set it, as if it had waited."""
    cdef bint watch_it = PyVectorcall_NARGS(nargsf) > 0 and is_watched_object(args[0], KIND_PLAIN)
    cdef unsigned long before = waits
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    if watch_it and result == Py_True:
        log_take(args[0])
    elif watch_it and waits != before:
        log_ran_out(args[0], OF_EVENT)
    return result


cdef PyObject *semaphore_acquire(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef bint watch_it = PyVectorcall_NARGS(nargsf) > 0 and is_watched_object(args[0], KIND_SEMAPHORE)
    cdef unsigned long before = waits
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    if watch_it and result == Py_True:
        record_after(RAW_TAKE, HAND_PERMIT, 0, <uintptr_t>args[0], 0, current_site())
    elif watch_it and waits != before:
        log_ran_out(args[0], OF_SEMAPHORE)
    return result


cdef PyObject *semaphore_release(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    cdef PyObject *how_many
    cdef long n = 1, bound
    if count > 0 and is_watched_object(args[0], KIND_SEMAPHORE):
        how_many = argument(args, count, kwnames, 1, N_N)
        if how_many != NULL:
            n = PyLong_AsLong(how_many) if PyLong_Check(how_many) else 0
            if n == -1 and PyErr_Occurred():
                PyErr_Clear()
        bound = number_attribute(args[0], N_INITIAL_VALUE, -1)
        # One release too many raises, and gives no permit.
        if bound < 0 or number_attribute(args[0], N_VALUE, 0) + n <= bound:
            while n > 0:
                record(RAW_POST, HAND_PERMIT, 0, <uintptr_t>args[0], 0, current_site())
                n -= 1
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *barrier_wait(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef bint watch_it = PyVectorcall_NARGS(nargsf) > 0 and is_watched_object(args[0], KIND_BARRIER)
    cdef unsigned long before = waits
    cdef PyObject *result
    if watch_it:
        record(RAW_ARRIVE, KEY_NONE, 0, <uintptr_t>args[0], 0, current_site())
    result = call_original(watched, args, nargsf, kwnames)
    if watch_it and result != NULL:
        record_after(RAW_DEPART, KEY_NONE, 0, <uintptr_t>args[0], 0, current_site())
    elif watch_it and waits != before:
        log_ran_out(args[0], OF_BARRIER)
    return result


# ---------------------------------------------------------------------------------------------------------------------
# Threads

cdef PyTypeObject *thread_type = NULL
cdef object thread_run = None
cdef object timer_run = None
cdef object partial_type = None
cdef object promoter = None


def set_thread_type(thread, timer, partial) -> None:
    global thread_type, thread_run, timer_run, partial_type
    thread_type = <PyTypeObject *><PyObject *>thread
    thread_run = vars(thread)["run"]
    timer_run = vars(timer)["run"]
    partial_type = partial


def set_promoter(new_promoter) -> None:
    """`promoter(function)` is called with the function a thread or an executor is about to run; None: nobody is."""
    global promoter
    promoter = new_promoter


cdef void promote(PyObject *function) noexcept:
    cdef PyObject *inner
    cdef PyObject *result
    if promoter is None or partial_type is None or not is_recording():
        return
    Py_INCREF(function)
    while PyObject_TypeCheck(function, <PyTypeObject *><PyObject *>partial_type):
        inner = attribute(function, N_FUNC)
        if inner == NULL:
            break
        Py_DECREF(function)
        function = inner
    result = call_unseen(<PyObject *>promoter, function)
    if result == NULL:
        pass_error_on(<PyObject *>promoter)
    Py_XDECREF(result)
    Py_DECREF(function)


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


cdef PyObject *stand_in(PyObject *function) noexcept:
    """What is started in the function's place: a new reference. The fork is in the log then."""
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


cdef PyObject *start_new_thread(PyObject *module, PyObject *args) noexcept:
    cdef Py_ssize_t i
    cdef PyObject *changed
    cdef PyObject *result
    if not is_recording() or PyTuple_GET_SIZE(args) < 2 or not PyCallable_Check(PyTuple_GET_ITEM(args, 0)):
        return original_start(module, args)
    if not PyTuple_Check(PyTuple_GET_ITEM(args, 1)):
        return original_start(module, args)
    changed = PyTuple_New(PyTuple_GET_SIZE(args))
    if changed == NULL:
        return NULL
    PyTuple_SET_ITEM(changed, 0, stand_in(PyTuple_GET_ITEM(args, 0)))
    for i in range(1, PyTuple_GET_SIZE(args)):
        Py_INCREF(PyTuple_GET_ITEM(args, i))
        PyTuple_SET_ITEM(changed, i, PyTuple_GET_ITEM(args, i))
    result = original_start(module, changed)
    Py_DECREF(changed)
    return result


cdef PyObject *start_joinable_thread(PyObject *module, PyObject *args, PyObject *kwargs) noexcept:
    cdef Py_ssize_t i
    cdef PyObject *function = NULL
    cdef PyObject *starter
    cdef PyObject *changed_args = NULL
    cdef PyObject *changed_kwargs = NULL
    cdef PyObject *result
    if PyTuple_GET_SIZE(args) > 0:
        function = PyTuple_GET_ITEM(args, 0)
    elif kwargs != NULL:
        function = PyDict_GetItemString(kwargs, b"function")
    if not is_recording() or function == NULL or not PyCallable_Check(function):
        return original_start_joinable(module, args, kwargs)
    starter = stand_in(function)
    if PyTuple_GET_SIZE(args) > 0:
        changed_args = PyTuple_New(PyTuple_GET_SIZE(args))
        if changed_args == NULL:
            Py_DECREF(starter)
            return NULL
        PyTuple_SET_ITEM(changed_args, 0, starter)
        for i in range(1, PyTuple_GET_SIZE(args)):
            Py_INCREF(PyTuple_GET_ITEM(args, i))
            PyTuple_SET_ITEM(changed_args, i, PyTuple_GET_ITEM(args, i))
        result = original_start_joinable(module, changed_args, kwargs)
        Py_DECREF(changed_args)
        return result
    changed_kwargs = PyDict_Copy(kwargs)
    if changed_kwargs == NULL or PyDict_SetItemString(changed_kwargs, b"function", starter) < 0:
        Py_XDECREF(changed_kwargs)
        Py_DECREF(starter)
        return NULL
    Py_DECREF(starter)
    result = original_start_joinable(module, args, changed_kwargs)
    Py_DECREF(changed_kwargs)
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
            elif not is_no_time(argument(args, count, kwnames, 1, N_TIMEOUT)):
                log_ran_out(args[0], OF_THREAD)
    return result


# ---------------------------------------------------------------------------------------------------------------------
# Queues. What is logged of `queue.Queue` and asyncio's queues is logged in `_put`, `_get` and `_qsize`: these run under
# the queue's mutex, so that the log has exactly the queue's order, and a put or get that fails leaves no trace.

cdef void log_structure(uint8_t op, PyObject *queue) noexcept:
    record(op, KEY_STRUCTURE, FLAG_QUEUE, <uintptr_t>queue, 0, current_site())


cdef void log_put(PyObject *queue, PyObject *item) noexcept:
    log_structure(RAW_WRITE, queue)
    record(RAW_POST, HAND_ITEM, 0, <uintptr_t>queue, <uintptr_t>item, current_site())


cdef void log_got(PyObject *queue, PyObject *item, bint waited) noexcept:
    """A get that can wait is a hand-over and nothing else: it rests on no look at the queue, and splits the region that
    it stands in. One that cannot wait changes the queue in the region that it stands in. One that finds nothing, and
    did not wait, leaves no trace: it is told so in the same step, which is what people do in place of looking first."""
    if waited:
        record_after(RAW_TAKE, HAND_ITEM, 0, <uintptr_t>queue, <uintptr_t>item, current_site())
    else:
        log_structure(RAW_WRITE, queue)
        record_after(RAW_TAKE, HAND_ITEM, FLAG_NO_WAIT, <uintptr_t>queue, <uintptr_t>item, current_site())


cdef PyObject *queue_use(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """put, put_nowait: `_put` logs; here is seen whether it is the program that puts."""
    cdef bint watch_it = PyVectorcall_NARGS(nargsf) > 0 and is_watched_object(args[0], KIND_QUEUE)
    cdef unsigned long before = waits
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    if watch_it and result == NULL and waits != before:
        log_ran_out(args[0], OF_QUEUE)
    return result


cdef PyObject *queue_get(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    global get_mode
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    cdef int outer = get_mode
    cdef unsigned long before = waits
    cdef bint may_wait
    cdef PyObject *result
    if count == 0 or not is_watched_object(args[0], KIND_QUEUE):
        return call_original(watched, args, nargsf, kwnames)
    may_wait = not is_false(argument(args, count, kwnames, 1, N_BLOCK))
    get_mode = GET_WAITING if may_wait else GET_NO_WAIT
    result = call_original(watched, args, nargsf, kwnames)
    get_mode = outer
    if result == NULL and waits != before:
        log_ran_out(args[0], OF_QUEUE)
    return result


cdef PyObject *loop_queue_get_nowait(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """asyncio's `get` waits until there is something, and calls `get_nowait`."""
    global get_mode
    cdef int outer = get_mode
    cdef bint may_wait
    cdef PyObject *result
    if PyVectorcall_NARGS(nargsf) == 0 or loop_primitive(args[0], KIND_QUEUE) == NULL:
        return call_original(watched, args, nargsf, kwnames)
    may_wait = not called_from_instrumented_code()
    get_mode = GET_WAITING if may_wait else GET_NO_WAIT
    result = call_original(watched, args, nargsf, kwnames)
    get_mode = outer
    return result


cdef PyObject *loop_queue_put_nowait(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    if PyVectorcall_NARGS(nargsf) > 0:
        loop_primitive(args[0], KIND_QUEUE)
    return call_original(watched, args, nargsf, kwnames)


cdef bint is_logged_queue(PyObject *queue) noexcept:
    cdef Primitive *entry
    if queue == in_queue or not is_recording():
        return False
    entry = find(queue)
    return entry != NULL and entry.is_watched


cdef PyObject *queue_inner_put(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    global in_queue
    cdef PyObject *outer = in_queue
    cdef PyObject *result
    if PyVectorcall_NARGS(nargsf) < 2 or not is_logged_queue(args[0]):
        return call_original(watched, args, nargsf, kwnames)
    log_put(args[0], args[1])
    in_queue = args[0]
    result = call_original(watched, args, nargsf, kwnames)
    in_queue = outer
    return result


cdef PyObject *queue_inner_get(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    global in_queue
    cdef PyObject *outer = in_queue
    cdef PyObject *result
    if PyVectorcall_NARGS(nargsf) < 1 or not is_logged_queue(args[0]):
        return call_original(watched, args, nargsf, kwnames)
    in_queue = args[0]
    result = call_original(watched, args, nargsf, kwnames)
    in_queue = outer
    if result != NULL:
        log_got(args[0], result, get_mode == GET_WAITING)
    return result


cdef PyObject *queue_inner_size(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    global sizing
    if PyVectorcall_NARGS(nargsf) > 0 and args[0] == sizing:
        sizing = NULL
        log_structure(RAW_READ, args[0])
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *queue_size(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    global sizing
    cdef PyObject *outer = sizing
    cdef PyObject *result
    if PyVectorcall_NARGS(nargsf) == 0 or not is_recording() or not called_from_instrumented_code():
        return call_original(watched, args, nargsf, kwnames)
    if not is_watched_object(args[0], KIND_QUEUE):
        return call_original(watched, args, nargsf, kwnames)
    sizing = args[0]
    result = call_original(watched, args, nargsf, kwnames)
    sizing = outer
    return result


cdef PyObject *loop_queue_size(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """asyncio's queues have no mutex and need none: nothing comes between this and the look."""
    if PyVectorcall_NARGS(nargsf) > 0 and is_recording() and called_from_instrumented_code():
        if loop_primitive(args[0], KIND_QUEUE) != NULL:
            log_structure(RAW_READ, args[0])
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *queue_task_done(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    if PyVectorcall_NARGS(nargsf) > 0 and is_watched_object(args[0], KIND_QUEUE):
        log_post(args[0])
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *queue_join(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef bint watch_it = PyVectorcall_NARGS(nargsf) > 0 and is_watched_object(args[0], KIND_QUEUE)
    cdef unsigned long before = waits
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    if watch_it and result != NULL:
        log_take(args[0])
    elif watch_it and waits != before:
        log_ran_out(args[0], OF_QUEUE)
    return result


cdef PyObject *simple_put(PyObject *queue, PyObject *const *args, Py_ssize_t count, PyObject *kwnames) noexcept:
    cdef PyObject *item = argument(args, count, kwnames, 0, N_ITEM)
    if item != NULL and is_watched_lock(queue):
        log_put(queue, item)
    return original_simple_put(queue, args, count, kwnames)


cdef PyObject *simple_put_nowait(PyObject *queue, PyObject *const *args, Py_ssize_t count, PyObject *kwnames) noexcept:
    cdef PyObject *item = argument(args, count, kwnames, 0, N_ITEM)
    if item != NULL and is_watched_lock(queue):
        log_put(queue, item)
    return original_simple_put_nowait(queue, args, count, kwnames)


cdef PyObject *simple_get(
    PyObject *queue, PyTypeObject *kind, PyObject *const *args, Py_ssize_t count, PyObject *kwnames
) noexcept:
    cdef bint watched = is_watched_lock(queue)
    cdef bint may_wait = not is_false(argument(args, count, kwnames, 0, N_BLOCK))
    cdef bint has_time = may_wait and not is_no_time(argument(args, count, kwnames, 1, N_TIMEOUT))
    cdef PyObject *item = original_simple_get(queue, kind, args, count, kwnames)
    if watched and item != NULL:
        log_got(queue, item, may_wait)
    elif watched and has_time:
        log_ran_out(queue, OF_QUEUE)
    return item


cdef PyObject *simple_get_nowait(
    PyObject *queue, PyTypeObject *kind, PyObject *const *args, Py_ssize_t count, PyObject *kwnames
) noexcept:
    cdef bint watched = is_watched_lock(queue)
    cdef PyObject *item = original_simple_get_nowait(queue, kind, args, count, kwnames)
    if watched and item != NULL:
        log_got(queue, item, False)
    return item


cdef PyObject *simple_empty(PyObject *queue, PyObject *ignored) noexcept:
    if is_watched_lock(queue):
        log_structure(RAW_READ, queue)
    return original_simple_empty(queue, ignored)


cdef PyObject *simple_qsize(PyObject *queue, PyObject *ignored) noexcept:
    if is_watched_lock(queue):
        log_structure(RAW_READ, queue)
    return original_simple_qsize(queue, ignored)


cdef PyObject *simple_new(PyTypeObject *kind, PyObject *args, PyObject *kwargs) noexcept:
    cdef PyObject *queue = original_simple_new(kind, args, kwargs)
    watch_new(queue)
    return queue


cdef void simple_dealloc(PyObject *queue) noexcept:
    died(queue)
    original_simple_dealloc(queue)


# ---------------------------------------------------------------------------------------------------------------------
# concurrent.futures. All futures are logged, whoever made them: the executor makes them on the program's behalf.

cdef void log_future_post(PyObject *future) noexcept:
    """A result is about to be set, of a future of either library."""
    if not may_post():
        return
    track(future)
    log_post(future)


cdef PyObject *future_set(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """set_result, set_exception"""
    cdef int state
    if PyVectorcall_NARGS(nargsf) > 0 and is_recording():
        state = state_of(args[0])
        if state == STATE_PENDING or state == STATE_RUNNING:
            log_future_post(args[0])
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *future_cancel(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    if PyVectorcall_NARGS(nargsf) > 0 and is_recording() and state_of(args[0]) == STATE_PENDING:
        log_future_post(args[0])
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *future_result(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """result, exception: to raise what the work raised is to take it too, to run out of time is not."""
    cdef unsigned long before = waits
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    if PyVectorcall_NARGS(nargsf) > 0 and is_recording():
        if waits != before and state_of(args[0]) != STATE_DONE:
            log_future_ran_out(args[0])
        else:
            log_done(args[0])
    return result


cdef void log_future_ran_out(PyObject *future) noexcept:
    track(future)
    log_ran_out(future, OF_FUTURE)


cdef PyObject *future_add_callback(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """A callback added to a future that is done runs here and now."""
    if PyVectorcall_NARGS(nargsf) > 0 and is_recording():
        log_done(args[0])
    return call_original(watched, args, nargsf, kwnames)


cdef int take_each(PyObject *futures) noexcept:
    """How many were taken: what was done when the thread looked before is not taken again."""
    cdef PyObject *iterator = PyObject_GetIter(futures)
    cdef PyObject *future
    cdef int count = 0
    if iterator == NULL:
        PyErr_Clear()
        return 0
    while True:
        future = PyIter_Next(iterator)
        if future == NULL:
            break
        count += log_done(future)
        Py_DECREF(future)
    PyErr_Clear()
    Py_DECREF(iterator)
    return count


cdef void log_one_ran_out(PyObject *futures) noexcept:
    """A wait for several, of which none has come: logged once, of any of them."""
    cdef PyObject *iterator = PyObject_GetIter(futures)
    cdef PyObject *future = NULL
    if iterator != NULL:
        future = PyIter_Next(iterator)
        Py_DECREF(iterator)
    PyErr_Clear()
    if future != NULL:
        log_future_ran_out(future)
        Py_DECREF(future)


cdef PyObject *futures_wait(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef unsigned long before = waits
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    if result != NULL and is_recording() and PyTuple_Check(result) and PyTuple_GET_SIZE(result) == 2:
        if take_each(PyTuple_GET_ITEM(result, 0)) == 0 and waits != before:
            log_one_ran_out(PyTuple_GET_ITEM(result, 1))
    return result


cdef PyObject *work_init(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    cdef PyObject *future
    cdef PyObject *function
    if result != NULL and count > 0 and is_recording():
        future = argument(args, count, kwnames, 1, N_FUTURE)
        function = argument(args, count, kwnames, 2, N_FN)
        if function != NULL:
            promote(function)
        if future != NULL:
            track(future)
            record(RAW_POST, HAND_START, 0, <uintptr_t>future, 0, current_site())
    return result


cdef PyObject *work_run(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef PyObject *future
    if PyVectorcall_NARGS(nargsf) > 0 and is_recording():
        future = attribute(args[0], N_FUTURE)
        if future != NULL:
            record_after(RAW_TAKE, HAND_START, 0, <uintptr_t>future, 0, 0)
            Py_DECREF(future)
        record(RAW_ENTRY, KEY_NONE, 0, 0, 0, 0)
    return call_original(watched, args, nargsf, kwnames)


# ---------------------------------------------------------------------------------------------------------------------
# asyncio: tasks and the loop. A task is a thread of the trace while one of its steps runs.

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


cdef bint is_of_library(PyObject *callback) noexcept:
    """Whether a callback is asyncio's own: it handles no data of the program."""
    cdef PyObject *function = PyMethod_GET_FUNCTION(callback) if PyMethod_Check(callback) else callback
    cdef PyObject *name
    if not PyFunction_Check(function):
        return True
    name = PyDict_GetItemString(PyFunction_GetGlobals(function), b"__name__")
    if name == NULL or not PyUnicode_Check(name):
        return False
    return (<str>(<object>name)).startswith("asyncio.")


cdef void take_posted(PyObject *callback, PyObject *handle) noexcept:
    """What a thread or task handed to the loop, with call_soon_threadsafe and its like."""
    global ordered
    cdef Primitive *entry = find(callback)
    cdef PyObject *loop
    if entry == NULL or entry.posted == 0:
        return
    entry.posted -= 1
    if entry.posted == 0 and entry.ref == NULL and not entry.is_watched:
        drop(callback)
    loop = attribute(handle, N_LOOP)
    ordered = True
    record_after(RAW_TAKE, HAND_ITEM, 0, <uintptr_t>loop, <uintptr_t>callback, 0)
    Py_XDECREF(loop)


cdef PyObject *run_step(
    PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames, PyObject *task
) noexcept:
    global running_task, empty_waker
    cdef Primitive *entry = number_task(task)
    cdef PyObject *waker = first_argument(args[0])
    cdef PyObject *loop = attribute(args[0], N_LOOP)
    cdef PyObject *outer_task = running_task
    cdef PyObject *result
    cdef uint32_t outer = thread_here()
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
    result = call_original(watched, args, nargsf, kwnames)
    running_task = outer_task
    empty_waker = NULL
    Py_XDECREF(waker)
    record(RAW_RELEASE, KEY_NONE, FLAG_LOOP_LOCK, <uintptr_t>loop, 1, 0)
    if state_of(task) == STATE_DONE:
        record(RAW_EXIT, KEY_NONE, 0, 0, 0, 0)
        entry = find(task)
        if entry != NULL:
            entry.has_ended = True
    set_current_thread(outer)
    Py_XDECREF(loop)
    return result


cdef PyObject *run_handle(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    """asyncio.Handle._run: everything a loop does comes through here."""
    global in_callback, cause, ordered
    cdef PyObject *callback
    cdef PyObject *task
    cdef PyObject *first
    cdef PyObject *result
    if PyVectorcall_NARGS(nargsf) == 0 or not is_recording():
        return call_original(watched, args, nargsf, kwnames)
    callback = attribute(args[0], N_CALLBACK)
    if callback == NULL:
        return call_original(watched, args, nargsf, kwnames)
    take_posted(callback, args[0])
    task = task_of_step(callback)
    if task != NULL:
        result = run_step(watched, args, nargsf, kwnames, task)
        Py_DECREF(task)
        Py_DECREF(callback)
        ordered = False
        return result
    first = first_argument(args[0])
    if first != NULL and state_of(first) != STATE_DONE:
        Py_DECREF(first)
        first = NULL
    in_callback = is_of_library(callback)
    cause = first
    if first != NULL and (not in_callback or has_ended_task(first)):
        # The last of several tasks wakes who waits for all of them: each is joined as it ends.
        cause = NULL
        ordered = True
        log_done(first)
    result = call_original(watched, args, nargsf, kwnames)
    in_callback = False
    cause = NULL
    ordered = False
    Py_XDECREF(first)
    Py_DECREF(callback)
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


# ---------------------------------------------------------------------------------------------------------------------
# asyncio: futures, written in C and in Python

cdef void loop_future_posts(PyObject *future) noexcept:
    if is_recording() and not is_internal() and state_of(future) == STATE_PENDING:
        log_future_post(future)


cdef void loop_future_taken(PyObject *future) noexcept:
    # In a callback of asyncio it is the callback's cause that is looked at, and that is logged when it matters.
    if is_recording() and not in_callback and find(future) != NULL:
        log_done(future)


cdef PyObject *loop_future_result(PyObject *future, PyObject *ignored) noexcept:
    loop_future_taken(future)
    return original_future_result(future, ignored)


cdef PyObject *loop_future_exception(PyObject *future, PyObject *ignored) noexcept:
    loop_future_taken(future)
    return original_future_exception(future, ignored)


cdef PyObject *loop_future_class_exception(
    PyObject *future, PyTypeObject *kind, PyObject *const *args, Py_ssize_t count, PyObject *kwnames
) noexcept:
    loop_future_taken(future)
    return original_class_exception(future, kind, args, count, kwnames)


cdef PyObject *loop_future_set_result(PyObject *future, PyObject *value) noexcept:
    loop_future_posts(future)
    return original_set_result(future, value)


cdef PyObject *loop_future_set_exception(PyObject *future, PyObject *value) noexcept:
    loop_future_posts(future)
    return original_set_exception(future, value)


cdef PyObject *loop_future_class_set_result(
    PyObject *future, PyTypeObject *kind, PyObject *const *args, Py_ssize_t count, PyObject *kwnames
) noexcept:
    loop_future_posts(future)
    return original_class_set_result(future, kind, args, count, kwnames)


cdef PyObject *loop_future_class_set_exception(
    PyObject *future, PyTypeObject *kind, PyObject *const *args, Py_ssize_t count, PyObject *kwnames
) noexcept:
    loop_future_posts(future)
    return original_class_set_exception(future, kind, args, count, kwnames)


cdef PyObject *loop_future_cancel(PyObject *future, PyObject *const *args, Py_ssize_t count, PyObject *kwnames) noexcept:
    loop_future_posts(future)
    return original_future_cancel(future, args, count, kwnames)


cdef PyObject *loop_future_class_cancel(
    PyObject *future, PyTypeObject *kind, PyObject *const *args, Py_ssize_t count, PyObject *kwnames
) noexcept:
    loop_future_posts(future)
    return original_class_cancel(future, kind, args, count, kwnames)


cdef PyObject *python_future_set(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    if PyVectorcall_NARGS(nargsf) > 0 and not is_numbered(args[0]):
        loop_future_posts(args[0])
    return call_original(watched, args, nargsf, kwnames)


cdef bint is_numbered(PyObject *future) noexcept:
    """A task written in Python sets its own result: its end is its exit, not a post."""
    cdef Primitive *entry = find(future)
    return entry != NULL and entry.number != 0


cdef PyObject *python_future_result(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    if PyVectorcall_NARGS(nargsf) > 0:
        loop_future_taken(args[0])
    return call_original(watched, args, nargsf, kwnames)


# ---------------------------------------------------------------------------------------------------------------------
# asyncio: locks, events, conditions, semaphores, barriers. Who made them is known from their `__init__`; those that were
# made before the recording are watched, because a coroutine has no caller that could be asked.

cdef Primitive *loop_primitive(PyObject *primitive, int kind) noexcept:
    """The entry of a watched one, or NULL."""
    cdef Primitive *entry
    if not is_recording():
        return NULL
    entry = find(primitive)
    if entry == NULL or entry.ref == NULL:
        entry = adopt(primitive, kind)
    if entry == NULL or not entry.is_watched:
        return NULL
    if entry.told != trace_number:
        tell_name(entry, primitive)
        entry = find(primitive)
    return entry


cdef PyObject *made_for_loop(
    PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames, int kind
) noexcept:
    cdef PyObject *result = call_original(watched, args, nargsf, kwnames)
    cdef Primitive *entry
    if result == NULL or PyVectorcall_NARGS(nargsf) == 0 or not is_recording():
        return result
    if called_from_instrumented_code():
        adopt(args[0], kind)
        record(RAW_MADE, KEY_NONE, 0, <uintptr_t>args[0], 0, 0)
        return result
    # The library's own: known, and not watched. A class's own __init__ calls its base's: watched stays watched.
    track(args[0])
    return result


cdef PyObject *init_loop_lock(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return made_for_loop(watched, args, nargsf, kwnames, KIND_LOOP_LOCK)


cdef PyObject *init_loop_plain(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return made_for_loop(watched, args, nargsf, kwnames, KIND_PLAIN)


cdef PyObject *init_loop_condition(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return made_for_loop(watched, args, nargsf, kwnames, KIND_LOOP_CONDITION)


cdef PyObject *init_loop_semaphore(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return made_for_loop(watched, args, nargsf, kwnames, KIND_SEMAPHORE)


cdef PyObject *init_loop_barrier(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return made_for_loop(watched, args, nargsf, kwnames, KIND_BARRIER)


cdef PyObject *init_loop_queue(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    return made_for_loop(watched, args, nargsf, kwnames, KIND_QUEUE)


cdef bint is_loop_lock_held(PyObject *lock) noexcept:
    cdef PyObject *locked = attribute(lock, N_LOCKED)
    Py_XDECREF(locked)
    return locked == Py_True


cdef PyObject *loop_lock_release(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    if PyVectorcall_NARGS(nargsf) > 0 and loop_primitive(args[0], KIND_LOOP_LOCK) != NULL:
        if is_loop_lock_held(args[0]):
            log_released(args[0], 1)
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *loop_event_set(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    if PyVectorcall_NARGS(nargsf) > 0 and loop_primitive(args[0], KIND_PLAIN) != NULL:
        log_post(args[0])
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *loop_condition_notify(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    cdef PyObject *lock
    if PyVectorcall_NARGS(nargsf) > 0 and loop_primitive(args[0], KIND_LOOP_CONDITION) != NULL:
        lock = attribute(args[0], N_LOCK)
        if lock != NULL:
            if is_loop_lock_held(lock):
                log_post(args[0])
            Py_DECREF(lock)
    return call_original(watched, args, nargsf, kwnames)


cdef PyObject *loop_semaphore_release(PyObject *watched, PyObject *const *args, size_t nargsf, PyObject *kwnames) noexcept:
    # A bounded one looks first whether it may, and then comes here.
    if PyVectorcall_NARGS(nargsf) > 0 and loop_primitive(args[0], KIND_SEMAPHORE) != NULL:
        record(RAW_POST, HAND_PERMIT, 0, <uintptr_t>args[0], 0, current_site())
    return call_original(watched, args, nargsf, kwnames)


# ---------------------------------------------------------------------------------------------------------------------
# Marker: a constant in the code of a coroutine or generator of the standard library. `M[x]` logs, and gives x.

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


cdef dict _hooks = {}
cdef dict _marks = {}


cdef void _name_hook(str name, Hook hook):
    _hooks[name] = <uintptr_t>hook


cdef void _name_mark(str name, Mark mark):
    _marks[name] = <uintptr_t>mark


cdef Hook hook_named(str name) except? NULL:
    return <Hook><void *><uintptr_t>_hooks[name]


cdef Mark mark_named(str name) except? NULL:
    return <Mark><void *><uintptr_t>_marks[name]


cdef void _name_all():
    _name_hook("init_plain", init_plain)
    _name_hook("init_condition", init_condition)
    _name_hook("init_semaphore", init_semaphore)
    _name_hook("init_barrier", init_barrier)
    _name_hook("init_queue", init_queue)
    _name_hook("make_rlock", make_rlock)
    _name_hook("condition_enter", condition_enter)
    _name_hook("condition_wait", condition_wait)
    _name_hook("condition_notify", condition_notify)
    _name_hook("post_before", post_before)
    _name_hook("take_if_true", take_if_true)
    _name_hook("semaphore_acquire", semaphore_acquire)
    _name_hook("semaphore_release", semaphore_release)
    _name_hook("barrier_wait", barrier_wait)
    _name_hook("thread_join", thread_join)
    _name_hook("queue_use", queue_use)
    _name_hook("queue_get", queue_get)
    _name_hook("queue_inner_put", queue_inner_put)
    _name_hook("queue_inner_get", queue_inner_get)
    _name_hook("queue_inner_size", queue_inner_size)
    _name_hook("queue_size", queue_size)
    _name_hook("queue_task_done", queue_task_done)
    _name_hook("queue_join", queue_join)
    _name_hook("future_set", future_set)
    _name_hook("future_cancel", future_cancel)
    _name_hook("future_result", future_result)
    _name_hook("future_add_callback", future_add_callback)
    _name_hook("futures_wait", futures_wait)
    _name_hook("work_init", work_init)
    _name_hook("work_run", work_run)
    _name_hook("create_task", create_task)
    _name_hook("name_task", name_task)
    _name_hook("run_handle", run_handle)
    _name_hook("call_threadsafe", call_threadsafe)
    _name_hook("call_soon", call_soon)
    _name_hook("call_later", call_later)
    _name_hook("python_future_set", python_future_set)
    _name_hook("python_future_result", python_future_result)
    _name_hook("loop_queue_get_nowait", loop_queue_get_nowait)
    _name_hook("loop_queue_put_nowait", loop_queue_put_nowait)
    _name_hook("loop_queue_size", loop_queue_size)
    _name_hook("init_loop_lock", init_loop_lock)
    _name_hook("init_loop_plain", init_loop_plain)
    _name_hook("init_loop_condition", init_loop_condition)
    _name_hook("init_loop_semaphore", init_loop_semaphore)
    _name_hook("init_loop_barrier", init_loop_barrier)
    _name_hook("init_loop_queue", init_loop_queue)
    _name_hook("loop_lock_release", loop_lock_release)
    _name_hook("loop_event_set", loop_event_set)
    _name_hook("loop_condition_notify", loop_condition_notify)
    _name_hook("loop_semaphore_release", loop_semaphore_release)
    _name_mark("lock_acquired", mark_lock_acquired)
    _name_mark("event_taken", mark_event_taken)
    _name_mark("permit_taken", mark_permit_taken)
    _name_mark("permit_wanted", mark_permit_wanted)
    _name_mark("arrival", mark_arrival)
    _name_mark("departure", mark_departure)
    _name_mark("wait", mark_wait)
    _name_mark("notified", mark_notified)
    _name_mark("woken", mark_woken)
    _name_mark("block", mark_block)
    _name_mark("block_end", mark_block_end)
    _name_mark("queue_joined", mark_queue_joined)
    _name_mark("awaited", mark_awaited)
    _name_mark("ran_out", mark_ran_out)
    _name_mark("queue_ran_out", mark_queue_ran_out)
    _name_mark("future_ran_out", mark_future_ran_out)
    _name_mark("done", mark_done)
    _name_mark("pending", mark_pending)
    _name_mark("none_done", mark_none_done)
    _name_mark("taken", mark_taken)


_name_all()
