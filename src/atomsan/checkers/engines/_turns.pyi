import numpy as np
import numpy.typing as npt

Answer = tuple[int, bool, list[tuple[int, int, int, int, int, int, int]]]

class TurnEngine:
    folded: int
    thinned: int
    dropped: int
    forgotten: int
    twins: int
    def __init__(
        self, violating: npt.NDArray[np.uint32] | None = None, *, most: int = 100_000, often: int = 1000
    ) -> None: ...
    def add_violating(self, violating: npt.NDArray[np.uint32]) -> None: ...
    def resume(self, thread: int, number: int, regions: list[tuple[int, int, int]]) -> None: ...
    def set_parts(self, start: int, parts: npt.NDArray[np.uint8]) -> None: ...
    def feed(
        self,
        first: int,
        thread: npt.NDArray[np.uint32],
        op: npt.NDArray[np.uint8],
        target: npt.NDArray[np.uint32],
        site: npt.NDArray[np.uint32],
    ) -> None: ...
    def finish(self, is_whole: bool = True) -> None: ...
    @property
    def kinds_found(self) -> int: ...
    @property
    def found(self) -> list[Answer]: ...
    def take_changed(self) -> list[tuple[int, Answer]]: ...
