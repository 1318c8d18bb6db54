"""`atomsan algorithms`: lists the algorithms, with what each decides, promises and costs."""

from __future__ import annotations

from typing import Any

from atomsan.cli.exit_codes import Exit
from atomsan.cli.output import print_answer, table
from atomsan.reports.registry import Answer

# History: atomsan-algorithms/1, the first.
SCHEMA = "atomsan-algorithms/1"


def algorithms(format: str) -> int:
    """List the algorithms: what each decides, promises and costs, its paper, and the verb that runs it.

    Examples:
      atomsan algorithms
      atomsan algorithms --format json
    """
    rows = _rows()
    head = [name.upper() for name in rows[0]]
    answer = Answer(
        text=lambda: table([head, *([*row.values()] for row in rows)]),
        data=lambda: {"schema": SCHEMA, "algorithms": rows},
    )
    print_answer(format, answer)
    return Exit.FINE


def _rows() -> list[dict[str, Any]]:
    from atomsan.checkers import algorithms, atomic_sets
    from atomsan.checkers.registry import CHECKERS
    from atomsan.predictors.registry import PREDICTORS

    first = (algorithms.NAME, algorithms.PROPERTY, algorithms.PROMISES, algorithms.COST, "", "check")
    entries = [(e.name, e.property, e.promises, e.cost, e.paper, "check") for e in CHECKERS.values()]
    sets = (atomic_sets.NAME, atomic_sets.PROPERTY, atomic_sets.PROMISES, atomic_sets.COST, "atomic-sets-2008", "sets")
    predictors = [(*predictor, "predict") for predictor in PREDICTORS.values()]
    names = ("name", "property", "promises", "cost", "paper", "verb")
    return [dict(zip(names, row, strict=True)) for row in (first, *entries, sets, *predictors)]
