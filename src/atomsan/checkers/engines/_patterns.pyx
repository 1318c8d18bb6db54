# cython: language_level=3, freethreading_compatible=True
"""Race automata: the 14 problematic access patterns of atomic-sets-2008 (figure 2), found while units of work meet.

For units u and u' of two threads and locations l1 and l2 of one set, 14 automata stand side by side in one word, three
bits each: how many events of the pattern have been seen. All are stepped at once (`stepped`). Of the paper's tuples
(figure 5) these are kept:

    (u, *, l1, *)     `Start.bits`: what u alone has done, one word for each location it touched
    (u, u', l1, *)    the summary of a `Side`'s row: the accesses of both to l1. It finds patterns 1 to 5, and holds how
                      far 6 to 14 have come for any l2 that neither has touched since
    (u, u', l1, l2)   a column of that row: patterns 6 to 14

A tuple that is missing is the same as the more general one, so a later one starts as a copy of that. Departures from
figure 5, and why:

- *Created when it differs*, not at the first event that could matter: an access that moves no automaton of the copy
  makes no tuple. As the second event of every pattern is one of u', and no automaton is moved by u on l2 before u' was
  there, the paper's third rule, (u, u', l1, l2) made by u, is not needed. And no automaton is moved twice by reads
  alone: two units are not a `Pair` before one of them writes.
- *An access that moves nothing is not looked at again.* No pattern has the same event twice in a row. So if no
  automaton of a unit has moved since it last did the same, doing it again moves none: one comparison (`seen`). A
  first access of u to l moves (u, *, l, *), but if it conflicts with an earlier one of v, it moves (v, u, ...) too.
- *Collected when either unit ends*, not when both have. What the other one can still complete alone is then exactly one
  event away: u' comes last in 8, 13 and 14, u in all others, and either has a single event after the last one of its
  partner. So the automaton shrinks to the event it waits for (`Waiting`), in a list at the location of that event. The
  list is reported and forgotten as a whole when the event comes: a unit that lives long pays once for each short one
  that it has met, not at each of its accesses.
- *A unit of one access* can only be u' and only in patterns 1 to 5, for it is over before the next event: it leaves
  waiting entries at the location, for the other units that have touched it, and nothing else.

Shadow state. Slots are used again; 0 is none. A unit can be on several sets: a `Visit` is a unit on one of them.

    sets[s]          the list of visits that are alive, those that have written first; and how many matches there were
    locations[l]     the list of touches by visits that are alive, on whatever set
    Visit            (u, s): its touches in `starts`, in order, and its Pairs with living visits of other threads
    Touch            (u, s, l)
    Pair             two visits, and a Side for each way to call them u and u': sides[i] is that with visits[i] as u
    Side             rows by the touches of u (l1), in each of which columns by the touches of u' (l2)
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from atomsan.trace._hashing cimport NOT_FOUND, Map, forget, found, free_map, put
from atomsan.trace._links cimport Link, put_behind, put_first, take_out
from atomsan.trace._memory cimport has_room, prefetch
from atomsan.trace._ops cimport WRITE
from atomsan.trace._pools cimport NO_SLOT, Blocks, Pool, free_blocks, give_block, give_slot, take_block, take_slot
from atomsan.trace._stopping cimport Work, has_toiled, is_long, look_up

import numpy as np

from atomsan.checkers.access_patterns import PATTERNS as TABLE

cdef enum:                  # of `units.RowKind`; a read and a write are those of `Op`
    ROW_END = 2
    ROW_ALONE = 4

cdef enum:                  # the roles of an access in a tuple; a write is one more
    FIRST = 0               # u at l1
    SECOND = 2              # u at l2
    OTHER_FIRST = 4         # u' at l1
    OTHER_SECOND = 6        # u' at l2

cdef enum:
    PATTERNS = 14
    SINGLES = 5             # patterns 1 to 5 are about one location
    WORD = 8                # bytes: a block of size class n has 2 ** n words
    ROW_HEAD = 2            # words of a row before its columns: its size class, and the summary
    SUMMARY = 1
    NOWHERE = 0xFFFFFFFF
    FEW = 4                 # touches of a location to try before asking the unit
    AHEAD = 12              # rows between the prefetch of a location and its use
    FAILED = -1             # no memory

# By event: in the three bits of each pattern that has it, how many events come before it (`before`), with the lowest
# bit of these patterns (`moves`). Patterns 2, 3 and 5 begin and end with the same event: `again` is for the end.
cdef uint64_t[8] before, moves, again_before, again
cdef uint64_t[8] ends           # the patterns whose last event it is
cdef uint64_t[8] ends_once      # those among them that do not begin with it
cdef uint64_t[2] begun          # an untouched word after the unit's own read or write
cdef uint64_t pairs_only = 0    # all bits of patterns 6 to 14
cdef uint64_t lowest = 0        # the lowest bit of each pattern


def _fill():
    global pairs_only, lowest
    cdef int pattern, place, event
    cdef uint64_t low
    for pattern, events in enumerate(TABLE.values()):
        low = 1ULL << (3 * pattern)
        lowest |= low
        if pattern >= SINGLES:
            pairs_only |= 7 * low
        for place, (op, unit, location) in enumerate(events):
            event = 4 * unit + 2 * location + op
            if moves[event] & low:
                again[event] |= low
                again_before[event] |= place * low
            else:
                moves[event] |= low
                before[event] |= place * low
            if place == 0:
                begun[event - FIRST] |= low
            if place == len(events) - 1:
                ends[event] |= low
    for event in range(8):
        ends_once[event] = ends[event] & ~again[event]


_fill()


cdef inline uint64_t equal(uint64_t bits, uint64_t states) noexcept nogil:
    """The lowest bit of each pattern whose three bits are the same in both; other bits mean nothing."""
    cdef uint64_t differs = bits ^ states
    return ~(differs | differs >> 1 | differs >> 2)


cdef inline uint64_t stepped(uint64_t bits, int event, uint64_t *accepted) noexcept nogil:
    """A summary after the event; `accepted`: the patterns that this completes."""
    cdef uint64_t moved = equal(bits, before[event]) & moves[event]
    cdef uint64_t ended = equal(bits, again_before[event]) & again[event]
    accepted[0] = (moved & ends_once[event]) | ended
    return bits + moved + ended


cdef inline bint moves_any(const uint64_t *row, uint32_t width, int event) noexcept nogil:
    """Does the event move a column of the row? Most often it does not, and here are no branches."""
    cdef uint64_t any_moved = 0
    cdef uint32_t c
    for c in range(ROW_HEAD, width):
        any_moved |= equal(row[c], before[event]) & -<uint64_t> (row[c] != 0)
    return any_moved & moves[event] & pairs_only != 0


cdef struct Set:
    uint32_t visits
    uint32_t matches         # at most `most`


cdef struct Start:
    uint64_t bits            # Bits(u, *, l, *)
    uint32_t location
    uint32_t touch


cdef struct Visit:
    Start *starts
    uint32_t count           # of `starts`
    uint32_t size_class      # of the block of `starts`
    uint32_t unit
    uint32_t thread
    uint32_t set
    uint32_t version         # grows whenever an automaton of the unit on this set may have moved
    Link link                # in the set's list
    uint32_t sibling         # the same unit on another set
    uint32_t pairs           # 2 * pair + the side that is this visit's
    bint writes


cdef struct Touch:
    uint32_t visit
    uint32_t index           # in the visit's `starts`
    uint32_t location
    Link link                # in the location's list
    uint32_t[2] seen         # by kind of access: the visit's version when it was last done
    uint32_t[2] waiting      # by kind of access: the list of patterns that it would complete


cdef struct Waiting:
    uint64_t patterns        # the lowest bit of each
    uint32_t other           # the unit that has ended
    uint32_t location        # the pattern's other location, or the same
    uint32_t next


cdef struct Side:
    uint64_t **rows          # NULL: no row yet
    uint32_t size_class


cdef struct Pair:
    Side[2] sides
    uint32_t[2] visits
    uint32_t[2] before, after    # in the lists of the two
    uint32_t tuples


cdef struct Match:
    uint64_t event
    uint32_t set
    uint32_t unit
    uint32_t other
    uint32_t location
    uint32_t second
    uint8_t pattern


@cython.final
cdef class Patterns:
    cdef bint collects
    cdef uint32_t most               # matches of one set
    cdef Work work
    cdef Set *sets
    cdef uint32_t *locations
    cdef size_t set_room, location_room

    cdef Visit *visits
    cdef Touch *touches
    cdef Pair *pairs
    cdef Waiting *waiting
    cdef Pool visit_pool, touch_pool, pair_pool, waiting_pool
    cdef Blocks blocks               # of starts and rows
    cdef Map units                   # by unit: the first of its visits

    cdef Match *matches
    cdef size_t match_room, match_count

    cdef uint64_t created, alive, most_alive, most_units

    def __init__(self, *, bint collects=True, most=None):
        """`most`: a set that has had so many matches is not looked at any more.

        Where units of a set meet as they like, their matches are as many as all ways to choose two of them and two
        locations, and so is the time to find them.
        """
        self.collects = collects
        self.most = 0xFFFFFFFF if most is None else most
        self.leave_out_0()

    def __dealloc__(self):
        self.drop()
        free(self.matches)

    @property
    def counters(self):
        return {
            "tuples": self.created,
            "most_tuples": self.most_alive,
            "most_units": self.most_units,
        }

    def feed(self, rows):
        """Take the next `Rows`."""
        cdef const uint8_t[::1] kind = rows.kind
        cdef const uint32_t[::1] thread = rows.thread
        cdef const uint32_t[::1] unit = rows.unit
        cdef const uint32_t[::1] set_ = rows.set
        cdef const uint32_t[::1] location = rows.location
        cdef const uint64_t[::1] event = rows.event
        cdef size_t i, count = kind.shape[0]
        cdef int outcome = 0
        cdef uint8_t k
        with nogil:
            for i in range(count):
                if is_long(&self.work, i) or has_toiled(&self.work):
                    look_up()
                if i + AHEAD < count and location[i + AHEAD] < self.location_room and set_[i + AHEAD] < self.set_room:
                    prefetch(&self.locations[location[i + AHEAD]])
                    prefetch(&self.sets[set_[i + AHEAD]])
                k = kind[i]
                if k == ROW_END:
                    outcome = self.end(unit[i])
                elif not (
                    has_room(<void **> &self.sets, &self.set_room, <size_t> set_[i] + 1, sizeof(Set))
                    and has_room(<void **> &self.locations, &self.location_room, <size_t> location[i] + 1, 4)
                ):
                    outcome = FAILED
                elif k & ROW_ALONE and self.collects:
                    outcome = self.alone(thread[i], unit[i], set_[i], location[i], k & WRITE)
                else:
                    outcome = self.access(thread[i], unit[i], set_[i], location[i], k & WRITE, event[i])
                if outcome == FAILED:
                    break
        if outcome == FAILED:
            raise MemoryError

    def finish(self):
        """All units end. This completes nothing, for every pattern ends with an access."""
        self.drop()

    def take(self):
        """The patterns completed since the last call, in that order."""
        cdef size_t i, count = self.match_count
        names = ("set", "unit", "other", "location", "second")
        found = {"pattern": np.empty(count, np.uint8)}
        found.update((name, np.empty(count, np.uint32)) for name in names)
        found["event"] = np.empty(count, np.uint64)
        cdef uint8_t[::1] pattern = found["pattern"]
        cdef uint32_t[::1] set_ = found["set"], unit = found["unit"], other = found["other"]
        cdef uint32_t[::1] location = found["location"], second = found["second"]
        cdef uint64_t[::1] event = found["event"]
        cdef Match *match
        for i in range(count):
            match = &self.matches[i]
            pattern[i], set_[i], unit[i], other[i] = match.pattern, match.set, match.unit, match.other
            location[i], second[i], event[i] = match.location, match.second, match.event
        self.match_count = 0
        return found

    # ---- rows

    cdef inline int access(
        self, uint32_t t, uint32_t u, uint32_t s, uint32_t l, int kind, uint64_t event
    ) noexcept nogil:
        cdef uint32_t x = self.locations[l], v = 0
        cdef int tries = FEW
        while x and tries:
            v = self.touches[x].visit
            if self.visits[v].unit == u and self.visits[v].set == s:
                break
            x = self.touches[x].link.after
            tries -= 1
        if x == 0 or tries == 0:
            v = self.visit_for(t, u, s)
            x = self.touch_for(v, l) if v else 0
            if x == 0:
                return FAILED
        if self.touches[x].seen[kind] == self.visits[v].version:
            return 0
        return self.advance(v, x, kind, event)

    cdef int advance(self, uint32_t v, uint32_t x, int kind, uint64_t event) noexcept nogil:
        """An access that may move something."""
        cdef Visit *visit = &self.visits[v]
        cdef Touch *touch = &self.touches[x]
        cdef uint64_t *bits = &visit.starts[touch.index].bits
        cdef bint has_moved = False
        cdef uint32_t link
        cdef Pair *pair
        cdef int outcome
        if self.sets[visit.set].matches >= self.most:
            return 0
        if touch.waiting[kind] and self.complete(visit, touch, kind, event) == FAILED:
            return FAILED
        bits[0] |= begun[kind]
        if kind == WRITE and not visit.writes and not self.becomes_writer(v):
            return FAILED
        link = visit.pairs
        while link:
            pair = &self.pairs[link >> 1]
            outcome = self.meet(pair, link & 1, touch, kind, event)
            if outcome == FAILED:
                return FAILED
            if outcome:
                self.visits[pair.visits[~link & 1]].version += 1
                has_moved = True
            link = pair.after[link & 1]
        if has_moved:
            visit.version += 1
        touch.seen[kind] = visit.version
        return 0

    cdef int alone(self, uint32_t t, uint32_t u, uint32_t s, uint32_t l, int kind) noexcept nogil:
        """An access that is a unit of its own, as u': it leaves patterns for others to complete."""
        cdef uint32_t x = self.locations[l]
        cdef Visit *visit
        cdef uint64_t bits, accepted = 0
        if self.sets[s].matches >= self.most:
            return 0
        while x:
            visit = &self.visits[self.touches[x].visit]
            if visit.set == s and visit.thread != t:
                bits = stepped(visit.starts[self.touches[x].index].bits, OTHER_FIRST + kind, &accepted)
                if self.leave_summary(x, bits, u) == FAILED:
                    return FAILED
            x = self.touches[x].link.after
        return 0

    cdef int end(self, uint32_t u) noexcept nogil:
        cdef uint32_t v, sibling
        if not self.collects:
            return 0
        v = self.first_visit(u)
        if v == 0:
            return 0
        forget(&self.units, u)
        while v:
            sibling = self.visits[v].sibling
            if self.leave(v) == FAILED:
                return FAILED
            v = sibling
        return 0

    # ---- two units

    cdef int meet(self, Pair *pair, int own, Touch *touch, int kind, uint64_t event) noexcept nogil:
        """The tuples of two units after an access of one. 1: something has moved."""
        cdef Visit *visit = &self.visits[pair.visits[own]]
        cdef Visit *partner = &self.visits[pair.visits[1 - own]]
        cdef uint32_t mine = touch.index, x = self.touch_of(pair.visits[1 - own], touch.location)
        cdef uint32_t theirs = self.touches[x].index if x else <uint32_t> NOWHERE
        cdef int moved = 0, outcome
        self.work.done += 64
        if kind == WRITE or partner.writes:     # to a unit that only reads, another one's read is nothing
            moved = self.as_other(pair, &pair.sides[1 - own], partner, visit, theirs, mine, kind, event)
        if moved != FAILED and pair.sides[own].rows != NULL:
            outcome = self.as_unit(&pair.sides[own], visit, partner, mine, theirs, kind, event)
            moved = FAILED if outcome == FAILED else moved | outcome
        return moved

    cdef int as_other(
        self, Pair *pair, Side *side, Visit *u, Visit *other, uint32_t theirs, uint32_t mine, int kind, uint64_t event
    ) noexcept nogil:
        """The access is one of u', to its touch `mine`; `theirs` is u's touch of the same location, or NOWHERE."""
        cdef uint64_t *row
        cdef uint64_t bits, after, steps, states, mask, accepted = 0
        cdef uint32_t r, c, column = ROW_HEAD + mine, width, rows
        cdef int moved = 0
        if theirs != NOWHERE:
            row = row_of(side, theirs)
            bits = u.starts[theirs].bits if row == NULL else row[SUMMARY]
            after = stepped(bits, OTHER_FIRST + kind, &accepted)
            width = 0 if row == NULL else min(words(row[0]), ROW_HEAD + other.count)
            if after != bits:
                row = self.row_with(pair, side, theirs, u, other, ROW_HEAD)
                if row == NULL:
                    return FAILED
                row[SUMMARY] = after
                moved = 1
            if moves_any(row, width, OTHER_FIRST + kind):
                moved = 1
                for c in range(ROW_HEAD, width):    # a column that is not there, 0, does not move
                    steps = equal(row[c], before[OTHER_FIRST + kind]) & moves[OTHER_FIRST + kind] & pairs_only
                    row[c] += steps
                    accepted = steps & ends[OTHER_FIRST + kind]
                    if accepted and not self.report(
                        accepted, u, other.unit, u.starts[theirs].location, other.starts[c - ROW_HEAD].location, event
                    ):
                        return FAILED
        rows = words(side.size_class) if side.rows != NULL else 0
        states, mask = before[OTHER_SECOND + kind], moves[OTHER_SECOND + kind]
        for r in range(u.count):
            row = side.rows[r] if r < rows else NULL
            if row == NULL:
                bits = u.starts[r].bits
            elif column < words(row[0]) and row[column]:
                bits = row[column]
            else:
                bits = row[SUMMARY]
            steps = equal(bits, states) & mask
            if steps and r != theirs:       # this completes nothing: no pattern ends so
                row = self.row_with(pair, side, r, u, other, column + 1)
                if row == NULL:
                    return FAILED
                if row[column] == 0:
                    pair.tuples += 1
                    self.count_tuple()
                row[column] = (bits & pairs_only) + steps
                moved = 1
                rows = words(side.size_class)
        return moved

    cdef int as_unit(
        self, Side *side, Visit *u, Visit *other, uint32_t mine, uint32_t theirs, int kind, uint64_t event
    ) noexcept nogil:
        """The access is one of u, to its touch `mine`; `theirs` is the touch of the same location by u', or NOWHERE."""
        cdef uint64_t *row = row_of(side, mine)
        cdef uint64_t after, steps, states, mask, accepted = 0
        cdef uint32_t r, c, width, column = ROW_HEAD + theirs
        cdef uint32_t l = u.starts[mine].location
        cdef int moved = 0
        if row != NULL:
            after = stepped(row[SUMMARY], FIRST + kind, &accepted)
            if after != row[SUMMARY]:
                row[SUMMARY] = after
                moved = 1
                if accepted and not self.report(accepted, u, other.unit, l, l, event):
                    return FAILED
            width = min(words(row[0]), ROW_HEAD + other.count)
            if moves_any(row, width, FIRST + kind):
                moved = 1
                for c in range(ROW_HEAD, width):
                    if row[c]:
                        row[c] += equal(row[c], before[FIRST + kind]) & moves[FIRST + kind] & pairs_only
        if theirs == NOWHERE:
            return moved
        states, mask = before[SECOND + kind], moves[SECOND + kind]
        for r in range(min(u.count, words(side.size_class))):
            row = side.rows[r]
            if row == NULL or column >= words(row[0]):
                continue
            steps = equal(row[column], states) & mask      # a column that is not there, 0, does not move
            if steps:
                row[column] += steps
                moved = 1
                accepted = steps & ends[SECOND + kind]
                if accepted and not self.report(accepted, u, other.unit, u.starts[r].location, l, event):
                    return FAILED
        return moved

    cdef uint64_t *row_with(
        self, Pair *pair, Side *side, uint32_t r, Visit *u, Visit *other, uint32_t width
    ) noexcept nogil:
        """Row `r`, at least `width` words wide. A new one begins as (u, *, l, *)."""
        cdef uint64_t *row
        cdef uint64_t **rows
        cdef uint32_t size
        if side.rows == NULL or r >= words(side.size_class):
            size = class_for(max(r + 1, u.count))
            rows = <uint64_t **> take_block(&self.blocks, size, WORD)
            if rows == NULL:
                return NULL
            if side.rows != NULL:
                memcpy(rows, side.rows, 8 << side.size_class)
                give_block(&self.blocks, side.rows, side.size_class)
            side.rows, side.size_class = rows, size
        row = side.rows[r]
        if row != NULL and width <= words(row[0]):
            return row
        size = class_for(max(width, ROW_HEAD + other.count))
        cdef uint64_t *wider = <uint64_t *> take_block(&self.blocks, size, WORD)
        if wider == NULL:
            return NULL
        if row == NULL:
            wider[SUMMARY] = u.starts[r].bits
            pair.tuples += 1
            self.count_tuple()
        else:
            memcpy(wider, row, 8 << row[0])
            give_block(&self.blocks, row, <uint32_t> row[0])
        wider[0] = size
        side.rows[r] = wider
        return wider

    # ---- ends

    cdef int leave(self, uint32_t v) noexcept nogil:
        """The visit ends. Its partners keep the patterns that they can complete alone."""
        cdef Visit *visit = &self.visits[v]
        cdef uint32_t i, x
        cdef Touch *touch
        cdef int kind
        while visit.pairs:
            if self.part(visit.pairs) == FAILED:
                return FAILED
        for i in range(visit.count):
            x = visit.starts[i].touch
            touch = &self.touches[x]
            take_out(&self.touches[0].link, sizeof(Touch), &self.locations[touch.location], x)
            for kind in range(2):
                self.free_waiting(touch.waiting[kind])
            give_slot(&self.touch_pool, self.touches, sizeof(Touch), x)
        self.alive -= visit.count
        if visit.starts != NULL:
            give_block(&self.blocks, visit.starts, visit.size_class)
        take_out(&self.visits[0].link, sizeof(Visit), &self.sets[visit.set].visits, v)
        give_slot(&self.visit_pool, self.visits, sizeof(Visit), v)
        return 0

    cdef int part(self, uint32_t link) noexcept nogil:
        """One of the two units ends: that of this link."""
        cdef uint32_t p = link >> 1, own = link & 1
        cdef Pair *pair = &self.pairs[p]
        cdef uint32_t v = pair.visits[own], partner = pair.visits[1 - own]
        cdef int outcome = 0
        if self.sets[self.visits[v].set].matches < self.most:
            outcome = self.leave_side(&pair.sides[own], v, partner, True)
            if outcome != FAILED:
                outcome = self.leave_side(&pair.sides[1 - own], partner, v, False)
        self.alive -= pair.tuples
        self.free_rows(&pair.sides[0])
        self.free_rows(&pair.sides[1])
        self.unlink(pair, 0)
        self.unlink(pair, 1)
        give_slot(&self.pair_pool, self.pairs, sizeof(Pair), p)
        return outcome

    cdef int leave_side(self, Side *side, uint32_t u, uint32_t other, bint u_ends) noexcept nogil:
        """One of the two units ends, and the other may complete patterns alone.

        If u ends, u' may complete 8, 13 and 14 at l1; if u' ends, u may complete 1 to 5 at l1 and the others at l2.
        """
        cdef uint32_t ended = self.visits[u if u_ends else other].unit, living = other if u_ends else u
        cdef int last = OTHER_FIRST if u_ends else SECOND
        cdef uint64_t *row
        cdef uint64_t near, left
        cdef uint32_t r, c, first, second
        cdef int kind
        if side.rows == NULL:
            return 0
        for r in range(min(self.visits[u].count, words(side.size_class))):
            row = side.rows[r]
            if row == NULL:
                continue
            if not u_ends and self.leave_summary(self.visits[u].starts[r].touch, row[SUMMARY], ended) == FAILED:
                return FAILED
            first = self.visits[u].starts[r].location
            for c in range(ROW_HEAD, words(row[0])):
                near = equal(row[c], 3 * lowest) if row[c] else 0
                for kind in range(2):
                    left = near & ends[last + kind]
                    if left == 0:
                        continue
                    second = self.visits[other].starts[c - ROW_HEAD].location
                    if not self.wait(
                        self.touch_for(living, first if u_ends else second), kind, left, ended,
                        second if u_ends else first,
                    ):
                        return FAILED
        return 0

    cdef int leave_summary(self, uint32_t x, uint64_t bits, uint32_t other) noexcept nogil:
        """Patterns 1 to 5 that u can complete at its touch `x`, now that `other` has ended."""
        cdef uint64_t near = equal(bits, 2 * lowest)
        cdef int kind
        for kind in range(2):
            if near & ends[FIRST + kind] and not self.wait(
                x, kind, near & ends[FIRST + kind], other, self.touches[x].location
            ):
                return FAILED
        return 0

    cdef bint wait(
        self, uint32_t x, int kind, uint64_t patterns, uint32_t other, uint32_t location
    ) noexcept nogil:
        """Complete these patterns when the touch is accessed so. False: no memory."""
        cdef uint32_t y
        cdef Touch *touch = &self.touches[x]
        if x == 0:
            return False
        y = take_slot(&self.waiting_pool, <void **> &self.waiting, sizeof(Waiting))
        if y == NO_SLOT:
            return False
        self.waiting[y].patterns, self.waiting[y].other, self.waiting[y].location = patterns, other, location
        self.waiting[y].next, touch.waiting[kind] = touch.waiting[kind], y
        touch.seen[kind] = 0
        self.alive += 1
        self.most_alive = max(self.most_alive, self.alive)
        return True

    cdef int complete(self, Visit *visit, Touch *touch, int kind, uint64_t event) noexcept nogil:
        """The access that was waited for. The visit is u, or u' in patterns 8, 13 and 14."""
        cdef uint32_t y = touch.waiting[kind]
        cdef uint32_t l = touch.location
        cdef Waiting *entry
        cdef uint64_t as_other
        while y:
            self.work.done += 32
            entry = &self.waiting[y]
            as_other = entry.patterns & ends[OTHER_FIRST + kind]
            if not (
                self.report_all(
                    entry.patterns & ~as_other, visit.set, visit.unit, entry.other, entry.location, l, event
                )
                and self.report_all(as_other, visit.set, entry.other, visit.unit, l, entry.location, event)
            ):
                return FAILED
            y = entry.next
        self.free_waiting(touch.waiting[kind])
        touch.waiting[kind] = 0
        return 0

    cdef bint report(
        self, uint64_t patterns, Visit *u, uint32_t other, uint32_t location, uint32_t second, uint64_t event
    ) noexcept nogil:
        return self.report_all(patterns, u.set, u.unit, other, location, second, event)

    cdef bint report_all(
        self,
        uint64_t patterns,
        uint32_t s,
        uint32_t u,
        uint32_t other,
        uint32_t location,
        uint32_t second,
        uint64_t event,
    ) noexcept nogil:
        """False: no memory."""
        cdef int pattern
        cdef Match *match
        if patterns == 0:
            return True
        if not has_room(<void **> &self.matches, &self.match_room, self.match_count + PATTERNS, sizeof(Match)):
            return False
        for pattern in range(PATTERNS):
            if patterns >> (3 * pattern) & 1:
                match = &self.matches[self.match_count]
                match.event, match.set, match.unit, match.other = event, s, u, other
                match.location, match.second, match.pattern = location, second, pattern + 1
                self.match_count += 1
                if self.sets[s].matches < self.most:
                    self.sets[s].matches += 1
        return True

    # ---- slots

    cdef uint32_t visit_for(self, uint32_t t, uint32_t u, uint32_t s) noexcept nogil:
        """The unit's visit on the set; a new one, if there is none. 0: no memory."""
        cdef uint32_t v, w = self.sets[s].visits, first
        if w and self.visits[w].unit == u:
            return w
        v = first = self.first_visit(u)
        # It would be in both lists, so the shorter one tells: sets have many visits, or units visit many sets.
        while v and w:
            if self.visits[v].set == s:
                return v
            if self.visits[w].unit == u:
                return w
            v, w = self.visits[v].sibling, self.visits[w].link.after
        return self.new_visit(t, u, s, first)

    cdef inline uint32_t first_visit(self, uint32_t u) noexcept nogil:
        """0: the unit has none."""
        cdef uint32_t v = found(&self.units, u)
        return 0 if v == NOT_FOUND else v

    cdef uint32_t new_visit(self, uint32_t t, uint32_t u, uint32_t s, uint32_t sibling) noexcept nogil:
        """0: no memory."""
        cdef uint32_t v = take_slot(&self.visit_pool, <void **> &self.visits, sizeof(Visit)), w, last = 0
        cdef Visit *visit
        if v == NO_SLOT or not put(&self.units, u, v):
            return 0
        visit = &self.visits[v]
        memset(visit, 0, sizeof(Visit))
        visit.unit, visit.thread, visit.set, visit.version, visit.sibling = u, t, s, 1, sibling
        self.most_units = max(self.most_units, self.units.used)
        w = self.sets[s].visits
        while w and self.visits[w].writes:
            if self.visits[w].thread != t and self.sets[s].matches < self.most and not self.new_pair(v, w):
                return 0
            last, w = w, self.visits[w].link.after
        put_behind(&self.visits[0].link, sizeof(Visit), &self.sets[s].visits, last, v)
        return v

    cdef bint becomes_writer(self, uint32_t v) noexcept nogil:
        """Its first write: from now on it has to do with those that only read, too. False: no memory."""
        cdef Visit *visit = &self.visits[v]
        cdef uint32_t w = self.sets[visit.set].visits
        visit.writes = True
        take_out(&self.visits[0].link, sizeof(Visit), &self.sets[visit.set].visits, v)
        put_first(&self.visits[0].link, sizeof(Visit), &self.sets[visit.set].visits, v)
        while w:
            if not self.visits[w].writes and self.visits[w].thread != visit.thread and not self.new_pair(v, w):
                return False
            w = self.visits[w].link.after
        return True

    cdef bint new_pair(self, uint32_t v, uint32_t w) noexcept nogil:
        cdef uint32_t p = take_slot(&self.pair_pool, <void **> &self.pairs, sizeof(Pair))
        cdef Pair *pair
        if p == NO_SLOT:
            return False
        pair = &self.pairs[p]
        memset(pair, 0, sizeof(Pair))
        pair.visits[0], pair.visits[1] = v, w
        self.link(p, 0)
        self.link(p, 1)
        return True

    cdef void link(self, uint32_t p, uint32_t own) noexcept nogil:
        cdef Visit *visit = &self.visits[self.pairs[p].visits[own]]
        cdef uint32_t first = visit.pairs
        self.pairs[p].after[own] = first
        if first:
            self.pairs[first >> 1].before[first & 1] = 2 * p + own
        visit.pairs = 2 * p + own

    cdef void unlink(self, Pair *pair, int own) noexcept nogil:
        cdef uint32_t earlier = pair.before[own], later = pair.after[own]
        if earlier:
            self.pairs[earlier >> 1].after[earlier & 1] = later
        else:
            self.visits[pair.visits[own]].pairs = later
        if later:
            self.pairs[later >> 1].before[later & 1] = earlier

    cdef void free_rows(self, Side *side) noexcept nogil:
        cdef uint32_t r
        if side.rows == NULL:
            return
        for r in range(words(side.size_class)):
            if side.rows[r] != NULL:
                give_block(&self.blocks, side.rows[r], <uint32_t> side.rows[r][0])
        give_block(&self.blocks, side.rows, side.size_class)

    cdef inline uint32_t touch_of(self, uint32_t v, uint32_t l) noexcept nogil:
        cdef uint32_t x = self.locations[l], i = 0
        cdef Visit *visit = &self.visits[v]
        while x and i < visit.count:        # again, the shorter list tells
            if self.touches[x].visit == v:
                return x
            if visit.starts[i].location == l:
                return visit.starts[i].touch
            x = self.touches[x].link.after
            i += 1
        return 0

    cdef uint32_t touch_for(self, uint32_t v, uint32_t l) noexcept nogil:
        """The visit's touch of the location; one without an access, if there is none. 0: no memory."""
        cdef uint32_t x = self.touch_of(v, l)
        return x if x else self.new_touch(v, l)

    cdef uint32_t new_touch(self, uint32_t v, uint32_t l) noexcept nogil:
        """0: no memory."""
        cdef Visit *visit = &self.visits[v]
        cdef uint32_t x
        cdef Start *starts
        cdef Touch *touch
        if visit.starts == NULL or 2 * visit.count >= words(visit.size_class):    # a start has two words
            starts = <Start *> take_block(&self.blocks, visit.size_class + 1 if visit.count else 3, WORD)
            if starts == NULL:
                return 0
            if visit.count:
                memcpy(starts, visit.starts, 8 << visit.size_class)
                give_block(&self.blocks, visit.starts, visit.size_class)
            visit.size_class = visit.size_class + 1 if visit.count else 3
            visit.starts = starts
        x = take_slot(&self.touch_pool, <void **> &self.touches, sizeof(Touch))
        if x == NO_SLOT:
            return 0
        touch = &self.touches[x]
        memset(touch, 0, sizeof(Touch))
        touch.visit, touch.index, touch.location = v, visit.count, l
        put_first(&self.touches[0].link, sizeof(Touch), &self.locations[l], x)
        visit.starts[visit.count].location, visit.starts[visit.count].touch = l, x
        visit.count += 1
        self.count_tuple()
        return x

    cdef void free_waiting(self, uint32_t y) noexcept nogil:
        """A whole list of them."""
        cdef uint32_t next
        while y:
            next = self.waiting[y].next
            give_slot(&self.waiting_pool, self.waiting, sizeof(Waiting), y)
            self.alive -= 1
            y = next

    cdef inline void count_tuple(self) noexcept nogil:
        self.created += 1
        self.alive += 1
        self.most_alive = max(self.most_alive, self.alive)

    cdef void leave_out_0(self) noexcept nogil:
        """Slots are numbered from 1."""
        self.visit_pool.used = self.touch_pool.used = self.pair_pool.used = self.waiting_pool.used = 1

    cdef void drop(self) noexcept nogil:
        """Forget all but matches and counters."""
        free_blocks(&self.blocks)
        free_map(&self.units)
        free(self.sets)
        free(self.locations)
        free(self.visits)
        free(self.touches)
        free(self.pairs)
        free(self.waiting)
        self.sets, self.locations, self.visits = NULL, NULL, NULL
        self.touches, self.pairs, self.waiting = NULL, NULL, NULL
        self.set_room = self.location_room = self.alive = 0
        memset(&self.visit_pool, 0, sizeof(Pool))
        memset(&self.touch_pool, 0, sizeof(Pool))
        memset(&self.pair_pool, 0, sizeof(Pool))
        memset(&self.waiting_pool, 0, sizeof(Pool))
        self.leave_out_0()


cdef inline uint64_t *row_of(Side *side, uint32_t r) noexcept nogil:
    if side.rows == NULL or r >= words(side.size_class):
        return NULL
    return side.rows[r]


cdef inline uint32_t words(uint64_t size_class) noexcept nogil:
    return <uint32_t> 1 << size_class


cdef inline uint32_t class_for(uint32_t needed) noexcept nogil:
    cdef uint32_t size_class = 0
    while words(size_class) < needed:
        size_class += 1
    return size_class
