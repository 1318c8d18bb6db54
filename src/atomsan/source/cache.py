"""Cache of instrumented code between runs: rewriting a large program takes longer than loading it.

The name of an entry is a hash of the source, the options, and the versions of Python and of the instrumenter. An entry
holds code with placeholders, and the plan; probes are made when it is loaded. A damaged entry is replaced, and a
directory that cannot be written to costs time and nothing else.

An entry is code that runs in the program: whoever could have written it could have run anything. So a directory or
entry that is not the user's own, or that others may write to, is not used; those made here are the user's alone.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import stat
import sys
from importlib.util import source_hash
from types import CodeType
from typing import Any

from atomsan import __version__
from atomsan.source.plan import Function, Plan, Probe, Region

ENVIRONMENT = "ATOMSAN_CACHE"

# Taken before the program can replace them, as its tests may do.
_open, _stat, _lstat, _fstat = open, os.stat, os.lstat, os.fstat


def default_directory() -> str | None:
    """The directory of the cache: $ATOMSAN_CACHE, or one in the user's cache directory. Empty: there is none."""
    given = os.environ.get(ENVIRONMENT)
    if given is not None:
        # the program can go to another directory, where a stranger may have put another one
        return os.path.abspath(given) if given else None
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "atomsan", "code") if os.path.isabs(home) else None


class CodeCache:
    """Code and plans, by source and options."""

    def __init__(self, directory: str | None) -> None:
        self.directory = directory

    def name(self, source: bytes, *options: object) -> str:
        """The name of the entry for this source under these options."""
        facts = (__version__, _instrumenter(), sys.version, sys.flags.optimize, options)
        # as Python names its own; a better hash would cost the recorded program the start of OpenSSL
        return f"{source_hash(source).hex()}{source_hash(repr(facts).encode()).hex()}{len(source):x}"

    def load(self, name: str) -> tuple[CodeType, Plan] | None:
        if self.directory is None:
            return None
        try:
            path = self._path(name)
            if not self._is_private(path):
                return None
            with _open(path, "rb") as file:
                if not _is_own(_fstat(file.fileno())):
                    return None
                digest, content = file.read(8), file.read()
            if source_hash(content) != digest:
                return None
            code, plan = marshal.loads(content)
            return code, _plan(plan)
        except (OSError, ValueError, TypeError, EOFError):
            return None

    def store(self, name: str, code: CodeType, plan: Plan) -> None:
        if self.directory is None:
            return
        content = marshal.dumps((code, _plain(plan)))
        path = self._path(name)
        with contextlib.suppress(OSError):
            self._make_directories(path)
            if not self._is_private(path):
                return
            temporary = f"{path}.{os.getpid()}"
            try:
                with _open(temporary, "xb", opener=_private_opener) as file:
                    file.write(source_hash(content) + content)
                os.replace(temporary, path)
            except OSError:
                os.unlink(temporary)

    def _path(self, name: str) -> str:
        assert self.directory is not None
        return os.path.join(self.directory, f"{sys.implementation.cache_tag}", name[:2], name[2:])

    def _directories(self, path: str) -> list[str]:
        """Those of an entry, the cache's own first."""
        of_names = os.path.dirname(path)
        return [self.directory or "", os.path.dirname(of_names), of_names]

    def _make_directories(self, path: str) -> None:
        os.makedirs(os.path.dirname(self.directory or "") or ".", exist_ok=True)
        for directory in self._directories(path):
            with contextlib.suppress(FileExistsError):
                os.mkdir(directory, 0o700)

    def _is_private(self, path: str) -> bool:
        """Whether nobody else can have put an entry there. A directory that is not there is nobody's."""
        top, *rest = self._directories(path)
        if _lstat(top).st_uid != os.geteuid():
            return False
        facts = [_stat(top), *map(_lstat, rest)]  # the cache itself may be a link, which the user has set
        return all(stat.S_ISDIR(one.st_mode) and _is_own(one) for one in facts)


def _is_own(facts: os.stat_result) -> bool:
    return facts.st_uid == os.geteuid() and not facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _private_opener(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _plain(plan: Plan) -> tuple[Any, ...]:
    """A plan as tuples, lists and texts, which marshal can write."""
    return (
        plan.module,
        plan.file,
        [tuple(probe) for probe in plan.probes],
        [tuple(function) for function in plan.functions],
        [tuple(region) for region in plan.regions],
        list(plan.shared_names),
        list(plan.stored_outside),
        list(map(tuple, plan.sets)),
    )


def _plan(content: Any) -> Plan:
    module, file, probes, functions, regions, shared_names, stored_outside, sets = content
    return Plan(
        module,
        file,
        [Probe(*row) for row in probes],
        [Function(*row) for row in functions],
        [Region(*row) for row in regions],
        shared_names,
        stored_outside,
        sets,
    )


_seen_instrumenter: tuple[tuple[str, int, int], ...] = ()


def _instrumenter() -> tuple[tuple[str, int, int], ...]:
    """The version of the instrumenter: between two releases its files change, and the package version does not."""
    global _seen_instrumenter
    if not _seen_instrumenter:
        with os.scandir(os.path.dirname(__file__)) as entries:
            files = [(entry.name, entry.stat()) for entry in entries if entry.name.endswith(".py")]
        _seen_instrumenter = tuple(sorted((name, facts.st_size, facts.st_mtime_ns) for name, facts in files))
    return _seen_instrumenter
