"""Sites of begin events: where in recorded code each activation of a function was called."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Mapping
from pathlib import Path
from types import CodeType

import pytest

import atomsan
from atomsan.recorder.python import _probes
from atomsan.trace.events import NO_SITE, Op
from recorder.probing import Log, function, prepared, recording
from recorder.running import recorded

Calls = Mapping[str, list[str]]

# Each function reads a field, so that it is not too trivial to be a region.
PROGRAM = """
    import asyncio, concurrent.futures, contextlib, functools, threading
    import library

    class Thing:
        n = 1

        def __init__(self, n=1):
            self.n = n
        def plain(self, *_): return self.n
        def outer_call(self, *_): return self.n
        def inner_call(self): return self.n
        def first_line(self, *_): return self.n
        def later_line(self): return self.n
        def same_line(self): return self.n
        def chained(self): return self if self.n else None
        @property
        def loaded(self): return self.n
        @loaded.setter
        def loaded(self, n): self.n = n
        @property
        def counted(self): return self.n
        @counted.setter
        def counted(self, n): self.n = n
        @functools.cached_property
        def cached(self): return self.n
        def __getitem__(self, key): return self.n
        def __setitem__(self, key, value): self.n = value
        def __add__(self, other): return self.n
        def __lt__(self, other): return self.n < 2
        def __bool__(self): return self.n > 0
        def __call__(self): return self.n
        def __enter__(self): self.n = 2
        def __exit__(self, *_): self.n = 1
        def __iter__(self):
            self.n = 1
            return iter(())
        @library.decorated
        def decorated(self): return self.n
        @staticmethod
        def static(thing): return thing.n
        @classmethod
        def of_class(cls): return cls.n + cls().n
        def key(self, value): return self.n + value
        def mapped(self, value): return self.n + value
        def by_library(self, *_): return self.n
        def by_partial(self): return self.n
        def in_comprehension(self): return self.n
        def in_nested(self): return self.n
        def in_generator_expression(self): return self.n
        def in_lambda(self): return self.n
        def in_default(self): return self.n
        def again(self, depth): return self.again(depth - 1) if depth else self.n
        def through_library(self, depth):
            return library.call(self.through_library, depth - 1) if depth else self.n
        def raising(self): raise ValueError(self.n)
        def in_handler(self): return self.n
        def in_finally(self): return self.n
        def generated(self):
            yield self.n
            yield self.n
        def sent(self):
            got = yield self.n
            yield self.n + (got or 0)
        def delegated(self): yield self.n
        def delegating(self):
            yield self.n
            yield from self.delegated()
        @contextlib.contextmanager
        def managed(self):
            self.n = 2
            yield self.n
            self.n = 1
        def entry(self): return self.n
        def of_entry(self): return self.n
        def thread(self):
            self.of_entry()
            return self.n
        def submitted(self): return self.n
        async def awaited(self): return self.n
        async def gathered(self): return self.n
        async def stepped(self):
            yield self.n
            yield self.n
        def in_task(self): return self.n
        def soon(self): return self.n
        def executed(self): return self.n
        def in_class_body(self): return self.n

    def global_function(thing): return thing.n

    def made(thing):
        return lambda: thing.n + thing.n

    def run(thing):
        Thing(2)
        global_function(thing)
        thing.plain()
        thing.outer_call(thing.inner_call())
        thing.first_line(
            1,
            2,
        )
        (thing
            .later_line())
        thing.same_line(); thing.n; thing.same_line()
        thing.chained().chained()
        thing.loaded
        thing.loaded = 3
        thing.counted += 1
        thing.cached
        thing[0]
        thing[1] = 4
        thing + thing
        thing < thing
        if thing: pass
        thing()
        with thing: pass
        for _ in thing: pass
        thing.decorated()
        Thing.static(thing)
        Thing.of_class()
        sorted([2, 1], key=thing.key)
        list(map(thing.mapped, [1, 2]))
        library.call(library.call, thing.by_library)
        functools.partial(thing.by_partial)()
        [thing.in_comprehension() for _ in range(2)]
        {one: [thing.in_nested() for _ in range(1)] for one in range(2)}
        sum(thing.in_generator_expression() for _ in range(2))
        (lambda: thing.in_lambda())()
        made(thing)()
        def inner(value=thing.in_default()): pass
        thing.again(2)
        thing.through_library(1)
        try:
            thing.raising()
        except ValueError:
            thing.in_handler()
        finally:
            thing.in_finally()
        for _ in thing.generated(): pass
        generator = thing.sent()
        next(generator)
        generator.send(1)
        list(thing.delegating())
        with thing.managed(): pass
        exec("thing.n\\nthing.executed()", {"thing": thing})
        class Body:
            thing.in_class_body()

    async def steps(thing):
        await thing.awaited()
        await asyncio.gather(thing.gathered(), thing.gathered())
        async for _ in thing.stepped(): pass
        thing.in_task()
        asyncio.get_running_loop().call_soon(thing.soon)
        await asyncio.sleep(0)

    thing = Thing()
    run(thing)
    threads = [threading.Thread(target=thing.entry), threading.Thread(target=thing.thread)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(thing.submitted).result()
    asyncio.run(steps(thing))
"""


def call_sites(path: Path) -> Calls:
    """The site of each begin of each function, by its name: `file:line:column function`, and with `>` if resumed."""
    trace = atomsan.load(path)
    regions, sites = trace.symbols.regions, trace.symbols.sites
    found: dict[str, list[str]] = {}
    for batch in trace.batches():
        for op, target, site in zip(batch.op.tolist(), batch.target.tolist(), batch.site.tolist(), strict=True):
            if op != Op.BEGIN or regions.get(target, "origin") not in ("function", "outer"):
                continue
            assert site != NO_SITE
            name = regions[target].partition(":")[2].rpartition(".")[2]
            at = sites.site(site)
            resumed = ">" if regions.get(target, "entered") == "resumed" else ""
            found.setdefault(name, []).append(f"{resumed}{at.file}:{at.line}:{at.column} {at.function}")
    return found


def places(program: str, function: str, pieces: list[str]) -> list[str]:
    """Where these pieces of the program stand. The place is where `|` stands in it, else its start; `>` as above."""
    lines = textwrap.dedent(program).splitlines(keepends=True)
    found = []
    for piece in pieces:
        resumed = piece[: piece.startswith(">")]
        before, _, after = piece.removeprefix(">").rpartition("|")
        at = [(number, line.find(before + after)) for number, line in enumerate(lines, 1) if before + after in line]
        assert len(at) == 1, piece
        found.append(f"{resumed}program.py:{at[0][0]}:{at[0][1] + len(before)} {function}")
    return found


def lines_of(sites: list[str]) -> list[str]:
    return [site.rpartition(":")[0] for site in sites]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("calls"), PROGRAM)


@pytest.fixture(scope="module")
def calls(trace: Path) -> Calls:
    return call_sites(trace)


@pytest.mark.parametrize(
    ("name", "pieces"),
    [
        ("global_function", ["|global_function(thing)\n"]),
        ("plain", ["thing.plain()"]),
        ("outer_call", ["thing.outer_call("]),
        ("inner_call", ["thing.inner_call()"]),
        ("first_line", ["thing.first_line("]),
        ("later_line", [".|later_line())"]),  # as the interpreter says
        ("same_line", ["thing.same_line(); thing.n", "thing.n; |thing.same_line()"]),
        ("chained", ["thing.chained()."] * 2),  # with different ends
        ("loaded", ["thing.loaded\n", "thing.loaded ="]),
        ("counted", ["thing.counted +="] * 2),
        ("cached", ["thing.cached\n"]),
        ("__getitem__", ["thing[0]"]),
        ("__setitem__", ["thing[1]"]),
        ("__add__", ["thing + thing"]),
        ("__lt__", ["thing < thing"]),
        ("__call__", ["    |thing()\n"]),
        ("decorated", ["thing.decorated()"]),
        ("static", ["Thing.static(thing)"]),
        ("of_class", ["Thing.of_class()"]),
        ("key", ["sorted("] * 2),
        ("mapped", ["list(map("] * 2),
        ("by_library", ["library.call(library.call"]),
        ("by_partial", ["functools.partial("]),
        ("in_comprehension", ["thing.in_comprehension()"] * 2),
        ("in_nested", ["thing.in_nested()"] * 2),
        ("in_generator_expression", ["thing.in_generator_expression()"] * 2),
        ("made", ["made(thing)()"]),
        ("<lambda>", ["made(thing)()"]),
        ("in_default", ["thing.in_default()"]),
        ("raising", ["thing.raising()"]),
        ("in_handler", ["thing.in_handler()"]),
        ("in_finally", ["thing.in_finally()"]),
        ("sent", ["next(generator)", ">generator.send(1)"]),
        ("delegating", ["list(thing.delegating())", *[">list(thing.delegating())"] * 2]),
    ],
)
def test_calls_by_one_function(calls: Calls, name: str, pieces: list[str]) -> None:
    assert calls[name] == places(PROGRAM, "run", pieces)


@pytest.mark.parametrize(
    ("name", "pieces"),
    [
        ("__bool__", ["if thing: pass"]),
        ("__enter__", ["with thing: pass"]),
        ("__exit__", ["with thing: pass"]),
        ("__iter__", ["for _ in thing: pass"]),
        ("generated", ["for _ in thing.generated()", *[">for _ in thing.generated()"] * 2]),
        ("managed", ["with thing.managed()", ">with thing.managed()"]),
    ],
)
def test_calls_by_statements(calls: Calls, name: str, pieces: list[str]) -> None:
    """Which column they have depends on the version of the interpreter."""
    assert lines_of(calls[name]) == lines_of(places(PROGRAM, "run", pieces))


@pytest.mark.parametrize(
    ("name", "function", "pieces"),
    [
        ("run", "<module>", ["|run(thing)\n"]),
        ("in_lambda", "run.<locals>.<lambda>", ["thing.in_lambda()"]),
        ("in_class_body", "run.<locals>.Body", ["thing.in_class_body()"]),
        ("delegated", "Thing.delegating", ["yield from |self.delegated()", ">yield from |self.delegated()"]),
        ("of_entry", "Thing.thread", ["self.of_entry()"]),
        ("awaited", "steps", ["await |thing.awaited()"]),
        ("in_task", "steps", ["thing.in_task()"]),
        ("soon", "<module>", ["asyncio.run("]),
        # the site of the definition: nobody calls what a thread or task begins with
        ("entry", "Thing.entry", ["def entry("]),
        ("thread", "Thing.thread", ["def thread("]),
        ("submitted", "Thing.submitted", ["def submitted("]),
        ("steps", "steps", ["async def steps("]),
        ("gathered", "Thing.gathered", ["async def gathered("] * 2),
    ],
)
def test_calls_by_other_code(calls: Calls, name: str, function: str, pieces: list[str]) -> None:
    found = calls[name]
    assert lines_of(found) == lines_of(places(PROGRAM, function, pieces))
    assert {site.rpartition(" ")[2] for site in found} == {function}


def test_calls_of_itself(calls: Calls) -> None:
    again = ["return |self.again(depth - 1)"]
    assert calls["again"] == [*places(PROGRAM, "run", ["thing.again(2)"]), *places(PROGRAM, "Thing.again", again) * 2]
    through = places(PROGRAM, "Thing.through_library", ["library.call(self.through_library"])
    assert calls["through_library"] == [*places(PROGRAM, "run", ["thing.through_library(1)"]), *through]


def test_calls_by_text_that_is_executed(calls: Calls) -> None:
    assert calls["executed"] == ["<string>:2:0 <module>"]


def test_calls_have_nodes_in_the_summary_of_their_function(trace: Path) -> None:
    loaded = atomsan.load(trace)
    symbols = loaded.symbols
    called = {
        int(site)
        for batch in loaded.batches()
        for site, op, target in zip(batch.site, batch.op, batch.target, strict=True)
        if op == Op.BEGIN and symbols.regions.get(int(target), "origin") != "loop"
    }
    called = {site for site in called if "def " not in (symbols.sites.site(site).text or "")}
    unknown = []
    for site in map(symbols.sites.site, sorted(called)):
        if site.owner is None or site.node is None:
            unknown.append(site)
            continue
        node = json.loads(symbols.functions.get(site.owner, "summary"))["nodes"][site.node]
        assert node["k"] in ("call", "read", "write", "update", "cond"), site
    assert (len(called) > 50, unknown) == (True, [])


def test_code_whose_address_is_used_again(tmp_path: Path) -> None:
    program = """
        import types

        class Thing:
            n = 0
            def called(self): return self.n

        def caller(thing):
            thing.called()

        def run():
            thing = Thing()
            for number in range(300):
                # a copy of the caller's code in another line, for one call
                copy = caller.__code__.replace(co_firstlineno=1000 + number)
                types.FunctionType(copy, globals())(thing)
                if number % 3:
                    thing.called()

        run()
    """
    (direct,) = places(program, "run", [12 * " " + "|thing.called()"])
    expected = []
    for number in range(300):
        expected.append(f"program.py:{1001 + number}:4 caller")
        expected += [direct] if number % 3 else []
    assert call_sites(recorded(tmp_path, program))["called"] == expected


def test_no_caller_is_looked_for_deep_inside_a_library(tmp_path: Path) -> None:
    program = """
        import library

        class Thing:
            n = 0
            def called(self): return self.n

        thing = Thing()
        library.deep(150, thing.called)
        library.deep(250, thing.called)
    """
    found = call_sites(recorded(tmp_path, program))["called"]
    assert found == [
        *places(program, "<module>", ["library.deep(150"]),
        *places(program, "Thing.called", ["def called("]),
    ]


def test_a_module_in_which_nothing_is_accessed(tmp_path: Path) -> None:
    other = """
        class Thing:
            n = 0
            def called(self): return self.n
        thing = Thing()
    """
    program = """
        from first import thing
        import second
        thing.called()
    """
    second = """
        from first import thing
        (
            thing.called()
        )
    """
    found = call_sites(recorded(tmp_path, program, first=other, second=second))["called"]
    assert found == ["second.py:4:4 <module>", "program.py:4:0 <module>"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_calls_in_a_forked_process(tmp_path: Path) -> None:
    program = """
        import os

        class Thing:
            n = 0
            def called(self): return self.n

        def caller(thing): thing.n; thing.called()

        thing = Thing()
        caller(thing)
        if os.fork() == 0:
            caller(thing)
            thing.called()
            os._exit(0)
        os.wait()
    """
    recorded(tmp_path, program, options=["--follow-fork"])
    (child,) = tmp_path.glob("t.*.atomtrace")
    assert call_sites(child)["called"] == [
        *places(program, "caller", ["thing.n; |thing.called()"]),
        *places(program, "<module>", ["    |thing.called()\n"]),
    ]


class Asked:
    """Numbers the sites of calls from 50 on, and counts how often it is asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    def __call__(self, caller: CodeType, instruction: int, site: int) -> int:
        self.calls.append((caller.co_name, site))
        return 49 + len(self.calls)


CALLING = """
def f():
    del «begin»[None]
def g():
    f(); f()
    «load_name x»[f]
def h():
    f()
    «load_name x»[f]
"""


def begin_keys(log: Log) -> list[int]:
    return [record.key for record in log.read() if record.op == Op.BEGIN]


@pytest.fixture
def asked() -> Asked:
    asked = Asked()
    _probes.set_call_sites(asked)
    return asked


@pytest.fixture(autouse=True)
def _nobody_is_asked() -> object:
    yield
    _probes.set_call_sites(None)


def test_each_instruction_is_numbered_once(asked: Asked) -> None:
    with recording() as log:
        program = prepared(CALLING)
        for _ in range(3):
            program["g"]()
            program["h"]()
        assert begin_keys(log) == [50, 51, 52] * 3
    assert [name for name, _ in asked.calls] == ["g", "g", "h"]
    with recording() as log:
        program["h"]()
        program["g"]()
        assert begin_keys(log) == [53, 54, 55]  # another recording, other numbers


def test_without_numbers_begins_have_no_call() -> None:
    with recording() as log:
        prepared(CALLING)["g"]()
        assert begin_keys(log) == [0, 0]


def test_call_has_its_site_though_a_signal_handler_raises_meanwhile() -> None:
    """What it raises goes on in the program; the site is asked for again."""

    class Interrupted(Asked):
        def __call__(self, caller: CodeType, instruction: int, site: int) -> int:
            number = super().__call__(caller, instruction, site)
            if len(self.calls) == 1:
                raise KeyboardInterrupt
            return number

    _probes.set_call_sites(Interrupted())
    with recording() as log:
        program = prepared(CALLING)
        with pytest.raises(KeyboardInterrupt):
            # it is raised after the next call, at the latest
            [step() for step in (program["h"], dict, dict)]
        assert begin_keys(log) == [51]


def test_a_generator_is_resumed() -> None:
    with recording() as log:
        generator = function("def f(a):\n    del «begin»[None]\n    «resume»[(yield «suspend»[a])]\n")(1)
        next(generator)
        next(generator, None)
        assert [(record.op, record.flags) for record in log.read() if record.op in (Op.BEGIN, Op.END)] == [
            (Op.BEGIN, 0),
            (Op.END, 0),
            (Op.BEGIN, 128),
        ]
