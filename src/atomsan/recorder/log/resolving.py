"""From a raw log and its definitions to a trace: reads the ring, resolves the records, names what is new.

    recording = Recording()                      # or Recording(shared=False), to record this process
    recording.descriptors                        # what the program's process is given
    tape = Tape(recording.symbols, recording.meta)
    recording.output, recording.idle = tape.write, tape.flush_if_due
    while ...:
        recording.drain()                        # what was logged so far becomes a batch, and goes to `output`
    recording.finish()

The batches are well-formed whatever was logged, and hold numbers only: addresses go no further than this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from atomsan.errors import Place
from atomsan.recorder.log._naming import Namer
from atomsan.recorder.log._resolve import Resolver
from atomsan.recorder.log.definitions import DefinitionFile, DefinitionList, Definitions, Message
from atomsan.recorder.log.ring import RECORD_BYTES, RING_BYTES, RingReader, SharedLog, create_ring
from atomsan.trace.events import Batch
from atomsan.trace.meta import TraceMeta
from atomsan.trace.symbols import Symbols, SymbolTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# So many records are resolved at a time; then the program has their room again.
CHUNK_RECORDS = 1 << 16

# So many events are given at a time, if there are: they and what is made of them stay in the processor's cache, and an
# object that lives for a moment lives and dies in one batch of them.
GIVEN_EVENTS = 1 << 17

# What one event takes in memory.
EVENT_BYTES = 13

_FACTS = ("program", "command_line", "platform")

# What stands behind the name of a condition, which is that of its lock, and of what ran out.
NOTIFICATION, RAN_OUT = " notification", " (ran out)"

# What a hand-over is of (the numbers are those of _resolve.pyx): the kind of primitive that has such, where no
# definition says, and what stands behind its name.
_HANDS = (
    ("event", ""),
    ("future", " start"),
    ("queue", " item {}"),
    ("semaphore", " permit {}"),
    ("barrier", " phase {}"),
    ("lock", " hand-over {}"),
    *((kind, RAN_OUT) for kind in ("event", "future", "queue", "semaphore", "barrier", "thread")),
    ("queue", " room"),
)


# No location.
NOWHERE = 0xFFFFFFFF


class _Use(NamedTuple):
    """How a primitive was used first: a row of `_resolve.PRIMITIVE_ROW`."""

    address: int
    space: int
    """The namespace of the global that it is the value of, or 0; `name` is that of the global."""
    name: int
    location: int
    """What it was reached through."""
    site: int
    nothing: int

    @property
    def place(self) -> tuple[int, int]:
        return (self.space, self.name) if self.space else (0, self.location)


class SymbolNames:
    """Names what the resolver numbered, in the symbol tables of a trace."""

    def __init__(self, symbols: Symbols, definitions: Definitions) -> None:
        self.symbols = symbols
        self._definitions = definitions
        self._namer = Namer(definitions, symbols.locations)
        self._uses: list[_Use] = []
        self._locks: dict[tuple[int, int], str] = {}
        """The labels of locks, by the locations that they were reached through."""
        self._labels: list[str | None] = []
        self._kinds: Counter[str] = Counter()
        self._taken: dict[str, Counter[str]] = {kind: Counter() for kind in ("threads", "locks", "sites", "labels")}
        self.holders: dict[str, list[str]] = {}
        """The fields that objects are held by, as far as it was asked for."""
        self._held: set[tuple[int, int]] = set()
        """Objects and the locations that hold them, as they came so far."""
        self._unused: dict[int, list[int]] = {}
        """The locations that hold objects of which no field was used so far."""

    def add(self, new: dict[str, NDArray[Any]]) -> None:
        self._namer.add(new["objects"], new["locations"])
        self._add_holders(new["holds"], new["locations"])
        for use in new["primitives"].tolist():
            self._uses.append(_Use(*use))
            self._labels.append(None)
        for number in new["threads"].tolist():
            self._add(self.symbols.threads, self._definitions.threads.get(number) or f"T{number}")
        for primitive, marks in new["locks"].tolist():
            kind = "loop" if marks & 1 else "semaphore" if marks & 2 else "lock"
            lock = self._add(self.symbols.locks, self._label(primitive, kind))
            self.symbols.locks.set(lock, "kind", "loop" if marks & 1 else "lock")
        for count, primitive, what in new["handovers"].tolist():
            kind, behind = _HANDS[what]
            label = self._label(primitive, kind)
            if behind == RAN_OUT:
                # of the condition itself: nobody notified it
                name = self._unique("labels", label.removesuffix(NOTIFICATION) + behind)
            else:
                name = label + behind.format(count)
            self.symbols.handovers.names.add(name)
        for number in new["regions"].tolist():
            self._add_region(number)
        for number in new["sites"].tolist():
            self._add_site(number)

    def _add_holders(self, holds: NDArray[Any], locations: NDArray[Any]) -> None:
        """Take in which locations hold which objects. An object that nobody uses is of no interest to any set."""
        if self._unused and len(locations):
            for number in set(locations["object"].tolist()) & self._unused.keys():
                for location in self._unused.pop(number):
                    self._add_holder(number, location)
        for number, location in holds.tolist():
            if (number, location) in self._held:
                continue
            self._held.add((number, location))
            if self._namer.is_used(number):
                self._add_holder(number, location)
            else:
                self._unused.setdefault(number, []).append(location)

    def _add_holder(self, number: int, location: int) -> None:
        known = self.symbols.locations.get
        holder = f"{known(location, 'object')}.{known(location, 'field')}"
        self.holders.setdefault(self._namer.object_name(number), []).append(holder)

    def _add(self, table: SymbolTable, name: str) -> int:
        return table.names.add(self._unique(table.kind, name))

    def _unique(self, kind: str, name: str) -> str:
        """The name, or if it is taken the name with a number."""
        name = name.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00") or "?"
        taken = self._taken[kind]
        shown = name
        while shown in taken:
            taken[name] += 1
            shown = f"{name} #{taken[name]}"
        taken[shown] = 1
        return shown

    def _label(self, primitive: int, kind: str) -> str:
        """What a lock, queue, ... is called."""
        label = self._labels[primitive]
        if label is None:
            use = self._uses[primitive]
            waiting = self._definitions.primitives.get(use.address)
            name = self._definitions.global_name(use.space, use.name) or self._name_in_source(use.location, use.site)
            lock = self._locks.get(use.place)
            if kind == "event" and lock is not None:
                # the value of one location: who enters a condition has its lock
                kind, name = "condition", lock + NOTIFICATION
            if waiting:
                # the last one stays: primitives at one address may be defined less often than they are made
                kind, given = waiting.popleft() if len(waiting) > 1 else waiting[0]
                name = given or name
            self._kinds[kind] += not name
            label = self._labels[primitive] = self._unique("labels", name or f"{kind} #{self._kinds[kind]}")
            if kind == "lock" and use.place != (0, NOWHERE):
                self._locks[use.place] = label
        return label

    def _name_in_source(self, location: int, number: int) -> str:
        """What the source calls a primitive: `Account.lock`, as long as there is one of them.

        By the location that it was reached through, or else by the expression of a `with` statement. At other sites one
        cannot tell: they may be about something else, which the thread came by before.
        """
        locations = self.symbols.locations
        if location < len(locations):
            name, of = locations[location], locations.get(location, "object")
            short = name.removesuffix(f" ({of})")
            return name if short in self._taken["labels"] else short
        site = self._definitions.sites.get(number)
        if site is None or site.kind != "with":
            return ""
        head, _, rest = site.expression.partition(".")
        if not site.expression.replace(".", "").isidentifier():
            return ""
        owner = site.function.rpartition(".")[0]
        return f"{owner}.{rest}" if head in ("self", "cls") and rest and owner else site.expression

    def _add_region(self, number: int) -> None:
        label = self._definitions.labels[number]
        regions = self.symbols.regions
        # An entry function, and one that is called back, share their name with the function as others call it: a
        # specification names all of them.
        region = regions.names.add(label.name.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00"))
        regions.set(region, "origin", label.origin)
        if label.flow:
            regions.set(region, "flow", label.flow)
        if label.entered:
            regions.set(region, "entered", label.entered)

    def _add_site(self, number: int) -> None:
        site = self._definitions.sites.get(number)
        if site is None:
            self._add(self.symbols.sites, f"site {number}")
            return
        name = f"{site.file}:{site.line}:{site.column}"
        if site.operation and name in self._taken["sites"]:
            name = f"{name} ({site.operation})"
        symbol = self._add(self.symbols.sites, name)
        for field in ("file", "line", "column", "function", "text", "operation"):
            value = getattr(site, field)
            if isinstance(value, str):
                value = value.encode("utf-8", "backslashreplace").decode()
            if value is not None:
                self.symbols.sites.set(symbol, field, value)


class Recording:
    """One recording as its reader sees it."""

    def __init__(
        self,
        log: SharedLog | None = None,
        *,
        shared: bool = True,
        ring_bytes: int = RING_BYTES,
        source: str = "the recording",
        directory: str | None = None,
        keeps_unshared: bool = True,
    ) -> None:
        """`log` is what the program writes to, if it is there already: `shared`, with another process.

        `directory` is that of the program, to which files are shown relative; None: the current one. Without
        `keeps_unshared`, objects that die soon after they were made, and that one thread alone had used, are not in the
        trace: no other thread can come between accesses to them, and many programs do little else.
        """
        self._keeps_unshared = keeps_unshared
        self.symbols = Symbols()
        self.meta = TraceMeta(source, "recording", complete=False, recorded=True)
        self.output: Callable[[Batch], None] = lambda batch: None
        """Where batches go."""
        self.idle: Callable[[], None] = lambda: None
        """What is called when there was nothing to read."""
        self.events = 0
        self._limits: dict[int, str] = {}
        """How many events are wanted, and what is said of a recording that has so many."""
        self._log = log or (SharedLog.create(ring_bytes) if shared else None)
        self._incoming: DefinitionFile | DefinitionList
        if self._log is not None:
            self.memory = self._log.memory
            self._incoming = DefinitionFile(self._log.definition_file)
        else:
            # the ring, for a recorder in this process
            self.memory, _ = create_ring(ring_bytes, shared=False)
            self._incoming = DefinitionList()
        self._ring: RingReader | None = RingReader(self.memory)
        self._resolver = Resolver(sifts=not keeps_unshared)
        self.definitions = Definitions(self._resolver, directory)
        self._names = self._new_names()
        self._closed = False
        self._lost = 0

    def restart(self, source: str) -> None:
        """What comes from now on is another trace, of the same program. What was defined stays defined."""
        self.drain()
        self.symbols = Symbols()
        self.meta = TraceMeta(source, "recording", complete=False, recorded=True)
        self.events = 0
        self._resolver = Resolver(sifts=not self._keeps_unshared)
        self.definitions.go_on_with(self._resolver)
        self._names = self._new_names()

    def _new_names(self) -> SymbolNames:
        names = SymbolNames(self.symbols, self.definitions)
        self.meta.holders = names.holders
        return names

    def end(self) -> None:
        """The trace is all there: resolve what is left of it."""
        # Once takes all that was logged before. In the program's own process there is no end to it: what we free
        # ourselves while we read can be logged, too.
        self.drain()
        self._resolver.finish()
        self._give()
        self.meta.complete = True

    @property
    def descriptors(self) -> tuple[int, int]:
        """Those of the ring and of the file of definitions, for the program's process."""
        return (-1, -1) if self._log is None else self._log.descriptors

    def send(self, message: Message) -> None:
        """Take a definition from a recorder in this process."""
        assert isinstance(self._incoming, DefinitionList)
        self._incoming.send(message)

    def limit(self, events: int | None, size: int | None) -> None:
        """Take in so many events, or what takes so many bytes in memory, and no more."""
        if events is not None:
            self._limits[events] = f"recording stopped after {events} events (--max-events)"
        if size is not None:
            most = size // EVENT_BYTES
            self._limits[most] = f"recording stopped after {most * EVENT_BYTES} bytes (--max-bytes)"

    @property
    def is_full(self) -> bool:
        """Whether there are as many events as are wanted."""
        return bool(self._limits) and self.events >= min(self._limits)

    @property
    def closed(self) -> bool:
        """Whether the program ended its recording in good order."""
        return self._closed if self._ring is None else self._ring.closed

    def stop(self) -> None:
        """Let the program log nothing more."""
        if self._ring is not None:
            self._ring.stop()

    def drain(self) -> bool:
        """Resolve what was logged so far. False: nothing was."""
        ring = self._ring
        if ring is None:
            return False
        count = ring.available()
        # after the look at the log: whatever it uses is defined by now
        self._define()
        for piece in ring.pieces(count):
            for start in range(0, len(piece), CHUNK_RECORDS * RECORD_BYTES):
                chunk = piece[start : start + CHUNK_RECORDS * RECORD_BYTES]
                self._resolver.feed(chunk)
                ring.advance(len(chunk) // RECORD_BYTES)
                if self._resolver.waiting_events >= GIVEN_EVENTS:
                    self._give()
        if self._keeps_unshared or count == 0:
            self._give()
        if count == 0:
            self.idle()
        return count > 0

    def feed(self, records: NDArray[np.uint8]) -> None:
        """Resolve records that came by another way than the ring."""
        self._define()
        self._resolver.feed(records)
        self._give()

    def finish(self, *, complete: bool = True) -> None:
        """The program has ended, or nothing more is wanted of it: resolve what is left, and give the memory back."""
        if self._ring is None:
            return
        self.end()
        self.meta.complete = complete and not self.is_full
        self._closed, self._lost = self._ring.closed, self._ring.lost
        self._ring = None
        if self._log is not None:
            self._log.close()
        with suppress(BufferError):  # a recorder in this process may hold on to it
            self.memory.close()

    @property
    def warnings(self) -> list[str]:
        """What a user should know about the recording."""
        lost = self._lost if self._ring is None else self._ring.lost
        damaged = self._incoming.damaged + self.definitions.wrong
        found = [f"{file} was not recorded: {why}" for file, why in self.definitions.failures.items()]
        if self.is_full:
            found.append(self._limits[min(self._limits)])
        if lost:
            found.append(f"{lost} records were lost")
        if damaged:
            found.append(f"{damaged} definitions could not be read")
        return found

    @property
    def counters(self) -> dict[str, int]:
        """How many records there were, and how many of them made no event for a reason that is worth a look."""
        resolver = self._resolver
        return {
            "records": resolver.records,
            "of ended threads": resolver.late,
            "strange": resolver.strange,
            "unmatched": resolver.unmatched,
        }

    def place(self, event: int) -> Place:
        return Place(self.meta.source, None, event)

    def _define(self) -> None:
        messages = self._incoming.read()
        for message in messages:
            self.definitions.add(message)
        self.meta.classes, self.meta.sets = self.definitions.bases, self.definitions.sets
        self.meta.fields, self.meta.followed = self.definitions.fields, self.definitions.followed
        if messages and self.definitions.facts:
            for fact in _FACTS:
                setattr(self.meta, fact, self.definitions.facts.get(fact, getattr(self.meta, fact)))

    def _give(self) -> None:
        if not self._resolver.waiting_events and not self._resolver.waiting_holds:
            return
        if not self._keeps_unshared:
            self._resolver.sift()
        columns = self._resolver.take()
        self._names.add(self._resolver.take_symbols())
        if not len(columns[0]):
            return
        batch = Batch(self.events, *columns)
        if self._limits:
            batch = batch[: min(self._limits) - self.events]
        self.events += len(batch)
        if self.is_full:
            self.stop()
        if len(batch):
            self.output(batch)
