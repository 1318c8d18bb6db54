"""Root causes: groups the violations that one missing lock makes, so that a person sees them as one.

Violations of one region on the data of one class, or on the globals of one module, are one group. A group whose
violations only pass through the sites of another one is part of that: what mends the other mends it too. So is a
violation of a unit that holds the lock all the time, where those who come in without it are a group of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from atomsan.findings.finding import Finding, ShownStep, SiteShown, fingerprint, simplicity
from atomsan.findings.reasons import LEVELS
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
    roots = _without_parts(_without_guarded(groups))
    # the findings themselves, as those of one id may differ in their levels
    ids = {id(finding): root for root, group in roots.items() for finding in group}
    return [replace(finding, group=ids.get(id(finding), _key(finding))) for finding in judged]


def _without_guarded(groups: Mapping[str, Sequence[Finding]]) -> dict[str, list[Finding]]:
    """The groups, with violations of a unit that holds a lock all the time moved to where that lock is missing.

    It is others that come in without the lock: what they do is what the units of their own group do.
    """
    bare = {key: [one for one in group if not _is_guarded(one)] for key, group in groups.items()}
    roots = {key: _sites_of_units(group) for key, group in sorted(bare.items(), key=_simplest_first) if group}
    levels = {key: min(LEVELS.index(one.level) for one in bare[key]) for key in roots}
    found: dict[str, list[Finding]] = {key: [] for key in groups}
    for key, group in groups.items():
        for finding in group:
            others, level = _sites([finding]) - _sites_of_units([finding]), LEVELS.index(finding.level)
            is_elsewhere = _is_guarded(finding) and key not in roots and bool(others)
            fitting = (root for root in roots if is_elsewhere and others <= roots[root] and levels[root] <= level)
            found[next(fitting, key)].append(finding)
    return {key: group for key, group in found.items() if group}


def _without_parts(groups: Mapping[str, Sequence[Finding]]) -> dict[str, list[Finding]]:
    """The groups, with those that only pass through the sites of a simpler one as parts of that."""
    found: dict[str, list[Finding]] = {}
    roots: dict[str, frozenset[SiteShown | str]] = {}
    for key, group in sorted(groups.items(), key=_simplest_first):
        sites = _sites(group)
        root = next((root for root, known in roots.items() if sites <= known), key)
        found.setdefault(root, []).extend(group)
        roots.setdefault(root, sites)
    return found


def _simplest_first(item: tuple[str, Sequence[Finding]]) -> tuple[object, ...]:
    return min(map(simplicity, item[1]), default=())


def _is_guarded(finding: Finding) -> bool:
    """Whether the unit to blame holds one lock from its first step to the last, so that others lack it."""
    holds = [set(finding.witness[i].holds or ()) for i in finding.span or ()]
    return bool(holds) and bool(set.intersection(*holds))


def root_causes(findings: Iterable[Finding], suspects: Iterable[Finding] = ()) -> list[RootCause]:
    """Findings that have their groups, one root cause each, in the order of their first findings.

    A suspect of the same group as a finding is one of its ways; others make root causes of their own, at the end.
    """
    groups: dict[str, list[Finding]] = {}
    for finding in (*findings, *suspects):
        groups.setdefault(finding.group or finding.id, []).append(finding)
    return [_cause(group) for group in groups.values()]


def _cause(group: Sequence[Finding]) -> RootCause:
    shown = min(group, key=_clarity)
    return RootCause(shown, tuple(finding for finding in group if finding is not shown))


def _clarity(finding: Finding) -> tuple[object, ...]:
    """Less is better to show. What was taken in from another group shows less than it does why there is this one."""
    level, is_bare, sureness, *size = simplicity(finding)
    return level, is_bare, sureness, finding.group not in ("", _key(finding)), *size


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


def _sites_of_units(group: Iterable[Finding]) -> frozenset[SiteShown | str]:
    """The same, of the units to blame only."""
    steps = (finding.witness[i] for finding in group for i in finding.span or ())
    return frozenset(step.site or step.place for step in steps)
