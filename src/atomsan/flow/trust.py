"""What no answer about a trace can be trusted for: tasks that ran and were not followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atomsan.trace.meta import TraceMeta


def untrusted(meta: TraceMeta) -> str | None:
    """Why nothing is known to hold, whatever was found: some tasks look like one thread in the trace."""
    return next((text.partition(":")[0] for text in meta.unfollowed), None)
