"""What each primitive logs, as the sequence of raw records of a small program."""

from __future__ import annotations

import sys
import threading

import pytest

from atomsan.recorder.python import _log, primitives
from recorder.probing import prepared, recording
from recorder.watching import logged, shown

HEAD = ["1 thread"]


def in_main(source: str) -> list[str]:
    """What the program logs in the one thread that it has, without the number of the thread."""
    lines = logged(source)
    assert all(line.startswith("1 ") for line in lines)
    return [line[2:] for line in lines if line not in HEAD]


# Locks


def test_lock() -> None:
    program = """
import threading
lock = threading.Lock()
lock.acquire()
lock.acquire(False)
lock.acquire(timeout=0.001)
lock.release()
try:
    lock.release()
except RuntimeError:
    pass
"""
    assert in_main(program) == ["acquire lock", "release lock"]


@pytest.mark.parametrize("make", ["allocate_lock", "allocate", "LockType", "RLock"])
def test_locks_of_module_thread(make: str) -> None:
    if make == "LockType" and sys.version_info < (3, 13):
        pytest.skip("this type makes no locks before 3.13")
    program = (
        f"import _thread\nlock = _thread.{make}()\nacquire, release = lock.acquire, lock.release\nacquire()\nrelease()"
    )
    assert in_main(program) == ["acquire lock", "release lock"]


def test_rlock_counts_every_acquire() -> None:
    program = """
import threading
lock = threading.RLock()
with lock:
    lock.acquire()
    lock.release()
"""
    assert in_main(program) == ["acquire lock", "acquire lock", "release lock", "release lock"]


def test_rlock_released_and_restored_by_wait() -> None:
    program = """
import threading
condition = threading.Condition()
lock = condition._lock
with condition:
    lock.acquire()
    condition.wait(0.001)
    lock.release()
"""
    assert in_main(program) == [
        *("acquire lock", "acquire lock", "wait condition lock", "release lock all"),
        *("acquire lock 2", "woken condition", "release lock", "release lock"),
    ]


def test_with_block_has_the_site_of_its_statement() -> None:
    program = """
import threading
lock = threading.RLock()
condition = threading.Condition()
inner = condition._lock
with «with»[lock]:
    with «with»[lock]:
        pass
with «with»[condition]:
    pass
"""
    assert in_main(program) == [
        *("block lock", "acquire lock", "block lock", "acquire lock"),
        *("release lock", "block_end lock", "release lock", "block_end lock"),
        *("block inner", "acquire inner", "release inner", "block_end inner"),
    ]
    with recording() as log, primitives.watching():
        prepared(program)
        records = [record for record in log.read() if record.op in (23, 24)]
    first = records[0].site
    assert [record.site - first for record in records] == [0, 1, 1, 0, 2, 2]


def test_lock_entered_by_a_library_has_no_block() -> None:
    program = """
import contextlib, threading
lock = threading.Lock()
«with»[1]
with contextlib.ExitStack() as stack:
    stack.enter_context(lock)
"""
    assert in_main(program) == ["acquire lock", "release lock"]


def test_lock_held_when_recording_began() -> None:
    lock, twice = threading.Lock(), threading.RLock()
    lock.acquire()
    twice.acquire()
    twice.acquire()
    lines = logged("lock.release()\ntwice.release()\ntwice.release()", lock=lock, twice=twice)
    assert lines == [*HEAD, "1 held lock 1", "1 release lock", "1 held twice 2", *["1 release twice"] * 2]


def test_lock_made_before_is_watched_when_used() -> None:
    lock = threading.Lock()
    assert logged("with lock: pass", lock=lock) == [*HEAD, "1 acquire lock", "1 release lock"]


def test_locks_of_the_library_are_not_watched() -> None:
    assert in_main("import logging\nlogging.getLogger('x').debug('y')\nhandler = logging.NullHandler()") == []


def test_freed_lock_is_logged_and_forgotten() -> None:
    program = """
import threading
lock = threading.Lock()
lock.acquire()
lock.release()
del lock
"""
    lines = logged(program, frees=True)
    assert lines[lines.index("1 thread") :] == [*HEAD, "1 acquire ?", "1 release ?", "0 free ?"]


def test_free_of_each_primitive_is_logged() -> None:
    program = """
import queue, threading
def use(primitive, *calls):
    for call in calls:
        getattr(primitive, call)()
use(threading.RLock(), "acquire", "release")
use(threading.Event(), "set")
use(threading.Semaphore(), "acquire")
use(queue.SimpleQueue(), "qsize")
use(queue.Queue(), "qsize")
"""
    lines = logged(program, frees=True)
    assert sum("free" in line for line in lines) >= 5


# Condition, Event, Semaphore, Barrier


def test_condition() -> None:
    program = """
import threading
condition, ready = threading.Condition(), threading.Event()
lock = condition._lock
def wait():
    with condition:
        ready.set()
        condition.wait()
thread = threading.Thread(target=wait)
thread.start()
ready.wait()
with condition:
    condition.notify_all()
thread.join()
"""
    lines = [line for line in logged(program) if "ready" not in line]
    assert lines == [
        *("1 thread", "1 fork 2", "2 thread", "2 acquire lock", "2 wait condition lock", "2 release lock all"),
        *("1 acquire lock", "1 post condition", "1 release lock"),
        *("2 acquire lock", "2 woken condition 1", "2 release lock", "2 exit", "1 join 2"),
    ]


def test_condition_on_a_lock_of_the_program() -> None:
    program = """
import threading
lock = threading.Lock()
condition = threading.Condition(lock)
with condition:
    condition.wait_for(lambda: False, 0.001)
try:
    condition.wait()
except RuntimeError:
    pass
try:
    condition.notify()
except RuntimeError:
    pass
"""
    lines = in_main(program)
    waits = ["wait condition lock", "release lock", "acquire lock", "woken condition"]
    count = lines.count("wait condition lock")
    assert lines[: 4 * count + 2] == ["acquire lock", *waits * count, "release lock"]
    # A condition asks a plain lock whether it is held by acquiring it.
    assert lines[4 * count + 2 :] == ["acquire lock", "release lock"] * 2


def test_event() -> None:
    program = """
import threading
event = threading.Event()
event.wait(0.001)
event.wait(0)
event.wait(timeout=0.0)
event.set()
event.is_set()
event.wait()
event.clear()
"""
    assert in_main(program) == [
        *("take event nothing", "write event state", "post event", "read event state", "take event"),
        "write event state",
    ]


def test_semaphore() -> None:
    program = """
import threading
semaphore = threading.Semaphore(2)
with semaphore:
    semaphore.acquire()
    semaphore.acquire(blocking=False)
    semaphore.acquire(timeout=0)
    semaphore.acquire(timeout=0.001)
    semaphore.release(2)
try:
    semaphore.release(0)
except ValueError:
    pass
"""
    assert in_main(program) == [
        *("semaphore semaphore 2", "take semaphore permit", "take semaphore permit", "take semaphore nothing"),
        *["post semaphore permit"] * 3,
    ]


def test_bounded_semaphore_released_too_often() -> None:
    program = """
import threading
semaphore = threading.BoundedSemaphore()
with semaphore:
    pass
try:
    semaphore.release()
except ValueError:
    pass
"""
    assert in_main(program) == ["semaphore semaphore 1", "take semaphore permit", "post semaphore permit"]


def test_semaphore_made_before() -> None:
    semaphore = threading.Semaphore(3)
    semaphore.acquire()
    lines = logged("semaphore.acquire()", semaphore=semaphore)
    assert lines == [*HEAD, "1 semaphore semaphore 2", "1 take semaphore permit"]


def test_barrier() -> None:
    program = """
import threading
barrier = threading.Barrier(2)
thread = threading.Thread(target=barrier.wait)
thread.start()
barrier.wait()
thread.join()
alone = threading.Barrier(2)
for _ in range(2):  # the second time it is broken already
    try:
        alone.wait(0.001)
    except threading.BrokenBarrierError:
        pass
"""
    lines = logged(program)
    assert sorted(line for line in lines if " barrier" in line and "alone" not in line) == [
        *("1 arrive barrier", "1 barrier barrier 2", "1 depart barrier", "2 arrive barrier", "2 depart barrier"),
    ]
    arrivals = [i for i, line in enumerate(lines) if line.endswith("arrive barrier")]
    departures = [i for i, line in enumerate(lines) if line.endswith("depart barrier")]
    assert max(arrivals) < min(departures)
    assert [line for line in lines if "alone" in line] == [
        *("1 barrier alone 2", "1 arrive alone", "1 take alone nothing", "1 arrive alone"),
    ]


def test_action_of_a_barrier_comes_after_all_arrivals_and_before_all_departures() -> None:
    program = """
import threading
lock = threading.Lock()
barrier = threading.Barrier(2, action=lock.acquire)
thread = threading.Thread(target=barrier.wait)
thread.start()
barrier.wait()
thread.join()
"""
    steps = [step for line in logged(program) if (step := line.split()[1]) in ("arrive", "acquire", "depart")]
    assert steps == ["arrive", "arrive", "depart", "acquire", "arrive", "depart", "depart"]


# Threads


def test_thread_start_and_join() -> None:
    program = """
import threading
thread = threading.Thread(target=print, args=("",), kwargs={"end": ""}, name="worker")
thread.start()
thread.join()
"""
    assert logged(program) == [*HEAD, "1 fork 2", "2 thread", "2 exit", "1 join 2"]


def test_thread_names() -> None:
    with recording() as log, primitives.watching():
        prepared("import threading\nt = threading.Thread(target=print, args=('',), name='worker')\nt.start()\nt.join()")
        assert ["worker", "thread"] in [message[2:] for message in log.definitions_of("thread")]


def test_join_that_timed_out_takes_nothing() -> None:
    program = """
import threading
go = threading.Event()
class Worker(threading.Thread):
    def run(self):
        go.wait()
thread = Worker(daemon=True)
thread.start()
thread.join(0)
thread.join(timeout=-1)
thread.join(0.01)
go.set()
thread.join()
thread.join(0.01)
"""
    assert [line for line in logged(program) if "go" not in line] == [
        *HEAD,
        *("1 fork 2", "2 thread", "1 take thread nothing", "2 exit", "1 join 2", "1 join 2"),
    ]


def test_thread_without_the_module_threading() -> None:
    program = """
import _thread
done = _thread.allocate_lock()
done.acquire()
def work(number, *, release):
    release()
_thread.start_new_thread(work, (1,), {"release": done.release})
done.acquire()
"""
    lines = logged(program)
    assert lines[:5] == [*HEAD, "1 acquire done", "1 fork 2", "2 thread", "2 release done"]
    assert "1 acquire done" in lines[5:]


def test_invalid_arguments_start_no_thread() -> None:
    program = """
import _thread
for arguments in ((), (print,), (1, ()), (print, [])):
    try:
        _thread.start_new_thread(*arguments)
    except TypeError:
        pass
"""
    assert in_main(program) == []


def test_promoter_gets_what_a_thread_calls() -> None:
    program = """
import functools, threading, _thread
from concurrent.futures import ThreadPoolExecutor
def target(*arguments): pass
class Worker(threading.Thread):
    def run(self): pass
bound = functools.partial(functools.partial(target), 1)
threads = [threading.Thread(target=bound), Worker(), threading.Timer(0, target)]
for thread in threads:
    thread.start()
    thread.join()
with ThreadPoolExecutor(1) as executor:
    executor.submit(target).result()
"""
    told: list[object] = []
    primitives.set_promoter(told.append)
    try:
        with recording(), primitives.watching():
            names = prepared(program)
    finally:
        primitives.set_promoter(None)
    assert told[:3] == [names["bound"], names["threads"][1].run, names["target"]]
    assert told[3] == names["target"]


def test_failing_promoter_does_no_harm() -> None:
    primitives.set_promoter(lambda function: 1 / 0)
    try:
        program = "import threading\nt = threading.Thread(target=len, args=((),))\nt.start()\nt.join()"
        assert "1 join 2" in logged(program)
    finally:
        primitives.set_promoter(None)


# Queues


@pytest.mark.parametrize("kind", ["Queue", "LifoQueue", "PriorityQueue"])
def test_queue(kind: str) -> None:
    program = f"""
import queue
jobs, item = queue.{kind}(), (1,)
jobs.put(item)
jobs.empty()
jobs.get()
jobs.task_done()
jobs.join()
jobs.put_nowait(item)
jobs.get_nowait()
jobs.qsize()
"""
    assert in_main(program) == [
        *("write jobs structure", "post jobs item item", "read jobs structure"),
        *("write jobs structure", "take jobs item item", "post jobs", "take jobs"),
        *("write jobs structure", "post jobs item item", "write jobs structure", "take jobs item item no-wait"),
        "read jobs structure",
    ]


@pytest.mark.parametrize("kind", ["Queue", "LifoQueue", "PriorityQueue"])
def test_failed_puts_and_gets_order_nothing(kind: str) -> None:
    program = f"""
import contextlib, queue
jobs, item = queue.{kind}(1), (1,)
jobs.put(item, timeout=0.001)
with contextlib.suppress(queue.Full): jobs.put(item, timeout=0.001)
with contextlib.suppress(queue.Full): jobs.put(item, timeout=0)
with contextlib.suppress(queue.Full): jobs.put(item, False)
with contextlib.suppress(queue.Full): jobs.put_nowait(item)
with contextlib.suppress(ValueError): jobs.put(item, timeout=-1)
jobs.full()
jobs.get()
with contextlib.suppress(queue.Empty): jobs.get(timeout=0.001)
with contextlib.suppress(queue.Empty): jobs.get(timeout=0)
with contextlib.suppress(queue.Empty): jobs.get(block=False)
with contextlib.suppress(queue.Empty): jobs.get_nowait()
with contextlib.suppress(ValueError): jobs.get(timeout=-1)
"""
    assert in_main(program) == [
        *("write jobs structure", "post jobs item item", "take jobs nothing", "read jobs structure"),
        *("write jobs structure", "take jobs item item", "take jobs nothing"),
    ]


@pytest.mark.parametrize("kind", ["Queue", "LifoQueue", "PriorityQueue"])
def test_put_that_waited_for_room(kind: str) -> None:
    """It splits regions, as a get does. One that found room at once does not, nor does the next one."""
    program = f"""
import queue, threading, time
jobs, item = queue.{kind}(1), (1,)
def take():
    while not jobs.not_full._waiters: time.sleep(0.001)
    jobs.get()
    jobs.get()
jobs.put(item)
taker = threading.Thread(target=take)
taker.start()
jobs.put(item)
taker.join()
jobs.put(item)
"""
    assert [line for line in logged(program) if line.startswith("1 ") and "jobs" in line] == [
        *("1 write jobs structure", "1 post jobs item item"),
        *("1 take jobs nothing", "1 write jobs structure", "1 post jobs item item"),
        *("1 write jobs structure", "1 post jobs item item"),
    ]


def test_queue_subclass_with_its_own_methods() -> None:
    program = """
import queue
class Own(queue.Queue):
    def _init(self, maxsize): self.data = []
    def _put(self, item): self.data.append(item)
    def _get(self): return self.data.pop()
    def _qsize(self): return len(self.data)
class Chained(Own):
    def _put(self, item): super()._put(item)
jobs, item = Chained(), object()
jobs.put(item)
jobs.get()
"""
    assert in_main(program) == [
        *("write jobs structure", "post jobs item item", "write jobs structure", "take jobs item item"),
    ]


def test_simple_queue() -> None:
    program = """
import queue
jobs, item = queue.SimpleQueue(), object()
jobs.put(item)
jobs.put_nowait(item)
jobs.get()
jobs.get(block=False)
jobs.empty()
for call in (jobs.get_nowait, lambda: jobs.get(False), lambda: jobs.get(timeout=0), lambda: jobs.get(timeout=0.001)):
    try:
        call()
    except queue.Empty:
        pass
try:
    jobs.get(timeout=-1)
except ValueError:
    pass
"""
    assert in_main(program) == [
        *("write jobs structure", "post jobs item item") * 2,
        *("write jobs structure", "take jobs item item", "write jobs structure", "take jobs item item no-wait"),
        *("read jobs structure", "take jobs nothing"),
    ]


# Futures


def test_executor() -> None:
    program = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(1) as executor:
    future = executor.submit(len, ())
    future.result()
"""
    lines = logged(program)
    assert [line for line in lines if "future" in line or "entry" in line] == [
        # with the number of threads that the pool may have
        *("1 post future start 1", "2 take future start", "2 entry", "2 post future", "1 take future"),
    ]
    assert lines[-2:] == ["2 exit", "1 join 2"]


def test_number_of_threads_is_that_of_the_pool_that_gets_the_job() -> None:
    program = """
from concurrent.futures import ThreadPoolExecutor
class Pool(ThreadPoolExecutor):
    def submit(self, fn, *args):
        return super().submit(fn, *args)
with ThreadPoolExecutor(1) as one, Pool(max_workers=7) as seven:
    def outer():
        return one.submit(len, ()).result()
    first = seven.submit(outer)
    first.result()
    second = one.submit(len, ())
"""
    starts = [line for line in logged(program) if "post" in line and "start" in line]
    assert starts == ["1 post first start 7", "2 post ? start 1", "1 post second start 1"]


def test_pool_of_threads_hands_over_calls_and_results() -> None:
    program = """
from multiprocessing.pool import ThreadPool
def finish(value):
    seen.append(value)
seen = []
with ThreadPool(2) as pool:
    result = pool.apply_async(len, ((),), callback=finish)
    result.get()
    mapped = pool.map_async(len, [(), ()], chunksize=1)
    mapped.wait()
    items = pool.imap(len, [()])
    next(items)
"""
    lines = logged(program)
    of_result = [line.partition(" ")[2] for line in lines if " result" in line]
    assert of_result[:5] == ["post result start 2", "take result start", "post result", "take result", "post result"]
    assert set(of_result[5:]) == {"take result"}
    mapped = [line.partition(" ")[2] for line in lines if " mapped" in line]
    assert mapped.count("take mapped start") == 2
    assert mapped.count("post mapped") == 3  # by each job, and when the whole is there
    assert [line for line in lines if "post items" in line and "start" not in line]
    assert lines[[place for place, line in enumerate(lines) if "post items" in line][-1] :].count("1 take items") == 1


def test_pool_of_processes_is_not_a_pool_of_threads() -> None:
    program = """
import multiprocessing
with multiprocessing.get_context("fork").Pool(2) as pool:
    result = pool.apply_async(len, ((),))
    result.get()
"""
    assert not [line for line in logged(program) if "post" in line or "take" in line]


def test_exception_is_a_result_and_timeout_is_not() -> None:
    program = """
from concurrent.futures import Future
future = Future()
for call in (future.result, future.exception):
    for timeout in (0.001, 0):
        try:
            call(timeout)
        except TimeoutError:
            pass
future.set_running_or_notify_cancel()
future.set_exception(KeyError())
try:
    future.set_result(1)
except Exception:
    pass
try:
    future.result()
except KeyError:
    pass
"""
    assert in_main(program) == [
        *["take future nothing"] * 2,
        *("write future state", "post future", "write future state", "take future"),
    ]


def test_cancelled_future() -> None:
    program = """
from concurrent.futures import Future, CancelledError
future, running = Future(), Future()
future.cancel()
try:
    future.result()
except CancelledError:
    pass
running.set_running_or_notify_cancel()
running.cancel()
"""
    assert in_main(program) == ["write future state", "post future", "take future", "write running state"]


def test_wait_and_as_completed() -> None:
    program = """
from concurrent.futures import Future, as_completed, wait
import threading
first, second = Future(), Future()
def work():
    first.set_result(1)
    second.set_result(2)
thread = threading.Thread(target=work)
thread.start()
wait([first])
for future in as_completed([second]):
    pass
"""
    lines = [line for line in logged(program) if "post" in line or "take" in line]
    assert [line.replace("future", "second") for line in lines if "first" in line] == ["2 post first", "1 take first"]
    assert lines[-1].startswith("1 take")
    assert len(lines) == 4


def test_wait_for_several_that_timed_out() -> None:
    program = """
from concurrent.futures import FIRST_COMPLETED, Future, as_completed, wait
future, second = Future(), Future()
wait([future], 0.001)
wait([future], 0)
try:
    for done in as_completed([future], 0.001): pass
except TimeoutError:
    pass
second.set_result(1)
wait([future, second], 0.001)
wait([future, second], return_when=FIRST_COMPLETED)
wait([future, second], 0.001)
"""
    assert in_main(program) == [
        *["take future nothing"] * 2,
        *("write second state", "post second", "take second", "take future nothing"),
    ]


# What is not the program's own


def test_uninstrumented_code_logs_nothing() -> None:
    with recording() as log, primitives.watching():
        program = prepared("")
        lock, event = threading.Lock(), threading.Event()
        with lock:
            event.set()
        assert shown(log, program) == []


def test_nothing_is_logged_when_paused() -> None:
    with recording() as log, primitives.watching():
        program = prepared("import threading\nlock = threading.Lock()\ndef use():\n    with lock: pass")
        _log.pause()
        log.read()
        program["use"]()
        _log.resume()
        assert shown(log, program) == []
