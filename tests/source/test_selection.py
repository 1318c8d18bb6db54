"""Selection of files to instrument, with the reason of each decision."""

import os
import sysconfig
from pathlib import Path

import pytest

from atomsan.source.selection import Selection, project_of


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "shop" / "pkg").mkdir(parents=True)
    (tmp_path / "shop" / "pyproject.toml").touch()
    (tmp_path / "shop" / "pkg" / "core.py").touch()
    return tmp_path / "shop"


def test_code_in_the_project_is_selected(project: Path) -> None:
    selection = Selection(project=str(project))
    assert selection.decide("pkg.core", str(project / "pkg" / "core.py")) == (True, "the program's own code")


def test_code_outside_the_project_is_not_selected(project: Path, tmp_path: Path) -> None:
    decision = Selection(project=str(project)).decide("other", str(tmp_path / "other.py"))
    assert not decision.selected
    assert "outside of the project" in decision.reason


def test_standard_library_and_installed_packages_are_not_selected(project: Path) -> None:
    paths = sysconfig.get_paths()
    for project_path in (str(project), None, os.path.sep):
        selection = Selection(project=project_path)
        assert selection.decide("queue", os.path.join(paths["stdlib"], "queue.py")) == (False, "the standard library")
        installed = os.path.join(paths["purelib"], "requests", "api.py")
        assert selection.decide("requests.api", installed) == (False, "an installed package")


def test_virtual_environment_inside_the_project_is_not_selected(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = project / ".venv" / "lib" / "site-packages"
    monkeypatch.syspath_prepend(str(packages))
    decision = Selection(project=str(project)).decide("requests", str(packages / "requests.py"))
    assert decision == (False, "an installed package")


@pytest.mark.parametrize(
    ("include", "omit", "module", "selected", "reason"),
    [
        (["queue"], [], "queue", True, "--include queue"),
        (["requests"], [], "requests.sessions", True, "--include requests"),
        (["req*"], [], "requests", True, "--include req*"),
        (["requests.api"], [], "requests.sessions", False, "no --include names it"),
        (["requests"], ["requests.ses*"], "requests.sessions", False, "--omit requests.ses*"),
        ([], ["requests"], "requests", False, "--omit requests"),
        (["*"], [], "atomsan.trace", False, "AtomSan itself"),
    ],
)
def test_include_and_omit_globs_decide(
    include: list[str], omit: list[str], module: str, selected: bool, reason: str
) -> None:
    file = os.path.join(sysconfig.get_paths()["purelib"], *module.split(".")) + ".py"
    assert Selection(include, omit).decide(module, file) == (selected, reason)


@pytest.mark.parametrize("glob", ["pkg/", "pkg/core.py", "pkg/*.py", "*/core.py"])
def test_globs_match_paths(glob: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    assert Selection([glob]).decide("pkg.core", str(project / "pkg" / "core.py")).selected
    assert not Selection([glob]).decide("pkg2.other", str(project / "pkg2" / "other.py")).selected


def test_module_without_a_file_is_not_selected(project: Path) -> None:
    assert Selection(["*"]).decide("itertools", None) == (False, "it has no source file")


def test_project_is_the_nearest_marked_directory(project: Path, tmp_path: Path) -> None:
    assert project_of(str(project / "pkg" / "core.py")) == str(project)
    alone = tmp_path / "alone"
    alone.mkdir()
    assert project_of(str(alone / "script.py")) == str(alone)


def test_home_directory_is_not_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".git").mkdir()
    (tmp_path / "scripts").mkdir()
    assert project_of(str(tmp_path / "scripts" / "a.py")) == str(tmp_path / "scripts")
