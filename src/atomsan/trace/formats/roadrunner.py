"""The text of RoadRunner's printing tools: `@   Rd(1,@05.test/Account.balance_I)  Final  Account.java:50:7`.

RAPID's PrintSubsetTool (`-tool=PS`) prints accesses, locking, Start, Join, Enter and Exit; RoadRunner's own
PrintTool (`-tool=P`) prints these and more. Both are read, one event a line. The tid is the thread's name;
accesses have a site:

    Rd ARd VRd, Wr AWr VWr   read and write: of a field, an array's element, a volatile field
    Acquire Release          acquire and release
    Start(a,b)               fork. PrintTool prints it before and after the call; the second is skipped
    Join(a,b)                join. PrintTool prints it before and after the call, and only the second means that
                             the thread has ended; so a Join is delayed until its thread's next event. It only
                             orders what its own thread does next, so the delay changes no order
    Enter Exit               begin and end of a region named by method and descriptor
    Wait(t,l)                printed before and after: the first releases l as often as t holds it, the second
                             acquires it as often again. An interrupted wait has no second: t acquires l before
                             its next event
    Barrier(t,b,Enter)       post of the hand-over `b#k`, at t's k-th Enter of b
    Barrier(t,b,Exit)        take of the same. PrintTool gives all barriers of a run the same name

Every other line is skipped: RoadRunner's messages, the program's own output, and the events Notify (its order
comes from the lock), Sleep, Interrupt, ClassInited, `test acquire` and the like. A line that starts like an
event but is malformed is refused.

The value that RoadRunner's option -value adds behind the bracket is ignored. A site is the last word of a line
that has at least two, because a tool's state, printed before it, may hold spaces. `NullLoc` means no site.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from atomsan.errors import shown

if TYPE_CHECKING:
    from atomsan.trace.symbols import Symbols

_ELEMENT = re.compile(r"(?P<object>[^\[\].]*)(?P<field>\[-?\d+\])")

# object.class.field_descriptor: a class has slashes for dots, a descriptor a backslash before each bracket
_FIELD = re.compile(
    r"(?P<object>[^.]*)\.(?P<class>[^.]*)\.(?P<field>[^./;\[]+)_(?:\\?\[)*(?:[BCDFIJSZ]|L[^;]+;)", re.DOTALL
)

# No Java name is longer, and on a longer one the time of these patterns grows with the square of its length.
_LONGEST_NAME = 4096

_EVENT = re.compile(rb"@\s+(?P<word>\w+)\((?P<rest>.*)", re.DOTALL)


def location_parts(name: str) -> dict[str, str]:
    """The object, class and field in a location's name; a static field has no object."""
    match = (_ELEMENT.fullmatch(name) or _FIELD.fullmatch(name)) if len(name) <= _LONGEST_NAME else None
    if match is None:
        return {}
    parts = match.groupdict()
    if parts["object"] == "null":
        del parts["object"]
    if "class" in parts:
        parts["class"] = parts["class"].replace("/", ".")
    return parts


def describe_locations(symbols: Symbols, start: int, stop: int) -> None:
    """Fill in object, class and field of the locations `start` to `stop` from their names."""
    for number in range(start, stop):
        for field, value in location_parts(symbols.locations[number]).items():
            symbols.locations.set(number, field, value)


def refusal(line: bytes) -> str:
    """What is wrong with a line that starts as an event."""
    match = _EVENT.match(line)
    word = shown(match["word"]) if match else "an event"
    tid, comma, target = match["rest"].partition(b",") if match else (b"", b"", b"")
    if not comma or not re.fullmatch(rb"[^\s()]+", tid):
        problem = "has no thread"
    elif re.match(rb"\)|,", target):
        problem = "has no target"
    elif word == "Barrier" and b")" in target:
        problem = "is neither an Enter nor an Exit"
    else:
        problem = "is not closed"
    return f"{word} {problem}: {shown(line)}"
