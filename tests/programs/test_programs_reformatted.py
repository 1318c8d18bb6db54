"""The programs in other forms: each still runs, and is judged as the original is.

Each program comes in one of the other forms; `make test-long` tries all forms of all programs. Two runs do not have the
same interleavings, and the same accesses have another level where others looked at the data meanwhile, or in another
iteration of a loop. So what is compared is the strongest level of what both the original and the other form showed, and
of the bug that a racy program declares; a safe program must have findings in both or in none. Who has a weaker level
gets more seeds, until it comes to the other's: what depends on chance does so, and what depends on the form never does.
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
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from outcomes import BROKEN, ENVIRONMENT, LEVELS, RACY, SAFE, is_expected, marked, name_of, strongest
from reformat import FORMS, RENAMED, reformat, statement_starts
from test_programs_run import functions_of

import atomsan

SEEDS = 3
MORE_SEEDS = 300
"""So many seeds are tried until what one form showed has been seen at the same level in the other."""

PROGRAMS = [*RACY, *SAFE]
PAIRS = [
    (path, form)
    for number, path in enumerate(PROGRAMS)
    for place, form in enumerate(FORMS)
    if number % len(FORMS) == place or "ATOMSAN_SEEDS" in os.environ
]

Key = tuple[object, ...]
"""What a violation is, whatever the lines and the local variables are called."""
MAIN: Key = ("main",)
"""The bug that a racy program declares; of a safe program, whatever is a finding."""


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
    other = reformat(path.read_text(), form)
    copy = tmp_path / path.name
    copy.write_text(other.text)
    before, after = original(path), Judged(copy, other.statement_at)
    one, two = before.levels(SEEDS), after.levels(SEEDS)
    seen = (one.keys() & two.keys()) | ({MAIN} & (one.keys() | two.keys()))
    wanted = {key: strongest({one.get(key), two.get(key)} - {None}) for key in seen}
    assert after.missing(wanted) == {}
    assert before.missing(wanted) == {}


@cache
def original(path: Path) -> Judged:
    """The original, which is run once for all forms."""
    starts = statement_starts(path.read_text())
    return Judged(path, lambda line, _: starts.get(line, 0))


class Judged:
    """The levels of what a program showed, over some runs inside this process."""

    def __init__(self, path: Path, statement_at: Callable[[int, int], int]) -> None:
        self.path = path
        self.text = path.read_text()
        self.statement_at = statement_at
        """Tells the first line, in the original, of the statement at a line and column."""
        self.runs: list[dict[Key, str]] = []
        """For each seed, the strongest level of what was seen."""

    def levels(self, seeds: int) -> dict[Key, str]:
        """The strongest level of what was seen in the runs with the first seeds."""
        while len(self.runs) < seeds:
            self.runs.append(self.run(len(self.runs)))
        found: dict[Key, str] = {}
        for levels in self.runs[:seeds]:
            add(found, levels)
        return found

    def missing(self, wanted: Mapping[Key, str | None]) -> dict[Key, tuple[str | None, str | None]]:
        """What was not seen at the level that it has in the other form, or at a stronger one; and the two levels."""
        for seeds in range(SEEDS, MORE_SEEDS + 1):
            levels = self.levels(seeds)
            missing = {
                key: (levels.get(key), level)
                for key, level in wanted.items()
                if key not in levels or levels[key] != strongest({levels[key], level} - {None})
            }
            if not missing:
                break
        return missing

    def run(self, seed: int) -> dict[Key, str]:
        found: dict[Key, str] = {}
        report = recorded(self.path, seed)
        for level in LEVELS:
            for one in report.get(f"{level}s", ()):
                add(found, {self.key_of(one): level})
                if is_expected(one, self.text) if marked(self.text) else level == "finding":
                    add(found, {MAIN: level})
        return found

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


def add(levels: dict[Key, str], more: Mapping[Key, str]) -> None:
    """Keep the strongest level of each."""
    for key, level in more.items():
        levels[key] = strongest((level, levels.get(key, level))) or level


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
