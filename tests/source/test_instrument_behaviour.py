"""Instrumented code behaves as before: the same results, order, lines and tracebacks, with stand-ins for the probes."""

import contextlib
import dis
import importlib.util
import io
import sys
import sysconfig
import textwrap
import traceback
import types
import unittest
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from standins import prepared

from atomsan.source.instrument import compile_instrumented
from atomsan.source.plan import Probe

PROGRAMS = {
    "name mangling": """
        class _A:
            __slots__ = ("__x", "y")
            def __init__(self): self.__x = 1; self.__x += 2; self.y = [0]
            def f(self, o): o.__x += self.__x; return o.__x
            def g(self, other): return other.__append(1) if False else self._A__x
            def __hidden(self): return self.y.__len__()
            def h(self): return self.__hidden()
        a = _A()
        print(a.f(a), a.g(a), a.h())
        class B:
            def f(self):
                global __n
                __n = 1
                __n += 1
                return __n
        print(B().f(), _B__n)
    """,
    "numbers are no bytes": """
        def f():
            global n
            n = 5; yield n
            n = -1; yield n
            n = 2 * 3; yield n
            n = True; yield n
            n = 1 if 2 else 3; yield n
            n = b"abc"[1]; yield n
            a = n = 7; yield n
            yield 1; yield -1; yield 2 ** 3; yield True; yield 0 or 4
            (n := 8); yield n
        print(list(f()))
        def g():
            a = 1
            def h():
                nonlocal a
                a += 1; a *= 3; a -= 1; a //= 2; a %= 5; a **= 3; a <<= 2; a >>= 1; a |= 3; a ^= 1; a &= 7
                return a
            return h
        print(g()())
    """,
    "order of evaluation": """
        def say(x): print(x, end=" "); return x
        class O:
            def __getattr__(self, name): print("get", name, end=" "); return 1 if name == "n" else self
            def __setattr__(self, name, value): print("set", name, value, end=" ")
            def __delattr__(self, name): print("del", name, end=" ")
            def __getitem__(self, key): print("item", key, end=" "); return 1
            def __setitem__(self, key, value): print("setitem", key, value, end=" ")
            def __delitem__(self, key): print("delitem", key, end=" ")
            def __contains__(self, key): print("in", key, end=" "); return True
            def __call__(self, *args): print("call", args, end=" "); return self
            def __bool__(self): print("bool", end=" "); return True
            def __iter__(self): print("iter", end=" "); return iter((1, 2))
            def __repr__(self): return "O"
        def o(): print("o", end=" "); return O()
        o().x = say("v"); print()
        o()[say("k")] = say("v"); print()
        o().n += say(5); print()
        o()[say("k")] += say(5); print()
        o().x[say("k")].real; print()
        del o().x, o()[say("k")]; print()
        o().append(say(1), o().y); print()
        o().get(say(1)); o().get(1); print()
        say("k") in o(); "k" in o(); say("k") not in o(); print()
        a, o().b, *o()[say("c")] = say((1, 2, 3)); print()
        if o() and not o().x or o()[1]: print("yes")
        [say(e) for e in o() if e]; print()
        (lambda: o().f(o().g()))(); print()
        print(*o(), **{**dict(end="!")})
    """,
    "in place": """
        n = [1]; m = n
        def f():
            global n
            n += [2]; n *= 2
        f(); print(m is n, n)
        class A: pass
        a = A(); a.l = l = [1]; a.l += (2,); a.d = {}; a.d["k"] = [1]; a.d["k"] += [2]
        print(a.l is l, a.l, a.d)
        t = ([1],)
        try: t[0] += [2]
        except TypeError as e: print(e, t)
        def g():
            global n
            try: n += 1
            except TypeError as e: print(e)
            try: n @= 1
            except TypeError as e: print(e)
        n = "s"; g()
    """,
    "class bodies": """
        import enum, dataclasses
        n = 0
        def bump():
            global n
            n += 1
            return n
        class E(enum.Enum):
            A = bump()
            B = n + 5
            for_ = [i for i in range(3)]
        @dataclasses.dataclass
        class D:
            x: int = n
            y: list = dataclasses.field(default_factory=list)
        class S:
            __slots__ = tuple("ab")
            global m
            m = [x for x in __slots__ if x in ("a", "c")] if (m0 := "b") else 0
            n0 = m0.upper()
            del m0
        print(list(E), D(), S.__slots__, m, sorted(k for k in vars(S) if not k.startswith("__")))
    """,
    "super and cells": """
        class A:
            def f(self): return type(self).__name__
            @property
            def p(self): return 1
        class B(A):
            def f(self): return super().f() + __class__.__name__
            def g(self): return [super(B, self).f() for _ in "ab"], (lambda self: super().f())
            p = property(lambda self: super().p)
            @classmethod
            def c(cls): return super().__name__ if hasattr(super(), "__name__") else cls.__name__
        b = B(); print(b.f(), b.g()[0], b.g()[1](b), b.c())
    """,
    "globals in every place": """
        import os
        def f(which):
            global x
            if which == 0: x, y = 1, 2
            elif which == 1:
                for x in (3, 4): pass
            elif which == 2:
                with open(os.devnull) as x: x = x.name == os.devnull
            elif which == 3: import os as x; x = x.name
            elif which == 4:
                def x(): pass
                x = x.__name__
            elif which == 5:
                class x: pass
                x = x.__name__
            elif which == 6:
                try: 1 / 0
                except ZeroDivisionError as x: return str(x)
            elif which == 7:
                match [1, 2]:
                    case [x, *_] if x: pass
            elif which == 8: x: int = 0 if False else 5
            elif which == 9: x = 5; del x; return "x" in globals()
            elif which == 10: [x := i for i in range(3)]
            elif which == 11: x = 1; x = x = 2
            return x
    """.replace("elif which == 8: x: int = 0 if False else 5", "elif which == 8: x = lambda: x\n")
    + """
        for w in range(12):
            print(w, f(w) if w != 8 else f(w)() is x)
        x = "module"; print(x); del x
        try: x
        except NameError as e: print(e)
    """,
    "closures": """
        def counter():
            n, fs = 0, []
            def bump(by=1):
                nonlocal n
                n += by
                def inner():
                    nonlocal n
                    n *= 2
                    return [n for _ in range(2)]
                return inner
            for i in range(3): fs.append(lambda: i + n)
            class K:
                m = n
                def get(self): return n
            return bump, fs, K
        bump, fs, K = counter()
        print(bump()(), bump(5)(), [f() for f in fs], K().get(), K.m)
        def late():
            def g(): return v
            try: g()
            except NameError as e: print(e)
            v = 1; v = 2
            print(g()); del v
            try: g()
            except NameError as e: print(e)
            for v in "ab": print(g())
            h = lambda w=1: (lambda: w)() if (w := 2) else 0
            print(h())
        late()
        print(bump.__closure__[0].cell_contents, bump.__code__.co_freevars[0])
        def shown(a):
            a = a + 1
            def g(): return a
            return sorted(locals()), g()
        print(shown(1))
    """,
    "generators": """
        import asyncio
        def g(n):
            "Doc."
            try:
                got = yield n
                while got: got = yield got
                result = yield from h()
            except ValueError as e: yield str(e)
            finally: print("closed")
            return result
        def h():
            x = yield
            return (yield 5), x
        it = g(1); print(next(it), it.send(2), it.send(0), it.send("x"))
        try: it.send("y")
        except StopIteration as e: print(e.value)
        it = g(1); next(it); print(it.throw(ValueError("v"))); it.close()
        it = g(1); next(it); it.close()
        print(sum(i * j for i in range(3) for j in range(i)), g.__doc__)
        async def agen():
            for i in range(3):
                x = yield i
                await asyncio.sleep(0)
        class CM:
            async def __aenter__(self): return 1
            async def __aexit__(self, *a): return True
        async def co():
            async with CM() as c, CM(): 1 / 0
            return [i async for i in agen() if i], c, [await asyncio.sleep(0, j) for j in range(2)]
        async def main():
            async for i in agen(): print(i)
            return await co()
        print(asyncio.run(main()))
    """,
    "match": """
        class P:
            __match_args__ = ("x", "y")
            def __init__(self, x, y): self.x, self.y = x, y
        class C: ONE = 1
        def f(v):
            match v:
                case C.ONE: return "one"
                case P(x=0, y=y): return "P0", y
                case P(a, b) if a: return a, b
                case {"k": [a, *rest], **more}: return a, rest, more
                case [1 | 2 as n, _] | (n, _, _): return n
                case str() as s if s: return s
                case _: return "other"
        for v in (1, P(0, 1), P(2, 3), {"k": [1, 2, 3], "m": 4}, [2, 0], (7, 8, 9), "s", "", None): print(f(v))
    """,
    "loops": """
        def main():
            for i in range(5):
                if i == 1: continue
                if i == 3: break
                print(i)
            else: print("never")
            n = 3
            while n:
                n -= 1
                if n == 1: continue
                print(n)
            while n < 3: n += 1
            else: print("else")
            while True:
                try: break
                finally: print("finally")
            for x in [1]:
                for y in [2]: return x, y
        print(main())
        for a in "ab": print(a)
        while a: a = ""
    """,
    "annotations and the future": '''
        """Module doc."""
        from __future__ import annotations
        def f(a: o.x, *, b: len(o) = 1) -> o[k]: "Doc."
        class A:
            "Doc."
            x: o.y = 1
            z: o.y[1]
        print(__doc__, f.__doc__, A.__doc__, f.__annotations__, A.__annotations__)
    ''',
    "defaults and decorators": """
        class R:
            items = []
            def register(self, *names):
                def wrap(f): self.items.append((names, f.__name__)); return f
                return wrap
        r = R()
        class A:
            key = "k"
            @r.register(key, len(r.items))
            def f(self, x=r.items[:], *, y=key): return x, y
            @staticmethod
            @r.register()
            def g(x): return x
            @property
            def p(self): return self.key
            @p.setter
            def p(self, v): self.key = v
        a = A(); a.p = 5; a.p += 1
        print(a.f(), A.g(1), a.p, r.items, A.f.__qualname__, A.f.__code__.co_argcount)
    """,
    "containers": """
        import heapq, operator, collections, bisect
        d, l, s = {}, [3, 1, 2], {1}
        d.setdefault("a", []).append(1); d.update({"b": 2}, c=3); d["b"] -= 1; print(d.pop("zz", None), d)
        l.sort(key=lambda x: -x); l.insert(0, l.pop()); l[1:2] = [9, 9]; del l[-1]; l.extend(x for x in l[:1]); print(l)
        heapq.heapify(l); heapq.heappush(l, min(*l)); print(sorted(l, reverse=True), max(l, key=lambda x: -x), l[::2])
        s.add(2); s |= {3}; print(2 in s, 7 not in s, len(s) and bool(s), sum(s), any(s), [*s], {**d})
        print("-".join(map(str, s)), "-".join(list("ab")))
        setattr(operator, "own", 1); print(getattr(operator, "own"), hasattr(operator, "other"))
        delattr(operator, "own"); operator.setitem(d, "x", 1)
        print(dict(d), list(d.items()), tuple(zip(l, s)), dict(a=1), list(), vars().get("zzz"))
        a, (b, *c) = 1, l; print(a, b, c, [x for x in l if x in s], f"{d['x']!r:>{len(l)}}")
        q = collections.deque([1], maxlen=2); q.append(2); q.append(3); q += [4]; print(q, q.popleft())
        print(eval("len(l) + a"), exec("z = 1") is None, z, eval(compile("1 + 1", "f", "eval")))
    """,
    "lambdas": """
        class A:
            n = 1
            def get(self): return self.n
            def add(self, k): return self.n + k
        a = A()
        f = lambda k=2: a.add(a.get()) + a.n
        print(f(), f.__name__, f.__qualname__, f.__defaults__, (lambda: (yield))().__next__())
        print(sorted([3, 1], key=lambda x: (a.get(), x)), (lambda: [a.n for _ in range(2)] + [a.get()])())
        try: (lambda: a.get(a.add(1)))()
        except TypeError as e: print(e)
    """,
    "try": """
        def f(x):
            try:
                return x[0]
            except (IndexError, KeyError) as e: return type(e).__name__
            else: pass
            finally: print("finally")
        def g():
            try: raise ExceptionGroup("g", [ValueError(1), KeyError(2)])
            except* ValueError as e: print(e.exceptions)
            except* KeyError: print("key")
        def deep(n): return deep(n + 1)
        print(f([1]), f([]), f({})); g()
        try: deep(0)
        except RecursionError as e: print(type(e))
    """,
}


def run(source: str, instrumented: bool) -> str:
    """What a program prints."""
    source = textwrap.dedent(source)
    code: Any = prepared(source)[0] if instrumented else compile(source, "m.py", "exec", dont_inherit=True)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {"__name__": "m"})
    return out.getvalue()


@pytest.mark.parametrize("name", PROGRAMS)
def test_instrumented_program_has_the_same_output(name: str) -> None:
    plain = run(PROGRAMS[name], False)
    assert run(PROGRAMS[name], True) == plain
    assert plain


def happened(source: str, kinds: set[str], **options: Any) -> list[str]:
    log: list[str] = []
    regions: list[str] = []

    def note(row: Probe, given: object) -> None:
        kind = row.kind.partition(" ")[0]
        if kind in kinds:
            region = regions[row.region].removeprefix("m:") if row.region >= 0 else row.name
            log.append(f"{row.kind} {region}")

    code, plan = prepared(textwrap.dedent(source), note, **options)
    regions += [region.name for region in plan.regions]
    exec(code, {"__name__": "m", "say": log.append})
    return log


REGION_KINDS = {"begin", "end", "suspend", "resume", "span"}


def test_region_ends_by_return_exception_and_falling_off() -> None:
    source = """
    def f(how):
        if how == 0: return say("return")
        if how == 1: raise ValueError
        say("falls off")
    for how in range(3):
        try: f(how)
        except ValueError: pass
    """
    log = [line for line in happened(source, REGION_KINDS) if "loop" not in line]
    assert log == ["begin f", "return", "end f", "begin f", "end f", "begin f", "falls off", "end f"]


def test_generator_region_is_suspended_at_yields() -> None:
    source = """
    def g():
        say("one")
        x = yield
        say("two")
        yield from [1]
        say("three")
    for _ in g(): say("outside")
    it = g(); next(it); it.close()
    """
    log = [line for line in happened(source, REGION_KINDS) if "loop" not in line]
    assert log == [
        *("begin g", "one", "suspend g", "outside", "resume g", "two", "suspend g", "outside", "resume g", "three"),
        *("end g", "begin g", "one", "suspend g", "end g"),
    ]


def test_generator_that_is_stepped_drives_the_loop() -> None:
    source = """
    def work(g):
        try:
            while True: say(next(g))
        except StopIteration: say("caught")
    work(iter("a"))
    """
    log = happened(source, {"drive", "begin", "end"}, entries={("work", 2)})
    one, last = (["begin work/loop:4", *said, "end work/loop:4"] for said in ("a", ""))
    assert log == ["begin work", "drive work/loop:4", *one, *last, "end work/loop:4", "caught", "end work"]
    assert "drive" not in " ".join(happened(source, {"drive"}))


def test_lambda_region_ends_also_by_an_exception() -> None:
    source = """
    class A:
        def a(self, *x): pass
    a = A()
    f = lambda: a.a(a.a())
    f()
    try: (lambda: a.b(a.a()))()
    except AttributeError: say("caught")
    """
    assert happened(source, {"span"}) == [
        *("span <lambda>", "span end <lambda>", "span <lambda>", "span end <lambda>", "caught"),
    ]


def test_loop_iterations_of_an_entry_function_are_regions() -> None:
    source = """
    def work(s):
        for e in s:
            say(e)
            if e == "b": break
        while s:
            if s.pop() == "a": continue
    work(["a", "b", "c"])
    """
    log = happened(source, {"begin", "end"}, entries={("work", 2)})
    one, two = (["begin work/loop:3", letter, "end work/loop:3"] for letter in "ab")
    assert log == ["begin work", *one, *two, *["begin work/loop:6", "end work/loop:6"] * 4, "end work"]
    assert happened(source, {"begin", "end"}) == ["begin work", "a", "b", "end work"]


def test_trampoline_that_is_an_entry_function_calls_from_the_same_place() -> None:
    source = """
    import sys
    class A:
        def place(self, *given):
            frame = sys._getframe(1)
            say([*frame.f_code.co_positions()][frame.f_lasti // 2][:3])
            return self
        def run(self):
            return (
                self
                .place(
                    1,
                )
            )
    class B(A):
        def run(self): super().run()
    a = A()
    a.run()
    B().run()
    (lambda: a.place(1,
        2))()
    """
    entries = {("A.run", 8), ("B.run", 16), ("<lambda>", 20)}
    plain = happened(source, set())
    assert len(plain) == 3
    assert happened(source, set(), entries=entries) == plain
    assert len(happened(source, {"enter"}, entries=entries)) == 7


def test_each_access_of_a_global_is_logged_once() -> None:
    source = """
    n = 0
    def f():
        global n
        n += 1
        say(str(n))
    f()
    """
    log = happened(source, {"load_name", "store_name"})
    assert log == [
        *("store_name n", "load_name f/statement:5", "store_name f/statement:5", "load_name n", "1"),
    ]


# Tracing, positions, tracebacks

TRACED = """
def simple(x):
    '''Doc.'''
    y = x.real
    return y

def branches(x):
    if x == 1:
        y = x.real
    elif x == 2:
        y = x.imag
    else:
        pass

def many(x):
    for i in [
        1,
        x,
    ]:
        x.real
        if i: continue
        x.imag
    while x:
        x -= 1

def chain(x):
    return (x
        .real
        .imag
        .bit_length())

def ends_with(x):
    with open(
        __file__
    ) as f:
        f.name

def tries(x):
    try:
        [][x.real]
    except IndexError:
        y = x.real
    else:
        y = 2
    finally:
        x.imag

def late(x):
    s = set()
    s.add(
        simple(
            x
        )
    )
    return simple(x) in s, {
        "a": x.real,
    }

class Counter:
    n = 0

def counts(x, c=Counter()):
    c.n += 1
    for i in range(x):
        c.n += i
        if i: c.n -= 1
        else:
            c.n += x
    if x:
        c.n += 1
    else: c.n += x
    try:
        c.n += 1
    finally:
        c.n -= x
    while c.n > 0:
        c.n -= 10
    for i in range(2):
        c.n += 1

def counts_last(x, c=Counter()):
    match x:
        case 1:
            c.n += 1
        case 0:
            c.n -= 1

def matches(x):
    match x:
        case int(real=5):
            x.imag
        case int(
            real=0,
            imag=0,
        ) if not x:
            y = 1
        case _:
            x.real
    match (
        x,
        x.real,
    ):
        case [0, *_]:
            x.imag
        case (a, b):
            a.imag
    match {
        "k": x,
    }:
        case {"k": 1, **rest}:
            rest
        case {
            "k": n,
        }:
            n.real

def counts_in_branches(x, c=Counter()):
    if x:
        try:
            c.n += 1
        finally:
            c.n -= x
    else:
        c.n += 1

def counts_finally(x, c=Counter()):
    try:
        c.n += 1
    finally:
        c.n += 1

def generator(x):
    yield x.real
    for i in range(x):
        yield i

def main():
    x = 2
    x.real
    for f in simple, branches, many, chain, ends_with, tries, late, matches:
        for i in range(3):
            f(i)
    for f in counts, counts_last, counts_in_branches, counts_finally:
        for i in range(3):
            f(i)
    list(generator(3))
    for i in generator(1):
        x.imag
    g = generator(3)
    while True:
        if next(g, None) is None:
            break
    g = generator(3)
    for i in range(2):
        g.send(None)
    try:
        while True:
            next(g)
    except StopIteration:
        x.imag
    return lambda: (
        x.real,
        x.imag)

main()()
"""


def lines_of(source: str, instrumented: bool) -> list[tuple[str, str, int | None]]:
    code: Any = prepared(source)[0] if instrumented else compile(source, "m.py", "exec", dont_inherit=True)
    log: list[tuple[str, str, int | None]] = []

    def trace(frame: types.FrameType, event: str, arg: object) -> Any:
        if frame.f_code.co_filename != "m.py":
            return None
        log.append((frame.f_code.co_qualname, event, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        exec(code, {"__file__": __file__})
    finally:
        sys.settrace(before)
    return log


def test_tracers_see_the_same_lines() -> None:
    plain, ours = lines_of(TRACED, False), lines_of(TRACED, True)
    functions = dict.fromkeys(name for name, _, _ in plain)
    for name in functions:
        assert [row for row in ours if row[0] == name] == [row for row in plain if row[0] == name]


@pytest.mark.parametrize("last", ["pass", "o.n += 1", "o.n = 1", "print()"])
def test_tracers_see_the_same_lines_in_functions_that_end_in_a_handler(last: str) -> None:
    """The line of the handler is where the function returns. 3.12 has it as a second line, and then none."""
    source = f"""
class Counter:
    n = 0
def f(o):
    try:
        o.missing
    except AttributeError:
        {last}
f(Counter())
"""
    plain, ours = ([row[1:] for row in lines_of(source, is_ours) if row[0] == "f"] for is_ours in (False, True))
    if sys.version_info[:2] == (3, 12):
        assert plain[-1] == ("return", 8)
        plain[-1:] = [("line", 8), ("return", None)]
    assert ours == plain


def test_signal_handler_finds_a_line_number() -> None:
    """Handlers run where a loop jumps back, and look at the line of the frame."""
    plain, ours = (
        {
            (one.co_qualname, row.positions and row.positions.lineno)
            for one in codes(code)
            for row in dis.get_instructions(one)
            if row.opname == "JUMP_BACKWARD"
        }
        for code in (compile(TRACED, "m.py", "exec", dont_inherit=True), prepared(TRACED)[0])
    )
    assert len(plain) > 5
    # a jump out of a handler goes back, too, if the handler stands behind everything else
    assert ours >= plain
    assert None not in {line for _, line in ours}


FAILING = """
def attribute(o): return o.a.missing.b
def chained(o):
    return (o
        .a
        .missing
        .b(1))
def item(o): return o.d["x"]["y"]["z"]
def store(o): o.a[o.a] = 5
def augmented(o): o.a += "text"
def counted(o): o.missing += 1
def counted_down(o): o.d -= 1
def added(o, v=(1,)): o.missing += v
def subtracted(o, v=(1,)): o.a -= v
def augmented_item(o): o.d["x"]["new"] += 1
def method(o): return o.d.append(o.a)
def late(o):
    return o.d.get(
        o.missing,
        1)
def call(o): return len(o.a)
def key(o): return o.d.get([])
def late_call(o): return sorted(o.a, key=str(o))
def contains(o): return 1 in o.a
def late_contains(o): return o.a in o.a
def entered(o):
    with o.a as x: pass
def unpacked(o): a, b = o.a
def starred(o): print(*o.a)
def iterated(o): return [x for x in o.a]
def name(o):
    global n
    n += "text"
def unbound(o):
    global never
    return never
def inside(o):
    def g(): return v
    v = 1
    del v
    g()
def raised(o):
    for x in [1]: raise ValueError(o.a)
def deleted(o): del o.d["no"], o.a
n = 1
"""


def failures(instrumented: bool) -> Iterator[tuple[str, object]]:
    code: Any = prepared(FAILING)[0] if instrumented else compile(FAILING, "m.py", "exec", dont_inherit=True)
    space: dict[str, Any] = {}
    exec(code, space)
    for name, function in space.items():
        if isinstance(function, types.FunctionType):
            given = types.SimpleNamespace(a=5, d={"x": {"y": 1}})
            try:
                function(given)
            except Exception as error:
                frames = traceback.extract_tb(error.__traceback__)
                places = [
                    (frame.name, frame.lineno, frame.end_lineno, frame.colno, frame.end_colno)
                    for frame in frames
                    if frame.filename == "m.py"
                ]
                yield name, (type(error), str(error), places)
            else:
                yield name, "no error"


def test_tracebacks_are_the_same() -> None:
    plain, ours = dict(failures(False)), dict(failures(True))
    assert "no error" not in plain.values()
    assert ours == plain


# The standard library

LIBRARY = Path(sysconfig.get_path("stdlib"))
CHECKED = ("LOAD_ATTR", "LOAD_METHOD", "BINARY_SUBSCR", "STORE_SUBSCR", "STORE_ATTR", "CALL", "BINARY_OP", "GET_ITER")


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


@pytest.mark.parametrize("path", sorted(LIBRARY.glob("*.py"))[::12], ids=lambda path: path.name)
def test_standard_library_module_compiles_with_the_same_positions(path: Path) -> None:
    """They compile, with the same warnings, every instruction that can fail is where it was, and no line is new."""
    source = path.read_bytes()
    with warnings.catch_warnings(record=True) as expected:
        warnings.simplefilter("always")
        plain = compile(source, str(path), "exec", dont_inherit=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ours, plan = compile_instrumented(source, module="m", file=str(path))
    assert [str(one.message) for one in caught] == [str(one.message) for one in expected]
    assert plan.functions
    by_name: dict[tuple[str, int], list[list[types.CodeType]]] = {}
    for index, code in enumerate((plain, ours)):
        for one in codes(code):
            by_name.setdefault((one.co_qualname, one.co_firstlineno), [[], []])[index].append(one)
    for name, (before, after) in by_name.items():
        rows = [row for one in before for row in dis.get_instructions(one) if row.opname in CHECKED]
        there = {row.positions for one in after for row in dis.get_instructions(one)}
        assert [row for row in rows if row.positions not in there] == [], name
        lines = [{line for one in group for _, _, line in one.co_lines() if line} for group in (before, after)]
        assert lines[0] == lines[1], name


@pytest.mark.parametrize(
    "name",
    [
        *("test_scope", "test_named_expressions", "test_with", "test_super", "test_decorators", "test_global"),
        *("test_class", "test_generators", "test_contextlib", "test_unpack_ex", "test_augassign", "test_listcomps"),
    ],
)
def test_standard_library_test_suite_has_the_same_result(name: str) -> None:
    """A test module that is itself instrumented passes as it did."""
    spec = importlib.util.find_spec(f"test.{name}") if importlib.util.find_spec("test") else None
    if spec is None or spec.origin is None:
        pytest.skip("this Python comes without its tests")
    counts = []
    source = Path(spec.origin).read_bytes()
    for instrumented in (False, True):
        code: Any = compile(source, spec.origin, "exec", dont_inherit=True)
        if instrumented:
            code, _ = prepared(source, module=spec.name, file=spec.origin)
        module = importlib.util.module_from_spec(spec)
        before = sys.modules.get(spec.name)
        sys.modules[spec.name] = module
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(code, module.__dict__)
                suite = unittest.TestLoader().loadTestsFromModule(module)
                result = unittest.TextTestRunner(stream=io.StringIO()).run(suite)
        finally:
            sys.modules.pop(spec.name)
            if before is not None:
                sys.modules[spec.name] = before
        failed = sorted(test.id() for test, _ in [*result.failures, *result.errors])
        counts.append((result.testsRun, len(result.skipped), failed))
    assert counts[0] == counts[1]
    assert counts[0][0] > 0
