"""Watches event loops that are not asyncio's own.

uvloop runs asyncio's tasks, but not its handles: what is given to the loop is followed. trio tells an instrument of
ours when a task begins and ends a step. Of what is not followed (threads and limiters of trio, tasks of curio), the
report says so.
"""

from __future__ import annotations

from typing import Any

from atomsan.recorder.python import _sync
from atomsan.recorder.python.patches import AnyFunction, Hooked, Marked, Patches, mark_variable

ROWS = (
    Hooked("uvloop.loop", "Loop", "create_task", "create_task"),
    Hooked("uvloop.loop", "Loop", "call_soon", "other_loop_call"),
    Hooked("uvloop.loop", "Loop", "call_soon_threadsafe", "other_loop_call_threadsafe"),
    Hooked("uvloop.loop", "Loop", "call_later", "other_loop_call_later"),
    Hooked("uvloop.loop", "Loop", "call_at", "other_loop_call_later"),
    Hooked("trio._core._run", "", "setup_runner", "trio_set_up"),
    Hooked("trio._core._run", "Runner", "spawn_impl", "trio_spawn"),
    Hooked("trio._core._run", "Runner", "task_exited", "trio_task_exited"),
    Hooked("trio._core._run", "Runner", "reschedule", "trio_reschedule"),
    Hooked("trio._core._run", "Nursery", "_check_nursery_closed", "trio_nursery_closed"),
    Hooked("trio._core._thread_cache", "ThreadCache", "start_thread_soon", "unfollowed_trio_threads"),
    Hooked("trio._sync", "_LockImpl", "acquire_nowait", "trio_lock_acquire"),
    Hooked("trio._sync", "_LockImpl", "release", "trio_lock_release"),
    Hooked("trio._sync", "_LockImpl", "locked", "loop_lock_locked"),
    Hooked("trio._sync", "Semaphore", "acquire_nowait", "trio_permit_acquire"),
    Hooked("trio._sync", "Semaphore", "release", "trio_permit_release"),
    Hooked("trio._sync", "CapacityLimiter", "__init__", "unfollowed_trio_limiters"),
    Hooked("trio._sync", "Condition", "notify", "trio_notify"),
    Hooked("trio._sync", "Condition", "notify_all", "trio_notify"),
    Hooked("trio._sync", "Event", "set", "loop_event_set"),
    Hooked("trio._sync", "Event", "is_set", "loop_event_is_set"),
    Hooked("trio._channel", "MemorySendChannel", "send_nowait", "trio_send"),
    Hooked("trio._channel", "MemoryReceiveChannel", "receive_nowait", "trio_receive"),
    Hooked("curio.task", "Task", "__init__", "unfollowed_curio"),
)


def _event_seen(function: AnyFunction) -> None:
    """Event.wait ends where the event is set, whether or not it had to wait."""
    function.body.append(mark_variable("event_taken", "self", function.body[-1]))


MARKED = (Marked("trio._sync", "Event.wait", _event_seen),)


class _Steps:
    """An instrument of trio's. Both are functions of C: nothing of ours is on the stack of a task."""

    before_task_step = staticmethod(_sync.trio_step_begins)
    after_task_step = staticmethod(_sync.trio_step_ends)


def _add_instrument(runner: Any) -> None:
    runner.instruments.add_instrument(_Steps())


def imported(name: str, patches: Patches) -> None:
    """One of these modules has been imported, and is watched from now on."""
    patches.hook(row for row in ROWS if row.module == name)
    patches.mark([row for row in MARKED if row.module == name])
    if name == "trio._core._run":
        _sync.set_instrument_adder(_add_instrument)


def uninstall() -> None:
    _sync.set_instrument_adder(None)
