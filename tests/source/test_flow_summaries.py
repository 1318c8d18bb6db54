"""Flow summaries: a few lines of source, and the flows in them.

`self.a v self.b=` says that the value read at `self.a` flows into the store to `self.b`; with `k` it is a key, with `c`
it decides whether. `?` stands before a condition, `*` before what is done with a value: iterated, unpacked, tested.
"""

from __future__ import annotations

import ast
import json
import sys
from textwrap import dedent
from typing import Any

import pytest
from tests.source.flows import flow_of

from atomsan.source.flow_summaries import flow_summaries
from atomsan.source.scopes import Scopes

FLOWS: dict[str, tuple[str, list[str]]] = {
    "a local": ("n = self.a; self.b = n", ["self.a v self.b="]),
    "reassigned": ("n = self.a; n = self.c; self.b = n", ["self.c v self.b="]),
    "an alias of an alias": ("n = self.a; m = n; self.b = m", ["self.a v self.b="]),
    "swapped": ("x, y = self.x, self.y; x, y = y, x; self.b = x", ["self.y v self.b="]),
    "unpacked": ("x, (y, *z) = self.load(); self.b = z", ["self.load() v *self.load()", "*self.load() v self.b="]),
    "a key": ("k = self.a; self.b = self.d[k]", ["self.a k self.d[k]", "self.d[k] v self.b="]),
    "an argument": ("self.b = g(self.a)", ["self.a v g(self.a)", "g(self.a) v self.b="]),
    "an operator": ("self.b = self.a * 2 + 1", [
        "self.a v self.a * 2", "self.a * 2 v self.a * 2 + 1", "self.a * 2 + 1 v self.b=",
    ]),
    "a branch": ("if p: n = self.a\nelse: n = self.c\nself.b = n", [
        "*p v ?#1", "?#1 c self.a", "?#1 c self.c", "?#1 c self.b=", "self.a v self.b=", "self.c v self.b=",
    ]),
    "a branch that leaves": ("n = self.a\nif p:\n    n = self.c\n    return\nself.b = n", [
        "*p v ?#1", "?#1 c self.c", "?#1 c return", "?#1 c self.b=", "self.a v self.b=",
    ]),
    "a condition": ("if self.a is None: self.b = 1", ["self.a v ?.a is None", "?.a is None c self.b="]),
    "after an early return": ("if self.a is None: return\nself.b = 1", [
        "self.a v ?.a is None", "?.a is None c return", "?.a is None c self.b=",
    ]),
    "after an early exit in a with block": ("with p:\n    if self.a is None: raise E\nself.b = 1", [
        "self.a v ?.a is None", "?.a is None c raise", "?.a is None c self.b=",
    ]),
    "an assertion": ("assert self.a > 0\nself.b = 1", [
        "self.a v self.a > 0", "self.a > 0 v ?.a > 0",
    ]),
    "nested conditions": ("if self.a is p:\n    if self.c is p:\n        self.b = 1", [
        "self.a v ?#1 is .a", "?#1 is .a c self.c", "?#1 is .a c ?#1 is .c", "self.c v ?#1 is .c",
        "?#1 is .c c self.b=",
    ]),
    "a loop that carries nothing": ("for x in p:\n    old = self.a\n    self.b = old", ["self.a v self.b="]),
    "a loop that carries": ("old = 0\nfor x in p:\n    self.b = old\n    old = self.a", ["self.a v self.b= carried"]),
    "a sum": ("n = 0\nfor x in p:\n    n = n + x\nself.b = n", [
        "*p v n + x", "n + x v n + x carried", "n + x v self.b=",
    ]),
    "carried by continue": ("n = 0\nwhile True:\n    self.b = n\n    if p:\n        n = self.a\n        continue", [
        "self.a v self.b= carried", "*p v ?#1", "?#1 c self.a", "?#1 c self.b= carried",
    ]),
    "a while loop": ("while self.a is p:\n    self.b = 1", ["self.a v ?#1 is .a", "?#1 is .a c self.b="]),
    "after a loop": ("for x in p:\n    n = self.a\nself.b = n", ["self.a v self.b="]),
    "out of a loop by break": ("n = 1\nwhile True:\n    n = self.a\n    break\nself.b = n", ["self.a v self.b="]),
    "break": ("for x in p:\n    if self.a is x: break\n    self.b = 1", [
        "*p v ?$3 is .a", "self.a v ?$3 is .a", "?$3 is .a c self.b=",
    ]),
    "nested loops": ("for x in p:\n    n = None\n    for y in p:\n        self.b = n\n        n = self.a", [
        "self.a v self.b= carried",
    ]),
    "an object made here": ("x = Box(); x.v = self.a; self.b = x.v", [
        "Box() v x.v", "self.a v x.v=", "x.v= v x.v", "x.v v self.b=",
    ]),
    "a list made here": ("x = []; x.append(self.a); self.b = x[0]", [
        "self.a v x.append(self.a)=", "x.append(self.a)= v x[0]", "x[0] v self.b=",
    ]),
    "a dict made here": ("x = {}; x[1] = self.a; self.b = x.get(1)", [
        "self.a v x[1]=", "x[1]= v x.get(1)", "x.get(1) v self.b=",
    ]),
    "a list filled in a loop": ("x = []\nfor y in p:\n    x.append(self.a)\nself.b = x", [
        "self.a v x.append(self.a)=", "x.append(self.a)= v self.b=",
    ]),
    "a list filled by another": ("x = []; self.fill(x); self.b = x", ["self.fill(x) v self.b="]),
    "a tuple": ("x = (self.a, 1); self.b = x[0]", ["self.a v x[0]", "x[0] v self.b="]),
    "what is in a result": ("x = self.load(); self.b = x[0].name", [
        "self.load() v x[0]", "x[0] v x[0].name", "x[0].name v self.b=",
    ]),
    "a field of an object that was read": ("x = self.a; self.b = x.name", ["x.name v self.b="]),
    "taken out and put back": ("rest = self.drain(); self.restore(rest[1:])", [
        "self.drain() v rest[1:]", "rest[1:] v self.restore(rest[1:])",
    ]),
    "a comprehension": ("self.b = [g(x) for x in self.load() if x.ok]", [
        "self.load() v *self.load()", "*self.load() v x.ok", "*self.load() v g(x)", "x.ok v ?.ok", "x.ok v *x.ok",
        "*x.ok v ?.ok", "?.ok c g(x)", "?.ok c self.b=", "g(x) v self.b=",
    ]),
    "the variable of a comprehension": ("x = self.a; y = [x for x in p]; self.b = x", ["self.a v self.b="]),
    "a with block": ("with self.open() as x: self.b = x", ["self.open() v with", "with v self.b="]),
    "a walrus": ("if (n := self.a) is p: self.b = n", [
        "self.a v ?#1 is .a", "self.a v self.b=", "?#1 is .a c self.b=",
    ]),
    "a walrus in a comprehension": ("y = [n := x for x in p]; self.b = n", ["*p v self.b="]),
    "an exception": ("try: n = self.a\nexcept KeyError: self.b = 1\nelse: self.c = n", [
        "self.a c ?except KeyError", "?except KeyError c self.b=", "self.a v self.c=",
    ]),
    "bound before the exception": ("try:\n    n = self.a\n    g()\nexcept E: self.b = n", [
        "self.a c ?except E", "g() c ?except E", "?except E c self.b=", "self.a v self.b=",
    ]),
    "the exception itself": ("try: g()\nexcept E as e: self.b = e", [
        "g() c ?except E", "?except E c self.b=", "g() v self.b=",
    ]),
    "return in a try": ("try: return self.d[p]\nexcept KeyError: pass\nself.b = 1", [
        "self.d c ?except KeyError", "self.d[p] c ?except KeyError", "self.d[p] v return", "?except KeyError c self.b=",
    ]),
    "finally": ("n = 0\ntry: n = self.a\nfinally: self.b = n", ["self.a v self.b="]),
    "a ternary": ("self.b = self.a if p else self.c", [
        "*p v ?#1", "?#1 c self.a", "?#1 c self.c", "self.a v self.b=", "self.c v self.b=", "?#1 c self.b=",
    ]),
    "or": ("self.b = self.a or self.c", [
        "*self.a v ?.a", "self.a v ?.a", "?.a c self.c", "self.a v self.b=", "self.c v self.b=", "?.a c self.b=",
    ]),
    "match": ("match self.a:\n    case [x, 1]: self.b = x\n    case None: self.c = 1", [
        "self.a v match", "match v ?case Sequence(_, 1)", "?case Sequence(_, 1) c self.b=", "match v self.b=",
        "read v match", "read v self.b=",
        "self.a v ?case None", "?case Sequence(_, 1) c ?case None", "?case None c self.c=",
    ]),
    "match of attributes and keys": ("match p:\n    case P(q=0, r=x): self.b = x\n    case {'k': y, **z}: self.c = z", [
        "read v match", "match v ?case Class(P, q=0, r=_)", "match v ?case Mapping('k': _)", "read v self.b=",
        "match v self.b=", "read v self.c=", "match v self.c=", "?case Class(P, q=0, r=_) c self.b=",
        "?case Class(P, q=0, r=_) c read", "?case Class(P, q=0, r=_) c match", "?case Mapping('k': _) c self.c=",
        "?case Class(P, q=0, r=_) c ?case Mapping('k': _)",
    ]),
    "a formatted string": ("self.b = f'{self.a:>{p}}'", [
        "self.a v {self.a:>{p}}", "{p} v {self.a:>{p}}", "{self.a:>{p}} v self.b=",
    ]),
    "a lambda": ("g = lambda: self.a; self.b = g()", ["self.a v g()", "g() v self.b="]),
    "a lambda that is passed": ("self.b = p(lambda x: x + 1, self.a)", [
        "self.a v x + 1", "self.a v p(lambda x: x + 1, self.a)", "x + 1 v p(lambda x: x + 1, self.a)",
        "p(lambda x: x + 1, self.a) v self.b=",
    ]),
    "a default argument": ("n = self.a\ndef g(x=n): return x\nself.b = g()", ["self.a v g()", "g() v self.b="]),
    "a closure that reads": ("n = self.a\ndef g(): return n\nself.b = g()", ["self.a v g()", "g() v self.b="]),
    "a closure that is passed": ("n = self.a\ndef g(): return n\nself.b = p(g)", ["self.a v p(g)", "p(g) v self.b="]),
    "a closure that writes": ("n = 0\ndef g():\n    nonlocal n\n    n = 1\ng()\nself.b = n", [
        "g() v n", "n v self.b=", "n= v n", "n= v g()",
    ]),
    "a partial": ("g = functools.partial(self.m, self.a); g()", [
        "self.a v functools.partial(self.m, self.a)", "functools.partial(self.m, self.a) v g()",
        "self.m v functools.partial(self.m, self.a)",
    ]),
    "a generator": ("n = self.a; n = yield n; self.b = n", ["self.a v (yield n)", "(yield n) v self.b="]),
    "yield from": ("self.b = yield from g(self.a)", [
        "self.a v g(self.a)", "g(self.a) v (yield from g(self.a))", "(yield from g(self.a)) v yield",
        "(yield from g(self.a)) v self.b=",
    ]),
    "del": ("del self.d[self.a]; del self.b", ["self.a k self.d[self.a]="]),
    "augmented": ("self.n += self.a; self.d[self.c] += 1", ["self.a v self.n+=", "self.c k self.d[self.c]+="]),
    "an augmented local": ("n = self.a; n += 1; self.b = n", ["self.a v +", "+ v self.b="]),
    "a chained comparison": ("self.b = 1 < self.a < self.c", [
        "self.a v 1 < self.a < self.c", "self.c v 1 < self.a < self.c", "1 < self.a < self.c v self.b=",
    ]),
    "star arguments": ("g(*self.load(), **p)", ["self.load() v *self.load()", "*self.load() v g(*self.load(), **p)",
        "*p v g(*self.load(), **p)",
    ]),
    "membership": ("if p in self.d: self.b = 1", ["p in self.d v ?#1 in .d", "?#1 in .d c self.b="]),
    "raise": ("raise E(self.a)", ["self.a v E(self.a)", "E(self.a) v raise"]),
    "return": ("return self.a, 1", ["self.a v return"]),
}  # fmt: skip


@pytest.mark.parametrize("case", FLOWS)
def test_flows(case: str) -> None:
    body, expected = FLOWS[case]
    assert sorted(flow_of(body).edges()) == sorted(expected)


def test_async() -> None:
    flow = flow_of("""
        async def f(self, p):
            async with self.open() as x:
                async for y in x:
                    self.b = await g(y)
    """)
    assert flow.edges() == {
        *("self.open() v with", "with v *x", "*x v g(y)", "g(y) v await g(y)", "await g(y) v self.b="),
    }


def test_globals() -> None:
    flow = flow_of("""
        def f():
            global total, LIMIT
            n = total
            total = n + OTHER
            LIMIT = 5
            return total
    """)
    assert flow.edges() == {
        *("total v n + OTHER", "n + OTHER v total=", "total v return"),
    }


def test_receivers_and_parameters() -> None:
    flow = flow_of("x = self.a; x.b = p; self.m(p)")
    assert flow.edges_from("self") == {"r self.a", "r self.m"}
    assert flow.edges_from("self.a") == {"r x.b="}
    assert flow.edges_from("p") == {"v x.b=", "v self.m(p)"}
    assert flow.edges_from("self.m") == {"r self.m(p)"}
    assert (flow.node("p")["index"], flow.node("more")["index"]) == (1, 2)


def test_captured_variables_come_in_as_parameters_do() -> None:
    flow = flow_of("""
        def around(self, q):
            def f():
                self.b = q
    """)
    assert flow.edges_from("q") == {"v self.b="}
    assert flow.edges_from("self") == {"r self.b="}


def test_lambda_with_accesses_has_a_summary_of_its_own() -> None:
    tree = ast.parse("def f(self): return [lambda: self.a + self.b, lambda: self.a]")
    flows = flow_summaries(tree, Scopes(tree))
    long, short = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    assert long in flows.of
    assert short not in flows.of
    assert [node["k"] for node in json.loads(flows.of[long])["nodes"]] == ["param", "read", "read", "call", "return"]


def test_places_of_nodes() -> None:
    flow = flow_of("""
        if p:
            for x in p:
                for y in x:
                    self.a = 1
        else:
            self.b = 2 if p else self.c
    """)
    statements, loops = flow.summary["statements"], flow.summary["loops"]
    a, b, c = flow.node("self.a="), flow.node("self.b="), flow.node("self.c")
    assert [statements[number][3] for number in (a["s"], b["s"], c["s"])] == ["Assign"] * 3
    assert (a["l"], b["l"], c["l"]) == ([0, 1], [], [])
    assert [loop[0] for loop in loops] == [-1, 0]
    assert [statements[loop[1]][:2] for loop in loops] == [[3, 5], [4, 5]]
    assert (a["arms"], b["arms"]) == ([[0, 0]], [[0, 1]])
    assert [(statements[branch][3], arm) for branch, arm in c["arms"]] == [("If", 1), ("IfExp", 1)]


ADDED = {"value": "update", "operator": "+"}
ONE = {"value": "literal", "literal": "1"}


@pytest.mark.parametrize(
    ("body", "name", "facts"),
    [
        ("self.b = None", "self.b=", {"value": "literal", "literal": "None"}),
        ("self.b = -1", "self.b=", {"value": "literal", "literal": "-1"}),
        ("self.b = READY", "self.b=", {"value": "literal", "literal": "READY"}),
        ("self.b = State.ready", "self.b=", {"value": "literal", "literal": "State.ready"}),
        ("self.b = []", "self.b=", {"value": "literal", "literal": "[]"}),
        ("self.b = dict()", "self.b=", {"value": "literal", "literal": "dict()"}),
        ("n = None; self.b = n", "self.b=", {"value": "literal", "literal": "None"}),
        ("self.b = p", "self.b=", {"value": "other"}),
        ("self.b = self.b + 1", "self.b=", {**ADDED, "operand": "number", "literal": "1"}),
        ("self.b = 1 + self.b", "self.b=", {**ADDED, "operand": "number", "literal": "1"}),
        ("self.b = 1 - self.b", "self.b=", {"value": "other"}),
        ("n = self.b; self.b = n - p", "self.b=", {"value": "update", "operator": "-", "operand": "unknown"}),
        ("n = self.b + 'x'; self.b = n", "self.b=", {**ADDED, "operand": "text", "literal": "'x'"}),
        ("me = self; self.b = me.b + len(p)", "self.b=", {**ADDED, "operand": "number"}),
        ("self.b = self.c + 1", "self.b=", {"value": "other"}),
        ("self.d[p] = self.d[p] + [1]", "self.d[p]=", {**ADDED, "operand": "list", "op": "__setitem__"}),
        ("self.n -= 2.5", "self.n+=", {"operator": "-", "operand": "number", "literal": "2.5"}),
        ("self.n += f'{p}'", "self.n+=", {"operator": "+", "operand": "text"}),
        ("self.x.append(p)", "self.x.append(p)=", {"op": "append", "value": "other"}),
        ("x = self.x.setdefault(p, 1)", "self.x.setdefault(p, 1)=", {"op": "setdefault", **ONE}),
        ("self.x.get(p)", "self.x.get(p)", {"op": "get"}),
        ("g(len(self.x))", "len(self.x)", {"op": "len", "keys": True, "name": "len"}),
        ("g(sum(self.x))", "sum(self.x)", {"op": "sum", "name": "sum"}),
        ("g(p in self.x)", "p in self.x", {"op": "__contains__", "keys": True}),
        ("del self.x[p]", "self.x[p]=", {"op": "__delitem__"}),
        ("setattr(self, p, 1)", "setattr(self, p, 1)=", {"op": "setattr", "value": "other", "name": "setattr"}),
    ],
)  # fmt: skip
def test_facts(body: str, name: str, facts: dict[str, Any]) -> None:
    node = flow_of(body).node(name)
    assert {fact: value for fact, value in node.items() if fact not in ("k", "s", "l", "arms", "read")} == facts


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ("self.b = self.b + 1", "self.b"),
        ("self.b = self.c + self.b", "self.b"),
        ("n = self.b; self.b = n - self.c", "self.b"),
        ("n = self.b + self.c; self.b = n", "self.b"),
        ("me = self; self.b = me.b + (me.c != p)", "me.b"),
        ("self.b = self.c + 1", None),
    ],
)
def test_update_knows_its_own_read(body: str, read: str | None) -> None:
    flow = flow_of(body)
    found = flow.node("self.b=").get("read")
    assert (None if found is None else flow.names[found]) == read


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("self.x is None", "not self.x is not None"),
        ("self.x is None", "None is self.x"),
        ("self.x is None", "(v := self.x) is None"),
        ("self.x > 3", "3 < self.x"),
        ("self.x > p", "not p >= self.x"),
        ("self.x and not self.y", "not (not self.x or self.y)"),
        ("p not in self.d", "not p in self.d"),
        ("self.pool.x", "p.x"),
    ],
)
def test_form_of_conditions(one: str, other: str) -> None:
    def form(test: str) -> str:
        *_, last = [node["form"] for node in flow_of(f"if {test}: pass").summary["nodes"] if node["k"] == "cond"]
        return str(last)

    assert form(one) == form(other)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("n = self.v[p]\nn = n + 1\nself.v[p] = n", "update"),
        ("n = self.w\nn = self.v\nself.v = n + 1", "update"),
        ("n = self.v\nif p: n = self.w\nself.v = n + 1", "other"),
        ("n = self.v\nwhile p:\n    self.v = n + 1\n    n = self.w", "other"),
        ("n = self.v\ntry: n = f()\nexcept E: pass\nself.v = n + 1", "other"),
        ("n = self.v\nn = n + self.w\nself.v = n", "update"),
        ("n = self.v\nn = f(n)\nself.v = n", "other"),
    ],
)
def test_store_of_a_variable_that_is_bound_twice(body: str, value: str) -> None:
    (write,) = [node for node in flow_of(body).summary["nodes"] if node["k"] == "write"]
    assert write["value"] == value


@pytest.mark.parametrize(
    ("test", "shape", "opposite"),
    [
        ("self.a is None", "? is None", "? is not None"),
        ("not 3 < self.a", "? <= 3", "? > 3"),
        ("self.a is not UNSET", "? is not UNSET", "? is UNSET"),
        ("self.a == State.NEW", "? == NEW", "? != NEW"),
        ("self.a is not self.b", None, None),
        ("self.READY", "?", "not ?"),
        ("key not in self.a", "not ?", "?"),
        ("key not in self.a and self.b", None, None),
        ("1 < self.a < 3", None, None),
        ("not (self.a or self.b)", None, None),
        ("self.a if p else self.b", None, None),
    ],
)
def test_shape_of_conditions(test: str, shape: str | None, opposite: str | None) -> None:
    """A name in capitals is compared with as a literal is."""
    *_, last = [node for node in flow_of(f"if {test}: pass").summary["nodes"] if node["k"] == "cond"]
    assert (last.get("shape"), last.get("opposite")) == (shape, opposite)


@pytest.mark.parametrize(
    ("body", "alias"),
    [
        ("if self.a < p: pass", "q = p\nif self.a < q: pass"),
        ("if self.a < p: pass", "q = p\nr = q\nif self.a < r: pass"),
        ("if self.a == self.b: pass", "me = self\nif me.a == me.b: pass"),
    ],
)
def test_second_name_of_a_parameter_is_the_parameter(body: str, alias: str) -> None:
    def condition(body: str) -> dict[str, Any]:
        (found,) = [node for node in flow_of(body).summary["nodes"] if node["k"] == "cond"]
        return {fact: value for fact, value in found.items() if fact in ("shape", "opposite", "views")}

    assert condition(alias) == condition(body) != {}


def test_variable_that_was_bound_again_is_no_second_name() -> None:
    (found,) = [node for node in flow_of("q = p\nq = g()\nif self.a < q: pass").summary["nodes"] if node["k"] == "cond"]
    assert "shape" not in found


def test_form_has_the_read_behind_a_local() -> None:
    flow = flow_of("n = self.cache.get(p)\nif n is None: pass")
    assert flow.node("?.get(#1) is None")["branch"] == 1


@pytest.mark.parametrize(
    "body",
    [
        "n = self.a\nfor _ in p:\n    n = n + 1\nself.b = n",
        "n = m = self.a\nfor _ in p:\n    n = m + 1\n    m = n + 1\n    if n > m: return n\nself.b = n",
        "n = self.a\nwhile n < 3:\n    n = n * 2\nself.b = n",
    ],
)
def test_variable_that_is_made_of_itself(body: str) -> None:
    flow = flow_of(body)
    read, write = flow.names.index("self.a"), flow.names.index("self.b=")
    reached, waiting = set(), [read]
    while waiting:
        new = {to for source, to, how, _ in flow.summary["edges"] if source == waiting[-1] and how == "v"} - reached
        waiting.pop()
        reached |= new
        waiting += new
    assert write in reached


def test_variable_is_no_longer_what_changed_since() -> None:
    assert "?.a is None" in flow_of("n = self.a\nm = n\nif m is None: pass").names
    (form,) = [name for name in flow_of("n = self.a\nm = n + 1\nn = 5\nif m > 3: pass").names if name.startswith("?")]
    assert "5" not in form


def test_summaries_are_linear() -> None:
    def size(count: int) -> int:
        lines = ["def f(self, p):", " x = p", *[f" if p.a{i}: x = g(x)" for i in range(count)], " return x"]
        tree = ast.parse("\n".join(lines))
        return sum(map(len, flow_summaries(tree, Scopes(tree)).of.values()))

    assert size(800) < 5 * size(200)


def test_deeply_nested_loops() -> None:
    source = "def f(self, x):\n" + "".join(f"{' ' * i}for x in x:\n" for i in range(1, 19)) + " " * 19 + "x = self.a"
    tree = ast.parse(source)
    assert flow_summaries(tree, Scopes(tree)).of


def test_source_too_deep_for_a_summary_has_none() -> None:
    deep = "(" * 60 + "x" + ".m())" * 60
    tree = ast.parse(dedent(f"def f(x): return {deep}\ndef g(x): return x"))
    limit, scopes = sys.getrecursionlimit(), Scopes(tree)
    sys.setrecursionlimit(len(_frames()) + 90)
    try:
        flows = flow_summaries(tree, scopes)
    finally:
        sys.setrecursionlimit(limit)
    summaries = {getattr(node, "name", ""): json.loads(text) for node, text in flows.of.items()}
    assert summaries["f"]["nodes"] == []
    assert [node["k"] for node in summaries["g"]["nodes"]] == ["param", "return"]


def _frames() -> list[Any]:
    frame, found = sys._getframe(), []
    while frame is not None:
        found.append(frame)
        frame = frame.f_back  # type: ignore[assignment]
    return found
