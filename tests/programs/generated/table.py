"""Truth against level, over thousands of generated programs.

python tests/programs/generated/table.py [--programs N] [--first SEED]    # the table, and what is misjudged
python tests/programs/generated/table.py --plain                          # one thread after the other: predicted
python tests/programs/generated/table.py [--plain] --show SEED [--spelling N]   # one program: source, order, report
python tests/programs/generated/table.py --spellings [--programs N]       # programs whose level depends on spelling
python tests/programs/generated/table.py --mix [--programs N]             # shares of truths, by feature; not judged
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).parent.parent))

from atomsan.reports import text
from generated.cases import (
    ELSEWHERE,
    FAULTS,
    Row,
    case_of,
    differing_levels,
    judge_case,
    predict_case,
    predicted_rows_of,
    rows_of,
)
from generated.harness import FINDING, LEVELS, NOTE, NOTHING, SUSPECT, Harness
from generated.machine import Machine
from generated.spelling import SPELLINGS, written
from generated.tree import Program
from generated.truth import ATOMIC, BENIGN, HARMFUL, TRUTHS

CHUNK = 200
SHOWN_SEEDS = 8
SHOWN_FEATURES = 8
SHOWN_WORDS = 5

# At most so large a share of the programs of one truth may have these levels.
BARS = (
    ("harmful, neither finding nor suspect", HARMFUL, (NOTE, NOTHING), 0.0),
    ("harmful, only a suspect", HARMFUL, (SUSPECT,), 0.03),
    ("benign, a finding", BENIGN, (FINDING,), 0.03),
    ("atomic, a finding or a suspect", ATOMIC, (FINDING, SUSPECT), 0.0),
)

# Of what is predicted from one run of each, one thread after the other.
PLAIN_BARS = (
    ("harmful, neither finding nor suspect", HARMFUL, (NOTE, NOTHING), 0.02),
    ("atomic, a finding", ATOMIC, (FINDING,), 0.0),
)

Bars = Sequence[tuple[str, str, tuple[str, ...], float]]

T = TypeVar("T")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--programs", type=int, default=int(os.environ.get("ATOMSAN_PROGRAMS", "20000")))
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--show", type=int, metavar="SEED")
    parser.add_argument("--spelling", type=int, metavar="N")
    parser.add_argument("--spellings", action="store_true")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--mix", action="store_true")
    options = parser.parse_args(arguments)
    seeds = range(options.first, options.first + options.programs)
    if options.show is not None:
        show(options.show, options.spelling, is_plain=options.plain)
    elif options.spellings:
        for seed, levels in in_parallel(differing_levels, seeds, options.processes):
            print(f"seed {seed}: {' '.join(levels)}")
    elif options.mix:
        print("\n".join(mix(in_parallel(truths_of, seeds, options.processes))))
    else:
        started = time.monotonic()
        rows = in_parallel(_predicted if options.plain else _observed, seeds, options.processes)
        bars = PLAIN_BARS if options.plain else BARS
        print("\n".join(table(rows, bars)))
        rate = len(rows) / (time.monotonic() - started)
        print(f"\n{rate:.0f} programs a second in {options.processes} processes")
        is_over = options.plain and any(part > bar for _, _, part, bar in measured(rows, bars))
        return int(is_over or any(row.failure for row in rows))
    return 0


def _observed(seeds: Sequence[int]) -> list[Row]:
    return rows_of(map(case_of, seeds))


def _predicted(seeds: Sequence[int]) -> list[Row]:
    return predicted_rows_of(map(case_of, seeds))


def in_parallel(work: Callable[[Sequence[int]], list[T]], seeds: range, processes: int | None) -> list[T]:
    chunks = [seeds[start : start + CHUNK] for start in range(0, len(seeds), CHUNK)]
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        return [one for found in pool.map(work, chunks) for one in found]


# --- the table --------------------------------------------------------------------------------------------------------


def table(rows: Sequence[Row], bars: Bars = BARS) -> list[str]:
    counts = Counter((row.truth, row.level) for row in rows)
    lines = [f"{'':12}" + "".join(f"{level:>16}" for level in LEVELS) + f"{'programs':>12}"]
    for truth in (HARMFUL, ELSEWHERE, BENIGN, ATOMIC):
        whole = sum(counts[truth, level] for level in LEVELS)
        if not whole and truth not in TRUTHS:
            continue
        cells = (f"{counts[truth, level]} ({share(counts[truth, level], whole)})" for level in LEVELS)
        lines.append(f"{truth:12}" + "".join(f"{cell:>16}" for cell in cells) + f"{whole:>12}")
    lines.append("")
    for name, _, part, bar in measured(rows, bars):
        lines.append(f"{'ok  ' if part <= bar else 'OVER'} {name}: {part:.2%} (at most {bar:.0%})")
    failed = [row for row in rows if row.failure]
    lines.append(f"{'ok  ' if not failed else 'OVER'} outcome not that of the reference interpreter: {len(failed)}")
    lines += [f"     seed {row.seed}: {row.failure}" for row in failed[:SHOWN_SEEDS]]
    for fault in dict.fromkeys(FAULTS.values()):
        lines += faults(fault, rows)
    return lines


def measured(rows: Iterable[Row], bars: Bars = BARS) -> list[tuple[str, str, float, float]]:
    """Each bar with the share that was measured."""
    counts = Counter((row.truth, row.level) for row in rows)
    found = []
    for name, truth, levels, bar in bars:
        whole = sum(counts[truth, level] for level in LEVELS)
        found.append((name, truth, sum(counts[truth, level] for level in levels) / max(whole, 1), bar))
    return found


def faults(fault: str, rows: Sequence[Row]) -> list[str]:
    """The features that misjudged programs have more often than others, and the first seeds."""
    wrong = [row for row in rows if row.fault == fault]
    if not wrong:
        return []
    alike = [row for row in rows if row.truth == wrong[0].truth]
    all_features = Counter(feature for row in alike for feature in row.features)
    features = Counter(feature for row in wrong for feature in row.features)
    lines = ["", f"{fault}: {len(wrong)} of {len(alike)}"]
    # by how many more there are than by chance
    expected = {feature: all_features[feature] * len(wrong) / len(alike) for feature in features}
    ranked = sorted(features, key=lambda feature: expected[feature] - features[feature])
    for feature in ranked[:SHOWN_FEATURES]:
        count, whole = features[feature], all_features[feature]
        lines.append(f"    {feature:34} {count:>6} of {whole:>6} ({share(count, whole)})")
    for words, count in Counter(words for row in wrong for words in row.said).most_common(SHOWN_WORDS):
        lines.append(f"    said {count:>5} times: {words}")
    lines.append("    seeds " + " ".join(str(row.seed) for row in wrong[:SHOWN_SEEDS]))
    lines.append(f"    python tests/programs/generated/table.py --show {wrong[0].seed}")
    return lines


def share(part: int, whole: int) -> str:
    return f"{part / max(whole, 1):.1%}"


# --- the mix ----------------------------------------------------------------------------------------------------------


def truths_of(seeds: Sequence[int]) -> list[tuple[str, frozenset[str]]]:
    return [(case.truth.verdict, case.program.features) for case in map(case_of, seeds)]


def mix(truths: Sequence[tuple[str, frozenset[str]]]) -> list[str]:
    counts = Counter(truth for truth, _ in truths)
    lines = [" ".join(f"{truth} {share(counts[truth], len(truths))}" for truth in TRUTHS)]
    by_feature = Counter((feature, truth) for truth, features in truths for feature in features)
    for feature in sorted({feature for feature, _ in by_feature}):
        whole = sum(by_feature[feature, truth] for truth in TRUTHS)
        cells = " ".join(f"{truth} {share(by_feature[feature, truth], whole):>6}" for truth in TRUTHS)
        lines.append(f"{feature:34} {whole:>7}  {cells}")
    return lines


# --- one program ------------------------------------------------------------------------------------------------------


def show(seed: int, spelling: int | None, *, is_plain: bool) -> None:
    case = case_of(seed)
    spelled = case.spelled if spelling is None else SPELLINGS[spelling]
    with Harness() as harness:
        if is_plain:
            judged, expected = predict_case(harness, case, spelled)
        else:
            judged, expected = judge_case(harness, case, spelled), case.truth.outcome
    for source in written(case.program, spelled):
        print("\n".join(f"{number:4}  {line}".rstrip() for number, line in enumerate(source.splitlines(), 1)))
    print("\nInterleaving that shows it, one step a line:")
    print("\n".join(steps_shown(case.program, case.truth.schedule)))
    print(f"\noutcome   {judged.run.outcome}")
    if judged.run.failure or judged.run.outcome != expected:
        print(f"expected  {expected}; {judged.run.failure}")
    for outcome in sorted(map(repr, case.truth.serial)):
        print(f"serial    {outcome}")
    print(f"\ntruth {case.truth.verdict}, level {judged.level}\n")
    print(text.render([judged.report], with_notes=True))


def steps_shown(program: Program, schedule: Sequence[int]) -> list[str]:
    machine = Machine(program)
    state = machine.start()
    lines = []
    for thread in schedule:
        lines.append(f"    thread {thread}: {machine.described(state, thread)}")
        state, _, _ = machine.step(state, thread)
    return lines


if __name__ == "__main__":
    sys.exit(main())
