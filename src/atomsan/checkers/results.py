"""A checker's answer: verdict, counts and witnesses, all in numbers.

Nothing here knows names, files or people: findings are made from it, and reports from these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, NamedTuple, overload

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Verdict = Literal["holds", "violated", "unknown"]

Status = Literal["predicted", "observed", "confirmed"]
"""How sure a finding is. Whoever finds it says so: a checker looks at what happened, and observes."""


class Edge(StrEnum):
    """Why one step of a witness comes before the next."""

    WRITE_READ = "write-read"
    READ_WRITE = "read-write"
    WRITE_WRITE = "write-write"
    LOCK = "lock"
    FORK = "fork"
    JOIN = "join"
    HAND_OVER = "hand-over"
    PROGRAM_ORDER = "program-order"


class Transaction(NamedTuple):
    """A regular transaction: a thread, and its number in the thread, from 1."""

    thread: int
    number: int


class TransactionList(Sequence[Transaction]):
    """Transactions in an array of (thread, number): a trace can have ten million."""

    def __init__(self, rows: npt.NDArray[np.uint32]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Transaction: ...
    @overload
    def __getitem__(self, index: slice) -> TransactionList: ...
    def __getitem__(self, index: int | slice) -> Transaction | TransactionList:
        if isinstance(index, slice):
            return TransactionList(self.rows[index])
        thread, number = self.rows[index].tolist()
        return Transaction(thread, number)

    def __iter__(self) -> Iterator[Transaction]:
        for start in range(0, len(self), 4096):
            yield from map(Transaction._make, self.rows[start : start + 4096].tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"TransactionList({len(self)} transactions)"


class Step(NamedTuple):
    """One event of a witness. `edge` says why it comes before the next step; the last one's leads to the first."""

    event: int
    thread: int
    op: int
    target: int
    site: int
    transaction: int
    """The number of its transaction, or 0 for a unary one."""
    region: int
    """The outermost region of its transaction, or NO_REGION. Of a unit of work: its region."""
    edge: Edge
    unit: int | None = None
    """The unit of work that it is in, where these make the cycle: a transaction can have several."""
    position: int | None = None
    """Its place in a predicted interleaving, in which events have another order."""


NO_REGION = 0xFFFFFFFF


class Closing(NamedTuple):
    """The event that closes the first cycle.

    Its transaction is `thread`:`number`. The event comes after one of the transaction `other` (number 0: outside
    regions) because of `edge`, and `other` comes after `thread`:`number`, directly or through more transactions.
    """

    event: int
    thread: int
    op: int
    target: int
    site: int
    number: int
    region: int
    edge: Edge
    other: Transaction


@dataclass
class Witness:
    """A cycle of transactions: the steps whose edges close it, and the transaction to blame for it, if one is."""

    steps: list[Step]
    blamed: Transaction | None
    count: int = 1
    """How many violations look the same: same region, same locations, same places."""
    found_by: tuple[str, ...] = ()
    """Which methods found it, where a checker has several."""
    unit: int | None = None
    """In a cycle of units of work: that to blame, which is in the transaction `blamed`."""


@dataclass
class Result:
    """One checker's answer. What it does not decide is None."""

    algorithm: str
    verdict: Verdict
    serializable: bool | None = None
    violations: int | None = None
    transactions: Sequence[Transaction] = field(default_factory=list)
    witnesses: list[Witness] = field(default_factory=list)
    first_event: int | None = None
    """The first event after which the trace is not serializable."""
    closing: Closing | None = None
    """What closes the first cycle, from a checker that keeps no witness."""
    counters: dict[str, int] = field(default_factory=dict)
    reason: str | None = None
    """Why the verdict is unknown."""
