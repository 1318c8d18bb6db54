# cython: language_level=3, freethreading_compatible=True
"""Finds which shapes of units meet, and in how many ways: the loop of `predictors/meetings.py`.

A *case* is two forms and which of their locations and locks coincide. Two shapes are of one case; all pairs of shapes
that conflict somewhere are looked at, and what they have in common with other pairs is decided once for the case.

Units that hold a common lock around all their accesses come one after the other as a whole. Their communication nodes
contain all other ones, and so are no commit nodes beside these: such pairs are left out. Most users of a location hold
one lock, its *guard*: of these, pairs are not even looked at.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free

from atomsan.predictors.engines._mixing cimport mixed
from atomsan.trace._hashing cimport Map, NOT_FOUND, found, free_map, put
from atomsan.trace._memory cimport ensure_room, out_of_memory

import numpy as np

cdef enum:
    NONE = 0xFFFFFFFF
    SEVERAL = 0xFFFFFFFE  # commit nodes
    WRITES = 2
    THROUGHOUT = 4        # of a lock
    VISITS_IN_A_TICK = 1 << 16

cdef struct CaseRow:
    uint32_t one          # the form of the first unit
    uint32_t other
    uint32_t common       # so many locations and locks coincide
    uint32_t examples     # so many were kept
    uint32_t commits      # the commit node that the first unit has in it; 0: none, or SEVERAL
    uint32_t other_commits
    uint64_t match        # where it stands, by slot of the first form, which slot of the second coincides, plus 1


cdef struct Columns:
    const uint32_t *forms         # by shape
    const uint64_t *starts        # by shape: where its entities begin
    const uint32_t *entities
    const uint32_t *slot_starts   # by form
    const uint8_t *uses           # by slot


cdef bint is_held(const Columns *columns, uint32_t shape, uint32_t lock) noexcept nogil:
    """Whether the units of a shape hold a lock around all their accesses."""
    cdef const uint8_t *uses = columns.uses + columns.slot_starts[columns.forms[shape]]
    cdef const uint32_t *entities = columns.entities + columns.starts[shape]
    cdef uint64_t slot
    for slot in range(columns.starts[shape + 1] - columns.starts[shape]):
        if uses[slot] & THROUGHOUT and entities[slot] == lock:
            return True
    return False


cdef uint32_t guard_of(
    const Columns *columns, const uint32_t *users, uint64_t count, uint32_t *holders
) noexcept nogil:
    """The lock that most of some shapes hold around all their accesses; NONE: none does. `holders` are 0, by entity."""
    cdef uint32_t guard = NONE, most = 0, shape
    cdef const uint8_t *uses
    cdef const uint32_t *entities
    cdef uint64_t i, slot
    cdef int more
    for more in range(1, -1, -1):
        for i in range(count):
            shape = users[i]
            uses = columns.uses + columns.slot_starts[columns.forms[shape]]
            entities = columns.entities + columns.starts[shape]
            for slot in range(columns.starts[shape + 1] - columns.starts[shape]):
                if uses[slot] & THROUGHOUT:
                    holders[entities[slot]] = more * (holders[entities[slot]] + 1)
                    if holders[entities[slot]] > most:
                        guard, most = entities[slot], holders[entities[slot]]
    return guard


def guarded_locations(shapes, form_slots, uint32_t offset):
    """By location, the entities below the offset: 1 if there is a lock that all its users hold.

    One pass over the shapes, in their order: of the first user of a location it is kept which of its locks the later
    ones hold, too. Of more than 64 locks some are not looked at.
    """
    cdef const uint32_t[::1] forms, entities, slot_starts
    cdef const uint64_t[::1] starts
    cdef const uint8_t[::1] uses
    forms, starts, entities = shapes
    slot_starts, uses = form_slots
    cdef uint8_t[::1] guarded = np.zeros(<size_t> offset + 1, np.uint8)
    if not entities.shape[0]:
        return np.asarray(guarded)
    cdef uint32_t count = <uint32_t> forms.shape[0], shape, location, first, bit
    cdef uint32_t entity_count = 0
    cdef uint64_t left, k, total = 0
    for k in range(<uint64_t> entities.shape[0]):
        entity_count = max(entity_count, entities[k] + 1)
    # by shape: the locks that its units hold around all they do, one after the other
    cdef uint64_t[::1] held_starts = np.zeros(<size_t> count + 1, np.uint64)
    cdef uint32_t[::1] held = np.empty(entities.shape[0], np.uint32)
    cdef uint32_t[::1] holder = np.zeros(<size_t> entity_count + 1, np.uint32)    # by lock: the last shape, plus 1
    cdef uint32_t[::1] first_user = np.zeros(<size_t> offset + 1, np.uint32)      # plus 1
    cdef uint64_t[::1] common = np.zeros(<size_t> offset + 1, np.uint64)          # its locks that all hold, by bit
    for shape in range(count):
        for k in range(starts[shape], starts[shape + 1]):
            if uses[slot_starts[forms[shape]] + (k - starts[shape])] & THROUGHOUT:
                held[total] = entities[k]
                holder[entities[k]] = shape + 1
                total += 1
        held_starts[shape + 1] = total
        for k in range(starts[shape], starts[shape + 1]):
            location = entities[k]
            if location >= offset:
                continue
            if not first_user[location]:
                left = total - held_starts[shape]
                first_user[location] = shape + 1
                common[location] = (<uint64_t> 1 << left) - 1 if left < 64 else ~(<uint64_t> 0)
                continue
            first, left, bit = first_user[location] - 1, common[location], 0
            while left:
                if left & 1 and holder[held[held_starts[first] + bit]] != shape + 1:
                    common[location] &= ~(<uint64_t> 1 << bit)
                left >>= 1
                bit += 1
    for location in range(offset):
        guarded[location] = common[location] != 0
    return np.asarray(guarded)


def users_of(
    const uint64_t[::1] starts, const uint32_t[::1] entities, uint32_t offset, const uint8_t[::1] is_left_out
):
    """The locations that are used, the entities below the offset; where the shapes of each begin; these shapes."""
    cdef uint64_t[::1] places = np.zeros(<size_t> offset + 1, np.uint64)
    cdef uint64_t k, total = 0, uses
    cdef uint32_t shape, location, count = 0
    for k in range(<uint64_t> entities.shape[0]):
        if entities[k] < offset and not is_left_out[entities[k]]:
            places[entities[k]] += 1
    for location in range(offset):
        count += places[location] > 0
    cdef uint32_t[::1] locations = np.empty(count, np.uint32)
    cdef uint64_t[::1] user_starts = np.empty(<size_t> count + 1, np.uint64)
    count = 0
    for location in range(offset):
        uses = places[location]
        if uses:
            locations[count], user_starts[count] = location, total
            count += 1
        places[location] = total
        total += uses
    user_starts[count] = total
    cdef uint32_t[::1] shapes = np.empty(total, np.uint32)
    for shape in range(<uint32_t> (starts.shape[0] - 1) if total else 0):
        for k in range(starts[shape], starts[shape + 1]):
            if entities[k] < offset and not is_left_out[entities[k]]:
                shapes[places[entities[k]]] = shape
                places[entities[k]] += 1
    return np.asarray(locations), np.asarray(user_starts), np.asarray(shapes)


cdef class MeetingFinder:
    """Knows the shapes and occurrences by their columns; `find` looks at all pairs that use a location.

    A shape's entities are its locations, then its locks: locks are numbered behind the last location. `slot_starts` and
    `uses` say of a form's slots, one after the other, whether they are written, or held around all accesses. Occurrences are sorted by shape, thread
    and periods, from `firsts` to `lasts`: `rows` and `threads` are where they stand in `known`, which tells how many
    periods of another thread are over when they begin. `decide` gives the commit nodes of both units of a new case, `inner` the innermost of two nodes of a form.
    """

    cdef const uint32_t[::1] forms, entities, slot_starts, threads, firsts, lasts, rows
    cdef const uint64_t[::1] starts, occurrence_starts
    cdef const uint8_t[::1] uses
    cdef const uint32_t[:, ::1] known
    cdef uint32_t *slot_of            # by entity, of the shape that is looked at, plus 1
    cdef size_t slot_room
    cdef uint32_t *holders            # by entity: see `guard_of`
    cdef size_t holder_room
    cdef uint64_t *open_users         # of the location that is looked at: the places of those that do not hold its guard
    cdef size_t open_room
    cdef CaseRow *cases
    cdef size_t case_room
    cdef readonly uint32_t case_count
    cdef uint32_t *matches
    cdef size_t match_count, match_room
    cdef uint32_t *pairs              # the slots that coincide in the pair that is looked at, by twos
    cdef size_t pair_room
    cdef uint32_t *commits            # by shape: its commit node; 0: none, or SEVERAL
    cdef size_t commit_room
    cdef Map case_of, inner_of
    cdef readonly list examples       # by case: shapes, threads and periods of pairs
    cdef uint32_t most_examples
    cdef uint64_t visits
    cdef object decide, inner, tick

    def __cinit__(
        self, shapes, form_slots, occurrences, known, size_t entity_count, uint32_t most_examples, decide, inner, tick
    ):
        self.forms, self.starts, self.entities = shapes
        self.slot_starts, self.uses = form_slots
        self.occurrence_starts, self.threads, self.firsts, self.lasts, self.rows = occurrences
        self.known = known
        self.most_examples, self.decide, self.inner, self.tick = most_examples, decide, inner, tick
        self.examples = []
        ensure_room(<void **> &self.slot_of, &self.slot_room, entity_count + 1, sizeof(uint32_t))
        ensure_room(<void **> &self.holders, &self.holder_room, entity_count + 1, sizeof(uint32_t))
        ensure_room(<void **> &self.commits, &self.commit_room, self.forms.shape[0] + 1, sizeof(uint32_t))

    def __dealloc__(self):
        free(self.slot_of)
        free(self.holders)
        free(self.open_users)
        free(self.cases)
        free(self.matches)
        free(self.pairs)
        free(self.commits)
        free_map(&self.case_of)
        free_map(&self.inner_of)

    def find(self, const uint32_t[::1] locations, const uint64_t[::1] user_starts, const uint32_t[::1] users):
        """Look at the pairs of shapes that use one location, for each of some: `users` are in the order of these."""
        cdef size_t at
        cdef uint64_t i, j, k, open_count, opened
        cdef uint32_t one, guard
        cdef Columns columns
        if not users.shape[0]:
            return
        columns = Columns(
            &self.forms[0], &self.starts[0], &self.entities[0], &self.slot_starts[0], &self.uses[0]
        )
        for at in range(<size_t> locations.shape[0]):
            guard = guard_of(&columns, &users[user_starts[at]], user_starts[at + 1] - user_starts[at], self.holders)
            open_count = opened = 0
            ensure_room(
                <void **> &self.open_users, &self.open_room, user_starts[at + 1] - user_starts[at], sizeof(uint64_t)
            )
            for i in range(user_starts[at], user_starts[at + 1]):
                if guard == NONE or not is_held(&columns, users[i], guard):
                    self.open_users[open_count] = i
                    open_count += 1
            for i in range(user_starts[at], user_starts[at + 1]):
                if opened == open_count:
                    break
                one = users[i]
                for k in range(self.starts[one], self.starts[one + 1]):
                    self.slot_of[self.entities[k]] = <uint32_t> (k - self.starts[one]) + 1
                if self.open_users[opened] == i:
                    opened += 1
                    for j in range(i, user_starts[at + 1]):
                        self.visit(one, users[j], locations[at])
                else:
                    for j in range(opened, open_count):
                        self.visit(one, users[self.open_users[j]], locations[at])
                for k in range(self.starts[one], self.starts[one + 1]):
                    self.slot_of[self.entities[k]] = 0

    cdef int visit(self, uint32_t one, uint32_t other, uint32_t location) except -1:
        """Look at a pair, if this is the first location that it conflicts on."""
        cdef uint32_t form = self.forms[one], other_form = self.forms[other]
        cdef const uint8_t *uses = &self.uses[self.slot_starts[form]]
        cdef const uint8_t *other_uses = &self.uses[self.slot_starts[other_form]]
        cdef uint32_t slot, other_slot, first = NONE, common = 0
        cdef uint32_t size = <uint32_t> (self.starts[other + 1] - self.starts[other])
        cdef const uint32_t *entities = &self.entities[self.starts[other]]
        cdef uint64_t straight = 0, turned = 0
        self.visits += 1
        if self.visits % VISITS_IN_A_TICK == 0:
            self.tick()
        ensure_room(<void **> &self.pairs, &self.pair_room, 2 * <size_t> size, sizeof(uint32_t))
        for other_slot in range(size):
            slot = self.slot_of[entities[other_slot]]
            if slot:
                slot -= 1
                if uses[slot] & other_uses[other_slot] & THROUGHOUT:
                    return 0
                if (uses[slot] | other_uses[other_slot]) & WRITES and slot < first:
                    first = slot
                self.pairs[2 * common], self.pairs[2 * common + 1] = slot, other_slot
                common += 1
                straight += mixed(slot, <uint64_t> other_slot << 32)
                turned += mixed(other_slot, <uint64_t> slot << 32)
        if first == NONE or self.entities[self.starts[one] + first] != location:
            return 0
        # the lower form comes first; of two units of one form, either order will do if it is always the same
        if form < other_form or (form == other_form and straight <= turned):
            return self.meet(self.numbered(form, other_form, common, straight, 0), one, other)
        return self.meet(self.numbered(other_form, form, common, turned, 1), other, one)

    cdef uint32_t numbered(
        self, uint32_t form, uint32_t other_form, uint32_t common, uint64_t hash_value, int is_turned
    ) except? NONE:
        """The case of the pair."""
        cdef uint32_t number, i, size
        cdef CaseRow *row
        hash_value = mixed(mixed(hash_value, form), other_form)
        while True:
            number = found(&self.case_of, hash_value)
            if number == NOT_FOUND:
                break
            row = &self.cases[number]
            if row.one == form and row.other == other_form and row.common == common:
                for i in range(common):
                    if self.matches[row.match + self.pairs[2 * i + is_turned]] != self.pairs[2 * i + 1 - is_turned] + 1:
                        break
                else:
                    return number
            hash_value += 1
        number = self.case_count
        if not put(&self.case_of, hash_value, number):
            out_of_memory()
        size = self.slot_starts[form + 1] - self.slot_starts[form]
        ensure_room(<void **> &self.cases, &self.case_room, <size_t> number + 1, sizeof(CaseRow))
        ensure_room(<void **> &self.matches, &self.match_room, self.match_count + size, sizeof(uint32_t))
        self.cases[number] = CaseRow(form, other_form, common, 0, 0, 0, self.match_count)
        for i in range(common):
            self.matches[self.match_count + self.pairs[2 * i + is_turned]] = self.pairs[2 * i + 1 - is_turned] + 1
        self.match_count += size
        self.case_count += 1
        self.examples.append([])
        self.cases[number].commits, self.cases[number].other_commits = self.decide(number)
        return number

    cdef int meet(self, uint32_t number, uint32_t one, uint32_t other) except -1:
        """Note that two shapes meet in a case, if units of them may run in parallel."""
        cdef CaseRow *case = &self.cases[number]
        cdef uint64_t unit = 0, other_unit = 0
        cdef uint32_t commits = self.joined(case.one, self.commits[one], case.commits)
        cdef uint32_t other_commits = self.joined(
            case.other, self.commits[other] if other != one else commits, case.other_commits
        )
        if case.examples >= self.most_examples and other_commits == self.commits[other] and (
            one == other or commits == self.commits[one]
        ):
            return 0
        if not self.parallel(one, other, &unit, &other_unit):
            return 0
        self.commits[one] = commits
        self.commits[other] = other_commits
        if case.examples < self.most_examples:
            case.examples += 1
            self.examples[number].append((
                one, (self.threads[unit], self.firsts[unit], self.lasts[unit]),
                other, (self.threads[other_unit], self.firsts[other_unit], self.lasts[other_unit]),
            ))
        return 0

    cdef uint32_t joined(self, uint32_t form, uint32_t one, uint32_t other) except? NONE:
        """The commit node of a unit that has these two; SEVERAL if none of them contains the other."""
        cdef uint64_t key
        cdef uint32_t inner
        if one == other or not other or one == SEVERAL:
            return one
        if not one or other == SEVERAL:
            return other
        key = mixed(mixed(form, one), other)
        inner = found(&self.inner_of, key)
        if inner == NOT_FOUND:
            node = self.inner(form, one, other)
            inner = SEVERAL if node is None else node
            if not put(&self.inner_of, key, inner):
                out_of_memory()
        return inner

    cdef bint parallel(self, uint32_t one, uint32_t other, uint64_t *unit, uint64_t *other_unit) except -1:
        """Whether some unit of each may run in parallel, and which."""
        cdef uint64_t i, low, high, middle, group, end = self.occurrence_starts[other + 1]
        cdef uint32_t thread, last, to, since
        cdef const uint32_t *over
        for i in range(self.occurrence_starts[one], self.occurrence_starts[one + 1]):
            thread, last = self.threads[i], self.lasts[i]
            over = &self.known[self.rows[i], 0]
            group = self.occurrence_starts[other]
            while group < end:
                # of a thread, the first one that is not over before: if it comes after, so do all later ones
                to = self.threads[group]
                low, high = group, end
                while low < high:
                    middle = (low + high) // 2
                    if self.threads[middle] == to:
                        low = middle + 1
                    else:
                        high = middle
                since, high = over[to], low
                middle, group = group, low
                low = middle
                while low < high:
                    middle = (low + high) // 2
                    if self.lasts[middle] < since:
                        low = middle + 1
                    else:
                        high = middle
                if low < group and to != thread and self.known[self.rows[low], thread] <= last:
                    unit[0], other_unit[0] = i, low
                    return True
        return False

    def case(self, uint32_t number):
        """The forms of a case, and by slot of the first form, which slot of the second coincides, plus 1."""
        if number >= self.case_count:
            raise IndexError(number)
        cdef CaseRow row = self.cases[number]
        cdef uint32_t i, size = self.slot_starts[row.one + 1] - self.slot_starts[row.one]
        return row.one, row.other, [self.matches[row.match + i] for i in range(size)]

    def has_several(self, uint32_t number):
        """Whether a shape has several commit nodes."""
        if number >= <size_t> self.forms.shape[0]:
            raise IndexError(number)
        return self.commits[number] == SEVERAL

    def forms_with_several(self):
        """The forms of the shapes that have several."""
        cdef size_t i
        return {self.forms[i] for i in range(<size_t> self.forms.shape[0]) if self.commits[i] == SEVERAL}

    def several(self, const uint8_t[::1] counted):
        """How many shapes have several, of the forms that count."""
        cdef size_t i, found_shapes = 0
        for i in range(<size_t> self.forms.shape[0]):
            found_shapes += self.commits[i] == SEVERAL and counted[self.forms[i]]
        return found_shapes
