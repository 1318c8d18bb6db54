# cython: language_level=3
"""Memory that grows, for every compiled loop. What is new is zero, unless it says otherwise."""

from libc.stdlib cimport realloc
from libc.string cimport memset


cdef inline void *resized(void *block, size_t size) except NULL nogil:
    """Room for `size` bytes. What is new is not zero."""
    cdef void *moved = realloc(block, size)
    if moved == NULL:
        with gil:
            raise MemoryError
    return moved


cdef inline void *grown(void *block, size_t old, size_t new) except NULL nogil:
    """Room for `new` bytes, of which there were `old`."""
    cdef void *moved = resized(block, new)
    memset(<char *> moved + old, 0, new - old)
    return moved


cdef inline bint has_room(void **rows, size_t *capacity, size_t needed, size_t width) noexcept nogil:
    """At least `needed` rows, and some to spare if there have to be more than there are. False: no memory."""
    cdef size_t more
    cdef void *moved
    if needed <= capacity[0]:
        return True
    more = needed + needed // 2 + 8
    if more > <size_t> -1 // width:
        return False
    moved = realloc(rows[0], more * width)
    if moved == NULL:
        return False
    memset(<char *> moved + capacity[0] * width, 0, (more - capacity[0]) * width)
    rows[0], capacity[0] = moved, more
    return True
