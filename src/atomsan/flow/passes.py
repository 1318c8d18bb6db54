"""Plans: the passes over a trace that a verb needs, declared as data, and the runner that executes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from atomsan.trace.monitor import Monitor

S = TypeVar("S")


@dataclass(frozen=True)
class Pass(Generic[S]):
    """One pass of a plan, over a state that collects what the passes give."""

    gives: str
    """The attribute of the state that has what comes of it. Without the pass it keeps its default."""
    run: Callable[[S], Any]
    needs: tuple[Callable[[S], bool], ...] = ()
    """What must hold of the state for the pass to be made, asked in this order."""


def execute(plan: Sequence[Pass[S]], state: S, monitor: Monitor) -> list[str]:
    """Make the passes, in order, whose needs are met. One that is stopped is the last. Returns what was given.

    An interrupt between the batches is handled by the pass, which keeps what it found so far; one between the passes
    is handled here.
    """
    given: list[str] = []
    with monitor.stopping():
        for one in plan:
            if monitor.stopped:
                break
            if all(need(state) for need in one.needs):
                if given and monitor.is_over():
                    break
                setattr(state, one.gives, one.run(state))
                given.append(one.gives)
    return given
