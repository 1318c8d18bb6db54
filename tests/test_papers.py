"""docs/papers.md: the checkers give the answers printed beside its traces, and the files that it names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import atomsan
from atomsan.findings.report import Report

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "papers.md").read_text()

# The directories to which file names on the page are relative.
BASES = (ROOT, ROOT / "tests", ROOT / "src" / "atomsan", ROOT / "tests" / "golden")

LINES = [tuple(re.split(r"  +", line.strip(), maxsplit=1)) for line in re.findall(r"^    \w+:.*", PAGE, re.M)]


def serializability(report: Report) -> str:
    if report.serializable:
        return "serializable"
    assert report.violations is not None
    return f"not serializable, {report.violations} violation{'' if report.violations == 1 else 's'}"


def consistency(report: Report) -> str:
    """Of a trace whose locations are all in one set."""
    if report.verdict == "holds":
        return "set holds"
    patterns = [f"pattern {number}" for number in report.patterns or ()]
    return f"set violated, {', '.join(patterns) or 'no pattern'}"


@pytest.mark.parametrize(("trace", "answer"), LINES)
def test_traces_have_the_answers_of_the_page(trace: str, answer: str) -> None:
    parsed = atomsan.parse(trace)
    shown = consistency(atomsan.sets(parsed)) if answer.startswith("set ") else serializability(atomsan.check(parsed))
    assert shown == answer


def test_files_named_on_the_page_exist() -> None:
    named = re.findall(r"`((?:[\w-]+/)*[\w-]+\.(?:pyx|py|std))`", PAGE)
    assert named
    assert not [name for name in named if not any((base / name).exists() for base in BASES)]
