"""Directed scheduler: makes the threads of a program take their steps in a given order.

The recorder asks it at everything that it logs (`atomsan.types.Scheduler`, with a gap of 0). A thread whose turn it
is not waits there. A step is over when a record of shared data or of a lock was written and the thread is at its next
point. So the program itself is ordinary Python, and nothing of this is in its trace.
"""

from __future__ import annotations

import _thread
import struct
import threading
from collections.abc import Mapping
from typing import Any

RECORD = struct.Struct("<QQIIIBBH")
HEAD_BYTES = 4096
READ, WRITE, ACQUIRE, RELEASE = range(4)
FIELD_KEY = 1

# Longer than any wait of a program that takes its steps as expected.
PATIENCE = 5.0
MOST_THREADS = 4

# Before any recording: the recorder does not watch them.
_GATES = [_thread.allocate_lock() for _ in range(MOST_THREADS)]


class Directed:
    """Lets threads run in the order of `schedule`: the thread of each step.

    A thread has its number in the attribute `number`. `memory` is the recorder's ring; `fields` has the names of fields
    by their numbers in it.
    """

    def __init__(self, memory: Any, schedule: tuple[int, ...], fields: Mapping[int, str]) -> None:
        self._memory = memory
        self._capacity: int = struct.unpack_from("<Q", memory, 8)[0]
        self._schedule = schedule
        self._left = [schedule.count(thread) for thread in range(MOST_THREADS)]
        self._fields = fields
        self._at = 0
        self._objects: dict[int, frozenset[str] | None] = {}
        """Shared objects by address, and which of their fields count; None: all."""
        self._begun: set[int] = set()
        self._seen = 0
        self.failure: str | None = None
        for gate in _GATES:
            gate.acquire(blocking=False)

    def share(self, thing: object, fields: frozenset[str] | None = None) -> None:
        self._objects[id(thing)] = fields

    def start(self) -> int:
        return 0

    def done(self) -> None:
        pass

    def begin(self, threads: int) -> None:
        """So many threads were started; the one whose step is the first may go on."""
        self._seen = self._head()
        for number in range(threads):
            if self._schedule[:1] == (number,) or not self._left[number]:
                _GATES[number].release()

    def point(self) -> int:
        # not `current_thread`, which makes up a thread where there is none yet
        thread = threading._active.get(_thread.get_ident())  # type: ignore[attr-defined]
        number: int | None = getattr(thread, "number", None)
        if number is None or self.failure is not None:
            return 0
        if number not in self._begun:
            self._begun.add(number)
            self._wait(number)
            return 0
        if self._at < len(self._schedule) and self._schedule[self._at] == number and self._has_stepped():
            self._pass_on(number)
        return 0

    def _pass_on(self, number: int) -> None:
        self._at += 1
        self._left[number] -= 1
        if self._at == len(self._schedule):
            return
        following = self._schedule[self._at]
        if following != number:
            _GATES[following].release()
            if self._left[number]:
                self._wait(number)

    def _wait(self, number: int) -> None:
        if not _GATES[number].acquire(timeout=PATIENCE):
            self.failure = f"thread {number} waited for step {self._at} of {len(self._schedule)}"

    def _head(self) -> int:
        head: int = struct.unpack_from("<Q", self._memory, 16)[0]
        return head

    def _has_stepped(self) -> bool:
        """Whether there is a record of shared data or locks since the last look."""
        head = self._head()
        found = any(self._counts(number) for number in range(self._seen, head))
        self._seen = head
        return found

    def _counts(self, number: int) -> bool:
        offset = HEAD_BYTES + number % self._capacity * RECORD.size
        thing, key, _, _, _, operation, key_kind, _ = RECORD.unpack_from(self._memory, offset)
        if operation > RELEASE or thing not in self._objects:
            return False
        fields = self._objects[thing]
        return fields is None or key_kind != FIELD_KEY or self._fields.get(key) in fields
