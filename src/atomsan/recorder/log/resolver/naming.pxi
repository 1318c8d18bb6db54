# Naming: finds the location that a container or primitive is the value of, and so its name: `Account.items`,
# `bank.lock`. The location goes into the rows of `symbols.pxi`.
#
# State: `Naming`, about the record that is being resolved; of each thread its recent reads and the primitive that it
# made last (`threads.pxi`); of each primitive `via`, `space` and `name` (`primitives.pxi`).
# Always: a clue is about a read of the same thread, and one that is in doubt is not used: no name is better than a
# wrong one. A read names one primitive only (`use_read`).

cdef struct Naming:
    NewPrimitive in_use   # where the primitive that a record is about is used: its `address`, `site` and `via`
    uint32_t read_thread  # whose read it is by which `in_use.via` was found; NOBODY: none
    uint32_t read_at      # and which of its recent ones


cdef inline int note(State *s, uint32_t number, uint32_t site, uint32_t location) except -1 nogil:
    """What a thread reads may be what it uses next."""
    cdef Thread *t = s.threads.rows + number
    t.recent[t.recent_at & (RECENT - 1)] = Recent(site, location)
    t.recent_at += 1
    if s.sifting.is_on and not t.is_noted:
        t.is_noted = True
        add_number(&s.sifting.recent_threads, number)
    return 0


cdef inline uint32_t last_read_at(const Thread *t, uint32_t site) noexcept nogil:
    """Which of its recent reads is the last at this site, or NONE."""
    cdef uint32_t i, at
    for i in range(<uint32_t> RECENT):
        at = (t.recent_at - 1 - i) & (RECENT - 1)
        if t.recent[at].site == site:
            return at
    return NONE


cdef uint32_t reached_through(State *s, const RawRecord *r, const Thread *t) noexcept nogil:
    """The location that this thread read last at the site that feeds this one."""
    cdef uint32_t at
    if r.site >= s.program.site_count or s.program.sites[r.site].fed_by == 0:
        return NONE
    at = last_read_at(t, s.program.sites[r.site].fed_by)
    return NONE if at == NONE else t.recent[at].location


cdef uint32_t primitive_reached_through(State *s, const RawRecord *r, const Thread *t) noexcept nogil:
    """The location whose value is the primitive that a record is about, if the site says so.

    Most sites do not: a thread's site is that of the last probe it came by, which may be about something else.
    """
    cdef Site *site
    cdef uint32_t at = NONE
    s.naming.read_thread = NOBODY
    if r.site >= s.program.site_count:
        return NONE
    site = s.program.sites + r.site
    if site.flags & SITE_USED:
        at = (t.recent_at - 1) & (RECENT - 1)
        if t.recent[at].site != r.site:
            return NONE
    elif site.flags & SITE_ENTERS and site.fed_by:
        at = last_read_at(t, site.fed_by)
    if at == NONE:
        return NONE
    s.naming.read_thread, s.naming.read_at = r.thread, at
    return t.recent[at].location


cdef void look_at_use(State *s, const RawRecord *r, const Thread *t) noexcept nogil:
    """A record about a primitive: where it is used, for its name."""
    s.naming.in_use.address, s.naming.in_use.site = r.object, r.site
    s.naming.in_use.via = primitive_reached_through(s, r, t)
    if t.block_site == r.site and t.block != r.object:
        # the block is on another lock, and this one is used in it: its user came by no other probe
        s.naming.in_use.site, s.naming.in_use.via, s.naming.read_thread = 0, NONE, NOBODY


cdef void use_read(State *s) noexcept nogil:
    """What is used at this site without another read is something else, whose user came by no other probe."""
    if s.naming.read_thread != NOBODY:
        s.threads.rows[s.naming.read_thread].recent[s.naming.read_at].site = 0
        s.naming.read_thread = NOBODY


cdef void amend(State *s, Primitive *p) noexcept nogil:
    """Another use of it: if the first did not tell what it is called, and it has no name yet, this one may."""
    cdef uint32_t first = s.symbols.primitives - <uint32_t> s.symbols.new_primitives.count
    cdef NewPrimitive *new
    use_read(s)
    if p.number != NONE and p.number >= first:
        new = <NewPrimitive *> s.symbols.new_primitives.rows + p.number - first
        if new.via == NONE:
            new.via, new.site = s.naming.in_use.via, s.naming.in_use.site


cdef int stored(State *s, uint64_t address, uint32_t location) except -1 nogil:
    """A primitive that was made for this location."""
    cdef uint32_t row = object_at(s, address)
    primitive_at(s, address).via = location
    if s.sifting.is_on:
        add_pair(&s.sifting.new_vias, object_row(s, row).primitive, location)
    return 0


cdef int called(State *s, const RawRecord *r) except -1 nogil:
    """RAW_CALLED."""
    cdef Primitive *p
    if r.object == 0 or r.key == 0:
        s.dropped.strange += 1
        return 0
    p = primitive_at(s, r.object)
    if p.space == 0:
        p.space, p.name = r.key, r.site
    return 0
