"""Root causes: groups the violations that one missing lock makes, so that a person sees them as one.

Violations of one region on the data of one class, or on the globals of one module, are one group. A group whose
violations only pass through the sites of another one is part of that: what mends the other mends it too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from atomsan.findings.finding import Finding, ShownStep, SiteShown, fingerprint, simplicity
from atomsan.trace.symbols import class_of


class RootCause(NamedTuple):
    """The violations of one group."""

    shown: Finding
    """The one that is understood at once: the surest, with the fewest threads and steps."""
    ways: tuple[Finding, ...]
    """The others: further ways in which it shows."""


def with_groups(judged: Sequence[Finding]) -> list[Finding]:
    """The same, each with the id of its root cause. Notes are no part of what another level's group takes in."""
    groups: dict[str, list[Finding]] = {}
    for finding in judged:
        if finding.level != "note":
            groups.setdefault(_key(finding), []).append(finding)
    ids: dict[str, str] = {}
    roots: dict[str, frozenset[SiteShown | str]] = {}
    for key, group in sorted(groups.items(), key=lambda item: min(map(simplicity, item[1]))):
        sites = _sites(group)
        ids[key] = next((root for root, known in roots.items() if sites <= known), key)
        roots.setdefault(ids[key], sites)
    return [replace(finding, group=ids.get(key, key)) for finding in judged for key in [_key(finding)]]


def root_causes(findings: Iterable[Finding], suspects: Iterable[Finding] = ()) -> list[RootCause]:
    """Findings that have their groups, one root cause each, in the order of their first findings.

    A suspect of the same group as a finding is one of its ways; others make root causes of their own, at the end.
    """
    groups: dict[str, list[Finding]] = {}
    for finding in (*findings, *suspects):
        groups.setdefault(finding.group or finding.id, []).append(finding)
    return [_cause(group) for group in groups.values()]


def _cause(group: Sequence[Finding]) -> RootCause:
    shown = min(group, key=simplicity)
    return RootCause(shown, tuple(finding for finding in group if finding is not shown))


def _key(finding: Finding) -> str:
    """The id of a group: the same in every run."""
    span = finding.span or range(len(finding.witness))
    steps = [finding.witness[i] for i in span]
    return fingerprint(finding.region, sorted(_kinds_of_data(steps)), ())


def _kinds_of_data(steps: Sequence[ShownStep]) -> set[str]:
    """The classes and modules whose data it is; of an atomic set that spans objects, the classes it is a set of."""
    shared = [one for one in steps[0].sets if all(one in step.sets for step in steps)] if steps else []
    if shared:
        return set(shared[0].classes)
    return {class_of(step.data) if step.data else step.path.rpartition(".")[0] for step in steps}


def _sites(group: Iterable[Finding]) -> frozenset[SiteShown | str]:
    """The sites that violations pass through; a step without a site has a place of its own."""
    return frozenset(step.site or step.place for finding in group for step in finding.witness)
