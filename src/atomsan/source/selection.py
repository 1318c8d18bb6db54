"""Selection of files to instrument: by default the program's own code, and nothing that somebody else wrote.

Every file gets a reason, so that "why is my module not watched?" has an answer (`--explain-selection`).
"""

from __future__ import annotations

import fnmatch
import os
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

# Files and directories that mark the top of a project, upwards from the script.
PROJECT_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git", ".hg", "tox.ini", "atomsan.toml")

OURSELVES = "atomsan"


class Decision(NamedTuple):
    """Whether a file is instrumented, and why."""

    selected: bool
    reason: str


class Selection:
    """Decides whether a module is instrumented.

    `include` and `omit` are globs on names of modules (`pkg.*`) or on paths (`src/*`). A module that `omit` names is
    out, whatever `include` says. With `include`, the modules that it names are in, wherever they are installed, and no
    others. Without, the program's own code is in: files in the project of the script that are neither installed nor
    part of Python.
    """

    def __init__(self, include: Iterable[str] = (), omit: Iterable[str] = (), project: str | None = None) -> None:
        self.include = tuple(include)
        self.omit = tuple(omit)
        self.project = _real(project) if project is not None else None
        self.unmatched: list[tuple[str, str]] = [
            *(("--include", glob) for glob in self.include),
            *(("--omit", glob) for glob in self.omit),
        ]
        """The options and globs that named no module so far."""

    def decide(self, module: str, file: str | None) -> Decision:
        if module == OURSELVES or module.startswith(OURSELVES + "."):
            return Decision(False, "AtomSan itself")
        if file is None:
            return Decision(False, "it has no source file")
        path = _real(file)
        if self.unmatched:
            self.unmatched = [one for one in self.unmatched if not _is_named(one[1], module, path)]
        if glob := _matching(self.omit, module, path):
            return Decision(False, f"--omit {glob}")
        if self.include:
            glob = _matching(self.include, module, path)
            return Decision(True, f"--include {glob}") if glob else Decision(False, "no --include names it")
        return self._by_place(path)

    def note_loaded(self, module: str, file: str) -> None:
        """A module that was imported before: `omit` may well name it, and `include` cannot have it watched any more."""
        path = _real(file)
        self.unmatched = [
            (option, glob)
            for option, glob in self.unmatched
            if option == "--include" or not _is_named(glob, module, path)
        ]

    def _by_place(self, path: str) -> Decision:
        for directory, what in self._foreign:
            if _is_below(path, directory):
                return Decision(False, what)
        if self.project is None or _is_below(path, self.project):
            return Decision(True, "the program's own code")
        return Decision(False, f"outside of the project {self.project}")

    @cached_property
    def _foreign(self) -> list[tuple[str, str]]:
        """Directories of code that is not the program's own. Those of packages come first: they lie inside Python's.

        `sysconfig` knows them too, but to ask it costs the recorded program a large module.
        """
        found = dict.fromkeys(_site_directories(), "an installed package")
        found |= dict.fromkeys(_library_directories(), "the standard library")
        return [(os.path.realpath(directory), what) for directory, what in found.items()]


def project_of(script: str) -> str:
    """The directory of a script's project: the nearest one upwards with a mark of a project, or the script's own.

    The home directory and the root are no projects, even if they hold a mark.
    """
    start = directory = os.path.dirname(_real(script))
    home = os.path.realpath(os.path.expanduser("~"))
    while directory not in (home, os.path.dirname(directory)):
        if any(os.path.exists(os.path.join(directory, mark)) for mark in PROJECT_MARKS):
            return directory
        directory = os.path.dirname(directory)
    return start


def _real(path: str) -> str:
    """The path without links in it. As it is, if it is below a current directory that was removed."""
    try:
        return os.path.realpath(path)
    except FileNotFoundError:
        return path


def _site_directories() -> Iterator[str]:
    names = ("site-packages", "dist-packages")
    for directory in _library_directories(sys.prefix, sys.exec_prefix):
        yield from (os.path.join(directory, name) for name in names)
    yield from (entry for entry in sys.path if os.path.basename(entry) in names)


def _library_directories(*prefixes: str) -> Iterator[str]:
    name = "python{}.{}".format(*sys.version_info[:2])
    for prefix in prefixes or (sys.base_prefix, sys.base_exec_prefix):
        yield from (os.path.join(prefix, lib, name) for lib in ("lib", sys.platlibdir))
    if not prefixes:
        yield os.path.dirname(os.__file__)


def _matching(globs: Iterable[str], module: str, path: str) -> str | None:
    """The first of the globs that names this module or this file."""
    return next((glob for glob in globs if _is_named(glob, module, path)), None)


def _is_named(glob: str, module: str, path: str) -> bool:
    if os.sep in glob or glob.endswith(".py"):
        pattern = os.path.realpath(glob.rstrip(os.sep)) if not glob.startswith("*") else glob
        return bool(re.match(fnmatch.translate(pattern), path)) or _is_below(path, pattern)
    # a package stands for what is in it
    return fnmatch.fnmatchcase(module, glob) or fnmatch.fnmatchcase(module, glob + ".*")


def _is_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip(os.sep) + os.sep)
