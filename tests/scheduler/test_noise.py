"""The noise strategy alone: its decisions, and the switch interval."""

from __future__ import annotations

import sys
import threading
import time

import pytest

from atomsan.scheduler.noise import SWITCH_INTERVAL, Noise
from atomsan.types import Scheduler


def gaps(seed: int, count: int = 30) -> list[int]:
    noise = Noise(seed)
    found = [noise.start()]
    try:
        found += [noise.point() for _ in range(count)]
    finally:
        noise.done()
    return found


def test_noise_is_a_scheduler() -> None:
    scheduler: Scheduler = Noise(0)
    assert scheduler.start() > 0
    scheduler.done()


# Users repeat a run by its seed: the decisions of a seed must not change.
@pytest.mark.parametrize(
    ("seed", "first"),
    [(0, [10, 7, 9, 8, 8, 2, 2, 12]), (3, [10, 8, 5, 5, 4, 5, 5, 3]), (-1, [10, 10, 6, 10, 4, 5, 3, 1])],
)
def test_decisions_of_a_seed_are_pinned(seed: int, first: list[int]) -> None:
    assert gaps(seed, len(first) - 1) == first


def test_same_seed_gives_the_same_decisions() -> None:
    assert gaps(5) == gaps(5)
    assert gaps(5) != gaps(6)


def test_second_start_repeats_the_decisions() -> None:
    noise = Noise(5)
    found = []
    for _ in range(2):
        found.append([noise.start(), *(noise.point() for _ in range(20))])
        noise.done()
    assert found[0] == found[1] == gaps(5, 20)


def test_gaps_are_small_at_first_and_grow() -> None:
    found = gaps(1, 2000)
    assert all(1 <= gap <= 12 for gap in found[:200])
    assert max(found[-200:]) > 20
    assert sum(found[-200:]) > sum(found[:200])


def test_switch_interval_is_small_until_done() -> None:
    before = sys.getswitchinterval()
    noise = Noise(0)
    noise.start()
    assert sys.getswitchinterval() == pytest.approx(SWITCH_INTERVAL)
    noise.done()
    assert sys.getswitchinterval() == before


def test_other_threads_run_at_a_point() -> None:
    """With a switch interval of a minute only the yields at points let another thread run."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(60)
    ran = threading.Event()
    noise = Noise(2)
    try:
        other = threading.Thread(target=ran.set)
        other.start()
        deadline = time.monotonic() + 10
        while not ran.is_set() and time.monotonic() < deadline:
            noise.point()
        assert ran.is_set()
        other.join()
    finally:
        sys.setswitchinterval(before)
