"""Findings and cost of `atomsan sets` on the programs of the atomic-sets paper's table 1: `make bench-sets`.

    python bench/atomic_sets_paper.py [--seeds N]

Each program of tests/programs/racy/contest_*.py is recorded with noise, with one seed after the other until its bug is
found. The table has for each: the findings of each of the 14 patterns, whether the specified bug is among them and with
which seed, the slowdown of recording (without start-up), the most tuples at a time, and the depth of regions.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

from harness import TOOL, command, seconds
from rich.console import Console
from rich.table import Table

import atomsan
from atomsan.trace.events import Op

PROGRAMS = Path(__file__).parents[1] / "tests" / "programs" / "racy"


def run_seconds(program: Path) -> float:
    return seconds(command(sys.executable, program))


def record_seconds(program: Path, trace: Path, seed: int) -> float:
    words = ("record", "--quiet", "--force", "--noise", "--seed", str(seed), "-o", trace, program)
    return seconds(command(TOOL, *words))


def is_found(program: Path, report: atomsan.Report) -> bool:
    """Whether a finding is in the region that the program expects and has a step on a marked line."""
    text = program.read_text()
    expected = re.findall(r"^# expect: (\S+)", text, re.M)
    marked = {number for number, line in enumerate(text.splitlines(), 1) if line.rstrip().endswith("# bug")}
    return any(
        finding.region.partition(":")[2].partition("/")[0] in expected
        and any(step.site and step.site.line in marked for step in finding.witness)
        for finding in report.findings
    )


def depth(trace: Path) -> float:
    """The average number of regions open at an access."""
    opened: Counter[int] = Counter()
    total = accesses = 0
    for batch in atomsan.open_trace(trace).batches():
        for thread, op in zip(batch.thread.tolist(), batch.op.tolist(), strict=True):
            if op in (Op.BEGIN, Op.END):
                opened[thread] += 1 if op == Op.BEGIN else -1
            elif op <= Op.WRITE:
                accesses += 1
                total += opened[thread]
    return total / max(accesses, 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="the number of seeds to try (default: 20)")
    options = parser.parse_args()
    table = Table("program", "lines", *map(str, range(1, 15)), "found", "seed", "slower", "tuples", "depth")
    missed = 0
    with tempfile.TemporaryDirectory(prefix="atomsan-contest-") as directory:
        trace, empty = Path(directory) / "t.atomtrace", Path(directory) / "empty.py"
        empty.write_text("")
        start = min(run_seconds(empty) for _ in range(5))
        start_recorded = min(record_seconds(empty, trace, 0) for _ in range(5))
        for program in sorted(PROGRAMS.glob("contest_*.py")):
            plain = min(run_seconds(program) for _ in range(3)) - start
            for seed in range(options.seeds):
                took = record_seconds(program, trace, seed) - start_recorded
                report = atomsan.sets(trace)
                if found := is_found(program, report):
                    break
            missed += not found
            shown = Counter(name for finding in report.findings for name in finding.found_by)
            table.add_row(
                program.stem.removeprefix("contest_"),
                str(len(program.read_text().splitlines())),
                *(str(shown[f"pattern {number}"]) for number in range(1, 15)),
                "Y" if found else "N",
                str(seed),
                f"{max(took, 0) / max(plain, 0.001):.1f}",
                str(report.counters["patterns.most_tuples"]),
                f"{depth(trace):.1f}",
            )
    Console(width=None if sys.stdout.isatty() else 160).print(table)
    print(f"without start-up: {start:.3f} s plain, {start_recorded:.3f} s recorded; with noise, which yields at random")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
