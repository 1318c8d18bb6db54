"""Limits of a recording: the most events or bytes to record, and how long the program may run."""

from __future__ import annotations

from dataclasses import dataclass, field

# What one event takes in memory.
EVENT_BYTES = 13

# How long a program may take to end once it was told to.
GRACE = 5.0


@dataclass(frozen=True)
class Limits:
    """When to stop recording (events or bytes of each process), and when to end the program (seconds)."""

    events: int | None = None
    bytes: int | None = None
    seconds: float | None = None
    grace: float = field(default_factory=lambda: GRACE)
    """How long the program may take to end once it was told to."""

    @property
    def most_events(self) -> int | None:
        """How many events are wanted of each process; None: all."""
        wanted = [most for most in (self.events, self._events_of_bytes) if most is not None]
        return min(wanted, default=None)

    @property
    def full_message(self) -> str:
        """What is said of a recording that has `most_events`."""
        most = self._events_of_bytes
        if most is not None and most == self.most_events:
            return f"recording stopped after {most * EVENT_BYTES} bytes (--max-bytes)"
        return f"recording stopped after {self.events} events (--max-events)"

    @property
    def _events_of_bytes(self) -> int | None:
        return None if self.bytes is None else self.bytes // EVENT_BYTES
