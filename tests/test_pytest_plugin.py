"""`pytest --atomsan`, run in processes of its own: the pytest that runs these tests must not be recorded."""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

import atomsan.pytest_plugin
from atomsan.errors import InputError
from atomsan.flow.prediction_beside import SharedSeconds
from atomsan.pytest_plugin import MarkerOptions, limits_suspended

# One account whose every access is locked. `deposit` reads and writes it in two critical sections, `add` in one.
BANK = """
    import threading

    class Account:
        def __init__(self):
            self.balance = 0
            self.lock = threading.Lock()

        def get(self):
            with self.lock:
                return self.balance

        def set(self, balance):
            with self.lock:
                self.balance = balance

        def add(self, amount):
            with self.lock:
                self.balance += amount

    def deposit(account, amount):
        account.set(account.get() + amount)

    def in_threads(function, *arguments):
        def work():
            for _ in range(100):
                function(*arguments)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
"""

CONFTEST = """
    import sys

    import pytest

    from helper import HelperCounter

    class ConftestCounter:
        def __init__(self):
            self.value = 0

        def bump(self):
            value = self.value
            self.value = value + 1

    @pytest.fixture
    def conftest_counter():
        return ConftestCounter()

    @pytest.fixture
    def helper_counter():
        return HelperCounter()

    @pytest.fixture
    def fresh():
        return []

    def pytest_unconfigure(config):
        if not hasattr(config, "workerinput"):
            parts = ("numpy", "pyarrow", "atomsan.recorder", "atomsan.source", "atomsan.flow.check", "atomsan.config")
            print("heavy parts:", *(part for part in parts if part in sys.modules))
"""

HELPER = """
    class HelperCounter:
        def __init__(self):
            self.value = 0

        def bump(self):
            value = self.value
            self.value = value + 1
"""

TEST_BANK = """
    import sys

    import pytest

    from bank import Account, deposit, in_threads

    def test_racy():
        in_threads(deposit, Account(), 1)

    def test_safe():
        account = Account()
        in_threads(account.add, 1)
        assert account.get() == 300

    def test_fails():
        account = Account()
        in_threads(account.add, 1)
        assert account.get() == 301, "one is missing"

    def test_fails_and_is_racy():
        account = Account()
        in_threads(deposit, account, 1)
        assert account.balance == -1

    def test_calls_fail_and_is_racy():
        in_threads(deposit, Account(), 1)
        pytest.fail("in its own words")

    def test_skips_itself():
        in_threads(deposit, Account(), 1)
        pytest.skip("for a reason")

    @pytest.mark.xfail(strict=True)
    def test_is_expected_to_be_racy():
        in_threads(deposit, Account(), 1)

    class Counter:
        def __init__(self):
            self.value = 0

        def bump(self):
            value = self.value
            self.value = value + 1

    def test_racy_in_the_test_module():
        in_threads(Counter().bump)

    def test_racy_in_conftest(conftest_counter):
        in_threads(conftest_counter.bump)

    def test_racy_in_what_conftest_imports(helper_counter):
        in_threads(helper_counter.bump)
"""

TEST_MARKER = """
    import sys

    import pytest

    from bank import Account, deposit, in_threads

    @pytest.mark.atomsan(enabled=False)
    def test_left_alone():
        in_threads(deposit, Account(), 1)

    @pytest.mark.atomsan(not_atomic="bank:*")
    def test_not_atomic():
        in_threads(deposit, Account(), 1)

    @pytest.mark.atomsan(atomic=["bank:Account.*"])
    def test_only_methods_are_atomic():
        in_threads(deposit, Account(), 1)

    @pytest.mark.atomsan(noise=False)
    def test_without_noise():
        assert sys.getswitchinterval() > 1e-4

    @pytest.mark.atomsan(seed=7)
    def test_with_noise():
        assert sys.getswitchinterval() < 1e-4

    @pytest.mark.atomsan(repeat=3)
    def test_three_times(fresh):
        assert fresh == []
        fresh.append(1)

    @pytest.mark.atomsan(repeat=3)
    def test_racy_every_time():
        in_threads(deposit, Account(), 1)

    @pytest.fixture(scope="module")
    def module_wide():
        yield []

    @pytest.mark.atomsan(repeat=3)
    def test_wider_fixtures_stay(module_wide):
        module_wide.append(1)
        assert len(module_wide) < 3, "the third time"

    @pytest.mark.atomsan(repeat=2)
    class TestMethods:
        def test_a_new_object_each_time(self):
            assert not hasattr(self, "mark")
            self.mark = 1

        @pytest.mark.atomsan(repeat=1)
        def test_the_nearest_marker_counts(self):
            pass
"""

TEST_UNITTEST = """
    import unittest

    from bank import Account, deposit, in_threads

    class Deposits(unittest.TestCase):
        def setUp(self):
            self.account = Account()

        def test_racy(self):
            in_threads(deposit, self.account, 1)

        def test_safe(self):
            in_threads(self.account.add, 1)
            self.assertEqual(self.account.get(), 300)

        def test_fails_and_is_racy(self):
            in_threads(deposit, self.account, 1)
            self.assertEqual(self.account.get(), -1)

        def test_skips_itself(self):
            self.skipTest("for a reason")

    class Tasks(unittest.IsolatedAsyncioTestCase):
        async def test_safe(self):
            self.assertEqual(1, 1)
"""

TEST_ASYNCIO = """
    import asyncio

    import pytest

    class Account:
        def __init__(self):
            self.balance = 0

        async def deposit(self, amount):
            balance = self.balance
            await asyncio.sleep(0)
            self.balance = balance + amount

    @pytest.mark.asyncio
    async def test_racy():
        account = Account()
        await asyncio.gather(*(account.deposit(1) for _ in range(3)))

    @pytest.mark.asyncio
    async def test_safe():
        account, lock = Account(), asyncio.Lock()

        async def deposit():
            async with lock:
                await account.deposit(1)

        await asyncio.gather(*(deposit() for _ in range(3)))
        assert account.balance == 3
"""

TEST_WAITING = """
    import asyncio

    class Box:
        def __init__(self):
            self.items, self.waiting, self.changed = [], 0, asyncio.Condition()

        async def put(self, item):
            async with self.changed:
                self.items.append(item)
                if self.waiting:
                    self.changed.notify()

        async def take(self):
            async with self.changed:
                while not self.items:
                    self.waiting += 1
                    try:
                        await self.changed.wait()
                    finally:
                        self.waiting -= 1
                return self.items.pop()

    async def main():
        box = Box()
        takers = [asyncio.create_task(box.take()) for _ in range(3)]
        for i in range(3):
            await asyncio.sleep(0)
            await box.put(i)
        await asyncio.wait(takers)

    def test_takers():
        asyncio.run(main())
"""

PROJECT = {
    "pytest.ini": "[pytest]\nasyncio_default_fixture_loop_scope = function\n",
    "bank.py": BANK,
    "helper.py": HELPER,
    "conftest.py": CONFTEST,
    "test_asyncio.py": TEST_ASYNCIO,
    "test_bank.py": TEST_BANK,
    "test_marker.py": TEST_MARKER,
    "test_unittest.py": TEST_UNITTEST,
}

OUTCOMES_WHEN_ON = {
    "test_asyncio.py::test_racy": "FAILED",
    "test_asyncio.py::test_safe": "PASSED",
    "test_bank.py::test_racy": "FAILED",
    "test_bank.py::test_safe": "PASSED",
    "test_bank.py::test_fails": "FAILED",
    "test_bank.py::test_fails_and_is_racy": "FAILED",
    "test_bank.py::test_calls_fail_and_is_racy": "FAILED",
    "test_bank.py::test_is_expected_to_be_racy": "XFAIL",
    "test_bank.py::test_racy_in_the_test_module": "FAILED",
    "test_bank.py::test_racy_in_conftest": "FAILED",
    "test_bank.py::test_racy_in_what_conftest_imports": "FAILED",
    "test_marker.py::test_left_alone": "PASSED",
    "test_marker.py::test_not_atomic": "PASSED",
    "test_marker.py::test_only_methods_are_atomic": "PASSED",
    "test_marker.py::test_without_noise": "PASSED",
    "test_marker.py::test_with_noise": "PASSED",
    "test_marker.py::test_three_times": "PASSED",
    "test_marker.py::test_racy_every_time": "FAILED",
    "test_marker.py::test_wider_fixtures_stay": "FAILED",
    "test_marker.py::TestMethods::test_a_new_object_each_time": "PASSED",
    "test_marker.py::TestMethods::test_the_nearest_marker_counts": "PASSED",
    "test_unittest.py::Deposits::test_racy": "FAILED",
    "test_unittest.py::Deposits::test_safe": "PASSED",
    "test_unittest.py::Deposits::test_fails_and_is_racy": "FAILED",
    "test_unittest.py::Tasks::test_safe": "PASSED",
}

# The seeds of the recorded runs of a test, where they are not just seed 0.
SEEDS = {
    "test_marker.py::test_with_noise": [7],
    "test_marker.py::test_three_times": [0, 1, 2],
    "test_marker.py::test_racy_every_time": [0, 1, 2],
    "test_marker.py::test_wider_fixtures_stay": [0, 1, 2],
    "test_marker.py::TestMethods::test_a_new_object_each_time": [0, 1],
}

FOUND = {
    "test_asyncio.py::test_racy": "test_asyncio:Account.deposit",
    "test_bank.py::test_racy": "bank:deposit",
    "test_bank.py::test_fails_and_is_racy": "bank:deposit",
    "test_bank.py::test_calls_fail_and_is_racy": "bank:deposit",
    "test_bank.py::test_is_expected_to_be_racy": "bank:deposit",
    "test_bank.py::test_racy_in_the_test_module": "test_bank:Counter.bump",
    "test_bank.py::test_racy_in_conftest": "conftest:ConftestCounter.bump",
    "test_bank.py::test_racy_in_what_conftest_imports": "helper:HelperCounter.bump",
    "test_marker.py::test_racy_every_time": "bank:deposit",
    "test_unittest.py::Deposits::test_racy": "bank:deposit",
    "test_unittest.py::Deposits::test_fails_and_is_racy": "bank:deposit",
}


# Without pytest-asyncio its tests cannot run, and are left out.
HAS_ASYNCIO = importlib.util.find_spec("pytest_asyncio") is not None
if not HAS_ASYNCIO:
    del PROJECT["test_asyncio.py"], FOUND["test_asyncio.py::test_racy"]
    del OUTCOMES_WHEN_ON["test_asyncio.py::test_racy"], OUTCOMES_WHEN_ON["test_asyncio.py::test_safe"]


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def outcomes(self) -> dict[str, str]:
        """The outcome of each test, from the summary that `-rA` prints."""
        words = "PASSED|FAILED|ERROR|XFAIL|XPASS"
        return {test: word for word, test in re.findall(rf"^({words}) (\S+::\S+)", self.out, re.M)}

    def section(self, test: str) -> str:
        """The section on a failing test."""
        name = re.escape(test.split("::", 1)[1].replace("::", "."))
        file = test.split("::")[0]
        # tests of the same name in several files come in the order of the files
        parts = re.split(r"^_{3,} (\S+) _{3,}$", self.out, flags=re.M)
        found = [text for title, text in zip(parts[1::2], parts[2::2], strict=True) if re.fullmatch(name, title)]
        return next(text for text in found if f"{file}:" in text)


def write(directory: Path, files: dict[str, str]) -> Path:
    directory.mkdir(exist_ok=True)
    for name, text in files.items():
        (directory / name).write_text(textwrap.dedent(text))
    return directory


def run_pytest(directory: Path, *arguments: str) -> Ran:
    """Run pytest in a process of its own, without the settings of this one."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment["ATOMSAN_CACHE"] = str(directory.parent / "cache")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", *arguments]
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, timeout=120)
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("plugin") / "project", PROJECT)


@pytest.fixture(scope="module")
def on(project: Path) -> Ran:
    return run_pytest(project, "--atomsan", "--atomsan-noise", "--atomsan-report", "on.json")


@pytest.fixture(scope="module")
def report(project: Path, on: Ran) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((project / "on.json").read_text())
    return content


@pytest.fixture(scope="module")
def distributed(project: Path) -> Ran:
    options = ("--atomsan", "--atomsan-noise", "--atomsan-report", "distributed.json")
    return run_pytest(project, "-n", "2", *options)


@pytest.fixture(scope="module")
def off(project: Path) -> Ran:
    return run_pytest(project, "--deselect", "test_marker.py::test_with_noise")


def runs(report: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The reports of each test, one for each run of it."""
    found: dict[str, list[dict[str, Any]]] = {}
    for one in report["reports"]:
        found.setdefault(one["trace"]["source"].split(" ")[0], []).append(one)
    return found


# ---- off


def test_plugin_imports_nothing_heavy_when_off(off: Ran) -> None:
    assert "heavy parts:\n" in off.out


def test_plugin_checks_nothing_when_off(off: Ran) -> None:
    fails = {test for test, outcome in off.outcomes.items() if outcome == "FAILED"}
    own = {test for test in OUTCOMES_WHEN_ON if re.search(r"fail|expected", test.split("::")[-1])}
    assert fails == own
    assert "AtomSan" not in off.out


# ---- on


def test_racy_tests_fail_and_safe_tests_pass(on: Ran) -> None:
    assert on.outcomes == OUTCOMES_WHEN_ON
    assert on.code == 1
    assert "2 skipped" in on.out


def test_a_racy_test_fails_with_the_explanation(on: Ran) -> None:
    said = on.section("test_bank.py::test_racy")
    assert "atomicity violation: lost update in bank:deposit" in said
    assert "read   Account.balance  bank.py:" in said
    assert "return self.balance" in said
    assert "hint: Account.lock is not held from the first step to the last: hold it over line 22 of bank.py" in said
    assert "(`with account.lock:`); Account.get and Account.set take it too, which deadlocks with a plain Lock" in said
    assert "pytest_plugin.py" not in on.out


def test_the_summary_counts_tests_and_violations(on: Ran) -> None:
    left_out = {"test_marker.py::test_left_alone"}
    skipped_by_unittest = 1
    recorded = len(OUTCOMES_WHEN_ON.keys() - left_out) + skipped_by_unittest
    assert re.search(
        rf"^{recorded} tests recorded, [\d,]+ events, {len(FOUND)} with atomicity violations$", on.out, re.M
    )


@pytest.mark.skipif(not HAS_ASYNCIO, reason="needs pytest-asyncio")
def test_a_racy_coroutine_fails_with_the_explanation(on: Ran) -> None:
    said = on.section("test_asyncio.py::test_racy")
    assert "atomicity violation: lost update in test_asyncio:Account.deposit" in said
    assert "balance = self.balance" in said


@pytest.mark.skipif(not HAS_ASYNCIO, reason="needs pytest-asyncio")
def test_asyncio_is_watched_if_pytest_rewrites_its_assertions(tmp_path: Path) -> None:
    """`-p asyncio` names the plugin, and makes pytest rewrite the module asyncio as well."""
    ran = run_pytest(write(tmp_path / "project", {"test_waiting.py": TEST_WAITING}), "--atomsan", "-p", "asyncio")
    assert ran.outcomes == {"test_waiting.py::test_takers": "PASSED"}


@pytest.mark.parametrize(
    "test",
    [
        "test_bank.py::test_fails_and_is_racy",
        "test_bank.py::test_calls_fail_and_is_racy",
        "test_unittest.py::Deposits::test_fails_and_is_racy",
    ],
)
def test_failing_test_keeps_its_failure_and_shows_the_findings(on: Ran, off: Ran, test: str) -> None:
    own, _, found = on.section(test).partition("Captured AtomSan call")
    assert "lost update in bank:deposit" in found
    assert "atomicity" not in own
    # the final balance and the addresses differ from run to run
    own, plain = (re.sub(r"0x[0-9a-f]+|\d+", "0", text) for text in (own, off.section(test)))
    assert own.rstrip("-\n ") == plain.split("\n=")[0].rstrip()


def test_assertions_are_explained_as_without_atomsan(on: Ran, off: Ran) -> None:
    def explained(ran: Ran) -> list[str]:
        lines = re.findall(r"^[>E] .*$", ran.section("test_bank.py::test_fails"), re.M)
        return [re.sub("0x[0-9a-f]+", "0x", line) for line in lines]

    assert "E       AssertionError: one is missing" in explained(on)
    assert "E       assert 300 == 301" in explained(on)
    assert explained(on) == explained(off)


def test_findings_of_a_repeated_test_are_collected_over_all_seeds(on: Ran) -> None:
    said = on.section("test_marker.py::test_racy_every_time")
    assert said.count("atomicity violation: lost update in bank:deposit") == 1
    assert "test_marker.py::test_racy_every_time: violated" in said
    assert re.search(r"lost update in bank:deposit \(seen [\d,]+ times in [123] of 3 runs\)", said)


TEST_ENDS = """
    import pytest

    from bank import Account, deposit, in_threads

    runs = []

    def racy_then(end):
        runs.append(1)
        if len(runs) % 2:
            in_threads(deposit, Account(), 1)
        else:
            end("the second time")

    def test_skips():
        racy_then(pytest.skip)

    def test_fails():
        racy_then(pytest.fail)

    def test_passes():
        racy_then(print)
"""


def test_findings_of_earlier_runs_are_kept_however_the_last_one_ends(tmp_path: Path) -> None:
    project = write(tmp_path / "project", SMALL | {"test_small.py": TEST_ENDS})
    ran = run_pytest(project, "--atomsan", "--atomsan-noise", "--atomsan-repeat=2")
    assert set(ran.outcomes.values()) == {"FAILED"}
    assert len(ran.outcomes) == 3
    for test in ("test_skips", "test_fails", "test_passes"):
        said = ran.section(f"test_small.py::{test}")
        # a run that is skipped is not checked
        of_runs = "" if test == "test_skips" else " in 1 of 2 runs"
        assert re.search(rf"lost update in bank:deposit \(seen (once|[\d,]+ times){of_runs}\)", said)
        assert ("atomicity violation" in said) == (test != "test_fails")


# ---- prediction

# The threads run one after the other.
TEST_QUIET = """
    import threading

    import pytest

    from bank import Account, deposit

    def one_by_one(function, *arguments):
        for _ in range(2):
            ended = []
            threading.Thread(target=lambda: ended.append(function(*arguments))).start()
            while not ended:
                pass

    def test_racy():
        one_by_one(deposit, Account(), 1)

    def test_safe():
        one_by_one(Account().add, 1)

    @pytest.mark.atomsan(predict=False)
    def test_only_what_happens():
        one_by_one(deposit, Account(), 1)
"""
TEST_ALONE = """
    import sys

    import pytest
    from bank import Account

    @pytest.mark.parametrize("amount", range(3))
    def test_alone(amount):
        account = Account()
        account.add(amount)
        assert account.get() == amount

    def test_fails():
        assert Account().get() == 1

    def test_last():
        print("checked:", "atomsan.flow.check" in sys.modules)
"""


def test_what_one_thread_does_is_counted_and_not_checked(tmp_path: Path) -> None:
    """There is nothing to find in it. Where a report is written, each test is in it, and checked as any other."""
    project = write(tmp_path / "project", {"bank.py": BANK, "test_alone.py": TEST_ALONE})
    ran = run_pytest(project, "--atomsan", "-s")
    assert [name for name, outcome in ran.outcomes.items() if outcome == "FAILED"] == ["test_alone.py::test_fails"]
    assert "checked: False" in ran.out
    reported = run_pytest(project, "--atomsan", "-s", "--atomsan-report=out.json")
    assert "checked: True" in reported.out
    checked = runs(json.loads((project / "out.json").read_text()))
    assert len(checked) == 5
    events = sum(one["trace"]["events"] for reports in checked.values() for one in reports)
    said = "5 tests recorded, {:,} events, 0 with atomicity violations"
    assert events > 40
    assert said.format(events) in reported.out
    assert said.format(events) in ran.out


QUIET = {"bank.py": BANK, "test_quiet.py": TEST_QUIET}


def test_what_could_have_happened_fails_a_test(tmp_path: Path) -> None:
    project = write(tmp_path / "project", QUIET)
    ran = run_pytest(project, "--atomsan", "--atomsan-report=out.json")
    assert ran.outcomes == {
        "test_quiet.py::test_racy": "FAILED",
        "test_quiet.py::test_safe": "PASSED",
        "test_quiet.py::test_only_what_happens": "PASSED",
    }
    assert "predicted atomicity violation: lost update in bank:deposit" in ran.section("test_quiet.py::test_racy")
    assert "warning" not in ran.out
    reports = runs(json.loads((project / "out.json").read_text()))
    answers = {name: one[0].get("conflict_atomic") for name, one in reports.items()}
    assert answers["test_quiet.py::test_racy"] is False
    assert "test_quiet.py::test_only_what_happens" in answers


TEST_ASSERTED = """
    import threading
    from bank import Account

    def one_by_one(function, *arguments):
        for _ in range(2):
            ended = []
            threading.Thread(target=lambda: ended.append(function(*arguments))).start()
            while not ended:
                pass

    def described(balance):
        return f"the balance is {balance}"

    def deposit(account):
        balance = account.balance
        assert balance + 1 < 1000, described(balance)
        account.balance = balance + 1

    def test_asserted():
        one_by_one(deposit, Account())
"""


def test_hint_names_no_calls_of_rewritten_assertions(tmp_path: Path) -> None:
    project = write(tmp_path / "project", {"bank.py": BANK, "test_asserted.py": TEST_ASSERTED})
    said = run_pytest(project, "--atomsan").section("test_asserted.py::test_asserted")
    hint = next(line for line in said.splitlines() if "hint:" in line)
    assert "described() (line" in hint
    assert "_saferepr" not in hint
    assert "_format" not in hint


def test_limit_of_time_by_a_signal_is_suspended() -> None:
    signal.setitimer(signal.ITIMER_REAL, 60)
    try:
        with limits_suspended():
            assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 60
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    with limits_suspended():
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0), "none was set"


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_limit_of_time_by_a_thread_is_suspended(is_cancelled: bool) -> None:
    """The same thread goes on: a test may see another one as its own that never ended."""
    called: list[str] = []
    limit = threading.Timer(1, called.append, ["limit"])
    limit.name = "pytest_timeout test_one.py::test_it"
    other = threading.Timer(1, called.append, ["other"])
    for timer in (limit, other):
        timer.start()
    before = threading.enumerate()
    with limits_suspended():
        other.join()
        time.sleep(0.2)
        assert called == ["other"]
        assert limit.is_alive()
    assert set(threading.enumerate()) == {*before} - {other}
    if is_cancelled:
        limit.cancel()
    limit.join(60)
    assert called == (["other"] if is_cancelled else ["other", "limit"])


TEST_LIMITED = """
    import signal, threading, time
    import pytest
    import atomsan.flow.check

    def slow(*args, check=atomsan.flow.check.check):
        time.sleep(2)
        return check(*args)

    @pytest.fixture
    def limited():
        "As pytest-timeout does it."
        def over(*_):
            raise TimeoutError("it took too long")
        before = signal.signal(signal.SIGALRM, over)
        signal.setitimer(signal.ITIMER_REAL, 1.5)
        yield
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    def test_checked_for_long(limited, monkeypatch):
        monkeypatch.setattr(atomsan.flow.check, "check", slow)
"""


def test_check_does_not_count_for_the_limit_of_a_test(tmp_path: Path) -> None:
    project = write(tmp_path / "project", {"test_limited.py": TEST_LIMITED})
    assert run_pytest(project, "--atomsan").outcomes == {"test_limited.py::test_checked_for_long": "PASSED"}


def test_prediction_can_be_turned_off(tmp_path: Path) -> None:
    project = write(tmp_path / "project", QUIET)
    assert set(run_pytest(project, "--atomsan", "--no-atomsan-predict").outcomes.values()) == {"PASSED"}


@pytest.mark.parametrize("is_alone", [False, True])
def test_missing_events_are_in_the_summary(tmp_path: Path, is_alone: bool) -> None:
    """Where nothing is found in such a test, it is not known to hold; nor where only one thread is left to be seen."""
    tests = {"bank.py": BANK, "test_alone.py": TEST_ALONE.replace("== 1", "== 0")} if is_alone else QUIET
    conftest = """
        import atomsan.recorder.log.recording as recording
        recording.Recording._losses = lambda self: ["nobody has read them"]
    """
    ran = run_pytest(
        write(tmp_path / "project", tests | {"conftest.py": conftest}), "--atomsan", "--no-atomsan-predict"
    )
    assert set(ran.outcomes.values()) == {"PASSED"}
    assert f"warning: events of {5 if is_alone else 3} tests are missing: nobody has read them" in ran.out


def test_time_that_runs_out_is_in_the_summary(tmp_path: Path) -> None:
    project = write(tmp_path / "project", QUIET)
    ran = run_pytest(project, "--atomsan", "--atomsan-predict-seconds=1e-9")
    assert set(ran.outcomes.values()) == {"PASSED"}
    assert "warning: there was no time to look at all other interleavings of 2 tests" in ran.out


def test_interrupt_of_a_prediction_ends_the_tests(tmp_path: Path) -> None:
    conftest = """
        from atomsan.flow import predict

        def stop(*arguments, **options):
            raise KeyboardInterrupt

        predict.predict = stop
    """
    ran = run_pytest(write(tmp_path / "project", QUIET | {"conftest.py": conftest}), "--atomsan")
    assert (ran.code, ran.outcomes) == (pytest.ExitCode.INTERRUPTED, {})


def test_predictions_share_the_time_that_tests_take() -> None:
    shared = SharedSeconds(20)
    assert shared.after(0.5) == 20
    shared.spend(15)
    assert shared.after(1) == 6.5
    shared.spend(60)
    assert shared.after(0.25) == 0.25


# ---- the report


def test_the_report_has_every_recorded_run(report: dict[str, Any]) -> None:
    assert report["schema"] == "atomsan-report/2"
    assert report["reports"]
    for test, reports in runs(report).items():
        if test == "test_marker.py::test_without_noise":
            assert [one["trace"]["source"] for one in reports] == [test]
        else:
            assert [one["trace"]["source"] for one in reports] == [
                f"{test} (seed {seed})" for seed in SEEDS.get(test, [0])
            ]
    assert "test_marker.py::test_left_alone" not in runs(report)


def test_the_report_has_the_findings_of_every_test(report: dict[str, Any]) -> None:
    for test, reports in runs(report).items():
        regions = {finding["region"] for one in reports for finding in one["findings"]}
        assert regions == ({FOUND[test]} if test in FOUND else set()), test
    ids = [finding["id"] for finding in report["findings"]]
    assert sorted(ids) == sorted({finding["id"] for one in report["reports"] for finding in one["findings"]})


# ---- pytest-xdist


def test_xdist_workers_give_the_same_outcomes(distributed: Ran) -> None:
    assert distributed.outcomes == OUTCOMES_WHEN_ON
    assert "lost update in bank:deposit" in distributed.section("test_bank.py::test_racy")
    assert f"{len(FOUND)} with atomicity violations" in distributed.out


def test_findings_of_workers_are_in_the_report(project: Path, report: dict[str, Any], distributed: Ran) -> None:
    theirs = json.loads((project / "distributed.json").read_text())
    assert theirs.keys() == report.keys()
    assert runs(theirs).keys() == runs(report).keys()
    assert {f["id"] for f in theirs["findings"]} == {f["id"] for f in report["findings"]}


def test_xdist_controller_records_nothing(distributed: Ran) -> None:
    assert "heavy parts:" in distributed.out
    assert not re.search("heavy parts:.*atomsan.recorder", distributed.out)


# ---- settings

SMALL = {
    "bank.py": BANK,
    "test_small.py": """
        import sys

        from bank import Account, deposit, in_threads

        def test_racy():
            assert sys.getswitchinterval() < 1e-4
            in_threads(deposit, Account(), 1)

        def test_keys():
            secrets = {}

            def put():
                secrets["hush"] = secrets.get("hush", 0) + 1

            in_threads(put)
    """,
}


def test_settings_are_read_from_pyproject(tmp_path: Path) -> None:
    settings = """
        [tool.atomsan]
        noise = true
        seed = 3
        redact-keys = true
        not-atomic = ["bank:*"]
    """
    project = write(tmp_path / "project", SMALL | {"pyproject.toml": settings})
    ran = run_pytest(project, "--atomsan", "--atomsan-report", "out.txt", "--import-mode=importlib")
    assert ran.outcomes == {"test_small.py::test_racy": "PASSED", "test_small.py::test_keys": "FAILED"}
    text = (project / "out.txt").read_text()
    assert "test_small.py::test_racy (seed 3): holds" in text
    assert "\ntest_small.py::test_keys (seed 3): violated" in text
    assert "1. lost update in test_small:test_keys.<locals>.put" in text
    assert "hush'] (" not in text
    assert "secrets['hush']" not in text.replace("secrets['hush'] = ", "")


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    settings = '[tool.atomsan]\nnoise = false\nomit = ["bank"]\nspec = "none.toml"\n'
    spec = 'not_atomic = ["test_small:*", "bank:in_threads*"]\n'
    project = write(tmp_path / "project", SMALL | {"pyproject.toml": settings, "spec.toml": spec})
    ran = run_pytest(project, "--atomsan", "--atomsan-noise", "--atomsan-omit=other", "--atomsan-spec=spec.toml")
    assert ran.outcomes == {"test_small.py::test_racy": "FAILED", "test_small.py::test_keys": "PASSED"}


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_globs_that_match_no_module_warn_once(tmp_path: Path, workers: tuple[str, ...]) -> None:
    settings = '[tool.atomsan]\nomit = ["shop.*", "test_small"]\n'
    project = write(tmp_path / "project", SMALL | {"pyproject.toml": settings})
    ran = run_pytest(project, *workers, "--atomsan", "--atomsan-include=bank", "--atomsan-include=*/till.py")
    assert re.findall("^warning: .*", ran.out, re.M) == [
        "warning: --atomsan-include */till.py matched no module that was imported while recording",
        "warning: --atomsan-omit shop.* matched no module that was imported while recording",
    ]


# ---- error messages


@pytest.mark.parametrize(
    ("options", "settings", "said"),
    [
        (["--atomsan-report=out.html"], "", "out.html: a result is written to a file in .json or .txt"),
        (["--atomsan-report=no/out.json"], "", "no/out.json: cannot be written: there is no directory "),
        (["--atomsan-spec=no.toml"], "", "no.toml: cannot be read: No such file or directory"),
        ([], "nois = true", "pyproject.toml: 'nois' is not an option (did you mean noise?)"),
        (["--atomsan-repeat=0"], "", "repeat must be at least 1"),
        (["--atomsan-predict-seconds=0"], "", "predict-seconds must be more than 0"),
    ],
)
def test_bad_options_are_usage_errors(tmp_path: Path, options: list[str], settings: str, said: str) -> None:
    project = write(tmp_path / "project", SMALL | {"pyproject.toml": f"[tool.atomsan]\n{settings}\n"})
    ran = run_pytest(project, "--atomsan", *options)
    assert said in ran.err
    assert ran.err.startswith("ERROR: AtomSan: ")
    assert len(ran.err.splitlines()) <= 2
    assert ran.code == pytest.ExitCode.USAGE_ERROR


def test_settings_of_pytest_do_not_name_the_report(tmp_path: Path) -> None:
    """They can come with a stranger's code, and `settings.json` can be anywhere."""
    ini = "[pytest]\naddopts = --atomsan --atomsan-report settings.json\n"
    project = write(tmp_path / "project", SMALL | {"pytest.ini": ini})
    (project / "settings.json").write_text("mine")
    ran = run_pytest(project)
    assert ran.err.startswith("ERROR: AtomSan: --atomsan-report is for the command line only")
    assert ran.code == pytest.ExitCode.USAGE_ERROR
    assert (project / "settings.json").read_text() == "mine"
    assert run_pytest(project, "--atomsan-report=r.json").code == pytest.ExitCode.TESTS_FAILED
    assert (project / "r.json").exists()
    assert (project / "settings.json").read_text() == "mine"


def test_environment_may_name_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config: Any = SimpleNamespace(invocation_params=SimpleNamespace(args=("--atomsan",)))
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.setenv("PYTEST_ADDOPTS", "-q --atomsan-report 'r s.json'")
    atomsan.pytest_plugin._check_who_names_the_report(config, "r s.json")
    monkeypatch.delenv("PYTEST_ADDOPTS")
    with pytest.raises(InputError, match="is for the command line only"):
        atomsan.pytest_plugin._check_who_names_the_report(config, "r s.json")


MARKED = """
    import pytest

    @pytest.mark.atomsan({})
    def test_marked():
        pass
"""


def test_a_wrong_marker_is_a_usage_error(tmp_path: Path) -> None:
    project = write(tmp_path / "project", {"test_marked.py": MARKED.format("noisy=True")})
    ran = run_pytest(project, "--atomsan")
    assert "ERROR: test_marked.py::test_marked: the marker atomsan has no option 'noisy'" in ran.err
    assert "Traceback" not in ran.err + ran.out
    assert ran.code == pytest.ExitCode.USAGE_ERROR


def test_wrong_marker_is_an_error_in_workers_too(tmp_path: Path) -> None:
    project = write(tmp_path / "project", {"test_marked.py": MARKED.format("True")})
    ran = run_pytest(project, "--atomsan", "-n", "1")
    assert ran.outcomes == {"test_marked.py::test_marked": "ERROR"}
    assert "test_marked.py::test_marked: the marker atomsan takes options by name only" in ran.out
    assert ran.code != 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"noisy": True}, "has no option 'noisy': it has enabled, noise, seed, repeat, predict, atomic, not_atomic"),
        ({"enabled": 1}, "wants for enabled True or False, not 1"),
        ({"predict": None}, "wants for predict True or False, not None"),
        ({"seed": "1"}, "wants for seed a whole number, not '1'"),
        ({"repeat": 0}, "wants for repeat a whole number, at least 1, not 0"),
        ({"atomic": [1]}, "wants for atomic names of regions, as a text or a list of texts, not [1]"),
    ],
)
def test_message_for_a_wrong_marker(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        MarkerOptions(True, False, 0, 1, True, (), ()).changed(given)


def test_regions_of_several_markers_add_up() -> None:
    wanted = MarkerOptions(True, False, 0, 1, True, (), ("a",)).changed({"not_atomic": "b", "repeat": 2})
    assert wanted == MarkerOptions(True, False, 0, 2, True, (), ("a", "b"))


def test_unwritable_report_is_a_usage_error_at_the_end(tmp_path: Path) -> None:
    files = {"test_small.py": "import os\ndef test_takes_the_place():\n    os.mkdir('out.json')\n"}
    ran = run_pytest(write(tmp_path / "project", files), "--atomsan", "--atomsan-report=out.json")
    assert ran.outcomes == {"test_small.py::test_takes_the_place": "PASSED"}
    assert re.search(r"^ERROR: .*out\.json: a directory", ran.out, re.M)
    assert ran.code == pytest.ExitCode.USAGE_ERROR


def test_docs_page_lists_every_option() -> None:
    page = (Path(__file__).parent.parent / "docs" / "pytest.md").read_text()
    parser = pytest.Parser(_ispytest=True)
    atomsan.pytest_plugin.pytest_addoption(parser)
    flags = {option.names()[0] for option in parser.getgroup("atomsan").options}
    assert flags == set(re.findall(r"`(--atomsan[-\w]*)", page.split("## Options")[1].split("##")[0]))
    assert all(f"{name}=" in page for name in MarkerOptions._fields)
