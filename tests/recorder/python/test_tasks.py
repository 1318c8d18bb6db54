"""What asyncio logs: tasks as threads, and the primitives of the loop."""

from __future__ import annotations

import asyncio
import sys
import textwrap
from typing import Any

import pytest

from atomsan.recorder.python import primitives
from recorder.probing import prepared, recording
from recorder.watching import logged


def run(body: str, setup: str = "", **options: Any) -> list[str]:
    """What a program logs whose `main` has this body, from its first step to its last."""
    program = "import asyncio\n" + textwrap.dedent(setup) + "\nasync def main():\n"
    program += textwrap.indent(textwrap.dedent(body), "    ") + "\nasyncio.run(main())\n"
    lines = logged(program, **options)
    return lines[lines.index("2 thread") + 1 : lines.index("2 exit")]


def test_task_is_a_thread_that_holds_the_loop() -> None:
    lines = logged("import asyncio\nasync def main(): await asyncio.sleep(0)\nasyncio.run(main())", loop=True)
    step = ["2 acquire ?", "2 release ?"]
    assert lines[:8] == ["1 thread", "1 fork 2", "2 thread", *step, *step, "2 exit"]
    assert lines[8] == "1 join 2"


def test_tasks_have_their_names() -> None:
    with recording() as log, primitives.watching():
        prepared(
            "import asyncio\nasync def main(): await asyncio.create_task(asyncio.sleep(0), name='child')\n"
            "asyncio.run(main())"
        )
        assert ["child", "task"] in [message[2:] for message in log.definitions_of("thread")]


def test_fork_and_join() -> None:
    lines = run("await asyncio.create_task(asyncio.sleep(0))")
    assert lines == ["2 fork 3", "3 thread", "3 exit", "2 join 3"]


def test_gather_joins_each() -> None:
    lines = run("await asyncio.gather(asyncio.sleep(0), asyncio.sleep(0))")
    own = [line[2:] for line in lines if line.startswith("2 ")]
    assert own == ["fork 3", "fork 4", "take ?", "join 3", "join 4"]


def test_task_group_wait_and_wait_for() -> None:
    body = """
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.sleep(0))
        group.create_task(asyncio.sleep(0))
    """
    lines = run(body)
    # The last of them wakes the group, after the loop has joined both.
    woken = lines.index("2 take ?")
    assert {"1 join 3", "1 join 4"} <= set(lines[:woken])
    assert "1 post ?" in lines[lines.index("1 join 4") : woken]
    assert "2 join 3" in run("await asyncio.wait([asyncio.create_task(asyncio.sleep(0))])")
    assert "2 join 3" in run("await asyncio.wait_for(asyncio.create_task(asyncio.sleep(0)), 5)")
    assert "2 join 3" in run("for one in asyncio.as_completed([asyncio.sleep(0)]): await one")


def test_ended_task_is_joined_by_await_or_wait_for() -> None:
    ended = "task = asyncio.create_task(asyncio.sleep(0))\nwhile not task.done(): await asyncio.sleep(0)\n"
    assert "2 join 3" not in run(ended)
    assert "2 join 3" in run(ended + "await asyncio.wait_for(task, 5)")
    assert "2 join 3" in run(ended + "task.result()")
    assert "2 join 3" in run(ended + "awaited(task)", "from atomsan.recorder.python._sync import awaited")


def test_future_orders_setter_before_waiter() -> None:
    body = """
    global future
    future = asyncio.get_running_loop().create_future()
    async def child(): future.set_result(1)
    task = asyncio.create_task(child())
    await future
    """
    assert run(body)[:6] == [
        *("2 fork 3", "3 thread", "3 write future state", "3 post future", "3 exit", "2 take future"),
    ]


def test_sleep_orders_nothing() -> None:
    assert run("await asyncio.sleep(0.001)") == []


def test_lock() -> None:
    body = """
    async def child():
        async with «with»[lock]: pass
    async with «with»[lock]:
        task = asyncio.create_task(child())
        await asyncio.sleep(0)
    await task
    """
    assert run(body, "lock = asyncio.Lock()") == [
        *("2 block lock", "2 acquire lock", "2 fork 3", "3 thread", "3 block lock"),
        *("2 release lock", "2 block_end lock"),
        *("3 acquire lock", "3 release lock", "3 block_end lock", "3 exit", "2 join 3"),
    ]


def test_cancelled_acquire_ends_its_block() -> None:
    body = """
    async def child():
        async with «with»[lock]: pass
    await lock.acquire()
    try:
        await asyncio.wait_for(child(), 0.001)
    except TimeoutError:
        pass
    """
    lines = [line[2:] for line in run(body, "lock = asyncio.Lock()") if "lock" in line]
    assert lines == ["acquire lock", "block lock", "block_end lock"]


def test_event() -> None:
    body = """
    async def child(): await event.wait()
    task = asyncio.create_task(child())
    await asyncio.sleep(0)
    event.set()
    await task
    """
    lines = run(body, "event = asyncio.Event()")
    assert lines[:6] == ["2 fork 3", "3 thread", "2 write event state", "2 post event", "3 take event", "3 exit"]


def test_condition() -> None:
    body = """
    async def child():
        async with condition: await condition.wait()
    task = asyncio.create_task(child())
    await asyncio.sleep(0)
    async with condition: condition.notify_all()
    await task
    """
    assert run(body, "condition = asyncio.Condition()\nlock = condition._lock")[1:-1] == [
        *("3 thread", "3 acquire lock", "3 wait condition lock", "3 release lock"),
        *("2 acquire lock", "2 post condition", "2 release lock"),
        *("3 acquire lock", "3 woken condition 1", "3 release lock", "3 exit"),
    ]


def test_condition_without_notify() -> None:
    body = """
    async with condition:
        try:
            async with asyncio.timeout(0.001): await condition.wait()
        except TimeoutError:
            pass
    """
    assert run(body, "condition = asyncio.Condition()\nlock = condition._lock") == [
        *("2 acquire lock", "2 wait condition lock", "2 release lock", "2 acquire lock", "2 woken condition"),
        "2 release lock",
    ]


@pytest.mark.parametrize(
    ("setup", "wait"),
    [
        ("it = asyncio.Event()", "it.wait()"),
        ("it = asyncio.Semaphore(0)", "it.acquire()"),
        ("it = asyncio.Queue()", "it.get()"),
        ("it = asyncio.Queue(1); it.put_nowait(1)", "it.put(2)"),
        ("it = asyncio.Queue(1); it.put_nowait(1)", "it.join()"),
        ("it = asyncio.Barrier(2)", "it.wait()"),
    ],
)
@pytest.mark.parametrize("way", ["timeout", "wait_for", "made before"])
def test_wait_that_timed_out_takes_nothing(setup: str, wait: str, way: str) -> None:
    until = f"async with asyncio.timeout(0.001): await {wait}"
    if way == "wait_for":
        until = f"await asyncio.wait_for({wait}, 0.001)"
    body = f"try:\n    {until}\nexcept TimeoutError: pass"
    if way == "made before":
        names: dict[str, Any] = {"asyncio": asyncio}
        exec(setup, names)
        lines = run(body, it=names["it"])
    else:
        lines = run(f"global it\n{setup}\n{body}")
    lines = [line[2:] for line in lines]
    assert lines.count("take it nothing") == 1
    assert set(lines) & {"take it", "take it permit", "depart it"} == set()


def test_traceback_of_a_timeout_is_unchanged() -> None:
    program = """
import asyncio, traceback
async def main():
    event, jobs, permits = asyncio.Event(), asyncio.Queue(), asyncio.Semaphore(0)
    for wait in (event.wait, jobs.get, permits.acquire, asyncio.Barrier(2).wait):
        try:
            async with asyncio.timeout(0.001): await wait()
        except TimeoutError:
            shown.append(traceback.format_exc())
asyncio.run(main())
"""
    plain: list[str] = []
    watched: list[str] = []
    exec(compile(program, "m", "exec"), {"shown": plain})
    with primitives.watching():
        exec(compile(program, "m", "exec"), {"shown": watched})
    assert watched == plain


def test_wait_without_waiting_takes_the_result() -> None:
    body = """
    global event, permits, jobs
    event, permits, jobs = asyncio.Event(), asyncio.Semaphore(), asyncio.Queue()
    event.set()
    for wait in (event.wait(), permits.acquire(), jobs.put(1), jobs.get()):
        await asyncio.wait_for(wait, 5)
    for get in (jobs.get_nowait, lambda: asyncio.wait_for(jobs.get(), 0)):
        try: await get()
        except (asyncio.QueueEmpty, TimeoutError): pass
    """
    assert not any(line.endswith("nothing") for line in run(body))


def test_wait_for_several_that_timed_out() -> None:
    body = """
    global future
    future = asyncio.get_running_loop().create_future()
    await asyncio.wait([future], timeout=0.001)
    """
    assert run(body) == ["2 take future nothing"]


@pytest.mark.parametrize("what", ["future", "asyncio.shield(future)"])
def test_future_that_timed_out(what: str) -> None:
    body = f"""
    future = asyncio.get_running_loop().create_future()
    try: await asyncio.wait_for({what}, 0.001)
    except TimeoutError: pass
    """
    assert any(line.startswith("2 take") for line in run(body))


@pytest.mark.parametrize("kind", ["Semaphore", "BoundedSemaphore"])
def test_semaphore(kind: str) -> None:
    setup = f"semaphore = asyncio.{kind}(2)"
    lines = logged(f"import asyncio\n{setup}\nasync def main():\n  async with semaphore: pass\nasyncio.run(main())")
    assert [line for line in lines if "semaphore" in line] == [
        *("1 semaphore semaphore 2", "2 take semaphore permit", "2 post semaphore permit"),
    ]


@pytest.mark.parametrize("kind", ["Queue", "LifoQueue", "PriorityQueue"])
def test_queue(kind: str) -> None:
    body = """
    async def child():
        await jobs.get()
        jobs.task_done()
    task = asyncio.create_task(child())
    await asyncio.sleep(0)
    await jobs.put(item)
    await jobs.join()
    jobs.put_nowait(item)
    jobs.get_nowait()
    jobs.empty()
    """
    lines = [line for line in run(body, f"jobs, item = asyncio.{kind}(), (1,)") if "jobs" in line]
    assert lines == [
        *("2 write jobs structure", "2 post jobs item item", "3 write jobs structure", "3 take jobs item item"),
        *("3 post jobs", "2 take jobs", "2 write jobs structure", "2 post jobs item item"),
        *("2 write jobs structure", "2 take jobs item item no-wait", "2 read jobs structure"),
    ]


def test_put_that_waited_for_room() -> None:
    body = """
    async def child():
        await jobs.get()
    task = asyncio.create_task(child())
    await jobs.put(item)
    await jobs.put(item)
    await task
    """
    lines = [line for line in run(body, "jobs, item = asyncio.Queue(1), (1,)") if "jobs" in line]
    assert lines == [
        *("2 write jobs structure", "2 post jobs item item", "3 write jobs structure", "3 take jobs item item"),
        *("2 take jobs nothing", "2 write jobs structure", "2 post jobs item item"),
    ]


def test_barrier() -> None:
    body = """
    await asyncio.gather(barrier.wait(), barrier.wait())
    """
    lines = [line for line in run(body, "barrier = asyncio.Barrier(2)") if "barrier" in line]
    assert lines == ["3 arrive barrier", "4 arrive barrier", "4 depart barrier", "3 depart barrier"]


def test_work_in_a_thread() -> None:
    lines = run("await asyncio.to_thread(len, ())")
    worker = [line for line in lines if line.startswith("3 ")]
    assert worker[:3] == ["3 thread", "3 take ? start", "3 entry"]
    assert "2 post ? start" in lines
    # The thread posts to the loop, the loop to the task.
    assert any(line.startswith("1 take ? item") for line in lines)
    assert lines[-1] == "2 take ?"


def test_calls_from_another_thread() -> None:
    program = """
import asyncio, threading
loop = asyncio.new_event_loop()
thread = threading.Thread(target=loop.run_forever)
thread.start()
async def work(): return 1
future = asyncio.run_coroutine_threadsafe(work(), loop)
future.result()
loop.call_soon_threadsafe(loop.stop)
thread.join()
loop.close()
"""
    lines = logged(program)
    order = ["1 post loop item ?", "2 take loop item ?", "2 fork 3", "3 exit", "2 join 3"]
    order += ["2 post future", "1 take future"]
    places = [lines.index(line) for line in order]
    assert places == sorted(places)


def test_callbacks_are_ordered_after_their_scheduling() -> None:
    body = """
    done = asyncio.Event()
    asyncio.get_running_loop().call_soon(callback, done)
    await done.wait()
    """
    setup = "def callback(done): done.set()"
    lines = run(body, setup)
    assert lines[:2] == ["2 post ? item callback", "1 take ? item callback"]


@pytest.mark.parametrize(
    "scheduled",
    [
        "call_soon(callback)",
        "call_soon(functools.partial(functools.partial(callback)))",
        "call_soon(Called())",
        "call_later(0, callback)",
        "create_future().add_done_callback(lambda future: callback())",
    ],
)
def test_callback_holds_the_loop(scheduled: str) -> None:
    """No step of a task runs meanwhile, so nothing comes in between."""
    body = f"""
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    {scheduled.replace("create_future()", "future") if "future" in scheduled else f"loop.{scheduled}"}
    future.set_result(None)
    await asyncio.sleep(0.01)
    """
    setup = """
    import functools, threading
    mark = threading.Lock()

    def callback():
        with mark: pass

    class Called:
        def __call__(self): callback()
    """
    lines = run(body, setup, loop=True)
    inside = lines.index("1 acquire mark")
    before = [line for line in lines[:inside] if "acquire ?" in line or "release ?" in line]
    after = [line for line in lines[inside:] if "acquire ?" in line or "release ?" in line]
    assert before[-1] == "1 acquire ?"
    assert after[0] == "1 release ?"


def test_callback_that_only_wakes_others_does_not_hold_the_loop() -> None:
    body = "await asyncio.shield(asyncio.create_task(asyncio.sleep(0)))"
    lines = run(body, loop=True)
    assert "1 acquire ?" not in lines
    assert lines.count("2 acquire ?") + lines.count("3 acquire ?") >= 3


def test_tasks_written_in_python() -> None:
    body = """
    task = asyncio.tasks._PyTask(asyncio.sleep(0), loop=asyncio.get_running_loop())
    await task
    future = asyncio.futures._PyFuture(loop=asyncio.get_running_loop())
    asyncio.get_running_loop().call_soon(future.set_result, 1)
    await future
    """
    lines = run(body)
    assert lines[:4] == ["1 fork 3", "3 thread", "3 exit", "2 join 3"]
    assert lines[-2:] == ["1 post ?", "2 take ?"]


def test_cancelled_tasks_end() -> None:
    body = """
    task = asyncio.create_task(asyncio.sleep(5))
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        pass
    """
    lines = run(body)
    # Who cancels a task cancels what it waits for.
    assert lines == ["2 fork 3", "3 thread", "2 write ? state", "2 post ?", "3 take ?", "3 exit", "2 join 3"]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks are of 3.12")
def test_eager_tasks() -> None:
    body = """
    asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    async def at_once(): return 1
    async def later():
        await asyncio.sleep(0)
        return 2
    assert await asyncio.gather(at_once(), later()) == [1, 2]
    """
    lines = run(body)
    assert "2 fork 3" in lines
    assert "3 exit" in lines
    assert "2 join 3" in lines


def test_debug_mode() -> None:
    program = "import asyncio\nasync def main(): await asyncio.gather(*map(asyncio.sleep, [0] * 3))\n"
    assert "1 join 2" in logged(program + "asyncio.run(main(), debug=True)")


def test_marked_functions_stay_coroutine_functions() -> None:
    with primitives.watching():
        for function in (asyncio.Lock.acquire, asyncio.Event.wait, asyncio.Queue.join, asyncio.wait_for):
            assert asyncio.iscoroutinefunction(function)
