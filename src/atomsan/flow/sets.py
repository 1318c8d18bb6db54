"""`atomsan.sets`: is each object's data consistent? Checks the units of work on each atomic set, set by set.

trace -> regions under the specification -> units and sets -> patterns, projection -> judging -> Report
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from atomsan.checkers.atomic_sets import METHODS, MOST_MATCHES, NAME, Method
from atomsan.checkers.results import TransactionList
from atomsan.errors import InputError
from atomsan.findings.report import NamedTransactions, Report, SetFacts, of_a_part, of_level
from atomsan.flow.blind_spots import blind_spots
from atomsan.flow.passes import Pass, execute
from atomsan.flow.set_check import EVERYTHING, SetCheck, Sets, unfollowed_fields
from atomsan.flow.trace_input import TraceInput
from atomsan.flow.trust import untrusted
from atomsan.trace.monitor import Monitor, Progress, silent

if TYPE_CHECKING:
    import os

    from atomsan.checkers.violating_units import Numbers
    from atomsan.findings.finding import Finding
    from atomsan.findings.judging import Violations
    from atomsan.flow.explaining import Explained
    from atomsan.flow.trace_input import AnyTrace
    from atomsan.source.spec import Specification


def sets(
    trace: AnyTrace,
    sets: Sets | None = None,
    declared: Sets | None = None,
    *,
    method: Method = "both",
    spec: Specification | str | os.PathLike[str] | None = None,
    timeout: float | None = None,
    split_at_waits: bool = False,
    lenient: bool = False,
    format: str | None = None,
    explain: bool = True,
    progress: Progress = silent,
) -> Report:
    """Is each atomic set seen and left consistent? Checks a trace, of any kind, set by set.

    In the regions of a recorded program that the user marked as atomic, all data is one more set, `*`.

    `sets` are the locations of each set, by name or glob; of a recorded program, the fields of a class. `declared` are
    the sets that each region is a unit of work on: None means every region on every set, and a region that is not
    listed is on none. Without `sets` the specification may have some; else the sets of a recorded program are its
    objects, and those of other traces are what stands before the last dot of their locations' names.
    """
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}: it is one of {', '.join(METHODS)}")
    opened = TraceInput(trace, spec, split_all=split_at_waits, lenient=lenient, format=format)
    wanted = sets if sets is not None else opened.spec.sets or None
    state = _Sets(opened, Monitor(timeout, progress), method, wanted, declared, explain=explain)
    execute(PLAN, state, state.monitor)
    return _report(state, state.judged())


@dataclass
class _Sets:
    """What is known so far. The passes of the plan fill it in."""

    trace: TraceInput
    monitor: Monitor
    method: Method
    wanted: Sets | None
    declared: Sets | None
    explain: bool
    checked: SetCheck | None = None
    """The atomic sets."""
    marked: SetCheck | None = None
    """All data as one set, for the regions that the user marked."""
    explained: Sequence[Explained] = ()
    """The violations, and those in marked regions, with what is around their steps."""
    violating: Numbers | None = None
    """The transactions in which a unit of work violates."""
    violating_marked: Numbers | None = None

    # ---- what the passes need

    def is_repeatable(self) -> bool:
        return self.trace.is_repeatable

    def wants_explanations(self) -> bool:
        return self.explain

    def has_marked_regions(self) -> bool:
        return bool(self.marked_regions)

    def is_violated(self) -> bool:
        return any(one.checking and one.checking.broken() for one in self.checks)

    def has_steps(self) -> bool:
        return any(finding.witness for finding in (*self.violations, *self.in_marked))

    def checked_marked(self) -> bool:
        return self.marked is not None

    # ---- what is known

    @property
    def main(self) -> SetCheck:
        """The first pass. Without it there is nothing to report: it was interrupted before it began."""
        if self.checked is None:
            raise KeyboardInterrupt(self.monitor.stopped or "")
        return self.checked

    @cached_property
    def marked_regions(self) -> set[str]:
        source = self.main.source
        return source.marked_regions(self.trace.spec) if source.meta.recorded and self.declared is None else set()

    def is_ours(self, region: str) -> bool:
        """Whether AtomSan chose the region of this name, and not the user."""
        return region not in self.marked_regions

    @cached_property
    def violations(self) -> Violations:
        from atomsan.findings.judging import Violations

        # all data is one set in marked regions: what is found there is the same as in one of its sets
        known = {finding.id for finding in self.in_marked}
        return Violations(of_data=[finding for finding in self.main.findings() if finding.id not in known])

    @cached_property
    def in_marked(self) -> Violations:
        from atomsan.findings.judging import Violations

        return Violations(of_data=self.marked.findings() if self.marked else ())

    @property
    def checks(self) -> list[SetCheck]:
        return [one for one in (self.main, self.marked) if one is not None]

    def judged(self) -> list[Finding]:
        """Findings, suspects and notes, grouped by root causes."""
        if not self.is_violated():
            return []
        from atomsan.findings.judging import Evidence, judge, with_marked
        from atomsan.findings.root_causes import with_groups
        from atomsan.flow.explaining import Explained

        ours, marked = self.explained or (Explained(self.violations), Explained(self.in_marked))
        is_ours = self.is_ours if self.main.source.meta.recorded else None
        evidence = Evidence(is_ours=is_ours, are_apart=self.main.membership.are_apart, around=ours.around)
        judged = judge(ours.violations, evidence)
        in_marked = judge(marked.violations, Evidence(around=marked.around))
        return with_groups(with_marked(in_marked, judged))


# ---- the passes


def _check(state: _Sets) -> SetCheck:
    return SetCheck(state.trace, state.monitor, state.method, state.wanted, state.declared).run()


def _check_marked(state: _Sets) -> SetCheck:
    everything = {EVERYTHING: ["*"]}
    on_everything = {name: [EVERYTHING] for name in state.marked_regions}
    return SetCheck(state.trace, state.monitor, state.method, everything, on_everything).run()


def _explain(state: _Sets) -> list[Explained]:
    from atomsan.flow.explaining import explain

    return explain(state.trace, state.main.source, state.monitor, state.violations, state.in_marked)


def _find_violating(state: _Sets) -> Numbers:
    return state.main.violating()


def _find_violating_marked(state: _Sets) -> Numbers:
    assert state.marked is not None
    return state.marked.violating()


PLAN: Sequence[Pass[_Sets]] = (
    Pass("checked", _check),
    Pass("marked", _check_marked, needs=(_Sets.is_repeatable, _Sets.has_marked_regions)),
    Pass("explained", _explain, needs=(_Sets.is_violated, _Sets.wants_explanations, _Sets.has_steps)),
    Pass("violating", _find_violating),
    Pass("violating_marked", _find_violating_marked, needs=(_Sets.checked_marked,)),
)


# ---- the report


def _report(state: _Sets, judged: Sequence[Finding]) -> Report:
    main, meta = state.main, state.main.source.meta
    facts = {name: found for one in state.checks for name, found in one.facts().items()}
    patterns: dict[str, int] = {}
    for found in facts.values():
        for pattern, count in found.patterns.items():
            patterns[pattern] = patterns.get(pattern, 0) + count
    answers = {found.serializable for found in facts.values()}
    is_whole = not any(one.stopped for one in state.checks)
    serializable = False if False in answers else True if is_whole and None not in answers else None
    report = Report(
        trace=main.source.facts(main.transactions, is_whole=main.stopped is None),
        algorithm=NAME,
        serializable=serializable,
        violations=sum(one.checking.violations for one in state.checks if one.checking),
        transactions=NamedTransactions(_violating(state), main.source.symbols.threads.__getitem__),
        findings=of_level(judged, "finding"),
        suspects=of_level(judged, "suspect"),
        notes=of_level(judged, "note"),
        counters=main.checking.counters if main.checking else {},
        seconds={"total": main.seconds},
        reason=_reason(main) if serializable is None else state.monitor.stopped or untrusted(meta),
        stopped=state.monitor.stopped,
        repairs=main.source.repairs,
        warnings=[
            *meta.warnings,
            *_caps(facts),
            *(unfollowed_fields(main.sets, meta) if meta.recorded else ()),
            *(blind_spots(state.trace.spec, main.source.symbols, meta) if main.source.is_read else ()),
        ],
        divided={**meta.sets, **state.trace.spec.sets} if meta.recorded else {},
        held=meta.fields,
        is_recorded=meta.recorded,
        patterns=dict(sorted(patterns.items(), key=lambda item: int(item[0]))),
        sets=facts,
    )
    return of_a_part(report, main.source.missing)


def _violating(state: _Sets) -> TransactionList:
    """The violating transactions. Of a check that was stopped, those that were found beside it."""
    found = [state.violating, state.violating_marked]
    if state.violating is None and not state.trace.is_repeatable:
        found = [state.main.violating()]
    rows = [rows for rows in found if rows is not None]
    return TransactionList(np.unique(np.concatenate([np.zeros((0, 2), np.uint32), *rows]), axis=0))


def _caps(facts: Mapping[str, SetFacts]) -> list[str]:
    """Where the number of matches is not to be taken at its word."""
    names = [name for name, found in facts.items() if found.is_capped]
    if not names:
        return []
    where = f"set {names[0]}" + (f" and {len(names) - 1:,} more" if len(names) > 1 else "")
    return [f"matches of patterns are counted up to {MOST_MATCHES:,} in a set: {where} may have more"]


def _reason(checked: SetCheck) -> str:
    return checked.stopped or "no pattern matches, which proves nothing: the patterns are not complete, projection is"
