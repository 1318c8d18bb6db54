"""Hints followed to the letter: the repaired program runs to its end, does not break, and the violation is gone.

Where the hint is mechanical (hold this lock over these lines), the racy program is rewritten as it says
(`repairing.py`) and run again with the same seed and noise. `SEEDS` says with which seeds a bug is looked for.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from outcomes import RACY, headers_of, is_expected, name_of, outcome_of
from repairing import NotMechanicalError, repaired

# `make test-long` asks for more, and for all programs: each is run twice or more.
SEEDS = int(os.environ.get("ATOMSAN_SEEDS", "1"))
PROGRAMS = RACY if "ATOMSAN_SEEDS" in os.environ else RACY[::3]

# What was mended may show what else is wrong in the same statements.
MOST_ROUNDS = 3

BY_HAND = {
    name: reason.strip()
    for name, _, reason in (
        line.partition(":")
        for line in (Path(__file__).parent / "BY_HAND.txt").read_text().splitlines()
        if line and not line.startswith("#")
    )
}


@pytest.mark.parametrize("path", PROGRAMS, ids=name_of)
def test_followed_hint_removes_the_violation(path: Path, tmp_path: Path) -> None:
    found = first_seen(path, tmp_path)
    if found is None:
        pytest.skip("the bug does not show with these seeds")
    seed, finding = found
    wanted = shape(finding)
    now = path
    for _ in range(MOST_ROUNDS):
        assert finding["hint"]
        try:
            text = repaired(now.read_text(), finding.get("repair") or {"mechanical": False}, path.name)
        except NotMechanicalError as error:
            assert path.stem in BY_HAND, f"{error}: {finding['hint']}"
            return
        now = tmp_path / path.name
        now.write_text(text)
        after = outcome_of(now, seed, tmp_path)
        seen = [one for level in ("finding", "suspect") for one in after.by_level[level]]
        left = [one for one in seen if shape(one) == wanted]
        if not left and after.is_broken:
            # the function has another bug of its kind
            left = [one for one in seen if shape(one)[0] == wanted[0]]
            assert left, text
        if not left:
            return
        finding = left[0]
    pytest.fail(f"{finding['hint']}\n{text}")


def first_seen(path: Path, directory: Path) -> tuple[int, dict[str, Any]] | None:
    """The seed with which the expected bug shows, and how; the surest level first."""
    text = path.read_text()
    for seed in range(SEEDS):
        outcome = outcome_of(path, seed, directory)
        for level in dict.fromkeys(("finding", headers_of(text)["level"])):
            for finding in outcome.by_level[level]:
                if is_expected(finding, text):
                    return seed, finding
    return None


def shape(finding: dict[str, Any]) -> tuple[str, frozenset[tuple[str, str, str]]]:
    """What stays the same when lines move: the function to repair, and what each step does to which data."""
    function = finding["region"].partition(":")[2].partition("/")[0]
    torn = (finding.get("repair") or {}).get("function") or function
    steps = ((step["op"], step["location"], (step["site"] or {}).get("text", "")) for step in finding["witness"])
    return torn, frozenset((op, without_numbers(location), text) for op, location, text in steps)


def without_numbers(location: str) -> str:
    """A location without the object and the index, which differ from run to run."""
    return re.sub(r"\[\d+\]", "[...]", location.partition(" (")[0])
