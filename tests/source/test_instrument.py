"""The forms of plan.py: source before and after instrumentation, with the kinds of probes in their places."""

import ast
import marshal
import sys
import textwrap
import types
import warnings
from typing import Any

import pytest
from standins import prepared, rewritten

from atomsan.source.instrument import bind, compile_instrumented, instrument
from atomsan.source.plan import KINDS, Probe, operation_placeholder, placeholder, probe_number

FORMS = {
    # attributes
    "o.x": "load_attr[o].x",
    "o.x.y": "load_attr[load_attr[o].x].y",
    "o.x = v": "store_attr[o].x = v",
    "del o.x": "del store_attr[o].x",
    "o.x += v": "aug_attr[o] += v",
    "o.x += 1": "aug_attr[o] += 1",
    "o.x.y += f(v)": "aug_attr[load_attr[o].x] += f(v)",
    "o.x: int = v": "store_attr[o].x: int = v",
    "o.x: int": "o.x: int",
    "p.o.x: int": "load_attr[p].o.x: int",
    "f().x": "load_attr[f()].x",
    "'text'.x": "'text'.x",
    "super().x": "super().x",
    "import os; os.x": "import os\nos.x",
    "import os; os.path.x; os.x.y": "import os\nos.path.x\nload_attr[os.x].y",
    "import os; os.x = 1": "import os\nstore_attr[os].x = 1",
    "import os, own as os; os.x": "import os, own as os\nload_attr[os].x",
    "import own; own.x": "import own\nload_attr[own].x",
    "from os import path; path.x": "from os import path\nload_attr[path].x",
    # items
    "o[k]": "item(o, k)",
    "o[k] = v": "item[o, k] = v",
    "del o[k]": "del item[o, k]",
    "o[k] += v": "aug_item[o, k] += v",
    "o[k][j] += v": "aug_item[item(o, k), j] += v",
    "o[a:b]": "item[o, a:b]",
    "o[a:b:c] = v": "item[o, a:b:c] = v",
    "o[a, b]": "item(o, (a, b))",
    "o[a.b]": "item(o, load_attr[a].b)",
    "[1, 2][k]": "[1, 2][k]",
    "'abc'[k]": "'abc'[k]",
    "f'{a}'[k]": "f'{a}'[k]",
    # stores by context
    "for o.x, o[k] in s: pass": "for store_attr[o].x, item[o, k] in drive[iterate[s]]:\n    pass",
    "for a in s: f(a)": "for a in drive[iterate[s]]:\n    del begin[None]\n"
    "    try:\n        f(a)\n    finally:\n        del end[None]",
    "for a in range(3): pass": "for a in range(3):\n    pass",
    "for a in [1]: pass": "for a in [1]:\n    pass",
    "with s as o.x: pass": "with with[s] as store_attr[o].x:\n    pass",
    "a, *o.x = s": "a, *store_attr[o].x = unpack[s]",
    "a = o.x = s": "a = store_attr[o].x = s",
    "a, b = b, a": "a, b = (b, a)",
    "[o.x for o.x in s]": "[load_attr[o].x for store_attr[o].x in iterate[s]]",
    # who is running: nobody else's writing changes the answer
    "import threading\no.x == threading.get_ident()": "import threading\no.x == threading.get_ident()",
    "from threading import current_thread\ncurrent_thread() is not o.p.x": "from threading import current_thread\n"
    "current_thread() is not load_attr[o].p.x",
    "o.x == o.get_ident()": "load_attr[o].x == load_attr[o].get_ident()",
    "import threading\nf(threading.get_ident())": "import threading\nf(identity[threading.get_ident()])",
    "from threading import current_thread\nf(current_thread().name)": (
        "from threading import current_thread\nf(load_attr[identity[current_thread()]].name)"
    ),
    "import asyncio\nf(asyncio.current_task())": "import asyncio\nf(asyncio.current_task())",
    # methods
    "o.append(1)": "method[o].append(1)",
    "o.pop()": "method[o].pop()",
    "o.get(k, 0)": "keyed_method[o, k].get(k, 0)",
    "o.get((1, k))": "keyed_method[o, (1, k)].get((1, k))",
    "o.pop(-1)": "keyed_method[o, -1].pop(-1)",
    "o.append(f())": "late_method[o](f())",
    "o.append(o.x)": "late_method[o](load_attr[o].x)",
    "o.update(**d)": "late_method[o](**unpack[d])",
    "o.update(*d)": "late_method[o](*unpack[d])",
    "o.update(a=1)": "method[o].update(a=1)",
    "o.sort(key=lambda e: e)": "method[o].sort(key=lambda e: e)",
    "o.x.append(1)": "method[load_attr[o].x].append(1)",
    "o.other(1)": "load_attr[o].other(1)",
    "', '.join(o)": "keyed_method[', ', o].join(o)",
    "', '.join(f())": "late_method[', '](f())",
    "', '.join([a])": "', '.join([a])",
    "{}.update(k)": "{}.update(k)",
    "import shutil; shutil.copy(a)": "import shutil\nshutil.copy(a)",
    "super().append(1)": "method[super()].append(1)",
    # functions
    "len(o)": "len(argument[o])",
    "len([1])": "len([1])",
    "len(o.x)": "len(argument[load_attr[o].x])",
    "sorted(o, key=f)": "sorted(argument[o], key=f)",
    "sorted(o, key=f())": "call(sorted, o, key=f())",
    "sorted(*o)": "call(sorted, *unpack[o])",
    "setattr(o, 'x', v)": "call(setattr, o, 'x', v)",
    "object.__setattr__(o, 'x', v)": "call(object.__setattr__, o, 'x', v)",
    "import heapq; heapq.heappush(o, 1)": "import heapq\nheapq.heappush(argument[o], 1)",
    "import heapq as h; h.heappush(o, f())": "import heapq as h\ncall(h.heappush, o, f())",
    "from heapq import heappush as p; p(o, 1)": "from heapq import heappush as p\np(argument[o], 1)",
    "len = own; len(o)": "len = own\nlen(o)",
    "vars()": "vars()",
    "exec(text)": "exec(source[text])",
    "eval('1', d)": "eval(source['1'], d)",
    "compile(text, f, m)": "call(compile, text, f, m)",
    # reading of structures
    "[e for e in o]": "[e for e in iterate[o]]",
    "{e: d for e in o for d in e.x}": "{e: d for e in iterate[o] for d in iterate[load_attr[e].x]}",
    "[e for e in range(9)]": "[e for e in range(9)]",
    "[e for e in (1, 2)]": "[e for e in (1, 2)]",
    "f(*o, **d)": "f(*unpack[o], **unpack[d])",
    "[*o]; (*o,); {*o}; {**o}": "[*unpack[o]]\n(*unpack[o],)\n{*unpack[o]}\n{**unpack[o]}",
    "[a, b] = o": "[a, b] = unpack[o]",
    "not o": "not truth[o]",
    "a and b or c": "truth[a] and truth[b] or c",
    "a if o.x else b": "a if truth[load_attr[o].x] else b",
    "assert o, o.x": "assert truth[o], load_attr[o].x",
    "[e for e in s if e if e.x]": "[e for e in iterate[s] if truth[e] if truth[load_attr[e].x]]",
    "if a and not b: pass": "if truth[a] and (not truth[b]):\n    pass",
    "if o[k]: pass": "if truth[item(o, k)]:\n    pass",
    "if f(): pass": "if f():\n    pass",
    "if __debug__: pass": "if __debug__:\n    pass",
    "k in o": "k in contains[o, k]",
    "k not in o.x": "k not in contains[load_attr[o].x, k]",
    "f(k) in o": "late_contains[f(k), o]",
    "f(k) not in o": "not late_contains[f(k), o]",
    "k in (1, 2)": "k in (1, 2)",
    "a in b in c": "a in b in c",
    "a < o.x": "a < load_attr[o].x",
    # blocks
    "with o.x, a as b: c": "with with[load_attr[o].x], with[a] as b:\n    c",
    "try: o.x\nexcept o.e as e: pass": "try:\n    load_attr[o].x\nexcept load_attr[o].e as e:\n    pass",
    "match o.x:\n case A.b | C(d=e): o.y\n case [*r] if r: pass": "match match[load_attr[o].x]:\n"
    "    case A.b | C(d=e):\n        load_attr[o].y\n    case [*r] if truth[r]:\n        pass",
    # left alone
    "x: o.annotation = o.x": "x: o.annotation = load_attr[o].x",
    "def f(a: o.a, b=o.b) -> o.c: pass": "def f(a: o.a, b=load_attr[o].b) -> o.c:\n    pass",
    "@o.decorator\nclass A(o.B, k=o.C): pass": "@load_attr[o].decorator\nclass A(load_attr[o].B, k=load_attr[o].C):\n"
    "    pass",
    "lambda: o.x": "lambda: load_attr[o].x",
    "(y := o.x)": "(y := load_attr[o].x)",
}


@pytest.mark.parametrize("source", FORMS)
def test_rewritten_form(source: str) -> None:
    assert rewritten(source) == FORMS[source]


def in_function(source: str) -> str:
    """The rewritten body of a function, without its region."""
    body = rewritten(f"def function(self, o, s, k, v):\n{textwrap.indent(source, '    ')}").splitlines()
    at = body.index("    try:")
    return textwrap.dedent("\n".join(body[at + 1 : body.index("    finally:")])).removesuffix("\nreturn")


@pytest.mark.parametrize(
    ("source", "made"),
    [
        ("y = yield o.x", "y = resume[(yield suspend[load_attr[o].x])]"),
        ("yield", "resume[(yield suspend[None])]"),
        ("yield 5", "resume[(yield (suspend[None], 5)[1])]"),
        ("yield -5", "resume[(yield (suspend[None], -5)[1])]"),
        ("yield 'text'", "resume[(yield suspend['text'])]"),
        ("yield o, v", "resume[(yield suspend[o, v])]"),
        ("yield from o", "resume[(yield from suspend[o])]"),
        ("len(o)\nlen = 1", "len(o)\nlen = 1"),
        ("f = lambda: o.a(o.b())", "f = lambda: (span[None], load_attr[o].a(load_attr[o].b()))[1]"),
        ("f = lambda: o.a(k)", "f = lambda: load_attr[o].a(k)"),
        ("for e in s:\n    e.x", "for e in iterate[s]:\n    load_attr[e].x"),
        ("while o:\n    o.x", "while truth[o]:\n    load_attr[o].x"),
        ("import heapq\nheapq.heappop(o)", "import heapq\nheapq.heappop(argument[o])"),
        ("o += 1", "o += 1"),
    ],
)
def test_rewritten_form_in_a_function(source: str, made: str) -> None:
    assert in_function(source) == made


def test_rewritten_methods_of_a_class() -> None:
    source = '''
    class A:
        """Doc."""
        def f(self, x):
            """Doc."""
            return self.x
        async def g(self):
            await self.x
        @staticmethod
        def h(x): x.y
        def trivial(self):
            """Doc."""
            return 5
    '''
    assert rewritten(textwrap.dedent(source)) == textwrap.dedent('''
    class A:
        """Doc."""

        def f(self, x):
            """Doc."""
            del begin[self]
            try:
                return load_attr[self].x
            finally:
                del end[None]

        async def g(self):
            del begin[self]
            try:
                await await[load_attr[self].x]
                return
            finally:
                del end[None]

        @staticmethod
        def h(x):
            del begin[None]
            try:
                load_attr[x].y
                return
            finally:
                del end[None]

        def trivial(self):
            """Doc."""
            return 5''').strip("\n")


GLOBALS = {
    "n = 5": "n = 5\nstore_name[...]",
    "n = f()": "n = store_name[f()]",
    "n = 'text'": "n = store_name['text']",
    "n += 1": "n = store_name[IADD(load_name[n], 1)]",
    "n: int = f()": "n: int = store_name[f()]",
    "(n := 5)": "(n := (store_name[None], 5)[1])",
    "a = n = f()": "a = n = f()\nstore_name[...]",
    "a, n = f()": "a, n = unpack[f()]\nstore_name[...]",
    "del n": "store_name[None]\ndel n",
    "import n": "import n\nstore_name[...]",
    "from a import b as n": "from a import b as n\nstore_name[...]",
    "class n: pass": "class n:\n    pass\nstore_name[...]",
    "def n(): pass": "def n():\n    pass\nstore_name[...]",
    "with a as n: b": "with with[a] as n:\n    store_name[...]\n    b",
    "try: pass\nexcept E as n: pass": "try:\n    pass\nexcept E as n:\n    store_name[...]\n    pass",
    "match a:\n case [n, *_]: pass": "match match[a]:\n    case [n, *_]:\n        store_name[...]\n        pass",
    "n.x": "load_attr[load_name[n]].x",
    "[n for e in a]": "[load_name[n] for e in iterate[a]]",
    "[n for n in a]": "[n for n in iterate[a]]",
    "a.get(n)": "late_method[a](load_name[n])",
    "if n: pass": "if truth[load_name[n]]:\n    pass",
    "from __future__ import annotations\nx: n = n": "from __future__ import annotations\nx: n = load_name[n]",
}


@pytest.mark.parametrize("source", GLOBALS)
def test_globals_that_functions_write_have_probes(source: str) -> None:
    writer = "\ndef writer():\n    global n\n    n = f()\n"
    made, _, function = rewritten(source + writer).partition("\n\ndef writer")
    assert made == GLOBALS[source]
    assert "n = store_name[f()]" in function


def test_globals_that_no_function_writes_have_no_probes() -> None:
    assert rewritten("n = 5\nn += 1\ndef f(): n = 6").startswith("n = 5\nn += 1\n")


def test_closure_variables_that_can_change_have_probes() -> None:
    source = """
    def f(p, q):
        a = b = c = 0
        def g():
            nonlocal a
            a += p
            return b, c, [a for _ in q]
        c = 1
        return g
    """
    made = rewritten(textwrap.dedent(source))
    assert "~cells1 = cells[None]" in made
    assert "a = store_cell[IADD(load_cell[a, ~cells1], p), ~cells1]" in made
    assert "(b, load_cell[c, ~cells1], [load_cell[a, ~cells1] for _ in iterate[q]])" in made
    assert "c = 1\n        store_cell[..., ~cells1]" in made


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n a = 0\n def g(): return a\n return g",
        "def f(a):\n def g(): return a\n return g",
        "def f():\n a = 0\n a = 1\n def g(): return a\n return locals()",
        "def f():\n a = 0\n a = 1\n return [a for _ in b]",
        "def f():\n a = 0\n def g():\n  a = 1\n  a = 2\n  return a",
    ],
)
def test_closure_variables_without_probes(source: str) -> None:
    assert "cell" not in rewritten(source)


def plan_of(source: str, **options: object):  # type: ignore[no-untyped-def]
    return instrument(textwrap.dedent(source), module="pkg.mod", file="mod.py", **options)[1]  # type: ignore[arg-type]


def test_probe_rows_have_names_texts_and_feeding_probes() -> None:
    plan = plan_of("""
    class A:
        def f(self, k):
            d = self.items
            d[k] = self.__own
            self.items[k] += d.pop(k)
    """)
    rows = {(row.kind, row.name): row for row in plan.probes}
    items = plan.probes.index(rows["load_attr", "items"])
    assert rows["load_attr", "_A__own"].text == "self"
    first = plan.probes.index(next(row for row in plan.probes if row.name == "items"))
    assert rows["item", "__setitem__"]._replace(line=0, column=0, node=-1) == Probe(
        "item", 0, 0, 2, "__setitem__", "d", -1, first
    )
    assert rows["keyed_method", "pop"].feeds == first
    assert rows["aug_item", ""].text == "self.items"
    assert rows["aug_item", ""].feeds == items
    assert plan.regions[rows["aug_item", ""].region].name == "pkg.mod:A.f/statement:6"
    assert [function.name for function in plan.functions] == ["<module>", "A", "A.f"]


def test_probe_of_a_subscript_names_the_operation_on_one_element() -> None:
    plan = plan_of("""
    def f(d, k):
        d[k] = d[0]
        del d[k]
        d[k:] = d[:k]
        del d[k:]
    """)
    rows = {(row.line, row.name) for row in plan.probes if row.kind == "item"}
    assert rows == {(3, "__setitem__"), (3, ""), (4, "__delitem__"), (5, ""), (6, "")}


def test_regions_of_a_plan() -> None:
    plan = plan_of("""
    import atomsan as a
    from atomsan import not_atomic as na
    def f():
        with lock: x
        for e in s: e()
        def inner(): y()
        return lambda: x.a(x.b())
    def main():
        for e in s: e()
    async def co():
        while True: await x()
    @a.not_atomic
    def g(): x.y
    @na
    def h(): x.y
    class TestX(unittest.TestCase):
        def setUp(self): x()
        def test_it(self): x()
        def other(self): x()
    def run(): worker(1)
    for e in s: pass
    """)
    found = {region.name.removeprefix("pkg.mod:"): region for region in plan.regions}
    assert {name: region.origin for name, region in found.items()} == {
        "f": "function",
        "f/with:5": "lock-block",
        "f/loop:6": "loop",
        "f.<locals>.inner": "function",
        "f.<locals>.<lambda>": "function",
        "main": "outer",
        "main/loop:10": "loop",
        "co": "function",
        "co/loop:12": "loop",
        "g": "outer",
        "h": "outer",
        "TestX.setUp": "outer",
        "TestX.test_it": "outer",
        "TestX.other": "function",
        "run": "function",
        "<module>/loop:22": "loop",
    }
    assert [name for name, region in found.items() if region.has_loops] == ["f", "main", "co"]
    assert [name for name, region in found.items() if region.is_trampoline and "Test" not in name] == [
        "f.<locals>.inner",
        "run",
    ]


@pytest.mark.parametrize(
    ("body", "step"),
    [
        ("o.x += 1", "+1"),
        ("o.x -= 5", "-5"),
        ("o.x -= 1073741824", "-1073741824"),
        ("def g():\n    o.x += 1", "+1"),
        ("o.x += 0", ""),
        ("o.x -= 0", ""),
        ("o.x *= 5", ""),
        ("o.x += 1.5", ""),
        ("o.x += True", ""),
        ("o.x += -1", ""),
        ("o.x += 1073741825", ""),
        ("o.x +=\\\n    1", ""),
        ("o.p.x += 1", ""),
        ("f().x += 1", ""),
        ("n.x += 1", ""),
        ("class C:\n    b = o\n    b.x += 1", ""),
        ("b = 1\ndef g():\n    nonlocal b\n    b = o\nb.x += 1", ""),
    ],
)
def test_constant_step_of_an_augmented_attribute(body: str, step: str) -> None:
    source = f"def f(o):\n{textwrap.indent(body, '    ')}"
    _, plan = instrument(source, module="m", file="m.py")
    assert [probe.step for probe in plan.probes if probe.kind == "aug_attr"] == [step]
    assert (" not in aug_attr:" in rewritten(source)) is bool(step)


@pytest.mark.parametrize(
    ("body", "is_certain"),
    [
        ("o.x += a", True),
        ("o.x -= k", True),
        ("v = f()\no.x += v", True),
        ("v = w = f()\nif a:\n    o.x += w", True),
        ("v = 1\nwhile a:\n    o.x += v\n    v = 2", True),
        ("for v in a:\n    w = v\n    o.x += w", True),
        # it may have no value, or what it is needs a look
        ("if a:\n    v = 1\no.x += v", False),
        ("for v in a:\n    w = v\no.x += w", False),
        ("try:\n    v = f()\nexcept E:\n    pass\no.x += v", False),
        ("del a\no.x += a", False),
        ("while o:\n    o.x += a\n    del a", False),
        ("try:\n    f()\nexcept E as a:\n    pass\no.x += a", False),
        ("o.x += v\nv = 1", False),
        ("global v\nv = 1\no.x += v", False),
        ("def g():\n    nonlocal a\n    del a\ng()\no.x += a", False),
        ("def g():\n    nonlocal a\n    a += 1\ng()\no.x += a", False),
        ("o.x += -a", False),
        ("o.x += a.y", False),
        ("o.x += f(a)", False),
        ("o.x *= a", False),
    ],
)
def test_bound_local_variable_is_added_in_one_step(body: str, is_certain: bool) -> None:
    made = rewritten(f"def f(o, a, /, *, k):\n{textwrap.indent(body, '    ')}")
    assert ("if not aug_attr(o, " in made) is is_certain
    assert made.count("aug_attr[o]") == 1


def test_unbound_variable_fails_after_the_attribute_was_read() -> None:
    source = """
class C:
    @property
    def x(self):
        seen.append('read')
        return 1
def f(o, go):
    if go:
        v = 1
    o.x += v
f(C(), False)
"""
    for code in (compile(source, "m.py", "exec"), prepared(source)[0]):
        names: dict[str, Any] = {"seen": []}
        with pytest.raises(UnboundLocalError):
            exec(code, names)
        assert names["seen"] == ["read"]


@pytest.mark.parametrize(
    ("loop", "is_driven"),
    [
        ("while True: next(g)", True),
        ("for _ in s: g.send(1)", True),
        ("while await anext(g): pass", True),
        ("while True: await g.asend(1)", True),
        ("while True: g = h(); next(g)", False),
        ("while True: next(unknown)", False),
        ("while True: g.next()", False),
        ("while True: f(g)", False),
    ],
)
def test_loop_that_steps_a_variable_is_driven_by_it(loop: str, is_driven: bool) -> None:
    made = rewritten(f"async def f(g, s):\n    {loop}")
    assert ("del drive[g]\n        try:\n" in made) == is_driven


def test_entry_functions_get_loop_regions_and_plan_rows_stay() -> None:
    source = """
    def work(n):
        while q: q.pop()
        for e in s:
            for d in e: d.x
    @decorated
    def other():
        for e in s: e.x
    """
    before = plan_of(source)
    for line in (6, 7):
        after = plan_of(source, entries={("work", 2), ("other", line)})
        assert after == before
    assert [region.name for region in before.regions if region.has_loops] == ["pkg.mod:work", "pkg.mod:other"]
    made = rewritten(textwrap.dedent(source), entries={("work", 2)})
    assert made.count("del begin[None]") == 4
    loop = """
        while True:
            del begin[None]
            try:
                if truth[q]:
                    method[q].pop()
                else:
                    break
            finally:
                del end[None]
    """
    assert loop.rstrip() in made
    plain, promoted = (
        compile_instrumented(textwrap.dedent(source), module="m", file="m", entries=entries)[0]
        for entries in ((), {("work", 2)})
    )
    one, other = (next(c for c in code.co_consts if getattr(c, "co_name", "") == "work") for code in (plain, promoted))
    assert (one.co_freevars, one.co_varnames, one.co_flags) == (other.co_freevars, other.co_varnames, other.co_flags)


# As an entry function: what is made of the call that is all it does, or None.
TRAMPOLINES = {
    "def f(): g()": "enter[g]()",
    "def f(*a, **k): return g(*a, **k)": "return enter[g](*unpack[a], **unpack[k])",
    "def f(a):\n 'text'\n a.go(a.n, k=1)": "enter[load_attr[a].go](load_attr[a].n, k=1)",
    "def f(a): a.update(1)": "enter[keyed_method[a, 1].update](1)",
    "def f(a): a.update(a.n)": "enter[late_method[a]](load_attr[a].n)",
    "def f(self): super().run(1)": "enter[super().run](1)",
    "async def f(): await g()": "await await[enter[g]()]",
    "f = lambda: g(1)": "f = lambda: enter[g](1)",
    "f = lambda a: a.g(a.n)": "f = lambda a: (span[None], enter[load_attr[a].g](load_attr[a].n))[1]",
    "async def f(): g()": None,
    "def f(): g(); g()": None,
    "def f(): g(h())": None,
    "def f(): g()()": None,
    "def f(): super(f).run()()": None,
    "def f(): return len(g)": "return enter[len](argument[g])",
    "def f(): return g": None,
    "def f(): a = g()": None,
    "f = lambda: g(h())": None,
    "f = lambda: g() + 1": None,
}


@pytest.mark.parametrize("source", TRAMPOLINES)
def test_entry_function_that_only_calls_another_one_tells_of_it(source: str) -> None:
    entries = {("<lambda>", 1), ("f", 1)}
    made, expected = rewritten(source, entries=entries), TRAMPOLINES[source]
    if expected is None:
        assert "enter[" not in made
    else:
        assert expected in made
    assert "enter[" not in rewritten(source)
    plan = plan_of(source)
    assert plan_of(source, entries=entries) == plan
    own = [region for region in plan.regions if region.origin == "function"]
    assert [region.is_trampoline for region in own] in ([expected is not None], [])


def test_functions_with_loops_begin_with_a_probe_that_says_so() -> None:
    source = "def work(n):\n    for e in n: e.x\nasync def f(n):\n    for e in n: e.x\ndef g(): n.x"
    rows = [(row.kind, row.name, row.line) for row in plan_of(source).probes if row.region in (0, 2, 4)]
    assert [row for row in rows if row[0] == "begin"] == [
        *(("begin", "", 1), ("begin", "loops", 1)),
        *(("begin", "", 3), ("begin", "loops", 3)),
        ("begin", "", 5),
    ]
    for entries, named in ((set(), [3]), ({("work", 1)}, [1, 3])):
        begun: list[int] = []
        code, _ = prepared(
            source, lambda row, _, begun=begun: begun.append(row.line * (row.name == "loops")), entries=entries
        )
        names: dict[str, Any] = {"n": types.SimpleNamespace(x=1)}
        exec(code, names)
        names["work"](())
        with pytest.raises(StopIteration):
            names["f"](()).send(None)
        names["g"]()
        assert sorted(filter(None, begun)) == named


def test_every_kind_of_probe_is_made() -> None:
    sources = [
        *FORMS,
        "async def f(a):\n b = a; b = await a\n lambda: b.x(b.y())\n yield b\ndef g():\n global n\n n += 1",
        "def h(): g()",
    ]
    made = {row.kind for source in sources for row in plan_of(source).probes}
    assert made == set(KINDS)


def test_only_placeholders_have_a_probe_number() -> None:
    assert probe_number(placeholder(12)) == 12
    for constant in (b"\0atomsan:", b"\0atomsan:%d", b"x", "text", 5, operation_placeholder("iadd")):
        assert probe_number(constant) is None


def test_marshalled_code_can_be_bound() -> None:
    code, plan = compile_instrumented("def f(o): o.n += 1\nclass A: n = 1\nf(A)", module="m", file="m.py")
    made = []
    bind(marshal.loads(marshal.dumps(code)), lambda number: made.append(number) or object())
    assert sorted(made) == list(range(len(plan.probes)))


def test_expression_and_tree_of_another_tool_are_instrumented() -> None:
    code, _ = prepared("o.x + n", mode="eval")
    assert eval(code, {"o": type("A", (), {"x": 1}), "n": 2}) == 3
    source = "assert o.x"
    tree = ast.parse(source)
    code, plan = compile_instrumented(source, module="m", file="m.py", tree=tree)
    assert [row.kind for row in plan.probes] == ["load_attr", "truth"]


def test_interactive_input_prints_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    for source in ("o.x", "for i in o.s: i\n", "o.x += 1", "def f():\n global n\n n = 1\n", "n = 5", "o.x, n"):
        exec(prepared(source, mode="single")[0], space := {"o": types.SimpleNamespace(x=1, s=[1, 2]), "n": 1})
        ours = capsys.readouterr().out
        exec(compile(source, "m.py", "single"), space | {"o": types.SimpleNamespace(x=1, s=[1, 2])})
        assert ours == capsys.readouterr().out


def test_syntax_errors_are_the_same() -> None:
    for source in ("def f(:", "return 5", "def f():\n x = 1\n global x", "nonlocal x", "o.x = yield = 1", "break"):
        with pytest.raises(SyntaxError) as plain:
            compile(source, "m.py", "exec")
        with pytest.raises(SyntaxError) as ours:
            compile_instrumented(source, module="m", file="m.py")
        assert (str(ours.value), ours.value.args) == (str(plain.value), plain.value.args)


def test_source_nested_too_deep_is_compiled_without_probes() -> None:
    blocks = "".join(" " * level + "while x.y:\n" for level in range(20)) + " " * 20 + "pass"
    code, plan = compile_instrumented(blocks, module="m", file="m.py")
    assert plan.probes == [] or sys.version_info >= (3, 13)
    branches = "if x: pass\n" + "elif x.y: pass\n" * 600
    code, _ = compile_instrumented(branches, module="m", file="m.py")
    assert code.co_filename == "m.py"


def test_compiler_warnings_are_the_same() -> None:
    source = """
    x = [1, 2]["a"], "a"[1, 2], (1, 2)(3), "%s" % o, o.f("a" * 5, "%d" % 3), not "ab"[0], {1: 2}(4)
    assert (x, "never")
    x is 5
    def f():
        global n
        for n in x: yield "%s" % n, 2 * 3
        yield 2 * 3
        yield "a" "b"
        n = -1; n = 2 ** 3; n = "a" * 3; n = (1, 2); n = [1]; n = {1: 2}; n = lambda: 5; n = f"{n}"
        n = 1 if 2 else 3; n = 0 or 5; n = b"abc"[1]; n += 1
    """
    source = textwrap.dedent(source)
    seen = []
    for make in (
        lambda: compile(source, "m.py", "exec"),
        lambda: compile_instrumented(source, module="m", file="m.py"),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            make()
        seen.append([(str(warning.message), warning.lineno) for warning in caught])
    assert seen[0] == seen[1]
    assert len(seen[0]) >= 6


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import settings\ndef f(): settings.level = 1", ["level"]),
        ("import settings as s\ndef f(): s.level += 1", ["level"]),
        ("from package import settings\ndef f(): del settings.level", ["level"]),
        ("import package.settings\ndef f(): package.settings.level = 1", ["level"]),
        ("def f():\n import settings\n settings.a, settings.b = 1, 2", ["a", "b"]),
        ("import settings\ndef f(settings): settings.level = 1", []),
        ("import settings\nprint(settings.level)", []),
        ("class A:\n def f(self): self.level = 1", []),
    ],
)
def test_stores_to_what_imports_bind_are_in_the_plan(source: str, expected: list[str]) -> None:
    _, plan = instrument(source, module="m", file="m.py")
    assert plan.stored_outside == expected
