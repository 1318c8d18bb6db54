"""Measures judging on the programs written by hand: each with five seeds of noise, one row for each spelling.

    python tests/programs/measure.py [--seeds N] [--all] [NAME ...]
    python tests/programs/measure.py --plain [NAME ...]     # one run each, without noise: what can be predicted
    python tests/programs/measure.py --shuffled [NAME ...]  # the same, with the threads begun in another order

The exit code is 1 if a bug is missed, if a safe program has a finding, or if more than one bug in twenty is only a
suspect though its program expects a finding. In plain runs, `PLAIN.txt` lists the bugs that are not found, and why.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from outcomes import RACY, SAFE, Outcome, headers_of, name_of, outcome_of, reasons, strongest

SUSPECTS_ONLY = 0.05
"""The part of the racy programs that may be found as suspects only."""


@dataclass(frozen=True)
class Measured:
    """A program over all seeds."""

    path: Path
    outcomes: Sequence[Outcome]

    @property
    def is_racy(self) -> bool:
        return self.path in RACY

    @property
    def spelling(self) -> str:
        return self.path.stem.partition("__")[2] or "1"

    def counts(self) -> Counter[str]:
        """In how many runs the expected bug, or of a safe program anything, was a finding, else a suspect."""
        text = self.path.read_text()
        return Counter(
            str(
                strongest(
                    run.levels(text) if self.is_racy else (level for level in run.by_level if run.by_level[level])
                )
            )
            for run in self.outcomes
        )

    @property
    def level(self) -> str | None:
        """The strongest level over all runs; a note is not told apart from nothing."""
        return strongest(level for level in self.counts() if level != "note")

    @property
    def class_(self) -> str:
        """The column of the table that this program counts in."""
        if not self.is_racy:
            return {"finding": "findings", "suspect": "suspects"}.get(self.level or "", "silent")
        if self.level is None:
            return "missed"
        is_weaker = self.level == "suspect" and headers_of(self.path.read_text())["level"] == "finding"
        return "suspect only" if is_weaker else f"as {self.level}"

    def row(self) -> str:
        counts = self.counts()
        broken = sum(run.is_broken for run in self.outcomes)
        runs = len(self.outcomes)
        return (
            f"{name_of(self.path):45} {self.class_:13} finding {counts['finding']}/{runs}  "
            f"suspect {counts['suspect']}/{runs}  note {counts['note']}/{runs}  invariant broken {broken}/{runs}"
        )


RACY_CLASSES = ("as finding", "as suspect", "suspect only", "missed")
SAFE_CLASSES = ("silent", "suspects", "findings")


def measured(paths: Iterable[Path], seeds: Sequence[int | None], *, is_shuffled: bool = False) -> list[Measured]:
    """Run every program with every seed, on all cores. None is no noise."""
    run = partial(outcome_of, is_shuffled=is_shuffled)
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {path: [pool.submit(run, path, seed, Path(name)) for seed in seeds] for path in paths}
        return [Measured(path, [run.result() for run in of_path]) for path, of_path in runs.items()]


def table(kind: str, classes: Sequence[str], programs: Sequence[Measured]) -> list[str]:
    """One row for each spelling, and one for all of them."""
    spellings = sorted({program.spelling for program in programs}, key=int)
    rows = [f"{kind:18} {'programs':>9}" + "".join(f"{name:>14}" for name in classes)]
    for title, chosen in [
        *((f"spelling {number}", [one for one in programs if one.spelling == number]) for number in spellings),
        ("all", list(programs)),
    ]:
        counts = Counter(one.class_ for one in chosen)
        rows.append(f"{title:18} {len(chosen):9}" + "".join(f"{counts[name]:14}" for name in classes))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--plain", action="store_true", help="one run of each program, without noise")
    parser.add_argument("--shuffled", action="store_true", help="the same, with the threads begun in another order")
    parser.add_argument("--seed", type=int, default=1, help="of the shuffled order")
    parser.add_argument("--all", action="store_true", help="a row for each program, not only for those that are amiss")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only programs whose name contains one of these")
    options = parser.parse_args()
    start = time.monotonic()
    chosen = [
        path for path in (*RACY, *SAFE) if not options.names or any(part in name_of(path) for part in options.names)
    ]
    is_one_run = options.plain or options.shuffled
    seeds = [options.seed] if options.shuffled else [None] if options.plain else range(options.seeds)
    programs = measured(chosen, seeds, is_shuffled=options.shuffled)
    racy = [program for program in programs if program.is_racy]
    safe = [program for program in programs if not program.is_racy]
    print(*table("racy", RACY_CLASSES, racy), "", *table("safe", SAFE_CLASSES, safe), "", sep="\n")
    for program in programs:
        is_broken_safe = not program.is_racy and any(run.is_broken for run in program.outcomes)
        if options.all or is_broken_safe or program.class_ not in ("as finding", "as suspect", "silent"):
            print(program.row())
    known = reasons("WAITING.txt") | reasons("PLAIN.txt") if is_one_run else {}
    classes = Counter(program.class_ for program in programs if name_of(program.path) not in known)
    runs = "one shuffled run" if options.shuffled else "one plain run" if options.plain else f"{options.seeds} seeds"
    print(f"{len(programs)} programs, {runs}, {len(known)} listed with a reason, {time.monotonic() - start:.0f} s")
    is_weak = classes["suspect only"] > (0 if is_one_run else SUSPECTS_ONLY * len(racy))
    return int(bool(classes["missed"] or classes["findings"] or is_weak))


if __name__ == "__main__":
    sys.exit(main())
