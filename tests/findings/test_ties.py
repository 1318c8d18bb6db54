"""Iterations of loops, as far as the events in a function's own code tell them apart."""

from __future__ import annotations

import pytest

from atomsan.findings.flow_graph import FlowGraph
from atomsan.findings.ties import OwnEvent, advanced_loops
from atomsan.trace.events import Op
from source.flows import flow_of

APPEND = "self.a.append(self.m(x))"
PAIR = "self.a[:] = [self.b, self.c]"
ADD = "self.n += self.m(x)"


@pytest.mark.parametrize(
    ("statements", "first", "last", "is_later"),
    [
        (APPEND, "self.m(x)", f"{APPEND}=", False),
        (APPEND, f"{APPEND}=", "self.m(x)", True),
        ("v = self.m(x)\nself.a.append(v)", "self.a.append(v)=", "self.m(x)", True),
        (PAIR, "self.b", "self.c", False),
        (PAIR, "self.c", "self.b", True),
        ("self.a.append([self.m(y) for y in p])", "self.a.append([self.m(y) for y in p])=", "self.m(y)", True),
        # what an update adds is evaluated between its read and its write
        (ADD, "read self.n+=", "self.m(x)", False),
        (ADD, "self.m(x)", "self.n+=", False),
        (ADD, "self.n+=", "read self.n+=", True),
        (ADD, "read self.n+=", "self.n+=", False),
        ("self.n = self.n + 1", "self.n=", "self.n", True),
        # run when they are called for
        ("self.a.sort(key=lambda v: self.b)", "self.a.sort(key=lambda v: self.b)=", "self.b", False),
        ("self.a.extend((self.b for _ in p))", "self.a.extend((self.b for _ in p))=", "self.b", False),
    ],
)
def test_order_inside_a_statement_tells_iterations_apart(
    statements: str, first: str, last: str, is_later: bool
) -> None:
    lines = "".join(f"\n    {line}" for line in statements.splitlines())
    flow = flow_of(f"for x in p:{lines}")
    events = [_event(flow.names, name) for name in (first, last)]
    assert advanced_loops(FlowGraph(flow.summary), events) == ({0} if is_later else set())


@pytest.mark.parametrize(
    ("statements", "events", "is_later"),
    [
        # left, and what comes behind it
        ("with self.m(x):\n    g(self.b)\ng(self.c)", ["self.b", "with", "self.c"], False),
        # entered once more
        ("with self.m(x):\n    g(self.b)", ["self.b", "with", "self.m(x)"], True),
        ("with p:\n    g(self.b)", ["self.b", "with", "with"], True),
        ("with p:\n    g(self.b)", ["self.b", "with", "self.b"], True),
        # another arm of a branch
        ("if x:\n    with p:\n        g(self.b)\nelse: g(self.c)", ["self.b", "with", "self.c"], True),
    ],
)
def test_leaving_a_context_manager_is_no_way_back(statements: str, events: list[str], is_later: bool) -> None:
    lines = "".join(f"\n    {line}" for line in statements.splitlines())
    flow = flow_of(f"for x in p:{lines}")
    found = [_event(flow.names, name) for name in events]
    # the code that enters and the code that leaves are two regions
    found = [event._replace(target=number) for number, event in enumerate(found)]
    assert advanced_loops(FlowGraph(flow.summary), found) == ({0} if is_later else set())


def test_context_managers_of_one_statement_are_left_in_the_other_order() -> None:
    flow = flow_of("for x in p:\n    with p, x:\n        g(self.b)\n    g(self.c)")
    inside, after = _event(flow.names, "self.b"), _event(flow.names, "self.c")
    one, two = (OwnEvent(node, Op.BEGIN, 9) for node, name in enumerate(flow.names) if name == "with")
    assert advanced_loops(FlowGraph(flow.summary), [inside, two, one, after]) == set()
    assert advanced_loops(FlowGraph(flow.summary), [inside, two, one, two]) == {0}


def _event(names: list[str], name: str) -> OwnEvent:
    """The event at the node of this name: a write at a write or update, unless it says `read`."""
    node = name.removeprefix("read ")
    is_write = node.endswith("=") and node == name
    return OwnEvent(names.index(node), Op.WRITE if is_write else Op.READ, 0)


@pytest.mark.parametrize(
    ("statements", "events", "is_later"),
    [
        # one pass comes from the body of a `try` to any other part of it
        ("try: g(self.a)\nexcept E: g(self.b)", ["self.a", "self.b"], False),
        ("try: g(self.a)\nexcept E: pass\nelse: g(self.b)", ["self.a", "self.b"], False),
        ("try: g(self.a)\nfinally: g(self.b)", ["self.a", "self.b"], False),
        ("try: pass\nexcept E: g(self.a)\nfinally: g(self.b)", ["self.a", "self.b"], False),
        ("try: pass\nexcept E: pass\nelse: g(self.a)\nfinally: g(self.b)", ["self.a", "self.b"], False),
        ("try:\n    if x: g(self.a)\nexcept E:\n    if x: g(self.b)", ["self.a", "self.b"], False),
        ("try: pass\nexcept* E: g(self.a)\nexcept* F: g(self.b)", ["self.a", "self.b"], False),
        # but not from one handler to another one or to `else`, and not back
        ("try: pass\nexcept E: g(self.a)\nexcept F: g(self.b)", ["self.a", "self.b"], True),
        ("try: pass\nexcept E: g(self.a)\nelse: g(self.b)", ["self.a", "self.b"], True),
        ("try: g(self.a)\nexcept E: g(self.b)", ["self.b", "self.a"], True),
        ("try: g(self.a)\nfinally: g(self.b)", ["self.b", "self.a"], True),
        # from one part of a condition to the next
        ("g(self.a and self.b)", ["self.a", "self.b"], False),
        ("g(self.a or self.b)", ["self.b", "self.a"], True),
        ("g(self.a and (self.b or self.c))", ["self.a", "self.b", "self.c"], False),
        ("g(self.a if x else self.b)", ["self.a", "self.b"], True),
        # from one pattern to the next, and into the case that fits
        ("match x:\n    case _ if self.a: g(1)\n    case _ if self.b: g(2)", ["self.a", "self.b"], False),
        ("match x:\n    case _ if self.a: g(1)\n    case _: g(self.b)", ["self.a", "self.b"], False),
        ("match x:\n    case 1: g(self.a)\n    case _: g(self.b)", ["self.a", "self.b"], True),
        ("match x:\n    case 1: g(self.a)\n    case _ if self.b: g(1)", ["self.a", "self.b"], True),
        # arms of `if`, also inside of a `try`
        ("if x: g(self.a)\nelse: g(self.b)", ["self.a", "self.b"], True),
        ("try:\n    if x: g(self.a)\n    else: g(self.b)\nexcept E: pass", ["self.a", "self.b"], True),
    ],
)
def test_pass_comes_from_one_arm_to_another_that_is_no_alternative(
    statements: str, events: list[str], is_later: bool
) -> None:
    lines = "".join(f"\n    {line}" for line in statements.splitlines())
    flow = flow_of(f"for x in p:{lines}")
    found = [_event(flow.names, name) for name in events]
    assert advanced_loops(FlowGraph(flow.summary), found) == ({0} if is_later else set())


@pytest.mark.parametrize(
    ("statements", "events", "advanced"),
    [
        # the lambda is made before, and called behind
        ("f = lambda: self.a\nself.b = 1\ng(f)", ["self.b=", "self.a"], frozenset()),
        ("f = (self.a for _ in x)\nself.b = 1\ng(f)", ["self.b=", "self.a"], frozenset()),
        # other accesses tell that it is called in a later iteration
        ("f = lambda: self.a\ng(self.c)\nself.b = 1", ["self.b=", "self.c", "self.a"], frozenset({0})),
        # it may be called twice in one iteration, or once in each of two
        ("f = lambda: self.a\ng(f)", ["self.a", "self.a"], None),
        ("f = lambda: self.a\nself.b = 1\ng(f)", ["self.b=", "self.a", "self.a"], None),
        ("f = lambda: self.a\nself.b = 1\ng(f)\nself.c = 1", ["self.b=", "self.a", "self.a", "self.c="], frozenset()),
        # each step of a generator expression is one of its own loop
        ("g(self.m(y) for y in p)", ["self.m(y)", "self.m(y)"], frozenset({1})),
        ("f = (self.m(y) for y in p)\nself.b = 1\ng(f)", ["self.b=", "self.m(y)", "self.m(y)"], frozenset({1})),
    ],
)
def test_place_of_what_is_called_later_tells_nothing(
    statements: str, events: list[str], advanced: frozenset[int] | None
) -> None:
    lines = "".join(f"\n    {line}" for line in statements.splitlines())
    flow = flow_of(f"for x in p:{lines}")
    found = [_event(flow.names, name) for name in events]
    assert advanced_loops(FlowGraph(flow.summary), found) == advanced
