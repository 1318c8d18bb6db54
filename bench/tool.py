"""Start-up time of the tool, and speed of the generator.

python bench/run.py --only start-up --only generator
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from harness import Row, atomsan, best, command

from atomsan.trace.generator import GENERATOR_KINDS, generate, options_for


def start_up(directory: Path, repeat: int) -> Iterator[Row]:
    small = directory / "small.std"
    small.write_text("T1|r(x)|1\n")
    nothing, help_text, version, check = best(
        repeat,
        command(sys.executable, "-c", "pass"),
        atomsan("--help"),
        atomsan("--version"),
        atomsan("check", small),
    )
    yield Row("atomsan --help, more than python -c pass", help_text - nothing, "s", 0.25)
    yield Row("atomsan --version, more than python -c pass", version - nothing, "s")
    yield Row("atomsan check of one event, more than python -c pass", check - nothing, "s", 0.25)


def generator(directory: Path, repeat: int, events: int) -> Iterator[Row]:
    for kind in GENERATOR_KINDS:

        def consume(kind: str = kind) -> None:
            for _ in generate(options_for(kind, events=events)).batches():
                pass

        (time,) = best(repeat, consume)
        yield Row(f"generate {kind}", events / time / 1e6, "Mev/s", 5, at_least=True)
    text = directory / "generated.std"
    words = ("generate", "--events", str(events), "--force", "-o")
    start, to_text = best(repeat, atomsan("--help"), atomsan(*words, text))
    yield Row("atomsan generate -o T.std", events / (to_text - start) / 1e6, "Mev/s", 5, at_least=True)
    text.unlink()
