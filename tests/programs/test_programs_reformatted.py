"""The programs in other forms: each still runs, and is judged as the original is.

Each program comes in one of the other forms; `make test-long` tries all forms of all programs. Two runs do not have the
same interleavings, so only what both the original and the other form showed in some run is compared: the same accesses
must have the same level. The bug that a racy program declares must be seen in both, at the same level, and a safe
program must have findings in both or in none.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from outcomes import BROKEN, ENVIRONMENT, LEVELS, RACY, SAFE, is_expected, marked, name_of, strongest
from reformat import FORMS, RENAMED, reformat, statement_starts
from test_programs_run import functions_of

import atomsan

SEEDS = 3
MORE_SEEDS = 12
"""So many seeds are tried until the bug of a racy program is seen at the level at which the other form has it."""

PROGRAMS = [*RACY, *SAFE]
PAIRS = [
    (path, form)
    for number, path in enumerate(PROGRAMS)
    for place, form in enumerate(FORMS)
    if number % len(FORMS) == place or "ATOMSAN_SEEDS" in os.environ
]

Key = tuple[object, ...]
"""What a violation is, whatever the lines and the local variables are called."""


def name_of_pair(value: object) -> str:
    return name_of(value) if isinstance(value, Path) else str(value)


@pytest.mark.parametrize("form", FORMS)
def test_functions_and_marks_survive(form: str) -> None:
    for path in PROGRAMS:
        text = path.read_text()
        other = reformat(text, form).text
        before, after = ast.parse(text), ast.parse(other)
        assert functions_of(before).keys() == functions_of(after).keys()
        for name, (first, last) in functions_of(before).items():
            start, end = functions_of(after)[name]
            is_marked = any(first <= line <= last for line in marked(text))
            assert is_marked == any(start <= line <= end for line in marked(other)), f"{path}: {name}"


@pytest.mark.parametrize(("path", "form"), PAIRS, ids=name_of_pair)
def test_reformatted_program_exits_cleanly_with_output(path: Path, form: str, tmp_path: Path) -> None:
    other = tmp_path / path.name
    other.write_text(reformat(path.read_text(), form).text)
    ran = subprocess.run(
        [sys.executable, str(other)], capture_output=True, text=True, timeout=60, check=False, env=ENVIRONMENT
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout
    if path in SAFE:
        assert BROKEN not in ran.stdout


@pytest.mark.parametrize(("path", "form"), PAIRS, ids=name_of_pair)
def test_reformatted_program_is_judged_the_same(path: Path, form: str, tmp_path: Path) -> None:
    text = path.read_text()
    starts, other = statement_starts(text), reformat(text, form)
    copy = tmp_path / path.name
    copy.write_text(other.text)
    before = Judged(path, lambda line, _: starts.get(line, 0))
    after = Judged(copy, other.statement_at)
    for seed in range(SEEDS):
        before.run(seed)
        after.run(seed)
    for seed in range(SEEDS, MORE_SEEDS):
        if before.main_level == after.main_level:
            break
        before.run(seed)
        after.run(seed)
    assert after.main_level == before.main_level
    seen = before.levels.keys() & after.levels.keys()
    assert {key: after.levels[key] for key in seen} == {key: before.levels[key] for key in seen}


class Judged:
    """The levels of what a program showed, over some runs inside this process."""

    def __init__(self, path: Path, statement_at: Callable[[int, int], int]) -> None:
        self.path = path
        self.text = path.read_text()
        self.statement_at = statement_at
        """Tells the first line, in the original, of the statement at a line and column."""
        self.levels: dict[Key, str] = {}
        self.main_level: str | None = None
        """Of the bug that a racy program declares; of a safe program only whether it has a finding."""

    def run(self, seed: int) -> None:
        report = recorded(self.path, seed)
        for level in LEVELS:
            for one in report.get(f"{level}s", ()):
                key = self.key_of(one)
                self.levels[key] = self.strongest(level, self.levels.get(key))
                if is_expected(one, self.text) if marked(self.text) else level == "finding":
                    self.main_level = self.strongest(level, self.main_level)

    def key_of(self, finding: dict[str, Any]) -> Key:
        """Region, pattern, and what each step of the witness does; transactions and locations numbered as they come."""
        transactions: dict[object, int] = {}
        locations: dict[object, int] = {}
        steps = []
        for step in finding["witness"]:
            transaction = transactions.setdefault((step["thread"], step["transaction"]), len(transactions))
            location = locations.setdefault(step["location"], len(locations))
            site = step["site"]
            statement = self.statement_at(site["line"], site["column"] or 0) if site else 0
            steps.append((transaction, step["op"], plain_name(step["location"]), location, statement))
        return finding["region"].partition("/")[0], finding["pattern"], *steps

    @staticmethod
    def strongest(one: str, other: str | None) -> str:
        return strongest((one, other or one)) or one


def plain_name(location: str | None) -> str:
    """The name of a location without the numbers of objects, keys, and what was done to names."""
    name = re.sub(r" \(.* #\d+\)$", "", location or "")
    return re.sub(r"\[.*\]", "[]", name).replace(RENAMED, "")


def recorded(path: Path, seed: int) -> dict[str, Any]:
    """The report of one noisy run, as JSON has it."""
    sys.modules.pop(path.stem, None)
    sys.path.insert(0, str(path.parent))
    importlib.invalidate_caches()
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            atomsan.recording(include=[f"{path.parent}/*"], noise=True, seed=seed) as tape,
        ):
            importlib.import_module(path.stem)
        report: dict[str, Any] = atomsan.check(tape).to_dict()
        return report
    finally:
        sys.path.remove(str(path.parent))
        sys.modules.pop(path.stem, None)
