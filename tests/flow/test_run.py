"""`atomsan.run` and `atomsan.refine`: the verbs as Python functions."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import atomsan
from strategies import random_steps

PROGRAM = """
import sys, threading, time

class Account:
    balance = 0
    def deposit(self):
        balance = self.balance
        time.sleep(0.02)
        self.balance = balance + 1

account = Account()
threads = [threading.Thread(target=account.deposit) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
sys.exit(int(sys.argv[1]))
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "bank.py"
    path.write_text(PROGRAM)
    return path


@pytest.mark.parametrize("live", [False, True])
def test_run_returns_findings_and_the_exit_code(program: Path, live: bool) -> None:
    report = atomsan.run(program, "3", live=live)
    assert [(finding.pattern, finding.status) for finding in report.findings] == [("lost update", "observed")]
    assert report.findings[0].region == "bank:Account.deposit"
    assert report.program is not None
    assert (report.program.exit, report.program.signal) == (3, None)


def test_run_accepts_a_module_or_code(program: Path) -> None:
    assert atomsan.run(None, "0", module="bank").findings
    assert not atomsan.run(code="import time; time.sleep(0)").findings


def test_run_keeps_the_trace(program: Path) -> None:
    report = atomsan.run(program, "0", keep="kept.atomtrace", algorithm="davida")
    again = atomsan.check("kept.atomtrace", "davida")
    assert [finding.id for finding in again.findings] == [finding.id for finding in report.findings]
    with pytest.raises(atomsan.OutputError, match="exists"):
        atomsan.run(program, "0", keep="kept.atomtrace")
    atomsan.run(program, "0", keep="kept.atomtrace", force=True)


def test_run_applies_a_specification(program: Path) -> None:
    Path("spec.toml").write_text('not_atomic = ["bank:Account.deposit"]')
    assert not atomsan.run(program, "0", spec="spec.toml").findings


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((), {}, "give exactly one"),
        (("bank.py",), {"module": "bank"}, "give exactly one"),
        (("nothing.py",), {}, "no such file"),
        (("bank.py", "0"), {"algorithm": "frob"}, "unknown algorithm 'frob'"),
        (("bank.py", "0"), {"live": True, "keep": "kept.atomtrace"}, "keeps no trace"),
        (("bank.py", "0"), {"timeout": 0}, "timeout must be more than 0"),
        (("bank.py", "0"), {"timeout": float("nan")}, "timeout must be more than 0"),
        (("bank.py", "0"), {"max_events": 0}, "max_events must be more than 0"),
    ],
)
def test_run_refuses_invalid_arguments(
    program: Path, arguments: tuple[str, ...], options: dict[str, object], message: str
) -> None:
    with pytest.raises(atomsan.InputError, match=message):
        atomsan.run(*arguments, **options)  # type: ignore[arg-type]


def test_refine_removes_the_regions_that_violate(tmp_path: Path) -> None:
    trace = tmp_path / "t.std"
    atomsan.parse("T:begin(f) T:begin(g) T:r(x) T:end(g) U:w(x) T:w(x) T:end(f)").save(trace)
    (tmp_path / "spec.toml").write_text('not_atomic = ["h"]')
    result = atomsan.refine([trace], tmp_path / "spec.toml")
    assert isinstance(result, atomsan.Refinement)
    assert (list(result.removed), result.finished) == (["f"], True)
    assert not result.spec.is_atomic("f", "foreign")
    assert not result.spec.is_atomic("h", "foreign")
    assert result.spec.is_atomic("g", "foreign")


@pytest.mark.parametrize("origin", ["foreign", "function", "statement"])
def test_refine_leaves_nothing_that_is_violated(origin: str) -> None:
    rng = random.Random(5)
    several = 0
    for _ in range(300):
        builder = atomsan.TraceBuilder()
        for step in random_steps(rng):
            builder.add(step.thread, step.op, step.target)
        trace = builder.build()
        trace.meta.recorded = origin != "foreign"
        for region in range(len(trace.symbols.regions)):
            trace.symbols.regions.set(region, "origin", origin)
        result = atomsan.refine(trace)
        last = result.rounds[-1]
        assert result.finished
        assert (last.violations, last.violating, last.removed) == (0, 0, [])
        assert len(result.rounds) <= len(trace.symbols.regions) + 1
        assert all(one.removed for one in result.rounds[:-1])
        report = atomsan.check(trace, "davida", result.spec)
        assert (report.violations, len(report.transactions)) == (0, 0)
        assert bool(result.left) == (report.serializable is False)
        several += len(result.rounds) > 2
    assert several > 10


def test_refine_removes_what_judging_takes_for_harmless() -> None:
    builder = atomsan.TraceBuilder()
    builder.symbols.regions.intern("f", origin="function")
    line = "T:begin(f) T:acq(l) T:r(x) T:rel(l) U:acq(l) U:r(x) U:rel(l) T:acq(l) T:r(x) T:rel(l) T:end(f)"
    trace = builder.extend(atomsan.parse(line)).build()
    trace.meta.recorded = True
    assert atomsan.check(trace).findings == []
    result = atomsan.refine(trace)
    assert list(result.removed) == ["f"]
    assert (result.finished, result.left, result.rounds[-1].violations) == (True, [], 0)


def test_refine_takes_one_trace_and_traces_in_memory(tmp_path: Path) -> None:
    trace = atomsan.parse("T:begin(f) T:r(x) U:w(x) T:w(x) T:end(f)")
    trace.save(tmp_path / "t.std")
    for given in (str(tmp_path / "t.std"), tmp_path / "t.std", trace, [trace]):
        assert list(atomsan.refine(given).removed) == ["f"]
    with pytest.raises(atomsan.InputError, match="at least one trace"):
        atomsan.refine([])
