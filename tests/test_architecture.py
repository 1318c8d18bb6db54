"""Imports follow the direction of the pipeline, and engines work on integers, without names, files or messages."""

import ast
import re
from pathlib import Path

import pytest

from atomsan.checkers.flattening import INNER, NOTHING
from atomsan.checkers.registry import CHECKERS
from atomsan.trace.events import Op

SOURCE = Path(__file__).parent.parent / "src" / "atomsan"

# Modules at the top that every room may import, and that import no room.
LEAVES = {"errors", "env", "types", ""}

# The arrows: the rooms that each room may import beside itself and the leaves, in the order of the pipeline.
ARROWS = {
    "source": set(),
    "scheduler": set(),
    "trace": set(),
    # the log knows no Python program: a second recorder could feed it
    "recorder/log": {"trace"},
    "recorder/python": {"source", "scheduler", "recorder/log"},
    # integers in, witnesses out: no names, files or messages
    "checkers/engines": {"trace", "checkers"},
    "checkers": {"source", "trace", "checkers/engines"},
    "predictors/engines": {"trace"},
    "predictors": {"trace", "checkers", "predictors/engines"},
    "findings": {"source", "trace", "checkers"},
    # reports know findings, and nothing of how they were found
    "reports": {"trace", "findings"},
    "flow": {"source", "trace", "recorder/log", "recorder/python", "checkers", "predictors", "findings"},
    "config": {"source", "trace", "checkers", "predictors", "reports"},
    "pytest_plugin": {"source", "recorder/python", "reports", "flow", "config"},
    "cli": {
        "source",
        "trace",
        "recorder/log",
        "recorder/python",
        "checkers",
        "predictors",
        "reports",
        "flow",
        "config",
    },
}

# A report can show itself (`print(report)`): its module calls the reporter, which takes it as data.
SHOWS_ITSELF = {"findings/report.py": {"reports"}}

MODULES = sorted(path for suffix in ("*.py", "*.pyx", "*.pxd", "*.pxi") for path in SOURCE.rglob(suffix))


def room(parts: tuple[str, ...]) -> str:
    """The room of a module given by its path below atomsan; nothing for a leaf."""
    inner = "/".join(parts[:2])
    first = parts[0] if parts else ""
    return inner if inner in ARROWS else "" if first in LEAVES or first.startswith("__") else first


def imports(path: Path) -> set[tuple[str, ...]]:
    """The AtomSan modules that a file imports anywhere in it, except those for type checkers only."""
    if path.suffix != ".py":
        lines = [line.split() for line in path.read_text().splitlines()]
        names = [words[1] for words in lines if words[:1] == ["from"] and words[2] in ("import", "cimport")]
        return {tuple(name.split(".")[1:]) for name in names if name.split(".")[0] == "atomsan"}
    tree = ast.parse(path.read_text())
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        found |= {tuple(name.split(".")[1:]) for name in names if name.split(".")[0] == "atomsan"}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_follow_the_arrows(path: Path) -> None:
    here = room(path.relative_to(SOURCE).with_suffix("").parts)
    # `python -m atomsan` is the command line
    allowed = {"", here} | ({"cli"} if path.name == "__main__.py" else ARROWS.get(here, set()))
    allowed |= SHOWS_ITSELF.get(path.relative_to(SOURCE).as_posix(), set())
    for target in imports(path):
        assert room(target) in allowed, f"{here or path.name} imports {'.'.join(target)}"


def test_arrows_point_to_earlier_rooms() -> None:
    rooms = list(ARROWS)
    for number, here in enumerate(rooms):
        later = ARROWS[here] - set(rooms[:number])
        # the registry makes checkers, and an engine has its table of patterns from beside it
        assert later == ({"checkers"} if here == "checkers/engines" else set()), here


def test_engines_import_only_access_patterns_from_checkers() -> None:
    for path in (path for path in MODULES if path.is_relative_to(SOURCE / "checkers" / "engines")):
        taken = {target for target in imports(path) if target[0] == "checkers" and target[1] != "engines"}
        assert taken <= {("checkers", "access_patterns")}, path.name
        taken = {target for target in imports(path) if target[0] == "trace"}
        assert all(name.startswith("_") for _, name in taken), path.name


def test_every_source_directory_has_arrows() -> None:
    directories = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name[0] not in "._"}
    assert directories == {name.partition("/")[0] for name in ARROWS} - {"pytest_plugin"}


@pytest.mark.parametrize("name", ["flow", "findings", "recorder", "reports", "trace", "cli"])
def test_checkers_are_chosen_by_capability_and_not_by_name(name: str) -> None:
    for path in (SOURCE / name).rglob("*.py"):
        texts = {node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)}
        # queues have a method `empty`, and the Davida tools a trace format
        others = {"empty"} | ({"davida"} if name == "trace" else set())
        assert not texts & (set(CHECKERS) - others), path.name


def test_every_compiled_module_has_a_type_stub() -> None:
    for path in SOURCE.rglob("*.pyx"):
        assert path.with_suffix(".pyi").exists(), path.name


def test_no_compiled_module_has_a_python_copy() -> None:
    for path in SOURCE.rglob("*.pyx"):
        assert not path.with_suffix(".py").exists(), path.name


def test_operation_numbers_are_defined_once() -> None:
    rows = re.findall(r"^    (\w+) = (\d+)$", (SOURCE / "trace" / "_ops.pxd").read_text(), re.M)
    assert {name: int(number) for name, number in rows} == {
        **{op.name: op.value for op in Op},
        "NOTHING": NOTHING,
        "INNER": INNER,
    }
    for path in [*SOURCE.rglob("*.pyx"), *SOURCE.rglob("*.px[di]")]:
        copies = re.findall(r"^    READ\b", path.read_text(), re.M)
        assert len(copies) == (path.name == "_ops.pxd"), path.name
