from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from cli.running import Atomsan, assert_refused, command, environment, leftovers


def test_same_options_give_the_same_trace(atomsan: Atomsan) -> None:
    first = atomsan("generate", "--kind", "random", "--seed", "7")
    assert (first.code, first.err) == (0, "")
    assert first.out.count("\n") == 50
    assert atomsan("generate", "--kind", "random", "--seed", "7").out == first.out
    assert atomsan("generate", "--kind", "random", "--seed", "8").out != first.out


@pytest.mark.parametrize("name", ["t.std", "t.atomtrace", "t.parquet", "t.csv.gz"])
def test_files(atomsan: Atomsan, name: str) -> None:
    ran = atomsan("generate", "--events", "2000", "-o", name)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith(f"atomsan: wrote {name}: 2,000 events")
    assert atomsan("validate", name).out == f"{name}: well-formed, 2,000 events\n"


def test_sizes(atomsan: Atomsan) -> None:
    sizes = ("--events", "5000", "--threads", "3", "--locks", "2", "--variables", "20", "--regions", "4")
    assert atomsan("generate", *sizes, "-o", "t.std").code == 0
    found = json.loads(atomsan("stats", "t.std", "--format", "json").out)
    assert found["regions"] == 4
    trace = found["trace"]
    assert (trace["events"], trace["threads"], trace["locks"], trace["variables"]) == (5000, 3, 2, 20)


def test_truth(atomsan: Atomsan, tmp_path: Path) -> None:
    options = ("--kind", "violating", "--events", "1000", "--violations", "3")
    assert atomsan("generate", *options, "-o", "t.std", "--truth", "t.json").code == 0
    truth = json.loads(Path("t.json").read_text())
    assert truth["schema"] == "atomsan-truth/1"
    assert truth["violations"] == len(truth["transactions"]) == 3
    assert_refused(atomsan("generate", *options, "-o", "u.std", "--truth", "t.json"), "t.json: exists already")
    assert_refused(atomsan("generate", *options, "-o", "u.std", "--truth", "u.std"), "--truth needs a file")
    assert leftovers(tmp_path) == {"t.std", "t.json"}


def test_presets(atomsan: Atomsan) -> None:
    listed = atomsan("generate", "--list-presets")
    assert listed.code == 0
    assert "sunflow        16,800,000       16      9    1,200,000     2,500,000  no\n" in listed.out
    assert atomsan("generate", "--preset", "sunflow", "--locks", "5", "-q", "-o", "t.std") == (0, "", "")
    trace = json.loads(atomsan("stats", "t.std", "--format", "json").out)["trace"]
    assert (trace["events"], trace["threads"], trace["locks"]) == (16_800, 16, 5)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--kind", "wrong"], ["--kind", "serializable", "'wrong'"]),
        (["--preset", "wrong"], ["--preset", "sunflow", "'wrong'"]),
        (["--preset", "tsp", "--kind", "random"], ["--preset", "--kind", "together"]),
        (["--scale", "1"], ["--scale", "--preset"]),
        (["--preset", "tsp", "--scale", "0"], ["scale must be more than 0"]),
        (["--events", "many"], ["--events", "a whole number", "'many'"]),
        (["--events", "-1"], ["events must be from 0"]),
        (["--read-share", "1.5"], ["read-share must be from 0"]),
        (["--read-share", "nan"], ["read-share"]),
        (["--violations", "3"], ["violations", "violating"]),
        (["--truth", "-"], ["--truth"]),
        (["-o", "x.doc"], ["x.doc"]),
        (["superfluous"], ["superfluous", "atomsan generate --help"]),
    ],
)
def test_bad_usage(atomsan: Atomsan, tmp_path: Path, arguments: list[str], words: list[str]) -> None:
    assert_refused(atomsan("generate", *arguments), *words)
    assert leftovers(tmp_path) == set()


def test_reader_of_the_output_may_stop_early() -> None:
    with subprocess.Popen(
        command("generate"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as running:
        assert running.stdout
        assert running.stderr
        assert running.stdout.readline().count(b"|") == 2
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait(30) == 141
