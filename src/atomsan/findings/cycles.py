"""The cycle of a violation: its edges, and its turns.

A *turn* is where the cycle enters a transaction later than it leaves it: another transaction came in between there, and
nowhere else. A cycle has at least one turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from atomsan.findings.surroundings import Pair

if TYPE_CHECKING:
    from atomsan.checkers.results import Step, Witness
    from atomsan.findings.finding import Finding, ShownStep

# Access and access: the orders that data makes.
_DATA = frozenset({"read", "write"})
_PROGRAM_ORDER = "program-order"


class Turn(NamedTuple):
    """A transaction that a cycle enters later than it leaves it, and the steps of others before and after."""

    before: ShownStep
    enters: ShownStep
    leaves: ShownStep
    after: ShownStep

    @property
    def ends(self) -> tuple[ShownStep, ShownStep]:
        """The two accesses, the first one first."""
        return self.leaves, self.enters

    @property
    def pair(self) -> Pair:
        return Pair(self.leaves.number, self.enters.number, self.leaves.target)


def is_of_data(finding: Finding) -> bool:
    """Whether it is shown by accesses alone, without the order of locks, threads or hand-overs."""
    return bool(finding.witness) and all(step.op in _DATA for step in finding.witness)


def conflicts(finding: Finding) -> list[tuple[ShownStep, ShownStep]]:
    """The edges that accesses make, from one transaction to another."""
    return [(one, other) for one, other in _crossing(finding) if one.edge != _PROGRAM_ORDER]


def turns(finding: Finding) -> list[Turn]:
    """Where the cycle enters a transaction later than it leaves it."""
    ways_in = _crossing(finding)
    ways_out = [*ways_in[1:], *ways_in[:1]]
    found = [Turn(*way_in, *way_out) for way_in, way_out in zip(ways_in, ways_out, strict=True)]
    return [turn for turn in found if turn.enters.number > turn.leaves.number]


def pairs_of_witness(witness: Witness) -> list[Pair]:
    """The first and the last access of each turn of a cycle that has no names yet."""
    steps = witness.steps
    edges = [(step, steps[(i + 1) % len(steps)]) for i, step in enumerate(steps)]
    ways_in = [(one, other) for one, other in edges if _owner(one) != _owner(other)]
    turning = [(enters, ways_in[(i + 1) % len(ways_in)][0]) for i, (_, enters) in enumerate(ways_in)]
    return [
        Pair(leaves.event, enters.event, leaves.target) for enters, leaves in turning if enters.event > leaves.event
    ]


def _owner(step: Step) -> tuple[int, int, int]:
    """The transaction of a step; an event outside regions is one of its own. Or its unit of work."""
    if step.unit is not None:
        return (step.thread, step.unit, -1)
    return (step.thread, step.transaction, -1 if step.transaction else step.event)


def _crossing(finding: Finding) -> list[tuple[ShownStep, ShownStep]]:
    """The edges from one transaction to another."""
    steps = finding.witness
    edges = [(step, steps[(i + 1) % len(steps)]) for i, step in enumerate(steps)]
    return [(one, other) for one, other in edges if one.owner != other.owner]
