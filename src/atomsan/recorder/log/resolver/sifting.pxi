# Sifting: leaves out objects that only one thread used and that died before their events were handed out. Nothing that
# another thread does can come between accesses to such an object, so nothing is lost with them.
#
# State: `Sifting`, about what came since the last `sift`. Other parts note in it, while it `is_on`, where they keep
# numbers of new locations and objects: the address table (`new_entries`), primitives (`new_vias`), objects
# (`new_numbers`) and threads (`recent_threads`).
# Always: what has been handed out keeps its number. Only numbers from `location_base` and `object_base` on are given
# again, and every place that holds one is in one of the lists, or a row of `symbols.pxi`.

cdef struct Sifting:
    bint is_on            # `sift` is going to be called before each `take`
    uint32_t location_base    # locations from here on are new
    uint32_t object_base
    Rows new_entries      # of NewPair: entry, location
    Rows new_vias         # of NewPair: primitive, location
    Rows new_numbers      # of NewPair: row of an object, its number
    Rows recent_threads   # raw numbers of those that read at sites that feed others
    uint8_t *dead_locations   # from the base on: whether it is left out
    size_t dead_location_room
    uint8_t *dead_objects
    size_t dead_object_room
    size_t dead_count     # of objects


cdef void free_sifting(Sifting *sifting) noexcept nogil:
    free_rows(&sifting.new_entries)
    free_rows(&sifting.new_vias)
    free_rows(&sifting.new_numbers)
    free_rows(&sifting.recent_threads)
    free(sifting.dead_locations)
    free(sifting.dead_objects)


cdef int mark_dead(State *s, const Object *obj) except -1 nogil:
    """An object dies. If all that is known of it is new, and one thread did it all, it is left out."""
    cdef Entry *entry
    cdef uint32_t number = obj.entries, thread = SHARED
    if obj.is_namespace or obj.is_key or obj.is_holder or obj.owner != NONE:
        return 0
    while number:
        entry = entry_at(&s.table, number)
        number = entry.after
        if not is_location(entry):
            continue
        if entry.thread == SHARED or entry.value < s.sifting.location_base:
            return 0
        if thread != SHARED and thread != entry.thread:
            return 0
        thread = entry.thread
    need_marks(s)
    number = obj.entries
    while number:
        entry = entry_at(&s.table, number)
        number = entry.after
        if is_location(entry):
            s.sifting.dead_locations[entry.value - s.sifting.location_base] = True
    s.sifting.dead_objects[obj.number - s.sifting.object_base] = True
    s.sifting.dead_count += 1
    return 0


cdef int need_marks(State *s) except -1 nogil:
    """A mark for each new location and object."""
    cdef Sifting *sifting = &s.sifting
    cdef size_t locations = s.symbols.locations - sifting.location_base
    cdef size_t objects = s.symbols.objects - sifting.object_base
    ensure_room(<void **> &sifting.dead_locations, &sifting.dead_location_room, locations, 1)
    return ensure_room(<void **> &sifting.dead_objects, &sifting.dead_object_room, objects, 1)


cdef int sift_events(State *s) except -1 nogil:
    """Leave out what was marked since the last time, and start anew."""
    cdef size_t i
    if s.sifting.dead_count:
        leave_out(s)
    for i in range(s.sifting.recent_threads.count):
        s.threads.rows[number_at(&s.sifting.recent_threads, i)].is_noted = False
    s.sifting.recent_threads.count = 0
    s.sifting.location_base, s.sifting.object_base = s.symbols.locations, s.symbols.objects
    s.sifting.new_entries.count = s.sifting.new_numbers.count = s.sifting.new_vias.count = 0
    return 0


# The numbers that new locations and objects have without those that are left out.
cdef struct Places:
    uint32_t *locations   # by number, from the base on; NONE: left out
    uint32_t *objects
    uint32_t location_base
    uint32_t object_base


cdef int leave_out(State *s) except -1 nogil:
    cdef size_t locations = s.symbols.locations - s.sifting.location_base
    cdef size_t objects = s.symbols.objects - s.sifting.object_base
    cdef Places places
    need_marks(s)
    places.location_base, places.object_base = s.sifting.location_base, s.sifting.object_base
    places.locations = <uint32_t *> resized(NULL, 4 * (locations + 1))
    places.objects = <uint32_t *> resized(NULL, 4 * (objects + 1))
    s.symbols.locations = number_places(places.locations, s.sifting.dead_locations, locations, places.location_base)
    s.symbols.objects = number_places(places.objects, s.sifting.dead_objects, objects, places.object_base)
    leave_out_events(&s.events, &places)
    renumber_new(&s.symbols, &places)
    renumber_dead(&s.objects, &places)
    renumber_kept(s, &places)
    memset(s.sifting.dead_locations, 0, locations)
    memset(s.sifting.dead_objects, 0, objects)
    s.sifting.dead_count = 0
    free(places.locations)
    free(places.objects)
    return 0


cdef uint32_t number_places(uint32_t *places, const uint8_t *is_dead, size_t count, uint32_t base) noexcept nogil:
    """Number what is left from `base` on; returns the number after the last."""
    cdef size_t i
    for i in range(count):
        places[i] = NONE if is_dead[i] else base
        base += not is_dead[i]
    return base


cdef inline uint32_t location_place(const Places *places, uint32_t location) noexcept nogil:
    """The new number of a location, or NONE."""
    if location == NONE or location < places.location_base:
        return location
    return places.locations[location - places.location_base]


cdef inline uint32_t object_place(const Places *places, uint32_t number) noexcept nogil:
    return number if number < places.object_base else places.objects[number - places.object_base]


cdef void leave_out_events(Events *events, const Places *places) noexcept nogil:
    cdef size_t i, kept = 0
    cdef uint32_t target
    for i in range(events.count):
        target = events.target[i]
        if events.op[i] <= RAW_WRITE and target >= places.location_base:
            target = places.locations[target - places.location_base]
            if target == NONE:
                continue
        events.thread[kept], events.op[kept] = events.thread[i], events.op[i]
        events.target[kept], events.site[kept] = target, events.site[i]
        kept += 1
    events.count = kept


cdef void renumber_new(Symbols *symbols, const Places *places) noexcept nogil:
    """In the rows of what is new."""
    cdef NewLocation *locations = <NewLocation *> symbols.new_locations.rows
    cdef NewObject *objects = <NewObject *> symbols.new_objects.rows
    cdef NewPrimitive *primitives = <NewPrimitive *> symbols.new_primitives.rows
    cdef NewPair *holds = <NewPair *> symbols.new_holds.rows
    cdef size_t i, kept = 0
    for i in range(symbols.new_locations.count):
        if places.locations[i] == NONE:
            continue
        locations[kept] = locations[i]
        locations[kept].object = object_place(places, locations[kept].object)
        if locations[kept].kind == KEY_IDENTITY:
            locations[kept].key = object_place(places, <uint32_t> locations[kept].key)
        kept += 1
    symbols.new_locations.count = kept
    kept = 0
    for i in range(symbols.new_objects.count):
        if places.objects[i] != NONE:
            objects[kept] = objects[i]
            objects[kept].via = location_place(places, objects[kept].via)
            kept += 1
    symbols.new_objects.count = kept
    for i in range(symbols.new_primitives.count):
        primitives[i].via = location_place(places, primitives[i].via)
    kept = 0
    for i in range(symbols.new_holds.count):
        holds[kept].second = location_place(places, holds[i].second)
        holds[kept].first = object_place(places, holds[i].first)
        kept += holds[kept].first != NONE and holds[kept].second != NONE
    symbols.new_holds.count = kept


cdef void renumber_dead(Objects *objects, const Places *places) noexcept nogil:
    """Of what is left out nobody knows, so nobody is told that it died."""
    cdef uint32_t *numbers = <uint32_t *> objects.dead.rows
    cdef size_t i, kept = 0
    for i in range(objects.dead.count):
        numbers[kept] = object_place(places, numbers[i])
        kept += numbers[kept] != NONE
    objects.dead.count = kept
    numbers, kept = <uint32_t *> objects.dead_locations.rows, 0
    for i in range(objects.dead_locations.count):
        numbers[kept] = location_place(places, numbers[i])
        kept += numbers[kept] != NONE
    objects.dead_locations.count = kept


cdef void renumber_kept(State *s, const Places *places) noexcept nogil:
    """Where numbers are kept. A row that was used again stands in a list once more: only its last number is in it."""
    cdef NewPair *pairs = <NewPair *> s.sifting.new_vias.rows
    cdef Primitive *p
    cdef Entry *entry
    cdef Object *obj
    cdef Recent *recent
    cdef uint32_t place
    cdef size_t i, j
    s.naming.in_use.via = location_place(places, s.naming.in_use.via)
    renumber_insertions(&s.wholes, places)
    for i in range(s.sifting.new_vias.count):
        p = primitive_row(s, pairs[i].first)
        if p.via == pairs[i].second:
            p.via = location_place(places, pairs[i].second)
    pairs = <NewPair *> s.sifting.new_entries.rows
    for i in range(s.sifting.new_entries.count):
        entry = entry_at(&s.table, pairs[i].first)
        if not is_location(entry) and entry.kind != FIELD_BY_HASH:
            continue
        place = location_place(places, pairs[i].second)
        if entry.value == pairs[i].second and place != NONE:
            entry.value = place
    pairs = <NewPair *> s.sifting.new_numbers.rows
    for i in range(s.sifting.new_numbers.count):
        obj = object_row(s, pairs[i].first)
        if obj.number == pairs[i].second:
            obj.number = object_place(places, pairs[i].second)
    for i in range(s.sifting.recent_threads.count):
        for j in range(<size_t> RECENT):
            recent = &s.threads.rows[number_at(&s.sifting.recent_threads, i)].recent[j]
            if recent.site:
                recent.location = location_place(places, recent.location)
