"""The binary log of the Davida and RegionTrack tools: an event is three big-endian int32.

These are thread, operation and target; the operation is 20 begin, 21 end, 22 read, 23 write, 24 acquire or
25 release. The log has numbers instead of names, so names are made of them: thread `T5`, region `m17`,
location `V99`, lock `L3`. It has no sites.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from atomsan.errors import InputError
from atomsan.trace._davida import EVENT_BYTES, DavidaParser
from atomsan.trace.byte_input import ReadAhead
from atomsan.trace.events import BATCH_EVENTS

if TYPE_CHECKING:
    from atomsan.trace.byte_input import ByteInput
    from atomsan.trace.events import Batch
    from atomsan.trace.symbols import Symbols

# Only the last piece of the input can end inside an event.
_CHUNK = EVENT_BYTES << 16


def davida_batches(data: ByteInput, symbols: Symbols, batch_events: int = BATCH_EVENTS) -> Iterator[Batch]:
    """The events of a log. An error is raised after all events before it."""
    parser = DavidaParser(symbols, batch_events)
    pending: InputError | None = None
    try:
        for buffer, size in ReadAhead(data, _CHUNK, 0):
            at, stop = 0, size - size % EVENT_BYTES
            while at < stop:
                at = parser.feed(buffer, at, stop)
                if at < stop:
                    yield parser.take()
            if stop < size:
                raise InputError("the log is cut inside this event", event=parser.first + parser.filled)
    except InputError as error:
        pending = error
    if parser.filled:
        yield parser.take()
    if pending is not None:
        raise pending
