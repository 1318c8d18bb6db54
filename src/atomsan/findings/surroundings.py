"""Second pass: adds held locks and enclosing regions to the steps of violations, and finds repeated reads.

Checkers keep none of these: there are ten million violations and a dozen findings. So the trace is read once more when
the violations are known, as far as the last step. Judging needs repeated reads to recognize double-checked locking.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from atomsan.findings.advice import advice_for, advice_for_cycle
from atomsan.findings.finding import Finding, Hold
from atomsan.findings.wording import hint, hint_for_cycle
from atomsan.trace._held import HeldLocks
from atomsan.trace._nesting import OpenRegions
from atomsan.trace.events import Op
from atomsan.trace.regions import CALLBACK

if TYPE_CHECKING:
    from atomsan.trace.events import Batch
    from atomsan.trace.symbols import Symbols


class EnclosingRegion(NamedTuple):
    """A region that is open at an event."""

    name: str
    origin: str
    has_flow: bool
    """Whether a result of one call flows into a later call on the same object."""
    since: int
    """The event of its begin."""
    is_unit: bool = False
    """Whether the user said that it is one step on an argument (`atomsan.unit_for`)."""
    is_back: bool = False
    """Whether a library called it back."""
    between: tuple[frozenset[str], ...] = ()
    """Between which methods a result flows, if one of them is a property."""


class ConditionRead(NamedTuple):
    """A read in a condition, and the last event by which its thread may have read the location again."""

    event: int
    location: int
    until: int


class RepeatedRead(NamedTuple):
    """The next read of what was looked at, by the same thread."""

    event: int
    text: str
    """Of its line in the source."""
    holds: tuple[Hold, ...]


class Surroundings:
    """What is around some events, by number of the event. Feed it the batches of the trace."""

    def __init__(self, events: Iterable[int], looks: Iterable[ConditionRead] = ()) -> None:
        self.holds: dict[int, tuple[Hold, ...]] = {}
        """The locks that the thread holds."""
        self.again: dict[ConditionRead, RepeatedRead] = {}
        """What was read again after a look."""
        self._events = sorted(set(events), reverse=True)  # the next one is the last
        self._looks = list(dict.fromkeys(looks))
        self._threads: dict[ConditionRead, int] = {}
        self._reads: dict[int, list[ConditionRead]] = {}
        self._locks = HeldLocks()
        self._open = OpenRegions()
        self._inside: dict[int, list[tuple[int, int]]] = {}
        """The regions that the thread is in: numbers, and the events of their begins."""
        self._symbols: Symbols | None = None

    def feed(self, batch: Batch, symbols: Symbols) -> bool:
        """Take the next events. True: all is known, so do not feed any more."""
        self._symbols = symbols
        self._locks.grow(len(symbols.threads), len(symbols.locks))
        self._open.grow(len(symbols.threads))
        self._find_reads(batch)
        seen = 0
        while self._events and self._events[-1] < batch.first + len(batch):
            event = self._events.pop()
            at = event - batch.first
            until = at + (batch.op[at] == Op.ACQUIRE)  # it is under its own lock; and so is a release
            self._advance(batch[seen:until])
            seen = until
            thread = int(batch.thread[at])
            self.holds[event] = self._holds(thread, symbols)
            self._inside[event] = self._open.open(thread)
            for look in self._reads.pop(event, ()):
                text = symbols.sites.get(int(batch.site[at]), "text") or ""
                self.again[look] = RepeatedRead(event, text.strip(), self.holds[event])
        self._advance(batch[seen:])
        return not self._events

    @cached_property
    def regions(self) -> dict[int, list[EnclosingRegion]]:
        """The regions that the thread is in, the innermost last. Ask when all events were fed."""
        symbols = self._symbols
        if symbols is None:
            return {}
        return {event: [_enclosing(symbols, *one) for one in inside] for event, inside in self._inside.items()}

    def _find_reads(self, batch: Batch) -> None:
        """Let the first read after each look be among the events that are wanted."""
        waiting = []
        for look in self._looks:
            if batch.first <= look.event < batch.first + len(batch):
                self._threads[look] = int(batch.thread[look.event - batch.first])
            if look in self._threads:
                part = batch[max(look.event + 1 - batch.first, 0) : look.until + 1 - batch.first]
                is_one = (part.thread == self._threads[look]) & (part.op == Op.READ) & (part.target == look.location)
                if is_one.any():
                    self._reads.setdefault(part.first + int(is_one.argmax()), []).append(look)
                    continue
            if look.until >= batch.first + len(batch):
                waiting.append(look)
        self._looks = waiting
        self._events = sorted({*self._events, *self._reads}, reverse=True)

    def _advance(self, batch: Batch) -> None:
        self._locks.advance(batch)
        self._open.advance(batch)

    def _holds(self, thread: int, symbols: Symbols) -> tuple[Hold, ...]:
        """An asyncio loop is no lock to people: nobody can forget to take it."""
        locks = symbols.locks
        held = self._locks.held(thread)
        return tuple(Hold(locks[lock], since) for lock, since in held if locks.get(lock, "kind") != "loop")


def has_locks(symbols: Symbols) -> bool:
    """Is there any lock to be held?"""
    return any(symbols.locks.get(lock, "kind") != "loop" for lock in range(len(symbols.locks)))


def innermost(finding: Finding, regions: Mapping[int, list[EnclosingRegion]]) -> str | None:
    """The innermost region around both local accesses of a finding, where that is known."""
    if finding.span is None:
        return None
    first, last = (regions.get(finding.witness[i].number, ()) for i in finding.span)
    common = [one for one, other in zip(first, last, strict=False) if one == other]
    return common[-1].name if common else None


def _enclosing(symbols: Symbols, region: int, since: int) -> EnclosingRegion:
    """A region that is open since an event, with what the trace knows of it."""
    regions = symbols.regions
    lines = (regions.get(region, "flow") or "").splitlines()
    between = tuple(frozenset(line.split()[1:]) for line in lines if line.startswith("."))
    return EnclosingRegion(
        name=regions[region],
        origin=regions.get(region, "origin") or "",
        has_flow=len(between) < len(lines),
        since=since,
        is_unit=any(line.startswith("!") for line in lines),
        is_back=regions.get(region, "entered") == CALLBACK,
        between=between,
    )


def with_locks(findings: Iterable[Finding], held: Mapping[int, tuple[Hold, ...]]) -> list[Finding]:
    """The findings with what is held at their steps, and with the hints that follow from it."""
    return [_with_locks(finding, held) for finding in findings]


def without_locks(findings: Iterable[Finding]) -> list[Finding]:
    """The findings of a trace in which there is no lock."""
    numbers = {step.number for finding in findings for step in finding.witness}
    return with_locks(findings, dict.fromkeys(numbers, ()))


def _with_locks(finding: Finding, held: Mapping[int, tuple[Hold, ...]]) -> Finding:
    steps = tuple(replace(step, holds=held.get(step.number)) for step in finding.witness)
    if not steps:
        return finding
    words = hint(advice_for(steps, finding.span)) if finding.span else hint_for_cycle(advice_for_cycle(steps))
    return replace(finding, witness=steps, hint=words)
