"""`atomsan algorithms`"""

from __future__ import annotations

from typing import Any

from atomsan.cli.exits import Exit
from atomsan.cli.tell import as_json, table

# History: atomsan-algorithms/1, the first.
SCHEMA = "atomsan-algorithms/1"


def algorithms(format: str) -> int:
    """List the algorithms that check can run: what each decides, promises and costs, and its paper.

    Examples:
      atomsan algorithms
      atomsan algorithms --format json
    """
    rows = _rows()
    if format == "json":
        print(as_json({"schema": SCHEMA, "algorithms": rows}), end="")
    else:
        head = [name.upper() for name in rows[0]]
        print(table([head, *([*row.values()] for row in rows)]), end="")
    return Exit.FINE


def _rows() -> list[dict[str, Any]]:
    from atomsan.checkers import auto
    from atomsan.checkers.registry import CHECKERS

    first = (auto.NAME, auto.PROPERTY, auto.PROMISES, auto.COST, "")
    entries = ((e.name, e.property, e.promises, e.cost, e.paper) for e in CHECKERS.values())
    return [dict(zip(("name", "property", "promises", "cost", "paper"), row, strict=True)) for row in (first, *entries)]
