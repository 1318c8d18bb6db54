"""Checked again: what counts as the same condition, checked again, and what does not.

Each test records a small program: one thread does `unit`, and where that says `turn()`, another does `other`.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from atomsan.findings import reasons
from findings.staged import staged

OTHER = """
with box.lock:
    if box.made is None:
        box.made = 5
        box.y = 6
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMSAN_CACHE", str(tmp_path_factory.getbasetemp() / "atomsan-cache"))


def whys(directory: Path, unit: str, more: str = "") -> set[str | None]:
    """Why the violations of a program are no findings; None for those that are."""
    report = staged(directory, unit, OTHER, more)
    judged = [*report.findings, *report.suspects, *report.notes]
    assert judged
    return {one.why for one in judged}


def function(body: str) -> str:
    return "def work():\n" + textwrap.indent(textwrap.dedent(body).strip(), "    ")


AGAIN = {reasons.CHECKED_AGAIN.why}

# ---- what the later check decides: what is done if it holds, or what is behind it if that is to leave

RESULTS = {
    "is returned": "        if box.made is None:\n            return box.y",
    "is returned at the end": "        if box.made is not None:\n            return box.made\n        box.made = 3\n"
    "    return box.made",
}
OTHER_RESULTS = {
    "another is returned": "        if box.made is None:\n            return box.y\n        return -1",
    "the opposite is checked": "        if box.made is not None:\n            return box.y",
    "something is done else": "        if box.made is None:\n            return box.y\n        else:\n            box.x = 3",
    "something is done behind": "        if box.made is None:\n            return box.y\n    box.x = 3",
}
FIRST = "if box.made is None:\n    turn()\n    with box.lock:\n"


@pytest.mark.parametrize("name", RESULTS)
def test_result_rests_on_the_later_check(name: str, tmp_path: Path) -> None:
    assert whys(tmp_path, "other_box.x = work()", function(FIRST + RESULTS[name])) == AGAIN


@pytest.mark.parametrize("name", OTHER_RESULTS)
def test_result_of_the_first_check_alone_is_found(name: str, tmp_path: Path) -> None:
    assert None in whys(tmp_path, "other_box.x = work()", function(FIRST + OTHER_RESULTS[name]))
