"""Reports as JSON, for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from atomsan.findings.report import together

if TYPE_CHECKING:
    from atomsan.findings.report import Report


def as_json(reports: Sequence[Report]) -> str:
    """One object for one trace; for several, one with their reports and the findings of all."""
    return json.dumps(together(reports), indent=1) + "\n"
