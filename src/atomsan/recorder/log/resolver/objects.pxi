# Objects and locations: which object is at an address now, and which location a key of it is.
#
# State: `Objects`. A row for each object that is alive and was seen; rows of dead ones are used again, serials never
# are.
# Dead locations are handed out (`take_dead`), for nothing is known of them any more that anybody could need: of an object
# that is no namespace and has none of its own, through which its locations could still be reached.
# Always: a location is never another one's again, although addresses are used again: RAW_FREE takes away everything
# that hangs on the address (`free_object`). A field of a namespace and the same name used as a string key of it are one
# location, which is found by the hash of the name; so are the attributes of an object and the keys of its namespace.

cdef enum: HELD_BITS = 12

cdef struct Object:
    uint64_t address
    uint64_t serial       # never used again; 0: the row is free
    uint64_t owner_serial
    uint32_t owner        # the row of the object whose namespace this is, if its serial is still that
    uint32_t number       # for its name; NONE: it has none yet
    uint32_t type
    uint32_t entries      # the first of its list in the address table; 0: none
    uint32_t primitive
    uint32_t whole        # its row as a container that was accessed as a whole; NONE: it was not
    uint8_t watch         # of the entries of its elements (`wholes.pxi`)
    uint8_t is_namespace
    uint8_t is_key        # of another object
    uint8_t is_holder     # of another object, by a field that an atomic set goes through

cdef struct Held:
    uint64_t object       # both by serial
    uint64_t holder
    uint32_t name

cdef struct Objects:
    Object *rows
    Pool pool             # of them
    uint64_t serial       # the last one given out
    Rows namespaces       # addresses that `define_namespace` named
    Rows dead             # numbers of objects that died since the last `take_dead`
    Rows dead_locations   # and of their locations
    Held *held            # pairs that were handed out lately, by their hash: most come again


cdef void free_objects(Objects *objects) noexcept nogil:
    free(objects.rows)
    free_rows(&objects.namespaces)
    free_rows(&objects.dead)
    free_rows(&objects.dead_locations)
    free(objects.held)


cdef inline Object *object_row(State *s, uint32_t row) noexcept nogil:
    return s.objects.rows + row


cdef uint32_t object_at(State *s, uint64_t address) except? 0xFFFFFFFF nogil:
    """The row of the object that is at this address now."""
    cdef uint32_t found = find(&s.table, address, AN_OBJECT, 0), row
    cdef Object *obj
    if found:
        return entry_at(&s.table, found).value
    row = new_slot(&s.objects.pool, <void **> &s.objects.rows, sizeof(Object))
    obj = object_row(s, row)
    s.objects.serial += 1
    obj.address, obj.serial = address, s.objects.serial
    obj.owner = obj.number = obj.primitive = obj.whole = NONE
    obj.watch = 0
    obj.type = obj.entries = 0
    obj.is_key = obj.is_holder = False
    obj.is_namespace = s.objects.namespaces.count != 0 and find(&s.table, address, A_NAMESPACE, 0) != 0
    insert(&s.table, address, AN_OBJECT, 0, row, &obj.entries)
    return row


cdef int free_object(State *s, uint64_t address) except -1 nogil:
    """RAW_FREE."""
    cdef uint32_t found = find(&s.table, address, AN_OBJECT, 0), row
    cdef bint is_last
    cdef Object *obj
    if not found:
        return 0
    row = entry_at(&s.table, found).value
    obj = object_row(s, row)
    is_last = not obj.is_namespace and obj.owner == NONE
    if obj.primitive != NONE:
        free_primitive(s, obj.primitive)
        obj = object_row(s, row)
    if s.sifting.is_on and obj.number != NONE and obj.number >= s.sifting.object_base:
        mark_dead(s, obj)
    while obj.entries:
        found = obj.entries
        if entry_at(&s.table, found).kind == AN_ITEM:
            free_circle(&s.nodes, entry_at(&s.table, found).value)
        elif entry_at(&s.table, found).kind == AN_ELEMENT:
            free_element(&s.wholes, entry_at(&s.table, found).value)
        elif is_last and is_location(entry_at(&s.table, found)):
            add_number(&s.objects.dead_locations, entry_at(&s.table, found).value)
        remove(&s.table, found, &obj.entries)
    if obj.whole != NONE:
        free_whole(&s.wholes, obj.whole)
    if is_last and obj.number != NONE:
        add_number(&s.objects.dead, obj.number)
    obj.serial = 0
    give_slot(&s.objects.pool, s.objects.rows, sizeof(Object), row)
    return 0


cdef int alias(State *s, const RawRecord *r) except -1 nogil:
    """RAW_ALIAS. Its type is that of the object at `key`."""
    cdef uint32_t row, owner
    cdef Object *obj
    if r.object == 0 or r.key == 0:
        s.dropped.strange += 1
        return 0
    row = object_at(s, r.object)
    owner = object_at(s, r.key)
    if row != owner:
        obj = object_row(s, row)
        obj.owner = owner
        obj.owner_serial = object_row(s, owner).serial
        obj = object_row(s, owner)
        if obj.type == 0:
            obj.type = r.type
    return make_namespace(s, owner)


cdef int add_namespace(State *s, uint64_t address) except -1 nogil:
    """The object at this address, now or soon, is a namespace."""
    cdef uint32_t found = find(&s.table, address, AN_OBJECT, 0)
    if found:
        make_namespace(s, entry_at(&s.table, found).value)
    if not find(&s.table, address, A_NAMESPACE, 0):
        insert(&s.table, address, A_NAMESPACE, 0, 0, NULL)
        (<uint64_t *> new_row(&s.objects.namespaces, 8))[0] = address
    return 0


cdef int make_namespace(State *s, uint32_t row) except -1 nogil:
    """Let the fields that are known already be found by the hashes of their names."""
    cdef Object *obj = object_row(s, row)
    cdef uint32_t number = obj.entries
    cdef uint64_t hash
    cdef Entry *entry
    if obj.is_namespace:
        return 0
    obj.is_namespace = True
    while number:
        entry = entry_at(&s.table, number)
        number = entry.after
        if entry.kind == KEY_FIELD:
            hash = name_hash(&s.program, entry.key)
        elif entry.kind == KEY_HASH:
            hash = entry.key
        else:
            continue
        # new entries go to the front of the list, which was passed
        if not find(&s.table, obj.address, FIELD_BY_HASH, hash):
            insert_location(s, obj.address, FIELD_BY_HASH, hash, entry.value, obj, SHARED)
    return 0


cdef uint32_t insert_location(
    State *s, uint64_t address, uint8_t kind, uint64_t key, uint32_t value, Object *of, uint32_t thread
) except? 0xFFFFFFFF nogil:
    """A new entry of a location; returns its number."""
    cdef uint32_t number = insert(&s.table, address, kind, key, value, &of.entries)
    if of.watch and is_element(entry_at(&s.table, number)):
        entry_at(&s.table, number).watch = of.watch
    if s.sifting.is_on:
        entry_at(&s.table, number).thread = <uint16_t> min(thread, <uint32_t> SHARED)
        add_pair(&s.sifting.new_entries, number, value)
    return number


cdef uint32_t location_of(State *s, const RawRecord *r, const Thread *t) except? 0xFFFFFFFF nogil:
    """The location of an access that the table does not know as it stands."""
    cdef uint32_t row = object_at(s, r.object), owner, found, value, shown = 0
    cdef Object *obj = object_row(s, row)
    cdef uint8_t kind = r.key_kind
    cdef uint64_t key = r.key
    if obj.type == 0 and not r.flags & (FLAG_QUEUE | FLAG_STATE):
        obj.type = r.type
    owner = owner_of(s, row)
    if kind == KEY_STRUCTURE or kind == KEY_WHOLE:
        key = 0
    elif kind == KEY_OBJECT:
        found = object_at(s, key)
        shown = object_number(s, found, NONE, 0, KEY_FIELD, False, False)
        object_row(s, found).is_key = True
        key = object_row(s, found).serial
        kind = KEY_IDENTITY
    obj = object_row(s, owner)
    if obj.is_namespace and (kind == KEY_FIELD or kind == KEY_HASH):
        if kind == KEY_FIELD:
            key = name_hash(&s.program, key)
        kind = FIELD_BY_HASH
    found = find(&s.table, obj.address, kind, key)
    if found:
        value = used_by(&s.table, found, r.thread)
    else:
        value = s.symbols.locations
        found = insert_location(s, obj.address, kind, key, value, obj, r.thread)
        add_location(s, r, t, row, owner, kind, shown if kind == KEY_IDENTITY else key)
    if r.op <= RAW_WRITE:
        touch(s, r, found)
    # the usual access finds it without asking whose namespace this is
    if r.key_kind != KEY_OBJECT and not find(&s.table, r.object, r.key_kind, r.key):
        insert_location(s, r.object, r.key_kind, r.key, value, object_row(s, row), r.thread)
    return value


cdef inline uint32_t owner_of(State *s, uint32_t row) noexcept nogil:
    """The object whose namespace this one is, or itself."""
    cdef Object *obj = object_row(s, row)
    if obj.owner != NONE:
        if object_row(s, obj.owner).serial == obj.owner_serial:
            return obj.owner
        obj.owner = NONE
    return row


cdef int add_location(
    State *s, const RawRecord *r, const Thread *t, uint32_t row, uint32_t owner, uint8_t kind, uint64_t key
) except -1 nogil:
    """The first access to a location, of the object in `owner`, which was reached by way of that in `row`."""
    cdef uint32_t via = NONE, number, part = 0, primitive = 0
    if r.flags & FLAG_QUEUE:
        part, primitive = PART_PICKED if r.flags & FLAG_PICKS else PART_ITEMS, 1 + OF_QUEUE
    elif r.flags & FLAG_STATE:
        part, primitive = PART_STATE, 1 + <uint32_t> min(r.key, <uint64_t> OF_SELF)
        if primitive > OF_SELF:
            part = PART_SELF
    if owner == row and part != PART_SELF:
        via = primitive_reached_through(s, r, t) if part else reached_through(s, r, t)
    # an object whose namespace is used is no container, though nothing else was seen of it
    number = object_number(
        s, owner, via, r.site, r.key_kind if owner == row else KEY_FIELD,
        owner == row and r.flags & FLAG_CLASS != 0, primitive,
    )
    if kind == FIELD_BY_HASH and r.key_kind == KEY_FIELD:
        kind, key = KEY_FIELD, r.key
    return new_location(s, NewLocation(key, number, r.site, kind, part))


cdef int name_field(State *s, const RawRecord *r, const Thread *t) except -1 nogil:
    """RAW_FIELD."""
    if r.object == 0 or r.key_kind != KEY_FIELD:
        s.dropped.strange += 1
    elif not find(&s.table, r.object, KEY_FIELD, r.key):
        location_of(s, r, t)
    return 0


cdef int holds(State *s, const RawRecord *r) except -1 nogil:
    """RAW_HOLDS. Who held something is not sifted out: what it held may be everybody's."""
    cdef uint32_t row, holder, found, number
    cdef uint64_t serial
    cdef Object *obj
    cdef Held *held
    if r.object == 0 or r.key == 0 or r.site == 0:
        s.dropped.strange += 1
        return 0
    found = find(&s.table, r.key, KEY_FIELD, r.site)
    if not found:
        s.dropped.unmatched += 1   # its read was dropped
        return 0
    row = object_at(s, r.object)
    holder = object_at(s, r.key)
    obj = object_row(s, row)
    if r.flags & FLAG_KNOWN and obj.number == NONE:
        return 0
    if s.objects.held == NULL:
        s.objects.held = <Held *> grown(NULL, 0, sizeof(Held) << HELD_BITS)
    object_row(s, holder).is_holder = True
    serial = object_row(s, holder).serial
    held = s.objects.held + (raw_hash(obj.serial, r.site, serial) >> (64 - HELD_BITS))
    if held.object == obj.serial and held.holder == serial and held.name == r.site:
        return 0
    held.object, held.holder, held.name = obj.serial, serial, r.site
    if obj.type == 0:
        obj.type = r.type
    number = object_number(s, row, NONE, 0, KEY_FIELD, False, False)
    return add_pair(&s.symbols.new_holds, number, entry_at(&s.table, found).value)
