"""`force` replaces bundles, and no directory in which anything else is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import atomsan
from atomsan.errors import OutputError
from atomsan.trace.arrow import stored_name
from atomsan.trace.bundle_files import TABLES, remove_bundle, why_no_bundle
from atomsan.trace.output_paths import RecordingOutput
from atomsan.trace.symbols import SYMBOL_KINDS


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    atomsan.parse("T1:r(x) T2:w(x)").save(tmp_path / "t.atomtrace")
    return tmp_path / "t.atomtrace"


def test_every_table_of_a_trace_is_a_file_of_a_bundle() -> None:
    assert [f"{stored_name(kind)}.arrows" for kind in SYMBOL_KINDS] == list(TABLES)


def test_bundle_is_recognised_and_removed(bundle: Path) -> None:
    assert why_no_bundle(bundle) is None
    remove_bundle(bundle)
    assert not bundle.exists()


def test_bundle_of_a_recording_that_was_killed_is_recognised(bundle: Path) -> None:
    for name in ("events.arrows", "sites.arrows"):
        (bundle / name).unlink()
    (bundle / ".meta.json.partial").write_text("half of it")
    (bundle / "insertions.arrows").touch()
    assert why_no_bundle(bundle) is None
    remove_bundle(bundle)
    assert not bundle.exists()


STRANGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a file of the user": (lambda b: (b / "notes.txt").write_text("mine"), "it has notes.txt"),
    "a hidden file": (lambda b: (b / ".git").write_text("mine"), "it has .git"),
    "a directory": (lambda b: (b / "photos").mkdir(), "it has photos"),
    "a directory in place of a file": (lambda b: [(b / "sites.arrows").unlink(), (b / "sites.arrows").mkdir()],
                                       "its sites.arrows is no file"),
    "a link in place of a file": (lambda b: [(b / "sites.arrows").unlink(), (b / "sites.arrows").symlink_to("/etc")],
                                  "its sites.arrows is no file"),
    "no metadata": (lambda b: (b / "meta.json").unlink(), "it has no meta.json"),
    "metadata of another tool": (lambda b: (b / "meta.json").write_text('{"name": "album", "format": "x"}'),
                                 "its meta.json is not one of ours"),
    "metadata that is empty": (lambda b: (b / "meta.json").write_text(""), "its meta.json is not one of ours"),
}  # fmt: skip


@pytest.mark.parametrize("what", STRANGE)
def test_directory_with_anything_else_is_refused_and_left_alone(what: str, bundle: Path) -> None:
    change, words = STRANGE[what]
    change(bundle)
    before = sorted(os.listdir(bundle))
    for replace in (
        lambda: RecordingOutput(bundle, force=True),
        lambda: atomsan.parse("T1:r(x)").save(bundle, force=True),
    ):
        with pytest.raises(OutputError) as caught:
            replace()
        assert f"t.atomtrace: a directory that is not a trace bundle ({words}); it will not be replaced" in str(
            caught.value
        )
    assert sorted(os.listdir(bundle)) == before
    assert os.listdir(bundle.parent) == ["t.atomtrace"]


def test_directory_of_a_project_is_refused(tmp_path: Path) -> None:
    project = tmp_path / "site.atomtrace"
    project.mkdir()
    (project / "meta.json").write_text('{"title": "My thesis"}')
    with pytest.raises(OutputError, match=r"its meta\.json is not one of ours"):
        RecordingOutput(project, force=True)
    assert os.listdir(project) == ["meta.json"]


def test_file_that_comes_after_the_look_is_not_removed(bundle: Path) -> None:
    assert why_no_bundle(bundle) is None
    (bundle / "late.txt").touch()
    before = sorted(os.listdir(bundle))
    with pytest.raises(OSError, match=r"it has late\.txt"):
        remove_bundle(bundle)
    assert sorted(os.listdir(bundle)) == before


def test_link_to_a_bundle_is_replaced_and_the_bundle_kept(bundle: Path) -> None:
    link = bundle.parent / "link.atomtrace"
    link.symlink_to(bundle)
    atomsan.parse("T9:r(y)").save(link, force=True)
    assert atomsan.load(link).notation() == "T9:r(y)"
    assert atomsan.load(bundle).notation() == "T1:r(x) T2:w(x)"


def test_pipe_is_not_replaced_by_a_bundle(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "t.atomtrace")
    with pytest.raises(OutputError, match="a device or a pipe, which is not replaced"):
        RecordingOutput(tmp_path / "t.atomtrace", force=True)
    assert [one.name for one in tmp_path.iterdir()] == ["t.atomtrace"]
