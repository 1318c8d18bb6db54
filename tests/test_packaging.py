"""One version in one place, with an entry in CHANGES.md; and a help line for each Makefile target."""

import re
from importlib.metadata import version
from pathlib import Path

import atomsan

ROOT = Path(__file__).parent.parent


def test_the_installed_version_is_the_one_of_the_sources() -> None:
    assert version("atomsan") == atomsan.__version__


def test_version_is_defined_once() -> None:
    quoted = re.compile(rf"""["']{re.escape(atomsan.__version__)}["']""")
    files = [*ROOT.glob("*.toml"), *ROOT.glob("*.py"), *(ROOT / "src").rglob("*.py")]
    assert [file.name for file in files if quoted.search(file.read_text())] == ["__init__.py"]


def test_changes_has_the_current_version() -> None:
    assert f"## {atomsan.__version__}" in (ROOT / "CHANGES.md").read_text()


def test_the_makefile_explains_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony
    for target in phony[1].split():
        assert re.search(rf"^{target}:.*## \w+", makefile, re.MULTILINE), target
