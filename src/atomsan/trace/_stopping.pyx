# cython: language_level=3, freethreading_compatible=True
"""Stops compiled loops: one that works for long looks up now and then, and ends at the deadline or at Ctrl-C.

The interpreter runs no signal handler, and nobody looks at the clock, while a loop is at work on a batch. So the loop
asks (`look_up`), about every 20 milliseconds (`_stopping.pxd`). Who runs it says when it is over (`until`), for the
thread it runs in. The end is a KeyboardInterrupt out of the loop, as of Ctrl-C.
"""

from cpython.exc cimport PyErr_CheckSignals

from contextlib import contextmanager
from threading import local

_here = local()


def is_over_here():
    """The question of this thread whether its work is over; None: nobody asks."""
    return getattr(_here, "is_over", None)


@contextmanager
def until(is_over):
    """Compiled loops inside, in this thread, end when `is_over` says so."""
    around = is_over_here()
    _here.is_over = is_over
    try:
        yield
    finally:
        _here.is_over = around


def look():
    """For long loops in Python: the clock. Signals are looked at by the interpreter."""
    is_over = is_over_here()
    if is_over is not None and is_over():
        raise KeyboardInterrupt


cdef int look_up() except -1 nogil:
    with gil:
        PyErr_CheckSignals()
        look()
    return 0
