# cython: language_level=3, freethreading_compatible=True
"""Tracks which locks each thread holds.

A lock is held by one thread at a time, so its state is one row, and the locks of a thread are a linked list through
these rows, the newest first: an acquire and a release take constant time however many locks are held.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from atomsan.trace._links cimport Link, put_first, take_out
from atomsan.trace._memory cimport ensure_room
from atomsan.trace._ops cimport ACQUIRE, RELEASE


cdef struct Lock:
    uint64_t since    # the event of the outermost acquire
    uint32_t depth    # acquires minus releases; 0: nobody holds it
    uint32_t holder   # its thread
    Link link         # in the list of its holder, the newest first


cdef class HeldLocks:
    """The locks held after the events so far. Events that a well-formed trace cannot have are ignored."""

    cdef Lock *locks              # row 0 is none: lock 0 has row 1
    cdef size_t lock_room
    cdef uint32_t *newest         # by thread: the row of the lock it acquired last and still holds
    cdef size_t newest_room

    def __dealloc__(self):
        free(self.locks)
        free(self.newest)

    def grow(self, size_t threads, size_t locks):
        """Make room for so many threads and locks."""
        ensure_room(<void **> &self.newest, &self.newest_room, threads, sizeof(uint32_t))
        ensure_room(<void **> &self.locks, &self.lock_room, locks + 1, sizeof(Lock))

    def copy(self):
        """The same, to go on from here without changing this one."""
        cdef HeldLocks other = HeldLocks()
        other.grow(self.newest_room, self.lock_room)
        if self.newest_room:
            memcpy(other.newest, self.newest, self.newest_room * sizeof(uint32_t))
        if self.lock_room:
            memcpy(other.locks, self.locks, self.lock_room * sizeof(Lock))
        return other

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
                    self.acquire(thread[i], target[i] + 1, first + i)
                elif op[i] == RELEASE:
                    self.release(thread[i], target[i] + 1)

    cdef void acquire(self, uint32_t thread, uint32_t row, uint64_t event) noexcept nogil:
        cdef Lock *lock = &self.locks[row]
        if lock.depth:
            lock.depth += lock.holder == thread
            return
        lock.since, lock.depth, lock.holder = event, 1, thread
        put_first(&self.locks[0].link, sizeof(Lock), &self.newest[thread], row)

    cdef void release(self, uint32_t thread, uint32_t row) noexcept nogil:
        cdef Lock *lock = &self.locks[row]
        if not lock.depth or lock.holder != thread:
            return
        lock.depth -= 1
        if lock.depth == 0:
            take_out(&self.locks[0].link, sizeof(Lock), &self.newest[thread], row)

    def held(self, size_t thread):
        """(lock, event of its outermost acquire) for each lock that a thread holds, in the order of these events."""
        cdef uint32_t row = self.newest[thread]
        found = []
        while row:
            found.append((row - 1, self.locks[row].since))
            row = self.locks[row].link.after
        found.reverse()
        return found

    def depth(self, size_t lock):
        """How often a lock was acquired and not released again."""
        return self.locks[lock + 1].depth
