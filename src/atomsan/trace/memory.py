"""How much memory reading a trace may take: what a trace claims about its sizes is held against that.

By default half of what the machine has, or of what its control group leaves to this process. `atomsan --max-memory`
changes it, and watches the process too (`cli/memory_watch.py`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path, PurePosixPath

from atomsan.errors import InputError

_GROUPS = Path("/sys/fs/cgroup")

# What is made of something that was read takes several times its bytes: columns, and the names in them as texts.
_COPIES = 4
# Of JSON, lists of lists of nothing take the most.
_JSON_COPIES = 6

_given: int | None = None


def most_memory() -> int:
    """How many bytes may be taken."""
    return _given or default_memory()


@contextmanager
def memory_limited(most: int | None) -> Iterator[None]:
    """Inside, so many bytes may be taken; None: the default."""
    global _given
    before, _given = _given, most
    try:
        yield
    finally:
        _given = before


class TooLargeError(InputError):
    """What would be read takes more memory than it may."""


def check_room(size: int, what: str, source: str | None = None) -> None:
    """Refuse to read what needs more memory than may be taken: `size` bytes of it when unpacked."""
    if size * _COPIES > most_memory():
        raise TooLargeError(
            f"{what} of {size:,} bytes, for which {most_memory():,} bytes of memory are not enough", source=source
        )


def check_room_for_json(size: int, source: str) -> None:
    """The same for a text in JSON."""
    check_room(size * _JSON_COPIES, "data in JSON", source)


@cache
def default_memory() -> int:
    """Half of what there is for this process."""
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError):
        whole = min(whole, *group_limits(Path("/proc/self/cgroup").read_text(), _GROUPS))
    return whole // 2


def group_limits(own: str, groups: Path) -> list[int]:
    """The limits of the control groups that a process is in: `own` is its `/proc/self/cgroup`, of either version."""
    limits = [1 << 62]
    for line in own.splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if "memory" not in (controllers or "memory").split(","):
            continue
        name = "memory.limit_in_bytes" if controllers else "memory.max"
        # a group cannot have more than the groups around it, and the outermost may be the only one that is shown here
        for group in (PurePosixPath(path), *PurePosixPath(path).parents):
            with suppress(OSError, ValueError):
                limits.append(int((groups / controllers / str(group).lstrip("/") / name).read_text()))
    return limits
