"""Annotations for the user's code: `atomic`, `not_atomic`, `unit_for`, `atomic_set`.

    @atomsan.atomic                      # every call of this function is meant to be atomic
    def transfer(a, b, amount): ...

    with atomsan.atomic("report"):       # and so is this block
        ...

    @atomsan.not_atomic                  # a loop over requests: the regions inside it are checked
    def serve(): ...

    @atomsan.unit_for("shop")            # one step on the data of this argument, whatever it calls on it
    def buy(shop, item): ...

    @atomsan.atomic_set("checking", "savings")   # these fields belong together; each other one is a set of its own
    class Account: ...

    @atomsan.atomic_set("accounts.balance")      # of the objects that the field holds
    class Bank: ...

The decorators return what they decorate: the recorder finds them in the source. The block asks whether anybody is
recording, and costs a look-up if nobody is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar, overload

_F = TypeVar("_F", bound=Callable[..., Any])
_C = TypeVar("_C", bound=type)

_LOG = "atomsan.recorder.python._log"


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
    """Marks a function as atomic (as its decorator), or a block (`with atomic("name"):`)."""
    if isinstance(what, str):
        return AtomicBlock(what)
    if not callable(what):
        raise TypeError(f"atomic decorates a function or takes the name of a block, not {type(what).__name__}")
    return what


def not_atomic(function: _F) -> _F:
    """Marks a function as not atomic: the regions inside it are checked."""
    return function


def unit_for(*parameters: str) -> Callable[[_F], _F]:
    """Marks a function as one step on the data of these arguments, though it only calls their methods."""
    _check_names("unit_for", "parameters", parameters)

    def mark(function: _F) -> _F:
        return function

    return mark


def atomic_set(*fields: str, name: str = "") -> Callable[[_C], _C]:
    """Marks fields of a class that belong together. With a `name`, a class can have several such sets.

    A field with dots goes on in the objects that the field holds, itself or in a container: `"log.entries"`;
    `"head.**"` is whatever is reached through the field.
    """
    _check_names("atomic_set", "fields", fields)
    if any("." in field or "*" in field for field in fields):
        from atomsan.source.field_paths import parts_of

        for field in fields:
            parts_of(field)

    def mark(cls: _C) -> _C:
        return cls

    return mark


def _check_names(what: str, of: str, names: tuple[object, ...]) -> None:
    """Rejects a decorator without its arguments, which would replace what it decorates."""
    if not names or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{what} takes the names of {of}")
