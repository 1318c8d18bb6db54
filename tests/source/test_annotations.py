"""Annotations of the user's code: without effect when nobody records, and in the trace when somebody does."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import atomsan

PROGRAM = """
import atomsan
from atomsan import atomic as one_step

box = {"a": 0, "b": 0}

@atomsan.atomic
def decorated():
    box["a"] += 1

@one_step
def renamed():
    box["a"] += 1

@atomsan.not_atomic
def loose():
    box["a"] += 1
    with atomsan.atomic("block"):
        box["b"] += 1
        with atomsan.atomic("block"):
            box["b"] += 1

def plain():
    box["a"] += 1

def all_of_them():
    for function in (decorated, renamed, loose, plain):
        function()
"""


@pytest.fixture
def module_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("ATOMSAN_CACHE", "")
    yield tmp_path
    sys.modules.pop("annotated_program", None)


def test_annotations_set_the_origin_of_regions(module_directory: Path) -> None:
    (module_directory / "annotated_program.py").write_text(PROGRAM)
    with atomsan.recording(include=["annotated_program"]) as tape:
        importlib.import_module("annotated_program").all_of_them()
    regions = tape.symbols.regions
    origins = {regions[number]: regions.get(number, "origin") for number in range(len(regions))}
    expected = {"decorated": "annotated", "renamed": "annotated", "loose": "outer", "plain": "function"}
    assert {name: origins[f"annotated_program:{name}"] for name in expected} == expected
    assert origins["block"] == "annotated"


def test_atomic_block_can_be_entered_inside_itself(module_directory: Path) -> None:
    (module_directory / "annotated_program.py").write_text(PROGRAM)
    with atomsan.recording(include=["annotated_program"]) as tape:
        importlib.import_module("annotated_program").loose()
    trace = atomsan.Trace.from_source(tape.reopened())
    blocks = [event.op.word for event in trace.events() if event.target == "block"]
    assert blocks == ["begin", "begin", "end", "end"]


def test_annotations_change_nothing_without_a_recorder() -> None:
    def function() -> int:
        return 3

    assert atomsan.atomic(function) is function
    assert atomsan.not_atomic(function) is function
    with atomsan.atomic("block") as nothing:
        assert nothing is None


def test_exception_passes_through_an_atomic_block() -> None:
    with pytest.raises(ZeroDivisionError), atomsan.atomic("block"):
        raise ZeroDivisionError


def test_atomic_rejects_a_number() -> None:
    with pytest.raises(TypeError, match="not int"):
        atomsan.atomic(3)  # type: ignore[call-overload]


def test_unit_for_and_atomic_set_return_what_they_decorate() -> None:
    def function(account: object) -> object:
        return account

    class Account:
        pass

    assert atomsan.unit_for("account")(function) is function
    assert atomsan.atomic_set("x", "y", name="money")(Account) is Account
    for wrong in (atomsan.unit_for, atomsan.atomic_set):
        with pytest.raises(TypeError, match="takes the names of"):
            wrong(function)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="takes the names of"):
            wrong()


def test_units_and_sets_are_recorded_in_the_trace(module_directory: Path) -> None:
    source = """
import atomsan

class Outer:
    @atomsan.atomic_set("x", "y")
    @atomsan.atomic_set("z", name="rest")
    class Inner:
        def get(self): return self.x

@atomsan.unit_for("one", "other")
def both(one, other):
    one.x = 1
    return one.get() + one.get()
"""
    (module_directory / "units_and_sets.py").write_text(source)
    with atomsan.recording(include=["units_and_sets"]) as tape:
        module = importlib.import_module("units_and_sets")
        module.both(module.Outer.Inner(), None)
    opened = tape.reopened()
    assert opened.meta.sets == {"Outer.Inner": ["x", "y"], "Outer.Inner:rest": ["z"]}
    regions = opened.symbols.regions
    number = next(number for number in range(len(regions)) if regions[number] == "units_and_sets:both")
    assert regions.get(number, "flow").splitlines() == ["!one get", "!other"]
