"""Atomic sets: decides for each set whether its units of work are serializable, by patterns and by projection.

Paper: Hammer, Dolby, Vaziri and Tip, ICSE 2008 (atomic-sets-2008). The 14 access patterns give the words and are sound:
what matches is never serializable. They are not complete, so the projection on each set is checked too, and
its answer is exact. Both look at the same rows of accesses (`units`), in one pass.

Departures: sets are grouped in kinds (`set_model`), because a trace has more objects than classes. A region is a unit
on the sets that its own code touches; these are learned in a pass of their own, if the trace can be read twice, and
otherwise as it goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from atomsan.checkers.access_patterns import PATTERNS, PatternEvent
from atomsan.checkers.engines._units import UnitFinder
from atomsan.checkers.results import NO_REGION, Edge, Step, Transaction, Witness
from atomsan.checkers.units import RowKind, Rows
from atomsan.trace.events import Op

if TYPE_CHECKING:
    import numpy.typing as npt

    from atomsan.checkers.engines._patterns import Patterns
    from atomsan.checkers.engines._projection import Projection
    from atomsan.checkers.results import Status
    from atomsan.checkers.set_model import SetModel
    from atomsan.checkers.violating_units import ViolatingUnits
    from atomsan.trace.events import Batch, Column, OpColumn

NAME = "atomic-sets"
PROPERTY = "the units of work on each atomic set are serializable"
PROMISES = "the 14 access patterns, which are sound; and the exact answer for each set, with a cycle of units"
COST = "follows what meets: linear where no two threads have an object at a time"

STATUS: Status = "observed"

Method = Literal["patterns", "projection", "both"]
METHODS: tuple[Method, ...] = ("patterns", "projection", "both")

# After so many matches in one set no more are looked for: two units on a list of a thousand elements have millions.
# `capped` names the sets that came so far.
MOST_MATCHES = 100_000
ROW = 16
# Rows between two looks at what matched: counting takes as long as there are sets.
TAKEN_EVERY = 1 << 20
# So many matches are shown with their accesses.
MOST_EXAMPLES = 1000


class Access(NamedTuple):
    """A step of a cycle as the engine gives it."""

    event: int
    thread: int
    op: int
    location: int
    site: int
    unit: int
    region: int
    transaction: int
    """The number of the transaction that it is in, which can have several units; 0 outside all."""


@dataclass(frozen=True, slots=True, eq=False)
class Extract:
    """What matters of a batch: the accesses to locations that are in sets, and the regions around them."""

    thread: Column
    op: OpColumn
    target: Column
    site: Column
    events: npt.NDArray[np.uint64]
    first: int = 0

    def __len__(self) -> int:
        return len(self.op)


class Learning:
    """A pass that finds out which regions touch which kinds of sets with their own code.

    It keeps an extract of the trace, so that the trace need not be read again, as long as that is small.
    """

    def __init__(self, model: SetModel, most: int) -> None:
        self._units = Units(model, learns=True)
        self._most = most
        self._size = 0
        self.extracts: list[Extract] | None = []
        """None: it is not small."""

    def feed(self, batch: Batch) -> None:
        extract = self._units.extract(batch)
        if self.extracts is not None and len(extract):
            self.extracts.append(extract)
            self._size += len(extract)
            if self._size > self._most:
                self.extracts = None

    def finish(self) -> None:
        pass

    @property
    def transactions(self) -> int:
        return self._units.finder.transactions


class Units:
    """Finds units by a model that grows with the trace."""

    def __init__(self, model: SetModel, *, learns: bool) -> None:
        self._model = model
        self._is_told = False
        self.finder = UnitFinder(learns=learns)

    def rows(self, batch: Batch | Extract) -> Rows:
        self._prepare(batch)
        return Rows(*self.finder.feed(batch, batch.events if isinstance(batch, Extract) else None))

    def extract(self, batch: Batch) -> Extract:
        self._prepare(batch)
        return Extract(*self.finder.extract(batch))

    def _prepare(self, batch: Batch | Extract) -> None:
        model = self._model
        if model.grow() or not self._is_told:
            known = model.offsets, model.sets, model.kinds, model.on, model.parts, model.same, model.back
            self.finder.know(*known, is_one_set=model.is_one_set)
            self._is_told = True
        self.finder.grow(int(batch.thread.max(initial=0)) + 1)


class SetChecking:
    """One pass over a trace for all its sets."""

    def __init__(self, model: SetModel, method: Method = "both", *, learns: bool | None = None) -> None:
        self.model = model
        self._units = Units(model, learns=model.layout.learns if learns is None else learns)
        self.patterns: Patterns | None = None
        self.projection: Projection | None = None
        if method != "projection":
            from atomsan.checkers.engines._patterns import Patterns

            self.patterns = Patterns(most=MOST_MATCHES)
        if method != "patterns":
            from atomsan.checkers.engines._projection import Projection

            self.projection = Projection()
        self._counts: npt.NDArray[np.uint32] = np.zeros(0, np.uint32)
        """How many matches of each pattern there are in each set, at `set * ROW + pattern`."""
        self.examples: dict[tuple[int, int], Match] = {}
        """The first match of each pattern in each set."""
        self._taken: list[list[Access]] = []
        """The cycles that the projection has given so far."""
        self._rows = 0
        self.violating: ViolatingUnits | None = None
        """Beside the others, if the trace comes only once and violating units are asked for."""

    def feed(self, batch: Batch | Extract) -> None:
        rows = self._units.rows(batch)
        if self.patterns is not None:
            self.patterns.feed(rows)
            self._rows += len(rows)
            if self._rows >= TAKEN_EVERY:
                self._take_matches(self.patterns)
                self._rows = 0
        if self.projection is not None:
            self.projection.feed(rows)
            if not isinstance(batch, Extract) and batch.dead is not None:
                self.projection.forget(batch.dead)
        if self.violating is not None:
            self.violating.feed(rows)

    def finish(self) -> None:
        """The end of the trace: what is open ends there."""
        if self.patterns is not None:
            self.patterns.finish()
            self._take_matches(self.patterns)
        if self.projection is not None:
            self.projection.finish()

    @property
    def transactions(self) -> int:
        return self._units.finder.transactions

    @property
    def violations(self) -> int:
        """As the paper counts: the matches of patterns; where these were not asked for, the cycles."""
        if self.patterns is not None:
            return int(self._counts.sum())
        return 0 if self.projection is None else self.projection.counters["cycles"]

    def cycles(self) -> list[tuple[list[Access], int]]:
        """One cycle of each kind, and how many there are."""
        if self.projection is None:
            return []
        self.take_cycles()
        return list(zip(self._taken, self.projection.counts().tolist(), strict=True))

    def take_cycles(self) -> list[list[Access]]:
        """The cycles of kinds that are new since the last time."""
        if self.projection is None:
            return []
        new = [[Access(*step) for step in cycle] for cycle in self.projection.take()]
        self._taken += new
        return new

    def has_cycle(self) -> set[int]:
        """The sets that the projection shows not to be serializable."""
        return set() if self.projection is None else set(self.projection.broken().tolist())

    def broken(self) -> list[int]:
        """The sets that are not serializable, by projection or because a pattern matches."""
        return sorted({*self.has_cycle(), *(np.flatnonzero(self._counts) // ROW).tolist()})

    def capped(self) -> list[int]:
        """The sets in which no more matches were looked for, because there are enough: they may have more."""
        places = np.flatnonzero(self._counts)
        matches = np.bincount(places // ROW, weights=self._counts[places])
        return list(np.flatnonzero(matches >= MOST_MATCHES).tolist())

    @property
    def counters(self) -> dict[str, int]:
        engines = {"patterns": self.patterns, "projection": self.projection}
        counters = {
            f"{name}.{what}": count
            for name, engine in engines.items()
            if engine
            for what, count in engine.counters.items()
        }
        return counters | ({} if self.patterns is None else {"patterns.capped_sets": len(self.capped())})

    def _take_matches(self, patterns: Patterns) -> None:
        found = patterns.take()
        if not len(found["pattern"]):
            return
        places = found["set"].astype(np.int64) * ROW + found["pattern"]
        if len(self.examples) < MOST_EXAMPLES:
            self._keep_examples(places, found)
        counts = np.bincount(places, minlength=len(self._counts)).astype(np.uint32)
        counts[: len(self._counts)] += self._counts
        self._counts = counts

    def _keep_examples(self, places: npt.NDArray[np.int64], found: dict[str, npt.NDArray[Any]]) -> None:
        kinds, first = np.unique(places, return_index=True)
        known = np.zeros(len(kinds), bool)
        inside = kinds < len(self._counts)
        known[inside] = self._counts[kinds[inside]] > 0
        for index in first[~known][: MOST_EXAMPLES - len(self.examples)].tolist():
            match = Match(**{name: int(column[index]) for name, column in found.items()})
            self.examples[match.set, match.pattern] = match

    @property
    def counts(self) -> dict[tuple[int, int], int]:
        """How many matches of each pattern there are in each set, where there are any: by set and pattern."""
        places = np.flatnonzero(self._counts)
        return {
            divmod(place, ROW): count
            for place, count in zip(places.tolist(), self._counts[places].tolist(), strict=True)
        }


class Match(NamedTuple):
    """Where a pattern was first seen."""

    pattern: int
    set: int
    unit: int
    other: int
    location: int
    second: int
    event: int


def witness_of(cycle: Sequence[Access], count: int, found_by: tuple[str, ...] = ()) -> Witness:
    """A cycle of units as a witness. It has two accesses for each edge: that which leaves, that which is come to."""
    pairs = list(zip(cycle[::2], cycle[1::2], strict=True))
    steps: list[Step] = []
    for i, (leaves, enters) in enumerate(pairs):
        steps.append(_step(leaves, _edge(leaves, enters)))
        goes_on = pairs[(i + 1) % len(pairs)][0]
        if goes_on.event != enters.event:
            steps.append(_step(enters, Edge.PROGRAM_ORDER))
    blamed = _blamed(pairs)
    if blamed is None:
        return Witness(steps, None, count, found_by)
    return Witness(steps, Transaction(blamed.thread, blamed.transaction), count, found_by, unit=blamed.unit)


def projected_witness(cycle: Sequence[Access], count: int = 1) -> Witness:
    """A cycle that the projection found, with the pattern that it is, if it is one."""
    number = pattern_in(cycle)
    return witness_of(cycle, count, ("projection", *([f"pattern {number}"] if number else [])))


def _step(access: Access, edge: Edge) -> Step:
    return Step(*access[:5], transaction=access.transaction, region=access.region, edge=edge, unit=access.unit)


def _edge(one: Access, other: Access) -> Edge:
    if one.thread == other.thread:
        return Edge.PROGRAM_ORDER
    if one.op == Op.READ:
        return Edge.READ_WRITE
    return Edge.WRITE_READ if other.op == Op.READ else Edge.WRITE_WRITE


def _blamed(pairs: Sequence[tuple[Access, Access]]) -> Access | None:
    """Where the cycle leaves a unit that it enters later: others came in between. That which closed it comes first."""
    turns = [(pairs[i - 1][1], pairs[i][0]) for i in range(len(pairs))]
    for enters, leaves in turns:
        if enters.event > leaves.event and leaves.region != NO_REGION:
            return leaves
    return None


def pattern_in(cycle: Sequence[Access]) -> int | None:
    """Which of the 14 a cycle of two units is, if it is one."""
    accesses = sorted(set(cycle))
    units = list(dict.fromkeys(access.unit for access in accesses))
    if len(units) != 2:
        return None
    locations = list(dict.fromkeys(access.location for access in accesses))
    # the units in the order of their first accesses, the locations either way round
    for order in (locations, locations[::-1]):
        seen = [PatternEvent(access.op, units.index(access.unit), order.index(access.location)) for access in accesses]
        for number, events in PATTERNS.items():
            if _is_in(events, seen):
                return number
    return None


def _is_in(few: Iterable[PatternEvent], many: Iterable[PatternEvent]) -> bool:
    """Whether these stand among those, in the same order."""
    rest = iter(many)
    return all(event in rest for event in few)


def accesses_of(matches: Iterable[Match], rows: Rows) -> list[Access]:
    """The accesses in some rows that belong to the units and locations of matches."""
    wanted = {(unit, where) for match in matches for unit in match[2:4] for where in match[4:6]}
    units = np.fromiter({unit for unit, _ in wanted}, np.uint32)
    at = np.flatnonzero(np.isin(rows.unit, units) & (rows.kind != RowKind.END))
    columns = (
        *(rows.event, rows.thread, rows.kind & 1, rows.location, rows.site, rows.unit, rows.region),
        rows.transaction,
    )
    found = (Access(*(int(column[i]) for column in columns)) for i in at.tolist())
    # a location in two sets has two rows
    return list(dict.fromkeys(access for access in found if (access.unit, access.location) in wanted))


def cycle_of(match: Match, accesses: Iterable[Access]) -> list[Access]:
    """The cycle that a match is: the first accesses, in their order, that fit its pattern."""
    here = iter(sorted(access for access in accesses if access.unit in match[2:4] and access.location in match[4:6]))
    chosen: list[Access] = []
    for op, who, where in PATTERNS[match.pattern]:
        wanted = (match[2 + who], match[4 + where], op)
        chosen.append(next(access for access in here if (access.unit, access.location, access.op) == wanted))
    if len(chosen) == 3:
        return [chosen[0], chosen[1], chosen[1], chosen[2]]
    edges = [[access for access in chosen if access.location == location] for location in match[4:6]]
    return [access for edge in edges for access in edge]
