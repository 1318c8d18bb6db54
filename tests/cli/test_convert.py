from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

import atomsan as api
from cli.running import Atomsan, assert_refused, leftovers, process

STD = "T1|begin(m)|1\nT1|r(x)|2\nT2|w(x)|3\nT1|w(x)|4\nT1|end(m)|5\n"


@pytest.fixture(autouse=True)
def _trace(_here: None) -> None:
    Path("t.std").write_text(STD)


@pytest.mark.parametrize("name", ["b.atomtrace", "p.parquet", "s.std.gz", "s.std.zst", "n.trace", "n.trace.gz"])
def test_round_trip(atomsan: Atomsan, name: str) -> None:
    ran = atomsan("convert", "t.std", name)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith(f"atomsan: wrote {name}: 5 events, ")
    assert atomsan("convert", name, "-") == (0, STD, "atomsan: wrote 5 events\n")


def test_csv(atomsan: Atomsan) -> None:
    assert atomsan("convert", "t.std", "t.csv", "--quiet") == (0, "", "")
    assert Path("t.csv").read_text() == "begin(m),\nr(x),\n,w(x)\nw(x),\nend(m),\n"
    assert atomsan("convert", "t.std", "-", "--output-format", "csv", "-q").out == Path("t.csv").read_text()


def test_standard_input_and_an_unusual_name(atomsan: Atomsan) -> None:
    ran = process("convert", "-", "out", "--output-format", "std", input=gzip.compress(STD.encode()))
    assert ran.code == 0
    assert Path("out").read_text() == STD


def test_existing_output_is_kept_without_force(atomsan: Atomsan, tmp_path: Path) -> None:
    Path("b.atomtrace").mkdir()
    Path("old.std").write_text("old")
    # it does not even look at the input
    assert_refused(atomsan("convert", "missing.std", "old.std"), "old.std: exists already", "--force")
    assert_refused(atomsan("convert", "missing.std", "b.atomtrace"), "b.atomtrace: exists already")
    assert Path("old.std").read_text() == "old"
    assert leftovers(tmp_path) == {"t.std", "old.std", "b.atomtrace"}


def test_force_does_not_replace_a_directory_that_is_not_a_trace(atomsan: Atomsan) -> None:
    Path("old.std").write_text("old")
    assert atomsan("convert", "t.std", "old.std", "--force").code == 0
    assert Path("old.std").read_text() == STD
    assert atomsan("convert", "t.std", "t.std", "--force").code == 0
    assert Path("t.std").read_text() == STD
    for _ in range(2):
        assert atomsan("convert", "t.std", "b.atomtrace", "--force").code == 0
    Path("mine").mkdir()
    Path("mine/file").touch()
    assert_refused(atomsan("convert", "t.std", "mine", "--output-format", "bundle", "--force"), "not a trace bundle")
    assert os.listdir("mine") == ["file"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["t.std", "t.xyz"], ["t.xyz", "std"]),
        (["t.std", "t.rr"], ["rr"]),
        (["t.std", "-", "--output-format", "parquet"], ["parquet", "standard output"]),
        (["t.std", "nowhere/t.csv"], ["nowhere/t.csv", "No such file"]),
        (["t.std", "nowhere/t.atomtrace"], ["nowhere/t.atomtrace", "No such file"]),
        (["t.std", "t.std/x.std"], ["t.std/x.std", "Not a directory"]),
    ],
)
def test_impossible_outputs_are_refused(
    atomsan: Atomsan, tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    assert_refused(atomsan("convert", *arguments), *words)
    assert leftovers(tmp_path) == {"t.std"}


def test_a_bad_line_leaves_nothing_behind(atomsan: Atomsan, tmp_path: Path) -> None:
    Path("bad.std").write_text(STD + "T1|foo(x)|6\n")
    for name in ("b.atomtrace", "p.parquet", "s.std", "s.csv.gz", "n.trace.zst"):
        assert_refused(atomsan("convert", "bad.std", name), "bad.std:6: unknown operation 'foo'")
    assert leftovers(tmp_path) == {"t.std", "bad.std"}


def test_a_trace_that_was_cut_stays_cut(atomsan: Atomsan) -> None:
    api.load("t.std").save("b.atomtrace")
    events = Path("b.atomtrace/events.arrows")
    events.write_bytes(events.read_bytes()[:-40])
    ran = atomsan("convert", "b.atomtrace", "c.atomtrace")
    assert ran.code == 0
    assert "atomsan: warning: b.atomtrace: events.arrows is cut" in ran.err
    assert '"complete": false' in atomsan("stats", "c.atomtrace", "--format", "json").out
