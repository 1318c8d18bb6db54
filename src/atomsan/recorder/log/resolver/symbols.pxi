# Symbols: numbers the locations, objects, locks, hand-overs, threads, regions and sites of the trace, each when it is
# first used.
#
# State: `Symbols`. How many of each kind were given out, and a row for each that is new since the last `take_symbols`,
# which has what its name can be made of (`_rows.pxd`).
# Always: symbols are dense, and the new ones are the last ones: of `n` rows, row `i` describes symbol `count - n + i`.
# Sifting keeps this when it leaves some out.

# What a hand-over is of, for its name.
cdef enum:
    HAND_OF_OBJECT
    HAND_OF_START
    HAND_OF_ITEM
    HAND_OF_PERMIT
    HAND_OF_PHASE
    HAND_OF_LOCK
    HAND_OF_READY         # an item that was there already: its number is that of the hand-over of its put
    HAND_OF_NOTHING       # and from here on: this and OF_...

cdef struct Symbols:
    # given out so far
    uint32_t locations
    uint32_t objects
    uint32_t primitives
    uint32_t locks
    uint32_t hands
    uint32_t threads
    uint32_t regions
    uint32_t sites
    # and those that are new
    Rows new_locations    # of NewLocation
    Rows new_objects      # of NewObject
    Rows new_primitives   # of NewPrimitive
    Rows new_locks        # of NewPair: primitive, 1: a loop, 2: a semaphore, 4: re-entrant
    Rows new_hands        # of NewHand
    Rows new_threads      # raw number
    Rows new_regions      # label
    Rows new_sites        # of NewPair: raw number, the region of the augmented assignment there
    Rows new_holds        # of NewPair: object, the location that holds it


cdef void free_symbols(Symbols *symbols) noexcept nogil:
    free_rows(&symbols.new_locations)
    free_rows(&symbols.new_objects)
    free_rows(&symbols.new_primitives)
    free_rows(&symbols.new_locks)
    free_rows(&symbols.new_hands)
    free_rows(&symbols.new_threads)
    free_rows(&symbols.new_regions)
    free_rows(&symbols.new_sites)
    free_rows(&symbols.new_holds)


cdef inline uint32_t site_symbol(State *s, uint32_t number) except? 0xFFFFFFFE nogil:
    if number == 0 or number >= s.program.site_count:
        return NONE
    if s.program.sites[number].symbol == NONE:
        new_site(s, number)
    return s.program.sites[number].symbol


cdef int new_site(State *s, uint32_t number) except -1 nogil:
    cdef Site *sites = s.program.sites
    cdef uint32_t first = sites[number].same_as
    if sites[first].symbol == NONE:
        add_pair(&s.symbols.new_sites, first, assignment_symbol(s, sites[first].region))
        sites[first].symbol = s.symbols.sites
        s.symbols.sites += 1
        add_number(&s.program.met_sites, first)
    sites[number].symbol = sites[first].symbol
    return add_number(&s.program.met_sites, number)


cdef uint32_t assignment_symbol(State *s, uint32_t region) except? 0xFFFFFFFE nogil:
    """The symbol of the region of an augmented assignment, or NONE for what is none.

    It is in the trace even where another region is always around it: a specification can exclude that one.
    """
    if region == NONE or not s.program.regions[region].flags & REGION_STATEMENT:
        return NONE
    return region_symbol(s, region, False, False)


cdef uint32_t thread_symbol(State *s, uint32_t number) except? 0xFFFFFFFF nogil:
    cdef Thread *t = s.threads.rows + number
    if t.symbol == NONE:
        add_number(&s.symbols.new_threads, number)
        t.symbol = s.symbols.threads
        s.symbols.threads += 1
    return t.symbol


cdef uint32_t region_symbol(State *s, uint32_t number, bint as_outer, uint16_t flags) except? 0xFFFFFFFF nogil:
    """`flags`: those of its begin that say how it is entered."""
    cdef Region *region = s.program.regions + number
    cdef uint32_t label = region.label
    if as_outer:
        label = region.outer_label
    elif flags & FLAG_RESUMED:
        label = region.resumed_label
    elif flags & FLAG_CALLED_BACK:
        label = region.back_label
    if s.program.label_symbols[label] == NONE:
        add_number(&s.symbols.new_regions, label)
        s.program.label_symbols[label] = s.symbols.regions
        s.symbols.regions += 1
    return s.program.label_symbols[label]


cdef uint32_t lock_symbol(State *s, Primitive *p, uint64_t address) except? 0xFFFFFFFF nogil:
    if p.lock == NONE:
        primitive_number(s, p, address)
        add_pair(&s.symbols.new_locks, p.number, p.is_loop | p.is_semaphore << 1 | p.is_reentrant << 2)
        p.lock = s.symbols.locks
        s.symbols.locks += 1
    return p.lock


cdef uint32_t new_hand(State *s, Primitive *p, uint64_t address, uint32_t what) except? 0xFFFFFFFF nogil:
    """One more hand-over of a primitive. `what`: HAND_OF_..."""
    cdef NewHand *new
    primitive_number(s, p, address)
    new = <NewHand *> new_row(&s.symbols.new_hands, sizeof(NewHand))
    if HAND_OF_ITEM <= what <= HAND_OF_LOCK:
        p.named += 1
    new.number, new.primitive, new.what = p.named, p.number, what
    s.symbols.hands += 1
    return s.symbols.hands - 1


cdef uint32_t start_hand(State *s, Primitive *p, uint64_t address) except? 0xFFFFFFFF nogil:
    """The hand-over of a job to a pool: its number is that of the threads that the pool may have, 0 if unknown."""
    cdef uint32_t hand = new_hand(s, p, address, HAND_OF_START)
    cdef NewHand *rows = <NewHand *> s.symbols.new_hands.rows
    rows[s.symbols.new_hands.count - 1].number = p.workers
    return hand


cdef uint32_t ready_hand(State *s, Primitive *p, uint32_t hand) except? 0xFFFFFFFF nogil:
    """The hand-over of an item that was there already: it is known by that of the put."""
    cdef NewHand *new = <NewHand *> new_row(&s.symbols.new_hands, sizeof(NewHand))
    new.number, new.primitive, new.what = hand, p.number, HAND_OF_READY
    s.symbols.hands += 1
    return s.symbols.hands - 1


cdef uint32_t primitive_number(State *s, Primitive *p, uint64_t address) except? 0xFFFFFFFF nogil:
    """The number of a primitive that needs a name."""
    cdef NewPrimitive *new
    if p.number == NONE:
        new = <NewPrimitive *> new_row(&s.symbols.new_primitives, sizeof(NewPrimitive))
        new.address, new.space, new.name, new.via, new.unused = address, p.space, p.name, p.via, 0
        new.site = s.naming.in_use.site if address == s.naming.in_use.address else 0
        if p.via == NONE and address == s.naming.in_use.address:
            new.via = s.naming.in_use.via
        p.number = s.symbols.primitives
        s.symbols.primitives += 1
        use_read(s)
    return p.number


cdef uint32_t object_number(
    State *s, uint32_t row, uint32_t via, uint32_t site, uint32_t kind, bint is_class, uint32_t primitive
) except? 0xFFFFFFFF nogil:
    """The number of an object that needs a name."""
    cdef Object *obj = object_row(s, row)
    cdef NewObject *new
    cdef Primitive *p
    if obj.number == NONE:
        new = <NewObject *> new_row(&s.symbols.new_objects, sizeof(NewObject))
        new.address, new.type, new.via, new.site, new.kind = obj.address, obj.type, via, site, kind
        new.is_class, new.primitive = is_class, primitive
        new.space = new.name = new.unused = 0
        if obj.primitive != NONE:
            p = primitive_row(s, obj.primitive)
            new.space, new.name = p.space, p.name
            if p.via != NONE:
                new.via = p.via
        obj.number = s.symbols.objects
        s.symbols.objects += 1
        if s.sifting.is_on:
            add_pair(&s.sifting.new_numbers, row, obj.number)
    return obj.number


cdef int new_location(State *s, NewLocation location) except -1 nogil:
    """A row for the next number of a location."""
    (<NewLocation *> new_row(&s.symbols.new_locations, sizeof(NewLocation)))[0] = location
    s.symbols.locations += 1
    if s.symbols.locations == NONE:
        with gil:
            raise MemoryError("more than 4294967295 locations")
    return 0
