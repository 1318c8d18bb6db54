"""What a thread calls first: its loops are regions, whatever stands between the thread and the function."""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable
from typing import Any

import pytest

import atomsan
from atomsan.recorder.python.entry_functions import function_behind
from atomsan.trace.events import Op
from recorder.running import recorded

PROGRAM = """
    import asyncio, functools, threading
    from concurrent.futures import ThreadPoolExecutor
    import library

    class Box:
        n = 0

    box = Box()

    def work(times):
        for _ in range(times):
            box.n += 1

    def logged(function):
        @functools.wraps(function)
        def wrapper(*given, **named):
            return function(*given, **named)
        return wrapper

    @logged
    @logged
    def decorated(times):
        for _ in range(times):
            box.n += 1

    class Job:
        times = 2

        def go(self):
            return self.more()

        def more(self):
            work(self.times)

        def __call__(self):
            self.go()

    class Made:
        def __init__(self):
            for _ in range(2):
                box.n += 1

    class Base(threading.Thread):
        def run(self):
            for _ in range(2):
                box.n += 1

    class Derived(Base):
        def run(self):
            super().run()

    def passing(function, *given):
        function(*given)

    def local(times):
        def loop():
            for _ in range(times):
                box.n += 1
        return lambda: loop()

    @functools.lru_cache
    def cached():
        for _ in range(2):
            box.n += 1

    def nothing(times): box.n

    one, other, third = lambda: work(2), lambda: nothing(2), lambda: work(2)

    plain = work.__code__

    def start(name, target, *given):
        work.__code__ = plain
        thread = threading.Thread(target=target, args=given, name=name)
        thread.start()
        thread.join()

    start("plain", work, 2)
    start("lambda", lambda: work(2))
    start("nested", lambda: (lambda: work(2))())
    start("attribute", lambda: work(Job.times))
    start("decorated", decorated, 2)
    start("method", Job().go)
    start("instance", Job())
    start("class", Made)
    start("partial", functools.partial(passing, functools.partial(work, 2)))
    start("closure", local(2))
    start("again", local(2))
    start("cached", cached)
    start("one", one)
    start("other", other)
    start("third", third)
    start("library", library.call, work, 2)
    work.__code__ = plain
    start("wrapped", library.decorated(work), 2)
    derived = Derived(name="super")
    derived.start()
    derived.join()
    timer = threading.Timer(0, lambda: work(2))
    timer.name = "timer"
    timer.start()
    timer.join()
    work.__code__ = plain
    with ThreadPoolExecutor(1, "pool") as pool:
        pool.submit(lambda: work(2)).result()
        pool.submit(decorated, 2).result()

    async def main():
        loop = asyncio.get_running_loop()
        work.__code__ = plain
        with ThreadPoolExecutor(1, "aside") as aside:
            await loop.run_in_executor(aside, lambda: work(2))
            loop.set_default_executor(aside)
            work.__code__ = plain
            await asyncio.to_thread(work, 2)
        async def passed():
            await asyncio.sleep(0)
            for _ in range(2):
                box.n += 1
        async def passing():
            await passed()
        async def at_once():
            work(2)
        await asyncio.create_task(passing(), name="task")
        await asyncio.create_task(at_once(), name="step")

    asyncio.run(main())
    print(box.n)
"""

# By thread or task: the regions that are meant to be atomic, the functions around them left out.
REGIONS = {
    **dict.fromkeys(("plain", "lambda", "nested", "attribute", "method", "instance"), ["work/loop"] * 2),
    **dict.fromkeys(("partial", "one", "third", "timer"), ["work/loop"] * 2),
    **dict.fromkeys(("closure", "again"), ["local.<locals>.loop/loop"] * 2),
    "decorated": ["decorated/loop"] * 2,
    "class": ["Made.__init__/loop"] * 2,
    "cached": ["cached/loop"] * 2,
    "other": ["nothing"],
    "super": ["Base.run/loop"] * 2,
    "pool_0": [*["work/loop"] * 2, *["decorated/loop"] * 2],
    "aside_0": ["work/loop"] * 4,
    "task": ["main.<locals>.passed/loop"] * 2,
    "step": ["main.<locals>.at_once"],
    "library": ["work"],  # nobody can tell before it runs that it will be the first: there are no regions in its loop
    "wrapped": ["work/loop"] * 2,
}


@pytest.fixture(scope="module")
def regions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """By thread, its outermost regions that are not `outer`."""
    trace = atomsan.load(recorded(tmp_path_factory.mktemp("entries"), PROGRAM))
    symbols, found, depths = trace.symbols, dict[str, list[str]](), dict[str, int]()
    for batch in trace.batches():
        for thread, op, target, _ in batch.rows():
            if op not in (Op.BEGIN, Op.END) or symbols.regions.get(target, "origin") == "outer":
                continue
            name = symbols.threads[thread].partition(" ")[0]
            depths[name] = depths.get(name, 0) + (1 if op == Op.BEGIN else -1)
            if op == Op.BEGIN and depths[name] == 1:
                region = symbols.regions[target].partition(":")[2]
                found.setdefault(name, []).append(region.partition(":")[0])
    return found


@pytest.mark.parametrize("thread", REGIONS)
def test_regions_of_a_thread(regions: dict[str, list[str]], thread: str) -> None:
    assert regions[thread] == REGIONS[thread]


class Called:
    def __init__(self) -> None: ...

    def __call__(self) -> None: ...

    @classmethod
    def of_class(cls) -> None: ...

    @staticmethod
    def of_nothing() -> None: ...


class Careful(functools.partial):  # type: ignore[type-arg]
    """Everything that can be asked of it runs code, as can be seen."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(name)


def function(*_: object) -> None: ...


def test_nothing_of_the_program_runs_to_find_a_function() -> None:
    assert function_behind(Careful(function)) is function


@functools.wraps(function)
def wrapper() -> None: ...


def endless() -> None: ...


endless.__wrapped__ = endless  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (function, function),
        (functools.partial(functools.partial(function), 1), function),
        (functools.partial(contextvars.copy_context().run, function, 1), function),
        (functools.partial(contextvars.copy_context().run), None),
        (Called(), Called.__call__),
        (Called().__call__, Called.__call__),
        (Called, Called.__init__),
        (Called.of_class, Called.of_class.__func__),  # type: ignore[attr-defined]
        (vars(Called)["of_nothing"], Called.of_nothing),
        (functools.lru_cache(function), function),
        (wrapper, function),
        (endless, None),
        (len, None),
        (int, None),
        ([].append, None),
        (1, None),
    ],
)
def test_function_behind(given: Any, expected: Callable[..., object] | None) -> None:
    assert function_behind(given) is expected
