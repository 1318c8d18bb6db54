"""The checkers there are, each with what it promises. Registering one is one entry here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atomsan.types import Checker


@dataclass(frozen=True)
class Entry:
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
    )
}
