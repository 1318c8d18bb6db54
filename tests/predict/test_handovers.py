"""Order inside units: what a unit does before it hands something over comes before what others do with it.

In recorded programs a put, a notify or the start of a thread does not end a unit, and neither does a get of an item
that was there before it began. A part of one unit then comes before a part of another, or before the whole of it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from test_replay import predicted

from atomsan.predictors.pairs import Grid, conflicts
from atomsan.predictors.units import UnitStep
from atomsan.trace.events import Op

HANDED_OVER = """
import queue
jobs = queue.Queue()
done = queue.Queue()

class Job:
    def __init__(self):
        self.cost = 1

def change(job):
    cost = job.cost
    job.cost = cost + 1

def give():
    for _ in range(3):
        job = Job()
        {give}

def take():
    for _ in range(3):
        job = jobs.get({how})
        {take}

def last():
    for _ in range(3):
        job = done.get()
        change(job)
"""


@pytest.mark.parametrize(
    ("give", "take", "how", "findings"),
    [
        ("change(job); jobs.put(job)", "change(job)", "", 0),
        ("jobs.put(job); change(job)", "change(job)", "", 1),
        ("jobs.put(job); change(job)", "change(job)", "timeout=9", 1),
        ("change(job); jobs.put(job)", "change(job); done.put(job)", "", 0),
        ("change(job); jobs.put(job)", "done.put(job); change(job)", "", 1),
    ],
)
def test_object_is_changed_before_or_after_it_is_handed_over(
    tmp_path: Path, give: str, take: str, how: str, findings: int
) -> None:
    code = HANDED_OVER.format(give=give, take=take, how=how)
    targets = "give, take, last" if "done.put" in take else "give, take"
    report = predicted(tmp_path, code, targets)
    assert len({finding.group for finding in report.findings}) == findings, report
    assert findings or not report.suspects, report


@pytest.mark.parametrize(
    "between",
    ["other.put(1)", "event.set()", "threading.Thread(target=print).start()", "spare.release()", "permits.release()"],
)
def test_unit_goes_on_after_what_lets_others_go_on(tmp_path: Path, between: str) -> None:
    code = f"""
import queue
other, event = queue.Queue(), threading.Event()
spare, permits = threading.Lock(), threading.Semaphore(3)
spare.acquire()
def count():
    with box.lock:
        n = box.n
    if not n % 2:
        {between}
    with box.lock:
        box.n = n + 1
"""
    report = predicted(tmp_path, code, "count, count")
    assert any(finding.pattern == "lost update" for finding in report.findings), report


def test_unit_of_many_puts_ends_in_between(tmp_path: Path) -> None:
    """So that no unit grows with what a loop puts."""
    code = """
import queue
def count():
    n = box.n
    other = queue.Queue()
    for _ in range({puts}):
        other.put(n)
    box.n = n + 1
def counting():
    for _ in range(2):
        count()
"""
    assert predicted(tmp_path, code.format(puts=50), "counting, counting").findings
    report = predicted(tmp_path, code.format(puts=100), "counting, counting")
    assert not report.findings
    assert (report.prediction.conflict_atomic, report.reason) == (
        None,
        "a transaction lets others go on more than 64 times, and was not looked at as a whole",
    )


# ---- the grid


def ways(one: int, other: int, needs: Sequence[int], others_need: Sequence[int]) -> Iterator[list[tuple[int, int]]]:
    """All orders of the steps of two units: by step, which unit does it and where it is in there."""

    def onward(i: int, j: int, done: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
        if (i, j) == (one, other):
            yield done
        if i < one and needs[i] <= j:
            yield from onward(i + 1, j, [*done, (0, i)])
        if j < other and others_need[j] <= i:
            yield from onward(i, j + 1, [*done, (1, j)])

    yield from onward(0, 0, [])


def has_violation(one: Sequence[UnitStep], other: Sequence[UnitStep], way: Sequence[tuple[int, int]]) -> bool:
    """Whether an access of the first comes before one of the other, and one of the other before one of the first."""
    units = one, other
    before = [
        (unit, later_unit)
        for at, (unit, step) in enumerate(way)
        for later_unit, later in way[at + 1 :]
        if unit != later_unit and units[unit][step].target == units[later_unit][later].target
        if conflicts(units[unit][step].op, units[later_unit][later].op)
    ]
    return {(0, 1), (1, 0)} <= set(before)


def order_of(rng: random.Random, steps: int, others: int) -> list[int]:
    return sorted(rng.choice([0, 0, rng.randint(0, others)]) for _ in range(steps))


@pytest.mark.parametrize("seed", range(300))
def test_grid_with_order_is_exact(seed: int) -> None:
    rng = random.Random(seed)
    one, other = (
        [UnitStep(rng.choice([Op.READ, Op.WRITE]), rng.randrange(3), 0, 1) for _ in range(rng.randint(2, 4))]
        for _ in range(2)
    )
    needs, others_need = order_of(rng, len(one), len(other)), order_of(rng, len(other), len(one))
    found = list(ways(len(one), len(other), needs, others_need))
    torn = any(has_violation(one, other, way) for way in found)
    first = Grid(tuple(one), tuple(other), needs=needs, others_need=others_need)
    second = Grid(tuple(other), tuple(one), needs=others_need, others_need=needs)
    assert (first.violation() is not None or second.violation() is not None) == torn
    for grid, ordered in ((first, (needs, others_need)), (second, (others_need, needs))):
        if tear := grid.violation():
            way = grid.tear(tear)
            assert way is not None
            for (i, j), (to_i, _) in pairwise(way):
                assert (ordered[0][i] <= j) if to_i > i else (ordered[1][j] <= i)


@pytest.mark.parametrize("mark", ["", "@atomsan.atomic"])
def test_marked_region_that_waits_is_never_proved(tmp_path: Path, mark: str) -> None:
    """One that AtomSan chose is meant to be several steps then; of a marked one nobody said so."""
    code = f"""
import atomsan
event = threading.Event()
{mark}
def take():
    n = box.n
    event.wait()
    box.other = n
def give():
    box.n = 5
    event.set()
"""
    report = predicted(tmp_path, code, "take, give")
    assert report.prediction.conflict_atomic is (None if mark else True)
    assert (report.reason or "").startswith("a transaction waits") == bool(mark)
