"""`atomsan.check`: from a trace to a report on the violations that happened in it.

trace -> regions under the specification -> checkers -> violations -> judging -> Report

The plan of passes (`PLAN`): the checkers first; in a recorded program then all kinds of turns of the transactions that
violate, and the data cycles behind the order of locks; and what is around the violations. Where the trace comes only
once, all of this is collected beside the checkers (`live_evidence.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from atomsan.checkers import algorithms
from atomsan.checkers.atomic_sets import STATUS
from atomsan.checkers.registry import Capability, Entry, chosen
from atomsan.findings.reasons import UNDECIDED
from atomsan.findings.report import NamedTransactions, Report, of_a_part, of_level
from atomsan.flow.blind_spots import blind_spots
from atomsan.flow.checker_pass import CheckerPass
from atomsan.flow.passes import Pass, execute
from atomsan.flow.set_check import EVERYTHING, SetCheck, SetMembership, objects_layout, unfollowed_fields
from atomsan.flow.trace_input import CHECKED_AT_ONCE, TraceInput, read_through
from atomsan.flow.trust import untrusted
from atomsan.trace.monitor import Monitor, Progress, silent

if TYPE_CHECKING:
    import os

    from atomsan.checkers.results import Result, Transaction, Verdict
    from atomsan.checkers.turns import TurnFinder
    from atomsan.findings.finding import Finding
    from atomsan.findings.judging import Violations
    from atomsan.flow.explaining import Explained
    from atomsan.flow.trace_input import AnyTrace
    from atomsan.source.spec import Specification


def check(
    trace: AnyTrace,
    algorithm: str | Sequence[str] = "auto",
    spec: Specification | str | os.PathLike[str] | None = None,
    first: bool = False,
    *,
    timeout: float | None = None,
    split_at_waits: bool = False,
    lenient: bool = False,
    format: str | None = None,
    explain: bool = True,
    progress: Progress = silent,
) -> Report:
    """Was it atomic? Check a trace, of any kind, with one or several algorithms.

    `spec` says which regions are meant to be atomic. `first` stops at the first violation. After `timeout` seconds, or
    at Ctrl-C, the report has what was found so far. `explain` reads a trace that has violations again, if it can be,
    for what the checkers do not keep: a cycle that nobody is to blame for, and the locks held at the steps. `progress`
    gives a context manager around each pass over a source, whose value is called with each batch that is done.
    """
    choice = algorithms.choice_of(algorithm)
    opened = TraceInput(trace, spec, split_all=split_at_waits, lenient=lenient, format=format)
    state = _Check(opened, choice, Monitor(timeout, progress), first=first, explain=explain)
    execute(PLAN, state, state.monitor)
    return _report(state, state.judged())


@dataclass
class _Check:
    """What a check knows so far. The passes of the plan fill it in."""

    trace: TraceInput
    choice: algorithms.Choice
    monitor: Monitor
    first: bool
    explain: bool
    checked: CheckerPass | None = None
    """The checkers' answers."""
    cycle: CheckerPass | None = None
    """The answer of one that shows a cycle which nobody is to blame for."""
    turns: TurnFinder | None = None
    """Every kind of turn of the transactions that violate, by data alone."""
    one_set: SetCheck | None = None
    """All data of a recorded program as one atomic set: cycles of any length, by data alone."""
    explained: Explained | None = None
    """The violations, with what is around their steps."""
    marked: CheckerPass | None = None
    """The answers on the regions that the user marked, also where they lie inside regions that AtomSan chose."""
    marked_explained: Explained | None = None

    # ---- what the passes need

    @property
    def main(self) -> CheckerPass:
        """The first pass. Without it there is nothing to report: it was interrupted before it began."""
        if self.checked is None:
            raise KeyboardInterrupt(self.monitor.stopped or "")
        return self.checked

    def is_repeatable(self) -> bool:
        return self.trace.is_repeatable

    def wants_explanations(self) -> bool:
        return self.explain

    def lacks_a_cycle(self) -> bool:
        return algorithms.lacks_a_cycle(self.results)

    def is_judged(self) -> bool:
        """Whether violations are judged: the program was recorded, and every violation is shown."""
        return self.main.source.meta.recorded and self.shows_all

    def has_violating(self) -> bool:
        return bool(self.violating)

    def rests_on_locks(self) -> bool:
        """Whether checkers show the order of locks, which does not tell what that does to which data.

        Without transactions of different threads that meet, there is nothing to look for.
        """
        meetings = self.main.meetings
        if not self.is_judged() or not (meetings is None or meetings.meeting.any()):
            return False
        from atomsan.findings.cycles import is_of_data

        return any(self.is_ours(finding.region) and not is_of_data(finding) for finding in self.of_transactions)

    def has_steps(self) -> bool:
        return any(finding.witness for finding in self.violations)

    def is_violated(self) -> bool:
        return self.verdict == "violated"

    def has_steps_in_marked(self) -> bool:
        return self.marked is not None and any(finding.witness for finding in self.in_marked)

    def has_marked_regions(self) -> bool:
        return self.main.source.meta.recorded and bool(self.marked_regions)

    # ---- what is known

    @property
    def shows_all(self) -> bool:
        return self.choice.can(Capability.VIOLATIONS, Capability.WITNESSES)

    @property
    def results(self) -> list[Result]:
        return [result for _, result in self.main.results]

    @property
    def serializable(self) -> bool | None:
        """Whether the trace is, as far as one of the checkers decides that."""
        return next((result.serializable for result in self.results if result.serializable is not None), None)

    @property
    def verdict(self) -> Verdict:
        verdicts = {result.verdict for result in self.results}
        return "violated" if "violated" in verdicts else "unknown" if "unknown" in verdicts else "holds"

    @cached_property
    def marked_regions(self) -> set[str]:
        return self.main.source.marked_regions(self.trace.spec)

    def is_ours(self, region: str) -> bool:
        """Whether AtomSan chose the region of this name, and not the user."""
        return region not in self.marked_regions

    @cached_property
    def of_transactions(self) -> list[Finding]:
        """What the checkers found; asked for when the cycle is known."""
        return _of_checkers(self.main) or (_of_cycle(self) if self.verdict == "violated" else [])

    @cached_property
    def violations(self) -> Violations:
        """What was found altogether; asked for when the sets are known."""
        from atomsan.findings.judging import Violations

        whole = self.of_transactions
        if not self.is_judged():
            return Violations(of_transactions=whole)
        with_sets = self.membership.with_sets
        return Violations(
            of_transactions=with_sets(whole),
            # what the user marked is shown by the transactions
            of_turns=with_sets([one for one in self.of_turns if self.is_ours(one.region)]),
            of_data=with_sets([one for one in self.on_data if self.is_ours(one.region)]),
        )

    @property
    def on_data(self) -> list[Finding]:
        return [*self.of_one_set, *_on_data_only(self.main)]

    @property
    def violating(self) -> Sequence[Transaction]:
        """The transactions that violate, by the checker that finds all of them."""
        return _counting(self).transactions

    @property
    def of_turns(self) -> list[Finding]:
        if self.turns is not None:
            witnesses = self.turns.witnesses()
        elif self.main.evidence is not None:
            known = set(self.violating)
            witnesses = [witness for witness in self.main.evidence.turns() if witness.blamed in known]
        else:
            return []
        from atomsan.findings.making import violations_of

        return violations_of(witnesses, self.main.names, chosen(Capability.VIOLATIONS).status)

    @property
    def of_one_set(self) -> list[Finding]:
        """The data cycles of any length."""
        if self.one_set is not None:
            return self.one_set.findings()
        if self.main.evidence is None or not self.rests_on_locks():
            return []
        from atomsan.findings.making import violations_of

        return violations_of(self.main.evidence.cycles(), self.main.names, STATUS)

    @cached_property
    def membership(self) -> SetMembership:
        source = self.main.source
        return SetMembership(objects_layout(source.meta, self.trace.spec.sets), source.symbols.locations)

    @cached_property
    def in_marked(self) -> Violations:
        """What is violated in the regions that the user marked."""
        from atomsan.findings.judging import Violations

        return Violations(of_transactions=_of_checkers(self.marked) if self.marked else ())

    def is_settled(self) -> bool:
        """Whether all data cycles were enumerated and seen with what is around them."""
        return self.monitor.stopped is None

    def judged(self) -> list[Finding]:
        """Findings, suspects and notes, grouped by root causes."""
        if self.verdict != "violated":
            return []
        from atomsan.findings.judging import Evidence, judge, with_marked
        from atomsan.findings.root_causes import with_groups
        from atomsan.flow.explaining import Explained

        violations, around = self.explained or Explained(self.violations)
        evidence = Evidence(
            is_ours=self.is_ours if self.main.source.meta.recorded else None,
            are_apart=self.membership.are_apart,
            is_settled=self.is_settled(),
            is_partial=self.main.evidence.is_partial if self.main.evidence else lambda finding: False,
            around=around,
        )
        judged = judge(violations, evidence)
        if not self.has_marked_regions() or not self.trace.is_repeatable:
            return with_groups(judged)
        violations, around = self.marked_explained or Explained(self.in_marked)
        marked = judge(violations, Evidence(around=around))
        return with_groups(with_marked(marked, judged))


# ---- the passes


def _check(state: _Check) -> CheckerPass:
    """All checkers at once. Where the trace comes only once, that which shows cycles runs beside them."""
    beside = state.choice.with_auto and not state.trace.is_repeatable and not state.choice.can(Capability.CYCLES)
    return CheckerPass(
        state.trace,
        state.monitor,
        state.choice.entries,
        first=state.first,
        beside=chosen(Capability.CYCLES) if beside else None,
        with_meetings=state.shows_all and state.trace.is_repeatable and not state.first,
        with_evidence=state.shows_all and not state.trace.is_repeatable,
    ).run()


def _show_cycle(state: _Check) -> CheckerPass:
    return CheckerPass(state.trace, state.monitor, [chosen(Capability.CYCLES)], first=True).run()


def _find_turns(state: _Check) -> TurnFinder:
    """What the checkers do not show: they give one cycle for each transaction."""
    from atomsan.checkers.turns import TurnFinder

    source = state.trace.open(CHECKED_AT_ONCE)
    finder = TurnFinder(np.array(list(state.violating), np.uint32), source.symbols.locations)
    read_through(source, state.monitor, finder.feed)
    finder.finish(is_whole=state.monitor.stopped is None)
    return finder


def _check_all_data(state: _Check) -> SetCheck:
    """The data cycles of any length, which an order of locks can hide."""
    one_set, by_all = {EVERYTHING: ["*"]}, {"*": [EVERYTHING]}
    return SetCheck(state.trace, state.monitor, "projection", one_set, by_all, only=state.main.meetings).run()


def _explain(state: _Check) -> Explained:
    from atomsan.flow.explaining import explain, explained

    if state.main.evidence is not None:
        return explained(state.violations, state.main.evidence.around())
    seen = (state.cycle or state.main).source
    return explain(state.trace, seen, state.monitor, state.violations)[0]


def _check_marked(state: _Check) -> CheckerPass:
    trace = state.trace.under("annotated")
    return CheckerPass(trace, state.monitor, algorithms.members(), first=state.first).run()


def _explain_marked(state: _Check) -> Explained:
    from atomsan.flow.explaining import explain

    assert state.marked is not None
    return explain(state.trace.under("annotated"), state.marked.source, state.monitor, state.in_marked)[0]


PLAN: Sequence[Pass[_Check]] = (
    Pass("checked", _check),
    Pass("cycle", _show_cycle, needs=(_Check.wants_explanations, _Check.is_repeatable, _Check.lacks_a_cycle)),
    Pass("turns", _find_turns, needs=(_Check.is_judged, _Check.is_repeatable, _Check.has_violating)),
    Pass("one_set", _check_all_data, needs=(_Check.is_repeatable, _Check.rests_on_locks)),
    Pass("explained", _explain, needs=(_Check.is_violated, _Check.wants_explanations, _Check.has_steps)),
    Pass("marked", _check_marked, needs=(_Check.is_violated, _Check.is_repeatable, _Check.has_marked_regions)),
    Pass("marked_explained", _explain_marked, needs=(_Check.has_steps_in_marked,)),
)


# ---- from answers to violations


def _of_checkers(checked: CheckerPass) -> list[Finding]:
    """What the checkers found. The same bug seen by several is one finding, and counts once."""
    found = [
        list(_of_checker(checked, entry, result)) for entry, result in checked.results if result.verdict == "violated"
    ]
    if not any(found):
        return []
    from atomsan.findings.finding import merge_findings

    shown = {finding.region for findings in found for finding in findings if finding.witness}
    kept = (finding for findings in found for finding in findings if finding.witness or finding.region not in shown)
    return sorted(
        merge_findings(kept, counts=max), key=lambda finding: (finding.first_event is None, finding.first_event)
    )


def _of_checker(checked: CheckerPass, entry: Entry, result: Result) -> Iterable[Finding]:
    from atomsan.findings.making import findings_of, without_witness

    names = checked.names
    if result.witnesses:
        return findings_of(result.witnesses, names, entry.status)
    by_region: dict[int, list[int]] = {}
    for region, event in checked.begins.of(result.transactions):
        by_region.setdefault(region, []).append(event)
    return [
        without_witness(names.region(region), len(events), names.event(min(events)), entry.name, entry.status)
        for region, events in by_region.items()
    ]


def _on_data_only(checked: CheckerPass) -> list[Finding]:
    """What was found beside the checkers by looking at data only, and began too early for the evidence."""
    found = checked.on_data_only
    if found is None or checked.evidence is None or not found.witnesses:
        return []
    from atomsan.findings.making import findings_of

    findings = findings_of(found.witnesses, checked.names, chosen(Capability.VIOLATIONS, Capability.WITNESSES).status)
    return [finding for finding in findings if checked.evidence.is_partial(finding)]


def _of_cycle(state: _Check) -> list[Finding]:
    """The one finding of a trace that is not serializable though no transaction violates.

    Where nobody can show the cycle: the event that closes it.
    """
    from atomsan.findings.making import bare_cycle, closed, findings_of

    shown = state.cycle.results[0][1] if state.cycle else state.main.beside
    if shown is not None and shown.witnesses:
        names = (state.cycle or state.main).names
        return findings_of([algorithms.as_cycle(shown.witnesses[0])], names, chosen(Capability.CYCLES).status)
    violated = [(entry, result) for entry, result in state.main.results if result.verdict == "violated"]
    closings = (closed(result.closing, state.main.names, entry.status) for entry, result in violated if result.closing)
    return [next(closings, bare_cycle(violated[0][0].status))]


# ---- the report


def _report(state: _Check, judged: Sequence[Finding]) -> Report:
    main, results = state.main, state.results
    if state.verdict == "holds" and judged:
        raise AssertionError("findings, and nothing that is violated")
    source, meta, sets = main.source, main.source.meta, state.trace.spec.sets
    counting = _counting(state)
    report = Report(
        trace=source.facts(main.begins.transactions, is_whole=main.stopped is None),
        algorithm=state.choice.shown,
        serializable=state.serializable,
        violations=counting.violations,
        transactions=NamedTransactions(counting.transactions, source.symbols.threads.__getitem__),
        findings=of_level(judged, "finding"),
        suspects=of_level(judged, "suspect"),
        notes=of_level(judged, "note"),
        results={result.algorithm: _shown(result, main) for result in results},
        counters=_counters(results),
        seconds={"total": main.seconds}
        | {entry.name: main.times[entry.name] for entry in state.choice.entries if entry.name in main.times},
        reason=_reason(state, judged),
        stopped=state.monitor.stopped,
        repairs=source.repairs,
        warnings=[
            *meta.warnings,
            *(unfollowed_fields(sets, meta) if meta.recorded else ()),
            *(blind_spots(state.trace.spec, source.symbols, meta) if source.is_read else ()),
        ],
        divided={**meta.sets, **sets},
        held=meta.fields,
        is_recorded=meta.recorded,
    )
    return of_a_part(report, source.missing)


def _reason(state: _Check, judged: Sequence[Finding]) -> str | None:
    """Why there may be more findings, if that is so: something was not checked or not judged to the end."""
    if state.verdict == "unknown":
        return next((result.reason for result in state.results if result.reason), "unknown")
    undecided = UNDECIDED.why if any(finding.is_undecided for finding in judged) else None
    return state.monitor.stopped or untrusted(state.main.source.meta) or undecided


def _counting(state: _Check) -> Result:
    """The result whose violations are the report's: of a checker that finds all of them, where there is one."""
    by_worth = ((Capability.VIOLATIONS, Capability.WITNESSES), (Capability.VIOLATIONS,), ())
    for capabilities in by_worth:
        for entry, result in state.main.results:
            if entry.can(*capabilities) and result.violations is not None:
                return result
    return state.results[0]


def _counters(results: Sequence[Result]) -> dict[str, int]:
    if len(results) == 1:
        return dict(results[0].counters)
    return {f"{result.algorithm}.{name}": count for result in results for name, count in result.counters.items()}


def _shown(result: Result, checked: CheckerPass) -> dict[str, Any]:
    return {
        "verdict": result.verdict,
        "serializable": result.serializable,
        "violations": result.violations,
        "violating_transactions": len(result.transactions),
        "first_event": None if result.first_event is None else checked.names.event(result.first_event)[0],
        "reason": result.reason,
        "counters": dict(result.counters),
    }
