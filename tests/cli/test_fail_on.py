"""`--fail-on`: suspects make the exit code 1 if that is wanted; verdict and headline stay those of findings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.running import Atomsan, assert_refused
from flow.test_check_recorded import LOST_UPDATE, recorded

WHOLE_CONTAINER = {"class": "C.items", "field": "<any key>"}


@pytest.fixture(autouse=True)
def _trace(_here: None) -> None:
    """A trace with a suspect and no finding."""
    recorded(LOST_UPDATE, {"f": "function"}, **WHOLE_CONTAINER).save("t.atomtrace")


@pytest.mark.parametrize("verb", ["check", "sets"])
def test_suspects_fail_a_check_only_if_asked_for(atomsan: Atomsan, verb: str) -> None:
    ran = atomsan(verb, "t.atomtrace", "-o", "r.json")
    report = json.loads(Path("r.json").read_text())
    assert (report["verdict"], report["findings"]) == ("holds", [])
    assert report["suspects"]
    assert ran.code == 0
    assert ran.out.startswith("t.atomtrace: holds")
    assert atomsan(verb, "t.atomtrace", "--fail-on", "suspects").code == 1
    assert atomsan(verb, "t.atomtrace", "--fail-on", "suspects,suspects").code == 1
    Path("atomsan.toml").write_text('fail-on = ["suspects"]\n')
    assert atomsan(verb, "t.atomtrace").code == 1


def test_unknown_kinds_are_refused(atomsan: Atomsan) -> None:
    for given in ("rates", "suspects,rates"):
        assert_refused(
            atomsan("check", "t.atomtrace", "--fail-on", given),
            "--fail-on must be one of suspects, race, deadlock, not 'rates'",
        )
    Path("atomsan.toml").write_text('fail-on = "suspects, deadlocks"\n')
    refused = "'fail-on' must be one of suspects, race, deadlock, not 'deadlocks'"
    assert_refused(atomsan("check", "t.atomtrace"), refused)
