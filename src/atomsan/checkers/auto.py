"""`auto`, what `atomsan check` runs if nobody says otherwise: AeroDrome for the trace, Davida for its transactions.

Both are fed in one pass. A trace may be non-serializable though no transaction violates: a cycle that does not follow
the order of events has nobody to blame (TRAPS 9). Then there is one thing to show, a cycle, and Velodrome has it. It
needs a pass of its own, which is made only then. A source that cannot be read twice, such as standard input, has
Velodrome run beside the other two from the start, at the price of its time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


def lacks_a_cycle(results: Iterable[Result]) -> bool:
    """Is the trace not serializable, and no transaction to blame?"""
    by_name = {result.algorithm: result for result in results}
    serializability, violations = (by_name.get(name) for name in MEMBERS)
    return (
        serializability is not None
        and serializability.serializable is False
        and violations is not None
        and violations.violations == 0
    )


def as_cycle(witness: Witness) -> Witness:
    """A witness in which nobody is to blame."""
    return replace(witness, blamed=None, count=1)
