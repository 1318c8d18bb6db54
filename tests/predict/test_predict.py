"""`atomsan.predict`: what is predicted, how it is shown, and what is proved."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from subprocess import run

import pytest

import atomsan
from atomsan import InputError, Trace
from atomsan.cli.main import main

LOST = (
    "T1:begin(a) T1:acq(l) T1:r(x) T1:rel(l) T1:acq(l) T1:w(x) T1:rel(l) T1:end(a) "
    "T2:begin(a) T2:acq(l) T2:r(x) T2:rel(l) T2:acq(l) T2:w(x) T2:rel(l) T2:end(a)"
)
FIXED = (
    "T1:begin(a) T1:acq(l) T1:r(x) T1:w(x) T1:rel(l) T1:end(a) "
    "T2:begin(a) T2:acq(l) T2:r(x) T2:w(x) T2:rel(l) T2:end(a)"
)


def trace(text: str) -> Trace:
    return atomsan.parse(text)


def conflict_atomic(text: str, **options: bool) -> bool | None:
    facts = atomsan.predict(trace(text), **options).prediction  # type: ignore[arg-type]
    assert facts is not None
    return facts.conflict_atomic


def test_lost_update_of_a_serial_run_is_predicted() -> None:
    report = atomsan.predict(trace(LOST))
    (finding,) = report.findings
    assert atomsan.check(trace(LOST)).findings == []
    assert (report.verdict, finding.status, finding.pattern, finding.region) == (
        "violated",
        "predicted",
        "lost update",
        "a",
    )
    first, other, last = sorted(finding.witness, key=lambda step: step.when)
    assert (first.thread, other.thread, last.thread) == ("T1", "T2", "T1")
    assert [step.op for step in (first, other, last)] == ["read", "write", "write"]
    assert (
        finding.hint
        == "l is released between T1's read of x (event 2) and T1's write of x (event 5): hold it over both"
    )


def test_fixed_program_gets_a_proof() -> None:
    report = atomsan.predict(trace(FIXED), ["commit-node", "view", "reduction"])
    assert report.verdict == "holds"
    assert report.to_dict()["conflict_atomic"] is True
    assert report.to_dict()["view_atomic"] is True
    assert {name: row["verdict"] for name, row in report.results.items()} == {
        "commit-node": "holds",
        "view": "holds",
        "reduction": "holds",
    }
    assert "conflict-atomic in every interleaving: proved" in str(report)


# ---- what cannot be reordered


def test_what_is_forked_later_and_joined_earlier_is_not_in_between() -> None:
    torn = "T1:begin(a) T1:r(x) T1:w(x) T1:end(a)"
    assert conflict_atomic(f"{torn} T1:fork(T2) T2:w(x)") is True
    assert conflict_atomic(f"T1:fork(T2) T2:w(x) T1:join(T2) {torn}") is True
    assert conflict_atomic(f"T1:fork(T2) {torn} T2:w(x) T1:join(T2)") is False


def test_handover_orders_unless_it_is_switched_off() -> None:
    text = "T1:begin(a) T1:r(x) T1:w(x) T1:end(a) T1:post(q) T2:take(q) T2:w(x)"
    assert conflict_atomic(text) is True
    assert conflict_atomic(text, handovers=False) is False


def test_data_of_one_thread_and_data_that_nobody_writes_do_not_count() -> None:
    text = "T1:begin(a) T1:r(x) T1:w(y) T1:r(x) T1:end(a) T2:r(x) T2:w(z)"
    assert atomsan.predict(trace(text)).counters["units"] == 0


def test_loop_excludes() -> None:
    """What a task does between two awaits is not interrupted by other tasks."""
    steps = "T1:acq(loop) T1:begin(a) T1:r(x) T1:w(x) T1:end(a) T1:rel(loop) T2:acq(loop) T2:w(x) T2:rel(loop)"
    builder = atomsan.TraceBuilder()
    for word in steps.split():
        thread, op = word.split(":")
        name, _, target = op.partition("(")
        builder.add(thread, name, target.rstrip(")"))
    built = builder.build()
    built.symbols.locks.set(0, "kind", "loop")
    facts = atomsan.predict(built).prediction
    assert facts is not None
    assert facts.conflict_atomic is True


def test_modcount_fools_reduction_only() -> None:
    """A counter of changes that is read without a lock: commit-node-2006, section 8."""
    text = "T1:begin(add) T1:r(c) T1:w(c) T1:end(add) T2:begin(check) T2:r(c) T2:end(check)"
    report = atomsan.predict(trace(text), ["commit-node", "reduction"])
    assert report.results["commit-node"]["verdict"] == "holds"
    assert report.results["reduction"]["verdict"] == "unknown"


# ---- why it is not known


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "T1:begin(a) T1:acq(l) T1:acq(k) T1:w(x) T1:rel(k) T1:rel(l) T1:end(a) "
            "T2:begin(b) T2:acq(k) T2:acq(l) T2:r(x) T2:rel(l) T2:rel(k) T2:end(b)",
            "deadlock",
        ),
        (
            "T1:begin(a) T1:acq(l) T1:acq(k) T1:w(x) T1:rel(l) T1:rel(k) T1:end(a) T2:begin(b) T2:acq(l) T2:r(x) "
            "T2:rel(l) T2:end(b)",
            "reverse order",
        ),
        ("T1:begin(a) T1:w(x) T1:fork(T2) T1:end(a) T2:r(y) T1:w(y)", "waits for other threads"),
    ],
)
def test_premise_that_fails_is_named(text: str, words: str) -> None:
    report = atomsan.predict(trace(text))
    assert report.to_dict()["conflict_atomic"] is None
    assert words in str(report.reason)
    assert report.verdict == "unknown"


# ---- races and deadlocks


def test_deadlock_is_a_note_with_both_orders() -> None:
    text = (
        "T1:acq(l) T1:acq(k) T1:rel(k) T1:rel(l) T2:acq(k) T2:acq(l) T2:rel(l) T2:rel(k) "
        "T3:acq(l) T3:acq(k) T3:rel(k) T3:rel(l)"
    )
    report = atomsan.predict(trace(text))
    (note,) = report.notes
    assert (note.kind, note.level, note.pattern) == ("deadlock", "note", "lock order")
    assert len(note.explanation) == 3
    assert report.failing() == []
    assert report.failing(["deadlock"]) == [note]


@pytest.mark.parametrize(
    "text",
    [
        "T1:acq(g) T1:acq(l) T1:acq(k) T1:rel(k) T1:rel(l) T1:rel(g) T2:acq(g) T2:acq(k) T2:acq(l) T2:rel(l) T2:rel(k) "
        "T2:rel(g)",
        "T1:acq(l) T1:acq(k) T1:rel(k) T1:rel(l) T1:fork(T2) T2:acq(k) T2:acq(l) T2:rel(l) T2:rel(k)",
        "T1:acq(l) T1:acq(k) T1:rel(k) T1:rel(l) T1:acq(k) T1:acq(l) T1:rel(l) T1:rel(k)",
    ],
)
def test_gate_order_and_one_thread_are_no_deadlock(text: str) -> None:
    assert atomsan.predict(trace(text)).notes == []


def test_race_is_a_note() -> None:
    report = atomsan.predict(trace("T1:w(x) T2:acq(l) T2:r(x) T2:rel(l)"))
    (note,) = report.notes
    assert (note.kind, note.pattern) == ("race", "data race")
    assert atomsan.predict(trace("T1:acq(l) T1:w(x) T1:rel(l) T2:acq(l) T2:r(x) T2:rel(l)")).notes == []


# ---- recorded programs

PROGRAM = """
import threading

class Account:
    def __init__(self):
        self.lock = threading.Lock()
        self.balance = 0

    def get(self):
        with self.lock:
            return self.balance

    def set(self, balance):
        with self.lock:
            self.balance = balance

def deposit(account):
    {deposit}

account = Account()
threads = [threading.Thread(target=deposit, args=(account,)) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def recorded(tmp_path: Path, deposit: str) -> str:
    (tmp_path / "bank.py").write_text(PROGRAM.format(deposit=deposit))
    command = [sys.executable, "-m", "atomsan", "record", "-o", "bank.atomtrace", "bank.py"]
    run(command, cwd=tmp_path, check=True, capture_output=True)
    return str(tmp_path / "bank.atomtrace")


def test_plain_run_of_a_program_predicts_its_bug(tmp_path: Path) -> None:
    stored = recorded(tmp_path, "account.set(account.get() + 1)")
    assert atomsan.check(stored).findings == []
    (finding,) = atomsan.predict(stored).findings
    assert (finding.region, finding.pattern, finding.status) == ("bank:deposit", "lost update", "predicted")
    assert "with account.lock:" in (finding.hint or "")


def test_program_without_the_bug_is_proved(tmp_path: Path) -> None:
    stored = recorded(tmp_path, "with account.lock:\n        account.balance += 1")
    report = atomsan.predict(stored)
    assert (report.verdict, report.findings, report.suspects) == ("holds", [], [])
    assert report.to_dict()["conflict_atomic"] is True


# ---- the command


def test_command_predicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.trace").write_text(LOST)
    assert main(["predict", str(tmp_path / "t.trace"), "--format", "json", "--method", "view"]) == 1
    content = json.loads(capsys.readouterr().out)
    assert content["view_atomic"] is False
    assert "conflict_atomic" not in content
    assert content["findings"][0]["status"] == "predicted"


def test_command_fails_on_races_if_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.trace").write_text("T1:w(x) T2:r(x)")
    assert main(["predict", str(tmp_path / "t.trace")]) == 0
    assert main(["predict", str(tmp_path / "t.trace"), "--fail-on", "race"]) == 1
    assert "conflict-atomic in every interleaving: proved" in capsys.readouterr().out


def test_trace_from_standard_input_can_be_predicted(tmp_path: Path) -> None:
    done = run(
        [sys.executable, "-m", "atomsan", "predict", "-", "--input-format", "notation"],
        input=LOST,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "lost update in a (predicted" in done.stdout


def test_unknown_method_is_refused() -> None:
    with pytest.raises(InputError, match="unknown method 'magic'"):
        atomsan.predict(trace(LOST), "magic")


LINE = """
import collections
import threading

class Line:
    def __init__(self):
        self.waiting = collections.deque(range(9))

    def next_one(self):
        {body}

line = Line()
threads = [threading.Thread(target=line.next_one) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.parametrize(
    ("body", "findings"), [("return self.waiting.popleft()", 0), ("if self.waiting: return self.waiting.popleft()", 1)]
)
def test_one_call_of_a_built_in_method_is_one_step(body: str, findings: int, tmp_path: Path) -> None:
    (tmp_path / "line.py").write_text(LINE.format(body=body))
    command = [sys.executable, "-m", "atomsan", "record", "-o", "line.atomtrace", "line.py"]
    run(command, cwd=tmp_path, check=True, capture_output=True)
    causes = atomsan.predict(str(tmp_path / "line.atomtrace")).root_causes()
    assert len([cause for cause in causes if cause.shown.level == "finding"]) == findings
