"""The fuzz target: `python tests/fuzz/target.py FORMAT [libFuzzer options] [corpus...]`. `run.py` calls it."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[1]))

with atheris.instrument_imports(include=["atomsan"]):
    from fuzz.properties import check_input


def main() -> None:
    format = sys.argv.pop(1)
    directory = Path(tempfile.mkdtemp())  # `run.py` removes it: libFuzzer leaves no time for that
    atheris.Setup(sys.argv, lambda data: check_input(format, data, directory))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
