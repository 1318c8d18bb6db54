"""Findings of `atomsan run` without noise: every bug is predicted from one run, and nothing in safe programs.

`PLAIN.txt` lists the racy programs where one plain run does not show enough, with the reason. Every second program is
run; all of them where `ATOMSAN_SEEDS` is set, as `make test-long` does.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from outcomes import RACY, SAFE, headers_of, name_of, outcome_of, reasons

STEP = 1 if "ATOMSAN_SEEDS" in os.environ else 2
# How far a thread comes before it is interrupted is not the same in each run.
RUNS = 2

LISTED = reasons("WAITING.txt") | reasons("PLAIN.txt")


@pytest.mark.parametrize("path", RACY[::STEP], ids=name_of)
def test_bug_of_a_racy_program_is_predicted(path: Path, tmp_path: Path) -> None:
    text = path.read_text()
    enough = {"finding", headers_of(text)["level"]}
    is_found = any(outcome_of(path, None, tmp_path).levels(text) & enough for _ in range(RUNS))
    check(path, is_found, "not found in one plain run")


@pytest.mark.parametrize("path", SAFE[::STEP], ids=name_of)
def test_safe_program_has_no_predicted_finding(path: Path, tmp_path: Path) -> None:
    found = outcome_of(path, None, tmp_path).by_level["finding"]
    check(path, not found, "\n".join(line for one in found for line in one["explanation"]))


def check(path: Path, is_well: bool, otherwise: str) -> None:
    name = name_of(path)
    if name in LISTED and not is_well:
        pytest.xfail(LISTED[name])
    assert is_well, otherwise


def test_listed_programs_exist_and_have_a_reason() -> None:
    listed = reasons("PLAIN.txt")
    assert listed.keys() <= {name_of(path) for path in RACY}
    assert all(listed.values())
