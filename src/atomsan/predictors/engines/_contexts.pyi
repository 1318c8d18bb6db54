import numpy as np
import numpy.typing as npt

class ContextReader:
    def contexts(
        self,
        first: int,
        thread: npt.NDArray[np.uint32],
        op: npt.NDArray[np.uint8],
        original: npt.NDArray[np.uint8],
        target: npt.NDArray[np.uint32],
        site: npt.NDArray[np.uint32],
        threads: int,
        is_wanted: npt.NDArray[np.uint8],
        is_call: npt.NDArray[np.uint8],
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]: ...
