"""Atomic sets that span objects, from the program to the report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from atomsan.findings.reasons import ACROSS, NO_FLOW
from atomsan.trace.bundle import BundleSource
from cli.running import Atomsan, assert_refused, environment

# One thread stops in the middle of `deposit`, until the other has looked. Pipes split no regions, and order nothing
# as far as prediction knows: that `view` could be torn apart, too, is predicted.
START = """
import os, threading
looks, look = os.pipe()
goes_on, go_on = os.pipe()

def between():
    os.write(look, b"x")
    os.read(goes_on, 1)

def viewer():
    os.read(looks, 1)
    print(thing.view())
    os.write(go_on, b"x")

def main():
    threads = [threading.Thread(target=viewer), threading.Thread(target=lambda: thing.change())]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(thing.view())
"""

ACCOUNT = """
class Log:
    def __init__(self): self.count = 0
    def add(self): self.count += 1
class Account:
    def __init__(self):
        self.checking, self.log = 0, Log()
    def change(self):
        self.checking += 1
        between()
        self.log.add()
    def view(self):
        return self.checking, self.log.count
thing = Account()
"""

BANK = """
class Account:
    def __init__(self): self.balance = 0
class Bank:
    def __init__(self):
        self.accounts = MADE
    def change(self):
        one, other = self.all()
        one.balance -= 1
        between()
        other.balance += 1
    def view(self):
        return sum(account.balance for account in self.all())
    def all(self):
        return ALL
thing = Bank()
"""

LINKED = """
class Node:
    def __init__(self, after): self.value, self.after = 0, after
class Linked:
    def __init__(self):
        self.head = Node(Node(None))
    def change(self):
        self.head.value += 1
        between()
        self.head.after.value -= 1
    def view(self):
        return self.head.value + self.head.after.value
thing = Linked()
"""

PROGRAMS = {
    "a field": (ACCOUNT, '"Account" = ["checking", "log.count"]'),
    "a list": (
        BANK.replace("MADE", "[Account(), Account()]").replace("ALL", "self.accounts"),
        '"Bank" = ["accounts.balance"]',
    ),
    "a dict": (
        BANK.replace("MADE", "{'a': Account(), 'b': Account()}").replace("ALL", "list(self.accounts.values())"),
        '"Bank" = ["*", "accounts.balance"]',
    ),
    "any depth": (LINKED, '"Linked" = ["head.**"]'),
}


# Of a bug in ACCOUNT: by status, the regions that it is in.
BOTH = {("app:Account.change", "observed"), ("app:Account.view", "predicted")}


def regions(found: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {(one["region"], one["status"]) for one in found}


def written(program: str, rule: str) -> None:
    Path("app.py").write_text(START + program + "\nmain()\n")
    Path("spec.toml").write_text(f"[sets]\n{rule}\n")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_bug_across_the_objects_of_one_set(atomsan: Atomsan, name: str) -> None:
    written(*PROGRAMS[name])
    plain = subprocess.run([sys.executable, "app.py"], capture_output=True, text=True, check=True)
    ran = atomsan("run", "--spec", "spec.toml", "-o", "r.json", "--keep", "t.atomtrace", "app.py")
    found = json.loads(Path("r.json").read_text())
    assert (ran.code, ran.out) == (1, plain.stdout)
    assert {finding["region"].rpartition(".")[2] for finding in found["findings"]} <= {"change", "view"}
    assert {finding["pattern"] for finding in found["findings"]} == {"inconsistent view"}
    assert "warning" not in ran.err
    sets = atomsan("sets", "t.atomtrace", "--spec", "spec.toml", "--format", "json")
    assert sets.code == 1
    assert "warning" not in sets.err
    broken = [set_ for set_, facts in json.loads(sets.out)["sets"].items() if facts["serializable"] is False]
    assert [set_.rpartition(" ")[2] for set_ in broken] == ["(set)"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_without_the_rule_it_is_a_suspect(atomsan: Atomsan, name: str) -> None:
    written(*PROGRAMS[name])
    ran = atomsan("run", "-o", "r.json", "--keep", "t.atomtrace", "app.py")
    found = json.loads(Path("r.json").read_text())
    assert (ran.code, found["findings"]) == (0, [])
    assert found["suspects"]
    assert found["verdict"] == "holds"
    # a rule that comes after the recording has nothing to go by, and says so
    for verb in ("sets", "check"):
        late = atomsan(verb, "t.atomtrace", "--spec", "spec.toml")
        assert late.code == 0
        assert late.err.count("\n") == 1
        assert "what these fields hold was not recorded, so sets end there: " in late.err
        assert "record with this specification" in late.err


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_safe_twin(atomsan: Atomsan, name: str) -> None:
    program, rule = PROGRAMS[name]
    lines = program.replace("        between()\n", "").splitlines()
    methods = ("    def change(self):", "    def view(self):")
    safe = "\n".join(f"    @locked\n{line}" if line in methods else line for line in lines)
    lock = """
lock = threading.RLock()
def locked(method):
    def call(self):
        with lock:
            return method(self)
    return call
def viewer():
    for _ in range(50): thing.view()
"""
    written(lock + safe, rule)
    app = Path("app.py").read_text().replace("lambda: thing.change()", "lambda: [thing.change() for _ in range(50)]")
    Path("app.py").write_text(app)
    ran = atomsan("run", "--noise", "--spec", "spec.toml", "app.py")
    assert ran.code == 0, ran.err
    assert "warning" not in ran.err


def test_method_that_only_calls_methods_of_its_parts(atomsan: Atomsan) -> None:
    """The method belongs to the class that owns the set, so it is one unit of work on the whole set."""
    program = (
        ACCOUNT.replace("self.checking, self.log = 0, Log()", "self.ins, self.outs = Log(), Log()")
        .replace("self.checking += 1\n", "self.ins.add()\n")
        .replace("self.log.add()", "self.outs.add()")
        .replace("self.checking, self.log.count", "self.ins.count, self.outs.count")
    )
    written(program, '"Account" = ["ins.count", "outs.count"]')
    assert atomsan("run", "-o", "r.json", "app.py").code == 0
    suspects = json.loads(Path("r.json").read_text())["suspects"]
    assert [one["why"] for one in suspects] == [ACROSS.why] * 2
    assert regions(suspects) == BOTH
    ran = atomsan("run", "--spec", "spec.toml", "-o", "r.json", "app.py")
    assert ran.code == 1, ran.err
    assert regions(json.loads(Path("r.json").read_text())["findings"]) == BOTH


@pytest.mark.parametrize("change", ["self.count += 1", "self.count = max(1, self.count)"])
def test_rule_does_not_tie_calls_that_have_nothing_to_do_with_each_other(atomsan: Atomsan, change: str) -> None:
    """It says which data belongs together, and not that two calls of one part are one step."""
    program = ACCOUNT.replace("self.checking += 1\n", "self.log.add()\n").replace(
        "return self.checking, self.log.count", "return self.log.count"
    )
    written(program.replace("self.count += 1", change), '"Account" = ["log.count"]')
    for options in ([], ["--spec", "spec.toml"]):
        assert atomsan("run", *options, "-o", "r.json", "app.py").code == 0
        found = json.loads(Path("r.json").read_text())
        assert [(one["region"], one["why"]) for one in found["suspects"]] == [("app:Account.change", NO_FLOW.why)]


def test_a_specification_for_a_recording(atomsan: Atomsan) -> None:
    written(*PROGRAMS["a field"])
    assert atomsan("record", "--spec", "spec.toml", "-o", "t.parquet", "app.py").code == 0
    ran = atomsan("sets", "t.parquet", "--spec", "spec.toml")
    assert (ran.code, ran.err) == (1, "")
    # the same rule in other words goes through nothing that is not known
    Path("spec.toml").write_text('[sets]\n"Acc*" = ["checking", "l*.count"]\n')
    ran = atomsan("sets", "t.parquet", "--spec", "spec.toml")
    assert (ran.code, ran.err) == (1, "")


def test_wrong_path_is_refused_before_the_program_runs(atomsan: Atomsan) -> None:
    Path("app.py").write_text("print('ran')")
    Path("spec.toml").write_text('[sets]\n"Account" = ["log..count"]\n')
    for verb in (["run"], ["record", "-o", "t.atomtrace"]):
        ran = atomsan(*verb, "--spec", "spec.toml", "app.py")
        assert_refused(ran, "'sets.Account': 'log..count' is no path of fields: a part of it is empty")
        assert ran.out == ""


def test_a_program_that_is_killed(atomsan: Atomsan) -> None:
    written(ACCOUNT, PROGRAMS["a field"][1])
    with open("app.py", "a") as file:
        file.write("os.kill(os.getpid(), 9)\n")
    assert atomsan("run", "--spec", "spec.toml", "--keep", "t.atomtrace", "app.py").code == 1
    assert BundleSource(Path("t.atomtrace")).meta.holders == {"Log #1": ["Account #1.log"]}


def test_suspects_fail_a_run_only_if_asked_for(atomsan: Atomsan) -> None:
    written(*PROGRAMS["a field"])
    assert atomsan("run", "app.py").code == 0
    assert atomsan("run", "--fail-on", "suspects", "app.py").code == 1
    assert atomsan("run", "--fail-on", "suspects", "--findings-exit-code", "42", "app.py").code == 42


def test_processes_that_are_forked(atomsan: Atomsan) -> None:
    program, rule = PROGRAMS["a field"]
    written(program + "\nthing.view()\nif os.fork(): os.wait(); os._exit(0)\n", rule)
    ran = atomsan("run", "--follow-fork", "--spec", "spec.toml", "-o", "r.json", "--keep", "t.atomtrace", "app.py")
    assert ran.code == 1, ran.err
    first, second = json.loads(Path("r.json").read_text())["reports"]
    assert first["findings"] == []
    assert regions(second["findings"]) == BOTH
    for trace in Path().glob("t*.atomtrace"):
        assert BundleSource(trace).meta.holders == {"Log #1": ["Account #1.log"]}


def test_live_check_finds_it(atomsan: Atomsan) -> None:
    written(*PROGRAMS["a field"])
    ran = atomsan("run", "--live", "--spec", "spec.toml", "-o", "r.json", "app.py")
    assert ran.code == 1
    found = json.loads(Path("r.json").read_text())["findings"]
    assert regions(found) == BOTH
    assert "warning" not in ran.err


def test_live_check_knows_sets_that_span_objects(atomsan: Atomsan) -> None:
    written(*PROGRAMS["a list"])
    ran = atomsan("run", "--live", "--spec", "spec.toml", "-o", "r.json", "app.py")
    assert ran.code == 1
    found = json.loads(Path("r.json").read_text())["findings"]
    assert regions(found) == {("app:Bank.change", "observed"), ("app:Bank.view", "predicted")}
    assert "warning" not in ran.err


def test_each_test_has_its_own_holders() -> None:
    """The account is global: the objects that it holds are recorded again for the second test."""
    written(*PROGRAMS["a field"])
    app = Path("app.py").read_text().replace("\nmain()\n", "\n")
    Path("app.py").write_text(app)
    tests = "import app\ndef test_one(): app.main()\ndef test_two(): app.main()\n"
    Path("test_app.py").write_text(tests)
    options = ["--atomsan", "--atomsan-spec", "spec.toml", "--atomsan-report", "r.json", "-p", "no:cacheprovider"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options], env=environment(), capture_output=True, text=True, check=False
    )
    assert "2 failed" in ran.stdout, ran.stdout + ran.stderr
    reports = json.loads(Path("r.json").read_text())["reports"]
    assert [regions(report["findings"]) for report in reports] == [BOTH] * 2


def test_suspects_fail_a_test_only_if_asked_for() -> None:
    written(*PROGRAMS["a field"])
    Path("app.py").write_text(Path("app.py").read_text().replace("\nmain()\n", "\n"))
    Path("test_app.py").write_text("import app\ndef test_one(): app.main()\n")
    for options, expected in (([], "1 passed"), (["--atomsan-fail-on", "suspects"], "1 failed")):
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--atomsan", *options, "-p", "no:cacheprovider"],
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert expected in ran.stdout, ran.stdout + ran.stderr
        assert ("suspected atomicity violation: inconsistent view" in ran.stdout) == bool(options)
