"""The exit codes, and which one an error leads to."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from enum import IntEnum

from atomsan.cli.messages import say
from atomsan.errors import AtomSanError

# What is said if memory or threads are short: by the loader of libraries, by the system, by Arrow, by Python.
_SHORTAGES = (
    "failed to map segment",
    "annot allocate memory",
    "Failed to launch worker thread",
    "can't start new thread",
)


class Exit(IntEnum):
    FINE = 0
    FINDINGS = 1
    BAD = 2
    """Bad usage, bad input, or an output that cannot be written."""
    INTERRUPTED = 3
    """By Ctrl-C, by the end of the time or at the limit of memory."""
    BUG = 70
    """A bug in AtomSan: EX_SOFTWARE of sysexits.h."""
    PIPE = 141
    """The reader of standard output has gone, as in `| head`: what shells give for a program killed by SIGPIPE."""


def guarded(work: Callable[[], int], *, on_shortage: Callable[[], object] = lambda: None) -> int:
    """Run some work. An error becomes an exit code and one line on standard error, without a traceback.

    `on_shortage` is called when memory has run out, and that was said.
    """
    try:
        code = work()
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except KeyboardInterrupt as error:
        say(str(error) or "interrupted")
        code = Exit.INTERRUPTED
    except AtomSanError as error:
        say(str(error))
        code = Exit.BAD
    except BrokenPipeError:
        code = Exit.PIPE
    except Exception as error:
        if is_shortage(error):
            _report_shortage(error)
            on_shortage()
            code = Exit.BAD
        elif isinstance(error, OSError):
            say(f"{error.filename or 'standard output'}: {error.strerror or error}")
            code = Exit.BAD
        else:
            code = _report_bug(error)
    _drop_standard_output()
    return code


def is_shortage(error: BaseException | None) -> bool:
    """Whether memory or threads have run out (`ulimit`), which libraries say in words of their own."""
    if error is None or isinstance(error, MemoryError):
        return error is not None
    text = str(error)
    return any(words in text for words in _SHORTAGES) or is_shortage(error.__cause__ or error.__context__)


def _report_shortage(error: Exception) -> None:
    text = " ".join(str(error).split())
    say(f"not enough memory{f': {text}' * bool(text)}")


def _report_bug(error: Exception) -> int:
    if os.environ.get("ATOMSAN_DEBUG"):
        import traceback

        traceback.print_exc()
    say(
        f"internal error: {type(error).__name__}: {error}. This is a bug in AtomSan: please report it with the output"
        " of `atomsan debug` (ATOMSAN_DEBUG=1 shows the traceback)"
    )
    return Exit.BUG


def _drop_standard_output() -> None:
    """Drop what cannot be written any more: at exit the interpreter would try again, and complain."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
