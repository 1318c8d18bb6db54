"""Notes beside the predictions: locks that are taken in different orders, and accesses without a common lock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atomsan.checkers.results import Edge, Step
from atomsan.findings.finding import Finding, fingerprint
from atomsan.trace.events import Op

if TYPE_CHECKING:
    from collections.abc import Iterator

    from atomsan.checkers.results import Status
    from atomsan.findings.making import TraceNames
    from atomsan.predictors.analysis import RunAnalysis
    from atomsan.predictors.commit_node import Pair
    from atomsan.predictors.lock_order import Wait
    from atomsan.predictors.tree import TreeNode

DEADLOCK = "each thread waits for what the next one holds; that is no question of atomicity"
RACE = "no lock is held at both accesses; whether that matters is what the findings are about"
# So many are listed of each kind.
MOST = 100


def side_notes(run: RunAnalysis, names: TraceNames, status: Status) -> list[Finding]:
    """Deadlocks that may happen, then data races."""
    found = {note.id: note for note in (_deadlock(cycle, names, status) for cycle in run.deadlocks[:MOST])}
    for note in _races(run, names, status):
        if len(found) >= 2 * MOST:
            break
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
    last = max(wait.event for wait in cycle)
    event, place = names.event(last)
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


def _races(run: RunAnalysis, names: TraceNames, status: Status) -> Iterator[Finding]:
    for pair in run.conflicts.pairs:
        for edge in pair.edges:
            if edge.one.location is not None:
                yield _race(pair, edge.one, edge.other, names, status)


def _race(pair: Pair, one: TreeNode, other: TreeNode, names: TraceNames, status: Status) -> Finding:
    steps = names.steps([_step(pair, 0, one), _step(pair, 1, other)])
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


def _step(pair: Pair, side: int, node: TreeNode) -> Step:
    shape, unit = ((pair.one, pair.unit), (pair.other, pair.other_unit))[side]
    step = shape.steps[node.first]
    return Step(
        event=unit.events[node.first],
        thread=unit.thread,
        op=step.op,
        target=step.target,
        site=step.site,
        transaction=shape.transaction(unit, step),
        region=shape.region(step),
        edge=Edge.WRITE_WRITE if step.op == Op.WRITE else Edge.READ_WRITE,
    )
