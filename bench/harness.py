"""Measuring on a noisy machine: two things in one run, turn by turn, and the best of several of each.

A benchmark is a function that returns `Row`s. A row is a figure with its limit: a ratio of two times wherever
there is a yardstick, because a ratio says the same on any machine.
"""

from __future__ import annotations

import compileall
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table


@dataclass
class Row:
    """One figure. `limit` is what it must not exceed, or with `at_least` not fall below; None if it only informs."""

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
    """The shortest time of each, over `repeat` rounds in which each has its turn."""
    rounds = [[seconds(work) for work in works] for _ in range(repeat)]
    return [min(times) for times in zip(*rounds, strict=True)]


def command(*words: str | os.PathLike[str]) -> Callable[[], object]:
    """A command whose run can be timed. It must succeed."""
    return lambda: subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def as_installed() -> None:
    """Give the tool its bytecode, as pip does: an editable install may have none, and would compile at every start."""
    import atomsan

    compileall.compile_dir(Path(atomsan.__file__).parent, quiet=1)


def atomsan(*words: str | os.PathLike[str]) -> Callable[[], object]:
    return command(Path(sys.executable).with_name("atomsan"), *words)


# A process starts with the memory of the one that made it, and that counts as its own: so a small one makes it.
_MAKER = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


def measured(*words: str | os.PathLike[str]) -> tuple[bytes, float, float]:
    """Run the tool: what it printed, its seconds, and the most memory it held, in MB. Findings are no failure."""
    tool = Path(sys.executable).with_name("atomsan")
    start = time.perf_counter()
    run = subprocess.run([sys.executable, "-S", "-c", _MAKER, tool, *words, "--quiet"], capture_output=True)
    elapsed = time.perf_counter() - start
    assert run.returncode in (0, 1, 3), run.stderr.decode()
    return run.stdout, elapsed, int(run.stderr.split()[-1]) / 1024


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
