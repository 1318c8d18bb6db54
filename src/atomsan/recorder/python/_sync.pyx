"""Hooks on threads, locks, queues, futures and tasks: they log what the recorded program does with them.

The program must not see that it is watched, so nothing here runs in a Python frame, and nothing replaces a type:

- methods of C types and functions of C modules get another C function in their `PyMethodDef`. Bound methods that were
  made long before are watched too;
- plain Python functions of the standard library are replaced by a `Watched`, which calls them and passes for them;
- in coroutines and generators a `Marker` is put into the code itself (see `patches.py`), because a wrapper around
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
from libc.string cimport memset, strcmp

from atomsan.recorder.python._log cimport (
    call_hidden, call_site, called_from_instrumented_code, current_site, current_thread, define, is_instrumented_namespace,
    is_recording, log_after, log_free, log_held, log_record, name_number, namespaces, new_thread, on_entered, set_base,
    set_current_thread,
    state as log_head, thread_here as os_thread,
)
from atomsan.recorder.python._writer cimport Thread as OsThread
from atomsan.recorder.log._raw cimport *

cdef extern from "_frames.h":
    const void *frame_here()


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
        PyTypeObject *tp_base
        void *tp_dealloc
        void *tp_init
        void *tp_iternext
        void *tp_new
        void *tp_call
        void *tp_repr
        void *tp_getattro
        void *tp_setattro
        void *tp_descr_get
        PyMappingMethods *tp_as_mapping
        PyObject *tp_dict
        Py_ssize_t tp_vectorcall_offset
        unsigned long tp_flags

    int METH_VARARGS, METH_KEYWORDS, METH_NOARGS, METH_O, METH_FASTCALL, METH_METHOD
    unsigned long Py_TPFLAGS_HAVE_VECTORCALL, Py_TPFLAGS_METHOD_DESCRIPTOR
    PyTypeObject PyMethodDescr_Type, PyCFunction_Type, PyUnicode_Type, PyBaseObject_Type
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
    PyObject *PyMethod_New(PyObject *function, PyObject *self)
    PyObject *PyMethod_GET_SELF(PyObject *method)
    PyObject *PyMethod_GET_FUNCTION(PyObject *method)
    PyObject *PyFunction_GetGlobals(PyObject *function)
    PyObject *PyCFunction_New(PyMethodDef *definition, PyObject *self)
    PyObject *PyVectorcall_Call(PyObject *callable, PyObject *args, PyObject *kwargs)
    Py_ssize_t PyVectorcall_NARGS(size_t nargsf)
    PyObject *PyObject_Vectorcall(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
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
    /* The operation that the OS thread is in. */
    static __thread PyObject *atomsan_entering;     /* the lock of the condition whose __enter__ runs */
    static __thread PyObject *atomsan_in_queue;     /* the queue whose _put or _get runs: an override calls its super's */
    static __thread PyObject *atomsan_sizing;       /* the queue whose empty, full or qsize runs */
    static __thread PyObject *atomsan_used_future;  /* the future that a method of concurrent.futures is called on */
    static __thread int atomsan_get_mode;           /* how the running get waits: GET_... */
    static __thread unsigned long atomsan_put_since; /* `waits` when the running put began, plus 1 */
    static __thread PyObject *atomsan_task;         /* the task whose step runs */
    static __thread int atomsan_in_callback;        /* a callback of asyncio itself runs, not a task's step */
    static __thread PyObject *atomsan_cause;        /* the future that callback was called for; NULL once it is logged */
    static __thread int atomsan_ordered;            /* something was taken in this callback */
    static __thread unsigned long atomsan_waits;    /* how often it has waited at a condition, whosoever */
    static __thread PyObject *atomsan_waker;        /* the future that woke the running step, if that took nothing */
    static __thread int atomsan_taken;              /* how many the last `done` marker took */
    static __thread long atomsan_workers;           /* most threads of the pool that a job is being given to; 0: no pool */

    /* Handles an uncaught exception of a thread of `_thread` as the interpreter does. Up to 3.12 it shows the
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
    PyObject *used_future "atomsan_used_future"
    int get_mode "atomsan_get_mode"
    unsigned long put_since "atomsan_put_since"
    PyObject *running_task "atomsan_task"
    bint in_callback "atomsan_in_callback"
    PyObject *cause "atomsan_cause"
    bint ordered "atomsan_ordered"
    unsigned long waits "atomsan_waits"
    PyObject *empty_waker "atomsan_waker"
    int last_taken "atomsan_taken"
    long workers "atomsan_workers"

cdef enum:
    GET_ANY, GET_WAITING, GET_NO_WAIT

# Kinds of primitives: decides what is done when one becomes watched.
cdef enum:
    KIND_PLAIN, KIND_LOCK, KIND_CONDITION, KIND_SEMAPHORE, KIND_BARRIER, KIND_QUEUE, KIND_LOOP_LOCK, KIND_LOOP_CONDITION
    KIND_GREEN_LOCK, KIND_GREEN_RLOCK, KIND_GREEN_SEMAPHORE

cdef enum:
    STATE_UNKNOWN, STATE_PENDING, STATE_RUNNING, STATE_DONE


# ---------------------------------------------------------------------------------------------------------------------
# Logging with an error set: the first record of a thread registers it, and that runs Python code.

cdef inline bint keep_error(PyObject **error) noexcept:
    """Whether there is one that is to be given back."""
    if PyErr_Occurred() == NULL:
        return False
    PyErr_Fetch(&error[0], &error[1], &error[2])
    return True


cdef inline void restore_error(PyObject **error) noexcept:
    PyErr_Restore(error[0], error[1], error[2])


cdef void record(uint8_t op, uint8_t key_kind, uint16_t flags, uint64_t obj, uint64_t key, uint32_t site) noexcept:
    cdef PyObject *error[3]
    cdef bint has_error = keep_error(error)
    log_record(op, key_kind, flags, obj, key, site)
    if has_error:
        restore_error(error)


cdef void record_after(uint8_t op, uint8_t key_kind, uint16_t flags, uint64_t obj, uint64_t key, uint32_t site) noexcept:
    cdef PyObject *error[3]
    cdef bint has_error = keep_error(error)
    log_after(op, key_kind, flags, obj, key, site)
    if has_error:
        restore_error(error)


cdef uint32_t thread_here() noexcept:
    cdef PyObject *error[3]
    cdef bint has_error = keep_error(error)
    cdef uint32_t number = current_thread()
    if has_error:
        restore_error(error)
    return number


# ---------------------------------------------------------------------------------------------------------------------
# One module, because all of it shares the table of primitives; one file for each kind of primitive.

include "sync/primitive_table.pxi"
include "sync/inspection.pxi"
include "sync/c_functions.pxi"
include "sync/names.pxi"
include "sync/locks.pxi"
include "sync/watched_functions.pxi"
include "sync/watched_primitives.pxi"
include "sync/thread_primitives.pxi"
include "sync/threads.pxi"
include "sync/queues.pxi"
include "sync/states.pxi"
include "sync/futures.pxi"
include "sync/tasks.pxi"
include "sync/loop_futures.pxi"
include "sync/loop_primitives.pxi"
include "sync/coroutine_markers.pxi"
include "sync/unfollowed.pxi"
include "sync/greenlets.pxi"
include "sync/gevent.pxi"
include "sync/trio.pxi"


# ---------------------------------------------------------------------------------------------------------------------
# Hooks and marks by the names that the tables of `primitives.py` and `tasks.py` have for them

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
    _name_hook("event_use", event_use)
    _name_hook("take_if_true", take_if_true)
    _name_hook("semaphore_acquire", semaphore_acquire)
    _name_hook("semaphore_release", semaphore_release)
    _name_hook("barrier_wait", barrier_wait)
    _name_hook("barrier_release", barrier_release)
    _name_hook("thread_join", thread_join)
    _name_hook("thread_is_alive", thread_is_alive)
    _name_hook("loop_lock_locked", loop_lock_locked)
    _name_hook("loop_event_clear", loop_event_clear)
    _name_hook("loop_event_is_set", loop_event_is_set)
    _name_hook("python_future_look", python_future_look)
    _name_hook("queue_use", queue_use)
    _name_hook("queue_get", queue_get)
    _name_hook("queue_inner_put", queue_inner_put)
    _name_hook("queue_inner_get", queue_inner_get)
    _name_hook("queue_inner_size", queue_inner_size)
    _name_hook("queue_size", queue_size)
    _name_hook("queue_task_done", queue_task_done)
    _name_hook("queue_join", queue_join)
    _name_hook("future_use", future_use)
    _name_hook("future_result", future_result)
    _name_hook("future_add_callback", future_add_callback)
    _name_hook("futures_wait", futures_wait)
    _name_hook("pool_submit", pool_submit)
    _name_hook("pool_result_init", pool_result_init)
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
    _name_hook("other_loop_call", other_loop_call)
    _name_hook("other_loop_call_threadsafe", other_loop_call_threadsafe)
    _name_hook("other_loop_call_later", other_loop_call_later)
    _name_hook("unfollowed_trio_threads", unfollowed_trio_threads)
    _name_hook("unfollowed_trio_limiters", unfollowed_trio_limiters)
    _name_hook("trio_set_up", trio_set_up)
    _name_hook("trio_spawn", trio_spawn)
    _name_hook("trio_task_exited", trio_task_exited)
    _name_hook("trio_reschedule", trio_reschedule)
    _name_hook("trio_nursery_closed", trio_nursery_closed)
    _name_hook("trio_lock_acquire", trio_lock_acquire)
    _name_hook("trio_lock_release", trio_lock_release)
    _name_hook("trio_permit_acquire", trio_permit_acquire)
    _name_hook("trio_permit_release", trio_permit_release)
    _name_hook("trio_notify", trio_notify)
    _name_hook("trio_send", trio_send)
    _name_hook("trio_receive", trio_receive)
    _name_hook("unfollowed_curio", unfollowed_curio)
    _name_hook("unfollowed_eventlet", unfollowed_eventlet)
    _name_hook("unfollowed_pool", unfollowed_pool)
    _name_hook("green_acquire", green_acquire)
    _name_hook("green_enter", green_enter)
    _name_hook("green_release", green_release)
    _name_hook("green_exit", green_exit)
    _name_hook("green_release_save", green_release_save)
    _name_hook("green_acquire_restore", green_acquire_restore)
    _name_hook("green_locked", green_locked)
    _name_hook("green_set", green_set)
    _name_hook("green_clear", green_clear)
    _name_hook("green_is_set", green_is_set)
    _name_hook("green_wait", green_wait)
    _name_hook("green_result_set", green_result_set)
    _name_hook("green_result_got", green_result_got)
    _name_hook("green_start", green_start)
    _name_hook("green_spawn_raw", green_spawn_raw)
    _name_hook("green_join", green_join)
    _name_hook("green_wait_for", green_wait_for)
    _name_hook("green_group_add", green_group_add)
    _name_hook("green_group_join", green_group_join)
    _name_hook("green_map", green_map)
    _name_hook("green_put", green_put)
    _name_hook("green_get", green_get)
    _name_hook("green_get_nowait", green_get_nowait)
    _name_hook("green_size", green_size)
    _name_hook("green_task_done", green_task_done)
    _name_hook("green_queue_join", green_queue_join)
    _name_mark("pool_job", mark_pool_job)
    _name_mark("pool_job_done", mark_pool_job_done)
    _name_mark("pool_result_comes", mark_pool_result_comes)
    _name_mark("pool_result_set", mark_pool_result_set)
    _name_mark("pool_result_taken", mark_pool_result_taken)
    _name_mark("pool_result_ran_out", mark_pool_result_ran_out)
    _name_mark("pool_result_looked", mark_pool_result_looked)
    _name_mark("pool_result_raised", mark_pool_result_taken)
    _name_mark("event_read", mark_event_read)
    _name_mark("event_set", mark_event_set)
    _name_mark("event_cleared", mark_event_cleared)
    _name_mark("future_read", mark_future_read)
    _name_mark("future_written", mark_future_written)
    _name_mark("future_refused", mark_future_refused)
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
    _name_mark("queue_room", mark_queue_room)
    _name_mark("future_ran_out", mark_future_ran_out)
    _name_mark("done", mark_done)
    _name_mark("pending", mark_pending)
    _name_mark("none_done", mark_none_done)
    _name_mark("taken", mark_taken)


_name_all()
