"""What a checker says of a trace: a verdict, facts and witnesses, all in numbers.

Nothing here knows names, files or people: findings are made from it, and reports from these.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, NamedTuple

Verdict = Literal["holds", "violated", "unknown"]


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
    """The outermost region of its transaction, or NO_REGION."""
    edge: Edge


NO_REGION = 0xFFFFFFFF


@dataclass
class Witness:
    """A cycle of transactions: the steps whose edges close it, and the transaction to blame for it, if one is."""

    steps: list[Step]
    blamed: Transaction | None
    count: int = 1
    """How many violations look the same: same region, same locations, same places."""


@dataclass
class Result:
    """One checker's answer. What it does not decide is None."""

    algorithm: str
    verdict: Verdict
    serializable: bool | None = None
    violations: int | None = None
    transactions: list[Transaction] = field(default_factory=list)
    witnesses: list[Witness] = field(default_factory=list)
    first_event: int | None = None
    counters: dict[str, int] = field(default_factory=dict)
    reason: str | None = None
    """Why the verdict is unknown."""
