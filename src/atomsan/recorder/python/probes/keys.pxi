# Keys of dicts and sets: maps a key to the location of its element, the same for equal keys

cdef struct Key:
    uint64_t key
    uint8_t kind


cdef inline bint is_exact(PyObject *key, int depth) noexcept:
    """Whether hash and equality of this key run no code of the program."""
    cdef PyTypeObject *type = Py_TYPE(key)
    cdef Py_ssize_t i
    if (
        type == &PyUnicode_Type or type == &PyLong_Type or type == &PyBytes_Type or key == Py_None
        or type == &PyBool_Type or type == &PyFloat_Type or type == &PyComplex_Type
    ):
        return True
    if type != &PyTuple_Type or depth > 8:
        return False
    for i in range(PyTuple_GET_SIZE(key)):
        if not is_exact(PyTuple_GET_ITEM(key, i), depth + 1):
            return False
    return True


cdef inline void name_key(Key *found, PyObject *key) noexcept:
    global recent_epoch
    cdef uint64_t mixed = found.key ^ found.kind
    cdef uint64_t place = RECENT_PLACE(mixed)
    cdef Py_ssize_t i
    if recent_epoch != S.epoch:
        for i in range(RECENT_KEYS):
            recent_keys[i] = 0
        recent_epoch = S.epoch
    if recent_keys[place] != mixed or mixed == 0:
        recent_keys[place] = mixed
        _log.define_key(found.kind, found.key, key)


cdef inline bint is_number(PyTypeObject *type) noexcept:
    return type == &PyLong_Type or type == &PyBool_Type or type == &PyFloat_Type or type == &PyComplex_Type


cdef inline uint64_t number_key(PyObject *key) noexcept:
    """Its hash, which equal numbers share; but -1 is -1, because its hash is that of -2, and -1 is no number's hash."""
    cdef Py_hash_t hash = PyObject_Hash(key)
    if hash == -2 and equals_minus_one(key):
        return <uint64_t>-1
    return <uint64_t>hash


cdef void key_of(PyObject *key, Key *found) noexcept:
    """The location of the element of a dict or set. May send a definition."""
    cdef PyTypeObject *type = Py_TYPE(key)
    if is_number(type):
        found.kind = KEY_NUMBER
        found.key = number_key(key)
        # A small integer is its own key, and needs no name.
        if type != &PyBool_Type and <Py_ssize_t>found.key != small_value(key):
            name_key(found, key)
    elif is_exact(key, 0):
        found.kind = KEY_HASH
        found.key = <uint64_t>PyObject_Hash(key)
        name_key(found, key)
    elif is_identity(type) and _log.number_of_type(<PyObject *>type):
        found.kind = KEY_OBJECT
        found.key = <uint64_t>key
    else:
        found.kind = KEY_WHOLE
        found.key = 0


cdef bint is_identity(PyTypeObject *type) noexcept:
    cdef _Type *t = <_Type *>type
    if t.tp_hash == (<_Type *>&PyBaseObject_Type).tp_hash:
        return t.tp_richcompare == (<_Type *>&PyBaseObject_Type).tp_richcompare
    # Members of an enumeration hash by name, and are equal only to themselves.
    return (
        PyType_IsSubtype(type, enum_type) and t.tp_richcompare == (<_Type *>&PyBaseObject_Type).tp_richcompare
        and _PyType_Lookup(type, <PyObject *>name_of_hash) == enum_hash
    )
