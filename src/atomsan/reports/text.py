"""Reports as text, for people: the verdict, the counts, each finding as the steps that interleave, suspects by a line.

bank.std: violated, not serializable
  22 events, 3 threads, 1 lock, 1 variable, 2 transactions
  1 violation in 1 transaction, 1 finding (auto)

1. lost update in bank:Account.deposit (seen once, first at bank.std:15)  [0123456789ab]
     teller-1 #1  read   Account.balance  bank.py:14
     teller-2 #1  write  Account.balance  bank.py:16
     ...
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from atomsan.errors import printable
from atomsan.reports.numerals import counted, times

if TYPE_CHECKING:
    from atomsan.findings.finding import Finding, ShownStep
    from atomsan.findings.report import PredictionFacts, Report, SetFacts
    from atomsan.findings.root_causes import RootCause
    from atomsan.findings.triage import TriageRow

# With fewer root causes than this, a table of what causes the most of them does not help.
TRIAGE_FROM = 4
MOST_SETS = 10
MOST_WAYS = 5

_TO_DECIDE = (
    "To decide: if the region must be atomic, mark it (@atomsan.atomic, --atomic REGION) and it is a finding;",
    "if others may come in between, exclude it (@atomsan.not_atomic, --not-atomic REGION). --all shows the steps.",
)


def render(reports: Sequence[Report], *, limit: int | None = None, with_notes: bool = False) -> str:
    """All reports, one below the other, each with at most `limit` findings and suspects, and as many notes if wanted.

    Suspects have a line each; with notes, their steps too. Names, which can hold anything, are made printable here.
    """
    return merge(["".join(f"{printable(line)}\n" for line in _report(report, limit, with_notes)) for report in reports])


def merge(documents: Sequence[str]) -> str:
    """The texts, one below the other."""
    return "\n".join(documents)


def _report(report: Report, limit: int | None, with_notes: bool) -> Iterator[str]:
    yield f"{report.trace.source}: {', '.join(_verdict(report))}"
    yield f"  {', '.join(_facts(report))}"
    if counts := _counts(report):
        yield f"  {', '.join(counts)}"
    if report.sets is not None:
        yield from (f"  {line}" for line in _sets(report.sets))
    if report.prediction is not None:
        yield from (f"  {line}" for line in _prediction(report.prediction, has_findings=bool(report.findings)))
    if len(report.results) > 1:
        before = "before judging: " if report.is_recorded else ""
        yield f"  {before}" + ", ".join(f"{name}: {result['verdict']}" for name, result in report.results.items())
    if further := _further(report, with_notes):
        yield f"  to look further: {further}"
    causes = report.root_causes()
    found = [cause for cause in causes if cause.shown.level == "finding"]
    yield from _findings(found, report.runs, limit, with_notes)
    suspected = [cause for cause in causes if cause.shown.level == "suspect"]
    yield from _suspects(suspected, report.runs, limit, with_notes)
    if with_notes:
        yield from _notes(report.notes if limit is None else report.notes[:limit])
    if with_notes or len(found) >= TRIAGE_FROM:
        rows = report.triage()
        yield from _triage([row for row in rows if row.findings and len(found) >= TRIAGE_FROM])
        yield from _merges([row for row in rows if row.suspects and with_notes])


def _findings(causes: Sequence[RootCause], runs: int, limit: int | None, with_all: bool) -> Iterator[str]:
    """A block for each root cause: one finding with its steps, and a line for each other way."""
    shown = causes if limit is None else causes[:limit]
    for number, cause in enumerate(shown, 1):
        yield ""
        yield from _finding(number, cause.shown, runs)
        ways = cause.ways if with_all else cause.ways[:MOST_WAYS]
        yield from (f"   {line}" for line in _ways(cause.shown, ways, runs))
        if len(ways) < len(cause.ways):
            yield f"   and {counted(len(cause.ways) - len(ways), 'more way')} (--all shows them)"
    if len(shown) < len(causes):
        yield ""
        yield f"{counted(_size(causes) - _size(shown), 'more finding')} (--limit shows more)"


def _ways(shown: Finding, ways: Sequence[Finding], runs: int) -> Iterator[str]:
    """Further ways in which a root cause shows, a line each."""
    for way in ways:
        name = way.pattern if way.region == shown.region else _named(way)
        suspected = f", a suspect: {way.why}" if way.level == "suspect" else ""
        local = {way.witness[i].owner for i in way.span or ()}
        others = _joined([step for step in way.witness if step.owner not in local])
        between = f", with others at {others}" if others else ""
        by = f", {_found_by(way)}" if way.found_by else ""
        yield f"also {name}{_places(way)}{between} ({_seen(way, runs)}{by}){suspected}  [{way.id}]"


def _size(causes: Sequence[RootCause]) -> int:
    return sum(1 + len(cause.ways) for cause in causes)


def _suspects(causes: Sequence[RootCause], runs: int, limit: int | None, with_steps: bool) -> Iterator[str]:
    shown = causes if limit is None else causes[:limit]
    if not shown:
        return
    yield ""
    yield f"{counted(_size(causes), 'suspect')}: may be a bug, or may be meant so."
    yield from _TO_DECIDE
    for number, (suspect, ways) in enumerate(shown, 1):
        if with_steps:
            first, *rest = _finding(number, suspect, runs)
            yield ""
            yield f"suspect {first}"
            yield f"   {'undecided' if suspect.is_undecided else 'no finding yet'}, because {suspect.why}"
            yield from rest
            yield from (f"   {line}" for line in _ways(suspect, ways, runs))
        else:
            more = f", and {counted(len(ways), 'more way')}" if ways else ""
            seen = f"({_seen(suspect, runs)}{more})"
            yield f"  {number}. {_named(suspect)}{_places(suspect)} {seen}: {suspect.why}  [{suspect.id}]"
    if len(shown) < len(causes):
        yield f"  {counted(_size(causes) - _size(shown), 'more suspect')} (--limit shows more)"


def _places(finding: Finding) -> str:
    """Where the region is left and returned to."""
    local = [finding.witness[i] for i in finding.span or ()]
    return f" at {_joined(local)}" if local else ""


def _joined(steps: Sequence[ShownStep]) -> str:
    """The places of steps, in the order in which they happened."""
    return " and ".join(dict.fromkeys(step.where for step in sorted(steps, key=_event)))


def _event(step: ShownStep) -> int:
    return step.event


def _when(step: ShownStep) -> int:
    return step.when


def _notes(notes: Sequence[Finding]) -> Iterator[str]:
    for number, note in enumerate(notes, 1):
        yield ""
        first, *rest = _finding(number, note)
        yield f"note {first}"
        yield f"   no finding, because {note.why}"
        yield from rest


def _further(report: Report, with_notes: bool) -> str:
    """What finds or shows more, where nothing was found in a recorded program."""
    if report.findings or not report.is_recorded:
        return ""
    is_proved = report.prediction is not None and report.prediction.conflict_atomic
    tries = "runs in which threads take other branches" if is_proved else "more interleavings"
    parts = [f"--noise --repeat {10 * report.runs} (atomsan run) tries {tries}"]
    if report.notes and not with_notes:
        parts.append("--all shows the notes")
    return "; ".join(parts)


def _prediction(facts: PredictionFacts, *, has_findings: bool) -> Iterator[str]:
    """What holds in all interleavings of the run.

    A finding beside a proof is of a thread that does what another one did (docs/prediction.md, stand-ins).
    """
    for kind, answer in facts.answers.items():
        if kind in facts.asked:
            unknown = f"{kind}-atomic: not known, because {facts.reason(kind)}"
            of = " of what each thread did in this run" if answer and has_findings else ""
            everywhere = f"{kind}-atomic in every interleaving{of}"
            yield unknown if answer is None else f"{everywhere}: proved" if answer else f"not {everywhere}"
    if facts.kinds:
        counts = f"{facts.proved:,} of {counted(facts.kinds, 'kind')} of transactions"
        yield f"atomic in every interleaving of this run: {counts}"


def _sets(sets: Mapping[str, SetFacts]) -> Iterator[str]:
    """The sets that are not serializable, and the patterns that match in them."""
    broken = [(name, facts) for name, facts in sets.items() if facts.serializable is False]
    for name, facts in broken[:MOST_SETS]:
        patterns = ", ".join(f"{number} ({count:,})" for number, count in facts.patterns.items())
        more = "; there may be more, they were not counted further" if facts.is_capped else ""
        yield f"set {name}: not serializable" + (f", patterns {patterns}{more}" if patterns else "")
    if len(broken) > MOST_SETS:
        yield f"and {counted(len(broken) - MOST_SETS, 'more set')}"


def _triage(rows: Sequence[TriageRow]) -> Iterator[str]:
    """The causes of the most findings, and the line for the specification that excludes each."""
    if rows:
        yield ""
        yield "what makes the most findings, and the line for the specification if it is not meant:"
    for row in rows:
        of = f" on {row.set} ({', '.join(row.fields)})" if row.set else ""
        yield f"  {times(row.seen)} in {counted(row.findings, 'finding')}: {row.region}{of}"
        yield from (f"      {line}" for line in (row.exclude, row.split) if line)


def _merges(rows: Sequence[TriageRow]) -> Iterator[str]:
    """Suspects across sets, and the lines for the specification that make findings of them."""
    if rows:
        yield ""
        yield "what is across sets, and the lines for the specification that make findings of it:"
    for row in rows:
        of = f" on {', '.join(row.fields)}" if row.fields else ""
        yield f"  {times(row.seen)} in {counted(row.suspects, 'suspect')}: {row.region}{of}"
        yield from (f"      {line}" for line in (row.merge or "").splitlines())


def _verdict(report: Report) -> Iterator[str]:
    yield report.verdict
    if report.verdict == "unknown" and report.reason:
        yield report.reason
    if report.serializable:
        yield "serializable"
    elif report.serializable is not None:
        yield "though the trace is not serializable" if report.verdict == "holds" else "not serializable"


def _facts(report: Report) -> Iterator[str]:
    trace = report.trace
    if report.runs > 1:
        yield counted(report.runs, "run")
    yield counted(trace.events, "event") + ("" if trace.complete else " read")
    yield counted(trace.threads, "thread")
    yield counted(trace.locks, "lock")
    yield counted(trace.variables, "variable")
    yield counted(trace.transactions, "transaction")


def _counts(report: Report) -> list[str]:
    counts = []
    if report.sets is not None:
        broken = sum(facts.serializable is False for facts in report.sets.values())
        matches = counted(sum((report.patterns or {}).values()), "match")
        if any(facts.is_capped for facts in report.sets.values()):
            matches = f"at least {matches}"
        counts.append(f"{broken:,} of {counted(len(report.sets), 'set')} not serializable, {matches} of patterns")
        if report.transactions:
            counts.append(counted(len(report.transactions), "violating transaction"))
    elif report.violations is not None:
        inside = f" in {counted(len(report.transactions), 'transaction')}" if report.violations else ""
        counts.append(counted(report.violations, "violation") + inside)
    elif report.transactions:
        counts.append(counted(len(report.transactions), "violating transaction"))
    causes = sum(cause.shown.level == "finding" for cause in report.root_causes())
    of = f" of {counted(causes, 'root cause')}" if causes < len(report.findings) else ""
    counts.append(f"{counted(len(report.findings), 'finding')}{of} ({report.algorithm})")
    if report.suspects or report.is_recorded:
        doubted = sum(cause.shown.level == "suspect" for cause in report.root_causes())
        alone = sum(1 + len(cause.ways) for cause in report.root_causes() if cause.shown.level == "suspect")
        of = f" of {counted(doubted, 'root cause')}" if doubted < alone == len(report.suspects) else ""
        undecided = f" ({len(report.undecided):,} of them undecided)" if report.undecided else ""
        counts.append(f"{counted(len(report.suspects), 'suspect')}{of}{undecided}")
    if report.notes or report.is_recorded:
        counts.append(f"{counted(len(report.notes), 'note')}{' (--all shows them)' if report.notes else ''}")
    return counts


def _named(finding: Finding) -> str:
    return f"{finding.pattern} in {finding.region or 'a region without a name'}"


def _seen(finding: Finding, runs: int) -> str:
    """`seen 12 times in 3 of 5 runs`"""
    if finding.status == "predicted":
        return "predicted: possible in this order"
    return f"seen {times(finding.count)}" + (f" in {finding.runs:,} of {runs:,} runs" if runs > 1 else "")


def _finding(number: int, finding: Finding, runs: int = 1) -> Iterator[str]:
    first = f", first at {finding.first_place}" if finding.first_place and finding.status != "predicted" else ""
    yield f"{number}. {_named(finding)} ({_seen(finding, runs)}{first})  [{finding.id}]"
    yield from (f"     {line}" for line in _steps(finding.witness))
    yield from (f"   {line}" for line in finding.explanation)
    if finding.hint:
        yield f"   hint: {finding.hint}"
    if finding.found_by:
        yield f"   {_found_by(finding)}"


def _found_by(finding: Finding) -> str:
    return f"found by {' and '.join(finding.found_by)}"


def _steps(steps: Sequence[ShownStep]) -> Iterator[str]:
    """The steps in the order of the trace, or of the predicted one: the interleaving, from top to bottom."""
    rows = []
    seen: set[int] = set()
    for step in sorted(steps, key=_when):
        if step.event not in seen:
            seen.add(step.event)
            rows.append((_who(step), step.op, step.location, *_where(step)))
    widths = [max(len(row[column]) for row in rows) for column in range(4)] if rows else []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row[:4], widths, strict=True)]
        yield "  ".join([*cells, row[4]]).rstrip()


def _who(step: ShownStep) -> str:
    return f"{step.thread} #{step.transaction}" if step.transaction else step.thread


def _where(step: ShownStep) -> tuple[str, str]:
    """The site, and the source text if there is any."""
    if step.site is None:
        return step.place, ""
    return str(step.site), (step.site.text or "").strip() if step.site.file else ""
