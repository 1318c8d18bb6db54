"""Runs a program with `atomsan run --noise` and tells what came out: its findings and suspects, and what it printed."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warm_commands import WarmCommands

HERE = Path(__file__).parent
RACY = sorted((HERE / "racy").glob("*.py"))
SAFE = sorted((HERE / "safe").glob("*.py"))

# Long enough that only a hanging program takes longer: speed is not tested here.
SECONDS = 120

# A copy, for processes that are started by threads: pytest writes the name of each test into the environment meanwhile,
# and a process that is given that very array then may fail to start ("Bad address").
ENVIRONMENT = dict(os.environ)

HEADER = re.compile(r"^# (expect|within|level): (\S+)", re.MULTILINE)
_OF_THREAD = threading.local()

BROKEN = "broken:"
"""What a program prints when it sees that its own invariant does not hold."""

LEVELS = ("finding", "suspect", "note")
"""The strongest first."""


@dataclass(frozen=True)
class Outcome:
    """One run of a program."""

    by_level: dict[str, list[dict[str, Any]]]
    is_broken: bool

    def levels(self, text: str) -> set[str]:
        """The levels at which the bug that a racy program declares was seen."""
        return {level for level, found in self.by_level.items() for one in found if is_expected(one, text)}


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def reasons(list_name: str) -> dict[str, str]:
    """The programs of a list, each with its reason."""
    lines = (HERE / list_name).read_text().splitlines()
    rows = (line.partition(":") for line in lines if line and not line.startswith("#"))
    return {name: reason.strip() for name, _, reason in rows}


def headers_of(text: str) -> dict[str, str]:
    """What a racy program declares: the function, the outermost region around it, and the level."""
    return {"level": "finding"} | dict(HEADER.findall(text))


def marked(text: str) -> list[int]:
    """The lines that take part in the bug."""
    return [number for number, line in enumerate(text.splitlines(), start=1) if line.endswith("  # bug")]


def outcome_of(path: Path, seed: int | None, directory: Path, *, is_shuffled: bool = False) -> Outcome:
    """Run a program once, with noise, or plainly if there is no seed; the report goes into the directory.

    `is_shuffled`: without noise, but its threads begin in an order that the seed draws.
    """
    report = directory / f"{path.parent.name}-{path.stem}-{seed}.json"
    options = [] if seed is None else ["--noise", "--seed", str(seed)]
    program = [str(path)]
    if is_shuffled:
        options, program = ["--omit", "shuffled_starts"], [str(HERE / "shuffled_starts.py"), str(seed or 0), str(path)]
    output, errors = report.with_suffix(".output"), report.with_suffix(".errors")
    code = commands().run(
        ["run", "--quiet", *options, "-o", str(report), *program], output=output, errors=errors, seconds=SECONDS
    )
    assert code in (0, 1), f"{path}, seed {seed}: exit code {code}: {errors.read_text()}"
    told = json.loads(report.read_text())
    by_level = {level: told.get(f"{level}s", []) for level in LEVELS}
    assert code == bool(by_level["finding"]), f"{path}, seed {seed}: exit code {code}"
    return Outcome(by_level, BROKEN in output.read_text())


def commands() -> WarmCommands:
    """Of this thread: `measure.py` runs programs in several."""
    if not hasattr(_OF_THREAD, "commands"):
        _OF_THREAD.commands = WarmCommands(ENVIRONMENT)
    found: WarmCommands = _OF_THREAD.commands
    return found


def is_expected(finding: dict[str, Any], text: str) -> bool:
    """Whether this is the bug that a racy program declares."""
    lines = {step["site"]["line"] for step in finding["witness"] if step["site"]}
    function = finding["region"].partition(":")[2].partition("/")[0]
    return function == headers_of(text)["expect"] and not lines.isdisjoint(marked(text))


def strongest(levels: Iterable[str]) -> str | None:
    """The first of finding, suspect, note that is among these; None if there is none."""
    found = set(levels)
    return next((level for level in LEVELS if level in found), None)
