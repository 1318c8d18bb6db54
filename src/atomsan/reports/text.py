"""Reports as text, for people: the verdict, the counts, and each finding as the steps that interleave.

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
    from atomsan.findings.report import Report, SetFacts
    from atomsan.findings.triage import TriageRow

# With fewer findings than this, a table of what causes the most of them does not help.
TRIAGE_FROM = 4
MOST_SETS = 10

_SERIALIZABLE = {True: "serializable", False: "not serializable"}


def render(reports: Sequence[Report], *, limit: int | None = None, with_notes: bool = False) -> str:
    """All reports, one below the other, each with at most `limit` findings, and as many notes if wanted."""
    return merge(["".join(f"{line}\n" for line in _report(report, limit, with_notes)) for report in reports])


def merge(documents: Sequence[str]) -> str:
    """The texts, one below the other."""
    return "\n".join(documents)


def _report(report: Report, limit: int | None, with_notes: bool) -> Iterator[str]:
    yield printable(f"{report.trace.source}: {', '.join(_verdict(report))}")
    yield f"  {', '.join(_facts(report))}"
    if counts := _counts(report):
        yield f"  {', '.join(counts)}"
    if report.sets is not None:
        yield from (f"  {printable(line)}" for line in _sets(report.sets))
    if len(report.results) > 1:
        yield "  " + ", ".join(f"{name}: {result['verdict']}" for name, result in report.results.items())
    shown = report.findings if limit is None else report.findings[:limit]
    for number, finding in enumerate(shown, 1):
        yield ""
        yield from map(printable, _finding(number, finding))
    if len(shown) < len(report.findings):
        yield ""
        yield f"{counted(len(report.findings) - len(shown), 'more finding')} (--limit shows more)"
    notes = report.notes if with_notes else report.undecided
    yield from _notes(notes if limit is None else notes[:limit])
    if with_notes or len(report.findings) >= TRIAGE_FROM:
        rows = report.triage()
        yield from map(
            printable, _triage([row for row in rows if row.findings and len(report.findings) >= TRIAGE_FROM])
        )
        yield from map(printable, _merges([row for row in rows if row.notes and with_notes]))


def _notes(notes: Sequence[Finding]) -> Iterator[str]:
    for number, note in enumerate(notes, 1):
        yield ""
        first, *rest = _finding(number, note)
        yield printable(f"note {first}")
        yield printable(f"   {'undecided' if note.is_undecided else 'no finding'}, because {note.why}")
        yield from map(printable, rest)


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
    """Notes across sets, and the lines for the specification that make findings of them."""
    if rows:
        yield ""
        yield "what is across sets, and the lines for the specification that make findings of it:"
    for row in rows:
        of = f" on {', '.join(row.fields)}" if row.fields else ""
        yield f"  {times(row.seen)} in {counted(row.notes, 'note')}: {row.region}{of}"
        yield from (f"      {line}" for line in (row.merge or "").splitlines())


def _verdict(report: Report) -> Iterator[str]:
    yield report.verdict
    if report.serializable is not None:
        yield _SERIALIZABLE[report.serializable]
    if report.reason:
        yield report.reason


def _facts(report: Report) -> Iterator[str]:
    trace = report.trace
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
    counts.append(f"{counted(len(report.findings), 'finding')} ({report.algorithm})")
    if report.notes:
        undecided = f", {len(report.undecided):,} of them undecided" if report.undecided else ""
        counts.append(f"{counted(len(report.notes), 'note')} (--all shows them){undecided}")
    return counts


def _finding(number: int, finding: Finding) -> Iterator[str]:
    first = f", first at {finding.first_place}" if finding.first_place else ""
    region = finding.region or "a region without a name"
    yield f"{number}. {finding.pattern} in {region} (seen {times(finding.count)}{first})  [{finding.id}]"
    yield from (f"     {line}" for line in _steps(finding.witness))
    yield from (f"   {line}" for line in finding.explanation)
    if finding.hint:
        yield f"   hint: {finding.hint}"
    if finding.found_by:
        yield f"   found by {' and '.join(finding.found_by)}"


def _steps(steps: Sequence[ShownStep]) -> Iterator[str]:
    """The steps in the order of the trace: the interleaving, from top to bottom."""
    rows = []
    seen: set[int] = set()
    for step in sorted(steps, key=lambda step: step.event):
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
