"""Names of locks, events, queues and the like in the trace."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

MAIN = """
import json
from atomsan.recorder.python.inprocess import InProcess
from atomsan.recorder.python.options import RecordingOptions

with InProcess(RecordingOptions()) as recorder:
    import bank
    for name in ("first", "second"):
        with recorder.trace(name) as tape:
            bank.main()
tables = (tape.symbols.locks, tape.symbols.handovers, tape.symbols.locations)
print(json.dumps([list(table) for table in tables]))
"""
ACCOUNT = """
import asyncio, queue, threading

class Account:
    def __init__(self):
        self.balance = 0
        self.{field} = {made}
"""


def named(directory: Path, program: str) -> tuple[list[str], list[str], list[str]]:
    """Locks, hand-overs and variables of the second trace: what is made in the first may be there still."""
    (directory / "bank.py").write_text(textwrap.dedent(program))
    (directory / "main.py").write_text(MAIN)
    command = [sys.executable, "main.py"]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    locks, hands, variables = json.loads(done.stdout)
    return locks, hands, variables


def test_locks_of_objects_and_of_modules(tmp_path: Path) -> None:
    program = """
        import threading
        lock = threading.Lock()

        class Account:
            def __init__(self):
                self.lock = threading.RLock()

        def main():
            for account in Account(), Account():
                account.lock.acquire()
                account.lock.release()
            lock.acquire()
            lock.release()
            with lock:
                pass
    """
    assert named(tmp_path, program)[0] == ["Account.lock", "Account.lock (Account #2)", "bank.lock"]


def test_lock_made_by_a_library_is_named_by_its_use(tmp_path: Path) -> None:
    program = """
        import threading

        class Account:
            def __init__(self, lock):
                self.mutex = lock

        class Pool:
            def __init__(self, account):
                self.account = account

        def main():
            pool = Pool(Account(threading.Lock()))
            pool.account.mutex.acquire()
            pool.account.mutex.release()
    """
    assert named(tmp_path, program)[0] == ["Account.mutex"]


def test_lock_name_is_not_given_to_others_in_its_block(tmp_path: Path) -> None:
    program = """
        import threading

        class Account:
            def __init__(self):
                self.lock = threading.Lock()

        def main():
            account, outer, inner = Account(), threading.Lock(), threading.Lock()
            account.lock.acquire()
            outer.acquire()
            outer.release()
            account.lock.release()
            with account.lock:
                inner.acquire()
                inner.release()
    """
    assert named(tmp_path, program)[0] == ["Account.lock", "lock #1", "lock #2"]


def test_conditions(tmp_path: Path) -> None:
    program = """
        import threading
        ready = threading.Condition()

        class Account:
            def __init__(self):
                self.changed = threading.Condition()

        def main():
            account = Account()
            with account.changed:
                account.changed.notify()
                account.changed.wait(0.001)
            with ready:
                ready.notify_all()
    """
    locks, hands, _ = named(tmp_path, program)
    assert locks == ["Account.changed", "bank.ready"]
    assert hands == ["Account.changed notification", "Account.changed (ran out)", "bank.ready notification"]


@pytest.mark.parametrize(
    ("made", "use", "expected"),
    [
        ("threading.Event()", "{}.set(); {}.wait()", ""),
        ("queue.Queue()", "{}.put(account.balance + 1); {}.get()", " item 1"),
        ("queue.SimpleQueue()", "{}.put(account.balance + 1); {}.get()", " item 1"),
        ("threading.Semaphore(2)", "{}.acquire(); {}.release()", " permit 1"),
        ("threading.Barrier(1)", "{}.wait()", " phase 1"),
        ("threading.Event()", "{}.wait(0.001)", " (ran out)"),
        ("threading.Semaphore(0)", "{}.acquire(timeout=0.001)", " (ran out)"),
    ],
)
def test_hand_overs(made: str, use: str, expected: str, tmp_path: Path) -> None:
    program = f"""{ACCOUNT.format(field="thing", made=made)}
thing = {made}

def main():
    account = Account()
    {use.replace("{}", "account.thing")}
    {use.replace("{}", "thing")}
"""
    assert named(tmp_path, program)[1] == [f"Account.thing{expected}", f"bank.thing{expected}"]


def test_items_of_a_queue(tmp_path: Path) -> None:
    program = f"""{ACCOUNT.format(field="inbox", made="queue.Queue()")}
jobs = queue.Queue()

def main():
    account = Account()
    account.inbox.put(account.balance)
    jobs.put(1)
"""
    variables = named(tmp_path, program)[2]
    assert [name for name in variables if "items" in name] == [
        "Account.inbox (items) (Account #1)",
        "bank.jobs (items)",
    ]


def test_asyncio(tmp_path: Path) -> None:
    program = f"""{ACCOUNT.format(field="lock", made="asyncio.Lock()")}
        self.inbox = asyncio.Queue()

gate = asyncio.Lock()

async def work():
    account = Account()
    await account.lock.acquire()
    account.lock.release()
    async with gate:
        await account.inbox.put(account.balance)
        await account.inbox.get()

def main():
    asyncio.run(work())
"""
    locks, hands, _ = named(tmp_path, program)
    assert [name for name in locks if "loop" not in name] == ["Account.lock", "bank.gate"]
    assert "Account.inbox item 1" in hands
