"""Which exit code, and what is said on standard error: decided here for every verb.

0 fine, 1 findings, 2 bad usage, input or output, 3 interrupted, 70 a bug of ours, 141 whoever read our output left.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from enum import IntEnum

from atomsan.errors import AtomSanError, printable


class Exit(IntEnum):
    FINE = 0
    FINDINGS = 1
    BAD = 2
    INTERRUPTED = 3
    BUG = 70
    """EX_SOFTWARE of sysexits.h."""
    PIPE = 141
    """What a shell says of a program that died of SIGPIPE, as most do in `| head`."""


def say(text: str) -> None:
    """One line on standard error."""
    if sys.stderr is not None:
        with suppress(OSError):  # nobody can be told; the exit code still tells
            print(printable(f"atomsan: {text}"), file=sys.stderr, flush=True)


def show(text: str) -> None:
    """A text on standard error, where standard output is somebody else's. Nobody gets it if that is closed."""
    if sys.stderr is not None:  # to print to nothing is to print to standard output
        print(text, end="", file=sys.stderr, flush=True)


def guarded(work: Callable[[], int]) -> int:
    """The exit code of some work, and the one line that says what went wrong. Never a traceback, unless asked for."""
    try:
        code = work()
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        say("interrupted")
        code = Exit.INTERRUPTED
    except AtomSanError as error:
        say(str(error))
        code = Exit.BAD
    except BrokenPipeError:
        code = Exit.PIPE
    except MemoryError:
        say("not enough memory")
        code = Exit.BAD
    except OSError as error:
        say(f"{error.filename or 'standard output'}: {error.strerror or error}")
        code = Exit.BAD
    except Exception as error:
        code = _explain_bug(error)
    _drop_standard_output()
    return code


def _explain_bug(error: Exception) -> int:
    if os.environ.get("ATOMSAN_DEBUG"):
        import traceback

        traceback.print_exc()
    say(
        f"internal error: {type(error).__name__}: {error}. This is a bug in AtomSan: please report it with the output"
        " of `atomsan debug` (ATOMSAN_DEBUG=1 shows the traceback)"
    )
    return Exit.BUG


def _drop_standard_output() -> None:
    """What is left in the buffer may not be writable: the interpreter would try again, fail and complain."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
