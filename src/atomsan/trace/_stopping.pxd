# cython: language_level=3
"""For compiled loops that can work for long: they look up now and then, and end if somebody wants them to.

    if is_long(&self.work, i):      # between two events: all that is known is as if the trace ended there
        look_up()

What takes long inside one event is added to `work.done`, in steps of a nanosecond or a few.
"""

from libc.stdint cimport uint64_t

cdef extern from * nogil:
    """
    #include <stdint.h>
    #include <time.h>
    #ifdef CLOCK_MONOTONIC_COARSE
    #define ATOMSAN_CLOCK CLOCK_MONOTONIC_COARSE
    #else
    #define ATOMSAN_CLOCK CLOCK_MONOTONIC
    #endif
    #define ATOMSAN_BETWEEN_LOOKS 20000000u     /* nanoseconds */

    typedef struct {
        uint64_t done;      /* work since the clock was read */
        uint64_t looked;    /* when we looked up last, in nanoseconds */
    } atomsan_work;

    CYTHON_UNUSED static __attribute__((noinline)) int atomsan_is_time(atomsan_work *work) {
        struct timespec now;
        uint64_t time;
        clock_gettime(ATOMSAN_CLOCK, &now);
        time = (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
        work->done = 0;
        if (!work->looked) work->looked = time;
        if (time - work->looked < ATOMSAN_BETWEEN_LOOKS) return 0;
        work->looked = time;
        return 1;
    }
    """
    ctypedef struct Work "atomsan_work":        # all zero: nothing was done
        uint64_t done
    bint is_time "atomsan_is_time"(Work *work)

cdef enum:
    EVERY = 64              # events from one look at the clock to the next
    STRETCH = 1 << 20       # or so much work


cdef inline bint is_long(Work *work, size_t i) noexcept nogil:
    """Whether to look up before event `i` of the batch: if that is due, and the last look is long ago."""
    return i % EVERY == 0 and is_time(work)


cdef inline bint has_toiled(Work *work) noexcept nogil:
    """Whether to look up inside an event, or after it: if much was done."""
    return work.done >= STRETCH and is_time(work)


cdef int look_up() except -1 nogil
