"""Watched primitives look and behave like unwatched ones, and are restored afterwards."""

from __future__ import annotations

import _thread
import asyncio
import concurrent.futures.thread
import copy
import inspect
import pickle
import queue
import sys
import threading
import traceback
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from atomsan.recorder.python import _sync, patches, primitives, tasks
from recorder.probing import prepared, recording

ROWS = (
    *(*primitives.THREADING, *primitives.QUEUE, *primitives.FUTURES, *primitives.FUTURES_PACKAGE),
    *(*primitives.EXECUTOR, *tasks.HOOKED),
)
MARKED = (*primitives.EVENT_MARKED, *primitives.FUTURES_MARKED, *tasks.MARKED)
NAMES = [(row.module, row.owner, row.name) for row in ROWS]


def found(module: str, owner: str, name: str) -> Any:
    place: Any = sys.modules[module]
    return vars(getattr(place, owner) if owner else place)[name]


def marked(row: patches.Marked) -> types.FunctionType:
    function: Any = sys.modules[row.module]
    for part in row.qualname.split("."):
        function = getattr(function, part)
    if _sync.is_watched(function):
        function = _sync.original(function)
    assert isinstance(function, types.FunctionType)
    return function


@pytest.fixture
def watched() -> Iterator[None]:
    with recording(), primitives.watching():
        assert primitives.unwatched() == []
        yield


def facts(function: Any) -> list[object]:
    """What can be asked of a function without asking for its type."""
    asked: list[Callable[[Any], object]] = [
        *(repr, inspect.signature, inspect.isfunction, inspect.isroutine, inspect.iscoroutinefunction),
        *(inspect.isgeneratorfunction, inspect.getdoc, inspect.getsource, inspect.getfile, callable),
        lambda f: (f.__name__, f.__qualname__, f.__module__, f.__doc__),
        lambda f: (f.__defaults__, f.__kwdefaults__, f.__dict__),
        *(lambda f: isinstance(f, types.FunctionType), lambda f: f.__code__.co_filename),
    ]
    return [ask(function) for ask in asked]


@pytest.mark.parametrize("row", NAMES, ids=lambda row: ".".join(row))
def test_watched_function_passes_for_the_function(row: tuple[str, str, str]) -> None:
    before = found(*row)
    expected = facts(before)
    with primitives.watching():
        during = found(*row)
        assert during is not before
        assert facts(during) == expected
        assert copy.copy(during) is copy.deepcopy(during) is during
        assert weakref.ref(during)() is during
        if not row[1].startswith("_Py"):
            assert pickle.loads(pickle.dumps(during)) is during
    assert found(*row) is before


@pytest.mark.parametrize("row", MARKED, ids=lambda row: row.qualname)
def test_marked_function_is_the_same_function(row: patches.Marked) -> None:
    function = marked(row)
    code, expected = function.__code__, facts(function)
    with primitives.watching():
        assert function is marked(row)
        assert function.__code__ is not code
        assert facts(function) == expected
        assert function.__code__.co_firstlineno == code.co_firstlineno
        before, during = ({line for *_, line in c.co_lines() if line} for c in (code, function.__code__))
        assert during == before
    assert function.__code__ is code


def test_bound_method_of_a_watched_function(watched: None) -> None:
    event = threading.Event()
    assert type(event.set) is types.MethodType
    assert event.set == event.set
    assert event.set.__self__ is event
    assert repr(event.set).startswith("<bound method Event.set of <threading.Event at ")
    assert weakref.WeakMethod(event.set)() == event.set
    assert threading.Semaphore.__enter__ is threading.Semaphore.acquire


def test_types_and_instances_are_the_same(watched: None) -> None:
    lock = threading.Lock()
    assert type(lock) is _thread.LockType
    assert repr(lock).startswith("<unlocked _thread.lock object at ")
    assert type(threading.RLock()) is _thread.RLock
    assert type(lock.acquire) is types.BuiltinMethodType
    unpicklable: list[object] = [lock, threading.RLock(), queue.SimpleQueue[int](), threading.Condition()]
    for primitive in unpicklable:
        with pytest.raises(TypeError, match="cannot pickle"):
            pickle.dumps(primitive)


@pytest.mark.parametrize("make", [_thread.allocate_lock, _thread.RLock])
def test_interface_of_a_lock(watched: None, make: Callable[[], Any]) -> None:
    names = prepared("def use(lock, name, *arguments, **named): return getattr(lock, name)(*arguments, **named)")
    use, lock = names["use"], make()
    assert use(lock, "acquire", blocking=True, timeout=1) is True
    assert use(lock, "acquire", False) is (make is _thread.RLock)
    with pytest.raises(ValueError, match="timeout"):
        use(lock, "acquire", False, 1)
    with pytest.raises(TypeError):
        use(lock, "acquire", 1, 2, 3)
    with pytest.raises(TypeError):
        use(lock, "release", 1)
    use(lock, "_at_fork_reinit")
    assert use(lock, "__enter__") is True
    assert use(lock, "__exit__", None, None, None) is None
    with pytest.raises(RuntimeError):
        use(lock, "release")
    with pytest.raises(RuntimeError):
        use(lock, "__exit__", None, None, None)


FAILING = {
    "release": "import threading\ndef f(): threading.Lock().release()",
    "notify": "import threading\ndef f(): threading.Condition().notify()",
    "wait": "import threading\ndef f(): threading.Condition().wait()",
    "bounded": "import threading\ndef f(): threading.BoundedSemaphore(1).release()",
    "semaphore": "import threading\ndef f(): threading.Semaphore(-1)",
    "join": "import threading\ndef f(): threading.Thread().join()",
    "get": "import queue\ndef f(): queue.Queue().get(block=False)",
    "simple": "import queue\ndef f(): queue.SimpleQueue().get_nowait()",
    "task_done": "import queue\ndef f(): queue.Queue().task_done()",
    "priority": "import queue\ndef f():\n  q = queue.PriorityQueue()\n  q.put(1)\n  q.put('x')",
    "start": "import _thread\ndef f(): _thread.start_new_thread(1, ())",
    "result": (
        "from concurrent.futures import *\ndef f():\n with ThreadPoolExecutor() as e: e.submit(int, 'x').result()"
    ),
    "task": (
        "import asyncio\nasync def g(): 1 / 0\nasync def m(): await asyncio.create_task(g())\ndef f(): asyncio.run(m())"
    ),
    "unlocked": "import asyncio\nasync def m(): asyncio.Lock().release()\ndef f(): asyncio.run(m())",
    "cancelled": (
        "import asyncio\nasync def m():\n"
        " c = asyncio.Condition()\n async with c: await asyncio.wait_for(c.wait(), 0.001)\n"
        "def f(): asyncio.run(m())"
    ),
    "entered": (
        "import asyncio\nasync def m():\n l = asyncio.Lock()\n async with l, asyncio.timeout(0.001), l: pass\n"
        "def f(): asyncio.run(m())"
    ),
    "barrier": "import asyncio\ndef f(): asyncio.run(asyncio.wait_for(asyncio.Barrier(2).wait(), 0.001))",
}


def raised(program: str) -> list[object]:
    names = prepared(program)
    try:
        names["f"]()
    except BaseException as error:
        chain: list[BaseException | None] = [error, error.__cause__, error.__context__]
        return [
            (type(e), str(e), [(f.filename, f.lineno, f.name) for f in traceback.extract_tb(e.__traceback__)])
            for e in chain
            if e is not None
        ]
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("program", FAILING.values(), ids=FAILING)
def test_tracebacks_have_no_frame_of_ours(program: str) -> None:
    plain = raised(program)
    with recording(), primitives.watching():
        assert raised(program) == plain
    assert raised(program) == plain


def test_uncaught_exception_in_a_thread_is_shown_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", shown.append)

    def fail() -> None:
        done.acquire()
        raise KeyError

    with recording(), primitives.watching():
        done = _thread.allocate_lock()
        done.acquire()
        _thread.start_new_thread(fail, ())
        done.release()
        for _ in range(1000):
            if shown:
                break
            threading.Event().wait(0.001)
    (problem,) = shown
    assert problem.exc_type is KeyError
    assert [frame.name for frame in traceback.extract_tb(problem.exc_traceback)] == ["fail"]
    assert problem.object is fail or repr(fail) in problem.err_msg


def test_uninstall_restores_everything() -> None:
    addresses = _sync.addresses()
    attributes = [found(*name) for name in NAMES]
    finders = list(sys.meta_path)
    for _ in range(2):
        with primitives.watching():
            assert [found(*name) for name in NAMES] != attributes
        assert [found(*name) for name in NAMES] == attributes
        assert sys.meta_path == finders
    assert _sync.addresses() == addresses


def test_changes_by_the_program_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    original = threading.Event.set
    with primitives.watching():
        monkeypatch.setattr(threading.Event, "set", lambda self: None)
        mine = threading.Event.set
    assert threading.Event.set is mine
    threading.Event.set = original  # type: ignore[method-assign]


def test_bound_methods_work_after_the_recording() -> None:
    with recording(), primitives.watching():
        lock, event, jobs = threading.Lock(), threading.Event(), queue.SimpleQueue[int]()
        kept = lock.acquire, lock.release, event.set, event.wait, jobs.put
    acquire, release, set_event, wait, put = kept
    assert acquire()
    release()
    set_event()
    assert wait(0)
    put(1)
    assert jobs.get() == 1


def test_modules_are_watched_when_they_are_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "queue")
    with primitives.watching():
        import queue as fresh

        assert fresh is not queue
        assert _sync.is_watched(vars(fresh.Queue)["get"])
        assert fresh.__spec__ is not None
        assert fresh.__loader__ is fresh.__spec__.loader
        assert type(fresh.__loader__) is type(threading.__loader__)
    assert not _sync.is_watched(vars(fresh.Queue)["get"])


def test_results_are_the_same(watched: None) -> None:
    program = """
import asyncio, concurrent.futures, queue, threading
def work(number, jobs, lock, total):
    for _ in range(100):
        with lock:
            total[0] += 1
        jobs.put(number)
total, jobs, lock = [0], queue.Queue(), threading.RLock()
threads = [threading.Thread(target=work, args=(n, jobs, lock, total)) for n in range(8)]
for t in threads: t.start()
for t in threads: t.join()
items = sorted(jobs.get() for _ in range(800))
with concurrent.futures.ThreadPoolExecutor(4) as executor:
    squares = list(executor.map(lambda n: n * n, range(50)))
async def main():
    s = asyncio.Semaphore(2)
    async def f(n):
        async with s:
            await asyncio.sleep(0)
            return n
    return await asyncio.gather(*map(f, range(20)))
gathered = asyncio.run(main())
"""
    names = prepared(program)
    assert names["total"] == [800]
    assert names["items"] == sorted(list(range(8)) * 100)
    assert names["squares"] == [n * n for n in range(50)]
    assert names["gathered"] == list(range(20))


def test_nothing_is_kept_alive(watched: None) -> None:
    names = prepared("import threading, asyncio\ndef make(kind): return kind()")
    for kind in (threading.Event, threading.Condition, queue.Queue, asyncio.Lock, concurrent.futures.Future):
        made = names["make"](kind)
        ref = weakref.ref(made)
        del made
        assert ref() is None
    assert asyncio.iscoroutinefunction(asyncio.Lock.acquire)
