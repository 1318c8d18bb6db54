from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from atomsan.trace.events import Batch
from atomsan.trace.symbols import Symbols

class Validator:
    event: int
    since: int
    other: int
    def grow(self, symbols: Symbols) -> None: ...
    def check(self, batch: Batch) -> int: ...
    def repair(
        self, batch: Batch, report: Callable[[int], None]
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint8], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]: ...
