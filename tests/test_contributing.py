"""CONTRIBUTING.md: its map matches the source tree, and its recipes name existing files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
SOURCE = ROOT / "src" / "atomsan"

# The .pyi beside each .pyx goes without saying.
MAPPED = {".py", ".pyx", ".pxd", ".h"}
# Rooms say what they are for in their first line.
PACKAGE = "__init__.py"


def mapped() -> set[str]:
    """The files that the map names, by their path below src/atomsan."""
    lines = PAGE[PAGE.index("    src/atomsan/") : PAGE.index("    tests/ ")].splitlines()[1:]
    rooms: list[tuple[int, str]] = []
    found: set[str] = set()
    for line in lines:
        indent = len(line) - len(line.lstrip())
        words = line.split("  ")
        first = next(word.strip() for word in words if word.strip())
        if indent > 30:
            continue
        while rooms and rooms[-1][0] >= indent:
            rooms.pop()
        above = "".join(name for _, name in rooms)
        names = first.split()
        if len(names) == 1 and names[0].endswith("/"):
            rooms.append((indent, names[0]))
            continue
        for name in names:
            if name.endswith("/"):
                parts = {str(path.relative_to(SOURCE)) for path in (SOURCE / above / name).glob("*.pxi")}
                assert parts, f"{name} has no parts"
                found |= parts
            else:
                found.add(above + name)
    return found


def test_map_lists_exactly_the_source_files() -> None:
    files = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*")
        if path.suffix in MAPPED | {".pxi"} and "__pycache__" not in path.parts
    }
    kept = {name for name in files if Path(name).name != PACKAGE or name in mapped()}
    assert sorted(mapped() - files) == []
    assert sorted(kept - mapped()) == []


RECIPES = dict(re.findall(r"^## (Add a [^\n]+)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))


def test_every_kind_of_addition_has_a_recipe() -> None:
    wanted = ("checker", "predictor", "report format", "built-in method", "scheduler strategy", "trace format")
    for thing in wanted:
        assert any(thing in title for title in RECIPES), thing


@pytest.mark.parametrize("title", RECIPES)
def test_files_named_in_recipes_exist(title: str) -> None:
    named = re.findall(r"`((?:src|tests|docs|bench)/[^`]*)`", RECIPES[title])
    assert named
    for name in named:
        path = ROOT / name
        # a file that the recipe creates belongs in an existing directory
        assert (path.parent if "NAME" in name else path).exists(), name
