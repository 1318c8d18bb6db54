"""What counts as a finding and what is a note (DESIGN section 6), in a program that was recorded.

What another tool recorded and what the user marked counts as it is: these are the papers' rules. In regions that we
chose ourselves it counts if data can be seen or left inconsistent; the rest is kept as notes, each with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from atomsan.source.effects import commute

if TYPE_CHECKING:
    from atomsan.findings.finding import Finding, ShownStep

# Names of fields that the recorder gives to what is not one element of a container.
STRUCTURE = "<structure>"
ANY_KEY = "<any key>"

ORDER_ONLY = "it rests on the order of locks, threads or hand-overs alone: no data is seen or left inconsistent"
COMMUTES = "the operations that interleave give the same result in either order"
WHOLE = "it rests on a key that cannot be told apart from others: the whole container was taken for it"
NOBODY = "no region alone is to blame"

# Access and access: the orders that data makes.
_DATA = frozenset({"read", "write"})


def sorted_out(
    everything: Iterable[Finding], of_data: Iterable[Finding], is_ours: Callable[[str], bool]
) -> tuple[list[Finding], list[Finding]]:
    """Findings and notes: from what a checker found, and what it found when it looked at data only."""
    findings: list[Finding] = []
    notes: list[Finding] = []
    for finding in of_data:
        if finding.kind == "atomicity" and is_ours(finding.region):
            why = _why_not(finding)
            (findings if why is None else notes).append(replace(finding, why=why))
    seen = {finding.id for finding in (*findings, *notes)}
    for finding in everything:
        if not is_ours(finding.region):
            findings.append(finding)
        elif finding.id not in seen:
            notes.append(replace(finding, why=NOBODY if finding.kind == "cycle" else ORDER_ONLY))
    return _in_order(findings), _in_order(notes)


def _why_not(finding: Finding) -> str | None:
    """Why a violation on data is no finding, if it is none."""
    edges = [(step, finding.witness[(i + 1) % len(finding.witness)]) for i, step in enumerate(finding.witness)]
    crossing = [(one, other) for one, other in edges if one.owner != other.owner]
    if crossing and all(_commutes(one, other) for one, other in crossing):
        return COMMUTES
    if any(step.field == ANY_KEY for step in finding.witness):
        return WHOLE
    return None


def _commutes(one: ShownStep, other: ShownStep) -> bool:
    if not {one.op, other.op} <= _DATA or one.field != STRUCTURE or other.field != STRUCTURE:
        return False
    return commute(one.operation or "", other.operation or "")


def _in_order(findings: Sequence[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: (finding.first_event is None, finding.first_event))
