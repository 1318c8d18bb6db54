from typing import Any

import numpy as np
import numpy.typing as npt

class UnitFinder:
    transactions: int
    def __init__(self, *, learns: bool = False) -> None: ...
    def grow(self, threads: int) -> None: ...
    def know(
        self,
        offsets: npt.NDArray[np.uint32],
        sets: npt.NDArray[np.uint32],
        kinds: npt.NDArray[np.uint32],
        on: npt.NDArray[np.uint8],
        parts: npt.NDArray[np.uint8],
        same: npt.NDArray[np.uint32],
        back: npt.NDArray[np.uint8],
        *,
        is_one_set: bool = False,
    ) -> None: ...
    def feed(self, batch: Any, events: npt.NDArray[np.uint64] | None = None) -> tuple[npt.NDArray[Any], ...]: ...
    def extract(
        self, batch: Any
    ) -> tuple[
        npt.NDArray[np.uint32],
        npt.NDArray[np.uint8],
        npt.NDArray[np.uint32],
        npt.NDArray[np.uint32],
        npt.NDArray[np.uint64],
    ]: ...
