"""Speed of the checkers, compared with `md5sum` on the text of the same trace.

    python bench/run.py --only checking --only check --only checking-growth --only violations

`in_memory` measures the checkers alone, flattening included, on columns in memory. `whole_process` measures
`atomsan check` on a text, start-up included.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import MILLION, InMemory, Row, atomsan, best, command

from atomsan.checkers.loop import run_checkers
from atomsan.checkers.registry import CHECKERS
from atomsan.trace.generator import GeneratedSource, generate, options_for
from atomsan.trace.writing import write_trace


@dataclass(frozen=True)
class Load:
    """A generated trace, and by checker the limit of its time in units of md5sum; None: no limit."""

    name: str
    kind: str
    shape: dict[str, Any]
    limits: dict[str, float | None]

    def source(self, events: int) -> GeneratedSource:
        return generate(options_for(self.kind, events=events, **self.shape))

    def text(self, directory: Path, events: int) -> Path:
        path = directory / f"{self.name.replace(' ', '-')}-{events}.std"
        if not path.exists():
            write_trace(self.source(events), path)
        return path


LOADS = [
    Load(
        "8 threads, 100k variables",
        "serializable",
        {"threads": 8, "variables": 100_000},
        {"empty": None, "aerodrome": 0.8, "velodrome": 8.0, "doublechecker": None},
    ),
    Load(
        "32 threads, 1M variables",
        "serializable",
        {"threads": 32, "variables": MILLION},
        {"empty": None, "aerodrome": 1.0, "velodrome": 10.0},
    ),
    Load(
        "a long region, 16 threads",
        "long-region",
        {"threads": 16},
        {"empty": None, "aerodrome": 2.5},
    ),
]


def in_memory(directory: Path, repeat: int, events: int) -> Iterator[Row]:
    for load in LOADS:
        source = InMemory(load.source(events))
        checksum, *times = best(
            repeat,
            command("md5sum", load.text(directory, events)),
            *(_check(source, name) for name in load.limits),
        )
        for (name, limit), time in zip(load.limits.items(), times, strict=True):
            yield Row(
                f"{name}, {load.name}: columns in memory / md5sum",
                time / checksum,
                "x",
                limit,
                detail=f"{time:.3f} s, md5sum {checksum:.3f} s, {events / time / MILLION:.1f} Mev/s",
            )


def _check(source: InMemory, name: str, verdict: str = "holds") -> Callable[[], object]:
    def run() -> None:
        (result,) = run_checkers(source, [CHECKERS[name].make()], reopen=lambda: source).results
        assert result.verdict in (verdict, "unknown")

    return run


def growth(repeat: int, most: int) -> Iterator[Row]:
    """Time of Velodrome where it can forget transactions: at most 2.2 times for twice the events."""
    sizes = [most // 8, most // 4, most // 2, most]
    sources = [InMemory(LOADS[0].source(size)) for size in sizes]
    times = best(repeat, *(_check(source, "velodrome") for source in sources))
    pairs = itertools.pairwise(zip(sizes, times, strict=True))
    for (smaller, before), (larger, after) in pairs:
        yield Row(
            f"velodrome, growth from {smaller / MILLION:g} to {larger / MILLION:g} million events",
            after / before,
            "x the time",
            2.2,
            detail=f"{before:.3f} s, {after:.3f} s",
        )


def every_violation(repeat: int, events: int) -> Iterator[Row]:
    """Time of RegionTrack and Davida with a few thousand violations, compared with AeroDrome.

    AeroDrome would stop at the first violation, so it runs on the same load without any.
    """
    shape = LOADS[0].shape
    violating = InMemory(generate(options_for("violating", events=events, violations=events // 2000, **shape)))
    aerodrome, *times = best(
        repeat,
        _check(InMemory(LOADS[0].source(events)), "aerodrome"),
        _check(violating, "regiontrack", "violated"),
        _check(violating, "davida", "violated"),
    )
    for name, time in zip(("regiontrack", "davida"), times, strict=True):
        yield Row(
            f"{name}, {events // 2000} violations, {LOADS[0].name} / aerodrome without any",
            time / aerodrome,
            "x",
            4.0,
            detail=f"{time:.3f} s, {events / time / MILLION:.1f} Mev/s, aerodrome {aerodrome:.3f} s",
        )


def whole_process(directory: Path, repeat: int, events: int) -> Iterator[Row]:
    for load in LOADS:
        text = load.text(directory, events)
        checksum, time = best(repeat, command("md5sum", text), atomsan("check", "--algorithm", "aerodrome", text))
        yield Row(
            f"atomsan check --algorithm aerodrome, {load.name} / md5sum",
            time / checksum,
            "x",
            2.8,
            detail=f"{time:.3f} s, md5sum {checksum:.3f} s",
        )
