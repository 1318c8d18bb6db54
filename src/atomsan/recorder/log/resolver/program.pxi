# The static tables of the program: sites, regions, annotations and the hashes of names, from the definitions
# (`definitions.py`).
#
# State: `Program`, by the numbers that the log uses. Definitions write it; of the records, only those that bring a site
# or a region into the trace for the first time do (`symbol`, `label_symbols`).
# Always: a number from the log may be anything, so that each is compared with the count of its table first. A resolver
# for the next trace of the same program takes over all of it (`take_over_program`).

cdef enum:
    REGION_FUNCTION = 1
    REGION_TRAMPOLINE = 2
    REGION_OUTER = 4
    REGION_STATEMENT = 8

cdef enum:
    SITE_FEEDS = 1        # another site is about the container that is read here
    SITE_STATEMENT = 2    # it cannot stand inside the right side of an assignment
    SITE_ENTERS = 4       # what another site read is a primitive that is entered or awaited here
    SITE_USED = 8         # what is read here may be a primitive, of which a method is called next
    SITE_MAKES = 16       # what is stored here is a primitive that was made for it
    SITE_CALL = 32        # an expression that called a function

# No more than so many are believed: a damaged definition must not take all memory.
cdef enum: MOST_NUMBERS = 1 << 28
cdef enum: MOST_ANNOTATED = 1 << 24

cdef struct Site:
    uint32_t symbol       # NONE: not in the trace yet
    uint32_t same_as      # the first site that looks like this one to people
    uint32_t region
    uint32_t function
    uint32_t fed_by       # site; 0: none
    uint8_t flags

cdef struct Region:
    uint32_t label        # what it is called: a number that `definitions.py` knows
    uint32_t outer_label  # the same for an entry function
    uint32_t back_label   # and for one that is called back
    uint32_t resumed_label    # and for a generator that runs again
    uint8_t flags

cdef struct Program:
    Site *sites
    size_t site_count
    size_t site_room
    Region *regions       # by the number that `add_region` gave
    size_t region_count
    size_t region_room
    uint32_t *label_symbols   # of regions, by label; NONE: not in the trace yet
    size_t label_room
    uint32_t *annotated   # region plus 1
    size_t annotated_count
    uint64_t *name_hashes
    size_t name_count
    Rows met_sites        # those that have a symbol


cdef void free_program(Program *program) noexcept nogil:
    free(program.sites)
    free(program.regions)
    free(program.label_symbols)
    free(program.annotated)
    free(program.name_hashes)
    free_rows(&program.met_sites)


cdef void take_over_program(Program *program, Program *other) noexcept nogil:
    """Take over the definitions of another trace. Costs what that one met, not what it knew."""
    cdef size_t i
    for i in range(other.met_sites.count):
        other.sites[number_at(&other.met_sites, i)].symbol = NONE
    for i in range(other.label_room):
        other.label_symbols[i] = NONE
    other.met_sites.count = 0
    free_program(program)
    program[0] = other[0]
    memset(other, 0, sizeof(Program))


cdef uint32_t add_region(Program *program, Region region) except? 0xFFFFFFFF:
    """One more region; returns its number."""
    cdef uint32_t most = max(region.label, region.outer_label, region.back_label, region.resumed_label)
    cdef size_t i, before = program.label_room
    if most >= MOST_NUMBERS:
        raise ValueError("more than 268435455 labels")
    ensure_room(<void **> &program.label_symbols, &program.label_room, <size_t> most + 1, sizeof(uint32_t))
    for i in range(before, program.label_room):
        program.label_symbols[i] = NONE
    ensure_room(<void **> &program.regions, &program.region_room, program.region_count + 1, sizeof(Region))
    program.regions[program.region_count] = region
    program.region_count += 1
    return program.region_count - 1


cdef int add_annotated(Program *program, size_t number, uint32_t region) except -1:
    if number >= MOST_ANNOTATED or region >= program.region_count:
        return 0
    ensure_room(<void **> &program.annotated, &program.annotated_count, number + 1, sizeof(uint32_t))
    program.annotated[number] = region + 1
    return 0


cdef int add_site(Program *program, size_t number, Site site) except -1:
    cdef size_t i
    if number >= MOST_NUMBERS:
        return 0
    ensure_room(<void **> &program.sites, &program.site_room, number + 1, sizeof(Site))
    for i in range(program.site_count, number):
        program.sites[i] = Site(NONE, i, NONE, NONE, 0, 0)
    program.site_count = max(program.site_count, number + 1)
    program.sites[number] = site
    return 0


cdef int add_name(Program *program, size_t number, uint64_t hash) except -1:
    cdef size_t i, before = program.name_count
    if number >= MOST_NUMBERS:
        return 0
    ensure_room(<void **> &program.name_hashes, &program.name_count, number + 1, sizeof(uint64_t))
    for i in range(before, program.name_count):
        program.name_hashes[i] = raw_hash(i, FIELD_BY_HASH, i)
    program.name_hashes[number] = hash
    return 0


cdef inline uint64_t name_hash(const Program *program, uint64_t number) noexcept nogil:
    if number < program.name_count:
        return program.name_hashes[number]
    return raw_hash(number, FIELD_BY_HASH, number)


cdef inline uint32_t region_of(const Program *program, uint32_t site) noexcept nogil:
    return program.sites[site].region if site < program.site_count else NONE


cdef inline bint is_call(const Program *program, uint64_t site) noexcept nogil:
    return site < program.site_count and program.sites[site].flags & SITE_CALL != 0


cdef inline uint32_t annotation(const Program *program, uint64_t number) noexcept nogil:
    return program.annotated[number] - 1 if number < program.annotated_count else NONE
