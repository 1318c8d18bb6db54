"""Resolves algorithm names to checkers; the name `auto` stands for two of them.

`auto` is what `atomsan check` runs if nobody says otherwise: one checker for the verdict on the trace (AeroDrome), one
for its transactions (Davida), fed in one pass. A trace may be non-serializable though no transaction violates: a cycle
that does not follow the order of events has nobody to blame (docs/papers.md). Then there is one thing to show, a cycle,
and a third checker has it (Velodrome). It needs a pass of its own, which is made only then, and for Davida or
RegionTrack alone too. Where the source cannot be read twice, such as standard input, it runs beside the two from the
start, at the price of its time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from atomsan.checkers.registry import CHECKERS, Capability, Entry, chosen
from atomsan.errors import InputError

if TYPE_CHECKING:
    from atomsan.checkers.results import Result, Witness

NAME = "auto"
PROPERTY = "serializable, and every transaction atomic"
PROMISES = "aerodrome's verdict, davida's violations and witnesses, velodrome's cycle where no transaction is to blame"
COST = "the sum of the two; one more pass for a cycle"


class Choice(NamedTuple):
    """What was asked for, and the checkers that it takes."""

    shown: str
    entries: list[Entry]
    with_auto: bool

    def can(self, *capabilities: Capability) -> bool:
        """Whether one of the checkers can do all of this."""
        return any(entry.can(*capabilities) for entry in self.entries)


def choice_of(names: str | Sequence[str]) -> Choice:
    """The checkers that these names stand for. An unknown name raises."""
    names = [names] if isinstance(names, str) else list(names)
    known = (NAME, *CHECKERS)
    for name in names:
        if name not in known:
            raise InputError(f"unknown algorithm {name!r}: it is one of {', '.join(known)}")
    entries = {entry.name: entry for entry in _expanded(names)}
    return Choice(", ".join(dict.fromkeys(names)), list(entries.values()), NAME in names)


def _expanded(names: Sequence[str]) -> Iterator[Entry]:
    for name in names:
        yield from members() if name == NAME else (CHECKERS[name],)


def members() -> tuple[Entry, Entry]:
    """The checker for the verdict on the trace, and the one for its transactions."""
    return chosen(Capability.SERIALIZABILITY), chosen(Capability.VIOLATIONS, Capability.WITNESSES)


def lacks_a_cycle(results: Sequence[Result]) -> bool:
    """Is the trace not serializable, no transaction to blame, and no cycle there to be shown?

    Whoever asks for AeroDrome alone wants its speed and the event that closes the first cycle, which it has.
    """
    return (
        any(result.serializable is False for result in results)
        and any(result.violations == 0 for result in results)
        and not any(result.witnesses for result in results)
    )


def as_cycle(witness: Witness) -> Witness:
    """A witness in which nobody is to blame."""
    return replace(witness, blamed=None, count=1)
