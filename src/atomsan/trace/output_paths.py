"""Output paths: the format to write, and checks that a path can be written before any work is done.

Imports nothing heavy, so that a command can refuse its output at once.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from atomsan.errors import InputError, OutputError
from atomsan.trace.formats import COMPRESSIONS, FORMATS, suffix_format

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
    if target.is_dir() and not (target / "meta.json").is_file():
        raise OutputError(f"{path}: a directory that is not a trace bundle; it will not be replaced")


def _check_directory(target: Path) -> None:
    with output_errors(str(target)):
        os.stat(os.path.join(target.parent, "."))
        if not os.access(target.parent, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def prepare_output(path: str | os.PathLike[str], *, force: bool) -> Path | None:
    """Check an output; if it is a bundle, which a recording writes in place, make and return its empty directory."""
    check_output(path, force=force)
    return new_directory(Path(path)) if output_format(path) == "bundle" else None


def new_directory(path: Path) -> Path:
    """Make an empty directory, replacing what exists."""
    with output_errors(str(path)):
        if os.path.lexists(path):
            remove_path(path)
        path.mkdir()
    return path


def remove_path(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


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
