"""Second pass: adds to the steps of violations what is around them, for judging and for hints.

Checkers keep none of this: there are ten million violations and a dozen findings. So the trace is read once more when
the violations are known, as far as the last step. For each event of interest: the locks that its thread holds, and the
regions that it is in. For each pair of accesses of one thread: what the thread did in between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from atomsan.findings.activations import Activation, ActivationFinder, OpenRegion, shared
from atomsan.findings.advice import advice_for, advice_for_cycle
from atomsan.findings.finding import Finding, Hold
from atomsan.findings.wording import hint, hint_for_cycle
from atomsan.trace._held import HeldLocks
from atomsan.trace._nesting import OpenRegions
from atomsan.trace._stopping import look
from atomsan.trace.events import Op

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from atomsan.findings.flow_graph import FlowGraphs, Place
    from atomsan.findings.ties import OwnEvent
    from atomsan.trace.events import Batch
    from atomsan.trace.symbols import Symbols

# So many events between two accesses are kept to see the iterations of loops; and so many over all pairs.
MOST_BETWEEN = 1 << 17
MOST_KEPT = 1 << 23
# So many later reads of what was read first are looked at.
MOST_READS = 8
# So many events after the last access are looked at for more of them, as long as its thread releases no lock.
MOST_FOLLOWING = 1 << 12
# So many accesses of a location at one site are looked at, to see which locks are held there.
MOST_SAMPLES = 4


class Pair(NamedTuple):
    """Two accesses of one thread, by the numbers of their events, and the location of the first."""

    first: int
    last: int
    location: int


class Read(NamedTuple):
    """A later read of what the first access of a pair is about, by the same thread."""

    event: int
    site: int


class Access(NamedTuple):
    """An access of a location of interest, one of a few at its site."""

    event: int
    site: int


@dataclass
class Between:
    """What a thread did from the first access of a pair to the last."""

    thread: int
    columns: list[tuple[NDArray[Any], ...]] = field(default_factory=list)
    """Operations, targets and sites, in parts."""
    count: int = 0
    reads: list[Read] = field(default_factory=list)
    reads_after: list[Read] = field(default_factory=list)
    """If the last access is a read: more of the same that follow, before any lock is released."""
    is_cut: bool = False
    """Whether it is too much to be kept."""

    def rows(self) -> Iterable[tuple[int, int, int]]:
        for ops, targets, sites in self.columns:
            yield from zip(ops.tolist(), targets.tolist(), sites.tolist(), strict=True)


class ThreadStates(NamedTuple):
    """The locks that threads hold and the regions that they are in, at some event."""

    locks: HeldLocks
    opened: OpenRegions


class Extract(NamedTuple):
    """The surroundings of some events and pairs."""

    holds: dict[int, tuple[Hold, ...]]
    inside: dict[int, list[OpenRegion]]
    between: dict[Pair, Between]
    in_tasks: set[int]

    @property
    def size(self) -> int:
        return sum(between.count for between in self.between.values())


class Surroundings:
    """What is around some events and pairs. Feed it the batches of the trace."""

    def __init__(
        self,
        events: Iterable[int] = (),
        pairs: Iterable[Pair] = (),
        locations: Iterable[int] = (),
        *,
        start: ThreadStates | None = None,
        started: int = 0,
        room: int = MOST_KEPT,
        forgets: bool = False,
        only_holds: bool = False,
    ) -> None:
        """`start` is the state before the first batch, if that is not the beginning of the trace; `started`, how many
        threads may run beside the main one there.

        `room` is for events between accesses. `forgets`: it is put together from what was found while the trace came,
        and events may be missing because it was too late for them. `only_holds`: nothing is asked but the locks held.
        """
        self._only_holds = only_holds
        self.holds: dict[int, tuple[Hold, ...]] = {}
        """The locks that the thread holds, by event."""
        self.writers: dict[int, set[int]] = {location: set() for location in locations}
        """The sites that write to each of the locations of interest, as far as the trace was read."""
        self.accesses: dict[int, list[Access]] = {location: [] for location in self.writers}
        """Some accesses of each of these locations at each site, as far as the trace was read."""
        self.readers: dict[int, set[tuple[int, int]]] = {}
        """The threads that read each of these locations while others may run, and the sites at which they do."""
        self.acquired: dict[int, set[int]] = {}
        """The sites at which each lock was acquired."""
        self.waits: set[int] = set()
        """The sites at which a thread waited for another."""
        self.in_tasks: set[int] = set()
        """The events of interest that an asyncio task did."""
        self.is_partial = False
        """Whether some accesses, and some places that take locks, came too early to be seen."""
        self.between: dict[Pair, Between] = {}
        self._sampled: Counter[int] = Counter()
        self._started = started
        self._events = sorted(set(events), reverse=True)  # the next one is the last
        self._pairs = sorted(set(pairs), reverse=True)
        self._running: list[Pair] = []
        self._following: list[Pair] = []
        self._room = room
        self._forgets = forgets
        self._locks, self._open = start or ThreadStates(HeldLocks(), OpenRegions())
        self._inside: dict[int, list[OpenRegion]] = {}
        self._activations: dict[int, list[Activation]] = {}
        self._symbols: Symbols | None = None

    def feed(self, batch: Batch, symbols: Symbols) -> bool:
        """Take the next events. True: all is known, so do not feed any more."""
        self._symbols = symbols
        self._locks.grow(len(symbols.threads), len(symbols.locks))
        self._open.grow(len(symbols.threads))
        self._collect(batch)
        if not self._only_holds:
            self._note_accesses(batch)
            self._note_primitives(batch, symbols)
        seen = 0
        while self._events and self._events[-1] < batch.first + len(batch):
            look()
            event = self._events.pop()
            at = event - batch.first
            until = at + (batch.op[at] == Op.ACQUIRE)  # it is under its own lock; and so is a release
            self._advance(batch[seen:until])
            seen = until
            thread = int(batch.thread[at])
            self.holds[event] = self._holds(thread, symbols)
            if any(symbols.locks.get(lock, "kind") == "loop" for lock, _ in self._locks.held(thread)):
                self.in_tasks.add(event)
            self._inside[event] = [OpenRegion(*row) for row in self._open.open(thread)]
        self._advance(batch[seen:])
        return not self._events and not self._following

    def extract(self, events: Iterable[int], pairs: Iterable[Pair]) -> Extract:
        """What was found of some events and pairs."""
        between = {pair: self.between[pair] for pair in pairs if pair in self.between}
        reads = (read.event for one in between.values() for read in (*one.reads, *one.reads_after))
        known = {*events, *reads} & self.holds.keys()
        holds = {event: self.holds[event] for event in known}
        return Extract(holds, {event: self._inside[event] for event in known}, between, self.in_tasks & known)

    def add(self, extract: Extract, symbols: Symbols) -> None:
        """Take in what was found elsewhere in the same trace."""
        self._symbols = symbols
        self.holds.update(extract.holds)
        self._inside.update(extract.inside)
        self.between.update(extract.between)
        self.in_tasks |= extract.in_tasks

    def add_uses(self, other: Surroundings) -> None:
        """Take in who uses the locations of interest and the locks, as others saw it."""
        self.accesses, self.acquired, self.waits = other.accesses, other.acquired, other.waits
        self.readers = other.readers
        self.is_partial = other.is_partial
        events = {access.event for accesses in other.accesses.values() for access in accesses}
        for event in events:
            self.holds.setdefault(event, other.holds[event])
            self._inside.setdefault(event, other.opened(event))

    @property
    def symbols(self) -> Symbols | None:
        """Of the trace that was fed."""
        return self._symbols

    @cached_property
    def _finder(self) -> ActivationFinder | None:
        return None if self._symbols is None else ActivationFinder(self._symbols)

    def activations(self, event: int) -> list[Activation]:
        """The activations that the thread is in at an event, the innermost last."""
        known = self._activations.get(event)
        if known is None:
            known = self._finder.activations(self._inside.get(event, ())) if self._finder else []
            self._activations[event] = known
        return known

    def is_forgotten(self, pair: Pair) -> bool:
        """Whether it was too late to see what the thread did between the accesses."""
        return self._forgets and pair not in self.between

    def opened(self, event: int) -> list[OpenRegion]:
        """The regions that the thread is in at an event, the innermost last."""
        return self._inside.get(event, [])

    def innermost(self, pair: Pair) -> int | None:
        """The innermost region around both accesses of a pair. The runs of one generator are one region."""
        first, last = (self.activations(event) for event in (pair.first, pair.last))
        if any(one.is_resumed for one in last):
            unit = shared(first, last, self.restarted(pair)).unit
            if unit is not None and unit.is_resumed:
                return unit.region
        opened = zip(self.opened(pair.first), self.opened(pair.last), strict=False)
        common = [one.region for one, other in opened if one == other]
        return common[-1] if common else None

    def region_name(self, region: int) -> str:
        return self._symbols.regions[region] if self._symbols else ""

    def lock_blocks(self, event: int) -> list[OpenRegion]:
        """The lock blocks that are open at an event."""
        assert self._symbols is not None
        origin = self._symbols.regions.get
        return [one for one in self.opened(event) if origin(one.region, "origin") == "lock-block"]

    def _collect(self, batch: Batch) -> None:
        """Keep what threads do between the accesses of pairs, and let later reads be among the events of interest."""
        end = batch.first + len(batch)
        while self._pairs and self._pairs[-1].first < end:
            pair = self._pairs.pop()
            self.between[pair] = Between(int(batch.thread[pair.first - batch.first]))
            self._running.append(pair)
        new: set[int] = set()
        for pair in self._running:
            look()
            new.update(self._collect_pair(batch, pair, self.between[pair]))
        self._following += [
            pair for pair in self._running if pair.last < end and batch.op[pair.last - batch.first] == Op.READ
        ]
        self._running = [pair for pair in self._running if pair.last >= end]
        still: list[Pair] = []
        for pair in self._following:
            look()
            reads, is_over = self._collect_after(batch, pair, self.between[pair])
            new.update(reads)
            if not is_over:
                still.append(pair)
        self._following = still
        if new:
            self._events = sorted({*self._events, *new}, reverse=True)

    def _collect_pair(self, batch: Batch, pair: Pair, between: Between) -> list[int]:
        start = max(pair.first - batch.first, 0)
        part = batch[start : pair.last + 1 - batch.first]
        mine = np.flatnonzero(part.thread == between.thread)
        ops, targets, sites = part.op[mine], part.target[mine], part.site[mine]
        if between.count + len(mine) > MOST_BETWEEN or len(mine) > self._room:
            between.is_cut = True
        else:
            between.columns.append((ops, targets, sites))
            between.count += len(mine)
            self._room -= len(mine)
        again = np.flatnonzero((ops == Op.READ) & (targets == pair.location))
        room = MOST_READS - len(between.reads)
        events = [(batch.first + start + int(mine[at]), int(sites[at])) for at in again[: room + 1].tolist()]
        reads = [Read(event, site) for event, site in events if event > pair.first][:room]
        between.reads += reads
        return [read.event for read in reads]

    def _collect_after(self, batch: Batch, pair: Pair, between: Between) -> tuple[list[int], bool]:
        """Whether there is no more of it, too."""
        until = pair.last + 1 + MOST_FOLLOWING - batch.first
        start = max(pair.last + 1 - batch.first, 0)
        part = batch[start:until]
        mine = np.flatnonzero(part.thread == between.thread)
        released = np.flatnonzero(part.op[mine] == Op.RELEASE)
        is_over = bool(len(released)) or until <= len(batch)
        mine = mine[: released[0]] if len(released) else mine
        again = mine[(part.op[mine] == Op.READ) & (part.target[mine] == pair.location)]
        room = MOST_READS - len(between.reads_after)
        reads = [Read(batch.first + start + at, int(part.site[at])) for at in again[:room].tolist()]
        between.reads_after += reads
        return [read.event for read in reads], is_over

    def _note_accesses(self, batch: Batch) -> None:
        """Keep who writes to the locations of interest, and let some of their accesses be among the events."""
        if not self.writers:
            return
        found = np.flatnonzero((batch.op == Op.WRITE) | (batch.op == Op.READ))
        found = found[np.isin(batch.target[found], np.fromiter(self.writers, np.uint32, len(self.writers)))]
        rows = batch.target[found].astype(np.uint64) << np.uint64(32) | batch.site[found]
        for row in np.unique(rows[batch.op[found] == Op.WRITE]).tolist():
            self.writers[row >> 32].add(row & 0xFFFFFFFF)
        new = [batch.first + at for at in self._samples(batch, found, rows)]
        if new:
            self._events = sorted({*self._events, *new}, reverse=True)

    def _samples(self, batch: Batch, found: NDArray[Any], rows: NDArray[Any]) -> list[int]:
        """The places in the batch of the first and the last access of each location at each site.

        As long as there are threads that were started and not waited for: others are in nobody's way.
        """
        others = np.cumsum((batch.op == Op.FORK).astype(np.int64) - (batch.op == Op.JOIN))
        is_shared = self._started + others[found] > 0
        self._started += int(others[-1]) if len(others) else 0
        found, rows = found[is_shared], rows[is_shared]
        self._note_readers(batch, found)
        _, firsts = np.unique(rows, return_index=True)
        _, lasts = np.unique(rows[::-1], return_index=True)
        places: list[int] = []
        for number in dict.fromkeys((*firsts.tolist(), *(len(rows) - 1 - lasts).tolist())):
            row, at = int(rows[number]), int(found[number])
            if self._sampled[row] < MOST_SAMPLES:
                self._sampled[row] += 1
                self.accesses[row >> 32].append(Access(batch.first + at, row & 0xFFFFFFFF))
                places.append(at)
        return places

    def _note_readers(self, batch: Batch, found: NDArray[Any]) -> None:
        reads = found[batch.op[found] == Op.READ]
        columns = np.stack([batch.target[reads], batch.thread[reads], batch.site[reads]], axis=1)
        for location, thread, site in np.unique(columns, axis=0).tolist():
            self.readers.setdefault(location, set()).add((thread, site))

    def _note_primitives(self, batch: Batch, symbols: Symbols) -> None:
        found = np.flatnonzero(batch.op == Op.ACQUIRE)
        rows = batch.target[found].astype(np.uint64) << np.uint64(32) | batch.site[found]
        for row in np.unique(rows).tolist():
            self.acquired.setdefault(row >> 32, set()).add(row & 0xFFFFFFFF)
        takes = np.flatnonzero((batch.op == Op.TAKE) | (batch.op == Op.JOIN))
        columns = (batch.op[takes].tolist(), batch.target[takes].tolist(), batch.site[takes].tolist())
        self.waits.update(
            site
            for op, target, site in zip(*columns, strict=True)
            if site not in self.waits and symbols.is_wait(op, target)
        )

    def _advance(self, batch: Batch) -> None:
        self._locks.advance(batch)
        self._open.advance(batch)

    def _holds(self, thread: int, symbols: Symbols) -> tuple[Hold, ...]:
        """An asyncio loop is no lock to people: nobody can forget to take it."""
        locks = symbols.locks
        held = self._locks.held(thread)
        return tuple(Hold(locks[lock], since) for lock, since in held if locks.get(lock, "kind") != "loop")

    def own_events(
        self, pair: Pair, unit: Activation, graphs: FlowGraphs, *, is_innermost: bool = False
    ) -> list[OwnEvent] | None:
        """What the unit's own code did from the first access of a pair to the last. None: it is not known.

        `is_innermost`: what the function that the first access is in did, until it ended.
        """
        between = self.between.get(pair)
        if between is None or between.is_cut or self._finder is None:
            return None
        opened = [one for one in self.opened(pair.first) if self._finder.is_activation(one.region)]
        return _own_events(between, opened, unit, self._finder, graphs, is_innermost=is_innermost)

    def restarted(self, pair: Pair) -> frozenset[int]:
        """The functions that were started between two accesses; all around the first one, if it is not known."""
        between = self.between.get(pair)
        if between is None or between.is_cut or self._finder is None:
            return frozenset(one.function for one in self.activations(pair.first) if one.function is not None)
        begun = {target for op, target, _ in between.rows() if op == Op.BEGIN and self._finder.starts(target)}
        return frozenset(function for one in begun if (function := self._finder.function(one)) is not None)


def _own_events(
    between: Between,
    opened: list[OpenRegion],
    unit: Activation,
    finder: ActivationFinder,
    graphs: FlowGraphs,
    *,
    is_innermost: bool,
) -> list[OwnEvent]:
    """Follow calls and returns from the first access on; the unit's own code runs where it is the innermost.

    `is_innermost`: the first access is in its own code, and what comes after its end is not looked at.
    """
    from atomsan.findings.ties import OwnEvent

    found: list[OwnEvent] = []
    functions = [finder.function(one.region) for one in opened]
    depth = len(functions)
    # the first access may be in something that the unit called
    for outer, inner in zip(functions, opened[1:], strict=False):
        place = graphs.place(inner.site)
        if outer == unit.function and place is not None and place.function == unit.function:
            found = [OwnEvent(place.node, Op.BEGIN, inner.region)]
    for op, target, site in between.rows():
        if op == Op.END:
            if finder.is_activation(target) and functions:
                functions.pop()
            if is_innermost and len(functions) < depth:
                break
            continue
        is_call = op == Op.BEGIN and finder.is_activation(target)
        if is_call or op in (Op.READ, Op.WRITE):
            place = graphs.place(site)
            is_own = functions and functions[-1] == unit.function and place and place.function == unit.function
            if is_own and place and not (op == Op.READ and _is_end_of_loop(place, target, finder, graphs)):
                is_again = bool(found) and found[-1][:2] == (place.node, Op.READ) == (place.node, op)
                if not (is_again and finder.is_default(target, found[-1].target)):
                    found.append(OwnEvent(place.node, op, target))
        if is_call:
            functions.append(finder.function(target))
    return found


def _is_end_of_loop(place: Place, target: int, finder: ActivationFinder, graphs: FlowGraphs) -> bool:
    """Whether a loop over a container looks at its structure, beside the element that comes next."""
    graph = graphs.of(place.function)
    is_step = graph is not None and any(graph.is_step_of(place.node, loop) for loop in graph.nodes[place.node].loops)
    return is_step and finder.is_structure(target)


def has_locks(symbols: Symbols) -> bool:
    """Is there any lock to be held?"""
    return any(symbols.locks.get(lock, "kind") != "loop" for lock in range(len(symbols.locks)))


def with_locks(findings: Iterable[Finding], held: Mapping[int, tuple[Hold, ...]]) -> list[Finding]:
    """The findings with what is held at their steps, and with the hints that follow from it."""
    return [_with_locks(finding, held) for finding in findings]


def without_locks(findings: Iterable[Finding]) -> list[Finding]:
    """The findings of a trace in which there is no lock."""
    numbers = {step.number for finding in findings for step in finding.witness}
    return with_locks(findings, dict.fromkeys(numbers, ()))


def _with_locks(finding: Finding, held: Mapping[int, tuple[Hold, ...]]) -> Finding:
    steps = tuple(replace(step, holds=held.get(step.number)) for step in finding.witness)
    if not steps:
        return finding
    words = hint(advice_for(steps, finding.span)) if finding.span else hint_for_cycle(advice_for_cycle(steps))
    return replace(finding, witness=steps, hint=words)
