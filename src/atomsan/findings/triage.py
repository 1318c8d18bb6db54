"""Triage: a table of the noisiest units of work, each with a line for the specification.

The line excludes the unit or splits its atomic set, and so removes its findings. Units with suspects across sets
follow: their line merges the sets, or marks the unit as atomic, and so turns the suspects into findings.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from atomsan.findings.reasons import ACROSS
from atomsan.source.spec import literal, quoted
from atomsan.trace.symbols import class_of

if TYPE_CHECKING:
    from atomsan.findings.finding import Finding, ShownStep

MOST_ROWS = 10
MOST_MERGES = 5

Table = Mapping[str, Sequence[str]]


class TriageRow(NamedTuple):
    """A unit of work on sets of one kind; or, of suspects, on sets of one kind or two."""

    region: str
    set: str
    """The class, module or container, or two of them; nothing if the trace does not know."""
    fields: tuple[str, ...]
    findings: int
    suspects: int
    seen: int
    exclude: str | None
    """Of findings: the line that says that the unit is not meant to be atomic."""
    split: str | None
    """Of findings: the line that says that the fields do not belong together, where there are two."""
    merge: str | None
    """Of suspects: the line that says that the data belongs together, or what the unit does to it."""

    def to_dict(self) -> dict[str, Any]:
        return self._asdict() | {"fields": list(self.fields)}


class AccessedField(NamedTuple):
    """The field that an access is about, and of which object."""

    object: str
    kind: str
    """Its class."""
    field: str


def triage(
    findings: Iterable[Finding],
    suspects: Iterable[Finding] = (),
    divided: Table | None = None,
    held: Table | None = None,
) -> list[TriageRow]:
    """The noisiest first, findings before suspects.

    `divided` are the sets that classes were divided into, `held` the classes of the objects that fields hold.
    """
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        if finding.span is not None:
            groups.setdefault((finding.region, _accessed(finding, 1).kind), []).append(finding)
    across: dict[tuple[str, str], list[Finding]] = {}
    for suspect in suspects:
        if suspect.span is not None and suspect.why == ACROSS.why:
            merge = _merge(suspect, divided or {}, held or {})
            across.setdefault((suspect.region, merge), []).append(suspect)
    rows = [_row(region, of, group) for (region, of), group in groups.items()]
    merges = [_merge_row(region, merge, group) for (region, merge), group in across.items()]
    return [*_noisiest(rows)[:MOST_ROWS], *_noisiest(merges)[:MOST_MERGES]]


def _noisiest(rows: Iterable[TriageRow]) -> list[TriageRow]:
    return sorted(rows, key=lambda row: (-row.seen, row.region, row.set))


def _row(region: str, of: str, group: Sequence[Finding]) -> TriageRow:
    places = [_accessed(finding, end) for finding in group for end in (0, 1)]
    fields = tuple(sorted({place.field for place in places if place.field}))
    return TriageRow(
        region,
        of,
        fields,
        len(group),
        0,
        sum(finding.count for finding in group),
        _exclude(region),
        _in_sets(of, fields[:1]) if of and len(fields) > 1 else None,
        None,
    )


def _exclude(region: str) -> str:
    """With a part of a function, the function goes too: else the part is one of its steps."""
    function, sign, _ = region.partition("/")
    names = [quoted(literal(function)), *([quoted(f"{literal(function)}/*")] if sign else [])]
    return f"not_atomic = [{', '.join(names)}]"


def _merge_row(region: str, merge: str, group: Sequence[Finding]) -> TriageRow:
    places = [_accessed(suspect, end) for suspect in group for end in (0, 1)]
    kinds = sorted({place.kind for place in places})
    fields = tuple(sorted({f"{place.kind}.{place.field}" if len(kinds) > 1 else place.field for place in places}))
    seen = sum(suspect.count for suspect in group)
    return TriageRow(region, ", ".join(kinds), fields, 0, len(group), seen, None, None, merge)


def _merge(suspect: Finding, divided: Table, held: Table) -> str:
    """The line that makes a finding of the suspect."""
    one, other = _accessed(suspect, 0), _accessed(suspect, 1)
    if one.object == other.object and one.field and other.field:
        return _joined(one.kind, (one.field, other.field), (one.field, other.field), divided)
    for holder, part in ((one, other), (other, one)):
        if holder.kind != part.kind and (field := _holding(holder.kind, part.kind, held)):
            return _joined(holder.kind, (holder.field,), (f"{field}.*",), divided)
    for kind in sorted({name.rpartition(".")[0] for name in held}):
        fields = [_holding(kind, place.kind, held) for place in (one, other)]
        if kind not in (one.kind, other.kind) and all(fields):
            return _in_sets(kind, [f"{field}.*" for field in dict.fromkeys(fields)])
    # without a default, no other region would be atomic any more
    return f'atomic = [{quoted(literal(suspect.region))}]\ndefault = "functions"'


def _joined(kind: str, have: Sequence[str], wanted: Sequence[str], divided: Table) -> str:
    """The set of a class that has one of the fields, with what is wanted in it too; else a new one."""
    for name, globs in divided.items():
        if _is_of(name, kind) and any(fnmatch.fnmatchcase(field, glob) for field in have for glob in globs):
            return _in_sets(name, [*globs, *(one for one in wanted if one not in globs)])
    if not any(_is_of(name, kind) for name in divided):
        return _in_sets(kind, ["*", *wanted] if have != wanted else wanted)
    new = sorted({*have, *wanted})
    return _in_sets(kind if kind not in divided else f"{kind}:{'-'.join(sorted(set(have)))}", new)


def _is_of(name: str, kind: str) -> bool:
    """Whether a name in `[sets]` is of a class."""
    return fnmatch.fnmatchcase(kind, name.partition(":")[0])


def _holding(kind: str, part: str, held: Table) -> str | None:
    """The field of a class that holds objects of another."""
    names = (name for name, classes in held.items() if part in classes)
    return next((name.rpartition(".")[2] for name in names if name.rpartition(".")[0] == kind), None)


def _in_sets(name: str, globs: Sequence[str]) -> str:
    return f"[sets] {quoted(name)} = [{', '.join(map(quoted, globs))}]"


def _accessed(finding: Finding, end: int) -> AccessedField:
    """Where the unit is left (0) or returned to (1). Of an element the field is that which holds the container."""
    assert finding.span is not None
    step: ShownStep = finding.witness[finding.span[end]]
    kind = class_of(step.data or "")
    field = step.path.removeprefix(f"{kind}.").partition(".")[0].partition("[")[0]
    return AccessedField(step.data or "", kind, "" if field.startswith("<") else field)
