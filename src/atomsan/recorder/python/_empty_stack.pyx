"""Hides AtomSan's frames from the program's stack: the program starts on an empty one, as without us.

So `traceback.print_stack`, `inspect.stack`, `warnings` with a stack level and the depth at which a `RecursionError`
comes are the same as in a run that is not recorded.
"""

from cpython.object cimport PyObject

cdef extern from *:
    """
    #include <Python.h>

    static PyObject *run_file(const char *opened, PyObject *path, PyObject *names) {
        FILE *file = fopen(opened, "rb");
        const char *shown = PyUnicode_AsUTF8(path);
        if (file == NULL)
            return PyErr_SetFromErrno(PyExc_OSError);
        if (shown == NULL)
            PyErr_Clear();
        return PyRun_FileExFlags(file, shown ? shown : opened, Py_file_input, names, names, 1, NULL);
    }

    typedef struct {
        void *frame;
        int depth;
    } HiddenFrames;

    /* Both structures are in the public headers; the members moved between versions. */
    #if PY_VERSION_HEX < 0x030D0000
    #define ATOMSAN_FRAME(tstate) ((tstate)->cframe->current_frame)
    #else
    #define ATOMSAN_FRAME(tstate) ((tstate)->current_frame)
    #endif
    #if PY_VERSION_HEX < 0x030C0000
    #define ATOMSAN_LEFT(tstate) ((tstate)->recursion_remaining)
    #else
    #define ATOMSAN_LEFT(tstate) ((tstate)->py_recursion_remaining)
    #endif

    static HiddenFrames hide_frames(void) {
        PyThreadState *tstate = PyThreadState_Get();
        HiddenFrames hidden;
        hidden.frame = (void *) ATOMSAN_FRAME(tstate);
        hidden.depth = Py_GetRecursionLimit() - ATOMSAN_LEFT(tstate);
        ATOMSAN_FRAME(tstate) = NULL;
        ATOMSAN_LEFT(tstate) += hidden.depth;
        return hidden;
    }

    static void restore_frames(HiddenFrames hidden) {
        PyThreadState *tstate = PyThreadState_Get();
        ATOMSAN_FRAME(tstate) = hidden.frame;
        ATOMSAN_LEFT(tstate) -= hidden.depth;
    }
    """
    ctypedef struct HiddenFrames:
        pass
    HiddenFrames hide_frames()
    void restore_frames(HiddenFrames hidden)
    PyObject *run_file(const char *opened, PyObject *path, PyObject *names)
    void PyErr_SetObject(PyObject *type, PyObject *value)
    void PyErr_PrintEx(int set_sys_last_vars)
    PyObject *PyObject_CallObject(PyObject *callable, PyObject *arguments)
    PyObject *PyEval_EvalCode(PyObject *code, PyObject *globals, PyObject *locals)
    void PyErr_Fetch(PyObject **type, PyObject **value, PyObject **traceback)
    void PyErr_NormalizeException(PyObject **type, PyObject **value, PyObject **traceback)
    int PyException_SetTraceback(PyObject *exception, PyObject *traceback)
    void Py_XDECREF(PyObject *object)


def call_on_empty_stack(function, *arguments):
    """Call a function. Returns None, or the exception that it ended with, whose traceback starts in the function."""
    cdef HiddenFrames hidden = hide_frames()
    cdef PyObject *result = PyObject_CallObject(<PyObject *> function, <PyObject *> arguments)
    return ended(result, hidden)


def run_on_empty_stack(code, namespace):
    """The same for the code of a module."""
    cdef HiddenFrames hidden = hide_frames()
    cdef PyObject *names = <PyObject *> namespace
    return ended(PyEval_EvalCode(<PyObject *> code, names, names), hidden)


def run_file_on_empty_stack(path, namespace):
    """The same for a file that Python reads itself, so that its errors are reported as always."""
    cdef bytes opened = path.encode("utf-8", "surrogateescape")
    cdef HiddenFrames hidden = hide_frames()
    return ended(run_file(opened, <PyObject *> path, <PyObject *> namespace), hidden)


cdef ended(PyObject *result, HiddenFrames hidden):
    """None, or the exception that is set; our frames are there again."""
    cdef PyObject *type_
    cdef PyObject *value
    cdef PyObject *traceback
    if result != NULL:
        restore_frames(hidden)
        Py_XDECREF(result)
        return None
    PyErr_Fetch(&type_, &value, &traceback)
    PyErr_NormalizeException(&type_, &value, &traceback)
    if traceback != NULL:
        PyException_SetTraceback(value, traceback)
    restore_frames(hidden)
    exception = <object> value
    Py_XDECREF(type_)
    Py_XDECREF(value)
    Py_XDECREF(traceback)
    return exception


def show_uncaught(exception):
    """Print an exception that nobody caught, as Python does at the end of a program. It is not SystemExit."""
    kind = type(exception)
    cdef HiddenFrames hidden = hide_frames()
    PyErr_SetObject(<PyObject *> kind, <PyObject *> exception)
    PyErr_PrintEx(1)
    restore_frames(hidden)
