"""Watches `asyncio`: its tasks, its loop and its primitives. A task is a thread of the trace, the loop a lock.

The tables say which function gets which hook or markers. Locks, events and queues of asyncio wake their waiters through
futures: these are internal and not logged, the operation of the primitive is. A coroutine method gets markers in its
own code and stays a coroutine function.
"""

from __future__ import annotations

import ast
import sys

from atomsan.recorder.python import _sync
from atomsan.recorder.python.patches import (
    AnyFunction,
    Hooked,
    Marked,
    Patches,
    before_returns,
    ends_early,
    mark_end,
    mark_exception,
    mark_variable,
    marker,
    start_of,
)

HOOKED = (
    Hooked("asyncio.events", "Handle", "_run", "run_handle"),
    Hooked("asyncio.base_events", "BaseEventLoop", "create_task", "create_task"),
    Hooked("asyncio.base_events", "BaseEventLoop", "call_soon", "call_soon"),
    Hooked("asyncio.base_events", "BaseEventLoop", "call_soon_threadsafe", "call_threadsafe"),
    Hooked("asyncio.base_events", "BaseEventLoop", "call_later", "call_later"),
    Hooked("asyncio.base_events", "BaseEventLoop", "call_at", "call_later"),
    Hooked("asyncio.futures", "_PyFuture", "set_result", "python_future_set"),
    Hooked("asyncio.futures", "_PyFuture", "set_exception", "python_future_set"),
    Hooked("asyncio.futures", "_PyFuture", "cancel", "python_future_set"),
    Hooked("asyncio.futures", "_PyFuture", "done", "python_future_look"),
    Hooked("asyncio.futures", "_PyFuture", "cancelled", "python_future_look"),
    Hooked("asyncio.futures", "_PyFuture", "result", "python_future_result"),
    Hooked("asyncio.futures", "_PyFuture", "exception", "python_future_result"),
    Hooked("asyncio.locks", "Lock", "__init__", "init_loop_lock"),
    Hooked("asyncio.locks", "Lock", "release", "loop_lock_release"),
    Hooked("asyncio.locks", "Lock", "locked", "loop_lock_locked"),
    Hooked("asyncio.locks", "Event", "__init__", "init_loop_plain"),
    Hooked("asyncio.locks", "Event", "set", "loop_event_set"),
    Hooked("asyncio.locks", "Event", "clear", "loop_event_clear"),
    Hooked("asyncio.locks", "Event", "is_set", "loop_event_is_set"),
    Hooked("asyncio.locks", "Condition", "__init__", "init_loop_condition"),
    Hooked("asyncio.locks", "Condition", "notify", "loop_condition_notify"),
    Hooked("asyncio.locks", "Semaphore", "__init__", "init_loop_semaphore"),
    Hooked("asyncio.locks", "Semaphore", "release", "loop_semaphore_release"),
    Hooked("asyncio.locks", "BoundedSemaphore", "__init__", "init_loop_semaphore"),
    Hooked("asyncio.locks", "Barrier", "__init__", "init_loop_barrier"),
    Hooked("asyncio.queues", "Queue", "__init__", "init_loop_queue"),
    Hooked("asyncio.queues", "Queue", "put_nowait", "loop_queue_put_nowait"),
    Hooked("asyncio.queues", "Queue", "get_nowait", "loop_queue_get_nowait"),
    Hooked("asyncio.queues", "Queue", "empty", "loop_queue_size"),
    Hooked("asyncio.queues", "Queue", "full", "loop_queue_size"),
    Hooked("asyncio.queues", "Queue", "qsize", "loop_queue_size"),
    Hooked("asyncio.queues", "Queue", "task_done", "queue_task_done"),
    *(
        Hooked("asyncio.queues", kind, name, hook)
        for kind in ("Queue", "LifoQueue", "PriorityQueue")
        for name, hook in (("_put", "queue_inner_put"), ("_get", "queue_inner_get"))
    ),
)


def _permit_taken(function: AnyFunction) -> None:
    before_returns("permit_taken")(function)
    ends_early("ran_out", "self", "await fut")(function)
    _put_at_start(function, "permit_wanted")


def _through_barrier(function: AnyFunction) -> None:
    before_returns("departure")(function)
    ends_early("ran_out", "self", "await self._wait()")(function)
    _put_at_start(function, "arrival")


def _event_taken(function: AnyFunction) -> None:
    before_returns("event_taken")(function)
    ends_early("ran_out", "self", "await fut")(function)


def _put_at_start(function: AnyFunction, name: str) -> None:
    place = start_of(function)
    function.body.insert(place, mark_variable(name, "self", function.body[place]))


def _waited(function: AnyFunction) -> None:
    """Condition.wait: from the release of the lock on; the wait ends when the lock is back, however it ends."""
    before_returns("notified")(function)
    start = next((i for i, node in enumerate(function.body) if ast.unparse(node) == "self.release()"), None)
    if start is None:
        raise LookupError(function.name)
    inner = function.body[start:]
    function.body[start:] = [mark_variable("wait", "self", inner[0]), mark_end(inner, "woken")]


def _entered(function: AnyFunction) -> None:
    """`__aenter__`: a block that could not be entered ends at once."""
    place = start_of(function)
    inner = function.body[place:]
    function.body[place:] = [mark_variable("block", "self", inner[0]), mark_exception(inner, "block_end", "self")]


def _left(function: AnyFunction) -> None:
    place = start_of(function)
    function.body[place:] = [mark_end(function.body[place:], "block_end")]


def _joined(function: AnyFunction) -> None:
    ends_early("queue_ran_out", "self", "await self._finished.wait()")(function)
    function.body.append(mark_variable("queue_joined", "self", function.body[-1]))


def _awaited(function: AnyFunction) -> None:
    """wait_for: what it awaits may have ended already."""
    ends_early("future_ran_out", "fut", "return await fut")(function)
    for node in ast.walk(function):
        if isinstance(node, ast.Await) and isinstance(node.value, ast.Name) and node.value.id == "fut":
            node.value = marker("awaited", node.value)


def _several(function: AnyFunction) -> None:
    before_returns("done", "done")(function)
    before_returns("pending", "pending")(function)


MARKED = (
    Marked("asyncio.locks", "_ContextManagerMixin.__aenter__", _entered),
    Marked("asyncio.locks", "_ContextManagerMixin.__aexit__", _left),
    Marked("asyncio.locks", "Lock.acquire", before_returns("lock_acquired")),
    Marked("asyncio.locks", "Event.wait", _event_taken),
    Marked("asyncio.locks", "Condition.wait", _waited),
    Marked("asyncio.locks", "Semaphore.acquire", _permit_taken),
    Marked("asyncio.locks", "Barrier.wait", _through_barrier),
    Marked("asyncio.queues", "Queue.get", ends_early("queue_ran_out", "self", "await getter")),
    Marked("asyncio.queues", "Queue.put", ends_early("queue_ran_out", "self", "await putter", "queue_room")),
    Marked("asyncio.queues", "Queue.join", _joined),
    Marked("asyncio.tasks", "wait_for", _awaited),
    Marked("asyncio.tasks", "_wait", _several),
)


def install(patches: Patches) -> None:
    """asyncio has been imported, and is watched from now on."""
    patches.hook(HOOKED)
    if sys.version_info < (3, 13):
        patches.hook([Hooked("asyncio.tasks", "", "_set_task_name", "name_task")])
    patches.mark(MARKED)
    _sync.set_internal_modules((sys.modules["asyncio.locks"], sys.modules["asyncio.queues"]))
    _sync.set_task_type(sys.modules["asyncio.tasks"]._PyTask)
    in_c = sys.modules.get("_asyncio")
    if in_c is not None:
        _sync.replace_futures(in_c.Future, in_c.Task)
