"""Some of the standard library's own test suites give the same results when they are recorded. `make test-stdlib`: all.

They need the modules of tests that come with Python, which some distributions leave out.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import run

SUITES = {suite.name: suite for suite in run.SUITES}


@pytest.mark.parametrize("name", run.FAST)
def test_a_suite_gives_the_same_results(name: str) -> None:
    suite = SUITES[name]
    try:
        is_there = importlib.util.find_spec(suite.test) is not None
    except ImportError:
        is_there = False
    if not is_there:
        pytest.skip(f"this Python has no {suite.test}")
    comparison = run.compared(suite)
    assert comparison.is_same, comparison.differences()
    assert comparison.plain.counts["run"] > 5
