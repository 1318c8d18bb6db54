"""The text of RoadRunner's printing tools: `@   Rd(1,@05.test/Account.balance_I)  Final  Account.java:50:7`.

RAPID's PrintSubsetTool (`-tool=PS`) prints accesses, locking, Start, Join, Enter and Exit; RoadRunner's own
PrintTool (`-tool=P`) prints these and more. Both are read, one event a line, with the tid as the thread's
name and the site of an access as its site:

    Rd ARd VRd, Wr AWr VWr   read and write: of a field, an array's element, a volatile field
    Acquire Release          acquire and release
    Start(a,b)               fork. PrintTool says it before and after; the second is skipped
    Join(a,b)                join. PrintTool says it before and after, and only then is it true; so a Join is
                             held back until the thread's next event. It orders what its thread does next and
                             nothing else, so this changes no order
    Enter Exit               begin and end of a region named by method and descriptor
    Wait(t,l)                said before and after: the first releases l as often as t holds it, the second
                             acquires it as often again. An interrupted wait has no second: t has l again at
                             its next event
    Barrier(t,b,Enter)       post of the hand-over `b#k`, at t's k-th Enter of b
    Barrier(t,b,Exit)        take of the same. PrintTool gives all barriers of a run the same name

Every other line is skipped: RoadRunner's messages, what the program printed itself, and of the events Notify
(the lock hands its order over), Sleep, Interrupt, ClassInited, `test acquire` and the like. A line that
starts as an event and does not go on as one is refused.

The value that RoadRunner's option -value adds behind the bracket is passed over. A site is the last word
of a line that has at least two, because a tool's state, printed before it, may hold spaces. `NullLoc` is no
site.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from atomsan.errors import shown

if TYPE_CHECKING:
    from atomsan.trace.events import Kind
    from atomsan.trace.symbols import Symbols

_ELEMENT = re.compile(r"(?P<object>[^\[\].]*)(?P<field>\[-?\d+\])")

# object.class.field_descriptor: a class has slashes for dots, a descriptor a backslash before each bracket
_FIELD = re.compile(
    r"(?P<object>[^.]*)\.(?P<class>[^.]*)\.(?P<field>[^./;\[]+)_(?:\\?\[)*(?:[BCDFIJSZ]|L[^;]+;)", re.DOTALL
)

# No Java name is longer. Of what is, these patterns could make work without end.
_LONGEST_NAME = 4096

_EVENT = re.compile(rb"@\s+(?P<word>\w+)\((?P<rest>.*)", re.DOTALL)


def structure(name: str) -> dict[str, str]:
    """The object, class and field that a location's name is made of; a static field has no object."""
    match = (_ELEMENT.fullmatch(name) or _FIELD.fullmatch(name)) if len(name) <= _LONGEST_NAME else None
    if match is None:
        return {}
    parts = match.groupdict()
    if parts["object"] == "null":
        del parts["object"]
    if "class" in parts:
        parts["class"] = parts["class"].replace("/", ".")
    return parts


def describe(symbols: Symbols, kind: Kind, start: int, stop: int) -> None:
    """Give symbols `start` to `stop` of one kind the structure that their names tell of."""
    if kind == "locations":
        for number in range(start, stop):
            for field, value in structure(symbols.locations[number]).items():
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
