"""Watches the primitives of `threading`, `_thread`, `queue` and `concurrent.futures` between `install` and `uninstall`.

The tables say which function gets which hook of `_sync`. A method that only calls another watched one of the same
object is left alone (`notify_all` calls `notify`, `wait_for` calls `wait`), so that nothing is logged twice.
"""

from __future__ import annotations

import _thread
import ast
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FunctionType
from typing import Any

from atomsan.recorder.python import _sync
from atomsan.recorder.python.patches import (
    AfterImport,
    AnyFunction,
    BeforeReturns,
    Hooked,
    Marked,
    Patches,
    Report,
    before_returns,
    before_statements,
    mark_variable,
    marker,
    start_of,
)

THREADING = (
    Hooked("threading", "", "RLock", "make_rlock"),
    Hooked("threading", "Condition", "__init__", "init_condition"),
    Hooked("threading", "Condition", "__enter__", "condition_enter"),
    Hooked("threading", "Condition", "wait", "condition_wait"),
    Hooked("threading", "Condition", "notify", "condition_notify"),
    Hooked("threading", "Event", "__init__", "init_plain"),
    *(Hooked("threading", "Event", name, "event_use") for name in ("set", "clear", "is_set")),
    Hooked("threading", "Event", "wait", "take_if_true"),
    Hooked("threading", "Semaphore", "__init__", "init_semaphore"),
    Hooked("threading", "Semaphore", "acquire", "semaphore_acquire"),
    Hooked("threading", "Semaphore", "__enter__", "semaphore_acquire"),
    Hooked("threading", "Semaphore", "release", "semaphore_release"),
    Hooked("threading", "BoundedSemaphore", "__init__", "init_semaphore"),
    Hooked("threading", "BoundedSemaphore", "release", "semaphore_release"),
    Hooked("threading", "Barrier", "__init__", "init_barrier"),
    Hooked("threading", "Barrier", "wait", "barrier_wait"),
    Hooked("threading", "Barrier", "_release", "barrier_release"),
    Hooked("threading", "Thread", "join", "thread_join"),
    Hooked("threading", "Thread", "is_alive", "thread_is_alive"),
)

QUEUE = (
    Hooked("queue", "Queue", "__init__", "init_queue"),
    Hooked("queue", "Queue", "put", "queue_use"),
    Hooked("queue", "Queue", "put_nowait", "queue_use"),
    Hooked("queue", "Queue", "get", "queue_get"),
    Hooked("queue", "Queue", "get_nowait", "queue_use"),
    Hooked("queue", "Queue", "empty", "queue_size"),
    Hooked("queue", "Queue", "full", "queue_size"),
    Hooked("queue", "Queue", "qsize", "queue_size"),
    Hooked("queue", "Queue", "task_done", "queue_task_done"),
    Hooked("queue", "Queue", "join", "queue_join"),
    *(
        Hooked("queue", kind, name, hook)
        for kind in ("Queue", "LifoQueue", "PriorityQueue")
        for name, hook in (
            ("_put", "queue_inner_put"),
            ("_get", "queue_inner_get"),
            ("_qsize", "queue_inner_size"),
        )
    ),
)

FUTURES = (
    *(
        Hooked("concurrent.futures._base", "Future", name, "future_use")
        for name in ("done", "cancelled", "running", "set_result", "set_exception", "cancel")
    ),
    Hooked("concurrent.futures._base", "Future", "result", "future_result"),
    Hooked("concurrent.futures._base", "Future", "exception", "future_result"),
    Hooked("concurrent.futures._base", "Future", "add_done_callback", "future_add_callback"),
    Hooked("concurrent.futures._base", "", "wait", "futures_wait"),
)
FUTURES_PACKAGE = (Hooked("concurrent.futures", "", "wait", "futures_wait"),)
EXECUTOR = (
    Hooked("concurrent.futures.thread", "ThreadPoolExecutor", "submit", "pool_submit"),
    Hooked("concurrent.futures.thread", "_WorkItem", "__init__", "work_init"),
    Hooked("concurrent.futures.thread", "_WorkItem", "run", "work_run"),
)


def _take_what_is_yielded(function: AnyFunction) -> None:
    """`as_completed` hands out futures that are done."""
    *_, last = function.body
    statement = getattr(last, "body", [None])[-1]
    value = statement.value.value  # while fs: ...; yield fs.pop()
    statement.value.value = marker("taken", value)


def _wait_that_ran_out(function: AnyFunction) -> None:
    """`as_completed`: after each wait it looks what has finished."""
    for loop in ast.walk(function):
        if isinstance(loop, ast.While):
            texts = [ast.unparse(node) for node in loop.body]
            if "finished.reverse()" in texts:
                place = texts.index("finished.reverse()")
                look = mark_variable("none_done", "pending", loop.body[place])
                finished = ast.copy_location(ast.Name("finished", ast.Load()), look)
                assert isinstance(look, ast.Expr)
                look.value = ast.copy_location(ast.BoolOp(ast.Or(), [finished, look.value]), look)
                loop.body.insert(place, look)
                return
    raise LookupError(function.name)


def _cancelled(function: AnyFunction) -> None:
    """`cancel`: what is done already is left alone inside its first statement, which holds the future's condition."""
    block = next((node for node in function.body if isinstance(node, ast.With)), None)
    if block is None:
        raise LookupError(function.name)
    before_statements(future_written="self._state = ")(function)
    BeforeReturns("future_refused").change(block)


def _job_begins_and_ends(function: AnyFunction) -> None:
    """`worker` of multiprocessing.pool: it has got a task, and puts its result."""
    marks = {"= task": ("pool_job", "task"), "put((job, i, result))": ("pool_job_done", "job")}
    for node in [*ast.walk(function)]:
        body: list[ast.stmt] = getattr(node, "body", [])
        for statement in [*body]:
            text = "" if hasattr(statement, "body") else ast.unparse(statement)
            for end in [end for end in marks if text.endswith(end)]:
                body.insert(body.index(statement), mark_variable(*marks.pop(end), statement))
    if marks:
        raise LookupError(function.name)


def _result_comes(function: AnyFunction) -> None:
    before_statements(pool_result_set="self._event.set()")(function)
    place = start_of(function)
    function.body.insert(place, mark_variable("pool_result_comes", "self", function.body[place]))


def _result_waited_for(function: AnyFunction) -> None:
    function.body.append(mark_variable("pool_result_looked", "self", function.body[-1]))


# Where the state of an event or a future changes, and where it is asked for.
EVENT_MARKED = (
    Marked("threading", "Event.is_set", before_returns("event_read")),
    Marked("threading", "Event.set", before_statements(event_set="self._flag = ")),
    Marked("threading", "Event.clear", before_statements(event_cleared="self._flag = ")),
)
FUTURES_MARKED = (
    *(
        Marked("concurrent.futures._base", f"Future.{name}", before_returns("future_read"))
        for name in ("done", "cancelled", "running")
    ),
    *(
        Marked(
            "concurrent.futures._base",
            f"Future.{name}",
            before_statements(future_written="self._state = ", future_refused="raise "),
        )
        for name in ("set_result", "set_exception")
    ),
    Marked("concurrent.futures._base", "Future.cancel", _cancelled),
    Marked("concurrent.futures._base", "_yield_finished_futures", _take_what_is_yielded),
    Marked("concurrent.futures._base", "as_completed", _wait_that_ran_out),
)

THREAD_POOL = (
    Hooked("multiprocessing.pool", "ApplyResult", "__init__", "pool_result_init"),
    Hooked("multiprocessing.pool", "IMapIterator", "__init__", "pool_result_init"),
)
THREAD_POOL_MARKED = (
    Marked("multiprocessing.pool", "worker", _job_begins_and_ends),
    Marked("multiprocessing.pool", "ApplyResult._set", _result_comes),
    Marked("multiprocessing.pool", "MapResult._set", _result_comes),
    Marked("multiprocessing.pool", "ApplyResult.ready", before_returns("pool_result_looked")),
    Marked("multiprocessing.pool", "ApplyResult.wait", _result_waited_for),
    Marked(
        "multiprocessing.pool",
        "ApplyResult.get",
        before_statements(pool_result_ran_out="raise TimeoutError"),
    ),
    Marked(
        "multiprocessing.pool",
        "IMapIterator.next",
        before_statements(
            pool_result_taken="return value",
            pool_result_raised="raise value",
            pool_result_ran_out="raise TimeoutError",
        ),
    ),
)

_patches = Patches()
_finder: AfterImport | None = None
_is_installed = False


def _queue_was_imported() -> None:
    _patches.hook(QUEUE)
    in_c = sys.modules.get("_queue")
    if in_c is not None:
        _sync.replace_simple_queue(in_c.SimpleQueue)


def _futures_were_imported() -> None:
    _patches.mark(FUTURES_MARKED)
    _patches.hook(FUTURES)


def _thread_pool_was_imported() -> None:
    module = sys.modules["multiprocessing.pool"]
    _sync.set_thread_pool_type(module.ThreadPool)
    _patches.hook(THREAD_POOL)
    _patches.mark(THREAD_POOL_MARKED)


def _asyncio_was_imported() -> None:
    # Here, because it is only wanted if the program has asyncio.
    from atomsan.recorder.python import tasks

    tasks.install(_patches)


def _of_greenlets_was_imported(name: str) -> None:
    from atomsan.recorder.python import greenlets

    _follow(greenlets.imported, name)


def _event_loop_was_imported(name: str) -> None:
    from atomsan.recorder.python import event_loops

    _follow(event_loops.imported, name)


def _follow(imported: Callable[[str, Patches], None], name: str) -> None:
    """Tasks that are followed in part look as if nothing came in between: then nothing is known to hold."""
    known = len(_patches.unwatched)
    try:
        imported(name, _patches)
    except Exception as error:
        _patches.add_unwatched(name, f"{type(error).__name__}: {error}")
    if len(_patches.unwatched) > known:
        library = name.partition(".")[0]
        _sync.say_of_each_trace(
            f"{library} was not followed in all that it does: {name} has another form than is known"
        )


OF_GREENLETS = (
    "greenlet",
    *(
        f"gevent{name}"
        for name in ("", ".hub", ".greenlet", ".lock", ".thread", ".event", ".queue", ".pool", "._imap", ".threadpool")
    ),
    "eventlet.greenthread",
)
EVENT_LOOPS = (
    "uvloop.loop",
    *(f"trio.{name}" for name in ("_core._run", "_core._thread_cache", "_sync", "_channel")),
    "curio.task",
)

_AFTER_IMPORT: dict[str, Callable[[], None]] = {
    "queue": _queue_was_imported,
    "concurrent.futures._base": _futures_were_imported,
    "concurrent.futures": lambda: _patches.hook(FUTURES_PACKAGE),
    "concurrent.futures.thread": lambda: _patches.hook(EXECUTOR),
    "multiprocessing.pool": _thread_pool_was_imported,
    "asyncio": _asyncio_was_imported,
    **{name: partial(_of_greenlets_was_imported, name) for name in OF_GREENLETS},
    **{name: partial(_event_loop_was_imported, name) for name in EVENT_LOOPS},
}


def _watch_imported(name: str) -> None:
    if not _is_installed:
        return
    try:
        _AFTER_IMPORT[name]()
    except Exception as error:
        # A library that looks like none we know: the program runs on, with less in its log.
        _patches.add_unwatched(name, f"{type(error).__name__}: {error}")


def _adopt_queue_type(kind: type) -> None:
    """A class of the program has its own `_put`, `_get` or `_qsize`: they are hooked like those of the library."""
    hooks = {"_put": "queue_inner_put", "_get": "queue_inner_get", "_qsize": "queue_inner_size"}
    for base in kind.__mro__:
        for name, hook in hooks.items():
            if type(vars(base).get(name)) is FunctionType:
                _patches.replace(base, name, hook)


def install(report: Report | None = None) -> None:
    """Watches from now on, also what is imported later. Logs nothing as long as nothing is recorded.

    `report(what, why)` is called for what cannot be watched.
    """
    global _finder, _is_installed
    if _is_installed:
        return
    _is_installed = True
    _patches.report = report
    _sync.set_queue_adopter(_adopt_queue_type)
    _sync.set_thread_type(threading.Thread, threading.Timer)
    _sync.replace_locks(_thread)
    _patches.mark(EVENT_MARKED)
    _patches.hook(THREADING)
    missing = []
    for name in _AFTER_IMPORT:
        if sys.modules.get(name) is not None:
            _watch_imported(name)
        else:
            missing.append(name)
    _finder = AfterImport(missing, _watch_imported)
    sys.meta_path.insert(0, _finder)


def uninstall() -> None:
    """Restores everything that `install` changed."""
    global _finder, _is_installed
    if not _is_installed:
        return
    _is_installed = False
    if _finder is not None and _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    _finder = None
    _patches.report = None
    _patches.undo()
    _leave_libraries()
    _sync.restore_all()
    _sync.set_queue_adopter(None)
    _sync.set_internal_modules(())
    _sync.set_task_type(None)
    _sync.set_thread_pool_type(None)
    _sync.forget_all()


def _leave_libraries() -> None:
    for name in ("greenlets", "event_loops"):
        module = sys.modules.get(f"atomsan.recorder.python.{name}")
        if module is not None:
            module.uninstall()


@contextmanager
def watching(report: Report | None = None) -> Iterator[None]:
    install(report)
    try:
        yield
    finally:
        uninstall()


def unwatched() -> list[str]:
    """The functions that are not watched, because this version of Python has another form of them than we know."""
    return list(_patches.unwatched)


def set_promoter(promoter: Callable[[Any], object] | None) -> None:
    """`promoter(function)` is called with what a thread or executor is about to call."""
    _sync.set_promoter(promoter)
