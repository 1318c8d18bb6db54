"""`auto`, what `atomsan check` runs if nobody says otherwise: AeroDrome for the trace, Davida for its transactions.

Both are fed in one pass. A trace may be non-serializable though no transaction violates: a cycle that does not follow
the order of events has nobody to blame (TRAPS 9). Then there is one thing to show, a cycle, and Velodrome has it. It
needs a pass of its own, which is made only then, and for Davida or RegionTrack alone too. A source that cannot be read
twice, such as standard input, has Velodrome run beside the two of `auto` from the start, at the price of its time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from atomsan.checkers.registry import CHECKERS

if TYPE_CHECKING:
    from atomsan.checkers.results import Result, Witness
    from atomsan.types import Checker

NAME = "auto"
MEMBERS = ("aerodrome", "davida")
SHOWS_CYCLES = "velodrome"

PROPERTY = "serializable, and every transaction atomic"
PROMISES = "aerodrome's verdict, davida's violations and witnesses, velodrome's cycle where no transaction is to blame"
COST = "the sum of the two; one more pass for a cycle"


def made(names: Sequence[str]) -> list[Checker]:
    """The checkers of these names. Where AeroDrome is one of them, Davida need not ask it a second time."""
    checkers: list[Checker] = []
    for name in names:
        if name == "davida" and "aerodrome" in names:
            from atomsan.checkers.davida import DavidaChecker

            checkers.append(DavidaChecker(serializability=False))
        else:
            checkers.append(CHECKERS[name].make())
    return checkers


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
