"""The properties that must hold for every input, however broken: the fuzzer searches for a counterexample.

- It is read or refused with an `InputError` of one line. Nothing else may be raised.
- How it is cut into pieces and batches changes nothing.
- What was read can be counted, and written as STD and as CSV; reading that again gives the same events.
"""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from atomsan.config.settings import find_settings, resolved
from atomsan.config.table import OPTIONS
from atomsan.errors import InputError, OutputError
from atomsan.trace import reading
from atomsan.trace.events import Batch, Event
from atomsan.trace.formats.csv import CsvWriter
from atomsan.trace.formats.std import StdWriter
from atomsan.trace.stats import StatsCounter
from atomsan.trace.symbols import Symbols
from atomsan.trace.validation import ValidatedSource
from fuzz.inputs import INPUTS, PLAIN, TEXTS, Way

# Larger traces are not written and read again: that takes time and finds nothing more.
MOST_EVENTS = 2000
LONGEST_LINE = 1 << 16


@dataclass
class Outcome:
    """The result of reading an input: its batches, or the message of the refusal."""

    source: ValidatedSource | None
    batches: list[Batch]
    error: str | None

    @property
    def symbols(self) -> Symbols:
        assert self.source is not None
        return self.source.symbols

    def rows(self) -> list[tuple[int, int, int, int]]:
        return [row for batch in self.batches for row in batch.rows()]

    def events(self) -> list[Event]:
        return [self.symbols.event(*row) for row in self.rows()]


def check_input(format: str, data: bytes, directory: Path) -> None:
    """Raises `AssertionError`, or the unexpected error of a reader, if the input violates a property."""
    if format == "config":
        check_config(data, directory)
        return
    way = Way.chosen(data[0] if data else PLAIN)
    plain_way = replace(Way.chosen(PLAIN), lenient=way.lenient, says_format=way.says_format)
    try:
        given = INPUTS[format](data[1:], directory)
    except (pa.ArrowException, OverflowError):  # no writer can make what this recipe asks for
        return
    outcome = read(format, given, way)
    plain = read(format, given, plain_way)
    assert outcome.error == plain.error, "how the input is cut changes the error"
    if outcome.error is None:
        assert outcome.rows() == plain.rows(), "how the input is cut changes the events"
        check_outcome(outcome)


def read(format: str, given: bytes | Path, way: Way) -> Outcome:
    """Read one input in one way. A stream has a name that tells its format, if nothing else does."""
    said = format if way.says_format and format in TEXTS else None
    source: Any = given
    if isinstance(given, bytes):
        source = io.BytesIO(given)
        source.name = f"fuzz.{format if format in TEXTS else 'std'}"
    with patch.multiple(reading, CHUNK=way.chunk, MAX_LINE=LONGEST_LINE):
        return read_source(source, said, way)


def read_source(given: Any, format: str | None, way: Way) -> Outcome:
    outcome = Outcome(None, [], None)
    try:
        source = reading.open_trace(given, format=format, lenient=way.lenient, batch_events=way.batch_events)
        outcome.source = source
        outcome.batches = list(source.batches())
        for line in (*source.repairs.lines(), *source.meta.warnings):
            check_line(line)
    except InputError as error:
        outcome.error = str(error)
        check_line(outcome.error)
    return outcome


def check_line(text: str) -> None:
    """A message must be one line of encodable text, and not too long."""
    assert text, "an empty message"
    assert len(text.splitlines()) == 1, "a message of several lines"
    assert len(text) < 2000, "a message too long to be read"
    text.encode()


def check_outcome(outcome: Outcome) -> None:
    """Use the trace as the commands do: count it, write it, look up places."""
    assert outcome.source is not None
    first = 0
    counter = StatsCounter(outcome.source)
    for batch in outcome.batches:
        assert batch.first == first, "a gap between batches"
        first += len(batch)
        counter.add(batch)
    assert counter.result().events == first
    for event in {0, first // 2, first - 1} if first else ():
        assert outcome.source.place(event).source
    if first <= MOST_EVENTS and not _has_twins(outcome.symbols):
        check_std(outcome)
        check_csv(outcome)


def _has_twins(symbols: Symbols) -> bool:
    """Whether two symbols have one name: foreign archives may, text formats cannot."""
    return any(len(table) < MOST_EVENTS and max(Counter(table).values(), default=1) > 1 for table in symbols.tables())


def check_std(outcome: Outcome) -> None:
    stream = io.BytesIO()
    if _written(outcome, StdWriter(stream, outcome.symbols)):
        events = outcome.events()
        # a site without a name has its position written in place of it
        _check_again(stream, "std", events, sites=all(event.site != "" for event in events))


def check_csv(outcome: Outcome) -> None:
    stream, symbols = io.BytesIO(), outcome.symbols
    if _written(outcome, CsvWriter(stream, symbols, len(symbols.threads))):
        events = [
            Event(f"T{thread}", event.op, f"T{target}" if event.op.target_kind == "threads" else event.target)
            for (thread, _, target, _), event in zip(outcome.rows(), outcome.events(), strict=True)
        ]
        _check_again(stream, "csv", events, sites=False)


def _written(outcome: Outcome, writer: StdWriter | CsvWriter) -> bool:
    """Whether the trace could be written; only a symbol without a name may prevent it."""
    try:
        for batch in outcome.batches:
            writer.write(batch)
        writer.finish()
    except OutputError as error:
        check_line(str(error))
        assert any("" in set(table) for table in outcome.symbols.tables() if len(table) < MOST_EVENTS)
        return False
    return True


def _check_again(stream: io.BytesIO, format: str, events: list[Event], *, sites: bool) -> None:
    """Reading the written text must give the same events."""
    text = stream.getvalue()
    if max(map(len, text.split(b"\n"))) > LONGEST_LINE:
        return
    again = read_source(io.BytesIO(text), format, Way.chosen(PLAIN))
    assert again.error is None, f"{format} was written that is refused: {again.error}"
    assert _plain(again.events(), sites) == _plain(events, sites), f"writing {format} changes events"


def _plain(events: list[Event], sites: bool) -> list[Event]:
    return events if sites else [event._replace(site=None) for event in events]


def check_config(data: bytes, directory: Path) -> None:
    """Use the bytes as a settings file, in one of the two places."""
    own, project = directory / "atomsan.toml", directory / "pyproject.toml"
    used, unused = (own, project) if data[:1] and data[0] & 1 else (project, own)
    unused.unlink(missing_ok=True)
    used.write_bytes(data[1:])
    try:
        settings = find_settings(directory)
        for verb in {verb for option in OPTIONS for verb in option.verbs}:
            resolved(verb, {}, settings)
    except InputError as error:
        check_line(str(error))
