"""`atomsan stats`: counts the events, symbols and transactions of a trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from atomsan.cli.exit_codes import Exit
from atomsan.cli.messages import say, warn
from atomsan.cli.option_groups import TraceOptions
from atomsan.cli.output import answer_files, print_answer, table, write_answer
from atomsan.cli.progress import progress
from atomsan.errors import printable
from atomsan.reports.numerals import counted, number
from atomsan.reports.registry import Answer

if TYPE_CHECKING:
    from atomsan.trace.stats import Stats


def stats(trace: str, format: str, output: list[str], quiet: bool, reading: TraceOptions) -> int:
    """Count what is in a trace.

    Events by kind; threads, locks, variables, regions; transactions (executions of outermost regions) and unary ones
    (events outside any region); variables that two or more threads access; the longest region; events per second, if
    the trace has the time that the run took.

    Examples:
      atomsan stats t.std
      atomsan stats t.atomtrace --format json
      zcat t.csv.gz | atomsan stats - --input-format csv --lenient --quiet -o stats.json
    """
    from atomsan.trace.monitor import why_interrupted
    from atomsan.trace.reading import open_trace
    from atomsan.trace.stats import StatsCounter

    files = answer_files(output)
    source = open_trace(trace, format=reading.input_format, lenient=reading.lenient)
    stats_counter = StatsCounter(source)
    code, why = Exit.FINE, ""
    try:
        with progress("counting", source, quiet=quiet) as counter:
            for batch in source.batches():
                stats_counter.add(batch)
                counter(batch)
    except KeyboardInterrupt as error:
        stats_counter.stop()
        code, why = Exit.INTERRUPTED, why_interrupted(error)
    result = stats_counter.result()
    answer = Answer(text=lambda: as_text(result), data=result.to_dict)
    write_answer(files, answer)
    print_answer(format, answer)
    if not quiet:
        warn(source)
    if code:
        say(f"{why} after {counted(result.events, 'event')}")
    return code


def as_text(stats: Stats) -> str:
    """The counts as a table; parts are indented below their whole."""
    state = "complete" if stats.complete else "cut short"
    head = printable(f"{stats.source}: {stats.format}, {state}")
    return f"{head}\n{table(_rows(stats), right=[1])}"


def _rows(stats: Stats) -> Iterator[tuple[str, ...]]:
    events = stats.events
    yield "events", number(events)
    for op, count in stats.by_op.items():
        if count:
            yield f"  {op.word}", number(count), f"{100 * count / events:.1f} %"
    yield "threads", number(stats.threads)
    yield "locks", number(stats.locks)
    yield "variables", number(stats.locations)
    yield "  shared", number(stats.shared_locations), "touched by 2 or more threads"
    yield "regions", number(stats.regions)
    yield "hand-overs", number(stats.handovers)
    yield "transactions", number(stats.transactions)
    yield "  unary", number(stats.unary_transactions), "events outside any region; not among the transactions"
    if longest := stats.longest_region:
        where = f"{longest.region or 'the region without a name'} of {longest.thread}, begun at {longest.place}"
        site = f", site {longest.site}" if longest.site else ""
        yield "longest region", number(longest.events), f"events: {where}{site}{'' if longest.ended else ', not ended'}"
    if stats.events_per_second is not None:
        yield "events per second", number(round(stats.events_per_second)), f"in the {stats.seconds:g} s recorded"
