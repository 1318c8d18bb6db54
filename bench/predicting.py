"""Speed of prediction, compared with the AeroDrome checker on the same trace: time, growth and memory.

    python bench/run.py --only predicting

The traces are serial runs of many transactions of a few forms, by 8 threads, on 10,000 objects with a lock each. A
quarter of the forms takes two objects. The objects are of 25 classes; transactions of one class meet. In the one kind
of run all is under locks, so there is nothing to find: the time is that of the proof. In the other one, one of the
eight forms of each class is torn: it reads in one lock block and writes in the next, as a lost update does.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from harness import MILLION, Row, best
from numpy.typing import NDArray

import atomsan
from atomsan.trace.events import NO_SITE, Batch, Op
from atomsan.trace.meta import TraceMeta
from atomsan.trace.symbols import Symbols
from atomsan.trace.trace import Trace

BAR, GROWTH_BAR, MEMORY_BAR = 20, 11, 1000

Template = list[tuple[int, int, int]]
"""The steps of a transaction: operation, which of its objects, and which field."""


@dataclass(frozen=True)
class Load:
    """The proportions of a serial run."""

    forms: int = 200
    classes: int = 25
    objects: int = 10_000
    threads: int = 8
    fields: int = 3
    accesses: int = 6
    nesting: int = 0
    """How many objects a transaction locks, each inside the one before; 0: one, and two in every fourth form."""
    torn: int = 0
    """One form of so many of each class is torn; 0: none."""
    is_short_lived: bool = False
    """Whether threads come one after the other, each forked by one that does nothing else."""


def _templates(load: Load, rng: random.Random) -> list[Template]:
    return [_template(load, rng, number, number // load.classes) for number in range(load.forms)]


def _template(load: Load, rng: random.Random, number: int, place: int) -> Template:
    """The form of a number, which has a place in its class."""
    locked = load.nesting or (2 if place % 4 == 0 else 1)
    takes: Template = [(Op.ACQUIRE, which, 0) for which in range(locked)]
    gives: Template = [(Op.RELEASE, which, 0) for which in reversed(range(locked))]
    if load.torn and place % load.torn == load.torn - 1:
        field = rng.randrange(load.fields)
        inside = [*takes, (Op.READ, 0, field), *gives, *takes, (Op.WRITE, 0, field), *gives]
    else:
        count = load.accesses - 2 * (locked == 2)
        inside = [*takes, *_accesses(rng, count, locked, load.fields), *gives]
    return [(Op.BEGIN, 0, number), *inside, (Op.END, 0, number)]


def _accesses(rng: random.Random, count: int, objects: int, fields: int) -> Iterator[tuple[int, int, int]]:
    for _ in range(count):
        yield rng.choice([Op.READ, Op.WRITE]), rng.randrange(objects), rng.randrange(fields)


def serial_run(load: Load, events: int) -> Trace:
    """About so many events."""
    templates, rng = _templates(load, random.Random(15)), np.random.default_rng(15)
    sizes = np.array([len(template) for template in templates])
    steps = np.zeros((len(templates), sizes.max(), 3), np.int64)
    for number, template in enumerate(templates):
        steps[number, : len(template)] = template
    count = int(events / sizes.mean())
    form, thread = rng.integers(load.forms, size=count), rng.integers(load.threads, size=count)
    if load.is_short_lived:
        thread.sort()
    objects = _objects(load, rng, form)
    row = np.repeat(np.arange(count), sizes[form])
    at = np.arange(len(row)) - np.repeat(np.cumsum(sizes[form]) - sizes[form], sizes[form])
    op, which, field = steps[form[row], at].T
    of = objects[row, which]
    target = np.where(op <= Op.WRITE, of * load.fields + field, np.where(op == Op.BEGIN, field, of))
    target = np.where(op == Op.END, field, target)
    site = (np.cumsum(sizes) - sizes)[form[row]] + at
    columns = [thread[row], op, target, site]
    if load.is_short_lived:
        columns = _forked(columns, load.threads)
    threads, ops, targets, sites = columns
    batch = Batch.frozen(
        0, threads.astype(np.uint32), ops.astype(np.uint8), targets.astype(np.uint32), sites.astype(np.uint32)
    )
    return Trace(batch, _symbols(load, templates), TraceMeta("a serial run", "notation"))


def _objects(load: Load, rng: np.random.Generator, form: NDArray[Any]) -> NDArray[Any]:
    """By transaction: its objects, all of its class, in the order in which everybody locks them."""
    locked, of_class = max(2, load.nesting), load.objects // load.classes
    chosen = np.sort(rng.integers(of_class - locked, size=(len(form), locked)), axis=1) + np.arange(locked)
    found: NDArray[Any] = chosen + (form % load.classes * of_class)[:, None]
    return found


def _forked(columns: list[NDArray[Any]], threads: int) -> list[NDArray[Any]]:
    """With a fork before the first event of each thread."""
    before = np.searchsorted(columns[0], np.arange(threads))
    forks = (threads, int(Op.FORK), np.arange(threads), NO_SITE)
    return [np.insert(column, before, fork) for column, fork in zip(columns, forks, strict=True)]


def _symbols(load: Load, templates: list[Template]) -> Symbols:
    symbols = Symbols()
    for thread in range(load.threads + load.is_short_lived):
        symbols.threads.intern(f"T{thread}")
    of_class = load.objects // load.classes
    for number in range(load.objects):
        symbols.locks.intern(f"lock{number}")
        fields: dict[str, Any] = {"class": f"C{number // of_class}", "object": f"C{number // of_class} #{number}"}
        for field in range(load.fields):
            symbols.locations.intern(f"o{number}.f{field}", **fields, field=f"f{field}")
    for number, template in enumerate(templates):
        symbols.regions.intern(f"m{number}")
        for at in range(len(template)):
            symbols.sites.intern(f"app.py:{number + 1}:{at}")
    return symbols


SAFE = Load()
TORN = Load(torn=8)

# Each with the events of the bar, and other proportions.
OTHERS: dict[str, Load] = {
    "100 objects of one class": Load(objects=100, classes=1),
    "1M objects": replace(TORN, objects=MILLION),
    "20,000 forms": Load(forms=20_000, classes=2500, objects=25_000),
    "1000 short-lived threads": replace(TORN, threads=1000, is_short_lived=True),
    "10,000 accesses a transaction": Load(accesses=10_000, objects=100, classes=1),
    "30 nested locks": Load(nesting=30, accesses=30),
}


def predicting(repeat: int, events: int) -> Iterator[Row]:
    """A million events against AeroDrome; ten times as many; other proportions; memory."""
    for name, load in (("nothing to find", SAFE), ("an eighth of the forms torn", TORN)):
        small, large = (serial_run(load, count) for count in (events // 10, events))
        yield from _against_aerodrome(f"predict, {name}", small, repeat)
        shorter, longer = best(
            2, lambda small=small: atomsan.predict(small), lambda large=large: atomsan.predict(large)
        )
        detail = f"{shorter:.3f} s, {longer:.3f} s"
        yield Row(f"predict, {name}, ten times the events", longer / shorter, "x the time", GROWTH_BAR, detail=detail)
    for name, load in OTHERS.items():
        yield from _against_aerodrome(f"predict, {name}", serial_run(load, events // 10), min(repeat, 2))
    for name, load in (("nothing to find", SAFE), ("an eighth of the forms torn", TORN)):
        before, after = _memory(load, events // 10)
        detail = f"{after:.0f} MB, of which {before:.0f} MB before it"
        yield Row(f"predict, {name}, peak memory", after, "MB", MEMORY_BAR, detail=detail)


def _against_aerodrome(name: str, trace: Trace, repeat: int) -> Iterator[Row]:
    report = atomsan.predict(trace)  # and all modules are loaded
    checked, predicted = best(repeat, lambda: atomsan.check(trace, "aerodrome"), lambda: atomsan.predict(trace))
    detail = f"{predicted:.3f} s, aerodrome {checked:.3f} s, {len(report.findings)} findings"
    yield Row(f"{name} / aerodrome", predicted / checked, "x", BAR, detail=detail)


# A process starts with the peak of its parent, which counts as its own: so a small parent starts it.
_PARENT = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"


def _memory(load: Load, events: int) -> tuple[float, float]:
    """The peak of a process that predicts, in MB: before, and after."""
    options = json.dumps([vars(load), events])
    words = [sys.executable, "-S", "-c", _PARENT, sys.executable, Path(__file__), options]
    run = subprocess.run(words, check=True, capture_output=True, text=True)
    before, after = json.loads(run.stdout)
    return before, after


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    proportions, length = json.loads(sys.argv[1])
    run = serial_run(Load(**proportions), length)
    peak = _peak()
    atomsan.predict(run)
    print(json.dumps([peak, _peak()]))
