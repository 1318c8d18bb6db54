"""Imports go along the flow only, and engines know integers and nothing of strings, files or people."""

import ast
import re
from pathlib import Path

import pytest

from atomsan.checkers.flattening import INNER, NOTHING
from atomsan.trace.events import Op

SOURCE = Path(__file__).parent.parent / "src" / "atomsan"

# The rooms in the order of the flow: a room may import itself and those before it.
ROOMS = [
    *("leaves", "source", "trace", "scheduler", "recorder", "checkers", "predict", "findings", "reports"),
    *("flow", "config", "pytest_plugin", "cli"),
]
LEAVES = {"errors", "env", "types", ""}

FORBIDDEN = {
    # reports know findings and nothing of how they were found
    "reports": {"checkers", "predict", "recorder", "source"},
    "checkers": {"recorder"},
    # a strategy knows integers and time
    "scheduler": {"source", "trace"},
}

MODULES = sorted(path for suffix in ("*.py", "*.pyx", "*.pxd", "*.pxi") for path in SOURCE.rglob(suffix))


def room(parts: tuple[str, ...]) -> str:
    """The room of a module given by its path below atomsan."""
    first = parts[0] if parts else ""
    return "leaves" if first in LEAVES or first.startswith("__") else first


def imports(path: Path) -> set[tuple[str, ...]]:
    """The modules of ours that a file imports, wherever in it; those for type checkers only do not count."""
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
def test_imports_follow_the_flow(path: Path) -> None:
    here = room(path.relative_to(SOURCE).with_suffix("").parts)
    for target in imports(path):
        there = room(target)
        if here == "leaves":
            assert there == "leaves" or path.name == "__main__.py", f"{path.name} imports {'.'.join(target)}"
        else:
            assert ROOMS.index(there) <= ROOMS.index(here), f"{here} imports {there}"
            assert there not in FORBIDDEN.get(here, ()), f"{here} imports {there}"


def test_the_log_knows_no_python_program() -> None:
    for path in (path for path in MODULES if path.is_relative_to(SOURCE / "recorder" / "log")):
        known = {target for target in imports(path) if target[0] == "source" or target[:2] == ("recorder", "python")}
        assert not known, f"{path.name} imports {known}"


def test_the_rooms_are_those_of_the_design() -> None:
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms <= set(ROOMS) - {"leaves"}


def test_every_compiled_module_has_its_types_beside_it() -> None:
    for path in SOURCE.rglob("*.pyx"):
        assert path.with_suffix(".pyi").exists(), path.name


def test_no_second_copy_of_a_compiled_module_in_python() -> None:
    for path in SOURCE.rglob("*.pyx"):
        assert not path.with_suffix(".py").exists(), path.name


def test_the_numbers_of_operations_stand_in_one_place() -> None:
    rows = re.findall(r"^    (\w+) = (\d+)$", (SOURCE / "trace" / "_ops.pxd").read_text(), re.M)
    assert {name: int(number) for name, number in rows} == {
        **{op.name: op.value for op in Op},
        "NOTHING": NOTHING,
        "INNER": INNER,
    }
    for path in [*SOURCE.rglob("*.pyx"), *SOURCE.rglob("*.px[di]")]:
        copies = re.findall(r"^    READ\b", path.read_text(), re.M)
        assert len(copies) == (path.name == "_ops.pxd"), path.name
