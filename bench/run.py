"""All benchmarks with their limits, as a table and as JSON: `make bench`.

    python bench/run.py                 everything, about ten minutes and 4 GB of disk
    python bench/run.py --quick         a tenth of the events, one minute; the limits are meant for the full size
    python bench/run.py --only reading  one benchmark; can be given again

Exits with 1 if a limit was missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import checking
import forgetting
import judging
import many_open
import predicting
import projection
import reading
import recording
import sets
import tool
from harness import MILLION, Row, as_installed, save, show


def benchmarks(directory: Path, repeat: int, scale: float) -> dict[str, Iterator[Row]]:
    """Every benchmark by name. They are generators: nothing runs before its rows are taken."""
    events = int(10 * MILLION * scale)
    return {
        "start-up": tool.start_up(directory, 2 * repeat),
        "reading": reading.reading(directory, repeat, events),
        "checking": checking.in_memory(directory, repeat, events),
        "checking-growth": checking.growth(repeat, 8 * events // 10),
        "violations": checking.every_violation(repeat, events),
        "many-open": many_open.many_open(directory, min(repeat, 5)),
        "check": checking.whole_process(directory, repeat, events),
        "predicting": predicting.predicting(min(repeat, 3), events),
        "sets": sets.patterns(min(repeat, 5), events),
        "projection": projection.projections(min(repeat, 5), events),
        "run": recording.start_up(directory, 2 * repeat),
        "run-predict": recording.predicting(2 * repeat),
        "run-sets": sets.in_a_run(min(repeat, 3)),
        "judging": judging.judging(directory, min(repeat, 3)),
        "recording": recording.programs(directory, min(repeat, 5)),
        "forgetting": forgetting.forgetting(directory, int(2 * MILLION * scale)),
        "pytest": forgetting.plugin(directory, min(repeat, 3)),
        "generator": tool.generator(directory, min(repeat, 3), events),
        "growth": reading.growth(directory, min(repeat, 5), 10 * events),
        "memory": reading.memory(directory, 10 * events),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the events")
    parser.add_argument("--only", action="append", help="one of the benchmarks; repeatable")
    parser.add_argument("--repeat", type=int, default=7, help="rounds, of which the best counts (default: 7)")
    parser.add_argument("--json", type=Path, default=Path(__file__).parent / "results" / "bench.json")
    options = parser.parse_args()
    as_installed()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="atomsan-bench-") as directory:
        chosen = benchmarks(Path(directory), options.repeat, 0.1 if options.quick else 1)
        unknown = set(options.only or ()) - set(chosen)
        if unknown:
            parser.error(f"no benchmark {', '.join(unknown)}: there are {', '.join(chosen)}")
        for name, measured in chosen.items():
            if not options.only or name in options.only:
                for row in measured:
                    rows.append(row)
                    print(f"{row.name}: {row.value:.3g} {row.unit}", file=sys.stderr)
    show(rows)
    save(rows, options.json)
    print(f"also in {options.json}")
    return 1 if any(row.passed is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
