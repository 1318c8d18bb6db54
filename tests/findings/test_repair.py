"""Hints of recorded programs: which lock, over which whole statements, and what to mind. One small program each."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from atomsan.findings.critical_sections import statements_around
from atomsan.findings.flow_graph import FlowGraph
from atomsan.findings.repair import NewLock, Repair, Section
from atomsan.findings.wording import hint_for_repair
from findings.staged import staged

HERE = Section("a.py", "Account.add", 5, 7, "self.lock")


@pytest.mark.parametrize(
    ("repair", "hint"),
    [
        (
            Repair(lock="Account.lock", unit=HERE),
            "Account.lock is not held from the first step to the last: hold it over lines 5 to 7 of a.py"
            " (`with self.lock:`)",
        ),
        (
            Repair(lock="Account.lock", others=(HERE, HERE._replace(first=9, last=9))),
            "Account.lock is held by the unit, and not by others: hold it over lines 5 to 7 and line 9 of a.py"
            " (`with self.lock:`) too",
        ),
        (
            Repair(lock="_lock", new=NewLock("threading.Lock()", "_lock", None), unit=HERE._replace(lock="_lock")),
            "no lock fits: make one, `_lock = threading.Lock()` at the top of the module,"
            " and hold it over lines 5 to 7 of a.py (`with _lock:`)",
        ),
        (
            Repair(lock="Account.lock", unit=HERE, reentered=("Account.get",), calls=("load() (line 6)",)),
            "Account.lock is not held from the first step to the last: hold it over lines 5 to 7 of a.py"
            " (`with self.lock:`); Account.get takes it too, which deadlocks with a plain Lock: make it an RLock,"
            " or move what Account.get does under it to a function that expects it held;"
            " load() (line 6) runs under the lock then",
        ),
        (
            Repair(lock="Account.lock", unit=HERE, is_task=True),
            "Account.lock is not held from the first step to the last: hold it over lines 5 to 7 of a.py"
            " (`async with self.lock:`, in the coroutine that calls Account.add)",
        ),
        (
            Repair(lock="Account.lock", unit=HERE._replace(lock=None), is_task=True),
            "Account.lock is not held from the first step to the last: hold it over lines 5 to 7 of a.py"
            " (in the coroutine that calls Account.add)",
        ),
        (
            Repair(lock="Account.lock", unit=HERE, yields=(5, 6, 7)),
            "Account.lock is not held from the first step to the last: hold it over lines 5 to 7 of a.py"
            " (`with self.lock:`); at the yield in lines 5, 6 and 7 the lock stays held while the caller runs",
        ),
        (
            Repair(lock="Account.lock", let_go="a.py:6", dropped=(6, 7)),
            "Account.lock is let go in between, at a.py:6: drop lines 6 and 7,"
            " or look again afterwards at what was read before",
        ),
        (
            Repair(lock="Account.lock", unit=HERE, waits="a.py:6"),
            "the unit waits for another thread in between (a.py:6), and no lock makes that one step:"
            " look again after the wait at what was read before it, or end the region before the wait",
        ),
        (
            Repair(
                lock="Account.lock", unit=HERE, reentered=("A.get", "A.set", "A.add"), waits_held="a.py:6", yields=(7,)
            ),
            "Account.lock is not held from the first step to the last: hold it over lines 5 to 7 of a.py"
            " (`with self.lock:`); A.get, A.set and A.add take it too, which deadlocks with a plain Lock: make it an"
            " RLock, or move what they do under it to a function that expects it held; another thread is waited for"
            " with the lock held then, at a.py:6: what is waited for must not need the lock, or both wait forever;"
            " at the yield in line 7 the lock stays held while the caller runs",
        ),
        (
            Repair(lock="Account.lock", unit=HERE._replace(lock=None), shared="Account.fees"),
            "several objects use Account.fees, each under its own Account.lock, which keeps nobody out: make one lock"
            " for all of them (an attribute of the class, say) and hold that over lines 5 to 7 of a.py, and wherever"
            " else it is used",
        ),
        (
            Repair(lock="Account.lock", unit=HERE._replace(lock=None, function="<lambda>")),
            "Account.lock is not held from the first step to the last: hold it over lines 5 to 7 of a.py"
            " (make the lambda a function for that)",
        ),
        (
            Repair(lock="Account.lock", unit=HERE, idiom="setdefault(key, value)"),
            "Account.lock is not held from the first step to the last: hold it over lines 5 to 7 of a.py"
            " (`with self.lock:`); or without a lock: setdefault(key, value) does it in one step",
        ),
    ],
)
def test_words_of_a_repair(repair: Repair, hint: str) -> None:
    assert hint_for_repair(repair) == hint


@pytest.mark.parametrize(
    "repair",
    [
        Repair(lock="a", unit=HERE, waits="a.py:6"),
        Repair(lock="a", unit=HERE, waits_held="a.py:6"),
        Repair(lock="a", unit=HERE, shared="A.fees"),
        Repair(lock="a", unit=HERE, order="b"),
        Repair(lock="a", unit=HERE, acquires=(6,)),
        Repair(lock="a", unit=HERE._replace(lock=None)),
        Repair(lock="a", unit=HERE, is_task=True),
        Repair(lock="a", unit=HERE._replace(is_async=True), is_task=True, reentered=("f",)),
        Repair(lock="a", let_go="a.py:6"),
        Repair(lock="a", unit=HERE, has_two_objects=True),
        Repair(lock="a"),
    ],
)
def test_what_needs_thought_is_not_mechanical(repair: Repair) -> None:
    assert not repair.is_mechanical


def graph(statements: list[list[Any]], nodes: list[tuple[int, list[list[int]]]]) -> FlowGraph:
    rows = [{"k": "read", "s": statement, "l": [], "arms": arms} for statement, arms in nodes]
    return FlowGraph({"nodes": rows, "statements": statements, "loops": [[-1, 0]]})


# if:1 (2, 3) else (5)
BRANCH = [[1, 5, -1, "If"], [2, 2, 0, "Assign"], [3, 3, 0, "Expr"], [5, 5, 0, "Return"], [6, 6, -1, "Return"]]


@pytest.mark.parametrize(
    ("nodes", "lines"),
    [
        ([(1, [[0, 0]]), (2, [[0, 0]])], (2, 3)),
        ([(0, []), (1, [[0, 0]])], (1, 5)),
        ([(1, [[0, 0]]), (3, [[0, 1]])], (1, 5)),
        ([(2, [[0, 0]]), (4, [])], (1, 6)),
        ([(2, [[0, 0]]), (2, [[0, 0]])], (3, 3)),
    ],
)
def test_statements_are_whole_and_of_one_block(
    nodes: list[tuple[int, list[list[int]]]], lines: tuple[int, int]
) -> None:
    found = statements_around(graph(BRANCH, nodes), range(len(nodes)))
    assert found is not None
    assert (found.first_line, found.last_line) == lines


def test_loop_is_taken_as_a_whole() -> None:
    loop = graph([[1, 3, -1, "For"], [2, 2, 0, "Assign"]], [(1, [])])
    found = statements_around(loop, [0], [0])
    assert found is not None
    assert (found.first_line, found.last_line) == (1, 3)


# ---- from a program to its repair


def repair_of(tmp_path: Path, body: str, seeds: int = 6) -> dict[str, Any]:
    """The first finding's repair, with its hint, in a program with `work()` to be done by two threads."""
    program, report = tmp_path / "app.py", tmp_path / "app.json"
    program.write_text(textwrap.dedent(body))
    for seed in range(seeds):
        command = [sys.executable, "-m", "atomsan", "run", "-q", "--noise", "--seed", str(seed), "-o", str(report)]
        subprocess.run([*command, str(program)], capture_output=True, check=False, timeout=120)
        for finding in json.loads(report.read_text())["findings"]:
            if "repair" in finding:
                found: dict[str, Any] = finding["repair"] | {"hint": finding["hint"]}
                return found
    raise AssertionError("nothing was found")


THREADS = """
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""

BANK = """
    import threading

    class Account:
        def __init__(self):
            self.lock = threading.{lock}()
            self.balance = 0

        def get(self):
            with self.lock:
                return self.balance

        def set(self, balance):
            with self.lock:
                self.balance = balance

    account = Account()

    def deposit(amount):
        balance = account.get()
        account.set(balance + amount)

    def work():
        for _ in range(60):
            deposit(1)
"""


@pytest.mark.parametrize(("lock", "is_reentered"), [("Lock", True), ("RLock", False)])
def test_lock_of_the_called_methods_is_spelled_by_their_receiver(tmp_path: Path, lock: str, is_reentered: bool) -> None:
    repair = repair_of(tmp_path, BANK.format(lock=lock) + THREADS)
    (section,) = repair["sections"]
    assert (section["lock"], section["first"], section["last"]) == ("account.lock", 20, 21)
    assert repair["reentrant"] is is_reentered
    assert repair["mechanical"]


def test_check_then_insert_has_an_idiom(tmp_path: Path) -> None:
    body = """
    import threading

    made = {}

    def make(key, value):
        if key not in made:
            made[key] = value

    def drop(key):
        made.pop(key, None)

    def work():
        for i in range(200):
            make(i % 3, i)
            drop(i % 3)
    """
    assert "setdefault(key, value) does it in one step" in repair_of(tmp_path, body + THREADS)["hint"]


def test_no_idiom_where_the_value_is_worked_out(tmp_path: Path) -> None:
    """With setdefault it would still be worked out twice."""
    body = """
    import threading
    made = {}

    def work_out(key):
        return key * 2

    def make(key):
        if key not in made:
            made[key] = work_out(key)

    def drop(key):
        made.pop(key, None)

    def work():
        for i in range(200):
            make(i % 3)
            drop(i % 3)
    """
    assert "setdefault" not in repair_of(tmp_path, body + THREADS)["hint"]


def test_statements_inside_others_are_not_named_twice(tmp_path: Path) -> None:
    body = """
    import threading
    users = {}

    def show(name):
        if name in users:
            return users[name]

    def sweep():
        for name, age in list(users.items()):
            if age > 1:
                del users[name]

    def work():
        for i in range(100):
            users[i % 3] = i
            try:
                show(i % 3)
            except KeyError:
                pass
            sweep()
    """
    repair = repair_of(tmp_path, body + THREADS)
    lines = [(one["first"], one["last"]) for one in repair["sections"]]
    assert not [one for one in lines for other in lines if one != other and other[0] <= one[0] and one[1] <= other[1]]


def test_tasks_get_a_lock_of_asyncio(tmp_path: Path) -> None:
    body = """
    import asyncio

    class Account:
        def __init__(self):
            self.balance = 0

        async def deposit(self):
            balance = self.balance
            await asyncio.sleep(0)
            self.balance = balance + 1

    account = Account()

    async def worker():
        for _ in range(20):
            await account.deposit()

    async def main():
        await asyncio.gather(worker(), worker())

    asyncio.run(main())
    """
    repair = repair_of(tmp_path, body)
    assert repair["new"] == {"made": "asyncio.Lock()", "name": "self._lock", "method": "app:Account.__init__"}
    assert repair["mechanical"]
    assert "`async with self._lock:`" in repair["hint"]
    assert "sleep() (line 10) runs under the lock then" in repair["hint"]


def test_task_and_thread_get_a_lock_of_threads(tmp_path: Path) -> None:
    """A lock of asyncio would not keep the thread out."""
    body = """
    import asyncio, threading

    class Account:
        def __init__(self):
            self.balance = 0

        async def deposit(self):
            balance = self.balance
            await asyncio.sleep(0)
            self.balance = balance + 1

        def pay(self):
            balance = self.balance
            self.balance = balance - 1

    account = Account()

    def payer():
        for _ in range(20):
            account.pay()

    async def main():
        other = threading.Thread(target=payer)
        other.start()
        for _ in range(20):
            await account.deposit()
        other.join()

    asyncio.run(main())
    """
    repair = repair_of(tmp_path, body)
    assert repair["new"]["made"].startswith("threading.")
    assert "async with" not in repair["hint"]


def test_access_outside_of_regions_takes_part(tmp_path: Path) -> None:
    """The unit holds the lock, and the main thread, which is in no function, comes in without it."""
    body = """
    import threading

    class Account:
        def __init__(self):
            self.lock = threading.Lock()
            self.balance = 0

        def deposit(self):
            with self.lock:
                balance = self.balance
                self.balance = balance + 1

    account = Account()
    other = threading.Thread(target=account.deposit)
    other.start()
    account.balance = 5
    other.join()
    """
    repair = repair_of(tmp_path, body)
    assert "Account.lock is held" in repair["hint"]


# ---- what to mind, in programs that interleave exactly so


def staged_repair(directory: Path, unit: str, other: str, more: str = "") -> tuple[Repair, str]:
    """The repair of the first finding, or else suspect, that has one, and its hint."""
    report = staged(directory, unit, other, more)
    found = next(one for one in (*report.findings, *report.suspects) if one.repair)
    assert found.repair is not None
    return found.repair, found.hint or ""


def test_functions_in_another_branch_take_the_lock_too(tmp_path: Path) -> None:
    """What is called in the statements counts, whether or not it was called between the two accesses."""
    more = """
    def through():
        box.show()

    def step(is_short):
        value = box.get()
        if is_short:
            through()
            return
        turn()
        box.set(value + 1)
    """
    repair, _ = staged_repair(tmp_path, "step(True); step(False)", "box.set(5)", more)
    assert set(repair.reentered) == {"Box.get", "Box.set", "Box.show"}


def test_function_that_is_called_before_the_accesses_takes_the_lock_too(tmp_path: Path) -> None:
    more = """
    def lookup(key):
        with box.lock:
            return box.table[key]

    def ensure(key):
        try:
            lookup(key)
        except KeyError:
            box.items.append(key)
            turn()
            with box.lock:
                box.table[key] = object()
    """
    repair, _ = staged_repair(tmp_path, "ensure(1)", "ensure(1)", more)
    assert "lookup" in repair.reentered
    assert repair.to_dict()["reentrant"]


def test_new_lock_of_a_recursive_unit_can_be_taken_twice(tmp_path: Path) -> None:
    more = """
    def value(number):
        try:
            return box.table[number]
        except KeyError:
            made = value(number - 1) if number else 0
            turn()
            box.table[number] = made
            return made
    """
    repair, hint = staged_repair(tmp_path, "value(1)", "value(0)", more)
    assert repair.new is not None
    assert repair.new.made == "threading.RLock()"
    assert "`_lock = threading.RLock()`" in hint


def test_wait_for_a_thread_with_the_lock_held_is_said(tmp_path: Path) -> None:
    more = """
    def step(is_short):
        value = box.get()
        if is_short:
            helper = threading.Thread(target=str)
            helper.start()
            helper.join()
            return
        turn()
        box.set(value + 1)
    """
    repair, hint = staged_repair(tmp_path, "step(True); step(False)", "box.set(5)", more)
    assert repair.waits is None
    assert repair.waits_held is not None
    assert "what is waited for must not need the lock" in hint
    assert not repair.is_mechanical


def test_to_join_strings_or_wait_for_the_own_condition_is_no_wait(tmp_path: Path) -> None:
    more = """
    condition = threading.Condition()
    state = [0]

    def read():
        with condition:
            return state[0]

    def write(value):
        with condition:
            if value < 0:
                condition.wait()
            state[0] = value

    def step():
        value = read()
        text = ",".join(["a", "b"])
        turn()
        write(value + len(text))
    """
    repair, _ = staged_repair(tmp_path, "step()", "write(5)", more)
    assert repair.waits_held is None


def test_size_that_decides_too_is_no_part_of_an_idiom(tmp_path: Path) -> None:
    more = """
    def offer(key):
        if key not in box.table and len(box.table) < 3:
            turn()
            box.table[key] = 1
    """
    repair, _ = staged_repair(tmp_path, "offer(1)", "offer(2)", more)
    assert repair.idiom is None


@pytest.mark.parametrize(("acted", "is_one_key"), [("key", True), ("key + 1", False)])
def test_idiom_is_for_what_was_looked_for(tmp_path: Path, acted: str, is_one_key: bool) -> None:
    more = f"""
    class Made:
        def __init__(self, value): pass

    def offer(key):
        if key not in box.table:
            box.table[{acted}] = Made(turn())
    """
    repair, _ = staged_repair(tmp_path, "offer(1)", "box.table[1] = 2; box.table[2] = 2", more)
    assert (repair.idiom is not None) is is_one_key


def test_data_of_a_class_needs_one_lock_for_all_its_objects(tmp_path: Path) -> None:
    more = """
    class Account:
        fees = 0

        def __init__(self):
            self.lock = threading.Lock()

        def charge(self):
            with self.lock:
                so_far = Account.fees
                turn()
                Account.fees = so_far + 1

    accounts = [Account(), Account()]
    """
    repair, hint = staged_repair(tmp_path, "accounts[0].charge()", "accounts[1].charge()", more)
    assert repair.shared == "Account.fees"
    assert "make one lock for all of them" in hint


def test_lambda_is_named_by_its_line(tmp_path: Path) -> None:
    more = """
    def later(value):
        turn()
        return value

    step = lambda: box.set(later(box.get()) + 1)
    """
    repair, hint = staged_repair(tmp_path, "step()", "box.set(5)", more)
    assert repair.unit is not None
    assert repair.unit.function.endswith("<lambda>")
    assert "make the lambda a function for that" in hint
    assert not repair.is_mechanical


def test_callback_runs_under_the_lock(tmp_path: Path) -> None:
    """Though it leads to the last access: it may do anything."""
    more = """
    def send(batch):
        box.items.extend(batch)

    def flush(deliver):
        with box.lock:
            batch, box.table = box.table, {}
        turn()
        deliver(batch)
    """
    repair, hint = staged_repair(tmp_path, "flush(send)", "flush(send)", more)
    assert any(call.startswith("deliver() ") for call in repair.calls), hint


def test_caller_of_a_generator_runs_with_the_lock_held(tmp_path: Path) -> None:
    more = """
    def tickets():
        number = box.get()
        yield number
        box.set(number + 1)
    """
    repair, hint = staged_repair(tmp_path, "for one in tickets(): turn()", "box.set(5)", more)
    assert len(repair.yields) == 1
    assert "the lock stays held while the caller runs" in hint


@pytest.mark.parametrize(("gives", "made"), [("yield number", "threading.RLock()"), ("turn()", "threading.Lock()")])
def test_new_lock_around_a_yield_can_be_taken_twice(tmp_path: Path, gives: str, made: str) -> None:
    """The caller may come back while it runs: a transaction inside a transaction."""
    more = f"""
    class Bag:
        def __init__(self):
            self.number = 0

        def tickets(self):
            number = self.number
            {gives}
            self.number = number + 1

    def change(bag):
        bag.number = 5

    bag = Bag()
    """
    unit = "for one in bag.tickets(): turn()" if "yield" in gives else "bag.tickets()"
    repair, _ = staged_repair(tmp_path, unit, "change(bag)", more)
    assert repair.new is not None
    assert repair.new.made == made


def test_what_is_called_under_the_lock_already_is_not_named(tmp_path: Path) -> None:
    more = """
    class Gate:
        def __init__(self):
            self.changed = threading.Condition()
            self.waiting = 0

        def enter(self):
            waiting = self.waiting
            turn()
            prepare_outside()
            with self.changed:
                prepare_inside()
                self.waiting = waiting + 1
                self.changed.wait(0.001)

    def prepare_outside():
        pass

    def prepare_inside():
        pass

    def change(gate):
        with gate.changed:
            gate.waiting = 5

    gate = Gate()
    """
    repair, _ = staged_repair(tmp_path, "gate.enter()", "change(gate)", more)
    named = " ".join(repair.calls)
    assert repair.blocks
    assert "prepare_outside()" in named
    assert "prepare_inside()" not in named
    assert "wait()" not in named


def test_task_that_sleeps_or_enters_its_lock_waits_for_nobody(tmp_path: Path) -> None:
    body = """
    import asyncio

    class Stock:
        def __init__(self):
            self.lock = asyncio.Lock()
            self.left = 12

        async def get(self):
            async with self.lock:
                await asyncio.sleep(0)
                return self.left

        async def set(self, left):
            async with self.lock:
                await asyncio.sleep(0)
                self.left = left

    stock = Stock()

    async def buyer():
        for _ in range(5):
            left = await stock.get()
            await stock.set(left - 1)

    async def main():
        await asyncio.gather(buyer(), buyer())

    asyncio.run(main())
    """
    hint = repair_of(tmp_path, body)["hint"]
    assert "Stock.get and Stock.set take it too and would wait forever" in hint
    assert "waited for" not in hint


def test_wait_after_the_statements_is_none_in_them(tmp_path: Path) -> None:
    """A wait may have the site of what was before it."""
    body = """
    import threading

    cells = [1, 2]
    barrier = threading.Barrier(2)

    def step(own):
        for _ in range(60):
            seen = cells[1 - own]
            cells[own] = seen + 1
            barrier.wait()

    threads = [threading.Thread(target=step, args=(own,)) for own in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    """
    repair = repair_of(tmp_path, body)
    assert repair["mechanical"]
    assert "waited for" not in repair["hint"]


@pytest.mark.parametrize(("calls", "made"), [("self.open(n)", "threading.RLock()"), ("", "threading.Lock()")])
def test_new_lock_of_two_findings_can_be_taken_twice_if_one_calls_the_other(
    tmp_path: Path, calls: str, made: str
) -> None:
    """Each hint alone is right with a plain lock; who follows both would wait for himself."""
    program = f"""
        import threading

        class Log:
            def __init__(self):
                self.number = 0
                self.left = 9

            def open(self, n):
                number = self.number
                self.number = number + n

            def write(self, n):
                left = self.left
                self.left = left - n
                {calls or "pass"}
                self.left = self.left + 1

        log = Log()

        def opening():
            log.open(2)

        def writing():
            log.write(1)

        threads = [threading.Thread(target=target) for target in (opening, opening, writing, writing)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    """
    (tmp_path / "log.py").write_text(textwrap.dedent(program))
    command = [sys.executable, "-m", "atomsan", "run", "--quiet", "-o", "report.json", "log.py"]
    subprocess.run(command, cwd=tmp_path, capture_output=True)
    findings = json.loads((tmp_path / "report.json").read_text())["findings"]
    new = {one["region"]: one["repair"]["new"]["made"] for one in findings if one["repair"]["new"]}
    assert new == {"log:Log.open": made, "log:Log.write": made}
