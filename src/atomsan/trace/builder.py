"""Builds a trace event by event, in a program or a test."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import numpy as np

from atomsan.errors import InputError
from atomsan.trace.events import NO_SITE, OP_FROM_WORD, Batch, Event, Op
from atomsan.trace.meta import TraceMeta
from atomsan.trace.symbols import Symbols
from atomsan.trace.trace import Trace
from atomsan.trace.validation import ValidatedSource


class TraceBuilder:
    """Collects events, with names in place of numbers.

        builder = TraceBuilder()
        builder.add("T1", "begin", "transfer").add("T1", "r", "balance", site="bank.py:12")
        trace = builder.build()

    Fields of symbols can be set beforehand, through `builder.symbols`.
    """

    def __init__(self, source: str = "the trace built") -> None:
        self.symbols = Symbols()
        self.source = source
        self._thread = array("I")
        self._op = array("B")
        self._target = array("I")
        self._site = array("I")

    def __len__(self) -> int:
        return len(self._op)

    def add(self, thread: str, op: Op | str, target: str = "", site: str | None = None) -> TraceBuilder:
        """Append an event; `op` may be spelled as a word (`read`) or as in STD (`r`)."""
        known = op if isinstance(op, Op) else OP_FROM_WORD.get(op)
        if known is None:
            raise InputError(f"unknown operation {op!r}", event=len(self))
        if not thread or (not target and known not in (Op.BEGIN, Op.END)):
            raise InputError("a name is empty", event=len(self))
        try:
            numbers = (
                self.symbols.threads.intern(thread),
                self.symbols.targets(known).intern(target),
                NO_SITE if site is None else self.symbols.sites.intern(site),
            )
        except UnicodeEncodeError as error:
            raise InputError("a name is not valid Unicode", event=len(self)) from error
        self._thread.append(numbers[0])
        self._op.append(known)
        self._target.append(numbers[1])
        self._site.append(numbers[2])
        return self

    def extend(self, events: Iterable[Event]) -> TraceBuilder:
        for event in events:
            self.add(*event)
        return self

    def columns(self) -> Batch:
        """The events so far, not validated."""
        return Batch.frozen(
            0,
            np.array(self._thread, np.uint32),
            np.array(self._op, np.uint8),
            np.array(self._target, np.uint32),
            np.array(self._site, np.uint32),
        )

    def build(self, *, lenient: bool = False) -> Trace:
        """The trace so far. One that is not well-formed is refused, or repaired if `lenient`."""
        unvalidated = Trace(self.columns(), self.symbols, TraceMeta(self.source, "notation"))
        return Trace.from_source(ValidatedSource(unvalidated, lenient=lenient))
