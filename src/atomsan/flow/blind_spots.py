"""Warns of what a check could not see: names that match nothing, no watched code, no second thread."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from fnmatch import translate
from typing import TYPE_CHECKING

from atomsan.checkers.set_model import NameGlobs
from atomsan.source.field_paths import ANY_DEPTH, class_part, parts_of

if TYPE_CHECKING:
    from atomsan.source.spec import Specification
    from atomsan.trace.meta import TraceMeta
    from atomsan.trace.symbols import Symbols

# So many names are listed in a warning.
MOST_LISTED = 3

# The name that was meant is looked for among so many: the comparison takes time.
MOST_COMPARED = 5000


def blind_spots(spec: Specification, symbols: Symbols, meta: TraceMeta) -> list[str]:
    """Warnings about a trace that was read to its end."""
    found = [
        *nothing_named("atomic", spec.atomic, symbols.regions),
        *nothing_named("not_atomic", spec.not_atomic, symbols.regions),
        *_nothing_in_sets(spec, symbols, meta),
    ]
    if not meta.recorded:
        return found
    if not len(symbols.locations) and not len(symbols.regions):
        if not meta.is_empty_explained:
            found.append("nothing was watched: atomsan run --explain-selection says why, --include names what to watch")
    elif len(symbols.threads) < 2:
        found.append("only one thread or task did anything that is watched: nothing could come in between")
    return found


def nothing_named(key: str, globs: Iterable[str], regions: Iterable[str]) -> list[str]:
    """A warning about the globs of a specification that match no region of a trace."""
    missing = unmatched(globs, regions)
    return [f"{key} matches no region of the trace: {_listed(missing, list(regions))}"] if missing else []


def unmatched(globs: Iterable[str], names: Iterable[str]) -> list[str]:
    """The globs that match none of the names."""
    known = list(dict.fromkeys(names))
    return [glob for glob in globs if not any(map(re.compile(translate(glob)).match, known))]


def _nothing_in_sets(spec: Specification, symbols: Symbols, meta: TraceMeta) -> Iterator[str]:
    """Warnings about the atomic sets that have no data in the trace."""
    locations = symbols.locations
    if not meta.recorded:
        for name, globs in spec.sets.items():
            missing = [glob for glob in globs if not any(one in NameGlobs([glob]) for one in locations)]
            if missing:
                yield f"set {name} matches no location of the trace: {_listed(missing, list(locations))}"
        return
    if not spec.sets:
        return
    # a container is of the class `Account.items`: the class that has it, and the field
    owners = {one for one in locations.whole_column("class") if one}
    fields = {one for one in locations.whole_column("field") if one} | {one.rpartition(".")[2] for one in owners}
    bases = {base for of_class in meta.classes for base in (of_class, *meta.classes[of_class])}
    classes = owners | {one.partition(".")[0] for one in owners} | bases
    for name, paths in spec.sets.items():
        if not any(one in NameGlobs([class_part(name)]) for one in classes):
            yield f"set {name}: no data of such a class is in the trace"
            continue
        heads = {parts_of(path)[0]: path for path in paths}
        missing = [
            path
            for head, path in heads.items()
            if head != ANY_DEPTH and not any(one in NameGlobs([head]) for one in fields)
        ]
        if missing:
            yield f"set {name} matches no field of the trace: {_listed(missing, sorted(fields))}"


def _listed(globs: Sequence[str], names: Sequence[str]) -> str:
    """The globs that match nothing, with the names that were perhaps meant."""
    shown = []
    for glob in globs[:MOST_LISTED]:
        meant = get_close_matches(glob, names[:MOST_COMPARED], 1, 0.8)
        shown.append(f'"{glob}"' + (f' (did you mean "{meant[0]}"?)' if meant else ""))
    return ", ".join(shown) + f" and {len(globs) - MOST_LISTED} more" * (len(globs) > MOST_LISTED)
