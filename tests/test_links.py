"""Links in the documentation have existing targets, and so have references from the code to pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "tests" / "programs" / "README.md"]
CODE = [
    path
    for folder in ("src", "tests", "bench", "examples")
    for suffix in ("*.py", "*.pyx", "*.pyi", "*.pxd", "*.pxi", "*.h", "*.sh")
    for path in (ROOT / folder).rglob(suffix)
]

LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.M)


def anchors(page: Path) -> set[str]:
    """As code hosts make them of headings."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(page.read_text())}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_have_existing_targets(page: Path) -> None:
    for name, anchor in LINK.findall(page.read_text()):
        target = page.parent / name if name else page
        assert target.exists(), name
        assert not anchor or anchor in anchors(target), f"{name}#{anchor}"


def test_readme_links_the_pages_of_the_project() -> None:
    linked = {name for name, _ in LINK.findall((ROOT / "README.md").read_text())}
    assert linked >= {"CONTRIBUTING.md", "SECURITY.md", "docs/index.md"}


def test_index_links_every_page() -> None:
    docs = ROOT / "docs"
    linked = {name for name, _ in LINK.findall((docs / "index.md").read_text())}
    assert linked == {str(page.relative_to(docs)) for page in docs.rglob("*.md")} - {"index.md"}


def test_code_points_to_pages_that_exist() -> None:
    pointed = {(path, name) for path in CODE for name in re.findall(r"\bdocs/[\w/-]+\.md", path.read_text())}
    assert pointed
    assert [f"{path.name}: {name}" for path, name in sorted(pointed) if not (ROOT / name).exists()] == []
