"""Symbol tables: the names behind the numbers in a trace's columns, with what is known of each symbol.

A table always has names. Everything else (a location's class and field, a region's origin, ...) is in columns that
exist only once they are filled, so that a million locations of a text trace cost no more than their names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from atomsan.trace._names import NameTable
from atomsan.trace.events import MAX_SYMBOLS, TARGET_KIND, Event, Op, SymbolKind

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
        # field -> values; a column may be shorter than the table: missing values are unknown
        self.columns: dict[str, list[Any]] = {}

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __getitem__(self, number: int) -> str:
        return self.names[number]

    def find(self, name: str) -> int | None:
        """The number of the symbol of this name, or None."""
        return self.names.find(name)

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
        column.extend([None] * (number + 1 - len(column)))
        column[number] = value

    def get(self, number: int, field: str) -> Any:
        """A field of a symbol; its default, or None, if the trace does not have it."""
        column = self.columns.get(field, ())
        value = column[number] if number < len(column) else None
        return DEFAULTS.get((self.kind, field)) if value is None else value


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
