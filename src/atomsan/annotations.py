"""What the user can say in code about atomicity: `atomic`, `not_atomic`.

    @atomsan.atomic                      # every call of this function is meant to be atomic
    def transfer(a, b, amount): ...

    with atomsan.atomic("report"):       # and so is this block
        ...

    @atomsan.not_atomic                  # a loop over requests: what it calls is looked at
    def serve(): ...

The decorators return the function itself: the recorder finds them in the source. The block asks whether anybody is
recording, and costs a look-up if nobody is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar, overload

_F = TypeVar("_F", bound=Callable[..., Any])

_LOG = "atomsan.recorder._log"


class AtomicBlock:
    """A block that is meant to be atomic. It can be entered again, also inside itself."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        log = sys.modules.get(_LOG)
        if log is not None:
            log.begin_annotated(self.name)

    def __exit__(self, *_: object) -> None:
        log = sys.modules.get(_LOG)
        if log is not None:
            log.end_annotated(self.name)


@overload
def atomic(what: str) -> AtomicBlock: ...
@overload
def atomic(what: _F) -> _F: ...
def atomic(what: str | _F) -> AtomicBlock | _F:
    """Say that a function is meant to be atomic (as its decorator), or a block (`with atomic("name"):`)."""
    if isinstance(what, str):
        return AtomicBlock(what)
    if not callable(what):
        raise TypeError(f"atomic decorates a function or takes the name of a block, not {type(what).__name__}")
    return what


def not_atomic(function: _F) -> _F:
    """Say that a function is not meant to be atomic: the regions inside it are looked at."""
    return function
