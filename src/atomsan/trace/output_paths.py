"""Output paths: the format to write, checks that a path can be written before any work is done, and who writes it.

Imports nothing heavy, so that a command can refuse its output at once.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from atomsan.errors import InputError, OutputError
from atomsan.trace.bundle_files import remove_bundle, why_no_bundle
from atomsan.trace.formats import COMPRESSIONS, FORMATS, suffix_format
from atomsan.trace.output_locks import OutputLock, check_unlocked

if TYPE_CHECKING:
    from typing import Self

STANDARD_OUTPUT = "-"


def output_format(path: str | os.PathLike[str], format: str | None = None) -> str:
    """The format to write `path` in: `format` if given, else the one of its suffix."""
    name = os.fspath(path)
    found = format or ("std" if name == STANDARD_OUTPUT else suffix_format(name))
    written = [name for name, facts in FORMATS.items() if facts.written]
    if found is None or found not in written:
        what = f"the format {found!r}" if found else "a format for this name"
        raise InputError(f"cannot write {what}: it is one of {', '.join(written)}", source=name)
    if found in ("bundle", "parquet") and Path(name).suffix in COMPRESSIONS:
        raise InputError(f"a {found} is compressed already: leave out {Path(name).suffix}", source=name)
    return found


def check_output(path: str | os.PathLike[str], *, force: bool) -> None:
    """Refuse an output that exists (unless `force`) or whose directory cannot be written."""
    target = Path(path)
    if os.fspath(path) == STANDARD_OUTPUT or is_device(target):
        return
    if not os.path.lexists(target):
        _check_directory(target)
        return
    if not force:
        raise OutputError(f"{path}: exists already (--force replaces it)")
    if target.is_dir():
        with output_errors(str(path)):
            strange = why_no_bundle(target)
        if strange is not None:
            check_unlocked(target)
            raise OutputError(f"{path}: a directory that is not a trace bundle ({strange}); it will not be replaced")


def _check_directory(target: Path) -> None:
    with output_errors(str(target)):
        os.stat(os.path.join(target.parent, "."))
        if not os.access(target.parent, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


class ClaimedOutput:
    """An output that this process alone writes, until `release`."""

    def __init__(self, path: str | os.PathLike[str], *, force: bool) -> None:
        check_output(path, force=force)
        self.path = Path(path)
        self._lock: OutputLock | None = None
        if os.fspath(path) != STANDARD_OUTPUT and not is_device(self.path):
            with output_errors(str(path)):
                self._lock = OutputLock(self.path)
        try:
            check_output(path, force=force)  # another process may have written it in between
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Let others write it. Does nothing the second time."""
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class RecordingOutput(ClaimedOutput):
    """The output of a recording. Of a bundle, which grows in place, `room` is the new and empty directory."""

    def __init__(self, path: str | os.PathLike[str], *, force: bool) -> None:
        is_bundle = output_format(path) == "bundle"
        super().__init__(path, force=force)
        try:
            self.room = new_directory(self.path) if is_bundle else None
        except BaseException:
            self.release()
            raise


def new_directory(path: Path) -> Path:
    """Make an empty directory, replacing what exists."""
    with output_errors(str(path)):
        if os.path.lexists(path):
            remove_path(path)
        path.mkdir()
    return path


def remove_path(path: Path) -> None:
    """Remove a file, a link or a bundle; nothing of any other directory, and no device or pipe."""
    if path.is_dir() and not path.is_symlink():
        remove_bundle(path)
    elif is_device(path):
        raise FileExistsError(errno.EEXIST, "a device or a pipe, which is not replaced", str(path))
    else:
        path.unlink()


def is_replaceable(path: str | os.PathLike[str]) -> bool:
    """Whether `force` replaces what is there, or nothing is."""
    try:
        check_output(path, force=True)
    except OutputError:
        return False
    return True


def is_device(path: Path) -> bool:
    """Whether a path is written into instead of replaced: /dev/null, a named pipe."""
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def output_errors(name: str) -> Iterator[None]:
    """Turns every failure to write the output `name` into an `OutputError`."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        shown = "standard output" if name == STANDARD_OUTPUT else name
        raise OutputError(f"{shown}: cannot be written: {error.strerror or error}") from error
