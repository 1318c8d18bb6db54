"""The programs without AtomSan: each exits cleanly, and each racy one declares its expected finding."""

from __future__ import annotations

import ast
import fnmatch
import re
import subprocess
import sys
from pathlib import Path

import pytest
from outcomes import BROKEN, ENVIRONMENT, HEADER, HERE, LEVELS, RACY, SAFE, headers_of, marked, name_of

EXAMPLES = HERE.parent.parent / "examples"
BANKS = [EXAMPLES / "bank.py", EXAMPLES / "bank_fixed.py"]

# Long enough that only a hanging program takes longer: speed is not tested here.
SECONDS = 30


def plain(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False, env=ENVIRONMENT)


@pytest.mark.parametrize("path", [*RACY, *SAFE, *BANKS], ids=name_of)
def test_program_exits_cleanly_with_output(path: Path) -> None:
    ran = plain(path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout
    if path in SAFE:
        assert BROKEN not in ran.stdout


def test_fixed_bank_ends_with_the_expected_balance() -> None:
    ran = plain(EXAMPLES / "bank_fixed.py")
    told = re.fullmatch(r"balance (\d+), should be (\d+)\n", ran.stdout)
    assert told is not None, ran.stdout
    assert told[1] == told[2]


def test_each_racy_program_has_a_safe_twin() -> None:
    assert len(RACY) >= 48
    twins = {path.stem for path in SAFE if not path.stem.startswith("wolf_")}
    assert {path.stem for path in RACY} == twins


def test_readme_names_every_program() -> None:
    families = (HERE / "README.md").read_text().partition("## Families")[2].partition("\n## ")[0]
    cells = [line.split("|")[1] for line in families.splitlines() if line.startswith("| `")]
    rules = re.findall(r"^\| ([a-z_]+) \|", families.partition("| RULE |")[2], re.MULTILINE)
    names = [name for cell in cells for name in re.findall(r"`([a-z_*]+)`", cell)]
    names += [f"{prefix}_{rule}" for rule in rules for prefix in ("near", "wolf")]
    shapes = {path.stem.partition("__")[0] for path in (*RACY, *SAFE)}
    assert [name for name in names if not fnmatch.filter(shapes, name)] == []
    assert sorted(shape for shape in shapes if not any(fnmatch.fnmatch(shape, name) for name in names)) == []


def test_at_least_14_safe_programs_are_prone_to_false_alarms() -> None:
    assert len([path for path in SAFE if path.stem.startswith("wolf_")]) >= 14


def test_spellings_of_a_program_are_numbered_from_2() -> None:
    names = {name_of(path) for path in (*RACY, *SAFE)}
    for name in names:
        shape, is_spelling, number = name.partition("__")
        before = shape if number == "2" else f"{shape}__{int(number or 0) - 1}"
        assert not is_spelling or before in names


@pytest.mark.parametrize("path", [*RACY, *SAFE], ids=name_of)
def test_program_name_is_no_standard_library_module(path: Path) -> None:
    """A script's own directory comes first in sys.path: a program `queue.py` would break its neighbours."""
    assert path.stem not in sys.stdlib_module_names


@pytest.mark.parametrize("path", RACY, ids=name_of)
def test_racy_program_declares_its_expected_finding(path: Path) -> None:
    text = path.read_text()
    headers = headers_of(text)
    assert headers["level"] in LEVELS[:2]
    functions = functions_of(ast.parse(text))
    assert headers["expect"] in functions
    if "within" in headers:
        assert headers["within"] in functions
        assert headers["within"] != headers["expect"]
    first, last = functions[headers["expect"]]
    assert [line for line in marked(text) if first <= line <= last], "no marked line in the expected region"


@pytest.mark.parametrize("path", SAFE, ids=name_of)
def test_safe_program_declares_no_bug(path: Path) -> None:
    text = path.read_text()
    assert not HEADER.search(text)
    assert not marked(text)


def functions_of(tree: ast.AST, prefix: str = "") -> dict[str, tuple[int, int]]:
    """The functions by qualified name, with their first and last line; also those in texts that are compiled."""
    found = {}
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found[prefix + node.name] = (node.lineno, node.end_lineno or node.lineno)
            found |= functions_of(node, f"{prefix}{node.name}.<locals>.")
        elif isinstance(node, ast.ClassDef):
            found |= functions_of(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "\ndef " in node.value:
            found |= functions_of(ast.parse("\n" * (node.lineno - 1) + node.value))
        else:
            found |= functions_of(node, prefix)
    return found
