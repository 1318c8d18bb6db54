# Whole accesses: reads or writes of all elements of a container, or of a long range of a sequence, in one record.
#
# A whole read conflicts with a store to any of the elements, before or after it, and a whole write with any access to
# them. The trace knows single locations only, so that a whole access becomes accesses to elements; but only to those
# that need one, so that its cost follows the stores and not the length:
#
# - where the whole access stands, to the elements that were stored to since the thread's last whole access. (Of those
#   stored to before, that one tells, because a thread's own order is known.)
# - later, when a store comes, to that element in the last whole access of each other thread: an insertion. Its place in
#   the trace was kept as a point. If the point is still among the events that wait, it is filled in there; if not, the
#   reader of the trace does it (`take_insertions`).
#
# That is exact. Two accesses of one thread to an element, with no store between, tell no more than the first of them
# about what came before, and no more than the last about what comes after. Whole accesses among each other are ordered
# by the structure, which each of them accesses too.
#
# State: `Wholes`, with a row for each container that was accessed as a whole. Its elements are in a list, last used
# first, and say when they were written last; the clock counts accesses to such containers.
# Always: of elements of such a container, the entries of the address table are marked (`watch`), so that only these
# cost something. Element rows, and the row of the container, die with it.

# `watch` of an entry. The first is that of any entry, the others are `WATCH_READ << op`.
cdef enum:
    WAS_WRITTEN = 1
    WATCH_READ = 2
    WATCH_WRITE = 4

cdef enum: A_POINT = 10   # in the column of operations: no event, but a place where some may be inserted
cdef enum: TO_THE_END = 0xFFFFFFFF
# Ranges that are remembered: of reads in a container, of those by one thread, and of writes. Of more, the oldest are
# forgotten, and what comes later is not known to conflict with them. Accesses that may do are counted (`unknown`).
cdef enum:
    MOST_RANGES = 64
    MOST_OWN_RANGES = 8
# A loop reads the rest of a long container at once, from this element on (`MOST_STEPS` of the probes): what is stored there
# later may have come before the loop did. Such stores are counted (`early`).
cdef enum: FIRST_OF_REST = 65536

cdef struct Element:
    uint32_t before       # a Link of trace/_links.pxd
    uint32_t after
    uint32_t entry        # of the address table
    uint32_t writer       # the user that wrote it last; NOBODY: not known
    uint64_t written      # when
    uint64_t used         # when it was last accessed; not by whole accesses

cdef struct Range:
    uint64_t clock        # when it was accessed
    uint32_t point
    uint32_t user         # a thread, or a job of a pool (`user_of`)
    uint32_t first
    uint32_t stop

cdef struct Ranges:
    Range *rows           # in the order of their clocks
    size_t count
    size_t room
    Range forgotten       # around those that were forgotten, with the last clock; user: NOBODY if several

cdef struct Whole:
    uint32_t newest       # the first of its list of elements; 0: none
    uint32_t count        # of them
    Ranges reads
    Ranges writes

cdef struct Point:
    uint64_t position     # the number of the event before which it stands
    uint32_t thread       # symbols
    uint32_t site

cdef struct Insertion:
    uint32_t point
    uint32_t op
    uint32_t location

cdef struct LateRow:
    uint64_t position
    uint32_t thread
    uint32_t op
    uint32_t target
    uint32_t site

cdef struct Wholes:
    Whole *rows           # from 1 on
    Pool pool             # of them
    Element *elements     # from 1 on
    Pool element_pool
    uint64_t clock
    uint64_t given        # events that were handed out
    uint64_t unknown      # accesses that may conflict with a range that was forgotten
    uint64_t early        # stores to what a loop had read before it got there
    size_t waiting        # points among the events that wait; they are the last ones
    Rows points           # of Point
    Rows insertions       # of Insertion, since the last `take`
    Rows late             # of LateRow: insertions before events that were handed out


cdef void free_wholes(Wholes *wholes) noexcept nogil:
    cdef size_t i
    for i in range(1, <size_t> wholes.pool.used):
        free(wholes.rows[i].reads.rows)
        free(wholes.rows[i].writes.rows)
    free(wholes.rows)
    free(wholes.elements)
    free_rows(&wholes.points)
    free_rows(&wholes.insertions)
    free_rows(&wholes.late)


cdef void free_whole(Wholes *wholes, uint32_t row) noexcept nogil:
    """The container dies. Its elements die with its entries."""
    cdef Whole *whole = wholes.rows + row
    free(whole.reads.rows)
    free(whole.writes.rows)
    memset(whole, 0, sizeof(Whole))
    give_slot(&wholes.pool, wholes.rows, sizeof(Whole), row)


cdef inline void free_element(Wholes *wholes, uint32_t row) noexcept nogil:
    give_slot(&wholes.element_pool, wholes.elements, sizeof(Element), row)


# Elements

cdef inline bint is_element(const Entry *entry) noexcept nogil:
    return KEY_INDEX <= entry.kind <= KEY_OBJECT or entry.kind == KEY_WHOLE or entry.kind == KEY_IDENTITY


cdef inline bint covers(const Range *span, const Entry *entry) noexcept nogil:
    return entry.kind != KEY_INDEX or span.first <= entry.key < span.stop or (
        span.stop == TO_THE_END and entry.key >= TO_THE_END
    )


cdef uint32_t element_of(State *s, Object *obj, uint32_t number) except? 0xFFFFFFFF nogil:
    """The element of an entry, in front of the list of its container."""
    cdef Whole *whole = s.wholes.rows + obj.whole
    cdef uint32_t found = find(&s.table, obj.address, AN_ELEMENT, number), row
    cdef Element *element
    if found:
        row = entry_at(&s.table, found).value
        take_out(&s.wholes.elements.before, sizeof(Element), &whole.newest, row)
    else:
        row = new_slot(&s.wholes.element_pool, <void **> &s.wholes.elements, sizeof(Element))
        insert(&s.table, obj.address, AN_ELEMENT, number, row, &obj.entries)
        element = s.wholes.elements + row
        element.entry, element.writer, element.written, element.used = number, NOBODY, 0, 0
        whole.count += 1
    put_first(&s.wholes.elements.before, sizeof(Element), &whole.newest, row)
    return row


cdef int watch_elements(State *s, uint32_t object, uint8_t op) except -1 nogil:
    """From now on accesses to the elements of a container are watched: the stores, and the reads if it was written."""
    cdef Object *obj = object_row(s, object)
    cdef uint8_t watch = WATCH_WRITE if op == RAW_READ else WATCH_READ | WATCH_WRITE
    cdef uint32_t number
    cdef Entry *entry
    cdef Element *element
    if obj.whole == NONE:
        if s.wholes.pool.used == 0:
            s.wholes.pool.used = s.wholes.element_pool.used = 1
            ensure_room(<void **> &s.wholes.rows, &s.wholes.pool.room, 1, sizeof(Whole))
            ensure_room(<void **> &s.wholes.elements, &s.wholes.element_pool.room, 1, sizeof(Element))
            s.wholes.clock = 1
        obj.whole = new_slot(&s.wholes.pool, <void **> &s.wholes.rows, sizeof(Whole))
        s.wholes.rows[obj.whole].newest = 0
    if obj.watch & watch == watch:
        return 0
    obj.watch |= watch
    number = obj.entries
    while number:
        entry = entry_at(&s.table, number)
        if is_element(entry) and not find(&s.table, obj.address, AN_ELEMENT, number):
            entry.watch |= watch
            if entry.watch & WAS_WRITTEN or op == RAW_WRITE:
                element = s.wholes.elements + element_of(s, obj, number)
                entry = entry_at(&s.table, number)
                element.used = 1
                element.written = 1 if entry.watch & WAS_WRITTEN else 0
                element.writer = <uint32_t> NOBODY if entry.thread == SHARED else <uint32_t> entry.thread
        elif is_element(entry):
            entry.watch |= watch
        number = entry_at(&s.table, number).after
    return 0


cdef inline int touch(State *s, const RawRecord *r, uint32_t number) except -1 nogil:
    """An access to one location. Most have nothing to be noted: a field is no element."""
    cdef uint8_t watch
    if r.key_kind == KEY_FIELD:
        return 0
    watch = entry_at(&s.table, number).watch
    if watch == WAS_WRITTEN or (watch == 0 and r.op == RAW_READ):
        return 0
    return note_access(s, r, number)


cdef int note_access(State *s, const RawRecord *r, uint32_t number) except -1 nogil:
    cdef Entry *entry = entry_at(&s.table, number)
    if r.op == RAW_WRITE:
        entry.watch |= WAS_WRITTEN
    if entry.watch & WATCH_READ << r.op:
        touch_element(s, r, number)
    return 0


cdef int touch_element(State *s, const RawRecord *r, uint32_t number) except -1 nogil:
    """An access to an element of a container that was accessed as a whole: what these accesses have to do with it."""
    cdef Entry *entry = entry_at(&s.table, number)
    cdef Object *obj = object_row(s, object_at(s, entry.address))
    cdef Element *element = s.wholes.elements + element_of(s, obj, number)
    cdef Whole *whole = s.wholes.rows + obj.whole
    cdef const Range *span
    cdef size_t i = whole.writes.count
    cdef uint32_t user = user_of(&s.threads, r.thread)
    entry = entry_at(&s.table, number)
    if is_forgotten(&whole.writes, element, entry, user) or (
        r.op == RAW_WRITE and is_forgotten(&whole.reads, element, entry, user)
    ):
        s.wholes.unknown += 1
    while i:
        i -= 1
        span = whole.writes.rows + i
        if span.clock <= element.written:
            break
        if covers(span, entry):
            if span.user != user:
                insert_at(s, span.point, RAW_WRITE, entry)
            element.written, element.writer = span.clock, span.user
            break
    s.wholes.clock += 1
    if r.op == RAW_WRITE:
        i = whole.reads.count
        while i:
            i -= 1
            span = whole.reads.rows + i
            if span.clock <= element.written:
                break
            if span.user != user and covers(span, entry):
                insert_at(s, span.point, RAW_READ, entry)
                s.wholes.early += span.first == FIRST_OF_REST and span.stop == TO_THE_END
        element.written, element.writer = s.wholes.clock, user
    element.used = s.wholes.clock
    return 0


cdef inline bint is_forgotten(
    const Ranges *ranges, const Element *element, const Entry *entry, uint32_t user
) noexcept nogil:
    """Whether an access to an element may conflict with a range that was forgotten."""
    cdef const Range *span = &ranges.forgotten
    return span.clock > element.written and span.user != user and covers(span, entry)


cdef int insert_at(State *s, uint32_t point, uint32_t op, Entry *entry) except -1 nogil:
    cdef Insertion *new = <Insertion *> new_row(&s.wholes.insertions, sizeof(Insertion))
    new.point, new.op, new.location = point, op, entry.value
    entry.thread = SHARED
    return 0


# Whole accesses

cdef bint is_namespace_at(State *s, uint64_t address) except -1 nogil:
    """Whether the elements of a container are found by other ways, too: as attributes."""
    cdef uint32_t row = object_at(s, address)
    return object_row(s, row).is_namespace or owner_of(s, row) != row


cdef int access_whole(State *s, const RawRecord *r, uint32_t site) except -1 nogil:
    """KEY_ELEMENTS."""
    cdef uint32_t row = object_at(s, r.object)
    cdef Whole *whole
    cdef Range span
    cdef uint64_t since
    watch_elements(s, row, r.op)
    whole = s.wholes.rows + object_row(s, row).whole
    s.wholes.clock += 1
    span.clock, span.user = s.wholes.clock, user_of(&s.threads, r.thread)
    span.first, span.stop = <uint32_t> r.key, <uint32_t> (r.key >> 32)
    since = last_over(&whole.writes, &span, NOBODY)
    if r.op == RAW_READ:
        since = max(since, last_over(&whole.reads, &span, span.user))
    if span.stop - span.first < whole.count:
        access_range(s, r, row, &span, since, site)
    else:
        access_elements(s, r, row, &span, since, site)
    thread_symbol(s, r.thread)
    span.point = <uint32_t> s.wholes.points.count
    new_row(&s.wholes.points, sizeof(Point))
    emit(s, r.thread, A_POINT, span.point, site)
    s.wholes.waiting += 1
    whole = s.wholes.rows + object_row(s, row).whole
    return add_range(&whole.reads if r.op == RAW_READ else &whole.writes, &span, r.op)


cdef uint64_t last_over(const Ranges *ranges, const Range *span, uint32_t user) noexcept nogil:
    """When all of a range was last accessed as a whole, by a user or by anybody."""
    cdef size_t i = ranges.count
    while i:
        i -= 1
        if user != NOBODY and ranges.rows[i].user != user:
            continue
        if ranges.rows[i].first <= span.first and ranges.rows[i].stop >= span.stop:
            return ranges.rows[i].clock
    return 0


cdef int access_elements(
    State *s, const RawRecord *r, uint32_t object, const Range *span, uint64_t since, uint32_t site
) except -1 nogil:
    """Those that others used since then, last used first."""
    cdef uint32_t row = s.wholes.rows[object_row(s, object).whole].newest
    while row and s.wholes.elements[row].used > since:
        access_element(s, r, s.wholes.elements + row, span, since, site)
        row = s.wholes.elements[row].after
    return 0


cdef int access_range(
    State *s, const RawRecord *r, uint32_t object, const Range *span, uint64_t since, uint32_t site
) except -1 nogil:
    """The same, by their places: they are fewer than the elements that were used."""
    cdef Object *obj = object_row(s, object)
    cdef uint32_t number, found
    cdef uint64_t place = span.first
    while place <= span.stop:
        # behind the last one, what may be any of them
        if place < span.stop:
            number = find(&s.table, obj.address, KEY_INDEX, place)
        else:
            number = find(&s.table, obj.address, KEY_WHOLE, 0)
        found = find(&s.table, obj.address, AN_ELEMENT, number) if number else 0
        if found:
            access_element(s, r, s.wholes.elements + entry_at(&s.table, found).value, span, since, site)
        place += 1
    return 0


cdef inline int access_element(
    State *s, const RawRecord *r, Element *element, const Range *span, uint64_t since, uint32_t site
) except -1 nogil:
    cdef Entry *entry = entry_at(&s.table, element.entry)
    if not covers(span, entry):
        return 0
    if r.op == RAW_READ:
        if element.written <= since or element.writer == span.user:
            return 0
    elif element.used <= since or entry.thread == span.user:
        return 0
    emit(s, r.thread, r.op, used_by(&s.table, element.entry, r.thread), site)
    if r.op == RAW_WRITE:
        element.written, element.writer = span.clock, span.user
    return 0


cdef int add_range(Ranges *ranges, const Range *new, uint8_t op) except -1 nogil:
    """Remember a range, in place of those that it makes superfluous: of a read the thread's own that it covers."""
    cdef size_t i, kept = 0, own = 0, oldest_own = MOST_RANGES
    cdef Range *span = &ranges.forgotten
    if new.first <= span.first and span.stop <= new.stop and (op == RAW_WRITE or span.user == new.user):
        span.clock = 0
    for i in range(ranges.count):
        span = ranges.rows + i
        if new.first <= span.first and span.stop <= new.stop and (op == RAW_WRITE or span.user == new.user):
            continue
        if span.user == new.user:
            if own == 0:
                oldest_own = kept
            own += 1
        ranges.rows[kept] = span[0]
        kept += 1
    ranges.count = kept
    if own == MOST_OWN_RANGES:
        forget_range(ranges, oldest_own)
    elif kept == MOST_RANGES:
        forget_range(ranges, 0)
    ensure_room(<void **> &ranges.rows, &ranges.room, ranges.count + 1, sizeof(Range))
    ranges.rows[ranges.count] = new[0]
    ranges.count += 1
    return 0


cdef void forget_range(Ranges *ranges, size_t place) noexcept nogil:
    cdef size_t i
    cdef Range *around = &ranges.forgotten
    cdef const Range *span = ranges.rows + place
    if around.clock == 0:
        around[0] = span[0]
    else:
        around.first, around.stop = min(around.first, span.first), max(around.stop, span.stop)
        around.clock = max(around.clock, span.clock)
        around.user = span.user if around.user == span.user else <uint32_t> NOBODY
    for i in range(ranges.count - 1 - place):
        ranges.rows[place + i] = ranges.rows[place + i + 1]
    ranges.count -= 1


# Insertions

cdef void renumber_insertions(Wholes *wholes, const Places *places) noexcept nogil:
    """Sifting gave new numbers to locations. Those of insertions are not left out: two threads use them."""
    cdef Insertion *insertions = <Insertion *> wholes.insertions.rows
    cdef size_t i
    for i in range(wholes.insertions.count):
        insertions[i].location = location_place(places, insertions[i].location)


cdef int fill_points(State *s) except -1 nogil:
    """Put the insertions where their points are, if these are among the events that wait; else they are late."""
    cdef Wholes *wholes = &s.wholes
    cdef Insertion *insertions = <Insertion *> wholes.insertions.rows
    cdef size_t first = wholes.points.count - wholes.waiting, i
    cdef size_t *ends
    cdef Insertion *sorted
    cdef size_t count = 0
    if not wholes.waiting and not wholes.insertions.count:
        return 0
    ends = <size_t *> grown(NULL, 0, (wholes.waiting + 1) * sizeof(size_t))
    for i in range(wholes.insertions.count):
        if insertions[i].point >= first:
            ends[insertions[i].point - first] += 1
        else:
            add_late(wholes, insertions + i)
    for i in range(wholes.waiting):
        count += ends[i]
        ends[i] = count - ends[i]
    sorted = <Insertion *> resized(NULL, (count + 1) * sizeof(Insertion))
    for i in range(wholes.insertions.count):
        if insertions[i].point >= first:
            sorted[ends[insertions[i].point - first]] = insertions[i]
            ends[insertions[i].point - first] += 1
    rebuild_events(s, sorted, ends, first, count)
    free(sorted)
    free(ends)
    wholes.insertions.count = wholes.waiting = 0
    return 0


cdef int rebuild_events(State *s, const Insertion *sorted, const size_t *ends, size_t first, size_t count) except -1 nogil:
    """The events that wait, with the insertions in place of the points. `ends`: of each point's insertions."""
    cdef Events old = s.events
    cdef Point *points = <Point *> s.wholes.points.rows
    cdef size_t i, next = 0
    cdef uint32_t point
    memset(&s.events, 0, sizeof(Events))
    for i in range(old.count):
        if old.op[i] != A_POINT:
            put(&s.events, old.thread[i], old.op[i], old.target[i], old.site[i])
            continue
        point = old.target[i]
        points[point].thread, points[point].site = old.thread[i], old.site[i]
        while next < ends[point - first]:
            put(&s.events, old.thread[i], <uint8_t> sorted[next].op, sorted[next].location, old.site[i])
            next += 1
        points[point].position = s.wholes.given + s.events.count
    free_events(&old)
    return 0


cdef int add_late(Wholes *wholes, const Insertion *insertion) except -1 nogil:
    cdef LateRow *new = <LateRow *> new_row(&wholes.late, sizeof(LateRow))
    cdef Point *point = <Point *> wholes.points.rows + insertion.point
    new.position, new.thread, new.site = point.position, point.thread, point.site
    new.op, new.target = insertion.op, insertion.location
    return 0
