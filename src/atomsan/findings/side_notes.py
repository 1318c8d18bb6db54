"""Notes beside the predictions: locks that are taken in different orders, and accesses without a common lock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atomsan.findings.access_facts import OF_PRIMITIVES
from atomsan.findings.finding import Finding, fingerprint
from atomsan.trace.events import Op

if TYPE_CHECKING:
    from collections.abc import Iterable

    from atomsan.checkers.results import Status, Step
    from atomsan.findings.making import TraceNames
    from atomsan.predictors.lock_order import Wait

DEADLOCK = "each thread waits for what the next one holds; that is no question of atomicity"
RACE = "no lock is held at both accesses; whether that matters is what the findings are about"


def deadlock_notes(cycles: Iterable[list[Wait]], names: TraceNames, status: Status) -> list[Finding]:
    """One note for each set of places."""
    return _told_apart(_deadlock(cycle, names, status) for cycle in cycles)


def race_notes(races: Iterable[tuple[Step, Step]], names: TraceNames, status: Status) -> list[Finding]:
    """One note for each pair of places. A primitive is there to be used by several threads."""
    found = _told_apart(_race(pair, names, status) for pair in races)
    return [note for note in found if not any(step.field in OF_PRIMITIVES for step in note.witness)]


def _told_apart(notes: Iterable[Finding]) -> list[Finding]:
    found: dict[str, Finding] = {}
    for note in notes:
        found.setdefault(note.id, note)
    return list(found.values())


def _deadlock(cycle: list[Wait], names: TraceNames, status: Status) -> Finding:
    lines = []
    places = []
    for wait in cycle:
        held, wanted = (names.location(Op.ACQUIRE, lock) for lock in (wait.holding, wait.lock))
        since, at = (
            str(names.site(site) or names.event(event)[1])
            for site, event in ((wait.since_site, wait.since), (wait.site, wait.event))
        )
        lines.append(f"{names.thread(wait.thread)} takes {held} ({since}), and then {wanted} ({at}).")
        places += [since, at]
    event, place = names.event(max(wait.event for wait in cycle))
    return Finding(
        id=fingerprint("", sorted(names.location(Op.ACQUIRE, wait.lock) for wait in cycle), sorted(places)),
        status=status,
        kind="deadlock",
        pattern="lock order",
        region="",
        count=1,
        first_event=event,
        first_place=place if names.has_places else "",
        explanation=(*lines, "If each has taken its first lock, they wait for each other for ever."),
        hint="take these locks in the same order everywhere",
        level="note",
        why=DEADLOCK,
    )


def _race(pair: tuple[Step, Step], names: TraceNames, status: Status) -> Finding:
    steps = names.steps(pair)
    words = [f"{step.thread} {step.op}s {step.location} ({step.where})" for step in steps]
    last = max(steps, key=lambda step: step.event)
    return Finding(
        id=fingerprint("", [step.path for step in steps], sorted(step.normal or step.where for step in steps)),
        status=status,
        kind="race",
        pattern="data race",
        region=steps[0].region or steps[1].region or "",
        count=1,
        first_event=last.event,
        first_place=last.place if names.has_places else "",
        witness=tuple(steps),
        explanation=(f"{words[0]}, and {words[1]}, and no lock is held at both.",),
        level="note",
        why=RACE,
    )
