"""Fix advice as data: which locks are held at which steps, and which steps belong in one critical section.

It is derived from the steps of the witness, to which `surroundings` has added the locks held, where these are known.
`wording` turns it into a hint.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from atomsan.findings.access_facts import own_lock
from atomsan.findings.finding import Hold, ShownStep

# What can be done under a lock, so that the lock decides who comes first. A fork or a hand-over has its own order.
LOCKABLE = frozenset({"read", "write", "acquire", "release"})

WAITS = frozenset({"join", "take"})


@dataclass(frozen=True)
class Advice:
    """Two steps of the transaction to blame, those of others that came in between, and the lock that fits best."""

    first: ShownStep
    last: ShownStep
    others: tuple[ShownStep, ...]
    """What conflicts with the two, as far as a lock could have ordered it."""
    lock: str | None
    """The one that is held at the most of all these steps; None if none is held at any, or nobody knows."""
    waits: bool
    """The order that leads back into the transaction is a wait for another thread."""

    @property
    def is_known(self) -> bool:
        """Whether it is known which locks are held."""
        return _is_known((self.first, self.last, *self.others))

    def is_held_at(self, step: ShownStep) -> bool:
        return self._hold(step) is not None

    @property
    def is_released(self) -> bool:
        """Whether the lock was given up between the two steps, both of which are under it."""
        return self._hold(self.first) != self._hold(self.last)

    @property
    def missing(self) -> list[ShownStep]:
        """The steps of others that are not under the lock, if there is one; all of them if there is none."""
        return [step for step in self.others if not self.is_held_at(step)]

    def _hold(self, step: ShownStep) -> Hold | None:
        return next((hold for hold in step.holds or () if hold.lock == self.lock), None)


def advice_for(steps: Sequence[ShownStep], span: tuple[int, int]) -> Advice:
    """`span` has the places of the steps that leave the transaction to blame and come back to it."""
    out, back = span
    leaves, returns = steps[out], steps[back]
    first, last = sorted((leaves, returns), key=lambda step: step.event)
    neighbours = dict.fromkeys((steps[(out + 1) % len(steps)], steps[back - 1]))
    others = tuple(step for step in neighbours if step.op in LOCKABLE)
    return Advice(first, last, others, _most_held((first, last, *others)), returns.op in WAITS)


@dataclass(frozen=True)
class CycleAdvice:
    """A cycle with nobody to blame: the steps by which it comes into each transaction and goes out again."""

    spans: tuple[tuple[ShownStep, ShownStep], ...]
    common: str | None
    """A lock that is held at all steps."""
    is_any_held: bool
    is_known: bool


def advice_for_cycle(steps: Sequence[ShownStep]) -> CycleAdvice:
    by_owner: dict[object, list[ShownStep]] = {}
    for step in steps:
        by_owner.setdefault(step.owner, []).append(step)
    ordered = [sorted(own, key=lambda step: step.event) for own in by_owner.values()]
    most = _most_held(steps)
    return CycleAdvice(
        spans=tuple((own[0], own[-1]) for own in ordered),
        common=most if all(most in (step.locks or ()) for step in steps) else None,
        is_any_held=most is not None,
        is_known=_is_known(steps),
    )


def _is_known(steps: Iterable[ShownStep]) -> bool:
    return all(step.holds is not None for step in steps)


def _most_held(steps: Sequence[ShownStep]) -> str | None:
    """The lock that is held at the most steps, the first of several, and not one whose state they are about."""
    asked = {own_lock(step) for step in steps}
    held = (lock for step in steps for lock in step.locks or ())
    counts = Counter(lock for lock in held if lock.partition(" (")[0] not in asked)
    return max(counts, key=counts.__getitem__, default=None)
