"""The triage table after a run: the noisiest regions, and the lines for the specification that change them."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import atomsan
from atomsan import Report
from atomsan.findings.finding import Finding
from atomsan.findings.reasons import ACROSS, COMMUTES
from atomsan.findings.triage import MOST_MERGES, MOST_ROWS, triage
from atomsan.reports.text import render
from cli.running import environment, process
from findings.made import made, step


def finding(path: str, region: str = "m:f", count: int = 1, why: str | None = None) -> Finding:
    """`T read A#1.x > U write A#1.x > T write A#1.x`: of the objects `A #1` and so on."""
    steps = [
        replace(one, object=one.location.partition(".")[0].replace("#", " #"), path=path_of(one.location))
        for one in (step(words, number) for number, words in enumerate(path.split(" > ")))
    ]
    steps = [replace(one, field=one.location.rpartition(".")[2], owner_object=None) for one in steps]
    return replace(made(path), region=region, count=count, why=why, witness=tuple(steps))


def path_of(location: str) -> str:
    of, _, field = location.partition(".")
    return f"{of.partition('#')[0]}.{field}"


def parsed(line: str) -> dict[str, Any]:
    """A line of the table, parsed as a specification."""
    return tomllib.loads(line.replace("[sets] ", "[sets]\n"))


INSIDE = "T read A#1.x > U write A#1.x > U write A#1.y > T read A#1.y"
ACROSS_OBJECTS = "T write A#1.x > U read A#1.x > U read B#4.y > T write B#4.y"


def test_findings_come_before_suspects_and_the_noisiest_first() -> None:
    rows = triage(
        [finding(INSIDE, "m:f", 3), finding(INSIDE, "m:g", 5), finding("T read A#1.x > U write A#1.x > T read A#1.x")],
        [finding(ACROSS_OBJECTS, "m:h", 100, ACROSS.why), finding(ACROSS_OBJECTS, "m:i", 200, COMMUTES.why)],
    )
    assert [(row.region, row.findings, row.suspects, row.seen) for row in rows] == [
        ("m:g", 1, 0, 5),
        ("m:f", 2, 0, 4),
        ("m:h", 0, 1, 100),
    ]
    assert rows[0].fields == ("x", "y")
    assert rows[2].fields == ("A.x", "B.y")
    assert [(row.exclude is None, row.split is None, row.merge is None) for row in rows] == [
        (False, False, True),
        (False, False, True),
        (True, True, False),
    ]


def test_table_is_limited_to_ten_rows_and_five_merges() -> None:
    found = [finding(INSIDE, f"m:f{number}") for number in range(50)]
    suspects = [finding(ACROSS_OBJECTS, f"m:g{number}", why=ACROSS.why) for number in range(50)]
    rows = triage(found, suspects)
    assert [bool(row.findings) for row in rows] == [True] * MOST_ROWS + [False] * MOST_MERGES


@pytest.mark.parametrize(
    ("region", "expected"),
    [
        ("m:f", ["m:f"]),
        ("m:f/with:3", ["m:f", "m:f/*"]),
        ("m:C.<locals>[x]", ["m:C.<locals>[[]x]"]),
        ('m:"', ['m:"']),
    ],
)
def test_exclude_line_names_the_region(region: str, expected: list[str]) -> None:
    (row,) = triage([finding(INSIDE, region)])
    assert parsed(row.exclude or "") == {"not_atomic": expected}


@pytest.mark.parametrize(
    ("path", "divided", "held", "expected"),
    [
        # no object holds the other: the region is marked atomic, and the default for the others is kept
        (ACROSS_OBJECTS, {}, {}, {"atomic": ["m:f"], "default": "functions"}),
        (ACROSS_OBJECTS, {}, {"C.a": ["A"]}, {"atomic": ["m:f"], "default": "functions"}),
        # one object holds the other, in either direction
        (ACROSS_OBJECTS, {}, {"A.log": ["C", "B"]}, {"sets": {"A": ["*", "log.*"]}}),
        (ACROSS_OBJECTS, {}, {"B.owner": ["A"]}, {"sets": {"B": ["*", "owner.*"]}}),
        # and its class was split before: the set of the accessed field grows
        (ACROSS_OBJECTS, {"A": ["x", "z"]}, {"A.log": ["B"]}, {"sets": {"A": ["x", "z", "log.*"]}}),
        (ACROSS_OBJECTS, {"A:n": ["x"], "A": ["z"]}, {"A.log": ["B"]}, {"sets": {"A:n": ["x", "log.*"]}}),
        (ACROSS_OBJECTS, {"A": ["z"]}, {"A.log": ["B"]}, {"sets": {"A:x": ["log.*", "x"]}}),
        # a third object holds both
        (ACROSS_OBJECTS, {}, {"Bank.as": ["A"], "Bank.b": ["B"]}, {"sets": {"Bank": ["as.*", "b.*"]}}),
        (ACROSS_OBJECTS.replace("B#4", "A#4"), {}, {"Bank.as": ["A"]}, {"sets": {"Bank": ["as.*"]}}),
        # one object, whose class was split
        (INSIDE, {"A": ["x"]}, {}, {"sets": {"A": ["x", "y"]}}),
        (INSIDE, {"A": ["z"]}, {}, {"sets": {"A:x-y": ["x", "y"]}}),
        (INSIDE, {"A": ["x", "z"], "A:log": ["y"]}, {}, {"sets": {"A": ["x", "z", "y"]}}),
        (INSIDE, {"*:some": ["y"]}, {}, {"sets": {"*:some": ["y", "x"]}}),
    ],
)
def test_merge_line_for_data_across_sets(path: str, divided: Any, held: Any, expected: Any) -> None:
    (row,) = triage([], [finding(path, why=ACROSS.why)], divided, held)
    assert parsed(row.merge or "") == expected
    assert (row.findings, row.suspects) == (0, 1)


# ---- the suggested lines, applied to recorded programs

HEAD = """
import mmap, threading, time

here = mmap.mmap(-1, 1)  # not watched: who does what when

def wait_for(step):
    while here[0] != step:
        time.sleep(0.001)
"""
TAIL = """
threads = [threading.Thread(target=target) for target in (change, look)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""

# One function updates two objects, each under its own lock.
TWO_OBJECTS = f"""{HEAD}
class Number:
    def __init__(self):
        self.lock = threading.Lock()
        self.value = 0
    def get(self):
        with self.lock:
            return self.value

class Account(Number): pass
class Log(Number): pass
account, log = Account(), Log()

def change():
    with account.lock:
        account.value += 1
    here[0] = 1
    wait_for(2)
    with log.lock:
        log.value += 1

def look():
    wait_for(1)
    account.get()
    log.get()
    here[0] = 2
{TAIL}"""

# One object has two fields, each under its own lock. `change`, a region too, calls the method.
TWO_FIELDS = f"""{HEAD}
class Account:
    def __init__(self):
        self.one, self.other = threading.Lock(), threading.Lock()
        self.checking = self.entries = 0
    def move(self):
        with self.one:
            self.checking += 1
        here[0] = 1
        wait_for(2)
        with self.other:
            self.entries += 1
    def seen(self):
        with self.one:
            checking = self.checking
        with self.other:
            return checking, self.entries

account = Account()

def change():
    here[0] = 0
    account.move()

def look():
    wait_for(1)
    account.seen()
    here[0] = 2
{TAIL}"""


# One object holds another, and its method updates both.
ONE_HOLDS = (
    TWO_OBJECTS.replace(
        "class Account(Number): pass\nclass Log(Number): pass\naccount, log = Account(), Log()\n",
        """
class Log(Number): pass
class Account(Number):
    def __init__(self):
        super().__init__()
        self.log = Log()
    def move(self):
        with self.lock:
            self.value += 1
        here[0] = 1
        wait_for(2)
        with self.log.lock:
            self.log.value += 1
    def seen(self):
        self.get()
        self.log.get()
account = Account()
""",
    )
    .replace(
        "    with account.lock:\n        account.value += 1\n    here[0] = 1\n    wait_for(2)\n"
        "    with log.lock:\n        log.value += 1\n",
        "    account.move()\n",
    )
    .replace("    account.get()\n    log.get()", "    account.seen()")
)

# A third object holds both; its method updates them.
BOTH_ARE_HELD = (
    ONE_HOLDS.replace(
        "class Account(Number):\n    def __init__(self):\n        super().__init__()\n        self.log = Log()",
        "class Account(Number): pass\n"
        "class Bank:\n    def __init__(self):\n        self.accounts, self.log = [Account()], Log()",
    )
    .replace(
        "with self.lock:\n            self.value += 1",
        "with self.accounts[0].lock:\n            self.accounts[0].value += 1",
    )
    .replace("self.get()", "self.accounts[0].get()")
    .replace("account = Account()", "account = Bank()")
)


@pytest.fixture(autouse=True)
def _own_directory(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ATOMSAN_CACHE", str(tmp_path_factory.getbasetemp() / "atomsan-cache"))


def run(text: str, spec: str = "") -> dict[str, Any]:
    """The JSON of `atomsan run`; the text that it printed is in `text`, the trace is kept."""
    Path("app.py").write_text(text)
    Path("spec.toml").write_text(spec)
    options = ("--spec", "spec.toml", "--all", "-o", "report.json", "--keep", "t.atomtrace", "--force")
    ran = process("run", *options, "app.py", env=environment())
    content: dict[str, Any] = json.loads(Path("report.json").read_text())
    assert ran.code == (1 if content["findings"] else 0), ran
    return content | {"text": ran.err}


def shown(content: dict[str, Any]) -> tuple[set[str], set[str]]:
    """The regions of findings and of suspects across sets."""
    across = {one["region"] for one in content["suspects"] if one["why"] == ACROSS.why}
    return {found["region"] for found in content["findings"]}, across


def of_sets(spec: str) -> Report:
    """`atomsan sets --spec` on the same run."""
    Path("spec.toml").write_text(spec)
    return atomsan.sets("t.atomtrace", spec="spec.toml")


def as_spec(line: str) -> str:
    return line.replace("[sets] ", "[sets]\n")


def test_merge_line_turns_a_suspect_on_two_objects_into_a_finding() -> None:
    content = run(TWO_OBJECTS)
    assert shown(content) == (set(), {"app:change"})
    (row,) = content["triage"]
    assert (row["set"], row["fields"]) == ("Account, Log", ["Account.value", "Log.value"])
    assert (row["findings"], row["suspects"], row["exclude"], row["split"]) == (0, 1, None, None)
    for line in row["merge"].splitlines():
        assert f"\n      {line}\n" in content["text"]
    assert of_sets("").serializable is True
    again = of_sets(as_spec(row["merge"]))
    assert [finding.region for finding in again.findings] == ["app:change"]
    assert (again.sets or {})["*"].serializable is False
    assert shown(run(TWO_OBJECTS, as_spec(row["merge"])))[0] == {"app:change"}


@pytest.mark.parametrize(
    ("text", "region", "merge"),
    [
        (ONE_HOLDS, "app:Account.move", {"Account": ["*", "log.*"]}),
        (BOTH_ARE_HELD, "app:Bank.move", {"Bank": ["accounts.*", "log.*"]}),
    ],
)
def test_merge_line_of_held_objects_names_their_holder(text: str, region: str, merge: dict[str, list[str]]) -> None:
    content = run(text)
    assert shown(content) == (set(), {region})
    (row,) = content["triage"]
    assert parsed(row["merge"]) == {"sets": merge}
    # which objects the fields hold is recorded only under a specification with such paths
    (warning,) = of_sets(as_spec(row["merge"])).warnings
    assert "was not recorded" in warning
    assert shown(run(text, as_spec(row["merge"]))) == ({region}, set())
    assert [finding.region for finding in of_sets(as_spec(row["merge"])).findings] == [region]


def statuses(content: dict[str, Any], level: str) -> set[tuple[str, str]]:
    return {(one["region"], one["status"]) for one in content[level]}


# `seen` was not torn apart: the map shows when it ran. Prediction knows nothing of the map.
BOTH = {("app:Account.move", "observed"), ("app:Account.seen", "predicted")}


def test_split_line_silences_a_finding_and_merge_line_restores_it() -> None:
    content = run(TWO_FIELDS)
    assert (statuses(content, "findings"), content["suspects"]) == (BOTH, [])
    row, other = content["triage"]
    assert (row["region"], row["set"], row["fields"]) == ("app:Account.move", "Account", ["checking", "entries"])
    assert (other["region"], other["split"]) == ("app:Account.seen", row["split"])
    divided = as_spec(row["split"])
    assert parsed(row["split"]) == {"sets": {"Account": ["checking"]}}
    assert of_sets(divided).serializable is True
    content = run(TWO_FIELDS, divided)
    assert shown(content) == (set(), {"app:Account.move", "app:Account.seen"})
    row, other = content["triage"]
    assert parsed(row["merge"]) == parsed(other["merge"]) == {"sets": {"Account": ["checking", "entries"]}}
    assert [finding.region for finding in of_sets(as_spec(row["merge"])).findings] == ["app:Account.move"]
    assert statuses(run(TWO_FIELDS, as_spec(row["merge"])), "findings") == BOTH


def test_excluded_function_does_not_count_as_code_of_its_caller() -> None:
    row, other = run(TWO_FIELDS)["triage"]
    content = run(TWO_FIELDS, as_spec(row["exclude"]))
    assert statuses(content, "findings") == {("app:Account.seen", "predicted")}
    assert {one["region"] for one in (*content["suspects"], *content["notes"])} == {"app:change"}
    assert of_sets(as_spec(row["exclude"])).findings == []
    names = [name for one in (row, other) for name in parsed(one["exclude"])["not_atomic"]]
    assert run(TWO_FIELDS, f"not_atomic = {json.dumps(names)}")["findings"] == []


def test_set_of_all_data_exists_only_with_a_marked_region() -> None:
    run(TWO_OBJECTS)
    assert "*" not in (of_sets('not_atomic = ["app:look"]').sets or {})
    # `change` updates one object at a time, so that `look` fits between its two updates
    assert (of_sets('atomic = ["app:look"]').sets or {})["*"].serializable is True
    ran = process("sets", "t.atomtrace", "--atomic", "app:change", "--format", "json")
    assert ran.code == 1
    assert json.loads(ran.out)["sets"]["*"]["serializable"] is False


def test_no_table_without_findings_and_suspects() -> None:
    content = run("print('nothing')")
    assert "triage" not in content
    assert "specification" not in content["text"]


def test_merge_lines_are_shown_only_with_steps() -> None:
    suspect = finding(ACROSS_OBJECTS, why=ACROSS.why)
    report = replace(atomsan.check(atomsan.parse("T:r(x)")), suspects=[suspect], sets={})
    assert "across sets" not in render([report])
    assert render([report], with_notes=True).endswith(
        "what is across sets, and the lines for the specification that make findings of it:\n"
        "  once in 1 suspect: m:f on A.x, B.y\n"
        '      atomic = ["m:f"]\n'
        '      default = "functions"\n'
    )
