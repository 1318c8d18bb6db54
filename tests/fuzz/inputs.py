"""Turns the fuzzer's bytes into inputs of each format, and provides its seeds.

The first byte of every input chooses how it is read (`Way`). What follows is the content itself for the text formats.
Containers, whose checksums and lengths would stop nearly every plain mutation at the door, are made from a recipe
instead: see `archives`.
"""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from fuzz import archives
from fuzz.patches import SEPARATOR, patched

GOLDEN = Path(__file__).parents[1] / "golden"


@dataclass(frozen=True)
class Way:
    """How an input is read. Only `lenient` may change what is read."""

    lenient: bool
    says_format: bool
    batch_events: int
    chunk: int

    @classmethod
    def chosen(cls, byte: int) -> Way:
        return cls(
            lenient=bool(byte & 1),
            says_format=bool(byte & 2),
            batch_events=(4, 5, 64, 1000)[byte >> 2 & 3],
            chunk=(32, 100, 1 << 12, 1 << 16)[byte >> 4 & 3],
        )


# Strict, in one piece, with the format given.
PLAIN = 0b111110


def plain_content(content: bytes, directory: Path) -> bytes:
    return content


def compressed_content(content: bytes, directory: Path) -> bytes:
    """STD text compressed and then damaged; or, after a first byte from 128 on, the bytes as they are."""
    kind, rest = content[:1] or b"\0", content[1:]
    if kind[0] >= 128:
        return rest
    text, _, recipe = rest.partition(SEPARATOR)
    pack = zstd if kind[0] & 1 else gzip.compress
    pieces = [text] if kind[0] & 2 else [text[: len(text) // 2], text[len(text) // 2 :]]
    return patched(b"".join(map(pack, pieces)), recipe)


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


TEXTS = ("std", "csv", "rr", "davida", "notation")

# What stands after the first byte of an input, as bytes for a stream or as a path.
INPUTS: dict[str, Callable[[bytes, Path], bytes | Path]] = {
    **dict.fromkeys(TEXTS, plain_content),
    "compressed": compressed_content,
    "bundle": archives.bundle,
    "parquet": archives.parquet,
}


def seeds(format: str) -> Iterator[bytes]:
    """Small inputs for the fuzzer to start from: valid ones, and a few invalid ones."""
    contents = list(_CONTENTS[format]())
    for content in contents:
        yield bytes([PLAIN]) + content
    for way in range(0, 64, 5):
        yield bytes([way]) + contents[way % len(contents)]


def dictionary(format: str) -> list[bytes]:
    """Words of the format, which the fuzzer inserts as a whole."""
    return _WORDS.get(format, [])


_EVENTS = (
    b"T0|begin(m)|1 T0|r(x)|2 T0|acq(l)|3 T0|fork(T1)|4 T1|w(a long variable)|5 T1|begin()|- T1|post(h)|6"
    b" T2|take(h)|7 T1|end()|8 T0|rel(l)|9 T0|join(T1)|10 T0|end(m)|a.py:3:4"
).split(b" T")

_ROADRUNNER = b"""[main: RoadRunner Agent Loaded.]
@  main[tid = 0] started .
@  Enter(0,test/Test.main([Ljava/lang/String;)V) from null
@   Start(0,1)
what the program prints
@   Start(0,1)
@   Acquire(1,@03)
@   Acquire(1,@03)
@   Rd(1,@05.test/Deadlock.value_I)  Final  Deadlock.java:50:7
@   AWr(1,@0A[3])  [a b]  Deadlock.java:51
@   Wr(1,@0A.A.b_I)[1 -> 2]  State  Deadlock.java:52
@   VWr(1,null.test/Deadlock.flag_Z)  null
@   Wait(1,@03)
@   Barrier(0,b,Enter)
@   Barrier(0,b,Exit)
@   Wait(1,@03)
@   Release(1,@03)
@   Release(1,@03)
@   Join(0,1)
@  Exit(0,test/Test.main([Ljava/lang/String;)V)
"""

_CSV = (
    b"begin(m),,\nr(x),,\nacq(l),,\nfork(T1),,\n,w(a long variable),\n,enter,\n,sync(y),\n,post(h),\n,,take(h)\n"
    b",exit,\nrel(l),,\njoin(T1),,\nend(m),,\n"
)

_NOTATION = b"T1:begin(m) T1:r(x)@a.py:3 T1:fork(T2) T2:acq(l) T2:w(x%20y) T2:rel(l) T1:join(T2) T1:end\nT3:post(h)\n"

_TOML = b"""[tool.atomsan]
lenient = true
format = "json"
output = ["a.json", "b.txt"]
read-share = 0.5
events = 10_000
"""


def _std() -> Iterator[bytes]:
    text = b"\nT".join(_EVENTS) + b"\n"
    yield text
    yield b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n") + b"\nT5|r(a%7Cb)|%2D\nT5|r(\xc3\xa9)|12"
    # the golden traces are similar: a few are enough
    for path in sorted(GOLDEN.glob("*.std"))[::6]:
        yield path.read_bytes()


def _davida() -> Iterator[bytes]:
    rows = [(1, 20, 7), (1, 24, 3), (1, 22, 99), (-2, 23, 99), (1, 25, 3), (1, 21, 7)]
    yield b"".join(struct.pack(">iii", *row) for row in rows)
    yield b"".join(struct.pack(">iii", thread, op, -(1 << 31)) for thread, op, _ in rows[2:4])


def _compressed() -> Iterator[bytes]:
    text = next(_std())
    for kind in range(4):
        yield bytes([kind]) + text
        yield bytes([kind]) + text + SEPARATOR + b"\x03\0\x09\0"
    yield bytes([128]) + gzip.compress(text)
    yield bytes([129]) + zstd(text)


def _config() -> Iterator[bytes]:
    yield _TOML
    yield _TOML.partition(b"\n")[2]


_CONTENTS: dict[str, Callable[[], Iterator[bytes]]] = {
    "std": _std,
    "csv": lambda: iter([_CSV, b"\n".join(_CSV.split(b"\n")[:3])]),
    "rr": lambda: iter([_ROADRUNNER]),
    "davida": _davida,
    "notation": lambda: iter([_NOTATION]),
    "compressed": _compressed,
    "bundle": archives.recipes,
    "parquet": archives.recipes,
    "config": _config,
}

_OPS = [b"r(x)", b"w(", b"acq(l)", b"rel(l)", b"fork(T1)", b"join(T1)", b"begin(", b"end(", b"post(h)", b"take(h)"]
_NAMES = [b"%0A", b"%2C", b"%00", b"%FF", b"%EF%BB%BF", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\r\n", b"()", b"-"]

_WORDS: dict[str, list[bytes]] = {
    "std": [*_OPS, *_NAMES, b"|1\n", b"|-\n", b"\nT1|"],
    "csv": [*_OPS, *_NAMES, b"sync(x)", b"enter", b"exit", b"start(T2)", b"),\n", b",,,,,,,,"],
    "rr": [line.split(b"(")[0] + b"(" for line in _ROADRUNNER.split(b"\n") if line.startswith(b"@   ")] + _NAMES,
    "notation": [*(b" T1:" + op for op in _OPS), *_NAMES, b"@a.py:3", b" T2:end"],
    "compressed": [*_OPS, SEPARATOR],
    "bundle": [SEPARATOR, json.dumps({"first": 3, "count": 1 << 31}).encode(), b'"numbered_sites":', b'"events":'],
    "parquet": [SEPARATOR, b'"numbered_sites":{"first":0,"count":9}', b'"complete":false'],
    "config": [b"[tool.atomsan]", b"[[tool]]", b"'''", b"\\u0000", b"= true", b"= [", b"{x.y = 1}", b"1979-05-27"],
}
