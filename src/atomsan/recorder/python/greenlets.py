"""Watches `greenlet` and `gevent`: a greenlet is a thread of the trace, and gevent's primitives order as ours do.

The tables say which method gets which hook of `_sync`. Greenlets of any library are followed; what a library other than
gevent orders by primitives of its own is not known, and of those that are known to have some the report says so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from atomsan.recorder.python import _sync
from atomsan.recorder.python.patches import Hooked, Patches

_LOCK_METHODS = (
    ("acquire", "green_acquire"),
    ("__enter__", "green_enter"),
    ("release", "green_release"),
    ("__exit__", "green_exit"),
    ("locked", "green_locked"),
)
_QUEUE_METHODS = (
    ("put", "green_put"),
    ("put_nowait", "green_put"),
    ("get", "green_get"),
    ("get_nowait", "green_get_nowait"),
)
_SIZES = ("empty", "full", "qsize")

GEVENT = (
    *(Hooked("gevent.lock", "Semaphore", name, hook) for name, hook in _LOCK_METHODS),
    Hooked("gevent.lock", "BoundedSemaphore", "release", "green_release"),
    *(Hooked("gevent.lock", "RLock", name, hook) for name, hook in _LOCK_METHODS),
    Hooked("gevent.lock", "RLock", "_release_save", "green_release_save"),
    Hooked("gevent.lock", "RLock", "_acquire_restore", "green_acquire_restore"),
    Hooked("gevent.thread", "LockType", "acquire", "green_acquire"),
    Hooked("gevent.event", "Event", "set", "green_set"),
    Hooked("gevent.event", "Event", "clear", "green_clear"),
    *(Hooked("gevent.event", "Event", name, "green_is_set") for name in ("is_set", "isSet", "ready")),
    Hooked("gevent.event", "Event", "wait", "green_wait"),
    *(
        Hooked("gevent.event", "AsyncResult", name, "green_result_set")
        for name in ("set", "set_exception", "set_result")
    ),
    *(
        Hooked("gevent.event", "AsyncResult", name, "green_result_got")
        for name in ("get", "get_nowait", "wait", "result")
    ),
    *(Hooked("gevent.greenlet", "Greenlet", name, "green_start") for name in ("start", "start_later")),
    *(Hooked("gevent.greenlet", "Greenlet", name, "green_join") for name in ("join", "get", "kill", "__exit__")),
    *(
        Hooked(module, "", name, "green_wait_for")
        for module, name in (("gevent", "joinall"), ("gevent", "wait"), ("gevent.greenlet", "joinall"))
    ),
    *(Hooked(module, "", "spawn_raw", "green_spawn_raw") for module in ("gevent", "gevent.hub")),
    *(Hooked("gevent.queue", "SimpleQueue", name, hook) for name, hook in _QUEUE_METHODS),
    *(Hooked("gevent.queue", "SimpleQueue", name, "green_size") for name in (*_SIZES, "peek", "peek_nowait")),
    *(Hooked("gevent.queue", "Channel", name, hook) for name, hook in _QUEUE_METHODS),
    Hooked("gevent.queue", "Queue", "task_done", "green_task_done"),
    Hooked("gevent.queue", "Queue", "join", "green_queue_join"),
    Hooked("gevent.pool", "Group", "add", "green_group_add"),
    Hooked("gevent.pool", "Pool", "add", "green_group_add"),
    *(Hooked("gevent.pool", "Group", name, "green_group_join") for name in ("join", "kill")),
    *(Hooked("gevent.pool", "GroupMappingMixin", name, "green_map") for name in ("imap", "imap_unordered")),
    Hooked("gevent.threadpool", "ThreadPool", "spawn", "unfollowed_pool"),
)
"""The names are those of the modules that the types are found in, whichever module in C they are of."""

# Under the monkey patches, `threading` makes its re-entrant locks in Python.
THREADING = (
    Hooked("threading", "_RLock", "acquire", "green_acquire"),
    Hooked("threading", "_RLock", "__enter__", "green_acquire"),
    Hooked("threading", "_RLock", "release", "green_release"),
    Hooked("threading", "_RLock", "__exit__", "green_exit"),
    Hooked("threading", "_RLock", "_release_save", "green_release_save"),
    Hooked("threading", "_RLock", "_acquire_restore", "green_acquire_restore"),
)

EVENTLET = (
    Hooked("eventlet.greenthread", "GreenThread", "__init__", "unfollowed_eventlet"),
    Hooked("eventlet.greenthread", "", "_spawn_n", "unfollowed_eventlet"),
)

# Types with methods that C code calls without a name.
_QUEUES = ("SimpleQueue", "Queue", "PriorityQueue", "LifoQueue", "Channel")


def _greenlet_was_imported(patches: Patches) -> None:
    _sync.follow_greenlets(sys.modules["greenlet"])


def _hub_was_imported(patches: Patches) -> None:
    _sync.set_hub_type(sys.modules["gevent.hub"].Hub)
    iterator = getattr(sys.modules["gevent._hub_primitives"], "_WaitIterator", None)
    if iterator is not None:
        _sync.replace_slot(iterator, "waited")


def _locks_were_imported(patches: Patches) -> None:
    # gevent.thread may be in the middle of its own import, and asks for gevent.lock there
    plain = getattr(sys.modules.get("gevent.thread"), "LockType", None)
    reentrant = [sys.modules["gevent.lock"].RLock]
    if plain is not None:
        reentrant.append(sys.modules["threading"]._RLock)
    _sync.set_green_locks([] if plain is None else [plain], reentrant)


def _threads_were_imported(patches: Patches) -> None:
    patches.hook(THREADING)
    _locks_were_imported(patches)


def _events_were_imported(patches: Patches) -> None:
    _sync.replace_slot(sys.modules["gevent.event"].AsyncResult, "result")


def _greenlets_of_gevent_were_imported(patches: Patches) -> None:
    for name in ("SpawnedLink", "SuccessSpawnedLink", "FailureSpawnedLink"):
        _sync.replace_slot(getattr(sys.modules["gevent.greenlet"], name), "link")


def _queues_were_imported(patches: Patches) -> None:
    for name in _QUEUES:
        kind = getattr(sys.modules["gevent.queue"], name, None)
        if kind is not None:
            _sync.replace_slot(kind, "queue")


def _maps_were_imported(patches: Patches) -> None:
    for name in ("IMapUnordered", "IMap"):
        _sync.replace_slot(getattr(sys.modules["gevent._imap"], name), "mapped")


_THEN: dict[str, Callable[[Patches], None]] = {
    "greenlet": _greenlet_was_imported,
    "gevent.hub": _hub_was_imported,
    "gevent.greenlet": _greenlets_of_gevent_were_imported,
    "gevent.lock": _locks_were_imported,
    "gevent.thread": _threads_were_imported,
    "gevent.event": _events_were_imported,
    "gevent.queue": _queues_were_imported,
    "gevent._imap": _maps_were_imported,
}


def imported(name: str, patches: Patches) -> None:
    """One of these modules has been imported, and is watched from now on."""
    patches.hook(row for row in (*GEVENT, *EVENTLET) if row.module == name)
    if name in _THEN:
        _THEN[name](patches)


def uninstall() -> None:
    _sync.leave_greenlets()
    _sync.restore_slots()
    _sync.set_hub_type(None)
    _sync.set_green_locks((), ())
