"""`atomsan check`, `atomsan algorithms`: what is printed, and the exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from atomsan.checkers.registry import CHECKERS
from atomsan.predictors.registry import PREDICTORS
from cli.running import Atomsan, assert_refused, command, environment, process
from cli.test_interrupt import interrupted

GOLDEN = Path(__file__).parents[1] / "golden"

LOST = "T|begin(f)|a.py:1\nT|r(x)|a.py:2\nU|w(x)|b.py:9\nT|w(x)|a.py:3\nT|end(f)|a.py:1\n"
FINE = "T|begin(f)|1\nT|r(x)|2\nT|end(f)|3\n"
BAD = "T|rel(l)|1\n"


@pytest.fixture(autouse=True)
def _traces(_here: None) -> None:
    Path("lost.std").write_text(LOST)
    Path("fine.std").write_text(FINE)
    Path("bad.std").write_text(BAD)


def test_the_exit_code_follows_the_findings(atomsan: Atomsan) -> None:
    ran = atomsan("check", "lost.std")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.startswith("lost.std: violated, not serializable\n")
    assert "1. lost update in f (seen once, first at lost.std:4)" in ran.out
    ran = atomsan("check", "fine.std")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("fine.std: holds, serializable\n")


@pytest.mark.parametrize("name", ["aerodrome-rho3", "davida-alpha1", "peer-davida-setread", "ws-fig4"])
@pytest.mark.parametrize("algorithm", [[], ["--algorithm", "regiontrack"]], ids=["auto", "regiontrack"])
def test_golden_traces(atomsan: Atomsan, name: str, algorithm: list[str]) -> None:
    answers = json.loads((GOLDEN / f"{name}.json").read_text())
    content = json.loads(atomsan("check", GOLDEN / f"{name}.std", "--format", "json", *algorithm).out)
    assert content["serializable"] == answers["serializable"]
    assert content["violations"] == answers["violations"]
    assert sorted(content["transactions"]) == sorted(answers["violating"])
    assert content["verdict"] == ("holds" if answers["serializable"] else "violated")


@pytest.mark.parametrize("name", CHECKERS)
def test_every_algorithm(atomsan: Atomsan, name: str) -> None:
    ran = atomsan("check", "lost.std", "--algorithm", name, "--format", "json")
    content = json.loads(ran.out)
    assert content["algorithm"] == name
    assert (content["verdict"], ran.code) == (("unknown", 0) if name == "empty" else ("violated", 1))


def test_unknown_algorithm_is_refused(atomsan: Atomsan) -> None:
    assert_refused(atomsan("check", "fine.std", "--algorithm", "frob"), "--algorithm must be one of auto, ", "'frob'")


def test_highest_exit_code_of_several_traces(atomsan: Atomsan) -> None:
    ran = atomsan("check", "fine.std", "lost.std", "--format", "json")
    content = json.loads(ran.out)
    assert ran.code == 1
    assert [report["verdict"] for report in content["reports"]] == ["holds", "violated"]
    assert len(content["findings"]) == 1
    ran = atomsan("check", "lost.std", "bad.std", "fine.std")
    assert ran.code == 2
    assert ran.err == "atomsan: bad.std:1: T releases lock l, which nobody holds\n"
    assert ran.out.startswith("lost.std: violated")
    assert "\n\nfine.std: holds" in ran.out


def test_a_malformed_trace_is_refused_or_repaired(atomsan: Atomsan) -> None:
    assert_refused(atomsan("check", "bad.std"), "bad.std:1: T releases lock l, which nobody holds")
    ran = atomsan("check", "bad.std", "--lenient")
    assert ran.code == 0
    assert ran.err.startswith("atomsan: warning: bad.std: dropped a release of a lock that nobody held, 1 time")
    assert atomsan("check", "bad.std", "--lenient", "--quiet").err == ""
    assert "repairs" in json.loads(atomsan("check", "bad.std", "--lenient", "--quiet", "--format", "json").out)


def test_reports_are_written_to_files(atomsan: Atomsan) -> None:
    ran = atomsan("check", "lost.std", "-o", "r.json", "-o", "r.txt", "--limit", "0")
    assert ran.code == 1
    assert json.loads(Path("r.json").read_text())["violations"] == 1
    assert "1. lost update" in Path("r.txt").read_text(), "a file has all findings"
    assert "1. lost update" not in ran.out
    assert "1 more finding (--limit shows more)" in ran.out
    assert_refused(atomsan("check", "lost.std", "-o", "lost.std"), "lost.std: a result is written to")


def test_a_specification(atomsan: Atomsan) -> None:
    assert atomsan("check", "lost.std", "--not-atomic", "f").code == 0
    assert atomsan("check", "lost.std", "--atomic", "g").code == 0
    assert atomsan("check", "lost.std", "--atomic", "f", "--atomic", "g").code == 1
    Path("spec.toml").write_text("not_atomic = ['f']\n")
    assert atomsan("check", "lost.std", "--spec", "spec.toml").code == 0
    Path("spec.toml").write_text("not_atomic = 1\n")
    assert_refused(atomsan("check", "lost.std", "--spec", "spec.toml"), "spec.toml: 'not_atomic' must be a list")
    assert_refused(atomsan("check", "lost.std", "--spec", "none.toml"), "none.toml: cannot be read")
    Path("atomsan.toml").write_text("not-atomic = ['f']\n")
    assert atomsan("check", "lost.std").code == 0


def test_splitting_at_waits(atomsan: Atomsan) -> None:
    Path("t.std").write_text(LOST.replace("T|w(x)", "U|post(h)|9\nT|take(h)|9\nT|w(x)"))
    assert atomsan("check", "t.std").code == 1
    assert atomsan("check", "t.std", "--split-at-waits").code == 0


def test_standard_input() -> None:
    ran = process("check", "-", input=LOST.encode())
    assert ran.code == 1
    assert ran.out.startswith("standard input: violated, not serializable\n")


def test_invalid_numbers_are_refused(atomsan: Atomsan) -> None:
    assert_refused(atomsan("check", "fine.std", "--timeout", "0"), "--timeout must be more than 0")
    assert_refused(atomsan("check", "fine.std", "--timeout", "nan"), "--timeout must be more than 0")
    assert_refused(atomsan("check", "fine.std", "--limit", "-1"), "--limit must not be negative")


def test_interrupt_reports_the_findings_so_far() -> None:
    ran = interrupted("check", "-", "--format", "json", "--not-atomic", "nothing")
    content = json.loads(ran.out)
    assert ran.code == 3
    assert content["verdict"] == "unknown"
    assert content["serializable"] is None
    assert content["reason"] == "interrupted"
    assert content["trace"]["complete"] is False
    assert content["trace"]["events"] >= 1_000_000
    assert ran.err.startswith("atomsan: interrupted after ")


@pytest.mark.parametrize("seconds", ["inf", "1e300", "1e10"])
def test_timeout_may_be_longer_than_any_timer(seconds: str, atomsan: Atomsan) -> None:
    """A configuration file can have it, too."""
    Path("t.std").write_text("T1|r(x)|1\n")
    for verb in ("check", "sets", "predict"):
        assert atomsan(verb, "t.std", "--timeout", seconds).code == 0
    Path("atomsan.toml").write_text(f"timeout = {float(seconds)}")
    assert atomsan("check", "t.std").code == 0


def test_timeout_ends_a_wait_for_input() -> None:
    with subprocess.Popen(
        command("check", "-", "-o", "r.json", "--timeout", "1", "--input-format", "std"),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as running:
        assert running.stdin
        assert running.stderr
        running.stdin.write(LOST.encode() * 40_000)
        running.stdin.flush()
        start = time.monotonic()
        code = running.wait(20)
        assert time.monotonic() - start < 10
        content = json.loads(Path("r.json").read_text())
        assert running.stderr.read().startswith(b"atomsan: out of time after ")
    assert code == 3
    assert content["verdict"] == "violated", "what was found so far"
    assert content["violations"] > 0
    assert content["trace"]["complete"] is False


def test_check_of_a_small_trace_imports_little() -> None:
    script = (
        "import sys; from atomsan.cli.main import main; main(sys.argv[1:]);"
        "print(*{name.split('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, "check", "lost.std"], capture_output=True, text=True, env=environment()
    )
    assert not {"pyarrow", "rich", "jinja2"} & set(ran.stderr.split())
    Path("fine.std").write_text("T1|r(x)|1\n")
    ran = subprocess.run(
        [sys.executable, "-c", script.replace(".split('.')[0]", ""), "check", "fine.std"],
        capture_output=True,
        text=True,
        env=environment(),
    )
    only_for_findings = {"atomsan.findings.making", "atomsan.reports.json", "atomsan.trace.writing"}
    assert not only_for_findings & set(ran.stderr.split())


def test_algorithms(atomsan: Atomsan) -> None:
    text = atomsan("algorithms").out
    content = json.loads(atomsan("algorithms", "--format", "json").out)
    assert content["schema"] == "atomsan-algorithms/1"
    names = [row["name"] for row in content["algorithms"]]
    assert names == ["auto", *CHECKERS, "atomic-sets", *PREDICTORS]
    assert text.splitlines()[0].split() == ["NAME", "PROPERTY", "PROMISES", "COST", "PAPER", "VERB"]
    assert [line.split()[0] for line in text.splitlines()[1:]] == names


def test_a_pipe_is_read_once() -> None:
    os.mkfifo("pipe.std")
    with subprocess.Popen(["timeout", "20", "sh", "-c", "cat lost.std > pipe.std"]):
        ran = process("check", "pipe.std")
    assert ran.code == 1


def test_the_readme_shows_what_is_printed(monkeypatch: pytest.MonkeyPatch, atomsan: Atomsan) -> None:
    root = Path(__file__).parents[2]
    monkeypatch.chdir(root)
    shown = (root / "README.md").read_text().partition("$ atomsan check examples/bank.std\n")[2].partition("    ...")[0]
    out = atomsan("check", "examples/bank.std").out
    assert out.startswith("".join(line[4:] or "\n" for line in shown.splitlines(keepends=True)))
