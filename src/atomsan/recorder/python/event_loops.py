"""Watches event loops that are not asyncio's own.

uvloop runs asyncio's tasks, but not its handles: what is given to the loop is followed. Of trio and curio, which have
tasks of their own, it is said that these are not followed.
"""

from __future__ import annotations

from atomsan.recorder.python.patches import Hooked, Patches

ROWS = (
    Hooked("uvloop.loop", "Loop", "create_task", "create_task"),
    Hooked("uvloop.loop", "Loop", "call_soon", "other_loop_call"),
    Hooked("uvloop.loop", "Loop", "call_soon_threadsafe", "other_loop_call_threadsafe"),
    Hooked("uvloop.loop", "Loop", "call_later", "other_loop_call_later"),
    Hooked("uvloop.loop", "Loop", "call_at", "other_loop_call_later"),
    Hooked("trio._core._run", "Runner", "spawn_impl", "unfollowed_trio"),
    Hooked("curio.task", "Task", "__init__", "unfollowed_curio"),
)


def imported(name: str, patches: Patches) -> None:
    """One of these modules has been imported, and is watched from now on."""
    patches.hook(row for row in ROWS if row.module == name)
