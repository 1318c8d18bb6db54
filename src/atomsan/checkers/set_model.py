"""The model of atomic sets: which locations belong together, and which regions are units of work on them.

One model for everybody who asks about sets. A *layout* says it in names: `Objects` for a recorded program (the paper's
defaults: one set for each object), `Declared` for sets that somebody wrote down, `Prefixes` for plain traces.
`SetModel` turns that into the arrays that `engines/_units.pyx` works with, and grows with the symbols of the trace.

Sets are of kinds, and a region is a unit on all sets of a kind or on none. The sets of all objects of a class are of
one kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from atomsan.source.field_paths import ANY_DEPTH, check_sets, class_part, globs_pattern, parts_of
from atomsan.trace.regions import CALLBACK, WITHIN_FUNCTION
from atomsan.trace.symbols import class_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from atomsan.trace.symbols import Symbols, SymbolTable

    Matrix = npt.NDArray[np.uint8]

# Regions that somebody said are atomic: they are units on whatever they touch.
MARKED = frozenset({"annotated", "foreign"})

# The set of the locations of a plain trace whose names have no dot.
ALL = "*"


class Membership(NamedTuple):
    """A set, and the kind of sets that it is of."""

    set: str
    kind: str


class Layout(Protocol):
    """Which sets there are."""

    learns: bool
    """Whether a region is a unit on the sets that its own code touches, whatever `mark` says."""

    fixed: Sequence[Membership]
    """The sets that there are in any case."""

    def sets_of(self, locations: SymbolTable, location: int) -> Sequence[Membership]:
        """The sets that a location is in."""
        ...

    def mark(self, on: Matrix, regions: SymbolTable, kinds: Sequence[str]) -> None:
        """Set `on[region, kind]` to 1 where the region is a unit on sets of that kind, as far as names tell."""
        ...


class Prefixes:
    """For traces without structure: one set for each prefix before the last dot, and each region a unit on all."""

    learns = False
    fixed: Sequence[Membership] = ()

    def sets_of(self, locations: SymbolTable, location: int) -> Sequence[Membership]:
        return (Membership(locations[location].rpartition(".")[0] or ALL, ""),)

    def mark(self, on: Matrix, regions: SymbolTable, kinds: Sequence[str]) -> None:
        on[:] = 1


class Declared:
    """Sets of locations that are written down, by name or glob, and which regions are units on them.

    Without `declared` each region is a unit on each set; with it, a region that it does not name is on none.
    """

    learns = False

    def __init__(self, sets: Mapping[str, Iterable[str]], declared: Mapping[str, Iterable[str]] | None = None) -> None:
        self._sets = {name: NameGlobs(globs) for name, globs in sets.items()}
        self.fixed: Sequence[Membership] = [Membership(name, name) for name in self._sets]
        self._declared = (
            None if declared is None else [(NameGlobs([region]), set(on)) for region, on in declared.items()]
        )

    def sets_of(self, locations: SymbolTable, location: int) -> Sequence[Membership]:
        name = locations[location]
        return [Membership(set_name, set_name) for set_name, names in self._sets.items() if name in names]

    def mark(self, on: Matrix, regions: SymbolTable, kinds: Sequence[str]) -> None:
        if self._declared is None:
            on[:] = 1
            return
        places = {kind: place for place, kind in enumerate(kinds)}
        for region in range(len(on)):
            for names, sets in self._declared:
                if regions[region] in names:
                    on[region, [places[name] for name in sets if name in places]] = 1


class Everything:
    """All locations in one set, and each region a unit on it."""

    learns = False
    fixed: Sequence[Membership] = (Membership(ALL, ALL),)

    def sets_of(self, locations: SymbolTable, location: int) -> Sequence[Membership]:
        return self.fixed

    def mark(self, on: Matrix, regions: SymbolTable, kinds: Sequence[str]) -> None:
        on[:] = 1


class Objects:
    """For recorded programs: one set for each object, class, module and closure, with the containers that it holds.

    A region is a unit on the sets of a class if it is a method of it or of one of its bases, if its own code touches
    them (which is learned from the trace), or if what one method returns flows into a later call of another
    (docs/atomic-sets.md). `bases` are the names of the base classes of each class. `sets` divides the fields of classes
    differently: `{"Account": ["checking", "savings"], "Account:log": ["entries"]}`; of a class that it names, each
    field that it does not name is a set of its own.

    A set can span objects: `"log.entries"` is a field of what the field `log` holds, by `holders` (`Log #1` ->
    `Account #1.log`). What it takes is in it, and in the default set of its own object no more. The methods of the
    classes that it takes something of are units on it too.
    """

    learns = True
    fixed: Sequence[Membership] = ()

    def __init__(
        self,
        bases: Mapping[str, Sequence[str]] | None = None,
        sets: Mapping[str, Iterable[str]] | None = None,
        holders: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        check_sets(sets or {})
        self._bases = bases or {}
        self._divided = [_Rule(name, paths) for name, paths in (sets or {}).items()]
        self._holders = holders or {}
        self.spans = any(path.goes_on for rule in self._divided for path in rule.paths)
        """Whether there are sets that go through fields."""
        self._reached: dict[str, list[_Reached]] | None = None
        self._taken: dict[str, set[str]] = {}
        """By kind, the classes of objects that sets of this kind have taken something of."""

    def sets_of(self, locations: SymbolTable, location: int) -> Sequence[Membership]:
        of = locations.get(location, "owner") or locations.get(location, "object")
        if of is None:
            return (Membership(locations[location], ""),)
        kind = class_of(of)
        divided = [rule for rule in self._divided if kind in rule.classes]
        if not divided and not self.spans:
            return (Membership(of, kind),)
        field = self._field(locations, location, kind)
        found = [Membership(f"{of}{rule.suffix}", kind) for rule in divided if rule.takes(field)]
        if self.spans:
            found += self._spanning(of, kind, field)
        if found:
            return list(dict.fromkeys(found))
        return (Membership(f"{of}.{field}" if divided else of, kind),)

    def _spanning(self, of: str, kind: str, field: str) -> Iterable[Membership]:
        """The sets of other objects, and of this one, that a field of an object is reached by."""
        if self._reached is None:
            self._reached = _reached_from(self._divided, self._holders)
        for belongs, path, matched in self._reached.get(of, ()):
            if path.takes(matched, field):
                self._taken.setdefault(belongs.kind, set()).add(kind)
                yield belongs

    def spanned(self, locations: SymbolTable, location: int) -> dict[str, frozenset[str]]:
        """The sets that a location is in, each with the classes whose methods are units on it; none if no set spans."""
        if not self.spans:
            return {}
        return {name: frozenset(self._families(kind)) for name, kind in self.sets_of(locations, location)}

    def _field(self, locations: SymbolTable, location: int, kind: str) -> str:
        """The field of the object that a location is, or that the container is in: `items` of `Account.items[0]`."""
        if locations.get(location, "owner") is None:
            return locations.get(location, "field") or ""
        path = str(locations.get(location, "class") or "")
        return path.removeprefix(f"{kind}.").partition(".")[0].partition("[")[0]

    def mark(self, on: Matrix, regions: SymbolTable, kinds: Sequence[str]) -> None:
        families = [frozenset(self._families(kind)) for kind in kinds]
        methods: dict[str, set[str]] = {}
        for region in range(len(on)):
            of_class, _, method = regions[region].partition(":")[2].rpartition(".")
            methods.setdefault(of_class, set()).add(method)
            if regions.get(region, "origin") in MARKED:
                on[region] = 1
        known = [set[str]().union(*(methods.get(name, ()) for name in family)) for family in families]
        for region in range(len(on)):
            of_class = regions[region].partition(":")[2].rpartition(".")[0]
            flows = (regions.get(region, "flow") or "").splitlines()
            if of_class or flows:
                for kind, family in enumerate(families):
                    if of_class in family or any(_calls(line, known[kind]) for line in flows):
                        on[region, kind] = 1

    def _families(self, kind: str) -> set[str]:
        """The classes whose methods are units on sets of a kind."""
        return self._family(kind).union(*(self._family(taken) for taken in self._taken.get(kind, ())))

    def _family(self, kind: str) -> set[str]:
        """A class and its bases."""
        found = {kind}
        waiting = [kind]
        while waiting:
            new = [base for base in self._bases.get(waiting.pop(), ()) if base not in found]
            found.update(new)
            waiting += new
        return found


class Marking:
    """A layout, and regions that somebody said are atomic elsewhere: these too are units on whatever they touch."""

    def __init__(self, layout: Layout, is_marked: Callable[[str], bool]) -> None:
        self._layout = layout
        self._is_marked = is_marked
        self.learns = layout.learns
        self.fixed = layout.fixed
        self.sets_of = layout.sets_of

    def mark(self, on: Matrix, regions: SymbolTable, kinds: Sequence[str]) -> None:
        self._layout.mark(on, regions, kinds)
        for region in range(len(on)):
            if self._is_marked(regions[region]):
                on[region] = 1


class _Path:
    """Which fields a set takes, by the way to them. The fields on the way belong to it too."""

    def __init__(self, path: str) -> None:
        parts = parts_of(path)
        self._is_deep = parts[-1] == ANY_DEPTH
        self._parts = [NameGlobs([part]) for part in (parts[:-1] if self._is_deep else parts)]
        self.goes_on = self._is_deep or len(parts) > 1
        """Whether it goes through a field."""

    def takes(self, matched: int, field: str) -> bool:
        """Whether a field of an object belongs to the set, if so many parts of the path lead to the object."""
        return field in self._parts[matched] if matched < len(self._parts) else self._is_deep

    def after(self, matched: int, field: str) -> int | None:
        """How many parts of the path lead to what the field holds. None: it ends before that."""
        if not self.takes(matched, field):
            return None
        if matched + 1 < len(self._parts) or (self._is_deep and matched < len(self._parts)):
            return matched + 1
        return matched if self._is_deep else None


class _Rule:
    """One set of the objects of some classes."""

    def __init__(self, name: str, paths: Iterable[str]) -> None:
        self.classes = NameGlobs([class_part(name)])
        self.paths = [_Path(path) for path in paths]
        self.suffix = f" ({name.partition(':')[2] or 'set'})"
        """What stands behind the object in the name of the set."""

    def takes(self, field: str) -> bool:
        """Whether a field of the object itself belongs to the set."""
        return any(path.takes(0, field) for path in self.paths)


class _Reached(NamedTuple):
    """An object is reached from the one whose set this is, by so many parts of the path."""

    belongs: Membership
    path: _Path
    matched: int


def _reached_from(rules: Sequence[_Rule], holders: Mapping[str, Sequence[str]]) -> dict[str, list[_Reached]]:
    """How each object is reached by the paths of sets: along the fields that hold objects, from whoever has such a set.

    Each state (a path, and how much of it has led to an object) is met once, so that circles come to an end.
    """
    held: dict[str, list[tuple[str, str]]] = {}
    for of, fields in holders.items():
        for holder in fields:
            start, _, field = holder.rpartition(".")
            held.setdefault(start, []).append((field, of))
    reached: dict[str, dict[_Reached, None]] = {}
    for start in held:
        kind = class_of(start)
        for rule in rules:
            if kind in rule.classes:
                for path in rule.paths:
                    if path.goes_on:
                        _spread(start, Membership(f"{start}{rule.suffix}", kind), path, held, reached)
    return {of: list(ways) for of, ways in reached.items()}


def _spread(
    start: str,
    belongs: Membership,
    path: _Path,
    held: Mapping[str, Sequence[tuple[str, str]]],
    reached: dict[str, dict[_Reached, None]],
) -> None:
    """Follow one path from one object."""
    waiting = [(start, 0)]
    while waiting:
        of, matched = waiting.pop()
        for field, value in held.get(of, ()):
            after = path.after(matched, field)
            if after is None:
                continue
            way, ways = _Reached(belongs, path, after), reached.setdefault(value, {})
            if way not in ways:
                ways[way] = None
                waiting.append((value, after))


def _calls(line: str, methods: set[str]) -> bool:
    """Whether the methods that one function calls on one receiver are those of a class, so far as they were run.

    Where the user said that it is a unit on what the receiver is, and no method is called on it here, that can be
    anything.
    """
    receiver, *called = line.split()
    found = sum(name in methods for name in called)
    if receiver.startswith("!"):
        return found > 0 or not called
    return found > 0 and found >= min(2, len(called))


class NameGlobs:
    """NameGlobs and globs. A name that is written out is meant as it is, though it may look like a glob: `x[0]`."""

    def __init__(self, globs: Iterable[str]) -> None:
        self._literal = frozenset(globs)
        self._globs = globs_pattern(self._literal)

    def __contains__(self, name: str) -> bool:
        return name in self._literal or self._globs.fullmatch(name) is not None


class MeetingPoints(NamedTuple):
    """The locations that transactions of different threads meet at, and those that several threads use."""

    meeting: npt.NDArray[np.bool_]
    shared: npt.NDArray[np.bool_]


def _wanted(locations: SymbolTable, layout: Layout, only: MeetingPoints) -> list[int]:
    """The locations of the sets in which there is a meeting; those that one thread alone uses make no conflicts."""
    sets = {
        belongs.set
        for location in np.flatnonzero(only.meeting).tolist()
        for belongs in layout.sets_of(locations, location)
    }
    if not sets:
        return []
    shared = np.flatnonzero(only.shared).tolist()
    return [one for one in shared if any(belongs.set in sets for belongs in layout.sets_of(locations, one))]


class Limit(NamedTuple):
    """So many locations and regions are known for good, while others are being added in another thread."""

    locations: int
    regions: int


class SetModel:
    """The sets of a trace, as arrays, or `only` those where something can be wrong.

    `grow` it whenever the symbols may have grown.
    """

    def __init__(self, symbols: Symbols, layout: Layout, only: MeetingPoints | None = None) -> None:
        self.layout = layout
        self._wanted = None if only is None else _wanted(symbols.locations, layout, only)
        self.names: list[str] = []
        """Of the sets."""
        self.kind_names: list[str] = []
        self.offsets: npt.NDArray[np.uint32] = np.zeros(1, np.uint32)
        self.sets: npt.NDArray[np.uint32] = np.zeros(0, np.uint32)
        self.kinds: npt.NDArray[np.uint32] = np.zeros(0, np.uint32)
        self.on: npt.NDArray[np.uint8] = np.zeros((0, 0), np.uint8)
        self.parts: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        self.back: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        """Of a region: whether a library called it back."""
        self.same: npt.NDArray[np.uint32] = np.zeros(0, np.uint32)
        """Of a region: the first that differs from it in that alone. What is learned of one holds for the other."""
        self.limit: Limit | None = None
        """What `grow` takes in of the symbols; None: all."""
        self.is_one_set = isinstance(layout, Everything)
        """Whether all locations are in the same sets: those of the first."""
        self._known = 0
        """Locations that were taken in."""
        self._symbols = symbols
        self._numbers: dict[str, int] = {}
        self._kind_numbers: dict[str, int] = {}
        self.kinds = np.array([self._number(*belongs)[1] for belongs in layout.fixed], np.uint32)

    def grow(self) -> bool:
        """Take in what is new. True: there was something."""
        symbols = self._symbols
        locations, regions = self.limit or Limit(len(symbols.locations), len(symbols.regions))
        if locations == self._known and regions == len(self.parts):
            return False
        self._add_locations(locations)
        self._add_regions(regions)
        return True

    def _add_locations(self, count: int) -> None:
        if self.is_one_set:
            self.offsets, self.sets, self._known = np.array([0, 1], np.uint32), np.zeros(1, np.uint32), count
            return
        known, self._known = self._known, count
        counts = np.zeros(count - known, np.uint64)
        members: list[int] = []
        kinds: list[int] = []
        locations, sets_of = self._symbols.locations, self.layout.sets_of
        for location in range(known, count) if self._wanted is None else self._wanted:
            belongs = sets_of(locations, location)
            counts[location - known] = len(belongs)
            for name, kind in belongs:
                is_new = name not in self._numbers
                number, of_kind = self._number(name, kind)
                members.append(number)
                if is_new:
                    kinds.append(of_kind)
        ends = self.offsets[-1] + np.cumsum(counts).astype(np.uint32)
        self.offsets = np.concatenate([self.offsets, ends])
        self.sets = np.concatenate([self.sets, np.array(members, np.uint32)])
        self.kinds = np.concatenate([self.kinds, np.array(kinds, np.uint32)])

    def _number(self, name: str, kind: str) -> tuple[int, int]:
        """Of a set and of its kind."""
        for table, names, one in ((self._numbers, self.names, name), (self._kind_numbers, self.kind_names, kind)):
            if one not in table:
                table[one] = len(names)
                names.append(one)
        return self._numbers[name], self._kind_numbers[kind]

    def _add_regions(self, count: int) -> None:
        regions = self._symbols.regions
        on = np.zeros((count, len(self.kind_names)), np.uint8)
        # what was learned stays
        on[: self.on.shape[0], : self.on.shape[1]] = self.on
        self.layout.mark(on, regions, self.kind_names)
        self.on = on
        self.parts = np.fromiter((regions.get(n, "origin") in WITHIN_FUNCTION for n in range(count)), np.uint8, count)
        self.back = np.fromiter((regions.get(n, "entered") == CALLBACK for n in range(count)), np.uint8, count)
        known: dict[tuple[str, str], int] = {}
        called = ((regions[n], regions.get(n, "origin")) for n in range(count))
        self.same = np.fromiter((known.setdefault(one, n) for n, one in enumerate(called)), np.uint32, count)
