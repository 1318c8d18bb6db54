"""Findings of `atomsan run`: every bug with one of a few seeds of noise, and nothing in safe programs with any or none.

Found means: a finding in the region that the program expects, whose witness touches a line that is marked `# bug`; or a
suspect, if the program says that it is one.
`WAITING.txt` lists the programs that AtomSan cannot judge yet, with the reason: these are expected to fail.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from outcomes import RACY, SAFE, Outcome, headers_of, name_of, outcome_of, reasons

# `make test-long` asks for more.
SEEDS = int(os.environ.get("ATOMSAN_SEEDS", "3"))

WAITING = reasons("WAITING.txt")


@pytest.mark.parametrize("path", RACY, ids=name_of)
def test_bug_of_a_racy_program_is_found(path: Path, tmp_path: Path) -> None:
    text = path.read_text()
    enough = {"finding", headers_of(text)["level"]}
    outcomes: list[Outcome] = []
    for seed in range(SEEDS):
        outcomes.append(outcome_of(path, seed, tmp_path))
        if outcomes[-1].levels(text) & enough:
            break
    is_found = bool(outcomes[-1].levels(text) & enough)
    check(path, is_found, f"not found in seeds 0 to {SEEDS - 1}; seen were {sorted(set().union(*map(seen, outcomes)))}")


@pytest.mark.parametrize("path", SAFE, ids=name_of)
def test_safe_program_has_no_finding(path: Path, tmp_path: Path) -> None:
    for seed in (None, *range(SEEDS - 1)):
        found = outcome_of(path, seed, tmp_path).by_level["finding"]
        if found:
            break
    check(path, not found, f"seed {seed}: " + "\n".join(line for one in found for line in one["explanation"]))


def seen(outcome: Outcome) -> set[str]:
    return {f"{level} in {one['region']}" for level, found in outcome.by_level.items() for one in found}


def check(path: Path, is_well: bool, otherwise: str) -> None:
    name = name_of(path)
    if name in WAITING and not is_well:
        pytest.xfail(WAITING[name])
    assert is_well, otherwise


def test_waiting_programs_exist_and_have_a_reason() -> None:
    assert WAITING.keys() <= {name_of(path) for path in (*RACY, *SAFE)}
    assert all(WAITING.values())
