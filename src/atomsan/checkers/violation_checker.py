"""The common base of RegionTrack and Davida: one engine for violations, AeroDrome for serializability.

A violating transaction is on a cycle, so its trace is not serializable. The other way round does not hold: a cycle
that does not follow the order of events violates no transaction. RegionTrack's own flag for that is wrong on
some traces, so AeroDrome decides; it is fed until the first violation is found, when the answer is known anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atomsan.checkers.aerodrome import AeroDromeChecker
from atomsan.checkers.engines._violations import ViolationEngine
from atomsan.checkers.results import Result, TransactionList

if TYPE_CHECKING:
    from atomsan.checkers.flattening import FlatBatch


class ViolatingChecker:
    """Feeds the engine, and AeroDrome beside it unless `serializability` is off.

    `first` stops at the first event that violates. `pairs` makes it remember (e_a, e_b) of so many violations.
    """

    name: str
    witnesses: bool

    def __init__(self, *, first: bool = False, serializability: bool = True, pairs: int = 0) -> None:
        self.engine = ViolationEngine(witnesses=self.witnesses, first=first, pairs=pairs)
        self._beside = AeroDromeChecker() if serializability else None
        self._beside_busy = serializability

    def feed(self, batch: FlatBatch) -> bool:
        self.engine.grow(batch.threads, batch.locations, batch.locks, batch.handovers)
        done = self.engine.feed(batch.first, batch.thread, batch.op, batch.target, batch.site)
        if self._beside is not None and self._beside_busy:
            self._beside_busy = not self.engine.violations and not self._beside.feed(batch)
        if batch.dead is not None:
            self.engine.forget(batch.dead)
        return done

    def result(self, stopped: str | None = None) -> Result:
        engine = self.engine
        cycles = self._cycles(stopped)
        serializable = cycles.serializable
        violated = engine.violations > 0 or serializable is False
        unknown = stopped is not None and not violated
        return Result(
            self.name,
            "violated" if violated else "unknown" if unknown else "holds",
            serializable=serializable,
            violations=engine.violations,
            transactions=TransactionList(engine.transactions),
            first_event=engine.first_event if engine.violations else cycles.first_event,
            closing=None if engine.violations else cycles.closing,
            counters=self._counters(),
            reason=stopped if unknown else None,
        )

    def _cycles(self, stopped: str | None) -> Result:
        """What there is to say of the trace as a whole."""
        if self.engine.violations:
            return Result(self.name, "violated", serializable=False)
        return Result(self.name, "unknown") if self._beside is None else self._beside.result(stopped)

    def _counters(self) -> dict[str, int]:
        engine = self.engine
        return {
            "violations": engine.violations,
            "transactions": len(engine.transactions),
            "dependencies": engine.dependencies,
        }
