"""A checker that checks nothing: the baseline for the cost of the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atomsan.checkers.results import Result

if TYPE_CHECKING:
    from atomsan.checkers.flattening import FlatBatch


class EmptyChecker:
    name = "empty"

    def __init__(self) -> None:
        self._events = 0

    def feed(self, batch: FlatBatch) -> bool:
        self._events += len(batch)
        return False

    def result(self, stopped: str | None = None) -> Result:
        return Result(self.name, "unknown", counters={"events": self._events}, reason=stopped or "it checks nothing")
