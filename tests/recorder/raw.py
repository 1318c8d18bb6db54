"""Raw logs for tests: records in the layout of `_raw.h`, definitions, and what the resolver makes of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from atomsan.recorder.log.recording import Recording
from atomsan.recorder.python.language import PYTHON
from atomsan.trace.events import Batch
from atomsan.trace.insertions import with_insertions
from atomsan.trace.trace import Trace
from atomsan.trace.validation import ValidatedSource

RECORD = np.dtype(
    [
        ("object", "u8"),
        ("key", "u8"),
        ("type", "u4"),
        ("site", "u4"),
        ("thread", "u4"),
        ("op", "u1"),
        ("key_kind", "u1"),
        ("flags", "u2"),
    ]
)

OPS = (
    *("read", "write", "acquire", "release", "fork", "join", "begin", "end", "post", "take"),
    *("free", "alias", "thread", "exit", "entry", "wait", "woken", "semaphore", "barrier", "arrive", "depart"),
    *("region", "region_end", "block", "block_end", "held", "called", "made", "holds", "field"),
)
KEYS = ("none", "field", "index", "hash", "number", "object", "structure", "whole", "elements")
HANDS = ("plain", "item", "permit", "start", "nothing")
FLAGS = {
    "augmented": 1,
    "loop": 2,
    "no_wait": 4,
    "class": 8,
    "queue": 16,
    "called_back": 32,
    "known": 64,
    "resumed": 128,
    "loops": 1024,
    "state": 2048,
}


def record(
    thread: int,
    op: str,
    object: int = 0,
    key: int = 0,
    kind: str = "",
    *,
    site: int = 0,
    type: int = 0,
    flag: str = "",
) -> tuple[int, ...]:
    """One record. Without a `kind`, the key of an access is a field."""
    number = OPS.index(op)
    if op in ("post", "take"):
        key_kind = HANDS.index(kind or "plain")
    else:
        key_kind = KEYS.index(kind or ("field" if op in ("read", "write") else "none"))
    return (object, key, type, site, thread, number, key_kind, FLAGS.get(flag, 0))


def log(records: Iterable[tuple[int, ...]]) -> Any:
    """Records as the bytes of a ring."""
    return np.array(list(records), RECORD).view(np.uint8)


class BatchList:
    """A sink that keeps the batches."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.insertions: list[Any] = []

    def insert(self, insertions: Any) -> None:
        self.insertions.append(insertions)

    def write(self, batch: Batch) -> None:
        self.batches.append(batch)

    def idle(self) -> None:
        pass

    def finish(self) -> None:
        pass


class Resolved:
    """A recording that is fed by hand."""

    def __init__(
        self, definitions: Iterable[list[Any]] = (), directory: str | None = None, *, keeps_unshared: bool = True
    ) -> None:
        self.recording = Recording(
            shared=False, ring_bytes=1 << 14, directory=directory, language=PYTHON, keeps_unshared=keeps_unshared
        )
        self._sink = BatchList()
        self.recording.start(self._sink)
        self.symbols = self.recording.symbols
        self.meta = self.recording.meta
        self.place = self.recording.place
        self.define(definitions)

    def define(self, definitions: Iterable[list[Any]]) -> None:
        for message in definitions:
            self.recording.send(message)

    def feed(self, *records: tuple[int, ...]) -> Resolved:
        self.recording.feed(log(records))
        return self

    def restart(self) -> Resolved:
        """What comes from now on is another trace."""
        self.recording.restart("another")
        self._sink.batches.clear()
        self._sink.insertions.clear()
        self.symbols = self.recording.symbols
        self.meta = self.recording.meta
        return self

    def batches(self):  # type: ignore[no-untyped-def]
        self.recording.finish()
        yield from with_insertions(self._sink.batches, self._sink.insertions)

    def trace(self) -> Trace:
        """What came of it; the trace's own validation refuses it if it is not well-formed."""
        return Trace.from_source(ValidatedSource(self))

    def notation(self) -> str:
        """Without sites."""
        return " ".join(f"{event.thread}:{event.op.short}({event.target})" for event in self.trace().events())


def module(
    probes: Iterable[tuple[Any, ...]],
    *,
    regions: Iterable[tuple[Any, ...]] = (),
    functions: Iterable[str] = ("<module>", "f", "g"),
    first: int = 1,
    name: str = "m",
    file: str = "m.py",
    source: str = "",
) -> list[Any]:
    """The definition of a module. A probe: (kind, line, column, function, name, text, region, feeds, node) or less."""
    defaults = (None, 1, 0, 0, "", "", -1, -1, -1)
    plan = {
        "module": name,
        "file": file,
        "probes": [[*probe, *defaults[len(probe) :]] for probe in probes],
        "functions": [[function, 1, -1, "{}"] for function in functions],
        "regions": [[*region, *("", "function", 1, 0, False, False, [])[len(region) :]] for region in regions],
        "shared_names": [],
    }
    return ["module", {"first_site": first, "plan": plan, "source": source}]


NAMES = [["name", 1, "x", 101], ["name", 2, "y", 102], ["module_name", 1 << 40, "m"]]
M = 1 << 40
"""The namespace of module `m`, whose globals are `m.x` and `m.y`."""
