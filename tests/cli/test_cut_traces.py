"""A trace of which events are missing: no verb says that it holds, and each says what is missing, also with --quiet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import atomsan as package
from atomsan.trace.writing import write_trace
from cli.running import Atomsan

WHY = "recording stopped after 9 events (--max-events)"
SERIAL = " ".join(
    f"{thread}:{step}"
    for thread in ("T1", "T2")
    for step in ("begin(m:f)", "acq(l)", "r(C.x)", "w(C.x)", "rel(l)", "end(m:f)")
)
TORN = "T1:begin(m:f) T1:r(C.x) T2:w(C.x) T1:w(C.x) T1:end(m:f)"

VERBS = {
    "check": ["check"],
    "one checker": ["check", "--algorithm", "velodrome"],
    "sets": ["sets"],
    "patterns": ["sets", "--method", "patterns"],
    "predict": ["predict"],
    "views": ["predict", "--method", "view", "--method", "commit-node"],
}


def stored(name: str, notation: str = SERIAL, *, cut: str | None = WHY, complete: bool = False) -> str:
    trace = package.parse(notation)
    trace.meta.complete, trace.meta.cut = complete, cut
    write_trace(trace, name)
    return name


@pytest.mark.parametrize("name", ["t.atomtrace", "t.parquet"])
@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_says_that_it_holds(verb: str, name: str, atomsan: Atomsan) -> None:
    stored(name)
    ran = atomsan(*VERBS[verb], name)
    assert ran.code == 3
    assert f"{name}: unknown, " in ran.out
    assert "holds" not in ran.out
    assert "proved" not in ran.out
    assert f"atomsan: warning: {name}: {WHY}\n" in ran.err


@pytest.mark.parametrize("verb", VERBS)
def test_quiet_leaves_that_warning(verb: str, atomsan: Atomsan) -> None:
    ran = atomsan(*VERBS[verb], "--quiet", stored("t.atomtrace"))
    assert (ran.code, ran.err) == (3, f"atomsan: warning: t.atomtrace: {WHY}\n")


@pytest.mark.parametrize("verb", VERBS)
def test_json(verb: str, atomsan: Atomsan) -> None:
    ran = atomsan(*VERBS[verb], "-q", "--format", "json", "-o", "r.json", stored("t.atomtrace"))
    report = json.loads(ran.out)
    assert report == json.loads(Path("r.json").read_text())
    assert report["verdict"] == "unknown"
    assert report["reason"]
    assert report["trace"]["complete"] is False
    assert WHY in report["warnings"]
    assert {result["verdict"] for result in report["results"].values()} <= {"unknown"}
    for kind in ("conflict_atomic", "view_atomic"):
        assert report.get(kind) is None
    if "conflict_atomic" in report:
        assert report["conflict_atomic_reason"] == WHY


@pytest.mark.parametrize("verb", VERBS)
def test_whole_trace_holds(verb: str, atomsan: Atomsan) -> None:
    ran = atomsan(*VERBS[verb], "-q", stored("t.atomtrace", complete=True))
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize("verb", ["check", "sets", "predict"])
def test_what_is_found_stays(verb: str, atomsan: Atomsan) -> None:
    ran = atomsan(verb, "-q", stored("t.atomtrace", TORN))
    assert (ran.code, ran.err) == (1, f"atomsan: warning: t.atomtrace: {WHY}\n")
    assert "t.atomtrace: violated" in ran.out


def test_bundle_without_a_reason(atomsan: Atomsan) -> None:
    """Of a recorder that was killed, or of an older version."""
    stored("t.atomtrace", cut=None)
    ran = atomsan("check", "-q", "t.atomtrace")
    assert (ran.code, ran.err) == (
        3,
        "atomsan: warning: t.atomtrace: the recording was cut short: 12 events are there\n",
    )
    assert "unknown, the recording was cut short" in ran.out
    stored("u.atomtrace", TORN, cut=None)
    ran = atomsan("check", "-q", "--first", "u.atomtrace")
    assert (ran.code, "the recording was cut short" in ran.err) == (1, True)


def test_highest_code_of_several_traces(atomsan: Atomsan) -> None:
    stored("whole.atomtrace", TORN, complete=True)
    stored("cut.atomtrace")
    ran = atomsan("check", "-q", "whole.atomtrace", "cut.atomtrace")
    assert ran.code == 3
    assert "whole.atomtrace: violated" in ran.out


def test_refined_specification_says_what_was_missing(atomsan: Atomsan) -> None:
    ran = atomsan("refine", "-q", stored("t.atomtrace", TORN), "-o", "spec.toml")
    assert (ran.code, ran.err) == (3, f"atomsan: warning: t.atomtrace: {WHY}\n")
    assert f"# Left: what is missing of t.atomtrace: {WHY}." in Path("spec.toml").read_text()
    ran = atomsan("refine", "-q", stored("u.atomtrace", TORN, complete=True), "-o", "whole.toml")
    assert (ran.code, ran.err) == (0, "")
    assert "missing" not in Path("whole.toml").read_text()


def test_other_verbs_keep_the_warning(atomsan: Atomsan) -> None:
    stored("t.atomtrace")
    said = f"atomsan: warning: t.atomtrace: {WHY}\n"
    assert atomsan("validate", "-q", "t.atomtrace")[::2] == (0, said)
    assert atomsan("convert", "-q", "t.atomtrace", "t.parquet")[::2] == (0, said)
    assert atomsan("check", "-q", "t.parquet").code == 3


def test_format_that_cannot_say_it(atomsan: Atomsan) -> None:
    stored("t.atomtrace")
    for name in ("t.std", "t.csv", "t.trace"):
        ran = atomsan("convert", "-q", "t.atomtrace", name)
        assert (
            f"warning: {name}: events are missing ({WHY}), but {name[2:].replace('trace', 'notation')} cannot"
            in ran.err
        )
    stored("whole.atomtrace", complete=True)
    assert atomsan("convert", "-q", "whole.atomtrace", "whole.std").err == ""


def test_reports_in_python() -> None:
    stored("t.atomtrace")
    for report in (package.check("t.atomtrace"), package.sets("t.atomtrace"), package.predict("t.atomtrace")):
        assert (report.verdict, report.cut, report.reason) == ("unknown", WHY, WHY)
        assert WHY in report.warnings
        assert f"unknown, {WHY}" in str(report)
    assert package.check(package.load("t.atomtrace")).verdict == "unknown"
    assert package.check(stored("u.atomtrace", TORN)).verdict == "violated"
    assert package.check(stored("v.atomtrace", complete=True)).cut is None
