"""RegionTrack: finds every violation of every transaction, without witnesses.

Paper: davida-2022, section II.B, which describes it as the checker whose answers Davida's are compared with; the
dependencies are those of its section III.B.

Departures: the engine is Davida's without the trees (why, stands in `engines/_violations.pyx`), and AeroDrome decides
whether the trace is serializable (why, in `violation_checker`).
"""

from __future__ import annotations

from atomsan.checkers.violation_checker import ViolatingChecker


class RegionTrackChecker(ViolatingChecker):
    name = "regiontrack"
    witnesses = False
