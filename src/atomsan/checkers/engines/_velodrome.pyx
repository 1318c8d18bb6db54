# cython: language_level=3, freethreading_compatible=True
"""Velodrome: the graph of transactions, and whether it has a cycle.

The algorithm is that of Flanagan, Freund and Yi (PLDI 2008), as aerodrome-2020 (section 5) and davida-2022 describe it:
a node for each transaction, an edge for each dependency, nodes that cannot be on a cycle any more are collected,
events outside regions share nodes. Departures, and why:

- *Order.* The paper keeps the ancestors of each node, RAPID searches the graph at each edge. Here the nodes stand in a
  list in topological order. An edge u -> v with u before v costs nothing. For one against the order, a search from v
  goes over the nodes that stand before u, all that the edge can affect: if it comes to u there is a cycle, else the
  nodes it found move behind u (Marchetti-Spaccamela, Nanni and Rohnert, 1996). Labels in 64 bits with gaps tell which
  of two nodes is first; where a gap is full, it is widened (Dietz and Sleator, 1987).
  Edges only ever go into a running transaction or a new node, and one without edges out of it moves to the end of the
  list without a search: that is why the order is next to free where regions take their locks before they release any.
- *Unary transactions.* The paper merges one into any finished node that its other predecessors reach. Here it joins the
  last node of its own thread if it has no other predecessor, no node at all if it has none that is alive, and else it
  gets a node. This needs no search; and a witness can name the event: all edges into the shared node came before
  the event, so the way from one to the other is program order. The test is on nodes that are alive: a collected one
  gives no order. A forked thread's first event never joins the parent's node, which may be running still.
- *A thread's own order* is one edge, from its last transaction to the next; a conflict with an older one of its own
  adds nothing to it.
- *One edge for two nodes*, the first, as in the paper: a cycle is found whenever there is one, but an increasing one
  may be missed in favour of one that is not (davida-2022 says which). Of several that come to one event, the edge is
  from the last; and a data edge is kept beside that of a fork. So a witness has the read of what is overwritten, and
  the data before the fork, as Davida's has.
- *Contraction*, the filter of DoubleChecker: `contract` makes one node of a cycle in place of stopping at it, and
  locations are hashed. See `checkers.doublechecker`.

Shadow state. A `Last` names an event of a transaction; it is void once the node's slot has another generation.

    threads[t].current    the node of t's open region, or NONE                                  the paper's C(t)
    threads[t].last       t's last transaction, with one of its events: the begin of the open region, the end, or the
                          last event outside regions. Before t's first event: the fork that made it       L(t)
    locations[x].writer   the last write                                                        W(x)
    locations[x].reader   a read since then; `others` leads to the rest, one for each thread    R(x, t)
    locations[x].own_read a read since then in the writer's own transaction, for the witness
    locks[l]              the last release                                                      U(l)
    posts[h]              a list of the last post of each thread

A void reference may be left where it is: whoever walks a list drops it. An edge is in the `open` list of its source
while its target may be running, else in `settled`: only the former can get the same edge again.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, qsort

from atomsan.trace._generations cimport Ref, begin_generation, end_generation, reference, refers_to, slot_of
from atomsan.trace._memory cimport ensure_room, has_room, out_of_memory, prefetch
from atomsan.trace._ops cimport ACQUIRE, BEGIN, END, FORK, INNER, JOIN, NOTHING, POST, READ, RELEASE, TAKE, WRITE
from atomsan.trace._pools cimport Pool, give_slot, take_slot
from atomsan.trace._sparse cimport Sparse, forget_rows, free_sparse, has_sparse_room
from atomsan.trace._stopping cimport Work, has_toiled, is_long, look_up

import numpy as np

cdef enum:
    WRITE_READ, READ_WRITE, WRITE_WRITE, LOCK, FORKS, JOINS, HAND_OVER, PROGRAM_ORDER

cdef enum:
    NONE = 0xFFFFFFFF
    AHEAD = 12               # events between the prefetch of a location and its use
    SKIPPED = INNER + 1      # the begin of a transaction that is left out: it counts all the same
    FAILED = -1              # no memory


cdef struct Event:
    uint64_t event
    uint32_t target
    uint32_t site
    uint8_t op


cdef struct Last:            # the last event of some sort
    uint64_t event
    Ref node
    uint32_t site


cdef struct Listed:          # a read or a post, in a list
    uint32_t next            # 0: the last
    Last last


cdef struct Location:
    Last writer
    Last reader
    uint32_t others          # in `listed`; 0: none
    uint32_t own_site
    uint64_t own_read        # the last read in the transaction of the last write, after that; 0: none


cdef struct Thread:
    Event last
    Ref last_node
    uint32_t current
    uint32_t number          # of regions begun
    bint started             # it had an event


cdef struct Edge:
    uint64_t first           # the two events: their indices, targets, sites and operations
    uint64_t second
    uint32_t first_target
    uint32_t second_target
    uint32_t first_site
    uint32_t second_site
    uint32_t target          # a node
    uint32_t next
    uint8_t kind
    uint8_t first_op
    uint8_t second_op


cdef struct Node:
    uint64_t label           # grows along the order
    uint64_t begin           # its first event
    uint64_t end             # the last event of its region, or its own; if contracting, that of the last event in it
    uint64_t arrival         # of the search for a witness: the event by which it was reached
    uint32_t generation      # of the slot
    uint32_t root            # itself, or a node of its contracted cycle, nearer to the one that stands for it
    uint32_t before, after   # in the order; `after` is also the link of those being collected
    uint32_t incoming        # how many edges lead to it
    uint32_t running         # transactions in it that have not ended
    uint32_t open, settled   # lists of edges
    uint32_t thread
    uint32_t number          # of its transaction in the thread, 0 for a unary one
    uint32_t region
    uint32_t mark            # the last search that came by
    uint32_t via, source     # of the search for a witness: the edge that reached it, and where that edge begins
    uint32_t members         # the next node of its contracted cycle, or NONE; the first is the root
    uint32_t last_member     # of the root: the last of these
    bint kept                # it is part of a contracted cycle


cdef struct Labelled:        # a node while it is being moved
    uint64_t label
    uint32_t node


cdef struct Range:           # of the events of a thread
    uint64_t first
    uint64_t last
    uint32_t thread


cdef int by_label(const void *a, const void *b) noexcept nogil:
    cdef uint64_t x = (<const Labelled *> a).label, y = (<const Labelled *> b).label
    return (x > y) - (x < y)


cdef class Velodrome:
    cdef Work work
    cdef Thread *threads
    cdef Location *locations         # those of `location_rows`
    cdef Sparse location_rows
    cdef Last *locks
    cdef uint32_t *posts             # the first of its list in `listed`; 0: none
    cdef size_t thread_room, lock_room, post_room

    cdef Node *nodes
    cdef Pool node_pool
    cdef Labelled *moved             # as many as nodes: the nodes a search has come by, and then their order
    cdef uint32_t *queue             # as many as nodes
    cdef size_t moved_room, queue_room
    cdef uint32_t first_node, last_node     # of the order

    cdef Edge *edges
    cdef Pool edge_pool

    cdef Listed *listed
    cdef Pool listed_pool

    cdef Range *ranges               # of collected nodes that were kept
    cdef size_t range_room, range_count

    cdef uint32_t search             # the number of the last one, for `mark`
    cdef bint contract
    cdef int bucket_bits
    cdef uint64_t gap                # between the labels of two nodes put at the end of the order
    cdef uint64_t highest            # a label above this makes all labels new

    cdef bint violated
    cdef bint cycle_increases
    cdef public object cycle         # None, or the steps of the witness

    cdef readonly uint64_t transactions, unary, merged, made, live, most_live, edges_made, searches, visited, components

    def __cinit__(self, bint contract=False, int bucket_bits=0, int gap_bits=32):
        """`gap_bits` is there for tests: with few bits labels run out all the time."""
        self.contract, self.bucket_bits = contract, bucket_bits
        self.gap, self.highest = 1ULL << gap_bits, 1ULL << (2 * gap_bits - 2)
        self.first_node = self.last_node = NONE
        self.listed_pool.used = 1        # 0 is none
        cdef size_t buckets = 1 << bucket_bits if bucket_bits else 0
        self.grow_locations(buckets)

    def __dealloc__(self):
        free(self.threads)
        free_sparse(&self.location_rows)
        free(self.locks)
        free(self.posts)
        free(self.nodes)
        free(self.moved)
        free(self.queue)
        free(self.edges)
        free(self.listed)
        free(self.ranges)

    @property
    def increasing(self):
        """Whether all of the cycle happened between the first and the last of its steps, both of one transaction."""
        return self.cycle_increases

    def grow(self, size_t threads, size_t locations, size_t locks, size_t handovers):
        """Make room for so many of each."""
        cdef size_t known = self.thread_room
        if self.bucket_bits:
            locations = 0
        ensure_room(<void **> &self.threads, &self.thread_room, threads, sizeof(Thread))
        self.grow_locations(locations)
        ensure_room(<void **> &self.locks, &self.lock_room, locks, sizeof(Last))
        ensure_room(<void **> &self.posts, &self.post_room, handovers, sizeof(uint32_t))
        for t in range(known, self.thread_room):
            self.threads[<size_t> t].current = NONE

    cdef int grow_locations(self, size_t count) except -1:
        if not has_sparse_room(&self.location_rows, count, sizeof(Location)):
            out_of_memory()
        self.locations = <Location *> self.location_rows.rows
        return 0

    def forget(self, const uint32_t[::1] dead):
        """No event is going to access these locations, which were never forgotten before."""
        cdef Py_ssize_t i
        if self.bucket_bits or dead.shape[0] == 0:
            return
        for i in range(dead.shape[0]):
            if dead[i] < self.location_rows.room:
                self.free_list(&self.locations[dead[i]].others)
        if not forget_rows(&self.location_rows, &dead[0], dead.shape[0], sizeof(Location)):
            out_of_memory()

    def feed(
        self,
        uint64_t first,
        const uint32_t[::1] thread,
        const uint8_t[::1] op,
        const uint32_t[::1] target,
        const uint32_t[::1] site,
    ):
        """Take the next events. True: there is a cycle."""
        cdef size_t i, count = op.shape[0]
        cdef int outcome = 0
        cdef uint8_t o
        cdef Event now
        if count == 0 or self.violated:
            return self.violated
        cdef const uint32_t *threads = &thread[0]
        cdef const uint8_t *ops = &op[0]
        cdef const uint32_t *targets = &target[0]
        cdef const uint32_t *sites = &site[0]
        with nogil:
            for i in range(count):
                if is_long(&self.work, i) or has_toiled(&self.work):
                    look_up()
                if i + AHEAD < count and ops[i + AHEAD] <= WRITE:
                    prefetch(&self.locations[self.bucket(targets[i + AHEAD])])
                o = ops[i]
                if o >= NOTHING:
                    if o == SKIPPED:
                        self.threads[threads[i]].number += 1
                    continue
                now.event, now.op, now.target, now.site = first + i, o, targets[i], sites[i]
                if self.threads[threads[i]].current != NONE:
                    if o == END:
                        outcome = self.end(threads[i], &now)
                    else:
                        outcome = self.inside(threads[i], &now)
                elif o == BEGIN:
                    outcome = self.begin(threads[i], &now)
                elif o != END:      # of a region that a join has ended already
                    outcome = self.outside(threads[i], &now)
                if outcome:
                    break
        if outcome == FAILED:
            raise MemoryError
        return self.violated

    # ---- events

    cdef inline uint32_t bucket(self, uint32_t x) noexcept nogil:
        if self.bucket_bits:
            return <uint32_t> (x * <uint32_t> 0x9E3779B1) >> (32 - self.bucket_bits)
        return x

    cdef int begin(self, uint32_t t, Event *now) noexcept nogil:
        cdef Thread *thread = &self.threads[t]
        cdef uint32_t n = self.new_node(t, now)
        if n == NONE:
            return FAILED
        self.transactions += 1
        thread.number += 1
        self.nodes[n].number = thread.number
        self.nodes[n].region = now.target
        self.nodes[n].running = 1
        cdef int outcome = self.after_last(t, n, now)
        thread.current = n
        self.set_last(thread, n, now)
        return outcome

    cdef int end(self, uint32_t t, Event *now) noexcept nogil:
        cdef Thread *thread = &self.threads[t]
        cdef uint32_t n = thread.current
        self.nodes[n].end = now.event
        thread.current = NONE
        self.set_last(thread, n, now)
        n = self.find(n)
        self.nodes[n].running -= 1
        return self.collect(n)

    cdef int inside(self, uint32_t t, Event *now) noexcept nogil:
        cdef uint32_t n = self.threads[t].current
        cdef int outcome = self.connect(t, n, now)
        if outcome == 0:
            outcome = self.record(t, n, now)
        if outcome == 0 and now.op == JOIN:
            outcome = self.end_joined(now)
        return outcome

    cdef int outside(self, uint32_t t, Event *now) noexcept nogil:
        """An event outside regions: it joins its thread's last node, or gets its own, or needs none."""
        cdef Thread *thread = &self.threads[t]
        cdef uint32_t n = self.last_of(t), own = NONE
        cdef int outcome = 0
        self.unary += 1
        if n != NONE and thread.started:
            own = self.find(n)
        if (n != NONE and own == NONE) or self.has_other(t, now, own):
            n = self.new_node(t, now)
            if n == NONE:
                return FAILED
            outcome = self.after_last(t, n, now)
            if outcome == 0:
                outcome = self.connect(t, n, now)
        elif n != NONE:
            self.merged += 1
            if self.contract:
                self.nodes[n].end = now.event
        thread.started = True
        if n != NONE:
            if outcome == 0:
                outcome = self.record(t, n, now)
            self.set_last(thread, n, now)
            if outcome == 0 and now.op == JOIN:
                outcome = self.end_joined(now)     # last: it may collect this node
        return outcome

    cdef inline void set_last(self, Thread *thread, uint32_t n, Event *now) noexcept nogil:
        thread.last = now[0]
        thread.last_node = self.ref_to(n)
        thread.started = True

    cdef inline uint32_t last_of(self, uint32_t t) noexcept nogil:
        """The node of the thread's last transaction, or of its fork, if it is alive."""
        cdef Ref last = self.threads[t].last_node
        return slot_of(last) if self.alive(last) else <uint32_t> NONE

    cdef int after_last(self, uint32_t t, uint32_t n, Event *now) noexcept nogil:
        cdef Thread *thread = &self.threads[t]
        cdef uint32_t last = self.last_of(t)
        if last == NONE:
            return 0
        return self.add_edge(last, &thread.last, n, now, PROGRAM_ORDER if thread.started else FORKS)

    cdef bint has_other(self, uint32_t t, Event *now, uint32_t own) noexcept nogil:
        """Is there a node alive that the event comes after, but for `own`?"""
        cdef Location *x
        cdef uint32_t place, n
        if now.op <= WRITE:
            x = &self.locations[self.bucket(now.target)]
            if self.other(&x.writer, t, own):
                return True
            if now.op == READ:
                return False
            return self.other(&x.reader, t, own) or self.any_other(x.others, t, own)
        if now.op == ACQUIRE:
            return self.other(&self.locks[now.target], t, own)
        if now.op == TAKE:
            return self.any_other(self.posts[now.target], t, own)
        if now.op == JOIN and self.threads[now.target].started:
            n = self.last_of(now.target)
            return n != NONE and self.find(n) != own
        return False

    cdef bint any_other(self, uint32_t place, uint32_t t, uint32_t own) noexcept nogil:
        while place:
            if self.other(&self.listed[place].last, t, own):
                return True
            place = self.listed[place].next
        return False

    cdef int connect(self, uint32_t t, uint32_t n, Event *now) noexcept nogil:
        """Edges to `n` from the events before this one, but for the thread's own order."""
        cdef Location *x
        cdef Thread *child
        cdef int outcome = 0
        if now.op == READ:
            x = &self.locations[self.bucket(now.target)]
            return self.edge_from(&x.writer, WRITE, n, now, WRITE_READ)
        if now.op == WRITE:
            x = &self.locations[self.bucket(now.target)]
            if x.others == 0 and not self.alive(x.reader.node):
                return self.edge_from_writer(x, n, now)
            # a reader that is alive has the writer before it
            outcome = self.edge_from(&x.reader, READ, n, now, READ_WRITE)
            if outcome != FAILED and x.others:
                outcome |= self.edges_from(x.others, READ, n, now, READ_WRITE)
                outcome |= self.edge_from_writer(x, n, now)
            return outcome
        if now.op == ACQUIRE:
            return self.edge_from(&self.locks[now.target], RELEASE, n, now, LOCK)
        if now.op == TAKE:
            return self.edges_from(self.posts[now.target], POST, n, now, HAND_OVER)
        if now.op == JOIN:
            child = &self.threads[now.target]
            if child.started and self.last_of(now.target) != NONE:
                return self.add_edge(slot_of(child.last_node), &child.last, n, now, JOINS)
        return 0

    cdef int edges_from(self, uint32_t place, uint8_t op, uint32_t n, Event *now, uint8_t kind) noexcept nogil:
        """From all in a list. A cycle does not end it: the next edge may close one that increases."""
        cdef int outcome = 0
        while place:
            outcome |= self.edge_from(&self.listed[place].last, op, n, now, kind)
            place = self.listed[place].next
        return outcome

    cdef inline int edge_from_writer(self, Location *x, uint32_t n, Event *now) noexcept nogil:
        """From the last write, or the read of it in its own transaction: what is overwritten then was read."""
        cdef Last read
        if not x.own_read:
            return self.edge_from(&x.writer, WRITE, n, now, WRITE_WRITE)
        read = x.writer
        read.event, read.site = x.own_read, x.own_site
        return self.edge_from(&read, READ, n, now, READ_WRITE)

    cdef inline int edge_from(self, Last *last, uint8_t op, uint32_t n, Event *now, uint8_t kind) noexcept nogil:
        cdef Event source
        if not self.alive(last.node) or self.nodes[slot_of(last.node)].thread == self.nodes[n].thread:
            return 0
        source.event, source.op, source.target, source.site = last.event, op, now.target, last.site
        return self.add_edge(slot_of(last.node), &source, n, now, kind)

    cdef int record(self, uint32_t t, uint32_t n, Event *now) noexcept nogil:
        """Leave the event where later ones look for it."""
        cdef Location *x
        if now.op == READ:
            x = &self.locations[self.bucket(now.target)]
            if x.writer.node == self.ref_to(n):
                # who comes after the write comes after the read
                x.own_read, x.own_site = now.event, now.site
                return 0
            if x.others == 0 and self.is_replaced(&x.reader, t):
                self.set(&x.reader, n, now)
                return 0
            return self.record_reader(x, t, n, now)
        if now.op == WRITE:
            x = &self.locations[self.bucket(now.target)]
            self.set(&x.writer, n, now)
            x.own_read = 0
            x.reader.node = 0
            if x.others:
                self.free_list(&x.others)
        elif now.op == RELEASE:
            self.set(&self.locks[now.target], n, now)
        elif now.op == FORK:
            self.threads[now.target].last = now[0]
            self.threads[now.target].last_node = self.ref_to(n)
        elif now.op == POST:
            return self.list(&self.posts[now.target], t, n, now)
        return 0

    cdef int end_joined(self, Event *now) noexcept nogil:
        """A region that is open in a joined thread has no event to come: it need not be kept as running."""
        if self.threads[now.target].current != NONE:
            return self.end(now.target, now)
        return 0

    cdef int record_reader(self, Location *x, uint32_t t, uint32_t n, Event *now) noexcept nogil:
        if self.is_replaced(&x.reader, t):
            self.set(&x.reader, n, now)
            self.unlist(&x.others, t)
            return 0
        return self.list(&x.others, t, n, now)

    # ---- references

    cdef inline void set(self, Last *last, uint32_t n, Event *now) noexcept nogil:
        last.event, last.node, last.site = now.event, self.ref_to(n), now.site

    cdef inline Ref ref_to(self, uint32_t n) noexcept nogil:
        return reference(n, self.nodes[n].generation)

    cdef inline bint alive(self, Ref node) noexcept nogil:
        return node != 0 and refers_to(node, self.nodes[slot_of(node)].generation)

    cdef inline bint is_replaced(self, Last *last, uint32_t t) noexcept nogil:
        """Does a later event of thread t leave nothing of it, for it is void or of the same thread?"""
        return not self.alive(last.node) or self.nodes[slot_of(last.node)].thread == t

    cdef inline bint other(self, Last *last, uint32_t t, uint32_t own) noexcept nogil:
        """Is it of another thread's node, alive, and not of `own`? A thread's older nodes lead to its last one."""
        return not self.is_replaced(last, t) and self.find(slot_of(last.node)) != own

    # ---- lists of readers and posters: one entry for each thread, the void ones dropped on the way

    cdef int list(self, uint32_t *head, uint32_t t, uint32_t n, Event *now) noexcept nogil:
        cdef uint32_t place
        self.unlist(head, t)
        place = take_slot(&self.listed_pool, <void **> &self.listed, sizeof(Listed))
        if place == NONE:
            return FAILED
        self.set(&self.listed[place].last, n, now)
        self.listed[place].next = head[0]
        head[0] = place
        return 0

    cdef void unlist(self, uint32_t *head, uint32_t t) noexcept nogil:
        """Drop the thread's entry, and void ones."""
        while head[0]:
            if self.is_replaced(&self.listed[head[0]].last, t):
                self.drop(head)
            else:
                head = &self.listed[head[0]].next

    cdef void free_list(self, uint32_t *head) noexcept nogil:
        while head[0]:
            self.drop(head)

    cdef inline void drop(self, uint32_t *link) noexcept nogil:
        """Drop the entry that a link leads to."""
        cdef uint32_t place = link[0]
        link[0] = self.listed[place].next
        give_slot(&self.listed_pool, self.listed, sizeof(Listed), place)

    # ---- nodes

    cdef uint32_t new_node(self, uint32_t t, Event *now) noexcept nogil:
        """A node at the end of the order, or NONE: no memory."""
        cdef uint32_t n = take_slot(&self.node_pool, <void **> &self.nodes, sizeof(Node))
        cdef Node *node
        if n == NONE or not (
            has_room(<void **> &self.moved, &self.moved_room, <size_t> n + 2, sizeof(Labelled))
            and has_room(<void **> &self.queue, &self.queue_room, <size_t> n + 2, sizeof(uint32_t))
        ):
            return NONE
        node = &self.nodes[n]
        begin_generation(&node.generation)
        node.begin = node.end = now.event
        node.root, node.thread, node.number, node.region = n, t, 0, NONE
        node.incoming = node.running = 0
        node.open = node.settled = node.members = NONE
        node.last_member = n
        node.kept = False
        self.append(n)
        self.made += 1
        self.live += 1
        if self.live > self.most_live:
            self.most_live = self.live
        return n

    cdef inline uint32_t find(self, uint32_t n) noexcept nogil:
        """The node that stands for the contracted cycle of this one: itself, unless there is one."""
        while self.nodes[n].root != n:
            self.nodes[n].root = self.nodes[self.nodes[n].root].root
            n = self.nodes[n].root
        return n

    cdef int collect(self, uint32_t n) noexcept nogil:
        """A node that has ended and has no edge into it is on no cycle, ever; nor then are those only it leads to."""
        cdef uint32_t pending
        if self.nodes[n].running or self.nodes[n].incoming:
            return 0
        self.unlink(n)
        self.nodes[n].after = NONE
        pending = n
        while pending != NONE:
            n = pending
            pending = self.nodes[n].after
            pending = self.drop_edges(self.nodes[n].open, pending)
            pending = self.drop_edges(self.nodes[n].settled, pending)
            if self.free_node(n) == FAILED:
                return FAILED
        return 0

    cdef uint32_t drop_edges(self, uint32_t e, uint32_t pending) noexcept nogil:
        cdef uint32_t n, following
        while e != NONE:
            n = self.find(self.edges[e].target)
            self.nodes[n].incoming -= 1
            if self.nodes[n].incoming == 0 and self.nodes[n].running == 0:
                self.unlink(n)
                self.nodes[n].after = pending
                pending = n
            following = self.edges[e].next
            self.free_edge(e)
            e = following
        return pending

    cdef int free_node(self, uint32_t n) noexcept nogil:
        """Its slot, and those of the nodes it stands for, are free: every reference to them is void."""
        cdef uint32_t following
        cdef bint kept = self.nodes[n].kept
        self.components += kept
        while n != NONE:
            following = self.nodes[n].members
            if kept and not self.keep(n):
                return FAILED
            self.live -= 1
            if end_generation(&self.nodes[n].generation):
                give_slot(&self.node_pool, self.nodes, sizeof(Node), n)
            n = following
        return 0

    cdef bint keep(self, uint32_t n) noexcept nogil:
        if not has_room(<void **> &self.ranges, &self.range_room, self.range_count + 1, sizeof(Range)):
            return False
        self.ranges[self.range_count].first = self.nodes[n].begin
        self.ranges[self.range_count].last = self.nodes[n].end
        self.ranges[self.range_count].thread = self.nodes[n].thread
        self.range_count += 1
        return True

    # ---- the order

    cdef void append(self, uint32_t n) noexcept nogil:
        cdef uint32_t last = self.last_node
        if last != NONE and self.nodes[last].label > self.highest:
            self.relabel()
        self.nodes[n].before, self.nodes[n].after = last, NONE
        self.nodes[n].label = self.gap if last == NONE else self.nodes[last].label + self.gap
        if last == NONE:
            self.first_node = n
        else:
            self.nodes[last].after = n
        self.last_node = n

    cdef void unlink(self, uint32_t n) noexcept nogil:
        cdef uint32_t before = self.nodes[n].before, after = self.nodes[n].after
        if before == NONE:
            self.first_node = after
        else:
            self.nodes[before].after = after
        if after == NONE:
            self.last_node = before
        else:
            self.nodes[after].before = before

    cdef void relabel(self) noexcept nogil:
        cdef uint64_t label = 0
        cdef uint32_t n = self.first_node
        while n != NONE:
            label += self.gap >> 2        # fewer than 2**32 nodes: room for all below `highest`
            self.nodes[n].label = label
            n = self.nodes[n].after

    cdef void move_behind(self, uint32_t u, size_t count) noexcept nogil:
        """Put the nodes in `moved` behind u, in the order in which they are.

        Walks on from u until the labels give j + count nodes room for more than as many each: the farther the walk,
        the rarer it is.
        """
        cdef uint64_t low, high, step, wanted = count + 1
        cdef uint32_t w, n
        cdef size_t i
        for i in range(count):
            self.unlink(self.moved[i].node)
        low = self.nodes[u].label
        w = self.nodes[u].after
        while w != NONE and self.nodes[w].label - low <= wanted * wanted:
            w = self.nodes[w].after
            wanted += 1
        high = low + wanted * self.gap if w == NONE else self.nodes[w].label
        step = (high - low) // wanted
        w, n = self.nodes[u].after, u
        for i in range(count):
            self.nodes[n].after = self.moved[i].node
            self.nodes[self.moved[i].node].before = n
            n = self.moved[i].node
            low += step
            self.nodes[n].label = low
        self.nodes[n].after = w
        if w == NONE:
            self.last_node = n
        else:
            self.nodes[w].before = n
        for i in range(wanted - count - 1):
            low += step
            self.nodes[w].label = low
            w = self.nodes[w].after
        if self.nodes[self.last_node].label > self.highest:
            self.relabel()

    # ---- edges

    cdef int add_edge(self, uint32_t u, Event *first, uint32_t v, Event *second, uint8_t kind) noexcept nogil:
        """u -> v. 1: it closes a cycle. If contracting, that is never so."""
        cdef uint32_t e, source = self.find(u), target = self.find(v)
        if source == target:
            return 0
        e = self.edge_to(source, target)
        if e != NONE and (kind > WRITE_WRITE or self.edges[e].kind != FORKS):
            if self.edges[e].second == second.event and self.edges[e].first < first.event:
                self.set_ends(e, first, second, kind)
            return 0
        if self.nodes[source].label > self.nodes[target].label:
            if self.nodes[target].open == NONE and self.nodes[target].settled == NONE:
                self.unlink(target)
                self.append(target)
            elif self.reorder(source, target):
                if not self.contract:
                    self.explain(source, first, target, second, kind)
                    return 1
                return 0
        e = self.new_edge(first, second, kind)
        if e == NONE:
            return FAILED
        self.edges[e].target = target
        self.nodes[target].incoming += 1
        if self.nodes[target].running:
            self.edges[e].next = self.nodes[source].open
            self.nodes[source].open = e
        else:
            self.edges[e].next = self.nodes[source].settled
            self.nodes[source].settled = e
        return 0

    cdef uint32_t edge_to(self, uint32_t u, uint32_t v) noexcept nogil:
        """The edge u -> v, or NONE. Edges to ended nodes are put aside on the way: no later search meets them."""
        cdef uint32_t *link = &self.nodes[u].open
        cdef uint32_t e, n
        while link[0] != NONE:
            e = link[0]
            n = self.find(self.edges[e].target)
            if n == v:
                return e
            if self.nodes[n].running:
                link = &self.edges[e].next
            else:
                link[0] = self.edges[e].next
                self.edges[e].next = self.nodes[u].settled
                self.nodes[u].settled = e
        e = self.nodes[u].settled
        return e if e != NONE and self.find(self.edges[e].target) == v else <uint32_t> NONE

    cdef uint32_t new_edge(self, Event *first, Event *second, uint8_t kind) noexcept nogil:
        cdef uint32_t e = take_slot(&self.edge_pool, <void **> &self.edges, sizeof(Edge))
        if e == NONE:
            return NONE
        self.edges_made += 1
        self.set_ends(e, first, second, kind)
        return e

    cdef void set_ends(self, uint32_t e, Event *first, Event *second, uint8_t kind) noexcept nogil:
        cdef Edge *edge = &self.edges[e]
        edge.kind = kind
        edge.first, edge.first_op, edge.first_target, edge.first_site = first.event, first.op, first.target, first.site
        edge.second, edge.second_op = second.event, second.op
        edge.second_target, edge.second_site = second.target, second.site

    cdef inline void free_edge(self, uint32_t e) noexcept nogil:
        give_slot(&self.edge_pool, self.edges, sizeof(Edge), e)

    # ---- cycles

    cdef uint32_t next_search(self) noexcept nogil:
        cdef uint32_t n
        self.search += 1
        if self.search == 0:
            for n in range(self.node_pool.used):
                self.nodes[n].mark = 0
            self.search = 1
        return self.search

    cdef bint reorder(self, uint32_t u, uint32_t v) noexcept nogil:
        """Bring v and the nodes it leads to behind u. True: it leads to u, so u -> v closes a cycle.

        If contracting, the cycle is one node then, in the place of u.
        """
        cdef uint32_t n
        cdef size_t done = 0, count = 1
        cdef bint cyclic = False
        self.searches += 1
        self.next_search()
        self.nodes[v].mark = self.search
        self.moved[0].node = v
        while done < count and (self.contract or not cyclic):
            n = self.moved[done].node
            done += 1
            cyclic |= self.visit(self.nodes[n].open, u, &count)
            cyclic |= self.visit(self.nodes[n].settled, u, &count)
        self.visited += done
        self.work.done += 32 * (done + 1)
        if cyclic and not self.contract:
            return True
        for done in range(count):
            self.moved[done].label = self.nodes[self.moved[done].node].label
        qsort(self.moved, count, sizeof(Labelled), by_label)
        if cyclic:
            count = self.contract_cycle(u, count)
        if count:
            self.move_behind(u, count)
        return cyclic

    cdef bint visit(self, uint32_t e, uint32_t u, size_t *count) noexcept nogil:
        """Add to `moved` the targets that stand before u. True: u is one of the targets."""
        cdef uint32_t n
        cdef bint met = False
        while e != NONE:
            n = self.find(self.edges[e].target)
            if n == u:
                met = True
            elif self.nodes[n].mark != self.search and self.nodes[n].label < self.nodes[u].label:
                self.nodes[n].mark = self.search
                self.moved[count[0]].node = n
                count[0] += 1
            e = self.edges[e].next
        return met

    cdef size_t contract_cycle(self, uint32_t u, size_t count) noexcept nogil:
        """Make one node, u, of it and those in `moved` that lead to it. The others stay in `moved`: gives how many.

        u's place is right for all: nodes that lead into the cycle and were not found from v stand before u, and those
        found from v that are not in the cycle are going to stand behind it.
        """
        cdef size_t i, others = 0, cyclic = 0
        cdef uint32_t n
        self.next_search()
        self.nodes[u].mark = self.search
        for i in range(count):
            n = self.moved[count - 1 - i].node
            if self.leads_in(self.nodes[n].open) or self.leads_in(self.nodes[n].settled):
                self.nodes[n].mark = self.search
                self.queue[cyclic] = n
                cyclic += 1
        for i in range(count):
            if self.nodes[self.moved[i].node].mark != self.search:
                self.moved[others] = self.moved[i]
                others += 1
        self.nodes[u].kept = True
        self.queue[cyclic] = u
        for i in range(cyclic + 1):
            self.drop_inner(&self.nodes[self.queue[i]].open)
            self.drop_inner(&self.nodes[self.queue[i]].settled)
        for i in range(cyclic):
            self.absorb(u, self.queue[i])
        return others

    cdef bint leads_in(self, uint32_t e) noexcept nogil:
        while e != NONE:
            if self.nodes[self.find(self.edges[e].target)].mark == self.search:
                return True
            e = self.edges[e].next
        return False

    cdef void drop_inner(self, uint32_t *link) noexcept nogil:
        """Drop the edges of a list that lead to a node of the cycle: those with the mark of this search."""
        cdef uint32_t e, n
        while link[0] != NONE:
            e = link[0]
            n = self.find(self.edges[e].target)
            if self.nodes[n].mark == self.search:
                self.nodes[n].incoming -= 1
                link[0] = self.edges[e].next
                self.free_edge(e)
            else:
                link = &self.edges[e].next

    cdef void absorb(self, uint32_t u, uint32_t n) noexcept nogil:
        """Let u stand for n too."""
        cdef Node *into = &self.nodes[u]
        cdef Node *node = &self.nodes[n]
        self.unlink(n)
        into.incoming += node.incoming
        into.running += node.running
        into.open = self.joined(node.open, into.open)
        into.settled = self.joined(node.settled, into.settled)
        self.nodes[into.last_member].members = n
        into.last_member = node.last_member
        node.root = u

    cdef uint32_t joined(self, uint32_t first, uint32_t second) noexcept nogil:
        """Two lists of edges as one."""
        cdef uint32_t e = first
        if first == NONE:
            return second
        while self.edges[e].next != NONE:
            e = self.edges[e].next
        self.edges[e].next = second
        return first

    # ---- the witness

    cdef void explain(self, uint32_t u, Event *first, uint32_t v, Event *second, uint8_t kind) noexcept nogil:
        """Write down the cycle v ... u -> v: one that increases, if the graph has one, else a shortest."""
        cdef bint increases = self.way(v, u, first.event, True)
        if self.violated and not increases:
            return
        if not increases:
            self.way(v, u, 0, False)
        self.violated, self.cycle_increases = True, increases
        with gil:
            self.cycle = self.steps(u, first, v, second, kind)

    cdef bint way(self, uint32_t v, uint32_t u, uint64_t until, bint increasing) noexcept nogil:
        """A way from v to u, in `via` and `source`. With `increasing`, no step of it goes back in time, to `until`."""
        cdef uint32_t n, mark
        cdef size_t head = 0, count = 1, size = self.queue_room
        for n in range(self.node_pool.used):
            self.nodes[n].arrival = <uint64_t> -1
        mark = self.next_search()
        self.nodes[v].arrival = 0
        self.nodes[v].mark = mark
        self.queue[0] = v
        while count:
            n = self.queue[head]
            head = (head + 1) % size
            count -= 1
            self.nodes[n].mark = 0
            self.step_from(n, self.nodes[n].open, u, increasing, head, &count)
            self.step_from(n, self.nodes[n].settled, u, increasing, head, &count)
            if self.nodes[u].arrival <= (until if increasing else <uint64_t> -2):
                return True
        return False

    cdef void step_from(
        self, uint32_t n, uint32_t e, uint32_t u, bint increasing, size_t head, size_t *count
    ) noexcept nogil:
        """`mark` says that a node waits in the queue, which is a ring: a node waits in it once at most."""
        cdef Edge *edge
        cdef Node *node
        while e != NONE:
            edge = &self.edges[e]
            node = &self.nodes[edge.target]
            if node.label <= self.nodes[u].label and (
                edge.first >= self.nodes[n].arrival and edge.second < node.arrival
                if increasing else node.arrival == <uint64_t> -1
            ):
                node.arrival, node.via, node.source = edge.second, e, n
                if node.mark != self.search:
                    node.mark = self.search
                    self.queue[(head + count[0]) % self.queue_room] = edge.target
                    count[0] += 1
            e = edge.next

    cdef object steps(self, uint32_t u, Event *first, uint32_t v, Event *second, uint8_t kind):
        """(event, thread, op, target, site, transaction, region, kind of edge) of each step."""
        cdef uint32_t n = u
        cdef uint64_t out = first.event          # by which the cycle leaves n
        cdef Edge *edge
        backwards = [
            self.step(v, second.event, second.op, second.target, second.site, PROGRAM_ORDER),
            self.step(u, first.event, first.op, first.target, first.site, kind),
        ]
        while n != v:
            edge = &self.edges[self.nodes[n].via]
            if edge.second != out:
                backwards.append(
                    self.step(n, edge.second, edge.second_op, edge.second_target, edge.second_site, PROGRAM_ORDER)
                )
            n, out = self.nodes[n].source, edge.first
            backwards.append(
                self.step(n, edge.first, edge.first_op, edge.first_target, edge.first_site, edge.kind)
            )
        backwards.reverse()
        return backwards

    cdef object step(self, uint32_t n, uint64_t event, uint8_t op, uint32_t target, uint32_t site, uint8_t kind):
        cdef Node *node = &self.nodes[n]
        if node.running == 0 and event > node.end:     # an event outside regions that joined the node
            return (event, node.thread, op, target, site, 0, <uint32_t> NONE, kind)
        return (event, node.thread, op, target, site, node.number, node.region, kind)

    # ---- the filter's result

    def kept(self):
        """The events to look at again: (thread, first, last) of each run of a thread's events, in three columns.

        To be asked at the end of the trace.
        """
        cdef uint32_t n = self.first_node, m
        cdef size_t i
        while n != NONE:
            if self.nodes[n].kept:
                self.components += 1
                m = n
                while m != NONE:
                    if not self.keep(m):
                        raise MemoryError
                    m = self.nodes[m].members
                self.nodes[n].kept = False
            n = self.nodes[n].after
        thread = np.empty(self.range_count, np.uint32)
        first = np.empty(self.range_count, np.uint64)
        last = np.empty(self.range_count, np.uint64)
        cdef uint32_t[::1] threads = thread
        cdef uint64_t[::1] firsts = first, lasts = last
        for i in range(self.range_count):
            threads[i], firsts[i], lasts[i] = self.ranges[i].thread, self.ranges[i].first, self.ranges[i].last
        return thread, first, last


cdef class Projection:
    """Keeps the events in the given runs (see `Velodrome.kept`). All others become NOTHING, a begin SKIPPED."""

    cdef uint64_t[::1] first, last       # the runs, by thread and then by time
    cdef size_t *next                    # by thread: its first run that has not passed
    cdef size_t *end                     # by thread: where its runs end
    cdef size_t next_room, end_room
    cdef readonly uint64_t transactions, events

    def __cinit__(self, thread, first, last):
        cdef size_t i, count = len(thread)
        cdef uint32_t[::1] sorted_threads
        order = np.lexsort((first, thread))
        self.first, self.last = first[order], last[order]
        sorted_threads = thread[order]
        if count:
            self.grow(int(thread.max()) + 1)
        for i in range(count):
            if self.end[sorted_threads[i]] == 0:
                self.next[sorted_threads[i]] = i
            self.end[sorted_threads[i]] = i + 1

    def __dealloc__(self):
        free(self.next)
        free(self.end)

    def grow(self, size_t threads):
        ensure_room(<void **> &self.next, &self.next_room, threads, sizeof(size_t))
        ensure_room(<void **> &self.end, &self.end_room, threads, sizeof(size_t))

    def project(self, uint64_t first, const uint32_t[::1] thread, const uint8_t[::1] op):
        cdef size_t i, at, count = op.shape[0]
        cdef uint32_t t
        cdef uint8_t o
        projected = np.empty(count, np.uint8)
        cdef uint8_t[::1] out = projected
        with nogil:
            for i in range(count):
                o = op[i]
                if o < NOTHING:
                    t = thread[i]
                    at = self.next[t]
                    while at < self.end[t] and self.last[at] < first + i:
                        at += 1
                    self.next[t] = at
                    if at < self.end[t] and self.first[at] <= first + i:
                        self.events += 1
                        self.transactions += o == BEGIN
                    else:
                        o = SKIPPED if o == BEGIN else NOTHING
                out[i] = o
        return projected
