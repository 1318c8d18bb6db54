"""Parses the field paths of atomic sets: `log.entries` is the field `entries` of the object in the field `log`.

    balance          a field of the class itself
    log.entries      of the object that the field holds; of each one, if that is a container
    head.**          whatever is reached through the field, at any depth

Each part is a name or a glob (`*`, `?`, `[ab]`) for one field; `**` can only be the last. The fields on the way belong
to the set too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import translate
from typing import NamedTuple

from atomsan.errors import InputError

ANY_DEPTH = "**"


class Hop(NamedTuple):
    """A field that a path goes through, as globs: `*` is any class."""

    of_class: str
    field: str


def parts_of(path: str) -> list[str]:
    """The parts of a path. A malformed one raises."""
    parts = path.split(".")
    if "" in parts:
        raise InputError(f"{path!r} is no path of fields: a part of it is empty")
    if any(ANY_DEPTH in part for part in parts[:-1]) or (ANY_DEPTH in parts[-1] and parts[-1] != ANY_DEPTH):
        raise InputError(f"{path!r} is no path of fields: '**' can only be its last part")
    return parts


def check_sets(sets: Mapping[str, Iterable[str]]) -> None:
    """Raises for malformed paths in the atomic sets of classes."""
    for name, paths in sets.items():
        for path in paths:
            try:
                parts_of(path)
            except InputError as error:
                raise InputError(f"'sets.{name}': {error}") from error


def hops(sets: Mapping[str, Iterable[str]]) -> list[Hop]:
    """The fields that the sets of classes go through, each once."""
    check_sets(sets)
    return list(dict.fromkeys(hop for name, paths in sets.items() for path in paths for hop in _hops(name, path)))


def _hops(name: str, path: str) -> Iterator[Hop]:
    parts = parts_of(path)
    through = parts[:-1]
    if parts[-1] == ANY_DEPTH:
        through += ["*", "*"]
    for number, field in enumerate(through):
        yield Hop("*" if number else class_part(name), field)


def class_part(name: str) -> str:
    """`Account` of `Account:log`, which is one of the sets of that class."""
    return name.partition(":")[0]


def globs_pattern(globs: Iterable[str]) -> re.Pattern[str]:
    """Matches these names and globs. A glob also matches its own text, as a name that only looks like one."""
    literals = frozenset(globs)
    ways = [re.escape(glob) for glob in literals]
    ways += [translate(glob) for glob in literals if any(sign in glob for sign in "*?[")]
    return re.compile("|".join(ways) or "(?!)")
