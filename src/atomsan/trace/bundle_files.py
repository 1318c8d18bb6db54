"""The files of a bundle: their names, how a bundle is told from any other directory, and how one is removed.

`--force` replaces a bundle, and the directory at that path may be another one: a project with a `meta.json` of its own,
or a bundle in which somebody keeps notes. So only what has the files of a bundle and nothing else is one, and only
these files are removed. Imports nothing heavy, so that an output can be refused at once.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from atomsan.errors import InputError

EVENTS = "events.arrows"
INSERTIONS = "insertions.arrows"
DEAD = "dead.arrows"
META = "meta.json"
META_PARTIAL = f".{META}.partial"

# Those of the symbol tables, as `arrow.stored_name` names them; a test compares.
TABLES = tuple(
    f"{name}.arrows" for name in ("threads", "variables", "locks", "functions", "regions", "handovers", "sites")
)

# The last one is what makes it a bundle: a removal that was interrupted can be taken up again.
_FILES = (EVENTS, INSERTIONS, DEAD, *TABLES, META_PARTIAL, META)

# How `meta.json` begins, whatever version wrote it.
_OUR_META = re.compile(rb'\s*\{\s*"format"\s*:\s*"atomtrace/\d')


@contextmanager
def opened(path: Path) -> Iterator[io.FileIO]:
    """A file of a bundle. Nothing else: a pipe would hang, a device has no end, a link leads out of the bundle."""
    try:
        file = io.FileIO(str(path), opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK | os.O_NOFOLLOW))
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO):
            raise
        raise InputError("not a file: a bundle has no links, pipes or devices in it", source=str(path)) from error
    with file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise InputError("not a file: a bundle has no links, pipes or devices in it", source=str(path))
        yield file


def why_no_bundle(directory: Path) -> str | None:
    """What is strange about a directory that should be a bundle of ours with nothing else in it; None: nothing."""
    found = {entry.name: entry for entry in os.scandir(directory)}
    for name in sorted(found):
        if name not in _FILES:
            return f"it has {name}"
        if not found[name].is_file(follow_symlinks=False):
            return f"its {name} is no file"
    if META not in found:
        return f"it has no {META}"
    return None if _is_our_meta(directory / META) else f"its {META} is not one of ours"


def _is_our_meta(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        return bool(_OUR_META.match(os.read(descriptor, 256)))
    finally:
        os.close(descriptor)


def remove_bundle(directory: Path) -> None:
    """Remove the files of a bundle, and the directory: an `OSError` if anything else is in it by now."""
    names = set(os.listdir(directory))
    if strange := sorted(names.difference(_FILES)):
        raise OSError(errno.ENOTEMPTY, f"it has {strange[0]}", str(directory))
    for name in _FILES:
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(os.lstat(directory / name).st_mode):
                raise OSError(errno.EINVAL, f"its {name} is no file", str(directory))
            os.unlink(directory / name)
    os.rmdir(directory)
