# cython: language_level=3, freethreading_compatible=True
"""Tracks which locks each thread holds.

A lock is held by one thread at a time, so its state is one row, and the locks of a thread are a linked list through
these rows, the newest first: an acquire and a release take constant time however many locks are held.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free

from atomsan.trace._memory cimport grown
from atomsan.trace._ops cimport ACQUIRE, RELEASE


cdef struct Lock:
    uint64_t since    # the event of the outermost acquire
    uint32_t depth    # acquires minus releases; 0: nobody holds it
    uint32_t holder   # its thread
    uint32_t older    # the lock that its holder acquired before it, plus 1; 0: none
    uint32_t newer    # the lock that its holder acquired after it, plus 1; 0: none


cdef class HeldLocks:
    """The locks held after the events so far. Events that a well-formed trace cannot have are ignored."""

    cdef Lock *locks
    cdef size_t lock_count
    cdef uint32_t *newest         # by thread: the lock it acquired last and still holds, plus 1
    cdef size_t threads

    def __dealloc__(self):
        free(self.locks)
        free(self.newest)

    def grow(self, size_t threads, size_t locks):
        """Make room for the threads and locks there are now."""
        if threads > self.threads:
            threads += threads // 2
            self.newest = <uint32_t *> grown(self.newest, 4 * self.threads, 4 * threads)
            self.threads = threads
        if locks > self.lock_count:
            locks += locks // 2
            self.locks = <Lock *> grown(self.locks, self.lock_count * sizeof(Lock), locks * sizeof(Lock))
            self.lock_count = locks

    def advance(self, batch):
        """Apply the events of a batch."""
        cdef const uint32_t[::1] thread = batch.thread
        cdef const uint8_t[::1] op = batch.op
        cdef const uint32_t[::1] target = batch.target
        cdef uint64_t first = batch.first
        cdef size_t i, count = op.shape[0]
        with nogil:
            for i in range(count):
                if op[i] == ACQUIRE:
                    self.acquire(thread[i], target[i], first + i)
                elif op[i] == RELEASE:
                    self.release(thread[i], target[i])

    cdef void acquire(self, uint32_t thread, uint32_t number, uint64_t event) noexcept nogil:
        cdef Lock *lock = &self.locks[number]
        if lock.depth:
            lock.depth += lock.holder == thread
            return
        lock.since, lock.depth, lock.holder = event, 1, thread
        lock.older, lock.newer = self.newest[thread], 0
        if lock.older:
            self.locks[lock.older - 1].newer = number + 1
        self.newest[thread] = number + 1

    cdef void release(self, uint32_t thread, uint32_t number) noexcept nogil:
        cdef Lock *lock = &self.locks[number]
        if not lock.depth or lock.holder != thread:
            return
        lock.depth -= 1
        if lock.depth:
            return
        if lock.newer:
            self.locks[lock.newer - 1].older = lock.older
        else:
            self.newest[thread] = lock.older
        if lock.older:
            self.locks[lock.older - 1].newer = lock.newer

    def held(self, size_t thread):
        """(lock, event of its outermost acquire) for each lock that a thread holds, in the order of these events."""
        cdef uint32_t lock = self.newest[thread]
        found = []
        while lock:
            found.append((lock - 1, self.locks[lock - 1].since))
            lock = self.locks[lock - 1].older
        found.reverse()
        return found
