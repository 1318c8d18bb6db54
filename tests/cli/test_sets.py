"""`atomsan sets`: what is printed, the JSON, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.running import Atomsan, assert_refused

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("name", ["account", "account-oneset", "nopattern", "pattern11"])
def test_golden_traces(atomsan: Atomsan, name: str) -> None:
    path = GOLDEN / f"sets-{name}.std"
    answers = json.loads(path.with_suffix(".json").read_text())["atomic_sets"]
    ran = atomsan("sets", path, "--sets", path.with_suffix(".json"), "--format", "json")
    content = json.loads(ran.out)
    assert ran.code == int(not answers["serializable"])
    assert content["algorithm"] == "atomic-sets"
    assert content["serializable"] == answers["serializable"]
    assert sorted(map(int, content["patterns"])) == answers["patterns"]
    assert {name: facts["serializable"] for name, facts in content["sets"].items()} == {
        name: facts["serializable"] for name, facts in answers["per_set"].items()
    }


def test_text(atomsan: Atomsan) -> None:
    path = GOLDEN / "sets-pattern11.std"
    ran = atomsan("sets", path, "--sets", path.with_suffix(".json"))
    assert "1 of 1 set not serializable, 4 matches of patterns, " in ran.out
    assert "set S: not serializable, patterns 1 (2), 2 (1), 11 (1)" in ran.out
    assert "found by projection and pattern 11" in ran.out


def test_patterns_alone_prove_nothing(atomsan: Atomsan) -> None:
    path = GOLDEN / "sets-nopattern.std"
    ran = atomsan("sets", path, "--sets", path.with_suffix(".json"), "--method", "patterns")
    assert ran.code == 0
    assert ran.out.startswith(f"{path}: unknown, no pattern matches, which proves nothing")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("sets = 3", "'sets' must be a table of lists"),
        ("[sets]\nS = 3", "'sets.S' must be a list of texts"),
        ("[sets]\nS = ['x']\n[declared]\nm = [1]", "'declared.m' must be a list of texts"),
        ("x = 1", "has no table 'sets'"),
        ("[", "not valid TOML"),
    ],
)
def test_invalid_file_of_sets_is_refused(atomsan: Atomsan, tmp_path: Path, content: str, what: str) -> None:
    sets = tmp_path / "sets.toml"
    sets.write_text(content)
    assert_refused(atomsan("sets", GOLDEN / "sets-account.std", "--sets", sets), f"{sets}: {what}")
    assert_refused(atomsan("sets", GOLDEN / "sets-account.std", "--sets", tmp_path / "no.toml"), "cannot be read")
