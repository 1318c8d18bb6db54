import numpy as np
from numpy.typing import NDArray

MOST_REGION_LOCKS: int
VIOLATION_EVENTS: int

class PlannedEngine:
    injected: NDArray[np.uint64]
    def __init__(
        self,
        *,
        seed: int,
        events: int,
        threads: int,
        locks: int,
        locked_variables: int,
        own_variables: int,
        shared_variables: int,
        regions: int,
        handovers: int,
        sites: int,
        region_length: int,
        nesting: int,
        read_share: int,
        locality: int,
        lock_share: int,
        region_share: int,
        section_share: int,
        handover_share: int,
        longest_turn: int,
        violations: int,
        violations_first: int,
        long_region: bool,
    ) -> None: ...
    def fill(
        self,
        thread: NDArray[np.uint32],
        op: NDArray[np.uint8],
        target: NDArray[np.uint32],
        site: NDArray[np.uint32],
    ) -> int: ...

class RandomEngine:
    def __init__(
        self,
        *,
        seed: int,
        events: int,
        threads: int,
        locks: int,
        variables: int,
        regions: int,
        handovers: int,
        sites: int,
        nesting: int,
        read_share: int,
        longest_turn: int,
    ) -> None: ...
    def fill(
        self,
        thread: NDArray[np.uint32],
        op: NDArray[np.uint8],
        target: NDArray[np.uint32],
        site: NDArray[np.uint32],
    ) -> int: ...
