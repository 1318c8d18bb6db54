"""`atomsan refine`: rounds, the specification it writes, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from pathlib import Path

import pytest

from atomsan import parse
from atomsan.source.spec import read_spec
from atomsan.types import EventSource
from cli.running import Atomsan, assert_refused

# The outer region violates; with it gone, the first of the two inside does, and the second never.
NESTED = """\
T|begin(outer)|a.py:1
T|begin(inner)|a.py:2
T|r(x)|a.py:3
U|w(x)|b.py:1
T|w(x)|a.py:4
T|end(inner)|a.py:2
T|begin(good)|a.py:5
T|r(y)|a.py:6
T|end(good)|a.py:5
T|end(outer)|a.py:1
"""


@pytest.fixture(autouse=True)
def _traces(_here: None) -> None:
    Path("t.std").write_text(NESTED)


def test_outer_regions_are_removed_first(atomsan: Atomsan) -> None:
    ran = atomsan("refine", "t.std", "-o", "spec.toml")
    assert (ran.code, ran.err) == (0, "atomsan: wrote spec.toml: 2 regions not atomic\n")
    assert [line.split() for line in ran.out.splitlines()] == [
        ["ROUND", "TRANSACTIONS", "VIOLATIONS", "VIOLATING", "REMOVED"],
        ["1", "1", "1", "1", "1", "outer"],
        ["2", "2", "1", "1", "1", "inner"],
        ["3", "1", "0", "0", "0"],
    ]
    assert Path("spec.toml").read_text() == (
        "# Made by atomsan refine in 3 rounds, finished.\n"
        "not_atomic = [\n"
        "    # round 1: 1 violating execution, for example lost update at a.py:3 and a.py:4 (t.std:5)\n"
        '    "outer",\n'
        "    # round 2: 1 violating execution, for example lost update at a.py:3 and a.py:4 (t.std:5)\n"
        '    "inner",\n'
        "]\n"
    )
    assert atomsan("check", "t.std").code == 1
    assert atomsan("check", "t.std", "--spec", "spec.toml").code == 0


def test_the_violations_of_all_traces_are_united(atomsan: Atomsan) -> None:
    Path("u.std").write_text(NESTED.replace("inner", "other"))
    assert atomsan("refine", "t.std", "u.std", "-o", "spec.toml", "--quiet").err == ""
    assert set(read_spec("spec.toml").not_atomic) == {"outer", "inner", "other"}
    assert "# round 1: 2 violating executions in 2 traces, for example" in Path("spec.toml").read_text()


def test_refinement_starts_from_the_given_specification(atomsan: Atomsan) -> None:
    Path("start.toml").write_text("not_atomic = ['outer']\n[sets]\nS = ['x']\n")
    ran = atomsan("refine", "t.std", "--spec", "start.toml", "-o", "spec.toml", "--not-atomic", "zzz*")
    assert len(ran.out.splitlines()) == 3
    assert 'warning: not_atomic matches no region of the trace: "zzz*"\n' in ran.err
    assert ran.err.endswith("wrote spec.toml: 2 entries of not_atomic kept, 1 region added: inner\n")
    spec = read_spec("spec.toml")
    assert spec.not_atomic == ("outer", "zzz*", "inner")
    assert spec.sets == {"S": ("x",)}


def test_a_limit_of_rounds(atomsan: Atomsan) -> None:
    ran = atomsan("refine", "t.std", "-o", "spec.toml", "--max-rounds", "1")
    assert ran.code == 0
    assert "stopped by the limit of rounds" in ran.err
    assert read_spec("spec.toml").not_atomic == ("outer",)
    assert "not finished: the limit of rounds" in Path("spec.toml").read_text()


def test_region_name_that_looks_like_a_glob(atomsan: Atomsan) -> None:
    Path("t.std").write_text(NESTED.replace("outer", 'a*[1]"b'))
    atomsan("refine", "t.std", "-o", "spec.toml")
    assert not read_spec("spec.toml").is_atomic('a*[1]"b')
    assert read_spec("spec.toml").is_atomic('axx1"b')
    assert atomsan("check", "t.std", "--spec", "spec.toml").code == 0


def test_bad_usage_is_refused(atomsan: Atomsan) -> None:
    assert_refused(atomsan("refine", "t.std"), "missing -o FILE")
    assert_refused(atomsan("refine", "-", "-o", "spec.toml"), "cannot be standard input")
    assert_refused(atomsan("refine", "t.std", "-o", "t.std"), "written to a file in .toml")
    assert_refused(atomsan("refine", "t.std", "-o", "s.toml", "--max-rounds", "0"), "--max-rounds must be at least 1")
    assert_refused(atomsan("refine", "none.std", "-o", "s.toml"), "none.std")
    Path("pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert_refused(atomsan("refine", "t.std", "-o", "pyproject.toml"), "is no specification; it will not be replaced")
    assert not Path("s.toml").exists()


def test_a_specification_is_replaced(atomsan: Atomsan) -> None:
    Path("spec.toml").write_text("not_atomic = ['outer']\n")
    assert atomsan("refine", "t.std", "--spec", "spec.toml", "-o", "spec.toml").code == 0
    assert read_spec("spec.toml").not_atomic == ("outer", "inner")


def test_reasons_of_the_given_specification_are_kept(atomsan: Atomsan) -> None:
    Path("spec.toml").write_text(
        "# what we know\nnot_atomic = [\n    # the entry\n    # function\n    'outer',\n    \"zzz\",  # never\n]\n"
    )
    assert atomsan("refine", "t.std", "--spec", "spec.toml", "-o", "spec.toml").code == 0
    assert Path("spec.toml").read_text() == (
        "# Made by atomsan refine in 2 rounds, finished.\n"
        "not_atomic = [\n"
        "    # the entry\n"
        "    # function\n"
        '    "outer",\n'
        '    "zzz",\n'
        "    # round 1: 1 violating execution, for example lost update at a.py:3 and a.py:4 (t.std:5)\n"
        '    "inner",\n'
        "]\n"
    )
    before = Path("spec.toml").read_text()
    ran = atomsan("refine", "t.std", "--spec", "spec.toml", "-o", "spec.toml")
    assert ran.err.endswith("wrote spec.toml: 3 entries of not_atomic kept, 0 regions added\n")
    assert Path("spec.toml").read_text() == before.replace("2 rounds", "1 round")


def test_cycle_that_no_region_is_to_blame_for_is_said(atomsan: Atomsan) -> None:
    line = "T:begin(f) U:begin(g) T:w(x) U:w(y) U:r(x) T:r(y) T:end(f) U:end(g)"
    parse(line).save("t.std", force=True)
    ran = atomsan("refine", "t.std", "-o", "spec.toml")
    left = "t.std is not serializable, by a cycle of transactions that no region alone is to blame for"
    assert f"left: {left}\n" in ran.err
    assert f"# Left: {left}.\n" in Path("spec.toml").read_text()


def test_an_interrupt_leaves_the_specification_so_far(atomsan: Atomsan, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("u.std").write_text(NESTED.replace("inner", "other"))

    @contextmanager
    def progress(what: str, source: EventSource, *, quiet: bool) -> Iterator[Callable[[Sized], None]]:
        def watch(batch: Sized) -> None:
            if source.meta.source == "u.std":
                raise KeyboardInterrupt

        yield watch

    monkeypatch.setattr("atomsan.cli.refine.progress", progress)
    ran = atomsan("refine", "t.std", "u.std", "-o", "spec.toml")
    assert ran.code == 3
    assert ran.err.endswith("atomsan: interrupted\n")
    assert read_spec("spec.toml").not_atomic == ("outer",)
    assert "not finished: interrupted" in Path("spec.toml").read_text()
