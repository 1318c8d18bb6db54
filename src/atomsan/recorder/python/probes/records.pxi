# Writing the records of accesses: one element, all elements, the structure of a container

cdef inline void log_at(
    Thread *thread, Probe *probe, uint32_t op, uint8_t key_kind, PyObject *obj, uint64_t key, uint32_t number
) noexcept:
    put_access(
        S, <uint64_t>obj, key, RAW_WHAT(number, probe.site), RAW_WORD(thread.number, op, key_kind, probe.flags)
    )


cdef inline void log_key(Thread *thread, Probe *probe, uint32_t op, PyObject *obj, Key *key, uint32_t number) noexcept:
    log_at(thread, probe, op, key.kind, obj, key.key, number)
    if key.kind == KEY_OBJECT:
        mark_seen(S, key.key)


cdef extern from "_writer.h":
    void mark_seen(State *s, uint64_t address)


cdef inline void log_structure(Thread *thread, Probe *probe, uint32_t op, PyObject *obj, uint32_t number) noexcept:
    log_at(thread, probe, op, KEY_STRUCTURE, obj, 0, number)


cdef inline void log_structure_again(Thread *thread, Probe *probe, PyObject *obj, uint32_t number) noexcept:
    """A read at another time than the last one: others may come between the two, though nobody did."""
    mark_seen(S, <uint64_t>obj)
    put(S, <uint64_t>obj, 0, RAW_WHAT(number, probe.site), RAW_WORD(thread.number, RAW_READ, KEY_STRUCTURE, probe.flags))


cdef inline void log_range(
    Thread *thread, Probe *probe, uint32_t op, PyObject *obj, uint32_t number, uint64_t start, uint64_t stop
) noexcept:
    """All elements in one record; of a sequence those of a range."""
    start, stop = min(start, TO_THE_END - 1), min(stop, TO_THE_END)
    log_at(thread, probe, op, KEY_ELEMENTS, obj, start | stop << 32, number)


cdef void log_elements(
    Thread *thread, Probe *probe, uint32_t op, PyObject *obj, uint32_t number, uint32_t shape, Py_ssize_t start
) noexcept:
    """Each element from `start` on; of a dict without definitions, which could let other threads run."""
    cdef Py_ssize_t size, i
    cdef Py_ssize_t position = 0
    cdef PyObject *key = NULL
    cdef PyObject *value = NULL
    cdef Py_hash_t hash = 0
    if shape == CHAIN:
        log_at(thread, probe, op, KEY_WHOLE, obj, 0, number)
        return
    size = size_of(obj, shape)
    if size - start > MOST:
        log_range(thread, probe, op, obj, number, <uint64_t>start, TO_THE_END)
        return
    if shape == SEQUENCE:
        for i in range(start, size):
            log_at(thread, probe, op, KEY_INDEX, obj, <uint64_t>i, number)
    elif shape == SET:
        while _PySet_NextEntry(obj, &position, &key, &hash):
            log_known_key(thread, probe, op, obj, key, number)
    else:
        while PyDict_Next(obj, &position, &key, &value):
            log_known_key(thread, probe, op, obj, key, number)


cdef inline Py_ssize_t size_of(PyObject *obj, uint32_t shape) noexcept:
    """Of a builtin container or of a class that extends one: never by code of the program."""
    if shape == MAPPING or shape == MISSING:
        return PyDict_Size(obj)
    return builtin_size(obj)


cdef extern from *:
    """
    /* The size as the builtin type sees it, though a class may define its own __len__. */
    static inline Py_ssize_t builtin_size(PyObject *obj) {
        if (PyList_Check(obj) || PyByteArray_Check(obj)) return Py_SIZE(obj);
        if (PyAnySet_Check(obj)) return PySet_GET_SIZE(obj);
        return Py_SIZE(obj);   /* deque and array keep it there, too */
    }
    """
    Py_ssize_t builtin_size(PyObject *)


cdef void log_known_key(
    Thread *thread, Probe *probe, uint32_t op, PyObject *obj, PyObject *key, uint32_t number
) noexcept:
    """An element by a key that is in the container: it was named when it was stored, if we saw that."""
    cdef Key found
    find_key(key, &found, False)
    log_key(thread, probe, op, obj, &found, number)
