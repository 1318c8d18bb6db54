"""What no answer about a trace can be trusted for: tasks that ran and were not followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atomsan.findings.report import PredictionFacts
    from atomsan.trace.meta import TraceMeta


def untrusted(meta: TraceMeta) -> str | None:
    """Why nothing is known to hold, whatever was found: some tasks look like one thread in the trace."""
    return next((text.partition(":")[0] for text in meta.unfollowed), None)


def unproved(facts: PredictionFacts, reason: str) -> PredictionFacts:
    """The facts without what was proved: it may not be so. What was refuted stays so."""
    kept = {kind: reason for kind in facts.answers if facts.answers[kind] is not False}
    return facts._replace(
        conflict_atomic=None if facts.conflict_atomic else facts.conflict_atomic,
        view_atomic=None if facts.view_atomic else facts.view_atomic,
        kinds=0,
        proved=0,
        reasons={**facts.reasons, **kept},
    )
