"""Escape analysis: which local containers are private, and that they have no probes."""

import ast
import textwrap

import pytest

from atomsan.source.escape_analysis import private_names
from atomsan.source.instrument import instrument
from atomsan.source.scopes import FunctionNode, Scopes

BEFORE = """
import collections
import heapq
from heapq import heappush
"""


def private(body: str, head: str = "def f(x, y=None, *args, **kwargs):") -> set[str]:
    source = BEFORE + head + "\n" + textwrap.indent(textwrap.dedent(body), "    ")
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, FunctionNode) and node.name == "f"]
    return set(private_names(functions[0], Scopes(tree)))


@pytest.mark.parametrize("made", [
    *("[]", "{}", "{1, 2}", "[x, y]", "[i for i in x]", "{i: i for i in x}", "{i for i in x}", "[0] * 4"),
    *("list()", "dict(x)", "set(x)", "bytearray(4)", "collections.deque()", "collections.defaultdict(list)"),
    *("collections.OrderedDict()", "collections.Counter(x)"),
])  # fmt: skip
def test_new_container_is_private(made: str) -> None:
    assert private(f"a = {made}\na[0]") == {"a"}


@pytest.mark.parametrize("made", [
    *("x", "x[0]", "g()", "x.items", "(1, 2)", "x or []", "[] + x", "[0] * x", "[] if x else x", "1", "None"),
    *("(i for i in x)", "range(3)", "list", "sorted(x)", "collections.ChainMap(x)", "(yield)", "lambda: []"),
])  # fmt: skip
def test_other_values_are_not_private(made: str) -> None:
    assert private(f"a = {made}\na[0]") == set()


@pytest.mark.parametrize("use", [
    "a[x]", "a[x] = y", "a[x] += 1", "del a[x]", "a[1:2] = x", "a[x][y].z = 3", "a[x].append(y)",
    "a.append(x)", "a.get(x, 0)", "a.update(x)", "a.sort(key=y)", "a.setdefault(x, []).append(y)",
    "for i in a: pass", "for i, j in enumerate(a): pass", "for i, j in zip(a, x): pass",
    "for i, j in a.items(): pass", "return [i for i in a if a[i]]", "return {i: a[i] for i in x}",
    "return sorted(a.items())", "return len(a), sum(a), max(a), list(a), dict(a)", "return x in a, x not in a",
    "return a is None", "if a: pass", "if not a and x: pass", "while a: a.pop()", "assert a, x",
    "return 1 if a else 2", "g(*a)", "g(**a)", "return [*a, *x]", "return {**a}", "p, q = a", "p, *q = a.values()",
    "heapq.heappush(a, x)", "heappush(a, x)", "return heapq.heappop(a)", "return ', '.join(a)", "return f'{a!r}'",
    "try:\n    a[x]\nexcept KeyError:\n    a[x] = 1\nfinally:\n    a.clear()",
    "with x: a[1] = 2", "a = {}", "if x:\n    a = []\na[0]", "a: list = []\na[0]", "[a[i] for i in [j for j in a]]",
    "def g(): return x\na[0]", "def g(a): return a\na[0]",
    "return [a for a in x]", "return isinstance(a, list)",
    # whoever gets it, it is after the last that is done here
    "return a", "return [a]", "return a, x", "return x if y else a", "return not a or a", "return {x: [a]}",
    "try:\n    return a\nfinally:\n    a.clear()", "if x:\n    return a\na.append(1)",
])  # fmt: skip
def test_use_that_keeps_the_container_private(use: str) -> None:
    assert "a" in private(f"a = []\n{use}")


@pytest.mark.parametrize("use", [
    "yield from a", "yield", "x.a = a", "x[0] = a", "x[a] = 1", "x[a]", "global b\nb = a",
    "g(a)", "g(k=a)", "x.append(a)", "x.g(a)", "a.append(a)", "a.__iter__()", "b = a", "b = c = a", "b = [a]",
    "b = (a, 1)", "b = {1: a}", "b = {a}", "p, b = x, a", "b = a or x", "b = x and a", "b = a if x else y",
    "b = a + x", "b = x + a", "a += x", "a == x", "x == a", "a < x", "x < a < y", "b = a.append", "b = a.items()",
    "return a.items()", "b = iter(a)", "return enumerate(a)", "b = (i for i in a)", "return (a[i] for i in x)",
    "return sum(a[i] for i in x)", "return lambda: a", "return lambda: a[0]", "return lambda q=a: q",
    "def g(): return a[0]", "def g(b=a): return b", "def g(*, b=a): return b", "def g(b: a): return b",
    "def g() -> a: pass", "@a\ndef g(): pass", "class C(a): pass", "class C:\n    b = a", "class C(metaclass=a): pass",
    "def g():\n    nonlocal a\n    a = x", "def g():\n    def h():\n        return a", "locals()", "vars()",
    "eval('a')", "exec('b = a')",
    "dir()", "del a", "raise a", "raise x from a", "assert x, a", "with a: pass", "with x as a: pass",
    "for a in x: pass", "for x.b in a: pass\nx.c = a", "import a", "from b import c as a", "def a(): pass",
    "class a: pass", "try: pass\nexcept x as a: pass", "(a := x)", "print((b := a))", "[a := i for i in x]",
    "match a:\n    case _: pass", "match x:\n    case a: pass", "match x:\n    case [1, *a]: pass",
    "match x:\n    case {'k': 1, **a}: pass", "match x:\n    case {'k': a}: pass", "a = x", "a, b = x", "[a, b] = x",
    "(a), b = x, []", "a = b = []", "a, *b = [], 1", "return max(a, x)", "return min(x, a)", "return sum(x, a)",
    "heapq.heappush(x, a)", "return map(g, a)", "return next(iter(a))", "return g(a) if y else a", "return (a + x, a)",
    "return -a", "return ~a", "return f'{x:{g(a)}}'", "return {a: 1 for i in x}", "return (b := a)", "print(a)",
    "return [a for i in x]",
    "return [i for i in x if g(a)]", "return {i: a for i in x}", "return a[a]", "a.x", "a.x = 1", "return a.copy",
    "x.sort(key=a)", "return sorted(x, key=a.get)", "global a",
])  # fmt: skip
def test_use_that_lets_the_container_escape(use: str) -> None:
    if use == "global a":
        assert private("global a\na = []\na[0]") == set()
        return
    assert "a" not in private(f"a = []\n{use}")


@pytest.mark.parametrize("head", [
    "def f(a, x):", "def f(x, *a):", "def f(x, **a):", "def f(x, *, a=1):", "def f(x, a, /):", "async def f(a):",
])  # fmt: skip
def test_parameters_are_not_private(head: str) -> None:
    assert private("a[0]\na = []\na[1]", head) == set()


def test_containers_of_generators_are_not_private_but_those_of_coroutines_are() -> None:
    assert private("a = []\nyield a[0]") == set()
    assert private("a = []\nawait x\na[0]", "async def f(x):") == {"a"}
    assert private("a = []\nyield a[0]", "async def f(x):") == set()


@pytest.mark.parametrize("body", [
    "a = []\na.append(x)\nyield a",
    "for i in x:\n    a = [i]\n    if i: a.append(y)\n    yield a",
    "while x:\n    b = 1\n    a = {}\n    if y: return\n    if x: continue\n    a[b] = 2\n    yield a",
    "try:\n    a = []\n    a.append(x)\n    yield a\nfinally:\n    x.close()",
    "yield x\na = []\na = [1]\nyield a",
])  # fmt: skip
def test_container_that_a_generator_makes_and_yields_at_once_is_private(body: str) -> None:
    assert "a" in private(body)


@pytest.mark.parametrize("body", [
    "a = []\nyield x\na.append(x)\nyield a",
    "a = []\nif x:\n    yield 1\nyield a",
    "a = []\nb = [(yield x)]\nyield a",
    "a = []\nfor i in x:\n    a.append(i)\n    yield a",
    "for i in x:\n    a = [i]\n    yield a\na.append(x)",
    "for i in x:\n    a = [i]\n    yield a\nelse:\n    a.clear()",
    "for i in x:\n    if i: a.append(y)\n    a = [i]\n    yield a",
    "for i in x:\n    a = [i]\n    yield a\n    a.append(i)",
    "for i in x:\n    a = [i]\n    b = yield a",
    "for i in x:\n    a = [i]\n    y.append(a)\n    yield a",
    "for i in x:\n    a = [i]\n    a = x\n    yield a",
    "try:\n    a = []\n    yield a\nfinally:\n    a.clear()",
    "try:\n    a = []\n    yield a\nexcept E as a:\n    pass",
    "a = []\ndef g(): return a\nyield a",
    "global a\na = []\nyield a",
    "a = x\nyield a",
])  # fmt: skip
def test_container_that_a_generator_keeps_across_a_yield_is_not_private(body: str) -> None:
    assert private(body) == set()


def test_mangled_and_plain_name_of_a_variable_count_as_one() -> None:
    body = "for i in x:\n    __a = []\n    yield __a\n"
    for more, expected in (("", {"_C__a"}), ("_C__a.append(1)", set()), ("__a.append(1)", set())):
        source = "class C:\n    def f(self, x):\n" + textwrap.indent(body + more, "        ")
        tree = ast.parse(source)
        (function,) = [node for node in ast.walk(tree) if isinstance(node, FunctionNode)]
        assert private_names(function, Scopes(tree)) == expected


def test_tuple_assignment_of_new_containers() -> None:
    assert private("a, b = {}, []\na[0], b[0]") == {"a", "b"}
    assert private("a, b, c = {}, 0, x\na[0]") == {"a"}
    assert private("(a, b), c = ([], []), 1\na[0]") == {"a", "b"}
    assert private("a, b = [], []\na, b = b, a") == set()


def test_shadowed_names_are_told_apart() -> None:
    # the comprehension's own variable has the same name
    assert private("a = []\nb = [a for a in x]\na[0]") == {"a", "b"}
    assert private("len = g\na = []\nlen(a)") == set()


def kinds(body: str) -> list[str]:
    source = BEFORE + "def f(x, y):\n" + textwrap.indent(textwrap.dedent(body), "    ")
    _, plan = instrument(source, module="m", file="m.py")
    return [probe.kind for probe in plan.probes if probe.kind not in ("begin", "end", "drive")]


@pytest.mark.parametrize("use", [
    "a[x]", "a[x] = y", "a[x] += 1", "del a[x]", "a.append(x)", "a.get(x)", "a.pop(g())", "len(a)", "sorted(a)",
    "x in a", "if a: pass", "a.sort()", "heapq.heappush(a, x)", "p, q = a", "g(*a)",
])  # fmt: skip
def test_private_containers_have_no_probes(use: str) -> None:
    found = kinds(f"a = []\n{use}")
    assert [kind for kind in found if kind != "load_attr"] == []
    assert [kind for kind in kinds(f"a = []\n{use}\nreturn g(a)") if kind != "load_attr"] != []


def test_loops_over_private_containers_have_no_probes() -> None:
    assert kinds("a = {}\nfor i in a: pass") == []
    assert kinds("a = {}\nfor i, j in a.items(): pass") == []
    assert kinds("a = {}\nfor i, j in x.items(): pass") == ["load_attr", "iterate"]


def test_elements_of_private_containers_have_probes() -> None:
    assert kinds("a = {}\na[x].b") == ["load_attr"]
    assert kinds("a = {}\na[x][y]") == ["item"]
    assert kinds("a = {}\nfor i in a.values(): i.append(1)") == ["method"]


def test_argument_read_by_a_private_container_has_a_probe() -> None:
    assert kinds("a = {}\na.update(x)") == ["keyed_method"]
    assert kinds("a = []\na.extend(x)") == ["keyed_method"]
    assert kinds("a = []\na.extend([1])") == []
    assert kinds("a = list(x)\na[0]") == ["argument"]
