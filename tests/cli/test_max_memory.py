"""`--max-memory`: verbs that read traces stop before they fill the memory, and leave nothing half written."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from atomsan.cli import memory_watch
from atomsan.cli.memory_watch import MemoryGauge, parsed_size
from atomsan.config.input_output import READING_VERBS
from atomsan.config.table import options_of
from atomsan.errors import InputError
from atomsan.trace.stats import StatsCounter
from cli.running import Atomsan, assert_refused, environment, leftovers, process

VERBS = {
    "check": ["check", "t.std"],
    "sets": ["sets", "t.std"],
    "predict": ["predict", "t.std"],
    "stats": ["stats", "t.std"],
    "validate": ["validate", "t.std"],
    "refine": ["refine", "-o", "spec.toml", "t.std"],
    "convert": ["convert", "t.std", "u.atomtrace"],
}


def test_every_verb_that_reads_traces_has_the_option() -> None:
    assert set(VERBS) == set(READING_VERBS) == {verb for verb in VERBS if "max_memory" in options_of(verb)}


def test_sizes_are_read() -> None:
    sizes = {"1000": 1000, "2k": 2048, "512M": 512 << 20, "1.5G": 3 << 29, "4 GiB": 4 << 30, "1TB": 1 << 40}
    assert {text: parsed_size(text) for text in sizes} == sizes
    assert parsed_size(None) is None


@pytest.mark.parametrize("text", ["", "0", "x", "-1G", "1.G", "1e9", "nan", "9" * 99, "1GG", "0.5"])
def test_other_sizes_are_refused(text: str, atomsan: Atomsan) -> None:
    with pytest.raises(InputError, match="--max-memory must be a size such as 512M or 4G"):
        parsed_size(text)
    assert_refused(atomsan("stats", f"--max-memory={text}", "t.std"), "--max-memory must be a size")


def test_gauge_sees_what_is_taken() -> None:
    with MemoryGauge() as gauge:
        before = gauge.used()
        taken = b"x" * (64 << 20)
        assert gauge.used() - before > 50 << 20
        del taken


@pytest.mark.parametrize(
    ("status", "size"),
    [
        (b"Name:\tx\nVmRSS:\t     90 kB\nRssAnon:\t      50 kB\nRssFile:\t 40 kB\nVmSwap:\t  7 kB\n", 57 << 10),
        (b"VmSize:\t 1000 kB\nVmRSS:\t     90 kB\n", 90 << 10),
        (b"Name:\tRssAnon: 9 kB\n", 0),
    ],
)
def test_status_of_every_system_is_read(status: bytes, size: int) -> None:
    assert memory_watch._in_status(status) == size


def test_file_of_settings_cannot_set_it(atomsan: Atomsan) -> None:
    Path("atomsan.toml").write_text("max-memory = '100T'")
    assert_refused(atomsan("stats", "t.std"), "atomsan.toml: 'max-memory' is for the command line only")


@pytest.mark.parametrize("verb", VERBS)
def test_trace_that_needs_more_is_not_read_to_its_end(verb: str) -> None:
    with open("t.std", "wb") as file:
        for number in range(200_000):
            file.write(b"T1|r(variable-%d-%b)|1\n" % (number, b"y" * 700))
    before = leftovers(Path())
    ran = process(*VERBS[verb], "--max-memory", "130M")
    assert ran.code == 3, ran
    assert "out of memory" in ran.err.splitlines()[-1]
    assert "--max-memory" in ran.err.splitlines()[-1]
    assert "Traceback" not in ran.err
    assert leftovers(Path()) - {"spec.toml"} == before


def test_results_so_far_are_reported(atomsan: Atomsan, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("t.std").write_text("T1|r(x)|1\nT2|w(x)|2\n")
    has_read: list[bool] = []
    add = StatsCounter.add

    def slow(self: StatsCounter, *batch: object) -> None:
        add(self, *batch)  # type: ignore[arg-type]
        has_read.append(True)
        time.sleep(20)  # until it is interrupted

    monkeypatch.setattr(StatsCounter, "add", slow)
    monkeypatch.setattr(MemoryGauge, "used", lambda self: 800 if has_read else 0)
    monkeypatch.setattr(memory_watch, "parsed_size", lambda given: 1000)
    ran = atomsan("stats", "t.std")
    assert (ran.code, ran.err) == (3, "atomsan: out of memory (--max-memory) after 2 events\n")
    assert "events" in ran.out


def test_verb_that_takes_no_notice_is_ended_and_leaves_nothing_behind() -> None:
    """As in a call of a library that unpacks gigabytes: no signal is looked at before it returns."""
    Path("t.std").write_text("T1|r(x)|1\nT2|w(x)|2\n")
    Path("stuck.py").write_text("""
import sys, time
from atomsan.cli import main, memory_watch
from atomsan.trace import writing
is_stuck = []
def stuck(*args):
    is_stuck.append(True)
    time.sleep(20)
writing._text_writer = stuck
memory_watch.MemoryGauge.used = lambda self: 1 << 60 if is_stuck else 0
sys.exit(main.main(sys.argv[1:]))
""")
    ran = subprocess.run(
        [sys.executable, "stuck.py", "convert", "t.std", "u.csv", "--max-memory", "1G"],
        capture_output=True, text=True, env=environment(), timeout=60, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (3, "")
    message = "out of memory: more than the 1,073,741,824 bytes that it may take (--max-memory)"
    assert ran.stderr == f"atomsan: {message}\n"
    assert leftovers(Path()) == {"t.std", "stuck.py"}


PROGRAM = """
import resource, signal, threading
print([resource.getrlimit(one) for one in (resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_RSS)])
print(signal.getsignal(signal.SIGUSR2), [one.name for one in threading.enumerate()])
"""


@pytest.mark.parametrize("arguments", [["run"], ["record", "-o", "t.std"]])
def test_nothing_of_it_is_in_the_process_of_a_recorded_program(arguments: list[str]) -> None:
    Path("app.py").write_text(PROGRAM)
    plain = subprocess.run([sys.executable, "app.py"], capture_output=True, text=True, timeout=60, check=True)
    ran = process(*arguments, "app.py")
    assert (ran.code, ran.out) == (0, plain.stdout)
    assert "max_memory" not in options_of(arguments[0])


@pytest.mark.parametrize("verb", VERBS)
def test_enough_memory_changes_nothing(verb: str, atomsan: Atomsan) -> None:
    Path("t.std").write_text("T1|begin(m)|1\nT1|r(x)|1\nT2|w(x)|2\nT1|w(x)|3\nT1|end(m)|4\n")
    force = ["--force"] if verb == "convert" else []
    first, second = atomsan(*VERBS[verb]), atomsan(*VERBS[verb], *force, "--max-memory", "1T")
    assert first == second
    assert first.code in (0, 1)
