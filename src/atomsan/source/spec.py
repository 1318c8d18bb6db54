"""The atomicity specification: the regions that are meant to be atomic, and the atomic sets.

A file in TOML, or the keys of the same names in `[tool.atomsan]`:

    atomic     = ["bank:Account.*"]         # globs on names of regions
    not_atomic = ["bank:main", "*:run"]     # these win over `atomic`
    default    = "functions"                # what holds for regions that neither names
    [sets]
    "Account" = ["balance", "limit"]        # fields of a class that belong together; of other traces, locations
    "Bank" = ["accounts.balance"]           # of the objects that a field holds (`field_paths.py`)

`docs/specification.md` has the rules in words; `trace/regions.py` applies them to a trace.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from atomsan.errors import InputError
from atomsan.source.toml_files import parse_toml, read_bytes

# The origins of regions that each default has as atomic, beside what the user annotated and what another tool recorded.
DEFAULTS: dict[str, frozenset[str]] = {
    "functions": frozenset({"function", "loop", "statement", "lock-block"}),
    "lock-blocks": frozenset({"lock-block"}),
    "annotated": frozenset(),
}
ALWAYS = frozenset({"annotated", "foreign"})
# Entry functions with loops, main-like functions, tests: recorded, but atomic only if `atomic` names them.
NEVER = frozenset({"outer"})

KEYS = ("atomic", "not_atomic", "default", "sets")


@dataclass(frozen=True)
class Specification:
    """Decides which regions are atomic. One that `not_atomic` names is not, whatever else names it.

    One that `atomic` names is. Of the others those of origin `outer` are not, and for the rest `default` decides by
    where they come from; where it is not given, all are atomic, unless `atomic` names some: then only those are.
    """

    atomic: tuple[str, ...] = ()
    not_atomic: tuple[str, ...] = ()
    default: str | None = None
    sets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def is_atomic(self, region: str, origin: str = "foreign") -> bool:
        if self._excluded.fullmatch(region):
            return False
        if self._included.fullmatch(region):
            return True
        if origin in NEVER:
            return False
        if self.default is None:
            return not self.atomic
        return origin in ALWAYS or origin in DEFAULTS[self.default]

    def names(self, region: str) -> bool:
        """Whether the user said of this region that it is atomic."""
        return bool(self._included.fullmatch(region))

    @cached_property
    def _included(self) -> re.Pattern[str]:
        return _any_of(self.atomic)

    @cached_property
    def _excluded(self) -> re.Pattern[str]:
        return _any_of(self.not_atomic)

    def adding(self, *, atomic: Iterable[str] = (), not_atomic: Iterable[str] = ()) -> Specification:
        """The same, with more globs."""
        return replace(self, atomic=_joined(self.atomic, atomic), not_atomic=_joined(self.not_atomic, not_atomic))

    def to_toml(self, comments: Mapping[str, str] | None = None, head: str = "") -> str:
        """As a file. `comments` are put above the entries of `not_atomic` that they name, `head` above everything."""
        lines = [f"# {line}" for line in _comment_lines(head)]
        if self.atomic:
            lines += ["atomic = [", *(f"    {quoted(glob)}," for glob in self.atomic), "]"]
        lines += ["not_atomic = ["]
        for glob in self.not_atomic:
            lines += [f"    # {line}" for line in _comment_lines((comments or {}).get(glob, ""))]
            lines += [f"    {quoted(glob)},"]
        lines += ["]"]
        if self.default is not None:
            lines += [f"default = {quoted(self.default)}"]
        if self.sets:
            lines += ["", "[sets]"]
            lines += [f"{quoted(name)} = [{', '.join(map(quoted, globs))}]" for name, globs in self.sets.items()]
        return "\n".join(lines) + "\n"


def read_spec(path: str | os.PathLike[str]) -> Specification:
    """The specification in a file. Errors name the file and the key."""
    content = parse_toml(read_bytes(path), path)
    try:
        return spec_from(content)
    except InputError as error:
        error.set_source(os.fspath(path))
        raise


def spec_from(content: Mapping[str, Any]) -> Specification:
    """The specification that a table of a TOML file holds. Keys may be spelled with - or _."""
    values = {key.replace("-", "_"): value for key, value in content.items()}
    for key in values:
        if key not in KEYS:
            raise InputError(f"{key!r} is not a key of a specification: it has {', '.join(KEYS)}")
    default = values.get("default")
    if default is not None and (not isinstance(default, str) or default not in DEFAULTS):
        raise InputError(f"'default' must be one of {', '.join(DEFAULTS)}, not {default!r}")
    sets = values.get("sets", {})
    if not isinstance(sets, dict):
        raise InputError("'sets' must be a table of lists of locations")
    return Specification(
        _globs("atomic", values.get("atomic", [])),
        _globs("not_atomic", values.get("not_atomic", [])),
        default,
        {name: _globs(f"sets.{name}", globs) for name, globs in sets.items()},
    )


def reasons_in(path: str | os.PathLike[str]) -> dict[str, str]:
    """The comments above entries of lists, by entry, in a file that has one entry a line as `to_toml` writes them."""
    import tomllib

    reasons: dict[str, str] = {}
    comment: list[str] = []
    for line in read_bytes(path).decode().splitlines():
        text = line.strip()
        if text.startswith("#"):
            comment.append(text.removeprefix("#").strip())
            continue
        if comment and text[:1] in ("'", '"'):
            try:
                entry = tomllib.loads(f"entry = [{text}]")["entry"]
            except ValueError:
                entry = []
            reasons |= {one: "\n".join(comment) for one in entry[:1] if isinstance(one, str)}
        comment = []
    return reasons


def literal(region: str) -> str:
    """The glob that matches this name and no other."""
    return re.sub(r"([*?[])", r"[\1]", region)


def _globs(key: str, given: Any) -> tuple[str, ...]:
    globs = [given] if isinstance(given, str) else given
    if not isinstance(globs, list) or not all(isinstance(glob, str) for glob in globs):
        raise InputError(f"{key!r} must be a list of texts")
    return tuple(globs)


def _joined(first: Iterable[str], second: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def _any_of(globs: Iterable[str]) -> re.Pattern[str]:
    """One expression for all of them. Without any it matches nothing, not even the region without a name."""
    return re.compile("|".join(map(fnmatch.translate, globs)) or r"(?!)")


def _comment_lines(text: str) -> list[str]:
    return ["".join(c if c.isprintable() else ascii(c)[1:-1] for c in line) for line in text.splitlines()]


def quoted(text: str) -> str:
    """A basic string of TOML: what is not printable is escaped."""
    signs = {'"': '\\"', "\\": "\\\\"}
    return '"' + "".join(signs.get(c) or (c if c.isprintable() else f"\\U{ord(c):08X}") for c in text) + '"'
