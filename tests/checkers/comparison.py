"""Every checker against the definitions of its property, on generated traces.

`python tests/checkers/comparison.py [--seconds N] [--traces N] [--seed N]` runs for ten minutes (`make test-long`) and
prints how many traces of each sort it compared; the test suite does the same on 20,000 traces.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from atomsan import TraceBuilder
from atomsan.checkers.loop import run_checkers
from atomsan.checkers.registry import CHECKERS
from atomsan.checkers.results import Result
from atomsan.trace.trace import Trace
from oracles.graph import graph_serializable, graph_violations
from oracles.model import Step, normalise, transactions
from oracles.serializability import serializable, shortest_cycle
from oracles.violating import violations
from strategies import random_steps, short_lived

# The definitions take quadratic time. Longer traces are compared with graphs of direct order (`oracles.graph`).
LONGEST_BY_DEFINITION = 600

# The share of traces with thousands of threads: each takes as long as a hundred others.
THOUSANDS = 0.0005

# The sorts of traces that must be generated.
SORTS = (
    "serializable",
    "not serializable",
    "fork/join",
    "post/take",
    "open regions",
    "unary",
    "nesting",
    "loops",
    "non-increasing cycles only",
    "only through 3+ transactions",
    "70+ threads",
    "thousands of short-lived threads",
    "thousands of short-lived threads, serializable",
    "thousands of short-lived threads, not serializable",
)


@dataclass(frozen=True)
class Answer:
    """The answer of the definitions for a trace."""

    serializable: bool
    violations: int
    violating: frozenset[tuple[str, int]]


def answer(steps: Sequence[Step], loops: Collection[str] = ()) -> Answer:
    if len(steps) > LONGEST_BY_DEFINITION:
        names = graph_violations(steps, loops)
        return Answer(graph_serializable(steps, loops), len(names), frozenset(names))
    found = violations(steps, loops)
    return Answer(
        serializable(steps, loops),
        len(found),
        frozenset((one.transaction.thread, one.transaction.number or 0) for one in found),
    )


def built(steps: Sequence[Step], loops: Collection[str] = ()) -> Trace:
    builder = TraceBuilder()
    for lock in loops:
        builder.symbols.locks.intern(lock, kind="loop")
    for step in steps:
        builder.add(step.thread, step.op, step.target)
    return builder.build()


def checked(trace: Trace) -> list[Result]:
    """The result of every checker, each run alone: one that stops early must not stop the others."""
    names = [name for name in CHECKERS if name != "empty"]
    return [run_checkers(trace, [CHECKERS[name].make()]).results[0] for name in names]


def differences(steps: Sequence[Step], expected: Answer, loops: Collection[str] = ()) -> list[str]:
    """The differences between checkers and definitions; empty if they agree."""
    trace = built(steps, loops)
    return [text for result in checked(trace) for text in _differences(result, expected, trace)]


def _differences(result: Result, expected: Answer, trace: Trace) -> Iterator[str]:
    name = result.algorithm
    holds = expected.serializable
    if result.verdict != ("holds" if holds else "violated"):
        yield f"{name}: verdict {result.verdict}, but serializable is {holds}"
    if result.serializable not in (None, holds):
        yield f"{name}: serializable {result.serializable}, should be {holds}"
    if result.violations is not None and "every" in CHECKERS[name].property:
        if result.violations != expected.violations:
            yield f"{name}: {result.violations} violations, should be {expected.violations}"
        found = {(trace.symbols.threads[thread], number) for thread, number in result.transactions}
        if found != expected.violating:
            yield f"{name}: violating {sorted(found)}, should be {sorted(expected.violating)}"


def sorts_of(steps: Sequence[Step], expected: Answer, loops: Collection[str] = ()) -> Iterator[str]:
    """The sorts that a trace belongs to, to be sure that every sort was generated."""
    ops = Counter(step.op for step in steps)
    threads = {step.thread for step in steps}
    yield "serializable" if expected.serializable else "not serializable"
    if ops["fork"] or ops["join"]:
        yield "fork/join"
    if ops["post"] and ops["take"]:
        yield "post/take"
    if ops["begin"] != ops["end"]:
        yield "open regions"
    if loops:
        yield "loops"
    if len(threads) > 70:
        yield "70+ threads"
    if len(threads) > 1000:
        yield "thousands of short-lived threads"
        yield f"thousands of short-lived threads, {'' if expected.serializable else 'not '}serializable"
    found = transactions(normalise(steps))
    if any(one.number is None for one in found):
        yield "unary"
    if sum(one.number is not None for one in found) < ops["begin"]:
        yield "nesting"
    if not expected.serializable and not expected.violating:
        yield "non-increasing cycles only"
    if not expected.serializable and len(steps) < 200:
        cycle = shortest_cycle(steps)
        if cycle is not None and len(cycle) >= 3:
            yield "only through 3+ transactions"


def generated(rng: random.Random) -> list[Step]:
    """A trace: small ones of every shape, now and then one of many threads, and rarely one of thousands."""
    chance = rng.random()
    if chance < 0.003:
        return list(random_steps(rng, threads=rng.randrange(65, 140), events=400))
    if chance < 0.004:
        return short_lived(rng, rng.randrange(50, 200), rng.choice([0, 0.05, 0.5]))
    if chance < 0.004 + THOUSANDS:
        return thousands_of_threads(rng)
    return list(random_steps(rng))


def thousands_of_threads(rng: random.Random) -> list[Step]:
    children = rng.randrange(2000, 5000)
    return short_lived(rng, children, rng.choice([0, 0, 1 / children, 0.05]))


def loops_of(rng: random.Random) -> list[str]:
    """Now and then one of the locks is an asyncio loop."""
    return ["l1"] if rng.random() < 0.2 else []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="stop after so long (default: 600)")
    parser.add_argument("--traces", type=int, default=1_000_000, help="or after so many traces (default: a million)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    seen: Counter[str] = Counter(dict.fromkeys(SORTS, 0))
    deadline = time.monotonic() + options.seconds
    failures = 0
    while seen["traces"] < options.traces and time.monotonic() < deadline:
        steps, loops = generated(rng), loops_of(rng)
        expected = answer(steps, loops)
        seen.update(["traces", *sorts_of(steps, expected, loops)])
        for text in differences(steps, expected, loops):
            failures += 1
            print(f"{text}\n  {built(steps, loops).notation()}  loops: {loops}", flush=True)
    for name, count in seen.most_common():
        print(f"{count:>9,}  {name}")
    print(f"{failures} differences between {len(CHECKERS) - 1} checkers and the definitions")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
