"""Verdict, time and memory of every checker on the benchmarks of the AeroDrome paper's table 1: `make bench-paper`.

    python bench/aerodrome_paper.py [--events N] [--timeout S] [--only PRESET ...]

The traces are generated in the proportions of the paper's (see `atomsan generate --list-presets`), scaled down to
--events events at most. Each checker runs as a process of its own: `atomsan check --algorithm NAME`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness import measured
from rich.console import Console
from rich.table import Table

from atomsan.checkers.registry import CHECKERS
from atomsan.trace.generator import BENCHMARKS, generate, preset
from atomsan.trace.writing import write_trace

ALGORITHMS = ["auto", *(name for name in CHECKERS if name != "empty")]


@dataclass
class Outcome:
    """The verdict of one checker on one trace, its time and its memory."""

    verdict: str
    seconds: float
    megabytes: float


def check(trace: Path, algorithm: str, timeout: float) -> Outcome:
    """Run one checker in a process of its own; the time is that of the whole process."""
    words = ("check", trace, "--algorithm", algorithm, "--timeout", str(timeout), "--format", "json")
    output, seconds, megabytes = measured(*words)
    return Outcome(json.loads(output)["verdict"], seconds, megabytes)


def cell(outcome: Outcome, events: int, timeout: float) -> str:
    if outcome.verdict == "unknown" and outcome.seconds >= timeout:
        return f"TO > {timeout:g} s"
    sign = {"holds": "✓", "violated": "✗", "unknown": "?"}[outcome.verdict]
    return f"{sign} {outcome.seconds:.2f} s\n{events / outcome.seconds / 1e6:.2f} Mev/s\n{outcome.megabytes:.0f} MB"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=2_000_000, help="the most events of a trace (default: 2000000)")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for each checker (default: 60)")
    parser.add_argument("--only", nargs="*", default=list(BENCHMARKS), choices=list(BENCHMARKS), metavar="PRESET")
    options = parser.parse_args()
    table = Table("program", "events", "threads", "locks", "variables", "atomic?", *ALGORITHMS)
    with tempfile.TemporaryDirectory(prefix="atomsan-paper-") as directory:
        for name in options.only:
            trace = Path(directory) / f"{name}.atomtrace"
            made = preset(name, scale=min(1.0, options.events / BENCHMARKS[name].events))
            source = generate(made)
            write_trace(source, trace)
            atomic = "✓" if source.truth["serializable"] else "✗"
            facts = [f"{count:,}" for count in (made.events, made.threads, made.locks, made.variables)]
            cells = []
            for algorithm in ALGORITHMS:
                outcome = check(trace, algorithm, options.timeout)
                cells.append(cell(outcome, made.events, options.timeout))
                print(f"{name} {algorithm}: {', '.join(cells[-1].splitlines())}", file=sys.stderr)
            table.add_row(name, *facts, atomic, *cells)
    Console(width=None if sys.stdout.isatty() else 150).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
