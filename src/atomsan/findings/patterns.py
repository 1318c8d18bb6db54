"""The table of violation patterns: lost update, stale read and so on, by the operations that interleave.

A pattern is a row; a new one is a new row. The first row that fits is taken, so special ones stand before general ones.
"""

from __future__ import annotations

from dataclasses import dataclass

ANY: frozenset[str] = frozenset()

READ, WRITE = frozenset({"read"}), frozenset({"write"})


@dataclass(frozen=True)
class Pattern:
    """`leaves` and `returns` are the operations of the blamed transaction that others come after, and before.

    `between` are those of the others that touch these two. An empty set stands for any operation. In `meaning`,
    `{other}` is the thread that does one of `between`; `{does}`, `{does_later}` and `{does_between}` are words for the
    three operations; in `meaning_of_more`, `{others}` are all of them in their order.
    """

    name: str
    leaves: frozenset[str]
    between: frozenset[str]
    returns: frozenset[str]
    same_location: bool
    meaning: str
    is_of_order: bool = False
    """Whether it is about the order of the cycle, and not about what happened in between."""
    meaning_of_more: str = ""
    """The same where several others are in between, one after the other, if that has to be said differently."""
    meaning_if_made: str = ""
    """The same where what is written is known to be made of what was read."""


PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "lost update",
        READ,
        WRITE,
        WRITE,
        True,
        "{thread} reads {location} and later {does_later} it, and {other} {does_between} it in between: what was read"
        " may no longer hold.",
        meaning_if_made="What {thread} writes to {location} rests on what it read before {other} wrote: that write is"
        " lost.",
    ),
    Pattern(
        "stale read",
        READ,
        WRITE,
        READ,
        True,
        "{thread} reads {location} twice and can see two different values: {other} writes in between.",
    ),
    Pattern(
        "dirty read",
        WRITE,
        READ,
        WRITE,
        True,
        "{other} reads a value of {location} that {thread} was not done with.",
    ),
    Pattern(
        "overwritten write",
        WRITE,
        WRITE,
        READ,
        True,
        "{thread} {does} {location} and later reads it, and {other} {does_between} it in between: it need not find what"
        " it left there.",
    ),
    Pattern(
        "overwritten write",
        WRITE,
        WRITE,
        WRITE,
        True,
        "{thread} {does} {location} and later {does_later} it, and {other} {does_between} it in between.",
    ),
    Pattern(
        "split critical section",
        frozenset({"release"}),
        ANY,
        ANY,
        False,
        "{thread} gives up {left} before it is done: what {other} does under it comes in between.",
    ),
    Pattern(
        "wait inside",
        ANY,
        ANY,
        frozenset({"join", "take"}),
        False,
        "{thread} waits for another thread inside a region that is meant to be atomic.",
        is_of_order=True,
    ),
    Pattern(
        "inconsistent view",
        ANY,
        ANY,
        ANY,
        False,
        "{other} comes after one part of what {thread} does and before another: no order of the two explains both.",
        is_of_order=True,
        meaning_of_more="{others} come after one part of what {thread} does, one after the other, and before another"
        " part of it: no order of the {count} explains that.",
    ),
)

# A cycle that no transaction alone is to blame for: it does not follow the order of events.
CYCLE = Pattern(
    "mutual order",
    ANY,
    ANY,
    ANY,
    False,
    "Each of these transactions comes before the next and the last before the first: no serial order explains that.",
)


def pattern_named(name: str) -> Pattern:
    return next((row for row in PATTERNS if row.name == name), CYCLE)


def pattern_of(leaves: str, between: frozenset[str], returns: str, *, same_location: bool) -> Pattern:
    """The first row that fits. `between` are the operations of others that touch the two local ones."""
    for row in PATTERNS:
        if (
            (not row.leaves or leaves in row.leaves)
            and (not row.returns or returns in row.returns)
            and (not row.between or row.between & between)
            and (same_location or not row.same_location)
        ):
            return row
    raise AssertionError("the last row fits everything")
