"""Events, the ten operations, and batches: consecutive events in columns, which is how every stage passes them on.

The columns of a batch are read-only numpy arrays of equal length; a `target` is an index into the symbol table of its
operation's kind, a `site` into the site table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.uint32]
    OpColumn = NDArray[np.uint8]

SymbolKind = Literal["threads", "locations", "locks", "functions", "regions", "handovers", "sites"]

# A table has at most 2**32 - 1 symbols, so the last value of a uint32 is free to mean "no site is known".
NO_SITE = 0xFFFFFFFF
MAX_SYMBOLS = 0xFFFFFFFF

BATCH_EVENTS = 1 << 20


class Op(IntEnum):
    """What a thread did. The numbers are stored in bundles: never renumber."""

    READ = 0
    WRITE = 1
    ACQUIRE = 2
    RELEASE = 3
    FORK = 4
    JOIN = 5
    BEGIN = 6
    END = 7
    POST = 8
    TAKE = 9

    @property
    def word(self) -> str:
        """The operation's full name, as the documentation and the JSON spell it."""
        return self.name.lower()

    @property
    def short(self) -> str:
        """The operation as STD and the one-line notation spell it."""
        return SHORT[self]

    @property
    def target_kind(self) -> SymbolKind:
        """The symbol table that the target indexes."""
        return TARGET_KIND[self]


SHORT: dict[Op, str] = {
    Op.READ: "r",
    Op.WRITE: "w",
    Op.ACQUIRE: "acq",
    Op.RELEASE: "rel",
    Op.FORK: "fork",
    Op.JOIN: "join",
    Op.BEGIN: "begin",
    Op.END: "end",
    Op.POST: "post",
    Op.TAKE: "take",
}

TARGET_KIND: dict[Op, SymbolKind] = {
    Op.READ: "locations",
    Op.WRITE: "locations",
    Op.ACQUIRE: "locks",
    Op.RELEASE: "locks",
    Op.FORK: "threads",
    Op.JOIN: "threads",
    Op.BEGIN: "regions",
    Op.END: "regions",
    Op.POST: "handovers",
    Op.TAKE: "handovers",
}

OP_FROM_WORD: dict[str, Op] = {spelling: op for op in Op for spelling in (op.word, op.short)}


class Event(NamedTuple):
    """One step of one thread, with names in place of numbers. `site` is None where none is known."""

    thread: str
    op: Op
    target: str
    site: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Events `first`, `first + 1`, ... of a trace, in columns.

    `dead` are locations that no event of a later batch accesses: their objects are gone. Each is told once. None: there
    are none, or it is not known.
    """

    first: int
    thread: Column
    op: OpColumn
    target: Column
    site: Column
    dead: Column | None = None

    @classmethod
    def frozen(
        cls, first: int, thread: Column, op: OpColumn, target: Column, site: Column, dead: Column | None = None
    ) -> Batch:
        """A batch of newly made columns, which become read-only."""
        for column in (thread, op, target, site):
            column.flags.writeable = False
        return cls(first, thread, op, target, site, dead)

    def __len__(self) -> int:
        return len(self.op)

    def __getitem__(self, part: slice) -> Batch:
        start, stop, step = part.indices(len(self))
        if step != 1:
            raise ValueError("a slice of a batch must have the step 1")
        dead = self.dead if stop >= len(self) else None
        return Batch(self.first + start, self.thread[part], self.op[part], self.target[part], self.site[part], dead)

    def rows(self) -> Iterator[tuple[int, int, int, int]]:
        """(thread, op, target, site) of each event, as plain integers."""
        return zip(self.thread.tolist(), self.op.tolist(), self.target.tolist(), self.site.tolist(), strict=True)
