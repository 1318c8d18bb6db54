"""A source whose events come once, in batches of one size, as those of a running program do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atomsan.errors import Place
    from atomsan.trace.events import Batch
    from atomsan.types import EventSource


class ReadOnce:
    def __init__(self, source: EventSource, size: int) -> None:
        self._source = source
        self._size = size
        self.symbols = source.symbols
        self.meta = source.meta

    def batches(self) -> Iterator[Batch]:
        for batch in self._source.batches():
            for start in range(0, len(batch), self._size):
                yield batch[start : start + self._size]

    def place(self, event: int) -> Place:
        return self._source.place(event)
