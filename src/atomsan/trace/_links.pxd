# cython: language_level=3
"""Doubly linked lists of the rows of an array: each row has a `Link` as a field.

Rows are numbered from 1; 0 is none, and row 0 is in no list. `links` is the address of that field in row 0, `width` the
size of a row, and `first` the head of the list.
"""

from libc.stdint cimport uint32_t


cdef struct Link:
    uint32_t before
    uint32_t after


cdef inline Link *link_at(void *links, size_t width, uint32_t row) noexcept nogil:
    return <Link *> (<char *> links + row * width)


cdef inline void put_first(void *links, size_t width, uint32_t *first, uint32_t row) noexcept nogil:
    put_behind(links, width, first, 0, row)


cdef inline void put_behind(void *links, size_t width, uint32_t *first, uint32_t earlier, uint32_t row) noexcept nogil:
    """Behind an `earlier` row of the list; 0: as the first."""
    cdef Link *link = link_at(links, width, row)
    cdef uint32_t *to = &link_at(links, width, earlier).after if earlier else first
    link.before, link.after = earlier, to[0]
    if to[0]:
        link_at(links, width, to[0]).before = row
    to[0] = row


cdef inline void take_out(void *links, size_t width, uint32_t *first, uint32_t row) noexcept nogil:
    cdef Link *link = link_at(links, width, row)
    if link.before:
        link_at(links, width, link.before).after = link.after
    else:
        first[0] = link.after
    if link.after:
        link_at(links, width, link.after).before = link.before
