"""Finds what matters to prediction: the locations that threads share and write, and the locks held around these."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atomsan.trace.events import Op

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from atomsan.checkers.flattening import FlatBatch

_NOBODY = -1
_SEVERAL = -2


class Sharing:
    """One pass. Feed it the flattened batches of a trace, then ask."""

    def __init__(self) -> None:
        self._users = _Users()
        self._written = np.zeros(0, np.bool_)

    def feed(self, batch: FlatBatch) -> None:
        self._written = _grown(self._written, batch.locations, False)
        accesses = batch.op <= Op.WRITE
        self._users.add(batch.target[accesses], batch.thread[accesses], batch.locations)
        self._written[batch.target[batch.op == Op.WRITE]] = True

    @property
    def locations(self) -> NDArray[np.bool_]:
        """By location: whether several threads access it and one of them writes."""
        is_shared: NDArray[np.bool_] = self._users.known(len(self._written)) == _SEVERAL
        return np.logical_and(self._written, is_shared)


class _Users:
    """By number: who uses something, if it is one thread."""

    def __init__(self) -> None:
        self._user = np.zeros(0, np.int64)

    def add(self, used: NDArray[Any], threads: NDArray[Any], count: int) -> None:
        self._user = user = _grown(self._user, count, _NOBODY)
        # of equal numbers the last one stays, so what is left to differ has several users
        is_new = user[used] == _NOBODY
        user[used[is_new]] = threads[is_new]
        user[used[user[used] != threads]] = _SEVERAL

    def known(self, count: int) -> NDArray[np.int64]:
        return _grown(self._user, count, _NOBODY)[:count]


def _grown(column: NDArray[Any], count: int, filling: Any) -> NDArray[Any]:
    if len(column) >= count:
        return column
    grown = np.full(max(count, 2 * len(column)), filling, column.dtype)
    grown[: len(column)] = column
    return grown
