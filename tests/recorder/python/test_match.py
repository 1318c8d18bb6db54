"""Reads that the interpreter makes while it matches patterns: as those of `obj.x`, `d[key]` and unpacking."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from textwrap import dedent, indent
from typing import Any

import pytest

from atomsan.recorder.python import session
from atomsan.recorder.python.options import RecordingOptions
from recorder.probing import Log

CLASSES = """
import abc, collections, enum

class State(enum.Enum):
    OPEN = 1
    SHUT = 2

class Limits:
    HIGH = 9

class Point:
    __match_args__ = ("x", "y")
    level = 7
    def __init__(self, x, y):
        self.x, self.y = x, y

class Slotted:
    __slots__ = ("x",)
    def __init__(self, x):
        self.x = x

class Abstract(abc.ABC):
    pass

class Counted(Abstract):
    def __init__(self):
        self.x, self.calls = 1, 0
    @property
    def seen(self):
        self.calls += 1
        return self.calls
    def __getattr__(self, name):
        self.calls += 1
        return name

class Asked(dict):
    calls = 0
    def get(self, key, default=None):
        type(self).calls += 1
        return super().get(key, default)

class Picky(type):
    calls = 0
    def __instancecheck__(cls, other):
        Picky.calls += 1
        return True

class Anyone(metaclass=Picky):
    pass
"""


class Recorded:
    """Runs functions of recorded source, and tells what one of them read of its argument `a`."""

    def __init__(self, log: Log, rewritten: Callable[..., Any]) -> None:
        self.log, self._rewritten, self._count = log, rewritten, 0
        self.names = self._run(CLASSES)

    def _run(self, source: str, **names: Any) -> dict[str, Any]:
        self._count += 1
        module = f"m{self._count}"
        found = {"__name__": module, **names}
        exec(self._rewritten(dedent(source).encode(), module, f"{module}.py"), found)
        return found

    def reads(self, source: str, argument: Any, **others: Any) -> str:
        found = self._run("def f(a):\n" + indent(dedent(source), "    "), **self.names, **others)
        self.log.read()
        found["f"](argument)
        return "; ".join(self.log.events({id(argument): "a", **{id(one): name for name, one in others.items()}}))

    def made(self, expression: str) -> Any:
        return eval(expression, self.names)


@pytest.fixture
def recorded() -> Iterator[Recorded]:
    log = Log()
    with session.Session(RecordingOptions(cache=None), log.memory, log.definitions.append) as opened:
        yield Recorded(log, opened.rewritten)


READS = {
    # attributes, in the order in which the interpreter reads them
    "keyword": ("Point(1, 2)", "match a:\n case Point(y=2, x=1): pass", "read a.y; read a.x"),
    "positional": ("Point(1, 2)", "match a:\n case Point(1, y=2): pass", "read a.x; read a.y"),
    "all are read before one is compared": ("Point(1, 2)", "match a:\n case Point(5, 2): pass", "read a.x; read a.y"),
    "one that is not there": ("Point(1, 2)", "match a:\n case Point(z=1, x=1): pass", "read a.z"),
    "a slot": ("Slotted(1)", "match a:\n case Slotted(x=1): pass", "read a.x"),
    "of the class": ("Point(1, 2)", "match a:\n case Point(level=7): pass", "read a.level"),
    "another class": ("Point(1, 2)", "match a:\n case Slotted(x=1): pass", ""),
    "no attribute": ("Point(1, 2)", "match a:\n case Point(): pass", ""),
    "a subclass of an abstract class": ("Counted()", "match a:\n case Abstract(x=1): pass", "read a.x"),
    # cases, up to the one that is taken
    "the second case": ("Point(1, 2)",
        "match a:\n case Point(x=5): pass\n case Point(y=2): pass\n case Point(x=1): pass",
        "read a.x; read a.y"),
    "behind a guard": ("Point(1, 2)", "match a:\n case Point(x=1) if g(): pass\n case Point(y=2): pass", "read a.x"),
    "alternatives": ("Point(1, 2)", "match a:\n case Point(x=5) | Point(y=2): pass", "read a.x; read a.y"),
    "a name for all": ("Point(1, 2)", "match a:\n case Point(x=1) as p: pass\n case _: pass", "read a.x"),
    "a literal of a subject": ("Point(1, 2)", "match a.x:\n case 1 | 2: pass", "read a.x"),
    "only names": ("[1, 2]", "match a:\n case x: pass", ""),
    # values
    "a member": ("Point(State.OPEN, 2)", "match a:\n case Point(x=State.SHUT): pass\n case Point(State.OPEN, 2): pass",
        "read a.x; read a.x; read a.y"),
    "a constant of a class": ("Point(9, 2)", "match a:\n case Point(x=Limits.HIGH): pass\n case Point(y=1): pass",
        "read a.x"),
    "none": ("Point(None, 2)",
        "match a:\n case Point(x=True): pass\n case Point(x=None): pass\n case Point(y=1): pass",
        "read a.x; read a.x"),
    "a number of another type": ("Point(1.0, 2)",
        "match a:\n case Point(x=1): pass\n case Point(y=2): pass", "read a.x"),
    # mappings
    "a key": ("{'k': 1}", "match a:\n case {'k': 1}: pass", "read a['k']"),
    "keys, and one that is not there": ("{'k': 1, 'n': 2}",
        "match a:\n case {'k': _, 'm': 1}: pass\n case {'n': n}: pass",
        "read a['k']; read a['m']; read a['n']"),
    "fewer than there are keys": ("{'k': 1}", "match a:\n case {'k': 1, 'n': 1}: pass", "read a"),
    "the rest": ("{'k': 1}", "match a:\n case {'k': 1, **rest}: pass", "read a['k']; read a; read a['k']"),
    "a mapping, of whatever": ("{'k': 1}", "match a:\n case {}: pass", ""),
    "a key by its name": ("{State.OPEN: 1}", "match a:\n case {State.OPEN: 1}: pass", "read a[object]"),
    "numbers": ("{1: 1}", "match a:\n case {1: 1}: pass", "read a[1]"),
    "a dict that counts": ("collections.Counter('aab')", "match a:\n case {'a': 2}: pass", "read a['a']"),
    "ordered": ("collections.OrderedDict(k=1)", "match a:\n case {'k': 1}: pass", "read a['k']"),
    "a default dict": ("collections.defaultdict(int)",
        "match a:\n case {'k': 0}: pass\n case {**rest}: pass", "read a; read a"),
    # sequences
    "items": ("[1, 2]", "match a:\n case [x, 2]: pass", "read a; read a[0]; read a[1]"),
    "another length": ("[1, 2]", "match a:\n case [x]: pass", "read a"),
    "the first": ("[1, 2, 3]", "match a:\n case [1, *_]: pass", "read a; read a[0]"),
    "the last": ("[1, 2, 3]", "match a:\n case [_, *_, x]: pass", "read a; read a[2]"),
    "the rest of a sequence": ("[1, 2]", "match a:\n case [x, *rest]: pass", "read a; read a[0]; read a[1]"),
    "a length": ("[1, 2]", "match a:\n case [_, _]: pass", "read a"),
    "whatever is in it": ("[1, 2]", "match a:\n case [*_]: pass", ""),
    "text is none": ("'ab'", "match a:\n case [x, y]: pass", ""),
    "a builtin class": ("[1]", "match a:\n case str(): pass\n case list([1]): pass", "read a; read a[0]"),
}  # fmt: skip


@pytest.mark.parametrize("name", READS)
def test_reads(name: str, recorded: Recorded) -> None:
    made, source, expected = READS[name]
    assert recorded.reads(source, recorded.made(made), g=lambda: True) == expected


def test_nested_patterns_read_what_is_inside(recorded: Recorded) -> None:
    inner = recorded.made("Point(1, 2)")
    outer = [{"at": inner}]
    source = "match a:\n case [{'at': Point(x=1, y=3)}]: pass\n case [{'at': Point(y=2)}]: pass"
    reads = recorded.reads(source, outer, inner=inner, middle=outer[0])
    once = "read a; read a[0]; read middle['at']"
    assert reads == f"{once}; read inner.x; read inner.y; {once}; read inner.y"


@pytest.mark.parametrize("source", [
    "match a:\n case Counted(seen=1): pass", "match a:\n case Counted(missing='missing'): pass",
])  # fmt: skip
def test_code_of_the_program_runs_once(source: str, recorded: Recorded) -> None:
    one = recorded.made("Counted()")
    recorded.reads(source, one)
    assert one.calls == 1


def test_methods_of_a_mapping_are_not_called_for_us(recorded: Recorded) -> None:
    one = recorded.made("Asked(k=1)")
    assert recorded.reads("match a:\n case {'k': 1}: pass", one) == "read a['k']"  # by `get` itself
    assert type(one).calls == 1


def test_classes_that_say_what_their_instances_are_are_asked_once(recorded: Recorded) -> None:
    recorded.reads("match a:\n case Anyone(x=1): pass", recorded.made("Point(1, 2)"))
    assert recorded.names["Picky"].calls == 1


def test_local_classes_are_left_alone(recorded: Recorded) -> None:
    source = "class Point: pass\nmatch a:\n case Point(x=1): pass\n case {'k': 1}: pass"
    assert recorded.reads(source, {"k": 1}) == ""


def test_errors_are_those_of_the_interpreter(recorded: Recorded) -> None:
    for source, error in (
        ("match a:\n case Nowhere(x=1): pass", NameError),
        ("match a:\n case Point(1, 2, 3): pass", TypeError),
        ("match a:\n case Point(1, x=1): pass", TypeError),
        ("match a:\n case State.OPEN(x=1): pass", TypeError),
    ):
        with pytest.raises(error):
            recorded.reads(source, recorded.made("Point(1, 2)"))


def test_a_deque_is_no_list(recorded: Recorded) -> None:
    """Its items are read by its own code: nothing is claimed."""
    assert recorded.reads("match a:\n case [1, x]: pass", collections.deque([1, 2])) == ""
