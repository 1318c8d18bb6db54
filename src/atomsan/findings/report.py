"""The report on one trace: the checkers' answers, findings, suspects and notes, as data that reporters render.

History of the JSON: atomsan-report/1, the first, knew findings and notes, and its verdict was of the trace.
atomsan-report/2: suspects between them; the verdict is of the findings; `group`, `runs`, `schedule` and `outcome`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from atomsan import __version__
from atomsan.findings.triage import TriageRow, triage

if TYPE_CHECKING:
    from atomsan.checkers.results import Verdict
    from atomsan.findings.finding import Finding
    from atomsan.findings.reasons import Level
    from atomsan.findings.root_causes import RootCause

SCHEMA = "atomsan-report/2"


@dataclass(frozen=True, kw_only=True)
class TraceFacts:
    """What was checked, under the specification: a region that was dropped is no transaction."""

    source: str
    events: int
    """That were read: a checker that has made up its mind reads no further."""
    threads: int
    locks: int
    variables: int
    transactions: int
    complete: bool
    """The trace is all there, and was read to its end or as far as it could matter."""


class ProgramFacts(NamedTuple):
    """How the program ended that was recorded: with an exit code, or by a signal."""

    exit: int | None
    signal: int | None


class SetFacts(NamedTuple):
    """What there is to say of an atomic set: how often each pattern matches, and whether it is serializable."""

    patterns: dict[str, int]
    serializable: bool | None
    is_capped: bool = False
    """Whether its matches are more than were counted, or may be."""

    def to_dict(self) -> dict[str, Any]:
        shown = {"patterns": self.patterns, "serializable": self.serializable}
        return shown | ({"capped": True} if self.is_capped else {})


# Why nothing is known of views where only conflicts were asked about.
_ONLY_CONFLICTS = "only conflicts were looked at: atomsan predict --method view decides it"


class PredictionFacts(NamedTuple):
    """What prediction says of all interleavings of the units of a run."""

    conflict_atomic: bool | None
    view_atomic: bool | None
    asked: frozenset[str]
    """Which of the two were asked for: `conflict`, `view`."""
    kinds: int
    """The transactions that access shared data, those that do the same counted once."""
    proved: int
    """How many of these are atomic in every interleaving, whatever others do."""
    reasons: Mapping[str, str] = {}
    """Why an answer is None."""
    is_complete: bool = True
    """Whether there was time to look at everything."""

    def of_a_part(self, why: str) -> PredictionFacts:
        """The same of a run of which events are missing: what is refuted stays so, and nothing is proved."""
        return self._replace(
            conflict_atomic=None if self.conflict_atomic else self.conflict_atomic,
            view_atomic=None if self.view_atomic else self.view_atomic,
            kinds=0,
            proved=0,
            reasons={"conflict": why, "view": why, **self.reasons},
        )

    @property
    def answers(self) -> dict[str, bool | None]:
        """What was asked for, and what follows from it."""
        known = {"conflict": self.conflict_atomic, "view": self.view_atomic}
        found = {kind: answer for kind, answer in known.items() if kind in self.asked}
        if "conflict" in found and "view" not in found:
            found["view"] = self.conflict_atomic or None  # a serial order with the same conflicts has the same views
        return found

    def reason(self, kind: str) -> str | None:
        return self.reasons.get(kind, None if kind in self.asked else _ONLY_CONFLICTS)

    def to_dict(self) -> dict[str, Any]:
        content: dict[str, Any] = {}
        for kind, answer in self.answers.items():
            content[f"{kind}_atomic"] = answer
            if answer is None:
                content[f"{kind}_atomic_reason"] = self.reason(kind)
        return content | {"units": {"kinds": self.kinds, "proved": self.proved}}


class NamedTransactions(Sequence[tuple[str, int]]):
    """Transactions as (thread, number), named when they are asked for: there can be ten million."""

    def __init__(self, transactions: Sequence[tuple[int, int]], thread: Callable[[int], str]) -> None:
        self._transactions = transactions
        self._thread = thread

    def __len__(self) -> int:
        return len(self._transactions)

    @overload
    def __getitem__(self, index: int) -> tuple[str, int]: ...
    @overload
    def __getitem__(self, index: slice) -> NamedTransactions: ...
    def __getitem__(self, index: int | slice) -> tuple[str, int] | NamedTransactions:
        if isinstance(index, slice):
            return NamedTransactions(self._transactions[index], self._thread)
        thread, number = self._transactions[index]
        return self._thread(thread), number

    def __repr__(self) -> str:
        return f"<{len(self)} transactions>"


@dataclass(frozen=True, kw_only=True)
class Report:
    """The answer to `atomsan.check`; `to_dict` is the JSON of `atomsan check`."""

    trace: TraceFacts
    algorithm: str
    serializable: bool | None
    """Of the trace as it is, whatever counts; None where the algorithm does not decide it."""
    violations: int | None
    transactions: Sequence[tuple[str, int]]
    """Every violating transaction: thread, and number in the thread."""
    findings: Sequence[Finding]
    """What is wrong."""
    suspects: Sequence[Finding] = ()
    """What may be meant so, or could not be decided: each has a `why`."""
    notes: Sequence[Finding] = ()
    """What is proved harmless or was not asked for: each has a `why`."""
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What each algorithm says, where several ran."""
    counters: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    reason: str | None = None
    """Why there may be findings beside those that were found: without any, the verdict is unknown."""
    stopped: str | None = None
    """Why the trace was not read to its end: "interrupted" or "out of time"."""
    cut: str | None = None
    """Why events of the run are missing from the trace, if they are: then it is not known to hold. See `of_a_part`."""
    repairs: Sequence[str] = ()
    """What leniency did to the trace."""
    warnings: Sequence[str] = ()
    """What its reader could live with, and what the answer leaves out."""
    program: ProgramFacts | None = None
    patterns: dict[str, int] | None = None
    """How often each pattern of accesses matches, over all sets; None if nobody asked for sets."""
    sets: dict[str, SetFacts] | None = None
    divided: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The atomic sets that classes were divided into, by the program and by the specification."""
    held: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The classes of the objects that fields of classes hold: `Account.log` -> `Log`."""

    prediction: PredictionFacts | None = None
    """What holds in every interleaving; None if nobody asked."""
    runs: int = 1
    """How many runs of a program it is about."""
    is_recorded: bool = False
    """AtomSan recorded the program."""
    parts: Sequence[Report] = ()
    """Of a report on several runs: the reports on each of them."""

    @property
    def verdict(self) -> Verdict:
        """Of the findings, as the exit code is."""
        return "violated" if self.findings else "holds" if self.reason is None else "unknown"

    def failing(self, fail_on: Collection[str] = ()) -> list[Finding]:
        """What makes a check fail: the findings, and the suspects, races or deadlocks if these are to count."""
        suspects = self.suspects if "suspects" in fail_on else ()
        return [*self.findings, *suspects, *(note for note in self.notes if note.kind in fail_on)]

    def root_causes(self) -> list[RootCause]:
        """The findings, grouped by what mends them, each with the suspects that it explains; then other suspects."""
        if not self.findings and not self.suspects:
            return []
        from atomsan.findings.root_causes import root_causes

        return root_causes(self.findings, self.suspects)

    @property
    def undecided(self) -> list[Finding]:
        """The suspects of which it is not known: the check was stopped before that."""
        return [suspect for suspect in self.suspects if suspect.is_undecided]

    def triage(self) -> list[TriageRow]:
        """What makes the most findings, and suspects across sets: these may not be the sets that were meant."""
        if self.sets is None and self.program is None:
            return []
        return triage(self.findings, self.suspects, self.divided, self.held)

    def __str__(self) -> str:
        """As `atomsan check` prints it."""
        from atomsan.reports.text import render

        return render([self]).rstrip("\n")

    def _repr_html_(self) -> str:
        """For notebooks."""
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"

    def to_dict(self) -> dict[str, Any]:
        """The JSON. That of several runs has the report of each, and what was found in all of them."""
        if self.parts:
            merged = {"findings": self.findings, "suspects": self.suspects}
            return {
                "schema": SCHEMA,
                "verdict": self.verdict,
                "runs": self.runs,
                "reports": [part.to_dict() for part in self.parts],
                **(self.prediction.to_dict() if self.prediction else {}),
            } | {level: [one.to_dict() for one in found] for level, found in merged.items()}
        content: dict[str, Any] = {
            "schema": SCHEMA,
            "tool": {"name": "atomsan", "version": __version__},
            "trace": dict(vars(self.trace)),
            **({"program": self.program._asdict()} if self.program else {}),
            "algorithm": self.algorithm,
            "verdict": self.verdict,
            "serializable": self.serializable,
            "violations": self.violations,
            "transactions": [list(transaction) for transaction in self.transactions],
            "findings": [finding.to_dict() for finding in self.findings],
            "suspects": [suspect.to_dict() for suspect in self.suspects],
            "notes": [note.to_dict() for note in self.notes],
            "results": self.results,
            "warnings": list(self.warnings),
        }
        if self.verdict == "unknown":
            content["reason"] = self.reason
        if self.repairs:
            content["repairs"] = list(self.repairs)
        if rows := self.triage():
            content["triage"] = [row.to_dict() for row in rows]
        if self.sets is not None:
            content["patterns"] = self.patterns
            content["sets"] = {name: facts.to_dict() for name, facts in self.sets.items()}
        if self.prediction is not None:
            content |= self.prediction.to_dict()
        return content | {"counters": self.counters, "seconds": self.seconds}


def of_a_part(report: Report, why: str | None) -> Report:
    """A report on a trace of which events are missing (None: it is whole). What was found stays; nothing is proved."""
    if why is None:
        return report
    unknown = {"verdict": "unknown", "reason": why}
    return replace(
        report,
        cut=why,
        reason=report.reason or why,
        results={
            name: result | unknown if result["verdict"] == "holds" else result
            for name, result in report.results.items()
        },
        prediction=report.prediction and report.prediction.of_a_part(why),
        warnings=[*report.warnings, *([why] if why not in report.warnings else [])],
    )


def of_level(judged: Sequence[Finding], level: Level) -> list[Finding]:
    return [finding for finding in judged if finding.level == level]


def reports_to_json(reports: Sequence[Report]) -> dict[str, Any]:
    """The JSON of one report, or of several with the findings and suspects of all."""
    contents = [report.to_dict() for report in reports]
    return contents[0] if len(contents) == 1 else merge_report_json(contents)


def merge_report_json(reports: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The JSON of several reports, from the JSON of each: they may come from other processes, or be of version 1.

    What is a finding in one of them and a suspect in another is a finding.
    """
    merged: dict[str, dict[str, Any]] = {}
    for level in ("findings", "suspects"):
        for report in reports:
            for one in report.get(level, ()):
                other = merged.get(one["id"])
                both = (one, other) if other else (one,)
                sums = {key: sum(each.get(key, 1) for each in both) for key in ("count", "runs")}
                merged[one["id"]] = {"level": level, **(other or one), **sums}
    return {"schema": SCHEMA, "reports": list(reports)} | {
        level: [_without_level(one) for one in merged.values() if one["level"] == level]
        for level in ("findings", "suspects")
    }


def _without_level(one: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in one.items() if key != "level"}
