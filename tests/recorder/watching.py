"""Runs small programs with their primitives watched, and shows what they logged in one line an event."""

from __future__ import annotations

from typing import Any

from atomsan.recorder.python import _log, primitives
from recorder.probing import Log, prepared, recording
from recorder.raw import OPS

HANDS = ("", " item", " permit", " start", " nothing")
NOTHING = 4
STRUCTURE = 6
LOOP_LOCK, NO_WAIT, STATE = 2, 4, 2048


def logged(source: str, *, frees: bool = False, loop: bool = False, **names: Any) -> list[str]:
    """What a program logs: `1 acquire lock`, with the thread's number and the global that is at the address.

    Objects without a name are `?`; keys are shown where they say something. Steps of the loop only with `loop`.
    """
    with recording() as log, primitives.watching():
        program = prepared(source, **names)
        _log.pause()
        return shown(log, program, frees=frees, loop=loop)


def shown(log: Log, program: dict[str, Any], *, frees: bool = False, loop: bool = False) -> list[str]:
    names = {id(value): name for name, value in program.items()}
    lines = []
    # The numbers of threads go on from one recording to the next: here they start at 1, in the order of their records.
    numbers = {0: 0}
    for record in log.read():
        op = OPS[record.op]
        if op in ("made", "called"):
            continue  # for names: what the program does is shown
        if (op == "free" and not frees) or (record.flags & LOOP_LOCK and not loop):
            continue
        key = record.key
        thread = numbers.setdefault(record.thread, len(numbers))
        if op in ("fork", "join"):
            key = numbers.setdefault(key, len(numbers))
        line = f"{thread} {op}"
        if record.object:
            line += f" {names.get(record.object, '?')}"
        if op in ("post", "take"):
            line += HANDS[record.key_kind]
            key = 0 if record.key_kind == NOTHING else key
        if record.flags & STATE:
            line += " state"
            key = 0
        elif op in ("read", "write"):
            line += " structure" if record.key_kind == STRUCTURE else " other"
        if key and not (op in ("acquire", "release") and key == 1):
            line += f" {names.get(key, '?' if key > 1 << 32 else key)}"
        if op == "release" and key == 0:
            line += " all"
        if record.flags & NO_WAIT:
            line += " no-wait"
        lines.append(line)
    return lines
