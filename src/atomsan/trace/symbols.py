"""Symbol tables: the names behind the numbers in a trace's columns, with what is known of each symbol.

A table always has names. Everything else (a location's class and field, a region's origin, ...) is in columns that
exist only once they are filled, so that a million locations of a text trace cost no more than their names.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from threading import RLock
from typing import Any, NamedTuple, Protocol

from atomsan.trace._names import NameTable
from atomsan.trace.events import MAX_SYMBOLS, TARGET_KIND, Event, Op, SymbolKind


class SymbolRows(Protocol):
    """Where the rows of a table are that have left memory."""

    def write(self, table: SymbolTable) -> None:
        """Take what is new in the table."""
        ...

    def value(self, number: int, field: str) -> Any:
        """A column of a row that was written: its `name`, or a field."""
        ...

    def values(self, numbers: Sequence[int], field: str) -> list[Any]:
        """The same of several rows, whose numbers ascend."""
        ...


# The fields of each kind of symbol, with their types. Bundles store these columns under these names.
# `ready`: of a take that did not need to wait, the number of the hand-over that was posted. `workers`: of a job that is
# given to a pool, how many threads that may have. `assignment`: where an
# augmented assignment reads and writes its target, the number of the region that the statement is. `apart`: 1 for a
# site in a statement of its own, never inside the right side of an assignment.
FIELDS: dict[SymbolKind, dict[str, type]] = {
    "threads": {},
    "locations": {"object": str, "class": str, "field": str, "owner": str},
    "locks": {"kind": str, "reentrant": int},
    "functions": {"summary": str},
    "regions": {"origin": str, "flow": str, "entered": str, "function": int},
    "handovers": {"ready": int, "workers": int},
    "sites": {
        "file": str,
        "line": int,
        "column": int,
        "function": str,
        "text": str,
        "operation": str,
        "owner": int,
        "node": int,
        "normal": str,
        "assignment": int,
        "apart": int,
    },
}

SYMBOL_KINDS: tuple[SymbolKind, ...] = tuple(FIELDS)

# So many rows are looked at together, where all are.
READ_AT_ONCE = 1 << 13

DEFAULTS: dict[tuple[SymbolKind, str], str] = {("locks", "kind"): "lock", ("regions", "origin"): "foreign"}

_LINE_COLUMN = re.compile(r"(?P<before>[\d:]*?):(?P<line>\d{1,9})(?::(?P<column>\d{1,9}))?", re.ASCII)


class Site(NamedTuple):
    """A place in the source. `name` is the trace's name for it; the other fields are None where unknown."""

    name: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    function: str | None = None
    text: str | None = None
    operation: str | None = None
    """The method or function with effects that is called there, such as `append`; `__setitem__` of `d[k] = v`."""
    owner: int | None = None
    """The number of the function in the table `functions`."""
    node: int | None = None
    """The node of the function's flow summary that stands for the site."""
    normal: str | None = None
    """The source of the statement, the same for every formatting."""


def class_of(name: str) -> str:
    """`Account` of `Account #2`, as the recorder names objects. A name without a number is the class itself."""
    before, sign, number = name.rpartition(" #")
    return before if sign and number.isdecimal() else name


class SymbolTable:
    """The symbols of one kind, numbered from 0 in the order in which the trace first names them."""

    def __init__(self, kind: SymbolKind, limit: int = MAX_SYMBOLS) -> None:
        self.kind: SymbolKind = kind
        self.names = NameTable(limit)
        # field -> values, of the rows that are in memory; it may be shorter than these: missing values are unknown
        self.columns: dict[str, list[Any]] = {}
        self._file: SymbolRows | None = None
        self._globals: set[str] = set()
        """Of the rows that have left memory."""
        self._lock = RLock()

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names) if self._file is None else (self[number] for number in range(len(self)))

    def __getitem__(self, number: int) -> str:
        if self._file is None:
            return self.names[number]
        with self._lock:
            return str(self._file.value(number, "name")) if 0 <= number < self.names.dropped else self.names[number]

    @property
    def leaves_memory(self) -> bool:
        """Whether there is a file for the rows that leave memory."""
        return self._file is not None

    def keep_in(self, file: SymbolRows) -> None:
        """From now on, rows may leave memory (`leave_memory`) and are read from this file."""
        self._file = file

    def leave_memory(self, latest: int) -> None:
        """Write what is new to the file, and let all but about so many rows, the latest, leave memory."""
        assert self._file is not None
        self._file.write(self)
        count = len(self) - self.names.dropped - latest
        if count < latest:
            return  # not yet: it takes a pass over those that stay
        with self._lock:
            dropped = self.names.dropped
            self.note_globals(self.columns.get("object", [])[:count], lambda row: self.names[dropped + row])
            self.names.drop(dropped + count)
            for column in self.columns.values():
                del column[:count]

    def find(self, name: str) -> int | None:
        """The number of the symbol of this name, or None: it is not there, or has left memory."""
        return self.names.find(name)

    def note_globals(self, objects: Sequence[str | None], name: Callable[[int], str]) -> None:
        """Of rows that leave memory, remember the names of fields of modules and classes, of which there are few."""
        few = {of for of in objects if of is not None and "#" not in of}
        rows = [row for row, of in enumerate(objects) if of in few] if few else []
        self._globals.update(shown for shown in map(name, rows) if not shown.endswith("]"))

    def has_global(self, name: str) -> bool:
        """Whether a field of a module or class has this name."""
        return name in self._globals or self.find(name) is not None

    def intern(self, name: str, **fields: Any) -> int:
        """The number of the symbol of this name; a new one is given `fields`."""
        found = self.names.find(name)
        if found is not None:
            return found
        number = self.names.add(name)
        for field, value in fields.items():
            self.set(number, field, value)
        return number

    def set(self, number: int, field: str, value: Any) -> None:
        """Set a field of a symbol."""
        if field not in FIELDS[self.kind]:
            raise KeyError(f"{self.kind} have no field {field!r}")
        column = self.columns.setdefault(field, [])
        place = number - self.names.dropped
        column.extend([None] * (place + 1 - len(column)))
        column[place] = value

    def get(self, number: int, field: str) -> Any:
        """A field of a symbol; its default, or None, if the trace does not have it."""
        if self._file is not None:
            value = next(iter(self.values(field, number, number + 1)), None)
        else:
            column = self.columns.get(field, ())
            value = column[number] if number < len(column) else None
        return DEFAULTS.get((self.kind, field)) if value is None else value

    def has(self, field: str) -> bool:
        """Whether the field was given to any symbol."""
        return field in self.columns

    def values(self, field: str, start: int, stop: int) -> list[Any]:
        """A field of consecutive symbols, None where it is not known; the last ones may be missing."""
        column = self.columns.get(field, [])
        if self._file is None:
            return column[start:stop]
        with self._lock:
            dropped = self.names.dropped
            if start >= dropped:
                return column[start - dropped : stop - dropped]
            older = self._file.values(range(start, min(stop, dropped)), field)
            return older + column[max(start - dropped, 0) : max(stop - dropped, 0)]

    def values_of(self, field: str, numbers: Sequence[int]) -> list[Any]:
        """A field of symbols whose numbers ascend, None where it is not known."""
        with self._lock:
            dropped, column = self.names.dropped, self.columns.get(field, [])
            first = bisect_left(numbers, dropped)
            older = self._file.values(numbers[:first], field) if self._file is not None else []
            places = (number - dropped for number in numbers[first:])
            return older + [column[place] if place < len(column) else None for place in places]

    def whole_column(self, field: str) -> Iterator[Any]:
        """A field of all symbols; of the last ones it may be missing."""
        for start in range(0, len(self), READ_AT_ONCE):
            yield from self.values(field, start, min(start + READ_AT_ONCE, len(self)))


class SymbolPart(SymbolTable):
    """Some of the symbols of a table, which are numbered anew. What is known of them stays there."""

    def __init__(self, table: SymbolTable, numbers: Sequence[int]) -> None:
        """The numbers ascend."""
        super().__init__(table.kind)
        self._table = table
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, number: int) -> str:
        return self._table[self._numbers[number]]

    def get(self, number: int, field: str) -> Any:
        return self._table.get(self._numbers[number], field)

    def has(self, field: str) -> bool:
        return self._table.has(field)

    def has_global(self, name: str) -> bool:
        return self._table.has_global(name)

    def values(self, field: str, start: int, stop: int) -> list[Any]:
        return self._table.values_of(field, self._numbers[start:stop])


class SiteTable(SymbolTable):
    """Sites. A name such as `app.py:12:8` without fields of its own is split into file, line and column on demand."""

    def __init__(self, limit: int = MAX_SYMBOLS) -> None:
        super().__init__("sites", limit)

    def site(self, number: int) -> Site:
        name = self.names[number]
        known = {field: self.get(number, field) for field in Site._fields[1:]}
        # from the end, and in two steps, because a name may be a million letters
        file = name.rstrip("0123456789:")
        match = _LINE_COLUMN.fullmatch(name, len(file))
        if known["file"] is None and file and match:
            column = match["column"]
            known |= {
                "file": file + match["before"],
                "line": int(match["line"]),
                "column": int(column) if column else None,
            }
        return Site(name, **known)


class Symbols:
    """The seven tables of a trace."""

    def __init__(self, limit: int = MAX_SYMBOLS) -> None:
        self.threads = SymbolTable("threads", limit)
        self.locations = SymbolTable("locations", limit)
        self.locks = SymbolTable("locks", limit)
        self.functions = SymbolTable("functions", limit)
        self.regions = SymbolTable("regions", limit)
        self.handovers = SymbolTable("handovers", limit)
        self.sites = SiteTable(limit)

    def table(self, kind: SymbolKind) -> SymbolTable:
        table: SymbolTable = getattr(self, kind)
        return table

    def tables(self) -> Iterator[SymbolTable]:
        return map(self.table, SYMBOL_KINDS)

    def targets(self, op: int) -> SymbolTable:
        """The table that the target of an operation indexes."""
        return self.table(TARGET_KIND[Op(op)])

    def posted(self, handover: int) -> int:
        """The hand-over that a take is of: another one if it needed nobody, because the item was there already."""
        ready = self.handovers.get(handover, "ready")
        return handover if ready is None else ready

    def is_wait(self, op: int, target: int) -> bool:
        """Whether an event is a wait for another thread: a join, or a take of what was not there already."""
        return op == Op.JOIN or (op == Op.TAKE and self.posted(target) == target)

    def event(self, thread: int, op: int, target: int, site: int) -> Event:
        """An event with names in place of numbers."""
        known = site < len(self.sites)
        return Event(self.threads[thread], Op(op), self.targets(op)[target], self.sites[site] if known else None)
