"""Random yields: draws how long a thread gives way at a scheduling point, and the number of records to the next."""

from libc.stdint cimport uint64_t
from posix.time cimport nanosleep, timespec

cdef extern from "<sched.h>" nogil:
    int sched_yield()


cdef void sleep_for(long nanoseconds) noexcept nogil:
    cdef timespec time
    time.tv_sec = 0
    time.tv_nsec = nanoseconds
    nanosleep(&time, NULL)


cdef class RandomYields:
    """The decisions of one seed, in order."""

    cdef uint64_t _seed
    cdef uint64_t _state     # of the generator (xorshift); never 0
    cdef uint64_t _yields    # so far

    def __init__(self, seed):
        self._seed = <uint64_t>(seed & 0xFFFFFFFFFFFFFFFF) + 1
        self.restart()

    def restart(self):
        """Begin again with the first decision."""
        self._state = (self._seed ^ (self._seed >> 29)) * <uint64_t>0x9E3779B97F4A7C15 | 1
        self._yields = 0

    def point(self):
        """Give way, for a time that is drawn. Returns the gap to the next point."""
        cdef uint64_t choice = self._random() % 16
        self._yields += 1
        with nogil:
            if choice < 4:
                sched_yield()
            elif choice < 15:
                sleep_for(<long>(choice * 2000))
            else:
                sleep_for(500_000)
        return self.gap()

    def gap(self):
        """The records until the next yield: few at first, so that short programs meet it, then more, so that long
        ones end."""
        cdef uint64_t mean = 6 + self._yields // 200
        return 1 + self._random() % (2 * min(mean, <uint64_t>150))

    cdef uint64_t _random(self) noexcept:
        self._state ^= self._state << 13
        self._state ^= self._state >> 7
        self._state ^= self._state << 17
        return self._state
