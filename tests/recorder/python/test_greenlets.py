"""Greenlets are threads of the trace: plain ones, and those of gevent with its locks, queues, events and pools."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import greenlet
import pytest

import atomsan
from atomsan.findings.report import Report
from atomsan.recorder.python import primitives
from recorder.probing import prepared, recording
from recorder.watching import logged, shown

ACCOUNT = """
    class Account:
        def __init__(self, lock=None):
            self.balance = 0
            self.lock = lock
        def deposit(self, amount):
            seen = self.balance
            give_way()
            self.balance = seen + amount
        def deposit_locked(self, amount):
            with self.lock:
                self.deposit(amount)
"""
PLAIN = """
    from greenlet import greenlet, getcurrent
    def give_way():
        getcurrent().parent.switch()
"""
GEVENT = """
    import gevent
    from gevent.lock import BoundedSemaphore, RLock, Semaphore
    def give_way():
        gevent.sleep(0)
"""
MONKEY = """
    from gevent import monkey
    monkey.patch_all()
    import queue, threading, time
    def give_way():
        time.sleep(0.001)
    def together(*targets):
        threads = [threading.Thread(target=target) for target in targets]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
"""


def ran(directory: Path, *parts: str) -> Report:
    path = directory / "app.py"
    path.write_text("\n".join(map(textwrap.dedent, parts)))
    report = atomsan.run(path)
    assert report.program is not None
    assert report.program.exit == 0
    return report


def is_lost_update(report: Report, *, status: str) -> bool:
    return [(one.pattern, one.status) for one in report.findings] == [("lost update", status)]


# ---- what is logged


def test_greenlet_is_a_thread_that_holds_the_lock_while_it_runs() -> None:
    program = """
        from greenlet import greenlet, getcurrent
        g = greenlet(lambda: getcurrent().parent.switch())
        g.switch()
        g.switch()
    """
    lines = logged(textwrap.dedent(program), loop=True)
    step = ["2 acquire ?", "2 release ?"]
    start = ["1 thread", "1 acquire ?", "1 fork 2", "1 release ?", "2 thread"]
    back = ["2 acquire ?", "2 post ?", "2 release ?", "1 acquire ?", "1 take ?", "1 release ?"]
    assert lines == [*start, *back, *step, "2 exit", "1 acquire ?", "1 join 2"]


def test_greenlets_are_called_as_what_they_run() -> None:
    with recording() as log, primitives.watching():
        prepared("from greenlet import greenlet\ndef work(): pass\ngreenlet(work).switch()")
        assert ["work", "task"] in [message[2:] for message in log.definitions_of("thread")]


def test_what_an_operation_has_noted_is_that_of_its_greenlet() -> None:
    """Two gets at a time in one OS thread, of which one can wait."""
    program = """
        import queue
        from greenlet import greenlet, getcurrent
        class Slow(queue.Queue):
            def _get(self):
                getcurrent().parent.switch()
                return super()._get()
        first, second = Slow(), Slow()
        first.put("a")
        second.put("b")
        both = greenlet(first.get), greenlet(second.get_nowait)
        for one in both * 2:
            one.switch()
    """
    lines = logged(textwrap.dedent(program))
    assert [line for line in lines if "take" in line and "item" in line] == [
        "2 take first item ?",
        "3 take second item ? no-wait",
    ]


def test_programs_own_trace_function_is_called_and_is_its_own() -> None:
    source = """
        import greenlet
        seen = []
        def hook(event, pair):
            seen.append((event, [one is main for one in pair]))
        main = greenlet.getcurrent()
        before = greenlet.gettrace(), greenlet.settrace(hook)
        same = greenlet.gettrace() is hook
        g = greenlet.greenlet(lambda: 1)
        g.switch()
        after = greenlet.settrace(None) is hook, greenlet.gettrace()
    """
    with recording() as log, primitives.watching():
        program = prepared(textwrap.dedent(source))
        assert any(line.endswith("fork 2") for line in shown(log, program))
    assert program["before"] == (None, None)
    assert program["same"] is True
    assert program["after"] == (True, None)
    assert program["seen"] == [("switch", [True, False]), ("switch", [False, True])]
    assert greenlet.gettrace() is None


def test_trace_function_from_before_the_recording_is_back_after_it() -> None:
    def hook(event: str, pair: object) -> None:
        events.append(event)

    events: list[str] = []
    greenlet.settrace(hook)
    try:
        with recording(), primitives.watching():
            assert greenlet.gettrace() is hook
            greenlet.greenlet(int).switch()
        assert greenlet.gettrace() is hook
    finally:
        greenlet.settrace(None)
    assert events == ["switch", "switch"]


def test_greenlets_from_before_the_recording_are_followed_in_each_thread() -> None:
    """And the thread has its own trace function all the time, also when the recording is over."""
    steps = [threading.Event() for _ in range(3)]
    seen: list[object] = []

    def hook(event: str, pair: object) -> None:
        seen.append(event)

    def work() -> None:
        greenlet.settrace(hook)
        main = greenlet.getcurrent()
        other = greenlet.greenlet(main.switch)
        other.switch()
        steps[0].set()
        steps[1].wait(10)
        program["use"]()
        other.switch()
        seen.append(greenlet.gettrace() is hook)
        steps[2].set()
        ended.wait(10)
        seen.append(greenlet.gettrace() is hook)
        seen.append(greenlet.settrace(None) is hook)

    ended = threading.Event()
    thread = threading.Thread(target=work)
    thread.start()
    steps[0].wait(10)
    with recording() as log, primitives.watching():
        program = prepared("import threading\nlock = threading.Lock()\ndef use():\n    with lock: pass")
        steps[1].set()
        steps[2].wait(10)
        names = [message[2:] for message in log.definitions_of("thread")]
    ended.set()
    thread.join()
    assert ["greenlet", "task"] in names
    assert seen == ["switch"] * 4 + [True, True, True]


def test_greenlet_of_a_task_is_part_of_the_task(tmp_path: Path) -> None:
    """As SQLAlchemy does it: the lock of the task is held by what it runs in a greenlet."""
    program = """
        import asyncio
        from greenlet import greenlet, getcurrent
        def give_way():
            getcurrent().parent.switch(asyncio.sleep(0))
        async def run(function, *arguments):
            running = greenlet(function, getcurrent())
            result = running.switch(*arguments)
            while not running.dead:
                result = running.switch(await result)
    """
    safe = """
        async def deposit(account, lock):
            async with lock:
                await run(account.deposit, 1)
        async def main():
            account, lock = Account(), asyncio.Lock()
            await asyncio.gather(deposit(account, lock), deposit(account, lock))
        asyncio.run(main())
    """
    report = ran(tmp_path, program, ACCOUNT, safe)
    assert (report.verdict, report.suspects) == ("holds", [])
    racy = safe.replace("async with lock:", "if True:")
    assert is_lost_update(ran(tmp_path, program, ACCOUNT, racy), status="observed")


# ---- what is found


def test_plain_greenlets_lose_an_update(tmp_path: Path) -> None:
    program = """
        account = Account()
        both = [greenlet(account.deposit) for _ in range(2)]
        for one in both:
            one.switch(1)
        for one in both:
            one.switch()
    """
    report = ran(tmp_path, PLAIN, ACCOUNT, program)
    assert is_lost_update(report, status="observed")
    assert "asyncio" not in report.findings[0].hint
    assert "threading" not in report.findings[0].hint


def test_plain_greenlets_that_do_not_switch_in_between_are_atomic(tmp_path: Path) -> None:
    program = """
        def work(account):
            for _ in range(3):
                account.balance = account.balance + 1
                give_way()
        account = Account()
        both = [greenlet(work) for _ in range(2)]
        for one in both * 4:
            one.switch(account)
        print(account.balance)
    """
    report = ran(tmp_path, PLAIN, ACCOUNT, program)
    assert (report.verdict, report.suspects, report.trace.threads) == ("holds", [], 3)


SCHEDULER = """
    from collections import deque
    from greenlet import greenlet, getcurrent
    class Scheduler:
        def __init__(self):
            self.ready = deque()
            self.switches = 0
        def spawn(self, function, *arguments):
            self.ready.append((greenlet(function), arguments))
        def run(self):
            self.outside = getcurrent()
            while self.ready:
                self.switches += 1
                running, arguments = self.ready.popleft()
                running.switch(*arguments)
            return self.switches
    scheduler = Scheduler()
    def give_way():
        scheduler.ready.append((getcurrent(), ()))
        scheduler.outside.switch()
"""


def test_scheduler_waits_for_those_that_it_runs(tmp_path: Path) -> None:
    """What they do to its data in the meantime is no tear in what it does."""
    program = """
        def work(account):
            account.balance = account.balance + 1
            give_way()
        account = Account()
        for _ in range(3):
            scheduler.spawn(work, account)
        print(scheduler.run(), account.balance)
    """
    report = ran(tmp_path, SCHEDULER, ACCOUNT, program)
    assert (report.verdict, report.findings, report.suspects) == ("holds", [], [])
    racy = program.replace("spawn(work, account)", "spawn(account.deposit, 1)")
    assert is_lost_update(ran(tmp_path, SCHEDULER, ACCOUNT, racy), status="observed")


def test_greenlets_that_switch_to_each_other_lose_an_update(tmp_path: Path) -> None:
    program = """
        counter = 0
        def first():
            global counter
            seen = counter
            other.switch()
            counter = seen + 1
        def second():
            global counter
            counter = counter + 1
            one.switch()
        one, other = greenlet(first), greenlet(second)
        one.switch()
        print(counter)
    """
    found = ran(tmp_path, PLAIN, program).findings[0]
    assert (found.pattern, found.status, found.region) == ("lost update", "observed", "app:first")


def test_what_a_hub_starts_is_not_ordered_by_it(tmp_path: Path) -> None:
    """As the requests of a server: that one has ended before the next one began does not matter."""
    program = """
        account, workers = Account(), []
        timer = gevent.get_hub().loop.timer(0.03)
        timer.start(lambda: workers.append(gevent.spawn(account.deposit, 1)))
        early = gevent.spawn(account.deposit, 1)
        gevent.sleep(0.06)
        gevent.joinall(workers)
    """
    assert is_lost_update(ran(tmp_path, GEVENT, ACCOUNT, program), status="predicted")


def test_gevent_loses_an_update(tmp_path: Path) -> None:
    program = """
        account = Account()
        gevent.joinall([gevent.spawn(account.deposit, 1) for _ in range(2)])
    """
    report = ran(tmp_path, GEVENT, ACCOUNT, program)
    assert is_lost_update(report, status="observed")
    assert "gevent.lock.RLock()" in report.findings[0].hint
    assert report.warnings == []


def test_gevent_would_lose_an_update(tmp_path: Path) -> None:
    """One after the other in this run."""
    program = """
        account = Account()
        gevent.joinall([gevent.spawn(account.deposit, 1), gevent.spawn_later(0.05, account.deposit, 1)])
    """
    report = ran(tmp_path, GEVENT, ACCOUNT, program)
    assert is_lost_update(report, status="predicted")
    assert report.serializable


def test_greenlets_of_gevent_that_do_not_switch_in_between_are_proved_atomic(tmp_path: Path) -> None:
    program = """
        def work(account):
            account.balance = account.balance + 1
            give_way()
        account = Account()
        workers = [gevent.spawn(work, account) for _ in range(3)]
        account.balance += 1
        gevent.joinall(workers)
    """
    report = ran(tmp_path, GEVENT, ACCOUNT, program)
    assert (report.verdict, report.suspects) == ("holds", [])
    assert report.prediction is not None
    assert report.prediction.conflict_atomic


LOCKED = """
    def block(account):
        account.deposit_locked(1)
    def by_hand(account):
        account.lock.acquire()
        try:
            account.deposit(1)
        finally:
            account.lock.release()
    for make in {kinds}:
        for way in (block, by_hand):
            account = Account(make())
            {run}
            account.balance += 1
            print(account.balance)
"""


def test_locks_of_gevent_keep_others_out(tmp_path: Path) -> None:
    run = "gevent.joinall([gevent.spawn(way, account) for _ in range(3)])"
    program = LOCKED.format(kinds="(BoundedSemaphore, RLock, Semaphore)", run=run)
    report = ran(tmp_path, GEVENT, ACCOUNT, program)
    assert (report.verdict, report.suspects, report.warnings) == ("holds", [], [])


def test_two_permits_keep_nobody_out(tmp_path: Path) -> None:
    program = """
        account = Account(Semaphore(2))
        gevent.joinall([gevent.spawn(account.deposit_locked, 1) for _ in range(2)])
    """
    assert ran(tmp_path, GEVENT, ACCOUNT, program).verdict == "violated"


def test_patched_locks_keep_others_out(tmp_path: Path) -> None:
    kinds = "(threading.Lock, threading.RLock, threading.Condition, threading.Semaphore)"
    program = LOCKED.format(kinds=kinds, run="together(*[lambda: way(account)] * 3)")
    report = ran(tmp_path, MONKEY, ACCOUNT, program)
    assert (report.verdict, report.suspects, report.warnings) == ("holds", [], [])


def test_patched_threads_lose_an_update(tmp_path: Path) -> None:
    program = """
        account = Account()
        together(*[lambda: account.deposit(1)] * 2)
    """
    assert is_lost_update(ran(tmp_path, MONKEY, ACCOUNT, program), status="observed")


# The object is handed on by whatever stands between; each greenlet has it alone for a while.
HANDED = """
    class Slot:
        def __init__(self):
            self.count = 0
        def step(self):
            seen = self.count
            give_way()
            self.count = seen + 1
"""
HAND_OVERS = {
    "queue": """
        from gevent.queue import JoinableQueue
        jobs, done = JoinableQueue(), []
        def make():
            for _ in range(3):
                slot = Slot()
                slot.step()
                jobs.put(slot)
            jobs.put(StopIteration)
        def work():
            for slot in jobs:
                slot.step()
                jobs.task_done()
                done.append(slot)
        both = [gevent.spawn(make), gevent.spawn(work)]
        gevent.joinall(both)
        print([slot.count for slot in done])
    """,
    "queue that only says when": """
        from gevent.queue import JoinableQueue, SimpleQueue
        slot, first, second, todo = Slot(), SimpleQueue(), SimpleQueue(), JoinableQueue()
        def one():
            slot.step()
            first.put("go")
        def two():
            first.get()
            slot.step()
            second.put_nowait("on")
        def three():
            for item in second:
                slot.step()
                break
            todo.get()
            todo.task_done()
        def four():
            todo.put("last")
            todo.join()
            slot.step()
        gevent.joinall([gevent.spawn(work) for work in (four, three, two, one)])
        print(slot.count)
    """,
    "event and result": """
        from gevent.event import AsyncResult, Event
        slot, ready, result = Slot(), Event(), AsyncResult()
        def first():
            slot.step()
            ready.set()
        def second():
            ready.wait()
            slot.step()
            result.set(slot)
        def third():
            result.get().step()
        gevent.joinall([gevent.spawn(one) for one in (third, second, first)], raise_error=True)
        print(slot.count)
    """,
    "join, get and link": """
        from gevent.event import AsyncResult, Event
        slot = Slot()
        def work():
            slot.step()
            return slot
        one = gevent.spawn(work)
        one.join()
        slot.step()
        gevent.spawn(work).get().step()
        last = AsyncResult()
        gevent.spawn(work).link(last)
        last.get().step()
        for done in gevent.iwait([gevent.spawn(work)]):
            slot.step()
        stepped = Event()
        def linked(ended):
            slot.step()
            stepped.set()
        gevent.spawn(work).link_value(linked)
        stepped.wait()
        slot.step()
        print(slot.count)
    """,
    "pool": """
        from gevent.pool import Pool
        def work(slot):
            slot.step()
            return slot
        def all_of(slots):
            pool = Pool(2)
            counts = [slot.count for slot in pool.map(work, slots)]
            counts += [slot.count for slot in pool.imap_unordered(work, slots)]
            for slot in slots:
                pool.spawn(work, slot)
            pool.join()
            return counts + [slot.count for slot in slots] + [pool.apply(work, (slots[0],)).count]
        print(all_of([Slot() for _ in range(3)]))
    """,
}


@pytest.mark.parametrize("way", HAND_OVERS)
def test_what_is_handed_over_is_nobody_elses(way: str, tmp_path: Path) -> None:
    report = ran(tmp_path, GEVENT, HANDED, HAND_OVERS[way])
    assert (report.verdict, report.suspects, report.warnings) == ("holds", [], [])


def test_jobs_of_a_pool_lose_an_update(tmp_path: Path) -> None:
    program = """
        from gevent.pool import Pool
        slot = Slot()
        Pool(2).map(lambda number: slot.step(), range(2))
    """
    assert is_lost_update(ran(tmp_path, GEVENT, HANDED, program), status="observed")


def test_patched_queues_conditions_and_pools_order(tmp_path: Path) -> None:
    program = """
        from concurrent.futures import ThreadPoolExecutor
        jobs, condition, slot, is_full = queue.Queue(), threading.Condition(), Slot(), []
        def put():
            mine = Slot()
            mine.step()
            jobs.put(mine)
            with condition:
                slot.step()
                is_full.append(True)
                condition.notify()
        def get():
            jobs.get().step()
            with condition:
                while not is_full:
                    condition.wait()
                slot.step()
        together(get, put)
        def job(one):
            one.step()
            return one
        with ThreadPoolExecutor(2) as pool:
            for one in list(pool.map(job, [Slot(), Slot()])):
                one.step()
                print(one.count)
    """
    report = ran(tmp_path, MONKEY, HANDED, program)
    assert (report.verdict, report.suspects, report.warnings) == ("holds", [], [])


def test_each_thread_has_greenlets_of_its_own(tmp_path: Path) -> None:
    """A greenlet of another thread can come in between anywhere, whoever switches here."""
    program = """
        import threading
        class Count:
            value = 0
            def add(self):
                self.value += 1
        count = Count()
        def work():
            gevent.joinall([gevent.spawn(count.add) for _ in range(2)])
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    """
    assert is_lost_update(ran(tmp_path, GEVENT, program), status="predicted")


# ---- what the program sees

FAITHFUL = """
    import gc, gevent, inspect
    from gevent.event import AsyncResult, Event
    from gevent.lock import BoundedSemaphore, Semaphore
    from gevent.queue import Channel, Empty, PriorityQueue, Queue
    from greenlet import greenlet, getcurrent

    log = []
    def forever():
        try:
            while True:
                gevent.sleep(1)
        finally:
            log.append("killed")
    running, never = gevent.spawn(forever), gevent.spawn(forever)
    never.kill()
    gevent.sleep(0)
    running.kill()
    print(log, running.dead, never.dead, running.successful())
    queue, event, permits = Queue(), Event(), Semaphore(2)
    for get in (queue.get_nowait, lambda: queue.get(timeout=0.001), lambda: permits.acquire(1, 2, 3, 4)):
        try:
            get()
        except (Empty, TypeError) as error:
            print(type(error))
    with gevent.Timeout(0.001, False):
        queue.get()
    print(event.wait(0.001), event.is_set(), permits.acquire(), permits.acquire(False), permits.acquire(timeout=0.001))
    print(permits.release(), permits.counter, permits.locked())
    ordered = PriorityQueue()
    for item in (3, 1, 2):
        ordered.put(item)
    print([ordered.get() for _ in range(3)], ordered.empty())
    narrow = Queue(1)
    def fill():
        for item in range(4):
            narrow.put(item)
        narrow.put(StopIteration)
    filling = gevent.spawn(fill)
    print(list(narrow), filling.join())
    channel = Channel()
    reading = gevent.spawn(lambda: log.extend(channel))
    channel.put(7)
    channel.put(StopIteration)
    reading.join()
    def suspended():
        try:
            getcurrent().parent.switch(1)
        finally:
            log.append("collected")
    plain = greenlet(suspended)
    print(plain.switch())
    del plain
    gc.collect()
    class Loud(Semaphore):
        def acquire(self, *arguments):
            log.append("loud")
            return super().acquire(*arguments)
    with Loud() as entered:
        print(entered)
    try:
        BoundedSemaphore().release()
    except ValueError as error:
        print(error)
    def fails():
        raise LookupError("of the program")
    failing = greenlet(fails)
    try:
        failing.switch()
    except LookupError as error:
        print(error, failing.dead, [frame.name for frame in __import__("traceback").extract_tb(error.__traceback__)])
    print(log, gevent.wait(timeout=1), Semaphore.acquire.__name__, bool(inspect.getdoc(Semaphore.acquire)))
"""


def test_program_does_what_it_does(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    report = ran(tmp_path, FAITHFUL)
    recorded = capfd.readouterr()
    done = subprocess.run([sys.executable, tmp_path / "app.py"], capture_output=True, text=True, check=True)
    assert (recorded.out, recorded.err) == (done.stdout, done.stderr)
    assert (report.verdict, report.findings, report.warnings) == ("holds", [], [])


# ---- what is not followed


def test_trace_function_that_raises_ends_it_and_the_report_says_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = """
        import greenlet
        def hook(event, pair):
            raise ValueError(event)
        greenlet.settrace(hook)
        try:
            greenlet.greenlet(int).switch()
        except ValueError as error:
            print("raised", error, greenlet.gettrace())
    """
    report = ran(tmp_path, program)
    assert capfd.readouterr().out == "raised switch None\n"
    assert (report.verdict, report.reason) == ("unknown", "greenlets were not followed to the end")


def test_native_threads_of_gevent_are_not_followed(tmp_path: Path) -> None:
    program = """
        print(gevent.get_hub().threadpool.spawn(int).get())
    """
    report = ran(tmp_path, GEVENT, program)
    assert (report.verdict, report.reason) == ("unknown", "jobs of gevent.threadpool were not followed")


def test_everything_is_as_it_was_after_the_recording(tmp_path: Path) -> None:
    """Of types in C, too, which Python code cannot change."""
    program = """
        import gevent.event, gevent.lock, gevent.pool, gevent.queue, gevent.thread, gevent.threadpool
        import trio._channel, trio._core._run, trio._sync, uvloop.loop
        from atomsan.recorder.python import primitives

        owners = [
            gevent, gevent.hub, gevent.lock.Semaphore, gevent.lock.BoundedSemaphore, gevent.lock.RLock, gevent.Greenlet,
            gevent.thread.LockType, gevent.event.Event, gevent.event.AsyncResult, gevent.queue.SimpleQueue,
            gevent.queue.Queue, gevent.queue.Channel, gevent.pool.Group, gevent.pool.Pool, uvloop.loop.Loop,
            trio._core._run, trio._core._run.Runner, trio._core._run.Nursery, trio._sync.Event, trio._sync.Semaphore,
        ]
        def taken():
            return [{name: (id(value), getattr(value, "__code__", None)) for name, value in vars(owner).items()}
                    for owner in owners]
        before = taken()
        with primitives.watching():
            assert primitives.unwatched() == []
            during = taken()
            assert all(one != other for one, other in zip(before, during))
        assert before == taken()
        print(gevent.spawn(len, "abc").get())
    """
    path = tmp_path / "app.py"
    path.write_text(textwrap.dedent(program))
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("3\n", "")
