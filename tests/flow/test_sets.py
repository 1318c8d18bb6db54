"""`atomsan.sets`: the verdict of each atomic set, against the definitions and the golden answers."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import atomsan
from atomsan import InputError, TraceBuilder
from atomsan.reports.text import render
from checkers.set_rows import random_case
from oracles import atomic_sets
from oracles.model import Step

GOLDEN = Path(__file__).parents[1] / "golden"
EXAMPLES = sorted(GOLDEN.glob("sets-*.std"))
METHODS = ("patterns", "projection", "both")


def built(steps: list[Step]) -> atomsan.Trace:
    builder = TraceBuilder()
    for thread, op, target, *_ in steps:
        builder.add(thread, op, target)
    return builder.build()


def answer(report: atomsan.Report) -> dict[str, Any]:
    """In the shape of the golden files."""
    content = report.to_dict()
    return {
        "patterns": sorted(map(int, content["patterns"])),
        "serializable": content["serializable"],
        "per_set": {
            name: {"patterns": sorted(map(int, facts["patterns"])), "serializable": facts["serializable"]}
            for name, facts in content["sets"].items()
        },
    }


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_golden_traces_give_the_expected_answers(path: Path) -> None:
    given = json.loads(path.with_suffix(".json").read_text())
    report = atomsan.sets(path, given["sets"], given["declared"])
    assert answer(report) == given["atomic_sets"]
    assert report.verdict == ("holds" if given["atomic_sets"]["serializable"] else "violated")
    assert bool(report.findings) == (not given["atomic_sets"]["serializable"])


def test_generated_traces_agree_with_the_oracle() -> None:
    """Symbols, units, both engines and the report together."""
    rng = random.Random(5)
    broken = 0
    for _ in range(2000):
        steps, sets, declared = random_case(rng)
        trace = built(steps)
        expected = atomic_sets.check(steps, sets, declared)
        broken += not expected["serializable"]
        report = atomsan.sets(trace, sets, declared)
        assert answer(report) == expected, (steps, sets, declared)
        assert bool(report.findings) == (not expected["serializable"])
        shown = {name for finding in report.findings for name in finding.found_by} - {"projection"}
        assert shown <= {f"pattern {number}" for number in expected["patterns"]}
        by_patterns = atomsan.sets(trace, sets, declared, method="patterns")
        assert answer(by_patterns)["patterns"] == expected["patterns"]
        assert by_patterns.serializable is (False if expected["patterns"] else None)
        assert bool(by_patterns.findings) == bool(expected["patterns"])
        by_projection = atomsan.sets(trace, sets, declared, method="projection")
        assert by_projection.serializable == expected["serializable"]
    assert 400 < broken < 1600


def test_generated_traces_with_callbacks_agree_with_the_oracle() -> None:
    """Some regions are callbacks, each of which starts a new unit of work."""
    rng = random.Random(6)
    differ = unseen = 0
    for _ in range(2000):
        steps, sets, declared = random_case(rng)
        back = rng.sample("mno", rng.randint(1, 2))
        trace = built(steps)
        for number, name in enumerate(trace.symbols.regions):
            if name in back:
                trace.symbols.regions.set(number, "entered", "callback")
        expected = atomic_sets.check(steps, sets, declared, back)
        differ += expected != atomic_sets.check(steps, sets, declared)
        by_projection = atomsan.sets(trace, sets, declared, method="projection")
        assert by_projection.serializable == expected["serializable"], (steps, sets, declared, back)
        # the patterns also see conflicts across writes of other units in between
        unseen += expected["serializable"] and bool(expected["patterns"])
        for answers in expected["per_set"].values():
            answers["serializable"] &= not answers["patterns"]
        expected["serializable"] &= not expected["patterns"]
        report = atomsan.sets(trace, sets, declared)
        assert answer(report) == expected, (steps, sets, declared, back)
        assert bool(report.findings) == (not expected["serializable"])
    assert differ > 100
    assert unseen > 0


def test_serializable_trace_is_serializable_on_each_set() -> None:
    """Units of work lie inside transactions, so `atomsan run` need not check the sets of a serializable trace."""
    rng = random.Random(7)
    whole = 0
    for _ in range(3000):
        steps, sets, declared = random_case(rng)
        trace = built(steps)
        if not atomsan.check(trace, "aerodrome", explain=False).serializable:
            continue
        whole += 1
        back = rng.sample("mno", rng.randint(0, 2))
        answer = atomic_sets.check(steps, sets, declared, back)
        assert (answer["serializable"], answer["patterns"]) == (True, []), (steps, sets, declared, back)
    assert whole > 300


def test_findings_name_the_methods_that_found_them() -> None:
    path = GOLDEN / "sets-pattern11.std"
    given = json.loads(path.with_suffix(".json").read_text())
    found = {name for finding in atomsan.sets(path, given["sets"]).findings for name in finding.found_by}
    assert found == {"projection", "pattern 1", "pattern 2", "pattern 11"}
    only = {finding.found_by for finding in atomsan.sets(path, given["sets"], method="patterns").findings}
    assert only == {("patterns", "pattern 1"), ("patterns", "pattern 2"), ("patterns", "pattern 11")}


LOST = "T:begin(f) T:r(a.x) U:w(a.x) T:w(a.x) T:end(f)"
ACROSS = "T:begin(f) T:w(a.x) U:begin(g) U:r(a.x) U:w(b.y) U:end(g) T:r(b.y) T:end(f)"


def test_default_set_is_the_prefix_before_the_dot() -> None:
    report = atomsan.sets(atomsan.parse(LOST))
    assert {name: facts.serializable for name, facts in (report.sets or {}).items()} == {"a": False}
    report = atomsan.sets(atomsan.parse(ACROSS))
    assert {name: facts.serializable for name, facts in (report.sets or {}).items()} == {"a": True, "b": True}
    assert not atomsan.check(atomsan.parse(ACROSS)).serializable


def test_variables_without_a_dot_are_one_set() -> None:
    report = atomsan.sets(atomsan.parse(ACROSS.replace("a.", "").replace("b.", "")))
    assert {name: facts.serializable for name, facts in (report.sets or {}).items()} == {"*": False}


def test_set_members_match_as_names_and_as_globs() -> None:
    trace = atomsan.parse("T:begin(f) T:r(x[0]) U:w(x[0]) T:w(x[0]) T:end(f)")
    assert atomsan.sets(trace, {"S": ["x[0]"]}).serializable is False
    assert atomsan.sets(trace, {"S": ["x*"]}).serializable is False
    assert atomsan.sets(trace, {"S": ["y*"]}).serializable is True


def test_sets_are_taken_from_the_specification(tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text('[sets]\none = ["a.*", "b.*"]\n')
    assert atomsan.sets(atomsan.parse(ACROSS), spec=spec).serializable is False


def test_unknown_method_is_refused() -> None:
    with pytest.raises(InputError, match="unknown method 'all'"):
        atomsan.sets(atomsan.parse(LOST), method="all")  # type: ignore[arg-type]


def test_timeout_keeps_what_was_found() -> None:
    report = atomsan.sets(atomsan.parse(LOST), timeout=1e-9)
    assert (report.verdict, report.stopped) == ("violated", "out of time")
    assert atomsan.sets(atomsan.parse(ACROSS), timeout=1e-9).reason == "out of time"
    by_patterns = atomsan.sets(atomsan.parse(LOST), method="patterns", timeout=1e-9)
    assert (by_patterns.patterns, by_patterns.stopped) == ({"1": 1}, "out of time")


def test_interrupt_while_looking_up_accesses_keeps_the_match_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("atomsan.flow.set_check.accesses_of", stop)
    report = atomsan.sets(atomsan.parse(LOST), method="patterns")
    assert (report.patterns, report.stopped) == ({"1": 1}, "interrupted")
    assert (report.verdict, report.reason, report.findings) == ("unknown", "interrupted", [])


def seen_twice(name: str, locations: int) -> str:
    """T reads many locations, U writes them all, T reads them again: pattern 2 for each, 11 for any two."""
    words = [[f"{who}({name}.x{number})" for number in range(locations)] for who in ("T:r", "U:w", "T:r")]
    return " ".join(["T:begin(f) U:begin(g)", *words[0], *words[1], *words[2], "U:end(g) T:end(f)"])


def test_capped_match_counts_are_reported_as_lower_bounds() -> None:
    trace = atomsan.parse(f"{seen_twice('many', 400)} {seen_twice('few', 3)}")
    report = atomsan.sets(trace)
    assert {name: facts.is_capped for name, facts in (report.sets or {}).items()} == {"many": True, "few": False}
    assert 100_000 <= sum((report.sets or {})["many"].patterns.values()) < 400 + 400 * 399
    assert (report.sets or {})["few"].patterns == {"2": 3, "11": 3, "12": 3}
    (warning,) = report.warnings
    assert warning == "matches of patterns are counted up to 100,000 in a set: set many may have more"
    content = report.to_dict()
    assert content["warnings"] == [warning]
    assert [content["sets"][name].get("capped") for name in ("many", "few")] == [True, None]
    assert content["counters"]["patterns.capped_sets"] == 1
    (line,) = [line for line in render([report]).splitlines() if "set many" in line]
    assert line.endswith("; there may be more, they were not counted further")
    assert " not serializable, at least 100," in render([report])


def test_complete_match_counts_are_reported_without_a_warning() -> None:
    report = atomsan.sets(atomsan.parse(seen_twice("some", 300)))
    assert report.patterns == {"2": 300, "11": 300 * 299 // 2, "12": 300 * 299 // 2}
    assert not report.warnings
    assert report.counters["patterns.capped_sets"] == 0
    assert report.to_dict()["warnings"] == []
    assert "at least" not in render([report])


def test_each_conflict_of_two_units_is_shown() -> None:
    """The first conflict may be harmless, such as two appends, and the next one not."""
    trace = atomsan.parse("T:begin(f) T:w(o.s) T:r(o.x) U:begin(g) U:w(o.s) U:w(o.x) U:end(g) T:w(o.x) T:end(f)")
    found = {finding.pattern: finding.found_by for finding in atomsan.sets(trace).findings}
    assert found == {
        "lost update": ("projection", "pattern 1"),
        "inconsistent view": ("projection", "pattern 6"),
    }
