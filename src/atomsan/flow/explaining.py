"""What is around the steps of findings, which checkers do not keep: the trace is read once more for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from atomsan.flow.material import is_over, is_recorded

if TYPE_CHECKING:
    from atomsan.findings.finding import Finding
    from atomsan.findings.locks import HeldAt
    from atomsan.flow.material import Material, Opened, Watching
    from atomsan.trace.symbols import Symbols


def explained(
    material: Material,
    seen: Opened,
    findings: list[Finding],
    is_ours: Callable[[str], bool],
    deadline: float | None,
    watching: Watching,
) -> tuple[list[Finding], str | None]:
    """The findings with what is around their steps, as far as the trace can be read again; why not, if stopped.

    `seen` is the source that they were found in. It was read to its end, or as far as it mattered.
    """
    from atomsan.findings.locks import HeldAt, has_locks, with_locks, without_locks

    if not is_recorded(seen) and not has_locks(seen.symbols):
        return without_locks(findings), None
    if not material.again:
        return findings, None
    held = HeldAt.steps_of(findings)
    source = material.open(seen.batch_events)
    stopped: str | None = None
    try:
        with watching(source) as watch:
            for batch in source.batches():
                if held.feed(batch, source.symbols):
                    break
                watch(batch)
                if is_over(deadline):
                    stopped = "out of time"
                    break
    except KeyboardInterrupt:
        stopped = "out of time" if is_over(deadline) else "interrupted"
    finally:
        source.close()
    findings = with_locks(findings, held.found)
    return (_placed(findings, held, source.symbols, is_ours) if is_recorded(seen) else findings), stopped


def _placed(
    findings: Sequence[Finding], held: HeldAt, symbols: Symbols, is_ours: Callable[[str], bool]
) -> list[Finding]:
    """Findings of a recorded program where they belong: in the smallest region, and among the notes if they are such.

    One that is seen in several ways is a finding if one of them is.
    """
    from atomsan.findings.counting import reconsidered
    from atomsan.findings.finding import merged
    from atomsan.findings.locks import innermost, regions_around
    from atomsan.findings.making import placed_in

    around = regions_around(held.inside, symbols)
    found: list[Finding] = []
    notes: list[Finding] = []
    for finding in findings:
        region = innermost(finding, held.inside)
        judged = reconsidered(finding, around, held.again) if is_ours(finding.region) else finding
        placed = judged if region is None else placed_in(judged, symbols.regions[region])
        (found if placed.why is None else notes).append(placed)
    ids = {finding.id for finding in found}
    return [*merged(found), *merged(note for note in notes if note.id not in ids)]
