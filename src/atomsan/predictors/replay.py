"""Replay of a predicted interleaving: does each thread still come to the steps that it is made of?

The recorded steps of two units are put in another order. A read before one of the steps that matter may then see
another write than in the run, and its thread may go another way. It goes the same way as far as can be told if

- what it reads does not decide what is done until the step comes, nor on which object or key (`Influence`);
- or the same code read that very value at that place in the run, and did the same until then;
- or, where no object or key rests on it: the same code read values at that place that the same code wrote, and always
  did the same until then.

The same code is the same place in the source, come to by the same calls: called from another place, or once more, a
function may have been given something else.

What is taken out of a queue rests on what was taken before, and not on what is put in later.

Other data is as it was when the earlier of the two units began; or when the later one began, without what the earlier
one wrote. What the thread of the later unit did before that, it did as well, and may have seen what the earlier unit
wrote. Reads that none of this explains are the answer.

Jobs of a pool that one thread did are taken as done by two: what the later one has from its thread is doubtful, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from atomsan.predictors.history import INITIAL, MOST_FOLLOWING
from atomsan.predictors.units import UnitStep
from atomsan.trace.events import NO_SITE, Op

if TYPE_CHECKING:
    from atomsan.predictors.commit_node import Torn
    from atomsan.predictors.history import History, Making, Path
    from atomsan.predictors.pairs import State, Tear
    from atomsan.predictors.units import Occurrence, Shape

Influence = Literal["none", "way", "object", "unknown"]
"""What the value of a read decides of a later step: nothing, by which way it is come to or whether at all, on which
object or key, or any of it."""

InfluenceOf = Callable[[int, int], Influence]
"""Of two sites of one unit, a read and a later step."""


class Change(NamedTuple):
    """A read that sees another write than in the run, and a later step of its unit that may not come then.

    Or one step that takes out what may not be there: then both are this step.
    """

    event: int
    site: int
    thread: int
    step_event: int
    step_site: int
    is_refuted: bool
    """Whether the same code read that very value in the run, and did something else then."""


class Parting(NamedTuple):
    """Where two threads that did the same parted: the one went on, and the other read something else."""

    change: Change
    look: int
    """The event at which the other one read."""


class _Side(NamedTuple):
    """One of the two units, and the steps of it that matter."""

    shape: Shape
    unit: Occurrence
    needed: tuple[int, ...]
    met: tuple[UnitStep, ...]
    """The step of the other one that each of these has a conflict with."""

    def meets_read(self, at: int) -> bool:
        return any(needed == at and step.op == Op.READ for needed, step in zip(self.needed, self.met, strict=True))


class _Start:
    """The state when the units begin: what was written before an event, without some of the writes."""

    def __init__(self, history: History, event: int, without: frozenset[int] = frozenset()) -> None:
        self._history = history
        self._event = event
        self._without = without

    def write(self, location: int, *, only_takes: bool = False) -> int:
        """The last write of a location; `only_takes`: of those that take an item."""
        return self._history.write_before(location, self._event, but=self._without, only_takes=only_takes)

    def lacks(self, location: int, write: int) -> bool:
        """Whether a write of a location is missing that came before another one."""
        return any(self._history.write_before(location, event + 1) == event for event in self._without if event < write)


class Replay:
    """Replays interleavings of a run."""

    def __init__(
        self,
        history: History,
        influence: InfluenceOf,
        gives: Callable[[int], bool],
        is_queue: Callable[[int], bool] = lambda location: False,
        gathers: Callable[[int], bool] = lambda location: False,
        removes: Callable[[int], bool] = lambda site: False,
        worker: Callable[[int], int] = lambda thread: thread,
    ) -> None:
        self._history = history
        self._worker = worker
        """The thread of the run that did what a thread does: that of a pool for its jobs (`trace/jobs.py`)."""
        self._is_queue = is_queue
        """Whether a location is the items of a queue: what was put first is taken first."""
        self._influence = influence
        self._gathers = gathers
        """Whether a location has what all writes have left, as the structure of a container, and not only the last."""
        self._removes = removes
        """Whether the operation at a site takes an element out of a container."""
        self._gives = gives
        """Whether the operation at a site gives what it takes out of a container that it changes."""
        self._same_ways: dict[tuple[int, int, int, int, bool], bool | None] = {}
        """What is known already: many interleavings have the same reads in them."""
        self._usual: dict[tuple[int, int, Making, tuple[tuple[int, int], ...]], bool] = {}

    def changes(self, torn: Torn, tear: Tear, way: list[State]) -> list[Change]:
        """What may go another way; nothing, if each thread comes to its steps as far as can be told."""
        own, other = torn.shape.steps, torn.other.steps
        mine = _Side(torn.shape, torn.unit, (tear.first, tear.last), (other[tear.into], other[tear.out]))
        others = _Side(torn.other, torn.other_unit, (tear.into, tear.out), (own[tear.first], own[tear.last]))
        best: list[Change] | None = None
        for start in self._starts(mine.unit, others.unit):
            found: list[Change] = []
            for change in self._replayed(mine, others, way, start):
                found.append(change)
                if best is not None and weight(found) >= weight(best):
                    break
            else:
                best = found
            if not best:
                break
        return [*(best or ()), *self._of_another_worker(mine, others)]

    def _of_another_worker(self, mine: _Side, others: _Side) -> Iterator[Change]:
        """Of two jobs that one thread did, the later one has to be done by another thread of the pool.

        What it has from the thread itself, by its number or in a `threading.local`, is something else there.
        """
        if self._worker(mine.unit.thread) != self._worker(others.unit.thread):
            return
        later = max(mine, others, key=lambda side: (side.unit.acts_as is not None, side.unit.events[0]))
        thread = later.unit.thread
        for needed in dict.fromkeys(later.needed):
            step, event = later.shape.steps[needed], later.unit.events[needed]
            for asked, site in self._history.selves_before(event):
                if self._influence(site, step.site) != "none":
                    yield Change(asked, site, thread, event, step.site, is_refuted=False)

    def _starts(self, one: Occurrence, other: Occurrence) -> Iterator[_Start]:
        earlier, later = sorted((one, other), key=lambda unit: unit.events[0])
        yield _Start(self._history, earlier.events[0])
        if earlier.events[0] != later.events[0]:
            yield _Start(self._history, later.events[0], frozenset(earlier.events))

    def _replayed(self, mine: _Side, others: _Side, way: list[State], start: _Start) -> Iterator[Change]:
        written: dict[int, int] = {}
        taken: dict[int, int] = {}
        for (i, j), (to_i, _) in pairwise(way):
            side, at = (mine, i) if to_i > i else (others, j)
            step, event = side.shape.steps[at], side.unit.events[at]
            if step.op == Op.WRITE and side.meets_read(at) and self._is_gone(step, event, written, start):
                yield Change(event, step.site, side.unit.thread, event, step.site, is_refuted=False)
            if self._is_queue(step.target) and self._history.is_take(event):
                sees = taken[step.target] if step.target in taken else start.write(step.target, only_takes=True)
                if at < max(side.needed) and sees != self._history.write_before(step.target, event, only_takes=True):
                    yield from self._changed(side, at, sees)
                taken[step.target] = event
            elif at < max(side.needed) and (step.op == Op.READ or (step.op == Op.WRITE and self._gives(step.site))):
                sees = written[step.target] if step.target in written else start.write(step.target)
                if sees != self._history.write_before(step.target, event):
                    yield from self._changed(side, at, sees)
                elif step.target not in written and self._gathers(step.target) and start.lacks(step.target, sees):
                    yield from self._changed(side, at, sees, is_other=True)
                elif self._is_later(sees, others if side is mine else mine):
                    yield from self._changed(side, at, sees, is_later=True)
            if step.op == Op.WRITE:
                written[step.target] = event
                later, begun = (others, j) if side is mine else (mine, i)
                if begun and later.unit.events[0] > event:
                    yield from self._seen_before(step.target, event, later, start)

    def _is_gone(self, step: UnitStep, event: int, written: dict[int, int], start: _Start) -> bool:
        """Whether a step takes out an element that was put in before it in the run, and is not known to be there now.

        Then it writes nothing, or raises: that has no conflict with a read.
        """
        if not self._removes(step.site) or self._gathers(step.target):
            return False
        sees = written[step.target] if step.target in written else start.write(step.target)
        if sees == self._history.write_before(step.target, event):
            return False
        return sees == INITIAL or self._removes(self._history.write_site(step.target, sees))

    def _seen_before(self, location: int, write: int, later: _Side, start: _Start) -> Iterator[Change]:
        """What the thread of the later unit did before that unit, if it saw a write that comes later now."""
        thread, begin = later.unit.thread, later.unit.events[0]
        needed = min(later.needed)
        step, event = later.shape.steps[needed], later.unit.events[needed]
        if later.unit.acts_as is not None:
            return
        for seen, site in self._history.looks(location, write, thread, begin):
            read = UnitStep(Op.READ, location, site)
            if not self._goes_the_same_way(read, step, (seen, event), start.write(location)):
                yield Change(seen, site, thread, event, step.site, is_refuted=False)

    def _is_later(self, write: int, other: _Side) -> bool:
        """Whether a thread does a write after its unit."""
        return write > other.unit.events[-1] and self._history.thread_of(write) == other.unit.thread

    def _changed(
        self, side: _Side, at: int, sees: int, *, is_later: bool = False, is_other: bool = False
    ) -> Iterator[Change]:
        """The steps that may not come if a read sees this write.

        `is_later`: it is as in the run, but comes after the other unit. Another write of the same kind is as good,
        unless an object or a key rests on it. `is_other`: the write is as in the run, but not all that came before it.
        """
        read = side.shape.steps[at]
        for needed in dict.fromkeys(side.needed):
            step = side.shape.steps[needed]
            events = side.unit.events
            between = events[at], events[needed]
            if needed <= at or (step.site == read.site and self._history.is_one_call(*between)):
                continue
            if is_later and self._influence_on(read, step, between) != "object":
                continue
            is_same = None if is_later else self._goes_the_same_way(read, step, between, sees, is_other=is_other)
            if not is_same:
                yield Change(
                    events[at], read.site, side.unit.thread, events[needed], step.site, is_refuted=is_same is False
                )

    def _influence_on(self, read: UnitStep, step: UnitStep, events: tuple[int, int]) -> Influence:
        """The graph of a function tells only what one call of it does."""
        return self._influence(read.site, step.site) if self._history.is_one_call(*events) else "unknown"

    def _goes_the_same_way(
        self, read: UnitStep, step: UnitStep, events: tuple[int, int], sees: int, *, is_other: bool = False
    ) -> bool | None:
        """Whether a unit comes to a step as it did if a read before it sees this write; None: that is not known.

        `is_other`: what it sees is not what others saw of that write.
        """
        key = *events, read.site, sees, is_other
        if key not in self._same_ways:
            self._same_ways[key] = self._looked_up(read, step, events, sees, is_other=is_other)
        return self._same_ways[key]

    def _looked_up(
        self, read: UnitStep, step: UnitStep, events: tuple[int, int], sees: int, *, is_other: bool
    ) -> bool | None:
        influence = self._influence_on(read, step, events)
        if influence == "none":
            return True
        if NO_SITE in (read.site, step.site):
            return None
        path = self._history.following(*events)
        if len(path) >= MOST_FOLLOWING:
            return None
        context = self._history.context(events[0])
        seen = [one for one in self._history.reads_at(read.site) if one.context == context]
        same = [one.event for one in seen if one.location == read.target and one.write == sees]
        if same and not is_other:
            turn = self._history.turn(events[0])
            same = [event for event in same if self._history.turn(event) == turn]
        if same and not is_other:
            ways = {self._history.following(event)[: len(path)] == path for event in same}
            return ways.pop() if len(ways) == 1 else None
        return True if influence != "object" and self._is_usual(read, context, path, sees) else None

    def _is_usual(self, read: UnitStep, context: int, path: Path, sees: int) -> bool:
        """Whether the same code always goes this way if it reads what was written at the place of a write."""
        places = tuple((one.op, one.site) for one in path)
        made_at = self._history.made_at(read.target, sees)
        key = read.site, context, made_at, places
        if key not in self._usual:
            seen = (one for one in self._history.reads_at(read.site) if one.context == context)
            alike = [one.event for one in seen if one.made_at == made_at]
            ways = (self._history.following(event)[: len(path)] for event in alike)
            self._usual[key] = bool(alike) and all(tuple((one.op, one.site) for one in way) == places for way in ways)
        return self._usual[key]


def weight(changes: Sequence[Change]) -> tuple[int, int]:
    """How much may go another way: first what the run itself speaks against."""
    return sum(change.is_refuted for change in changes), len(changes)
