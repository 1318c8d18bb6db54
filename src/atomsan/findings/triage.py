"""Which units and sets make the most findings, and what to write into the specification if one is not meant.

A table for the moment after a run: what is noisy, and the line that would exclude the unit, or split the set.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from atomsan.source.spec import literal
from atomsan.trace.symbols import class_of

if TYPE_CHECKING:
    from atomsan.findings.finding import Finding

MOST_ROWS = 10


class TriageRow(NamedTuple):
    """A unit of work on sets of one kind."""

    region: str
    set: str
    """The class, module or container; nothing if the trace does not know."""
    fields: tuple[str, ...]
    findings: int
    seen: int
    exclude: str
    """The line that says that the unit is not meant to be atomic."""
    split: str | None
    """The line that says that the fields do not belong together, where there are two."""

    def to_dict(self) -> dict[str, Any]:
        return self._asdict() | {"fields": list(self.fields)}


def triage(findings: Iterable[Finding]) -> list[TriageRow]:
    """The noisiest first."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        if finding.span is not None:
            groups.setdefault((finding.region, _set_of(finding)), []).append(finding)
    rows = [_row(region, of, group) for (region, of), group in groups.items()]
    return sorted(rows, key=lambda row: (-row.seen, row.region))[:MOST_ROWS]


def _row(region: str, of: str, group: list[Finding]) -> TriageRow:
    fields = tuple(sorted({field for finding in group for field in _fields(finding, of)}))
    return TriageRow(
        region,
        of,
        fields,
        len(group),
        sum(finding.count for finding in group),
        f'not_atomic = ["{literal(region)}"]',
        f'[sets] "{of}" = ["{fields[0]}"]' if of and len(fields) > 1 else None,
    )


def _set_of(finding: Finding) -> str:
    """The class of the object whose data it is about."""
    assert finding.span is not None
    return class_of(finding.witness[finding.span[1]].data or "")


def _fields(finding: Finding, of: str) -> list[str]:
    """The fields of the object that the two accesses are about: that which holds the container, of an element."""
    assert finding.span is not None
    steps = [finding.witness[place] for place in finding.span]
    names = (step.path.removeprefix(f"{of}.").partition(".")[0].partition("[")[0] for step in steps)
    return [name for name in names if name and not name.startswith("<")]
