"""The positions in flow summaries are those at which the instrumented code stands when it calls."""

from __future__ import annotations

import ast
import asyncio
import functools
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import nullcontext
from types import FrameType
from typing import Any

import pytest
from tests.source.standins import StandIn

from atomsan.source.flow_summaries import FlowSummaries
from atomsan.source.instrument import bind
from atomsan.source.invocations import position_of
from atomsan.source.statements import StatementRewriter

FILE = "<snippet>"


class Seen:
    """Where code of the program was called from, by what was called."""

    def __init__(self) -> None:
        self.positions: list[tuple[str, str]] = []

    def note(self, name: str) -> None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != FILE:
            frame = frame.f_back
        if frame is not None:
            line, last, column, end = position_of(frame.f_code, frame.f_lasti)
            self.positions.append((name, f"{line}:{column}:{last}:{end}"))


SEEN = Seen()


def noted(name: str, result: Callable[[Any], Any] = lambda self: self) -> Callable[..., Any]:
    def method(self: Any, *_: Any, **__: Any) -> Any:
        SEEN.note(name)
        return result(self)

    return method


class Descriptor:
    def __get__(self, instance: object, owner: type | None = None) -> object:
        SEEN.note("__get__")
        return instance

    def __set__(self, instance: object, value: object) -> None:
        SEEN.note("__set__")

    def __delete__(self, instance: object) -> None:
        SEEN.note("__delete__")


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*arguments: Any) -> Any:
        return function(*arguments)

    return wrapper


class Base:
    def m(self, *_: object, **__: object) -> object:
        SEEN.note("m")
        return self


class Thing(Base):
    """An object of which every use runs code."""

    p = property(noted("p"), noted("p.set"), noted("p.del"))
    d = Descriptor()
    cached = functools.cached_property(lambda self: noted("cached")(self))
    append = noted("append")
    get = noted("get")
    wrapped = decorated(noted("wrapped"))
    __getitem__ = noted("__getitem__")
    __setitem__ = noted("__setitem__")
    __delitem__ = noted("__delitem__")
    __contains__ = noted("__contains__", lambda self: True)
    __len__ = noted("__len__", lambda self: 1)
    __bool__ = noted("__bool__", lambda self: True)
    __enter__ = noted("__enter__")
    __exit__ = noted("__exit__", lambda self: None)
    __add__ = noted("__add__")
    __iadd__ = noted("__iadd__")
    __neg__ = noted("__neg__")
    __lt__ = noted("__lt__", lambda self: True)
    __call__ = noted("__call__")
    __format__ = noted("__format__", lambda self: "x")
    __str__ = noted("__str__", lambda self: "x")

    def __init__(self, *_: object) -> None:
        SEEN.note("__init__")

    def __eq__(self, other: object) -> bool:
        SEEN.note("__eq__")
        return True

    __hash__ = object.__hash__

    def __iter__(self) -> Iterator[Any]:
        SEEN.note("__iter__")
        return Steps()

    def keys(self) -> list[str]:
        SEEN.note("keys")
        return []

    async def __aenter__(self) -> Thing:
        SEEN.note("__aenter__")
        return self

    async def __aexit__(self, *_: object) -> None:
        SEEN.note("__aexit__")

    def __aiter__(self) -> AsyncIterator[Any]:
        SEEN.note("__aiter__")
        return AsyncSteps()

    def __await__(self) -> Iterator[Any]:
        SEEN.note("__await__")
        return iter(())


class Steps:
    def __init__(self) -> None:
        self._left = 2

    def __iter__(self) -> Steps:
        return self

    def __next__(self) -> object:
        SEEN.note("__next__")
        self._left -= 1
        if self._left < 0:
            raise StopIteration
        return QUIET


class AsyncSteps:
    def __init__(self) -> None:
        self._left = 2

    def __aiter__(self) -> AsyncSteps:
        return self

    async def __anext__(self) -> object:
        SEEN.note("__anext__")
        self._left -= 1
        if self._left < 0:
            raise StopAsyncIteration
        return QUIET


class Quiet:
    """Does nothing that is noted."""


QUIET = Quiet()


def generate(*_: object) -> Iterator[Any]:
    SEEN.note("generate")
    yield QUIET


def callback(*_: object) -> int:
    SEEN.note("callback")
    return 1


async def coroutine(*_: object) -> int:
    SEEN.note("coroutine")
    return 1


def apply(function: Callable[..., Any], *arguments: Any) -> Any:
    """A function of a library."""
    return function(*arguments)


NAMES = {
    "x": None,
    "QUIET": QUIET,
    "Thing": Thing,
    "Base": Base,
    "generate": generate,
    "callback": callback,
    "coroutine": coroutine,
    "apply": apply,
    "decorated": decorated,
    "QUIET_CM": nullcontext(),
}


# By snippet, the body of `f(x)`: what is called, and the nodes that may call it. Where one expression is used in two
# ways, the versions of Python differ in the position, and either node leads on to the other.
CALLS: dict[str, dict[str, str]] = {
    "callback()": {"callback": "callback()"},
    "x.m()": {"m": "x.m()"},
    "x.m(1).m(\n  2)": {"m": "x.m(1) | x.m(1).m(2)"},
    "(x\n .m(1)\n .m(2, 3)\n .append(4))": {
        "m": "x.m(1) | x.m(1).m(2, 3)", "append": "x.m(1).m(2, 3).append(4)=",
    },
    "(x\n .append(1)\n .get(callback()))": {
        "append": "x.append(1)=", "get": "x.append(1).get(callback())", "callback": "callback()",
    },
    "x.append(\n  callback(\n    ))": {"append": "x.append(callback())=", "callback": "callback()"},
    "x.p": {"p": "x.p"},
    "(x\n .p\n .p)": {"p": "x.p | x.p.p"},
    "x.p = 1": {"p.set": "x.p="},
    "del x.p": {"p.del": "write"},
    "x.p += 1": {"p": "x.p+=", "p.set": "x.p+=", "__iadd__": "x.p+="},
    "n = 1; x.p += n": {"p": "x.p+=", "p.set": "x.p+=", "__iadd__": "x.p+="},
    "x.m().p += callback()": {
        "m": "x.m()", "p": "x.m().p+=", "callback": "callback()", "p.set": "x.m().p+=", "__iadd__": "x.m().p+=",
    },
    "x.cached": {"cached": "x.cached"},
    "x.d": {"__get__": "x.d"},
    "x.d = 1": {"__set__": "x.d="},
    "del x.d": {"__delete__": "write"},
    "x[1]": {"__getitem__": "x[1]"},
    "x[1:2]": {"__getitem__": "x[1:2]"},
    "x[\n  callback()\n]": {"__getitem__": "x[callback()]", "callback": "callback()"},
    "x[1] = 2": {"__setitem__": "x[1]="},
    "del x[1]": {"__delitem__": "x[1]="},
    "x[1] += 2": {"__getitem__": "x[1]+=", "__iadd__": "x[1]+=", "__setitem__": "x[1]+="},
    "1 in x": {"__contains__": "1 in x"},
    "callback() not in x": {"__contains__": "callback() not in x", "callback": "callback()"},
    "if x: pass": {"__bool__": "?#0 | *x"},
    "if not x: pass": {"__bool__": "?not #0 | *x"},
    "y = not x": {"__bool__": "*x"},
    "if x.m(): pass": {"m": "x.m()", "__bool__": "?.m() | x.m()"},
    "y = x or 1": {"__bool__": "?#0 | *x"},
    "y = 1 if x else 2": {"__bool__": "?#0 | *x"},
    "while x: break": {"__bool__": "?#0 | *x"},
    "assert x": {"__bool__": "?#0 | *x"},
    "len(x)": {"__len__": "len(x)"},
    "x()": {"__call__": "x()"},
    "x + 1": {"__add__": "x + 1"},
    "-x": {"__neg__": "-x"},
    "x += 1": {"__iadd__": "+"},
    "x == 1": {"__eq__": "x == 1"},
    "if x < 1: pass": {"__lt__": "x < 1"},
    "0 == x < 1": {"__eq__": "0 == x < 1", "__lt__": "0 == x < 1"},
    "x.wrapped()": {"wrapped": "x.wrapped()"},
    "sorted([1, 2], key=callback)": {"callback": "sorted([1, 2], key=callback)"},
    "list(map(callback, [1]))": {"callback": "list(map(callback, [1]))"},
    "functools.reduce(callback, [1, 2])": {"callback": "functools.reduce(callback, [1, 2])"},
    "apply(callback, 1)": {"callback": "apply(callback, 1)"},
    "apply(\n  callback,\n  1)": {"callback": "apply(callback, 1)"},
    "apply(lambda: x.m())": {"m": "x.m()"},
    "y = [a.m() for a in [x]]": {"m": "a.m()"},
    "y = [a for a in x if a]": {"__iter__": "*x", "__next__": "*x"},
    "y = [a\n  for a in x\n  if a]": {"__iter__": "*x", "__next__": "*x"},
    "y = {a: 1 for b in [1] for a in x}": {"__iter__": "*x", "__next__": "*x"},
    "y = list(a for a in x)": {"__iter__": "*x", "__next__": "*x"},
    "for a in x: pass": {"__iter__": "*x", "__next__": "*x"},
    "for a in x.m(): pass": {"m": "x.m()", "__iter__": "*x.m() | x.m()", "__next__": "*x.m() | x.m()"},
    "for a in generate(1): pass": {"generate": "*generate(1) | generate(1)"},
    "g = generate(1)\nfor a in g: pass": {"generate": "*g"},
    "g = generate(1)\nnext(g)": {"generate": "next(g)"},
    "a, *b = x": {"__iter__": "*x", "__next__": "*x"},
    "a, b = c = x": {"__iter__": "*x", "__next__": "*x"},
    "callback(*x)": {**dict.fromkeys(("__iter__", "__next__", "__len__", "callback"), "callback(*x)")},
    "callback(**x)": {"keys": "callback(**x)", "callback": "callback(**x)"},
    "y = [*x]": {"__iter__": "*x", "__next__": "*x", "__len__": "*x"},
    "y = {**x}": {"keys": "*x"},
    "Thing(1)": {"__init__": "Thing(1)"},
    "f'{x}'": {"__format__": "{x}"},
    "f'{1}{x!s:>3}'": {"__str__": "{x!s:>3}"},
    "with x: pass": {"__enter__": "with", "__exit__": "with"},
    "with x as y, QUIET_CM: pass": {"__enter__": "with", "__exit__": "with"},
    "with x.m() as y: pass": {"m": "x.m()", "__enter__": "with | x.m()", "__exit__": "with | x.m()"},
    "try:\n  with x: raise KeyError\nexcept KeyError: pass": {"__enter__": "with", "__exit__": "with"},
    "with x: return": {"__enter__": "with", "__exit__": "with"},
    "@decorated\ndef g(): pass\n@x\nclass C: pass": {"__call__": "decorator"},
    "x.m(x.p, k=x[1])": {"m": "x.m(x.p, k=x[1])", "p": "x.p", "__getitem__": "x[1]"},
    "match x:\n  case Thing(p=1): pass": {"p": "match", "__eq__": "match"},
}  # fmt: skip

ASYNC: dict[str, dict[str, str]] = {
    "await coroutine(1)": {"coroutine": "await coroutine(1)"},
    "c = coroutine(1)\nawait c": {"coroutine": "await c"},
    "await x": {"__await__": "await x"},
    "async with x: pass": {"__aenter__": "with", "__aexit__": "with"},
    "async with x as y: return": {"__aenter__": "with", "__aexit__": "with"},
    "async for a in x: pass": {"__aiter__": "*x", "__anext__": "*x"},
    "y = [a async for a in x]": {"__aiter__": "*x", "__anext__": "*x"},
    "y = [await coroutine() for a in [1]]": {"coroutine": "await coroutine()"},
}
GENERATORS: dict[str, dict[str, str]] = {
    "yield from x": {"__iter__": "(yield from x)", "__next__": "(yield from x)"},
    "yield from generate(1)": {"generate": "(yield from generate(1))"},
    "yield x.m()": {"m": "x.m()"},
}


def seen_at(source: str, function: str, run: Callable[[dict[str, Any]], object]) -> list[tuple[str, str]]:
    """What is called by a function, and by which node of its summary."""
    tree = ast.parse(source)
    (defined,) = [node for node in ast.walk(tree) if getattr(node, "name", "") == function]
    texts = {node: ast.unparse(node) for node in ast.walk(defined) if isinstance(node, ast.expr)}
    rewriter = StatementRewriter(tree, source.encode().splitlines(), "m", frozenset())
    summary = json.loads(rewriter._flows.of[defined])
    names = _names(rewriter._flows, texts, summary)
    rewriter.rewrite(tree)
    namespace = dict(NAMES)
    exec(bind(compile(tree, FILE, "exec"), lambda number: StandIn(rewriter.probes[number])), namespace)
    SEEN.positions.clear()
    run(namespace)
    return [(name, names[summary["calls"][at]] if at in summary["calls"] else at) for name, at in SEEN.positions]


def called_by(header: str, body: str, run: Callable[[Any], object]) -> list[tuple[str, str]]:
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    thing = Thing.__new__(Thing)
    return seen_at(f"import functools\n{header}\n{lines}\n", "f", lambda names: run(names["f"](thing)))


def _names(flows: FlowSummaries, texts: dict[ast.AST, str], summary: dict[str, Any]) -> list[str]:
    names = [f"?{node['form']}" if "form" in node else str(node.get("name", node["k"])) for node in summary["nodes"]]
    for found, mark in ((flows.taps, "*"), (flows.nodes, "")):
        for at, number in found.items():
            if at in texts and number < len(names) and not (mark and "name" in summary["nodes"][number]):
                kind = summary["nodes"][number]["k"]
                if not (isinstance(at, ast.Attribute) and "op" in summary["nodes"][number]):
                    names[number] = mark + texts[at] + {"write": "=", "update": "+="}.get(kind, "")
    return names


def check(found: list[tuple[str, str]], expected: dict[str, str]) -> None:
    assert [(name, node) for name, node in found if node not in expected.get(name, "").split(" | ")] == []
    assert expected.keys() <= {name for name, _ in found}


@pytest.mark.parametrize("body", CALLS)
def test_calls(body: str) -> None:
    check(called_by("def f(x):", body, lambda result: result), CALLS[body])


@pytest.mark.parametrize("body", ASYNC)
def test_calls_of_coroutines(body: str) -> None:
    check(called_by("async def f(x):", body, asyncio.run), ASYNC[body])


@pytest.mark.parametrize("body", GENERATORS)
def test_calls_of_generators(body: str) -> None:
    check(called_by("def f(x):", body, list), GENERATORS[body])


def test_super() -> None:
    source = "class C(Base):\n  def f(self): return super().m(\n    1)\n"
    assert seen_at(source, "f", lambda names: names["C"]().f()) == [("m", "super().m(1)")]
