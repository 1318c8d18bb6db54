from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from atomsan.predictors.publication import Made
from atomsan.predictors.spinning import Spins

class UnitTable:
    shape_count: int
    form_count: int
    nodes: int
    units: int
    transactions: int
    is_nested: bool
    is_shortened: bool
    def __init__(
        self,
        *,
        is_recorded: bool,
        spins: Spins,
        order: Callable[[int, int, int, int, bool], int],
        waits: Callable[[int, int, list[tuple[int, int, int]], int, int, int], None],
        executed: Callable[[int, int, int, int, int, tuple[int, ...]], None],
        cut: Callable[[int], None],
        tick: Callable[[], None],
    ) -> None: ...
    def feed(
        self,
        batch: Any,
        shared: npt.NDArray[np.uint8],
        loops: npt.NDArray[np.uint8],
        calls: npt.NDArray[np.uint8],
        ready: npt.NDArray[np.uint8],
        made: Made,
    ) -> None: ...
    def finish(self) -> None: ...
    def stop_telling(self) -> None: ...
    def shape_of_number(self, number: int) -> tuple[int, int, tuple[int, ...], tuple[int, ...]]: ...
    def form_of_number(self, number: int) -> tuple[bytes, int, int]: ...
    def form_columns(
        self,
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.uint8], npt.NDArray[np.uint8]]: ...
    def occurrences_of(self, number: int, steps: int) -> list[tuple[int, int, int, int, tuple[int, ...]]]: ...
    def occurrence_of(
        self, number: int, steps: int, thread: int, first: int, last: int
    ) -> tuple[int, int, int, int, tuple[int, ...]]: ...
    def occurrence_again(
        self, number: int, steps: int, thread: int, first: int, last: int
    ) -> tuple[int, tuple[int, ...]] | None: ...
    def shape_columns(
        self,
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64], npt.NDArray[np.uint32], int]: ...
    def occurrence_columns(
        self,
    ) -> tuple[
        npt.NDArray[np.uint32],
        npt.NDArray[np.uint32],
        npt.NDArray[np.uint32],
        npt.NDArray[np.uint32],
        npt.NDArray[np.uint64],
    ]: ...
