# cython: language_level=3
"""Arrays by location, whose memory follows the locations that are alive: rows of dead ones are given back.

A location has its number for ever, and numbers are given out in order. So a row is found by its number, as in any array,
and what goes is whole pages: once all rows in one are dead, the system takes its memory, and it would read as zero. The
owner reads and writes the rows through a pointer of its own type, which `sparse_room` can change.
"""

from libc.stdint cimport uint32_t

cdef extern from * nogil:
    """
    #include <stdint.h>
    #include <string.h>
    #include <sys/mman.h>

    /* Memory is counted and given back by so many bytes: a multiple of the page of every system. */
    #define ATOMSAN_PAGE ((size_t) 1 << 12)
    #ifndef MAP_NORESERVE
    #define MAP_NORESERVE 0
    #endif

    typedef struct {
        void *rows;
        size_t room;           /* rows */
        size_t bytes;          /* of the mapping */
        uint32_t *dead;        /* by page: its bytes that belong to dead rows; made at the first death */
        size_t dead_room;
        size_t dead_rows;
    } atomsan_sparse;

    static inline void *atomsan_mapped(size_t bytes) {
        void *rows = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        return rows == MAP_FAILED ? NULL : rows;
    }

    CYTHON_UNUSED static __attribute__((noinline, cold))
    int atomsan_sparse_enlarge(atomsan_sparse *sparse, size_t needed, size_t width) {
        size_t more = needed + needed / 2 + 8, bytes;
        void *moved;
        if (more > ((size_t) -1 >> 1) / width) return 0;
        bytes = (more * width + ATOMSAN_PAGE - 1) & ~(ATOMSAN_PAGE - 1);
    #ifdef __linux__
        if (sparse->rows) {
            moved = mremap(sparse->rows, sparse->bytes, bytes, MREMAP_MAYMOVE);
            if (moved == MAP_FAILED) return 0;
        } else {
            moved = atomsan_mapped(bytes);
        }
        if (!moved) return 0;
    #else
        moved = atomsan_mapped(bytes);
        if (!moved) return 0;
        if (sparse->rows) {
            memcpy(moved, sparse->rows, sparse->bytes);
            munmap(sparse->rows, sparse->bytes);
        }
    #endif
        sparse->rows = moved;
        sparse->bytes = bytes;
        sparse->room = bytes / width;
        return 1;
    }

    static inline int atomsan_sparse_room(atomsan_sparse *sparse, size_t needed, size_t width) {
        return needed <= sparse->room || atomsan_sparse_enlarge(sparse, needed, width);
    }

    static inline void atomsan_sparse_give(atomsan_sparse *sparse, size_t from, size_t to) {
        char *start = (char *) sparse->rows + from * ATOMSAN_PAGE;
        size_t bytes = (to - from) * ATOMSAN_PAGE;
        if (!bytes) return;
    #ifdef __linux__
        madvise(start, bytes, MADV_DONTNEED);
    #else
        mmap(start, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    #endif
    }

    CYTHON_UNUSED static int atomsan_sparse_forget(
            atomsan_sparse *sparse, const uint32_t *numbers, size_t count, size_t width) {
        size_t i, pages = sparse->bytes / ATOMSAN_PAGE, from = 0, to = 0;
        if (pages > sparse->dead_room) {
            uint32_t *dead = (uint32_t *) realloc(sparse->dead, pages * sizeof(uint32_t));
            if (!dead) return 0;
            memset(dead + sparse->dead_room, 0, (pages - sparse->dead_room) * sizeof(uint32_t));
            sparse->dead = dead;
            sparse->dead_room = pages;
        }
        for (i = 0; i < count; i++) {
            size_t start = numbers[i] * width, end = start + width;
            if (numbers[i] >= sparse->room) continue;
            sparse->dead_rows++;
            while (start < end) {
                size_t page = start / ATOMSAN_PAGE, next = (page + 1) * ATOMSAN_PAGE;
                size_t until = end < next ? end : next;
                sparse->dead[page] += (uint32_t) (until - start);
                start = until;
                if (sparse->dead[page] != ATOMSAN_PAGE) continue;
                if (page != to) {
                    atomsan_sparse_give(sparse, from, to);
                    from = page;
                }
                to = page + 1;
            }
        }
        atomsan_sparse_give(sparse, from, to);
        return 1;
    }

    /* From this row on, the first that has memory. */
    static inline size_t atomsan_sparse_next(const atomsan_sparse *sparse, size_t row, size_t width) {
        size_t page = row * width / ATOMSAN_PAGE;
        while (page < sparse->dead_room && sparse->dead[page] == ATOMSAN_PAGE) {
            page++;
            row = (page * ATOMSAN_PAGE + width - 1) / width;
        }
        return row;
    }

    static inline void atomsan_sparse_free(atomsan_sparse *sparse) {
        if (sparse->rows) munmap(sparse->rows, sparse->bytes);
        free(sparse->dead);
        memset(sparse, 0, sizeof(*sparse));
    }
    """
    ctypedef struct Sparse "atomsan_sparse":        # all zero: there are no rows
        void *rows
        size_t room
        size_t dead_rows
    size_t next_row "atomsan_sparse_next"(const Sparse *sparse, size_t row, size_t width)
    bint has_sparse_room "atomsan_sparse_room"(Sparse *sparse, size_t needed, size_t width)
    # Of rows that nobody asks for any more, each told once. They are to own nothing.
    bint forget_rows "atomsan_sparse_forget"(Sparse *sparse, const uint32_t *numbers, size_t count, size_t width)
    void free_sparse "atomsan_sparse_free"(Sparse *sparse)
