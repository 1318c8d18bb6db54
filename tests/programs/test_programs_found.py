"""Findings of `atomsan run --noise`: every bug with one of a few seeds, and nothing in safe programs with any.

Found means: a finding in the region that the program expects, whose witness touches a line that is marked `# bug`.
`WAITING.txt` lists the programs that AtomSan cannot judge yet. One that it can judge fails here until it is taken off
the list.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from test_programs_run import ENVIRONMENT, HEADER, RACY, SAFE, marked, name_of

# `make test-long` asks for more.
SEEDS = int(os.environ.get("ATOMSAN_SEEDS", "3"))
SECONDS = 120

WAITING = {
    name: reason.strip()
    for name, _, reason in (
        line.partition(":")
        for line in (Path(__file__).parent / "WAITING.txt").read_text().splitlines()
        if line and not line.startswith("#")
    )
}

Outcome = dict[int, list[dict[str, Any]]]
"""The findings by seed."""


def findings(path: Path, seed: int, directory: Path) -> list[dict[str, Any]]:
    report = directory / f"{path.parent.name}-{path.stem}-{seed}.json"
    command = [sys.executable, "-m", "atomsan", "run", "--quiet", "--noise", "--seed", str(seed), "-o", str(report)]
    ran = subprocess.run(
        [*command, str(path)], capture_output=True, text=True, timeout=SECONDS, check=False, env=ENVIRONMENT
    )
    assert ran.returncode in (0, 1), ran.stderr
    found: list[dict[str, Any]] = json.loads(report.read_text())["findings"]
    assert ran.returncode == bool(found)
    return found


def is_expected(finding: dict[str, Any], text: str) -> bool:
    expected = dict(HEADER.findall(text))["expect"]
    lines = {step["site"]["line"] for step in finding["witness"] if step["site"]}
    function = finding["region"].partition(":")[2].partition("/")[0]
    return function == expected and not lines.isdisjoint(marked(text))


def tried(path: Path, directory: Path) -> Outcome:
    """Run a racy program until its bug is found, a safe one until it has any finding."""
    outcome: Outcome = {}
    text = path.read_text()
    for seed in range(SEEDS):
        outcome[seed] = findings(path, seed, directory)
        if any(is_expected(finding, text) for finding in outcome[seed]) if path in RACY else outcome[seed]:
            break
    return outcome


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Path, Future[Outcome]]]:
    directory = tmp_path_factory.mktemp("reports")
    with ThreadPoolExecutor(max_workers=2) as pool:
        yield {path: pool.submit(tried, path, directory) for path in (*RACY, *SAFE)}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("path", RACY, ids=name_of)
def test_bug_of_a_racy_program_is_found(path: Path, outcomes: dict[Path, Future[Outcome]]) -> None:
    text = path.read_text()
    outcome = outcomes[path].result()
    is_found = any(is_expected(finding, text) for found in outcome.values() for finding in found)
    others = sorted({finding["region"] for found in outcome.values() for finding in found})
    check(path, is_found, f"not found in seeds 0 to {len(outcome) - 1}; found were {others}")


@pytest.mark.parametrize("path", SAFE, ids=name_of)
def test_safe_program_has_no_finding(path: Path, outcomes: dict[Path, Future[Outcome]]) -> None:
    outcome = outcomes[path].result()
    seed, found = max(outcome.items())
    check(path, not found, f"seed {seed}: " + "\n".join(line for one in found for line in one["explanation"]))


def check(path: Path, is_well: bool, otherwise: str) -> None:
    name = name_of(path)
    if name not in WAITING:
        assert is_well, otherwise
    elif is_well:
        pytest.fail(f"{name} needs no more waiting: take it off WAITING.txt")
    else:
        pytest.xfail(WAITING[name])


def test_waiting_programs_exist_and_have_a_reason() -> None:
    assert WAITING.keys() <= {name_of(path) for path in (*RACY, *SAFE)}
    assert all(WAITING.values())
