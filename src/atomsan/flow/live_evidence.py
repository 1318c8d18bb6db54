"""Collects the evidence for judging while a trace comes that can be read only once.

A stored trace is read again when the violations are known: for all kinds of turns, for the data cycles behind an order
of locks, and for what is around the steps. Here one pass does the same, with a window of the latest events. When the
checkers find the first violation, the enumeration of turns and of data cycles starts at the window's beginning; from
then on it sees each batch when the checkers have. The surroundings of each new witness are looked up in the window.

A program without violations pays for the window only. Memory is bounded by the window, and by the kinds of witnesses:
of each, one example is kept with its surroundings. Events that have left the window when they become of interest are
not known any more; a turn that begins there is a suspect. Of locations that are dead by then, the sites that wrote to
them are known only if a witness came of one before.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from atomsan.checkers.atomic_sets import Extract as RegionsExtract
from atomsan.checkers.atomic_sets import SetChecking, projected_witness
from atomsan.checkers.set_model import Everything, Limit, SetModel
from atomsan.checkers.turns import TurnFinder
from atomsan.findings.cycles import pairs_of_witness
from atomsan.findings.surroundings import MOST_KEPT, Surroundings
from atomsan.flow.window import MOST_EVENTS, Window
from atomsan.trace._write_sites import WriteSites
from atomsan.trace.events import Op

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from atomsan.checkers.flattening import FlatBatch
    from atomsan.checkers.results import Witness
    from atomsan.findings.finding import Finding
    from atomsan.findings.surroundings import Extract
    from atomsan.trace._nesting import OpenRegions
    from atomsan.trace.symbols import Symbols
    from atomsan.types import Checker, WitnessingChecker

# A witness by who found it, and its place there.
Key = tuple[str, int]


class LiveEvidence:
    """Feed it each batch that the checkers have seen.

    `violating` is the checker that finds all violating transactions; `cycle`, if there is one, shows a cycle that no
    transaction is to blame for. The window has room for `most` events.
    """

    def __init__(
        self,
        symbols: Symbols,
        violating: WitnessingChecker,
        cycle: Checker | None = None,
        most: int = MOST_EVENTS,
    ) -> None:
        self._symbols = symbols
        self._violating = violating
        self._cycle = cycle
        self._window = Window(symbols, most)
        self._writes = WriteSites()
        self._enumeration: _Enumeration | None = None
        self._told = 0
        """Violating transactions that were passed on."""
        self._looked = 0
        """Witnesses of the checker whose surroundings were looked up."""
        self._turns: dict[int, Witness] = {}
        """The example of each kind of turn: the shortest whose surroundings are known."""
        self._cycles: list[Witness] = []
        self._extracts: dict[Key, Extract] = {}
        self._targets: set[int] = set()
        self._size = 0
        self._dead: deque[tuple[int, NDArray[np.uint32]]] = deque()
        """Dead locations, after the last event that can access them."""

    def feed(self, flat: FlatBatch) -> None:
        batch = flat.unflattened()
        self._writes.advance(batch, flat.locations)
        self._window.add(batch)
        new = self._violating.transactions_from(self._told)
        self._told += len(new)
        if self._enumeration is not None:
            self._enumeration.add_violating(new)
            self._enumeration.feed(flat)
        elif len(new):
            self._enumeration = _Enumeration(self._symbols, self._window, new, flat)
        self._look_around()
        if flat.dead is not None:
            self._dead.append((flat.first + len(flat), flat.dead))
        self._forget()

    def _forget(self) -> None:
        """What died, and has left the window since, is of no interest any more if it was of none until now."""
        while self._dead and self._dead[0][0] <= self._window.first:
            _, dead = self._dead.popleft()
            if self._targets:
                dead = dead[~np.isin(dead, np.fromiter(self._targets, np.uint32, len(self._targets)))]
            self._writes.forget(dead)

    def finish(self) -> None:
        """The end of the trace: what is open ends there."""
        if self._enumeration is not None:
            self._enumeration.finish()
        self._look_around()

    def is_partial(self, finding: Finding) -> bool:
        """Whether a step is in a transaction that began before the enumeration: not all of its data was looked at."""
        return self._enumeration is not None and self._enumeration.is_partial(finding)

    def turns(self) -> list[Witness]:
        """All kinds of turns of the violating transactions."""
        if self._enumeration is None:
            return []
        counts = [witness.count for witness in self._enumeration.turns.witnesses()]
        # an interrupt can leave a kind without its example
        return [replace(self._turns[kind], count=count) for kind, count in enumerate(counts) if kind in self._turns]

    def cycles(self) -> list[Witness]:
        """One cycle of data for each kind, of any length."""
        counts = self._enumeration.counts() if self._enumeration else ()
        return [replace(witness, count=count) for witness, count in zip(self._cycles, counts, strict=False)]

    def around(self) -> Surroundings:
        """What is around the steps of all witnesses, as far as it was in the window in time."""
        found = Surroundings(forgets=True)
        for extract in self._extracts.values():
            found.add(extract, self._symbols)
        if self._targets:
            found.add_uses(self._window.uses(self._targets))
        found.writers = {location: self._writes.of(location) for location in self._targets}
        return found

    # ---- new witnesses

    def _look_around(self) -> None:
        new = self._new_witnesses()
        if not new:
            return
        first = self._window.first
        events = {step.event for witness in new.values() for step in witness.steps if step.event >= first}
        pairs = {key: pairs_of_witness(witness) for key, witness in new.items()}
        if events:
            wanted = {pair for of_witness in pairs.values() for pair in of_witness if pair.first >= first}
            found = self._window.surroundings(events, wanted, MOST_KEPT - self._size)
            for key, witness in new.items():
                self._keep(key, found.extract((step.event for step in witness.steps), pairs[key]))
        accesses = (step for witness in new.values() for step in witness.steps if step.op in (Op.READ, Op.WRITE))
        self._targets.update(step.target for step in accesses)

    def _keep(self, key: Key, extract: Extract) -> None:
        if (old := self._extracts.get(key)) is not None:
            self._size -= old.size
        self._extracts[key] = extract
        self._size += extract.size

    def _new_witnesses(self) -> dict[Key, Witness]:
        found = self._violating.witnesses_from(self._looked)
        new: dict[Key, Witness] = {("checker", self._looked + i): witness for i, witness in enumerate(found)}
        self._looked += len(found)
        if self._enumeration is not None:
            for kind, witness in self._enumeration.turns.take_changed():
                if kind not in self._turns or self._is_kept(witness):
                    self._turns[kind] = new["turn", kind] = witness
            for witness in self._enumeration.take_cycles():
                new["cycle", len(self._cycles)] = witness
                self._cycles.append(witness)
        if self._cycle is not None and (shown := self._cycle.result().witnesses):
            new["nobody", 0] = shown[0]
            self._cycle = None
        return new

    def _is_kept(self, witness: Witness) -> bool:
        return min(step.event for step in witness.steps) >= self._window.first


class _Enumeration:
    """All kinds of turns and of data cycles, from the beginning of the window on."""

    def __init__(self, symbols: Symbols, window: Window, violating: NDArray[np.uint32], flat: FlatBatch) -> None:
        self._since = window.first
        self.turns = TurnFinder(np.zeros((0, 2), np.uint32), symbols.locations)
        self._model = SetModel(symbols, Everything())
        self._checking = SetChecking(self._model, "projection")
        opened, threads = window.opened()
        self._begun = {symbols.threads[thread]: opened.transactions(thread) for thread in range(threads)}
        """How many transactions each thread has begun before, by its name."""
        self.turns.resume(opened, threads)
        self.add_violating(violating)
        self._model.limit = Limit(flat.locations, flat.regions)
        self._checking.feed(_open_regions(opened, threads))
        for batch in window.batches():
            self.turns.feed(batch)
            self._checking.feed(batch)

    def add_violating(self, violating: NDArray[np.uint32]) -> None:
        self.turns.add_violating(violating)

    def feed(self, flat: FlatBatch) -> None:
        batch = flat.unflattened()
        self.turns.feed(batch)
        self._model.limit = Limit(flat.locations, flat.regions)
        self._checking.feed(batch)

    def is_partial(self, finding: Finding) -> bool:
        return any(
            step.number < self._since or 0 < (step.transaction or 0) <= self._begun.get(step.thread, 0)
            for step in finding.witness
        )

    def finish(self) -> None:
        self.turns.finish()
        self._checking.finish()

    def take_cycles(self) -> list[Witness]:
        return [projected_witness(cycle) for cycle in self._checking.take_cycles()]

    def counts(self) -> list[int]:
        """How many cycles look like each of those that were taken."""
        return [count for _, count in self._checking.cycles()]


def _open_regions(opened: OpenRegions, threads: int) -> RegionsExtract:
    """The regions that are open somewhere, as begins. A begin has the number of its transaction as its site.

    A thread outside all regions has one that begins and ends, for the number.
    """
    rows: list[tuple[int, int, int, int, int]] = []
    for thread in range(threads):
        number, regions = opened.transactions(thread), opened.open(thread)
        rows += [(thread, Op.BEGIN, region, number, since) for region, since, _ in regions]
        if not regions:
            rows += [(thread, op, 0, number, 0) for op in (Op.BEGIN, Op.END)]
    columns = np.array(rows, np.uint64).reshape(-1, 5).T.copy()
    of_threads, of_regions, numbers = (columns[i].astype(np.uint32) for i in (0, 2, 3))
    return RegionsExtract(of_threads, columns[1].astype(np.uint8), of_regions, numbers, columns[4])
