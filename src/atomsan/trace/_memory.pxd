# cython: language_level=3
"""Memory of the compiled loops: arrays that grow. New memory is zero, unless a function says otherwise."""

from libc.stdlib cimport realloc
from libc.string cimport memset

cdef extern from * nogil:
    """
    #include <stdlib.h>
    #include <string.h>

    #define ATOMSAN_PREFETCH(address) __builtin_prefetch(address)

    /* What happens now and then is kept out of the loops, so that the rest of them is inlined. */
    #define ATOMSAN_RARE CYTHON_UNUSED static __attribute__((noinline, cold))

    ATOMSAN_RARE int atomsan_enlarge(void **rows, size_t *room, size_t needed, size_t width) {
        size_t more = needed + needed / 2 + 8;
        void *moved;
        if (more > (size_t)-1 / width) return 0;
        moved = realloc(*rows, more * width);
        if (!moved) return 0;
        memset((char *)moved + *room * width, 0, (more - *room) * width);
        *rows = moved;
        *room = more;
        return 1;
    }
    """
    void prefetch "ATOMSAN_PREFETCH"(const void *address)
    bint enlarge "atomsan_enlarge"(void **rows, size_t *room, size_t needed, size_t width)


cdef inline int out_of_memory() except -1 nogil:
    with gil:
        raise MemoryError


cdef inline void *resized(void *block, size_t size) except NULL nogil:
    """Room for `size` bytes. What is new is not zero."""
    cdef void *moved = realloc(block, size)
    if moved == NULL:
        out_of_memory()
    return moved


cdef inline void *grown(void *block, size_t old, size_t new) except NULL nogil:
    """Room for `new` bytes, of which there were `old`."""
    cdef void *moved = resized(block, new)
    memset(<char *> moved + old, 0, new - old)
    return moved


cdef inline bint has_room(void **rows, size_t *room, size_t needed, size_t width) noexcept nogil:
    """Give an array room for `needed` rows, and some to spare if it has to grow. False: no memory."""
    return needed <= room[0] or enlarge(rows, room, needed, width)


cdef inline int ensure_room(void **rows, size_t *room, size_t needed, size_t width) except -1 nogil:
    """As `has_room`; raises MemoryError."""
    if not has_room(rows, room, needed, width):
        out_of_memory()
    return 0
