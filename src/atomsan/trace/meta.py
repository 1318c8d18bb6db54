"""Metadata of a trace: where it comes from, whether it is complete, and facts about the recorded program."""

from __future__ import annotations

from dataclasses import dataclass, field

# Said of a recording that has no other reason why it is not complete: the recorder was killed, say.
CUT_SHORT = "the recording was cut short"

# Of one that goes on, when it is asked what happened so far.
NOT_OVER = "the recording is not over"


@dataclass
class TraceMeta:
    """The metadata of one trace; a field is None or empty where the trace does not have it."""

    source: str
    format: str
    complete: bool = True
    cut: str | None = None
    """Why events of the run are missing, if `complete` is false and that is known. Stored with the trace."""
    recorded: bool = False
    """Whether AtomSan recorded it: then it has regions that nobody but AtomSan said are atomic."""
    program: str | None = None
    command_line: list[str] | None = None
    platform: str | None = None
    seconds: float | None = None
    """How long the recorded run took."""
    events: int | None = None
    """The number of events, if known before reading them."""
    classes: dict[str, list[str]] = field(default_factory=dict)
    """Base classes of the recorded program's classes, for those that have other bases than `object`."""
    sets: dict[str, list[str]] = field(default_factory=dict)
    """The atomic sets that the program itself declares: by class, or by class and set (`Class:name`), their fields."""
    fields: dict[str, list[str]] = field(default_factory=dict)
    """By field of a class, the classes of the objects that it was seen to hold, itself or in a container:
    `Account.log` -> `Log`."""
    holders: dict[str, list[str]] = field(default_factory=dict)
    """By object, the fields that held it, for the fields that an atomic set goes through: `Log #1` ->
    `Account #1.log`."""
    followed: dict[str, list[str]] = field(default_factory=dict)
    """By class, the fields whose held objects were recorded. Both are globs, as in the atomic sets."""
    gaps: list[str] = field(default_factory=list)
    """What the recorder left out, because a limit was reached. They are among the `warnings`, and stored with the
    trace."""
    unfollowed: list[str] = field(default_factory=list)
    """Whose tasks or threads ran and look like one thread in the trace, a sentence each: what is not violated is not
    known to hold. They are among the `warnings`, and stored with the trace."""
    is_empty_explained: bool = False
    """Whether the recorder has warned that nothing was watched: it knows best what it would have watched."""
    warnings: list[str] = field(default_factory=list)
    """Non-fatal problems found while recording or reading."""

    @property
    def missing(self) -> str | None:
        """Why the trace has not all events of the run; None: it has. Final when the last batch has come."""
        return None if self.complete else self.cut or CUT_SHORT
