"""Davida: finds every violation of every transaction, each with a witness.

Paper: davida-2022. Departures: see `engines/_violations.pyx`; and AeroDrome decides whether the trace is
serializable (why, in `violation_checker`).

The counters are those of the paper's tables III to VI. `witnesses` is `violations`: each has one. Of those that look
the same the result has the first, with a count. `distinct_witnesses` are sequences of transactions, of which at most
the first million of a transaction are told apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atomsan.checkers.results import Edge, Result, Step, Transaction, Witness
from atomsan.checkers.violation_checker import ViolatingChecker

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# The engine numbers them in this order.
_EDGES = tuple(Edge)


class DavidaChecker(ViolatingChecker):
    name = "davida"
    witnesses = True

    def result(self, stopped: str | None = None) -> Result:
        result = super().result(stopped)
        result.witnesses = self.witnesses_from(0)
        return result

    def witnesses_from(self, start: int) -> list[Witness]:
        """The witnesses found so far, from place `start` on. Later ones are added at the end."""
        return [
            Witness([Step(*step[:-1], _EDGES[step[-1]]) for step in steps], Transaction(thread, number), count)
            for thread, number, count, steps in self.engine.groups_from(start)
        ]

    def transactions_from(self, start: int) -> npt.NDArray[np.uint32]:
        """(thread, number) of the violating transactions found so far, from place `start` on."""
        return self.engine.transactions_from(start)

    def _counters(self) -> dict[str, int]:
        engine = self.engine
        return super()._counters() | {
            "witnesses": engine.violations,
            "distinct_witnesses": engine.distinct,
            "visited": engine.visited,
            "kept": engine.kept,
            "skipped": engine.dependencies - engine.kept,
            "largest_forest": engine.largest_forest,
            "witnesses_dropped": engine.dropped,
        }
