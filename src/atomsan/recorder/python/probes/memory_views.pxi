# Items of a memoryview: elements of the bytearray or array that it is a view of, also through slices and casts
#
# As long as there is a view, its exporter keeps the memory where it is: so the address of an item tells which element it
# is. A slice that is read is another view, and reads nothing.

cdef extern from *:
    """
    /* What a view of one dimension is of, borrowed; NULL: it was released, or there is no telling. */
    static inline PyObject *view_base(PyObject *self) {
        PyMemoryViewObject *view = (PyMemoryViewObject *)self;
        if ((view->flags & _Py_MEMORYVIEW_RELEASED) || (view->mbuf->flags & _Py_MANAGED_BUFFER_RELEASED)) return NULL;
        Py_buffer *own = &view->view, *whole = &view->mbuf->master;
        if (own->ndim != 1 || own->strides == NULL || own->shape == NULL || own->suboffsets != NULL) return NULL;
        return whole->itemsize > 0 && own->itemsize > 0 && !whole->readonly ? whole->obj : NULL;
    }
    static inline Py_ssize_t view_length(PyObject *self) { return ((PyMemoryViewObject *)self)->view.shape[0]; }
    /* The elements of the base, from `first` to before `stop`, that an item of the view lies in. */
    static inline void view_place(PyObject *self, Py_ssize_t item, Py_ssize_t *first, Py_ssize_t *stop) {
        PyMemoryViewObject *view = (PyMemoryViewObject *)self;
        Py_buffer *own = &view->view, *whole = &view->mbuf->master;
        Py_ssize_t offset = (char *)own->buf + own->strides[0] * item - (char *)whole->buf;
        *first = offset / whole->itemsize;
        *stop = (offset + own->itemsize - 1) / whole->itemsize + 1;
    }
    """
    PyObject *view_base(PyObject *)
    Py_ssize_t view_length(PyObject *)
    void view_place(PyObject *, Py_ssize_t, Py_ssize_t *, Py_ssize_t *)

cdef extern from "Python.h":
    PyTypeObject PyMemoryView_Type, PyByteArray_Type

cdef PyTypeObject *array_type = <PyTypeObject *>array.array


cdef void log_view(Probe *probe, PyObject *view, PyObject *key, uint32_t op) noexcept:
    """An item of a view, or a slice that is stored to."""
    cdef PyObject *base = view_base(view)
    cdef Thread *thread
    cdef uint32_t number
    cdef Py_ssize_t start, stop, step, count, i
    if base == NULL or not (PyType_IsSubtype(Py_TYPE(base), &PyByteArray_Type) or PyType_IsSubtype(Py_TYPE(base), array_type)):
        return
    number = _log.number_of_type(<PyObject *>Py_TYPE(base))
    thread = ready(probe.site, ROOM)
    # others may have released it
    if thread == NULL or number == 0 or view_base(view) != base:
        return
    if Py_TYPE(key) == &PyLong_Type:
        start = PyLong_AsSsize_t(key)
        if start == -1 and PyErr_Occurred() != NULL:
            PyErr_Clear()
            return
        if start < 0:
            start += view_length(view)
        if 0 <= start < view_length(view):
            log_viewed(thread, probe, op, base, number, view, start, 1, 1)
    elif Py_TYPE(key) == &PySlice_Type and op == RAW_WRITE:
        if not is_plain_bound((<_Slice *>key).start) or not is_plain_bound((<_Slice *>key).stop):
            return
        if not is_plain_bound((<_Slice *>key).step) or PySlice_Unpack(key, &start, &stop, &step) < 0:
            PyErr_Clear()
            return
        count = PySlice_AdjustIndices(view_length(view), &start, &stop, step)
        log_viewed(thread, probe, op, base, number, view, start, step, count)


cdef void log_viewed(
    Thread *thread, Probe *probe, uint32_t op, PyObject *base, uint32_t number, PyObject *view,
    Py_ssize_t start, Py_ssize_t step, Py_ssize_t count,
) noexcept:
    """These items: each element of the base, or all from the lowest to the highest if they are many."""
    cdef Py_ssize_t i, first, stop, other_first, other_stop
    if count <= 0:
        return
    view_place(view, start, &first, &stop)
    view_place(view, start + (count - 1) * step, &other_first, &other_stop)
    if count * (stop - first) > MOST:
        log_range(thread, probe, op, base, number, <uint64_t>min(first, other_first), <uint64_t>max(stop, other_stop))
        return
    for i in range(count):
        view_place(view, start + i * step, &first, &stop)
        while first < stop:
            log_at(thread, probe, op, KEY_INDEX, base, <uint64_t>first, number)
            first += 1
