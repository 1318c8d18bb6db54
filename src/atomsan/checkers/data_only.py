"""Lets a checker see accesses only, without the order that locks, threads and hand-overs make.

To a checker, two locked calls in one function are a violation as soon as another thread takes the lock in between,
whatever it does under it. In a region that the user or another tool marked, that counts. In one that AtomSan chose
itself, a violation counts only if data can be seen or left inconsistent, so only accesses matter there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from atomsan.checkers.flattening import NOTHING
from atomsan.trace.events import Op

if TYPE_CHECKING:
    from atomsan.checkers.flattening import FlatBatch
    from atomsan.checkers.results import Result
    from atomsan.types import Checker

# What becomes of each operation: the ten of the trace, NOTHING and INNER.
_SEEN = np.arange(12, dtype=np.uint8)
_SEEN[[Op.ACQUIRE, Op.RELEASE, Op.FORK, Op.JOIN, Op.POST, Op.TAKE]] = NOTHING


class DataOnly:
    """A checker that sees accesses and regions, and no order but what accesses make."""

    def __init__(self, checker: Checker) -> None:
        self.name = f"{checker.name}, data only"
        self._checker = checker

    def feed(self, batch: FlatBatch) -> bool:
        return self._checker.feed(replace(batch, op=_SEEN[batch.op]))

    def result(self, stopped: str | None = None) -> Result:
        return replace(self._checker.result(stopped), algorithm=self.name)
