"""Detection of callbacks from libraries, and of ordinary calls that look like them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import atomsan
from recorder.running import recorded

# Each method reads a field, so that it is not too trivial to be a region.
PROGRAM = """
    import asyncio, collections.abc, concurrent.futures, contextlib, functools, re, sched, socketserver, threading
    import library

    class Thing(library.Base):
        n = 0

        def made(self): return self.n
        def step(self): return self.n
        def passed(self): return self.n
        def again(self, depth):
            if depth:
                library.call(self.again, depth - 1)
            return self.n
        def further_in(self): return self.n
        def called_back(self): return self.further_in()
        def key(self, value): return self.n + value
        def in_comprehension(self, value): return self.n + value
        def mapped(self, value): return self.n + value
        def scheduled(self): return self.n
        def done(self, future): return self.n
        def matched(self, match): return str(self.n)
        def asked_for(self): return self.n
        def direct(self): return self.n
        def check(self): return self.n

        @library.decorated
        def update(self): return self.n

        @library.decorated
        def later_line(self): return self.n

        @library.decorated
        def renamed(self): return self.n

        @library.decorated
        def __private(self): return self.n

        def call_private(self): self.__private()

        @functools.cached_property
        def total(self): return self.n

        @library.Attribute
        def attribute(self): return self.n

        @contextlib.contextmanager
        def locked(self):
            before = self.n
            yield before
            after = self.n

        @contextlib.asynccontextmanager
        async def locked_task(self):
            before = self.n
            yield before
            after = self.n

        def generated(self):
            yield self.n
            yield self.n

        def iterated(self):
            yield self.n
            yield self.n

        @library.decorated_coroutine
        async def awaited(self): return self.n

        async def directly_awaited(self): return self.n
        async def passed_on(self): return self.n
        async def own_task(self): return self.n
        def soon(self): return self.n

        async def steps(self):
            await self.awaited()
            await self.directly_awaited()
            await library.awaiting(self.passed_on)
            async with self.locked_task():
                pass
            await asyncio.create_task(self.own_task())
            asyncio.get_running_loop().call_soon(self.soon)
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    @functools.total_ordering
    class Ordered:
        n = 0
        def __lt__(self, other): return self.n < other.n
        def __eq__(self, other): return self.n == other.n
        def __hash__(self): return hash(self.n)

    class Table(collections.abc.Mapping):
        def __getitem__(self, key): return key
        def __iter__(self): return iter(())
        def __len__(self): return 0

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            return self.request

    def run():
        thing = Thing()
        Table().get(1)
        thing.template()
        library.call(thing.passed)
        thing.again(2)
        library.call(thing.called_back)
        sorted([2, 1], key=thing.key)
        library.each([thing.in_comprehension(value) for value in (1, 2)])
        list(map(thing.mapped, (1, 2)))
        scheduler = sched.scheduler()
        scheduler.enter(0, 0, thing.scheduled)
        scheduler.run()
        future = concurrent.futures.Future()
        future.add_done_callback(thing.done)
        future.set_result(1)
        re.sub("a", thing.matched, "a")
        library.Runner().run(thing)
        thing.direct()
        thing.update()
        (thing
            .later_line())
        other = thing.renamed
        other()
        thing.call_private()
        thing.total
        thing.attribute
        thing.attribute = 1
        with thing.locked():
            pass
        library.each(thing.generated())
        for _ in thing.iterated():
            pass
        Ordered() >= Ordered()
        {Ordered(): 1}
        Handler(1, 2, 3)
        exec("library.call(thing.asked_for)")
        asyncio.run(thing.steps())

    class Started(threading.Thread):
        def run(self):
            run()

    thread = Started()
    thread.start()
    thread.join()
"""


Entered = Mapping[str, list[str | None]]


def entered(path: Path) -> Entered:
    """How each function was entered each time, by its name."""
    trace = atomsan.load(path)
    regions = trace.symbols.regions
    found: dict[str, list[str | None]] = {}
    for batch in trace.batches():
        for op, target in zip(batch.op.tolist(), batch.target.tolist(), strict=True):
            if op == 6 and regions.get(target, "origin") == "function":
                name = regions[target].partition(":")[2].rpartition(".")[2]
                found.setdefault(name, []).append(regions.get(target, "entered"))
    return found


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Entered:
    return entered(recorded(tmp_path_factory.mktemp("callbacks"), PROGRAM))


BACK, RESUMED = "callback", "resumed"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("passed", [BACK]),
        ("step", [BACK]),  # by a method of a library's class, under another name
        ("made", [BACK]),
        ("again", [None, BACK, BACK]),  # recursion through the library
        ("called_back", [BACK]),
        ("scheduled", [BACK]),
        ("done", [BACK]),
        ("matched", [BACK]),
        ("check", [BACK]),
        ("handle", [BACK]),
        ("asked_for", [BACK]),  # by a text: what it invokes is not known
        ("generated", [BACK, RESUMED, RESUMED]),  # begun and resumed by the library
        ("renamed", [BACK]),  # `other()` is not its name
        ("passed_on", [BACK]),
        ("soon", [BACK]),
    ],
)
def test_library_callbacks_are_flagged(calls: Entered, name: str, expected: list[str | None]) -> None:
    assert calls[name] == expected


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("direct", 1),
        ("further_in", 1),  # called by what is called back
        ("key", 2),  # C code alone is in between
        ("in_comprehension", 2),
        ("mapped", 2),
        ("__hash__", 1),
        ("__lt__", 1),  # an operator, through a method of the library
        ("__getitem__", 1),
        ("update", 1),
        ("later_line", 1),
        ("__private", 1),
        ("total", 1),
        ("attribute", 2),
        ("awaited", 1),
        ("directly_awaited", 1),
        ("own_task", 1),  # a task is a thread: nothing is open around it
        ("steps", 1),
    ],
)
def test_ordinary_calls_are_not_flagged(calls: Entered, name: str, times: int) -> None:
    assert calls[name] == [None] * times


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("locked", 1),  # entered and left
        ("iterated", 2),
        ("locked_task", 1),
    ],
)
def test_generators_that_run_again_are_resumed(calls: Entered, name: str, times: int) -> None:
    assert calls[name] == [None] + [RESUMED] * times


def test_reused_code_address_is_not_mistaken(tmp_path: Path) -> None:
    """Functions are made and die, those of the program and those of others, at the same addresses."""
    program = """
        import library, types

        class Thing:
            n = 0
            def own(self): return self.n
            def others(self): return self.n

        def caller(thing):
            thing.own()

        def run():
            thing = Thing()
            for number in range(300):
                # a copy of the caller's code, for one call
                types.FunctionType(caller.__code__.replace(co_firstlineno=number + 1), globals())(thing)
                names = {}
                code = compile(f"def foreign(thing):\\n  thing.others()\\n  return {number}", "foreign", "exec")
                library.call(exec, code, names)
                names.pop("foreign")(thing)
                names.clear()

        run()
    """
    calls = entered(recorded(tmp_path, program))
    assert calls["own"] == [None] * 300
    assert calls["others"] == [BACK] * 300
    assert calls["caller"] == [None] * 300


def test_callback_detection_is_invisible_to_the_program(tmp_path: Path) -> None:
    program = """
        import gc, inspect, library, sys, types

        seen = []

        def deep(depth):
            return depth if depth == 0 else library.call(deep, depth - 1)

        class Thing:
            n = 0
            def handle(self):
                seen.append([frame.function for frame in inspect.stack()][:3])
                seen.append(sys._getframe(1).f_code.co_name)
                return self.n

            def fails(self):
                return self.n / 0

        def run():
            thing = Thing()
            sys.settrace(lambda frame, event, argument: traced.append(frame.f_code.co_name))
            library.call(thing.handle)
            sys.settrace(None)
            try:
                library.call(thing.fails)
            except ZeroDivisionError as error:
                traceback = error.__traceback__
                while traceback:
                    seen.append(traceback.tb_frame.f_code.co_name)
                    traceback = traceback.tb_next
            gc.collect()
            return deep(sys.getrecursionlimit() // 3)

        traced = []
        assert run() == 0
        assert seen == [
            ["handle", "call", "run"], "call", "run", "call", "fails"
        ], seen
        assert traced[:2] == ["call", "handle"] and not {"_invokes", "at"} & set(traced), traced
        gc.collect()
        frames = [one for one in gc.get_objects() if isinstance(one, types.FrameType)]
        assert not [frame for frame in frames if frame.f_code.co_name == "call"]
    """
    assert entered(recorded(tmp_path, program))["handle"] == [BACK]
