"""The registry of report formats: one row is all that a new format needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from atomsan.errors import InputError
from atomsan.reports.registry import ANSWER_FORMATS, DEFAULT, REPORTERS, Answer, format_of_file, rendered
from cli.running import environment

# Registers a format for findings only, then runs the command line.
NEW_FORMAT = """
import sys
from types import SimpleNamespace
from atomsan.reports.registry import REPORTERS, ReportFormat

def render(reports, *, limit=None, with_notes=False):
    return f"{len(reports)} reports, limit {limit}, notes {with_notes}\\n"

row = ReportFormat("lines", "lines for a test", (".lines",), lambda: SimpleNamespace(render=render))
REPORTERS[row.name] = row
from atomsan.cli.main import main
sys.exit(main())
"""


def with_new_format(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", NEW_FORMAT, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=60)


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("t.std").write_text("T1|r(x)|1\n")
    return "t.std"


def test_format_names_and_suffixes_are_unique() -> None:
    suffixes = [suffix for row in REPORTERS.values() for suffix in row.suffixes]
    assert len(suffixes) == len(set(suffixes))
    assert [row.name for row in REPORTERS.values()] == list(REPORTERS)
    assert DEFAULT.name in ANSWER_FORMATS


@pytest.mark.parametrize("name", REPORTERS)
def test_reporters_render_and_merge(name: str) -> None:
    reporter = REPORTERS[name].reporter()
    assert isinstance(reporter.render([]), str)
    assert isinstance(reporter.merge([]), str)


@pytest.mark.parametrize(("name", "expected"), [("text", "shown"), ("json", '{\n "a": 1\n}\n')])
def test_only_the_requested_form_of_an_answer_is_made(name: str, expected: str) -> None:
    made = []
    answer = Answer(text=lambda: made.append("text") or "shown", data=lambda: made.append("data") or {"a": 1})
    assert rendered(ANSWER_FORMATS[name], answer) == expected
    assert len(made) == 1


def test_format_is_chosen_by_file_suffix() -> None:
    assert format_of_file("a/b.JSON").name == "json"
    assert format_of_file("b.txt").name == "text"
    with pytest.raises(InputError, match=r"^b.std: a result is written to a file in .json or .txt$"):
        format_of_file("b.std")


def test_new_format_needs_one_row(trace: str) -> None:
    ran = with_new_format("check", trace, trace, "--format", "lines", "--limit", "3", "--all", "-o", "r.lines")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "2 reports, limit 3, notes True\n", "")
    assert Path("r.lines").read_text() == "2 reports, limit None, notes True\n"
    help = " ".join(with_new_format("check", "--help").stdout.split())
    assert "--format text|json|lines" in help
    assert "lines for a test" in help
    assert ".json, .lines, .txt" in help


def test_format_for_findings_only_is_refused_by_other_verbs(trace: str) -> None:
    ran = with_new_format("stats", trace, "--format", "lines")
    assert (ran.returncode, ran.stderr) == (2, "atomsan: --format must be one of text, json, not 'lines'\n")
    ran = with_new_format("stats", trace, "-o", "r.lines")
    assert (ran.returncode, ran.stderr) == (
        2,
        "atomsan: r.lines: a result is written to a file in .json or .txt\n",
    )


def test_merged_json_has_the_findings_of_all_documents() -> None:
    import atomsan

    text = "T1:begin(f) T1:r(x) T2:w(x) T1:w(x) T1:end(f)"
    report = atomsan.check(atomsan.parse(text))
    reporter = REPORTERS["json"].reporter()
    merged = json.loads(reporter.merge([reporter.render([report])] * 2))
    assert [one["verdict"] for one in merged["reports"]] == ["violated", "violated"]
    assert [finding["count"] for finding in merged["findings"]] == [2]
