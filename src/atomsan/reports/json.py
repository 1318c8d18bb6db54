"""Reports as JSON, for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atomsan.findings.report import Report


def render(reports: Sequence[Report], *, limit: int | None = None, with_notes: bool = False) -> str:
    """One object for one report; for several, one with all reports and the findings of all. It is never shortened."""
    from atomsan.findings.report import reports_to_json

    return encoded(reports_to_json(reports))


def merge(documents: Sequence[str]) -> str:
    """One object with all reports and the findings of all."""
    from atomsan.findings.report import merge_report_json

    return encoded(merge_report_json([json.loads(document) for document in documents]))


def encoded(data: Any) -> str:
    """Any data as JSON. Without findings, nothing of them is imported."""
    return json.dumps(data, indent=1) + "\n"
