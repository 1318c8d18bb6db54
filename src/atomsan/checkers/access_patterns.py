"""The table of the 14 problematic access patterns (atomic-sets-2008, figure 2).

`engines/_patterns.pyx` makes its automata of it. The words for people are in `findings/patterns.py`.
"""

from __future__ import annotations

from typing import NamedTuple


class PatternEvent(NamedTuple):
    """An access in a pattern."""

    op: int
    """0: read, 1: write."""
    unit: int
    """0: u, 1: u'."""
    location: int
    """0: l1, 1: l2."""


def _events(notation: str) -> tuple[PatternEvent, ...]:
    return tuple(PatternEvent("RW".index(word[0]), int(word[1]), int(word[2]) - 1) for word in notation.split())


# Each event: read or write, by u (0) or u' (1), at l1 (1) or l2 (2).
PATTERNS: dict[int, tuple[PatternEvent, ...]] = {
    1: _events("R01 W11 W01"),
    2: _events("R01 W11 R01"),
    3: _events("W01 R11 W01"),
    4: _events("W01 W11 R01"),
    5: _events("W01 W11 W01"),
    6: _events("W01 W11 W12 W02"),
    7: _events("W01 W12 W11 W02"),
    8: _events("W01 W12 W02 W11"),
    9: _events("W01 R11 R12 W02"),
    10: _events("W01 R12 R11 W02"),
    11: _events("R01 W11 W12 R02"),
    12: _events("R01 W12 W11 R02"),
    13: _events("R01 W12 R02 W11"),
    14: _events("W01 R12 W02 R11"),
}
