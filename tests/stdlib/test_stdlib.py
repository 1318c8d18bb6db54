"""Some of the standard library's own test suites have the same results when recorded; `make test-stdlib` runs all.

They need the test modules that come with Python, which some distributions leave out.
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
def test_recorded_suite_has_the_same_results(name: str) -> None:
    suite = SUITES[name]
    try:
        is_there = importlib.util.find_spec(suite.test) is not None
    except ImportError:
        is_there = False
    if not is_there:
        pytest.skip(f"this Python has no {suite.test}")
    comparison = run.compare(suite)
    assert comparison.is_same, comparison.differences()
    assert comparison.plain.counts["run"] > 5
