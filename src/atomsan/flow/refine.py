"""`atomsan refine`: the atomicity specification by iterative refinement (davida-2022, section IV.B).

At first every region is taken to be atomic, but for what the specification to start from excludes. A round checks every
trace; a region of which some execution violates is removed, so that in the next round the regions inside it
are transactions. When two rounds in a row remove nothing, what is left is the specification.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from atomsan.checkers.registry import Capability, chosen
from atomsan.errors import InputError
from atomsan.flow.check import check
from atomsan.flow.trace_input import specification_of
from atomsan.source.spec import Specification, literal
from atomsan.trace.monitor import INTERRUPTED, Progress, silent
from atomsan.trace.trace import Trace

if TYPE_CHECKING:
    from atomsan.findings.finding import Finding
    from atomsan.findings.report import Report

QUIET_ROUNDS = 2


@dataclass
class Removed:
    """Why a region is not atomic."""

    region: str
    round: int
    violations: int = 0
    traces: set[str] = field(default_factory=set)
    example: Finding | None = None

    def add(self, finding: Finding, trace: str) -> None:
        self.violations += finding.count
        self.traces.add(trace)
        self.example = self.example or finding

    def __str__(self) -> str:
        traces = "" if len(self.traces) == 1 else f" in {len(self.traces)} traces"
        text = f"round {self.round}: {self.violations:,} violation{'s' * (self.violations != 1)}{traces}"
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


@dataclass
class Refinement:
    """The rounds so far, and what they removed. `stopped` says why it is not finished."""

    start: Specification
    rounds: list[Round] = field(default_factory=list)
    removed: dict[str, Removed] = field(default_factory=dict)
    stopped: str | None = None

    @property
    def spec(self) -> Specification:
        return self.start.adding(not_atomic=map(literal, self.removed))

    @property
    def finished(self) -> bool:
        last = self.rounds[-QUIET_ROUNDS:]
        return len(last) == QUIET_ROUNDS and not any(one.removed for one in last)

    def to_toml(self) -> str:
        """The specification as a file, with the reason for each region that was removed."""
        state = "finished" if self.finished else f"not finished: {self.stopped}"
        head = f"# Made by atomsan refine in {len(self.rounds)} round{'s' * (len(self.rounds) != 1)}, {state}.\n"
        comments = {literal(region): str(removed) for region, removed in self.removed.items()}
        return head + self.spec.to_toml(comments)


def refine(
    traces: str | os.PathLike[str] | Trace | Sequence[str | os.PathLike[str] | Trace],
    spec: Specification | str | os.PathLike[str] | None = None,
    *,
    max_rounds: int | None = None,
    split_at_waits: bool = False,
    lenient: bool = False,
    format: str | None = None,
    progress: Progress = silent,
) -> Refinement:
    """Infer which regions are atomic, from one trace or several: files, or traces in memory.

    Refines until two rounds in a row remove nothing. An interrupt ends it, with the specification so far.
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
    refinement = Refinement(specification_of(spec))

    def checked(trace: str | os.PathLike[str] | Trace) -> Report:
        return check(
            trace,
            chosen(Capability.VIOLATIONS, Capability.WITNESSES).name,
            refinement.spec,
            split_at_waits=split_at_waits,
            lenient=lenient,
            format=format,
            explain=False,
            progress=progress,
        )

    for number in _numbers(max_rounds):
        one = Round(number)
        refinement.rounds.append(one)
        _play(refinement, one, ((_name(trace), checked(trace)) for trace in traces))
        if refinement.stopped or refinement.finished:
            return refinement
    refinement.stopped = "the limit of rounds"
    return refinement


def _name(trace: str | os.PathLike[str] | Trace) -> str:
    return trace.meta.source if isinstance(trace, Trace) else os.fspath(trace)


def _numbers(most: int | None) -> Iterator[int]:
    number = 0
    while most is None or number < most:
        number += 1
        yield number


def _play(refinement: Refinement, one: Round, reports: Iterator[tuple[str, Report]]) -> None:
    """One round: what violates in any of the traces is removed when all of them were checked."""
    found: dict[str, Removed] = {}
    try:
        for trace, report in reports:
            one.transactions += report.trace.transactions
            one.violations += report.violations or 0
            one.violating += len(report.transactions)
            for finding in report.findings:
                if finding.kind == "atomicity":
                    found.setdefault(finding.region, Removed(finding.region, one.number)).add(finding, trace)
            if report.stopped:
                refinement.stopped = report.stopped
                break
    except KeyboardInterrupt:
        refinement.stopped = INTERRUPTED
    one.removed = list(found)
    refinement.removed |= found
