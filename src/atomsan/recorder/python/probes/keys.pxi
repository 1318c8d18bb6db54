# Keys of dicts and sets: maps a key to the location of its element, the same for equal keys
#
# A key is told apart if its value can be found without running code of the program: `key_types.py` classifies types,
# and the values are read here. Only a type's first key runs Python code of ours.

cdef struct Key:
    uint64_t key
    uint8_t kind
    uint8_t is_loud      # Python code, though none of the program, would run to look it up

# How well a value is known.
cdef enum:
    UNTOLD = 0
    QUIET = 1            # hash and equality are compiled
    LOUD = 2             # they are Python code of the library, or generated

cdef enum:
    DEEPEST_VALUE = 8    # values in values
    NUMBERS = 1          # salts, which `key_types.py` knows nothing of
    NOTHING = 2
    OBJECTS = 3
    METHODS = 4
    FIRST_SALT = 16

cdef struct KeyClass:
    PyTypeObject *type
    PyTypeObject *root
    PyObject *fields     # a tuple of names
    uint64_t salt
    unsigned int version
    int how

cdef enum: RECENT_CLASSES = 64
cdef KeyClass *recent_classes[RECENT_CLASSES]
cdef dict key_classes = {}   # address of a type: that of its KeyClass. They stay, one for each address

cdef int TOLD_BY_NUMBER = key_types.NUMBER
cdef int TOLD_BY_FRACTION = key_types.FRACTION
cdef int TOLD_BY_TEXT = key_types.TEXT
cdef int TOLD_BY_HASH = key_types.HASHED
cdef int TOLD_BY_TIME = key_types.AWARE
cdef int TOLD_BY_ITEMS = key_types.TUPLE
cdef int TOLD_BY_MEMBERS = key_types.FROZENSET
cdef int TOLD_BY_FIELDS = key_types.FIELDS
cdef int TOLD_BY_RECORD = key_types.RECORD
cdef int TOLD_BY_PATH = key_types.PATH
cdef int TOLD_BY_RANGE = key_types.RANGE


cdef inline uint64_t mixed_with(uint64_t value, uint64_t salt) noexcept:
    value = (value ^ salt * <uint64_t>0x9E3779B97F4A7C15) * <uint64_t>0xBF58476D1CE4E5B9
    value = (value ^ value >> 31) * <uint64_t>0x94D049BB133111EB
    return value ^ value >> 29


# --- types of keys ---------------------------------------------------------------------------------------------------

cdef KeyClass *key_class(PyTypeObject *type, bint may_define) noexcept:
    """How keys of a type are told apart. NULL: the type is not known, and must not be looked at now."""
    cdef KeyClass **place = &recent_classes[(<uintptr_t>type >> 4) % RECENT_CLASSES]
    cdef KeyClass *found = place[0]
    cdef PyObject *saved[3]
    if found != NULL and found.type == type and found.version == (<_Type *>type).tp_version_tag and found.version:
        return found
    keep_error(saved)
    try:
        found = <KeyClass *><uintptr_t>key_classes.get(<uintptr_t>type, 0)
        if found != NULL and (found.version != (<_Type *>type).tp_version_tag or not found.version):
            found = NULL
        if found == NULL and may_define:
            found = classify(type)
    except Exception:
        found = NULL
    restore_error(saved)
    if found != NULL:
        place[0] = found
    return found


cdef KeyClass *classify(PyTypeObject *type) except? NULL:
    """Look at a type for the first time, or anew because it was changed. May let other threads run."""
    cdef bint is_interrupted
    cdef PyObject *result
    cdef KeyClass *found
    _PyType_Lookup(type, <PyObject *>name_of_hash)  # gives the type a version
    version = (<_Type *>type).tp_version_tag
    result = _log.call_hidden(key_types.key_type, (<object><PyObject *>type,), &is_interrupted)
    if result == NULL:
        return NULL
    known = <object>result
    Py_DECREF(result)
    found = <KeyClass *><uintptr_t>key_classes.get(<uintptr_t>type, 0)
    if found == NULL:
        found = <KeyClass *>calloc(1, sizeof(KeyClass))
        if found == NULL:
            return NULL
        key_classes[<uintptr_t>type] = <uintptr_t>found
    found.type = type
    found.how = 0 if known is None else known.how
    if known is not None:
        fields = tuple(map(sys.intern, known.fields))
        Py_XDECREF(found.fields)
        found.fields = new_ref(<PyObject *>fields)
        # a root is of the library, and stays, or is the type itself
        found.root = <PyTypeObject *>known.root
        found.salt = FIRST_SALT + <uint64_t>known.salt
    found.version = version
    return found


cdef bint is_identity(PyTypeObject *type) noexcept:
    cdef _Type *t = <_Type *>type
    if t.tp_hash == (<_Type *>&PyBaseObject_Type).tp_hash:
        return t.tp_richcompare == (<_Type *>&PyBaseObject_Type).tp_richcompare
    # Members of an enumeration hash by name, and are equal only to themselves.
    return (
        PyType_IsSubtype(type, enum_type) and t.tp_richcompare == (<_Type *>&PyBaseObject_Type).tp_richcompare
        and _PyType_Lookup(type, <PyObject *>name_of_hash) == enum_hash
    )


cdef inline bint is_number(PyTypeObject *type) noexcept:
    return type == &PyLong_Type or type == &PyBool_Type or type == &PyFloat_Type or type == &PyComplex_Type


# --- values ----------------------------------------------------------------------------------------------------------

cdef inline uint64_t number_key(PyObject *key) noexcept:
    """Its hash, which equal numbers share; but -1 is -1, because its hash is that of -2, and -1 is no number's hash."""
    cdef Py_hash_t hash = PyObject_Hash(key)
    if hash == -2 and equals_minus_one(key):
        return <uint64_t>-1
    return <uint64_t>hash


cdef int number_of(PyObject *key, KeyClass *known, uint64_t *number) noexcept:
    """The same for numbers of other types."""
    cdef Py_hash_t hash
    if known.how == TOLD_BY_FRACTION:
        return fraction_of(key, known, number)
    hash = (<_Type *>known.root).tp_hash(key)
    if hash == -1:
        PyErr_Clear()
        return UNTOLD
    number[0] = <uint64_t>hash
    if hash == -2:
        if known.root == &PyLong_Type or known.root == &PyFloat_Type or known.root == &PyComplex_Type:
            if equals_minus_one(key):
                number[0] = <uint64_t>-1
        elif is_minus_one(<object>key):
            number[0] = <uint64_t>-1
    return QUIET


cdef bint is_minus_one(object number) noexcept:
    """Of a compiled number: `Decimal(-1)`."""
    try:
        return number == -1
    except Exception:
        return False


cdef int fraction_of(PyObject *key, KeyClass *known, uint64_t *number) noexcept:
    """As `Fraction.__hash__` finds it, which says what the same number of another type has."""
    try:
        above = generic_attribute(<object>key, <object>PyTuple_GET_ITEM(known.fields, 0))
        below = generic_attribute(<object>key, <object>PyTuple_GET_ITEM(known.fields, 1))
        if type(above) is not int or type(below) is not int:
            return UNTOLD
        if below == 1:
            number[0] = number_key(<PyObject *>above)
            return LOUD
        try:
            found = hash(hash(abs(above)) * pow(below, -1, sys.hash_info.modulus))
        except ValueError:
            found = sys.hash_info.inf
        found = found if above >= 0 else -found
        number[0] = <uint64_t><Py_hash_t>(-2 if found == -1 else found)
        return LOUD
    except Exception:
        return UNTOLD


cdef int value_of(PyObject *key, uint64_t *value, bint may_define, int depth) noexcept:
    """A number that equal keys share, and others do not but by an accident of 64 bits; UNTOLD: there is none."""
    cdef PyTypeObject *type = Py_TYPE(key)
    cdef KeyClass *known
    cdef int told
    if type == &PyUnicode_Type:
        value[0] = <uint64_t>PyObject_Hash(key)
        return QUIET
    if is_number(type):
        value[0] = mixed_with(number_key(key), NUMBERS)
        return QUIET
    if key == Py_None:
        value[0] = mixed_with(0, NOTHING)
        return QUIET
    if depth > DEEPEST_VALUE:
        return UNTOLD
    if type == &PyTuple_Type:
        return items_of(key, value, may_define, depth)
    if is_identity(type):
        value[0] = _log.serial_of(key, may_define)
        told = QUIET if value[0] else UNTOLD
        value[0] = mixed_with(value[0], OBJECTS)
        return told
    if type == &PyMethod_Type or type == &PyCFunction_Type:
        return method_of(key, value, may_define)
    known = key_class(type, may_define)
    if known == NULL or not known.how:
        return UNTOLD
    if known.how == TOLD_BY_NUMBER or known.how == TOLD_BY_FRACTION:
        told = number_of(key, known, value)
        value[0] = mixed_with(value[0], NUMBERS)
        return told
    return value_of_class(key, known, value, may_define, depth)


cdef int value_of_class(PyObject *key, KeyClass *known, uint64_t *value, bint may_define, int depth) noexcept:
    cdef uint32_t number
    if known.how == TOLD_BY_TEXT:
        value[0] = <uint64_t>(<_Type *>&PyUnicode_Type).tp_hash(key)
        return QUIET
    if known.how == TOLD_BY_ITEMS:
        return items_of(key, value, may_define, depth)
    if known.how == TOLD_BY_MEMBERS:
        return members_of(key, known, value, may_define, depth)
    if known.how == TOLD_BY_FIELDS:
        return fields_of(key, known, known.salt, value, may_define, depth)
    if known.how == TOLD_BY_RECORD:
        number = _log.number_of_type(<PyObject *>known.type) if may_define else _log.known_type(<PyObject *>known.type)
        return fields_of(key, known, mixed_with(number, FIRST_SALT), value, may_define, depth) if number else UNTOLD
    if known.how == TOLD_BY_PATH:
        return path_of(key, known, value, may_define)
    if known.how == TOLD_BY_RANGE:
        return range_of(key, known, value)
    if known.how == TOLD_BY_TIME and not has_plain_zone(key):
        return UNTOLD
    return hash_of(key, known, value)


cdef int hash_of(PyObject *key, KeyClass *known, uint64_t *value) noexcept:
    """By the compiled hash of the root."""
    cdef Py_hash_t hash = (<_Type *>known.root).tp_hash(key)
    if hash == -1:
        PyErr_Clear()
        return UNTOLD
    value[0] = mixed_with(<uint64_t>hash, known.salt)
    return QUIET


cdef int items_of(PyObject *key, uint64_t *value, bint may_define, int depth) noexcept:
    """Of tuples of any class, which are equal if their items are."""
    cdef Py_ssize_t i
    cdef uint64_t all = mixed_with(<uint64_t>PyTuple_GET_SIZE(key), FIRST_SALT)
    cdef uint64_t one = 0
    cdef int told, least = QUIET
    for i in range(PyTuple_GET_SIZE(key)):
        told = value_of(PyTuple_GET_ITEM(key, i), &one, may_define, depth + 1)
        if told == UNTOLD:
            return UNTOLD
        least = max(least, told)
        all = mixed_with(all ^ one, <uint64_t>i + 1)
    value[0] = all
    return least


cdef int members_of(PyObject *key, KeyClass *known, uint64_t *value, bint may_define, int depth) noexcept:
    """Of a frozenset, in any order. A definition could let other threads run, but nobody changes it."""
    cdef Py_ssize_t position = 0
    cdef PyObject *member = NULL
    cdef Py_hash_t hash = 0
    cdef uint64_t all = 0, one = 0
    cdef int told, least = QUIET
    while _PySet_NextEntry(key, &position, &member, &hash):
        told = value_of(member, &one, may_define, depth + 1)
        if told == UNTOLD:
            return UNTOLD
        least = max(least, told)
        all += mixed_with(one, known.salt)
    value[0] = mixed_with(all, known.salt)
    return least


cdef int fields_of(
    PyObject *key, KeyClass *known, uint64_t salt, uint64_t *value, bint may_define, int depth
) noexcept:
    cdef Py_ssize_t i
    cdef uint64_t all = salt, one = 0
    cdef PyObject *fields = known.fields
    cdef PyObject *field
    cdef int told
    for i in range(PyTuple_GET_SIZE(fields)):
        # no property and no __getattribute__ stands for it: see `key_types.py`
        field = PyObject_GenericGetAttr(key, PyTuple_GET_ITEM(fields, i))
        if field == NULL:
            PyErr_Clear()
            return UNTOLD
        told = value_of(field, &one, may_define, depth + 1)
        Py_DECREF(field)
        if told == UNTOLD:
            return UNTOLD
        all = mixed_with(all ^ one, <uint64_t>i + 1)
    value[0] = all
    return LOUD


cdef int method_of(PyObject *key, uint64_t *value, bint may_define) noexcept:
    """A bound method, which is another object each time: by its object and its function."""
    cdef uint64_t one = 0
    cdef uint64_t other
    if Py_TYPE(key) == &PyMethod_Type:
        if Py_TYPE(PyMethod_GET_FUNCTION(key)) != &PyFunction_Type:
            return UNTOLD
        one = _log.serial_of(PyMethod_GET_SELF(key), may_define)
        other = _log.serial_of(PyMethod_GET_FUNCTION(key), may_define)
        if not one or not other:
            return UNTOLD
    else:
        other = <uint64_t>PyCFunction_GET_FUNCTION(key)
        if PyCFunction_GET_SELF(key) != NULL:
            one = _log.serial_of(PyCFunction_GET_SELF(key), may_define)
            if not one:
                return UNTOLD
    value[0] = mixed_with(mixed_with(one, METHODS), other)
    return QUIET


cdef bint has_plain_zone(PyObject *key) noexcept:
    """Whether a time has no time zone, or one of the library, which is compiled."""
    cdef PyObject *zone = PyObject_GenericGetAttr(key, <PyObject *>name_of_tzinfo)
    cdef bint answer
    if zone == NULL:
        PyErr_Clear()
        return False
    answer = zone == Py_None
    if not answer:
        answer = not (<_Type *>Py_TYPE(zone)).tp_flags & Py_TPFLAGS_HEAPTYPE or is_compiled_zone(Py_TYPE(zone))
    Py_DECREF(zone)
    return answer


cdef bint is_compiled_zone(PyTypeObject *type) noexcept:
    """`zoneinfo.ZoneInfo`, as the library compiles it."""
    try:
        module = sys.modules.get("_zoneinfo")
        return module is not None and <PyTypeObject *>module.ZoneInfo == type
    except Exception:
        return False


cdef int path_of(PyObject *key, KeyClass *known, uint64_t *value, bint may_define) noexcept:
    cdef PyObject *saved[3]
    cdef int told = UNTOLD
    keep_error(saved)
    try:
        text = path_text(<object>key, known, may_define)
        if text is not None:
            value[0] = mixed_with(<uint64_t><Py_hash_t>hash(text), known.salt)
            told = LOUD
    except Exception:
        pass
    restore_error(saved)
    return told


cdef object path_text(object key, KeyClass *known, bint may_define):
    """What a path is compared by. Up to Python 3.11 it has its parts from the start; later, its text once it was used."""
    cdef bint is_interrupted
    cdef PyObject *result
    folds = (<object>known.root).__name__ == "PureWindowsPath"
    if sys.version_info < (3, 12):
        parts = generic_attribute(key, "_parts")
        text = "\0".join([
            generic_attribute(key, "_drv"), generic_attribute(key, "_root"), *parts
        ])
        return text.lower() if folds else text
    try:
        text = generic_attribute(key, "_str")
    except AttributeError:
        if not may_define or not type(key).__module__.startswith("pathlib"):
            return None
        result = _log.call_hidden(str, (key,), &is_interrupted)
        if result == NULL:
            return None
        text = <object>result
        Py_DECREF(result)
    return text.lower() if folds else text


cdef int range_of(PyObject *key, KeyClass *known, uint64_t *value) noexcept:
    """As a sequence: how many, from where, and by which step if there is a second."""
    cdef _Range *r = <_Range *>key
    cdef uint64_t length = number_key(r.length)
    value[0] = mixed_with(length, known.salt)
    if length:
        value[0] = mixed_with(value[0] ^ number_key(r.start), 1)
    if length > 1:
        value[0] = mixed_with(value[0] ^ number_key(r.step), 2)
    return QUIET


# --- keys ------------------------------------------------------------------------------------------------------------

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
        _log.define_key(found.kind, found.key, key)
        recent_keys[place] = mixed


cdef void key_of(PyObject *key, Key *found) noexcept:
    """The location of the element of a dict or set. May send a definition."""
    cdef PyTypeObject *type = Py_TYPE(key)
    if is_number(type):
        found.is_loud = False
        found.kind = KEY_NUMBER
        found.key = number_key(key)
        # A small integer is its own key, and needs no name.
        if type != &PyBool_Type and <Py_ssize_t>found.key != small_value(key):
            name_key(found, key)
        return
    find_key(key, found, True)
    if found.kind == KEY_HASH or found.kind == KEY_NUMBER:
        name_key(found, key)


cdef void find_key(PyObject *key, Key *found, bint may_define) noexcept:
    """The same without a name. Without `may_define`, nothing that could let another thread run."""
    cdef PyTypeObject *type = Py_TYPE(key)
    cdef KeyClass *known
    cdef int told
    found.is_loud = False
    found.kind = KEY_HASH
    if type == &PyUnicode_Type:
        found.key = <uint64_t>PyObject_Hash(key)
        return
    if is_number(type):
        found.kind = KEY_NUMBER
        found.key = number_key(key)
        return
    if key != Py_None and is_identity(type):
        found.kind = KEY_OBJECT
        found.key = <uint64_t>key
        if may_define and not _log.number_of_type(<PyObject *>type):
            found.kind = KEY_WHOLE
            found.key = 0
        return
    told = UNTOLD
    known = NULL if key == Py_None or type == &PyTuple_Type else key_class(type, may_define)
    if known != NULL and (known.how == TOLD_BY_NUMBER or known.how == TOLD_BY_FRACTION):
        found.kind = KEY_NUMBER
        told = number_of(key, known, &found.key)
    else:
        told = value_of(key, &found.key, may_define, 0)
    found.is_loud = told == LOUD
    if told == UNTOLD:
        found.kind = KEY_WHOLE
        found.key = 0


cdef bint is_there_aloud(PyObject *obj, PyObject *key, uint32_t shape) noexcept:
    """Whether a key is in a dict or set, if Python code of the library runs to find out. May let other threads run."""
    cdef bint is_interrupted
    cdef bint answer
    cdef PyObject *result
    look = set.__contains__ if shape == SET else dict.__contains__
    result = _log.call_hidden(look, (<object>obj, <object>key), &is_interrupted)
    answer = result == Py_True
    Py_XDECREF(result)
    return answer


cdef void learn_keys(PyObject *obj, uint32_t shape) noexcept:
    """See to it that the types of the keys in a dict or set are known when these are logged."""
    cdef Py_ssize_t position = 0
    cdef PyObject *key = NULL
    cdef PyObject *value = NULL
    cdef Py_hash_t hash = 0
    cdef int rounds = 0
    if shape != SET and shape != MAPPING and shape != MISSING or size_of(obj, shape) > MOST:
        return
    while _PySet_NextEntry(obj, &position, &key, &hash) if shape == SET else PyDict_Next(obj, &position, &key, &value):
        if Py_TYPE(key) != &PyUnicode_Type and not is_number(Py_TYPE(key)) and is_unknown(key) and rounds < MOST:
            Py_INCREF(key)
            learn_key(key)
            Py_DECREF(key)
            # others may have changed the container meanwhile
            rounds += 1
            position = 0


cdef bint is_unknown(PyObject *key) noexcept:
    cdef Key found
    if key == Py_None or is_identity(Py_TYPE(key)):
        return False
    if Py_TYPE(key) != &PyTuple_Type and key_class(Py_TYPE(key), False) != NULL and not key_class(Py_TYPE(key), False).how:
        return False
    find_key(key, &found, False)
    return found.kind == KEY_WHOLE


cdef inline void learn_key(PyObject *key) noexcept:
    cdef Key found
    find_key(key, &found, True)
