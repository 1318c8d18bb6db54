"""`atomsan refine`: infers the atomicity specification from traces."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import TYPE_CHECKING

from atomsan.cli.exit_codes import Exit
from atomsan.cli.messages import say
from atomsan.cli.option_groups import RegionOptions, TraceOptions
from atomsan.cli.output import table
from atomsan.cli.progress import progress
from atomsan.errors import InputError, OutputError
from atomsan.reports.numerals import counted, number

if TYPE_CHECKING:
    from atomsan.flow.refine import Refinement


def refine(
    traces: list[str],
    output: str | None,
    max_rounds: int | None,
    split_at_waits: bool,
    quiet: bool,
    reading: TraceOptions,
    regions: RegionOptions,
) -> int:
    """Infer which regions are atomic, by iterative refinement.

    Starts with all regions, except those that the given specification excludes. Each round removes the regions that
    violate in any of the traces; the next round checks the regions inside them instead. It ends when nothing that is
    still called atomic is violated. The result is a specification for check, with the reason for each removed region;
    reasons in the given specification are kept. Ctrl-C writes the one so far.

    Examples:
      atomsan refine t.std -o spec.toml
      atomsan refine runs/*.atomtrace -o spec.toml --spec start.toml --not-atomic '*:main' --max-rounds 10
      atomsan refine t.csv -o spec.toml --input-format csv --lenient --split-at-waits --quiet
    """
    from atomsan.flow.refine import refine as refined
    from atomsan.source.spec import reasons_in
    from atomsan.trace.monitor import INTERRUPTED, OUT_OF_MEMORY, OUT_OF_TIME
    from atomsan.trace.writing import write_file

    if output is None:
        raise InputError("missing -o FILE for the specification (see atomsan refine --help)")
    if max_rounds is not None and max_rounds < 1:
        raise InputError("--max-rounds must be at least 1")
    if "-" in traces:
        raise InputError("refining reads a trace several times, so it cannot be standard input")
    _check_output(output)
    result = refined(
        traces,
        regions.specification(),
        max_rounds=max_rounds,
        split_at_waits=split_at_waits,
        lenient=reading.lenient,
        format=reading.input_format,
        progress=lambda source: progress(f"checking {source.meta.source}", source, quiet=quiet),
    )
    result.reasons |= {} if regions.spec is None else reasons_in(regions.spec)
    write_file(output, result.to_toml().encode(errors="backslashreplace"), force=True)
    print(_as_text(result), end="")
    for trace, why in result.cut.items():
        say(f"warning: {trace}: {why}")
    if not quiet:
        for text in result.warnings:
            say(f"warning: {text}")
        say(f"wrote {output}: {_written(result)}")
        for text in result.left:
            say(f"left: {text}")
    if result.stopped:
        say(f"stopped by {result.stopped}" if result.stopped.startswith("the ") else result.stopped)
    is_partial = result.stopped in (INTERRUPTED, OUT_OF_TIME, OUT_OF_MEMORY) or result.cut
    return Exit.INTERRUPTED if is_partial else Exit.FINE


def _check_output(path: str) -> None:
    """Refuse to replace a file that is not a specification, before any work is done."""
    from atomsan.source.spec import read_spec

    if PurePath(path).suffix.lower() != ".toml":
        raise InputError("a specification is written to a file in .toml", source=path)
    if os.path.lexists(path):
        try:
            read_spec(path)
        except InputError:
            raise OutputError(f"{path}: exists and is no specification; it will not be replaced") from None


def _written(result: Refinement) -> str:
    """What the specification excludes, and what of it is new."""
    before, new = result.start.not_atomic, [region or "(no name)" for region in result.removed]
    if not before:
        return f"{counted(len(new), 'region')} not atomic"
    shown = ": " * bool(new) + ", ".join(new[:3]) + ", ..." * (len(new) > 3)
    kept = f"{counted(len(before), 'entry')} of not_atomic kept"
    return f"{kept}, {counted(len(new), 'region')} added{shown}"


def _as_text(result: Refinement) -> str:
    head = ["ROUND", "TRANSACTIONS", "VIOLATIONS", "VIOLATING", "REMOVED", ""]
    rows = [
        [
            number(one.number),
            number(one.transactions),
            number(one.violations),
            number(one.violating),
            number(len(one.removed)),
            ", ".join(one.removed[:3]) + ", ..." * (len(one.removed) > 3),
        ]
        for one in result.rounds
    ]
    return table([head, *rows], right=range(5))
