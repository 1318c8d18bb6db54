"""Speed of prediction, compared with the AeroDrome checker on the same trace; and a table like that of the paper.

    python bench/run.py --only predicting
    make bench-predict                      the same, and the table

The trace is a serial run: transactions of 200 forms on 10,000 objects with a lock each, by 8 threads. A quarter of the
forms takes two objects. All is under locks, so there is nothing to find: the time is that of the proof.
"""

from __future__ import annotations

import random
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from harness import MILLION, Row, best
from rich.console import Console
from rich.table import Table

import atomsan
from atomsan.predictors.registry import PREDICTORS
from atomsan.trace.events import NO_SITE, Batch, Op
from atomsan.trace.generator import generate, options_for
from atomsan.trace.meta import TraceMeta
from atomsan.trace.symbols import Symbols
from atomsan.trace.trace import Trace

FORMS, OBJECTS, THREADS, FIELDS = 200, 10_000, 8, 3
EVENTS_OF_ONE = 10

Template = list[tuple[int, int, int]]
"""The steps of a transaction: operation, which of its objects, and which field."""


def _templates(rng: random.Random) -> list[Template]:
    found = []
    for number in range(FORMS):
        steps: Template = [(Op.BEGIN, 0, number), (Op.ACQUIRE, 0, 0)]
        is_of_two = number % 4 == 0
        if is_of_two:
            steps.append((Op.ACQUIRE, 1, 0))
        for _ in range(4 if is_of_two else 6):
            op = rng.choice([Op.READ, Op.WRITE])
            steps.append((op, rng.randrange(2) if is_of_two else 0, rng.randrange(FIELDS)))
        if is_of_two:
            steps.append((Op.RELEASE, 1, 0))
        found.append([*steps, (Op.RELEASE, 0, 0), (Op.END, 0, number)])
    return found


def serial_run(events: int) -> Trace:
    rng = random.Random(15)
    templates = _templates(rng)
    columns: list[tuple[int, int, int]] = []
    for _ in range(events // EVENTS_OF_ONE):
        thread, template = rng.randrange(THREADS), templates[rng.randrange(FORMS)]
        objects = sorted((rng.randrange(OBJECTS), rng.randrange(OBJECTS)))
        objects[1] += objects[0] == objects[1]
        columns += [
            (thread, op, field if op >= Op.BEGIN else objects[which] * (FIELDS if op <= Op.WRITE else 1) + field)
            for op, which, field in template
        ]
    symbols = Symbols()
    for thread in range(THREADS):
        symbols.threads.intern(f"T{thread}")
    for number in range(OBJECTS + 1):
        symbols.locks.intern(f"lock{number}")
        for field in range(FIELDS):
            symbols.locations.intern(f"o{number}.f{field}")
    for number in range(FORMS):
        symbols.regions.intern(f"m{number}")
    threads, ops, targets = np.array(columns, np.uint32).T
    sites = np.full(len(ops), NO_SITE, np.uint32)
    batch = Batch.frozen(0, threads.copy(), ops.astype(np.uint8), targets.copy(), sites)
    return Trace(batch, symbols, TraceMeta("a serial run", "notation"))


def predicting(repeat: int, events: int) -> Iterator[Row]:
    """Time and memory for a million events, and for ten times as many."""
    small = serial_run(events // 10)
    checked, predicted = best(
        repeat,
        lambda: atomsan.check(small, "aerodrome"),
        lambda: atomsan.predict(small),
    )
    yield Row(
        f"predict, {len(small) / MILLION:g} million events, {FORMS} forms / aerodrome",
        predicted / checked,
        "x",
        20,
        detail=f"{predicted:.3f} s, aerodrome {checked:.3f} s",
    )
    large = serial_run(events)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (longer,) = best(1, lambda: atomsan.predict(large))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield Row(
        "predict, ten times the events",
        longer / predicted,
        "x the time",
        11,
        detail=f"{predicted:.3f} s, {longer:.3f} s; {(after - before) / 1024:.0f} MB more memory",
    )


# ---- a table like table 1 of the paper


def _rows() -> Iterator[tuple[str, Trace | str]]:
    for kind in ("serializable", "violating"):
        for threads in (4, 16):
            options = options_for(kind, events=20_000, threads=threads)
            yield f"{kind}, {threads} threads", Trace.from_source(generate(options))
    yield "serial run, 200 forms", serial_run(MILLION // 10)


def table(traces: list[str]) -> Table:
    shown = Table("trace", "events", "units", "nodes", "inter-edges", *PREDICTORS)
    for name, trace in (*_rows(), *((Path(path).stem, path) for path in traces)):
        cells: list[str] = []
        for method in PREDICTORS:
            start = time.perf_counter()
            report = atomsan.predict(trace, method, explain=False, timeout=60)
            counted, events = report.counters, report.trace.events
            answer = report.results.get(method, {}).get("verdict", "out of time")
            cells.append(
                f"{answer}, {len(report.findings) + len(report.suspects)}, {time.perf_counter() - start:.2f} s"
            )
        counts = [counted.get(key, 0) for key in ("units", "nodes", "inter_edges")]
        shown.add_row(name, str(events), *map(str, counts), *cells)
    return shown


def main() -> int:
    rows = list(predicting(3, 10 * MILLION))
    console = Console(width=160)
    for row in rows:
        console.print(f"{row.name}: {row.value:.1f} {row.unit} (at most {row.limit}): {row.detail}")
    console.print("by method: the answer, findings and suspects, and the time")
    console.print(table(sys.argv[1:]))
    return 1 if any(row.passed is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
