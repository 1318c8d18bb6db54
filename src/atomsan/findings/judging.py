"""Judging: classifies violations as findings, suspects or notes, each of the latter two with the reason.

In a trace of another tool and in regions that the user marked, every violation is a finding, as in the papers. In
regions that AtomSan chose itself, one stage judges the violations of every checker, by facts of the sites and by ties
between the accesses (`ties.py`), never by source text. `docs/judging.md` has the rules for users.

A violation is a cycle of transactions. It is as strong as its weakest part: without an edge that orders nothing, or
a turn that nobody meant to be one step, there is no cycle. All kinds of turns are enumerated (`checkers/turns.py`), so
what one cycle cannot show, another does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from atomsan.findings.cycles import is_of_data, turns
from atomsan.findings.finding import merge_findings
from atomsan.findings.making import placed_in
from atomsan.findings.reasons import FORGOTTEN, LEVELS, NOBODY, ORDER_ONLY, UNDECIDED, UNSEEN, Reason
from atomsan.findings.repairing import with_repairs
from atomsan.findings.rules import Rules
from atomsan.findings.surroundings import Pair

if TYPE_CHECKING:
    from atomsan.findings.finding import Finding, ShownStep
    from atomsan.findings.rules import Apart
    from atomsan.findings.surroundings import Surroundings


def of_different_objects(one: ShownStep, other: ShownStep) -> bool:
    """Whether two accesses are in no set together, as far as the steps know: as a rule, each object is a set."""
    return one.data != other.data and not one.shares(other)


@dataclass(frozen=True, kw_only=True)
class Violations:
    """What was found in a trace, before it is judged."""

    of_transactions: Sequence[Finding] = ()
    """By whole transactions: their order follows from accesses, locks, threads and hand-overs."""
    of_turns: Sequence[Finding] = ()
    """By accesses alone: every kind of turn."""
    of_data: Sequence[Finding] = ()
    """By accesses alone: by a checker that sees nothing else."""

    @property
    def sources(self) -> tuple[Sequence[Finding], ...]:
        """What was found in each way. The same violation can be in several of them."""
        return self.of_turns, self.of_data, self.of_transactions

    def __iter__(self) -> Iterator[Finding]:
        return chain.from_iterable(self.sources)

    def changed(self, change: Callable[[Sequence[Finding]], Sequence[Finding]]) -> Violations:
        """The same, with something done to the findings of each kind."""
        of_turns, of_data, of_transactions = map(change, self.sources)
        return Violations(of_turns=of_turns, of_data=of_data, of_transactions=of_transactions)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What violations are judged by."""

    is_ours: Callable[[str], bool] | None = None
    """Whether AtomSan chose the region of this name, and not the user. None: it chose none, so that everything counts,
    as in a trace of another tool."""
    are_apart: Apart = of_different_objects
    """Whether two accesses are in no atomic set together."""
    is_settled: bool = True
    """Off where the check was stopped before all data cycles were enumerated and seen with what is around them."""
    is_partial: Callable[[Finding], bool] = lambda finding: False
    """Whether not all data cycles of the transactions of a violation could be enumerated: these began too early for
    that, in a trace that comes only once."""
    around: Surroundings | None = None
    """What is around the steps, where a second pass was made for it."""


def pairs_of(findings: Iterable[Finding]) -> Iterator[Pair]:
    """The pairs of accesses that the second pass has to look between."""
    return (turn.pair for finding in findings for turn in turns(finding))


def judge(violations: Violations, evidence: Evidence) -> list[Finding]:
    """The findings, then the suspects, then the notes. What is seen in several ways has the strongest level."""
    if evidence.is_ours is None:
        sources = [[_placed(finding, evidence.around) for finding in source] for source in violations.sources]
    else:
        sources = _judged(violations, evidence, evidence.is_ours)
    judged = _merged(sources)
    return with_repairs(judged, evidence.around) if evidence.around else judged


def with_marked(marked: Sequence[Finding], judged: Sequence[Finding]) -> list[Finding]:
    """What was found in the regions that the user marked, and what was judged beside it."""
    known = {finding.id for finding in marked}
    return [*marked, *(finding for finding in judged if finding.id not in known)]


def _merged(sources: Iterable[Iterable[Finding]]) -> list[Finding]:
    """One list. What was seen in several ways are the same occurrences, which count once."""
    judged = chain.from_iterable(map(merge_findings, sources))
    ordered = sorted(judged, key=lambda one: (LEVELS.index(one.level), one.first_event is None, one.first_event))
    return merge_findings(ordered, counts=max)


def _judged(violations: Violations, evidence: Evidence, is_ours: Callable[[str], bool]) -> list[list[Finding]]:
    around = evidence.around
    symbols = around.symbols if around else None
    rules = Rules(around, symbols, evidence.are_apart) if around and symbols else None
    on_data = {finding.region for finding in (*violations.of_turns, *violations.of_data)}

    def judged(finding: Finding) -> Finding | None:
        if not is_ours(finding.region) or not finding.witness:
            return _placed(finding, around)
        if is_of_data(finding):
            reason = _weakest(rules.reasons(finding) if rules else iter([UNSEEN]))
            return _placed(_with(finding, reason, evidence), around)
        if finding.region in on_data:
            return None
        is_in_doubt = finding.kind == "cycle" and bool(on_data)
        return _placed(_with(finding, NOBODY if is_in_doubt else ORDER_ONLY, evidence), around)

    return [[known for finding in source if (known := judged(finding))] for source in violations.sources]


def _weakest(reasons: Iterable[Reason]) -> Reason | None:
    return max(reasons, key=lambda reason: LEVELS.index(reason.level), default=None)


def _with(finding: Finding, reason: Reason | None, evidence: Evidence) -> Finding:
    """The finding at the level of a reason. Where cycles may have been missed, nothing is known to be harmless."""
    if reason is None:
        return finding
    known = reason if evidence.is_settled else UNDECIDED
    if known.level == "note" and evidence.is_partial(finding):
        known = FORGOTTEN
    return replace(finding, level=known.level, why=known.why)


def _placed(finding: Finding, around: Surroundings | None) -> Finding:
    """The finding in the smallest region that has both local accesses."""
    if around is None or finding.span is None:
        return finding
    out, back = (finding.witness[i] for i in finding.span)
    region = around.innermost(Pair(out.number, back.number, out.target))
    return finding if region is None else placed_in(finding, around.region_name(region))
