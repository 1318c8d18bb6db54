from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.running import Atomsan, process

GOOD = "T1|r(x)|1\nT1|w(x)|2\n"
BAD = "T1|r(x)|1\nT1|rel(l)|2\nT1|rel(m)|3\n"


@pytest.fixture(autouse=True)
def _traces(_here: None) -> None:
    Path("good.std").write_text(GOOD)
    Path("bad.std").write_text(BAD)


def test_well_formed(atomsan: Atomsan) -> None:
    assert atomsan("validate", "good.std") == (0, "good.std: well-formed, 2 events\n", "")


def test_malformed(atomsan: Atomsan) -> None:
    assert atomsan("validate", "bad.std") == (
        2,
        "",
        "atomsan: bad.std:2: T1 releases lock l, which nobody holds\n",
    )


def test_all_traces_are_checked_and_the_highest_exit_code_given(atomsan: Atomsan) -> None:
    ran = atomsan("validate", "missing.std", "bad.std", "good.std")
    assert ran.code == 2
    assert ran.out == "good.std: well-formed, 2 events\n"
    assert ran.err.splitlines() == [
        "atomsan: missing.std: no such file or directory",
        "atomsan: bad.std:2: T1 releases lock l, which nobody holds",
    ]


def test_lenient_repairs_and_says_so(atomsan: Atomsan) -> None:
    assert atomsan("validate", "--lenient", "bad.std") == (
        0,
        "bad.std: repaired, 1 event\n"
        "  dropped a release of a lock that nobody held, 2 times"
        " (first: bad.std:2: T1 releases lock l, which nobody holds)\n",
        "",
    )


def test_json(atomsan: Atomsan) -> None:
    ran = atomsan("validate", "good.std", "bad.std", "--format", "json", "-o", "r.json")
    assert ran.code == 2
    assert Path("r.json").read_text() == ran.out
    found = json.loads(ran.out)
    assert found["schema"] == "atomsan-validate/1"
    good, bad = found["traces"]
    assert (good["well_formed"], good["events"], good["error"]) == (True, 2, None)
    assert (bad["well_formed"], bad["error"]["line"], bad["error"]["event"]) == (False, 2, 1)
    assert bad["error"]["message"] == "T1 releases lock l, which nobody holds"


def test_json_of_a_repair(atomsan: Atomsan) -> None:
    (found,) = json.loads(atomsan("validate", "bad.std", "--lenient", "--format", "json").out)["traces"]
    assert (found["well_formed"], found["events"], found["repairs"][0]["count"]) == (False, 1, 2)


def test_standard_input() -> None:
    assert process("validate", "-", input=BAD.encode()).err.startswith("atomsan: standard input:2: ")
