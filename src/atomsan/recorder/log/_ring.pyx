# cython: language_level=3, freethreading_compatible=True
"""The head of a ring (`_raw.h`), which the program and its reader write at the same time: atomic loads and stores."""

from cpython.buffer cimport PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport uint32_t, uint64_t

from atomsan.recorder.log._raw cimport RAW_HEAD_BYTES, RawHead

cdef extern from * nogil:
    """
    #include <stdint.h>

    static inline uint64_t atomsan_load(const volatile uint64_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
    static inline void atomsan_store(volatile uint64_t *p, uint64_t v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
    """
    uint64_t load "atomsan_load"(const uint64_t *p)
    void store "atomsan_store"(uint64_t *p, uint64_t value)


cdef class RingHead:
    """The head of the ring in `memory`, as its reader sees it. `memory` cannot be closed as long as this is there."""

    cdef Py_buffer buffer
    cdef RawHead *head

    def __cinit__(self, memory):
        PyObject_GetBuffer(memory, &self.buffer, PyBUF_WRITABLE)
        if self.buffer.len < RAW_HEAD_BYTES:
            raise ValueError("too short for a ring")
        self.head = <RawHead *> self.buffer.buf

    def __dealloc__(self):
        PyBuffer_Release(&self.buffer)

    @property
    def magic(self):
        return self.head.magic

    @property
    def capacity(self):
        return self.head.capacity

    @property
    def written(self):
        """How many records were written ever. What they hold can be read after this."""
        return load(&self.head.head)

    @property
    def read(self):
        """How many records were read ever. Who sets it has read them: the program may write over them."""
        return self.head.tail

    @read.setter
    def read(self, uint64_t count):
        store(&self.head.tail, count)

    @property
    def lost(self):
        """How many records found no room."""
        return self.head.lost

    @property
    def unsent(self):
        """How many definitions could not be sent."""
        return self.head.unsent

    @property
    def unfollowed(self):
        """How many processes that the program forked were to be recorded, and could not be."""
        return self.head.unfollowed

    @property
    def patience(self):
        """After how many milliseconds the program waits no longer for a reader that takes nothing. 0: not known."""
        return self.head.patience

    @patience.setter
    def patience(self, uint32_t milliseconds):
        self.head.patience = milliseconds

    @property
    def stop(self):
        """Whether the reader wants no more."""
        return self.head.stop != 0

    @stop.setter
    def stop(self, bint wanted):
        self.head.stop = wanted

    @property
    def closed(self):
        """Whether the program ended its recording in good order."""
        return self.head.closed != 0

    @property
    def waiting(self):
        """Whether the program waits for room."""
        return self.head.waiting != 0
