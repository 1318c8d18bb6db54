# Values of fields: logs which objects a field holds (RAW_HOLDS), directly or in a container
#
# Only for fields on the path of an atomic set, and once for each object as far as the tables below remember. They
# forget freed objects, because an address may be used again. Nothing here runs code of the program: values are taken
# where they lie, and their types are compared by address.

cdef enum:
    REMEMBERED_BITS = 11   # pairs that were logged: so many places
    WAYS = 4               # for so many pairs each
    LOOK_BITS = 11         # containers that were looked at
    STAMP_BITS = 12
    TYPE_BITS = 6
    DEFINED_BITS = 10
    AT_ONCE = 256          # elements that are looked at before others may run
    EACH_LOOK = 16         # elements of a container that was seen whole and has not grown: they go round
    MOST_ROUNDS = 1 << 13
    DEEPEST = 4            # containers in containers

cdef struct Remembered:
    uint64_t holder
    uint64_t value
    uint32_t name
    uint32_t holder_stamp
    uint32_t value_stamp

cdef struct Look:
    uint64_t holder
    uint64_t container
    uint32_t name
    uint32_t stamp         # of the container
    Py_ssize_t size
    Py_ssize_t next        # where the next look begins
    Py_ssize_t end         # where it ended when it was seen whole; -1: it was not, so far

cdef struct HeldType:
    PyTypeObject *type
    uint32_t version
    uint32_t number        # 0: no fields of such objects are recorded
    int container          # how to look into it; IN_NOTHING: it is none
    bint is_instance       # it can have fields that are recorded

cdef struct Walk:
    uint64_t holder
    uint32_t name
    Thread *thread         # NULL: what is new is counted, and nothing is logged yet
    Py_ssize_t left        # elements
    Py_ssize_t new
    PyTypeObject *unknown  # a type that needs a number first
    bint is_cut            # there are elements left that should be looked at now

cdef list followed = []           # patterns for the names of a class and of a field
cdef dict followed_pairs = {}     # by number of a type and of a name: whether there is a pattern for it
cdef set defined_fields = set()
cdef uint64_t defined_lately[1024]   # site and type of the fields that were defined last
cdef Remembered *remembered = NULL
cdef Look *looks = NULL
cdef uint32_t *stamps = NULL      # count the frees of addresses
cdef uint32_t next_way = 0
cdef HeldType held_types[64]      # those that were met lately
cdef object qualname_of = type.__dict__["__qualname__"].__get__
cdef object module_of = type.__dict__["__module__"].__get__


cdef inline uint64_t mixed_up(uint64_t one, uint64_t other) noexcept:
    cdef uint64_t mixed = (one ^ other * <uint64_t>0xD6E8FEB86659FD93) * <uint64_t>0x9E3779B97F4A7C15
    return mixed ^ mixed >> 31


cdef inline uint32_t *stamp_of(uint64_t address) noexcept:
    return stamps + (address * <uint64_t>0x9E3779B97F4A7C15 >> (64 - STAMP_BITS))


cdef void count_free(uint64_t address) noexcept:
    stamp_of(address)[0] += 1


cdef void forget_held() noexcept:
    memset(held_types, 0, sizeof(held_types))
    memset(defined_lately, 0, sizeof(defined_lately))
    followed_pairs.clear()
    defined_fields.clear()
    if stamps != NULL:
        memset(remembered, 0, WAYS * sizeof(Remembered) << REMEMBERED_BITS)
        memset(looks, 0, sizeof(Look) << LOOK_BITS)


def follow(patterns):
    """Log the values of these fields too: pairs of patterns, for the name of the class and of the field."""
    global remembered, looks, stamps
    if not patterns:
        return
    if stamps == NULL:
        remembered = <Remembered *>calloc(<size_t>WAYS << REMEMBERED_BITS, sizeof(Remembered))
        looks = <Look *>calloc(<size_t>1 << LOOK_BITS, sizeof(Look))
        stamps = <uint32_t *>calloc(<size_t>1 << STAMP_BITS, sizeof(uint32_t))
        if remembered == NULL or looks == NULL or stamps == NULL:
            raise MemoryError
    followed.extend(patterns)
    followed_pairs.clear()
    _log.on_free(count_free)
    forget_found()


def follow_nothing():
    """Log no values of fields any more."""
    followed.clear()
    followed_pairs.clear()
    _log.on_free(NULL)
    forget_found()


def start_trace():
    """Another trace begins: values, fields and gaps are logged again."""
    global unread_is_noted
    forget_held()
    unread_is_noted = False


cdef bint is_followed(PyTypeObject *type, PyObject *name, uint32_t name_number, uint32_t number) noexcept:
    """Whether an atomic set goes through this field of objects of this type."""
    cdef PyObject *saved[3]
    if not followed:
        return False
    keep_error(saved)
    try:
        known = followed_pairs.get((number, name_number))
        if known is None:
            shown = qualname_of(<object>type)
            known = followed_pairs[number, name_number] = any(
                [field.fullmatch(<object>name) and of.fullmatch(shown) for of, field in followed]
            )
    except Exception:
        known = False
    restore_error(saved)
    return known


cdef bint is_of_program(PyTypeObject *type) noexcept:
    """Whether a class without a number is one of the instrumented modules: it can get one then."""
    cdef PyObject *saved[3]
    cdef bint answer = False
    if not (<_Type *>type).tp_flags & Py_TPFLAGS_HEAPTYPE:
        return False
    keep_error(saved)
    try:
        module = module_of(<object>type)
        answer = PyUnicode_CheckExact(<PyObject *>module) and (
            module == "__main__" or module in list(_log.namespaces.values())
        )
    except Exception:
        pass
    restore_error(saved)
    return answer


cdef PyObject *value_in_dict(PyObject *obj, PyObject *name) noexcept:
    """The value of this name in an object's own dictionary: a new reference, or NULL."""
    cdef PyObject *names = PyObject_GenericGetDict(obj, NULL)
    cdef PyObject *value = NULL
    if names != NULL:
        value = PyDict_GetItemWithError(names, name)
        if value != NULL:
            Py_INCREF(value)
        Py_DECREF(names)
    if value == NULL:
        PyErr_Clear()
    return value


cdef PyObject *value_of_field(PyObject *obj, PyObject *name, bint is_cached) noexcept:
    """The same for whatever is a field; `is_cached`: a cached property, which asking for would compute."""
    cdef PyObject *value
    if is_cached:
        return value_in_dict(obj, name)
    value = PyObject_GenericGetAttr(obj, name)
    if value == NULL:
        PyErr_Clear()
    return value


cdef extern from *:
    """
    enum { IN_NOTHING, IN_LIST, IN_TUPLE, IN_DICT, IN_SET, IN_DEQUE };
    static inline int kind_of_container(PyObject *value, PyTypeObject *deque, int is_class) {
        if (PyList_Check(value)) return IN_LIST;
        if (PyDict_Check(value)) return IN_DICT;
        if (PyTuple_Check(value)) return IN_TUPLE;
        if (PyAnySet_CheckExact(value) || (is_class && PyAnySet_Check(value))) return IN_SET;
        if (Py_TYPE(value) == deque || (is_class && PyType_IsSubtype(Py_TYPE(value), deque))) return IN_DEQUE;
        return IN_NOTHING;
    }
    static inline Py_ssize_t size_of_container(PyObject *value, int kind) {
        return kind == IN_DICT ? PyDict_Size(value) : kind == IN_SET ? PySet_GET_SIZE(value) : Py_SIZE(value);
    }
    /* The element at a position, which moves on; borrowed. NULL: there is none any more. */
    static inline PyObject *element_at(PyObject *container, int kind, Py_ssize_t *position, PyTypeObject *deque) {
        PyObject *key = NULL, *value = NULL;
        Py_hash_t hash;
        switch (kind) {
        case IN_DICT: return PyDict_Next(container, position, &key, &value) ? value : NULL;
        case IN_SET: return _PySet_NextEntry(container, position, &key, &hash) ? key : NULL;
        }
        if (*position >= Py_SIZE(container)) return NULL;
        Py_ssize_t place = (*position)++;
        if (kind == IN_LIST) return PyList_GET_ITEM(container, place);
        if (kind == IN_TUPLE) return PyTuple_GET_ITEM(container, place);
        value = deque->tp_as_sequence->sq_item(container, place);
        if (value == NULL) PyErr_Clear();
        else Py_DECREF(value);   /* the deque has it */
        return value;
    }
    """
    enum:
        IN_NOTHING, IN_LIST, IN_TUPLE, IN_DICT, IN_SET, IN_DEQUE
    int kind_of_container(PyObject *value, PyTypeObject *deque, int is_class)
    Py_ssize_t size_of_container(PyObject *value, int kind)
    PyObject *element_at(PyObject *container, int kind, Py_ssize_t *position, PyTypeObject *deque)


cdef inline bint is_instance(PyObject *value) noexcept:
    """Whether it is an object with fields that can be recorded."""
    cdef PyTypeObject *type = Py_TYPE(value)
    if (<_Type *>type).tp_dealloc != class_dealloc and type != namespace_type:
        return False
    return not (
        PyType_Check(value) or PyModule_Check(value) or PyType_IsSubtype(type, local_type)
        or PyType_IsSubtype(type, enum_type)
    )


cdef HeldType *held_type(PyObject *value) noexcept:
    """The type of a value: whether it is a container, and whether its fields are recorded."""
    cdef PyTypeObject *type = Py_TYPE(value)
    cdef HeldType *known = held_types + (<uint64_t>type * <uint64_t>0x9E3779B97F4A7C15 >> (64 - TYPE_BITS))
    if LIKELY(known.type == type and known.version == (<_Type *>type).tp_version_tag and known.version):
        return known
    _PyType_Lookup(type, <PyObject *>name_of_len)  # gives the type a version
    known.type = type
    known.container = kind_of_container(value, deque_type, (<_Type *>type).tp_dealloc == class_dealloc)
    known.is_instance = is_instance(value)
    known.number = _log.known_type(<PyObject *>type) if known.is_instance else 0
    # one that has no number yet may get one
    known.version = 0 if known.is_instance and not known.number else (<_Type *>type).tp_version_tag
    return known


cdef void walk_value(Walk *walk, PyObject *value, int depth) noexcept:
    """The value of a field or an element of a container in it: logs an object, goes into a container."""
    cdef HeldType type = held_type(value)[0]
    if type.container and depth < DEEPEST:
        walk_container(walk, value, type.container, depth)
    if type.number:
        note_held(walk, value, type.number, FLAG_KNOWN if type.container else 0)
    elif type.is_instance and walk.unknown == NULL and walk.thread == NULL and is_of_program(type.type):
        walk.unknown = type.type


cdef void note_held(Walk *walk, PyObject *value, uint32_t number, uint32_t flags) noexcept:
    global next_way
    cdef uint64_t address = <uint64_t>value
    cdef Remembered *ways = remembered + WAYS * (mixed_up(walk.holder + walk.name, address) >> (64 - REMEMBERED_BITS))
    cdef Remembered *slot
    cdef int i
    for i in range(0 if flags else WAYS):
        slot = ways + i
        if (
            slot.value == address and slot.holder == walk.holder and slot.name == walk.name
            and slot.value_stamp == stamp_of(address)[0] and slot.holder_stamp == stamp_of(walk.holder)[0]
        ):
            return
    if walk.thread == NULL:
        walk.new += 1
        return
    if walk.new == 0:
        return  # it came meanwhile, and there is no room
    walk.new -= 1
    mark_seen(S, address)
    put(S, address, walk.holder, RAW_WHAT(number, walk.name), RAW_WORD(walk.thread.number, RAW_HOLDS, 0, flags))
    next_way += 1
    slot = ways + next_way % WAYS
    slot.holder, slot.value, slot.name = walk.holder, address, walk.name
    slot.holder_stamp, slot.value_stamp = stamp_of(walk.holder)[0], stamp_of(address)[0]


cdef void walk_container(Walk *walk, PyObject *container, int kind, int depth) noexcept:
    """Some of its elements: all of them if they are few, and others each time if they are many."""
    cdef uint64_t address = <uint64_t>container
    cdef Look *look = looks + (mixed_up(walk.holder + walk.name, address) >> (64 - LOOK_BITS))
    cdef Look now
    cdef Py_ssize_t size = size_of_container(container, kind)
    cdef Py_ssize_t most = EACH_LOOK
    cdef Py_ssize_t front = 0
    cdef Py_ssize_t more = 0
    now.holder, now.container, now.name, now.stamp = walk.holder, address, walk.name, stamp_of(address)[0]
    now.size, now.next, now.end = size, 0, -1
    if (
        look.container == address and look.holder == walk.holder and look.name == walk.name and look.stamp == now.stamp
    ):
        now.next, now.end = look.next, look.end
        if size > look.size and now.end >= 0:
            # what is new stands behind what was there, or before it; in a set it can be anywhere
            more = size - look.size if kind != IN_DICT and kind != IN_SET else 0
            now.next, now.end = 0 if kind == IN_SET or more > EACH_LOOK else now.end, -1
    if now.end < 0:
        most = size + 1
    walk_elements(walk, container, kind, depth, &front, min(more, <Py_ssize_t>EACH_LOOK))
    if walk_elements(walk, container, kind, depth, &now.next, most):
        now.end, now.next = now.next, 0
    elif now.end < 0:
        walk.is_cut = True
    if walk.thread != NULL:
        mark_seen(S, address)
        look[0] = now


cdef bint walk_elements(
    Walk *walk, PyObject *container, int kind, int depth, Py_ssize_t *position, Py_ssize_t most
) noexcept:
    """So many elements from a position on, which moves with them. True: it came to the end."""
    cdef PyObject *element
    cdef Py_ssize_t before
    while most > 0 and walk.left > 0:
        before = position[0]
        element = element_at(container, kind, position, deque_type)
        if element == NULL:
            return True
        walk.left -= 1
        walk_value(walk, element, depth + 1)
        if walk.is_cut:
            position[0] = before  # it is a container itself, and not done with
            return False
        most -= 1
    return False


cdef void prepare(Walk *walk, PyObject *obj, PyObject *name, uint32_t name_number, bint is_cached) noexcept:
    """Count what is new in a field, and number its types, which may let other threads run."""
    cdef PyObject *value
    cdef PyTypeObject *type
    cdef int times
    for times in range(8):
        walk.holder, walk.name, walk.thread = <uint64_t>obj, name_number, NULL
        walk.left, walk.new, walk.unknown, walk.is_cut = AT_ONCE, 0, NULL, False
        value = value_of_field(obj, name, is_cached)
        if value == NULL:
            return
        walk_value(walk, value, 0)
        type = walk.unknown
        if type != NULL:
            Py_INCREF(<PyObject *>type)
        Py_DECREF(value)  # before other threads run: it could be the last reference by then
        if type == NULL:
            return
        _log.number_of_type(<PyObject *>type)
        Py_DECREF(<PyObject *>type)


cdef void catch_up(
    Walk *walk, Probe *probe, PyObject *obj, PyObject *name, uint32_t name_number, uint32_t number, bint is_cached
) noexcept:
    """Prepare; and of containers that are large and new, log what there will be no room for with the read."""
    cdef Thread *thread
    cdef PyObject *value
    cdef int times
    for times in range(MOST_ROUNDS):
        prepare(walk, obj, name, name_number, is_cached)
        if not walk.is_cut:
            return
        thread = ready(probe.site, <uint64_t>(walk.new + 2))
        value = value_of_field(obj, name, is_cached) if thread != NULL else NULL
        if value == NULL:
            return
        mark_seen(S, <uint64_t>obj)
        put(
            S, <uint64_t>obj, name_number, RAW_WHAT(number, probe.site), RAW_WORD(thread.number, RAW_FIELD, KEY_FIELD, 0)
        )
        log_held(walk, thread, value)
        Py_DECREF(value)
    prepare(walk, obj, name, name_number, is_cached)


cdef void log_held(Walk *walk, Thread *thread, PyObject *value) noexcept:
    """Log the present value of a field. There is room for one more than was counted."""
    walk.thread, walk.is_cut = thread, False
    walk.left = AT_ONCE
    walk.new += 1
    walk_value(walk, value, 0)


cdef void load_followed(
    Probe *probe, PyObject *obj, PyObject *name, uint32_t name_number, uint32_t number, uint16_t flags
) noexcept:
    """Log a read of a field, and its value."""
    cdef Walk walk
    cdef Thread *thread
    cdef PyObject *value
    catch_up(&walk, probe, obj, name, name_number, number, False)
    thread = ready(probe.site, <uint64_t>(walk.new + 2))
    if thread == NULL:
        return
    put_access(
        S, <uint64_t>obj, name_number, RAW_WHAT(number, probe.site), RAW_WORD(thread.number, RAW_READ, KEY_FIELD, flags)
    )
    value = value_of_field(obj, name, False)
    if value != NULL:
        log_held(&walk, thread, value)
        Py_DECREF(value)


cdef void define_field(Probe *probe, PyObject *obj, uint32_t number) noexcept:
    """Define once the class of the objects that a field holds, itself or in a container."""
    cdef uint64_t here = <uint64_t>probe.site << 32 | number
    cdef uint64_t *last = defined_lately + (here * <uint64_t>0x9E3779B97F4A7C15 >> (64 - DEFINED_BITS))
    cdef PyObject *value
    cdef PyObject *element
    cdef HeldType type
    cdef PyObject *saved[3]
    cdef Py_ssize_t position
    cdef int depth
    if last[0] == here:
        return  # a site of many types, which push each other out of the probe's memory
    last[0] = here
    element = value = value_of_field(obj, probe.name, False)
    type.is_instance = False
    for depth in range(DEEPEST):
        if element == NULL:
            break
        type = held_type(element)[0]
        if type.container == IN_NOTHING:
            break
        position = 0
        element = element_at(element, type.container, &position, deque_type)
    if element == NULL or not type.is_instance:
        Py_XDECREF(value)
        return
    Py_INCREF(<PyObject *>type.type)
    Py_DECREF(value)  # before other threads run: it could be the last reference by then
    if type.number == 0 and is_of_program(type.type):
        type.number = _log.number_of_type(<PyObject *>type.type)
    Py_DECREF(<PyObject *>type.type)
    if type.number == 0:
        return
    keep_error(saved)
    try:
        field = number, probe.name_number, type.number
        if field not in defined_fields:
            defined_fields.add(field)
            _log.define(["field", *field])
    except Exception:
        pass
    restore_error(saved)
