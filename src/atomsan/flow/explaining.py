"""The second pass of every verb: adds held locks and enclosing regions to the steps of violations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from atomsan.flow.trace_input import read_through

if TYPE_CHECKING:
    from atomsan.findings.finding import Finding
    from atomsan.findings.judging import Violations
    from atomsan.findings.surroundings import Surroundings
    from atomsan.flow.trace_input import OpenedTrace, TraceInput
    from atomsan.trace.events import Batch
    from atomsan.trace.monitor import Monitor


class Explained(NamedTuple):
    """Violations whose steps know the locks held there, as far as that could be seen."""

    violations: Violations
    around: Surroundings | None = None
    """What else is around the steps, in a recorded program that could be read again."""


def explain(trace: TraceInput, seen: OpenedTrace, monitor: Monitor, *groups: Violations) -> list[Explained]:
    """Read the trace once more, if it can be and there is something to see. One pass serves all groups.

    `seen` is the source that the violations were found in. It was read to its end, or as far as it mattered.
    """
    from atomsan.findings.surroundings import has_locks, with_locks, without_locks

    is_recorded = seen.meta.recorded
    if not is_recorded and not has_locks(seen.symbols):
        return [Explained(violations.changed(without_locks)) for violations in groups]
    if not trace.is_repeatable:
        return [Explained(violations) for violations in groups]
    sites = _Sites(chain(*groups))
    found = _surroundings(trace, seen, list(chain(*groups)), monitor, sites)
    named = [one.changed(lambda findings: sites.named(findings, seen)) for one in groups]
    if is_recorded:
        return [explained(violations, found) for violations in named]
    return [Explained(one.changed(lambda findings: with_locks(findings, found.holds))) for one in named]


def explained(violations: Violations, around: Surroundings) -> Explained:
    """The violations of a recorded program, with what is around their steps."""
    from atomsan.findings.surroundings import with_locks

    return Explained(violations.changed(lambda findings: with_locks(findings, around.holds)), around)


def _surroundings(
    trace: TraceInput, seen: OpenedTrace, violations: Sequence[Finding], monitor: Monitor, sites: _Sites
) -> Surroundings:
    from atomsan.findings.judging import pairs_of
    from atomsan.findings.surroundings import Surroundings

    found = Surroundings(
        chain(
            (step.number for finding in violations for step in finding.witness),
            (event for finding in violations for one in finding.changes for event in (one.event, one.step_event)),
            (
                event
                for finding in violations
                if finding.parting
                for event in (finding.parting.change.event, finding.parting.change.step_event, finding.parting.look)
            ),
        ),
        pairs_of(violations) if seen.meta.recorded else (),
        (step.target for finding in violations for step in finding.witness if step.op in ("read", "write")),
        only_holds=not seen.meta.recorded,
    )
    source = trace.open(seen.batch_events)

    def feed(batch: Batch) -> bool:
        have_sites = sites.feed(batch)
        return found.feed(batch, source.symbols) and have_sites

    read_through(source, monitor, feed)
    return found


class _Sites:
    """Where locks are taken and released in predicted interleavings."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        events = {
            step.number
            for finding in findings
            for step in finding.interleaving or ()
            if step.op in ("acquire", "release")
        }
        self._wanted = np.array(sorted(events), np.int64)
        self._sites: dict[int, int] = {}

    def feed(self, batch: Batch) -> bool:
        """True: all are known."""
        start, end = np.searchsorted(self._wanted, [batch.first, batch.first + len(batch)])
        events = self._wanted[start:end]
        self._sites.update(zip(events.tolist(), batch.site[events - batch.first].tolist(), strict=True))
        return bool(end == len(self._wanted))

    def named(self, findings: Iterable[Finding], seen: OpenedTrace) -> list[Finding]:
        """The findings, with these sites as they are called in the trace."""
        if not self._sites:
            return list(findings)
        from atomsan.findings.making import TraceNames

        names = TraceNames(seen)
        return [
            finding
            if finding.interleaving is None
            else replace(
                finding,
                interleaving=tuple(
                    step._replace(site=names.site(self._sites[step.number])) if step.number in self._sites else step
                    for step in finding.interleaving
                ),
            )
            for finding in findings
        ]
