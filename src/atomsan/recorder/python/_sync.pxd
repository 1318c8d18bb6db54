"""The one hook that probes call: of `await`."""

from cpython.object cimport PyObject

# `obj` is about to be awaited: a task that has ended is joined, because nothing will wake who awaits it.
cdef void log_awaited(PyObject *obj) noexcept
