"""Start-up is fast: heavy modules are imported when they are needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from atomsan.cli.main import VERBS
from cli.running import environment

HEAVY = {"numpy", "pyarrow", "pydantic", "pygments", "markdown_it", "jinja2"}


def imported(*arguments: str) -> set[str]:
    """The top-level packages that a command line has imported when it ends."""
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
    assert not imported("stats", "t.std") & ({*HEAVY, "typer"} - {"numpy"})
    assert "rich" not in imported("stats", "t.std", "--format", "json")
    assert "rich" not in imported("validate", "t.std")
