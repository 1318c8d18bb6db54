from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

class Flattener:
    def grow(self, threads: int, locks: int, loops: Iterable[int] = ...) -> None: ...
    def flatten(
        self, thread: NDArray[np.uint32], op: NDArray[np.uint8], target: NDArray[np.uint32]
    ) -> NDArray[np.uint8]: ...
    def open_regions(self) -> list[tuple[int, int]]: ...
