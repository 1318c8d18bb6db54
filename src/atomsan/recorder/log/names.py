"""Fills the symbol tables of a trace with names for people: of threads, locks, hand-overs, regions and sites.

`_location_namer.pyx` names the locations.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from atomsan.recorder.log._location_namer import LocationNamer

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from atomsan.recorder.log.definitions import Definitions
    from atomsan.trace.symbols import Symbols, SymbolTable

# What stands behind the name of a condition, which is that of its lock, of what ran out, and of jobs of a pool.
NOTIFICATION, RAN_OUT, READY, START = " notification", " (ran out)", " (ready)", " start"

# What a hand-over is of, by its number in `resolver/symbols.pxi`: the kind of primitive that has such, where no
# definition says, and what stands behind its name.
_HANDS = (
    ("event", ""),
    ("future", START),
    ("queue", " item {}"),
    ("semaphore", " permit {}"),
    ("barrier", " phase {}"),
    ("lock", " hand-over {}"),
    ("queue", READY),
    *((kind, RAN_OUT) for kind in ("event", "future", "queue", "semaphore", "barrier", "thread")),
    ("queue", " room"),
)

# No location, no region.
NOWHERE = NO_REGION = 0xFFFFFFFF


class _Use(NamedTuple):
    """How a primitive was used first: a row of `_resolver.PRIMITIVE_ROW`."""

    address: int
    space: int
    """The namespace of the global that it is the value of, or 0; `name` is that of the global."""
    name: int
    location: int
    """What it was reached through."""
    site: int
    unused: int

    @property
    def place(self) -> tuple[int, int]:
        return (self.space, self.name) if self.space else (0, self.location)


class SymbolNames:
    """Names what the resolver numbered, in the symbol tables of a trace."""

    def __init__(self, symbols: Symbols, definitions: Definitions) -> None:
        self.symbols = symbols
        self._definitions = definitions
        self._namer = LocationNamer(definitions, symbols.locations)
        self._clues: NDArray[np.uint32] = np.empty(0, np.uint32)
        """Dead locations after which something can be named that is still to come."""
        self._uses: list[_Use] = []
        self._locks: dict[tuple[int, int], str] = {}
        """The labels of locks, by the locations that they were reached through."""
        self._labels: list[str | None] = []
        self._kinds: Counter[str] = Counter()
        self._taken: dict[str, Counter[str]] = {
            kind: Counter() for kind in ("threads", "locks", "functions", "sites", "labels")
        }
        self._functions: dict[int, int] = {}
        """The functions that were met: their symbols, by their numbers in the definitions."""
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
            if marks & 4:
                self.symbols.locks.set(lock, "reentrant", 1)
        for count, primitive, what in new["handovers"].tolist():
            kind, behind = _HANDS[what]
            if behind == READY:
                handovers = self.symbols.handovers
                handovers.set(handovers.names.add(handovers[count] + READY), "ready", count)
                continue
            label = self._label(primitive, kind)
            if behind == RAN_OUT:
                # of the condition itself: nobody notified it
                name = self._unique("labels", label.removesuffix(NOTIFICATION) + behind)
            else:
                name = label + behind.format(count)
            number = self.symbols.handovers.names.add(name)
            if behind == START and count:
                self.symbols.handovers.set(number, "workers", count)
        for number in new["regions"].tolist():
            self._add_region(number)
        for number, assignment in new["sites"].tolist():
            self._add_site(number, assignment)

    def forget(
        self,
        objects: NDArray[np.uint32],
        locations: NDArray[np.uint32],
        are_clues: Callable[[NDArray[np.uint32]], NDArray[np.bool_]],
    ) -> None:
        """These are dead. `are_clues` says after which locations something can be named that is still to come."""
        if not len(locations) and not len(objects):
            return
        new, old = locations[are_clues(locations)], are_clues(self._clues)
        self._namer.hold(new)
        self._namer.forget(objects, locations)
        self._namer.let_go(self._clues[~old])
        self._clues = np.sort(np.concatenate([self._clues[old], new]))

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

        By the location that it was reached through, or else by the site at which it was entered. At other sites one
        cannot tell: they may be about something else, which the thread came by before.
        """
        locations = self.symbols.locations
        if location < len(locations):
            name, of = locations[location], locations.get(location, "object")
            short = name.removesuffix(f" ({of})")
            return name if short in self._taken["labels"] else short
        site = self._definitions.sites.get(number)
        return "" if site is None else site.primitive

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
        if label.function is not None:
            regions.set(region, "function", self._function(label.function))

    def _add_site(self, number: int, assignment: int) -> None:
        site = self._definitions.sites.get(number)
        if site is None:
            self._add(self.symbols.sites, f"site {number}")
            return
        name = f"{site.file}:{site.line}:{site.column}"
        what = "call" if site.is_call else site.operation
        if what and name in self._taken["sites"]:
            name = f"{name} ({what})"
        symbol = self._add(self.symbols.sites, name)
        for field in ("file", "line", "column", "function", "text", "operation"):
            value = getattr(site, field)
            if isinstance(value, str):
                value = value.encode("utf-8", "backslashreplace").decode()
            if value is not None:
                self.symbols.sites.set(symbol, field, value)
        if site.owner is not None:
            self.symbols.sites.set(symbol, "owner", self._function(site.owner))
        if site.node is not None:
            self.symbols.sites.set(symbol, "node", site.node)
        normal = site.normal(site.line, site.column)
        if normal is not None:
            self.symbols.sites.set(symbol, "normal", normal.encode("utf-8", "backslashreplace").decode())
        if assignment != NO_REGION:
            self.symbols.sites.set(symbol, "assignment", assignment)
        if number in self._definitions.apart:
            self.symbols.sites.set(symbol, "apart", 1)

    def _function(self, number: int) -> int:
        """The symbol of a function, which is made when something of it is met."""
        symbol = self._functions.get(number)
        if symbol is None:
            function = self._definitions.functions[number]
            symbol = self._functions[number] = self._add(self.symbols.functions, function.name)
            if function.summary:
                self.symbols.functions.set(symbol, "summary", function.summary)
        return symbol
