# cython: language_level=3, freethreading_compatible=True
"""Checks the projection of a trace on each atomic set for conflict-serializability (atomic-sets-2008, section 3).

Each set has a graph of its own. A node is a unit of work on the set; an edge is a conflict on one of the set's
locations, or the order of two units of one thread. The projection is serializable if and only if the graph has no
cycle. A unit inside another one of its thread (a library called it back) is a node beside it: there is no edge between
the two, neither by the thread nor by a conflict. So below, a thread is a *lane* (`checkers.units`), and a conflict is
one of two threads: with the last write, or of a write with the reads since then. All graphs are kept at once, in one
pool of nodes. It is cheap for these reasons:

- *The mask.* An edge only ever leads into the unit that acts now, so a cycle is closed in a running unit, and a node is
  known by the running units that lead to it: its mask, one bit for each thread that runs a unit (on one set a thread
  runs one at most). The edge a -> n closes a cycle if n is in the mask of a: no search. When an edge gives n new bits,
  they are handed on to the nodes n leads to; when a unit ends, its bit is taken back from the nodes it leads to. Either
  way a node is visited only if its mask changes.
- *Forgotten nodes.* A unit that has ended and has an empty mask can never be on a cycle: a set that one thread alone
  uses holds one node at most. A unit that has ended, leads nowhere, and is named by no location and no thread as the
  last to do something, never will lead anywhere: it goes as well, and with it those that led only to it. So a unit that
  runs for hours holds no more nodes than locations and threads name.
- *Edges left out.* An edge a -> n adds nothing if all running units that lead to a (or are a) lead to n already: a
  later unit leads to a by way of one of them. So such an edge is left out, unless a runs: it makes witnesses shorter or
  shows another location, and a node has few of these. For the same reason an edge is given up where later ones cover
  it. And where a has ended with one edge into it, from b, and the access of b comes before that of n too, then b -> n
  is stored in place of a -> n. So chains of units do not get long, neither in memory nor in a witness.
- *Cycles* are not stored: the edge that closes one is left out, so that the graph stays without. The set is marked by
  then; that its graph lacks some order can hide further cycles, but makes none up.

A witness goes back from a, along edges whose sources have n in their mask, until it is at n: a shortest such way.
Cycles that look the same (operation, site and region of each step) are one group, of which the first is kept and the
others are counted. Where groups or the cycles of a set are many, those with long ways only count as `ungrouped`.

Shadow state. A `Last` names an access of a node; it is void once the node's slot has another generation.

    places[x]          of location x on the first set that it was seen in; `next` leads to its other sets
        .writer        the last write
        .reader        a read since then; `others` leads to the rest. One for each thread: the first of its latest unit,
                       for its units before lead to that one. None of the unit that wrote last: the write says more
    lasts[set, t]      the node of t's last unit on the set, if it is alive
    units[u]           the nodes of a running unit, linked by `sibling`
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from atomsan.trace._generations cimport Ref, begin_generation, end_generation, reference, refers_to, slot_of
from atomsan.trace._hashing cimport Map, forget, found, free_map, put
from atomsan.trace._links cimport Link, put_first, take_out
from atomsan.trace._memory cimport has_room, prefetch
from atomsan.trace._pools cimport Pool, give_slot, take_slot
from atomsan.trace._sparse cimport Sparse, forget_rows, free_sparse, has_sparse_room
from atomsan.trace._stopping cimport Work, has_toiled, is_long, look_up

import numpy as np

# Kinds of rows, see `checkers.units`.
cdef enum: READ = 0
cdef enum: WRITE = 1
cdef enum: END = 2
cdef enum: ALONE = 4

cdef enum:
    NONE = 0xFFFFFFFF
    RECENT = 4               # a power of two
    AHEAD = 12               # rows between the prefetch of a location and its use
    LONG = 8                 # readers of a location in other threads: from here on they are hashed
    FEW = 16                 # edges into a node that are looked at, and that it gets without need
    LENGTHY = 64             # steps of a cycle of which not all count for its look
    ENOUGH = 4096            # cycles of a set, after which long ways are not looked for
    FAR = 16                 # nodes that a search may visit then
    FAILED = -1              # no memory


cdef struct Access:
    uint64_t event
    uint32_t location
    uint32_t site
    uint8_t op


cdef struct Last:            # the last access of some sort
    uint64_t event
    Ref node
    uint32_t site


cdef struct Listed:          # of a reader, in a list
    uint32_t next            # 0: the last
    uint32_t thread
    Last read


cdef struct Place:           # a location on a set
    Last writer
    Last reader
    uint32_t others          # in `listed`; 0: none
    uint32_t set             # + 1; 0: not seen yet
    uint32_t next            # place + 1 in `more_places`: the location on another set
    uint32_t hashed          # 0, or `others` got long: each is in `readers`, and after so many more the void ones go


cdef struct Edge:
    Access first             # the access that leaves `source`
    Access second            # the access of `target` that it leads to
    uint32_t source, target
    Link outgoing            # in the list of the source
    Link incoming            # in the list of the target
    bint by_thread           # the order of a thread's units, not a conflict


cdef struct Node:
    Access latest            # of the unit on this set
    uint32_t generation      # of the slot
    uint32_t unit, set, thread, region, transaction
    uint32_t refs            # how many references to it the places have
    uint32_t outgoing, incoming       # the first edge of each list; 0: none
    uint32_t sibling         # the next node of the running unit
    uint32_t mark            # the last search that came by
    uint32_t via             # of that search: the edge by which it goes on
    bint running
    bint last                # `lasts` names it


cdef struct Thread:
    uint32_t real            # the thread of the trace that it is a lane of
    uint32_t bit             # while `running`
    uint32_t running         # nodes of its units that have not ended
    uint32_t recent[RECENT]  # nodes that it had of late, by the last bits of their sets: a unit comes back to its sets


cdef struct Step:
    Access access
    uint32_t thread, unit, region, transaction


cdef struct Group:
    uint64_t count
    uint32_t set


cdef inline uint64_t mixed(uint64_t hashed, uint64_t value) noexcept nogil:
    hashed = (hashed ^ value) * <uint64_t> 0xFF51AFD7ED558CCD
    return hashed ^ (hashed >> 32)


cdef class Projection:
    cdef Work work
    cdef Place *places               # those of `place_rows`
    cdef Sparse place_rows
    cdef Place *more_places
    cdef Listed *listed
    cdef Thread *threads
    cdef uint64_t *closed            # by set: edges that closed a cycle
    cdef size_t more_room, more_count, thread_room, closed_room
    cdef Pool listed_pool

    cdef Node *nodes
    cdef Pool node_pool
    cdef uint64_t *masks             # `words` for each node
    cdef uint32_t *stack             # as many as nodes
    cdef uint32_t *dead              # as many as nodes: also the queue of a search
    cdef uint64_t *covered           # one mask, see `give_up_covered`
    cdef size_t mask_room, stack_room, dead_room, covered_room, words

    cdef Edge *edges
    cdef Pool edge_pool

    cdef uint32_t *bits              # of the masks: nothing but the slots of a pool
    cdef Pool bit_pool

    cdef Map lasts, units, readers   # `readers`: by place and thread, the place in `listed`
    cdef Map known                   # the group of each look of a cycle
    cdef Step *steps                 # of the cycles that were not taken yet
    cdef size_t *ends                # of each of these
    cdef Group *groups
    cdef size_t step_room, step_count, end_room, end_count, group_room, group_count, most_groups
    cdef uint32_t search

    cdef uint64_t made, live, most_live, edges_made, edges_live, most_edges, searches, cycles, ungrouped

    def __cinit__(self, *, size_t most_groups=10_000):
        self.listed_pool.used = self.edge_pool.used = 1     # 0 is none
        self.words = 1
        self.most_groups = most_groups
        if not has_room(<void **> &self.covered, &self.covered_room, self.words, sizeof(uint64_t)):
            raise MemoryError

    def __dealloc__(self):
        free_sparse(&self.place_rows)
        free(self.more_places)
        free(self.listed)
        free(self.threads)
        free(self.closed)
        free(self.nodes)
        free(self.masks)
        free(self.covered)
        free(self.stack)
        free(self.dead)
        free(self.edges)
        free(self.bits)
        free_map(&self.lasts)
        free_map(&self.units)
        free_map(&self.readers)
        free_map(&self.known)
        free(self.steps)
        free(self.ends)
        free(self.groups)

    def feed(self, rows):
        """Take the next rows."""
        cdef const uint8_t[::1] kind = rows.kind
        cdef const uint32_t[::1] thread = rows.thread, lane = rows.lane, unit = rows.unit, set_ = rows.set
        cdef const uint32_t[::1] location = rows.location, region = rows.region, site = rows.site
        cdef const uint32_t[::1] transaction = rows.transaction
        cdef const uint64_t[::1] event = rows.event
        cdef size_t i, count = kind.shape[0]
        cdef int outcome = 0
        cdef Access now
        with nogil:
            for i in range(count):
                if is_long(&self.work, i) or has_toiled(&self.work):
                    look_up()
                if i + AHEAD < count and location[i + AHEAD] < self.place_rows.room:
                    prefetch(&self.places[location[i + AHEAD]])
                    prefetch(&self.places[location[i + AHEAD]].set)     # it may be in the next line
                if kind[i] == END:
                    self.end_unit(unit[i])
                    continue
                now.event, now.location, now.site, now.op = event[i], location[i], site[i], kind[i] & WRITE
                outcome = FAILED
                if has_room(<void **> &self.threads, &self.thread_room, <size_t> lane[i] + 1, sizeof(Thread)):
                    self.threads[lane[i]].real = thread[i]
                    outcome = self.row(kind[i], lane[i], unit[i], set_[i], region[i], transaction[i], &now)
                if outcome:
                    break
        if outcome == FAILED:
            raise MemoryError

    def forget(self, const uint32_t[::1] dead):
        """No row is going to access these locations, which were never forgotten before. Those on several sets stay."""
        cdef Py_ssize_t i
        cdef Place *place
        cdef Last old
        for i in range(dead.shape[0]):
            if dead[i] >= self.place_rows.room or self.places[dead[i]].next:
                continue
            place = &self.places[dead[i]]
            self.drop_readers(place)
            old = place.writer
            place.writer.node = 0
            self.let_go(&old)
            if not forget_rows(&self.place_rows, &dead[i], 1, sizeof(Place)):
                raise MemoryError

    def finish(self):
        """No more rows: the units that run end."""
        cdef uint32_t n
        for n in range(self.node_pool.used):
            if self.nodes[n].running:
                self.end_unit(self.nodes[n].unit)

    # ---- rows

    cdef int row(
        self, uint8_t kind, uint32_t t, uint32_t unit, uint32_t s, uint32_t region, uint32_t transaction, Access *now
    ) noexcept nogil:
        cdef Place *place = self.place_of(s, now.location)
        cdef uint32_t n
        cdef int outcome
        if place == NULL:
            return FAILED
        if self.threads[t].running:
            n = self.threads[t].recent[s % RECENT]
            if self.nodes[n].unit == unit and self.nodes[n].set == s and self.nodes[n].running:
                self.nodes[n].latest = now[0]
                return self.act(place, n, now)
        n = found(&self.lasts, <uint64_t> s << 32 | t)
        if kind & ALONE:
            if n == NONE and not self.alive(&place.writer) and (
                now.op == READ or (place.others == 0 and not self.alive(&place.reader))
            ):
                # Nothing leads to it and it ends here, so it is on no cycle and needs no node.
                if now.op == WRITE:
                    place.writer.node = place.reader.node = 0
                return 0
            n = self.begin(t, unit, s, region, transaction, now, n)
            if n == NONE:
                return FAILED
            outcome = self.act(place, n, now)
            self.end(n)
            return outcome
        if n == NONE or self.nodes[n].unit != unit:
            n = self.begin(t, unit, s, region, transaction, now, n)
            if n == NONE:
                return FAILED
            self.nodes[n].sibling = found(&self.units, unit)
            if not put(&self.units, unit, n):
                return FAILED
        else:
            self.nodes[n].latest = now[0]
        self.threads[t].recent[s % RECENT] = n
        return self.act(place, n, now)

    cdef inline int act(self, Place *place, uint32_t n, Access *now) noexcept nogil:
        return self.write(place, n, now) if now.op == WRITE else self.read(place, n, now)

    cdef int read(self, Place *place, uint32_t n, Access *now) noexcept nogil:
        cdef Last *own
        cdef Last old
        cdef Access first
        if self.names(&place.writer, n) or self.names(&place.reader, n):
            return 0
        own = self.own_reader(place, self.nodes[n].thread)
        if own != NULL and self.names(own, n):
            return 0
        if self.alive(&place.writer) and not self.is_beside(slot_of(place.writer.node), n):
            self.access_of(&place.writer, now.location, WRITE, &first)
            if self.connect(slot_of(place.writer.node), &first, n, now, False):
                return FAILED
        if own == NULL:
            own = self.new_reader(place, self.nodes[n].thread)
            if own == NULL:
                return FAILED
        old = own[0]
        self.refer(own, n, now)
        self.let_go(&old)
        return 0

    cdef int write(self, Place *place, uint32_t n, Access *now) noexcept nogil:
        cdef Last old
        cdef Last *read
        cdef Access first
        cdef uint32_t at
        if place.reader.node == 0 and place.others == 0 and self.names(&place.writer, n):
            return 0
        if self.alive(&place.writer) and not self.is_beside(slot_of(place.writer.node), n):
            self.access_of(&place.writer, now.location, WRITE, &first)
            if self.connect(slot_of(place.writer.node), &first, n, now, False):
                return FAILED
        if self.alive(&place.reader) and not self.is_beside(slot_of(place.reader.node), n):
            self.access_of(&place.reader, now.location, READ, &first)
            if self.connect(slot_of(place.reader.node), &first, n, now, False):
                return FAILED
        at = place.others
        while at:
            read = &self.listed[at].read
            if self.alive(read) and not self.is_beside(slot_of(read.node), n):
                self.access_of(read, now.location, READ, &first)
                if self.connect(slot_of(read.node), &first, n, now, False):
                    return FAILED
            at = self.listed[at].next
        self.drop_readers(place)
        old = place.writer
        self.refer(&place.writer, n, now)
        self.let_go(&old)
        return 0

    cdef Place *place_of(self, uint32_t s, uint32_t x) noexcept nogil:
        cdef Place *place
        cdef uint32_t *link
        if not has_sparse_room(&self.place_rows, <size_t> x + 1, sizeof(Place)):
            return NULL
        self.places = <Place *> self.place_rows.rows
        place = &self.places[x]
        if place.set == s + 1:
            return place
        if place.set == 0:
            place.set = s + 1
            return place
        link = &place.next
        while link[0]:
            place = &self.more_places[link[0] - 1]
            if place.set == s + 1:
                return place
            link = &place.next
        link[0] = self.more_count + 1      # before `more_places` can move
        if not has_room(<void **> &self.more_places, &self.more_room, self.more_count + 1, sizeof(Place)):
            link[0] = 0
            return NULL
        place = &self.more_places[self.more_count]
        self.more_count += 1
        place.set = s + 1
        return place

    # ---- references

    cdef inline bint alive(self, Last *last) noexcept nogil:
        return last.node != 0 and refers_to(last.node, self.nodes[slot_of(last.node)].generation)

    cdef inline bint names(self, Last *last, uint32_t n) noexcept nogil:
        return last.node == reference(n, self.nodes[n].generation)

    cdef inline void access_of(self, Last *last, uint32_t location, uint8_t op, Access *access) noexcept nogil:
        access.event, access.location, access.site, access.op = last.event, location, last.site, op

    cdef inline void refer(self, Last *last, uint32_t n, Access *now) noexcept nogil:
        last.event, last.node, last.site = now.event, reference(n, self.nodes[n].generation), now.site
        self.nodes[n].refs += 1

    cdef inline void let_go(self, Last *last) noexcept nogil:
        if self.alive(last):
            self.nodes[slot_of(last.node)].refs -= 1
            self.release(slot_of(last.node))

    cdef Last *own_reader(self, Place *place, uint32_t t) noexcept nogil:
        """The reader of thread t, or one that is void, or NULL."""
        cdef uint32_t at
        if self.alive(&place.reader) and self.nodes[slot_of(place.reader.node)].thread == t:
            return &place.reader
        if place.hashed:
            at = found(&self.readers, self.reader_key(place, t))
            if at != NONE:
                return &self.listed[at].read
        else:
            self.drop_void(place)
            at = place.others
            while at:
                if self.listed[at].thread == t:
                    return &self.listed[at].read
                at = self.listed[at].next
        return NULL if self.alive(&place.reader) else &place.reader

    cdef Last *new_reader(self, Place *place, uint32_t t) noexcept nogil:
        """NULL: no memory."""
        cdef uint32_t at, count
        if place.hashed == 1 or not place.hashed:
            count = self.drop_void(place)
            if place.hashed:
                place.hashed = max(count, <uint32_t> LONG) + 1
            elif count >= LONG:
                if not self.hash_readers(place):
                    return NULL
                place.hashed = count + 1
        at = take_slot(&self.listed_pool, <void **> &self.listed, sizeof(Listed))
        if at == NONE:
            return NULL
        self.listed[at].read.node = 0
        self.listed[at].thread = t
        self.listed[at].next = place.others
        place.others = at
        if place.hashed:
            place.hashed -= 1
            if not put(&self.readers, self.reader_key(place, t), at):
                return NULL
        return &self.listed[at].read

    cdef inline uint64_t reader_key(self, Place *place, uint32_t t) noexcept nogil:
        cdef uint64_t number
        if self.places <= place < self.places + self.place_rows.room:
            number = 2 * <uint64_t> (place - self.places)
        else:
            number = 2 * <uint64_t> (place - self.more_places) + 1
        return number << 31 | t

    cdef bint hash_readers(self, Place *place) noexcept nogil:
        cdef uint32_t at = place.others
        while at:
            if not put(&self.readers, self.reader_key(place, self.listed[at].thread), at):
                return False
            at = self.listed[at].next
        return True

    cdef uint32_t drop_void(self, Place *place) noexcept nogil:
        """Drop those of `others` that are void; gives how many stay."""
        cdef uint32_t *link = &place.others
        cdef uint32_t count = 0
        while link[0]:
            if self.alive(&self.listed[link[0]].read):
                count += 1
                link = &self.listed[link[0]].next
            else:
                self.drop_reader(place, link)
        return count

    cdef inline void drop_reader(self, Place *place, uint32_t *link) noexcept nogil:
        cdef uint32_t at = link[0]
        if place.hashed:
            forget(&self.readers, self.reader_key(place, self.listed[at].thread))
        link[0] = self.listed[at].next
        give_slot(&self.listed_pool, self.listed, sizeof(Listed), at)

    cdef inline void drop_readers(self, Place *place) noexcept nogil:
        cdef Last old = place.reader
        place.reader.node = 0
        self.let_go(&old)
        while place.others:
            old = self.listed[place.others].read
            self.drop_reader(place, &place.others)
            self.let_go(&old)
        place.hashed = 0

    # ---- nodes

    cdef uint32_t begin(
        self, uint32_t t, uint32_t unit, uint32_t s, uint32_t region, uint32_t transaction, Access *now, uint32_t before
    ) noexcept nogil:
        """A node for the unit on the set, after that of the thread's unit `before`. NONE: no memory."""
        cdef uint32_t n = self.new_node()
        cdef Node *node
        cdef Access first
        if n == NONE or not self.has_bit(t) or not has_room(
            <void **> &self.closed, &self.closed_room, <size_t> s + 1, sizeof(uint64_t)
        ):
            return NONE
        node = &self.nodes[n]
        node.latest = now[0]
        node.unit, node.set, node.thread, node.region, node.transaction = unit, s, t, region, transaction
        node.running = node.last = True
        if before != NONE:
            first = self.nodes[before].latest
            if self.connect(before, &first, n, now, True):
                return NONE
            self.nodes[before].last = False
            self.release(before)
        return n if put(&self.lasts, <uint64_t> s << 32 | t, n) else NONE

    cdef uint32_t new_node(self) noexcept nogil:
        cdef uint32_t n = take_slot(&self.node_pool, <void **> &self.nodes, sizeof(Node))
        cdef Node *node
        if n == NONE or not (
            has_room(<void **> &self.masks, &self.mask_room, (<size_t> n + 1) * self.words, sizeof(uint64_t))
            and has_room(<void **> &self.stack, &self.stack_room, <size_t> n + 1, 4)
            and has_room(<void **> &self.dead, &self.dead_room, <size_t> n + 1, 4)
        ):
            return NONE
        node = &self.nodes[n]
        begin_generation(&node.generation)
        node.refs = node.mark = node.outgoing = node.incoming = 0
        node.sibling = NONE
        memset(&self.masks[n * self.words], 0, self.words * sizeof(uint64_t))
        self.made += 1
        self.live += 1
        if self.live > self.most_live:
            self.most_live = self.live
        return n

    cdef void free_node(self, uint32_t n) noexcept nogil:
        cdef Node *node = &self.nodes[n]
        if node.last:
            forget(&self.lasts, <uint64_t> node.set << 32 | node.thread)
        if end_generation(&node.generation):
            give_slot(&self.node_pool, self.nodes, sizeof(Node), n)
        self.live -= 1

    cdef void end_unit(self, uint32_t unit) noexcept nogil:
        cdef uint32_t n = found(&self.units, unit), sibling
        if n == NONE:
            return
        forget(&self.units, unit)
        while n != NONE:
            sibling = self.nodes[n].sibling
            self.end(n)
            n = sibling

    cdef void end(self, uint32_t n) noexcept nogil:
        """The unit has ended: it is no longer in any mask. Nodes with an empty mask go."""
        cdef Thread *thread = &self.threads[self.nodes[n].thread]
        cdef size_t count, i
        self.nodes[n].running = False
        count = self.take_back(n)
        if self.is_free(n):
            self.dead[count] = n
            count += 1
        for i in range(count):
            while self.nodes[self.dead[i]].outgoing:
                self.cut(self.nodes[self.dead[i]].outgoing)
        for i in range(count):
            self.free_node(self.dead[i])
        if not count or self.dead[count - 1] != n:
            self.release(n)
        thread.running -= 1
        if thread.running == 0:
            give_slot(&self.bit_pool, self.bits, sizeof(uint32_t), thread.bit)

    cdef size_t take_back(self, uint32_t n) noexcept nogil:
        """Remove n from the masks of the nodes it leads to. In `dead`: those that go for it, gives how many."""
        cdef size_t word = self.threads[self.nodes[n].thread].bit >> 6
        cdef uint64_t bit = <uint64_t> 1 << (self.threads[self.nodes[n].thread].bit & 63)
        cdef size_t waiting = 1, count = 0
        cdef uint32_t e
        self.stack[0] = n
        while waiting:
            waiting -= 1
            e = self.nodes[self.stack[waiting]].outgoing
            while e:
                n = self.edges[e].target
                if self.masks[n * self.words + word] & bit:
                    self.masks[n * self.words + word] &= ~bit
                    self.stack[waiting] = n
                    waiting += 1
                    if not self.nodes[n].running and self.is_free(n):
                        self.dead[count] = n
                        count += 1
                e = self.edges[e].outgoing.after
        return count

    cdef inline bint is_free(self, uint32_t n) noexcept nogil:
        """No running unit leads to it."""
        cdef size_t w
        for w in range(self.words):
            if self.masks[n * self.words + w]:
                return False
        return True

    cdef inline bint is_useless(self, uint32_t n) noexcept nogil:
        """It leads nowhere and never will."""
        cdef Node *node = &self.nodes[n]
        return node.refs == 0 and not node.running and not node.last and node.outgoing == 0

    cdef void release(self, uint32_t n) noexcept nogil:
        """Forget the node if it is useless, and those before it that become so by this."""
        cdef size_t waiting = 1
        cdef uint32_t e, source
        if not self.is_useless(n):
            return
        self.stack[0] = n
        while waiting:
            waiting -= 1
            n = self.stack[waiting]
            while self.nodes[n].incoming:
                e = self.nodes[n].incoming
                source = self.edges[e].source
                self.cut(e)
                if self.is_useless(source):
                    self.stack[waiting] = source
                    waiting += 1
            self.free_node(n)

    cdef bint has_bit(self, uint32_t t) noexcept nogil:
        """One more node of the thread runs: it has a bit of all masks from the first of them to the end of the last."""
        cdef Thread *thread
        thread = &self.threads[t]
        thread.running += 1
        if thread.running > 1:
            return True
        thread.bit = take_slot(&self.bit_pool, <void **> &self.bits, sizeof(uint32_t))
        return thread.bit != NONE and (thread.bit < 64 * self.words or self.widen())

    cdef bint widen(self) noexcept nogil:
        """More threads run units than the masks have bits."""
        cdef size_t words = 2 * self.words, n
        cdef uint64_t *masks = <uint64_t *> calloc(self.node_pool.room * words, sizeof(uint64_t))
        if masks == NULL or not has_room(<void **> &self.covered, &self.covered_room, words, sizeof(uint64_t)):
            free(masks)
            return False
        for n in range(self.node_pool.used):
            memcpy(&masks[n * words], &self.masks[n * self.words], self.words * sizeof(uint64_t))
        free(self.masks)
        self.masks, self.mask_room, self.words = masks, self.node_pool.room * words, words
        return True

    # ---- edges

    cdef inline bint is_beside(self, uint32_t a, uint32_t n) noexcept nogil:
        """Are they of one thread, but not of one lane?"""
        cdef uint32_t one = self.nodes[a].thread, other = self.nodes[n].thread
        return one != other and self.threads[one].real == self.threads[other].real

    cdef inline bint leads(self, uint32_t n, uint32_t a) noexcept nogil:
        """Is the running node n in the mask of a?"""
        cdef uint32_t bit = self.threads[self.nodes[n].thread].bit
        return self.masks[a * self.words + (bit >> 6)] >> (bit & 63) & 1

    cdef inline uint64_t own_bit(self, uint32_t n, size_t word) noexcept nogil:
        """What the node adds to a word of the masks of those that it leads to, besides its mask."""
        cdef uint32_t bit = self.threads[self.nodes[n].thread].bit
        return <uint64_t> 1 << (bit & 63) if self.nodes[n].running and bit >> 6 == word else 0

    cdef inline bint adds(self, uint32_t a, uint32_t n) noexcept nogil:
        """Does an edge a -> n put anything new into the mask of n?"""
        cdef size_t w
        for w in range(self.words):
            if (self.masks[a * self.words + w] | self.own_bit(a, w)) & ~self.masks[n * self.words + w]:
                return True
        return False

    cdef inline bint is_covered(self, uint32_t n) noexcept nogil:
        """Are all running nodes that lead to n, which has ended, in `covered`?"""
        cdef size_t w
        for w in range(self.words):
            if self.masks[n * self.words + w] & ~self.covered[w]:
                return False
        return True

    cdef int connect(self, uint32_t a, Access *first, uint32_t n, Access *now, bint by_thread) noexcept nogil:
        """The unit of a must come before that of n, which acts now."""
        cdef Access left = first[0]
        cdef bint new
        if a == n:
            return 0
        if self.leads(n, a):
            return self.close(self.nearer(a, &left, n, now, False), &left, n, now)
        new = self.adds(a, n)
        if not new and not self.nodes[a].running:
            return 0
        if new:
            a = self.nearer(a, &left, n, now, by_thread)
        # An edge from a running unit that adds nothing still makes ways shorter.
        if not new and not self.has_few(a, n, &left, now):
            return 0
        self.give_up_covered(a, n)
        if not self.new_edge(a, &left, n, now, by_thread):
            return FAILED
        if new:
            self.hand_on(a, n)
        return 0

    cdef inline uint32_t nearer(self, uint32_t a, Access *left, uint32_t n, Access *now, bint by_thread) noexcept nogil:
        """The first before a, along edges that are the only ones into a node, whose access comes before `now` just as
        that of a does. What leads to it is what leads to a.
        """
        cdef Edge *edge
        while not self.nodes[a].running and self.nodes[a].incoming:
            edge = &self.edges[self.nodes[a].incoming]
            if edge.incoming.after or edge.source == n or edge.by_thread != by_thread:
                break
            if not by_thread and (edge.first.location != now.location or not (edge.first.op | now.op)):
                break
            if self.is_beside(edge.source, n):
                break
            a = edge.source
            left[0] = edge.first
        return a

    cdef inline bint has_few(self, uint32_t a, uint32_t n, Access *first, Access *second) noexcept nogil:
        """Do few edges lead into n, and none of them from a by such accesses to the same location?"""
        cdef uint32_t e = self.nodes[n].incoming
        cdef size_t count = 0
        cdef Edge *edge
        while e and count < FEW:
            edge = &self.edges[e]
            if edge.source == a and edge.first.location == first.location and edge.second.location == second.location:
                if edge.first.op == first.op and edge.second.op == second.op:
                    return False
            e = edge.incoming.after
            count += 1
        return e == 0

    cdef void give_up_covered(self, uint32_t a, uint32_t n) noexcept nogil:
        """Cut edges into n that are needless beside that from a and those from running units, which all stay."""
        cdef uint32_t e = self.nodes[n].incoming, following, source
        cdef size_t count = 0, w
        if e == 0:
            return
        for w in range(self.words):
            self.covered[w] = self.masks[a * self.words + w] | self.own_bit(a, w)
        while e and count < FEW:
            source = self.edges[e].source
            if self.nodes[source].running:
                for w in range(self.words):
                    self.covered[w] |= self.masks[source * self.words + w] | self.own_bit(source, w)
            e = self.edges[e].incoming.after
            count += 1
        e = self.nodes[n].incoming
        while e and count:
            following = self.edges[e].incoming.after
            source = self.edges[e].source
            if not self.nodes[source].running and self.is_covered(source):
                self.cut(e)
                self.release(source)
            e = following
            count -= 1

    cdef void hand_on(self, uint32_t a, uint32_t n) noexcept nogil:
        """Put a, and all that leads to a, into the mask of n and of all that n leads to."""
        cdef size_t waiting = 1, w
        cdef uint32_t e, target
        for w in range(self.words):
            self.masks[n * self.words + w] |= self.masks[a * self.words + w] | self.own_bit(a, w)
        self.stack[0] = n
        while waiting:
            waiting -= 1
            e = self.nodes[self.stack[waiting]].outgoing
            while e:
                self.work.done += 4 + self.words
                target = self.edges[e].target
                if self.adds(a, target):
                    for w in range(self.words):
                        self.masks[target * self.words + w] |= self.masks[a * self.words + w] | self.own_bit(a, w)
                    self.stack[waiting] = target
                    waiting += 1
                e = self.edges[e].outgoing.after

    cdef bint new_edge(self, uint32_t a, Access *first, uint32_t n, Access *second, bint by_thread) noexcept nogil:
        cdef uint32_t e = take_slot(&self.edge_pool, <void **> &self.edges, sizeof(Edge))
        cdef Edge *edge
        if e == NONE:
            return False
        edge = &self.edges[e]
        edge.first, edge.second, edge.source, edge.target, edge.by_thread = first[0], second[0], a, n, by_thread
        put_first(&self.edges[0].outgoing, sizeof(Edge), &self.nodes[a].outgoing, e)
        put_first(&self.edges[0].incoming, sizeof(Edge), &self.nodes[n].incoming, e)
        self.edges_made += 1
        self.edges_live += 1
        if self.edges_live > self.most_edges:
            self.most_edges = self.edges_live
        return True

    cdef void cut(self, uint32_t e) noexcept nogil:
        cdef Edge *edge = &self.edges[e]
        take_out(&self.edges[0].outgoing, sizeof(Edge), &self.nodes[edge.source].outgoing, e)
        take_out(&self.edges[0].incoming, sizeof(Edge), &self.nodes[edge.target].incoming, e)
        give_slot(&self.edge_pool, self.edges, sizeof(Edge), e)
        self.edges_live -= 1

    # ---- cycles

    cdef int close(self, uint32_t a, Access *first, uint32_t n, Access *now) noexcept nogil:
        """n leads to a, and a to n by these accesses: count the cycle, and keep it if none looked like it.

        Where n leads to a by several edges, each of them makes a cycle: what one of them shows may be harmless (two
        appends), and what another shows may not.
        """
        cdef uint32_t e
        self.cycles += 1
        self.closed[self.nodes[n].set] += 1
        if not self.find_way(n, a):
            self.ungrouped += 1
            return 0
        if self.edges[self.nodes[n].via].target != a:
            return self.keep_cycle(a, first, n, now)
        e = self.nodes[a].incoming
        while e:
            if self.edges[e].source == n:
                self.nodes[n].via = e
                if self.keep_cycle(a, first, n, now) == FAILED:
                    return FAILED
            e = self.edges[e].incoming.after
        return 0

    cdef int keep_cycle(self, uint32_t a, Access *first, uint32_t n, Access *now) noexcept nogil:
        """The way that was found, unless one that looks the same is there: then that is one more of them."""
        cdef size_t start = self.step_count
        cdef uint64_t look
        cdef uint32_t group
        if not self.write_steps(a, first, n, now):
            return FAILED
        look = self.look(start)
        group = found(&self.known, look)
        if group != NONE:
            self.groups[group].count += 1
            self.step_count = start
            return 0
        if self.group_count >= self.most_groups:
            self.ungrouped += 1
            self.step_count = start
            return 0
        if not (
            has_room(<void **> &self.groups, &self.group_room, self.group_count + 1, sizeof(Group))
            and has_room(<void **> &self.ends, &self.end_room, self.end_count + 1, sizeof(size_t))
            and put(&self.known, look, <uint32_t> self.group_count)
        ):
            return FAILED
        self.groups[self.group_count].count = 1
        self.groups[self.group_count].set = self.nodes[n].set
        self.group_count += 1
        self.ends[self.end_count] = self.step_count
        self.end_count += 1
        return 0

    cdef bint find_way(self, uint32_t n, uint32_t a) noexcept nogil:
        """A shortest way from n to a, in `via`: back from a. All with n in their mask lead back to n.

        False: the way is long, and its look is not going to be kept or there are enough cycles of this set.
        """
        cdef size_t done = 0, count = 1
        cdef size_t most = <size_t> -1
        cdef uint32_t e, source
        if self.group_count >= self.most_groups or self.closed[self.nodes[n].set] > ENOUGH:
            most = FAR
        self.searches += 1
        self.search += 1
        if self.search == 0:
            for source in range(self.node_pool.used):
                self.nodes[source].mark = 0
            self.search = 1
        self.nodes[a].mark = self.search
        self.dead[0] = a
        while done < count and done < most:
            e = self.nodes[self.dead[done]].incoming
            done += 1
            while e:
                self.work.done += 8
                source = self.edges[e].source
                if source == n or (self.nodes[source].mark != self.search and self.leads(n, source)):
                    self.nodes[source].mark = self.search
                    self.nodes[source].via = e
                    if source == n:
                        return True
                    self.dead[count] = source
                    count += 1
                e = self.edges[e].incoming.after
        return False

    cdef bint write_steps(self, uint32_t a, Access *first, uint32_t n, Access *now) noexcept nogil:
        """The way that was found, and the edge that closes it. False: no memory."""
        cdef uint32_t at = n
        cdef Edge *edge
        while at != a:
            edge = &self.edges[self.nodes[at].via]
            if not (self.write_step(at, &edge.first) and self.write_step(edge.target, &edge.second)):
                return False
            at = edge.target
        return self.write_step(a, first) and self.write_step(n, now)

    cdef bint write_step(self, uint32_t n, Access *access) noexcept nogil:
        cdef Step *step
        if not has_room(<void **> &self.steps, &self.step_room, self.step_count + 1, sizeof(Step)):
            return False
        step = &self.steps[self.step_count]
        step.access, step.thread, step.unit = access[0], self.threads[self.nodes[n].thread].real, self.nodes[n].unit
        step.region, step.transaction = self.nodes[n].region, self.nodes[n].transaction
        self.step_count += 1
        return True

    cdef uint64_t look(self, size_t start) noexcept nogil:
        """Of a long cycle only where it begins and ends counts: else there are as many looks as ways."""
        cdef bint lengthy = self.step_count - start > LENGTHY
        cdef uint64_t hashed = 0 if lengthy else self.step_count - start
        cdef size_t i
        for i in range(start, self.step_count):
            if lengthy and start + 2 <= i < self.step_count - 2:
                continue
            hashed = mixed(hashed, <uint64_t> self.steps[i].access.site << 32 | self.steps[i].region)
            hashed = mixed(hashed, self.steps[i].access.op)
        return hashed

    # ---- results

    def take(self):
        """The first cycle of each group that is new since the last time. Groups are numbered in this order, from 0."""
        cdef size_t i, at = 0
        cdef Step *step
        cycles = []
        for i in range(self.end_count):
            cycle = []
            while at < self.ends[i]:
                step = &self.steps[at]
                cycle.append((
                    step.access.event, step.thread, step.access.op, step.access.location, step.access.site, step.unit,
                    step.region, step.transaction,
                ))
                at += 1
            cycles.append(cycle)
        self.step_count = self.end_count = 0
        return cycles

    def counts(self):
        """By group: how many cycles look like that."""
        cdef size_t i
        counts = np.empty(self.group_count, np.uint64)
        cdef uint64_t[::1] column = counts
        for i in range(self.group_count):
            column[i] = self.groups[i].count
        return counts

    def sets(self):
        """By group: the set of its first cycle."""
        cdef size_t i
        sets = np.empty(self.group_count, np.uint32)
        cdef uint32_t[::1] column = sets
        for i in range(self.group_count):
            column[i] = self.groups[i].set
        return sets

    def broken(self):
        """The sets whose projection is not serializable."""
        return np.flatnonzero(self._closings()).astype(np.uint32)

    def closings(self):
        """For each of the broken sets: how many edges closed a cycle."""
        every = self._closings()
        return every[every > 0]

    def _closings(self):
        if self.closed_room == 0:
            return np.empty(0, np.uint64)
        return np.asarray(<uint64_t[:self.closed_room]> self.closed).copy()

    @property
    def counters(self):
        return {
            "nodes": self.made,
            "live_nodes": self.live,
            "most_nodes": self.most_live,
            "edges": self.edges_made,
            "most_edges": self.most_edges,
            "searches": self.searches,
            "cycles": self.cycles,
            "groups": self.group_count,
            "ungrouped": self.ungrouped,
        }
