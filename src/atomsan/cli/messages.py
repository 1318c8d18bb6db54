"""Messages on standard error: errors, warnings, and what was written."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from atomsan.errors import printable
from atomsan.reports.numerals import counted

if TYPE_CHECKING:
    from atomsan.trace.validation import ValidatedSource


def say(text: str) -> None:
    """One line on standard error."""
    if sys.stderr is not None:
        with suppress(OSError):  # standard error is closed; there is still the exit code
            print(printable(f"atomsan: {text}"), file=sys.stderr, flush=True)


def show(text: str) -> None:
    """A text on standard error, where standard output belongs to the program."""
    if sys.stderr is not None:  # print(file=None) would go to standard output
        print(text, end="", file=sys.stderr, flush=True)


def shown_warnings(warnings: Sequence[str], cut: str | None, *, quiet: bool) -> Sequence[str]:
    """The warnings to show. That events are missing, and why (`cut`), is said in any case: it changes every answer."""
    if not quiet:
        return warnings
    return [] if cut is None else [cut]


def warn(source: ValidatedSource, *, repairs: bool = True, quiet: bool = False) -> None:
    """Warn of the non-fatal problems of a trace, and of the repairs made to it."""
    warnings = [*source.meta.warnings, *(source.repairs.lines() if repairs else ())]
    for text in shown_warnings(warnings, source.meta.missing, quiet=quiet):
        say(f"warning: {source.meta.source}: {text}")


def warn_of_format(target: str, format: str, cut: str | None) -> None:
    """Warn of a trace with events missing (`cut`) in a format that cannot say so: who reads it takes it for whole."""
    from atomsan.trace.formats import FORMATS

    if cut is not None and not FORMATS[format].says_if_cut:
        name = "standard output" if target == "-" else target
        say(f"warning: {name}: events are missing ({cut}), but {format} cannot say so: a check of it will not know")


def say_written(target: str, events: int) -> None:
    """Tell what was written, and how much of it."""
    if target == "-":
        say(f"wrote {counted(events, 'event')}")
    else:
        say(f"wrote {target}: {counted(events, 'event')}, {counted(_size(target), 'byte')}")


def _size(path: str) -> int:
    if not os.path.isdir(path):
        return os.path.getsize(path)
    return sum(entry.stat().st_size for entry in os.scandir(path))
