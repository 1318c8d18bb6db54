"""Event loops that are not asyncio's own: tasks on uvloop and those of trio are followed. Of what is not, the report
says so, and nobody takes its verdict for a proof."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import atomsan
from atomsan.findings.report import Report
from cli.running import environment

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
        import threading
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
        def elsewhere_again():
            account.balance += 1
        thread = threading.Thread(target=elsewhere)
        thread.start()
        await threaded
        await account.deposit(1)
        await asyncio.to_thread(elsewhere_again)
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


# ---- trio

ON_TRIO = f"import trio\nasync def give_way(): await trio.sleep(0)\n{ACCOUNT}"


def on_trio(directory: Path, body: str) -> Report:
    main = "async def main():\n" + textwrap.indent(textwrap.dedent(body), "    ")
    return ran(directory, f"{ON_TRIO}{main}\ntrio.run(main)\n")


def test_tasks_of_trio_lose_an_update(tmp_path: Path) -> None:
    body = """
        account = Account()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(account.deposit, 1)
            nursery.start_soon(account.deposit, 1)
    """
    report = on_trio(tmp_path, body)
    assert [(one.pattern, one.status) for one in report.findings] == [("lost update", "observed")]
    assert "trio.Lock()" in report.findings[0].hint
    assert report.warnings == []


def test_tasks_of_trio_would_lose_an_update(tmp_path: Path) -> None:
    body = """
        account = Account()
        async def later():
            await trio.sleep(0.02)
            await account.deposit(1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(account.deposit, 1)
            nursery.start_soon(later)
    """
    report = on_trio(tmp_path, body)
    assert [(one.pattern, one.status) for one in report.findings] == [("lost update", "predicted")]


def test_tasks_of_trio_do_not_interrupt_each_other(tmp_path: Path) -> None:
    body = """
        account = Account()
        async def add():
            account.balance = account.balance + 1
            await give_way()
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(add)
            account.balance += 1
    """
    report = on_trio(tmp_path, body)
    assert (report.verdict, report.suspects) == ("holds", [])
    assert report.prediction is not None
    assert report.prediction.conflict_atomic


TRIO_LOCKS = (
    "trio.Lock()",
    "trio.StrictFIFOLock()",
    "trio.Semaphore(1)",
    "trio.Semaphore(1, max_value=1)",
    "trio.Condition()",
)


@pytest.mark.parametrize("lock", TRIO_LOCKS)
def test_locks_of_trio_keep_others_out(lock: str, tmp_path: Path) -> None:
    """Whether somebody waits for it in this run, or not."""
    body = f"""
        account = Account({lock})
        async def later():
            await trio.sleep(0.02)
            await account.deposit_locked(1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(later)
            for _ in range(3):
                nursery.start_soon(account.deposit_locked, 1)
        account.balance += 1
        print(account.balance)
    """
    report = on_trio(tmp_path, body)
    assert (report.verdict, report.suspects, report.warnings) == ("holds", [], [])


def test_two_permits_of_trio_keep_nobody_out(tmp_path: Path) -> None:
    body = """
        account = Account(trio.Semaphore(2))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(account.deposit_locked, 1)
            nursery.start_soon(account.deposit_locked, 1)
    """
    assert on_trio(tmp_path, body).verdict == "violated"


# Each has the account to itself, by what stands between.
TRIO_HAND_OVERS = {
    "event": """
        is_set = trio.Event()
        async def first():
            await account.deposit(1)
            is_set.set()
        async def second():
            await is_set.wait()
            await account.deposit(1)
            await checked()
        async def checked():
            await is_set.wait()
            account.balance += 1
        async with trio.open_nursery() as nursery:
            nursery.start_soon(second)
            nursery.start_soon(first)
    """,
    "event that was set": """
        is_set = trio.Event()
        async def first():
            await account.deposit(1)
            is_set.set()
            await trio.sleep(0.02)
        async def second():
            await trio.sleep(0.01)
            await is_set.wait()
            await account.deposit(1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(second)
            nursery.start_soon(first)
    """,
    "condition": """
        condition = trio.Condition()
        async def first():
            await account.deposit(1)
            async with condition:
                condition.notify_all()
        async def second():
            async with condition:
                await condition.wait()
            await account.deposit(1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(second)
            nursery.start_soon(first)
    """,
    "channel": """
        sending, receiving = trio.open_memory_channel(SIZE)
        async def first():
            async with sending:
                for _ in range(3):
                    mine = Account()
                    await mine.deposit(1)
                    await sending.send(mine)
        async def second():
            async for one in receiving:
                await one.deposit(1)
                account.balance += one.balance
        async with trio.open_nursery() as nursery:
            nursery.start_soon(second)
            nursery.start_soon(first)
    """,
    "channel that only says when": """
        sending, receiving = trio.open_memory_channel(1)
        async def first():
            await account.deposit(1)
            await sending.send("go")
        async def second():
            await trio.sleep(0.01)
            await receiving.receive()
            await account.deposit(1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(second)
            nursery.start_soon(first)
    """,
    "nurseries": """
        async def started(task_status):
            await account.deposit(1)
            task_status.started()
        async with trio.open_nursery() as outer:
            await outer.start(started)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(account.deposit, 1)
            await account.deposit(1)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(account.deposit, 1)
                await trio.sleep(0.01)
            await account.deposit(1)
            with trio.move_on_after(0.001):
                await trio.sleep(1)
    """,
}


@pytest.mark.parametrize(
    ("way", "size"),
    [*((way, "") for way in TRIO_HAND_OVERS if way != "channel"), ("channel", "0"), ("channel", "1"), ("channel", "9")],
)
def test_what_trio_hands_over_is_nobody_elses(way: str, size: str, tmp_path: Path) -> None:
    body = "account = Account()\n" + textwrap.dedent(TRIO_HAND_OVERS[way]).replace("SIZE", size)
    report = on_trio(tmp_path, body + "\naccount.balance += 1\nprint(account.balance)\n")
    assert (report.verdict, report.suspects, report.warnings) == ("holds", [], [])


def test_program_on_trio_does_what_it_does(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    body = """
        async def fails():
            raise LookupError("of the program")
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.sleep_forever)
                nursery.start_soon(fails)
        except BaseException as error:
            first = error.exceptions[0]
            print(repr(error), [frame.name for frame in __import__("traceback").extract_tb(first.__traceback__)])
        sending, receiving = trio.open_memory_channel(1)
        for step in (lambda: sending.send_nowait(1), lambda: sending.send_nowait(2), receiving.receive_nowait,
                     receiving.receive_nowait, trio.Lock().release, trio.Semaphore(1, max_value=1).release):
            try:
                print(step())
            except Exception as error:
                print(repr(error))
        class Seen(trio.abc.Instrument):
            steps = 0
            def before_task_step(self, task):
                self.steps += 1
        seen = Seen()
        trio.lowlevel.add_instrument(seen)
        await trio.sleep(0)
        print(seen.steps > 0, trio.lowlevel.current_task().name, trio.lowlevel.currently_ki_protected())
        with trio.CancelScope() as scope:
            scope.cancel()
            await trio.sleep(1)
        print(scope.cancelled_caught, await trio.to_thread.run_sync(lambda: 5))
    """
    report = on_trio(tmp_path, body)
    recorded = capfd.readouterr()
    done = subprocess.run([sys.executable, tmp_path / "app.py"], capture_output=True, text=True, check=True)
    assert (recorded.out, recorded.err) == (done.stdout, done.stderr)
    assert (report.verdict, report.reason) == ("unknown", "threads of trio were not followed")


# ---- not followed


def test_limiters_of_trio_are_not_followed(tmp_path: Path) -> None:
    body = """
        async with trio.CapacityLimiter(1):
            print(1)
    """
    report = on_trio(tmp_path, body)
    assert (report.verdict, report.reason) == ("unknown", "capacity limiters of trio were not followed")
    (said,) = [warning for warning in report.warnings if "trio" in warning]
    assert "unknown, capacity limiters of trio" in str(report).partition("\n")[0]
    assert said.endswith("so findings may be wrong")


def test_tasks_of_a_run_that_began_before_are_not_followed(tmp_path: Path) -> None:
    program = """
        async def main():
            with atomsan.recording() as tape:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(trio.sleep, 0)
            report = atomsan.check(tape)
            print(report.verdict, report.reason)
        trio.run(main)
    """
    (tmp_path / "app.py").write_text("import atomsan, trio\n" + textwrap.dedent(program))
    done = subprocess.run([sys.executable, "app.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "unknown tasks of trio were not followed\n"


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


def test_library_of_another_form_is_not_followed(tmp_path: Path) -> None:
    """Whatever it may have in its place."""
    (tmp_path / "trio" / "_core").mkdir(parents=True)
    for file in ("trio/__init__.py", "trio/_core/__init__.py"):
        (tmp_path / file).touch()
    (tmp_path / "trio" / "_core" / "_run.py").write_text("class Runner:\n    def spawn_impl(self): pass\n")
    report = ran(tmp_path, "import trio._core._run\nprint(1)\n")
    assert (report.verdict, report.reason) == ("unknown", "trio was not followed in all that it does")
    (tmp_path / "greenlet.py").write_text("class greenlet: pass\n")
    report = ran(tmp_path, "import greenlet\nprint(1)\n")
    assert (report.verdict, report.reason) == ("unknown", "greenlet was not followed in all that it does")


def test_library_of_another_form_is_said_of_each_test(tmp_path: Path) -> None:
    (tmp_path / "greenlet.py").write_text("class greenlet: pass\n")
    (tmp_path / "test_it.py").write_text("import greenlet\ndef test_one(): pass\ndef test_two(): pass\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--atomsan", "test_it.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True)
    assert "warning: 2 tests not known to hold: greenlet was not followed in all that it does" in done.stdout


def test_pytest_says_of_which_tests_nothing_is_known(tmp_path: Path) -> None:
    (tmp_path / "curio").mkdir()
    (tmp_path / "curio" / "__init__.py").touch()
    (tmp_path / "curio" / "task.py").write_text("class Task:\n    def __init__(self, coro): pass\n")
    tests = "from curio.task import Task\ndef test_one(): Task(1)\ndef test_two(): Task(2)\ndef test_three(): pass\n"
    (tmp_path / "test_it.py").write_text(tests)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--atomsan", "test_it.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout.count("warning: 2 tests not known to hold: tasks of curio were not followed: ") == 1
