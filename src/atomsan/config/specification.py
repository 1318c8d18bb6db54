"""Builds the atomicity specification from the values of `--spec`, `--atomic` and `--not-atomic`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atomsan.source.spec import Specification


def specification(path: str | None, atomic: Iterable[str] = (), not_atomic: Iterable[str] = ()) -> Specification:
    """The specification in a file, if one is given, with the regions that the options add."""
    from atomsan.source.spec import Specification, read_spec

    start = read_spec(path) if path is not None else Specification()
    return start.adding(atomic=atomic, not_atomic=not_atomic)
