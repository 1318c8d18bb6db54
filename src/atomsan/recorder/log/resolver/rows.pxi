# Append-only arrays of rows of one size, taken out as arrays of numpy. (Rows that are freed are slots of a `Pool`.)
#
# Owner: the part whose struct holds the array; `free_rows` gives its memory back. A pointer to a row is good until the
# next `new_row` of the same array.

cdef struct Rows:
    char *rows
    size_t count
    size_t room


cdef inline void *new_row(Rows *rows, size_t width) except NULL nogil:
    """One more row, of unknown contents."""
    ensure_room(<void **> &rows.rows, &rows.room, rows.count + 1, width)
    rows.count += 1
    return rows.rows + (rows.count - 1) * width


cdef inline uint32_t new_slot(Pool *pool, void **slots, size_t width) except? 0xFFFFFFFF nogil:
    """A slot of a pool, of unknown contents."""
    cdef uint32_t slot = take_slot(pool, slots, width)
    if slot == NO_SLOT:
        out_of_memory()
    return slot


cdef inline int add_number(Rows *rows, uint32_t number) except -1 nogil:
    (<uint32_t *> new_row(rows, sizeof(uint32_t)))[0] = number
    return 0


cdef inline int add_pair(Rows *rows, uint32_t first, uint32_t second) except -1 nogil:
    cdef NewPair *new = <NewPair *> new_row(rows, sizeof(NewPair))
    new.first, new.second = first, second
    return 0


cdef inline uint32_t number_at(const Rows *rows, size_t i) noexcept nogil:
    return (<uint32_t *> rows.rows)[i]


cdef taken_rows(Rows *rows, dtype):
    """The rows as an array of numpy; there are none then."""
    taken = np.empty(rows.count, dtype)
    cdef uint8_t[::1] view = taken.view(np.uint8)
    if rows.count:
        memcpy(&view[0], rows.rows, view.shape[0])
    rows.count = 0
    return taken


cdef void free_rows(Rows *rows) noexcept nogil:
    free(rows.rows)
    rows.rows = NULL
    rows.count = rows.room = 0
