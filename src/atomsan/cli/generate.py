"""`atomsan generate`: generates traces for tests and benchmarks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from atomsan.cli.exit_codes import Exit
from atomsan.cli.messages import say_written
from atomsan.cli.output import table
from atomsan.cli.progress import progress
from atomsan.errors import InputError
from atomsan.reports.numerals import number

if TYPE_CHECKING:
    from atomsan.trace.generator import GeneratorOptions


def generate(
    output: str,
    output_format: str | None,
    kind: str | None,
    preset: str | None,
    scale: float | None,
    truth: str | None,
    list_presets: bool,
    force: bool,
    quiet: bool,
    **sizes: Any,
) -> int:
    """Generate a trace: for tests that need a known answer, and for load of any size.

    The same options always give the same trace. --kind chooses which answers are known, --preset the proportions of a
    benchmark (--list-presets shows them).

    Examples:
      atomsan generate --kind random --seed 7
      atomsan generate --kind violating --violations 3 -o t.std --truth t.json --force
      atomsan generate --preset sunflow --scale 0.1 -o sunflow.atomtrace --quiet
      atomsan generate --list-presets
    """
    if list_presets:
        print(_presets(), end="")
        return Exit.FINE
    from atomsan.trace import generator
    from atomsan.trace.output_paths import check_output
    from atomsan.trace.output_paths import output_format as format_to_write
    from atomsan.trace.writing import write_file, write_trace

    options = _options(kind, preset, scale, {name: value for name, value in sizes.items() if value is not None})
    format_to_write(output, output_format)
    if truth is not None and truth in ("-", output):
        raise InputError("--truth needs a file of its own")
    for path in (output, truth):
        if path is not None:
            check_output(path, force=force)
    source = generator.generate(options)
    with progress("generating", source, quiet=quiet or output == "-") as counter:
        write_trace(source, output, format=output_format, force=force, on_batch=counter)
    if truth is not None:
        from atomsan.reports.json import encoded

        write_file(truth, encoded(source.truth).encode(), force=force)
    if not quiet and output != "-":
        say_written(output, counter.events)
    return Exit.FINE


def _options(kind: str | None, preset: str | None, scale: float | None, sizes: dict[str, Any]) -> GeneratorOptions:
    from atomsan.trace import generator

    if preset is None:
        if scale is not None:
            raise InputError("--scale goes with --preset")
        return generator.options_for(kind or "serializable", **sizes)
    chosen = generator.preset(preset) if scale is None else generator.preset(preset, scale=scale)
    return replace(chosen, **sizes)


def _presets() -> str:
    from atomsan.trace.generator import BENCHMARKS

    heads = ("preset", "events", "threads", "locks", "variables", "transactions", "serializable")
    rows = []
    for name, row in BENCHMARKS.items():
        sizes = (row.events, row.threads, row.locks, row.variables, row.transactions)
        rows.append((name, *(number(round(size)) for size in sizes), "yes" if row.atomic else "no"))
    return table([heads, *rows], right=range(1, 6)) + "At --scale 1; --scale 0.001 unless you say otherwise.\n"
