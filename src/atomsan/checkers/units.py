"""The columns that atomic-set checkers read: accesses, each with its atomic set and unit of work (atomic-sets-2008).

A location is in one or more sets, and a region is a unit of work on some of them. An access to a location of a set
belongs to the outermost open region of its thread that is a unit on that set; outside such regions it is a unit of its
own. `engines/_units.pyx` turns a batch of events into rows: one for each access and set, and one for each unit that
ends.

A library callback starts a new unit of work: the regions around it are not those of its accesses. So a unit can run
inside another unit of the same thread on the same set. Each is in a *lane* of its own: on one set, a lane runs one unit
at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from atomsan.trace.events import Column


class RowKind(IntEnum):
    """What happens in a row. ALONE is added to an access that is a unit of its own: its unit ends with it."""

    READ = 0
    WRITE = 1
    END = 2
    ALONE = 4


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Columns of one length. Of an END only `kind` and `unit` mean something."""

    kind: npt.NDArray[np.uint8]
    thread: Column
    lane: Column
    """A thread at one depth of callbacks. Numbered from 0 in the order of their first accesses."""
    unit: Column
    """Numbered from 0 in the order of their first accesses; never used again. The same on all sets."""
    set: Column
    location: Column
    region: Column
    """The region that is the unit; NO_REGION for an access alone."""
    site: Column
    transaction: Column
    """The number in its thread of the transaction that it is in; 0 outside all."""
    event: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.kind)
