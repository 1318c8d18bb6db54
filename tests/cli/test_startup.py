"""Starting is quick because nothing is imported before it is needed."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from atomsan.cli.main import VERBS
from cli.running import command, environment

HEAVY = {"numpy", "pyarrow", "pydantic", "pygments", "markdown_it", "jinja2"}


def imported(*arguments: str) -> set[str]:
    """The modules that a command line has imported in the end, by the first part of their names."""
    script = (
        "import sys; from atomsan.cli.main import main; main(sys.argv[1:]);"
        "print(*{name.split('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, env=environment(), timeout=60
    )
    return set(ran.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["frobnicate"],
        *([verb, "--help"] for verb in VERBS),
        ["stats", "--frob"],
    ],
    ids=" ".join,
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    assert not imported(*arguments) & {*HEAVY, "rich", "tomllib", "json"}


def test_a_verb_imports_what_it_needs() -> None:
    Path("t.std").write_text("T1|r(x)|1\n")
    assert not imported("stats", "t.std") & (HEAVY - {"numpy"})
    assert "rich" not in imported("stats", "t.std", "--format", "json")
    assert "rich" not in imported("validate", "t.std")


def test_help_is_quick() -> None:
    """At most 0.25 s more than `python -c pass`: the best of several, since others use this machine too."""

    def best(arguments: list[str]) -> float:
        times = []
        for _ in range(5):
            start = time.perf_counter()
            subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL, env=environment())
            times.append(time.perf_counter() - start)
        return min(times)

    assert best(command("--help")) - best([sys.executable, "-c", "pass"]) < 0.25
