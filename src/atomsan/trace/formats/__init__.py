"""The table of trace formats, and how a format is detected: from the content first, from the name second."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from pathlib import PurePath
from typing import NamedTuple


class Format(NamedTuple):
    """A format, for `--help`, messages and detection. Suffixes are those of the plain file, without .gz or .zst."""

    title: str
    suffixes: tuple[str, ...]
    written: bool
    says_if_cut: bool = False
    """Whether it can say that events of the run are missing."""


FORMATS: dict[str, Format] = {
    "bundle": Format("AtomSan's own: a directory of Arrow files", (".atomtrace",), True, True),
    "parquet": Format("an archive in one Parquet file", (".parquet",), True, True),
    "std": Format("RAPID's STD text, thread|op(target)|site", (".std", ".txt"), True),
    "csv": Format("RAPID's CSV text, one column a thread", (".csv",), True),
    "rr": Format("what RoadRunner's printing tool prints", (".rr",), False),
    "davida": Format("the binary log of the Davida and RegionTrack tools", (".log", ".bin"), False),
    "notation": Format("the one-line notation, T1:r(x) T2:w(x)", (".trace",), True),
}

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}

_OPS = rb"(?:r|w|acq|rel|fork|start|join|begin|enter|end|exit|post|take|sync)"
_ROADRUNNER = re.compile(rb"(?m)^(?:@ +(?:test |\w+\[tid|[A-Z]\w*\(\d+[,)])|\[main: RoadRunner|\[RR: )")
_CSV = re.compile(rb",*" + _OPS + rb"(?:\(.*\))?,*")
_NOTATION = re.compile(rb"[^\s:|,()]+:" + _OPS + rb"(?:\(\S*\)\S*)?(?:\s.*)?", re.DOTALL)


def suffix_format(name: str) -> str | None:
    """The format of a file by its suffix, or None."""
    suffix = plain_suffix(name)
    return next((format for format, facts in FORMATS.items() if suffix in facts.suffixes), None)


def plain_suffix(name: str) -> str:
    """The suffix of a name without .gz or .zst."""
    path = PurePath(name)
    return (path.with_suffix("") if path.suffix in COMPRESSIONS else path).suffix.lower()


def detect(head: bytes, name: str) -> str | None:
    """The format of a file that starts with `head`; None if neither content nor name tells."""
    if head.startswith(b"PAR1"):
        return "parquet"
    if _is_davida(head):
        return "davida"
    text = head.removeprefix(BOM_UTF8)
    line = next((line.strip() for line in text.splitlines() if line.strip()), b"")
    if not line:
        return suffix_format(name) or "std"
    if _ROADRUNNER.search(text):
        return "rr"
    if _CSV.fullmatch(line):
        return "csv"
    if line.count(b"|") == 2:
        return "std"
    if _NOTATION.fullmatch(line):
        return "notation"
    return suffix_format(name) or ("std" if b"|" in line else None)


def _is_davida(head: bytes) -> bool:
    """Triples of big-endian int32 whose middle one is 20 to 25."""
    triples = min(len(head) // 12, 1000)
    return triples > 0 and all(
        head[at : at + 3] == b"\0\0\0" and 20 <= head[at + 3] <= 25 for at in range(4, 12 * triples, 12)
    )
