"""A repair as data: the lock to hold, over which whole statements of which functions, and what to mind about it.

`repairing` derives it from the surroundings of a violation, `wording` puts it into a sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class Section(NamedTuple):
    """Whole statements of one function, by their lines, that the lock must be held over."""

    file: str
    function: str
    first: int
    last: int
    lock: str | None
    """The lock as this function can spell it: `self.lock`. None: not known."""
    is_async: bool = False
    """Whether `async with` is possible there."""

    @property
    def lines(self) -> str:
        return f"line {self.first}" if self.first == self.last else f"lines {self.first} to {self.last}"


class NewLock(NamedTuple):
    """A lock to be made, since there is none that fits."""

    made: str
    """`threading.Lock()`."""
    name: str
    """As it is assigned: `self._lock`, or `_lock` in the module."""
    method: str | None
    """The `__init__` that makes it. None: the module does, before its functions."""


@dataclass(frozen=True, kw_only=True)
class Repair:
    """What makes a unit one step."""

    lock: str
    """The name of the lock for people."""
    new: NewLock | None = None
    unit: Section | None = None
    """The statements of the unit. None: the lock is held over them already."""
    others: tuple[Section, ...] = ()
    """What else uses the data without the lock."""
    blocks: tuple[int, ...] = ()
    """The lines in the unit's statements with blocks of the very lock, which become parts of the new one."""
    acquires: tuple[int, ...] = ()
    """The lines in the unit's statements that take the very lock in other ways than by a block of it."""
    let_go: str | None = None
    """Where the lock is let go, to be taken again: inside a block of it, or by statements of its own."""
    dropped: tuple[int, ...] = ()
    """The lines of the unit that do that, and take it again. None if functions do that it calls."""
    reentered: tuple[str, ...] = ()
    """The functions called in these statements that take the lock themselves, if a thread cannot take it twice."""
    has_two_objects: bool = False
    """Whether the data is of two objects, each with a lock of its own."""
    shared: str | None = None
    """The location that several objects use, each under a lock of its own."""
    is_task: bool = False
    """Whether asyncio tasks interleave, and not threads."""
    waits: str | None = None
    """Where the unit waits for another thread between its accesses: no lock makes that one step."""
    waits_held: str | None = None
    """Where the statements wait for another thread with the lock held."""
    calls: tuple[str, ...] = ()
    """What else runs under the lock then: `load() at line 12`."""
    yields: tuple[int, ...] = ()
    """The lines in which a generator gives a value: its caller goes on with the lock held."""
    order: str | None = None
    """A lock that is taken inside the statements, and around this one elsewhere: it must come first."""
    idiom: str | None = None
    """One operation that does the same without a lock."""
    is_partial: bool = False
    """Whether only the latest events were looked at for what else uses the data."""

    @property
    def sections(self) -> tuple[Section, ...]:
        return (self.unit, *self.others) if self.unit else self.others

    @property
    def is_mechanical(self) -> bool:
        """Whether the words can be followed without thinking: hold this lock over these lines."""
        return (
            bool(self.dropped if self.let_go else self.sections)
            and not self.is_partial
            and self.waits is None
            and self.waits_held is None
            and self.shared is None
            and self.order is None
            and not self.acquires
            and not self.has_two_objects
            and not (self.is_task and self.reentered)
            and all(section.lock is not None for section in self.sections)
            and all(section.is_async for section in self.sections if self.is_task)
            and (self.new is None or len({section.file for section in self.sections}) == 1)
        )

    def to_dict(self) -> dict[str, Any]:
        """For tools that follow it."""
        return {
            "function": self.unit.function if self.unit else None,
            "lock": self.lock,
            "new": self.new._asdict() if self.new else None,
            "sections": [section._asdict() for section in self.sections],
            "blocks": list(self.blocks),
            "dropped": list(self.dropped),
            "reentrant": bool(self.reentered),
            "mechanical": self.is_mechanical,
        }
