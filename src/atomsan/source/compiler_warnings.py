"""Detects compiler warnings, and suppresses them when code of the program is compiled a second time."""

from __future__ import annotations

import _warnings
import sys
from contextlib import suppress
from threading import get_ident
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Self


class CompilerWarnings:
    """While it is entered, notes the warnings of this thread.

    It is a filter in front of those of the program, and is asked whether a text matches. So each warning that is not
    hidden goes its usual way, whatever the program has made of that.
    """

    def __init__(self, *, are_hidden: bool) -> None:
        self.heard = False
        self._are_hidden = are_hidden
        self._thread = get_ident()
        self._filter = ("ignore", self, Warning, None, 0)
        self._filters: list[Any] = []

    def match(self, text: str) -> bool:
        """Called by Python, as if this were a regular expression."""
        if get_ident() != self._thread:
            return False
        self.heard = True
        return self._are_hidden

    def __enter__(self) -> Self:
        # the list that Python looks at, as it does, and without loading the module for it
        self._filters = getattr(sys.modules.get("warnings"), "filters", _warnings.filters)
        self._filters.insert(0, self._filter)
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ValueError):
            self._filters.remove(self._filter)
