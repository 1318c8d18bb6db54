"""What is known of a trace as a whole, apart from its events."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class TraceMeta:
    """Where a trace comes from, and whether it is all there."""

    source: str
    format: str
    complete: bool = True
    recorded: bool = False
    """Whether AtomSan recorded it: then it has regions that nobody but AtomSan said are atomic."""
    program: str | None = None
    command_line: list[str] | None = None
    platform: str | None = None
    seconds: float | None = None
    """How long the recorded run took, where the trace knows it."""
    events: int | None = None
    """How many events there are, where that is known before reading them."""
    classes: dict[str, list[str]] = field(default_factory=dict)
    """Of a recorded program: the base classes of its classes, for those that have other bases than `object`."""
    sets: dict[str, list[str]] = field(default_factory=dict)
    """The atomic sets that the program itself declares: the fields of a class, or of one of its sets (`Class:name`)."""
    fields: dict[str, list[str]] = field(default_factory=dict)
    """Of a recorded program: the classes of the objects that a field of a class was seen to hold, itself or in a
    container: `Account.log` -> `Log`."""
    holders: dict[str, list[str]] = field(default_factory=dict)
    """The fields that an object was held by, for the fields that an atomic set goes through: `Log #1` ->
    `Account #1.log`."""
    followed: dict[str, list[str]] = field(default_factory=dict)
    """The fields, by class, of which it was recorded what they hold. Both are globs, as the atomic sets have them."""
    warnings: list[str] = field(default_factory=list)
    """What a reader had to say about the input and could live with."""
