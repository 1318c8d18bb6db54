"""Names that a call site invokes, found from the instruction that runs."""

from __future__ import annotations

import ast
import asyncio
import sys
import textwrap
import warnings
from collections.abc import Callable
from types import CodeType
from typing import Any

import pytest

from atomsan.source.instrument import bind, compile_instrumented
from atomsan.source.invocations import Invocations, is_invoked_by, position_of

HEAD = """
class Manager:
    def __enter__(self): look("__enter__")
    def __exit__(self, *_): look("__exit__")
    async def __aenter__(self): look("__aenter__")
    async def __aexit__(self, *_): look("__aexit__")

class Thing:
    def method(self, *_): look("method")
    def managed(self): return Manager()
    def __add__(self, other): look("__add__")
    def __lt__(self, other): look("__lt__")
    def __getitem__(self, key): look("__getitem__")
    def __iter__(self):
        look("__iter__")
        return iter(())
    @property
    def field(self): look("field")
    @field.setter
    def field(self, value): look("field")
    async def wait(self): look("wait")
    def steps(self):
        look("steps")
        yield 1

thing = Thing()
"""

TRY: dict[str, tuple[str, dict[str, set[str]]]] = {
    "method": ("thing.method()", {"method": {"method", "__call__"}}),
    "with arguments": ("thing.method(1, [thing.field])", {"method": {"method"}, "field": {"field"}}),
    "in a later line": ("(thing\n    .method(\n 1))", {"method": {"method"}}),
    "name": ("f = thing.method\nf()", {"method": {"f", "__call__"}}),
    "nobody's name": ("(lambda: thing.method)()()", {"method": {"__call__"}}),
    "attribute": ("x = thing.field", {"field": {"field"}}),
    "store": ("thing.field = 1", {"field": {"field"}}),
    "operator": ("thing + thing", {"__add__": set()}),
    "comparison": ("if thing < thing: pass", {"__lt__": set()}),
    "item": ("thing[1]", {"__getitem__": set()}),
    "with": (
        "with thing.managed():\n    pass",
        {"__enter__": {"managed"}, "__exit__": {"managed"}},
    ),
    "with two": ("with thing.managed(), Manager() as m:\n    pass", {"__enter__": set(), "__exit__": set()}),
    "loop": ("for _ in thing: pass", {"__iter__": set()}),
    "loop over a call": ("for _ in thing.steps(): pass", {"steps": {"steps"}}),
    "comprehension": ("[one for one in thing.steps()]", {"steps": {"steps"}}),
    "await": ("async def run():\n    await thing.wait()\nrun_it(run)", {"wait": {"wait"}}),
    "async with": (
        "async def run():\n    async with thing.managed(): pass\nrun_it(run)",
        {"__aenter__": {"managed"}, "__aexit__": {"managed"}},
    ),
    "yield from": ("def run():\n    yield from thing.steps()\nlist(run())", {"steps": {"steps"}}),
}


@pytest.mark.parametrize("instrumented", [False, True])
@pytest.mark.parametrize("name", TRY)
def test_names_invoked_at_a_call_site(name: str, instrumented: bool) -> None:
    body, expected = TRY[name]
    source = HEAD + body + "\n"
    invocations = Invocations(source)
    first = HEAD.count("\n") + 1
    found: dict[str, set[str]] = {}

    def look(entered: str) -> None:
        """Who called the function that calls this?"""
        frame = sys._getframe(2)
        while frame.f_lineno < first or frame.f_code.co_filename != "m.py":
            assert frame.f_back is not None
            frame = frame.f_back
        found[entered] = invocations.at(position_of(frame.f_code, frame.f_lasti))

    exec(compiled(source, instrumented), {"look": look, "run_it": lambda run: asyncio.run(run()), "__name__": "m"})
    assert found.keys() == expected.keys()
    for entered, names in expected.items():
        assert names <= found[entered], (entered, found)


def compiled(source: str, instrumented: bool) -> CodeType:
    if not instrumented:
        return compile(source, "m.py", "exec")
    code, plan = compile_instrumented(source, module="m", file="m.py")
    from atomsan.recorder.python._probes import make_probes  # they log nothing: nobody is recording

    return bind(code, make_probes(plan, 1).__getitem__)


def code_of(source: str, *path: str) -> CodeType:
    names: dict[str, Any] = {}
    exec(textwrap.dedent(source), names)
    found: Any = names[path[0]]
    for part in path[1:]:
        found = getattr(found, part)
    function: Callable[..., object] = found
    return function.__code__


def test_function_is_invoked_by_its_name() -> None:
    update = code_of("def update(): pass", "update")
    assert is_invoked_by(update, {"update"})
    assert not is_invoked_by(update, {"other", "__call__"})
    call = code_of("class Task:\n  def __call__(self): pass", "Task", "__call__")
    assert is_invoked_by(call, {"task", "__call__"})
    assert not is_invoked_by(call, {"update"})


@pytest.mark.parametrize("name", ["__init__", "__getitem__", "__lt__", "__enter__"])
def test_special_methods_are_invoked_by_any_name(name: str) -> None:
    assert is_invoked_by(code_of(f"class A:\n  def {name}(self, *_): pass", "A", name), set())
    assert not is_invoked_by(code_of("def __private(): pass", "__private"), set())


def test_unknown_position_invokes_nothing() -> None:
    invocations = Invocations("f()")
    assert invocations.at((None, None, None, None)) == set()
    assert invocations.at((7, 7, 0, 3)) == set()
    assert invocations.at((1, 1, 0, 3)) == {"f", "__call__"}


STRANGE = r"""
f('\d', "\"", r'\\', '\é', f'\{1}', f'\N{EM DASH}', '\\')
g('''\
\q'''); \
  h()
"""


def test_source_is_parsed_without_warnings() -> None:
    """Python has warned when it compiled the program."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls = [node for node in ast.walk(ast.parse(STRANGE)) if isinstance(node, ast.Call)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        invocations = Invocations(STRANGE.encode())
    found = [invocations.at((call.lineno, call.end_lineno, call.col_offset, call.end_col_offset)) for call in calls]
    assert found == [{name, "__call__"} for name in "fgh"]
