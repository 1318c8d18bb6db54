"""The options of a recording, passed from the recording process to the process of the program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class RecordingOptions(NamedTuple):
    """The options of a recording. (No dataclass: those cost the recorded program the start of `inspect`.)"""

    include: Sequence[str] = ()
    omit: Sequence[str] = ()
    project: str | None = None
    """The directory of the program's own code. None: everything that is not installed."""
    noise: bool = False
    seed: int = 0
    redact_keys: bool = False
    cache: str | None = None
    """The directory of the cache of rewritten code, if there is to be one."""
    explain_selection: bool = False
    """Whether to send, for every module, whether it is watched and why."""
    follow: Sequence[tuple[str, str]] = ()
    """The fields of which to record what they hold: globs for the class and the field (`field_paths.hops`)."""
    spool: str | None = None
    """The directory for the logs of processes that the program forks, if these are to be recorded too."""
