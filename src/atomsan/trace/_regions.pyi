from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from atomsan.trace.events import Batch

class RegionRewriter:
    def grow(self, threads: int, regions: int) -> None: ...
    def mark(self, dropped: Iterable[int], split: Iterable[int]) -> None: ...
    def add_sites(self, assignments: Sequence[int | None], apart: Sequence[int | None]) -> None: ...
    def rewrite(
        self, batch: Batch
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint8], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]: ...
