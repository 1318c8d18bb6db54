"""The errors AtomSan raises on purpose. Each message is one line: what is wrong, and where."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """A point in an input: a line (from 1) where it has lines, an event (from 0) where it has not."""

    source: str | None = None
    line: int | None = None
    event: int | None = None

    def __str__(self) -> str:
        if self.line is not None:
            return f"{self.source}:{self.line}" if self.source else f"line {self.line}"
        if self.event is not None:
            return f"{self.source}: event {self.event}" if self.source else f"event {self.event}"
        return self.source or ""


class AtomSanError(Exception):
    """The base of every error AtomSan raises on purpose."""


class InputError(AtomSanError):
    """A trace, a file or an option that cannot be used: `message` says what is wrong, `place` where."""

    def __init__(
        self,
        message: str,
        *,
        source: str | None = None,
        line: int | None = None,
        event: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.place = Place(source, line, event)

    @property
    def line(self) -> int | None:
        return self.place.line

    @property
    def event(self) -> int | None:
        return self.place.event

    def set_source(self, source: str) -> None:
        """Add the name of the input that the error was found in."""
        self.place = self.place._replace(source=source)

    def __str__(self) -> str:
        place = str(self.place)
        return f"{place}: {self.message}" if place else self.message


class OutputError(AtomSanError):
    """A result that could not be written: the disk is full, the path exists, permission is missing."""


class MemoryLimitError(KeyboardInterrupt):
    """The process takes nearly as much memory as it may: an interrupt, after which what was found is reported."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"out of memory: more than the {limit:,} bytes that it may take (--max-memory)")


def check_positive(name: str, value: float | None) -> None:
    """Refuse a limit of nothing. None is no limit."""
    if value is not None and not value > 0:  # refuses nan as well
        raise InputError(f"{name} must be more than 0")


def shown(text: bytes, most: int = 60) -> str:
    """A piece of the input for a message: shortened to `most` bytes and made printable."""
    cut = text if len(text) <= most else text[:most] + b"..."
    return printable(cut.decode(errors="backslashreplace"))


def printable(text: str) -> str:
    """The text with newlines and control characters escaped: names in a trace can hold anything."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
