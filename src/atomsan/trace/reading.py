"""Opens a trace of any format: `open_trace` streams it, `load` and `parse` read it into memory.

Every input takes the same way: bytes -> format -> batches -> validation. So every later stage gets well-formed batches.
"""

from __future__ import annotations

import io
import os
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from pathlib import Path

from atomsan.errors import InputError, Place
from atomsan.trace._text import TextParser
from atomsan.trace.byte_input import ByteInput, PathOrStream, ReadAhead, is_directory
from atomsan.trace.events import BATCH_EVENTS, Batch
from atomsan.trace.formats import FORMATS, detect, suffix_format
from atomsan.trace.meta import TraceMeta
from atomsan.trace.symbols import Symbols
from atomsan.trace.trace import Trace
from atomsan.trace.validation import ValidatedSource
from atomsan.types import EventSource

MAX_LINE = 1 << 20
CHUNK = 1 << 20
MAX_NOTATION = 1 << 26


class InputSource:
    """Base of the event sources that parse the bytes of an input."""

    def __init__(self, data: ByteInput, format: str, symbols: Symbols) -> None:
        self.symbols = symbols
        self.meta = TraceMeta(data.name, format)
        self._data = data

    def place(self, event: int) -> Place:
        return Place(self._data.name, None, event)

    def fraction(self) -> float | None:
        return self._data.fraction()

    def close(self) -> None:
        self._data.close()


class TextSource(InputSource):
    """The batches of a text format with one event a line."""

    def __init__(self, data: ByteInput, format: str, parser: type[TextParser], batch_events: int) -> None:
        super().__init__(data, format, Symbols())
        self._parser = parser(self.symbols, batch_events)

    def batches(self) -> Iterator[Batch]:
        parser = self._parser
        pending: InputError | None = None
        try:
            for buffer, start, stop in self._lines():
                at = start
                while at < stop:
                    at = parser.feed(buffer, at, stop)
                    if at < stop:
                        yield parser.take()
            while not parser.finish():
                yield parser.take()
        except InputError as error:
            # The events before the bad line come first: one of them may break a rule.
            pending = error
        finally:
            self._data.close()
        if parser.filled:
            yield parser.take()
        if pending is not None:
            pending.set_source(self._data.name)
            raise pending

    def place(self, event: int) -> Place:
        return Place(self._data.name, self._parser.line_of(event), event)

    def _lines(self) -> Iterator[tuple[bytearray, int, int]]:
        """The text in pieces of whole lines: (buffer, start, stop)."""
        left = b""
        skip = len(BOM_UTF8) if self._data.head.startswith(BOM_UTF8) else 0
        for buffer, size in ReadAhead(self._data, CHUNK, MAX_LINE):
            start, end = MAX_LINE - len(left) + skip, MAX_LINE + size
            skip = 0
            buffer[MAX_LINE - len(left) : MAX_LINE] = left
            stop = buffer.rfind(b"\n", MAX_LINE, end) + 1
            if stop:
                # Only a line that spans two buffers can be too long: the others are shorter than a buffer.
                self._check_length(buffer.find(b"\n", MAX_LINE, end) - start)
                yield buffer, start, stop
                start = stop
            self._check_length(end - start)
            left = bytes(buffer[start:end])
        if left:
            yield bytearray(left + b"\n" + bytes(64)), 0, len(left) + 1

    def _check_length(self, size: int) -> None:
        if size > MAX_LINE:
            raise InputError(f"a line longer than {MAX_LINE} bytes", line=self._parser.line + 1)


class RoadRunnerSource(TextSource):
    """RoadRunner's text. The object, class and field of a location are part of its name."""

    def batches(self) -> Iterator[Batch]:
        from atomsan.trace.formats.roadrunner import describe_locations

        described = 0
        for batch in super().batches():
            describe_locations(self.symbols, described, len(self.symbols.locations))
            described = len(self.symbols.locations)
            yield batch


class NotationSource(InputSource):
    """The only batch of a trace in the one-line notation, which is read as a whole."""

    def __init__(self, data: ByteInput) -> None:
        from atomsan.trace.builder import TraceBuilder

        self._builder = TraceBuilder(data.name)
        super().__init__(data, "notation", self._builder.symbols)

    def batches(self) -> Iterator[Batch]:
        from atomsan.trace.formats.notation import from_notation

        try:
            text = self._data.read_all(MAX_NOTATION).removeprefix(BOM_UTF8).decode()
            self._builder.extend(from_notation(text))
        except UnicodeDecodeError as error:
            raise InputError(f"not valid UTF-8 at byte {error.start}", source=self._data.name) from error
        except InputError as error:
            error.set_source(self._data.name)
            raise
        finally:
            self._data.close()
        yield self._builder.columns()


class DavidaSource(InputSource):
    """The batches of a binary log of the Davida and RegionTrack tools."""

    def __init__(self, data: ByteInput, batch_events: int) -> None:
        super().__init__(data, "davida", Symbols())
        self._batch_events = batch_events

    def batches(self) -> Iterator[Batch]:
        from atomsan.trace.formats.davida import davida_batches

        try:
            yield from davida_batches(self._data, self.symbols, self._batch_events)
        except InputError as error:
            error.set_source(self._data.name)
            raise
        finally:
            self._data.close()


def open_trace(
    source: PathOrStream,
    *,
    format: str | None = None,
    lenient: bool = False,
    batch_events: int = BATCH_EVENTS,
    lean: bool = False,
) -> ValidatedSource:
    """Open a trace of any format for one pass over its batches.

    `format` is needed only if it can be told neither from the content nor from the name. The first event that
    breaks a rule of well-formedness raises `InputError`, or is repaired if `lenient` (the result has `repairs`). With
    `lean`, the names of a bundle's locations are read when somebody asks for one, if there are many.
    """
    return ValidatedSource(_open_source(source, format, batch_events, lean=lean), lenient=lenient)


def load(source: PathOrStream, *, format: str | None = None, lenient: bool = False) -> Trace:
    """Read a trace of any format into memory. `source` is a path (`-` for standard input) or a binary stream."""
    return Trace.from_source(open_trace(source, format=format, lenient=lenient))


def parse(text: str | bytes, *, format: str = "notation", lenient: bool = False) -> Trace:
    """Read a trace from a string in one of the text formats."""
    raw = text.encode(errors="surrogateescape") if isinstance(text, str) else text
    stream = io.BytesIO(raw)
    stream.name = "the text"
    return load(stream, format=format, lenient=lenient)


def _open_source(source: PathOrStream, format: str | None, batch_events: int, *, lean: bool = False) -> EventSource:
    if format is not None and format not in FORMATS:
        raise InputError(f"unknown format {format!r}: it is one of {', '.join(FORMATS)}")
    if is_directory(source):
        return _open_bundle(source, batch_events, lean=lean)
    _check_is_file(source, format)
    data = ByteInput(source)
    try:
        format = format or detect(data.head, data.name)
        if format is None:
            raise InputError("neither its content nor its name tells the format (--input-format can)", source=data.name)
        return _OPENERS[format](data, batch_events)
    except BaseException:
        data.close()
        raise


def _check_is_file(source: PathOrStream, format: str | None) -> None:
    """Refuse a pipe or device that should be a bundle or an archive: to open it could take for ever."""
    if not isinstance(source, str | os.PathLike) or os.fspath(source) == "-":
        return
    path = Path(source)
    if (format or suffix_format(path.name)) in ("bundle", "parquet") and path.exists() and not path.is_file():
        raise InputError("neither a file nor a directory, as this format wants it", source=os.fspath(source))


def _open_std(data: ByteInput, batch_events: int) -> EventSource:
    from atomsan.trace._std import StdParser

    return TextSource(data, "std", StdParser, batch_events)


def _open_csv(data: ByteInput, batch_events: int) -> EventSource:
    from atomsan.trace._csv import CsvParser

    return TextSource(data, "csv", CsvParser, batch_events)


def _open_roadrunner(data: ByteInput, batch_events: int) -> EventSource:
    from atomsan.trace._roadrunner import RoadRunnerParser

    return RoadRunnerSource(data, "rr", RoadRunnerParser, batch_events)


def _open_parquet(data: ByteInput, batch_events: int) -> EventSource:
    from atomsan.trace.parquet import ParquetSource

    if data.path is None or data.size is None:  # no file has a size that is not known
        raise InputError("a Parquet archive is read from a file, not from a stream", source=data.name)
    data.close()
    return ParquetSource(data.path)


def _open_bundle(source: PathOrStream | ByteInput, batch_events: int, *, lean: bool = False) -> EventSource:
    from atomsan.trace.bundle import BundleSource

    if isinstance(source, ByteInput):
        raise InputError("a bundle is a directory; this is a file", source=source.name)
    assert isinstance(source, str | os.PathLike)
    return BundleSource(Path(source), lean=lean)


_OPENERS: dict[str, Callable[[ByteInput, int], EventSource]] = {
    "bundle": _open_bundle,
    "parquet": _open_parquet,
    "std": _open_std,
    "csv": _open_csv,
    "rr": _open_roadrunner,
    "davida": DavidaSource,
    "notation": lambda data, batch_events: NotationSource(data),
}
