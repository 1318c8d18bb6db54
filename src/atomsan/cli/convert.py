"""`atomsan convert`"""

from __future__ import annotations

from atomsan.cli.exits import Exit, say
from atomsan.cli.tell import progress, warn, written


def convert(
    trace: str,
    target: str,
    input_format: str | None,
    output_format: str | None,
    lenient: bool,
    force: bool,
    quiet: bool,
) -> int:
    """Write a trace in another format.

    The output appears under its name only when it is whole. Streams: a trace may be larger than memory.

    Examples:
      atomsan convert t.std t.atomtrace
      atomsan convert t.log t.csv.gz --input-format davida --lenient --force
      atomsan convert t.atomtrace - --output-format csv --quiet | head
    """
    from atomsan.trace.outputs import check_output
    from atomsan.trace.outputs import output_format as format_to_write
    from atomsan.trace.reading import open_trace
    from atomsan.trace.writing import write_trace

    format_to_write(target, output_format)
    check_output(target, force=force)
    with (
        open_trace(trace, format=input_format, lenient=lenient) as source,
        progress("converting", source, quiet=quiet) as watch,
    ):
        write_trace(source, target, format=output_format, force=force, on_batch=watch)
    if not quiet:
        warn(source)
        say(written(target, watch.events))
    return Exit.FINE
