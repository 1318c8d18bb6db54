import numpy as np
import numpy.typing as npt

class ViolationEngine:
    violations: int
    first_event: int
    dependencies: int
    kept: int
    visited: int
    distinct: int
    forest: int
    largest_forest: int
    dropped: int
    def __init__(self, *, witnesses: bool, first: bool = False, limit: int = 10_000, pairs: int = 0) -> None: ...
    def grow(self, threads: int, locations: int, locks: int, handovers: int) -> None: ...
    def forget(self, dead: npt.NDArray[np.uint32]) -> None: ...
    def feed(
        self,
        first: int,
        thread: npt.NDArray[np.uint32],
        op: npt.NDArray[np.uint8],
        target: npt.NDArray[np.uint32],
        site: npt.NDArray[np.uint32],
    ) -> bool: ...
    @property
    def transactions(self) -> npt.NDArray[np.uint32]: ...
    def transactions_from(self, start: int) -> npt.NDArray[np.uint32]: ...
    @property
    def pairs(self) -> list[tuple[int, int]]: ...
    @property
    def groups(self) -> list[tuple[int, int, int, list[tuple[int, int, int, int, int, int, int, int]]]]: ...
    def groups_from(
        self, start: int
    ) -> list[tuple[int, int, int, list[tuple[int, int, int, int, int, int, int, int]]]]: ...
    @property
    def slots_used(self) -> int: ...
