"""Slowdown and disk space of recording whole multi-threaded programs, compared with their plain run.

    python bench/run.py --only recording --only run --only run-predict

The programs are in `programs/`, one for each kind of load; their output must be the same plain and recorded.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from harness import TOOL, Row, atomsan, best, command

PROGRAMS = Path(__file__).parent / "programs"
EXAMPLES = Path(__file__).parents[1] / "examples"

# The limit of the slowdown; None: it counts only in the mean.
LIMITS: dict[str, float | None] = {
    "attributes": 2.0,
    "dictionaries": 1.5,
    "numeric": 1.1,
    "cache": None,
    "pipeline": None,
    "grid": None,
    "graph": None,
    "texts": None,
    "service": None,
}
MEAN_LIMIT = 1.6
BYTES_LIMIT = 8.0
START_LIMIT = 0.25
PREDICT_LIMIT = 0.3


def programs(directory: Path, repeat: int) -> Iterator[Row]:
    ratios = []
    for name, limit in LIMITS.items():
        program, trace = PROGRAMS / f"{name}.py", directory / f"{name}.atomtrace"
        record = ("record", "--quiet", "--force", "-o", trace, program)
        plain, recorded = best(repeat, command(sys.executable, program), atomsan(*record))
        _check_output(program, record)
        events = json.loads((trace / "meta.json").read_text())["events"]
        size = sum(part.stat().st_size for part in trace.iterdir())
        ratios.append(recorded / plain)
        yield Row(
            f"record {name}.py / plain",
            recorded / plain,
            "x",
            limit,
            detail=f"{recorded:.3f} s, plain {plain:.3f} s, {events / 1e6:.1f} M events",
        )
        yield Row(f"bytes an event on disk, {name}.py", size / events, "B", BYTES_LIMIT, detail=f"{size / 1e6:.1f} MB")
    yield Row(
        f"recording, geometric mean of {len(ratios)} programs", math.prod(ratios) ** (1 / len(ratios)), "x", MEAN_LIMIT
    )


def _check_output(program: Path, record: tuple[object, ...]) -> None:
    plain = subprocess.run([sys.executable, program], check=True, capture_output=True)
    recorded = subprocess.run([TOOL, *map(str, record)], check=True, capture_output=True)
    assert plain.stdout == recorded.stdout, f"{program.name} computed something else"


def start_up(directory: Path, repeat: int) -> Iterator[Row]:
    empty = directory / "empty.py"
    empty.write_text("")
    plain, recorded = best(repeat, command(sys.executable, empty), atomsan("run", "--quiet", empty))
    yield Row("atomsan run on an empty script, more than python", recorded - plain, "s", START_LIMIT)


def predicting(repeat: int) -> Iterator[Row]:
    """What prediction adds to a short run: the time until the report is there."""
    program = EXAMPLES / "bank.py"
    run = ("run", "--quiet", "--findings-exit-code", "0")
    without, with_it = best(repeat, atomsan(*run, "--no-predict", program), atomsan(*run, program))
    yield Row(
        "atomsan run examples/bank.py, more than with --no-predict",
        with_it - without,
        "s",
        PREDICT_LIMIT,
        detail=f"{with_it:.3f} s, {without:.3f} s",
    )
