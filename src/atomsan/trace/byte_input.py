"""Reads the bytes of an input: a file, standard input or an open stream; plain, gzip or zstd.

A thread reads and decompresses a few buffers ahead of the parser. Every failure is an `InputError`.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO, Protocol

from atomsan.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"

HEAD_BYTES = 1 << 16

PathOrStream = str | os.PathLike[str] | BinaryIO


class _Reader(Protocol):
    def readinto(self, buffer: Any, /) -> int | None: ...


class _Rewound(io.RawIOBase):
    """A stream with its first bytes put back."""

    def __init__(self, head: bytes, rest: _Reader) -> None:
        self._head = memoryview(head)
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        if self._head:
            size = min(len(buffer), len(self._head))
            memoryview(buffer)[:size] = self._head[:size]
            self._head = self._head[size:]
            return size
        return self._rest.readinto(buffer) or 0


class _Counted:
    """A stream that knows how many bytes went through it."""

    def __init__(self, stream: _Reader) -> None:
        self._stream = stream
        self.position = 0

    def readinto(self, buffer: Any, /) -> int:
        size = self._stream.readinto(buffer) or 0
        self.position += size
        return size


class ByteInput:
    """An open input. `head` has the first bytes of its decompressed content; `fill` starts with them."""

    def __init__(self, source: PathOrStream) -> None:
        self.name = _name(source)
        is_path = isinstance(source, str | os.PathLike) and os.fspath(source) != "-"
        self.path: str | None = os.fspath(source) if is_path else None  # type: ignore[arg-type]
        self.size: int | None = None
        self._is_ours = isinstance(source, str | os.PathLike)
        with input_errors(self.name):
            self._stream = self._open(source)
        try:
            with input_errors(self.name):
                self._read_head()
        except BaseException:
            self.close()
            raise

    def _read_head(self) -> None:
        self._counted = _Counted(self._stream)
        self.head = _read(self._counted, HEAD_BYTES)
        self._reader = _Rewound(self.head, self._counted)
        if self.head.startswith((GZIP_MAGIC, ZSTD_MAGIC)):
            plain = _decompressor(self._reader, is_gzip=self.head.startswith(GZIP_MAGIC))
            self.head = _read(plain, HEAD_BYTES)
            self._reader = _Rewound(self.head, plain)

    @property
    def position(self) -> int:
        """Bytes read so far from the file, compressed as it is; `size` is all of it, if known."""
        return self._counted.position

    def fraction(self) -> float | None:
        """How much of the file was read so far, from 0 to 1, if its size is known."""
        return min(self.position / self.size, 1.0) if self.size else None

    def fill(self, buffer: memoryview) -> int:
        """Fill the buffer and return the number of bytes; fewer than its length only at the end of the input."""
        filled = 0
        with input_errors(self.name):
            while filled < len(buffer):
                size = self._reader.readinto(buffer[filled:])
                if not size:
                    self._check_size()
                    break
                filled += size
        return filled

    def read_all(self, most: int) -> bytes:
        """The whole input, at most `most` bytes, for a format that is meant to be small."""
        pieces: list[bytearray] = []
        while size := self.fill(memoryview(piece := bytearray(1 << 20))):
            pieces.append(piece[:size])
            if sum(map(len, pieces)) > most:
                raise InputError(f"longer than the {most} bytes that this format may have", source=self.name)
        return b"".join(pieces)

    def close(self) -> None:
        """Close the input, unless it is a stream that the caller opened."""
        if self._is_ours:
            with suppress(OSError, ValueError):
                self._stream.close()

    def _open(self, source: PathOrStream) -> Any:
        if not isinstance(source, str | os.PathLike):
            if isinstance(source, io.TextIOBase):
                raise InputError("a text stream; open it in binary mode")
            return source if hasattr(source, "readinto") else io.BytesIO(source.read())
        if os.fspath(source) == "-":
            return _standard_input()
        stream = io.FileIO(os.fspath(source))
        status = os.fstat(stream.fileno())
        if stat.S_ISREG(status.st_mode):
            self.size = status.st_size
        return stream

    def _check_size(self) -> None:
        if self.size is not None and self.position < self.size:
            raise InputError(f"the file shrank while being read, to {self.position} of {self.size} bytes")


@contextmanager
def input_errors(name: str) -> Iterator[None]:
    """Turns every failure to read the input `name` into an `InputError`."""
    try:
        yield
    except InputError as error:
        error.set_source(name)
        raise
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(_reason(error), source=name) from error


def _reason(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file or directory"
    if isinstance(error, PermissionError):
        return "permission denied"
    if isinstance(error, IsADirectoryError):
        return "a directory, but not a trace bundle (it has no meta.json)"
    if isinstance(error, EOFError | gzip.BadGzipFile | zlib.error):
        return f"the gzip data is cut or damaged ({error})"
    if isinstance(error, OSError) and error.errno is None:
        return f"the zstd data is cut or damaged ({error})"
    return f"cannot be read: {error.strerror if isinstance(error, OSError) else error}"


def _name(source: PathOrStream) -> str:
    if isinstance(source, str | os.PathLike):
        name = os.fspath(source)
        return "standard input" if name == "-" else name
    own_name = getattr(source, "name", None)
    return own_name if isinstance(own_name, str) else "the input"


def _standard_input() -> Any:
    """Standard input without its buffer: a thread that waits for input would hold the buffer's lock."""
    if sys.stdin is None:
        raise InputError("it is closed")
    try:
        return io.FileIO(sys.stdin.fileno(), closefd=False)
    except OSError:  # not a file: the program replaced sys.stdin
        return sys.stdin.buffer


def _read(reader: _Reader, size: int) -> bytes:
    buffer = bytearray(size)
    filled = 0
    while filled < size and (more := reader.readinto(memoryview(buffer)[filled:])):
        filled += more
    return bytes(buffer[:filled])


def _decompressor(reader: _Rewound, *, is_gzip: bool) -> _Reader:
    # The decompressors read in small pieces; the buffer turns these into large ones.
    buffered = io.BufferedReader(reader, 1 << 18)
    if is_gzip:
        return gzip.GzipFile(fileobj=buffered)
    import pyarrow as pa

    stream: _Reader = pa.CompressedInputStream(pa.PythonFile(buffered, mode="r"), "zstd")
    return stream


class ReadAhead:
    """Filled buffers of one input, read a few ahead by a thread.

    Each buffer has `room` free bytes before the data (for the rest of the buffer before) and 64 after it.
    """

    BUFFERS = 4

    def __init__(self, source: ByteInput, chunk: int, room: int) -> None:
        self._source = source
        self._chunk = chunk
        self._room = room
        self._free: SimpleQueue[bytearray | None] = SimpleQueue()
        self._full: SimpleQueue[tuple[bytearray, int] | BaseException] = SimpleQueue()

    def __iter__(self) -> Iterator[tuple[bytearray, int]]:
        """(buffer, size of its data). A buffer is valid, and may be changed, until the next one is taken."""
        first = bytearray(self._room + self._chunk + 64)
        size = self._fill(first)
        yield first, size
        if size < self._chunk:
            return
        for _ in range(self.BUFFERS - 1):
            self._free.put(bytearray(len(first)))
        self._free.put(first)
        threading.Thread(target=self._run, name="atomsan-read-ahead", daemon=True).start()
        try:
            while True:
                filled = self._full.get()
                if isinstance(filled, BaseException):
                    raise filled
                yield filled
                if filled[1] < self._chunk:
                    return
                self._free.put(filled[0])
        finally:
            self._free.put(None)

    def _run(self) -> None:
        while (buffer := self._free.get()) is not None:
            try:
                size = self._fill(buffer)
            except BaseException as error:
                self._full.put(error)
                return
            self._full.put((buffer, size))
            if size < self._chunk:
                return

    def _fill(self, buffer: bytearray) -> int:
        return self._source.fill(memoryview(buffer)[self._room : self._room + self._chunk])


def is_directory(source: object) -> bool:
    return isinstance(source, str | os.PathLike) and os.fspath(source) != "-" and Path(source).is_dir()
