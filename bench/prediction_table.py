"""What prediction finds, and how fast, by method: a table like table 1 of the commit-node paper. `make bench-predict`.

    python bench/prediction_table.py [--every N] [--events N] [--random N]

Rows are the presets of `atomsan generate`, scaled down, and its kinds; the test programs, each recorded once; and
random traces, small enough that an enumeration of all interleavings knows the answer (tests/oracles/interleavings.py).
A cell has the answer, the findings and suspects, and the seconds. What is counted at the end:

- of the racy test programs, those with a finding or a suspect; of the safe ones, those with a finding: false alarms;
- of the random traces, refutations and proofs that the enumeration contradicts.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from harness import TOOL, command
from predicting import SAFE, TORN, serial_run
from rich.console import Console
from rich.table import Table

import atomsan
from atomsan.predictors.registry import PREDICTORS
from atomsan.trace.generator import BENCHMARKS, GENERATOR_KINDS, generate, options_for, preset
from atomsan.trace.trace import Trace

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))

from oracles.interleavings import conflict_atomic, view_atomic  # noqa: E402
from oracles.loading import steps  # noqa: E402

# States of an enumeration, and seconds of a prediction.
BUDGET, SECONDS = 30_000, 60.0


class Outcome(NamedTuple):
    """What one method says of one trace."""

    verdict: str
    findings: int
    suspects: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.verdict}, {self.findings}+{self.suspects}, {self.seconds:.2f} s"


class Predicted(NamedTuple):
    events: int
    counters: dict[str, int]
    by_method: dict[str, Outcome]


def predicted(trace: Trace | Path) -> Predicted:
    by_method: dict[str, Outcome] = {}
    counters: dict[str, int] = {}
    events = 0
    for method in PREDICTORS:
        start = time.perf_counter()
        report = atomsan.predict(trace, method, timeout=SECONDS)
        verdict = report.results.get(method, {}).get("verdict", "out of time")
        seconds = time.perf_counter() - start
        by_method[method] = Outcome(verdict, len(report.findings), len(report.suspects), seconds)
        events, counters = report.trace.events, counters or report.counters
    return Predicted(events, counters, by_method)


def row(name: str, of: Predicted) -> list[str]:
    counts = (str(of.counters.get(key, "")) for key in ("units", "forms", "nodes", "inter_edges"))
    return [name, str(of.events), *counts, *map(str, of.by_method.values())]


def generated(events: int) -> Iterator[tuple[str, Trace]]:
    for name, benchmark in BENCHMARKS.items():
        options = preset(name, scale=min(1.0, events / benchmark.events))
        yield f"preset {name}", Trace.from_source(generate(options))
    for kind in GENERATOR_KINDS:
        yield f"kind {kind}", Trace.from_source(generate(options_for(kind, events=min(events, 5000))))
    yield "serial run, all locked", serial_run(SAFE, events)
    yield "serial run, an eighth torn", serial_run(TORN, events)


def recorded(every: int, directory: Path) -> Iterator[tuple[str, Path]]:
    """One program of so many, racy and safe."""
    for kind in ("racy", "safe"):
        for program in sorted((TESTS / "programs" / kind).glob("*.py"))[::every]:
            trace = directory / f"{program.stem}.atomtrace"
            command(TOOL, "record", "--quiet", "--force", "-o", trace, program)()
            yield f"{kind} {program.stem}", trace


def of_programs(table: Table, every: int, directory: Path) -> Table:
    """Adds their rows; what is counted of them."""
    counted: Counter[tuple[str, str]] = Counter()
    for name, trace in recorded(every, directory):
        print(name, file=sys.stderr)
        of = predicted(trace)
        table.add_row(*row(name, of))
        is_racy = name.startswith("racy")
        counted["racy" if is_racy else "safe", ""] += 1
        for method, outcome in of.by_method.items():
            is_counted = outcome.findings or (is_racy and outcome.suspects)
            counted["found" if is_racy else "alarms", method] += bool(is_counted)
    shown = Table("test programs", *PREDICTORS)
    for what, kind, key in (("racy, found", "racy", "found"), ("safe, false alarms", "safe", "alarms")):
        shown.add_row(what, *(f"{counted[key, method]} of {counted[kind, '']}" for method in PREDICTORS))
    return shown


def of_random(count: int) -> Table:
    """What the enumeration of all interleavings says of small traces, against each method."""
    counted: Counter[tuple[str, str]] = Counter()
    for seed in range(count):
        options = options_for("random", events=10 + seed % 8, threads=2 + seed % 2, seed=seed)
        trace = Trace.from_source(generate(options))
        truths = {True: view_atomic(steps(trace), BUDGET), False: conflict_atomic(steps(trace), BUDGET)}
        for method in PREDICTORS:
            truth = truths[method == "view"]
            if truth is None:
                continue
            verdict = atomsan.predict(trace, method, explain=False).results[method]["verdict"]
            counted["atomic" if truth else "not atomic", method] += 1
            counted[verdict, method] += 1
            counted["false alarms", method] += truth and verdict == "violated"
            counted["false proofs", method] += not truth and verdict == "holds"
    shown = Table(f"{count} random traces", *PREDICTORS)
    for what in ("atomic", "not atomic", "holds", "violated", "unknown", "false alarms", "false proofs"):
        shown.add_row(what, *(str(counted[what, method]) for method in PREDICTORS))
    return shown


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="one test program of so many (default: 1)")
    parser.add_argument("--events", type=int, default=20_000, help="the most events of a preset (default: 20000)")
    parser.add_argument("--random", type=int, default=1000, help="random traces (default: 1000)")
    options = parser.parse_args()
    table = Table("trace", "events", "units", "forms", "nodes", "inter-edges", *PREDICTORS)
    for name, trace in generated(options.events):
        print(name, file=sys.stderr)
        table.add_row(*row(name, predicted(trace)))
    with tempfile.TemporaryDirectory(prefix="atomsan-predict-") as directory:
        programs = of_programs(table, options.every, Path(directory))
    console = Console(width=None if sys.stdout.isatty() else 170)
    for one in (table, programs, of_random(options.random)):
        console.print(one)
    return 0


if __name__ == "__main__":
    sys.exit(main())
