"""`atomsan refine`: the atomicity specification by iterative refinement (davida-2022, section IV.B).

At first every region is taken to be atomic, but for what the specification to start from excludes. A round checks every
trace; a region of which some execution violates is removed, so that in the next round the regions inside it
are transactions. A round that removes nothing is the last: the next would see the same.

It ends. What a round removes are the outermost regions of violating transactions, which the specification of that round
calls atomic; from then on it does not, because `not_atomic` wins over everything else. So each round but the last takes
at least one name off those that are called atomic, and the traces have finitely many names. It goes by violations
alone: a violation that judging takes for harmless is one all the same, and its region is not atomic.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from atomsan.checkers.registry import Capability, chosen
from atomsan.errors import InputError
from atomsan.flow.blind_spots import nothing_named, unmatched
from atomsan.flow.checker_pass import CheckerPass
from atomsan.flow.trace_input import TraceInput, specification_of
from atomsan.source.spec import Specification, literal, reasons_in
from atomsan.trace.monitor import Monitor, Progress, silent, why_interrupted
from atomsan.trace.trace import Trace

if TYPE_CHECKING:
    from atomsan.findings.finding import Finding

    GivenTrace = str | os.PathLike[str] | Trace


@dataclass
class Removed:
    """Why a region is not atomic."""

    region: str
    round: int
    executions: int = 0
    """How many executions of it violate."""
    traces: set[str] = field(default_factory=set)
    example: Finding | None = None

    def __str__(self) -> str:
        traces = "" if len(self.traces) == 1 else f" in {len(self.traces)} traces"
        text = f"round {self.round}: {self.executions:,} violating execution{'s' * (self.executions != 1)}{traces}"
        if self.example is None:
            return text
        return f"{text}, for example {self.example.pattern} at {_where(self.example)} ({self.example.first_place})"


def _where(finding: Finding) -> str:
    """The places of the violating transaction, as far as the trace says."""
    own = [step for step in finding.witness if step.region == finding.region]
    return " and ".join(dict.fromkeys(step.where for step in own)) or finding.first_place


@dataclass
class Round:
    """What one round saw over all traces."""

    number: int
    transactions: int = 0
    violations: int = 0
    violating: int = 0
    removed: list[str] = field(default_factory=list)
    cyclic: list[str] = field(default_factory=list)
    """Traces that are not serializable though no transaction violates: no region alone is to blame for their cycles."""


@dataclass
class Refinement:
    """The rounds so far, and what they removed. `stopped` says why it is not finished."""

    start: Specification
    reasons: dict[str, str] = field(default_factory=dict)
    """Why entries of `start` are not atomic, where its file says so."""
    rounds: list[Round] = field(default_factory=list)
    removed: dict[str, Removed] = field(default_factory=dict)
    stopped: str | None = None
    cut: dict[str, str] = field(default_factory=dict)
    """By trace, why events of the run are missing, where they are: there may be violations among them."""
    unmatched: dict[str, list[str]] = field(default_factory=dict)
    """By key, the globs of `start` that match no region of any of the traces."""

    @property
    def warnings(self) -> list[str]:
        """Non-fatal problems of the specification to start from."""
        return [text for key, globs in self.unmatched.items() for text in nothing_named(key, globs, ())]

    @property
    def spec(self) -> Specification:
        return self.start.adding(not_atomic=map(literal, self.removed))

    @property
    def finished(self) -> bool:
        """Whether nothing that the specification calls atomic is violated in the traces."""
        return bool(self.rounds) and self.stopped is None and not self.rounds[-1].removed

    @property
    def left(self) -> list[str]:
        """What the specification leaves unexplained in the traces, in sentences."""
        last = self.rounds[-1] if self.rounds else Round(0)
        found = [
            f"{trace} is not serializable, by a cycle of transactions that no region alone is to blame for"
            for trace in last.cyclic
        ]
        if not self.finished and last.removed:
            found.append(f"the regions inside {', '.join(last.removed)} were not checked yet")
        return found

    def to_toml(self) -> str:
        """The specification as a file, with the reason for each region that is not atomic, as far as it is known."""
        state = "finished" if self.finished else f"not finished: {self.stopped}"
        made = f"Made by atomsan refine in {len(self.rounds)} round{'s' * (len(self.rounds) != 1)}, {state}."
        comments = self.reasons | {literal(region): str(removed) for region, removed in self.removed.items()}
        left = [*self.left, *(f"what is missing of {trace}: {why}" for trace, why in self.cut.items())]
        return self.spec.to_toml(comments, "\n".join([made, *(f"Left: {text}." for text in left)]))


def refine(
    traces: GivenTrace | Sequence[GivenTrace],
    spec: Specification | str | os.PathLike[str] | None = None,
    *,
    max_rounds: int | None = None,
    split_at_waits: bool = False,
    lenient: bool = False,
    format: str | None = None,
    progress: Progress = silent,
) -> Refinement:
    """Infer which regions are atomic, from one trace or several: files, or traces in memory.

    Refines until nothing that is called atomic is violated. An interrupt ends it, with the specification so far.
    """
    if isinstance(traces, str | os.PathLike | Trace):
        traces = [traces]
    if not traces:
        raise InputError("refining needs at least one trace")
    for trace in traces:
        if isinstance(trace, Trace) or os.path.isfile(trace) or os.path.isdir(trace):
            continue
        if os.path.exists(trace):
            raise InputError("refining reads a trace several times, so it must be a file", source=os.fspath(trace))
    reasons = reasons_in(spec) if isinstance(spec, str | os.PathLike) else {}
    refinement = Refinement(specification_of(spec), reasons)
    start = refinement.start
    refinement.unmatched = {"atomic": list(start.atomic), "not_atomic": list(start.not_atomic)}
    monitor = Monitor(progress=progress)

    def checked(trace: GivenTrace) -> CheckerPass:
        given = TraceInput(trace, refinement.spec, split_all=split_at_waits, lenient=lenient, format=format)
        entry = chosen(Capability.VIOLATIONS, Capability.WITNESSES)
        return CheckerPass(given, monitor, [entry], first=False, with_begins=True).run()

    for number in _numbers(max_rounds):
        one = Round(number)
        refinement.rounds.append(one)
        _play(refinement, one, ((_name(trace), checked(trace)) for trace in traces))
        refinement.stopped = refinement.stopped or monitor.stopped
        if refinement.stopped or refinement.finished:
            return refinement
    refinement.stopped = "the limit of rounds"
    return refinement


def _name(trace: GivenTrace) -> str:
    return trace.meta.source if isinstance(trace, Trace) else os.fspath(trace)


def _numbers(most: int | None) -> Iterator[int]:
    number = 0
    while most is None or number < most:
        number += 1
        yield number


def _play(refinement: Refinement, one: Round, passes: Iterator[tuple[str, CheckerPass]]) -> None:
    """One round: what violates in any of the traces is removed when all of them were checked."""
    found: dict[str, Removed] = {}
    try:
        for trace, checked in passes:
            _add_violating(found, one, trace, checked)
            if checked.source.missing is not None:
                refinement.cut[trace] = checked.source.missing
            for key, globs in refinement.unmatched.items():
                refinement.unmatched[key] = unmatched(globs, checked.source.symbols.regions)
            if checked.stopped:
                break
    except KeyboardInterrupt as error:
        refinement.stopped = why_interrupted(error)
    if found.keys() & refinement.removed.keys():
        raise AssertionError("a region violates that is not atomic")
    one.removed = list(found)
    refinement.removed |= found


def _add_violating(found: dict[str, Removed], one: Round, trace: str, checked: CheckerPass) -> None:
    """The regions that violate in one trace."""
    from atomsan.findings.making import findings_of

    entry, result = checked.results[0]
    one.transactions += checked.begins.transactions
    one.violations += result.violations or 0
    one.violating += len(result.transactions)
    if result.verdict != "violated":
        return
    if not result.transactions:
        one.cyclic.append(trace)
    for region, _ in checked.begins.of(result.transactions):
        name = checked.names.region(region)
        removed = found.setdefault(name, Removed(name, one.number))
        removed.executions += 1
        removed.traces.add(trace)
    for finding in findings_of(result.witnesses, checked.names, entry.status):
        found[finding.region].example = found[finding.region].example or finding
