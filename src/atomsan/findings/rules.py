"""The rules of judging: why an edge or a turn of a violation does not count in full, if it does not.

`docs/judging.md` has them for users. Each rule that makes a note is a proof; an idiom, a guess, or a limit of what was
seen makes a suspect. The facts come from the flow graphs of the functions (`access_facts.py`, `ties.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from functools import cached_property
from typing import TYPE_CHECKING

from atomsan.findings import access_facts as facts
from atomsan.findings.activations import shared
from atomsan.findings.called_functions import CalledFunctions
from atomsan.findings.cycles import conflicts, turns
from atomsan.findings.decisions import is_kept
from atomsan.findings.flow_graph import LEAVING
from atomsan.findings.influence import is_chosen_by_caller, sways
from atomsan.findings.reasons import (
    ACROSS,
    APPENDS,
    ASKS_ITSELF,
    BALANCED,
    CHECKED_AGAIN,
    CHECKED_ALIKE,
    CHECKED_AND_COUNTED,
    CHECKED_OTHERWISE,
    CHECKED_UNLOCKED,
    COLLECTED,
    COMMUTES,
    ENTRY_LOOP,
    FORGOTTEN,
    HANDED_OUT,
    ITERATIONS,
    KEPT,
    LET_IN,
    NO_FLOW,
    ONE_BY_ONE,
    OTHER_WAY,
    OTHER_WAYS,
    OVERWRITTEN,
    PHASES,
    RECURSIVE,
    SAME_LITERAL,
    SHOWN,
    STANDS_IN,
    TAKEN,
    UNSEEN,
    UNUSED,
    VALIDATED,
    WHOLE,
    Reason,
)
from atomsan.findings.rechecks import Rechecks
from atomsan.findings.surroundings import Read
from atomsan.findings.ties import Local, Tie, Ties, Unit, advanced_loops
from atomsan.findings.validation import is_compared, is_compared_before, looks_for_mark
from atomsan.trace.events import Op

if TYPE_CHECKING:
    from atomsan.findings.cycles import Turn
    from atomsan.findings.finding import Finding, ShownStep
    from atomsan.findings.flow_graph import Place
    from atomsan.findings.surroundings import Surroundings
    from atomsan.predictors.replay import Change, Parting
    from atomsan.trace.symbols import Symbols

    Apart = Callable[[ShownStep, ShownStep], bool]


class Rules:
    """Applies the rules to the violations of one trace."""

    def __init__(self, around: Surroundings, symbols: Symbols, are_apart: Apart) -> None:
        self._around = around
        self._are_apart = are_apart
        self._ties = Ties(symbols)
        self._graphs = self._ties.graphs
        self._rechecks = Rechecks(self._graphs)
        self._counting_rechecks = Rechecks(self._graphs, may_count=True)
        self._called = CalledFunctions(around, symbols, self._graphs)
        self._known_gauges: dict[int, list[tuple[int, int]]] = {}

    def reasons(self, finding: Finding) -> Iterator[Reason]:
        """Why a violation on data is less than a finding: the reasons of its edges and turns."""
        at_turns = turns(finding)
        is_torn = any(facts.is_torn(turn, self._graphs) for turn in at_turns)
        threads = {one.thread for one in finding.witness}
        looked_at: dict[int, bool] = {}
        for one, other in conflicts(finding):
            if reason := self._of_edge(one, other, is_torn=is_torn):
                is_doubtful = reason.level == "note" and (
                    self._is_longer(finding, threads, reason) or self._is_looked_at(one.target, threads, looked_at)
                )
                yield OTHER_WAYS if is_doubtful else reason
        for turn in at_turns:
            if reason := self._of_turn(turn):
                yield reason
        if any(map(self._may_go_another_way, finding.changes)):
            yield OTHER_WAY
        if finding.parting is not None and not self._may_stand_in(finding, finding.parting):
            yield STANDS_IN

    def _may_go_another_way(self, change: Change) -> bool:
        """Whether a thread may not come to a step of the witness because it reads another value before."""
        if change.event == change.step_event:
            return True
        sites = (change.event, change.site), (change.step_event, change.step_site)
        read, step = (Local(site=site, around=self._around.activations(event)) for event, site in sites)
        return sways(self._ties, read, step, self._called.at)

    def _may_stand_in(self, finding: Finding, parting: Parting) -> bool:
        """Whether a thread that reads what another one read does what that one did, and only for that reason did not.

        It does no more than the code does that both were in when they read, and on the same data: what an argument says
        another thread may have been called with otherwise.
        """
        if not self._may_go_another_way(parting.change):
            return False
        both = {one.function for one in self._around.activations(parting.look)}
        begun = self._around.activations(parting.change.event)
        done = [step for step in finding.witness if step.number >= parting.change.event]
        units = [shared(begun, self._around.activations(step.number), frozenset()).unit for step in done]
        read = Local(site=parting.change.site, around=begun)
        steps = [Local(site=step.at, around=self._around.activations(step.number)) for step in done]
        is_same_code = all(unit is not None and unit.function in both for unit in units)
        return is_same_code and not any(is_chosen_by_caller(self._ties, read, step) for step in steps)

    def _is_longer(self, finding: Finding, threads: Set[str], reason: Reason) -> bool:
        """Whether transactions may be ordered in a way that was not looked at, if a pair of accesses orders nothing.

        All turns between two threads are looked at, but of ways through a third one only some, as of cycles that no
        transaction alone is to blame for. What commutes in a container is of different elements, which are locations of
        their own.
        """
        is_longer = len(threads) > 2 or finding.kind == "cycle"
        return self._around.symbols is None or (is_longer and reason != COMMUTES)

    def _is_looked_at(self, target: int, threads: Set[str], known: dict[int, bool]) -> bool:
        """Whether a thread looks at some data that is none of these: it may tell what these cannot.

        `known` are the answers for the same threads: a witness can have as many steps as there are threads.
        """
        symbols = self._around.symbols
        assert symbols is not None
        if target not in known:
            known[target] = any(
                symbols.threads[thread] not in threads and facts.looks(site, self._graphs)
                for thread, site in self._around.readers.get(target, ())
            )
        return known[target]

    # ---- edges: does one access order the other?

    def _of_edge(self, one: ShownStep, other: ShownStep, *, is_torn: bool) -> Reason | None:
        """In a cycle that tears an update apart, updates do not commute."""
        if facts.ANY_KEY in (one.field, other.field):
            return WHOLE
        if any(facts.is_unused(step, self._graphs) for step in (one, other)):
            return UNUSED
        if facts.writes_are_equal(one, other, self._graphs):
            return SAME_LITERAL
        return facts.commuting(one, other, self._operations(one.target)) or self._sum(one, other, is_torn=is_torn)

    def _operations(self, location: int) -> Iterator[str | None]:
        """The operations that write to a location."""
        symbols = self._around.symbols
        for site in self._around.writers.get(location, ()) if symbols else ():
            yield symbols.sites.get(site, "operation") if symbols else None

    def _sum(self, one: ShownStep, other: ShownStep, *, is_torn: bool) -> Reason | None:
        writers = self._around.writers.get(one.target, ())
        return None if is_torn else facts.sum_of(one, other, self._graphs, writers)

    # ---- turns: are the two accesses one step?

    def _of_turn(self, turn: Turn) -> Reason | None:
        if self._around.is_forgotten(turn.pair):
            return FORGOTTEN
        first, last = (Local(site=step.at, around=self._around.activations(step.number)) for step in turn.ends)
        is_generator = any(one.is_resumed for one in last.around)
        restarted = self._around.restarted(turn.pair) if is_generator else frozenset()
        unit = self._ties.unit(first, last, restarted)
        if unit is None:
            unit = self._ties.delegating(first, last, self._around.restarted(turn.pair))
        advanced = None if unit is None else self._advanced(turn, unit)
        if unit is None or advanced is None:
            return UNSEEN
        tie = self._ties.tie(unit, first, last, advanced=advanced, passed=self._passed(turn, unit))
        if tie is Tie.APART:
            return ITERATIONS
        is_untied = tie is Tie.NONE and not unit.is_around_block
        is_emptied = is_untied and self._is_emptied(turn, unit, first)
        if is_emptied or (is_untied and self._belongs_together(turn, unit, first, last)):
            tie = Tie.OWN
        reason = self._proof(turn) or self._checked_again(turn, first)
        if (reason is None or reason.level != "note") and self._is_decision_kept(turn, first, last):
            return KEPT
        if reason is None and self._is_validated(turn, unit, first, last):
            return VALIDATED
        return reason or self._doubt(turn, unit, tie, is_emptied=is_emptied)

    def _advanced(self, turn: Turn, unit: Unit) -> frozenset[int] | None:
        """The loops of the unit that went on to a later iteration between the accesses. None: it is not known."""
        if not unit.common_loops:
            return frozenset()
        if unit.is_delegating:
            return frozenset(unit.common_loops[-1:])
        events = self._around.own_events(turn.pair, unit.activation, self._graphs)
        return None if events is None else advanced_loops(unit.graph, events)

    def _passed(self, turn: Turn, unit: Unit) -> frozenset[int]:
        """The loops that went on to a later iteration in the function of the first access, if that is not the unit."""
        inner = unit.first_inner[-1] if unit.first_inner else None
        place = self._graphs.place(turn.leaves.at)
        graph = self._graphs.of(inner.function) if inner else None
        if inner is None or graph is None or place is None or place.function != inner.function:
            return frozenset()
        if not graph.nodes[place.node].loops:
            return frozenset()
        events = self._around.own_events(turn.pair, inner, self._graphs, is_innermost=True)
        return (advanced_loops(graph, events) if events is not None else None) or frozenset()

    def _proof(self, turn: Turn) -> Reason | None:
        if facts.is_overwritten(turn):
            return OVERWRITTEN
        if facts.writes_same_literal(turn, self._graphs):
            return SAME_LITERAL
        if facts.is_idempotent(turn, self._graphs, self._locking):
            return SAME_LITERAL
        if facts.asks_itself(turn, self._graphs):
            return ASKS_ITSELF
        return None

    def _is_validated(self, turn: Turn, unit: Unit, first: Local, last: Local) -> bool:
        # a task's step is not interrupted
        is_alone = self._is_guarded(turn, turn.enters.number) or turn.enters.number in self._around.in_tasks
        if turn.leaves.op == "read" and is_alone and is_compared_before(unit, first, last, self._ties):
            return True
        if turn.enters.op == "read":
            writers = self._around.writers.get(turn.enters.target, ())
            if looks_for_mark(turn.enters.at, writers, self._graphs):
                return True
        between = self._around.between.get(turn.pair)
        if turn.leaves.op != "read":
            writers = self._around.writers.get(turn.leaves.target, ())
            looks = {
                site
                for op, at, site in (between.rows() if between else ())
                if (op, at) == (Op.READ, turn.leaves.target)
            }
            return any(looks_for_mark(site, writers, self._graphs) for site in looks)
        if turn.enters.op == "read" and turn.enters.target == turn.leaves.target:
            return is_compared(first, last, self._around.writers.get(turn.enters.target, ()), self._ties)
        return any(
            (turn.before.position is not None or read.event > turn.before.number)
            and self._is_guarded(turn, read.event)
            and self._is_compared(turn, first, read)
            for read in (between.reads if between else ())
        )

    def _is_compared(self, turn: Turn, first: Local, read: Read) -> bool:
        later = Local(site=read.site, around=self._around.activations(read.event))
        return is_compared(first, later, self._around.writers.get(turn.leaves.target, ()), self._ties)

    def _is_guarded(self, turn: Turn, event: int) -> bool:
        """Whether a lock that the others write under was taken after the first access, and is held at an event.

        Where the event comes after the last access, it was held there, too.
        """
        writers = [step for step in (turn.after, turn.before) if step.op != "read"]
        others = set.intersection(*(set(step.locks or ()) for step in writers or (turn.after,)))
        holds = self._around.holds.get(event, ())
        since = range(turn.leaves.number + 1, turn.enters.number + 1)
        return any(hold.since in since and hold.lock in others for hold in holds)

    def _is_decision_kept(self, turn: Turn, first: Local, last: Local) -> bool:
        look, write = (self._graphs.node(self._graphs.place(step.at)) for step in (turn.leaves, turn.after))
        if turn.leaves.op != "read" or turn.after.op != "write" or look is None or write is None:
            return False
        part = facts.part(turn.leaves)
        conditions = self._rechecks.conditions(first, last)
        return bool(conditions) and all(
            is_kept(condition, look, write, turn.after.operation, part) for condition in conditions
        )

    def _doubt(self, turn: Turn, unit: Unit, tie: Tie, *, is_emptied: bool) -> Reason | None:
        if tie is Tie.NONE:
            return NO_FLOW
        if tie is Tie.DEEPER:
            return RECURSIVE
        if tie is Tie.COLLECTED:
            return COLLECTED
        if tie is Tie.SHOWN:
            return SHOWN
        is_apart = self._are_apart(turn.enters, turn.leaves) and not _is_copied(turn, unit, tie)
        if is_apart or facts.is_beside_primitive(turn):
            return HANDED_OUT if any(map(facts.gets, turn.ends)) else ACROSS
        if facts.is_phase(turn, self._graphs):
            return PHASES
        if facts.appends(turn, is_written=self._is_written(turn)) and not self._is_read_in_pairs(turn):
            return APPENDS
        if all(map(facts.gets, turn.ends)) and not facts.is_pair(unit.graph, unit.first, unit.last):
            return ONE_BY_ONE
        if not self._is_passed(turn, unit) and self._is_around_work(unit):
            return BALANCED
        if facts.is_taken_and_put_back(turn, unit, self._graphs) or self._is_borrowed(turn, unit):
            return TAKEN
        if unit.activation.is_iteration and not is_emptied and not self._is_step(turn, unit, tie):
            return ENTRY_LOOP
        is_loose = tie is Tie.OWN and not unit.graph.joins(unit.first, unit.last)
        return LET_IN if is_loose and self._lets_others_in(turn) else None

    def _is_passed(self, turn: Turn, unit: Unit) -> bool:
        """Whether a value goes from the first node of the unit to the last one, or from both into one."""
        graph = unit.graph
        if unit.first == unit.last and graph.nodes[unit.first].kind == "update" and turn.leaves.op == "read":
            return True  # what it reads, it writes
        return unit.last in graph.reached(unit.first, explicit=True) or graph.joins(unit.first, unit.last)

    def _is_around_work(self, unit: Unit) -> bool:
        """Whether the last access takes back what was counted, or both are in the blocks that count up and down."""
        if unit.first_inner or unit.last_inner or unit.activation.function is None:
            return False
        block = unit.graph.block
        last = facts.update_of(unit.graph, unit.last)
        return any(
            down == last or (block(up), block(down)) == (block(unit.first), block(unit.last))
            for up, down in self._gauges(unit.activation.function)
        )

    def _gauges(self, function: int) -> list[tuple[int, int]]:
        """The nodes of a function that add a number, and those that subtract it again after something else was done."""
        graph = self._graphs.of(function)
        if graph is None:
            return []
        if function not in self._known_gauges:
            self._known_gauges[function] = [
                (one, other)
                for nodes in self._writes.get(function, ())
                for one in nodes
                for other in nodes
                if facts.is_gauge(graph, one, other)
            ]
        return self._known_gauges[function]

    @cached_property
    def _locking(self) -> set[Place]:
        """Where locks were acquired."""
        places = (self._graphs.place(site) for sites in self._around.acquired.values() for site in sites)
        return {place for place in places if place}

    @cached_property
    def _writes(self) -> dict[int, list[list[int]]]:
        """By function: for each location, the nodes that write to it."""
        found: dict[int, list[list[int]]] = {}
        for sites in self._around.writers.values():
            nodes: dict[int, list[int]] = {}
            for site in sites:
                if place := self._graphs.place(site):
                    nodes.setdefault(place.function, []).append(place.node)
            for function, own in nodes.items():
                found.setdefault(function, []).append(own)
        return found

    def _is_read_in_pairs(self, turn: Turn) -> bool:
        """Whether what is put by one unit is taken in pairs by somebody."""
        symbols = self._around.symbols
        if symbols is None or not all(map(facts.puts_in_queue, turn.ends)) or turn.leaves.target != turn.enters.target:
            return False
        sites = self._around.writers.get(turn.enters.target, ())
        return facts.are_taken_in_pairs(sites, lambda site: symbols.sites.get(site, "operation"), self._graphs)

    def _is_step(self, turn: Turn, unit: Unit, tie: Tie) -> bool:
        """Whether an iteration is one step.

        A value decides in its own code. Or two of these are true: it goes from one call into another; it is what the
        one gives, and not only a reason for that; it is what the other changes, and the one has only looked at.
        """
        if tie is not Tie.FLOW:
            return False
        is_update = unit.first == unit.last and unit.graph.nodes[unit.first].kind == "update"
        is_passed = is_update or unit.last in unit.graph.reached(unit.first, explicit=True)
        if not unit.first_inner and not unit.last_inner:
            return is_passed or turn.enters.op == "write"  # a flag may well be looked at twice
        location = turn.enters.target
        is_of_one = turn.enters.op == "write" and turn.leaves.target == location
        is_of_one = is_of_one and not self._writes_too(turn.leaves, location)
        return turn.leaves.op == "read" and sum((is_passed, is_of_one, self._is_given(turn.leaves))) > 1

    def _is_given(self, step: ShownStep) -> bool:
        """Whether the value that is read there is returned itself, and does not only decide what is."""
        place = self._graphs.place(step.at)
        graph = self._graphs.of(place.function) if place else None
        return (
            graph is None
            or place is None
            or any(graph.nodes[node].kind in LEAVING for node in graph.reached(place.node, explicit=True))
        )

    def _is_written(self, turn: Turn) -> bool:
        """Whether the unit writes the location of its first access once more before the last one."""
        between = self._around.between.get(turn.pair)
        return between is not None and any(row[:2] == (Op.WRITE, turn.leaves.target) for row in between.rows())

    def _is_borrowed(self, turn: Turn, unit: Unit) -> bool:
        """Whether the unit gives back to a container what it took out of it after its look, or made if it was empty.

        What gives an element to somebody takes one out, if there is one.
        """
        between = self._around.between.get(turn.pair)
        symbols = self._around.symbols
        if turn.leaves.op != "read" or not facts.puts(turn.enters) or between is None or symbols is None:
            return False
        location = turn.enters.target
        if any(
            op == Op.WRITE and target == location and facts.takes(symbols.sites.get(site, "operation"))
            for op, target, site in between.rows()
        ):
            return True
        lending = self._graphs.place(turn.leaves.at)
        if lending is None or not unit.first_inner or not self._is_passed(turn, unit):
            return False
        sites = self._around.writers.get(location, ())
        taking = (self._graphs.place(site) for site in sites if facts.takes(symbols.sites.get(site, "operation")))
        return any(place and place.function == lending.function for place in taking)

    def _belongs_together(self, turn: Turn, unit: Unit, first: Local, last: Local) -> bool:
        """Whether two calls that no value goes between are one step all the same."""
        return (
            self._is_counted_on(turn, unit, first)
            or self._is_read_back(turn, unit, last)
            or self._is_tied_elsewhere(turn)
        )

    def _is_counted_on(self, turn: Turn, unit: Unit, first: Local) -> bool:
        """Whether the unit keeps a number that it read, and makes it another one for whoever comes next."""
        one, other = turn.ends
        is_one = one.op == "read" and one.target == other.target and facts.counts(other, self._graphs)
        return is_one and self._ties.is_kept(unit, first)

    def _is_emptied(self, turn: Turn, unit: Unit, first: Local) -> bool:
        """Whether the unit takes what is there and empties it."""
        one, other = turn.ends
        if one.op != "read" or not facts.empties(other, self._graphs):
            return False
        is_element = other.operation == "clear" and one.object == other.object
        return (one.target == other.target or is_element) and self._ties.is_kept(unit, first)

    def _is_read_back(self, turn: Turn, unit: Unit, last: Local) -> bool:
        """Whether the unit writes a value and takes what is there then."""
        one, other = turn.ends
        is_one = one.target == other.target and other.op == "read" and facts.writes_value(one, self._graphs)
        return is_one and self._is_given_away(unit, last, other.target)

    def _is_given_away(self, unit: Unit, last: Local, location: int) -> bool:
        """Whether the unit returns or stores what it reads last, and not to change the location once more."""
        writes = (self._graphs.place(site) for site in self._around.writers.get(location, ()))
        own = {place.node for place in writes if place and place.function == unit.activation.function}
        reached = (unit.graph.nodes[one] for one in unit.graph.reached(unit.last, explicit=True) - own)
        is_given = any(node.kind in LEAVING or node.kind in ("write", "update") for node in reached)
        return is_given and self._ties.is_given(last, unit.last_inner)

    def _is_tied_elsewhere(self, turn: Turn) -> bool:
        """Whether the two locations belong together to others: what they read there flows together."""
        one, other = sorted((turn.after, turn.before), key=lambda step: step.number)
        locations = {one.target, other.target}
        if not one.op == other.op == "read":
            return False
        if one.owner != other.owner or len(locations) == 1 or locations != {step.target for step in turn.ends}:
            return False
        if self._writes_too(turn.leaves, turn.enters.target) or self._writes_too(turn.enters, turn.leaves.target):
            return False  # a whole step on both, as each critical section of it may be
        first, last = (Local(site=step.at, around=self._around.activations(step.number)) for step in (one, other))
        unit = self._ties.unit(first, last)
        if unit is None:
            return False
        if unit.common_loops:
            return unit.first == unit.last and unit.graph.is_collected(unit.first, unit.common_loops[0])
        # that a look at one decides whether the other is looked at ties them to nobody else
        is_passed = unit.last in unit.graph.reached(unit.first, explicit=True)
        tie = self._ties.tie(unit, first, last)
        return (tie is Tie.FLOW and is_passed) or tie is Tie.JOINT or unit.graph.joins(unit.first, unit.last)

    def _writes_too(self, step: ShownStep, location: int) -> bool:
        """Whether the function that a step is in also writes to a location, at another place."""
        place = self._graphs.place(step.at)
        writes = (self._graphs.place(site) for site in self._around.writers.get(location, ()))
        return place is not None and any(one and one != place and one.function == place.function for one in writes)

    def _checked_again(self, turn: Turn, first: Local) -> Reason | None:
        """Double-checked locking done right: a proof, if the lock is taken for the later check, and writers hold it."""
        between = self._around.between.get(turn.pair)
        node = self._graphs.node(self._graphs.place(turn.leaves.at))
        # what an update reads, it writes
        if turn.leaves.op != "read" or between is None or (node is not None and node.kind == "update"):
            return None
        last = Local(site=turn.enters.at, around=self._around.activations(turn.enters.number))
        is_one = turn.enters.operation == "setdefault" and turn.enters.target == turn.leaves.target
        if is_one and self._rechecks.only_decides(first, last):
            return CHECKED_AGAIN
        if is_one and self._counting_rechecks.only_decides(first, last):
            return CHECKED_AND_COUNTED
        for rechecks, proved in ((self._rechecks, CHECKED_AGAIN), (self._counting_rechecks, CHECKED_AND_COUNTED)):
            for read in (*between.reads, *between.reads_after):
                later = Local(site=read.site, around=self._around.activations(read.event))
                if read.event > turn.enters.number and not self._is_guarded(turn, read.event):
                    continue
                if rechecks.is_checked_again(first, later):
                    return proved if self._is_guarded(turn, read.event) else CHECKED_UNLOCKED
        for read in between.reads:
            later = Local(site=read.site, around=self._around.activations(read.event))
            if not self._is_guarded(turn, read.event):
                continue
            if self._rechecks.is_checked_in_other_words(first, later):
                return CHECKED_OTHERWISE
            if self._rechecks.is_part_checked_again(first, later):
                return CHECKED_ALIKE
            if self._rechecks.is_given_and_checked_again(first, later):
                return CHECKED_ALIKE
        # of a condition of several parts, the last ones may not be looked at any more
        looks = [*between.reads, *between.reads_after, Read(turn.enters.number, turn.enters.at)]
        for read in looks if turn.enters.op == "read" else between.reads:
            later = Local(site=read.site, around=self._around.activations(read.event))
            if self._is_guarded(turn, read.event) and self._rechecks.is_written_again(first, later):
                return CHECKED_ALIKE
        return None

    def _lets_others_in(self, turn: Turn) -> bool:
        """Whether the lock of a block that is around both accesses was released in between, inside the block."""
        first, last = (self._around.lock_blocks(step.number) for step in turn.ends)
        if not first or not last or (first[-1] not in last and last[-1] not in first):
            return False
        block = first[-1] if first[-1] in last else last[-1]
        taken = [
            min((hold.since for hold in step.holds or () if hold.since > block.since), default=None)
            for step in turn.ends
        ]
        return taken[0] != taken[1]


def _is_copied(turn: Turn, unit: Unit, tie: Tie) -> bool:
    """Whether the value that is read from one object is written to the other."""
    is_copy = turn.leaves.op == "read" and turn.enters.op == "write" and tie is Tie.FLOW and not unit.first_inner
    reached = unit.graph.reached(unit.first, explicit=True)
    return is_copy and unit.last in reached and (not unit.last_inner or _is_argument(unit, reached | {unit.first}))


def _is_argument(unit: Unit, values: Set[int]) -> bool:
    """Whether one of these values is an argument of the last call, and not only what is called."""
    given = unit.graph.nodes[unit.last].facts.get("given")
    return given is None or any(giving in values for _, giving, *_ in given)
