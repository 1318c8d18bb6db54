"""The registry of checkers: what each promises and what it can do. Registering one is one entry here.

Whoever needs a checker asks for capabilities (`chosen`), never for a name: names are the users' words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from atomsan.checkers.results import Status
    from atomsan.types import Checker


class Capability(Enum):
    """What a checker can do, as far as somebody chooses by it."""

    SERIALIZABILITY = "decides whether the trace is serializable, in one pass and linear time"
    VIOLATIONS = "finds and counts every violation"
    WITNESSES = "shows the steps of what it finds"
    CYCLES = "shows a cycle that no transaction alone is to blame for, in one pass"
    TWO_PASSES = "may have to read the trace twice"
    LEAN = "can leave it to another checker of the same pass whether the trace is serializable"


class Entry(NamedTuple):
    """A row of `atomsan algorithms`. `home` is the checker's module and class, imported when one is made."""

    name: str
    property: str
    promises: str
    cost: str
    paper: str
    home: str
    capabilities: frozenset[Capability]
    status: Status = "observed"
    """Of the findings that are made of its answers."""

    def can(self, *capabilities: Capability) -> bool:
        return self.capabilities.issuperset(capabilities)

    def make(self, **options: Any) -> Checker:
        module, _, name = self.home.partition(":")
        made: Callable[..., Checker] = getattr(import_module(f"atomsan.checkers.{module}"), name)
        return made(**options)


def _can(*capabilities: Capability) -> frozenset[Capability]:
    return frozenset(capabilities)


CHECKERS: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            "empty",
            "none",
            "nothing: the cost of the loop itself, as a baseline",
            "linear",
            "",
            "empty:EmptyChecker",
            _can(),
        ),
        Entry(
            "aerodrome",
            "the trace is conflict-serializable",
            "exact; stops at the event that closes the first cycle, and says whose",
            "linear; memory follows variables and active transactions",
            "aerodrome-2020",
            "aerodrome:AeroDromeChecker",
            _can(Capability.SERIALIZABILITY),
        ),
        Entry(
            "velodrome",
            "the trace is conflict-serializable",
            "exact; stops at the first cycle, which it shows",
            "linear while transactions can be forgotten; a graph of those that cannot",
            "aerodrome-2020, davida-2022 (baseline)",
            "velodrome:VelodromeChecker",
            _can(Capability.WITNESSES, Capability.CYCLES),
        ),
        Entry(
            "doublechecker",
            "the trace is conflict-serializable",
            "exact after pass two; a cycle",
            "two passes over a stored trace; else as velodrome",
            "aerodrome-2020, davida-2022 (baseline)",
            "doublechecker:DoubleChecker",
            _can(Capability.WITNESSES, Capability.TWO_PASSES),
        ),
        Entry(
            "regiontrack",
            "every transaction is atomic",
            "every violating transaction, every violation counted; and whether the trace is serializable",
            "linear",
            "davida-2022",
            "regiontrack:RegionTrackChecker",
            _can(Capability.VIOLATIONS),
        ),
        Entry(
            "davida",
            "every transaction is atomic",
            "the same, each violation with a witness",
            "linear",
            "davida-2022",
            "davida:DavidaChecker",
            _can(Capability.VIOLATIONS, Capability.WITNESSES, Capability.LEAN),
        ),
    )
}


def chosen(*capabilities: Capability) -> Entry:
    """The first checker of the registry that can do all of this."""
    return next(entry for entry in CHECKERS.values() if entry.can(*capabilities))


def made(entries: Sequence[Entry]) -> list[Checker]:
    """These checkers, for one pass. Where one of them decides serializability, others can leave it to that one."""
    is_decided = any(entry.can(Capability.SERIALIZABILITY) for entry in entries)
    return [entry.make(**_leaner(entry, is_decided)) for entry in entries]


def _leaner(entry: Entry, is_decided: bool) -> dict[str, bool]:
    return {"serializability": False} if is_decided and entry.can(Capability.LEAN) else {}
