"""Event loops that are not asyncio's own: uvloop's tasks are followed, and of other libraries the report says that
theirs are not, so that nobody takes it for a proof."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import atomsan
from atomsan.findings.report import Report

ACCOUNT = """
class Account:
    def __init__(self, lock=None):
        self.balance = 0
        self.lock = lock
    async def deposit(self, amount):
        seen = self.balance
        await give_way()
        self.balance = seen + amount
    async def deposit_locked(self, amount):
        async with self.lock:
            await self.deposit(amount)
"""


def ran(directory: Path, source: str) -> Report:
    path = directory / "app.py"
    path.write_text(textwrap.dedent(source))
    report = atomsan.run(path)
    assert report.program is not None
    assert report.program.exit == 0
    return report


# ---- uvloop

ON_UVLOOP = "import asyncio, uvloop\nasync def give_way(): await asyncio.sleep(0)\n" + ACCOUNT


def on_uvloop(directory: Path, body: str) -> Report:
    main = "async def main():\n" + textwrap.indent(textwrap.dedent(body), "    ")
    return ran(directory, f"{ON_UVLOOP}{main}\nuvloop.run(main())\n")


def test_tasks_on_uvloop_lose_an_update(tmp_path: Path) -> None:
    body = """
        account = Account()
        await asyncio.gather(account.deposit(1), account.deposit(1))
    """
    report = on_uvloop(tmp_path, body)
    assert [(one.pattern, one.status) for one in report.findings] == [("lost update", "observed")]
    assert "asyncio.Lock()" in report.findings[0].hint
    assert report.warnings == []


def test_tasks_on_uvloop_do_not_interrupt_each_other(tmp_path: Path) -> None:
    body = """
        account = Account()
        async def add():
            account.balance = account.balance + 1
        await asyncio.gather(*[asyncio.create_task(add(), name=f"add {number}") for number in range(3)])
    """
    report = on_uvloop(tmp_path, body)
    assert (report.verdict, report.suspects) == ("holds", [])
    assert report.prediction is not None
    assert report.prediction.conflict_atomic


def test_uvloop_orders_as_asyncio_does(tmp_path: Path) -> None:
    """Locks, queues, futures, timers, callbacks and threads: each has the data to itself."""
    body = """
        account, jobs, loop = Account(asyncio.Lock()), asyncio.Queue(), asyncio.get_running_loop()
        async def make():
            for _ in range(2):
                mine = Account()
                await mine.deposit(1)
                await jobs.put(mine)
        async def use():
            for _ in range(2):
                await (await jobs.get()).deposit(1)
        await asyncio.gather(make(), use(), account.deposit_locked(1), account.deposit_locked(1))
        await account.deposit(1)
        timed, threaded = loop.create_future(), loop.create_future()
        def later():
            account.balance += 1
            timed.set_result(None)
        loop.call_later(0.001, later)
        await timed
        await account.deposit(1)
        def elsewhere():
            account.balance += 1
            loop.call_soon_threadsafe(threaded.set_result, None)
        await asyncio.to_thread(elsewhere)
        await threaded
        await account.deposit(1)
        print(account.balance)
    """
    report = on_uvloop(tmp_path, body)
    assert (report.verdict, report.suspects, report.warnings) == ("holds", [], [])


def test_program_on_uvloop_does_what_it_does(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    body = """
        loop = asyncio.get_running_loop()
        loop.set_debug(True)
        done = []
        handles = [loop.call_soon(done.append, 1), loop.call_later(0, done.append, 2), loop.call_soon(done.append, 3)]
        handles[2].cancel()
        await asyncio.sleep(0.01)
        def fails():
            raise LookupError("of the program")
        loop.set_exception_handler(lambda loop, context: done.append(repr(context["exception"])))
        loop.call_soon(fails)
        await asyncio.sleep(0)
        for wrong in ((), (1,)):
            try:
                loop.call_soon(*wrong)
            except TypeError as error:
                done.append(type(error).__name__)
        print(done, [handle.cancelled() for handle in handles])
    """
    on_uvloop(tmp_path, body)
    recorded = capfd.readouterr()
    done = subprocess.run([sys.executable, tmp_path / "app.py"], capture_output=True, text=True, check=True)
    assert recorded.out.startswith("[1, 2, \"LookupError('of the program')\", 'TypeError'")
    assert (recorded.out, recorded.err) == (done.stdout, done.stderr)


# ---- not followed

TRIO = f"import trio\nasync def give_way(): await trio.sleep(0)\n{ACCOUNT}"
TWO_TASKS = """
async def main():
    account = Account()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(account.deposit, 1)
        nursery.start_soon(account.deposit, 1)
    print(account.balance)
trio.run(main)
"""


def test_tasks_of_trio_are_not_followed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    report = ran(tmp_path, TRIO + TWO_TASKS)
    assert capfd.readouterr().out == "1\n"
    assert (report.verdict, report.reason) == ("unknown", "tasks of trio were not followed")
    (said,) = [warning for warning in report.warnings if "trio" in warning]
    assert said.endswith("so what they do to each other was not checked")
    assert "app.py: unknown, tasks of trio were not followed" in str(report).partition("\n")[0]
    assert report.prediction is not None
    assert report.prediction.conflict_atomic is None


def test_one_task_of_trio_has_nobody_beside_it(tmp_path: Path) -> None:
    report = ran(tmp_path, TRIO + "async def main():\n    await Account().deposit(1)\ntrio.run(main)\n")
    assert report.verdict == "holds"
    assert not any("trio" in warning for warning in report.warnings)


@pytest.mark.parametrize(
    ("module", "body", "said"),
    [
        ("curio/task", "class Task:\n    def __init__(self, coro): pass\n", "tasks of curio were not followed"),
        (
            "eventlet/greenthread",
            "class GreenThread:\n    def __init__(self, parent): pass\ndef _spawn_n(*a): pass\n",
            "locks, queues and events of eventlet were not followed",
        ),
    ],
)
def test_other_libraries_are_not_followed(module: str, body: str, said: str, tmp_path: Path) -> None:
    """What they have where we look for it, as far as a test needs it."""
    package, _, name = module.partition("/")
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").touch()
    (tmp_path / package / f"{name}.py").write_text(body)
    kind = body.split()[1].rstrip(":")
    imported = f"from {package}.{name} import {kind}\n"
    assert ran(tmp_path, imported + "print(1)\n").verdict == "holds"
    report = ran(tmp_path, imported + f"{kind}(None)\n")
    assert (report.verdict, report.reason) == ("unknown", said)
