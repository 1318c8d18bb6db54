"""What Python warns of when it compiles: heard, and hidden where the program has been told of it before."""

from __future__ import annotations

import _warnings
import sys
from contextlib import suppress
from threading import get_ident
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Self


class CompilerWarnings:
    """While it is entered, hears the warnings of this thread.

    It stands in front of the filters of the program as one that asks us whether a text matches. So everything that is
    not hidden goes its usual way, whatever the program has made of that.
    """

    def __init__(self, *, are_hidden: bool) -> None:
        self.heard = False
        self._are_hidden = are_hidden
        self._thread = get_ident()
        self._filter = ("ignore", self, Warning, None, 0)
        self._filters: list[Any] = []

    def match(self, text: str) -> bool:
        """What Python calls, as if this were a regular expression."""
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
