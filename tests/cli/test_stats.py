from __future__ import annotations

import json
from pathlib import Path

import atomsan as api
from cli.running import Atomsan, assert_refused, environment, leftovers, process

TRACE = "T1:begin(transfer) T1:r(x)@bank.py:3 T2:w(x) T1:w(y) T1:end(transfer) T2:acq(l) T2:acq(l) T2:rel(l) T2:rel(l)"


def test_text(atomsan: Atomsan) -> None:
    api.parse(TRACE).save("t.std")
    ran = atomsan("stats", "t.std")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "t.std: std, complete\n"
        "events          9\n"
        "  read          1  11.1 %\n"
        "  write         2  22.2 %\n"
        "  acquire       2  22.2 %\n"
        "  release       2  22.2 %\n"
        "  begin         1  11.1 %\n"
        "  end           1  11.1 %\n"
        "threads         2\n"
        "locks           1\n"
        "variables       2\n"
        "  shared        1  touched by 2 or more threads\n"
        "regions         1\n"
        "hand-overs      0\n"
        "transactions    1\n"
        "  unary         3  events outside any region; not among the transactions\n"
        "longest region  2  events: transfer of T1, begun at t.std:1\n"
    )


def test_numbers_are_grouped(atomsan: Atomsan) -> None:
    assert atomsan("generate", "--events", "12_345", "-o", "t.atomtrace").code == 0
    assert "events          12,345\n" in atomsan("stats", "t.atomtrace").out


def test_json(atomsan: Atomsan) -> None:
    api.parse(TRACE).save("t.std")
    found = json.loads(atomsan("stats", "t.std", "--format", "json").out)
    assert found["schema"] == "atomsan-stats/1"
    assert found["trace"] == {
        "source": "t.std",
        "events": 9,
        "threads": 2,
        "locks": 1,
        "variables": 2,
        "transactions": 1,
        "complete": True,
    }
    assert found["events"]["write"] == 2
    assert found["shared_variables"] == 1
    assert found["unary_transactions"] == 3
    assert found["longest_region"]["region"] == "transfer"


def test_files_get_the_format_of_their_suffix(atomsan: Atomsan) -> None:
    api.parse(TRACE).save("t.std")
    Path("s.json").write_text("old")
    ran = atomsan("stats", "t.std", "-o", "s.json", "--output", "s.txt")
    assert ran.code == 0
    assert Path("s.txt").read_text() == ran.out
    assert Path("s.json").read_text() == atomsan("stats", "t.std", "--format=json").out


def test_trace_is_not_replaced_by_a_typing_error(atomsan: Atomsan, tmp_path: Path) -> None:
    api.parse(TRACE).save("t.std")
    assert_refused(atomsan("stats", "t.std", "-o", "t.std"), "t.std", ".json")
    assert leftovers(tmp_path) == {"t.std"}


def test_an_empty_file_has_no_events(atomsan: Atomsan) -> None:
    Path("empty.std").touch()
    ran = atomsan("stats", "empty.std")
    assert ran.code == 0
    assert "events        0\n" in ran.out
    assert "longest" not in ran.out


def test_standard_input(atomsan: Atomsan) -> None:
    ran = process("stats", "-", "--format", "json", input=b"T1|r(x)|1\n")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out)["trace"]["source"] == "standard input"


def test_columns_align_for_wide_characters(atomsan: Atomsan) -> None:
    api.parse("線:begin(口座の振替) 線:r(x)").save("t.std")
    assert "口座の振替 of 線, begun at t.std:1, not ended\n" in atomsan("stats", "t.std").out


def test_letters_missing_in_the_encoding_are_escaped() -> None:
    api.parse("T1:begin(größe) T1:r(x)").save("t.std")
    ran = process("stats", "t.std", env=environment(PYTHONIOENCODING="ascii"))
    assert (ran.code, ran.err) == (0, "")
    assert "gr\\xf6\\xdfe" in ran.out


def test_control_characters_in_names_are_escaped(atomsan: Atomsan) -> None:
    Path("t.std").write_bytes(b"T1|begin(\x1b[31m%0Ared)|1\n")
    assert "\\x1b[31m\\nred of T1, begun at t.std:1" in atomsan("stats", "t.std").out


def test_repairs_and_cuts_are_warned_of_unless_quiet(atomsan: Atomsan) -> None:
    Path("t.std").write_text("T1|rel(l)|1\nT1|r(x)|2\n")
    ran = atomsan("stats", "t.std", "--lenient")
    assert ran.code == 0
    assert ran.err.startswith("atomsan: warning: t.std: dropped a release")
    assert atomsan("stats", "t.std", "--lenient", "--quiet").err == ""
    assert_refused(atomsan("stats", "t.std", "--quiet"), "t.std:1: T1 releases lock l")
