"""The checkers there are, each with what it promises. Registering one is one entry here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from atomsan.types import Checker


class Entry(NamedTuple):
    """A row of `atomsan algorithms`. `make` is called when the checker is needed, and imports it then."""

    name: str
    property: str
    promises: str
    cost: str
    paper: str
    make: Callable[[], Checker]


def _empty() -> Checker:
    from atomsan.checkers.empty import EmptyChecker

    return EmptyChecker()


def _aerodrome() -> Checker:
    from atomsan.checkers.aerodrome import AeroDromeChecker

    return AeroDromeChecker()


def _regiontrack() -> Checker:
    from atomsan.checkers.regiontrack import RegionTrackChecker

    return RegionTrackChecker()


def _davida() -> Checker:
    from atomsan.checkers.davida import DavidaChecker

    return DavidaChecker()


def _velodrome() -> Checker:
    from atomsan.checkers.velodrome import VelodromeChecker

    return VelodromeChecker()


def _doublechecker() -> Checker:
    from atomsan.checkers.doublechecker import DoubleChecker

    return DoubleChecker()


CHECKERS: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            "empty",
            "none",
            "nothing: the cost of the loop itself, as a baseline",
            "linear",
            "",
            _empty,
        ),
        Entry(
            "aerodrome",
            "the trace is conflict-serializable",
            "exact; stops at the event that closes the first cycle, and says whose",
            "linear; memory follows locations and active transactions",
            "aerodrome-2020",
            _aerodrome,
        ),
        Entry(
            "velodrome",
            "the trace is conflict-serializable",
            "exact; stops at the first cycle, which it shows",
            "linear while transactions can be forgotten; a graph of those that cannot",
            "aerodrome-2020, davida-2022 (baseline)",
            _velodrome,
        ),
        Entry(
            "doublechecker",
            "the trace is conflict-serializable",
            "exact after pass two; a cycle",
            "two passes over a stored trace; else as velodrome",
            "aerodrome-2020, davida-2022 (baseline)",
            _doublechecker,
        ),
        Entry(
            "regiontrack",
            "every transaction is atomic",
            "every violating transaction, every violation counted; and whether the trace is serializable",
            "linear",
            "davida-2022",
            _regiontrack,
        ),
        Entry(
            "davida",
            "every transaction is atomic",
            "the same, each violation with a witness",
            "linear",
            "davida-2022",
            _davida,
        ),
    )
}
