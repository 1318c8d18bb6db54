"""Memory of recording and checking objects that live for a moment, and what the pytest plugin costs a trivial test.

python bench/run.py --only forgetting --only pytest
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from harness import MILLION, Row, best, command, measured

PROGRAM = Path(__file__).parent / "programs" / "short_lived.py"

# MB of the tool. A live check is meant to stay under its limit however long the program runs. When that has ended, the
# prediction of its latest two million events takes some hundred more, which do not grow with the run either.
LIVE_LIMIT = 300.0
STORED_LIMIT = 400.0
# Milliseconds.
TEST_LIMIT = 0.5
TESTS = 5000


def forgetting(directory: Path, objects: int) -> Iterator[Row]:
    count = str(objects)
    trace = directory / "short_lived.atomtrace"
    shown = f"{objects / MILLION:g} M objects that two threads used"
    runs = (
        ("atomsan run --live --no-predict", ("run", "--live", "--no-predict", PROGRAM, count), LIVE_LIMIT),
        ("atomsan run --no-predict", ("run", "--no-predict", "--keep", trace, PROGRAM, count), STORED_LIMIT),
        ("atomsan check of that trace", ("check", trace), STORED_LIMIT),
    )
    for name, words, limit in runs:
        _, seconds, megabytes = measured(*words)
        yield Row(f"memory of {name}", megabytes, "MB", limit, detail=f"{shown}, {seconds:.1f} s")


def plugin(directory: Path, repeat: int) -> Iterator[Row]:
    """What `pytest --atomsan` adds to a test in which one thread does next to nothing."""
    tests = directory / "test_trivial.py"
    tests.write_text(
        "import pytest\n\n"
        f"@pytest.mark.parametrize('number', range({TESTS}))\n"
        "def test_trivial(number):\n    assert number + 1 > number\n"
    )
    run = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", directory)
    without, with_it = best(repeat, command(*run, tests), command(*run, "--atomsan", tests))
    yield Row(
        "pytest --atomsan, more for each trivial test",
        1000 * (with_it - without) / TESTS,
        "ms",
        TEST_LIMIT,
        detail=f"{with_it:.2f} s, plain {without:.2f} s, {TESTS} tests",
    )
