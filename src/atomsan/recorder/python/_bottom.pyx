# cython: language_level=3
"""What the program's process cannot do in Python: to be its own bottom, and to map memory without a descriptor.

The program must not see the frames of what started it.
`traceback.print_stack`, `inspect.stack`, `warnings` with a stack level and the depth at which a `RecursionError` comes
are then the same as without us.
"""

from cpython.object cimport PyObject

cdef extern from *:
    """
    #include <Python.h>
    #include <sys/mman.h>

    static PyObject *atomsan_mapped(int descriptor, Py_ssize_t size) {
        void *memory = mmap(NULL, (size_t) size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        if (memory == MAP_FAILED)
            return PyErr_SetFromErrno(PyExc_OSError);
        return PyMemoryView_FromMemory((char *) memory, size, PyBUF_WRITE);
    }

    static PyObject *atomsan_run_file(const char *opened, PyObject *path, PyObject *names) {
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
    } AtomsanBelow;

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

    static AtomsanBelow atomsan_hide(void) {
        PyThreadState *tstate = PyThreadState_Get();
        AtomsanBelow below;
        below.frame = (void *) ATOMSAN_FRAME(tstate);
        below.depth = Py_GetRecursionLimit() - ATOMSAN_LEFT(tstate);
        ATOMSAN_FRAME(tstate) = NULL;
        ATOMSAN_LEFT(tstate) += below.depth;
        return below;
    }

    static void atomsan_show(AtomsanBelow below) {
        PyThreadState *tstate = PyThreadState_Get();
        ATOMSAN_FRAME(tstate) = below.frame;
        ATOMSAN_LEFT(tstate) -= below.depth;
    }
    """
    ctypedef struct AtomsanBelow:
        pass
    AtomsanBelow atomsan_hide()
    void atomsan_show(AtomsanBelow below)
    PyObject *atomsan_run_file(const char *opened, PyObject *path, PyObject *names)
    object atomsan_mapped(int descriptor, Py_ssize_t size)
    void PyErr_SetObject(PyObject *type, PyObject *value)
    void PyErr_PrintEx(int set_sys_last_vars)
    PyObject *PyObject_CallObject(PyObject *callable, PyObject *arguments)
    PyObject *PyEval_EvalCode(PyObject *code, PyObject *globals, PyObject *locals)
    void PyErr_Fetch(PyObject **type, PyObject **value, PyObject **traceback)
    void PyErr_NormalizeException(PyObject **type, PyObject **value, PyObject **traceback)
    int PyException_SetTraceback(PyObject *exception, PyObject *traceback)
    void Py_XDECREF(PyObject *object)


def call_at_bottom(function, *arguments):
    """Call a function. Returns None, or the exception that it ended with, whose traceback starts in the function."""
    cdef AtomsanBelow below = atomsan_hide()
    cdef PyObject *result = PyObject_CallObject(<PyObject *> function, <PyObject *> arguments)
    return ended(result, below)


def run_at_bottom(code, namespace):
    """The same for the code of a module."""
    cdef AtomsanBelow below = atomsan_hide()
    cdef PyObject *names = <PyObject *> namespace
    return ended(PyEval_EvalCode(<PyObject *> code, names, names), below)


def run_file_at_bottom(path, namespace):
    """The same for a file that Python is to read by itself: what is wrong with it is then said as always."""
    cdef bytes opened = path.encode("utf-8", "surrogateescape")
    cdef AtomsanBelow below = atomsan_hide()
    return ended(atomsan_run_file(opened, <PyObject *> path, <PyObject *> namespace), below)


cdef ended(PyObject *result, AtomsanBelow below):
    cdef PyObject *type_
    cdef PyObject *value
    cdef PyObject *traceback
    if result != NULL:
        atomsan_show(below)
        Py_XDECREF(result)
        return None
    PyErr_Fetch(&type_, &value, &traceback)
    PyErr_NormalizeException(&type_, &value, &traceback)
    if traceback != NULL:
        PyException_SetTraceback(value, traceback)
    atomsan_show(below)
    exception = <object> value
    Py_XDECREF(type_)
    Py_XDECREF(value)
    Py_XDECREF(traceback)
    return exception


def show(exception):
    """Show an exception that nobody caught, as Python does at the end of a program. It is not SystemExit."""
    kind = type(exception)
    cdef AtomsanBelow below = atomsan_hide()
    PyErr_SetObject(<PyObject *> kind, <PyObject *> exception)
    PyErr_PrintEx(1)
    atomsan_show(below)


def mapped(descriptor, size):
    """The memory of a file, for as long as the process lasts. The descriptor can be closed, which `mmap.mmap` keeps."""
    return atomsan_mapped(descriptor, size)
