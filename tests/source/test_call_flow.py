"""The call-flow rule: receivers of which a result flows into a later call."""

import ast
import textwrap
from collections.abc import Sequence

import pytest

from atomsan.source.call_flow import call_flow
from atomsan.source.instrument import instrument

FLOWS = {
    # into an argument
    "acc.set(acc.get() + 1)": "acc",
    "x = acc.get()\nacc.set(x + 1)": "acc",
    "x = acc.get()\ny = f(x)\nacc.set(y)": "acc",
    "x = y = acc.get()\nacc.set(by=y)": "acc",
    "x, *y = acc.get()\nacc.set(*y)": "acc",
    "x = [acc.get()]\nacc.set(x[0])": "acc",
    "x = {}\nx['k'] = acc.get()\nacc.set(x)": "acc",
    "x = acc.get()\nx += 1\nacc.set(x)": "acc",
    "x: int = acc.get()\nacc.set(x)": "acc",
    "acc.set(f'{acc.get()}')": "acc",
    "acc.set(x.a if (x := acc.get()) else 0)": "acc",
    "self.v = self.pool.take()\nself.pool.put(self.v)": "self.pool",
    "self.set(self.get())": "self",
    "with lock:\n x = acc.get()\nwith lock:\n acc.set(x)": "acc",
    "with pool.take() as c:\n pool.put(c)": "pool",
    "for x in acc.items():\n acc.remove(x)": "acc",
    "[acc.remove(x) for x in acc.items()]": "acc",
    "x = 0\nwhile True:\n acc.set(x)\n x = acc.get()": "acc",
    "if a:\n x = acc.get()\nelse:\n x = 0\nacc.set(x)": "acc",
    "try:\n x = acc.get()\nexcept E:\n x = 0\nacc.set(x)": "acc",
    "x = await acc.get()\nawait acc.set(x)": "acc",
    "match acc.get():\n case [x]:\n  f(acc.set(x))": "acc",
    "item = pool.take()\npool.put(item.changed())": "pool",
    "b.put(a.get())\na.put(b.get())\na.put(a.get())": "a",
    # into the condition it stands under
    "if not pool.empty(): pool.take()": "pool",
    "if pool.empty(): pass\nelse: pool.take()": "pool",
    "if pool.size() > 3 and ready: x = pool.take()": "pool",
    "n = pool.size()\nif n: pool.take()": "pool",
    "while not q.empty(): f(q.get())": "q",
    "if pool.empty(): return\npool.take()": "pool",
    "for x in y:\n if x.done(): continue\n x.run()": "x",
    "x = pool.take() if pool.size() else None": "pool",
    "pool.size() and pool.take()": "pool",
    "[pool.take() for x in y if pool.size()]": "pool",
    "assert not pool.empty()\npool.take()": "pool",
    "with lock:\n if pool.empty(): return\npool.take()": "pool",
    # between attributes that may be properties
    "acc.balance += 1": ".acc",
    "x = acc.balance\nacc.balance = x + 1": ".acc",
    "acc.balance = max(acc.balance, 0)": ".acc",
    "if acc.balance > 5: acc.withdraw(5)": ".acc",
    "if acc.is_open: acc.balance = 0": ".acc",
    "acc.balance = acc.get() + 1": ".acc",
    "while self.pool.size: self.pool.take()": ".self.pool",
    "acc.set(acc.get(acc.key))": "acc .acc .acc",
    "self.balance += 1\nif self.size: self.take()": "",
    "acc.balance = other.balance": "",
    "acc.balance = 5\nx = acc.balance": "",
    "x = acc.balance\nx = 5\nacc.set(x)": "",
    "acc.log.add(acc.name)": "",
    # no flow
    "acc.deposit(1)\nacc.deposit(2)": "",
    "x = acc.get()\nlog(x)": "",
    "x = acc.get()\nx = 5\nacc.set(x)": "",
    "b.put(a.get())": "",
    "if a.ready(): b.take()": "",
    "acc.set(x)\nx = acc.get()": "",
    "stats.bump()\nstats.bump()\nreturn stats.total()": "",
    "if x: pool.take()\npool.put(1)": "",
    "if pool.empty(): log()\npool.take()": "",
    "def inner(): return acc.get()\nacc.set(inner)": "",
    "f = lambda: acc.get()\nacc.set(f)": "",
    "acc.set(get() + 1)": "",
    "for a in acc: a.get()": "",
}


@pytest.mark.parametrize("source", FLOWS)
def test_receivers_whose_result_flows_into_a_later_call(source: str) -> None:
    tree = ast.parse(f"async def f():\n{textwrap.indent(source, ' ')}")
    function = tree.body[0]
    assert isinstance(function, ast.AsyncFunctionDef)
    assert _receivers(call_flow(function.body)) == FLOWS[source].split()


@pytest.mark.parametrize("source", FLOWS)
def test_region_in_the_plan_has_the_call_flow(source: str) -> None:
    """What the instrumenter asks before it follows the flow leaves nothing out."""
    text = f"async def f():\n{textwrap.indent(source, ' ')}"
    plan = instrument(text, module="m", file="m.py")[1]
    flow = next(region.flow for region in plan.regions if region.name == "m:f")
    assert _receivers(flow) == FLOWS[source].split()


def _receivers(flow: Sequence[str]) -> list[str]:
    return [line.split()[0] for line in flow]


def test_flow_lists_the_methods_called_on_the_receiver() -> None:
    source = "if not pool.empty():\n    pool.take()\nelse:\n    self.pool.grow(pool.size)\nother.take()"
    assert call_flow(ast.parse(source).body) == ("pool empty take",)


def test_flow_through_attributes_lists_both_ends() -> None:
    source = "if acc.balance > acc.limit:\n    acc.withdraw(1)\nacc.size += 1"
    assert call_flow(ast.parse(source).body) == (".acc balance withdraw", ".acc limit withdraw", ".acc size")


def test_modules_are_not_receivers() -> None:
    source = "import os, own\ndef f():\n os.remove(os.getcwd())\n own.set(own.get())\n acc.set(acc.get())"
    plan = instrument(source, module="m", file="m.py")[1]
    assert [region.flow for region in plan.regions] == [("acc get set",)]


def test_loop_regions_have_their_own_flow() -> None:
    source = "def main():\n x = acc.get()\n for _ in s: acc.set(x)\n while True:\n  if q.size(): q.pop()"
    plan = instrument(source, module="m", file="m.py")[1]
    assert [(region.name, region.flow) for region in plan.regions] == [
        ("m:main", ("acc get set", "q pop size")),
        ("m:main/loop:3", ()),
        ("m:main/loop:4", ("q pop size",)),
    ]
