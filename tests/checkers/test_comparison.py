"""Twenty thousand generated traces: no checker differs from the definitions, and every sort of trace was among them."""

import random
from collections import Counter

import pytest

from checkers.comparison import answer, classes, differences, generated, loops_of

SORTS = [
    "not serializable",
    "fork/join",
    "post/take",
    "open regions",
    "unary",
    "nesting",
    "non-increasing cycles only",
    "only through 3+ transactions",
    "70+ threads",
]


@pytest.mark.parametrize("part", range(20))
def test_a_thousand_traces(part: int) -> None:
    rng = random.Random(part)
    seen: Counter[str] = Counter()
    for _ in range(1000):
        steps, loops = generated(rng), loops_of(rng)
        expected = answer(steps, loops)
        seen.update(classes(steps, expected))
        assert differences(steps, expected, loops) == [], (steps, loops)
    assert all(seen[sort] for sort in SORTS[:6]), seen


def test_every_sort_of_trace_is_generated() -> None:
    rng = random.Random(99)
    seen: Counter[str] = Counter()
    for _ in range(3000):
        steps = generated(rng)
        seen.update(classes(steps, answer(steps)))
    assert all(seen[sort] for sort in SORTS), seen
