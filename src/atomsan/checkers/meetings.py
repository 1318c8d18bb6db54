"""Finds the locations with conflicting accesses by concurrent transactions, by `engines/_meeting.pyx`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atomsan.checkers.engines._meeting import Meetings
from atomsan.checkers.results import Result

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from atomsan.checkers.flattening import FlatBatch

    Flags = npt.NDArray[np.bool_]


class MeetingFinder:
    """Is fed as a checker is, and decides nothing."""

    name = "meetings"

    def __init__(self) -> None:
        self.engine = Meetings()
        self._locations = 0

    def feed(self, batch: FlatBatch) -> bool:
        self._locations = batch.locations
        self.engine.grow(batch.threads, batch.locations)
        self.engine.feed(batch.thread, batch.op, batch.target)
        if batch.dead is not None:
            self.engine.forget(batch.dead)
        return False

    def found(self) -> tuple[Flags, Flags]:
        """Of each location: whether transactions meet there, and whether several threads use it."""
        return self.engine.found(self._locations)

    def result(self, stopped: str | None = None) -> Result:
        return Result(self.name, "unknown", reason=stopped)
