"""Event source of a running program: its log is read when the next batch is asked for, and nothing is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from atomsan.errors import OutputError
from atomsan.trace.events import BATCH_EVENTS
from atomsan.trace.insertions import with_insertions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from atomsan.errors import Place
    from atomsan.recorder.log.recording import Recording
    from atomsan.recorder.log.runner import ProgramRun
    from atomsan.trace.events import Batch

# So many locations keep their names in memory; the others are in a file.
MOST_SYMBOLS = 1 << 14

# A batch that is smaller waits for more, as long as the program runs.
_SMALL = BATCH_EVENTS // 8


class LiveEvents:
    """A source that can be read once, and the sink of the recording that it reads."""

    def __init__(self, recording: Recording, run: ProgramRun) -> None:
        self.symbols = recording.symbols
        self.meta = recording.meta
        self._recording = recording
        self._found: list[Batch] = []
        self._can_forget = True
        self._insertions: list[NDArray[Any]] = []
        # events that were given out, without insertions and with them
        self._taken_events = self._given = 0
        # insertions between events that were given out
        self._late = 0
        recording.start(self)
        self._batches = self._all(run)

    def write(self, batch: Batch) -> None:
        self._found.append(batch)
        if self._can_forget and len(self.symbols.locations) > MOST_SYMBOLS:
            self._forget_symbols()

    def _forget_symbols(self) -> None:
        """Nothing is kept, but findings can name what died long ago: the names of locations go into a file."""
        from atomsan.trace.temporary_symbols import TemporarySymbols

        locations = self.symbols.locations
        try:
            if not locations.leaves_memory:
                locations.keep_in(TemporarySymbols())
            locations.leave_memory(MOST_SYMBOLS)
        except OutputError:  # no room for them: they stay in memory
            self._can_forget = False

    def insert(self, insertions: NDArray[Any]) -> None:
        """What belongs between events that were given out comes too late."""
        self._late += int(np.count_nonzero(insertions["position"] < self._taken_events))
        self._insertions.append(insertions)

    def idle(self) -> None:
        """What was found is given out when it is wanted, not when it is due."""

    def finish(self) -> None:
        """Nothing is kept, so there is nothing to finish."""

    def batches(self) -> Iterator[Batch]:
        """The batches that are left."""
        return self._batches

    def _all(self, run: ProgramRun) -> Iterator[Batch]:
        for _ in run.read_until_exit(self._recording):
            if sum(map(len, self._found)) >= _SMALL:
                yield from self._taken()
        last = self._taken()
        if self._late:
            self.meta.warnings.append(
                "conflicts may be missing: elements were accessed more than about 130,000 events after their whole"
                f" container was, which --live does not compare (such accesses: {self._late:,})"
            )
        yield from last

    def _taken(self) -> list[Batch]:
        taken = list(with_insertions(self._found, self._insertions, start_at=self._taken_events, first=self._given))
        self._taken_events += sum(map(len, self._found))
        self._given += sum(map(len, taken))
        self._found.clear()
        self._insertions.clear()
        return taken

    def place(self, event: int) -> Place:
        return self._recording.place(event)
