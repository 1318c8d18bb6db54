"""Runs code with probes and reads back what they logged: the log, decoded, without the resolver."""

from __future__ import annotations

import mmap
import struct
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from atomsan.recorder.python import _log, _probes
from atomsan.source.plan import Function, Plan, Probe, Region, placeholder, probe_number

HEAD_BYTES = 4096
RECORD = struct.Struct("<QQIIIBBH")
HEAD = struct.Struct("<QQQQQIII")

OPS = {
    0: "read",
    1: "write",
    2: "acquire",
    3: "release",
    4: "fork",
    5: "join",
    6: "begin",
    7: "end",
    8: "post",
    9: "take",
    10: "free",
    11: "alias",
    12: "thread",
    13: "exit",
}
FIELD, INDEX, HASH, NUMBER, OBJECT, STRUCTURE, WHOLE, ELEMENTS = range(1, 9)


class Record(NamedTuple):
    object: int
    key: int
    type: int
    site: int
    thread: int
    op: int
    key_kind: int
    flags: int


class Log:
    """A ring in memory and the definitions that were sent."""

    def __init__(self, records: int = 1 << 16) -> None:
        self.memory = mmap.mmap(-1, HEAD_BYTES + records * RECORD.size)
        _log.make_ring(self.memory)
        self.definitions: list[list[Any]] = []
        self.records: list[Record] = []

    @property
    def head(self) -> dict[str, int]:
        names = ("magic", "capacity", "head", "tail", "lost", "stop", "closed", "waiting")
        return dict(zip(names, HEAD.unpack_from(self.memory), strict=True))

    def drain(self) -> bytes:
        """The bytes of the records since the last time; the ring is free again."""
        head = self.head
        capacity, tail = head["capacity"], head["tail"]
        pieces = []
        while tail < head["head"]:
            start = tail % capacity
            stop = min(capacity, start + head["head"] - tail)
            pieces.append(self.memory[HEAD_BYTES + start * 32 : HEAD_BYTES + stop * 32])
            tail += stop - start
        struct.pack_into("<Q", self.memory, 24, tail)
        return b"".join(pieces)

    def read(self) -> list[Record]:
        """The records since the last time, decoded."""
        new = [Record(*fields) for fields in RECORD.iter_unpack(self.drain())]
        self.records += new
        return new

    def set_stop(self) -> None:
        struct.pack_into("<I", self.memory, 40, 1)

    def named(self, kind: str) -> dict[int, Any]:
        return {message[1]: message[2] for message in self.definitions if message[0] == kind}

    def events(self, names: dict[int, str]) -> list[str]:
        """What was logged about these objects, `write d['k']`, in order. Objects by their addresses."""
        fields = self.named("name")
        keys = {(kind, hash_): text for what, kind, hash_, text in self.definitions_of("key") if what == "key"}
        shown = []
        for record in self.read():
            if record.object not in names or record.op > 1:
                continue
            name = names[record.object]
            where = {
                FIELD: lambda r: "." + fields[r.key],
                INDEX: lambda r: f"[{r.key}]",
                HASH: lambda r: f"[{keys.get((HASH, r.key), '?')}]",
                NUMBER: lambda r: f"[{keys.get((NUMBER, r.key)) or signed(r.key)}]",
                OBJECT: lambda r: f"[{names.get(r.key, 'object')}]",
                STRUCTURE: lambda _: "",
                WHOLE: lambda _: "[*]",
                ELEMENTS: lambda r: f"[{r.key & 0xFFFFFFFF}:{shown_stop(r.key >> 32)}]",
            }[record.key_kind](record)
            shown.append(f"{OPS[record.op]} {name}{where}")
        return shown

    def definitions_of(self, kind: str) -> list[list[Any]]:
        return [message for message in self.definitions if message[0] == kind]


def shown_stop(stop: int) -> str:
    return "" if stop == 0xFFFFFFFF else str(stop)


def signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


@contextmanager
def recording(records: int = 1 << 16, **options: Any) -> Iterator[Log]:
    log = Log(records)
    _log.attach(log.memory, log.definitions.append, **options)
    try:
        yield log
    finally:
        _log.detach()


@contextmanager
def draining(log: Log) -> Iterator[list[bytes]]:
    """Reads the ring in the background, as the process that records would."""
    pieces: list[bytes] = []
    done = threading.Event()

    def run() -> None:
        while not done.wait(0.0005):
            pieces.append(log.drain())

    _log.pause()
    reader = threading.Thread(target=run, daemon=True)
    reader.start()
    _log.resume()
    try:
        yield pieces
    finally:
        done.set()
        reader.join()
        pieces.append(log.drain())


def bound(code: CodeType, probes: list[Any]) -> CodeType:
    """Code with probes where the placeholders stand, in the functions inside it too."""
    constants: list[Any] = []
    for constant in code.co_consts:
        number = probe_number(constant)
        if number is not None:
            constants.append(probes[number])
        elif isinstance(constant, CodeType):
            constants.append(bound(constant, probes))
        else:
            constants.append(constant)
    return code.replace(co_consts=tuple(constants))


REGION = dict.fromkeys(("begin", "end", "suspend", "resume", "span", "aug_attr", "aug_item"), 0)
_sites = iter(range(1, 1 << 30, 1000))


def prepared(source: str, shared: tuple[str, ...] = (), module: str = "m", **globals_: Any) -> dict[str, Any]:
    """Run a source in which `«kind name step»` stands for a probe: what it defined."""
    rows: list[Probe] = []
    text = ""
    for piece in source.split("«"):
        kind, found, rest = piece.partition("»")
        if not found:
            text += piece
            continue
        words = kind.split()
        name, step = (*words[1:], "", "")[:2]
        rows.append(Probe(words[0], 1, 0, 0, name, region=REGION.get(words[0], -1), step=step))
        text += repr(placeholder(len(rows) - 1)) + rest
    plan = Plan(module, "m.py", rows, [Function("<module>", 1)], [Region("m:f", "function", 1, 0)], list(shared))
    probes = _probes.make_probes(plan, next(_sites))
    names: dict[str, Any] = {"__name__": module, **globals_}
    _log.register_module(names, module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # the compiler thinks that placeholders are bytes
        code = compile(text, "m.py", "exec")
    exec(bound(code, probes), names)
    return names


def function(source: str, **globals_: Any) -> FunctionType:
    """The function `f` of such a source."""
    found = prepared(source, **globals_)["f"]
    assert isinstance(found, FunctionType)
    return found
