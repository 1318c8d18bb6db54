"""Forks a child that does one thing and ends: whatever goes wrong in it, it does not go on with the tests."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable


def forked(do: Callable[[], object]) -> int:
    """The number of a child that does this and exits: by 0, or by 1 if it raised.

    The fork itself can raise, in either process: it warns where there are threads, and warnings can be errors.
    """
    parent = os.getpid()
    code = 1
    try:
        child = os.fork()
        if child:
            return child
        do()
        code = 0
    except BaseException:
        if os.getpid() == parent:
            raise
        traceback.print_exc()
    finally:
        if os.getpid() != parent:
            os._exit(code)
    raise AssertionError("nobody comes here")


def exit_code(child: int) -> int:
    """How a child ended, when it has: its exit code, or minus the signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
