"""`atomsan convert`: writes a trace in another format."""

from __future__ import annotations

from atomsan.cli.exit_codes import Exit
from atomsan.cli.messages import say_written, warn, warn_of_format
from atomsan.cli.option_groups import TraceOptions
from atomsan.cli.progress import progress


def convert(
    trace: str,
    target: str,
    output_format: str | None,
    force: bool,
    quiet: bool,
    reading: TraceOptions,
) -> int:
    """Write a trace in another format.

    The output appears under its name only when it is complete. A trace may be larger than memory.

    Examples:
      atomsan convert t.std t.atomtrace
      atomsan convert t.log t.csv.gz --input-format davida --lenient --force
      atomsan convert t.atomtrace - --output-format csv --quiet | head
    """
    from atomsan.trace.output_paths import check_output
    from atomsan.trace.output_paths import output_format as format_to_write
    from atomsan.trace.reading import open_trace
    from atomsan.trace.writing import write_trace

    written = format_to_write(target, output_format)
    check_output(target, force=force)
    with (
        open_trace(trace, format=reading.input_format, lenient=reading.lenient) as source,
        progress("converting", source, quiet=quiet) as counter,
    ):
        write_trace(source, target, format=output_format, force=force, on_batch=counter)
    warn(source, quiet=quiet)
    warn_of_format(target, written, source.meta.missing)
    if not quiet:
        say_written(target, counter.events)
    return Exit.FINE
