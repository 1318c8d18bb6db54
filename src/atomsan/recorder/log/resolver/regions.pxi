# Regions: which are open in each thread, and where each ends.
#
# State: the stack `open` of each thread, and `depth`, `room`, `assignments`, `trampolines`, `atomics`, `since`,
# `awaits_entry` beside it (`threads.pxi`).
# Always: what is open is a stack, so that the end of a region ends those inside it first, and an end without its begin
# is dropped. The three counts are those of the regions in the stack.

# What opened a region.
cdef enum:
    BY_PLAN
    BY_ASSIGNMENT
    BY_BLOCK
    BY_ANNOTATION


cdef inline int begins_as_usual(State *s, const RawRecord *r, Thread *t) except -1 nogil:
    """What `begin` does for a function that is called by another one, if it was met before. 0: it is not that."""
    cdef Site *site
    cdef Region *region
    cdef uint32_t symbol, at
    cdef Open *o
    if t.awaits_entry or r.flags & FLAG_CALLED_BACK or t.depth == t.room or not 0 < r.site < s.program.site_count:
        return 0
    site = s.program.sites + r.site
    if site.region == NONE or site.symbol == NONE:
        return 0
    region = s.program.regions + site.region
    symbol = s.program.label_symbols[region.resumed_label if r.flags & FLAG_RESUMED else region.label]
    at = s.program.sites[r.key].symbol if is_call(&s.program, r.key) else site.symbol
    if symbol == NONE or at == NONE:
        return 0
    o = t.open + t.depth
    o.symbol, o.region, o.site, o.opened, o.is_trampoline = symbol, site.region, r.site, BY_PLAN, False
    o.is_function = region.flags & (REGION_FUNCTION | REGION_OUTER) != 0
    o.may_be_atomic = region.flags & REGION_OUTER == 0
    if o.may_be_atomic and not t.atomics:
        t.since = s.nodes.items_posted
    t.atomics += o.may_be_atomic
    t.depth += 1
    put(&s.events, t.symbol, BEGIN, symbol, at)
    return 1


cdef inline int ends_as_usual(State *s, const RawRecord *r, Thread *t) except -1 nogil:
    """What `end` does for the innermost region of a thread. 0: it is not that."""
    cdef Open *o
    if t.depth == 0 or not 0 < r.site < s.program.site_count or s.program.sites[r.site].symbol == NONE:
        return 0
    o = t.open + t.depth - 1
    if o.region != s.program.sites[r.site].region or o.opened != BY_PLAN:
        return 0
    t.depth -= 1
    t.trampolines -= o.is_trampoline
    t.atomics -= o.may_be_atomic
    put(&s.events, t.symbol, END, o.symbol, s.program.sites[r.site].symbol)
    return 1


cdef int begin_or_end(State *s, const RawRecord *r) except -1 nogil:
    """Any record about a region."""
    cdef Thread *t = s.threads.rows + r.thread
    if r.op == RAW_BEGIN:
        return begin(s, r)
    if r.op == RAW_END:
        return end(s, r, BY_PLAN, region_of(&s.program, r.site))
    if r.op == RAW_BLOCK:
        t.block, t.block_site = r.object, r.site
        return open_region(s, r, BY_BLOCK, region_of(&s.program, r.site), False, False)
    if r.op == RAW_BLOCK_END:
        return end(s, r, BY_BLOCK, region_of(&s.program, r.site))
    if r.op == RAW_REGION:
        return open_region(s, r, BY_ANNOTATION, annotation(&s.program, r.key), False, False)
    return end(s, r, BY_ANNOTATION, annotation(&s.program, r.key))


cdef int begin(State *s, const RawRecord *r) except -1 nogil:
    cdef uint32_t region = region_of(&s.program, r.site)
    cdef Thread *t = s.threads.rows + r.thread
    cdef bint as_outer = False, is_trampoline = False
    cdef uint8_t flags
    if region == NONE:
        s.dropped.strange += 1
        return 0
    flags = s.program.regions[region].flags
    if t.awaits_entry and t.depth == t.trampolines and flags & (REGION_FUNCTION | REGION_OUTER):
        is_trampoline = flags & REGION_TRAMPOLINE != 0
        # one whose loops are no regions, because a library called it, would be no region and have none
        as_outer = is_trampoline or r.flags & FLAG_LOOPS != 0
        t.awaits_entry = is_trampoline
    return open_region(s, r, BY_PLAN, region, as_outer, is_trampoline)


cdef int open_region(
    State *s, const RawRecord *r, uint8_t opened, uint32_t region, bint as_outer, bint is_trampoline
) except -1 nogil:
    cdef Thread *t = s.threads.rows + r.thread
    cdef Open *o
    cdef uint32_t symbol, site = r.site
    cdef uint16_t flags = 0
    if region == NONE:
        s.dropped.strange += 1
        return 0
    if opened == BY_PLAN:
        flags = r.flags
        if not t.depth:
            flags &= ~FLAG_CALLED_BACK   # there is nothing that it could be called back from
        if is_call(&s.program, r.key):
            site = <uint32_t> r.key
    symbol = region_symbol(s, region, as_outer, flags)
    if t.depth == t.room:
        t.open = <Open *> resized(t.open, (2 * t.room + 8) * sizeof(Open))
        t.room = 2 * t.room + 8
    o = t.open + t.depth
    o.symbol, o.region, o.site, o.opened, o.is_trampoline = symbol, region, r.site, opened, is_trampoline
    o.is_function = opened == BY_PLAN and s.program.regions[region].flags & (REGION_FUNCTION | REGION_OUTER) != 0
    o.may_be_atomic = not as_outer and s.program.regions[region].flags & REGION_OUTER == 0
    if o.may_be_atomic and not t.atomics:
        t.since = s.nodes.items_posted
    t.atomics += o.may_be_atomic
    t.depth += 1
    t.trampolines += is_trampoline
    emit(s, r.thread, BEGIN, symbol, site_symbol(s, site))
    if opened == BY_ASSIGNMENT:
        t.assignments += 1
        settle(t)
    return 0


cdef int close_to(State *s, uint32_t number, uint32_t depth, uint32_t site) except -1 nogil:
    """End a thread's regions from the inside until so many are left."""
    cdef Thread *t = s.threads.rows + number
    cdef Open *o
    cdef uint32_t symbol = site_symbol(s, site)
    while t.depth > depth:
        t.depth -= 1
        o = t.open + t.depth
        t.assignments -= o.opened == BY_ASSIGNMENT
        t.trampolines -= o.is_trampoline
        t.atomics -= o.may_be_atomic
        emit(s, number, END, o.symbol, symbol)
    settle(t)
    return 0


cdef int end(State *s, const RawRecord *r, uint8_t opened, uint32_t region) except -1 nogil:
    cdef Thread *t = s.threads.rows + r.thread
    cdef uint32_t i = t.depth
    while i and region != NONE:
        i -= 1
        if t.open[i].region == region and t.open[i].opened == opened:
            return close_to(s, r.thread, i, r.site)
    s.dropped.unmatched += 1
    return 0


cdef int end_assignment(State *s, const RawRecord *r, uint32_t region) except -1 nogil:
    """The second half of an augmented assignment ends its region, if there is one of its own."""
    cdef Thread *t = s.threads.rows + r.thread
    cdef uint32_t i = t.depth
    while i:
        i -= 1
        if t.open[i].opened == BY_ASSIGNMENT and t.open[i].region == region:
            return close_to(s, r.thread, i, r.site)
        if t.open[i].is_function:
            break
    s.dropped.unmatched += t.atomics == 0
    return 0


cdef int close_abandoned(State *s, const RawRecord *r) except -1 nogil:
    """An augmented assignment whose right side failed has no second half.

    That it is over shows in another statement of the same call: assignments do not nest inside one.
    """
    cdef Thread *t = s.threads.rows + r.thread
    cdef const Site *sites = s.program.sites
    cdef uint32_t i = t.depth, depth = t.depth
    cdef bint is_assignment = r.op <= RAW_WRITE and r.flags & FLAG_AUGMENTED
    if r.site == 0 or r.site >= s.program.site_count:
        return 0
    if not is_assignment and not sites[r.site].flags & SITE_STATEMENT:
        return 0
    while i:
        i -= 1
        if t.open[i].is_function:
            break
        if t.open[i].opened != BY_ASSIGNMENT or sites[t.open[i].site].function != sites[r.site].function:
            continue
        if r.op == RAW_WRITE and is_assignment and t.open[i].region == sites[r.site].region:
            break
        depth = i
    if depth < t.depth:
        close_to(s, r.thread, depth, r.site)
    return 0
