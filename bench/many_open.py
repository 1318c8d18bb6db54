"""Many transactions open at once: tasks of one loop that write a counter, wait, and write it again.

python bench/run.py --only many-open
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from harness import InMemory, Row, best, measured, seconds
from sets import PROGRAMS

import atomsan
from atomsan import TraceBuilder
from atomsan.checkers.loop import run_checkers
from atomsan.checkers.registry import CHECKERS
from atomsan.trace.trace import Trace


def gather(tasks: int, at_once: int, violating: int) -> Trace:
    """So many tasks, of which `at_once` are open at a time. The first `violating` write the counter a second time."""
    builder = TraceBuilder()
    builder.symbols.locks.intern("loop", kind="loop")
    for start in range(0, tasks, at_once):
        for half in range(2):
            for k in range(start, min(start + at_once, tasks)):
                task, location = f"task{k}", "n" if not half or k < violating else f"own{k}"
                builder.add(task, "acquire", "loop")
                if not half:
                    builder.add(task, "begin", "work")
                builder.add(task, "read", location, f"read {half}").add(task, "write", location, f"write {half}")
                if half:
                    builder.add(task, "end", "work")
                builder.add(task, "release", "loop")
    return builder.build()


def many_open(directory: Path, repeat: int) -> Iterator[Row]:
    yield from _recorded(directory)
    yield from _in_a_window(repeat)
    yield from _growth(repeat)


def _recorded(directory: Path) -> Iterator[Row]:
    """10,000 tasks in one `asyncio.gather`, recorded: all of them violate."""
    trace = directory / "gather.atomtrace"
    measured("record", "-o", trace, "--", PROGRAMS / "gather.py", "10000")
    _, elapsed, megabytes = measured("check", trace)
    yield Row("atomsan check, 10,000 tasks open at once, all violate", elapsed, "s", 5.0)
    yield Row("atomsan check, 10,000 tasks open at once: memory", megabytes, "MB", 1024.0)


def _in_a_window(repeat: int) -> Iterator[Row]:
    """Without violations, for AeroDrome stops at the first."""
    source = InMemory(gather(100_000, 1000, 0))
    names = ("aerodrome", "regiontrack", "davida")
    aerodrome, *times = best(repeat, *(lambda name=name: _run(source, name) for name in names))
    for name, time in zip(names[1:], times, strict=True):
        yield Row(
            f"{name}, 100,000 tasks, 1,000 open at a time / aerodrome",
            time / aerodrome,
            "x",
            3.0,
            detail=f"{time:.3f} s, aerodrome {aerodrome:.3f} s",
        )


def _run(source: InMemory, name: str) -> None:
    lean = {} if name == "aerodrome" else {"serializability": False}
    (result,) = run_checkers(source, [CHECKERS[name].make(**lean)]).results
    assert result.verdict == "holds"


def _growth(repeat: int) -> Iterator[Row]:
    """All open at once, of which 10 violate: from the events in memory to the report."""
    sizes = (1000, 2000, 4000, 8000)
    traces = [gather(size, size, 10) for size in sizes]
    times = [min(seconds(lambda trace=trace: atomsan.check(trace)) for _ in range(repeat)) for trace in traces]
    for (smaller, before), (larger, after) in itertools.pairwise(zip(sizes, times, strict=True)):
        yield Row(
            f"atomsan.check, growth from {smaller:,} to {larger:,} tasks open at once",
            after / before,
            "x the time",
            2.3,
            detail=f"{before:.3f} s, {after:.3f} s",
        )
