from collections.abc import Callable

import numpy as np
import numpy.typing as npt

_Bytes = npt.NDArray[np.uint8]
_Words = npt.NDArray[np.uint32]
_Longs = npt.NDArray[np.uint64]

def guarded_locations(
    shapes: tuple[_Words, _Longs, _Words], form_slots: tuple[_Words, _Bytes], offset: int
) -> _Bytes: ...
def users_of(starts: _Longs, entities: _Words, offset: int, is_left_out: _Bytes) -> tuple[_Words, _Longs, _Words]: ...

class MeetingFinder:
    case_count: int
    examples: list[list[tuple[int, tuple[int, int, int], int, tuple[int, int, int]]]]
    def __init__(
        self,
        shapes: tuple[_Words, _Longs, _Words],
        form_slots: tuple[_Words, _Bytes],
        occurrences: tuple[_Longs, _Words, _Words, _Words, _Words],
        known: _Words,
        entity_count: int,
        most_examples: int,
        decide: Callable[[int], tuple[int, int]],
        inner: Callable[[int, int, int], int | None],
        tick: Callable[[], None],
    ) -> None: ...
    def find(self, locations: _Words, user_starts: _Longs, users: _Words) -> None: ...
    def case(self, number: int) -> tuple[int, int, list[int]]: ...
    def has_several(self, number: int) -> bool: ...
    def forms_with_several(self) -> set[int]: ...
    def several(self, counted: _Bytes) -> int: ...
