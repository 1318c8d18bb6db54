"""Findings of `atomsan run` without noise: every bug is predicted from one run.

`PLAIN.txt` lists the racy programs where one plain run does not show enough, with the reason. That nothing is found in
safe programs is shown by `test_programs_found.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from outcomes import RACY, headers_of, name_of, outcome_of, reasons

# How far a thread comes before it is interrupted is not the same in each run.
RUNS = 2

LISTED = reasons("WAITING.txt") | reasons("PLAIN.txt")


@pytest.mark.parametrize("path", RACY, ids=name_of)
def test_bug_of_a_racy_program_is_predicted(path: Path, tmp_path: Path) -> None:
    text = path.read_text()
    enough = {"finding", headers_of(text)["level"]}
    is_found = any(outcome_of(path, None, tmp_path).levels(text) & enough for _ in range(RUNS))
    check(path, is_found, "not found in one plain run")


def check(path: Path, is_well: bool, otherwise: str) -> None:
    name = name_of(path)
    if name in LISTED and not is_well:
        pytest.xfail(LISTED[name])
    assert is_well, otherwise


def test_listed_programs_exist_and_have_a_reason() -> None:
    listed = reasons("PLAIN.txt")
    assert listed.keys() <= {name_of(path) for path in RACY}
    assert all(listed.values())
