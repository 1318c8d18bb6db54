"""Timing, and the table of results, for all benchmarks.

A benchmark is a generator of `Row`s. A row is a figure with its limit. Times are compared as ratios, because ratios are
the same on any machine: the two things run alternately, several rounds, and the best time of each counts.
"""

from __future__ import annotations

import compileall
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from atomsan.trace.events import Batch
from atomsan.types import EventSource

MILLION = 1_000_000
TOOL = Path(sys.executable).with_name("atomsan")


@dataclass
class Row:
    """One figure. `limit` is the most it may be, or with `at_least` the least; None: no limit."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    at_least: bool = False
    detail: str = ""

    @property
    def passed(self) -> bool | None:
        if self.limit is None:
            return None
        return self.value >= self.limit if self.at_least else self.value <= self.limit


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def best(repeat: int, *works: Callable[[], object]) -> list[float]:
    """The shortest time of each, over `repeat` rounds in which each runs once."""
    rounds = [[seconds(work) for work in works] for _ in range(repeat)]
    return [min(times) for times in zip(*rounds, strict=True)]


def command(*words: str | os.PathLike[str]) -> Callable[[], object]:
    """A function that runs a command, which must succeed."""
    return lambda: subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def as_installed() -> None:
    """Compile the package to bytecode, as pip does: an editable install may have none and compile at every start."""
    import atomsan

    compileall.compile_dir(Path(atomsan.__file__).parent, quiet=1)


def atomsan(*words: str | os.PathLike[str]) -> Callable[[], object]:
    return command(TOOL, *words)


# A process starts with the memory of its parent, which counts as its own: so a small parent starts it.
_PARENT = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


def measured(*words: str | os.PathLike[str]) -> tuple[bytes, float, float]:
    """Run the tool: its output, its seconds, and its peak memory in MB. Findings are no failure."""
    start = time.perf_counter()
    run = subprocess.run([sys.executable, "-S", "-c", _PARENT, TOOL, *words, "--quiet"], capture_output=True)
    elapsed = time.perf_counter() - start
    assert run.returncode in (0, 1, 3), run.stderr.decode()
    return run.stdout, elapsed, int(run.stderr.split()[-1]) / 1024


class InMemory:
    """The batches of a source, read beforehand, so that reading is not measured."""

    def __init__(self, source: EventSource) -> None:
        self._batches = list(source.batches())
        self.symbols, self.meta, self.place = source.symbols, source.meta, source.place

    def batches(self) -> Iterator[Batch]:
        return iter(self._batches)


def show(rows: list[Row]) -> None:
    table = Table("benchmark", "figure", "limit", "", "detail", title="AtomSan bench")
    for column in (1, 2):
        table.columns[column].justify = "right"
    for row in rows:
        limit = "" if row.limit is None else f"{'>=' if row.at_least else '<='} {row.limit:g}"
        mark = {None: "", True: "[green]ok[/]", False: "[red]MISSED[/]"}[row.passed]
        table.add_row(row.name, f"{row.value:.3g} {row.unit}", limit, mark, row.detail)
    Console(width=None if sys.stdout.isatty() else 140).print(table)


def save(rows: list[Row], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "schema": "atomsan-bench/1",
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "rows": [asdict(row) | {"passed": row.passed} for row in rows],
    }
    path.write_text(json.dumps(content, indent=1) + "\n")
