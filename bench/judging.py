"""Speed of judging: a recorded program with more than a thousand different violations, checked and judged.

    python bench/run.py --only judging

The figure is of the whole check, hints included, for a thousand violations.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from harness import Row

import atomsan

LIMIT = 2.0
CLASSES = 80

CLASS = """
class Counter{number}:
    def __init__(self):
        self.lock = threading.Lock()
        self.value, self.seen, self.table = 0, 0, {{}}

    def get(self):
        with self.lock:
            return self.value

    def set(self, value):
        with self.lock:
            self.value = value

    def bump(self):
        value = self.get()
        time.sleep(0.0002)
        self.set(value + 1)

    def fill(self, key):
        if key not in self.table:
            time.sleep(0.0002)
            self.table[key] = self.get()
        return self.table[key]

    def look(self):
        self.seen += 1
        time.sleep(0.0002)
        return self.seen, self.value
"""

PROGRAM = """
import threading
import time
{classes}
counters = [{made}]

def work():
    for counter in counters:
        counter.bump()
        counter.fill(1)
        counter.look()

threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def judging(directory: Path, repeat: int) -> Iterator[Row]:
    classes = "".join(CLASS.format(number=number) for number in range(CLASSES))
    program = directory / "violations.py"
    program.write_text(
        PROGRAM.format(classes=classes, made=", ".join(f"Counter{number}()" for number in range(CLASSES)))
    )
    kept = directory / "violations.atomtrace"
    atomsan.run(program, keep=kept)
    spent, judged = [], 0
    for _ in range(repeat):
        start = time.perf_counter()
        report = atomsan.check(kept)
        spent.append(time.perf_counter() - start)
        judged = len(report.findings) + len(report.suspects) + len(report.notes)
    assert judged > 1000, f"only {judged} violations to judge"
    detail = f"{judged:,} in {min(spent):.2f} s"
    yield Row(
        "check of a recorded program, for 1,000 different violations",
        min(spent) / judged * 1000,
        "s",
        LIMIT,
        detail=detail,
    )
