"""20,000 generated traces: no checker differs from the definitions, and every sort of trace is generated."""

import random
from collections import Counter

import pytest

from checkers.comparison import SORTS, answer, differences, generated, loops_of, sorts_of, thousands_of_threads

COMMON = ("serializable", "not serializable", "fork/join", "post/take", "open regions", "unary", "nesting", "loops")


@pytest.mark.parametrize("part", range(20))
def test_no_checker_differs_from_the_definitions(part: int) -> None:
    rng = random.Random(part)
    seen: Counter[str] = Counter()
    for _ in range(1000):
        steps, loops = generated(rng), loops_of(rng)
        expected = answer(steps, loops)
        seen.update(sorts_of(steps, expected, loops))
        assert differences(steps, expected, loops) == [], (steps, loops)
    assert all(seen[sort] for sort in COMMON), seen


def test_every_sort_of_trace_is_generated() -> None:
    rng = random.Random(99)
    seen: Counter[str] = Counter()
    for steps in [*(generated(rng) for _ in range(3000)), *(thousands_of_threads(rng) for _ in range(8))]:
        loops = loops_of(rng)
        seen.update(sorts_of(steps, answer(steps, loops), loops))
    assert seen.keys() == set(SORTS), seen
